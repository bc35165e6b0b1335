"""Losses of straight and square pieces by Newton steps, exact to rounding: hinges, tubes, quantiles, rankings.

Such a loss is phi(r) = max over u of u r - phi*(u) (see :mod:`tilth.parts.pieces`), and its corners make Newton steps
useless. So the maximum is held near a centre c: phi_c(r) = max over u of u r - phi*(u) - width (u - c)^2 / 2, which is
smooth, and only rows near a corner bend. Newton steps find its minimum; its u become the next centre, the width
shrinks, and the corners return. This is the proximal point method in the dual (the augmented Lagrangian of the primal;
Rockafellar 1976). It ends after few rounds at the exact optimum of the cost with corners. The proof is

    P(w) - D(u) = sum v [phi(r) + phi*(u) - u r] >= P(w) - P(best)    when the slopes in w and b are zero,

and both are reported. The intercept is not penalised. An L1 penalty is p more pieces |w_j|.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.margin_cost import WRITTEN_OUT, Cost, State
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.program import suits_program
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.penalties import L1, L2, NoPenalty
from tilth.parts.pieces import Pieces

Floats = NDArray[np.float64]

#: Cells of a wide table up to which its rows are turned into few columns.
_TURNED_CELLS = 20_000_000
#: Rows from which the first steps are taken on every so many of them.
_LONG_ROWS, _SAMPLED = 20_000, 10
#: By how much the width shrinks from round to round.
_SHRINK = 0.1
#: Rows from which it pays to leave those aside that are far from any corner.
_MANY_ROWS = 2_000
#: Distance from a corner, in widths, within which a row may yet move.
_REACH = 30.0
#: Newton steps within one round, and evaluations of a line search.
_MOST_STEPS, _MOST_TRIES = 60, 40
#: Rounds at most, and the least width beside the spread of the residuals.
_MOST_ROUNDS, _NARROWEST = 60, 1e-6
#: What is written down after every round.
_WATCHED = ("step", "width", "cost", "gap", "slope")
#: A gap or slope below this that grows no smaller is rounding.
_ROUNDING = 1e-8


@stored
@declared
class MarginNewton(Solver):
    """Newton steps on smoothed corners, and rounds that bring the corners back.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> from tilth.parts.margin_losses import Hinge
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> found = MarginNewton().solve(Problem(DenseDesign(X), y, Hinge(), L2(1e-3)))
    >>> found.weights.coef.round(6), float(found.weights.intercept.round(6))
    (array([1.]), -2.0)
    """

    name: ClassVar[str] = "margin newton"

    tol: float = param(
        1e-12, low=0, low_open=True, scale="log", doc="Largest relative gap between cost and bound, and slope."
    )
    max_iter: int = param(1000, low=1, doc="Newton steps at most.")

    def refuses(self, problem: Problem) -> str | None:
        """Pieces, and a penalty that is none, L2 or L1."""
        if not problem.loss.in_pieces:
            return "needs a loss made of straight and square pieces, such as hinges"
        if not isinstance(problem.penalty, (NoPenalty, L2, L1)):
            return "takes no penalty but L2 and L1"
        return None

    def leaves(self, problem: Problem) -> str | None:
        """Small linear programs; many unknowns, and smooth losses under an L1 penalty, which others walk one by one."""
        unknowns = (problem.design.n_rows if _turns(problem) else problem.design.n_cols) * problem.loss.n_scores
        if suits_program(problem):
            return "leaves straight losses without an L2 penalty to a linear program"
        if problem.loss.smooth and isinstance(problem.penalty, L1):
            return "leaves smooth losses with an L1 penalty to coordinates"
        if unknowns > WRITTEN_OUT and problem.loss.n_scores == 1 and isinstance(problem.penalty, L2):
            return f"would solve for {unknowns} weights at once"
        return None

    def reason(self, problem: Problem) -> str:
        """Corners."""
        return "a loss of straight and square pieces: Newton steps between its corners end at the exact optimum"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Rounds of Newton steps."""
        if start is None and _long(problem):
            start = self._rehearsed(problem)
        if not _turns(problem):
            return _Rounds(Cost.of(problem), self.tol, self.max_iter).run(problem, start)
        # Weights of least squares lie in the span of the rows: X = L Q', w = Q u, and |w| = |u|.
        basis, triangle = np.linalg.qr(problem.design.dense().T)
        small = replace(problem, design=DenseDesign(np.ascontiguousarray(triangle.T)))
        first = None if start is None else Weights(basis.T @ start.coef, start.intercept)
        solution = _Rounds(Cost.of(small), self.tol, self.max_iter).run(small, first)
        weights = Weights(basis @ solution.weights.coef, solution.weights.intercept)
        return replace(solution, weights=weights)

    def _rehearsed(self, problem: Problem) -> Weights:
        """The weights of a sample of the rows: most steps are taken where they cost little."""
        drawn = np.random.default_rng(0).choice(problem.design.n_rows, problem.design.n_rows // _SAMPLED, replace=False)
        rows = np.sort(drawn)
        weight = None if problem.weight is None else problem.weight[rows]
        sample = replace(problem, design=problem.design.take(rows), y=np.asarray(problem.y)[rows], weight=weight)
        return replace(self, tol=max(self.tol, 1e-4)).solve(sample).weights


def _long(problem: Problem) -> bool:
    """Whether a sample of the rows is enough to come near the weights; queries cannot be sampled by rows."""
    n, p = problem.design.n_rows, problem.design.n_cols * problem.loss.n_scores
    return n >= _LONG_ROWS and n >= 40 * _SAMPLED * p and problem.loss.serves != "order"


def _turns(problem: Problem) -> bool:
    """Whether there are fewer rows than columns, so that the rows span all weights that an L2 penalty leaves."""
    n, p = problem.design.n_rows, problem.design.n_cols
    return isinstance(problem.penalty, L2) and problem.penalty.alpha > 0 and n < p and n * p <= _TURNED_CELLS


# ---------------------------------------------------------------------------------------------------------- the rounds


@dataclass
class _Rounds:
    """Rounds of Newton steps on one problem."""

    cost: Cost
    tol: float
    max_iter: int
    steps: int = 0
    steep: float = np.inf  # the largest slope where the last steps ended
    trace: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _WATCHED})

    def run(self, problem: Problem, start: Weights | None) -> Solution:
        """The optimum, and the proof of it."""
        cost, pieces = self.cost, self.cost.pieces
        # Classes begin at scores of zero, where all rows are alike and bend: the first step is that of least squares.
        numbers = problem.loss.serves == "numbers"
        at = start or (problem.start() if numbers else Weights(np.zeros(cost.shape), np.zeros(cost.shape[1:])))
        eta = cost.scores(at)
        r = pieces.residual(eta)
        spread = float(np.average(np.abs(r), weights=cost.v)) or 1.0
        width = spread * (2.0 if start is None else 0.02)
        state = State(np.zeros(len(r)), 0.0 if pieces.smooth else width, np.zeros(cost.shape), width)
        u = pieces.subgradient(r, state.centre, state.width)
        usual = max(float(cost.v @ np.abs(u)), 1e-300)
        first = cost.gap(at, eta, u, state)[0]
        aim = self.tol if pieces.smooth and cost.l1 == 0 else 1e-2
        hold = 0.0 if cost.held_by_penalty(usual / spread) else 1e-2 * usual / spread
        gap = slope = best = np.inf
        since = 0
        while True:
            at, eta, u = self._round(
                replace(cost, anchor=at, hold=hold) if hold > 0 else cost, at, eta, state, aim * usual
            )
            value, lost = cost.gap(at, eta, u, state)
            slope = (self.steep if hold == 0 else cost.steepness(cost.gradient(at, u, state))) / usual
            gap = lost / max(abs(value), 1e-9 * abs(first), 1e-300)
            for name, number in zip(self.trace, (self.steps, state.l1_width, value, gap, slope), strict=True):
                self.trace[name].append(float(number))
            done = gap <= self.tol and slope <= max(self.tol, 1e-10)
            best, since = (gap + slope, 0) if gap + slope < 0.5 * best else (best, since + 1)
            if done or self.steps >= self.max_iter or len(self.trace["gap"]) >= _MOST_ROUNDS:
                break
            if since >= 8 and max(gap, slope) <= _ROUNDING:
                done = True  # what is left is rounding
                break
            aim = max(min(aim, 0.1 * gap), 0.1 * self.tol, 1e-13)
            hold *= _SHRINK
            # A smaller width closes the gap faster, but rounding in r is divided by it: no smaller than needed.
            narrow = state.l1_width <= _NARROWEST * spread
            factor = 10.0 if gap <= self.tol else 1.0 if narrow else _SHRINK
            state = state.moved(u, cost.l1_slopes(at.coef, state) if cost.l1 > 0 else state.l1_centre, factor)
        tidy = self._tidy(problem, at, eta, u, state)
        objective = problem.objective(at, eta) if tidy is at else problem.objective(tidy)
        stopped = "cost and bound have met" if done else "cost and bound have not met"
        outcome = Outcome(
            MarginNewton.name, bool(done), self.steps, float(max(gap, slope)), objective, stopped=stopped,
            trace={name: np.array(numbers) for name, numbers in self.trace.items()},
        )  # fmt: skip
        return Solution(tidy, outcome)

    def _round(self, cost: Cost, at: Weights, eta: Floats, state: State, aim: float) -> tuple[Weights, Floats, Floats]:
        """The minimum under one centre, over all rows or, first, over those that may move."""
        pieces = cost.pieces
        u = pieces.subgradient(pieces.residual(eta), state.centre, state.width)
        # Without a penalty that is felt, a few rows alone may have no minimum.
        firm = pieces.sign is not None and not pieces.smooth and cost.hold == 0
        if firm and len(u) >= _MANY_ROWS and self.steps > 0:
            reach = _REACH * state.width
            for _ in range(8):
                r = pieces.residual(eta)
                near = np.flatnonzero(pieces.inside(u) | (np.abs(np.abs(r) - pieces.dead) <= reach))
                if len(near) > 0.5 * len(u):
                    break
                part, held = cost.take(near, u), u
                at, _, _ = self._descend(part, at, eta[near], replace(state, centre=state.centre[near]), aim)
                eta = cost.scores(at)
                u = pieces.subgradient(pieces.residual(eta), state.centre, state.width)
                strayed = u != held
                strayed[near] = False
                if not strayed.any():
                    break
                reach *= 3.0
        return self._descend(cost, at, eta, state, aim)

    def _descend(
        self, cost: Cost, at: Weights, eta: Floats, state: State, aim: float
    ) -> tuple[Weights, Floats, Floats]:
        """Newton steps until all slopes are below the aim."""
        pieces = cost.pieces
        best, since = np.inf, 0
        for step in range(_MOST_STEPS + 1):
            u = pieces.subgradient(pieces.residual(eta), state.centre, state.width)
            gradient = cost.gradient(at, u, state)
            steep = self.steep = cost.steepness(gradient)
            best, since = (steep, 0) if steep < 0.5 * best else (best, since + 1)
            rounded = since >= 4 and steep < 1e-8  # what is left is rounding
            if steep <= aim or rounded or step == _MOST_STEPS or self.steps >= self.max_iter:
                break
            way = cost.newton(at, u, gradient, state)
            moved = cost.scores(way)
            length = self._search(cost, at, eta, u, state, way, moved, gradient)
            if length == 0.0:
                break
            at = Weights(at.coef + length * way.coef, np.asarray(at.intercept + length * way.intercept))
            eta = eta + length * moved
            self.steps += 1
        return at, eta, u

    def _search(
        self,
        cost: Cost,
        at: Weights,
        eta: Floats,
        u: Floats,
        state: State,
        way: Weights,
        moved: Floats,
        gradient: Weights,
    ) -> float:
        """A step length at which the slope along the way has all but gone; the slope never falls along a line."""
        pieces, width = cost.pieces, state.width
        r, dr = pieces.residual(eta), -pieces.apply(moved)
        weighted = cost.v * dr
        # All that is straight or square in the weights is one line; its height at 0 follows from the slope there.
        rise = cost.l2 * float(np.vdot(way.coef, way.coef))
        rise += cost.hold * float((way.coef.T**2 @ cost.scale**2).sum() + np.vdot(way.intercept, way.intercept))

        def pull(t: float) -> float:
            out = float(weighted @ (u if t == 0 else pieces.subgradient(r + t * dr, state.centre, width)))
            if cost.l1 > 0:
                out += cost.l1 * float(np.vdot(cost.l1_slopes(at.coef + t * way.coef, state), way.coef))
            return out

        first = float(np.vdot(gradient.coef, way.coef) + np.vdot(gradient.intercept, way.intercept))
        steady = first - pull(0.0)

        def slope(t: float) -> float:
            return pull(t) + steady + t * rise

        if not first < 0:
            return 0.0
        low, high, t, of_low, of_high = 0.0, np.inf, 1.0, first, np.inf
        for _ in range(_MOST_TRIES):
            now = slope(t)
            if -0.6 * abs(first) <= now <= 0.2 * abs(first):
                return t
            if now < 0:
                low, of_low = t, now
            else:
                high, of_high = t, now
            if np.isinf(high):
                t = 2.0 * t
            else:
                cut = of_low / (of_low - of_high)
                t = low + (high - low) * float(np.clip(cut, 0.1, 0.9))
        return low if low > 0 else t

    # ------------------------------------------------------------------------------------------------------ the answer

    def _tidy(self, problem: Problem, at: Weights, eta: Floats, u: Floats, state: State) -> Weights:
        """Weights that an L1 penalty holds at zero are zero; a free intercept is the middle of its bounds."""
        cost, pieces = self.cost, self.cost.pieces
        if cost.l1 > 0:
            size = np.abs((at.coef.T * cost.scale).T)
            held = (np.abs(cost.l1_slopes(at.coef, state)) < 1.0) & (size <= 1e-6 * size.max(initial=0.0))
            at = Weights(np.where(held, 0.0, at.coef), at.intercept)
        if not cost.intercept or pieces.smooth:
            return at
        if pieces.sign is None:  # only differences of scores count
            return Weights(at.coef, at.intercept - at.intercept.mean())
        # A row between its corners holds the intercept where it is.
        if ((u > pieces.low + 1e-7) & (u < pieces.high - 1e-7) & ((u != 0.0) | (pieces.dead == 0))).any():
            return at
        bias = middle_intercept(pieces, cost.v, eta - at.intercept, float(at.intercept))
        return Weights(at.coef, np.asarray(bias))


def middle_intercept(pieces: Pieces, v: Floats, scores: Floats, bias: float) -> float:
    """The middle of all intercepts that cost the same as ``bias``, where there is more than one.

    The cost of an intercept is made of straight lines; its corners are where an r meets a corner of its piece.
    """
    assert pieces.sign is not None
    if not pieces.bounded:
        return bias
    sign, ends = pieces.sign, (pieces.dead, -pieces.dead) if pieces.dead > 0 else (0.0,)
    corner = np.concatenate([sign * (pieces.offset - end) - scores for end in ends])
    order = np.argsort(corner, kind="stable")
    jumps = (pieces.high - pieces.low) / len(ends) * np.tile(v, len(ends))
    before = -float(v[sign > 0].sum()) * pieces.high + float(v[sign < 0].sum()) * pieces.low
    after = before + np.cumsum(jumps[order])
    flat = np.abs(after) <= 1e-12 * float(v.sum())
    if not flat.any():
        return bias
    first = int(np.argmax(flat))
    if first + 1 >= len(order):
        return bias
    low, high = corner[order[first]], corner[order[first + 1]]
    return float(0.5 * (low + high)) if low - 1e-6 <= bias <= high + 1e-6 else bias
