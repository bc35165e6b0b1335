"""The normal equations of least squares as a statistic: (Z'WZ + lambda W I) w = Z'Wy about the means.

One pass over the rows gives the cross products of all terms and targets; weights, and how far they can be trusted,
follow from those p x p numbers. Parts of the data merge, so the same code serves rows in memory, files and a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design, largest_of, middle_of
from tilth.params import stored
from tilth.stats.gram import Gram
from tilth.stats.statistic import Statistic

Floats = NDArray[np.float64]

#: Reciprocal condition of the scaled cross products below which weights from them have lost half their digits.
TRUSTED = 1e-8
#: The same, where columns are told apart by rounding alone.
DEPENDENT = 1e-13
#: Squares of numbers outside this range may leave the range of floats.
_SMALL, _LARGE = 1e-70, 1e70
_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Solved:
    """Weights [p, m] and intercepts [m], ``rcond`` of the scaled cross products, terms that depend on each other."""

    coef: Floats
    intercept: Floats
    rcond: float
    dependent: tuple[int, ...] = ()


@stored
@dataclass(slots=True, eq=False, repr=False)
class NormalEquations(Statistic):
    """Cross products of terms and targets.

    Column j enters as ``scale[j]`` times itself: 1 but for numbers whose squares no float could hold, a power of two.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> sums = NormalEquations.of(DenseDesign(np.array([[0.0], [1.0], [2.0]])), np.array([1.0, 3.0, 5.0]))
    >>> found = sums.solve()
    >>> found.coef.round(6), found.intercept.round(6)
    (array([[2.]]), array([1.]))
    """

    gram: Gram
    scale: Floats
    n_terms: int
    #: Whether the target is a single column given as such.
    flat: bool = True

    @classmethod
    def empty(cls, n_terms: int, n_targets: int = 1) -> Self:
        """Nothing seen yet; without rows the number of targets is not final."""
        return cls(Gram.empty(n_terms + n_targets), np.ones(n_terms + n_targets), n_terms)

    @classmethod
    def of(cls, design: Design, y: Floats, weight: Floats | None = None) -> Self:
        """The cross products of some rows."""
        out = cls.empty(design.n_cols)
        out.update(design, y, weight)
        return out

    @property
    def n_targets(self) -> int:
        """Targets."""
        return len(self.scale) - self.n_terms

    def update(self, design: Design, y: Floats, weight: Floats | None = None) -> None:
        """Add rows of a design with their targets, [n] or [n, m]."""
        targets = np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(design.n_rows, -1))
        if design.n_cols != self.n_terms:
            raise ValueError(f"NormalEquations of {self.n_terms} terms were given rows of {design.n_cols} columns.")
        if design.n_rows:
            self += type(self)(*_about_means(design, targets, weight), self.n_terms, np.ndim(y) == 1)

    def __iadd__(self, other: Self) -> Self:
        if type(other) is not type(self) or other.n_terms != self.n_terms:
            raise ValueError("NormalEquations merge with those of the same terms only; grow the smaller ones.")
        if other.gram.weight == 0:
            return self
        if self.gram.weight == 0:
            self.gram, self.scale, self.flat = other.gram.copy(), other.scale.copy(), other.flat
            return self
        if self.n_targets != other.n_targets:
            raise ValueError(f"NormalEquations of {self.n_targets} targets were given rows of {other.n_targets}.")
        # A power of two changes no digit, and the larger numbers of the two decide.
        common = np.minimum(self.scale, other.scale)
        self.gram = _rescaled(self.gram, common / self.scale)
        self.gram += _rescaled(other.gram, common / other.scale)
        self.scale = common
        return self

    def spread(self, places: NDArray[np.integer], n_terms: int) -> NormalEquations:
        """The same rows with ``n_terms`` terms: term j is now at ``places[j]``, the new ones were zero so far."""
        at = np.concatenate([places, n_terms + np.arange(self.n_targets)]).astype(np.int64)
        out = NormalEquations.empty(n_terms, self.n_targets)
        out.gram.weight = self.gram.weight
        out.gram.mean[at] = self.gram.mean
        out.gram.cross[np.ix_(at, at)] = self.gram.cross
        out.scale[at] = self.scale
        out.flat = self.flat
        return out

    def pick(self, terms: NDArray[np.integer]) -> NormalEquations:
        """The equations of some terms."""
        at = np.concatenate([terms, self.n_terms + np.arange(self.n_targets)]).astype(np.int64)
        gram = Gram(self.gram.weight, self.gram.mean[at], np.ascontiguousarray(self.gram.cross[np.ix_(at, at)]))
        return NormalEquations(gram, self.scale[at], len(terms), self.flat)

    @property
    def centre(self) -> Floats:
        """Mean of each term, in its own units."""
        return self.gram.mean[: self.n_terms] / self.scale[: self.n_terms]

    # ---------------------------------------------------------------------------------------------------- solving

    def products(self, intercept: bool) -> Floats:
        """Cross products of scaled terms and targets: about the means, or about zero without an intercept."""
        if intercept:
            return self.gram.cross
        return self.gram.cross + self.gram.weight * np.outer(self.gram.mean, self.gram.mean)

    def units(self, alpha: float, intercept: bool) -> tuple[Floats, Floats]:
        """(what makes each scaled term of length 1, its penalty among the rows; root of the penalty of each term).

        The unit is 0 for a term that never varies: what is left of a constant without its mean is rounding.
        """
        p = self.n_terms
        size = np.sqrt(np.maximum(np.diagonal(self.products(intercept))[:p], 0.0))
        varies = size > 8 * self.noise(intercept)
        ridge = np.sqrt(alpha * self.gram.weight) * self.scale[:p]
        return np.divide(1.0, np.hypot(size, ridge), out=np.zeros(p), where=varies), ridge

    def noise(self, intercept: bool) -> Floats:
        """Length of the rounding errors in each centred column."""
        if not intercept:
            return np.zeros(self.n_terms)
        return _EPS * np.sqrt(self.gram.weight) * np.abs(self.gram.mean[: self.n_terms])

    def solve(self, alpha: float = 0.0, intercept: bool = True) -> Solved:
        """Weights by Cholesky, or those of least norm where terms depend on each other.

        ``alpha`` is lambda of the penalty lambda / 2 |w|^2 beside a mean loss of half the squared residual.
        """
        from scipy.linalg import lapack

        p = self.n_terms
        unit, _ = self.units(alpha, intercept)
        products = self.products(intercept)
        scaled = products[:p, :p] * unit[:, None] * unit
        right = products[:p, p:] * unit[:, None]
        np.fill_diagonal(scaled, 1.0)
        if p == 0:
            return self.finished(np.zeros((0, self.n_targets)), 1.0, intercept)
        factor, failed = lapack.dpotrf(scaled, lower=1)
        rcond = 0.0 if failed else float(lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")[0])
        if rcond > DEPENDENT:
            coef, _ = lapack.dpotrs(factor, right, lower=1)
            return self.finished(coef * unit[:, None], rcond, intercept)
        values, vectors = np.linalg.eigh(scaled)
        known = values > DEPENDENT * p * values[-1]
        coef = vectors[:, known] @ ((vectors[:, known].T @ right) / values[known, None])
        return self.least_norm(coef, unit, vectors[:, ~known], intercept)

    def least_norm(self, coef: Floats, unit: Floats, null: Floats, intercept: bool) -> Solved:
        """The shortest weights among coef + null t, both of terms scaled by ``unit``.

        What depends on what is decided on terms of equal length, so that units play no part; the norm is that of the
        weights in their own units.
        """
        coefficients = coef * unit[:, None]
        own = self.scale[: self.n_terms]
        if null.shape[1]:
            ways = null * (unit * own)[:, None]
            ways = ways / np.maximum(np.abs(ways).max(axis=0), np.finfo(np.float64).tiny)
            basis = np.linalg.qr(ways)[0]
            in_units = coefficients * own[:, None]
            coefficients = (in_units - basis @ (basis.T @ in_units)) / own[:, None]
        dependent = np.flatnonzero((np.abs(null) > 1e-6).any(axis=1)) if null.shape[1] else np.empty(0, dtype=int)
        return self.finished(coefficients, 0.0, intercept, tuple(int(j) for j in dependent))

    def finished(self, coef: Floats, rcond: float, intercept: bool, dependent: tuple[int, ...] = ()) -> Solved:
        """From weights between scaled columns to weights between the columns."""
        p, mean = self.n_terms, self.gram.mean
        own, target = self.scale[:p], self.scale[p:]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            bias = (mean[p:] - mean[:p] @ coef) / target if intercept else np.zeros(self.n_targets)
            weights = coef * own[:, None] / target
        lost = ~np.isfinite(weights).all(axis=1) | ((np.abs(weights) < _TINY) & (np.abs(coef) > _TINY)).any(axis=1)
        if lost.any():
            raise ValueError(
                f"Least squares: the numbers of term {int(lost.argmax())} and of the target differ so much in size "
                "that no float can hold the weight between them; rescale one of the two."
            )
        return Solved(weights, bias, rcond, dependent)

    def risk(self, solved: Solved, intercept: bool) -> float:
        """Half the mean squared residual, summed over targets."""
        p = self.n_terms
        target = self.scale[p:]
        with np.errstate(over="ignore", invalid="ignore"):
            coef = solved.coef / self.scale[:p, None] * target
            # About the means, which cost fewer digits; without an intercept residuals have a mean of their own.
            products, mean = self.gram.cross, self.gram.mean
            across = np.einsum("jm,jm->m", coef, products[:p, p:])
            left = np.diagonal(products)[p:] - 2 * across + np.einsum("jm,jm->m", coef, products[:p, :p] @ coef)
            if not intercept:
                left = left + self.gram.weight * (mean[p:] - mean[:p] @ coef) ** 2
            return float((np.maximum(left, 0.0) / target**2).sum() / (2 * self.gram.weight))

    def violation(self, solved: Solved, alpha: float, intercept: bool) -> float:
        """The largest partial derivative of the cost, in the units of scaled columns."""
        p = self.n_terms
        with np.errstate(over="ignore", invalid="ignore"):
            coef = solved.coef / self.scale[:p, None] * self.scale[p:]
            products = self.products(intercept)
            gradient = (products[:p, :p] @ coef - products[:p, p:]) / self.gram.weight
            gradient += alpha * self.scale[:p, None] ** 2 * coef
            return float(np.abs(gradient).max(initial=0.0))

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.scale.shape == self.gram.mean.shape and 0 <= self.n_terms < self.scale.size
        return "" if good and (self.scale > 0).all() else "terms, targets and cross products do not fit"


def _about_means(design: Design, targets: Floats, weight: Floats | None) -> tuple[Gram, Floats]:
    """Weight, means and centred cross products of rows, and the scale of the columns.

    One pass about a number within each column; that the number is not its mean is then taken back. Only where squares
    leave the range of floats comes a second pass, over scaled columns.
    """
    scale = np.ones(design.n_cols + targets.shape[1])
    middle = np.concatenate([design.middle(), middle_of(targets)])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        gram = _centred(design, targets, weight, scale, middle)
        square = np.diagonal(gram.cross)
        if not np.isfinite(gram.cross).all() or (square < 1e-180 * max(gram.weight, 1e-100)).any():
            largest = np.concatenate([design.largest(), largest_of(targets)])
            odd = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
            if odd.any():
                scale[odd] = np.exp2(-np.frexp(largest[odd])[1].clip(-1000, 1000).astype(np.float64))
                gram = _centred(design, targets, weight, scale, middle * scale)
    if not np.isfinite(gram.cross).all():
        raise ValueError("Least squares needs finite numbers and weights, but a column holds missing or infinite ones.")
    return gram, scale


def _centred(design: Design, targets: Floats, weight: Floats | None, scale: Floats, middle: Floats) -> Gram:
    cross, sums = design.moments(weight, targets, scale, middle)
    total = float(design.n_rows if weight is None else weight.sum())
    if total == 0:
        return Gram.empty(len(sums))
    off = sums / total
    return Gram(total, middle + off, cross - np.outer(sums, off))


def _rescaled(gram: Gram, factor: Floats) -> Gram:
    if (factor == 1.0).all():
        return gram
    return Gram(gram.weight, gram.mean * factor, gram.cross * factor[:, None] * factor)
