"""Bounds that hold a number at some level of confidence: of shares k / n, and of means over overlapping resamplings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Floats = NDArray[np.float64]


def wilson_bounds(successes: Any, n: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's bounds of the shares e = successes / n; without rows (n = 0) they are 0 and 1.

    (e + z^2 / 2n -+ z sqrt(e (1 - e) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    >>> low, high = wilson_bounds([2, 0], [20, 0])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.028, 0.0], [0.301, 1.0])
    """
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    z = float(ndtri((1 + level) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = k / total
        middle = share + z * z / (2 * total)
        half = z * np.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
        shrink = 1 + z * z / total
        # At the ends the bound is the end itself; rounding must not carry it past the share.
        low = np.where((total == 0) | (k == 0), 0.0, (middle - half) / shrink)
        high = np.where((total == 0) | (k == total), 1.0, (middle + half) / shrink)
    return low, high


def corrected_t_bounds(scores: Floats, overlap: float, level: float = 0.95) -> tuple[float, float]:
    """Bounds of the mean of J scores whose training rows overlap: mean -+ t_{J-1} sqrt((1 / J + overlap) s^2).

    ``overlap`` is test rows / training rows (Nadeau and Bengio 2003). A single score has no spread to tell: NaN.

    >>> [round(end, 3) for end in corrected_t_bounds(np.array([0.02, 0.04, 0.03, 0.05, 0.01]), 0.25)]
    [0.001, 0.059]
    """
    count = len(scores)
    if count < 2 or np.isnan(scores).any():
        return math.nan, math.nan
    mean = float(scores.mean())
    spread = math.sqrt((1 / count + overlap) * float(scores.var(ddof=1)))
    half = float(stdtrit(count - 1, (1 + level) / 2)) * spread
    return mean - half, mean + half
