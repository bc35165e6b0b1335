"""Class-conditional products of per-kind distributions: p(x | c) = prod_j p(x_j | c).

Numbers are Gaussian per class, nominal and ordinal columns categorical. A missing cell drops its factor, which is
exact marginalisation in a product. Naive Bayes is one labelled round of this engine; a mixture runs it in rounds
with responsibilities as weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Table
from tilth.params import stored
from tilth.parts.smoothing import Smoothing
from tilth.stats.counts import Counts
from tilth.stats.moments import Moments
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]


@stored
@dataclass(slots=True, eq=False, repr=False)
class ProductStatistic(Statistic):
    """Weight of each class, counts of levels and moments of numbers within it."""

    weight: Floats
    counts: Counts
    moments: Moments

    @classmethod
    def empty(cls, n_classes: int, sizes: list[int], n_numbers: int) -> Self:
        """Nothing seen yet of ``len(sizes)`` columns of levels and ``n_numbers`` columns of numbers."""
        return cls(np.zeros(n_classes), Counts.empty(n_classes, sizes), Moments.empty(n_classes, n_numbers))

    def update(self, table: Table, y: NDArray[np.int32], weight: Floats | None = None) -> None:
        """Add typed rows with their class codes."""
        self.weight += np.bincount(y, weight, minlength=len(self.weight))
        if self.counts.sizes.size:
            self.counts.update(table.codes(), y, weight)
        if self.moments.mean.shape[1]:
            try:
                self.moments.update(table.numbers(), y, weight)
            except ValueError as error:
                _refuse_huge(table)
                raise error

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight")
        self.counts += other.counts
        self.moments += other.moments
        self.weight += other.weight
        return self

    def grow(self, sizes: list[int]) -> ProductStatistic:
        """The same counts with room for more levels."""
        return ProductStatistic(self.weight, self.counts.grow(len(self.weight), sizes), self.moments)

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.weight.ndim == 1 and self.counts.n_classes == self.moments.n_groups == self.weight.size
        return "" if good else "weight, counts and moments are of different classes"


def _refuse_huge(table: Table) -> None:
    """Name the column whose numbers have squares beyond the range of a float."""
    low, high, _, _ = _core.column_facts(table.numbers())
    for column, size in zip(table.of_kind("numeric"), np.fmax(-low, high), strict=True):
        if size > 1e150:
            raise ValueError(
                f"Column {column.name!r} holds numbers as large as {size:.3g}, whose square no float can hold; "
                "rescale it, or mark such values as missing."
            )


@stored
@dataclass
class Product:
    """Fitted densities: ``mean`` and ``variance`` [k, p], ``log_prob`` [levels of all columns, k] cut by ``offsets``.

    ``used`` marks the numeric columns that take part; a column with one single value carries nothing.
    """

    mean: Floats
    variance: Floats
    used: NDArray[np.bool_]
    log_prob: Floats
    offsets: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes or components."""
        return int(self.log_prob.shape[1])

    def add_log_density(self, table: Table, out: Floats) -> None:
        """out[i, c] += log p(x_i | c)."""
        if len(self.offsets) > 1:
            _core.add_table(table.codes(), self.offsets, self.log_prob, out)
        if self.used.any():
            numbers = table.numbers()
            if self.used.all():
                _core.add_gaussian(numbers, self.mean, self.variance, out)
            else:
                kept = numbers[:, self.used]
                _core.add_gaussian(kept, self.mean[:, self.used].copy(), self.variance[:, self.used].copy(), out)

    def terms(self, table: Table) -> tuple[list[str], Floats]:
        """log p(x_j | c) of every column apart: names and an array [rows, classes, columns]."""
        names, parts = [], []
        numbers = levels = 0
        for column in table.columns:
            names.append(column.name)
            if column.kind.name == "numeric":
                mean, variance = self.mean[:, numbers], self.variance[:, numbers]
                term = -0.5 * (np.log(2 * np.pi * variance) + (column.values[:, None] - mean) ** 2 / variance)
                keep = self.used[numbers] & ~np.isnan(column.values)
                parts.append(np.where(keep[:, None], term, 0.0))
                numbers += 1
            else:
                rows = self.log_prob[self.offsets[levels] : self.offsets[levels + 1]]
                rows = np.vstack([rows, np.zeros(self.n_classes)])
                parts.append(rows[column.values])
                levels += 1
        return names, np.stack(parts, axis=2) if parts else np.zeros((table.n_rows, self.n_classes, 0))

    def validate(self) -> None:
        """Refuse arrays that do not fit together (a damaged or hostile file)."""
        k, p = self.n_classes, len(self.used)
        fits = (
            self.mean.shape == (k, p) == self.variance.shape
            and self.offsets.ndim == 1
            and len(self.offsets) >= 1
            and bool(self.offsets[0] == 0)
            and bool((np.diff(self.offsets) >= 0).all())
            and bool(self.offsets[-1] == len(self.log_prob))
        )
        if not fits or not (self.variance[:, self.used] > 0).all() or np.isnan(self.mean[:, self.used]).any():
            raise ValueError("the densities of the model do not fit together")


@dataclass(frozen=True)
class Notes:
    """What estimation had to do: constant columns left out, variances raised, (column, class, level) never seen."""

    constant: list[str]
    raised: list[str]
    zeros: list[tuple[str, int, str]]


def estimate(
    statistic: ProductStatistic, kinds: list[tuple[str, Kind]], smoothing: Smoothing, var_smoothing: float
) -> tuple[Product, Notes]:
    """Densities from a statistic; ``kinds`` are the names and kinds of the columns in table order."""
    k = len(statistic.weight)
    coded = [(name, kind) for name, kind in kinds if kind.name != "numeric"]
    numeric = [name for name, kind in kinds if kind.name == "numeric"]
    blocks, zeros = [], []
    n_rows = float(statistic.weight.sum())
    for j, (name, kind) in enumerate(coded):
        share = smoothing.estimate(statistic.counts.column(j), n_rows, name, kind.levels)
        zeros += [(name, int(c), str(kind.levels[v])) for c, v in np.argwhere(share == 0)]
        with np.errstate(divide="ignore"):
            blocks.append(np.log(share).T)
    log_prob = np.ascontiguousarray(np.concatenate(blocks)) if blocks else np.zeros((0, k))
    mean, variance, used, raised = _gaussians(statistic.moments, var_smoothing)
    product = Product(mean, variance, used, log_prob, statistic.counts.offsets)
    constant = [n for n, u in zip(numeric, used, strict=True) if not u]
    return product, Notes(constant, [numeric[j] for j in raised], zeros)


def _gaussians(moments: Moments, var_smoothing: float) -> tuple[Floats, Floats, NDArray[np.bool_], list[int]]:
    """Means and maximum-likelihood variances (divisor n) of each class.

    A column constant over all rows is left out. Where only some class has no spread, a fraction of the column's own
    overall variance is added to all its variances, which keeps the rule free of units. A class that has no value in a
    column takes the overall mean and variance.
    """
    whole = moments.total()
    overall_mean, overall = whole.mean[0], whole.variance()[0]
    # Rounding leaves a trace of variance in a column of equal large numbers; that is still a constant column.
    used = overall > 1e-30 * np.maximum(overall_mean**2, 1e-300)
    empty = moments.weight <= 0
    mean = np.where(empty, overall_mean, moments.mean)
    variance = np.where(empty, overall, moments.variance())
    flat = used & (variance <= 1e-12 * overall).any(axis=0) if variance.size else used & False
    variance = np.where(flat, variance + var_smoothing * overall, variance)
    variance = np.where(used, variance, 1.0)
    return np.ascontiguousarray(mean), np.ascontiguousarray(variance), used, list(np.flatnonzero(flat))
