"""Numbers of several groups, each with bounds, and the largest gap between any two of them with an interval.

Bounds of a gap are made of the bounds of its two groups (square and add: Newcombe 1998 for a difference of shares,
Donner and Zou 2012 for a ratio). The largest of several gaps was chosen by its size, so the bounds hold for all pairs
at once (Bonferroni): the largest true gap then lies between the largest lower and the largest upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.intervals import Interval
from tilth.stats.bounds import wilson_bounds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Measure:
    """One number per group; NaN where it is 0 / 0.

    ``rows`` is the number of rows behind it (effective ones, where rows have weights or belong together). A share has
    Wilson's bounds; a mean, which has a standard error ``error``, those of Student's t. ``is_root`` says that the
    number is the root of that mean.
    """

    name: str
    value: Floats
    rows: Floats
    error: Floats | None = None
    is_root: bool = False

    @property
    def method(self) -> str:
        """How the bounds are made."""
        return "Wilson" if self.error is None else "t of the mean"

    def bounds(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper bound of each group at a level; NaN where there is no value."""
        if self.error is None:
            low, high = wilson_bounds(np.nan_to_num(self.value) * self.rows, self.rows, level)
        else:
            low, high = self._of_mean(level)
        gone = np.isnan(self.value)
        return np.where(gone, np.nan, low), np.where(gone, np.nan, high)

    def _of_mean(self, level: float) -> tuple[Floats, Floats]:
        from scipy.special import stdtrit

        assert self.error is not None
        with np.errstate(invalid="ignore"):
            half = stdtrit(np.maximum(self.rows - 1, 1e-9), (1 + level) / 2) * self.error
        half = np.where(self.rows > 1, half, np.nan)
        middle = self.value**2 if self.is_root else self.value
        low, high = middle - half, middle + half
        return (np.sqrt(np.maximum(low, 0.0)), np.sqrt(high)) if self.is_root else (low, high)

    def interval(self, group: int, level: float) -> Interval:
        """The number of one group with its bounds."""
        low, high = self.bounds(level)
        rows = self.rows[group]
        return Interval(
            float(self.value[group]), float(low[group]), float(high[group]), level, self.method, round(float(rows))
        )


def share(
    name: str, part: Flags, whole: Flags, code: NDArray[np.int64], size: int, weight: Floats | None,
    unit: NDArray[np.int64] | None,
) -> Measure:  # fmt: skip
    """The share of ``part`` among the rows of ``whole`` in each group.

    Weighted rows count as (sum w)^2 / sum w^2 rows. Rows of one ``unit`` are not independent of each other: their
    number is divided by how much the spread of the units' sums exceeds that of rows.
    """
    kept = np.flatnonzero(whole)
    at, hit = code[kept], part[kept].astype(np.float64)
    w = np.ones(len(kept)) if weight is None else weight[kept]
    total, squares = np.bincount(at, w, minlength=size), np.bincount(at, w * w, minlength=size)
    value = _ratio(np.bincount(at, w * hit, minlength=size), total)
    rows = np.nan_to_num(_ratio(total**2, squares))
    if unit is not None:
        rows = rows / _design_effect(w * (hit - value[at]), at, size, unit[kept])
    return Measure(name, value, rows)


def mean(
    name: str, values: Floats, code: NDArray[np.int64], size: int, weight: Floats | None,
    unit: NDArray[np.int64] | None, *, is_root: bool = False,
) -> Measure:  # fmt: skip
    """The mean of numbers in each group (or its root) with its standard error, from the spread of rows or of units."""
    w = np.ones(len(values)) if weight is None else weight
    total = np.bincount(code, w, minlength=size)
    middle = _ratio(np.bincount(code, w * values, minlength=size), total)
    off = w * (values - middle[code])
    sums, at = (off, code) if unit is None else _unit_sums(off, code, unit)
    count = np.bincount(at, minlength=size).astype(np.float64)
    spread = np.bincount(at, sums**2, minlength=size) * _ratio(count, count - 1)
    error = _ratio(np.sqrt(spread), total)
    return Measure(name, np.sqrt(middle) if is_root else middle, count, error, is_root)


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def _unit_sums(values: Floats, code: NDArray[np.int64], unit: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Sums over the rows of a unit within a group, and the group of each sum."""
    n_units = int(unit.max()) + 1 if len(unit) else 1
    keys, place = np.unique(code * n_units + unit, return_inverse=True)
    return np.bincount(place, values, minlength=len(keys)).astype(np.float64), keys // n_units


def _design_effect(off: Floats, code: NDArray[np.int64], size: int, unit: NDArray[np.int64]) -> Floats:
    """By how much belonging together multiplies the variance; rows per unit where no spread tells."""
    sums, at = _unit_sums(off, code, unit)
    alone = np.bincount(code, off**2, minlength=size)
    together = np.bincount(at, sums**2, minlength=size)
    per_unit = np.nan_to_num(_ratio(np.bincount(code, minlength=size) * 1.0, np.bincount(at, minlength=size) * 1.0))
    effect = np.divide(together, alone, out=per_unit, where=alone > 0)
    return np.asarray(np.maximum(effect, 1.0))


# ----------------------------------------------------------------------------------------------------------------- gaps


def _pairs_level(groups: int, level: float, tests: int = 1) -> float:
    """The level of each pair's bounds at which all of them hold at once."""
    return 1 - (1 - level) / (tests * max(groups * (groups - 1) // 2, 1))


def _method(measure: Measure, groups: int) -> str:
    base = "Newcombe" if measure.error is None else "square and add of t bounds"
    pairs = groups * (groups - 1) // 2
    return base if pairs < 2 else f"{base}, all {pairs} pairs at once"


def difference(measure: Measure, more: int, less: int, level: float, bounds_level: float | None = None) -> Interval:
    """Value of one group less that of another, for e1 - e2 with bounds l, u of each:

        low = e1 - e2 - sqrt((e1 - l1)^2 + (u2 - e2)^2),    high = e1 - e2 + sqrt((u1 - e1)^2 + (e2 - l2)^2)

    ``bounds_level``: the stricter level of the bounds where several differences are judged together.

    >>> two = Measure("rate", np.array([56 / 70, 48 / 80]), np.array([70.0, 80.0]))
    >>> print(difference(two, 0, 1, 0.95))
    0.200 [0.052, 0.334]
    """
    v = measure.value
    low, high = measure.bounds(level if bounds_level is None else bounds_level)
    apart = float(v[more] - v[less])
    down = math.hypot(v[more] - low[more], high[less] - v[less])
    up = math.hypot(high[more] - v[more], v[less] - low[less])
    return Interval(apart, apart - down, apart + up, level, _method(measure, 2), round(float(measure.rows.sum())))


def largest_difference(measure: Measure, usable: Flags, level: float, tests: int = 1) -> Interval:
    """Largest value less smallest over the usable groups, with the largest bounds of :func:`difference` over all pairs,
    never below 0. ``tests``: the number of such gaps that must hold together.
    """
    v, low, high, n = _usable(measure, usable, level, tests)
    apart = v[:, None] - v[None, :]
    down = np.sqrt((v - low)[:, None] ** 2 + (high - v)[None, :] ** 2)
    lows = apart - down
    highs = apart + np.sqrt((high - v)[:, None] ** 2 + (v - low)[None, :] ** 2)
    np.fill_diagonal(lows, 0.0)
    np.fill_diagonal(highs, 0.0)
    return Interval(
        float(np.ptp(v)), max(0.0, float(lows.max())), float(highs.max()), level, _method(measure, len(v)), n
    )


def smallest_ratio(measure: Measure, usable: Flags, level: float, tests: int = 1) -> Interval:
    """Smallest value over largest; each bound r of a pair is a root of (e1 - r e2)^2 = (e1 - l1)^2 + r^2 (u2 - e2)^2.

    >>> two = Measure("rate", np.array([0.5, 0.32]), np.array([1000.0, 1000.0]))
    >>> print(smallest_ratio(two, np.array([True, True]), 0.95))
    0.640 [0.573, 0.714]
    """
    v, low, high, n = _usable(measure, usable, level, tests)
    top = float(v.max())
    if not top > 0 or (v < 0).any():
        return Interval(math.nan, math.nan, math.nan, level, "not defined", n)
    cross = v[:, None] * v[None, :]
    first, second = (low * (2 * v - low))[:, None], (high * (2 * v - high))[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        lows = first / (cross + np.sqrt(np.maximum(cross**2 - first * second, 0.0)))
        first, second = (high * (2 * v - high))[:, None], (low * (2 * v - low))[None, :]
        highs = (cross + np.sqrt(np.maximum(cross**2 - first * second, 0.0))) / second
    lows = np.where(np.isnan(lows), 0.0, lows)
    highs = np.where(np.isnan(highs), np.inf, highs)
    np.fill_diagonal(lows, 1.0)
    np.fill_diagonal(highs, 1.0)
    return Interval(
        float(v.min()) / top, float(np.clip(lows.min(), 0, 1)), float(np.clip(highs.min(), 0, 1)), level,
        _method(measure, len(v)), n,
    )  # fmt: skip


def _usable(measure: Measure, usable: Flags, level: float, tests: int) -> tuple[Floats, Floats, Floats, int]:
    v = measure.value[usable]
    low, high = measure.bounds(_pairs_level(len(v), level, tests))
    return v, low[usable], high[usable], round(float(measure.rows[usable].sum()))
