"""Names in tables that put columns of their own beside those of the user."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def beside(names: Iterable[str], own: Collection[str], mark: str = "column") -> list[str]:
    """The user's names as a table shows them: one that the table has itself, or that came before, is marked.

    The table's own names never change, so that programs find them whatever the user's columns are called.

    >>> beside(["age", "score", "score (column)"], ["score", "row"])
    ['age', 'score (column 2)', 'score (column)']
    """
    wanted = list(names)
    out: list[str] = []
    for name in wanted:
        free, number = name, 1
        while free in own or free in out or (number > 1 and free in wanted):
            free = f"{name} ({mark})" if number == 1 else f"{name} ({mark} {number})"
            number += 1
        out.append(free)
    return out
