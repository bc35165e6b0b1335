"""The compiled passes of the linear engine beside numpy."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax

from tests.core.inputs import LAYOUTS, real, weights
from tilth import _core

# No rows, no columns, whole and broken tiles and panels, one slab and several.
SHAPES = [(0, 3), (5, 0), (1, 1), (7, 3), (1000, 13), (9_001, 17), (2_000, 61), (30, 130)]


def close(ours, wanted):
    np.testing.assert_allclose(ours, wanted, rtol=1e-10, atol=1e-10 * (1.0 + np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gram_of_scaled_and_shifted_columns(shape, layout, dtype):
    if shape == (0, 3) and layout == "one value":
        pytest.skip("no value to repeat")
    X = LAYOUTS[layout](real(shape).astype(dtype))
    n, p = X.shape
    other, w = real((n, 2), seed=5), weights(n)
    Z = np.hstack([np.asarray(X, dtype=np.float64), other])
    scale, shift = np.linspace(0.5, 2, p + 2), np.linspace(-1, 1, p + 2)
    for weight in (None, w):
        by = np.ones(n) if weight is None else weight
        for columns, change in ((Z, (None, None)), (Z * scale - shift, (scale, shift))):
            cross, sums = _core.weighted_gram(X, weight, other, *change)
            close(cross, columns.T @ (columns * by[:, None]))
            close(sums, by @ columns)
            assert (cross == cross.T).all()


def test_negative_weights_are_weights():
    X, w = real((500, 5)), np.random.default_rng(0).normal(size=500)
    close(_core.weighted_gram(X, w)[0], X.T @ (X * w[:, None]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_logistic_pass(shape, layout):
    X = LAYOUTS[layout](real(shape))
    n, p = X.shape
    rng = np.random.default_rng(3)
    y, coef, shift = (rng.random(n) < 0.4).astype(float), rng.normal(size=p) / np.sqrt(max(p, 1)), np.full(p, 3.0)
    eta = X @ coef - 1.0
    share = expit(eta)
    for weight in (None, weights(n)):
        w = np.ones(n) if weight is None else weight
        value, gradient, slope, cross, sums, total = _core.logistic_pass(X, y, weight, coef, -1.0, shift, True)
        close(value, (w * (np.logaddexp(0, eta) - y * eta)).sum())
        close(gradient, X.T @ (w * (share - y)))
        close(slope, (w * (share - y)).sum())
        curve, centred = w * share * (1 - share), X - shift
        close(cross, centred.T @ (centred * curve[:, None]))
        close(sums, curve @ centred)
        close(total, curve.sum())
        plain = _core.logistic_pass(X, y, weight, coef, -1.0)
        close(plain[0], value)
        close(plain[1], gradient)
        assert plain[3].size == 0


def test_far_scores_overflow_nowhere():
    X, y = np.array([[1e5], [-1e5], [1e5], [-1e5]]), np.array([1.0, 0.0, 0.0, 1.0])
    value, gradient, slope, *_ = _core.logistic_pass(X, y, None, np.array([1.0]), 0.0)
    assert value == 2e5
    close(gradient, [2e5])
    assert slope == 0.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 11, 12, 13, 30])
def test_softmax_pass_and_products(shape, k):
    X = real(shape)
    n, p = X.shape
    rng = np.random.default_rng(k)
    coef, bias, y = rng.normal(size=(p, k)), rng.normal(size=k), rng.integers(0, k, n).astype(np.int32)
    eta = X @ coef + bias
    close(_core.dense_times(X, coef), X @ coef)
    close(_core.dense_back(X, eta), X.T @ eta)
    for weight in (None, weights(n)):
        w = np.ones(n) if weight is None else weight
        residual = softmax(eta, axis=1)
        residual[np.arange(n), y] -= 1.0
        residual *= w[:, None]
        value, gradient, slope = _core.softmax_pass(X, y, weight, coef, bias)
        close(value, (w * (logsumexp(eta, axis=1) - eta[np.arange(n), y])).sum())
        close(gradient, X.T @ residual)
        close(slope, residual.sum(axis=0))


def test_the_same_bits_on_any_number_of_threads():
    X, rng = real((60_000, 21)), np.random.default_rng(0)
    y, codes, w = rng.random(60_000), rng.integers(0, 4, 60_000).astype(np.int32), rng.random(60_000)
    coef, several = rng.normal(size=21) / 9, rng.normal(size=(21, 4)) / 9

    def all_of_them():
        return [
            *_core.weighted_gram(X, w),
            *_core.logistic_pass(X, y, w, coef, 0.1, coef, True),
            *_core.softmax_pass(X, codes, None, several, np.zeros(4)),
            _core.dense_times(X, several),
            _core.dense_back(X, w[:, None]),
        ]

    many = all_of_them()
    try:
        _core.set_threads(1)
        one = all_of_them()
    finally:
        _core.set_threads(0)
    assert all(np.array_equal(a, b) for a, b in zip(many, one, strict=True))


def test_bad_input_is_told():
    X, y = real((5, 2)), np.zeros(5)
    with pytest.raises(ValueError, match=r"scale and shift together"):
        _core.weighted_gram(X, None, None, np.ones(2), None)
    with pytest.raises(ValueError, match=r"other with one entry per row \(5\), found 4"):
        _core.weighted_gram(X, None, np.zeros((4, 1)))
    with pytest.raises(ValueError, match=r"scale with one entry per column \(2\), found 3"):
        _core.weighted_gram(X, None, None, np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match=r"y with one entry per row \(5\), found 4"):
        _core.logistic_pass(X, y[:4], None, np.zeros(2), 0.0)
    with pytest.raises(ValueError, match=r"coef with one entry per column \(2\), found 3"):
        _core.logistic_pass(X, y, None, np.zeros(3), 0.0)
    with pytest.raises(ValueError, match=r"class code for every row, found none in row 1"):
        _core.softmax_pass(X, np.array([0, -1, 0, 0, 0], dtype=np.int32), None, np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match=r"class codes from 0 to 1"):
        _core.softmax_pass(X, np.array([0, 2, 0, 0, 0], dtype=np.int32), None, np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match=r"coef of shape \(2, 1\)"):
        _core.dense_times(X, np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"r of shape \(5, 1\)"):
        _core.dense_back(X, np.zeros((4, 1)))
    with pytest.raises(TypeError, match="float64 or float32"):
        _core.weighted_gram(np.zeros((3, 2), dtype=np.int64))
