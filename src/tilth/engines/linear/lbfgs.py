"""Smooth costs by L-BFGS."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared

Floats = NDArray[np.float64]


@declared
class LBFGS(Solver):
    """Quasi-Newton steps from the last few gradients."""

    name: ClassVar[str] = "lbfgs"

    def refuses(self, problem: Problem) -> str | None:
        """A gradient everywhere is needed."""
        return None if problem.smooth else "needs a cost with a gradient everywhere"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Minimise."""
        from scipy.optimize import minimize

        first = start or problem.start()
        size = first.coef.size

        def unpack(theta: Floats) -> Weights:
            return Weights(theta[:size].reshape(problem.shape), theta[size:].reshape(problem.shape[1:]))

        def cost(theta: Floats) -> tuple[float, Floats]:
            at = unpack(theta)
            eta = problem.scores(at)
            slopes = problem.slopes(eta)
            g = slopes.coef + problem.penalty.gradient(at.coef)
            return problem.objective(at, eta), np.concatenate([g.ravel(), slopes.intercept.ravel()])

        found: Any = minimize(
            cost, np.concatenate([first.coef.ravel(), first.intercept.ravel()]), jac=True, method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxfun": 20 * self.max_iter},
        )  # fmt: skip
        at = unpack(found.x)
        violation = problem.violation(at, problem.slopes(problem.scores(at)))
        outcome = Outcome(self.name, violation <= self.tol, int(found.nit), violation, float(found.fun), problem.convex)
        return Solution(at, outcome)
