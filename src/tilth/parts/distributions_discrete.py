"""Distributions of counts: Bernoulli, binomial, Poisson."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tilth.params import declared, param, stored
from tilth.parts.distribution import Distribution, Floats, Number
from tilth.parts.distributions import BetaDistribution, GammaDistribution

_ARRAYS = (np.ndarray,)


class _Counted(Distribution):
    """What distributions of whole numbers share."""

    discrete: ClassVar[bool] = True

    def _entropy(self) -> Any:
        values = self._support().reshape((-1,) + (1,) * len(self.batch_shape))
        return special.entr(self.pdf(values)).sum(axis=0)


def _first_count(guess: Any, share_below: Callable[[Any], Any], q: Floats) -> Floats:
    """The smallest count k >= 0 with share_below(k) >= q, from a guess that may be off by one."""
    k = np.maximum(np.ceil(np.nan_to_num(guess)), 0.0)
    k = np.where((k > 0) & (share_below(k - 1.0) >= q), k - 1.0, k)
    return np.where(share_below(k) < q, k + 1.0, k)


@stored
@declared
class BernoulliDistribution(_Counted):
    """One trial: P(1) = p, P(0) = 1 - p. Maximum likelihood takes the share of ones; a beta prior is conjugate.

    >>> BernoulliDistribution().fit([1, 0, 0, 1, 1])
    BernoulliDistribution(probability=0.6)
    >>> BernoulliDistribution().fit([1, 1, 1], prior=BetaDistribution(2.0, 2.0)).probability
    0.8
    """

    probability: Number = param(0.5, low=0, high=1, also=_ARRAYS, doc="P(1).", positional=True)

    support: ClassVar[str] = "zeros and ones"
    conjugate: ClassVar[str] = "BetaDistribution"
    prior_of: ClassVar[str] = "probability"

    def _inside(self, x: Floats) -> Any:
        return (x == 0) | (x == 1)

    def _log_density(self, x: Floats) -> Any:
        p = np.asarray(self.probability)
        return np.where(x == 1, np.log(p), np.log1p(-p))

    def _share_below(self, x: Floats) -> Any:
        return np.where(x < 0, 0.0, np.where(x < 1, 1.0 - np.asarray(self.probability), 1.0))

    def _value_at(self, q: Floats) -> Any:
        return (q > 1.0 - np.asarray(self.probability)).astype(np.float64)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return (rng.random(shape) < self.probability).astype(np.int64)

    def _support(self) -> Floats:
        return np.array([0.0, 1.0])

    def mean(self) -> Number:
        """The probability."""
        return self.probability

    def variance(self) -> Number:
        """p (1 - p)."""
        return self.probability * (1.0 - self.probability)

    def mode(self) -> Any:
        """1 where that is more probable than 0."""
        return (np.asarray(self.probability) > 0.5).astype(np.int64)[()]

    def _divergence(self, other: BernoulliDistribution) -> Any:
        p, q = np.asarray(self.probability), np.asarray(other.probability)
        return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        return {"probability": float(np.average(rows, weights=weights))}

    def _posterior(self, rows: Floats, weights: Floats, prior: BetaDistribution) -> Distribution:
        hits = float(weights @ rows)
        return BetaDistribution(a=prior.a + hits, b=prior.b + float(weights.sum()) - hits)


@stored
@declared
class BinomialDistribution(_Counted):
    """Hits in n trials: P(k) = C(n, k) p^k (1 - p)^(n - k). ``fit`` keeps n; a beta prior of p is conjugate.

    >>> round(float(BinomialDistribution(5, 0.5).pdf(2)), 10)
    0.3125
    """

    n: int | Floats = param(1, low=0, also=_ARRAYS, doc="Number of trials.", positional=True)
    probability: Number = param(0.5, low=0, high=1, also=_ARRAYS, doc="P(hit).", positional=True)

    support: ClassVar[str] = "whole numbers from 0 to n"
    conjugate: ClassVar[str] = "BetaDistribution"
    prior_of: ClassVar[str] = "probability"

    def _check(self) -> None:
        super()._check()
        if not (np.asarray(self.n) == np.floor(self.n)).all():
            raise ValueError(f"{self._name}: n must be a whole number of trials; got {self.n!r}.")
        if not np.ndim(self.n):
            self.n = int(self.n)

    def _inside(self, x: Floats) -> Any:
        return (x >= 0) & (x <= self.n) & (x == np.floor(x))

    def _log_density(self, x: Floats) -> Any:
        n, p = np.asarray(self.n, dtype=np.float64), np.asarray(self.probability)
        ways = -np.log1p(n) - special.betaln(n - x + 1.0, x + 1.0)
        return ways + special.xlogy(x, p) + special.xlog1py(n - x, -p)

    def _share_below(self, x: Floats) -> Any:
        k = np.clip(np.floor(x), 0.0, np.asarray(self.n, dtype=np.float64))
        return np.where(x < 0, 0.0, np.where(x >= self.n, 1.0, special.betaincc(k + 1.0, self.n - k, self.probability)))

    def _value_at(self, q: Floats) -> Any:
        guess = special.bdtrik(q, self.n, self.probability)
        return np.minimum(_first_count(np.where(q >= 1, self.n, guess), self._share_below, q), self.n)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.binomial(np.asarray(self.n).astype(np.int64), self.probability, shape))

    def _support(self) -> Floats:
        return np.arange(np.max(self.n) + 1.0)

    def mean(self) -> Number:
        """n p."""
        return self.n * self.probability

    def variance(self) -> Number:
        """n p (1 - p)."""
        return self.n * self.probability * (1.0 - self.probability)

    def mode(self) -> Any:
        """floor((n + 1) p), and n where p = 1."""
        return np.minimum(np.floor((np.asarray(self.n) + 1.0) * self.probability), self.n)[()]

    def _divergence(self, other: BinomialDistribution) -> Any:
        if not np.array_equal(self.n, other.n):
            return self._numeric_divergence(other)
        one, two = (BernoulliDistribution(probability=d.probability) for d in (self, other))
        return self.n * one._divergence(two)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        n = self._trials()
        return {"probability": float(np.average(rows, weights=weights)) / n}

    def _posterior(self, rows: Floats, weights: Floats, prior: BetaDistribution) -> Distribution:
        hits, trials = float(weights @ rows), self._trials() * float(weights.sum())
        return BetaDistribution(a=prior.a + hits, b=prior.b + trials - hits)

    def _trials(self) -> float:
        if np.ndim(self.n) or self.n == 0:
            raise ValueError(f"{self._name}.fit needs one number of trials n of at least 1; got {self.n!r}.")
        return float(self.n)


@stored
@declared
class PoissonDistribution(_Counted):
    """Counts of rare events: P(k) = rate^k e^-rate / k!. Maximum likelihood takes the mean; a gamma prior is conjugate.

    >>> PoissonDistribution().fit([2, 0, 4])
    PoissonDistribution(rate=2.0)
    """

    rate: Number = param(1.0, low=0, also=_ARRAYS, doc="Mean count.", positional=True)

    support: ClassVar[str] = "whole numbers from 0"
    conjugate: ClassVar[str] = "GammaDistribution"
    prior_of: ClassVar[str] = "rate"

    def _inside(self, x: Floats) -> Any:
        return (x >= 0) & (x == np.floor(x)) & (x < np.inf)

    def _log_density(self, x: Floats) -> Any:
        return special.xlogy(x, self.rate) - special.gammaln(x + 1.0) - self.rate

    def _share_below(self, x: Floats) -> Any:
        k = np.maximum(np.floor(x), 0.0)
        return np.where(x < 0, 0.0, np.where(np.isinf(x), 1.0, special.gammaincc(k + 1.0, self.rate)))

    def _value_at(self, q: Floats) -> Any:
        none = np.asarray(self.rate) == 0
        found = _first_count(special.pdtrik(q, np.where(none, 1.0, self.rate)), self._share_below, q)
        return np.where(none, 0.0, np.where(q == 1, np.inf, found))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.poisson(self.rate, shape))

    def _support(self) -> Floats:
        most = float(np.max(self.rate))
        return np.arange(np.ceil(most + 12.0 * np.sqrt(most) + 40.0))

    def mean(self) -> Number:
        """The rate."""
        return self.rate

    def variance(self) -> Number:
        """The rate."""
        return self.rate

    def mode(self) -> Any:
        """floor(rate)."""
        return np.floor(self.rate)

    def _divergence(self, other: PoissonDistribution) -> Any:
        return special.rel_entr(self.rate, other.rate) + other.rate - self.rate

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        return {"rate": float(np.average(rows, weights=weights))}

    def _posterior(self, rows: Floats, weights: Floats, prior: GammaDistribution) -> Distribution:
        return GammaDistribution(shape=prior.shape + float(weights @ rows), rate=prior.rate + float(weights.sum()))
