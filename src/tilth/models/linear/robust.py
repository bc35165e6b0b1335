"""Regression that a few wild rows cannot drag away: absolute errors, quantiles, Huber's squares and lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import solve
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, param
from tilth.parts.losses import Absolute, Huber, Loss, Quantile, quantile
from tilth.parts.penalties import L1, L2, Penalty

Floats = NDArray[np.float64]

#: Logarithm of the least scale, beside the spread of y, that is told from an exact fit.
_LEAST = -16.0
LINEAR_PROGRAM = Complexity("a linear program: about O((n + p)^2.5)", "O(p)", "O(n p)")


@declared
class LeastAbsoluteDeviations(LinearRegressorModel):
    """w = argmin mean_i |y_i - w.x_i - b| + alpha sum |w|: the median of y as a line; the oldest robust regression.

    How far a row is from the line does not matter, only on which side it is: one huge outlier leaves the line alone.

    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 900.0]
    >>> LeastAbsoluteDeviations().fit(X, y).coef_.round(4)
    array([2.])
    """

    card: ClassVar[Card] = Card(
        "The line that has as much of the data above as below it.",
        Traits("regression", linear=True),
        (Assumption("The median of y is linear in the columns.", "Bends are missed."),),
        LINEAR_PROGRAM,
        ("Boscovich 1757", "Koenker and Bassett 1978, Regression quantiles"),
    )
    contest = "Huber regression lies between it and least squares"
    # With fewer rows than columns many lines have no error at all; a penalty makes one of them the answer.
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"alpha": 0.01}, {})

    alpha: float = param(
        0.0, low=0, scale="log", tune=(1e-4, 1e1), doc="Weight of a penalty sum |w| relative to the mean error."
    )

    def _loss(self) -> Loss:
        return Absolute()

    def _penalty(self, total: float) -> Penalty:
        return L1.priced(self.alpha)

    def _cost_text(self) -> str:
        return "absolute error" + (f" + {self.alpha:g} sum |w| [alpha]" if self.alpha else "")


@declared
class QuantileRegressor(LinearRegressorModel):
    """A quantile of y as a line: w = argmin mean_i pinball(y_i - w.x_i - b) + alpha sum |w|.

    The pinball loss of a residual r is q r above the line and (q - 1) r below it, so that a share q of the rows lies
    below. ``alpha`` is 1 by default, as in scikit-learn: set it to 0 for the textbook quantile regression.

    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 900.0]
    >>> QuantileRegressor(quantile=0.25, alpha=0).fit(X, y).coef_.round(4)
    array([2.])
    """

    card: ClassVar[Card] = Card(
        "The line below which a given share of the rows lies.",
        Traits("regression", linear=True),
        (
            Assumption(
                "The quantile of y is linear in the columns.", "Bends are missed; lines of two quantiles may cross."
            ),
        ),
        LINEAR_PROGRAM,
        ("Koenker and Bassett 1978, Regression quantiles",),
    )
    contest = "answers a quantile, not the mean"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"alpha": 0.01},)

    quantile: float = param(0.5, low=0, high=1, low_open=True, doc="Share of the rows below the line.")
    alpha: float = param(
        1.0, low=0, scale="log", tune=(1e-4, 1e1), doc="Weight of the penalty sum |w| relative to the mean loss."
    )

    def _loss(self) -> Loss:
        return Quantile(q=self.quantile)

    def _penalty(self, total: float) -> Penalty:
        return L1.priced(self.alpha)

    def _cost_text(self) -> str:
        return f"pinball loss of the {self.quantile:g}-quantile [quantile] + {self.alpha:g} sum |w| [alpha]"


@declared
class HuberRegressor(LinearRegressorModel):
    """Squares for small residuals and lines for large ones, with a scale that is learned too.

    min over w, b, s of sum_i [s + s H((y_i - w.x_i - b) / s)] + alpha |w|^2 with H(z) = z^2 for |z| <= epsilon, else
    2 epsilon |z| - epsilon^2. Because residuals are measured in units of s, epsilon means the same whatever y is
    measured in. The cost is convex in all three. For a fixed width use ``LinearRegressor(loss=Huber(delta=...))``.

    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.1, 5.0, 6.9, 900.0]
    >>> HuberRegressor(alpha=0).fit(X, y).coef_.round(2)
    array([2.08])
    """

    card: ClassVar[Card] = Card(
        "Least squares in the middle, absolute errors for the rows far out.",
        Traits("regression", linear=True),
        (Assumption("Most errors are alike; a few rows may be wild in y.", "Wild rows in x still pull."),),
        Complexity("about ten smooth fits of O(n p^2)", "O(p)", "O(p^2)"),
        ("Huber 1964, Robust estimation of a location parameter", "Owen 2007, A robust hybrid of lasso and ridge"),
    )
    contest = Candidate("Huber regression", 50)
    learned: ClassVar[dict[str, str]] = {**LinearRegressorModel.learned, "scale_": "float[]"}

    epsilon: float = param(1.35, low=1, tune=(1.05, 3.0), doc="Residuals beyond this many scales count as lines.")
    alpha: float = param(1e-4, low=0, scale="log", tune=(1e-6, 1e2), doc="Weight of the penalty |w|^2.")

    def _loss(self) -> Loss:
        return Huber(delta=self.epsilon * getattr(self, "scale_", 1.0))

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha / total)

    def _solve(self, problem: Problem) -> Solution:
        """For each scale s a Huber regression of y / s; the derivative of the cost in s is zero at the best s."""
        y = np.asarray(problem.y, dtype=np.float64)
        middle = quantile(y, 0.5, problem.weight) if problem.intercept else 0.0
        far = float(np.abs(y - middle).max()) or 1.0
        solutions: dict[float, Solution] = {}
        start = self._start(problem)

        def slope(log_scale: float) -> float:
            scale = far * float(np.exp(log_scale))
            scaled = replace(
                problem, y=(y - middle) / scale, loss=Huber(delta=self.epsilon), penalty=problem.penalty.times(scale)
            )
            last = None if start is None else Weights(start.coef / scale, (start.intercept - middle) / scale)
            if solutions:
                last = next(reversed(solutions.values())).weights
            solutions[log_scale] = solve(scaled, self.solver, last, tol=self.tol, max_iter=self.max_iter)
            r = scaled.y - scaled.scores(solutions[log_scale].weights)
            return 1.0 - float(np.average(np.minimum(r**2, self.epsilon**2), weights=problem.weight))

        best = _root(slope)
        if best is None:
            return self._without_scale(problem, far)
        self.scale_ = far * float(np.exp(best))
        weights, outcome = solutions[best].weights, solutions[best].outcome
        n_iter = sum(s.outcome.n_iter for s in solutions.values())
        at = Weights(weights.coef * self.scale_, np.asarray(weights.intercept * self.scale_ + middle))
        return Solution(at, replace(outcome, n_iter=n_iter))

    def _without_scale(self, problem: Problem, far: float) -> Solution:
        """So many rows lie on one line that the smaller the scale the better: absolute errors are left in the limit."""
        self.scale_ = 1e-15 * far
        penalty = problem.penalty.times(1.0 / self.epsilon)
        limit = replace(problem, loss=Absolute(), penalty=penalty)
        return solve(limit, self.solver, None, tol=self.tol, max_iter=self.max_iter)

    def outliers(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """Rows whose residual is beyond epsilon scales: those that count as lines."""
        return np.asarray(np.abs(np.asarray(y, dtype=np.float64) - self.predict(X)) > self.epsilon * self.scale_)

    def _cost_text(self) -> str:
        return f"Huber loss with a learned scale, epsilon = {self.epsilon:g} [epsilon] + {self.alpha:g} |w|^2 [alpha]"


def _root(slope: Callable[[float], float]) -> float | None:
    """Where a rising function is zero; None where it is above zero all the way down."""
    known: dict[float, float] = {}

    def once(x: float) -> float:
        if x not in known:
            known[x] = slope(x)
        return known[x]

    low, high = -1.0, 1.0
    while once(high) <= 0:
        high += 2.0
    while once(low) > 0:
        if low <= _LEAST:
            return None
        low -= 2.0
    return float(brentq(once, low, high, xtol=1e-13, rtol=1e-13)) if once(low) < 0 else low
