"""Smooth convex costs by Newton's method: w <- w - t H^-1 g, a handful of steps whatever the scales of the columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.curves import Curve, Evaluate, curve_of, pairs_of, prepared
from tilth.engines.linear.design import DenseDesign, SparseDesign
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.class_losses import Softmax
from tilth.parts.penalties import L2, NoPenalty, Penalty

Floats = NDArray[np.float64]

#: Unknowns beyond which the hessian is not factored.
MOST_UNKNOWN = 2000
#: Multiplications of one hessian beyond which ``auto`` prefers gradients alone: of one score, of several.
MOST_WORK, MOST_WORK_OF_SEVERAL = 1e11, 5e7
#: Columns of a sparse design beyond which its cross products cost more than they save.
MOST_SPARSE = 500
#: Eigenvalues of the scaled hessian below this are rounding: the cost is flat that way.
_FLAT = 1e-13
_EPS = float(np.finfo(np.float64).eps)


@stored
@declared
class Newton(Solver):
    """Newton steps with a line search; the hessian is factored by Cholesky.

    With many rows the first steps are taken on a few of them, whose best weights are close to those of all rows: then
    two or three steps over all rows are left.
    """

    name: ClassVar[str] = "newton"

    max_iter: int = param(100, low=1, doc="Steps at most.")

    def refuses(self, problem: Problem) -> str | None:
        """A convex cost with two derivatives, of one score or of softmax, is needed."""
        loss = problem.loss
        if not problem.smooth or not loss.curved:
            return "needs a cost with two derivatives everywhere"
        if not problem.convex:
            return "needs a convex cost"
        if not isinstance(problem.penalty, (NoPenalty, L2)):
            return "takes no penalty but L2"
        if loss.n_scores > 1 and type(loss) is not Softmax:
            return "takes one score, or softmax"
        unknowns = (problem.design.n_cols + 1) * loss.n_scores
        return (
            f"factors a matrix of at most {MOST_UNKNOWN} unknowns, not {unknowns}" if unknowns > MOST_UNKNOWN else None
        )

    def leaves(self, problem: Problem) -> str | None:
        """Too much work for a hessian."""
        n, p, k = problem.design.n_rows, problem.design.n_cols, problem.loss.n_scores
        work = n * p * p * k * (k + 1) / 2
        if isinstance(problem.design, SparseDesign) and p > MOST_SPARSE:
            return f"would fill the cross products of {p} sparse columns"
        return (
            f"would cost {work:.0e} multiplications a step"
            if work > (MOST_WORK if k == 1 else MOST_WORK_OF_SEVERAL)
            else None
        )

    def reason(self, problem: Problem) -> str:
        """Few steps."""
        return "few unknowns and two derivatives: a few Newton steps, whatever the scales of the columns"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Minimise."""
        problem = prepared(problem)
        middle = problem.design.middle() if problem.intercept else np.zeros(problem.design.n_cols)
        evaluate: Evaluate = partial(_evaluate, problem, middle)
        first, beaten = start, np.inf
        if start is None:
            first, beaten = self._from_some_rows(problem)
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if first is not None:
            begun = evaluate(first, True)
            if objective(begun, first, problem.penalty) <= beaten:
                return newton(evaluate, first, problem.penalty, problem.intercept, begun=begun, **settings)
        return newton(evaluate, problem.start(), problem.penalty, problem.intercept, **settings)

    def _from_some_rows(self, problem: Problem) -> tuple[Weights | None, float]:
        """The best weights of evenly spaced rows, and the cost that no weights at all had there."""
        n, unknowns = problem.design.n_rows, (problem.design.n_cols + 1) * problem.loss.n_scores
        step = min(16, n // max(20_000, 100 * unknowns))
        if step < 2 or not isinstance(problem.design, DenseDesign):
            return None, np.inf
        some = replace(
            problem,
            design=DenseDesign(problem.design.matrix[::step]),
            y=problem.y[::step],
            weight=None if problem.weight is None else problem.weight[::step],
        )
        if some.total <= 0 or some.loss.problem(some.y) is not None:
            return None, np.inf
        middle = some.design.middle() if some.intercept else np.zeros(some.design.n_cols)
        solution = newton(
            partial(_evaluate, some, middle), some.start(), some.penalty, some.intercept, tol=1e-3, max_iter=20
        )
        return solution.weights, float(solution.outcome.trace["objective"][0])


def _evaluate(problem: Problem, middle: Floats, at: Weights, curved: bool) -> Curve:
    return curve_of(problem, at, middle, curved=curved)


def objective(curve: Curve, at: Weights, penalty: Penalty) -> float:
    """Mean loss plus penalty."""
    return curve.value / curve.weight + penalty.value(at.coef)


def newton(
    evaluate: Evaluate,
    start: Weights,
    penalty: Penalty,
    intercept: bool,
    *,
    tol: float,
    max_iter: int,
    begun: Curve | None = None,
    watch: Callable[[int], None] | None = None,
) -> Solution:
    """Newton's method on whatever ``evaluate`` evaluates; ``begun`` is its answer at the start, where it is known."""
    at = balanced(start)
    curve = evaluate(at, True) if begun is None or at is not start else begun
    cost = objective(curve, at, penalty)
    trace: dict[str, list[float]] = {"objective": [], "violation": []}
    dependent: tuple[int, ...] = ()
    converged, stopped, steps = False, "max_iter was reached", 0
    while True:
        slopes = gradient_of(curve, at, penalty, intercept)
        violation = gradient_norm(slopes)
        trace["objective"].append(cost)
        trace["violation"].append(violation)
        if not curve.curved and violation > tol:
            curve = evaluate(at, True)
        if not curve.curved:
            converged, stopped = True, "the gradient is below tol"
            break
        step, fall, flat = _step(curve, slopes, penalty.alpha, intercept)
        dependent = flat if steps == 0 else dependent
        if violation <= tol and fall <= 2 * tol:
            converged, stopped = True, "the gradient is below tol"
            break
        if fall <= 64 * _EPS * abs(cost):
            converged, stopped = True, "no step lowers the cost by more than rounding"
            break
        if steps == max_iter:
            break
        step_end = _line_search(evaluate, at, step, fall, cost, penalty, last=fall <= 0.01 * tol)
        if step_end is None:
            stopped = "no step lowers the cost"
            converged = violation <= tol
            break
        at, curve, cost = step_end
        steps += 1
        if watch is not None:
            watch(steps)
    record = {name: np.array(values) for name, values in trace.items()}
    outcome = Outcome(Newton.name, converged, max(steps, 1), violation, cost, True, stopped=stopped, trace=record)
    return Solution(at, outcome, dependent)


def balanced(at: Weights) -> Weights:
    """Only differences between scores matter to softmax: those with a mean of zero have the least penalty."""
    if at.coef.ndim == 1:
        return at
    coef, bias = at.coef - at.coef.mean(axis=1, keepdims=True), at.intercept - at.intercept.mean()
    return at if np.array_equal(coef, at.coef) and np.array_equal(bias, at.intercept) else Weights(coef, bias)


def gradient_of(curve: Curve, at: Weights, penalty: Penalty, intercept: bool) -> Weights:
    """Gradient of the cost, [p, k] and [k]."""
    coef = at.coef.reshape(curve.slope.shape)
    bias = curve.bias / curve.weight if intercept else np.zeros_like(curve.bias)
    return Weights(curve.slope / curve.weight + penalty.gradient(coef), bias)


def gradient_norm(slopes: Weights) -> float:
    """The largest partial derivative."""
    return float(max(np.abs(slopes.coef).max(initial=0.0), np.abs(slopes.intercept).max(initial=0.0)))


def _step(curve: Curve, slopes: Weights, alpha: float, intercept: bool) -> tuple[Weights, float, tuple[int, ...]]:
    """The Newton step -H^-1 g, its fall g'H^-1 g, and the terms along which the cost is flat.

    The system is that of weights and of the score b' = b + m.w at the middle m of the columns: about their middle,
    columns that lie far from zero are no longer all but parallel to the intercept.
    """
    from scipy.linalg import lapack

    p, k = curve.slope.shape
    size = p + intercept
    gradient = np.empty((k, size))
    gradient[:, :p] = slopes.coef.T
    if intercept:
        gradient[:, :p] -= np.outer(slopes.intercept, curve.middle)
        gradient[:, p] = slopes.intercept
    hessian = _hessian(curve, alpha, intercept)
    diagonal = np.maximum(np.diagonal(hessian), 0.0)
    unit = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
    scaled = hessian * unit[:, None] * unit
    np.fill_diagonal(scaled, 1.0)
    right = -gradient.ravel() * unit
    factor, failed = lapack.dpotrf(scaled, lower=1)
    rcond = 0.0 if failed else lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")[0]
    flat: tuple[int, ...] = ()
    if rcond > _FLAT:
        move = lapack.dpotrs(factor, right, lower=1)[0]
    else:
        values, vectors = np.linalg.eigh(scaled)
        known = values > _FLAT * len(values) * values[-1]
        move = vectors[:, known] @ ((vectors[:, known].T @ right) / values[known])
        if k == 1:
            null = np.abs(vectors[:p, ~known]) > 1e-6
            flat = tuple(int(j) for j in np.flatnonzero(null.any(axis=1)))
    fall = float(right @ move)
    step = (move * unit).reshape(k, size)
    bias = step[:, p] - step[:, :p] @ curve.middle if intercept else np.zeros(k)
    return Weights(step[:, :p].T, bias), fall, flat


def _hessian(curve: Curve, alpha: float, intercept: bool) -> Floats:
    """The hessian of the cost in (w_1, b'_1, .. w_k, b'_k)."""
    p, k = curve.slope.shape
    size = p + intercept
    out = np.zeros((k, size, k, size))
    for pair, (a, b) in enumerate(pairs_of(k)):
        block = out[a, :, b, :]
        block[:p, :p] = curve.cross[pair]
        if intercept:
            block[:p, p] = block[p, :p] = curve.sums[pair]
            block[p, p] = curve.totals[pair]
        if a != b:
            out[b, :, a, :] = block.T
    out /= curve.weight
    if k > 1:
        # A constant added to all scores changes nothing; a curvature that way makes the matrix definite, and no step
        # has a part that way because no gradient has.
        middle = sum(out[a, :, a, :] for a in range(k)) / k
        out += (middle / k)[None, :, None, :]
    for a in range(k):
        out[a, np.arange(p), a, np.arange(p)] += alpha
    return out.reshape(k * size, k * size)


def _line_search(
    evaluate: Evaluate, at: Weights, step: Weights, fall: float, cost: float, penalty: Penalty, last: bool
) -> tuple[Weights, Curve, float] | None:
    """The first of the steps 1, 1/2, 1/4 .. that lowers the cost as much as its slope promises (Armijo).

    The whole step is nearly always taken, so its hessian is made at once; ``last`` says that it will not be needed.
    """
    part = 1.0
    for attempt in range(60):
        there = Weights(
            at.coef + part * step.coef.reshape(at.coef.shape),
            np.asarray(at.intercept + part * step.intercept.reshape(np.shape(at.intercept))),
        )
        with np.errstate(over="ignore", invalid="ignore"):
            curve = evaluate(there, attempt == 0 and not last)
            value = objective(curve, there, penalty)
        if value <= cost - 1e-4 * part * fall + 4 * _EPS * abs(cost):
            if not curve.curved and not last:
                curve = evaluate(there, True)
            return there, curve, value
        part /= 2
    return None
