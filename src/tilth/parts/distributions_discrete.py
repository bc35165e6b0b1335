"""Distributions of counts: Bernoulli, binomial, Poisson."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import special

from tilth.params import declared, param, stored
from tilth.parts.distribution import Distribution, ExponentialFamily, Floats, Number, means_of, totals_of
from tilth.parts.distributions import BetaDistribution, GammaDistribution
from tilth.stats import Moments, Sums

_ARRAYS = (np.ndarray,)


@stored
@declared
class BernoulliDistribution(ExponentialFamily):
    """One trial: P(1) = p, P(0) = 1 - p. Maximum likelihood takes the share of ones; a beta prior is conjugate.

    >>> BernoulliDistribution().fit([1, 0, 0, 1, 1])
    BernoulliDistribution(probability=0.6)
    >>> BernoulliDistribution().fit([1, 1, 1], prior=BetaDistribution(2.0, 2.0)).probability
    0.8
    """

    probability: Number = param(0.5, low=0, high=1, also=_ARRAYS, doc="P(1).", positional=True)

    discrete: ClassVar[bool] = True
    support: ClassVar[str] = "zeros and ones"
    conjugate: ClassVar[str] = "BetaDistribution"
    prior_of: ClassVar[str] = "probability"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "bernoulli", {"p": self.probability}

    def _support(self) -> Floats:
        return np.array([0.0, 1.0])

    def mode(self) -> Any:
        """1 where that is more probable than 0."""
        return (np.asarray(self.probability) > 0.5).astype(np.int64)[()]

    def _divergence(self, other: BernoulliDistribution) -> Any:
        p, q = np.asarray(self.probability), np.asarray(other.probability)
        return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)

    def _learnable(self, x: Floats) -> Any:
        return (x == 0) | (x == 1)

    def parameters_from(self, statistic: Moments | Sums, floor: float = 0.0) -> dict[str, Any]:
        """The share of ones."""
        return {"probability": np.clip(means_of(statistic), 0.0, 1.0)}

    def _posterior(self, statistic: Moments, prior: BetaDistribution) -> Distribution:
        n, hits = totals_of(statistic)
        return BetaDistribution(a=prior.a + hits, b=prior.b + n - hits)


@stored
@declared
class BinomialDistribution(ExponentialFamily):
    """Hits in n trials: P(k) = C(n, k) p^k (1 - p)^(n - k). ``fit`` keeps n; a beta prior of p is conjugate.

    >>> round(float(BinomialDistribution(5, 0.5).pdf(2)), 10)
    0.3125
    """

    n: int | Floats = param(1, low=0, also=_ARRAYS, doc="Number of trials.", positional=True)
    probability: Number = param(0.5, low=0, high=1, also=_ARRAYS, doc="P(hit).", positional=True)

    discrete: ClassVar[bool] = True
    support: ClassVar[str] = "whole numbers from 0 to n"
    conjugate: ClassVar[str] = "BetaDistribution"
    prior_of: ClassVar[str] = "probability"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "binom", {"n": self.n, "p": self.probability}

    def _check(self) -> None:
        super()._check()
        if not (np.asarray(self.n) == np.floor(self.n)).all():
            raise ValueError(f"{self._name}: n must be a whole number of trials; got {self.n!r}.")
        if not np.ndim(self.n):
            self.n = int(self.n)

    def _support(self) -> Floats:
        return np.arange(np.max(self.n) + 1.0)

    def mode(self) -> Any:
        """floor((n + 1) p), and n where p = 1."""
        return np.minimum(np.floor((np.asarray(self.n) + 1.0) * self.probability), self.n)[()]

    def _divergence(self, other: BinomialDistribution) -> Any:
        if not np.array_equal(self.n, other.n):
            return self._numeric_divergence(other)
        one, two = (BernoulliDistribution(probability=d.probability) for d in (self, other))
        return self.n * one._divergence(two)

    def _trials(self) -> float:
        if np.ndim(self.n) or self.n == 0:
            raise ValueError(f"{self._name}.fit needs one number of trials n of at least 1; got {self.n!r}.")
        return float(self.n)

    def _learnable(self, x: Floats) -> Any:
        return (x >= 0) & (x <= self.n) & (x == np.floor(x))

    def parameters_from(self, statistic: Moments | Sums, floor: float = 0.0) -> dict[str, Any]:
        """The share of hits among all trials."""
        return {"probability": np.clip(means_of(statistic) / self._trials(), 0.0, 1.0)}

    def _posterior(self, statistic: Moments, prior: BetaDistribution) -> Distribution:
        n, hits = totals_of(statistic)
        return BetaDistribution(a=prior.a + hits, b=prior.b + self._trials() * n - hits)


@stored
@declared
class PoissonDistribution(ExponentialFamily):
    """Counts of rare events: P(k) = rate^k e^-rate / k!. Maximum likelihood takes the mean; a gamma prior is conjugate.

    >>> PoissonDistribution().fit([2, 0, 4])
    PoissonDistribution(rate=2.0)
    """

    rate: Number = param(1.0, low=0, also=_ARRAYS, doc="Mean count.", positional=True)

    discrete: ClassVar[bool] = True
    support: ClassVar[str] = "whole numbers from 0"
    conjugate: ClassVar[str] = "GammaDistribution"
    prior_of: ClassVar[str] = "rate"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "poisson", {"mu": self.rate}

    def _support(self) -> Floats:
        most = float(np.max(self.rate))
        return np.arange(np.ceil(most + 12.0 * np.sqrt(most) + 40.0))

    def mode(self) -> Any:
        """floor(rate)."""
        return np.floor(self.rate)

    def _divergence(self, other: PoissonDistribution) -> Any:
        return special.rel_entr(self.rate, other.rate) + other.rate - self.rate

    def _learnable(self, x: Floats) -> Any:
        return (x >= 0) & (x == np.floor(x))

    def parameters_from(self, statistic: Moments | Sums, floor: float = 0.0) -> dict[str, Any]:
        """The mean count."""
        return {"rate": np.maximum(means_of(statistic), 0.0)}

    def _posterior(self, statistic: Moments, prior: GammaDistribution) -> Distribution:
        n, total = totals_of(statistic)
        return GammaDistribution(shape=prior.shape + total, rate=prior.rate + n)
