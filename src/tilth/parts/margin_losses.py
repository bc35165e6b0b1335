"""Losses of margins: a row costs nothing once its score is far enough on the right side.

Two classes are 0 and 1; z = 2y - 1 is their sign, and z eta the margin of a row.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.params import declared, param, stored
from tilth.parts.losses import Loss, Serves, quantile
from tilth.parts.pieces import Pieces
from tilth.parts.ranking import Groups, RankingLoss

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class _Margin(Loss):
    """Losses of the margin z eta of two classes."""

    serves: ClassVar[Serves] = "two classes"
    curved: ClassVar[bool] = False

    def _sign(self, y: Any) -> Floats:
        return 2.0 * np.asarray(y, dtype=np.float64) - 1.0

    def problem(self, y: Any) -> str | None:
        """Classes are 0 or 1: a margin has no soft labels."""
        y = np.asarray(y)
        outside = y[(y != 0) & (y != 1)]
        return f"needs classes coded 0 and 1, found {outside[0]:g}" if outside.size else None

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The commoner class: its score is 1 or -1, beyond which nothing is gained."""
        share = np.average(self._sign(y), weights=weight)
        return np.array([float(np.sign(share))])


@stored
@declared
class Hinge(_Margin):
    """L = max(0, 1 - z eta): nothing beyond the margin, a straight line before it.

    It equals the slack xi of the form "minimise sum xi with z eta >= 1 - xi, xi >= 0". The derivative jumps at the
    margin; there 0 is given.

    >>> Hinge().value(np.array([1, 1, 0]), np.array([2.0, 0.5, 0.5]))
    array([0. , 0.5, 1.5])
    """

    smooth: ClassVar[bool] = False

    def value(self, y: Any, eta: Floats) -> Floats:
        """The slack."""
        return np.maximum(1.0 - self._sign(y) * eta, 0.0)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-z before the margin."""
        z = self._sign(y)
        return np.where(z * eta < 1.0, -z, 0.0)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def pieces(self, y: Any) -> Pieces:
        """Slopes from 0 to 1."""
        return Pieces(np.ones(len(y)), 0.0, 1.0, sign=self._sign(y))


@stored
@declared
class SquaredHinge(_Margin):
    """L = max(0, 1 - z eta)^2: smooth, and hard on rows far on the wrong side.

    >>> SquaredHinge().value(np.array([1, 1, 0]), np.array([2.0, 0.5, 0.5]))
    array([0.  , 0.25, 2.25])
    """

    lipschitz: ClassVar[float | None] = 2.0

    def value(self, y: Any, eta: Floats) -> Floats:
        """The slack, squared."""
        return np.maximum(1.0 - self._sign(y) * eta, 0.0) ** 2

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-2 z times the slack."""
        z = self._sign(y)
        return -2.0 * z * np.maximum(1.0 - z * eta, 0.0)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Two before the margin."""
        return np.where(self._sign(y) * eta < 1.0, 2.0, 0.0)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The mean of z, as of squared loss."""
        return np.array([float(np.average(self._sign(y), weights=weight))])

    def pieces(self, y: Any) -> Pieces:
        """Slopes from 0, that grow with the slack."""
        return Pieces(np.ones(len(y)), 0.0, np.inf, 0.5, sign=self._sign(y))


@stored
@declared
class HardMargin(_Margin):
    """L = 0 where z eta >= 1, else infinity: every row must keep the margin. Without a solution, the classes overlap.

    >>> HardMargin().value(np.array([1, 1]), np.array([1.0, 0.5]))
    array([ 0., inf])
    """

    smooth: ClassVar[bool] = False

    def value(self, y: Any, eta: Floats) -> Floats:
        """Zero or infinity; a margin that is short by rounding counts as kept."""
        return np.where(self._sign(y) * eta >= 1.0 - 1e-8, 0.0, np.inf)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """Zero, where the loss is finite."""
        return np.zeros_like(eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero, where the loss is finite."""
        return np.zeros_like(eta)

    def pieces(self, y: Any) -> Pieces:
        """Slopes without an upper bound."""
        return Pieces(np.ones(len(y)), 0.0, np.inf, sign=self._sign(y))


@stored
@declared
class PerceptronLoss(_Margin):
    """L = max(0, -z eta): only rows on the wrong side cost; a step along -gradient is the perceptron's z x.

    Any separating weights cost nothing, however small the margin, and so do weights of zero.

    >>> PerceptronLoss().gradient(np.array([1, 1]), np.array([-0.5, 0.5]))
    array([-1.,  0.])
    """

    smooth: ClassVar[bool] = False

    def value(self, y: Any, eta: Floats) -> Floats:
        """How far a row is on the wrong side."""
        return np.maximum(-self._sign(y) * eta, 0.0)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-z where z eta <= 0: a score of zero is an error too, or weights of zero would never move."""
        z = self._sign(y)
        return np.where(z * eta <= 0.0, -z, 0.0)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Zero."""
        return np.zeros(1)

    def pieces(self, y: Any) -> Pieces:
        """The hinge with its corner at zero."""
        return Pieces(np.zeros(len(y)), 0.0, 1.0, sign=self._sign(y))


# ------------------------------------------------------------------------------------------------------------ numbers


@stored
@declared
class EpsilonInsensitive(Loss):
    """L = max(0, |y - eta| - epsilon): errors inside a tube of this half-width cost nothing.

    >>> EpsilonInsensitive(epsilon=1.0).value(np.array([0.0, 0.0]), np.array([0.5, 3.0]))
    array([0., 2.])
    """

    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    epsilon: float = param(0.1, low=0, doc="Half the width of the tube in which errors cost nothing.", tune=(0.01, 1.0))

    def _outside(self, y: Any, eta: Floats) -> Floats:
        return np.maximum(np.abs(y - eta) - self.epsilon, 0.0)

    def value(self, y: Any, eta: Floats) -> Floats:
        """Distance from the tube."""
        return self._outside(y, eta)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-sign(y - eta) outside the tube."""
        return np.where(self._outside(y, eta) > 0, -np.sign(y - eta), 0.0)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The median: as good a beginning as any constant."""
        return np.array([quantile(y, 0.5, weight)])

    def pieces(self, y: Any) -> Pieces:
        """Slopes from -1 to 1 with a dead zone."""
        return Pieces(np.asarray(y, dtype=np.float64), -1.0, 1.0, 0.0, self.epsilon, sign=np.ones(len(y)))


@stored
@declared
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """L = max(0, |y - eta| - epsilon)^2.

    >>> SquaredEpsilonInsensitive(epsilon=1.0).value(np.array([0.0, 0.0]), np.array([0.5, 3.0]))
    array([0., 4.])
    """

    smooth: ClassVar[bool] = True
    lipschitz: ClassVar[float | None] = 2.0

    def value(self, y: Any, eta: Floats) -> Floats:
        """Distance from the tube, squared."""
        return self._outside(y, eta) ** 2

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """-2 sign(y - eta) times the distance from the tube."""
        return -2.0 * np.sign(y - eta) * self._outside(y, eta)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Two outside the tube."""
        return np.where(self._outside(y, eta) > 0, 2.0, 0.0)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """The mean."""
        return np.array([float(np.average(y, weights=weight))])

    def pieces(self, y: Any) -> Pieces:
        """Slopes that grow with the distance from the tube."""
        return Pieces(np.asarray(y, dtype=np.float64), -np.inf, np.inf, 0.5, self.epsilon, sign=np.ones(len(y)))


# ------------------------------------------------------------------------------------------------------- many classes


@declared
class _ManyClasses(Loss):
    """Losses of the lead of the true class over each of the others; y in 0 .. k-1, scores [n, k]."""

    serves: ClassVar[Serves] = "classes"
    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    k: int = param(3, low=2, doc="Number of classes.")
    margin: float = param(1.0, low=0, doc="By how much the true class must lead; 0: as the perceptron has it.")

    @property
    def n_scores(self) -> int:
        """One per class."""
        return self.k

    def problem(self, y: Any) -> str | None:
        """Codes of classes."""
        y = np.asarray(y)
        outside = y[(y < 0) | (y >= self.k)]
        return f"needs class codes from 0 to {self.k - 1}, found {outside[0]}" if outside.size else None

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Zero."""
        return np.zeros(self.k)

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def _slack(self, y: Any, eta: Floats) -> Floats:
        """margin + eta_j - eta_y for the other classes, 0 for the true one."""
        rows = np.arange(len(eta))
        slack = self.margin + eta - eta[rows, y][:, None]
        slack[rows, y] = 0.0
        return slack

    def _pairs(self, y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of the true class and of each other one among all scores, row by row."""
        y = np.asarray(y, dtype=np.int64)
        first = np.arange(len(y)) * self.k
        others = (y[:, None] + np.arange(1, self.k)) % self.k
        return np.repeat(first + y, self.k - 1), (first[:, None] + others).ravel()


@stored
@declared
class WestonWatkins(_ManyClasses):
    """L = sum over j != y of max(0, 1 + eta_j - eta_y): the true class must lead all by 1 (Weston, Watkins 1999).

    >>> WestonWatkins(k=3).value(np.array([0]), np.array([[1.0, 0.5, 0.5]]))
    array([1.])
    """

    def value(self, y: Any, eta: Floats) -> Floats:
        """What every lead lacks, summed."""
        return np.maximum(self._slack(y, eta), 0.0).sum(axis=1)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """1 for a class that is too near; minus their number for the true one."""
        out = (self._slack(y, eta) > 0).astype(np.float64)
        out[np.arange(len(out)), y] = -out.sum(axis=1)
        return out

    def pieces(self, y: Any) -> Pieces:
        """A hinge per row and other class."""
        plus, minus = self._pairs(y)
        return Pieces(np.full(len(plus), self.margin), 0.0, 1.0, plus=plus, minus=minus)


@stored
@declared
class CrammerSinger(_ManyClasses):
    """L = max(0, 1 + largest of the others - eta_y): only the nearest rival counts (Crammer, Singer 2001).

    >>> CrammerSinger(k=3).value(np.array([0]), np.array([[1.0, 0.5, 0.2]]))
    array([0.5])
    """

    def value(self, y: Any, eta: Floats) -> Floats:
        """What the lead over the nearest rival lacks."""
        return self._slack(y, eta).max(axis=1)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """1 for the nearest rival that is too near, -1 for the true class."""
        slack, rows = self._slack(y, eta), np.arange(len(eta))
        rival = slack.argmax(axis=1)
        out = np.zeros_like(eta)
        near = slack[rows, rival] > 0
        out[rows[near], rival[near]] = 1.0
        out[rows[near], np.asarray(y)[near]] = -1.0
        return out

    def pieces(self, y: Any) -> Pieces:
        """One maximum over the other classes per row."""
        plus, minus = self._pairs(y)
        return Pieces(np.full(len(plus), self.margin), 0.0, 1.0, plus=plus, minus=minus, together=self.k - 1)


# ------------------------------------------------------------------------------------------------------------- orders


def ordered_pairs(y: Any, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows (i, j) of one group with y_i > y_j.

    >>> ordered_pairs([2, 1, 1], Groups.of_sizes([3]))
    (array([0, 0]), array([1, 2]))
    """
    y = np.asarray(y, dtype=np.float64)
    code = groups.codes()
    order = np.lexsort((np.arange(len(y)), -y, code))  # in a group: the best first
    sorted_y, sorted_code = y[order], code[order]
    # The rows that a row beats are those after its own grade in its group.
    end = np.searchsorted(sorted_code, sorted_code, side="right")
    change = np.flatnonzero(np.diff(sorted_y) != 0) + 1
    breaks = np.union1d(change, np.flatnonzero(np.diff(sorted_code)) + 1)
    ends = np.append(breaks, len(y))
    first = ends[np.searchsorted(breaks, np.arange(len(y)), side="right")]
    count = np.maximum(end - first, 0)
    better = np.repeat(np.arange(len(y)), count)
    within = np.arange(len(better)) - np.repeat(np.cumsum(count) - count, count)
    worse = np.repeat(first, count) + within
    return order[better].astype(np.int64), order[worse].astype(np.int64)


@stored
@declared
class PairHinge(RankingLoss):
    """L = sum over pairs of one group with y_i > y_j of max(0, 1 - (eta_i - eta_j)): a better row must lead by 1.

    The pairs a row wins are its loss, so that the mean over rows is their sum over n. The groups must be told first:
    ``loss.grouped(groups)`` (Herbrich, Graepel, Obermayer 2000; Joachims 2002).

    >>> PairHinge().grouped(Groups.of_sizes([3])).value(np.array([2.0, 1.0, 0.0]), np.array([1.5, 1.0, 0.0]))
    array([0.5, 0. , 0. ])
    """

    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    top: int = param(0, low=0, high=0, doc="Every pair counts.")

    def value(self, y: Any, eta: Floats) -> Floats:
        """Of each row, what its leads over worse rows lack."""
        better, worse = ordered_pairs(y, self.groups())
        slack = np.maximum(1.0 - (eta[better] - eta[worse]), 0.0)
        return np.asarray(np.bincount(better, weights=slack, minlength=len(eta)), dtype=np.float64)

    def mean(self, y: Any, eta: Floats, weight: Floats | None = None) -> float:
        """Average over rows; a pair has the weight of its better row."""
        return float(np.average(self.value(y, eta), weights=weight))

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Pairs that lack lead push their rows apart."""
        better, worse = ordered_pairs(y, self.groups())
        push = (eta[better] - eta[worse] < 1.0) * (1.0 if weight is None else weight[better])
        n = len(eta)
        gradient[...] = np.bincount(worse, weights=push, minlength=n) - np.bincount(better, weights=push, minlength=n)
        if hessian is not None:
            hessian[...] = 0.0

    def pieces(self, y: Any) -> Pieces:
        """A hinge per pair."""
        better, worse = ordered_pairs(y, self.groups())
        return Pieces(np.ones(len(better)), 0.0, 1.0, plus=better, minus=worse)


@stored
@declared
class OptionHinge(Loss):
    """L = sum over y_a > y_b of max(0, 1 - (eta_a - eta_b)) over the k options of a row, y [n, k] their grades.

    Each option has weights of its own, so that its score depends on the row.

    >>> OptionHinge(k=3).value(np.array([[2.0, 1.0, 0.0]]), np.array([[1.5, 1.0, 0.0]]))
    array([0.5])
    """

    serves: ClassVar[Serves] = "order"
    curved: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    k: int = param(3, low=2, doc="Number of options.")

    @property
    def n_scores(self) -> int:
        """One per option."""
        return self.k

    def _pairs(self, y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        y = np.asarray(y, dtype=np.float64)
        return ordered_pairs(y.ravel(), Groups.of_sizes(np.full(len(y), self.k)))

    def value(self, y: Any, eta: Floats) -> Floats:
        """What the leads of better options lack, summed."""
        plus, minus = self._pairs(y)
        flat = eta.ravel()
        slack = np.maximum(1.0 - (flat[plus] - flat[minus]), 0.0)
        return np.asarray(np.bincount(plus // self.k, weights=slack, minlength=len(eta)), dtype=np.float64)

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """Pairs that lack lead push their options apart."""
        plus, minus = self._pairs(y)
        flat = eta.ravel()
        push = (flat[plus] - flat[minus] < 1.0).astype(np.float64)
        gradient = np.bincount(minus, weights=push, minlength=flat.size) - np.bincount(plus, push, minlength=flat.size)
        return np.asarray(gradient.reshape(eta.shape))

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(eta)

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Zero."""
        return np.zeros(self.k)

    def pieces(self, y: Any) -> Pieces:
        """A hinge per row and pair of options."""
        plus, minus = self._pairs(y)
        return Pieces(np.ones(len(plus)), 0.0, 1.0, plus=plus, minus=minus)
