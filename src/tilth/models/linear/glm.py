"""Generalised linear models: counts and amounts whose mean is e^(w.x + b), and whose spread grows with the mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.params import declared, inert, param
from tilth.parts.families import Family, family_of
from tilth.parts.losses import Gamma, Loss, Poisson, PowerVariance, Squared, Tweedie
from tilth.parts.penalties import L2, Penalty

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    Assumption("The logarithm of the mean is linear in the columns.", "Bends show in the residuals.", "residuals"),
    Assumption("The variance depends on the mean as in the family.", "Use robust standard errors.", "goodness"),
    Assumption("Rows are independent.", "Standard errors are too small; covariance='cluster' serves."),
)
COST = Complexity("O(n p^2) per Newton step", "O(p)", "O(p^2)")
SOURCES = ("Nelder and Wedderburn 1972, Generalized linear models",)


@declared
class GeneralisedLinearModel(LinearRegressorModel):
    """Cost: half the mean deviance + alpha / 2 |w|^2. Subclasses name the loss.

    Rows that stand for different amounts of exposure (months insured, kilometres driven): give the rate y / exposure as
    the target and the exposure as ``sample_weight``; weights and errors are those of a log-exposure offset.
    """

    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    alpha: float = param(
        1.0, low=0, scale="log", tune=(1e-4, 1e2), doc="Weight of the penalty; 0: most likely weights."
    )

    def _penalty(self, total: float) -> Penalty:
        return L2.priced(self.alpha)

    def _cost_text(self) -> str:
        return "half the mean deviance" + (f" + {self.alpha:g} / 2 |w|^2 [alpha]" if self.alpha > 0 else "")

    def _likelihood(self) -> Family:
        family = family_of(self._loss())
        assert family is not None
        return family

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = not isinstance(self._loss(), Squared)
        return tags

    def deviance(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean deviance: 2 (log-likelihood of perfect means - that of the predicted ones) per unit of dispersion."""
        rows, target, weight = self._seen(X, y, sample_weight)
        self._require_target(self._loss(), target)
        return float(np.average(self._likelihood().deviance(target, self.values(rows)), weights=weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2 = 1 - deviance / deviance of the best constant: for normal errors R^2."""
        rows, target, weight = self._seen(X, y, sample_weight)
        self._require_target(self._loss(), target)
        family = self._likelihood()
        middle = np.full(len(target), np.average(target, weights=weight))
        null = float(np.average(family.deviance(target, middle), weights=weight))
        left = float(np.average(family.deviance(target, self.values(rows)), weights=weight))
        return 1.0 - left / null if null > 0 else float(left == 0)


@declared
class PoissonRegressor(GeneralisedLinearModel):
    """Counts: y ~ Poisson(m), log m = w.x + b; the variance is the mean.

    ``goodness()["Pearson chi2"]`` far above ``dof`` tells that counts vary more than that; then robust errors serve.

    >>> model = PoissonRegressor(alpha=0).fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 8])
    >>> model.predict([[4.0]]).round(3)
    array([16.])
    >>> model.ratios().round(3)["ratio of means"].tolist()
    [1.0, 2.0]
    """

    card: ClassVar[Card] = Card(
        "Counts whose mean is multiplied by a factor per unit of each column.",
        Traits("regression", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = Candidate("Poisson regression", 54, target="counts")

    def _loss(self) -> Loss:
        return Poisson()


@declared
class GammaRegressor(GeneralisedLinearModel):
    """Amounts above zero: y ~ Gamma of mean m, log m = w.x + b; the standard deviation is a share of the mean.

    >>> GammaRegressor(alpha=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]).predict([[3.0]]).round(3)
    array([8.])
    """

    card: ClassVar[Card] = Card(
        "Positive amounts whose mean is multiplied by a factor per unit of each column.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = Candidate("Gamma regression", 56, target="positive")

    def _loss(self) -> Loss:
        return Gamma()


@declared
class TweedieRegressor(GeneralisedLinearModel):
    """variance = dispersion x mean^power: 0 normal, 1 Poisson, 1 to 2 zeros and amounts, 2 gamma, 3 inverse normal.

    >>> TweedieRegressor(power=1.5, alpha=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]).predict([[3.0]]).round(3)
    array([8.])
    """

    card: ClassVar[Card] = Card(
        "Amounts, including zeros, whose variance is a power of their mean.",
        Traits("regression", linear=True),
        ASSUMPTIONS,
        COST,
        ("Tweedie 1984, An index which distinguishes between some important exponential families", *SOURCES),
    )
    contest = "Poisson and gamma regression are its usual members"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"power": 1.5})

    power: float = param(0.0, low=0, doc="p of variance = mean^p: 0, or at least 1.")
    link: str = param(
        "auto",
        options=("auto", "log", "identity"),
        doc="The score is the mean itself ('identity') or its logarithm; 'auto': itself for power 0.",
    )

    def _loss(self) -> Loss:
        power = float(self.power)
        if 0 < power < 1:
            raise ValueError(
                f"{type(self).__name__}: no distribution has a power between 0 and 1; got power={self.power!r}."
            )
        identity = self.link == "identity" or (self.link == "auto" and power == 0)
        if identity and power > 0:
            raise ValueError(
                f"{type(self).__name__}: a mean above zero needs link='log', which keeps it there; link='identity' is "
                "for power=0."
            )
        if identity:
            return Squared()
        if power in (1.0, 2.0):
            return Poisson() if power == 1 else Gamma()
        return Tweedie(power=power) if 1 < power < 2 else PowerVariance(power=power)
