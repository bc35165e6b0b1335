"""Distributions of measured numbers: normal, Student-t, Laplace, uniform, exponential, gamma, beta."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tilth.params import declared, param, stored
from tilth.parts.distribution import Distribution, Floats, Number
from tilth.parts.losses import quantile
from tilth.stats import Moments

_ARRAYS = (np.ndarray,)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
#: Degrees of freedom above this are a normal distribution to the last digits.
_MOST_DF = 1e6


@stored
@declared
class NormalDistribution(Distribution):
    """Gaussian: p(x) = exp(-(x - location)^2 / (2 scale^2)) / (scale sqrt(2 pi)); the scale is the standard deviation.

    Maximum likelihood takes the mean, and the variance with divisor n. A normal prior of the location is conjugate;
    the scale is then held as it is.

    >>> sharp = NormalDistribution(0.0, 0.01)
    >>> round(-float(sharp.logpdf(0.0)), 3)  # a density may exceed 1, so a negative log-likelihood may be below 0
    -3.686
    >>> NormalDistribution().fit([1.0, 3.0])
    NormalDistribution(location=2.0, scale=1.0)
    """

    location: Number = param(0.0, doc="Mean.", positional=True)
    scale: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Standard deviation.", positional=True)

    conjugate: ClassVar[str] = "NormalDistribution"
    prior_of: ClassVar[str] = "location"

    def _log_density(self, x: Floats) -> Any:
        return -0.5 * ((x - self.location) / self.scale) ** 2 - np.log(self.scale) - _HALF_LOG_2PI

    def _share_below(self, x: Floats) -> Any:
        return special.ndtr((x - self.location) / self.scale)

    def _value_at(self, q: Floats) -> Any:
        return self.location + self.scale * special.ndtri(q)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return rng.normal(self.location, self.scale, shape)

    def mean(self) -> Number:
        """The location."""
        return self.location

    def variance(self) -> Number:
        """scale^2."""
        return self.scale**2

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _entropy(self) -> Any:
        return np.log(self.scale) + _HALF_LOG_2PI + 0.5

    def _divergence(self, other: NormalDistribution) -> Any:
        ratio, apart = self.scale / other.scale, (self.location - other.location) / other.scale
        return -np.log(ratio) + 0.5 * (ratio**2 + apart**2 - 1.0)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        moments = Moments.empty(1, 1)
        moments.update(rows[:, None], weight=weights)
        spread = math.sqrt(moments.variance(ddof=0).item())
        if spread == 0:
            raise self._no_spread(rows)
        return {"location": moments.mean.item(), "scale": spread}

    def _posterior(self, rows: Floats, weights: Floats, prior: NormalDistribution) -> Distribution:
        before, seen = 1.0 / prior.scale**2, weights.sum() / self.scale**2
        centre = (before * prior.location + seen * np.average(rows, weights=weights)) / (before + seen)
        return NormalDistribution(location=float(centre), scale=float(1.0 / np.sqrt(before + seen)))


@stored
@declared
class StudentTDistribution(Distribution):
    """Student's t: p(x) = (1 + z^2 / df)^(-(df + 1) / 2) / (scale sqrt(df) B(1/2, df / 2)), z = (x - location) / scale.

    Tails as heavy as |x|^-(df + 1), so single far values hardly move the fit; df = 1 is Cauchy's, large df the normal.
    All three parameters are fitted, by a search; ``fixed_df`` keeps the degrees of freedom.

    >>> float(StudentTDistribution(1.0).cdf(1.0))
    0.75
    """

    df: Number = param(5.0, low=0, low_open=True, also=_ARRAYS, doc="Degrees of freedom.", positional=True)
    location: Number = param(0.0, doc="Centre, and the mean where df > 1.", positional=True)
    scale: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Unit of the spread.", positional=True)
    fixed_df: bool = param(False, options=(False, True), doc="Whether fit keeps df as it is.")

    def _settled(self, name: str, known: Any, value: Any) -> Any:
        return value if name == "fixed_df" else super()._settled(name, known, value)

    def _log_density(self, x: Floats) -> Any:
        z2 = ((x - self.location) / self.scale) ** 2
        half = 0.5 * np.asarray(self.df)
        constant = np.log(self.scale) + 0.5 * np.log(self.df) + special.betaln(0.5, half)
        return -(half + 0.5) * np.log1p(z2 / self.df) - constant

    def _share_below(self, x: Floats) -> Any:
        return special.stdtr(self.df, (x - self.location) / self.scale)

    def _value_at(self, q: Floats) -> Any:
        # stdtrit has no answer at the ends.
        inner = special.stdtrit(self.df, np.clip(q, np.finfo(float).tiny, 1 - np.finfo(float).epsneg))
        z = np.where(q == 0, -np.inf, np.where(q == 1, np.inf, inner))
        return self.location + self.scale * z

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(self.location + self.scale * rng.standard_t(self.df, shape))

    def mean(self) -> Any:
        """The location; NaN where df <= 1, whose tails are too heavy for a mean."""
        return np.where(np.asarray(self.df) > 1, self.location, np.nan)[()]

    def variance(self) -> Any:
        """scale^2 df / (df - 2); infinite where 1 < df <= 2, NaN where there is no mean."""
        df = np.asarray(self.df, dtype=np.float64)
        with np.errstate(divide="ignore"):
            wide = np.where(df > 2, self.scale**2 * df / np.where(df > 2, df - 2, 1.0), np.inf)
        return np.where(df > 1, wide, np.nan)[()]

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _entropy(self) -> Any:
        half = 0.5 * np.asarray(self.df)
        turn = (half + 0.5) * (special.digamma(half + 0.5) - special.digamma(half))
        return turn + 0.5 * np.log(self.df) + special.betaln(half, 0.5) + np.log(self.scale)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        from scipy.optimize import minimize

        middle = quantile(rows, 0.5, weights)
        unit = quantile(np.abs(rows - middle), 0.5, weights) or float(
            np.average(np.abs(rows - middle), weights=weights)
        )
        if unit == 0:
            raise self._no_spread(rows)
        z, share = (rows - middle) / unit, weights / weights.sum()
        held = np.log(float(self.df)) if self.fixed_df else None

        def cost(theta: Floats) -> tuple[float, Floats]:
            centre, log_scale = theta[:2]
            df = math.exp(theta[2] if held is None else held)
            t = (z - centre) * math.exp(-log_scale)
            pull = (df + 1) * t / (df + t * t)
            logs = np.log1p(t * t / df)
            value = log_scale + 0.5 * math.log(df) + special.betaln(0.5, 0.5 * df) + 0.5 * (df + 1) * (share @ logs)
            slopes = [-(share @ pull) * math.exp(-log_scale), 1.0 - share @ (pull * t)]
            if held is None:
                by_df = 0.5 / df + 0.5 * (special.digamma(0.5 * df) - special.digamma(0.5 * df + 0.5))
                by_df += 0.5 * (share @ logs) - 0.5 * (df + 1) * (share @ (t * t / (df * (df + t * t))))
                slopes.append(df * by_df)
            return value, np.array(slopes)

        narrowest = math.log(1e-8)
        bounds = [(None, None), (narrowest, None), (math.log(1e-2), math.log(_MOST_DF))]
        start = [0.0, 0.0, math.log(5.0)]
        n = 3 if held is None else 2
        found = minimize(
            cost, start[:n], jac=True, bounds=bounds[:n], method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
        )  # fmt: skip
        if found.x[1] <= narrowest + 1e-6:
            raise ValueError(
                f"{self._name}.fit found a likelihood that grows without bound as the scale shrinks, because so many "
                "values are equal; give df and set fixed_df=True, or give the parameters."
            )
        learned = {"location": middle + unit * float(found.x[0]), "scale": unit * math.exp(found.x[1])}
        return learned if held is not None else {"df": math.exp(found.x[2]), **learned}


@stored
@declared
class LaplaceDistribution(Distribution):
    """Double exponential: p(x) = exp(-|x - location| / scale) / (2 scale).

    Maximum likelihood takes the median and the mean absolute deviation from it: least absolute errors.

    >>> LaplaceDistribution().fit([1.0, 2.0, 9.0]).location
    2.0
    """

    location: Number = param(0.0, doc="Median and mean.", positional=True)
    scale: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Mean absolute deviation.", positional=True)

    def _log_density(self, x: Floats) -> Any:
        return -np.abs(x - self.location) / self.scale - np.log(2.0 * np.asarray(self.scale))

    def _share_below(self, x: Floats) -> Any:
        z = (x - self.location) / self.scale
        return np.where(z < 0, 0.5 * np.exp(-np.abs(z)), 1.0 - 0.5 * np.exp(-np.abs(z)))

    def _value_at(self, q: Floats) -> Any:
        z = np.where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))
        return self.location + self.scale * z

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return rng.laplace(self.location, self.scale, shape)

    def mean(self) -> Number:
        """The location."""
        return self.location

    def variance(self) -> Number:
        """2 scale^2."""
        return 2.0 * self.scale**2

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _entropy(self) -> Any:
        return 1.0 + np.log(2.0 * np.asarray(self.scale))

    def _divergence(self, other: LaplaceDistribution) -> Any:
        ratio, apart = self.scale / other.scale, np.abs(self.location - np.asarray(other.location))
        return -np.log(ratio) + apart / other.scale + ratio * np.exp(-apart / self.scale) - 1.0

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        middle = quantile(rows, 0.5, weights)
        spread = float(np.average(np.abs(rows - middle), weights=weights))
        if spread == 0:
            raise self._no_spread(rows)
        return {"location": middle, "scale": spread}


@stored
@declared
class UniformDistribution(Distribution):
    """p(x) = 1 / (high - low) from low to high. Maximum likelihood takes the smallest and the largest value.

    >>> UniformDistribution(0.0, 4.0).pdf([1.0, 5.0]).tolist()
    [0.25, 0.0]
    """

    low: Number = param(0.0, doc="Smallest value.", positional=True)
    high: Number = param(1.0, doc="Largest value.", positional=True)

    def _check(self) -> None:
        super()._check()
        if not (np.asarray(self.high) > np.asarray(self.low)).all():
            raise ValueError(f"{self._name}: high must be above low; got low={self.low!r} and high={self.high!r}.")

    def _inside(self, x: Floats) -> Any:
        return (x >= self.low) & (x <= self.high)

    def _learnable(self, x: Floats) -> Any:
        return np.ones(x.shape, dtype=bool)

    @property
    def _width(self) -> Any:
        return np.asarray(self.high) - self.low

    def _log_density(self, x: Floats) -> Any:
        return -np.log(self._width) + 0.0 * x

    def _share_below(self, x: Floats) -> Any:
        return np.clip((x - self.low) / self._width, 0.0, 1.0)

    def _value_at(self, q: Floats) -> Any:
        return self.low + q * self._width

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.uniform(self.low, self.high, shape))

    def mean(self) -> Number:
        """The middle."""
        return 0.5 * (self.low + self.high)

    def variance(self) -> Any:
        """(high - low)^2 / 12."""
        return (self._width**2 / 12.0)[()]

    def _entropy(self) -> Any:
        return np.log(self._width)

    def _divergence(self, other: UniformDistribution) -> Any:
        within = (np.asarray(self.low) >= other.low) & (np.asarray(self.high) <= other.high)
        return np.where(within, np.log(other._width / self._width), np.inf)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        low, high = float(rows.min()), float(rows.max())
        if low == high:
            raise self._no_spread(rows)
        return {"low": low, "high": high}


@stored
@declared
class ExponentialDistribution(Distribution):
    """Waiting times without memory: p(x) = rate exp(-rate x), x >= 0. Maximum likelihood takes 1 / mean.

    A gamma prior of the rate is conjugate.

    >>> ExponentialDistribution().fit([1.0, 3.0])
    ExponentialDistribution(rate=0.5)
    """

    rate: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Events per unit: 1 / mean.", positional=True)

    support: ClassVar[str] = "numbers of at least 0"
    conjugate: ClassVar[str] = "GammaDistribution"
    prior_of: ClassVar[str] = "rate"

    def _inside(self, x: Floats) -> Any:
        return x >= 0

    def _log_density(self, x: Floats) -> Any:
        return np.log(self.rate) - self.rate * x

    def _share_below(self, x: Floats) -> Any:
        return -np.expm1(-self.rate * np.maximum(x, 0.0))

    def _value_at(self, q: Floats) -> Any:
        return -np.log1p(-q) / self.rate + 0.0

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.exponential(1.0 / np.asarray(self.rate), shape))

    def mean(self) -> Number:
        """1 / rate."""
        return 1.0 / self.rate

    def variance(self) -> Number:
        """1 / rate^2."""
        return self.rate**-2.0

    def mode(self) -> float:
        """Zero."""
        return 0.0

    def _entropy(self) -> Any:
        return 1.0 - np.log(self.rate)

    def _divergence(self, other: ExponentialDistribution) -> Any:
        ratio = other.rate / self.rate
        return -np.log(ratio) + ratio - 1.0

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        centre = float(np.average(rows, weights=weights))
        if centre == 0:
            raise self._no_spread(rows)
        return {"rate": 1.0 / centre}

    def _posterior(self, rows: Floats, weights: Floats, prior: GammaDistribution) -> Distribution:
        return GammaDistribution(shape=float(prior.shape + weights.sum()), rate=float(prior.rate + weights @ rows))


@stored
@declared
class GammaDistribution(Distribution):
    """p(x) = rate^a x^(a - 1) exp(-rate x) / Gamma(a), x > 0, with a = ``shape``; a = 1 is the exponential.

    The shape of greatest likelihood solves log a - digamma(a) = log mean(x) - mean(log x), by Newton's method.

    >>> GammaDistribution(3.0, 2.0).mean()
    1.5
    """

    shape: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Shape a.", positional=True)
    rate: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Rate: shape / mean.", positional=True)

    support: ClassVar[str] = "numbers above 0"

    def _inside(self, x: Floats) -> Any:
        return x >= 0

    def _learnable(self, x: Floats) -> Any:
        return x > 0

    def _log_density(self, x: Floats) -> Any:
        a = np.asarray(self.shape)
        return special.xlogy(a - 1.0, x) - self.rate * x + a * np.log(self.rate) - special.gammaln(a)

    def _share_below(self, x: Floats) -> Any:
        return special.gammainc(self.shape, self.rate * np.maximum(x, 0.0))

    def _value_at(self, q: Floats) -> Any:
        return special.gammaincinv(self.shape, q) / self.rate

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.gamma(self.shape, 1.0 / np.asarray(self.rate), shape))

    def mean(self) -> Number:
        """shape / rate."""
        return self.shape / self.rate

    def variance(self) -> Number:
        """shape / rate^2."""
        return self.shape / self.rate**2

    def mode(self) -> Any:
        """(shape - 1) / rate; 0 where the shape is below 1."""
        return (np.maximum(np.asarray(self.shape) - 1.0, 0.0) / self.rate)[()]

    def _entropy(self) -> Any:
        a = np.asarray(self.shape)
        return a - np.log(self.rate) + special.gammaln(a) + (1.0 - a) * special.digamma(a)

    def _divergence(self, other: GammaDistribution) -> Any:
        a, b = np.asarray(self.shape), np.asarray(other.shape)
        forms = (a - b) * special.digamma(a) - special.gammaln(a) + special.gammaln(b)
        return forms + b * np.log(self.rate / other.rate) + a * (other.rate / self.rate - 1.0)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        centre = float(np.average(rows, weights=weights))
        gap = math.log(centre) - float(np.average(np.log(rows), weights=weights))
        if gap < 1e-14 * max(1.0, abs(math.log(centre))):
            raise self._no_spread(rows)
        a = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        for _ in range(100):
            # Newton's step in 1 / a, in which the equation is all but straight.
            slope = 1.0 / a - float(special.polygamma(1, a))
            after = 1.0 / (1.0 / a + (math.log(a) - float(special.digamma(a)) - gap) / (a * a * slope))
            done, a = abs(after - a) <= 1e-14 * a, after
            if done:
                break
        return {"shape": a, "rate": a / centre}


@stored
@declared
class BetaDistribution(Distribution):
    """Of shares: p(x) = x^(a - 1) (1 - x)^(b - 1) / B(a, b) from 0 to 1; a = b = 1 is uniform.

    As a prior of a probability, a - 1 and b - 1 count like hits and misses already seen.

    >>> BetaDistribution(3.0, 2.0).mode()
    np.float64(0.6666666666666666)
    """

    a: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Weight of the ones.", positional=True)
    b: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Weight of the zeros.", positional=True)

    support: ClassVar[str] = "numbers between 0 and 1"

    def _inside(self, x: Floats) -> Any:
        return (x >= 0) & (x <= 1)

    def _learnable(self, x: Floats) -> Any:
        return (x > 0) & (x < 1)

    def _log_density(self, x: Floats) -> Any:
        a, b = np.asarray(self.a), np.asarray(self.b)
        return special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b)

    def _share_below(self, x: Floats) -> Any:
        return special.betainc(self.a, self.b, np.clip(x, 0.0, 1.0))

    def _value_at(self, q: Floats) -> Any:
        return special.betaincinv(self.a, self.b, q)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(rng.beta(self.a, self.b, shape))

    def mean(self) -> Number:
        """a / (a + b)."""
        return self.a / (self.a + self.b)

    def variance(self) -> Number:
        """a b / ((a + b)^2 (a + b + 1))."""
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1.0))

    def mode(self) -> Any:
        """(a - 1) / (a + b - 2), an end where one of them is at most 1; refused where no single value is the mode."""
        a, b = np.broadcast_arrays(np.asarray(self.a, dtype=np.float64), np.asarray(self.b, dtype=np.float64))
        if ((a <= 1) & (b <= 1) & ((a == b) | ((a < 1) & (b < 1)))).any():
            raise ValueError(
                f"{self!r} has no single mode: its density is flat or highest at both ends. Add rows, or take a prior "
                "with a or b above 1."
            )
        above = np.maximum(a - 1.0, 0.0), np.maximum(b - 1.0, 0.0)
        total = above[0] + above[1]
        return np.where(total > 0, above[0] / np.where(total > 0, total, 1.0), (a >= b).astype(np.float64))[()]

    def _entropy(self) -> Any:
        a, b = np.asarray(self.a), np.asarray(self.b)
        return (
            special.betaln(a, b)
            - (a - 1.0) * special.digamma(a)
            - (b - 1.0) * special.digamma(b)
            + (a + b - 2.0) * special.digamma(a + b)
        )

    def _divergence(self, other: BetaDistribution) -> Any:
        a, b = np.asarray(self.a), np.asarray(self.b)
        return (
            special.betaln(other.a, other.b)
            - special.betaln(a, b)
            + (a - other.a) * special.digamma(a)
            + (b - other.b) * special.digamma(b)
            + (other.a + other.b - a - b) * special.digamma(a + b)
        )

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        if rows.min() == rows.max():
            raise self._no_spread(rows)
        centre, spread = np.average(rows, weights=weights), 0.0
        spread = float(np.average((rows - centre) ** 2, weights=weights))
        strength = max(centre * (1.0 - centre) / spread - 1.0, 1e-2)
        logs = np.array([np.average(np.log(rows), weights=weights), np.average(np.log1p(-rows), weights=weights)])
        a, b = concentrations(logs, np.array([centre, 1.0 - centre]) * strength)
        return {"a": float(a), "b": float(b)}


def concentrations(mean_logs: Floats, start: Floats) -> Floats:
    """The alpha of greatest Dirichlet likelihood, given mean(log x_k): solves digamma(a_k) - digamma(sum a) = mean log.

    The likelihood is concave in alpha, so Newton's method with shortened steps cannot miss (Minka 2000).
    """

    def likelihood(alpha: Floats) -> float:
        return float(special.gammaln(alpha.sum()) - special.gammaln(alpha).sum() + (alpha - 1.0) @ mean_logs)

    alpha, value = start, likelihood(start)
    for _ in range(1000):
        slope = special.digamma(alpha.sum()) - special.digamma(alpha) + mean_logs
        bend, shared = -special.polygamma(1, alpha), special.polygamma(1, alpha.sum())
        common = (slope / bend).sum() / (1.0 / shared + (1.0 / bend).sum())
        step = -(slope - common) / bend
        share = 1.0
        while (alpha + share * step).min() <= 0 or likelihood(alpha + share * step) < value - 1e-12 * abs(value):
            share *= 0.5
            if share < 1e-10:
                return alpha
        alpha = alpha + share * step
        value = likelihood(alpha)
        if np.abs(share * step).max() <= 1e-13 * alpha.max():
            break
    return alpha
