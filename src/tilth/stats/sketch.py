"""Quantiles of a stream in bounded memory, with a bound on the error that holds for every stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tilth.params import stored
from tilth.stats.inputs import FloatArray, IndexArray, are_offsets, as_column, as_shares, as_size
from tilth.stats.statistic import Statistic, require_mergeable


@stored
@dataclass(slots=True, eq=False, repr=False)
class QuantileSketch(Statistic):
    """Mergeable quantile sketch: the compactors of Karnin, Lang and Liberty, made deterministic.

    A value on level `h` stands for ``2^h`` values. A level that holds more than `size` values is sorted and
    every second value moves one level up, so memory is about ``size * log2(count / size)`` numbers. The
    method is that of Karnin, Lang and Liberty (2016, "Optimal quantile approximation in streams"), with two
    changes that give a bound for every stream instead of one in probability: all levels have the same size,
    and whether the first or the second value of each pair stays is not drawn but balanced.

    One compaction of level `h` shifts the rank of any point by 0 or ``+2^h`` when the first of each pair
    stays, by 0 or ``-2^h`` when the second does. `raised` and `lowered` count both on each level, thus ::

        rank_error = max(sum raised_h 2^h, sum lowered_h 2^h) / count

    is a proven bound, whatever the order of the values and of the merges. It is never above
    ``(1 + log2(count / size)) / size``, known before any data. Until more than `size` values are seen
    everything is exact.

    Examples
    --------
    >>> sketch = QuantileSketch.empty()
    >>> sketch.update([4.0, 1.0, 3.0, 2.0])
    >>> sketch.quantile([0.25, 0.5, 1.0])
    array([1., 2., 4.])
    >>> sketch.rank(3.0), sketch.rank_error
    (array(0.75), 0.0)
    """

    size: int
    count: int
    low: float
    high: float
    items: FloatArray
    starts: IndexArray
    raised: IndexArray
    lowered: IndexArray

    @classmethod
    def empty(cls, size: int = 4096) -> Self:
        """Return a sketch of no values, with `size` values kept on each level."""
        none = np.zeros(1, dtype=np.int64)
        return cls(
            # An even size makes each compaction take at least `size` values, as the stated bound assumes.
            size=2 * ((as_size(size, 2, "size") + 1) // 2),
            count=0,
            low=np.inf,
            high=-np.inf,
            items=np.empty(0),
            starts=np.zeros(2, dtype=np.int64),
            raised=none,
            lowered=none.copy(),
        )

    @property
    def rank_error(self) -> float:
        """Largest possible error of `rank`, as a share of the count."""
        weights = _level_weights(self.raised.size)
        shift = max(int(self.raised @ weights), int(self.lowered @ weights))
        return shift / self.count if self.count else 0.0

    def update(self, x: npt.ArrayLike) -> None:
        """Add the values `x`; missing values are skipped."""
        column = as_column(x, "QuantileSketch")
        values = column[~np.isnan(column)]
        if values.size:
            self._absorb([values], values.size, float(values.min()), float(values.max()))

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other)
        if self.size != other.size:
            raise ValueError(
                f"QuantileSketch merges sketches of the same size only: {self.size} here and {other.size} in the other."
            )
        levels = max(self.raised.size, other.raised.size)
        raised = _padded(self.raised, levels) + _padded(other.raised, levels)
        lowered = _padded(self.lowered, levels) + _padded(other.lowered, levels)
        self.raised, self.lowered = raised, lowered
        self._absorb(other._levels(), other.count, other.low, other.high)
        return self

    def quantile(self, q: npt.ArrayLike) -> FloatArray:
        """Return for each share `q` the smallest kept value whose `rank` reaches `q`; NaN if there are none.

        At most ``q + rank_error`` of all values lie below it and at least ``q - rank_error`` at or below it;
        q = 0 and q = 1 give the true smallest and largest value.
        """
        shares = as_shares(q, "QuantileSketch.quantile")
        if self.count == 0:
            return np.full(shares.shape, np.nan)
        values, reached = self._ranked()
        place = np.searchsorted(reached, shares * self.count, side="left")
        quantiles = values[np.minimum(place, values.size - 1)]
        quantiles = np.where(shares == 0, self.low, np.where(shares == 1, self.high, quantiles))
        return np.asarray(quantiles, dtype=np.float64)

    def rank(self, x: npt.ArrayLike) -> FloatArray:
        """Return the share of values at or below each `x`, off by at most `rank_error`; NaN for NaN."""
        points = np.asarray(x, dtype=np.float64)
        if self.count == 0:
            return np.full(points.shape, np.nan)
        values, reached = self._ranked()
        cumulative = np.concatenate([[0], reached])
        share = cumulative[np.searchsorted(values, points, side="right")] / self.count
        return np.asarray(np.where(np.isnan(points), np.nan, share))

    def weighted_values(self) -> tuple[FloatArray, FloatArray]:
        """Return the kept values in order and how many values each stands for."""
        weight = np.repeat(_level_weights(self.starts.size - 1), np.diff(self.starts)).astype(np.float64)
        order = np.argsort(self.items, kind="stable")
        return self.items[order], weight[order]

    def _ranked(self) -> tuple[FloatArray, IndexArray]:
        """Return the kept values in order and the number of values each reaches."""
        values, weight = self.weighted_values()
        return values, np.cumsum(weight.astype(np.int64))

    def _levels(self) -> list[FloatArray]:
        return [self.items[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def _absorb(self, added: list[FloatArray], count: int, low: float, high: float) -> None:
        """Put `added[h]` on level h, then compact upwards every level that is over-full."""
        levels = self._levels()
        raised, lowered = self.raised.tolist(), self.lowered.tolist()
        for h, items in enumerate(added):
            if h == len(levels):
                levels.append(items)
            else:
                levels[h] = np.concatenate([levels[h], items])
        h = 0
        while h < len(levels):
            if levels[h].size > self.size:
                if h + 1 == len(levels):
                    levels.append(np.empty(0))
                while len(raised) <= h:
                    raised.append(0)
                    lowered.append(0)
                items = np.sort(levels[h])
                even = items.size - items.size % 2
                keep_second = raised[h] > lowered[h]
                levels[h + 1] = np.concatenate([levels[h + 1], items[int(keep_second) : even : 2]])
                levels[h] = items[even:]
                (lowered if keep_second else raised)[h] += 1
            h += 1
        self.items = np.concatenate(levels)
        self.starts = np.concatenate([[0], np.cumsum([level.size for level in levels])]).astype(np.int64)
        self.raised = np.array(raised, dtype=np.int64)
        self.lowered = np.array(lowered, dtype=np.int64)
        self.count += count
        self.low, self.high = min(self.low, low), max(self.high, high)

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        levels = self.starts.size - 1
        good = (
            self.items.ndim == self.starts.ndim == self.raised.ndim == self.lowered.ndim == 1
            and self.size >= 2
            and self.count >= 0
            and 1 <= levels <= 62
            and are_offsets(self.starts, self.items.size)
            and self.raised.size == self.lowered.size <= levels
        )
        return "" if good else "its levels do not fit its items"


def _level_weights(n_levels: int) -> IndexArray:
    return np.left_shift(np.int64(1), np.arange(n_levels, dtype=np.int64))


def _padded(counts: IndexArray, n_levels: int) -> IndexArray:
    return np.pad(counts, (0, n_levels - counts.size))
