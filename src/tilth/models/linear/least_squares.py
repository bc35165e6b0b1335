"""Least squares: linear regression and ridge regression."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import Assumption, Card, Complexity, Traits
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, param
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L2, NoPenalty, Penalty

ASSUMPTIONS = (
    Assumption("The mean of y is linear in the columns.", "Bends are missed: residuals show a pattern.", "assumption_report"),
    Assumption("Rows are independent and of one distribution.", "Standard errors are too small.", "assumption_report"),
    Assumption("The spread of the errors is the same everywhere.", "Standard errors are wrong; robust ones serve.", "assumption_report"),
    Assumption("No column is a combination of the others.", "Weights are not unique and have large errors.", "assumption_report"),
)  # fmt: skip
COST = Complexity("O(n p^2 + p^3)", "O(p)", "O(p^2)")


@declared
class LinearRegression(LinearRegressorModel):
    """Ordinary least squares: w = argmin sum_i (y_i - w.x_i - b)^2.

    >>> from tilth.data.datasets import load_dataset
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
    multi_output: ClassVar[bool] = True

    def _loss(self) -> Loss:
        return Squared()

    def _cost_text(self) -> str:
        return "squared error"


@declared
class Ridge(LinearRegressorModel):
    """Least squares with a penalty on large weights: sum_i (y_i - w.x_i - b)^2 + alpha |w|^2.

    With a Gaussian prior N(0, 1/a) on the weights and noise of variance s^2, alpha = a s^2 gives the weights of
    highest posterior density.

    >>> Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_.round(4)
    array([1.3333])
    """

    card: ClassVar[Card] = Card(
        "Least squares that prefers small weights.",
        Traits("regression", linear=True, probabilistic=True),
        ASSUMPTIONS[:3],
        COST,
        ("Hoerl and Kennard 1970, Ridge regression",),
    )
    multi_output: ClassVar[bool] = True

    alpha: float = param(1.0, low=0, scale="log", tune=(1e-3, 1e3), doc="Weight of the penalty |w|^2 beside the sum of squares.")  # fmt: skip

    def _loss(self) -> Loss:
        return Squared()

    def _penalty(self, total: float) -> Penalty:
        return L2(strength=self.alpha / total) if self.alpha > 0 else NoPenalty()

    def _cost_text(self) -> str:
        return f"squared error + {self.alpha:g} |w|^2 [alpha]"
