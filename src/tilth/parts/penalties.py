"""Penalties: what large or many weights cost. A penalty knows the weights w, nothing of the data.

The cost of a linear model is J(w) = mean loss + penalty(w); the intercept is never penalised. ``strength`` is the lambda
of structural risk minimisation. Weights are [p], or [p, k] for k scores.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth.params import declared, param
from tilth.parts.part import Part

Floats = NDArray[np.float64]


@declared
class Penalty(Part):
    """Base of all penalties.

    ``smooth``: a gradient everywhere. ``separable``: a sum over single weights, so that :meth:`prox` works on each alone.
    """

    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    #: Number by which the compiled coordinate descent knows the penalty; -1: it does not.
    code: ClassVar[int] = -1

    strength: float = param(
        1.0, low=0, scale="log", tune=(1e-4, 1e2), positional=True, doc="lambda: how much the penalty counts beside the mean loss."
    )  # fmt: skip

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
        return dataclasses.replace(self, strength=self.strength * factor)


@declared
class NoPenalty(Penalty):
    """penalty = 0."""

    smooth: ClassVar[bool] = True
    code: ClassVar[int] = 0

    strength: float = param(0.0, low=0, high=0, positional=True, doc="Always 0.")

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
        return 0.5 * self.strength * float(np.vdot(w, w))

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """w / (1 + step lambda)."""
        return np.asarray(w / (1.0 + step * self.strength))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + lambda w|."""
        return np.abs(gradient + self.strength * w)

    def gradient(self, w: Floats) -> Floats:
        """lambda w."""
        return self.strength * w

    def numbers(self) -> tuple[float, ...]:
        """Its strength is l2."""
        return (0.0, self.strength, 0.0)


@declared
class L1(Penalty):
    """penalty = lambda sum |w_j|: a Laplace prior; weights that do not pay become exactly zero.

    >>> L1(1.0).prox(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """

    code: ClassVar[int] = 0

    def value(self, w: Floats) -> float:
        """lambda sum |w|."""
        return self.strength * float(np.abs(w).sum())

    def prox(self, w: Floats, step: Floats | float) -> Floats:
        """Soft threshold at step lambda."""
        return np.asarray(np.sign(w) * np.maximum(np.abs(w) - step * self.strength, 0.0))

    def violation(self, w: Floats, gradient: Floats) -> Floats:
        """|g + lambda sign(w)|, and at zero how far |g| is above lambda."""
        at_zero = np.maximum(np.abs(gradient) - self.strength, 0.0)
        return np.where(w == 0, at_zero, np.abs(gradient + self.strength * np.sign(w)))

    def strongest(self, gradient: Floats) -> float:
        """max |g|."""
        return float(np.abs(gradient).max(initial=0.0))

    def numbers(self) -> tuple[float, ...]:
        """Its strength is l1."""
        return (self.strength, 0.0, 0.0)
