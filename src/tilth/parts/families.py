"""Families: how y is spread around its mean. A loss that is a likelihood is a family and a link.

Var(y | x) = dispersion x variance(mean). What a loss leaves out because it does not depend on the score - constants of
the log-likelihood, the dispersion, the deviance - is here, for those who ask how sure a fit is.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from tilth.params import declared, param
from tilth.parts.distribution import Distribution
from tilth.parts.distributions import GammaDistribution, NormalDistribution
from tilth.parts.distributions_discrete import BernoulliDistribution, PoissonDistribution
from tilth.parts.losses import Gamma, Loss, Poisson, Squared, Tweedie
from tilth.parts.part import Part

Floats = NDArray[np.float64]


@declared
class Family(Part):
    """Base of all families."""

    #: Whether the dispersion is one by definition, instead of something to estimate.
    fixed: ClassVar[bool] = False
    name: ClassVar[str] = ""

    def variance(self, mean: Floats) -> Floats:
        """Variance of y per unit of dispersion."""
        raise NotImplementedError

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """2 (log-likelihood of a perfect mean - log-likelihood of this one) of each row, per unit of dispersion."""
        raise NotImplementedError

    def log_likelihood(self, y: Any, mean: Floats, dispersion: float) -> Floats:
        """log p(y) of each row, with all constants."""
        return self.distribution(mean, dispersion).logpdf(y)

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """The distribution of y for each mean."""
        raise NotImplementedError


@declared
class NormalFamily(Family):
    """Errors of one spread: variance 1, deviance (y - m)^2, dispersion sigma^2."""

    name: ClassVar[str] = "normal"

    def variance(self, mean: Floats) -> Floats:
        """One."""
        return np.ones_like(mean)

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """Squared residuals."""
        return np.asarray((y - mean) ** 2)

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """Normal."""
        return NormalDistribution(location=mean, scale=float(np.sqrt(dispersion)))


@declared
class PoissonFamily(Family):
    """Counts: variance m, deviance 2 (y log(y / m) - y + m).

    >>> PoissonFamily().deviance(np.array([2.0]), np.array([1.0])).round(4)
    array([0.7726])
    """

    fixed: ClassVar[bool] = True
    name: ClassVar[str] = "Poisson"

    def variance(self, mean: Floats) -> Floats:
        """The mean."""
        return mean

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """2 (y log(y / m) - y + m)."""
        return np.asarray(2 * (xlogy(y, y / mean) - y + mean))

    def log_likelihood(self, y: Any, mean: Floats, dispersion: float) -> Floats:
        """y log m - m - log y!."""
        return np.asarray(xlogy(y, mean) - mean - gammaln(np.asarray(y) + 1.0))

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """Poisson."""
        return PoissonDistribution(rate=mean)


@declared
class GammaFamily(Family):
    """Positive amounts: variance m^2, deviance 2 ((y - m) / m - log(y / m)); the shape is 1 / dispersion."""

    name: ClassVar[str] = "gamma"

    def variance(self, mean: Floats) -> Floats:
        """The squared mean."""
        return mean**2

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """2 ((y - m) / m - log(y / m))."""
        return np.asarray(2 * ((y - mean) / mean - np.log(y / mean)))

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """Gamma."""
        return GammaDistribution(shape=1.0 / dispersion, rate=1.0 / (dispersion * mean))


@declared
class TweedieFamily(Family):
    """variance m^p; deviance 2 (y^(2-p) / ((1-p)(2-p)) - y m^(1-p) / (1-p) + m^(2-p) / (2-p)), p not 1 or 2.

    For 1 < p < 2 it is a sum of a Poisson number of gamma amounts, zero when there are none. Its density has no closed
    form, so there is no log-likelihood and no distribution of new values.
    """

    name: ClassVar[str] = "Tweedie"
    power: float = param(1.5, doc="The p of variance = mean^p.")

    def variance(self, mean: Floats) -> Floats:
        """m^p."""
        return np.asarray(mean**self.power)

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """See the class."""
        p = self.power
        # y^(2-p) where y is zero matters only for p < 2, where it is zero.
        own = np.where(np.asarray(y) > 0, np.maximum(y, np.finfo(float).tiny) ** (2 - p), 0.0)
        return np.asarray(2 * (own / ((1 - p) * (2 - p)) - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p)))

    def log_likelihood(self, y: Any, mean: Floats, dispersion: float) -> Floats:
        """Not known: NaN."""
        return np.full(np.shape(mean), np.nan)

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """Refused."""
        raise ValueError(
            f"A Tweedie distribution of power {self.power:g} has no density in closed form, so nothing can be said of "
            "single new values; kind='mean' gives the interval of their mean."
        )


@declared
class BernoulliFamily(Family):
    """Two classes, y = 0 or 1: variance m (1 - m), deviance -2 log p(y)."""

    fixed: ClassVar[bool] = True
    name: ClassVar[str] = "Bernoulli"

    def variance(self, mean: Floats) -> Floats:
        """m (1 - m)."""
        return np.asarray(mean * (1.0 - mean))

    def deviance(self, y: Any, mean: Floats) -> Floats:
        """Twice the cross-entropy."""
        return -2.0 * self.log_likelihood(y, mean, 1.0)

    def log_likelihood(self, y: Any, mean: Floats, dispersion: float) -> Floats:
        """y log m + (1 - y) log(1 - m)."""
        y = np.asarray(y, dtype=np.float64)
        return np.asarray(xlogy(y, mean) + xlog1py(1.0 - y, -mean))

    def distribution(self, mean: Floats, dispersion: float) -> Distribution:
        """Bernoulli."""
        return BernoulliDistribution(probability=mean)


def family_of(loss: Loss) -> Family | None:
    """The family whose negative log-likelihood the loss is, up to a constant; None where it is none.

    >>> from tilth.parts.class_losses import Logistic
    >>> from tilth.parts.losses import Huber
    >>> family_of(Logistic()), family_of(Huber())
    (BernoulliFamily(), None)
    """
    if isinstance(loss, Tweedie):
        return TweedieFamily(power=loss.power) if loss.power else NormalFamily()
    known: dict[type[Loss], Family] = {Squared: NormalFamily(), Poisson: PoissonFamily(), Gamma: GammaFamily()}
    for kind, family in known.items():
        if isinstance(loss, kind):
            return family
    return BernoulliFamily() if _is_cross_entropy(loss) else None


def _is_cross_entropy(loss: Loss) -> bool:
    """Whether the loss of two classes is -log of the probability that its own inverse link gives."""
    if loss.serves != "two classes":
        return False
    eta = np.array([-1.5, -0.2, 0.7, 2.0])
    share = loss.inverse(eta)
    if not ((share > 0) & (share < 1)).all():
        return False
    ones, zeros = loss.value(np.ones(4), eta), loss.value(np.zeros(4), eta)
    return bool(np.allclose(ones, -np.log(share), rtol=1e-9) and np.allclose(zeros, -np.log1p(-share), rtol=1e-9))
