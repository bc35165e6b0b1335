"""Penalties: what large or many weights cost. A penalty knows the weights w, nothing of the data.

The cost of a linear model is J(w) = mean loss + penalty(w); the intercept is never penalised. ``alpha`` is the
lambda of structural risk minimisation. Weights are [p], or [p, k] for k scores.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth.params import declared, param, stored
from tilth.parts.part import Part

Floats = NDArray[np.float64]


@declared
class Penalty(Part):
    """Base of all penalties.

    ``smooth``: a gradient everywhere. ``separable``: a sum over single weights, so that :meth:`prox` works on each.
    """

    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    #: Whether the penalty jumps at zero, so that derivatives say nothing about a weight there.
    discontinuous: ClassVar[bool] = False
    #: Number by which the compiled coordinate descent knows the penalty; -1: it does not.
    code: ClassVar[int] = -1

    alpha: float = param(
        1.0, low=0, scale="log", tune=(1e-4, 1e2), positional=True,
        doc="lambda: weight of the penalty relative to the mean loss.",
    )  # fmt: skip

    @classmethod
    def priced(cls, alpha: float, **shape: float) -> Penalty:
        """This penalty, or none where its strength is zero: then weights must be unique without it."""
        return cls(alpha=alpha, **shape) if alpha > 0 else NoPenalty()

    def value(self, w: Floats) -> float:
        """Penalty of the weights."""
        raise NotImplementedError

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """argmin_u |u - w|^2 / 2 + step * penalty(u), weight by weight."""
        raise NotImplementedError

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """Distance of the negative gradient of the loss from the subdifferential at w, weight by weight."""
        raise NotImplementedError

    def gradient(self, w: Floats) -> Floats:
        """Derivative, of smooth penalties."""
        raise NotImplementedError

    def strongest(self, gradient: Floats) -> float:
        """The least strength at which all weights are zero, given the gradient of the loss there; infinity: none."""
        return float("inf")

    def numbers(self) -> tuple[float, ...]:
        """What the compiled form needs besides its code: (l1, l2, shape)."""
        return (0.0, 0.0, 0.0)

    def times(self, factor: float) -> Self:
        """The same penalty, stronger by a factor."""
        return dataclasses.replace(self, alpha=self.alpha * factor)

    def adapted(self, owners: Sequence[str]) -> Self:
        """The penalty with what it takes from the names of the columns that the weights belong to."""
        return self

    def whole(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The weights that must be solved for together with the chosen ones."""
        return chosen

    def pick(self, columns: NDArray[np.int64], n_weights: int) -> Self:
        """The same penalty on some of ``n_weights`` weights."""
        return self


@stored
@declared
class NoPenalty(Penalty):
    """penalty = 0."""

    smooth: ClassVar[bool] = True
    code: ClassVar[int] = 0

    alpha: float = param(0.0, low=0, high=0, positional=True, doc="Always 0.")

    def value(self, w: Floats) -> float:
        """Zero."""
        return 0.0

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """The weights as they are."""
        return w

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g|."""
        return np.abs(gradient)

    def gradient(self, w: Floats) -> Floats:
        """Zero."""
        return np.zeros_like(w)

    def times(self, factor: float) -> Self:
        """Nothing to change."""
        return self


@stored
@declared
class L2(Penalty):
    """penalty = lambda / 2 |w|^2: a Gaussian prior on the weights.

    >>> L2(0.5).value(np.array([1.0, 2.0]))
    1.25
    """

    smooth: ClassVar[bool] = True
    code: ClassVar[int] = 0

    def value(self, w: Floats) -> float:
        """lambda / 2 |w|^2."""
        # Not a product of the linear algebra library: its threads go on spinning and hold up the rows' own.
        flat = np.ravel(w)
        return 0.5 * self.alpha * float(np.einsum("i,i->", flat, flat))

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """w / (1 + step lambda)."""
        return np.asarray(w / (1.0 + step * self.alpha))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + lambda w|."""
        return np.abs(gradient + self.alpha * w)

    def gradient(self, w: Floats) -> Floats:
        """lambda w."""
        return self.alpha * w

    def numbers(self) -> tuple[float, ...]:
        """Its strength is l2."""
        return (0.0, self.alpha, 0.0)


@stored
@declared
class L1(Penalty):
    """penalty = lambda sum |w_j|: a Laplace prior; weights that do not pay become exactly zero.

    >>> L1(1.0).prox(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """

    code: ClassVar[int] = 0

    def value(self, w: Floats) -> float:
        """lambda sum |w|."""
        return self.alpha * float(np.abs(w).sum())

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """Soft threshold at step lambda."""
        return np.asarray(np.sign(w) * np.maximum(np.abs(w) - step * self.alpha, 0.0))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + lambda sign(w)|, and at zero how far |g| is above lambda."""
        at_zero = np.maximum(np.abs(gradient) - self.alpha, 0.0)
        return np.where(w == 0, at_zero, np.abs(gradient + self.alpha * np.sign(w)))

    def strongest(self, gradient: Floats) -> float:
        """max |g|."""
        return float(np.abs(gradient).max(initial=0.0))

    def numbers(self) -> tuple[float, ...]:
        """Its strength is l1."""
        return (self.alpha, 0.0, 0.0)


@stored
@declared
class ElasticNet(Penalty):
    """penalty = lambda [ratio sum |w_j| + (1 - ratio) / 2 |w|^2]: zeros like L1, but columns that say the same share.

    >>> ElasticNet(1.0, ratio=0.5).value(np.array([1.0, -2.0]))
    2.75
    """

    code: ClassVar[int] = 0

    ratio: float = param(0.5, low=0, high=1, doc="Share of the L1 part: 1 is L1, 0 is L2.")

    def _l1(self) -> L1:
        return L1(alpha=self.alpha * self.ratio)

    def _l2(self) -> L2:
        return L2(alpha=self.alpha * (1.0 - self.ratio))

    def value(self, w: Floats) -> float:
        """Both parts."""
        return self._l1().value(w) + self._l2().value(w)

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """Soft threshold, then shrink."""
        return self._l2().prox(self._l1().prox(w, step), step)

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """That of L1 with the gradient of the L2 part added."""
        return self._l1().violation(w, gradient + self._l2().gradient(w))

    def strongest(self, gradient: Floats) -> float:
        """max |g| / ratio; a pure L2 penalty leaves no weight at zero."""
        return self._l1().strongest(gradient) / self.ratio if self.ratio > 0 else float("inf")

    def numbers(self) -> tuple[float, ...]:
        """The strengths of both parts."""
        return (self.alpha * self.ratio, self.alpha * (1.0 - self.ratio), 0.0)


# ------------------------------------------------------------------------------------------- penalties that level off


class _LevelsOff(Penalty):
    """Separable penalties that start like L1 and end flat, so that large weights are not shrunk."""

    convex: ClassVar[bool] = False

    def _height(self, u: Floats) -> Floats:
        """Penalty of |w|, weight by weight."""
        raise NotImplementedError

    def _slope(self, u: Floats) -> Floats:
        """Its derivative in |w| > 0."""
        raise NotImplementedError

    def _candidates(self, v: Floats, step: Floats) -> list[Floats]:
        """Where the prox of v >= 0 may be, one per piece of the penalty, smallest first."""
        raise NotImplementedError

    def value(self, w: Floats) -> float:
        """Summed over the weights."""
        return float(self._height(np.abs(w)).sum())

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """The best of the candidates of each piece: exact also where the problem is not convex."""
        v = np.abs(w)
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), v.shape)
        candidates = np.stack([np.zeros_like(v), *self._candidates(v, steps)])
        costs = 0.5 * (candidates - v) ** 2 + steps * self._height(candidates)
        return np.asarray(np.sign(w) * np.take_along_axis(candidates, costs.argmin(axis=0)[None], axis=0)[0])

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + slope sign(w)|, and at zero how far |g| is above lambda."""
        at_zero = np.maximum(np.abs(gradient) - self.alpha, 0.0)
        return np.where(w == 0, at_zero, np.abs(gradient + np.sign(w) * self._slope(np.abs(w))))

    def strongest(self, gradient: Floats) -> float:
        """max |g|."""
        return float(np.abs(gradient).max(initial=0.0))


def _inside(top: Floats, bottom: Floats, v: Floats, low: float, high: float) -> Floats:
    """top / bottom within [low, high]; a piece that is not convex (bottom <= 0) has its least value at an end, which is
    among the candidates of its neighbours."""
    safe = np.where(bottom > 0, bottom, 1.0)
    return np.asarray(np.clip(np.where(bottom > 0, top / safe, v), low, high))


@stored
@declared
class MCP(_LevelsOff):
    """Minimax concave penalty: lambda |w| - w^2 / (2 gamma) up to |w| = gamma lambda, then gamma lambda^2 / 2.

    Its slope falls from lambda to zero, so that weights that are surely not zero are not shrunk.

    >>> MCP(1.0, gamma=3.0).prox(np.array([0.5, 2.0, 5.0]), 1.0)
    array([0. , 1.5, 5. ])
    """

    code: ClassVar[int] = 1

    gamma: float = param(3.0, low=1, low_open=True, doc="Where the penalty levels off: at gamma lambda.")

    def _height(self, u: Floats) -> Floats:
        edge = self.gamma * self.alpha
        return np.where(u < edge, self.alpha * u - u * u / (2 * self.gamma), 0.5 * self.gamma * self.alpha**2)

    def _slope(self, u: Floats) -> Floats:
        return np.maximum(self.alpha - u / self.gamma, 0.0)

    def _candidates(self, v: Floats, step: Floats) -> list[Floats]:
        edge = self.gamma * self.alpha
        return [_inside(v - step * self.alpha, 1.0 - step / self.gamma, v, 0.0, edge), np.maximum(v, edge)]

    def numbers(self) -> tuple[float, ...]:
        """Strength and gamma."""
        return (self.alpha, 0.0, self.gamma)


@stored
@declared
class SCAD(_LevelsOff):
    """Smoothly clipped absolute deviation: slope lambda up to |w| = lambda, falling to zero at a lambda, then flat.

    >>> SCAD(1.0, a=3.7).prox(np.array([0.5, 1.5, 5.0]), 1.0)
    array([0. , 0.5, 5. ])
    """

    code: ClassVar[int] = 2

    a: float = param(3.7, low=2, low_open=True, doc="Where the penalty levels off: at a lambda.")

    def _height(self, u: Floats) -> Floats:
        s, a = self.alpha, self.a
        middle = (2 * a * s * u - u * u - s * s) / (2 * (a - 1))
        return np.where(u <= s, s * u, np.where(u < a * s, middle, 0.5 * s * s * (a + 1)))

    def _slope(self, u: Floats) -> Floats:
        falling = np.maximum(self.a * self.alpha - u, 0.0) / (self.a - 1)
        return np.where(u <= self.alpha, self.alpha, falling)

    def _candidates(self, v: Floats, step: Floats) -> list[Floats]:
        s, a = self.alpha, self.a
        return [
            np.clip(v - step * s, 0.0, s),
            _inside((a - 1) * v - step * a * s, a - 1 - step, v, s, a * s),
            np.maximum(v, a * s),
        ]

    def numbers(self) -> tuple[float, ...]:
        """Strength and a."""
        return (self.alpha, 0.0, self.a)


@stored
@declared
class L0(Penalty):
    """penalty = lambda (number of weights that are not zero): what L1 stands in for.

    Every support is a valley of its own, so conditions on derivatives say nothing about a weight at zero; descent finds
    a set that no single change improves, and the search over all subsets finds the best one for few columns.

    >>> L0(0.5).prox(np.array([0.9, -1.1]), 1.0)
    array([ 0. , -1.1])
    """

    convex: ClassVar[bool] = False
    discontinuous: ClassVar[bool] = True
    code: ClassVar[int] = 3

    def value(self, w: Floats) -> float:
        """lambda times the count."""
        return self.alpha * float(np.count_nonzero(w))

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """The weight itself where w^2 / 2 is above step lambda, else zero."""
        return np.asarray(np.where(0.5 * w * w > step * self.alpha, w, 0.0))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g| of the weights that are not zero."""
        return np.where(w == 0, 0.0, np.abs(gradient))

    def numbers(self) -> tuple[float, ...]:
        """Its strength."""
        return (self.alpha, 0.0, 0.0)


# ------------------------------------------------------------------------------------------------------------- groups


@stored
@declared
class GroupLasso(Penalty):
    """penalty = lambda sum_g sqrt(size of g) |w_g|: the weights of a group are zero together or not at all.

    ``groups`` names the group of every weight; None makes the weights of one column of the table (the levels of a
    nominal column, say) a group. The weights of each score have groups of their own.

    >>> GroupLasso(1.0, groups=(0, 0, 1)).prox(np.array([3.0, 4.0, 0.5]), 1.0).round(3)
    array([2.151, 2.869, 0.   ])
    """

    separable: ClassVar[bool] = False
    code: ClassVar[int] = 4

    groups: Any = param(None, doc="Group of each weight, in the order of the weights; None: a group per column.")

    def adapted(self, owners: Sequence[str]) -> Self:
        """With a group per column, unless groups were given."""
        if self.groups is not None:
            return self
        order = {name: i for i, name in enumerate(dict.fromkeys(owners))}
        return dataclasses.replace(self, groups=tuple(order[name] for name in owners))

    def codes(self, n_weights: int) -> NDArray[np.int64]:
        """Number of the group of each weight, from 0."""
        if self.groups is None:
            return np.arange(n_weights)
        codes = np.unique(np.asarray(self.groups), return_inverse=True)[1].ravel()
        if len(codes) != n_weights:
            raise ValueError(
                f"GroupLasso needs the group of each weight; groups has {len(codes)} entries for {n_weights} weights. "
                "Levels of nominal columns have a weight each; groups=None makes every column a group."
            )
        return codes

    def _measured(self, x: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """(group of each weight, |x_g| [g] or [g, k], sqrt(size of g) in the same shape)."""
        codes = self.codes(len(x))
        squares = np.zeros((int(codes.max(initial=-1)) + 1, *x.shape[1:]))
        np.add.at(squares, codes, x * x)
        size = np.sqrt(np.bincount(codes, minlength=len(squares)).astype(np.float64))
        return codes, np.sqrt(squares), size if x.ndim == 1 else size[:, None]

    def value(self, w: Floats) -> float:
        """lambda sum of sqrt(size) |w_g|."""
        _, norm, size = self._measured(w)
        return self.alpha * float((size * norm).sum())

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """The length of each group less step lambda sqrt(size); steps are the same within a group."""
        codes, norm, size = self._measured(w)
        length = norm[codes]
        safe = np.where(length > 0, length, 1.0)
        return np.asarray(w * np.maximum(1.0 - step * self.alpha * size[codes] / safe, 0.0))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + lambda sqrt(size) w / |w_g||; in a group of zeros how far |g_g| is above lambda sqrt(size)."""
        codes, norm, size = self._measured(w)
        above = np.maximum(self._measured(gradient)[1] - self.alpha * size, 0.0)[codes]
        length = norm[codes]
        safe = np.where(length > 0, length, 1.0)
        return np.where(length == 0, above, np.abs(gradient + self.alpha * size[codes] * w / safe))

    def strongest(self, gradient: Floats) -> float:
        """max |g_g| / sqrt(size)."""
        _, norm, size = self._measured(gradient)
        return float((norm / size).max(initial=0.0))

    def whole(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """All weights of the groups that were touched."""
        codes = self.codes(len(chosen))
        touched = np.zeros(int(codes.max(initial=-1)) + 1, dtype=bool)
        touched[codes[chosen]] = True
        return touched[codes]

    def pick(self, columns: NDArray[np.int64], n_weights: int) -> Self:
        """The same penalty on some weights: whole groups."""
        return dataclasses.replace(self, groups=tuple(self.codes(n_weights)[columns].tolist()))

    def numbers(self) -> tuple[float, ...]:
        """Its strength is l1."""
        return (self.alpha, 0.0, 0.0)
