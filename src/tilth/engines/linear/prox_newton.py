"""Penalties with corners: a quadratic model of the loss, coordinate descent on it, and few columns at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.blas import one_thread
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.local_model import LOOK_BACK, GramModel, Patience, RowsModel, extrapolated, rule_of
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.linear.working_set import WorkingSet
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, stored
from tilth.parts.losses import Squared
from tilth.parts.penalties import NoPenalty, Penalty

Floats = NDArray[np.float64]

#: Columns up to which a matrix of cross products pays: when it is made once, and when every step needs a new one.
MOST_KEPT, MOST_FRESH = 6000, 600
#: The same for sparse columns, whose products are slower to make and whose descent is faster.
MOST_KEPT_SPARSE, MOST_FRESH_SPARSE = 1000, 150
#: Sweeps over the columns at work within one step.
MOST_EPOCHS = 10_000


@stored
@declared
class ProxNewton(Solver):
    """Newton steps whose model keeps the penalty as it is.

    Each round looks at all columns once, takes those into work that violate the conditions of an optimum most, and
    solves for the weights of the columns at work. ``tol`` counts relative to the largest derivative at the start.
    """

    name: ClassVar[str] = "prox-newton"

    def refuses(self, problem: Problem) -> str | None:
        """A loss with a gradient, and a penalty that was compiled in."""
        if not problem.loss.smooth:
            return "needs a loss with a gradient everywhere"
        if problem.penalty.code < 0:
            return "does not know the penalty"
        return "takes one target at a time" if np.ndim(problem.y) > 1 else None

    def reason(self, problem: Problem) -> str:
        """Corners rule out gradients; most weights will be zero."""
        return "a smooth loss and a penalty with corners: weights one at a time, on the columns that matter"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Minimise."""
        return SparseFit(problem).solve(problem.penalty, start, self.tol, self.max_iter)


@dataclass(frozen=True)
class _Point:
    """Weights [p] or [p, k] and intercept in the coordinates of shifted columns, and the scores of all rows."""

    w: Floats
    bias: Floats
    eta: Floats

    def moved(self, step: _Step, share: float = 1.0) -> _Point:
        """Some way along a step."""
        w, bias, eta = self.w.copy(), self.bias.copy(), self.eta.copy()
        w[step.places if step.score is None else (step.places, step.score)] += share * step.change
        bias[() if step.score is None else step.score] += share * step.shift
        of_score(eta, step.score)[...] += share * step.rows
        return _Point(w, bias, eta)


@dataclass(frozen=True)
class _Step:
    """A change of the weights at some places (of one score), of the intercept, and of the scores of all rows."""

    places: NDArray[np.int64]
    score: int | None
    change: Floats
    shift: float
    rows: Floats


class SparseFit:
    """A problem without its penalty, and the columns found so far: what the points of a path share."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        design = problem.design
        self._flat = problem.loss.unit_hessian
        self._several = problem.loss.n_scores > 1
        dense = isinstance(design, DenseDesign)
        self._working = WorkingSet(design, design.rmatvec(self._shares()) if problem.intercept and dense else None)
        self._most_kept = MOST_KEPT if dense else MOST_KEPT_SPARSE
        self._most_fresh = MOST_FRESH if dense else MOST_FRESH_SPARSE
        #: Largest derivative at the first point seen; violations are measured against it.
        self._scale = 0.0
        #: The last answer with its scores and the derivatives there: where the next point of a path starts.
        self._last: tuple[Weights, Floats, Floats] | None = None

    def _shares(self) -> Floats:
        """Weight of each row, all together 1."""
        problem = self._problem
        if problem.weight is None:
            return np.full(problem.design.n_rows, 1.0 / problem.total)
        return problem.weight / problem.total

    # ------------------------------------------------------------------------------------------------ coordinates

    def _enter(self, problem: Problem, start: Weights | None) -> tuple[_Point, Floats | None]:
        """The point of some weights; the derivatives there, where they are known."""
        at, shift = start or problem.start(), self._working.shift
        w, bias = at.coef.copy(), np.array(at.intercept if shift is None else at.intercept + shift @ at.coef)
        if self._last is not None and self._last[0] is start:
            return _Point(w, bias, self._last[1]), self._last[2]
        self._working.add(_any_score(w != 0), problem.penalty)
        eta = self._scores(w, bias)
        if self._flat and problem.intercept:
            off = float(problem.row_slopes(eta).sum())
            bias, eta = np.asarray(bias - off), eta - off
        return _Point(w, bias, eta), None

    def _leave(self, point: _Point) -> Weights:
        shift = self._working.shift
        return Weights(point.w, np.asarray(point.bias if shift is None else point.bias - shift @ point.w))

    def _scores(self, w: Floats, bias: Floats) -> Floats:
        """Scores from the columns at work: all other weights are zero."""
        mine = w[self._working.places]
        if not self._several:
            return self._working.columns.matvec(mine) + bias
        return np.column_stack([self._working.columns.matvec(np.ascontiguousarray(c)) for c in mine.T]) + bias

    def _all_slopes(self, rows: Floats) -> Floats:
        g = self._problem.design.rmatvec(rows)
        shift = self._working.shift
        return g if shift is None else np.asarray(g - np.multiply.outer(shift, rows.sum(axis=0)))

    # ------------------------------------------------------------------------------------------------------ rounds

    def solve(self, penalty: Penalty, start: Weights | None, tol: float, max_iter: int) -> Solution:
        """The weights of least cost under a penalty."""
        with one_thread() as self._working.threads:
            return self._solve(penalty, start, tol, max_iter)

    def _solve(self, penalty: Penalty, start: Weights | None, tol: float, max_iter: int) -> Solution:
        problem = self._problem.with_penalty(penalty)
        point, gradient = self._enter(problem, start)
        trace: dict[str, list[float]] = {"violation": [], "objective": [], "columns": [], "gap": []}
        n_steps, stopped, patience = 0, "max_iter reached", Patience(5)
        while True:
            rows = problem.row_slopes(point.eta)
            g, gradient = self._all_slopes(rows) if gradient is None else gradient, None
            violations = self._violations(penalty, point.w, g)
            worst = max(float(violations.max(initial=0.0)), _bias_slope(problem, rows))
            self._scale = self._scale or max(float(np.abs(g).max(initial=0.0)), _bias_slope(problem, rows))
            goal, cost = tol * self._scale, problem.risk(point.eta) + penalty.value(point.w)
            known = self._working.columns.n_columns
            gap = duality_gap(problem, point.w, point.eta, g)
            for name, value in zip(trace, (worst, cost, known, gap), strict=True):
                trace[name].append(value)
            if worst <= goal or n_steps >= max_iter:
                break
            if not np.isfinite(cost):
                stopped = "the cost is not finite"
                break
            self._grow(violations, point.w, penalty)
            grown = self._working.columns.n_columns > known
            inner = max(0.5 * goal, 0.2 * worst) if grown else 0.5 * goal
            steps, after = self._work(problem, point, inner, max_iter - n_steps)
            n_steps += steps
            if not grown and (after is point or patience.out(worst)):
                stopped = "rounding leaves no better answer"
                break
            point = after
        converged = worst <= goal
        outcome = Outcome(
            ProxNewton.name, converged, max(n_steps, 1), worst, cost, problem.convex,
            stopped="the conditions of an optimum hold to tol" if converged else stopped,
            trace={name: np.array(values, dtype=np.float64) for name, values in trace.items()},
        )  # fmt: skip
        answer = self._leave(point)
        self._last = (answer, point.eta, g)
        return Solution(answer, outcome)

    def expect(self, penalty: Penalty, weaker: Penalty) -> None:
        """Take in the columns that will probably have a weight under a weaker penalty than the last one.

        The strong rule: derivatives change no faster than the strength, so those below 2 weaker - last stay at zero.
        """
        if self._last is None or penalty.discontinuous:
            return
        w, _, gradient = self._last
        least = max(2.0 * weaker.alpha - penalty.alpha, 0.0)
        wanted = weaker.times(least / weaker.alpha).violation(w.coef, gradient) > 0
        self._working.add(_any_score(wanted) & ~_any_score(w.coef != 0), penalty)

    def _violations(self, penalty: Penalty, w: Floats, g: Floats) -> Floats:
        """Violation of each weight; of a penalty that jumps at zero, how far a step of it alone would go."""
        known = penalty.violation(w, g)
        if not penalty.discontinuous:
            return known
        at_work = self._working.at_work if w.ndim == 1 else self._working.at_work[:, None]
        return np.where(at_work, known, lone_moves(penalty, w, g, self._curvature()))

    def _curvature(self) -> Floats:
        """Sum of h x^2 of every (shifted) column; only penalties that jump at zero ask."""
        problem = self._problem
        lipschitz = 1.0 if problem.loss.lipschitz is None else problem.loss.lipschitz
        curve = problem.design.squares(lipschitz * self._shares())
        if self._working.shift is not None:
            curve = curve - lipschitz * self._working.shift**2
        return curve if not self._several else np.repeat(curve[:, None], problem.loss.n_scores, axis=1)

    def _grow(self, violations: Floats, w: Floats, penalty: Penalty) -> None:
        """Take in the columns that violate most. Few at a time: a look at all columns costs less than products with
        columns that are not needed."""
        missing = violations if violations.ndim == 1 else violations.max(axis=1)
        missing = np.where(self._working.at_work, 0.0, missing)
        wanted = missing > 0
        room = max(200, len(missing) // 100, int(0.3 * _any_score(w != 0).sum()))
        if int(wanted.sum()) > room:
            wanted &= missing >= np.partition(missing, len(missing) - room)[len(missing) - room]
        self._working.add(wanted, penalty)

    # ------------------------------------------------------------------------------------- on the columns at work

    def _work(self, problem: Problem, first: _Point, tol: float, max_iter: int) -> tuple[int, _Point]:
        """Newton steps on the columns at work; gives their number and where they led (``first`` itself: nowhere)."""
        places = self._working.places
        penalty = problem.penalty.pick(places, len(first.w))
        scores: list[int | None] = list(range(problem.loss.n_scores)) if self._several else [None]
        point, steps, patience = first, 0, Patience(20)
        trail: list[Floats] = []
        while steps < max_iter:
            before = point
            for score in scores:
                point = self._turn(problem, penalty, point, score, tol)
            steps += 1
            if self._flat or point is before:
                break
            rows = problem.row_slopes(point.eta)
            g = np.stack(
                [self._working.columns.rmatvec(np.ascontiguousarray(r)) for r in np.atleast_2d(rows.T)], axis=1
            )
            violations = penalty.violation(point.w[places], g.reshape(len(places), *rows.shape[1:]))
            worst = max(float(violations.max(initial=0.0)), _bias_slope(problem, rows))
            if worst <= tol or patience.out(worst):
                break
            if self._several:
                trail.append(np.concatenate([point.w[places].ravel(), point.bias]))
                if len(trail) > LOOK_BACK:
                    point, trail = self._extrapolate(problem, trail, point), []
        return steps, point

    def _turn(self, problem: Problem, penalty: Penalty, point: _Point, score: int | None, tol: float) -> _Point:
        """The weights of one score after a Newton step.

        Where that does not lower the cost: after a step without weights that come or go (a discontinuous penalty), then
        after one on a model whose rows have at least a share of the largest curvature there is.
        """
        tries = [(0.0, False), *([(0.0, True)] if penalty.discontinuous else []), (0.1, False), (1.0, False)]
        for damping, keep in tries:
            step, slope = self._step(problem, penalty, point, score, tol, damping, keep)
            if self._flat:  # the model is the loss itself
                return point.moved(step) if step.change.any() or step.shift else point
            after = _search(problem, point, step, slope)
            if after is not None:
                return after
        return point

    def _extrapolate(self, problem: Problem, trail: list[Floats], point: _Point) -> _Point:
        """Scores that take turns creep towards each other; a look at the last turns shows where to."""
        mixed = extrapolated(trail)
        if mixed is None:
            return point
        w, n_scores = np.zeros_like(point.w), len(point.bias)
        w[self._working.places] = mixed[:-n_scores].reshape(-1, n_scores)
        bias = mixed[-n_scores:]
        there = _Point(w, bias, self._scores(w, bias))
        return there if _cost(problem, there) < _cost(problem, point) else point

    def _step(
        self,
        problem: Problem,
        penalty: Penalty,
        point: _Point,
        score: int | None,
        tol: float,
        damping: float,
        keep: bool,
    ) -> tuple[_Step, float]:
        """The Newton step of the weights of one score, and the slope of the loss along it.

        ``keep``: only of weights that are not zero, which such a penalty does not pull at.
        """
        columns, places = self._working.columns, self._working.places
        w = np.ascontiguousarray(of_score(point.w[places], score))
        rows = np.ascontiguousarray(of_score(problem.row_slopes(point.eta), score))
        h = self._curves(problem, point.eta, score, damping)
        mass, off = float(h.sum()), float(rows.sum()) if problem.intercept else 0.0
        centred = self._flat and self._working.shift is not None
        mean = columns.rmatvec(h) / mass if problem.intercept and not centred else None
        slope = columns.rmatvec(rows) if mean is None else columns.rmatvec(rows) - off * mean
        live = np.arange(len(w))
        if not self._flat:  # new cross products are needed: only of columns that may move
            eager = (
                lone_moves(penalty, w, slope, columns.squares(h))
                if penalty.discontinuous
                else penalty.violation(w, slope)
            )
            live = np.flatnonzero(w if keep else penalty.whole((w != 0) | (eager > 0)))
            columns, penalty = columns.some(live), NoPenalty() if keep else penalty.pick(live, len(w))
        start, tilt, middle = w[live], slope[live], None if mean is None else mean[live]
        rule = rule_of(penalty, columns, h)
        if len(live) <= (self._most_kept if self._flat else self._most_fresh):
            gram = self._working.gram(h) if self._flat else self._working.cross(columns, h)
            if middle is not None:
                gram = gram - mass * np.outer(middle, middle)
            model: GramModel | RowsModel = GramModel(gram, tilt, start, rule)
        else:
            model = RowsModel(columns, h, middle, rows - h * (off / mass), start, rule)
        worst = float(penalty.violation(start, tilt).max(initial=0.0))
        change = model.solve(tol if self._flat else max(0.5 * tol, 0.05 * worst), MOST_EPOCHS) - start
        moved = columns.matvec(change)
        shift = -(off + float(h @ moved)) / mass if problem.intercept else 0.0
        step = _Step(places[live], score, change, shift, moved + shift)
        return step, float(rows @ step.rows)

    def _curves(self, problem: Problem, eta: Floats, score: int | None, damping: float) -> Floats:
        """Second derivatives of the rows, kept above zero where the loss is straight, and above what damps the step."""
        h = np.ascontiguousarray(of_score(problem.row_curves(eta), score))
        if self._flat:
            return h
        shares = self._shares()
        counted = shares > 0
        lipschitz = problem.loss.lipschitz
        top = float((h[counted] / shares[counted]).max(initial=0.0)) if lipschitz is None else lipschitz
        tiny = float(np.finfo(np.float64).tiny)
        return np.maximum(h, max(damping * top, (1e-8 if problem.loss.curved else 1e-2) * top, tiny) * shares)


def _cost(problem: Problem, point: _Point) -> float:
    return problem.risk(point.eta) + problem.penalty.value(point.w)


def _search(problem: Problem, point: _Point, step: _Step, slope: float) -> _Point | None:
    """The first of the steps 1, 1/2, 1/4 ... that lowers the cost by a share of what the model promised."""
    risk, paid = problem.risk(point.eta), problem.penalty.value(point.w)
    promised = min(slope + problem.penalty.value(point.moved(step).w) - paid, 0.0)
    rounding = 4 * np.finfo(np.float64).eps * (abs(risk) + abs(paid))
    share = 1.0
    for _ in range(30):
        trial = point.moved(step, share)
        change = problem.risk(trial.eta) - risk + problem.penalty.value(trial.w) - paid
        if change < 1e-4 * share * promised or (share == 1.0 and -promised < rounding and change <= rounding):
            return trial
        share *= 0.5
    return None


def of_score(a: Floats, score: int | None) -> Floats:
    """The part of one score of an array [n] or [n, k]; a view."""
    return a if score is None else a[:, score]


def lone_moves(penalty: Penalty, w: Floats, slope: Floats, curve: Floats) -> Floats:
    """curvature x how far each weight would go if solved for alone: the violation of a discontinuous penalty."""
    safe = np.where(curve > 0, curve, 1.0)
    return np.where(curve > 0, np.abs(penalty.prox(w - slope / safe, 1.0 / safe) - w) * safe, 0.0)


def _any_score(used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return used if used.ndim == 1 else np.asarray(used.any(axis=1))


def _bias_slope(problem: Problem, rows: Floats) -> float:
    """Derivative in the intercept."""
    return float(np.abs(rows.sum(axis=0)).max(initial=0.0)) if problem.intercept else 0.0


def duality_gap(problem: Problem, w: Floats, eta: Floats, gradient: Floats) -> float:
    """How far the cost can be above its least value at most; known for squared loss with L1 or elastic net, else NaN.

    With residuals r and correlations c = X'Hr - l2 w, the point s r with s = min(1, l1 / max |c|) is feasible in the
    dual: gap = cost - [s r'Hy - s^2 / 2 (r'Hr + l2 |w|^2)].
    """
    l1, l2, _ = problem.penalty.numbers()
    if not isinstance(problem.loss, Squared) or problem.penalty.code != 0 or l1 <= 0:
        return float("nan")
    r = np.asarray(problem.y, dtype=np.float64) - eta
    h = 1.0 / problem.total if problem.weight is None else problem.weight / problem.total
    largest = float(np.abs(gradient + l2 * w).max(initial=0.0))
    s = min(1.0, l1 / largest) if largest > 0 else 1.0
    y = problem.y - np.average(problem.y, weights=problem.weight) if problem.intercept else problem.y
    squares, ridge = float((h * r * r).sum()), l2 * float(w @ w)
    dual = s * float((h * r * y).sum()) - 0.5 * s * s * (squares + ridge)
    return 0.5 * (squares + ridge) + l1 * float(np.abs(w).sum()) - dual


def last_gap(outcome: Outcome) -> float:
    """The last duality gap of a run; NaN where it is not known."""
    gaps = outcome.trace.get("gap")
    return float(gaps[-1]) if gaps is not None and len(gaps) else float("nan")
