"""Laws of smoothing, for every part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from tilth.parts.smoothing import NAMED, Epsilon, Laplace, MEstimate

COUNTS = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.integers(0, 50).map(float))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(COUNTS, st.sampled_from([Laplace(alpha=1), Laplace(alpha=0), Laplace(alpha=0.3), MEstimate(m=2)]))
def test_probabilities_sum_to_one_and_keep_the_order_of_counts(counts, smoothing):
    shares = smoothing.estimate(counts, 1000, "x", tuple(range(counts.shape[1])))
    assert shares.sum(axis=1) == pytest.approx(1.0)
    for row, share in zip(counts, shares, strict=True):
        assert (np.diff(share[np.argsort(row, kind="stable")]) >= -1e-12).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(COUNTS)
def test_epsilon_leaves_no_zero_and_changes_nothing_else(counts):
    n = counts.sum() + 1
    levels = tuple(range(counts.shape[1]))
    plain = Laplace(alpha=0).estimate(counts, n, "x", levels)
    made = Epsilon().estimate(counts, n, "x", levels)
    assert (made > 0).all()
    assert (made[plain > 0] == plain[plain > 0]).all()


@pytest.mark.parametrize("name", list(NAMED))
def test_parts_are_values(name):
    part = NAMED[name]()
    assert clone(part, safe=False) == part
    assert eval(repr(part), dict(NAMED.items()) | {c.__name__: c for c in NAMED.values()}) == part


def test_illegal_parameters_are_refused_and_change_nothing():
    part = Laplace(alpha=2)
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        part.set_params(alpha=-1)
    assert part.alpha == 2
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        Epsilon(epsilon=0.0)
