"""Smooth problems over chunks: one fold over all rows for every evaluation of the cost.

The same Newton (or L-BFGS) steps as in memory, so the answer is the same up to the tolerance; a fit of a logistic model
takes some six passes over the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.curves import Curve, prepared
from tilth.engines.linear.lbfgs import LBFGS, lbfgs, preconditioner
from tilth.engines.linear.newton import Newton, newton
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.parts.losses import Loss
from tilth.parts.penalties import NoPenalty, Penalty
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]
#: ``passes(make, update)`` folds a statistic over all rows; ``update(statistic, table, target, weight)`` adds a chunk.
Fold = Callable[[Callable[[], Any], Callable[..., object]], Any]
#: The weights of rows from their target and the weights that were given, such as weights of classes.
Weigh = Callable[[Any, Floats | None], Floats | None]


@dataclass(slots=True, eq=False, repr=False)
class Opening(Statistic):
    """What must be known before the first step: weight of the rows, sum of the target (by class), sums of the terms."""

    weight: float
    target: Floats
    terms: Floats

    @classmethod
    def empty(cls, n_terms: int, n_scores: int) -> Self:
        """Nothing seen yet."""
        return cls(0.0, np.zeros(n_scores), np.zeros(n_terms))

    def update(self, problem: Problem) -> None:
        """Add rows."""
        wrong = problem.loss.problem(problem.y)
        if wrong is not None:
            raise ValueError(f"The loss {type(problem.loss).__name__} {wrong}.")
        weight = np.ones(problem.design.n_rows) if problem.weight is None else problem.weight
        k = len(self.target)
        self.target += np.bincount(problem.y, weight, minlength=k) if k > 1 else weight @ problem.y
        self.terms += problem.design.rmatvec(weight)
        self.weight += problem.total

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "target", "terms")
        self.weight += other.weight
        self.target += other.target
        self.terms += other.terms
        return self


@dataclass(frozen=True)
class Rounds:
    """A solution over chunks, with the weight of all rows and the mean of every term."""

    solution: Solution
    total: float
    centre: Floats


@dataclass(frozen=True)
class _Reader:
    """The rows of a chunk as a problem; can be sent to another process."""

    terms: Any
    loss: Loss
    intercept: bool
    weigh: Weigh | None

    def problem(self, table: Any, target: Any, weight: Floats | None) -> Problem:
        if self.weigh is not None:
            weight = self.weigh(target, weight)
        return prepared(Problem(self.terms.design(table), target, self.loss, NoPenalty(), weight, self.intercept))

    def open(self, statistic: Opening, table: Any, target: Any, weight: Floats | None) -> None:
        statistic.update(self.problem(table, target, weight))

    def evaluate(self, at: Weights, statistic: Curve, table: Any, target: Any, weight: Floats | None) -> None:
        statistic.update(self.problem(table, target, weight), at)


def solve_in_rounds(
    passes: Fold,
    terms: Any,
    loss: Loss,
    penalty: Callable[[float], Penalty],
    intercept: bool = True,
    *,
    first: tuple[Any, Any],
    weigh: Weigh | None = None,
    start: Weights | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
) -> Rounds:
    """The weights of least cost over all rows of a chunked source.

    Parameters
    ----------
    passes : a fold over all rows, :class:`tilth.base.passes.Passes`.
    terms : gives the design of a typed table, :class:`~tilth.engines.linear.design.Terms`.
    loss : a smooth loss, with what it takes from the target filled in.
    penalty : a smooth penalty from the weight of all rows.
    first : the first rows and their target, which tell where the columns lie.
    weigh : weights of rows from the target and the weights given, such as class weights.
    """
    reader = _Reader(terms, loss, intercept, weigh)
    some = _Reader(terms, loss, intercept, None).problem(*first, None)
    p, k = some.design.n_cols, loss.n_scores
    opening: Opening = passes(partial(Opening.empty, p, k), reader.open)
    if opening.weight <= 0:
        raise ValueError("There are no rows of positive weight to learn from.")
    cost = penalty(opening.weight)
    problem = Problem(some.design, some.y, loss, cost, None, intercept)
    if not problem.smooth:
        raise TypeError(
            "Chunks can be learned in rounds under a smooth cost only, not "
            f"{type(loss).__name__} with {type(cost).__name__}."
        )
    settings: dict[str, Any] = {n: v for n, v in (("tol", tol), ("max_iter", max_iter)) if v is not None}
    middle = some.design.middle() if intercept else np.zeros(p)

    def evaluate(at: Weights, curved: bool) -> Curve:
        curve: Curve = passes(partial(Curve.empty, p, k, middle, curved), partial(reader.evaluate, at))
        return curve

    begin = _start(opening, problem) if start is None else start
    by_newton = Newton(**settings)
    if by_newton.refuses(problem) is None:
        solution = newton(evaluate, begin, cost, intercept, tol=by_newton.tol, max_iter=by_newton.max_iter)
    else:
        other = LBFGS(**settings)
        guess = preconditioner(problem, begin)
        solution = lbfgs(
            evaluate, begin, cost, intercept, guess, tol=other.tol, max_iter=other.max_iter, convex=problem.convex
        )
    return Rounds(solution, opening.weight, opening.terms / opening.weight)


def _start(opening: Opening, problem: Problem) -> Weights:
    """No weights, and the score of the mean target (of the shares of the classes) as the intercept."""
    mean = opening.target / opening.weight
    bias = np.asarray(problem.loss.link(mean), dtype=np.float64) if problem.intercept else np.zeros_like(mean)
    return Weights(np.zeros(problem.shape), bias.reshape(problem.shape[1:]))
