"""A weight of two is the row twice, for means, quantiles and counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.data.weighted import code_counts, mean_sd, present, quantile

ROWS = st.lists(st.tuples(st.floats(-1e3, 1e3) | st.just(float("nan")), st.integers(0, 4)), min_size=1, max_size=25)


@given(ROWS, st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_weights_are_repetition(rows: list[tuple[float, int]], q: float) -> None:
    x, w = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    repeated = np.repeat(x, w)
    np.testing.assert_allclose(mean_sd(x, w), mean_sd(repeated), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(quantile(x, [q, 0.5], w), quantile(repeated, [q, 0.5]), rtol=1e-9, atol=1e-9)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=25), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_unit_weights_change_nothing(values: list[float], q: float) -> None:
    x = np.array(values)
    np.testing.assert_allclose(quantile(x, q, np.ones(len(x))), np.quantile(x, [q]), rtol=1e-9, atol=1e-9)


def test_a_constant_has_no_spread_at_all() -> None:
    assert mean_sd(np.full(10, 0.1)) == (0.1, 0.0)
    assert mean_sd(np.full(3, 0.1), np.array([1.0, 2.0, 0.3])) == (0.1, 0.0)


def test_nothing_present() -> None:
    assert np.isnan(mean_sd(np.array([np.nan]))).all()
    assert np.isnan(quantile(np.array([np.nan]), 0.5)).all()
    assert present(np.array([1.0, np.nan, 2.0]), np.array([0.0, 1.0, 3.0]))[0].tolist() == [2.0]


def test_counts_of_levels() -> None:
    codes = np.array([0, 2, 2, -1, -2])
    assert code_counts(codes, 4).tolist() == [1, 0, 2, 0]
    assert code_counts(codes, 3, np.array([0.5, 1, 2, 9, 9])).tolist() == [0.5, 0, 3]
    assert code_counts(codes, 3).sum() == pytest.approx(3)
