"""Relevance: how much one column tells about another, usually the target.

A measure takes two typed columns: numbers (NaN = missing), or codes of levels (negative = missing). Its docstring gives
the formula for the kinds it was made for; for other kinds it has a stated equivalent (``equivalents``), so that every
table can be ranked by any measure. Rows in which either cell is missing are left out; amounts of information are then
multiplied by the share of rows that are left, as the gain of C4.5 is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tilth.data.kinds import Kind
from tilth.data.table import Column
from tilth.data.weighted import mean_sd, quantile
from tilth.params import declared, param, stored
from tilth.parts.column_pairs import Floats, Pair, Weight, counts_of, levels_of, numbers_of, one_way, pair_of
from tilth.parts.information import entropy, log_of_base, mutual_information
from tilth.parts.part import Part
from tilth.stats.hypothesis import Test, chi2_test, f_test, two_sided

#: Numbers with at most this many different values are levels to the estimate by neighbours, which needs distances.
FEW_VALUES = 20
#: p-values below this have lost digits.
_SMALLEST = 1e-290


@dataclass(frozen=True)
class Relevant:
    """What a measure found: ``value``, the p-value of a test, and how the pair was measured in a few words.

    ``order`` ranks columns: the value itself or, for a test, its p-value as a normal score, which does not run out of
    digits and is fair to columns with many levels. A column that cannot be measured ranks last.
    """

    value: float
    p_value: float = math.nan
    how: str = ""
    order: float = -math.inf


def _ranked(value: float, how: str) -> Relevant:
    return Relevant(value, math.nan, how, value if value == value else -math.inf)


def _tested(test: Test, value: float, how: str) -> Relevant:
    """A test as a relevance, ranked by the normal score of its p-value.

    p-values too small for a float rank above all others, by the cube roots of Wilson and Hilferty (chi-squared) and
    Paulson (F).
    """
    x, dof = test.statistic, test.dof
    if x != x:
        return Relevant(value, math.nan, how)
    if test.p_value > _SMALLEST:
        return Relevant(value, test.p_value, how, -float(ndtri(test.p_value)))
    first = 2 / (9 * dof[0])
    second = 2 / (9 * dof[1]) if len(dof) > 1 else 0.0
    root = (x if len(dof) > 1 else x / dof[0]) ** (1 / 3)
    order = math.inf if math.isinf(x) else ((1 - second) * root - (1 - first)) / math.sqrt(second * root**2 + first)
    return Relevant(value, test.p_value, how, max(order, 0.0) - float(ndtri(_SMALLEST)))


# ------------------------------------------------------------------------------------------------------------ measures


@declared
class Relevance(Part):
    """Base: ``of(column, target)`` for two typed columns."""

    #: Pairs of kinds (column, target) that the textbook formula is for; "levels" are nominal or ordinal.
    serves: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: What is done for other pairs, in words.
    equivalents: ClassVar[str] = ""
    #: Whether there is a p-value.
    tests: ClassVar[bool] = False

    def of(self, column: Column, target: Column, weight: Any = None) -> Relevant:
        """The relevance of one column for a target."""
        pair = pair_of(column, target, weight)
        if pair.total <= 0:
            return Relevant(math.nan, how="no row in which both are present")
        return self._of(pair)

    def _of(self, pair: Pair) -> Relevant:
        raise NotImplementedError

    def prepared(self, column: Column, weight: Any = None) -> Column:
        """The column as the measure sees it, for one that is compared with many others."""
        return column


@stored
@declared
class SignalToNoise(Relevance):
    """|mean_1 - mean_0| / (sd_1 + sd_0) of a number in two classes; units cancel.

    ``form="fisher"`` is (mean_1 - mean_0)^2 / (var_1 + var_0). Standard deviations have the divisor n.

    >>> x = Column("x", Kind("numeric"), np.array([0.0, 2.0, 9.0, 11.0]))
    >>> y = Column("y", Kind("nominal", ("no", "yes")), np.array([0, 0, 1, 1]))
    >>> SignalToNoise().of(x, y).value
    4.5
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("numeric", "levels"),)
    equivalents: ClassVar[str] = (
        "several classes: the largest of each class against the rest; a nominal column: the largest of its levels as "
        "0/1 numbers; an ordinal one: ranks; a numeric target: its upper half against its lower half"
    )

    form: str = param("ratio", options=("ratio", "fisher"), doc="Difference over spreads, or squares over variances.")

    def _of(self, pair: Pair) -> Relevant:
        how = []
        if pair.y.kind.name == "numeric":
            classes = (pair.y.values > quantile(pair.y.values, 0.5, pair.weight)[0]).astype(np.intp)
            how.append("target cut at its median")
        else:
            classes = np.unique(pair.y.values, return_inverse=True)[1]
        values = numbers_of(pair.x)
        if values is None:
            codes = np.unique(pair.x.values, return_inverse=True)[1]
            columns = [(codes == level).astype(np.float64) for level in range(int(codes.max()) + 1)]
            how.append("largest of its levels")
        else:
            columns = [values]
        k = int(classes.max()) + 1
        if k < 2:
            return Relevant(math.nan, how="the target has one value only")
        sides = [classes == c for c in range(k)] if k > 2 else [classes == 1]
        if k > 2:
            how.append("largest class against the rest")
        best = max(self._ratio(v, side, pair.weight) for v in columns for side in sides)
        return _ranked(best, "; ".join(how))

    def _ratio(self, values: Floats, side: NDArray[np.bool_], weight: Weight) -> float:
        w = np.ones(len(values)) if weight is None else weight
        if np.ptp(values) == 0:
            return 0.0
        (m1, s1), (m0, s0) = mean_sd(values[side], w[side]), mean_sd(values[~side], w[~side])
        difference = abs(m1 - m0)
        top, low = (difference, s1 + s0) if self.form == "ratio" else (difference**2, s1**2 + s0**2)
        return top / low if low > 0 else (math.inf if top > 0 else 0.0)


@stored
@declared
class MutualInformation(Relevance):
    """I = sum p(x, y) log [p(x, y) / p(x) p(y)], the integral for densities; 0 when independent. In bits by default.

    Levels: exact, from counts; with classes it is the information gain of a tree. Numbers: distances to the nearest
    neighbours (Kraskov, Stoegbauer and Grassberger 2004; Ross 2014 for a number and levels), as scikit-learn estimates
    them. ``method="gaussian"``: -1/2 log(1 - r^2) for two numbers, right when they are jointly normal.

    >>> outlook = Column("outlook", Kind("nominal", ("a", "b")), np.array([0, 0, 1, 1]))
    >>> play = Column("play", Kind("nominal", ("no", "yes")), np.array([0, 0, 1, 1]))
    >>> MutualInformation().of(outlook, play).value
    1.0
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (
        ("levels", "levels"), ("numeric", "levels"), ("levels", "numeric"), ("numeric", "numeric"),
    )  # fmt: skip
    equivalents: ClassVar[str] = (
        "numbers with few different values are levels; with weights, which neighbours do not know, numbers are cut "
        "into bins"
    )

    base: float = param(2.0, low=0, low_open=True, doc="Unit: 2 for bits, e for nats.")
    method: str = param(
        "auto", options=("auto", "neighbours", "bins", "gaussian"), doc="How numbers are treated; auto: neighbours."
    )
    n_neighbors: int = param(3, low=1, doc="Neighbours; few: less bias, more spread.", tune=(2, 10))
    n_bins: int = param(10, low=2, high=1000, doc="Bins of equal counts, where numbers are cut.")
    random_state: Any = param(0, doc="Seed of the tiny noise that parts equal numbers.")

    def _of(self, pair: Pair) -> Relevant:
        unit = log_of_base(self.base)
        numeric = [c.kind.name == "numeric" and len(np.unique(c.values)) > FEW_VALUES for c in (pair.x, pair.y)]
        if self.method == "gaussian" and numbers_of(pair.x) is not None and numbers_of(pair.y) is not None:
            r = _correlation(np.asarray(numbers_of(pair.x)), np.asarray(numbers_of(pair.y)), pair.weight)
            with np.errstate(divide="ignore"):
                value = float(-0.5 * np.log1p(-(r**2)) / unit) if r == r else 0.0
            return _ranked(value * pair.known, "of a normal pair")
        if any(numeric) and self.method != "bins" and pair.weight is None and len(pair.x.values) > self.n_neighbors + 1:
            return _ranked(self._by_neighbours(pair, numeric) / unit * pair.known, "nearest neighbours")
        (x, how_x), (y, how_y) = (levels_of(c, self._bins(c), pair.weight) for c in (pair.x, pair.y))
        value = mutual_information(counts_of(x, y, pair.weight), self.base) * pair.known
        return _ranked(value, how_x or (f"target {how_y}" if how_y else "counts"))

    def _bins(self, column: Column) -> int:
        """Few different numbers are levels as they stand."""
        return max(self.n_bins, FEW_VALUES) if len(np.unique(column.values)) <= FEW_VALUES else self.n_bins

    def _by_neighbours(self, pair: Pair, numeric: list[bool]) -> float:
        from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

        x = np.asarray(pair.x.values, dtype=np.float64)[:, None]
        estimate = mutual_info_regression if numeric[1] else mutual_info_classif
        y = np.asarray(pair.y.values, dtype=np.float64 if numeric[1] else None)
        if not numeric[1]:
            y = np.unique(y, return_inverse=True)[1]
        estimates = estimate(
            x, y, discrete_features=[not numeric[0]], n_neighbors=self.n_neighbors, random_state=self.random_state
        )
        return float(estimates[0])


@stored
@declared
class SymmetricUncertainty(Relevance):
    """2 I(x, y) / (H(x) + H(y)): mutual information from 0 to 1, fair to columns with many levels.

    >>> a = Column("a", Kind("nominal", ("p", "q")), np.array([0, 0, 1, 1]))
    >>> SymmetricUncertainty().of(a, a).value
    1.0
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("levels", "levels"),)
    equivalents: ClassVar[str] = "numbers are cut into bins of equal counts"

    n_bins: int = param(10, low=2, high=1000, doc="Bins of equal counts, where numbers are cut.")

    def _of(self, pair: Pair) -> Relevant:
        (x, how), (y, _) = (levels_of(c, self.n_bins, pair.weight) for c in (pair.x, pair.y))
        table = counts_of(x, y, pair.weight)
        own = float(entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)))
        return _ranked(2 * mutual_information(table) / own * pair.known if own > 0 else 0.0, how)

    def prepared(self, column: Column, weight: Any = None) -> Column:
        """Level codes; numbers are cut once for all comparisons."""
        there = ~column.missing
        codes = np.full(len(there), -1, dtype=np.int32)
        known = Column(column.name, column.kind, column.values[there])
        codes[there] = levels_of(known, self.n_bins, None if weight is None else np.asarray(weight)[there])[0]
        return Column(column.name, Kind("nominal", tuple(range(int(codes.max(initial=0)) + 1))), codes)


@stored
@declared
class ChiSquare(Relevance):
    """sum (observed - expected)^2 / expected of the table of levels and classes, with its p-value.

    Expected counts are those of independence; (levels - 1)(classes - 1) degrees of freedom; no correction of
    continuity. Each level is counted: codes are not taken for amounts.

    >>> x = Column("x", Kind("nominal", ("a", "b")), np.array([0] * 10 + [1] * 10))
    >>> y = Column("y", Kind("nominal", ("no", "yes")), np.array([0] * 8 + [1] * 2 + [0] * 2 + [1] * 8))
    >>> found = ChiSquare().of(x, y)
    >>> round(found.value, 6), round(found.p_value, 4)
    (7.2, 0.0073)
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("levels", "levels"),)
    equivalents: ClassVar[str] = "numbers, of a column or a target, are cut into bins of equal counts"
    tests: ClassVar[bool] = True

    n_bins: int = param(5, low=2, high=1000, doc="Bins of equal counts, where numbers are cut.")

    def _of(self, pair: Pair) -> Relevant:
        (x, how_x), (y, how_y) = (levels_of(c, self.n_bins, pair.weight) for c in (pair.x, pair.y))
        test = _chi_squared(counts_of(x, y, pair.weight))
        return _tested(test, test.statistic, how_x or (f"target {how_y}" if how_y else ""))


def _chi_squared(table: Floats) -> Test:
    """Pearson's test of independence; its size is Cramer's V."""
    dof = (table.shape[0] - 1) * (table.shape[1] - 1)
    if dof <= 0:
        return Test("chi-squared", math.nan, (dof,), math.nan)
    total = table.sum()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / total
    statistic = float(((table - expected) ** 2 / expected).sum())
    return chi2_test("chi-squared", statistic, dof, math.sqrt(statistic / (total * (min(table.shape) - 1))), "V")


@stored
@declared
class AnovaF(Relevance):
    """F = (between / (g - 1)) / (within / (n - g)): sums of squares of a number between and within g classes.

    >>> x = Column("x", Kind("numeric"), np.array([1.0, 2.0, 3.0, 5.0, 6.0, 7.0]))
    >>> y = Column("y", Kind("nominal", ("no", "yes")), np.array([0, 0, 0, 1, 1, 1]))
    >>> found = AnovaF().of(x, y)
    >>> found.value, round(found.p_value, 4)
    (24.0, 0.008)
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("numeric", "levels"), ("levels", "numeric"))
    equivalents: ClassVar[str] = (
        "two numbers: F of the straight line, r^2 (n - 2) / (1 - r^2); levels and classes: F of the classes as 0/1 "
        "numbers between and within levels (Light and Margolin 1971), with their p-value; ordinal columns: ranks"
    )
    tests: ClassVar[bool] = True

    def _of(self, pair: Pair) -> Relevant:
        x = numbers_of(pair.x)
        if pair.y.kind.name == "numeric":
            if x is None:
                test = one_way(pair.y.values, levels_of(pair.x, 2)[0], pair.weight).test()
                return _tested(test, test.statistic, "target within levels")
            r = _correlation(x, np.asarray(pair.y.values, dtype=np.float64), pair.weight)
            left = pair.total - 2
            with np.errstate(divide="ignore"):
                statistic = float(np.float64(r**2 * left) / np.float64(1 - r**2)) if left > 0 else math.nan
            test = f_test("F", statistic, 1, left)
            return _tested(test, test.statistic, "straight line")
        classes = np.unique(pair.y.values, return_inverse=True)[1]
        if x is not None:
            test = one_way(x, classes, pair.weight).test()
            return _tested(test, test.statistic, "ranks" if pair.x.kind.name == "ordinal" else "")
        return self._of_levels(pair, classes)

    def _of_levels(self, pair: Pair, classes: NDArray[np.intp]) -> Relevant:
        k = int(classes.max()) + 1
        analysis = one_way(np.eye(k)[classes], levels_of(pair.x, 2)[0], pair.weight)
        statistic = analysis.test().statistic
        if statistic != statistic:
            return Relevant(math.nan, how="classes within levels")
        spread = (analysis.total - 1) * (k - 1) * analysis.share
        return _tested(chi2_test("C", spread, (analysis.groups - 1) * (k - 1)), statistic, "classes within levels")


@stored
@declared
class Correlation(Relevance):
    """|r| = |cov(x, y)| / (sd(x) sd(y)), Pearson's, or Spearman's of the ranks; with the p-value of r = 0.

    With two classes r is the point-biserial correlation. This ranks columns one by one; the merit of a set of columns
    is :class:`CFSMerit`.

    >>> x = Column("x", Kind("numeric"), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> y = Column("y", Kind("numeric"), np.array([4.0, 3.0, 2.0, 1.0]))
    >>> Correlation().of(x, y).value
    1.0
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("numeric", "numeric"), ("numeric", "levels"))
    equivalents: ClassVar[str] = (
        "a number and several levels: eta, the root of the share of variance between the levels; two columns of "
        "levels: Cramer's V; ordinal columns: ranks"
    )
    tests: ClassVar[bool] = True

    method: str = param("pearson", options=("pearson", "spearman"), doc="Of the numbers, or of their ranks.")

    def _of(self, pair: Pair) -> Relevant:
        x, y = (self._as_numbers(c, pair.weight) for c in (pair.x, pair.y))
        if x is not None and y is not None:
            r = _correlation(x, y, pair.weight)
            left = pair.total - 2
            if r != r or left <= 0:
                return Relevant(abs(r), how=self.method)
            with np.errstate(divide="ignore"):
                t = float(np.float64(r) * math.sqrt(left) / np.sqrt(np.float64(1 - r**2)))
            return Relevant(abs(r), float(two_sided(t, left)), self.method, abs(r))
        if x is None and y is None:
            test = _chi_squared(counts_of(levels_of(pair.x, 2)[0], levels_of(pair.y, 2)[0], pair.weight))
            return Relevant(test.size, test.p_value, "Cramer's V", _or_last(test.size))
        values, groups = (x, pair.y) if x is not None else (y, pair.x)
        assert values is not None
        analysis = one_way(values, levels_of(groups, 2)[0], pair.weight)
        eta = math.sqrt(analysis.share) if analysis.share == analysis.share else math.nan
        return Relevant(eta, analysis.test().p_value, "eta", _or_last(eta))

    def _as_numbers(self, column: Column, weight: Weight) -> Floats | None:
        values = numbers_of(column)
        if values is None:
            codes = np.unique(column.values, return_inverse=True)[1]
            return codes.astype(np.float64) if len(codes) and codes.max() <= 1 else None
        return _ranks(values, weight) if self.method == "spearman" else values


def _ranks(values: Floats, weight: Weight) -> Floats:
    """Ranks from 1, equal values sharing their mean rank; a weight of 2 takes two ranks."""
    _, place = np.unique(values, return_inverse=True)
    held = np.bincount(place, weight).astype(np.float64)
    return np.asarray((np.cumsum(held) - held + (held + 1) / 2)[place])


def _or_last(value: float) -> float:
    return value if value == value else -math.inf


def _correlation(x: Floats, y: Floats, weight: Weight) -> float:
    w = np.ones(len(x)) if weight is None else weight
    (mx, sx), (my, sy) = mean_sd(x, w), mean_sd(y, w)
    if not (sx > 0 and sy > 0):
        return math.nan
    return float(np.clip(np.average((x - mx) / sx * ((y - my) / sy), weights=w), -1.0, 1.0))


@stored
@declared
class CFSMerit(Relevance):
    """Merit of a set of k columns: k r_cf / sqrt(k + k (k - 1) r_ff) (Hall 1999).

    r_cf is the mean relation of its columns to the target, r_ff the mean relation among them: a copy of a column adds
    nothing. ``of`` is the merit of a single column; :meth:`merit` that of a set.

    >>> CFSMerit().merit([0.6], [[1.0]])
    0.6
    >>> round(CFSMerit().merit([0.6, 0.6], [[1.0, 1.0], [1.0, 1.0]]), 6)
    0.6
    """

    serves: ClassVar[tuple[tuple[str, str], ...]] = (("levels", "levels"), ("numeric", "numeric"))
    equivalents: ClassVar[str] = "those of the relation"

    relation: Any = param(
        None, also=(Relevance,), options=(None,), doc="Relation of two columns, 0 to 1; None: symmetric uncertainty."
    )

    def related(self) -> Relevance:
        """The relation in force."""
        return SymmetricUncertainty() if self.relation is None else self.relation

    def _of(self, pair: Pair) -> Relevant:
        relevance = self.related()._of(pair)
        return Relevant(relevance.value, relevance.p_value, relevance.how, _or_last(relevance.value))

    def merit(self, to_target: Any, among: Any) -> float:
        """Merit from relations to the target [k] and among the columns [k, k], whose diagonal is not used."""
        to = np.nan_to_num(np.asarray(to_target, dtype=np.float64))
        k = len(to)
        if not k:
            return 0.0
        between = np.nan_to_num(np.asarray(among, dtype=np.float64))
        pairs = between.sum() - np.trace(between)
        # k + k (k - 1) times the mean of the pairs is k + their sum.
        return float(to.sum() / math.sqrt(k + pairs))

    def among(self, columns: Sequence[Column], weight: Any = None) -> Floats:
        """Relations of all pairs of columns."""
        relation, d = self.related(), len(columns)
        columns = [relation.prepared(c, weight) for c in columns]
        out = np.eye(d)
        for i in range(d):
            for j in range(i):
                out[i, j] = out[j, i] = relation.of(columns[i], columns[j], weight).value
        return out


#: Measures by the words that models accept as ``relevance``.
NAMED: dict[str, type[Relevance]] = {
    "signal to noise": SignalToNoise,
    "mutual information": MutualInformation,
    "symmetric uncertainty": SymmetricUncertainty,
    "chi-square": ChiSquare,
    "anova": AnovaF,
    "correlation": Correlation,
    "cfs": CFSMerit,
}


def target_column(y: NDArray[Any], n_classes: int = 0, name: str = "target") -> Column:
    """A target as a typed column: class codes with ``n_classes``, numbers without.

    >>> target_column(np.array([0, 1, 1]), 2).kind.name
    'nominal'
    """
    if n_classes:
        return Column(name, Kind("nominal", tuple(range(n_classes))), np.asarray(y, dtype=np.int32))
    return Column(name, Kind("numeric"), np.asarray(y, dtype=np.float64))
