"""Linear programs: losses of straight pieces with an L1 penalty or none, and proofs that classes overlap."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design, SparseDesign
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, stored
from tilth.parts.penalties import L1, NoPenalty
from tilth.parts.pieces import Pieces

Floats = NDArray[np.float64]

_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
#: Rows up to which ``auto`` takes the simplex method, unless there are many columns.
FEW_ROWS, MANY_COLUMNS = 1_000, 1_500


def straight(problem: Problem) -> bool:
    """Whether the loss is made of straight pieces only."""
    return problem.loss.in_pieces and not problem.loss.smooth


def suits_program(problem: Problem) -> bool:
    """Whether the problem is a linear program of a shape for which the simplex method is the best."""
    n, p = problem.design.n_rows, problem.design.n_cols
    shaped = n <= FEW_ROWS or p > MANY_COLUMNS or 4 * p >= n
    return straight(problem) and isinstance(problem.penalty, (NoPenalty, L1)) and shaped


@stored
@declared
class LinearProgram(Solver):
    """min sum v (high p + |low| n) + lambda |w|_1 with p - n + d = offset - score, p, n >= 0, |d| <= dead.

    p and n are the slacks of a row on either side. Solved by HiGHS; the optimum is a corner, where weights are exactly
    zero and rows exactly on their margin.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> from tilth.parts.losses import Absolute
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 50.0])
    >>> LinearProgram().solve(Problem(DenseDesign(X[[0, 1, 1, 2]]), y[[0, 1, 1, 2]], Absolute())).outcome.objective
    12.0
    """

    name: ClassVar[str] = "linear program"

    def refuses(self, problem: Problem) -> str | None:
        """Straight lines only."""
        if not straight(problem):
            return "needs a loss made of straight pieces, such as the hinge or the absolute loss"
        if not isinstance(problem.penalty, (NoPenalty, L1)):
            return "takes no penalty but L1"
        return None

    def leaves(self, problem: Problem) -> str | None:
        """Long tables."""
        return None if suits_program(problem) else "would be slow on so many rows"

    def reason(self, problem: Problem) -> str:
        """Straight loss, straight penalty."""
        return "loss and penalty are made of straight lines: a linear program"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """One linear program."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, hstack, identity

        pieces = problem.loss.pieces(problem.y)
        assert pieces is not None
        k, p, m = problem.loss.n_scores, problem.design.n_cols, len(pieces.offset)
        weight = np.ones(problem.design.n_rows) if problem.weight is None else problem.weight
        v = weight[pieces.rows(k)] / problem.total
        scale = np.sqrt(problem.design.squares() / max(problem.design.n_rows, 1))
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        columns = _differences(problem.design, pieces, k) @ _diagonal(np.repeat(1.0 / scale, k))
        blocks, cost, low, high = [columns], [np.zeros(p * k)], [np.full(p * k, -np.inf)], [np.full(p * k, np.inf)]

        def add(block: Any, price: Any, least: float = 0.0, most: float = np.inf) -> None:
            size = block.shape[1]
            blocks.append(block)
            cost.append(np.broadcast_to(price, size))
            low.append(np.full(size, least))
            high.append(np.full(size, most))

        if isinstance(problem.penalty, L1):  # w = w+ - w-
            low[0] = np.zeros(p * k)
            cost[0] = np.repeat(problem.penalty.alpha / scale, k)
            add(-columns, cost[0])
        if problem.intercept:
            add(_intercepts(pieces, k, problem.design.n_rows), 0.0, -np.inf)
        if np.isfinite(pieces.high):
            add(_slacks(pieces), _summed(v, pieces) * pieces.high)
        add(-identity(m, format="csr"), -v * pieces.low)
        if pieces.dead > 0:
            add(identity(m, format="csr"), 0.0, -pieces.dead, pieces.dead)
        A, bounds = hstack(blocks, format="csr"), np.column_stack([np.concatenate(low), np.concatenate(high)])
        result: Any = linprog(
            np.concatenate(cost), A_eq=csr_matrix(A), b_eq=pieces.offset, bounds=bounds, method="highs",
            options=_EXACT | {"maxiter": 100 * self.max_iter},
        )  # fmt: skip
        if result.status == 2:
            raise ValueError("linear program: no weights keep every margin; the classes are not linearly separable.")
        if result.x is None:
            raise ValueError(f"linear program: HiGHS found no weights ({result.message.strip()}); scale the columns.")
        w = result.x[: p * k]
        if isinstance(problem.penalty, L1):
            w = w - result.x[p * k : 2 * p * k]
        at_bias = p * k * (2 if isinstance(problem.penalty, L1) else 1)
        bias = result.x[at_bias : at_bias + k] if problem.intercept else np.zeros(k)
        coef = (w.reshape(p, k) / scale[:, None]).reshape(problem.shape)
        weights = Weights(coef, np.asarray(bias).reshape(problem.shape[1:]))
        gap = _gap(result, pieces.offset, bounds)
        stopped = "a corner where no edge leads down" if result.status == 0 else result.message.strip()
        objective = problem.objective(weights)
        outcome = Outcome(self.name, result.status == 0, max(int(result.nit), 1), gap, objective, stopped=stopped)
        return Solution(weights, outcome)


def _gap(result: Any, offset: Floats, bounds: Floats) -> float:
    """Cost less the bound that the multipliers prove, relative to the cost."""
    if result.status != 0:
        return float("inf")
    bound = float(offset @ result.eqlin.marginals)
    for side, multipliers in ((bounds[:, 0], result.lower.marginals), (bounds[:, 1], result.upper.marginals)):
        finite = np.isfinite(side)
        bound += float(side[finite] @ multipliers[finite])
    return abs(float(result.fun) - bound) / max(abs(float(result.fun)), 1e-12)


def _diagonal(values: Floats) -> Any:
    from scipy.sparse import diags

    return diags(values, format="csr")


def _sparse(design: Design) -> Any:
    from scipy.sparse import csr_matrix

    return design.rows if isinstance(design, SparseDesign) else csr_matrix(design.dense())


def _chooser(pieces: Pieces, k: int, n: int, score: int) -> Any:
    """Rows of the table that a piece takes score ``score`` from, with its sign: [m, n]."""
    from scipy.sparse import csr_matrix

    m = len(pieces.offset)
    if pieces.sign is not None:
        return csr_matrix((pieces.sign, (np.arange(m), np.arange(m))), shape=(m, n))
    assert pieces.plus is not None
    assert pieces.minus is not None
    out = csr_matrix((m, n))
    for place, sign in ((pieces.plus, 1.0), (pieces.minus, -1.0)):
        mine = np.flatnonzero(place % k == score)
        out = out + csr_matrix((np.full(len(mine), sign), (mine, place[mine] // k)), shape=(m, n))
    return out


def _differences(design: Design, pieces: Pieces, k: int) -> Any:
    """The columns of every piece, in the order of weights [p, k]."""
    from scipy.sparse import hstack

    X = _sparse(design)
    by_score = hstack([_chooser(pieces, k, design.n_rows, c) @ X for c in range(k)], format="csc")
    order = np.arange(design.n_cols * k).reshape(k, design.n_cols).T.ravel()
    return by_score[:, order].tocsr()


def _intercepts(pieces: Pieces, k: int, n: int) -> Any:
    from scipy.sparse import csr_matrix

    ones = np.ones(n)
    return csr_matrix(np.column_stack([_chooser(pieces, k, n, c) @ ones for c in range(k)]))


def _slacks(pieces: Pieces) -> Any:
    """A slack per piece, or per block of pieces of which only the largest counts."""
    from scipy.sparse import csr_matrix

    m = len(pieces.offset)
    block = np.arange(m) // max(pieces.together, 1)
    return csr_matrix((np.ones(m), (np.arange(m), block)), shape=(m, m // max(pieces.together, 1)))


def _summed(v: Floats, pieces: Pieces) -> Floats:
    return v[:: max(pieces.together, 1)]


# ------------------------------------------------------------------------------------------------------------- overlap


def meeting_point(design: Design, codes: NDArray[Any], *, intercept: bool = True) -> Floats | None:
    """Shares a of the rows, each class summing to 1, with sum a x equal for both classes: the proof that they overlap.

    None where there are no such shares: then two parallel planes keep the classes apart. Without an intercept, the
    shares sum to 1 over all rows and sum a z x = 0.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> meeting_point(DenseDesign(X), np.array([0, 0, 1, 1]))
    array([0.5, 0.5, 0.5, 0.5])
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    z = np.where(np.asarray(codes) == 1, 1.0, -1.0)
    scale = np.sqrt(design.squares() / max(design.n_rows, 1))
    X = _sparse(design) @ _diagonal(1.0 / np.where((scale > 0) & np.isfinite(scale), scale, 1.0))
    sums = np.vstack([z > 0, z < 0]).astype(np.float64) if intercept else np.ones((1, len(z)))
    A = vstack([X.T.multiply(z[None, :]), csr_matrix(sums)], format="csr")
    goal = np.concatenate([np.zeros(X.shape[1]), np.ones(len(sums))])
    result: Any = linprog(np.zeros(len(z)), A_eq=A, b_eq=goal, bounds=(0.0, None), method="highs")
    return np.maximum(result.x, 0.0) if result.status == 0 else None
