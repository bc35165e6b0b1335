from __future__ import annotations

import numpy as np
import pytest

from tilth.stats import Gram, Moments


def test_moments_against_numpy() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 3, 500)
    X[rng.random(X.shape) < 0.1] = np.nan
    moments = Moments.empty(3, 4)
    moments.update(X, y)
    for group in range(3):
        rows = X[y == group]
        np.testing.assert_allclose(moments.mean[group], np.nanmean(rows, axis=0))
        np.testing.assert_allclose(moments.variance()[group], np.nanvar(rows, axis=0))
        np.testing.assert_allclose(moments.variance(ddof=1)[group], np.nanvar(rows, axis=0, ddof=1))
        np.testing.assert_array_equal(moments.weight[group], (~np.isnan(rows)).sum(axis=0))


def test_total_is_the_moments_of_all_rows() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(1e6, 1.0, size=(300, 2)), rng.integers(0, 4, 300)
    grouped, whole = Moments.empty(5, 2), Moments.empty(1, 2)
    grouped.update(X, y)
    whole.update(X)
    total = grouped.total()
    np.testing.assert_allclose(total.weight, whole.weight)
    np.testing.assert_allclose(total.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(total.m2, whole.m2, rtol=1e-9)


def test_large_mean_keeps_the_variance() -> None:
    x = 1e9 + np.array([[4.0], [7.0], [13.0], [16.0]])
    merged = Moments.empty(1, 1)
    for row in x:
        part = Moments.empty(1, 1)
        part.update(row[None])
        merged += part
    np.testing.assert_allclose(merged.variance(ddof=1), [[30.0]], rtol=1e-12)


def test_group_without_values() -> None:
    moments = Moments.empty(2, 2)
    moments.update([[1.0, np.nan], [3.0, np.nan]], y=[0, 0])
    np.testing.assert_array_equal(moments.weight, [[2, 0], [0, 0]])
    np.testing.assert_array_equal(moments.mean, [[2, 0], [0, 0]])
    np.testing.assert_array_equal(np.isnan(moments.variance()), [[False, True], [True, True]])
    assert not np.isnan(moments.total().mean).any()
    assert np.isnan(moments.variance(ddof=2)).all()


def test_zero_weights_give_no_nan() -> None:
    moments = Moments.empty(1, 1)
    moments.update([[5.0], [6.0]], weight=[0.0, 0.0])
    np.testing.assert_array_equal(moments.mean, [[0.0]])
    np.testing.assert_array_equal(moments.weight, [[0.0]])


def test_grow_adds_empty_groups() -> None:
    moments = Moments.empty(1, 1)
    moments.update([[2.0], [4.0]])
    bigger = moments.grow(2)
    bigger.update([[9.0]], y=[1])
    np.testing.assert_array_equal(bigger.mean, [[3.0], [9.0]])
    np.testing.assert_array_equal(bigger.m2, [[2.0], [0.0]])
    assert moments.n_groups == 1
    with pytest.raises(ValueError, match="only adds"):
        bigger.grow(1)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_is_refused_and_changes_nothing(value: float) -> None:
    moments = Moments.empty(1, 3)
    X = np.ones((4, 3))
    moments.update(X)
    X[2, 1] = value
    with pytest.raises(ValueError, match="columns 1 hold infinite"):
        moments.update(X)
    np.testing.assert_array_equal(moments.weight, np.full((1, 3), 4.0))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_types_of_number(dtype: type) -> None:
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
    moments = Moments.empty(1, 2)
    moments.update(X)
    np.testing.assert_allclose(moments.mean, [[2 / 3, 2 / 3]])


def test_shapes_are_checked() -> None:
    moments = Moments.empty(2, 2)
    with pytest.raises(ValueError, match="made for 2 columns, but was given 3"):
        moments.update(np.ones((2, 3)), y=[0, 1])
    with pytest.raises(ValueError, match="weight is 2 x 2 here and 3 x 2"):
        moments += Moments.empty(3, 2)


@pytest.mark.covers("P-21")
def test_gram_against_numpy_with_both_divisors() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(70_000, 3)) @ rng.normal(size=(3, 3)) + 1e5
    weight = rng.integers(0, 3, len(X))
    gram, weighted = Gram.empty(3), Gram.empty(3)
    gram.update(X)
    weighted.update(X, weight)
    np.testing.assert_allclose(gram.covariance(), np.cov(X, rowvar=False, ddof=0), rtol=1e-8)
    np.testing.assert_allclose(gram.covariance(ddof=1), np.cov(X, rowvar=False, ddof=1), rtol=1e-8)
    np.testing.assert_allclose(gram.correlation(), np.corrcoef(X, rowvar=False), rtol=1e-8)
    np.testing.assert_allclose(weighted.covariance(ddof=1), np.cov(X, rowvar=False, ddof=1, fweights=weight), rtol=1e-8)
    np.testing.assert_array_equal(gram.cross, gram.cross.T)


def test_gram_accepts_float32_without_losing_digits() -> None:
    X = (1e6 + np.arange(8)).astype(np.float32)[:, None]
    for weight in (None, np.ones(8)):
        gram = Gram.empty(1)
        gram.update(X, weight)
        np.testing.assert_allclose(gram.covariance(), [[np.var(np.arange(8))]])


def test_gram_of_too_few_or_constant_rows() -> None:
    gram = Gram.empty(2)
    assert np.isnan(gram.covariance()).all()
    gram.update([[1.0, 2.0], [1.0, 3.0]])
    correlation = gram.correlation()
    assert correlation[1, 1] == 1
    assert np.isnan(correlation[0]).all()
    assert np.isnan(gram.covariance(ddof=2)).all()
    gram.update(np.empty((0, 2)))
    assert gram.weight == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_gram_refuses_what_is_not_finite(value: float) -> None:
    gram = Gram.empty(2)
    with pytest.raises(ValueError, match="columns 1 hold missing"):
        gram.update([[1.0, value], [2.0, 1.0]])
    assert gram.weight == 0
