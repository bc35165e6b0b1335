"""How long a step downhill is: given, searched along the value, or read from the change of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.probe import curvature_along

Floats = NDArray[np.float64]

#: Halvings of a step before the search gives up: 2^-60 of anything is nothing.
_HALVINGS = 60
_EPS = float(np.finfo(float).eps)


class Differentiable(Protocol):
    """A cost as a rate rule sees it."""

    def gradient(self, x: Floats) -> Floats:
        """All partial derivatives."""

    def value(self, x: Floats) -> float:
        """The cost."""


class Rule(Protocol):
    """A rule of step lengths; None when no step helps."""

    reason: str

    def __call__(self, k: int, x: Floats, g: Floats) -> float | None:
        """The rate of step k from x, where the gradient is g."""


class Given:
    """A number, or a schedule of the caller's."""

    reason = "the rate was given"

    def __init__(self, schedule: float | Callable[[int], float], owner: str) -> None:
        self._schedule, self._owner = schedule, owner

    def __call__(self, k: int, x: Floats, g: Floats) -> float:
        """The rate of update k."""
        rate = float(self._schedule(k)) if callable(self._schedule) else float(self._schedule)
        if not (np.isfinite(rate) and rate > 0):
            raise ValueError(f"{self._owner}: a rate must be a positive number; for update {k} it is {rate}.")
        return rate


def first_rate(cost: Differentiable, x: Floats, g: Floats) -> float:
    """1 / curvature along the gradient; a step of length 1 at most where the gradient does not change."""
    curvature = curvature_along(cost.gradient, x, g, g)
    return 1.0 / curvature if curvature > 0 else 1.0 / max(1.0, float(np.linalg.norm(g)))


class LineSearch:
    """Halve until f(x - r g) <= f(x) - c r |g|^2, the condition of Armijo.

    Without momentum the first trial is s.s / s.(change of g) of the last step s (Barzilai and Borwein), which follows
    long valleys. With momentum the rate never grows again and c = 1/2, which asks for r <= 1 / curvature: a remembered
    velocity must not have been made by steps that were too long.
    """

    reason = "a line search along the value"

    def __init__(self, cost: Differentiable, momentum: float) -> None:
        self._cost, self._momentum = cost, momentum
        self._rate = 0.0
        self._last: tuple[Floats, Floats] | None = None

    def __call__(self, k: int, x: Floats, g: Floats) -> float | None:
        """The longest halved trial that lowers the value enough."""
        rate = self._trial(x, g)
        self._last = (x, g)
        value, square = self._cost.value(x), float(g @ g)
        share = 0.5 if self._momentum else 1e-4
        # Near the bottom the values agree to the last digits; there the slope at the new point has to say as much:
        # for a parabola, the condition on the slope is the condition on the value.
        by_slope = rate * square <= 1e4 * _EPS * abs(value)
        for _ in range(_HALVINGS):
            there = x - rate * g
            if by_slope:
                enough = float(self._cost.gradient(there) @ g) >= (2 * share - 1) * square
            else:
                after = self._cost.value(there)
                enough = after < value and after <= value - share * rate * square
            if enough:
                self._rate = rate
                return rate
            rate /= 2
        return None

    def _trial(self, x: Floats, g: Floats) -> float:
        if self._last is None:
            return first_rate(self._cost, x, g)
        if self._momentum:
            return self._rate
        step, change = x - self._last[0], g - self._last[1]
        along = float(step @ change)
        return float(step @ step) / along if along > 0 else 2 * self._rate


class FromGradients:
    """Rates from gradients alone: r_k = min(sqrt(1 + r_{k-1} / r_{k-2}) r_{k-1}, |step| / (2 |change of gradient|)).

    The rule of Malitsky and Mishchenko (2020): it adapts to the curvature met on the way and needs no value.
    """

    reason = "rates from changes of the gradient: there is no value to search along"

    def __init__(self, cost: Differentiable, momentum: float) -> None:
        self._cost, self._shrink = cost, 1.0 - momentum
        self._rate = 0.0
        self._growth = 1.0
        self._last: tuple[Floats, Floats] | None = None

    def __call__(self, k: int, x: Floats, g: Floats) -> float | None:
        """The next rate."""
        if self._last is None:
            rate = first_rate(self._cost, x, g) / 2
        else:
            step, change = np.linalg.norm(x - self._last[0]), np.linalg.norm(g - self._last[1])
            grown = float(np.sqrt(1.0 + self._growth)) * self._rate
            rate = min(grown, float(step / (2 * change))) if min(step, change) > 0 else grown
            self._growth = rate / self._rate
        self._last, self._rate = (x, g), rate
        return rate * self._shrink


class Stage:
    """Updates at one rate with noisy gradients: their average, and whether they still lead anywhere.

    While the way goes somewhere, the squared distance from where the stage began grows as a power of the number of
    passes; once the iterates wander about the optimum it stays. A stage ends when the power over the last third of its
    passes is below 0.6 (the distance test of Pesme, Dieuleveut and Flammarion, 2020); the rate is then halved.
    """

    #: The average weighs update t by about t^3, so that the beginning is soon forgotten.
    _POWER = 3.0
    _RATIO = 1.5

    def __init__(self, x: Floats) -> None:
        self._origin, self._updates, self._passes = x, 0, 0
        self._checked: tuple[int, float] | None = None
        self.average = x

    def update(self, x: Floats) -> None:
        """Take one more iterate into the average."""
        self._updates += 1
        share = (self._POWER + 1) / (self._updates + self._POWER)
        self.average = self.average + share * (x - self.average)

    def wanders(self, x: Floats) -> bool:
        """Whether the stage is over; to be asked once per pass."""
        self._passes += 1
        if self._checked is not None and self._passes < self._RATIO * self._checked[0]:
            return False
        distance = float(np.sum((x - self._origin) ** 2))
        last, self._checked = self._checked, (self._passes, distance)
        if last is None or self._passes < 4:
            return False
        if min(distance, last[1]) == 0.0:
            return True
        return bool(np.log(distance / last[1]) < 0.6 * np.log(self._passes / last[0]))

    def next(self, x: Floats) -> Stage:
        """A new stage from here; the average so far counts as half as many updates."""
        stage = Stage(x)
        stage.average, stage._updates = self.average, self._updates // 2
        return stage
