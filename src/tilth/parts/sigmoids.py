"""Sigmoids: S-shaped rising functions, as links of binary models and as activations.

Those with values between 0 and 1 are distribution functions, so they turn a score into a probability. Their logarithms
``log_value`` = log f and ``log_complement`` = log(1 - f) keep their digits far out in both tails, where f is 0 or 1.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tilth.params import declared, param, stored
from tilth.parts.losses import safe_exp
from tilth.parts.part import Part

Floats = NDArray[np.float64]


def softplus(x: Any) -> Floats:
    """ln(1 + e^x), the integral of the logistic function: about 0 on the left, about x on the right.

    >>> float(softplus(800.0)), round(float(softplus(0.0)), 4)
    (800.0, 0.6931)
    """
    return np.asarray(np.logaddexp(0.0, np.asarray(x, dtype=np.float64)))


@declared
class Sigmoid(Part):
    """Base: ``value`` rises from ``low`` to ``high``, ``derivative`` is its slope, ``inverse`` undoes it."""

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0

    def value(self, x: Any) -> Floats:
        """f(x)."""
        return np.asarray(self._value(_floats(x)))

    def derivative(self, x: Any) -> Floats:
        """f'(x)."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self._slope(_floats(x)))

    def inverse(self, y: Any) -> Floats:
        """The x with f(x) = y; infinite at the ends of the range, refused outside it."""
        values = _floats(y)
        outside = (values < self.low) | (values > self.high)
        if outside.any():
            raise ValueError(
                f"{type(self).__name__}.inverse takes values from {self.low:.6g} to {self.high:.6g}; got "
                f"{np.atleast_1d(values)[np.atleast_1d(outside)][0]:g}."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                np.where(values == self.low, -np.inf, np.where(values == self.high, np.inf, self._back(values)))
            )

    def _value(self, x: Floats) -> Any:
        raise NotImplementedError

    def _slope(self, x: Floats) -> Any:
        raise NotImplementedError

    def _back(self, y: Floats) -> Any:
        raise NotImplementedError


@stored
@declared
class TanhSigmoid(Sigmoid):
    """(e^x - e^-x) / (e^x + e^-x), from -1 to 1: the logistic function of 2x, stretched and centred at 0.

    >>> float(TanhSigmoid().derivative(0.0))
    1.0
    """

    low: ClassVar[float] = -1.0

    def _value(self, x: Floats) -> Any:
        return np.tanh(x)

    def _slope(self, x: Floats) -> Any:
        return 4.0 * special.expit(2.0 * x) * special.expit(-2.0 * x)

    def _back(self, y: Floats) -> Any:
        return np.arctanh(y)


@stored
@declared
class ArctanSigmoid(Sigmoid):
    """arctan(x), from -pi/2 to pi/2; for values from 0 to 1 see :class:`CauchySigmoid`, 1/2 + arctan(x) / pi."""

    low: ClassVar[float] = -0.5 * math.pi
    high: ClassVar[float] = 0.5 * math.pi

    def _value(self, x: Floats) -> Any:
        return np.arctan(x)

    def _slope(self, x: Floats) -> Any:
        return 1.0 / (1.0 + x * x)

    def _back(self, y: Floats) -> Any:
        return np.tan(y)


@declared
class UnitSigmoid(Sigmoid):
    """Base of sigmoids from 0 to 1: distribution functions of a hidden score, and so links of binary models."""

    def log_value(self, x: Any) -> Floats:
        """log f(x)."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.asarray(self._log_value(_floats(x)))

    def log_complement(self, x: Any) -> Floats:
        """log(1 - f(x)); for a symmetric sigmoid log f(-x)."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.asarray(self._log_complement(_floats(x)))

    def _log_value(self, x: Floats) -> Any:
        raise NotImplementedError

    def _log_complement(self, x: Floats) -> Any:
        return self._log_value(-x)


@stored
@declared
class LogisticSigmoid(UnitSigmoid):
    """f = 1 / (1 + e^-x), with f' = f (1 - f), inverse the logit log(f / (1 - f)) and integral :func:`softplus`.

    >>> link = LogisticSigmoid()
    >>> round(float(link.inverse(link.value(0.3))), 12), float(link.derivative(0.0)), float(link.log_value(-800.0))
    (0.3, 0.25, -800.0)
    """

    def _value(self, x: Floats) -> Any:
        return special.expit(x)

    def _slope(self, x: Floats) -> Any:
        return special.expit(x) * special.expit(-x)

    def _back(self, y: Floats) -> Any:
        return special.logit(y)

    def _log_value(self, x: Floats) -> Any:
        return special.log_expit(x)


@stored
@declared
class GeneralisedLogisticSigmoid(UnitSigmoid):
    """f = (1 + e^-x)^-alpha: slow to leave 0 for alpha > 1, slow to reach 1 for alpha < 1; 1 is the logistic."""

    alpha: float = param(
        1.0, low=0, low_open=True, doc="Skew; 1 is symmetric.", scale="log", tune=(0.1, 10), positional=True
    )

    def _value(self, x: Floats) -> Any:
        return np.exp(self.alpha * special.log_expit(x))

    def _slope(self, x: Floats) -> Any:
        return self.alpha * self._value(x) * special.expit(-x)

    def _back(self, y: Floats) -> Any:
        log_root = np.log(y) / self.alpha
        return log_root - np.log(-np.expm1(log_root))

    def _log_value(self, x: Floats) -> Any:
        return self.alpha * special.log_expit(x)

    def _log_complement(self, x: Floats) -> Any:
        tail = np.exp(-x)
        far = math.log(self.alpha) - x - 0.5 * (self.alpha + 1.0) * tail
        return np.where((self.alpha + 1.0) * tail < 1e-8, far, _log1mexp(self._log_value(x)))


@stored
@declared
class NormalSigmoid(UnitSigmoid):
    """Probit: the distribution function of a standard normal score."""

    def _value(self, x: Floats) -> Any:
        return special.ndtr(x)

    def _slope(self, x: Floats) -> Any:
        return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def _back(self, y: Floats) -> Any:
        return special.ndtri(y)

    def _log_value(self, x: Floats) -> Any:
        return special.log_ndtr(x)


@stored
@declared
class StudentTSigmoid(UnitSigmoid):
    """The distribution function of Student's t: heavier tails than probit, so odd rows pull less; df = 1 is cauchit."""

    df: float = param(5.0, low=0, low_open=True, doc="Degrees of freedom.", scale="log", tune=(1, 50), positional=True)

    def _value(self, x: Floats) -> Any:
        return special.stdtr(self.df, x)

    def _slope(self, x: Floats) -> Any:
        logs = -0.5 * (self.df + 1.0) * np.log1p(x * x / self.df)
        return np.exp(logs - 0.5 * math.log(self.df) - special.betaln(0.5, 0.5 * self.df))

    def _back(self, y: Floats) -> Any:
        return special.stdtrit(self.df, y)

    def _log_value(self, x: Floats) -> Any:
        below = special.stdtr(self.df, -np.abs(x))
        lower = np.where(below > 1e-290, np.log(below), self._log_tail(np.abs(x)))
        return np.where(x < 0, lower, np.log1p(-np.exp(lower)))

    def _log_tail(self, x: Floats) -> Any:
        """log P(T < -x) where the probability itself is too small for a float.

        P = t^(df/2) (1 - t)^(-1/2) / (df B(df/2, 1/2)) F with t = df / (df + x^2) and F the series whose n-th term is
        the one before times -(n - 1/2) u / (df/2 + n), u = df / x^2. So far out its terms fall at once.
        """
        far, half = np.maximum(x, 1.0), 0.5 * self.df
        log_odds = math.log(self.df) - 2.0 * np.log(far)
        odds = np.exp(log_odds)
        series = np.ones_like(odds)
        for n in range(12, 0, -1):
            series = 1.0 - series * (n - 0.5) * odds / (half + n)
        log_t = -np.logaddexp(0.0, -log_odds)
        return half * log_t + 0.5 * np.log1p(odds) - math.log(self.df) - special.betaln(half, 0.5) + np.log(series)


@stored
@declared
class CauchySigmoid(UnitSigmoid):
    """Cauchit: 1/2 + arctan(x) / pi, the arctangent brought to values from 0 to 1; very heavy tails."""

    def _value(self, x: Floats) -> Any:
        # The angle of (-x, 1): the same number, without the loss of digits where 1/2 would cancel.
        return np.arctan2(1.0, -x) / math.pi

    def _slope(self, x: Floats) -> Any:
        return 1.0 / (math.pi * (1.0 + x * x))

    def _back(self, y: Floats) -> Any:
        return -1.0 / np.tan(math.pi * y)

    def _log_value(self, x: Floats) -> Any:
        return np.where(x < 0, np.log(self._value(x)), np.log1p(-self._value(-x)))


@stored
@declared
class ComplementaryLogLogSigmoid(UnitSigmoid):
    """f = 1 - exp(-e^x): the chance of at least one event where e^x are expected; reaches 1 faster than it leaves 0."""

    def _value(self, x: Floats) -> Any:
        return -np.expm1(-safe_exp(x))

    def _slope(self, x: Floats) -> Any:
        return np.exp(np.minimum(x, 700.0) - safe_exp(x))

    def _back(self, y: Floats) -> Any:
        return np.log(-np.log1p(-y))

    def _log_value(self, x: Floats) -> Any:
        return np.where(x < -30.0, x - 0.5 * safe_exp(x), _log1mexp(-safe_exp(x)))

    def _log_complement(self, x: Floats) -> Any:
        return -safe_exp(x)


#: Sigmoids by the names that binary models accept as ``link``.
NAMED: dict[str, type[UnitSigmoid]] = {
    "logit": LogisticSigmoid,
    "probit": NormalSigmoid,
    "cauchit": CauchySigmoid,
    "cloglog": ComplementaryLogLogSigmoid,
    "student_t": StudentTSigmoid,
    "generalised_logit": GeneralisedLogisticSigmoid,
}


def _floats(x: Any) -> Floats:
    return np.asarray(x, dtype=np.float64)


def _log1mexp(x: Floats) -> Any:
    """log(1 - e^x) for x < 0, by whichever of two forms keeps the digits."""
    return np.where(x > -math.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))
