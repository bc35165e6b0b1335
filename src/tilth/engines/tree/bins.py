"""Bins: every column as small whole numbers, made once per fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Table

Floats = NDArray[np.float64]

#: Edges are learned from at most this many rows; beyond, the quantiles of a sample are as good.
SAMPLE_ROWS = 100_000
#: A column may have at most this many bins or levels.
MOST_BINS = 65_534


@dataclass(eq=False)
class Bins:
    """How columns become bins, in the order of the engine: numeric columns first, then those with levels.

    Bin b of a numeric column holds edges[b-1] < x <= edges[b]; a column of few distinct values has a bin for each. A
    level is its own bin. Missing values have the bin after the last.
    """

    names: list[str]
    kinds: list[Kind]
    edges: list[Floats]

    @classmethod
    def learn(cls, table: Table, max_bins: int = 255, weight: Floats | None = None, seed: int = 0) -> Bins:
        """Edges at quantiles of the (weighted) values, halfway between neighbours."""
        numbers, coded = table.of_kind("numeric"), table.of_kind("nominal", "ordinal")
        for column in coded:
            if len(column.kind.levels) > MOST_BINS:
                raise ValueError(
                    f"Column {column.name!r} has {len(column.kind.levels):,} levels; a tree takes at most "
                    f"{MOST_BINS:,}. Group them, or leave the column out with kinds={{{column.name!r}: 'aside'}}."
                )
        rows = None
        if table.n_rows > SAMPLE_ROWS:
            rng = np.random.default_rng(seed)
            rows = np.sort(rng.choice(table.n_rows, SAMPLE_ROWS, replace=False)).astype(np.int32)
        edges = _core.bin_edges(table.numbers(), weight, rows, max_bins) if numbers else []
        chosen = [*numbers, *coded]
        return cls([c.name for c in chosen], [c.kind for c in chosen], edges)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bins of each column, without the one for missing values."""
        coded = [len(k.levels) for k in self.kinds[len(self.edges) :]]
        return np.array([*(len(e) + 1 for e in self.edges), *coded], dtype=np.int64)

    @property
    def nominal(self) -> NDArray[np.int32]:
        """1 for columns whose levels have no order."""
        return np.array([k.name == "nominal" for k in self.kinds], dtype=np.int32)

    def flat_edges(self) -> tuple[Floats, NDArray[np.int64]]:
        """All edges in one array, and where each column's begin."""
        first = np.cumsum([0, *(len(e) for e in self.edges)], dtype=np.int64)
        return np.concatenate([*self.edges, np.empty(0)]), first

    def apply(self, table: Table) -> NDArray[Any]:
        """Bins of rows, n x p in C order; uint8 when every column has at most 255 of them, else uint16."""
        edges, first = self.flat_edges()
        sizes = np.ascontiguousarray(self.sizes[len(self.edges) :])
        return _core.bin_cells(table.numbers(), table.codes(), edges, first, sizes)
