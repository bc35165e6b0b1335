"""Least squares as a classifier: fast, and with known faults that it names itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.engines.linear.problem import Problem, Solution
from tilth.engines.linear.solver import solve
from tilth.errors import warn_model
from tilth.models.linear.margin_model import MarginClassifier
from tilth.params import declared, inert, param
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L2, Penalty

Floats = NDArray[np.float64]

#: A leverage so many times the usual one makes a row an outlier.
FAR = 4.0
#: Cells of the table up to which the fit looks for such rows.
MOST_CELLS = 2_000_000

REASONS = (
    "rows far on the right side shift the boundary although they are right (squared loss punishes a score above 1)",
    "scores are not probabilities",
    "scores leave the range from 0 to 1 (and from -1 to 1)",
    "coding more than two classes as numbers gives them an order they do not have, so each has a target of its own",
)


@declared
class LeastSquaresClassifier(MarginClassifier):
    """Linear regression on targets +1 and -1, then the sign: sum_i (z_i - w.x_i - b)^2 + alpha |w|^2.

    Its weights are a good start for the perceptron or logistic regression, and with two classes of one covariance they
    point where Fisher's discriminant does. As a classifier it has faults, listed in ``reasons()``; the fit warns (W211)
    where one of them shows: rows far from the others that pull the border to the wrong side of some.

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> LeastSquaresClassifier().fit(X, y).decision_function([[1.5]]).round(6)
    array([0.])
    """

    card: ClassVar[Card] = Card(
        "Linear regression on +1 and -1, and the sign of its answer.",
        Traits("classification", linear=True),
        tuple(
            Assumption(f"It does not matter that {reason}.", "Use LogisticRegression or LinearSVC.")
            for reason in REASONS
        ),
        Complexity("O(n p^2 + p^3)", "O(p k)", "O(p^2)"),
        ("Hastie, Tibshirani, Friedman, The elements of statistical learning, 4.2",),
    )
    contest = Candidate("Least-squares classifier", 40)

    # The minimum has a closed form: there is nothing to choose, to stop or to start from.
    solver: ClassVar[str] = "closed form"  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]
    tol: Any = inert(None, "the minimum has a closed form")
    max_iter: Any = inert(None, "the minimum has a closed form")

    alpha: float = param(
        0.0, low=0, scale="log", tune=(1e-3, 1e3), doc="Weight of the penalty |w|^2 relative to the sum of squares."
    )

    def _loss(self) -> Loss:
        return Squared()

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha / total)

    def _problem(self, table: Any, target: Any, weight: Floats | None) -> Problem:
        codes, k = np.asarray(target), len(self.classes_)
        z = 2.0 * (codes == 1) - 1.0 if k == 2 else 2.0 * (codes[:, None] == np.arange(k)) - 1.0
        return super()._problem(table, z, weight)

    def _solve(self, problem: Problem) -> Solution:
        solution = solve(problem, self.solver, tol=self.tol, max_iter=self.max_iter)
        pulling = self._pulling(problem, solution)
        if pulling:
            warn_model(
                "W211",
                f"{type(self).__name__}: {pulling} rows far from the others pull the border; without them fewer of the "
                f"others are on the wrong side. Besides, {'; '.join(REASONS[1:])}. Use LogisticRegression or "
                "LinearSVC.",
            )
        return solution

    def _pulling(self, problem: Problem, solution: Solution) -> int:
        """How many rows of high leverage there are, if the others are told apart better without them."""
        n, p = problem.design.n_rows, problem.design.n_cols
        if n * p > MOST_CELLS or n < 5:
            return 0
        X = problem.design.dense()
        X = X - self.centre_ if problem.intercept else X
        leverage = np.einsum("ij,ij->i", X @ np.linalg.pinv(X.T @ X, hermitian=True), X)
        rest = np.flatnonzero(leverage <= FAR * (p + 1) / n)
        if not 0.8 * n <= len(rest) < n:
            return 0
        weight = None if problem.weight is None else problem.weight[rest]
        part = replace(problem, design=problem.design.take(rest), y=problem.y[rest], weight=weight)
        without = solve(part, self.solver, tol=self.tol, max_iter=self.max_iter)
        before, after = (_wrong(part, s) for s in (solution, without))
        return n - len(rest) if after < before else 0

    def reasons(self) -> tuple[str, ...]:
        """What speaks against least squares as a classifier."""
        return REASONS

    def _cost_text(self) -> str:
        return "squared error on +1 and -1" + (f" + {self.alpha:g} |w|^2 [alpha]" if self.alpha else "")


def _wrong(problem: Problem, solution: Solution) -> int:
    """Rows whose largest score is not that of their class."""
    scores, z = problem.scores(solution.weights), np.asarray(problem.y)
    return int((z * scores <= 0).sum() if z.ndim == 1 else (scores.argmax(axis=1) != z.argmax(axis=1)).sum())
