"""Dual coordinate descent: one row's dual variable at a time, for many columns (Hsieh et al. 2008)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.design import DenseDesign, Design, SparseDesign
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.penalties import L2
from tilth.parts.pieces import Pieces

Floats = NDArray[np.float64]


def row_access(design: Design) -> Any:
    """The rows as the compiled walks take them: a row-major matrix, or compressed rows."""
    if isinstance(design, DenseDesign):
        return np.ascontiguousarray(design.matrix, dtype=np.float64)
    sparse = design if isinstance(design, SparseDesign) else design.pick(np.arange(design.n_cols))
    assert isinstance(sparse, SparseDesign)
    rows = sparse.rows
    return rows.indptr, rows.indices, np.ascontiguousarray(rows.data, dtype=np.float64), int(rows.shape[1])


@stored
@declared
class DualCoordinate(Solver):
    """Each row has a dual variable u; w = sum_i v_i u_i z_i x_i / lambda. One u after the other goes to its best value.

    The order is drawn from a seed; rows whose u stays at a bound are left aside and looked at again in the end. An
    intercept without a penalty asks that sum_i v_i u_i z_i = 0. That equation is kept by an augmented Lagrangian, whose
    multiplier is the intercept: the optimum is that of the cost as written, where liblinear penalises the intercept.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> from tilth.parts.margin_losses import Hinge
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> found = DualCoordinate().solve(Problem(DenseDesign(X), y, Hinge(), L2(1e-3)))
    >>> found.weights.coef.round(4), float(found.weights.intercept.round(4))
    (array([1.]), -2.0)
    """

    name: ClassVar[str] = "dual coordinate descent"

    tol: float = param(1e-6, low=0, low_open=True, scale="log", doc="Largest violation, in units of a score.")
    max_iter: int = param(2000, low=1, doc="Passes over the rows at most.")
    random_state: int = param(0, low=0, doc="Seed of the order of the rows.")

    def refuses(self, problem: Problem) -> str | None:
        """One score, pieces, L2."""
        if not problem.loss.in_pieces or problem.loss.n_scores > 1 or problem.loss.serves == "order":
            return "needs a loss of one score made of straight and square pieces, such as the hinge"
        if not isinstance(problem.penalty, L2) or problem.penalty.alpha <= 0:
            return "needs an L2 penalty"
        return None

    def leaves(self, problem: Problem) -> str | None:
        """Losses that are smooth enough for gradients."""
        return "leaves smooth losses of many columns to gradients" if problem.loss.smooth else None

    def reason(self, problem: Problem) -> str:
        """Corners and many columns."""
        return "a loss with corners and many columns: one dual variable per row"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Descend; a start in the weights says nothing about dual variables and is not used."""
        pieces = problem.loss.pieces(problem.y)
        assert pieces is not None
        assert pieces.sign is not None
        weight = np.ones(problem.design.n_rows) if problem.weight is None else problem.weight
        v, alpha = weight / problem.total, problem.penalty.alpha
        beta, coef, intercept, violation, epochs, converged = _core.dual_coordinate(
            row_access(problem.design), pieces.offset, pieces.sign, v, pieces.low, pieces.high, pieces.square,
            pieces.dead, alpha, problem.intercept, None, self.tol, self.max_iter, self.random_state,
        )  # fmt: skip
        at = Weights(coef, np.asarray(intercept))
        gap = _gap(problem, pieces, v, at, beta * alpha / v)
        stopped = f"no dual variable moves by more than tol; the cost is at most {gap:.1e} (relative) above the optimum"
        outcome = Outcome(
            self.name, bool(converged), int(epochs), float(violation), problem.objective(at),
            stopped=stopped if converged else "", trace={"gap": np.array([gap])},
        )  # fmt: skip
        return Solution(at, outcome)


def _gap(problem: Problem, pieces: Pieces, v: Floats, at: Weights, u: Floats) -> float:
    """sum v [phi(r) + phi*(u) - u r] over the cost: what is left between cost and bound."""
    r = pieces.residual(problem.scores(at))
    lost = float(v @ (pieces.value(r) + pieces.conjugate(u) - u * r))
    return abs(lost) / max(problem.objective(at), 1e-300)
