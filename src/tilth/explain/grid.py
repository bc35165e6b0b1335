"""Where the effect of a column is looked at: rows whose cells stand for its values, levels and gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilth.base.declare import cell_text
from tilth.data.table import Column
from tilth.explain.subject import Subject

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Levels shown of a column with many, the most frequent ones; bins of a column that is held beside another.
MOST_LEVELS = 30
BINS = 10


@dataclass(frozen=True, eq=False)
class Grid:
    """Points of one column: ``rows`` are rows of the table that have these values, ``at`` where they stand.

    ``missing`` is a row without a value, -1 where there is none.
    """

    column: Column
    rows: Ints
    at: Floats
    labels: list[str]
    missing: int

    @property
    def is_number(self) -> bool:
        """Whether the points stand on a line."""
        return self.column.kind.name == "numeric"


def grid_of(subject: Subject, name: str, points: int, rows: Ints) -> Grid:
    """Quantiles that occur as values of a number (all values where they are few), or the levels; from ``rows``."""
    column = subject.column(name)
    values, gone = column.values[rows], column.missing[rows]
    missing = int(rows[np.argmax(gone)]) if gone.any() else -1
    if column.kind.name == "numeric":
        known = np.sort(values[~gone])
        distinct = np.unique(known)
        if len(distinct) > points:
            distinct = np.unique(known[np.linspace(0, len(known) - 1, points).round().astype(np.int64)])
        chosen = distinct.astype(np.float64)
    else:
        codes, counts = np.unique(values[~gone], return_counts=True)
        most = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
        chosen = codes[most].astype(np.float64)
    key = np.where(gone, np.inf, values)  # codes of missing cells are negative, and would not be sorted at the end
    order = np.argsort(key, kind="stable")
    first = rows[order[np.searchsorted(key[order], chosen)]] if len(chosen) else np.empty(0, dtype=np.int64)
    at = chosen if column.kind.name == "numeric" else np.arange(len(chosen), dtype=np.float64)
    return Grid(column, first, at, [cell_text(v) for v in subject.cells(name, first)], missing)


def own_level(grid: Grid, rows: Ints) -> Ints:
    """The point whose level each row has; -1 for gaps and levels that are not shown."""
    at = grid.column.values[grid.rows]
    if not len(at):
        return np.full(len(rows), -1, dtype=np.int64)
    values, order = grid.column.values[rows], np.argsort(at)
    place = order[np.searchsorted(at[order], values).clip(max=len(at) - 1)]
    return np.where(grid.column.missing[rows] | (at[place] != values), -1, place).astype(np.int64)


def nearest(grid: Grid, rows: Ints) -> Ints:
    """For each row the point whose value it has, or comes nearest to; -1 for gaps and levels that are not shown."""
    if not grid.is_number or not len(grid.rows):
        return own_level(grid, rows)
    values, gone = grid.column.values[rows], grid.column.missing[rows]
    place = np.searchsorted((grid.at[1:] + grid.at[:-1]) / 2, np.where(gone, grid.at[0], values))
    return np.where(gone, -1, place).astype(np.int64)


def never_together(subject: Subject, name: str, others: list[str], rows: Ints) -> tuple[float, str]:
    """Largest share of pairs (a row, a value of the column) that no row comes near to, and the other column.

    The column and the other one are cut into ten bins (or levels); a pair of bins is unheard of when it holds no row
    although chance would have put five or more there.
    """
    here, width = _bins(subject.column(name), rows)
    worst, which = 0.0, ""
    for other in others:
        if other == name:
            continue
        there, height = _bins(subject.column(other), rows)
        both = (here >= 0) & (there >= 0)
        n = int(both.sum())
        if not n:
            continue
        table = np.bincount(here[both] * height + there[both], minlength=width * height).reshape(width, height)
        # Every row is asked about with every point: all bins of the column beside the row's own bin of the other.
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
        unheard = (table == 0) & (expected >= 5)
        share = float((unheard * table.sum(axis=0)).sum() / (table.sum() * max(1, int((table.sum(axis=1) > 0).sum()))))
        if share > worst:
            worst, which = share, other
    return worst, which


def _bins(column: Column, rows: Ints) -> tuple[Ints, int]:
    values, gone = column.values[rows], column.missing[rows]
    if column.kind.name != "numeric":
        codes = np.full(len(rows), -1, dtype=np.int64)
        levels, codes[~gone] = np.unique(values[~gone], return_inverse=True)  # levels that occur, not all there are
        return codes, max(1, len(levels))
    known = values[~gone]
    if not len(known):
        return np.full(len(rows), -1), 1
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    codes = np.searchsorted(edges, np.where(gone, edges[0], values))
    return np.where(gone, -1, codes).astype(np.int64), len(edges) + 1
