"""Cuts: where ordinary ends. Each turns anomaly scores of ordinary rows (high = strange) into a level."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.params import declared, param, stored
from tilth.stats.folds import draw, without

Floats = NDArray[np.float64]


@declared
class Cut:
    """A rule for the level above which a row is called an anomaly."""

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """The level, from scores of training rows and their weights."""
        raise NotImplementedError

    def __repr__(self) -> str:
        values = ", ".join(f"{v:g}" if isinstance(v, float) else repr(v) for v in vars(self).values())
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


@stored
@declared
class Share(Cut):
    """The strangest ``share`` of the training rows lie above, as nearly as ties allow.

    >>> Share(0.2).level(np.array([1.0, 2.0, 3.0, 4.0, 50.0]), None)
    4.0
    """

    share: float = param(0.1, low=0, low_open=True, high=0.5, positional=True, doc="Share of the rows above the cut.")

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """The score that ``share`` of the weight lies strictly above."""
        order = np.argsort(-scores, kind="stable")
        upto = np.arange(1.0, len(scores) + 1) if weight is None else np.cumsum(weight[order])
        first = int(np.searchsorted(upto, self.share * upto[-1] * (1 + 1e-9), side="right"))
        return float(scores[order[min(first, len(scores) - 1)]])


@stored
@declared
class Sigma(Cut):
    """mean + k standard deviations of the training scores.

    >>> Sigma(2).level(np.array([0.0, 2.0]), None)
    3.0
    """

    k: float = param(3.0, low=0, low_open=True, positional=True, doc="Standard deviations above the mean.")

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """mean + k sigma."""
        mean = float(np.average(scores, weights=weight))
        return mean + self.k * math.sqrt(float(np.average((scores - mean) ** 2, weights=weight)))


@stored
@declared
class Fixed(Cut):
    """A level that is known beforehand."""

    at: float = param(0.5, positional=True, doc="The level itself.")

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """The level itself."""
        return float(self.at)


@stored
@declared
class Tail(Cut):
    """A false-alarm rate beyond what the rows can show: a generalised Pareto tail fitted to the highest scores.

    The tail of scores above the quantile 1 - ``start`` is P(s > u + e) = start (1 + xi e / beta)^(-1/xi); the level is
    where it falls to ``rate`` (peaks over threshold, by moments).
    """

    rate: float = param(0.001, low=0, low_open=True, high=0.5, positional=True, doc="Share of ordinary rows above.")
    start: float = param(0.1, low=0, low_open=True, high=0.5, doc="Share of the scores that make the tail.")

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """Where the fitted tail falls to the rate."""
        foot = Share(share=self.start).level(scores, weight)
        above = scores > foot
        mass = np.ones(len(scores)) if weight is None else weight
        share = float(mass[above].sum() / mass.sum())
        if share <= self.rate:
            return Share(share=self.rate).level(scores, weight)
        excess, mass = scores[above] - foot, mass[above]
        mean = float(np.average(excess, weights=mass))
        spread = float(np.average((excess - mean) ** 2, weights=mass))
        ratio = share / self.rate
        if spread <= 0:
            return foot + mean
        shape = 0.5 * (1.0 - mean**2 / spread)
        scale = 0.5 * mean * (mean**2 / spread + 1.0)
        if abs(shape) < 1e-9:
            return foot + scale * math.log(ratio)
        return foot + scale / shape * (ratio**shape - 1.0)


@stored
@declared
class Conformal(Cut):
    """A promised false-alarm rate: the level is a rank of scores of rows that were kept back.

    Of new ordinary rows at most ``rate`` lie above, whatever the detector and the distribution, because the new row
    and the n kept-back rows can be exchanged: the level is the ceil((n + 1)(1 - rate))-th lowest of their scores.
    """

    rate: float = param(0.05, low=0, low_open=True, high=0.5, positional=True, doc="Share of false alarms promised.")
    held_out: float = param(0.3, low=0, low_open=True, high=0.9, doc="Share of the rows kept back to judge by.")
    random_state: int = param(0, low=0, doc="Seed of the division.")

    def divide(self, n: int, owner: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows to learn from and rows to judge by."""
        held = max(1, round(self.held_out * n))
        needed = math.ceil(1.0 / self.rate) - 1
        if held >= n or held < needed:
            raise ValueError(
                f"{owner}: Conformal({self.rate:g}) needs at least {needed} held-out rows; {self.held_out:g} of {n} "
                f"rows are {min(held, n)}. Give more rows, or raise rate or held_out."
            )
        return without(draw(n, held, seed=self.random_state), n)

    def level(self, scores: Floats, weight: Floats | None) -> float:
        """The rank of the held-out scores that keeps the promise."""
        rank = math.ceil((len(scores) + 1) * (1.0 - self.rate) - 1e-9)
        return float(np.sort(scores)[min(rank, len(scores)) - 1])
