"""Histogram-based outlier score (Goldstein & Dengel 2012): a row is unusual where its cells are low."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth.base import Accepts, Assumption, Card, Complexity, Detector, Explanation, Recipe, Traits
from tilth.data.table import Table
from tilth.params import declared, param
from tilth.stats.grid import GridCounts
from tilth.stats.statistic import Statistic

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False, repr=False)
class CellCounts(Statistic):
    """Values of every number, and weights of every level (the last: missing), column by column."""

    numbers: list[GridCounts]
    levels: list[Floats]

    def update(self, table: Table, weight: Floats | None = None) -> None:
        """Add rows."""
        for counts, column in zip(self.numbers, table.of_kind("numeric"), strict=True):
            counts.update(column.values, weight)
        for held, column in zip(self.levels, table.of_kind("nominal", "ordinal"), strict=True):
            codes = np.where(column.values < 0, len(held) - 1, column.values)
            held += np.bincount(codes, weight, minlength=len(held))

    def __iadd__(self, other: Self) -> Self:
        for mine, theirs in zip(self.numbers, other.numbers, strict=True):
            mine += theirs
        for own, added in zip(self.levels, other.levels, strict=True):
            own += added
        return self


@declared
class HBOS(Detector):
    """Sum over the columns of log(highest cell / cell of the row): independent histograms, one per column.

    A number's range is cut into cells of equal width; a level is a cell, and so is a missing value. Every cell gets
    ``alpha`` rows on top, so that an empty cell (and everything outside the range) is rare, not impossible. One pass
    over the rows; the score is a sum over columns, so :meth:`explain` is exact.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> rows[7] = 6, -6
    >>> int(HBOS().fit(rows).anomaly_score(rows).argmax())
    7
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    fold: ClassVar[Any] = "once"
    not_in_files: ClassVar[tuple[str, ...]] = ("statistic_",)  # values of the training table
    card: ClassVar[Card] = Card(
        "Rows in low cells of the columns' histograms are anomalies.",
        Traits("anomaly", supervision="unsupervised", parametric=False),
        (
            Assumption(
                "Columns are independent.",
                "A row that is odd only in combination is missed; give the combination as a column.",
            ),
        ),
        Complexity("O(n p)", "O(p log cells)", "O(p cells)"),
        ("Goldstein & Dengel 2012, Histogram-based outlier score (HBOS), KI",),
    )
    learned: ClassVar[dict[str, str]] = {
        **Detector.learned, "edges_": "float[m, e]", "costs_": "list", "columns_": "str[c]",
    }  # fmt: skip

    n_bins: int = param(10, low=2, doc="Cells of a number.", tune=(5, 100))
    alpha: float = param(0.1, low=0, low_open=True, doc="Rows added to every cell.", scale="log", tune=(0.01, 1.0))

    def recipe(self) -> Recipe:
        """Counting."""
        return Recipe(
            "rows of columns of any kind",
            f"a histogram per column, {self.n_bins} cells per number [n_bins]",
            "none: counts are the maximum-likelihood heights",
            f"counting, one pass; {self.alpha:g} rows on top of every cell [alpha]",
        )

    def statistic(self) -> CellCounts:
        """No rows."""
        specs = [(n, c.kind) for c in self.schema_.features for n in c.typed_names]
        numbers = [GridCounts.empty() for _, kind in specs if kind.name == "numeric"]
        return CellCounts(numbers, [np.zeros(len(kind.levels) + 1) for _, kind in specs if kind.name != "numeric"])

    def grow(self, statistic: CellCounts) -> CellCounts:
        """Room for levels that a later part brought; missing stays last."""
        for j, fresh in enumerate(self.statistic().levels):
            held = statistic.levels[j]
            fresh[: len(held) - 1], fresh[-1] = held[:-1], held[-1]
            statistic.levels[j] = fresh
        return statistic

    def absorb(self, statistic: CellCounts, table: Table, target: Any, weight: Floats | None) -> None:
        """Add rows."""
        statistic.update(table, weight)

    def conclude(self, counts: CellCounts) -> None:
        """Cost of every cell: log(highest / own height)."""
        specs = [(n, c.kind) for c in self.schema_.features for n in c.typed_names]
        names = [n for n, kind in specs if kind.name == "numeric"] + [n for n, kind in specs if kind.name != "numeric"]
        self.columns_: list[str] = names
        self.edges_ = np.zeros((len(counts.numbers), self.n_bins + 1))
        self.costs_: list[Floats] = []
        for j, column in enumerate(counts.numbers):
            low, high = (column.low, column.high) if column.total else (0.0, 0.0)
            if not high > low:
                low, high = low - 0.5, high + 0.5
            self.edges_[j] = np.linspace(low, high, self.n_bins + 1)
            heights = column.heights(self.edges_[j]) if column.total else np.zeros(self.n_bins)
            # Cells, then what lies outside, then missing.
            self.costs_.append(self._costs(np.concatenate([heights, [0.0, column.missing]])))
        for held in counts.levels:
            self.costs_.append(self._costs(np.concatenate([held[:-1], [0.0, held[-1]]])))

    def _costs(self, mass: Floats) -> Floats:
        heights = mass + self.alpha
        return np.asarray(np.log(heights.max() / heights))

    def _terms(self, table: Table) -> Floats:
        """Cost of the cell of each row and column, in the order of ``columns_``."""
        out = np.empty((table.n_rows, len(self.costs_)))
        numbers = table.of_kind("numeric")
        for j, column in enumerate(numbers):
            edges, x = self.edges_[j], column.values
            cell = np.searchsorted(edges, x, side="right") - 1
            cell[x == edges[-1]] = self.n_bins - 1
            cell[(x < edges[0]) | (x > edges[-1])] = self.n_bins
            cell[np.isnan(x)] = self.n_bins + 1
            out[:, j] = self.costs_[j][cell]
        for j, column in enumerate(table.of_kind("nominal", "ordinal"), start=len(numbers)):
            # An unseen level was settled as missing: the last cell.
            out[:, j] = self.costs_[j][np.where(column.values < 0, len(self.costs_[j]) - 1, column.values)]
        return out

    def strangeness(self, table: Table) -> Floats:
        """Sum of the costs of a row's cells."""
        return np.asarray(self._terms(table).sum(axis=1))

    def explain(self, X: Any) -> Explanation:
        """The anomaly score of each row as a sum over the columns."""
        typed = self._typed(X)
        terms = self._terms(self._converted(typed))
        explanation = self._explanation(typed, list(self.columns_), terms[:, None, :], np.zeros(1))
        explanation.classes, explanation.scale = ["anomaly score"], "answer"
        return explanation

    def validate_state(self) -> None:
        """Refuse histograms that do not fit together."""
        if len(self.costs_) != len(self.columns_) or len(self.edges_) > len(self.costs_):
            raise ValueError("HBOS: columns, edges and costs do not fit together.")
