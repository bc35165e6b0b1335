"""The best subset of the columns, exactly: least squares with a price per column that is used (the L0 penalty)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.losses import Squared
from tilth.parts.penalties import L0

Floats = NDArray[np.float64]

#: Columns up to which ``auto`` searches all subsets for an L0 penalty.
FEW_COLUMNS = 25
#: Columns that the search can take at most.
MOST_COLUMNS = 62


@dataclass(frozen=True)
class Subsets:
    """The best subset of every size: ``residual`` [s] sums of squares, ``columns`` their places.

    ``finished`` is False when the search was cut short, so that better subsets may exist.
    """

    residual: Floats
    columns: tuple[tuple[int, ...], ...]
    weighed: int
    finished: bool


def best_subsets(problem: Problem, largest: int | None = None, limit: int = 50_000_000) -> Subsets:
    """The subset of least squared error of every size from 0 to ``largest``, by leaps and bounds.

    Leaving columns out never lowers the residual sum of squares, so a branch of the tree of subsets is left as soon as
    its root is worse than what is known. Columns are centred (with an intercept) and scaled to length 1 first.
    """
    X = np.asarray(problem.design.dense(), dtype=np.float64)
    y = np.asarray(problem.y, dtype=np.float64)
    p = X.shape[1]
    if p > MOST_COLUMNS:
        raise ValueError(
            f"The search over all subsets takes at most {MOST_COLUMNS} columns, found {p}; an L1 penalty (Lasso) "
            "chooses among any number of columns."
        )
    w = np.ones(len(X)) if problem.weight is None else problem.weight
    if problem.intercept:
        X, y = X - np.average(X, axis=0, weights=w), y - np.average(y, weights=w)
    root = np.sqrt(w)
    X, y = X * root[:, None], y * root
    length = np.sqrt((X * X).sum(axis=0))
    # Rounding leaves a little of constant columns; they explain nothing.
    raw = np.sqrt((w[:, None] * np.asarray(problem.design.dense(), dtype=np.float64) ** 2).sum(axis=0))
    X = np.where(length > 1e-12 * raw, X / np.where(length > 0, length, 1.0), 0.0)
    # A hair of ridge keeps the cross products of equal columns invertible.
    gram = X.T @ X + 1e-10 * np.eye(p)
    largest = min(p, largest if largest is not None else p)
    residual, chosen, weighed, finished = _core.best_subsets(gram, X.T @ y, float(y @ y), largest, limit)
    columns = tuple(tuple(j for j in range(p) if int(bits) >> j & 1) for bits in chosen[: largest + 1])
    return Subsets(np.maximum(residual[: largest + 1], 0.0), columns, weighed, finished)


def refit(problem: Problem, columns: tuple[int, ...]) -> Weights:
    """Least squares on some columns, all other weights zero."""
    X = np.asarray(problem.design.dense(), dtype=np.float64)[:, list(columns)]
    y = np.asarray(problem.y, dtype=np.float64)
    w = np.ones(len(X)) if problem.weight is None else problem.weight
    middle, centre = np.zeros(X.shape[1]), 0.0
    if problem.intercept:
        middle, centre = np.average(X, axis=0, weights=w), float(np.average(y, weights=w))
    root = np.sqrt(w)
    coef = np.zeros(problem.design.n_cols)
    if columns:
        coef[list(columns)] = np.linalg.lstsq((X - middle) * root[:, None], (y - centre) * root, rcond=None)[0]
    return Weights(coef, np.asarray(centre - float(middle @ coef[list(columns)])))


@stored
@declared
class AllSubsets(Solver):
    """Every subset is weighed or ruled out: the global optimum of squared loss with an L0 penalty."""

    name: ClassVar[str] = "all subsets"

    max_iter: int = param(50_000_000, low=1, doc="Subsets that are weighed at most.")

    def refuses(self, problem: Problem) -> str | None:
        """Squared loss, a price per column, few columns."""
        if not isinstance(problem.loss, Squared) or not isinstance(problem.penalty, L0):
            return "takes squared loss with an L0 penalty only"
        p = problem.design.n_cols
        return f"takes at most {MOST_COLUMNS} columns, found {p}" if p > MOST_COLUMNS else None

    def leaves(self, problem: Problem) -> str | None:
        """Work grows with 2^p at worst."""
        p = problem.design.n_cols
        return f"might look at 2^{p} subsets" if p > FEW_COLUMNS else None

    def reason(self, problem: Problem) -> str:
        """Few enough to weigh all."""
        return f"2^{problem.design.n_cols} subsets can be weighed or ruled out"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """The size of least cost, and the best subset of that size."""
        subsets = best_subsets(problem, limit=self.max_iter)
        costs = 0.5 * subsets.residual / problem.total + problem.penalty.alpha * np.arange(len(subsets.residual))
        weights = refit(problem, subsets.columns[int(costs.argmin())])
        eta = problem.scores(weights)
        violation = problem.violation(weights, problem.gradient(eta))
        outcome = Outcome(
            self.name, subsets.finished, subsets.weighed, violation, problem.objective(weights, eta), False,
            stopped="every subset was weighed or ruled out" if subsets.finished else "max_iter subsets were weighed",
        )  # fmt: skip
        return Solution(weights, outcome)
