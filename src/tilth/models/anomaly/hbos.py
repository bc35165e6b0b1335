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
    """For each column the values of its numbers, or the weights of its levels, the last of them missing."""

    cells: list[Any]

    def update(self, table: Table, weight: Floats | None = None) -> None:
        """Add rows."""
        for j, column in enumerate(table.columns):
            if isinstance(self.cells[j], GridCounts):
                self.cells[j].update(column.values, weight)
                continue
            last = len(self.cells[j]) - 1
            codes = np.where(column.values < 0, last, column.values)
            self.cells[j] += np.bincount(codes, weight, minlength=last + 1)

    def __iadd__(self, other: Self) -> Self:
        for j, theirs in enumerate(other.cells):
            self.cells[j] += theirs
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
        **Detector.learned, "edges_": "list[seen]", "costs_": "list[seen]",
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
        kinds = [c.kind for c in self.columns_seen_]
        return CellCounts([GridCounts.empty() if k.name == "numeric" else np.zeros(len(k.levels) + 1) for k in kinds])

    def grow(self, statistic: CellCounts) -> CellCounts:
        """Room for levels that a later part brought; missing stays last."""
        for j, fresh in enumerate(self.statistic().cells):
            held = statistic.cells[j]
            if isinstance(held, np.ndarray):
                fresh[: len(held) - 1], fresh[-1] = held[:-1], held[-1]
                statistic.cells[j] = fresh
        return statistic

    def absorb(self, statistic: CellCounts, table: Table, target: Any, weight: Floats | None) -> None:
        """Add rows."""
        statistic.update(table, weight)

    def conclude(self, counts: CellCounts) -> None:
        """Cost of every cell, log(highest / own height): cells of the column, what lies outside them, missing."""
        self.edges_: list[Floats] = []
        self.costs_: list[Floats] = []
        for column in counts.cells:
            edges = np.empty(0)
            if isinstance(column, GridCounts):
                low, high = (column.low, column.high) if column.total else (0.0, 0.0)
                edges = np.linspace(*((low, high) if high > low else (low - 0.5, high + 0.5)), self.n_bins + 1)
                heights = column.heights(edges) if column.total else np.zeros(self.n_bins)
                mass = np.concatenate([heights, [0.0, column.missing]])
            else:
                mass = np.concatenate([column[:-1], [0.0, column[-1]]])
            self.edges_.append(edges)
            self.costs_.append(np.log((mass.max() + self.alpha) / (mass + self.alpha)))

    def _terms(self, table: Table) -> Floats:
        """Cost of the cell of each row and column."""
        terms = np.empty((table.n_rows, len(self.costs_)))
        for j, column in enumerate(table.columns):
            x, edges, missing = column.values, self.edges_[j], len(self.costs_[j]) - 1
            if column.kind.name == "numeric":
                cell = np.searchsorted(edges, x, side="right") - 1
                cell[x == edges[-1]] = missing - 2
                cell[(x < edges[0]) | (x > edges[-1])] = missing - 1
                cell[np.isnan(x)] = missing
            else:  # an unseen level was settled as missing
                cell = np.where(x < 0, missing, x)
            terms[:, j] = self.costs_[j][cell]
        return terms

    def strangeness(self, table: Table) -> Floats:
        """Sum of the costs of a row's cells."""
        return np.asarray(self._terms(table).sum(axis=1))

    def explain(self, X: Any) -> Explanation:
        """The anomaly score of each row as a sum over the columns."""
        typed = self._typed(X)
        terms = self._terms(self._converted(typed))
        explanation = self._explanation(typed, [c.name for c in self.columns_seen_], terms[:, None, :], np.zeros(1))
        explanation.classes, explanation.scale = ["anomaly score"], "answer"
        return explanation

    def validate_state(self) -> None:
        """Refuse histograms whose cells do not lie between their edges."""
        for column, edges, costs in zip(self.columns_seen_, self.edges_, self.costs_, strict=True):
            cells = len(edges) - 1 if column.kind.name == "numeric" else len(column.kind.levels)
            if len(costs) != cells + 2 or cells < 0:
                raise ValueError(f"HBOS: the cells of column {column.name!r} do not fit its edges.")
