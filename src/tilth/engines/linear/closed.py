"""Least squares solved for: (X'WX + lambda n I) w = X'Wy on centred columns."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared
from tilth.parts.losses import Squared
from tilth.parts.penalties import L2, NoPenalty

Floats = NDArray[np.float64]

#: Multiplications (n p^2) beyond which ``auto`` prefers iterations.
MOST_WORK = 3e11


@declared
class ClosedForm(Solver):
    """The normal equations, where they can be trusted."""

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
        return f"would cost n p^2 = {n * p * p:.0e} multiplications" if n * p * p > MOST_WORK else None

    def reason(self, problem: Problem) -> str:
        """A derivative that is linear in the weights can be solved for."""
        return "squared loss: where its derivative is zero can be solved for"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Cholesky, or a least-squares solution of least norm."""
        X, y = problem.design.dense(), np.asarray(problem.y, dtype=np.float64)
        w = np.ones(len(X)) if problem.weight is None else problem.weight
        mean_x = np.average(X, axis=0, weights=w) if problem.intercept else np.zeros(X.shape[1])
        mean_y = np.average(y, axis=0, weights=w) if problem.intercept else np.zeros(y.shape[1:])
        root = np.sqrt(w)
        A = (X - mean_x) * root[:, None]
        b = ((y - mean_y).T * root).T
        strength = problem.penalty.strength * problem.total
        if strength:
            coef = np.linalg.solve(A.T @ A + strength * np.eye(X.shape[1]), A.T @ b)
        else:
            coef = np.linalg.lstsq(A, b, rcond=None)[0]
        weights = Weights(coef, np.asarray(mean_y - mean_x @ coef))
        residual = y - X @ coef - weights.intercept
        objective = float(0.5 * np.average((residual**2).reshape(len(X), -1).sum(axis=1), weights=w)) + problem.penalty.value(coef)
        return Solution(weights, Outcome(self.name, True, 0, 0.0, objective, stopped="solved"))
