"""Least squares solved for: Cholesky where it can be trusted, QR and SVD of the rows where it cannot."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design, blocks
from tilth.engines.linear.normal import TRUSTED, NormalEquations, Solved
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, stored
from tilth.parts.losses import Squared
from tilth.parts.penalties import L2, NoPenalty, Penalty

Floats = NDArray[np.float64]

#: Multiplications (n p^2) beyond which ``auto`` prefers iterations.
MOST_WORK = 3e11
#: Unknowns (terms, or rows where those are fewer) beyond which the equations do not fit in memory.
MOST_UNKNOWN = 10_000
#: How weights come from cross products alone.
CHOLESKY = "Cholesky of the cross products"
_EPS = float(np.finfo(np.float64).eps)


@stored
@declared
class ClosedForm(Solver):
    """The normal equations, where they can be trusted.

    Cross products square the condition of the columns. Where their Cholesky factor shows that too few digits are left,
    the rows are factored themselves (QR block by block, then the SVD of the p x p rest), which also finds the columns
    that depend on each other and the shortest weights among those that fit equally well.
    """

    name: ClassVar[str] = "closed form"

    def refuses(self, problem: Problem) -> str | None:
        """Squared loss with an L2 penalty or none."""
        if not isinstance(problem.loss, Squared):
            return "solves for squared loss only"
        if not isinstance(problem.penalty, (NoPenalty, L2)):
            return "takes no penalty but L2"
        return None

    def leaves(self, problem: Problem) -> str | None:
        """Too much work."""
        n, p = problem.design.n_rows, problem.design.n_cols
        work = n * p * min(n, p)
        if work > MOST_WORK:
            return f"would cost n p^2 = {work:.0e} multiplications"
        return f"would need {min(n, p)} x {min(n, p)} products" if min(n, p) > MOST_UNKNOWN else None

    def reason(self, problem: Problem) -> str:
        """A derivative that is linear in the weights can be solved for."""
        return "squared loss: where its derivative is zero can be solved for"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Cholesky, or a least-squares solution of least norm."""
        if problem.design.n_cols > problem.design.n_rows:
            return _wide(problem)
        equations = NormalEquations.of(problem.design, np.asarray(problem.y, dtype=np.float64), problem.weight)
        return solve_equations(equations, problem)


def solve_equations(equations: NormalEquations, problem: Problem) -> Solution:
    """The solution of equations that were made from the rows of the problem, which are asked again where needed."""
    alpha = problem.penalty.alpha
    solved = equations.solve(alpha, problem.intercept)
    how = CHOLESKY
    if solved.rcond < TRUSTED:
        solved = _by_rows(problem, equations, alpha)
        how = "QR and SVD of the rows: their cross products are too close to singular"
    return solution_of(solved, equations, problem.penalty, problem.intercept, how)


def solution_of(solved: Solved, equations: NormalEquations, penalty: Penalty, intercept: bool, how: str) -> Solution:
    """Weights in the shape of the target, and the record of how they were found."""
    flat = equations.flat
    coef = solved.coef[:, 0] if flat else solved.coef
    bias = np.asarray(solved.intercept[0] if flat else solved.intercept)
    with np.errstate(over="ignore"):
        objective = equations.risk(solved, intercept) + penalty.value(coef)
    violation = equations.violation(solved, penalty.alpha, intercept)
    outcome = Outcome(ClosedForm.name, True, 0, violation, objective, stopped=f"solved ({how})")
    return Solution(Weights(np.ascontiguousarray(coef), bias), outcome, solved.dependent)


# ---------------------------------------------------------------------------------------------- rows, not products


def _by_rows(problem: Problem, equations: NormalEquations, alpha: float) -> Solved:
    """QR of the centred, scaled, weighted rows, a block at a time: R'R are their cross products, with all digits."""
    design, p = problem.design, equations.n_terms
    scale, mean = equations.scale, equations.gram.mean
    unit, ridge = equations.units(alpha, problem.intercept)
    targets = np.asarray(problem.y, dtype=np.float64).reshape(design.n_rows, -1)
    root = None if problem.weight is None else np.sqrt(problem.weight)
    # A penalty is p more rows, whose targets are zero.
    upper = np.hstack([np.diag(ridge * unit), np.zeros((p, targets.shape[1]))])
    for rows in blocks(design.n_rows, len(scale)):
        z = np.hstack([_dense_rows(design, rows), targets[rows]]) * scale
        if problem.intercept:
            z -= mean
        if root is not None:
            z *= root[rows, None]
        z[:, :p] *= unit
        upper = np.asarray(np.linalg.qr(np.vstack([upper, z]), mode="r"))
    left, values, right = np.linalg.svd(upper[:p, :p])
    # Rounding of columns that lie far from zero beside their spread counts as well.
    noise = np.hypot(1.0, np.max(equations.noise(problem.intercept) * unit, initial=0.0) / _EPS)
    known = values > 8 * _EPS * np.sqrt(p) * noise * values[0]
    coef = right[known].T @ ((left[:, known].T @ upper[:p, p:]) / values[known, None])
    null = right[~known].T
    # A term that never varies is alone in its null vector: its weight is zero, and nothing depends on it.
    null = null[:, np.abs(null[unit > 0]).max(axis=0, initial=0.0) > 1e-6] if null.size else null
    if null.shape[1]:
        return equations.least_norm(coef, unit, null, problem.intercept)
    rcond = float(values[known][-1] / values[0]) if known.any() else 1.0
    return equations.finished(coef * unit[:, None], rcond, problem.intercept)


def _dense_rows(design: Design, rows: slice) -> Floats:
    return design.take(np.arange(rows.start, rows.stop)).dense()


def _wide(problem: Problem) -> Solution:
    """More terms than rows: w = Z'a, where (Z Z' + lambda W I) a = y needs n x n products only."""
    design, n, p = problem.design, problem.design.n_rows, problem.design.n_cols
    weight = np.ones(n) if problem.weight is None else problem.weight
    root = np.sqrt(weight)
    targets = np.asarray(problem.y, dtype=np.float64).reshape(n, -1)
    largest = max(float(design.largest().max(initial=0.0)), np.finfo(np.float64).tiny)
    unit = 1.0 if _in_range(largest) else float(np.exp2(-np.clip(np.frexp(largest)[1], -1000, 1000)))
    centre = np.zeros(p)
    middle = np.zeros(targets.shape[1])
    if problem.intercept:
        centre = design.rmatvec(weight / problem.total * unit)
        middle = weight @ targets / problem.total
    right = (targets - middle) * root[:, None]
    ridge = problem.penalty.alpha * problem.total * unit * unit

    def columns(at: slice) -> Floats:
        some = design.pick(np.arange(at.start, at.stop)).dense() * unit - centre[at]
        return np.asarray(some * root[:, None])

    parts = blocks(p, n)
    dependent: tuple[int, ...] = ()
    if ridge > 0:
        from scipy.linalg import solve

        products = np.zeros((n, n))
        for at in parts:
            block = columns(at)
            products += block @ block.T
        products[np.diag_indices(n)] += ridge
        dual = solve(products, right, assume_a="pos")
        coef = np.concatenate([columns(at).T @ dual for at in parts])
        how = "Cholesky of the products of rows"
    else:
        whole = np.hstack([columns(at) for at in parts])
        coef = np.linalg.lstsq(whole, right, rcond=None)[0]
        dependent = tuple(range(p))
        how = "SVD of the rows: there are more terms than rows"
    coef = coef * unit
    bias = middle - (centre / unit) @ coef if problem.intercept else np.zeros(len(middle))
    residual = targets - design.matvec(coef) - bias
    flat = np.ndim(problem.y) == 1
    weights = Weights(np.ascontiguousarray(coef[:, 0] if flat else coef), np.asarray(bias[0] if flat else bias))
    with np.errstate(over="ignore"):
        objective = float(0.5 * (weight @ residual**2).sum() / problem.total) + problem.penalty.value(weights.coef)
    gradient = design.rmatvec(residual * (weight / problem.total)[:, None] * unit) - problem.penalty.alpha * unit * coef
    violation = float(np.abs(gradient).max(initial=0.0))
    outcome = Outcome(ClosedForm.name, True, 0, violation, objective, stopped=f"solved ({how})")
    return Solution(weights, outcome, dependent)


def _in_range(size: float) -> bool:
    return 1e-70 < size < 1e70
