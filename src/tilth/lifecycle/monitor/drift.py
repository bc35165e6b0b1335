"""Tests of counts of new rows against counts of training rows, and how large a change they could have seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln

from tilth.quality.shift import stability_index

Floats = NDArray[np.float64]

#: Rows that a bin must be expected to hold in either table before the chi-square law is believed.
EXPECTED = 5.0
#: Chance with which a change called detectable is found.
POWER = 0.8


@dataclass(frozen=True)
class Change:
    """A comparison of shares: the population stability index, what it would be by chance alone, and its test."""

    psi: float = math.nan
    by_chance: float = math.nan
    p_value: float = math.nan
    dof: int = 0
    scale: float = math.nan

    @property
    def size(self) -> float:
        """The index less what chance alone gives; 0 at least."""
        return max(0.0, self.psi - self.by_chance)

    def detectable(self, level: float) -> float:
        """The smallest index that the test at this level finds four times in five; infinite where it cannot test."""
        return _noncentrality(self.dof, level) / self.scale if self.dof else math.inf


def same_shares(before: Floats, after: Floats) -> Change:
    """Test that two rows of counts have the same shares, and the index PSI = sum (q - p) ln(q / p).

    Were nothing changed, PSI would be about (bins - 1) (1 / m + 1 / n) for m and n rows; the chi-square statistic grows
    with the harmonic size m n / (m + n) times PSI. Two bins have an exact test instead. Bins are expected to have been
    merged: see :func:`neighbours_merged` and :func:`rare_merged`.

    >>> change = same_shares(np.array([50.0, 50.0]), np.array([20.0, 80.0]))
    >>> round(change.psi, 2), change.p_value < 0.001
    (0.41, True)
    """
    m, n = float(before.sum()), float(after.sum())
    if len(before) < 2 or m == 0 or n == 0:
        return Change()
    dof = len(before) - 1
    if dof == 1:
        p_value = same_share(int(before[0]), int(m), int(after[0]), int(n))
    else:
        ratio = math.sqrt(m / n)
        both = before + after
        p_value = float(stats.chi2.sf(((ratio * after - before / ratio) ** 2 / both).sum(), dof))
    return Change(stability_index(before, after), dof * (1 / m + 1 / n), p_value, dof, m * n / (m + n))


def neighbours_merged(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Slices joined with their neighbours until each is expected to hold enough rows of both tables.

    Where that leaves one slice, two are made, at the middle of the training rows; their test is exact.
    """
    held = (before + after) * _smaller_share(before, after)
    starts, full = [0], 0.0
    for i, expected in enumerate(held):
        if full >= EXPECTED:
            starts.append(i)
            full = 0.0
        full += expected
    if full < EXPECTED and len(starts) > 1:
        starts.pop()  # what is left over at the end joins the last full slice
    if len(starts) < 3 and len(before) > 1:
        middle = int(np.abs(np.cumsum(before)[:-1] - before.sum() / 2).argmin()) + 1
        starts = [0, middle]
    return np.add.reduceat(before, starts), np.add.reduceat(after, starts)


def rare_merged(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Levels joined, rarest first, until each of those left is expected to hold enough rows; two at least are left."""
    held = (before + after) * _smaller_share(before, after)
    order = np.argsort(-held, kind="stable")
    order = order[held[order] > 0]
    kept = int((held[order] >= EXPECTED).sum())
    if held[order[kept:]].sum() < EXPECTED and kept < len(order):
        kept -= 1  # the rest alone is too small
    kept = max(kept, 1)
    own, rest = order[:kept], order[kept:]
    if not rest.size:
        return before[own], after[own]
    return np.append(before[own], before[rest].sum()), np.append(after[own], after[rest].sum())


def _smaller_share(before: Floats, after: Floats) -> float:
    """Share of all rows that the smaller table holds."""
    m, n = float(before.sum()), float(after.sum())
    return min(m, n) / max(m + n, 1.0)


def same_share(before: int, m: int, after: int, n: int) -> float:
    """Exact two-sided p-value that ``before`` of m and ``after`` of n have one share, given how many there are in all.

    >>> round(same_share(0, 100, 3, 10), 4)
    0.0011
    """
    total = before + after
    if total == 0 or total == m + n or m == 0 or n == 0:
        return 1.0
    law = stats.hypergeom
    return float(min(1.0, 2 * min(law.cdf(after, m + n, total, n), law.sf(after - 1, m + n, total, n))))


def beyond_range(below: int, above: int, m: int, n: int) -> float:
    """P-value of so many new values beyond the training range: by chance, j top places go to new rows with C(n, j) /
    C(m + n, j)."""
    if m == 0 or n == 0:
        return 1.0
    j = np.array([below, above], dtype=np.float64)
    log_p = gammaln(n + 1) - gammaln(n - j + 1) - gammaln(m + n + 1) + gammaln(m + n - j + 1)
    return float(min(1.0, 2 * np.exp(log_p.min())))


def more_unlisted(before: int, m: int, after: int, n: int) -> float:
    """Exact one-sided p-value that levels not kept are no commoner in new rows."""
    if after == 0 or m == 0 or n == 0:
        return 1.0
    return float(stats.hypergeom.sf(after - 1, m + n, before + after, n))


@lru_cache(maxsize=512)
def _noncentrality(dof: int, level: float) -> float:
    """The noncentrality at which a chi-square test at this level rejects with the power wanted."""
    from scipy.optimize import brentq

    cut = float(stats.chi2.isf(level, dof))
    return float(brentq(lambda nc: stats.ncx2.sf(cut, dof, nc) - POWER, 1e-6, 10 * cut + 100))
