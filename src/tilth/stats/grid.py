"""Counts of the values of a number: exact while there are few, in cells of a nested grid when there are many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tilth.stats.inputs import FloatArray, as_column, as_weight
from tilth.stats.statistic import Statistic

#: Different values that are kept as they are, and cells that the range is cut into when there are more.
MOST_VALUES, CELLS = 4096, 16_384


@dataclass(slots=True, eq=False, repr=False)
class GridCounts(Statistic):
    """Weights of the values of one column.

    With more than 4,096 different values each is counted at the foot of its cell, of a width that is a power of two:
    wider cells are unions of narrower ones, so the result does not depend on how the rows came in parts.

    Examples
    --------
    >>> counts = GridCounts.empty()
    >>> counts.update([2.0, 1.0, 2.0, float("nan")])
    >>> counts.values, counts.counts, counts.missing
    (array([1., 2.]), array([1., 2.]), 1.0)
    """

    values: FloatArray
    counts: FloatArray
    missing: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    #: Width of the cells is 2^level; None while all values are exact.
    level: int | None = None

    @classmethod
    def empty(cls) -> Self:
        """No values."""
        return cls(np.zeros(0), np.zeros(0))

    @property
    def total(self) -> float:
        """Weight of the values that are not missing."""
        return float(self.counts.sum())

    def values_and_weights(self) -> tuple[FloatArray, FloatArray]:
        """The values (or feet of cells) in rising order, and their weights."""
        return self.values, self.counts

    def update(self, x: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> None:
        """Add values with their weights."""
        column = as_column(x, "GridCounts")
        weights = as_weight(weight, column.size, "GridCounts")
        gone = np.isnan(column)
        if gone.any():
            self.missing += float(gone.sum() if weights is None else weights[gone].sum())
            column, weights = column[~gone], None if weights is None else weights[~gone]
        if column.size:
            self._add(column, weights, float(column.min()), float(column.max()), self.level)

    def __iadd__(self, other: Self) -> Self:
        self.missing += other.missing
        if other.values.size:
            self._add(other.values, other.counts, other.low, other.high, other.level)
        return self

    def _add(self, values: FloatArray, weights: FloatArray | None, low: float, high: float, level: int | None) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)
        exact = self.level is None and level is None
        if exact and values.size > 4 * MOST_VALUES:
            # Most columns show at once that they have many values: no need to sort them all.
            exact = np.unique(values[:: values.size // (4 * MOST_VALUES)]).size <= MOST_VALUES
        if exact:
            own, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
            if own.size <= MOST_VALUES:
                mass = np.ones(values.size) if weights is None else weights
                added = np.bincount(place, np.concatenate([self.counts, mass]), minlength=own.size)
                self.counts = added.astype(np.float64)
                self.values = own
                return
        self.level = self._level()
        width = 2.0**self.level
        start = math.floor(self.low / width)
        cells = math.floor(self.high / width) - start + 1
        mass = np.bincount((np.floor(values / width) - start).astype(np.int64), weights, minlength=cells).astype(float)
        if self.values.size:
            mass += np.bincount((np.floor(self.values / width) - start).astype(np.int64), self.counts, minlength=cells)
        held = np.flatnonzero(mass)
        self.values, self.counts = np.asarray((held + start) * width, dtype=np.float64), mass[held].astype(np.float64)

    def _level(self) -> int:
        """The narrowest cells, by powers of two, of which so many hold the range."""
        span = max(self.high - self.low, np.finfo(np.float64).tiny * CELLS)
        size = max(abs(self.low), abs(self.high))
        exact = math.ceil(math.log2(size)) - 50 if size > 0 else -1000  # the number of a cell must be exact
        return max(math.ceil(math.log2(span / CELLS)), exact, -1000)

    def heights(self, edges: FloatArray) -> FloatArray:
        """Weight between successive edges; a cell of the grid that an edge cuts is shared by length."""
        if self.level is None:
            return np.histogram(self.values, edges, weights=self.counts)[0].astype(float)
        upto = np.concatenate([[0.0], np.cumsum(self.counts)])
        ends = np.minimum(self.values + 2.0**self.level, np.append(self.values[1:], np.inf))
        knots = np.column_stack([self.values, ends]).ravel()
        levels = np.column_stack([upto[:-1], upto[1:]]).ravel()
        inner = np.interp(edges[1:-1], knots, levels)
        return np.diff(np.concatenate([[0.0], inner, [upto[-1]]]))
