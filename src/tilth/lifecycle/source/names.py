"""Names of columns and files: made different, found again, and the nearest one for a wrong one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from tilth.data.datasets import names as bundled_names
from tilth.lifecycle.source.table import SourceError

#: Notes about repeated names are given one by one up to this many.
_SHOWN_REPEATS = 3


def require_column(names: Sequence[str], name: str, role: str = "target") -> None:
    """Refuse a column the table does not have, naming the nearest one."""
    if name in names:
        return
    from tilth.words import listed

    lower = {n.lower(): n for n in reversed(names)}
    near = [lower[n] for n in get_close_matches(name.lower(), list(lower), 3, 0.5)]
    columns = f"the columns are {listed(map(repr, names), 12)}."
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else columns
    raise SourceError(f"There is no column {name!r} to be the {role}; {hint}")


def no_such_file(path: Path) -> SourceError:
    """The error of a path that leads nowhere, with files and bundled tables of nearly the same name."""
    folder = path.parent
    try:
        beside = sorted(p.name for p in folder.iterdir() if p.is_file()) if folder.is_dir() else []
    except OSError:
        beside = []
    near = [str(folder / n) for n in get_close_matches(path.name, beside, 3, 0.6)]
    near += get_close_matches(str(path), bundled_names(), 2, 0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Bundled tables: {', '.join(bundled_names())}."
    return SourceError(f"There is no file {path}, and no bundled table of that name. {hint}")


def unique_names(header: Sequence[str], notes: list[str]) -> list[str]:
    """Names that are all different and none empty, as near to the header as can be.

    >>> told = []
    >>> unique_names(["a", "", "a"], told)
    ['a', 'column 2', 'a.2']
    >>> print(told[0])
    Column 3 is the next 'a'; it is called 'a.2' here. Rename it in the file to tell them apart.
    """
    names: list[str] = []
    taken, used = set(header), set[str]()
    repeats = []
    for place, own in enumerate(header):
        name = own or f"column {place + 1}"
        if name in used:
            number = 2
            while f"{name}.{number}" in taken or f"{name}.{number}" in used:
                number += 1
            repeats.append(f"Column {place + 1} is the next {name!r}; it is called '{name}.{number}' here.")
            name = f"{name}.{number}"
        names.append(name)
        used.add(name)
    if repeats:
        more = len(repeats) - _SHOWN_REPEATS
        rest = f" So are {more} more names that repeat." if more > 0 else ""
        notes.append(" ".join(repeats[:_SHOWN_REPEATS]) + rest + " Rename it in the file to tell them apart.")
    if all(re.fullmatch(r"[+-]?[\d.,eE+-]+", n) for n in header):
        notes.append("The first line holds numbers only; if it is data, add a line of column names above it.")
    return names
