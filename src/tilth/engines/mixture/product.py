"""Products of per-kind distributions for k components at once: p(x | c) = prod_j p(x_j | c).

Numbers follow one exponential family, normal unless another is chosen; nominal and ordinal columns are categorical. A
missing cell drops its factor, which is exact marginalisation in a product. Naive Bayes is one round of this engine with
a label per row; a mixture runs it in rounds, with responsibilities [n, k] in place of labels (:mod:`.em`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.params import stored
from tilth.parts.distribution import ExponentialFamily
from tilth.parts.distributions import NormalDistribution
from tilth.parts.smoothing import Laplace, Smoothing
from tilth.stats.counts import Counts
from tilth.stats.inputs import group_weight
from tilth.stats.moments import Moments
from tilth.stats.statistic import Statistic, require_mergeable
from tilth.stats.sums import sparse_data

Floats = NDArray[np.float64]


@stored
@dataclass(slots=True, eq=False, repr=False)
class ProductStatistic(Statistic):
    """Weight of each component, counts of levels and moments of numbers within it."""

    weight: Floats
    counts: Counts
    moments: Moments

    def update(self, table: Table, y: NDArray[Any], weight: Floats | None = None) -> None:
        """Add typed rows with their components: a code each, or shares [n, k]."""
        k = len(self.weight)
        if y.ndim == 2:
            added = y.sum(axis=0) if weight is None else weight @ y
        else:
            added = group_weight(y, k, weight)
        if self.counts.sizes.size:
            self.counts.update(table.codes(), y, weight)
        if self.moments.mean.shape[1]:
            try:
                self.moments.update(table.numbers(), y, weight)
            except ValueError as error:
                _refuse_huge(table)
                raise error
        self.weight += added

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
    """Fitted densities: of ``numbers`` [k, p], and ``log_prob`` [levels of all columns, k] cut by ``offsets``.

    ``used`` marks the numeric columns that take part; a column with one single value carries nothing.
    """

    numbers: ExponentialFamily | None
    used: NDArray[np.bool_]
    log_prob: Floats
    offsets: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes or components."""
        return int(self.log_prob.shape[1])

    @property
    def mean(self) -> Floats:
        """Means of the numeric columns [k, p]."""
        return np.zeros((self.n_classes, 0)) if self.numbers is None else np.asarray(self.numbers.mean())

    @property
    def variance(self) -> Floats:
        """Variances of the numeric columns [k, p]."""
        return np.zeros((self.n_classes, 0)) if self.numbers is None else np.asarray(self.numbers.variance())

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, for AIC and BIC."""
        columns = len(self.offsets) - 1
        return (len(self.log_prob) - columns) * self.n_classes + (self.numbers.n_parameters if self.numbers else 0)

    def levels(self, j: int) -> Floats:
        """log p of the levels of the j-th column of levels [levels, k]."""
        return self.log_prob[self.offsets[j] : self.offsets[j + 1]]

    def number(self, j: int, components: Any = slice(None)) -> ExponentialFamily:
        """The distributions of the j-th numeric column, one per component."""
        assert self.numbers is not None
        parameters = {name: value[components, j] for name, value in self._parameters().items()}
        return dataclasses.replace(self.numbers, **parameters)

    def _parameters(self) -> dict[str, Floats]:
        """What differs between components and columns."""
        values = {} if self.numbers is None else self.numbers.get_params()
        return {name: value for name, value in values.items() if np.ndim(value) == 2}

    def log_density(self, table: Table) -> Floats:
        """log p(x_i | c) [n, k]."""
        out = np.zeros((table.n_rows, self.n_classes))
        self.add_log_density(table, out)
        return out

    def add_log_density(self, table: Table, out: Floats) -> None:
        """out[i, c] += log p(x_i | c)."""
        if len(self.offsets) > 1:
            _core.add_table(table.codes(), self.offsets, self.log_prob, out)
        if not self.used.any():
            return
        numbers = table.numbers()
        if isinstance(self.numbers, NormalDistribution):
            mean, variance = np.asarray(self.numbers.location), np.square(self.numbers.scale)
            if not self.used.all():
                numbers, mean, variance = (
                    np.ascontiguousarray(values[:, self.used]) for values in (numbers, mean, variance)
                )
            _core.add_gaussian(numbers, mean, variance, out)
        else:
            for j in np.flatnonzero(self.used).tolist():
                out += np.nan_to_num(self.number(j).log_density(numbers[:, j]), nan=0.0, neginf=-np.inf)

    def terms(self, table: Table) -> tuple[list[str], Floats]:
        """log p(x_j | c) of every column apart: names and an array [rows, classes, columns]."""
        out = np.zeros((table.n_rows, self.n_classes, len(table.columns)))
        for place, (column, j) in enumerate(zip(table.columns, places([c.kind for c in table.columns]), strict=True)):
            if column.kind.name != "numeric":
                out[:, :, place] = np.vstack([self.levels(j), np.zeros(self.n_classes)])[column.values]
            elif self.used[j]:
                out[:, :, place] = np.nan_to_num(self.number(j).log_density(column.values), neginf=-np.inf)
        return table.names, out

    def sample(self, columns: Sequence[tuple[str, Kind]], components: NDArray[Any], rng: np.random.Generator) -> Table:
        """One row for each component code, as a table of these columns."""
        drawn: list[Column] = []
        for (name, kind), j in zip(columns, places([kind for _, kind in columns]), strict=True):
            if kind.name != "numeric":
                share = np.exp(self.levels(j))
                reach = np.cumsum(share / share.sum(axis=0), axis=0)[:, components]
                codes = (rng.random(len(components)) > reach).sum(axis=0)
                values: Any = codes.clip(max=len(kind.levels) - 1).astype(np.int32)
            elif self.used[j]:
                values = self.number(j, components).sample((), rng)
            else:
                values = self.mean[components, j]
            drawn.append(Column(name, kind, values))
        return Table(drawn, len(components))

    def validate(self) -> None:
        """Refuse arrays that do not fit together (a damaged or hostile file)."""
        parameters = {} if self.numbers is None else self.numbers.get_params()
        shapes = {np.shape(value) for name, value in parameters.items() if name != "n"}
        fits = shapes == ({(self.n_classes, len(self.used))} if self.used.size else set())
        if not fits or Counts(np.ascontiguousarray(self.log_prob.T), self.offsets).inconsistency():
            raise ValueError("the densities of the model do not fit together")


def places(kinds: Sequence[Kind]) -> list[int]:
    """The place of each column among the numeric ones, or among those of levels."""
    numeric = np.array([kind.name == "numeric" for kind in kinds], dtype=bool)
    return (np.where(numeric, np.cumsum(numeric), np.cumsum(~numeric)) - 1).tolist()


@dataclass(frozen=True)
class Notes:
    """What estimation had to do: constant columns left out, variances raised, (column, class, level) never seen."""

    constant: list[str]
    raised: list[str]
    zeros: list[tuple[str, int, str]]


@dataclass(frozen=True)
class Columns:
    """The family of tables with these columns, independent of each other within a component.

    It is asked like a part: ``statistic(table, weights)`` with weights [n, k], ``from_statistic(statistic)``.
    """

    columns: Sequence[tuple[str, Kind]]
    numbers: ExponentialFamily = field(default_factory=NormalDistribution)
    smoothing: Smoothing = field(default_factory=Laplace)

    def empty(self, k: int) -> ProductStatistic:
        """Nothing seen yet of k components."""
        sizes = [len(kind.levels) for _, kind in self.coded]
        return ProductStatistic(np.zeros(k), Counts.empty(k, sizes), Moments.empty(k, len(self.columns) - len(sizes)))

    @property
    def coded(self) -> list[tuple[str, Kind]]:
        """The columns of levels."""
        return [(name, kind) for name, kind in self.columns if kind.name != "numeric"]

    def statistic(self, table: Table, weights: Floats) -> ProductStatistic:
        """Counts and moments of k components; weights are [n], or [n, k]."""
        shares = weights.reshape(len(weights), -1)
        statistic = self.empty(shares.shape[1])
        statistic.update(table, shares)
        return statistic

    def from_statistic(
        self, statistic: ProductStatistic, prior: ProductStatistic | None = None, *, floor: float = 0.0
    ) -> Product:
        """Densities of greatest posterior: counts smoothed, variances of at least ``floor`` of the column's own."""
        statistic = statistic if prior is None else statistic + prior
        n_rows = float(statistic.weight.sum())
        shares = [
            self.smoothing.estimate(statistic.counts.column(j), n_rows, name, kind.levels).T
            for j, (name, kind) in enumerate(self.coded)
        ]
        with np.errstate(divide="ignore"):
            log_prob = np.log(np.concatenate([*shares, np.zeros((0, len(statistic.weight)))]))
        moments, used = statistic.moments, varies(statistic.moments)
        numbers = None
        if used.size:
            # A constant column takes no part; its variance of 1 keeps it from ending the estimation of the others.
            weight, m2 = (np.where(used, values, 1.0) for values in (moments.weight, moments.m2))
            moments = Moments(weight, np.where(used, moments.mean, moments.estimates()[0]), m2)
            numbers = dataclasses.replace(self.numbers, **self.numbers.parameters_from(moments, floor))
        return Product(numbers, used, np.ascontiguousarray(log_prob), statistic.counts.offsets)

    def log_prior(self, product: Product) -> float:
        """log of the prior density that the smoothing stands for, up to a constant."""
        total = 0.0
        for j, (name, kind) in enumerate(self.coded):
            imagined = self.smoothing.pseudo_counts(name, kind.levels)[:, None]
            total += float(np.where(imagined > 0, imagined * product.levels(j), 0.0).sum())
        return total

    def describe(self, statistic: ProductStatistic, var_smoothing: float) -> tuple[Product, Notes]:
        """Densities and what had to be done for them.

        Where only some component has no spread in a column, ``var_smoothing`` of the column's own variance is added to
        all its variances, which keeps the rule free of units.
        """
        moments = statistic.moments
        overall, used = moments.total().variance()[0], varies(moments)
        variance = moments.estimates()[1]
        flat = used & (variance <= 1e-12 * overall).any(axis=0)
        widened = moments.m2 + np.where(flat, moments.weight * var_smoothing * overall, 0.0)
        moments = Moments(moments.weight, moments.mean, widened)
        product = self.from_statistic(ProductStatistic(statistic.weight, statistic.counts, moments))
        numeric = [name for name, kind in self.columns if kind.name == "numeric"]
        zeros = [
            (name, int(c), str(kind.levels[v]))
            for j, (name, kind) in enumerate(self.coded)
            for c, v in np.argwhere(np.isneginf(product.levels(j).T))
        ]
        constant, raised = ([n for n, mark in zip(numeric, marks, strict=True) if mark] for marks in (~used, flat))
        return product, Notes(constant, raised, zeros)


def varies(moments: Moments) -> NDArray[np.bool_]:
    """Which columns vary over all rows.

    Rounding leaves a trace of variance in a column of equal large numbers; that is still a constant column.
    """
    whole = moments.total()
    return np.asarray(whole.variance()[0] > 1e-30 * np.maximum(whole.mean[0] ** 2, 1e-300))


def linear_scores(rows: Any, coef: Floats, binarize: float | None = None) -> Floats:
    """rows @ coef, for a typed table or a sparse matrix: the log density of counts, whose families are linear in them.

    ``coef`` is [p, k]; with ``binarize`` a cell counts 1 where it exceeds that number, else 0.
    """
    if isinstance(rows, Table):
        numbers = rows.numbers()
        return (numbers if binarize is None else (numbers > binarize).astype(np.float64)) @ coef
    return _core.csr_scores(rows.indptr, rows.indices, sparse_data(rows), coef, binarize)
