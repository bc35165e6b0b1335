"""Losses made of straight and square pieces, in the one form that margin solvers take.

A piece is phi(r) = max over low <= u <= high of u r - square u^2 / 2 - dead |u|, where r is an offset less a score, or
less a difference of two scores. The u is its slope, and the dual variable of its row:

    hinge                max(0, r)                 0 <= u <= 1
    squared hinge        max(0, r)^2               0 <= u,        square = 1/2
    hard margin          0 if r <= 0, else inf     0 <= u
    absolute             |r|                      -1 <= u <= 1
    epsilon-insensitive  max(0, |r| - eps)        -1 <= u <= 1,   dead = eps
    quantile             q r or (q - 1) r        q - 1 <= u <= q
    Huber                                    -delta <= u <= delta, square = 1
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of a loss for one target, ``r = offset - sign eta``, or ``r = offset - (eta[plus] - eta[minus])``.

    ``plus`` and ``minus`` are places among all scores, row by row. With ``together`` > 0, so many pieces in a row
    belong to one maximum: their u sum to at most 1 (the largest r counts, not the sum over all).
    """

    offset: Floats
    low: float
    high: float
    square: float = 0.0
    dead: float = 0.0
    sign: Floats | None = None
    plus: Longs | None = None
    minus: Longs | None = None
    together: int = 0

    @property
    def smooth(self) -> bool:
        """Whether the slope has no jumps."""
        return self.square > 0

    @property
    def bounded(self) -> bool:
        """Whether a finite price is put on every r."""
        return self.square > 0 or bool(np.isfinite(self.low) and np.isfinite(self.high))

    def take(self, rows: NDArray[Any]) -> Pieces:
        """Some of the pieces (of single scores)."""
        assert self.sign is not None
        return replace(self, offset=self.offset[rows], sign=self.sign[rows])

    def residual(self, eta: Floats) -> Floats:
        """r of every piece."""
        return self.offset - self.apply(eta)

    def apply(self, eta: Floats) -> Floats:
        """What is subtracted from the offsets, linear in the scores."""
        if self.sign is not None:
            return self.sign * eta
        assert self.plus is not None
        assert self.minus is not None
        flat = eta.ravel()
        return np.asarray(flat[self.plus] - flat[self.minus])

    def spread(self, u: Floats, shape: tuple[int, ...]) -> Floats:
        """The transpose of :meth:`apply`: slopes of pieces as slopes of scores."""
        if self.sign is not None:
            return self.sign * u
        assert self.plus is not None
        assert self.minus is not None
        size = int(np.prod(shape))
        gone = np.bincount(self.minus, weights=u, minlength=size)
        return np.asarray((np.bincount(self.plus, weights=u, minlength=size) - gone).reshape(shape))

    def rows(self, n_scores: int) -> Longs:
        """The row whose weight a piece has: that of its first score."""
        return np.arange(len(self.offset)) if self.plus is None else self.plus // n_scores

    # ------------------------------------------------------------------------------------------- one piece at a time

    def subgradient(self, r: Floats, centre: Floats | float = 0.0, width: float = 0.0) -> Floats:
        """argmax over u of u r - square u^2 / 2 - dead |u| - width (u - centre)^2 / 2.

        With a width of zero and a jump in the slope, the jump is cut at its middle.
        """
        pull = _shrunk(r + width * centre, self.dead)
        if self.together:
            return _share(pull / width, self.together)
        curvature = self.square + width
        if curvature > 0:
            return np.asarray(np.clip(pull / curvature, self.low, self.high))
        return np.where(pull > 0, self.high, np.where(pull < 0, self.low, np.clip(0.0, self.low, self.high)))

    def inside(self, u: Floats) -> NDArray[np.bool_]:
        """Where u may still move with r: between its bounds and not in the dead zone."""
        if self.together:
            return u > 0
        free = (u > self.low) & (u < self.high)
        return free & (u != 0) if self.dead > 0 else free

    def value(self, r: Floats) -> Floats:
        """phi(r); an r that a hard margin forbids counts as 0 here (see :meth:`excess`)."""
        if self.together:
            largest = np.maximum(r.reshape(-1, self.together).max(axis=1), 0.0)
            return np.asarray(np.repeat(largest / self.together, self.together))
        over = _shrunk(r, self.dead)
        if self.square > 0:
            u = np.clip(over / self.square, self.low, self.high)
            return np.asarray(u * over - 0.5 * self.square * u * u)
        rise = self.high if np.isfinite(self.high) else 0.0
        fall = self.low if np.isfinite(self.low) else 0.0
        return np.where(over > 0, rise, fall) * over

    def conjugate(self, u: Floats) -> Floats:
        """phi*(u) of a u within its bounds: square u^2 / 2 + dead |u|; phi(r) + phi*(u) >= u r, equal at an optimum."""
        return 0.5 * self.square * u * u + self.dead * np.abs(u)

    def excess(self, r: Floats) -> float:
        """How far the worst r is beyond what a hard margin allows."""
        return 0.0 if self.bounded else float(np.maximum(r, 0.0).max(initial=0.0))


def _shrunk(x: Floats, dead: float) -> Floats:
    """x brought towards zero by ``dead``."""
    return x if dead == 0 else np.asarray(np.sign(x) * np.maximum(np.abs(x) - dead, 0.0))


def _share(x: Floats, together: int) -> Floats:
    """The nearest u >= 0 whose blocks of ``together`` sum to at most 1."""
    blocks = x.reshape(-1, together)
    kept = np.maximum(blocks, 0.0)
    over = kept.sum(axis=1) > 1.0
    if over.any():
        high = -np.sort(-blocks[over], axis=1)
        mean = (np.cumsum(high, axis=1) - 1.0) / np.arange(1, together + 1)
        last = (high > mean).sum(axis=1) - 1
        kept[over] = np.maximum(blocks[over] - mean[np.arange(len(high)), last][:, None], 0.0)
    return np.asarray(kept.ravel())
