"""Smooth costs by L-BFGS on preconditioned weights: gradients alone, and what they tell of the curvature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.curves import Curve, Evaluate, curve_of, prepared
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.newton import balanced, gradient_norm, gradient_of, objective
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.class_losses import Softmax
from tilth.parts.penalties import Penalty

Floats = NDArray[np.float64]

#: Columns up to which the cross products of some rows serve as the first guess of the hessian; beyond, their diagonal.
MOST_FACTORED = 1000
#: Past steps that are remembered.
MEMORY = 12
_EPS = float(np.finfo(np.float64).eps)


@stored
@declared
class LBFGS(Solver):
    """Quasi-Newton steps from the last few gradients.

    The first guess of the hessian is that of the start: the cross products of the columns, weighed by the curvature of
    the loss there (their diagonal where there are many columns). So scales and correlations cost no iterations.
    """

    name: ClassVar[str] = "lbfgs"

    max_iter: int = param(1000, low=1, doc="Iterations at most.")

    def refuses(self, problem: Problem) -> str | None:
        """A gradient everywhere is needed."""
        return None if problem.smooth else "needs a cost with a gradient everywhere"

    def reason(self, problem: Problem) -> str:
        """What is left for smooth costs."""
        return "a smooth cost of many unknowns: gradients alone"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Minimise."""
        problem = prepared(problem)
        first = problem.start() if start is None else start
        evaluate: Evaluate = partial(_evaluate, problem, np.zeros(problem.design.n_cols))
        guess = preconditioner(problem, first)
        solution = lbfgs(
            evaluate, first, problem.penalty, problem.intercept, guess,
            tol=self.tol, max_iter=self.max_iter, convex=problem.convex,
        )  # fmt: skip
        return replace(solution, weights=balanced(solution.weights)) if type(problem.loss) is Softmax else solution


def _evaluate(problem: Problem, middle: Floats, at: Weights, curved: bool) -> Curve:
    return curve_of(problem, at, middle, curved=curved)


@dataclass(frozen=True)
class Guess:
    """A guess of the inverse hessian, score by score: factors of cross products about ``middle``, or a diagonal.

    ``factors`` [k, q, q] or ``diagonal`` [k, q], with q = p + 1 for weights and intercept.
    """

    middle: Floats
    factors: Floats | None = None
    diagonal: Floats | None = None

    def __call__(self, vector: Floats) -> Floats:
        """H^-1 v for v [k, q], whose last column belongs to the intercept."""
        # In terms of the score at the middle, b' = b + m.w, a gradient loses m times its last part; a step is put back.
        out = vector.copy()
        out[:, :-1] -= np.outer(vector[:, -1], self.middle)
        if self.factors is not None:
            from scipy.linalg import lapack

            for a, factor in enumerate(self.factors):
                out[a] = lapack.dpotrs(factor, out[a], lower=1)[0]
        elif self.diagonal is not None:
            out /= self.diagonal
        out[:, -1] -= np.einsum("ij,j->i", out[:, :-1], self.middle)
        return out


def preconditioner(problem: Problem, at: Weights) -> Guess:
    """A guess from the curvature at the start, made from some rows where there are many."""
    p, k = problem.design.n_cols, problem.loss.n_scores
    curvature = _curvature(problem, at)  # mean curvature of each score
    middle = problem.design.middle() if problem.intercept else np.zeros(p)
    alpha = getattr(problem.penalty, "alpha", 0.0)
    if p > MOST_FACTORED or not isinstance(problem.design, DenseDesign):
        squares = problem.design.squares(problem.weight) / problem.total
        diagonal = np.empty((k, p + 1))
        diagonal[:, :p] = curvature[:, None] * squares + alpha
        diagonal[:, p] = curvature
        # A column that is zero in all rows has no curvature, and no slope either.
        diagonal[diagonal <= 0] = 1.0
        return Guess(np.zeros(p), diagonal=diagonal)
    step = max(1, problem.design.n_rows // max(20_000, 20 * p))
    weight = None if problem.weight is None else problem.weight[::step]
    some = DenseDesign(problem.design.matrix[::step])
    cross, sums = some.moments(weight, None, np.ones(p), middle)
    total = float(some.n_rows if weight is None else weight.sum())
    return Guess(
        middle, factors=_factors(cross, sums if problem.intercept else 0.0 * sums, max(total, _EPS), curvature, alpha)
    )


def _factors(cross: Floats, sums: Floats, total: float, curvature: Floats, alpha: float) -> Floats:
    from scipy.linalg import lapack

    p = len(sums)
    hessian = np.empty((p + 1, p + 1))
    hessian[:p, :p], hessian[:p, p], hessian[p, :p], hessian[p, p] = cross / total, sums / total, sums / total, 1.0
    own = np.diagonal(hessian).copy()
    floor = np.where(own > 0, own, 1.0)
    out = np.empty((len(curvature), p + 1, p + 1))
    for a, curve in enumerate(curvature):
        slack = 1e-10
        while True:  # a guess need not be exact: a little more on the diagonal makes it definite
            trial = curve * hessian
            trial[np.diag_indices(p + 1)] += curve * slack * floor
            trial[np.arange(p), np.arange(p)] += alpha
            out[a], failed = lapack.dpotrf(trial, lower=1)
            if not failed:
                break
            slack *= 100
    return out


def _curvature(problem: Problem, at: Weights) -> Floats:
    """The mean curvature of the loss in each score at the start, from some rows; its bound where there is none."""
    loss, k = problem.loss, problem.loss.n_scores
    step = max(1, problem.design.n_rows // 4096)
    rows = np.arange(0, problem.design.n_rows, step)
    eta = problem.design.take(rows).matvec(at.coef) + at.intercept
    curvature = np.atleast_1d(loss.hessian(np.asarray(problem.y)[rows], eta).reshape(len(rows), k).mean(axis=0))
    return np.where(
        (curvature > 1e-8) & np.isfinite(curvature), curvature, 1.0 if loss.lipschitz is None else loss.lipschitz
    )


# ------------------------------------------------------------------------------------------------------------ steps


def lbfgs(
    evaluate: Evaluate,
    start: Weights,
    penalty: Penalty,
    intercept: bool,
    guess: Callable[[Floats], Floats],
    *,
    tol: float,
    max_iter: int,
    convex: bool = True,
) -> Solution:
    """L-BFGS (Nocedal 1980) on whatever ``evaluate`` evaluates, with ``guess`` as its first inverse hessian."""
    state = _State.at(evaluate, start, penalty, intercept)
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    trace: dict[str, list[float]] = {"objective": [], "violation": []}
    converged, stopped, steps = False, "max_iter was reached", 0
    while True:
        trace["objective"].append(state.cost)
        trace["violation"].append(state.violation)
        step = -_direction(state.gradient, pairs, guess)
        fall = -_dot(state.gradient, step)
        if state.violation <= tol and fall <= 2 * tol * max(abs(state.cost), tol):
            converged, stopped = True, "the gradient is below tol"
            break
        if 0 <= fall <= 64 * _EPS * abs(state.cost):
            converged, stopped = True, "no step lowers the cost by more than rounding"
            break
        if steps == max_iter:
            break
        after = None if fall <= 0 else _search(evaluate, state, step, fall, penalty, intercept)
        if after is None:
            # What the last gradients told may be wrong where the cost bends; without it the step surely goes down.
            if pairs:
                pairs.clear()
                continue
            converged, stopped = state.violation <= tol, "no step lowers the cost"
            break
        moved, turned = after.point - state.point, after.gradient - state.gradient
        along = _dot(moved, turned)
        if along > 1e-10 * np.sqrt(_dot(moved, moved) * _dot(turned, turned)):
            pairs.append((moved, turned, along))
        state = after
        steps += 1
    record = {name: np.array(values) for name, values in trace.items()}
    outcome = Outcome(
        LBFGS.name, converged, max(steps, 1), state.violation, state.cost, convex, stopped=stopped, trace=record
    )
    return Solution(state.weights, outcome)


@dataclass(frozen=True)
class _State:
    """A point, its cost, its gradient: points and gradients are [k, p + 1], the intercept last."""

    point: Floats
    weights: Weights
    cost: float
    gradient: Floats
    violation: float

    @classmethod
    def at(cls, evaluate: Evaluate, weights: Weights, penalty: Penalty, intercept: bool) -> _State:
        """Evaluate."""
        with np.errstate(over="ignore", invalid="ignore"):
            curve = evaluate(weights, False)
            cost = objective(curve, weights, penalty)
            gradient = gradient_of(curve, weights, penalty, intercept)
        return cls(_packed(weights), weights, cost, _packed(gradient), gradient_norm(gradient))


def _dot(a: Floats, b: Floats) -> float:
    """Sum of products in one thread: to wake those of a BLAS library costs more than vectors of this size."""
    return float(np.einsum("ij,ij->", a, b))


def _packed(weights: Weights) -> Floats:
    coef = weights.coef.reshape(len(weights.coef), -1)
    return np.column_stack([coef.T, np.atleast_1d(weights.intercept)])


def _direction(
    gradient: Floats, pairs: deque[tuple[Floats, Floats, float]], guess: Callable[[Floats], Floats]
) -> Floats:
    """The inverse hessian times the gradient, by the two loops over the remembered steps."""
    out = gradient.copy()
    shares = []
    for moved, turned, along in reversed(pairs):
        share = _dot(moved, out) / along
        shares.append(share)
        out -= share * turned
    out = guess(out)
    if pairs:
        _, turned, along = pairs[-1]
        out *= along / _dot(turned, guess(turned))
    for (moved, turned, along), share in zip(pairs, reversed(shares), strict=True):
        out += (share - _dot(turned, out) / along) * moved
    return out


def _search(
    evaluate: Evaluate, state: _State, step: Floats, fall: float, penalty: Penalty, intercept: bool
) -> _State | None:
    """A step length that lowers the cost enough and flattens its slope enough (the weak conditions of Wolfe)."""
    low, high, part = 0.0, np.inf, 1.0
    best: _State | None = None
    for _ in range(40):
        point = state.point + part * step
        coef = point[:, :-1].T.reshape(state.weights.coef.shape)
        there = Weights(np.ascontiguousarray(coef), point[:, -1].reshape(np.shape(state.weights.intercept)).copy())
        tried = _State.at(evaluate, there, penalty, intercept)
        if not tried.cost <= state.cost - 1e-4 * part * fall + 4 * _EPS * abs(state.cost):
            high = part
        elif _dot(tried.gradient, step) < -0.9 * fall:
            low, best = part, tried
        else:
            return tried
        part = (low + high) / 2 if np.isfinite(high) else 2 * part
        if part * 1e12 < 1 or (best is not None and high - low < 1e-3 * high):
            break
    return best
