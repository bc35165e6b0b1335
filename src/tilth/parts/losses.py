"""Losses: what a wrong score costs. A loss knows the target y and the score eta, nothing else.

The same objects serve boosting, linear models, neural training and scoring: value, gradient and (diagonal) hessian in
the score, the link between score and mean, the best constant score. Scores are [n], or [n, k] for k classes; weights
are the caller's business, except where a sum over rows is asked for. One coding per loss: two classes are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.params import declared, param, stored
from tilth.parts.part import Part
from tilth.parts.pieces import Pieces

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Serves = Literal["numbers", "two classes", "classes", "order"]

#: Scores beyond this would overflow in exp.
_FAR = 700.0
#: Rows whose losses are held at once when only their mean is asked for.
_BLOCK = 1 << 16


def safe_exp(x: Floats) -> Floats:
    """e^x without overflow."""
    return np.exp(np.clip(x, -_FAR, _FAR))


def sum_by(group: Ints, values: Floats, n_groups: int) -> Floats:
    """Sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values, minlength=n_groups), dtype=np.float64)


@declared
class Loss(Part):
    """Base of all losses L(y, eta).

    ``curved`` says whether the hessian is positive wherever the gradient is not zero, so that a Newton step
    -gradient / hessian means something. ``serves`` is the kind of target. ``smooth``: the gradient has no jumps;
    ``lipschitz`` is the largest value of the hessian, None where it has no bound.
    """

    serves: ClassVar[Serves] = "numbers"
    curved: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    lipschitz: ClassVar[float | None] = None
    #: Whether the hessian is 1 everywhere.
    unit_hessian: ClassVar[bool] = False

    @property
    def n_scores(self) -> int:
        """Scores per row."""
        return 1

    @property
    def by_row(self) -> bool:
        """Whether the loss of a row depends on that row alone, so that rows can be taken in blocks."""
        return self.serves != "order"

    @property
    def in_pieces(self) -> bool:
        """Whether :meth:`pieces` gives something; asked of the class, because to build them is a pass over the rows."""
        return type(self).pieces is not Loss.pieces

    def value(self, y: Any, eta: Floats) -> Floats:
        """Loss of each row."""
        raise NotImplementedError

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """dL / d eta, shape of eta."""
        raise NotImplementedError

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """d2L / d eta2 (its diagonal for several scores), shape of eta."""
        raise NotImplementedError

    def link(self, mean: Any) -> Floats:
        """The score of a mean."""
        return np.asarray(mean, dtype=np.float64)

    def inverse(self, eta: Any) -> Floats:
        """The mean (or the probability) that a score stands for."""
        return np.asarray(eta, dtype=np.float64)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The constant score of least loss, one number per score."""
        return np.atleast_1d(self.link(np.average(y, weights=weight)))

    def problem(self, y: Any) -> str | None:
        """Why the loss is not defined for this target, as a sentence, or None."""
        return None

    def adapted(self, y: Any, weight: Floats | None = None) -> Self:
        """The loss with what it takes from the target filled in (the width of Huber's middle, say)."""
        return self

    def pieces(self, y: Any) -> Pieces | None:
        """The loss as straight and square pieces, where it is made of them."""
        return None

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Write weighted gradient and hessian into arrays that are there already."""
        gradient[...] = self.gradient(y, eta)
        _weigh(gradient, weight)
        if hessian is not None:
            hessian[...] = self.hessian(y, eta)
            _weigh(hessian, weight)

    def mean(self, y: Any, eta: Floats, weight: Floats | None = None) -> float:
        """Average loss, over blocks of rows: a million rows need no second array of their size."""
        n = len(eta)
        if n <= _BLOCK:
            return float(np.average(self.value(y, eta), weights=weight))
        blocks = [slice(i, i + _BLOCK) for i in range(0, n, _BLOCK)]
        sums = [np.dot(self.value(y[b], eta[b]), np.ones(len(eta[b])) if weight is None else weight[b]) for b in blocks]
        return float(np.sum(sums) / (n if weight is None else weight.sum()))

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """For each group of rows the c of least sum of w L(y, eta + c); rows of a negative group are left out.

        The zero of the summed gradient by Newton steps, kept inside the bracket that the signs seen so far make.
        """
        y, eta, weight, group = kept_rows(y, eta, weight, group)
        low, high = self._bracket(y, eta, group, n_groups)
        c = np.zeros(n_groups)
        least: Floats | None = None
        for _ in range(100):
            moved = eta + c[group]
            g, h = self.gradient(y, moved), self.hessian(y, moved)
            w = 1.0 if weight is None else weight
            slope, curve = sum_by(group, w * g, n_groups), sum_by(group, w * h, n_groups)
            if least is None:  # a best shift of infinity is given up where the slope has all but gone
                least = 1e-10 * sum_by(group, np.abs(w * g), n_groups)
            high, low = np.where(slope > 0, c, high), np.where(slope < 0, c, low)
            open_ = np.abs(slope) > least
            # The bracket first: where it is open at an end there is no middle, and only a Newton step can be taken.
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                middle = low + (high - low) / 2
                newton = c - slope / curve
            inside = np.isfinite(newton) & (newton > low) & (newton < high)
            after = np.where(inside, newton, np.where(np.isfinite(middle), middle, c))
            step = np.where(open_, after - c, 0.0)
            c = c + np.clip(step, -self._longest, self._longest)
            if (np.abs(step) <= 1e-13 * (1.0 + np.abs(c))).all():
                break
        return c

    #: Newton steps on an exponential scale overshoot; this many units at a time do not.
    _longest: ClassVar[float] = 2.0

    def _bracket(self, y: Any, eta: Floats, group: Ints, n_groups: int) -> tuple[Floats, Floats]:
        """Bounds of the shift of each group, where they are known."""
        return np.full(n_groups, -np.inf), np.full(n_groups, np.inf)


def _weigh(out: Floats, weight: Floats | None) -> None:
    if weight is not None:
        out *= weight if out.ndim == 1 else weight[:, None]


def kept_rows(y: Any, eta: Floats, weight: Floats | None, group: Ints) -> tuple[Any, Floats, Floats | None, Ints]:
    """Rows that belong to a group."""
    if not group.size or group.min() >= 0:
        return y, eta, weight, group
    kept = group >= 0
    return y[kept], eta[kept], None if weight is None else weight[kept], group[kept]


def quantile(values: Any, q: float, weight: Floats | None = None) -> float:
    """The middle of all numbers that minimise sum w |v - c| (q where v > c, else 1 - q).

    >>> quantile([1.0, 2.0, 3.0, 10.0], 0.5)
    2.5
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    return float(_core.leaf_quantiles(values, np.zeros(len(values), dtype=np.int32), q, 1, weight)[0])


# ------------------------------------------------------------------------------------------------------------ numbers


@stored
@declared
class Squared(Loss):
    """L = (y - eta)^2 / 2; gradient -(y - eta), so that the negative gradient is the residual; hessian 1.

    >>> Squared().gradient(np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    array([-0.5,  1. ])
    """

    unit_hessian: ClassVar[bool] = True
    lipschitz: ClassVar[float | None] = 1.0

    def value(self, y: Any, eta: Floats) -> Floats:
        """Half the squared residual."""
        return 0.5 * (y - eta) ** 2

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-(y - eta)."""
        return eta - y

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """One."""
        return np.ones_like(eta)

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Compiled."""
        _core.squared_gradient(y, eta, weight, gradient)
        if hessian is not None:
            hessian[...] = 1.0 if weight is None else weight

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """The mean residual."""
        y, eta, weight, group = kept_rows(y, eta, weight, group)
        w = np.ones(len(eta)) if weight is None else weight
        total = sum_by(group, w, n_groups)
        return sum_by(group, w * (y - eta), n_groups) / np.where(total > 0, total, 1.0)


@stored
@declared
class Quantile(Loss):
    """Pinball: L = q (y - eta) where y > eta, else (1 - q) (eta - y); least at the q-quantile of y.

    The gradient jumps at y = eta, where any number from -q to 1 - q is a subgradient; the one given is 0.
    """

    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    q: float = param(0.5, low=0, high=1, low_open=True, doc="Share of targets that lie below the answer.")

    def value(self, y: Any, eta: Floats) -> Floats:
        """q or 1 - q times the distance."""
        residual = y - eta
        return np.where(residual > 0, self.q, self.q - 1.0) * residual

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-q below the target, 1 - q above it."""
        return np.where(y > eta, -self.q, np.where(y < eta, 1.0 - self.q, 0.0))

    def pieces(self, y: Any) -> Pieces:
        """Slopes from q - 1 to q."""
        return Pieces(np.asarray(y, dtype=np.float64), self.q - 1.0, self.q, sign=np.ones(len(y)))

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero: the loss is made of two straight lines."""
        return np.zeros_like(eta)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The quantile."""
        return np.array([quantile(y, self.q, weight)])

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """The quantile of the residuals."""
        return _core.leaf_quantiles(y - eta, group, self.q, n_groups, weight)


@stored
@declared
class Absolute(Loss):
    """L = |y - eta|; least at the median of y. The derivative -sign(y - eta) is not defined at 0; there 0 is given."""

    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def value(self, y: Any, eta: Floats) -> Floats:
        """Distance."""
        return np.abs(y - eta)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-sign(y - eta)."""
        return -np.sign(y - eta)

    def pieces(self, y: Any) -> Pieces:
        """Slopes from -1 to 1."""
        return Pieces(np.asarray(y, dtype=np.float64), -1.0, 1.0, sign=np.ones(len(y)))

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The median."""
        return np.array([quantile(y, 0.5, weight)])

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """The median of the residuals."""
        return _core.leaf_quantiles(y - eta, group, 0.5, n_groups, weight)


@stored
@declared
class Huber(Loss):
    """L = r^2 / 2 where |r| <= delta, else delta (|r| - delta / 2), r = y - eta: squares in the middle, lines outside.

    ``delta=None`` takes the 0.9-quantile of |y - median(y)| when the loss meets a target.
    """

    curved: ClassVar[bool] = False
    lipschitz: ClassVar[float | None] = 1.0
    delta: float | None = param(None, low=0, low_open=True, doc="Half the width of the square middle; None: by data.")

    _longest: ClassVar[float] = np.inf

    @property
    def _width(self) -> float:
        if self.delta is None:
            raise ValueError("Huber: delta is not known before a target is seen; use loss.adapted(y), or give delta.")
        return self.delta

    def adapted(self, y: Any, weight: Floats | None = None) -> Self:
        """With delta from the target, unless it was given."""
        if self.delta is not None:
            return self
        spread = quantile(np.abs(y - quantile(y, 0.5, weight)), 0.9, weight)
        return type(self)(delta=spread if spread > 0 else 1.0)

    def value(self, y: Any, eta: Floats) -> Floats:
        """Squares, then lines."""
        far = np.abs(y - eta)
        return np.where(far <= self._width, 0.5 * far**2, self._width * (far - 0.5 * self._width))

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """The negative residual, cut at delta."""
        return np.clip(eta - y, -self._width, self._width)

    def pieces(self, y: Any) -> Pieces:
        """Slopes cut at delta, square in the middle."""
        return Pieces(np.asarray(y, dtype=np.float64), -self._width, self._width, 1.0, sign=np.ones(len(y)))

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """One in the middle, zero outside."""
        return (np.abs(y - eta) <= self._width).astype(np.float64)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Between mean and median."""
        y = np.asarray(y, dtype=np.float64)
        return self.shift(y, np.zeros(len(y)), weight, np.zeros(len(y), dtype=np.int32), 1)

    def _bracket(self, y: Any, eta: Floats, group: Ints, n_groups: int) -> tuple[Floats, Floats]:
        """The smallest and the largest residual."""
        residual = y - eta
        return tuple(_core.leaf_quantiles(residual, group, q, n_groups) for q in (0.0, 1.0))  # type: ignore[return-value]


class _LogLink(Loss):
    """Losses of a positive mean, whose score is its logarithm."""

    def link(self, mean: Any) -> Floats:
        """log mean."""
        return np.log(np.maximum(np.asarray(mean, dtype=np.float64), np.finfo(np.float64).tiny))

    def inverse(self, eta: Any) -> Floats:
        """e^eta."""
        return safe_exp(np.asarray(eta, dtype=np.float64))

    def problem(self, y: Any) -> str | None:
        """Counts and amounts are not negative, and not all zero."""
        least = float(np.min(y))
        if least < 0:
            return f"needs a target that is not negative, found {least:g}; use 'squared_error' there"
        return "needs a target that is not zero everywhere" if not np.any(y) else None


@stored
@declared
class Poisson(_LogLink):
    """Counts: L = e^eta - y eta, the negative log-likelihood of a Poisson count less what does not depend on eta."""

    def value(self, y: Any, eta: Floats) -> Floats:
        """Negative log-likelihood, up to log y!."""
        return safe_exp(eta) - y * eta

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """e^eta - y."""
        return safe_exp(eta) - y

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """e^eta."""
        return safe_exp(eta)

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """log(sum w y / sum w e^eta)."""
        return _log_ratio(*kept_rows(y, eta, weight, group), n_groups, lambda y, eta: (y, safe_exp(eta)))


@stored
@declared
class Gamma(_LogLink):
    """Positive amounts whose spread grows with their mean: L = eta + y e^-eta."""

    def value(self, y: Any, eta: Floats) -> Floats:
        """Negative log-likelihood for shape 1, up to terms without eta."""
        return eta + y * safe_exp(-eta)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """1 - y e^-eta."""
        return 1.0 - y * safe_exp(-eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """y e^-eta."""
        return y * safe_exp(-eta)

    def problem(self, y: Any) -> str | None:
        """Amounts are above zero."""
        least = float(np.min(y))
        return None if least > 0 else f"needs a target above zero, found {least:g}; 'tweedie' allows zeros"

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """log(sum w y e^-eta / sum w)."""
        return _log_ratio(
            *kept_rows(y, eta, weight, group), n_groups, lambda y, eta: (y * safe_exp(-eta), np.ones_like(eta))
        )


@stored
@declared
class Tweedie(_LogLink):
    """Zeros and positive amounts: variance = mean^p, 1 < p < 2; L = y e^((1-p) eta) / (p-1) + e^((2-p) eta) / (2-p)."""

    power: float = param(1.5, low=1, high=1.999, low_open=True, doc="The p of variance = mean^p.", tune=(1.1, 1.9))

    def value(self, y: Any, eta: Floats) -> Floats:
        """Negative log-likelihood, up to terms without eta."""
        p = self.power
        return y * safe_exp((1 - p) * eta) / (p - 1) + safe_exp((2 - p) * eta) / (2 - p)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-y e^((1-p) eta) + e^((2-p) eta)."""
        p = self.power
        return safe_exp((2 - p) * eta) - y * safe_exp((1 - p) * eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """(p-1) y e^((1-p) eta) + (2-p) e^((2-p) eta)."""
        p = self.power
        return (p - 1) * y * safe_exp((1 - p) * eta) + (2 - p) * safe_exp((2 - p) * eta)

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """log(sum w y e^((1-p) eta) / sum w e^((2-p) eta))."""
        p = self.power
        terms = kept_rows(y, eta, weight, group)
        return _log_ratio(*terms, n_groups, lambda y, eta: (y * safe_exp((1 - p) * eta), safe_exp((2 - p) * eta)))


@stored
@declared
class PowerVariance(Tweedie):
    """The same cost outside 1 < p < 2: variance = mean^p for p = 0 (normal, log link) or p > 2 (3: inverse normal).

    It is not convex in the score.
    """

    convex: ClassVar[bool] = False
    power: float = param(3.0, low=0, doc="The p of variance = mean^p: 0, or above 2.")

    def problem(self, y: Any) -> str | None:
        """Above zero for p > 2; any number for p = 0 whose mean is above zero."""
        if self.power == 0:
            return None if np.mean(y) > 0 else "needs a target with a mean above zero, because its score is a logarithm"
        least = float(np.min(y))
        return None if least > 0 else f"needs a target above zero, found {least:g}; a power below 2 allows zeros"


def _log_ratio(
    y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int,
    terms: Callable[[Any, Floats], tuple[Floats, Floats]],
) -> Floats:  # fmt: skip
    """log(sum w a / sum w b) per group; a group whose best shift is minus infinity goes far down instead."""
    a, b = terms(y, eta)
    w = 1.0 if weight is None else weight
    top, bottom = sum_by(group, w * a, n_groups), sum_by(group, w * b, n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(top / bottom)
    return np.where(bottom > 0, np.maximum(np.nan_to_num(log_ratio), -20.0), 0.0)


@declared
class CustomLoss(Loss):
    """A loss given by a function (y, score) -> (gradient, hessian), as gradient boosting libraries take them.

    ``measure``, where given, is (y, score) -> loss of each row, for curves and early stopping.

    >>> quartic = CustomLoss(function=lambda y, s: ((s - y) ** 3, 3 * (s - y) ** 2 + 1e-6))
    >>> quartic.gradient(np.array([1.0]), np.array([3.0]))
    array([8.])
    """

    function: Any = param(None, doc="Function of target and score that gives gradient and hessian.")
    measure: Any = param(None, doc="Function of target and score that gives the loss of each row.")
    k: int = param(1, low=1, doc="Scores per row.")

    _longest: ClassVar[float] = np.inf

    @property
    def n_scores(self) -> int:
        """As told."""
        return self.k

    def _both(self, y: Any, eta: Floats) -> tuple[Floats, Floats]:
        g, h = (np.asarray(part, dtype=np.float64) for part in self.function(y, eta))
        for name, part in (("gradient", g), ("hessian", h)):
            if part.shape != eta.shape or not np.isfinite(part).all():
                problem = f"shape {part.shape}" if part.shape != eta.shape else "numbers that are not finite"
                raise ValueError(f"The custom loss must give a finite {name} of shape {eta.shape}; it gave {problem}.")
        return g, h

    @property
    def by_row(self) -> bool:
        """A function of the user's may look at all rows at once."""
        return False

    def value(self, y: Any, eta: Floats) -> Floats:
        """What ``measure`` says."""
        if self.measure is None:
            raise ValueError(
                "The custom loss gives gradients only, so its value is not known; give CustomLoss(function=..., "
                "measure=...) for curves and early stopping."
            )
        return np.asarray(self.measure(y, eta), dtype=np.float64)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """The first of the two."""
        return self._both(y, eta)[0]

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """The second of the two."""
        return self._both(y, eta)[1]

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """One call for both."""
        g, h = self._both(y, eta)
        gradient[...] = g
        _weigh(gradient, weight)
        if hessian is not None:
            hessian[...] = h
            _weigh(hessian, weight)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Where the summed gradient is zero (0 for several scores)."""
        if self.k > 1:
            return np.zeros(self.k)
        return self.shift(y, np.zeros(len(y)), weight, np.zeros(len(y), dtype=np.int32), 1)


#: Losses of numbers by the names that regressors accept.
NAMED: dict[str, type[Loss]] = {
    "squared_error": Squared,
    "absolute_error": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
}
