"""Losses of classes: logistic and exponential for two, softmax for many."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax

from tilth import _core
from tilth.params import declared, param, stored
from tilth.parts.losses import Loss, Serves, kept_rows, safe_exp, sum_by
from tilth.parts.sigmoids import NAMED as SIGMOIDS
from tilth.parts.sigmoids import (
    ComplementaryLogLogSigmoid,
    GeneralisedLogisticSigmoid,
    LogisticSigmoid,
    NormalSigmoid,
    UnitSigmoid,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def _inner(share: Any) -> Floats:
    """A probability, kept away from 0 and 1 so that its logit is finite."""
    small = np.finfo(np.float64).eps
    return np.clip(np.asarray(share, dtype=np.float64), small, 1 - small)


def _not_a_share(y: Any) -> str | None:
    outside = np.asarray(y)[(np.asarray(y) < 0) | (np.asarray(y) > 1)]
    return f"needs classes coded 0 and 1, found {outside[0]:g}" if outside.size else None


@stored
@declared
class Logistic(Loss):
    """Two classes: L = -[y log p + (1 - y) log(1 - p)] = log(1 + e^eta) - y eta with p = 1 / (1 + e^-eta).

    eta is the log-odds; its link is the logit, and the inverse of the logit is the logistic function.

    >>> Logistic().inverse(Logistic().link(0.25)).item()
    0.25
    """

    serves: ClassVar[Serves] = "two classes"
    lipschitz: ClassVar[float | None] = 0.25

    def value(self, y: Any, eta: Floats) -> Floats:
        """Cross-entropy."""
        return np.logaddexp(0.0, eta) - y * eta

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """p - y."""
        return expit(eta) - y

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """p (1 - p)."""
        return expit(eta) * expit(-eta)

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Compiled."""
        _core.logistic_gradient(y, eta, weight, gradient, np.empty_like(gradient) if hessian is None else hessian)

    def link(self, mean: Any) -> Floats:
        """log(p / (1 - p))."""
        return np.asarray(logit(_inner(mean)))

    def inverse(self, eta: Any) -> Floats:
        """1 / (1 + e^-eta)."""
        return np.asarray(expit(eta))

    def problem(self, y: Any) -> str | None:
        """Classes are 0 and 1 (a share between them is a soft label)."""
        return _not_a_share(y)


@stored
@declared
class Exponential(Loss):
    """Two classes, AdaBoost's loss: L = e^(-z eta) with z = 2y - 1; eta = log(p / (1 - p)) / 2."""

    serves: ClassVar[Serves] = "two classes"

    def value(self, y: Any, eta: Floats) -> Floats:
        """e to the negative margin."""
        return safe_exp(-(2 * y - 1) * eta)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-z e^(-z eta)."""
        z = 2 * y - 1
        return -z * safe_exp(-z * eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """z^2 e^(-z eta)."""
        z = 2 * y - 1
        return z * z * safe_exp(-z * eta)

    def link(self, mean: Any) -> Floats:
        """Half the log-odds."""
        return 0.5 * np.asarray(logit(_inner(mean)))

    def inverse(self, eta: Any) -> Floats:
        """1 / (1 + e^(-2 eta))."""
        return np.asarray(expit(2.0 * np.asarray(eta)))

    def problem(self, y: Any) -> str | None:
        """Classes are 0 and 1."""
        return _not_a_share(y)

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """log(weight of the ones / weight of the zeros) / 2, weights being those of AdaBoost: w e^(-z eta)."""
        y, eta, weight, group = kept_rows(y, eta, weight, group)
        mass = (1.0 if weight is None else weight) * self.value(y, eta)
        ones, whole = sum_by(group, mass * y, n_groups), sum_by(group, mass, n_groups)
        return np.where(whole > 0, self.link(ones / np.where(whole > 0, whole, 1.0)), 0.0)


@stored
@declared
class Softmax(Loss):
    """k classes, y in 0 .. k-1: L = -log p_y with p_c = e^eta_c / sum e^eta; only differences of scores matter.

    The hessian given is its diagonal p_c (1 - p_c).
    """

    serves: ClassVar[Serves] = "classes"
    lipschitz: ClassVar[float | None] = 0.5
    k: int = param(3, low=1, doc="Number of classes.")

    @property
    def n_scores(self) -> int:
        """One per class."""
        return self.k

    def value(self, y: Any, eta: Floats) -> Floats:
        """-log of the probability of the true class."""
        return np.asarray(logsumexp(eta, axis=1)) - np.take_along_axis(eta, np.asarray(y)[:, None], axis=1)[:, 0]

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """p_c - [c = y]."""
        out = self.inverse(eta)
        out[np.arange(len(out)), y] -= 1.0
        return out

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """p_c (1 - p_c)."""
        p = self.inverse(eta)
        return p * (1.0 - p)

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Compiled, for scores in Fortran order."""
        spare = np.empty_like(gradient) if hessian is None else hessian
        _core.softmax_gradient(y, np.asfortranarray(eta), weight, gradient, spare)

    def link(self, mean: Any) -> Floats:
        """Logarithms, less their mean."""
        logs = np.log(np.maximum(np.asarray(mean, dtype=np.float64), np.finfo(np.float64).eps))
        return np.asarray(logs - logs.mean(axis=-1, keepdims=True))

    def inverse(self, eta: Any) -> Floats:
        """Softmax of each row."""
        return np.asarray(softmax(np.asarray(eta, dtype=np.float64), axis=-1))

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Logarithms of the class shares."""
        counts = np.bincount(y, weights=weight, minlength=self.k)
        return self.link(counts / counts.sum())

    def problem(self, y: Any) -> str | None:
        """Codes of classes."""
        y = np.asarray(y)
        outside = y[(y < 0) | (y >= self.k)]
        return f"needs class codes from 0 to {self.k - 1}, found {outside[0]}" if outside.size else None

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """Not one number: boosting takes the Newton step of each class instead."""
        raise TypeError("Softmax: the best shift of several scores at once has no single number per group.")


@stored
@declared
class SigmoidLoss(Loss):
    """Two classes whose probability is a sigmoid F of the score: L = -[y log F(eta) + (1 - y) log(1 - F(eta))].

    ``sigmoid`` has the range (0, 1): a word or a part. With "logit" this is :class:`Logistic`, by longer formulas.

    >>> SigmoidLoss(sigmoid="probit").value(np.array([1.0, 1.0]), np.array([0.0, -40.0])).round(4)
    array([6.931000e-01, 8.046084e+02])
    """

    serves: ClassVar[Serves] = "two classes"
    sigmoid: Any = param(
        "probit", options=tuple(SIGMOIDS), also=(UnitSigmoid,), doc="Probability of the second class, by the score."
    )

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether log F and log(1 - F) are known to be concave; heavy tails (cauchit, Student's t) are not."""
        return isinstance(self._f, _LOG_CONCAVE)

    @property
    def _f(self) -> UnitSigmoid:
        return SIGMOIDS[self.sigmoid]() if isinstance(self.sigmoid, str) else self.sigmoid

    def value(self, y: Any, eta: Floats) -> Floats:
        """Cross-entropy, by the logarithms of the sigmoid: no 1 - p is formed."""
        up, down = self._f.log_value(eta), self._f.log_complement(eta)
        return -np.where(y > 0, y * up, 0.0) - np.where(y < 1, (1 - y) * down, 0.0)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-y f / F + (1 - y) f / (1 - F)."""
        eta = np.asarray(eta, dtype=np.float64)
        slope = self._f.derivative(eta)
        return -y * _log_slope(self._f.log_value, slope, eta) - (1 - y) * _log_slope(
            self._f.log_complement, -slope, eta
        )

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Central difference of the gradient: a sigmoid need not know its second derivative."""
        step = _STEP * (1.0 + np.abs(eta))
        return np.asarray((self.gradient(y, eta + step) - self.gradient(y, eta - step)) / (2 * step))

    def link(self, mean: Any) -> Floats:
        """The score at which F has this value."""
        return self._f.inverse(_inner(mean))

    def inverse(self, eta: Any) -> Floats:
        """F."""
        return self._f.value(eta)

    def problem(self, y: Any) -> str | None:
        """Classes are 0 and 1."""
        return _not_a_share(y)


#: Sigmoids F for which both log F and log(1 - F) are concave, so that the loss is convex.
_LOG_CONCAVE = (LogisticSigmoid, GeneralisedLogisticSigmoid, NormalSigmoid, ComplementaryLogLogSigmoid)
#: Relative step of central differences.
_STEP = 1e-5


def _log_slope(log_of: Any, slope: Floats, eta: Floats) -> Floats:
    """slope / e^log_of(eta); far out, where both are too small for a float, a difference quotient of the logarithm."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sign(slope) * np.exp(np.log(np.abs(slope)) - log_of(eta))
    lost = (np.abs(slope) < 1e-290) | ~np.isfinite(ratio)
    if lost.any():
        far = eta[lost]
        step = _STEP * (1.0 + np.abs(far))
        ratio[lost] = (log_of(far + step) - log_of(far - step)) / (2 * step)
    return np.asarray(ratio)


@stored
@declared
class OneVersusAll(Loss):
    """k classes as k questions "this class or another": L = sum_c l([y = c], eta_c) for a loss l of two classes.

    With the logistic loss (``loss=None``) this is the sum of k binary cross-entropies of independent outputs, which is
    not the softmax cross-entropy: for p = (.7, .1, .1, .1) and the first class it is .6728, the other .3567.

    >>> four = OneVersusAll(k=4)
    >>> four.value(np.array([0]), four.link([[0.7, 0.1, 0.1, 0.1]])).round(4)
    array([0.6728])
    """

    serves: ClassVar[Serves] = "classes"
    k: int = param(3, low=1, doc="Number of classes.")
    loss: Any = param(None, also=(Loss,), doc="Loss of each question; None: the logistic loss.")

    @property
    def one(self) -> Loss:
        """The loss of each question."""
        return Logistic() if self.loss is None else self.loss

    @property
    def n_scores(self) -> int:
        """One per class."""
        return self.k

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """As the loss of each question."""
        return self.one.smooth

    @property
    def curved(self) -> bool:  # type: ignore[override]
        """As the loss of each question."""
        return self.one.curved

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """As the loss of each question."""
        return self.one.convex

    @property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """As the loss of each question."""
        return self.one.lipschitz

    def answers(self, y: Any) -> Floats:
        """[y = c] for every row and class."""
        return (np.asarray(y)[:, None] == np.arange(self.k)).astype(np.float64)

    def value(self, y: Any, eta: Floats) -> Floats:
        """Sum over the questions."""
        return np.asarray(self.one.value(self.answers(y), eta).sum(axis=1))

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """Of each question."""
        return self.one.gradient(self.answers(y), eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Of each question; questions do not meet, so this is all of it."""
        return self.one.hessian(self.answers(y), eta)

    def link(self, mean: Any) -> Floats:
        """Of each question."""
        return self.one.link(mean)

    def inverse(self, eta: Any) -> Floats:
        """Probabilities of the questions, divided by their sum."""
        shares = np.asarray(self.one.inverse(np.asarray(eta, dtype=np.float64)))
        whole = shares.sum(axis=-1, keepdims=True)
        return np.where(whole > 0, shares / np.where(whole > 0, whole, 1.0), softmax(eta, axis=-1))

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The best constant of each question."""
        return np.concatenate([self.one.start(column, weight) for column in self.answers(y).T])

    def problem(self, y: Any) -> str | None:
        """Codes of classes."""
        return Softmax(k=self.k).problem(y)

    def shift(self, y: Any, eta: Floats, weight: Floats | None, group: Ints, n_groups: int) -> Floats:
        """Not one number."""
        return Softmax(k=self.k).shift(y, eta, weight, group, n_groups)
