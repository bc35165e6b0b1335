"""Bin edges of a table that is read in chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.bins import Bins
from tilth.stats.sketch import QuantileSketch
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False, repr=False)
class BinValues(Statistic):
    """The values of numeric columns: all distinct ones while they are few, else a sketch of their quantiles.

    A column of at most ``max_bins`` distinct values gets the edges that all rows at once would give. Edges at quantiles
    do not look at the weights of rows.
    """

    max_bins: int
    few: list[bool]
    distinct: list[Floats]
    sketches: list[QuantileSketch]

    @classmethod
    def empty(cls, n_columns: int, max_bins: int = 255) -> Self:
        """No values yet of ``n_columns`` numeric columns."""
        sketches = [QuantileSketch.empty() for _ in range(n_columns)]
        return cls(max_bins, [True] * n_columns, [np.empty(0)] * n_columns, sketches)

    def update(self, table: Table) -> None:
        """Add the rows of a typed table."""
        for j, column in enumerate(table.of_kind("numeric")):
            values = np.asarray(column.values, dtype=np.float64)
            values = values[~np.isnan(values)]
            if self.few[j]:
                self._join(j, np.unique(values))
            self.sketches[j].update(values)

    def _join(self, j: int, values: Floats) -> None:
        joined = np.union1d(self.distinct[j], values)
        self.few[j] = len(joined) <= self.max_bins
        self.distinct[j] = joined if self.few[j] else np.empty(0)

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other)
        if (len(self.few), self.max_bins) != (len(other.few), other.max_bins):
            raise ValueError("BinValues merges with values of the same columns and number of bins only.")
        for j in range(len(self.few)):
            if self.few[j] and other.few[j]:
                self._join(j, other.distinct[j])
            else:
                self.few[j], self.distinct[j] = False, np.empty(0)
            self.sketches[j] += other.sketches[j]
        return self

    def bins(self, table: Table) -> Bins:
        """Bins for the columns of ``table``, of which some rows or none are enough."""
        return replace(
            Bins.learn(table.rows(slice(0, 0)), self.max_bins), edges=[self._edges(j) for j in range(len(self.few))]
        )

    def _edges(self, j: int) -> Floats:
        if self.few[j]:
            values, weight = self.distinct[j], None
        else:
            values, weight = self.sketches[j].weighted_values()
        return _core.bin_edges(values[:, None], weight, None, self.max_bins)[0]
