"""Least squares: linear regression and ridge regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.data.table import empty_table
from tilth.engines.linear.closed import CHOLESKY, ClosedForm, solution_of, solve_equations
from tilth.engines.linear.design import Terms
from tilth.engines.linear.effective import effective_parameters
from tilth.engines.linear.normal import NormalEquations
from tilth.engines.linear.solver import choose
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, inert, param
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L2, Penalty

_REPORT = "assumption_report"
ASSUMPTIONS = (
    Assumption("The mean of y is linear in the columns.", "Bends are missed: residuals show a pattern.", _REPORT),
    Assumption("Rows are independent and of one distribution.", "Standard errors are too small.", _REPORT),
    Assumption(
        "The spread of the errors is the same everywhere.", "Standard errors are wrong; robust ones serve.", _REPORT
    ),
    Assumption("No column is a combination of the others.", "Weights are not unique and have large errors.", _REPORT),
)
COST = Complexity("O(n p^2 + p^3)", "O(p)", "O(p^2)")
Floats = NDArray[np.float64]

#: Terms up to which a fit keeps its cross products, to learn from more rows later.
MOST_KEPT = 3000


@declared
class LeastSquares(LinearRegressorModel):
    """What linear and ridge regression share: their weights follow from one fold, the normal equations.

    The statistic has a term for every level, also for the one that others are compared with: which one that is may
    change when later rows bring levels of their own.
    """

    fold: ClassVar[Any] = "once"
    multi_output: ClassVar[bool] = True

    def _loss(self) -> Loss:
        return Squared()

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Solve the normal equations, or iterate where they would cost too much (they are not kept then)."""
        self.__dict__.pop("statistic_", None)
        self.terms_ = self._terms(table, weight)
        problem = self._problem(table, target, weight)
        chosen, why = choose(problem, self.solver, tol=self.tol, max_iter=self.max_iter)
        n, p = problem.design.n_rows, problem.design.n_cols
        if not isinstance(chosen, ClosedForm) or (p > n and p > MOST_KEPT):
            super().learn(table, target, weight)
            return
        statistic = NormalEquations.empty(len(self._all_terms().names))
        self.absorb(statistic, table, target, weight)
        equations = self._own(statistic)
        if p > n:
            solution = chosen.solve(problem)
        else:
            solution = solve_equations(equations, problem)
        self.centre_ = equations.centre
        self._finish(replace(solution, outcome=solution.outcome.chosen_for(why)))
        self._take_equations(equations, solution.weights, weight, n)
        if p <= MOST_KEPT:
            self.statistic_ = statistic

    def statistic(self) -> NormalEquations:
        """Empty cross products of the terms of the schema."""
        self.terms_ = self._terms(self.plan_.apply(empty_table(self.schema_)), None)
        return NormalEquations.empty(len(self._all_terms().names))

    def absorb(self, statistic: NormalEquations, table: Any, target: Any, weight: Floats | None) -> None:
        """Add cross products."""
        statistic.update(self._all_terms().design(table), target, weight)

    def grow(self, statistic: NormalEquations) -> NormalEquations:
        """Make room for levels that a later part of the data brought; so far they were zero."""
        before = self._all_terms()
        self.terms_ = self._terms(self.plan_.apply(empty_table(self.schema_)), None)
        after = self._all_terms()
        return statistic.spread(before.places(after), len(after.names))

    def conclude(self, statistic: NormalEquations) -> None:
        """Weights from the cross products alone."""
        equations = self._own(statistic)
        penalty = self._penalty(equations.gram.weight)
        solved = equations.solve(penalty.alpha, self.fit_intercept)
        self.centre_ = equations.centre
        solution = solution_of(solved, equations, penalty, self.fit_intercept, CHOLESKY)
        self._finish(solution)
        self._take_equations(equations, solution.weights, None, 0)

    @property
    def n_effective_params_(self) -> float:
        """Trace of the hat matrix: weights and intercept that the rows determine; a penalty takes away from them."""
        if "statistic_" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: n_effective_params_ needs the cross products, which this fit did not keep."
            )
        equations = self._own(self.statistic_)
        total = equations.gram.weight
        return effective_parameters(equations, self._penalty(total).alpha * total, self.fit_intercept)

    def _all_terms(self) -> Terms:
        """The terms with every level of a column."""
        return replace(self.terms_, reference=False)

    def _own(self, statistic: NormalEquations) -> NormalEquations:
        """The equations of the terms that have a weight."""
        return statistic.pick(self.terms_.places(self._all_terms())) if self.terms_.reference else statistic


@declared
class LinearRegression(LeastSquares):
    """Ordinary least squares: w = argmin sum_i (y_i - w.x_i - b)^2.

    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.]), 1.0)
    """

    card: ClassVar[Card] = Card(
        "A weight per column, such that the squared errors are least.",
        Traits("regression", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        ("Gauss 1809", "Legendre 1805"),
    )
    contest = "ridge regression without its penalty"

    copy_X: bool = inert(True, "the rows that were passed are never changed")
    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    positive: bool = inert(False, "weights of either sign are learned", options=(False,))

    def _cost_text(self) -> str:
        return "squared error"


@declared
class Ridge(LeastSquares):
    """Least squares with a penalty on large weights: sum_i (y_i - w.x_i - b)^2 + alpha |w|^2.

    With a Gaussian prior N(0, 1/a) on the weights and noise of variance s^2, alpha = a s^2 gives the weights of
    highest posterior density.

    >>> Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_.round(4)
    array([1.3333])
    """

    card: ClassVar[Card] = Card(
        "Least squares that prefers small weights.",
        Traits("regression", linear=True),
        ASSUMPTIONS[:3],
        COST,
        ("Hoerl and Kennard 1970, Ridge regression",),
    )
    contest = Candidate("Ridge regression", 30, turn=-1)
    copy_X: bool = inert(True, "the rows that were passed are never changed")
    positive: bool = inert(False, "weights of either sign are learned", options=(False,))
    random_state: Any = inert(None, "nothing is drawn")
    alpha: float = param(
        1.0,
        low=0,
        scale="log",
        tune=(1e-3, 1e3),
        positional=True,
        doc="Weight of the penalty |w|^2 relative to the sum of squares.",
    )

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha / total)

    def _cost_text(self) -> str:
        return f"squared error + {self.alpha:g} |w|^2 [alpha]"
