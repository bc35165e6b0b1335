"""Counts of values: exact while few, nested cells when many, the same in any parts."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.stats.grid import MOST_VALUES, GridCounts


def counted(parts, weights=None):
    total = GridCounts.empty()
    for i, part in enumerate(parts):
        one = GridCounts.empty()
        one.update(part, None if weights is None else weights[i])
        total += one
    return total


@pytest.mark.parametrize("n", [500, 30_000])
def test_parts_in_any_order_are_the_whole(n):
    rng = np.random.default_rng(0)
    x, w = rng.normal(1e3, 50, n), rng.integers(0, 4, n).astype(float)
    whole = GridCounts.empty()
    whole.update(x, w)
    cuts = np.sort(rng.choice(n, 6, replace=False))
    order = rng.permutation(7)
    parts, weights = np.split(x, cuts), np.split(w, cuts)
    merged = counted([parts[i] for i in order], [weights[i] for i in order])
    assert merged.level == whole.level
    np.testing.assert_array_equal(merged.values, whole.values)
    np.testing.assert_allclose(merged.counts, whole.counts)
    assert (merged.low, merged.high) == (whole.low, whole.high) == (x.min(), x.max())


def test_few_values_are_exact_and_many_are_not():
    few = GridCounts.empty()
    few.update(np.arange(MOST_VALUES, dtype=float))
    assert few.level is None
    few.update([0.5])
    assert few.level is not None
    assert few.total == MOST_VALUES + 1


def test_heights_are_those_of_a_histogram():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50_000)
    edges = np.linspace(x.min(), x.max(), 11)
    counts = GridCounts.empty()
    counts.update(x)
    exact = np.histogram(x, edges)[0]
    np.testing.assert_allclose(counts.heights(edges), exact, atol=0.002 * len(x))
    assert counts.heights(edges).sum() == pytest.approx(len(x))


def test_far_from_zero_and_missing():
    counts = GridCounts.empty()
    counts.update(np.r_[1e18 + np.arange(6000) * 256.0, np.nan], np.r_[np.ones(6000), 3.0])
    assert counts.total == 6000
    assert counts.missing == 3.0
