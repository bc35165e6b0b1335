"""Distributions of measured numbers: normal, Student-t, Laplace, uniform, exponential, gamma, beta."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from scipy import special

from tilth.params import declared, param, stored
from tilth.parts.distribution import Distribution, ExponentialFamily, Floats, Number, means_of, totals_of
from tilth.parts.losses import quantile
from tilth.stats import Moments

_ARRAYS = (np.ndarray,)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
#: Logarithms of the degrees of freedom searched; above them a distribution is normal to the last digits.
_LOG_DF = (math.log(1e-2), math.log(1e6))


@stored
@declared
class NormalDistribution(ExponentialFamily):
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

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "norm", {"loc": self.location, "scale": self.scale}

    def mean(self) -> Number:
        """The location."""
        return self.location

    def variance(self) -> Number:
        """scale^2."""
        return self.scale**2

    def _log_density(self, x: Floats) -> Any:
        return -0.5 * ((x - self.location) / self.scale) ** 2 - np.log(self.scale) - _HALF_LOG_2PI

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _divergence(self, other: NormalDistribution) -> Any:
        ratio, apart = self.scale / other.scale, (self.location - other.location) / other.scale
        return -np.log(ratio) + 0.5 * (ratio**2 + apart**2 - 1.0)

    def parameters_from(self, statistic: Moments, floor: float = 0.0) -> dict[str, Any]:
        """The mean and the standard deviation of the rows."""
        mean, variance = statistic.estimates()
        variance = np.maximum(variance, floor * statistic.total().variance())
        if (variance <= 0).any():
            raise self._no_spread(mean[variance <= 0][0])
        return {"location": mean, "scale": np.sqrt(variance)}

    def _posterior(self, statistic: Moments, prior: NormalDistribution) -> Distribution:
        before, seen = 1.0 / prior.scale**2, statistic.weight.item() / self.scale**2
        centre = (before * prior.location + seen * statistic.mean.item()) / (before + seen)
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

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "t", {"df": self.df, "loc": self.location, "scale": self.scale}

    def _settled(self, name: str, known: Any, value: Any) -> Any:
        return value if name == "fixed_df" else super()._settled(name, known, value)

    def mean(self) -> Any:
        """The location; NaN where df <= 1, whose tails are too heavy for a mean."""
        return np.where(np.asarray(self.df) > 1, self.location, np.nan)[()]

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        from scipy.optimize import minimize

        middle = quantile(rows, 0.5, weights)
        apart = np.abs(rows - middle)
        unit = quantile(apart, 0.5, weights) or float(np.average(apart, weights=weights))
        if unit == 0:
            raise self._no_spread(middle)
        z, share = (rows - middle) / unit, weights / weights.sum()

        def cost(theta: Floats) -> float:
            df = math.exp(theta[2]) if len(theta) == 3 else self.df
            return -float(share @ StudentTDistribution(df=df, location=theta[0], scale=math.exp(theta[1])).logpdf(z))

        n = 2 if self.fixed_df else 3
        start, bounds = [0.0, 0.0, math.log(5.0)][:n], [(None, None), (math.log(1e-8), None), _LOG_DF][:n]
        tight = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
        best = minimize(cost, start, jac="3-point", bounds=bounds, method="L-BFGS-B", options=tight).x
        if best[1] < math.log(1e-5):
            raise ValueError(
                f"{self._name}.fit found a likelihood that grows without bound as the scale shrinks, because so many "
                "values are equal; give df and set fixed_df=True, or give the parameters."
            )
        learned = {"location": middle + unit * float(best[0]), "scale": unit * math.exp(best[1])}
        return learned if self.fixed_df else {"df": math.exp(best[2]), **learned}


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

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "laplace", {"loc": self.location, "scale": self.scale}

    def _log_density(self, x: Floats) -> Any:
        return -np.abs(x - self.location) / self.scale - np.log(2.0 * np.asarray(self.scale))  # scipy's underflows

    def mode(self) -> Number:
        """The location."""
        return self.location

    def _divergence(self, other: LaplaceDistribution) -> Any:
        ratio, apart = self.scale / other.scale, np.abs(self.location - np.asarray(other.location))
        return -np.log(ratio) + apart / other.scale + ratio * np.exp(-apart / self.scale) - 1.0

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        middle = quantile(rows, 0.5, weights)
        spread = float(np.average(np.abs(rows - middle), weights=weights))
        if spread == 0:
            raise self._no_spread(middle)
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

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "uniform", {"loc": self.low, "scale": self._width}

    def _check(self) -> None:
        super()._check()
        if not (np.asarray(self.high) > np.asarray(self.low)).all():
            raise ValueError(f"{self._name}: high must be above low; got low={self.low!r} and high={self.high!r}.")

    @property
    def _width(self) -> Any:
        return np.asarray(self.high) - self.low

    def _divergence(self, other: UniformDistribution) -> Any:
        within = (np.asarray(self.low) >= other.low) & (np.asarray(self.high) <= other.high)
        return np.where(within, np.log(other._width / self._width), np.inf)

    def _most_likely(self, rows: Floats, weights: Floats) -> dict[str, Any]:
        low, high = float(rows.min()), float(rows.max())
        if low == high:
            raise self._no_spread(low)
        return {"low": low, "high": high}


@stored
@declared
class ExponentialDistribution(ExponentialFamily):
    """Waiting times without memory: p(x) = rate exp(-rate x), x >= 0. Maximum likelihood takes 1 / mean.

    A gamma prior of the rate is conjugate.

    >>> ExponentialDistribution().fit([1.0, 3.0])
    ExponentialDistribution(rate=0.5)
    """

    rate: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Events per unit: 1 / mean.", positional=True)

    support: ClassVar[str] = "numbers of at least 0"
    conjugate: ClassVar[str] = "GammaDistribution"
    prior_of: ClassVar[str] = "rate"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "expon", {"scale": 1.0 / np.asarray(self.rate)}

    def mode(self) -> float:
        """Zero."""
        return 0.0

    def _divergence(self, other: ExponentialDistribution) -> Any:
        ratio = other.rate / self.rate
        return -np.log(ratio) + ratio - 1.0

    def _learnable(self, x: Floats) -> Any:
        return x >= 0

    def parameters_from(self, statistic: Moments, floor: float = 0.0) -> dict[str, Any]:
        """1 / mean."""
        mean = np.maximum(means_of(statistic), floor**0.5 * statistic.total().mean)
        if (mean <= 0).any():
            raise self._no_spread(0.0)
        return {"rate": 1.0 / mean}

    def _posterior(self, statistic: Moments, prior: GammaDistribution) -> Distribution:
        n, total = totals_of(statistic)
        return GammaDistribution(shape=float(prior.shape + n), rate=float(prior.rate + total))


@stored
@declared
class GammaDistribution(ExponentialFamily):
    """p(x) = rate^a x^(a - 1) exp(-rate x) / Gamma(a), x > 0, with a = ``shape``; a = 1 is the exponential.

    The shape of greatest likelihood solves log a - digamma(a) = log mean(x) - mean(log x), by Newton's method.

    >>> GammaDistribution(3.0, 2.0).mean()
    1.5
    """

    shape: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Shape a.", positional=True)
    rate: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Rate: shape / mean.", positional=True)

    support: ClassVar[str] = "numbers above 0"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "gamma", {"a": self.shape, "scale": 1.0 / np.asarray(self.rate)}

    def _learnable(self, x: Floats) -> Any:
        return x > 0

    def mode(self) -> Any:
        """(shape - 1) / rate; 0 where the shape is below 1."""
        return (np.maximum(np.asarray(self.shape) - 1.0, 0.0) / self.rate)[()]

    def _divergence(self, other: GammaDistribution) -> Any:
        a, b = np.asarray(self.shape), np.asarray(other.shape)
        forms = (a - b) * special.digamma(a) - special.gammaln(a) + special.gammaln(b)
        return forms + b * np.log(self.rate / other.rate) + a * (other.rate / self.rate - 1.0)

    def _features(self, columns: Floats) -> Floats:
        return np.hstack([columns, np.log(columns)])

    def parameters_from(self, statistic: Moments, floor: float = 0.0) -> dict[str, Any]:
        """The shape from the gap between log mean(x) and mean(log x)."""
        mean, mean_log = np.hsplit(means_of(statistic), 2)
        least = floor * np.hsplit(statistic.total().variance(), 2)[0]
        gap = np.log(mean) - mean_log
        flat = (gap < 1e-14 * np.maximum(1.0, np.abs(np.log(mean)))) & (least <= 0)
        if flat.any():
            raise self._no_spread(mean[flat][0])
        gap = np.maximum(gap, 1e-14)
        a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        for _ in range(100):
            # Newton's step in 1 / a, in which the equation is all but straight.
            slope = 1.0 / a - special.polygamma(1, a)
            after = 1.0 / (1.0 / a + (np.log(a) - special.digamma(a) - gap) / (a * a * slope))
            done, a = (np.abs(after - a) <= 1e-14 * a).all(), after
            if done:
                break
        with np.errstate(divide="ignore"):
            a = np.minimum(a, mean**2 / least)  # the variance is mean^2 / a
        return {"shape": a, "rate": a / mean}


@stored
@declared
class BetaDistribution(ExponentialFamily):
    """Of shares: p(x) = x^(a - 1) (1 - x)^(b - 1) / B(a, b) from 0 to 1; a = b = 1 is uniform.

    As a prior of a probability, a - 1 and b - 1 count like hits and misses already seen.

    >>> BetaDistribution(3.0, 2.0).mode()
    np.float64(0.6666666666666666)
    """

    a: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Weight of the ones.", positional=True)
    b: Number = param(1.0, low=0, low_open=True, also=_ARRAYS, doc="Weight of the zeros.", positional=True)

    support: ClassVar[str] = "numbers between 0 and 1"

    def _scipy(self) -> tuple[str, dict[str, Any]]:
        return "beta", {"a": self.a, "b": self.b}

    def _learnable(self, x: Floats) -> Any:
        return (x > 0) & (x < 1)

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

    def _divergence(self, other: BetaDistribution) -> Any:
        a, b = np.asarray(self.a), np.asarray(self.b)
        return (
            special.betaln(other.a, other.b)
            - special.betaln(a, b)
            + (a - other.a) * special.digamma(a)
            + (b - other.b) * special.digamma(b)
            + (other.a + other.b - a - b) * special.digamma(a + b)
        )

    def _features(self, columns: Floats) -> Floats:
        return np.hstack([columns, np.log(columns), np.log1p(-columns)])

    def parameters_from(self, statistic: Moments, floor: float = 0.0) -> dict[str, Any]:
        """The a and b that a search finds: a Dirichlet distribution of x and 1 - x."""
        mean, mean_log, mean_log_rest = np.hsplit(means_of(statistic), 3)
        means, logs = np.stack([mean, 1.0 - mean], axis=-1), np.stack([mean_log, mean_log_rest], axis=-1)
        if not (np.log(means) - logs > 1e-14).all():
            raise self._no_spread(mean.flat[0])
        a, b = np.moveaxis(concentrations(logs, means), -1, 0)
        return {"a": a, "b": b}


def concentrations(mean_logs: Floats, means: Floats) -> Floats:
    """The alpha of greatest Dirichlet likelihood: solves digamma(a_k) - digamma(sum a) = mean(log x_k), last axis k.

    The likelihood is concave in alpha, so Newton's method with shortened steps cannot miss (Minka 2000).
    """
    flat = [_concentration(logs, mean) for logs, mean in zip(_lists(mean_logs), _lists(means), strict=True)]
    return np.reshape(flat, mean_logs.shape)


def _lists(values: Floats) -> Floats:
    return values.reshape(-1, values.shape[-1])


def _concentration(mean_logs: Floats, mean: Floats) -> Floats:
    def likelihood(alpha: Floats) -> float:
        return float(special.gammaln(alpha.sum()) - special.gammaln(alpha).sum() + (alpha - 1.0) @ mean_logs)

    # By Taylor's formula log mean(x) - mean(log x) is about variance / (2 mean^2): a start from the moments.
    variance = 2.0 * (np.log(mean) - mean_logs) * mean**2
    alpha = mean * max(float(np.median(mean * (1.0 - mean) / variance)) - 1.0, 1e-2)
    value = likelihood(alpha)
    for _ in range(1000):
        slope = special.digamma(alpha.sum()) - special.digamma(alpha) + mean_logs
        hessian, shared = -special.polygamma(1, alpha), special.polygamma(1, alpha.sum())
        common = (slope / hessian).sum() / (1.0 / shared + (1.0 / hessian).sum())
        step = -(slope - common) / hessian
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
