"""Means, quantiles and modes in which a weight of two equals the row given twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Weight = NDArray[np.float64] | None


def present(values: NDArray[Any], weight: Weight) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values that are not missing and have weight, with their weights (ones when none are given)."""
    values = np.asarray(values, dtype=np.float64)
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
    keep = ~np.isnan(values) & (weight > 0)
    return values[keep], weight[keep]


def mean_sd(values: NDArray[Any], weight: Weight = None) -> tuple[float, float]:
    """Weighted mean and standard deviation (divisor n: the maximum-likelihood one)."""
    x, w = present(values, weight)
    if not x.size:
        return float("nan"), float("nan")
    if x.min() == x.max():
        # Rounding would leave a constant column a spread of 1e-17, and dividing by it would make noise of it.
        return float(x[0]), 0.0
    mean = float(np.average(x, weights=w))
    return mean, float(np.sqrt(np.average((x - mean) ** 2, weights=w)))


def quantile(values: NDArray[Any], q: float | list[float], weight: Weight = None) -> NDArray[np.float64]:
    """Weighted quantiles by linear interpolation; with whole weights equal to ``numpy.quantile`` of repeated rows."""
    x, w = present(values, weight)
    wanted = np.atleast_1d(np.asarray(q, dtype=np.float64))
    if not x.size:
        return np.full(wanted.shape, np.nan)
    if weight is None:
        return np.asarray(np.quantile(x, wanted))
    order = np.argsort(x, kind="stable")
    x, last = x[order], np.cumsum(w[order])
    place = wanted * max(last[-1] - 1.0, 0.0)
    # Row number t (from 0) of the repeated rows is x[i] where last[i-1] <= t < last[i].
    low = np.searchsorted(last, np.floor(place + 1e-12), side="right").clip(max=len(x) - 1)
    high = np.searchsorted(last, np.ceil(place - 1e-12), side="right").clip(max=len(x) - 1)
    part = place - np.floor(place + 1e-12)
    return x[low] + np.where(high > low, part.clip(0, 1), 0.0) * (x[high] - x[low])


def code_counts(codes: NDArray[Any], n_levels: int, weight: Weight = None) -> NDArray[np.float64]:
    """Weighted count of each level; missing and unseen codes are not counted."""
    seen = codes >= 0
    return np.bincount(codes[seen], None if weight is None else weight[seen], minlength=n_levels).astype(np.float64)
