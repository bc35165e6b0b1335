"""What a fit keeps so that the errors of its weights can be told: cross products of the terms and a few sums.

With curvature h_i of the loss in the score of row i and weight w_i, the information is sum_i w_i h_i z_i z_i' over
z = (1, x); its inverse times the dispersion is the covariance of (intercept, weights).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import DenseDesign, Design
from tilth.engines.linear.normal import NormalEquations, Solved
from tilth.engines.linear.problem import Problem, Weights
from tilth.params import stored
from tilth.parts.families import Family, NormalFamily
from tilth.stats.gram import Gram

Floats = NDArray[np.float64]

#: What a weight of 2 means: the row was seen twice, or its variance is half as large.
Weighing = Literal["repeats", "precision"]
Robust = Literal["HC0", "HC1", "HC2", "HC3", "cluster", "HAC"]
ROBUST: tuple[Robust, ...] = ("HC0", "HC1", "HC2", "HC3", "cluster", "HAC")

#: Rows held as one dense block.
_BLOCK_CELLS = 1 << 21
#: A term whose own part is a smaller share of it than this (in squares) is a combination of the others.
_DEPENDENT = 1e-12
#: The same for a column beside its mean: it does not vary.
_CONSTANT = 1e-13


def blocks(design: Design) -> Iterator[tuple[slice, Floats]]:
    """Dense blocks of rows, one after another."""
    step = max(1, _BLOCK_CELLS // max(design.n_cols, 1))
    for start in range(0, design.n_rows, step):
        rows = slice(start, min(start + step, design.n_rows))
        if isinstance(design, DenseDesign):
            yield rows, design.matrix[rows]
        else:
            yield rows, design.take(np.arange(rows.start, rows.stop)).dense()


@stored
@dataclass(frozen=True)
class Evidence:
    """Facts of a fit by maximum likelihood.

    ``squares`` is Pearson's sum w (y - m)^2 / variance(m): the residual sum of squares of a normal family.
    ``log_weights`` is sum log w, which the likelihood needs where weights are precisions.
    """

    gram: Gram
    intercept: bool
    n_rows: int
    total: float
    squares: float
    deviance: float
    null_deviance: float
    log_likelihood: float
    log_weights: float = 0.0

    @property
    def n_terms(self) -> int:
        """Weights, without the intercept."""
        return int(self.gram.mean.size)

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats]:
        """Correlations of the terms (or cosines, without an intercept) and the lengths they were divided by."""
        g = self.gram
        cross = g.cross if self.intercept else g.cross + g.weight * np.outer(g.mean, g.mean)
        length = np.sqrt(np.maximum(np.diagonal(cross), 0.0))
        alone = length <= _CONSTANT * np.sqrt(g.weight) * np.abs(g.mean) if self.intercept else length == 0
        length = np.where(alone, 0.0, length)
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return cross * unit[:, None] * unit[None, :], length

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Eigenvalues and vectors of the scaled cross products, and which of them carry information."""
        scaled, _ = self._scaled
        values, vectors = np.linalg.eigh(scaled)
        return values, vectors, values > _DEPENDENT * max(len(values), 1) * max(values.max(initial=0.0), 1e-300)

    @property
    def rank(self) -> int:
        """Independent weights, with the intercept."""
        return int(self._spectrum[2].sum()) + self.intercept

    def n(self, weighing: Weighing = "repeats") -> float:
        """Number of observations."""
        if weighing == "precision" and not self.n_rows:
            raise ValueError(
                "The rows were given in parts and not counted, so weights can only be taken as repeats; fit on all "
                "rows at once, or use estimates(X, y, weights='precision')."
            )
        return self.total if weighing == "repeats" else float(self.n_rows)

    def freedom(self, weighing: Weighing = "repeats") -> float:
        """Observations less independent weights."""
        return self.n(weighing) - self.rank

    def dispersion(self, family: Family, weighing: Weighing = "repeats") -> float:
        """1 where it is known, else Pearson's estimate squares / freedom: of normal errors the unbiased variance."""
        freedom = self.freedom(weighing)
        return 1.0 if family.fixed else (self.squares / freedom if freedom > 0 else float("nan"))

    @cached_property
    def unit_covariance(self) -> Floats:
        """Covariance of (intercept, weights) per unit of dispersion; a shortest answer where terms are dependent."""
        of_weights = self.half @ self.half.T
        if not self.intercept:
            return of_weights
        moved = of_weights @ self.gram.mean
        corner = 1.0 / self.gram.weight + self.gram.mean @ moved
        return np.block([[np.array([[corner]]), -moved[None, :]], [-moved[:, None], of_weights]])

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Which of (intercept, weights) the data determine."""
        _, length = self._scaled
        _, vectors, kept = self._spectrum
        free = vectors[:, ~kept]
        weights = ~((np.abs(free) > 1e-5).any(axis=1) | (length == 0))
        if not self.intercept:
            return np.asarray(weights)
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        moves = free * (self.gram.mean * unit)[:, None]
        fixed = not ((length == 0) & (self.gram.mean != 0)).any()
        fixed = fixed and bool((np.abs(moves.sum(axis=0)) <= 1e-6 * np.abs(moves).sum(axis=0)).all())
        return np.concatenate([[fixed], weights])

    def combinations(self) -> list[tuple[int, dict[int, float]]]:
        """Terms that are combinations of earlier ones: (term, {other term: factor}); a constant term has no others."""
        scaled, length = self._scaled
        dependent: list[tuple[int, dict[int, float]]] = []
        kept: list[int] = []
        for j in range(self.n_terms):
            if length[j] == 0:
                dependent.append((j, {}))
                continue
            along = scaled[kept, j]
            factors = np.linalg.solve(scaled[np.ix_(kept, kept)], along) if kept else np.empty(0)
            if 1.0 - along @ factors > _DEPENDENT * 100:
                kept.append(j)
                continue
            real = {k: float(f * length[j] / length[k]) for k, f in zip(kept, factors, strict=True) if abs(f) > 1e-7}
            dependent.append((j, real))
        return dependent

    def variances_of(self, design: Design) -> Floats:
        """z_i' C z_i of each row, C the covariance per unit of dispersion: the variance of its score.

        NaN for a row that lies in a direction in which the training rows do not differ: its score is not determined.
        """
        out = np.empty(design.n_rows)
        for rows, X in blocks(design):
            centred = X - self.gram.mean if self.intercept else X
            out[rows] = np.square(centred @ self.half).sum(axis=1)
            if self.free.size:
                undetermined = np.abs(centred @ self.free) > 1e-6 * (np.abs(X) + np.abs(self.gram.mean)) @ np.abs(
                    self.free
                )
                out[rows] = np.where(undetermined.any(axis=1), np.nan, out[rows])
        return out + 1.0 / self.gram.weight if self.intercept else out

    @cached_property
    def half(self) -> Floats:
        """A square root of the covariance of the weights."""
        _, length = self._scaled
        values, vectors, kept = self._spectrum
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return (vectors[:, kept] / np.sqrt(values[kept])) * unit[:, None]

    @cached_property
    def free(self) -> Floats:
        """Directions in which weights may move without any effect on the training rows, [p, d]."""
        _, length = self._scaled
        _, vectors, kept = self._spectrum
        flat = length == 0
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=~flat)
        among = vectors[:, ~kept] * unit[:, None]
        among = among[:, (np.abs(among) > 0).any(axis=0)]
        return np.column_stack([among, np.eye(len(length))[:, flat]])

    def inflation(self, groups: list[list[int]]) -> Floats:
        """Generalised variance inflation of groups of terms: (det R_g det R_rest / det R)^(1 / size).

        Infinite for a group that depends on the others; for a single term 1 / (1 - R^2), R of it on the others.
        """
        scaled, length = self._scaled
        everything = np.arange(self.n_terms)
        out = np.full(len(groups), np.inf)
        for g, group in enumerate(groups):
            members = np.asarray(group)
            if (length[members] == 0).any():
                continue
            rest = np.setdiff1d(everything[length > 0], members)
            own, others = scaled[np.ix_(members, members)], scaled[np.ix_(rest, rest)]
            across = scaled[np.ix_(members, rest)]
            left = own - across @ np.linalg.pinv(others, rcond=_DEPENDENT, hermitian=True) @ across.T
            sign, log_left = np.linalg.slogdet(left)
            log_own = np.linalg.slogdet(own)[1]
            smallest = np.linalg.eigvalsh(left).min()
            if sign > 0 and smallest > _DEPENDENT * 100:
                out[g] = np.exp((log_own - log_left) / len(members))
        return out

    def condition(self) -> float:
        """Square root of the ratio of the extreme eigenvalues of the scaled cross products."""
        values, _, kept = self._spectrum
        return float(np.sqrt(values.max() / values.min())) if kept.all() and values.size else float("inf")


def curvatures(problem: Problem, eta: Floats, observed: bool = False) -> Floats:
    """Curvature of the loss of each row: expected over y for numbers unless ``observed``, observed for classes.

    The hessians of these losses are linear in y, so that their expectation is their value at y = mean.
    """
    expected = problem.loss.serves == "numbers" and not observed
    return problem.loss.hessian(problem.loss.inverse(eta) if expected else problem.y, eta)


def evidence(problem: Problem, at: Weights, family: Family, *, observed: bool = False) -> Evidence:
    """The facts of a fit of one score."""
    eta = problem.scores(at)
    mean = problem.loss.inverse(eta)
    y = np.asarray(problem.y, dtype=np.float64)
    weight = problem.weight
    curvature = weight
    if not problem.loss.unit_hessian:
        curve = curvatures(problem, eta, observed)
        curvature = curve if weight is None else curve * weight
    gram = _gram(NormalEquations.of(problem.design, y, curvature))

    def total(of_rows: Floats) -> float:
        return float(of_rows.sum() if weight is None else weight @ of_rows)

    middle = total(y) / problem.total
    null = np.full(len(y), middle)
    if not problem.intercept and isinstance(family, NormalFamily):
        null = np.zeros(len(y))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kept = Evidence(
            gram, problem.intercept, problem.design.n_rows, problem.total,
            squares=total((y - mean) ** 2 / family.variance(mean)),
            deviance=total(family.deviance(y, mean)),
            null_deviance=total(family.deviance(y, null)),
            log_likelihood=0.0,
            log_weights=0.0 if weight is None else float(np.log(weight).sum()),
        )  # fmt: skip
        spread = kept.squares / kept.total if isinstance(family, NormalFamily) else kept.dispersion(family)
        ell = total(family.log_likelihood(y, mean, spread)) if spread > 0 else float("inf")
    return replace(kept, log_likelihood=float(ell))


class OutOfRangeError(ValueError):
    """Squares of the numbers of a column leave the range of floats, so that errors cannot be told."""


def _gram(equations: NormalEquations) -> Gram:
    """Cross products of the terms."""
    p = equations.n_terms
    if (equations.scale != 1.0).any():
        raise OutOfRangeError("The squares of some column leave the range of floats; rescale columns and target.")
    return Gram(equations.gram.weight, equations.centre, np.ascontiguousarray(equations.gram.cross[:p, :p]))


def evidence_of_equations(
    equations: NormalEquations, coef: Floats, intercept: bool, n_rows: int = 0, log_weights: float = 0.0
) -> Evidence | None:
    """The facts of a least-squares fit from its cross products alone; None for several targets, or out of range.

    ``n_rows`` is 0 where rows were folded in parts and not counted.
    """
    p, total = equations.n_terms, equations.gram.weight
    if equations.n_targets != 1 or (equations.scale != 1.0).any():
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        squares = 2 * total * equations.risk(Solved(coef.reshape(p, 1), np.zeros(1), 1.0), intercept)
        null = float(equations.products(intercept)[p, p])
        ell = -0.5 * total * (np.log(2 * np.pi * squares / total) + 1)
    return Evidence(_gram(equations), intercept, n_rows, total, squares, squares, null, float(ell), log_weights)


def sandwich(
    problem: Problem, at: Weights, facts: Evidence, kind: Robust, weighing: Weighing,
    groups: NDArray[np.integer] | None = None, lags: int = 0,
) -> Floats:  # fmt: skip
    """Covariance B M B of (intercept, weights) that needs no model of the variance; B the inverse of the observed
    information, that is of ``facts`` with observed curvatures.

    M = sum s_i^2 z_i z_i' with s_i the slope of the loss in the score of row i:
    HC0 as it is; HC1 times n / (n - p); HC2 with s_i / sqrt(1 - h_i); HC3 with s_i / (1 - h_i), h_i the leverage;
    cluster: slopes are summed within groups first, times G / (G - 1) (n - 1) / (n - p);
    HAC (Newey and West 1987): products of rows up to ``lags`` apart as well, weighing 1 - d / (lags + 1).
    """
    eta = problem.scores(at)
    slope = problem.loss.gradient(problem.y, eta)
    weight = np.ones(len(eta)) if problem.weight is None else problem.weight
    if kind in ("HC2", "HC3"):
        # Seen w times, each copy has the leverage of one row; a precision belongs to the row itself.
        own = curvatures(problem, eta, observed=True) * (1.0 if weighing == "repeats" else weight)
        left = np.maximum(1.0 - own * facts.variances_of(problem.design), 1e-12)
        slope = slope / (np.sqrt(left) if kind == "HC2" else left)
    n, rank = facts.n(weighing), facts.rank
    centre = facts.gram.mean if facts.intercept else np.zeros(facts.n_terms)
    q = facts.n_terms + 1
    meat = np.zeros((q, q))
    if kind.startswith("HC"):
        size = weight * slope**2 if weighing == "repeats" else (weight * slope) ** 2
        for rows, X in blocks(problem.design):
            Z = np.column_stack([np.ones(len(X)), X - centre])
            meat += (Z * size[rows, None]).T @ Z
        meat *= n / (n - rank) if kind == "HC1" else 1.0
    else:
        sums = np.empty((problem.design.n_rows, q))
        for rows, X in blocks(problem.design):
            sums[rows] = np.column_stack([np.ones(len(X)), X - centre]) * (weight * slope)[rows, None]
        if kind == "cluster":
            assert groups is not None
            count = int(groups.max()) + 1
            of_groups = np.zeros((count, q))
            np.add.at(of_groups, groups, sums)
            meat = of_groups.T @ of_groups * (count / (count - 1) * (n - 1) / (n - rank))
        else:
            meat = sums.T @ sums
            for d in range(1, lags + 1):
                along = sums[d:].T @ sums[:-d]
                meat += (1 - d / (lags + 1)) * (along + along.T)
    return _around(facts, meat, centre)


def _around(facts: Evidence, meat: Floats, centre: Floats) -> Floats:
    """B M B, from terms taken about ``centre`` to terms as they are."""
    of_weights = facts.half @ facts.half.T
    if not facts.intercept:
        return of_weights @ meat[1:, 1:] @ of_weights
    bread = np.zeros_like(meat)
    bread[0, 0] = 1.0 / facts.gram.weight
    bread[1:, 1:] = of_weights
    back = np.eye(len(meat))
    back[0, 1:] = -centre
    return np.asarray(back @ bread @ meat @ bread @ back.T)
