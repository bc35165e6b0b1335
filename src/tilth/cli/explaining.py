"""Why a row got its answer, in words: what the commands that explain share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base import Explanation


def text_columns(model: Any) -> list[str]:
    """Columns of words: "007" stays what it is, even where the rows hold nothing but digits."""
    from tilth.data.numbers import parse_number
    from tilth.lifecycle.save import parts_of

    def has_words(levels: tuple[Any, ...]) -> bool:
        numbers = [parse_number(v) for v in levels]
        return all(isinstance(v, str) for v in levels) and (None in numbers or len(set(numbers)) < len(numbers))

    schema = getattr(parts_of(model)[0], "schema_", None)
    return [c.name for c in schema or () if c.kind.levels and has_words(c.kind.levels)]


def explanation(model: Any, rows: pd.DataFrame, background: pd.DataFrame | None = None) -> Explanation:
    """The model's own explanation where it has one, else sampled Shapley values against the background rows."""
    if hasattr(model, "explain"):
        own: Explanation = model.explain(rows)
        return own
    from tilth.explain import explain_rows

    return explain_rows(model, rows, background=background)


def reasons(explained: Explanation, most: int = 3) -> list[list[str]]:
    """The strongest terms of each row in words, strongest first: as many lists as reasons, one entry for each row."""
    import numpy as np

    n, k, width = explained.values.shape
    if k == 1:
        amounts = explained.values[:, 0]
        labels = [""] * n
    else:
        order = np.argsort(-explained.scores, axis=1, kind="stable")
        rows = np.arange(n)
        amounts = explained.values[rows, order[:, 0]] - explained.values[rows, order[:, 1]]
        labels = [str(explained.classes[c]) for c in order[:, 0]]
    strongest = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :most]

    def words(i: int, j: int) -> str:
        amount = amounts[i, j]
        if amount == 0:
            return ""
        cell = f" = {explained.cells[i][j]}" if explained.cells and explained.cells[i][j] else ""
        if k == 1:
            return f"{explained.columns[j]}{cell} {'raises' if amount > 0 else 'lowers'} the answer ({amount:+.3g})"
        return (
            f"{explained.columns[j]}{cell} is evidence {'for' if amount > 0 else 'against'} {labels[i]} ({amount:+.3g})"
        )

    return [[words(i, int(strongest[i, place])) for i in range(n)] for place in range(min(most, width))]
