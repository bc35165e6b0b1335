"""Polynomials and other functions of the columns: bent in x, still linear in the weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Accepts, Assumption, Card, Complexity, Traits
from tilth.engines.linear.basis import FormulaTerms, PowerTerms
from tilth.engines.linear.design import Terms
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, param
from tilth.parts.losses import Loss, Squared
from tilth.parts.penalties import L2, Penalty

Floats = NDArray[np.float64]

COST = Complexity("O(n m^2 + m^3) for m functions", "O(m)", "O(n m)")
TABLES = Accepts(numeric=True, nominal=True)


@declared
class PolynomialRegression(LinearRegressorModel):
    """Least squares on all products of powers up to a degree: y = b + w1 x + w2 x^2 + ... + w x z + ...

    Powers of x become more and more alike, until rounding is all that tells them apart (at degree 20 or so). The
    "orthogonal" basis spans the same curves by polynomials of mean 0, square mean 1 and no correlation over the
    training rows, so that any degree can be fitted; its weights are those of P1(x), P2(x), ... Columns of levels enter
    as they are.

    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> model = PolynomialRegression(degree=2).fit(x, 1 + 2 * x[:, 0] + 3 * x[:, 0] ** 2)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2., 3.]), 1.0)
    """

    card: ClassVar[Card] = Card(
        "A polynomial of the columns with the least squared error.",
        Traits("regression", linear_in_weights=True, probabilistic=True),
        (
            Assumption(
                "The mean of y is a polynomial of this degree.", "Too low: bends are missed; too high: noise is fitted."
            ),
            Assumption("New rows lie within the range of the old ones.", "Outside, polynomials run off.", "check"),
        ),
        COST,
        ("Gergonne 1815", "Brubeck, Nakatsukasa and Trefethen 2021, Vandermonde with Arnoldi"),
    )
    contest = "its number of columns explodes; trees find products by themselves"
    accepts: ClassVar[Accepts] = TABLES
    multi_output: ClassVar[bool] = True

    degree: int = param(2, low=1, tune=(1, 6), doc="Highest total degree of a product.")
    interactions: bool = param(True, doc="Whether products of different columns are included.")
    basis: str = param(
        "auto", options=("auto", "power", "orthogonal"), doc="auto: powers up to degree 3, then orthogonal."
    )
    alpha: float = param(
        0.0, low=0, scale="log", tune=(1e-6, 1e2), doc="Weight of a penalty |w|^2 relative to the sum of squares."
    )

    def _terms(self, table: Any, weight: Floats | None) -> Terms:
        orthogonal = self.basis == "orthogonal" or (self.basis == "auto" and self.degree > 3)
        return PowerTerms.powers(table, self.degree, self.interactions, orthogonal, weight, not self._penalised())

    def _loss(self) -> Loss:
        return Squared()

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha / total)

    def _cost_text(self) -> str:
        return f"squared error of a polynomial of degree {self.degree} [degree]"


@declared
class BasisRegression(LinearRegressorModel):
    """Least squares on functions of the columns: y = b + w1 f1(x) + w2 f2(x) + ..., the functions given as formulas.

    A formula is arithmetic on column names, with log, exp, sqrt, abs, minimum, maximum, where. Weights stand outside of
    the functions: a formula with a name that is no column is refused, because the model would not be linear in it.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 4.0, 8.0], "y": [3.0, 4.0, 5.0, 6.0]})
    >>> model = BasisRegression(basis=["log(x) / log(2)"]).fit(table, "y")
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([1.]), 3.0)
    """

    card: ClassVar[Card] = Card(
        "A weighted sum of functions of the columns with the least squared error.",
        Traits("regression", linear_in_weights=True, probabilistic=True),
        (Assumption("The mean of y is a sum of these functions.", "What they cannot draw is missed."),),
        COST,
        ("Gauss 1809",),
    )
    contest = "needs a basis to be chosen"
    accepts: ClassVar[Accepts] = TABLES
    multi_output: ClassVar[bool] = True

    basis: Any = param(None, doc="Formulas, such as ['x', 'x ** 2', 'log(x)']; None: every numeric column as it is.")
    alpha: float = param(
        0.0, low=0, scale="log", tune=(1e-6, 1e2), doc="Weight of a penalty |w|^2 relative to the sum of squares."
    )

    def _terms(self, table: Any, weight: Floats | None) -> Terms:
        if self.basis is None:
            return Terms.of(table, reference=not self._penalised())
        texts = [self.basis] if isinstance(self.basis, str) else list(self.basis)
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                f"BasisRegression: basis must be formulas as text, such as ['x', 'x ** 2']; got {self.basis!r}."
            )
        return FormulaTerms.formulas(table, texts, not self._penalised(), type(self).__name__)

    def _loss(self) -> Loss:
        return Squared()

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha / total)

    def _cost_text(self) -> str:
        return "squared error of a sum of functions [basis]"
