"""The compiled gradients and row loops of boosting, beside numpy."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from tests.core.inputs import real, weights
from tests.core.reference_trees import leaf_quantile, rank_gradient_reference
from tilth import _core

SIZES = [0, 1, 7, 1000, 70_001]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_and_logistic(n, weighted):
    y, s, w = (real(n, 1) > 3).astype(float), 4 * real(n, 2) - 12, weights(n) if weighted else None
    g, h = np.empty(n), np.empty(n)
    _core.squared_gradient(y, s, w, g)
    np.testing.assert_array_equal(g, (s - y) * (1.0 if w is None else w))
    _core.logistic_gradient(y, s, w, g, h)
    scale = 1.0 if w is None else w
    np.testing.assert_allclose(g, scale * (expit(s) - y), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(h, scale * expit(s) * expit(-s), rtol=1e-13)


def test_logistic_far_out_is_finite():
    s = np.array([-np.inf, -1e300, -709.0, 0.0, 709.0, 1e300, np.inf])
    g, h = np.empty(7), np.empty(7)
    _core.logistic_gradient(np.zeros(7), s, None, g, h)
    np.testing.assert_allclose(g, expit(s), atol=1e-300)
    assert np.isfinite(h).all()
    assert (h[[0, 1, 5, 6]] < 1e-300).all()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_softmax(n, k, weighted):
    y = np.random.default_rng(0).integers(0, k, n).astype(np.int32)
    s, w = np.asfortranarray(3 * real((n, k))), weights(n) if weighted else None
    g, h = np.empty((n, k), order="F"), np.empty((n, k), order="F")
    _core.softmax_gradient(y, s, w, g, h)
    p = softmax(s, axis=1) if n else s
    wanted = p.copy()
    wanted[np.arange(n), y] -= 1
    scale = 1.0 if w is None else w[:, None]
    np.testing.assert_allclose(g, scale * wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(h, scale * p * (1 - p), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_add_leaves(n):
    leaf = np.random.default_rng(0).integers(-1, 9, n).astype(np.int32)
    score, value = real(n), real(9)
    wanted = score + np.where(leaf >= 0, value[leaf], 0.0)
    _core.add_leaves(score, leaf, value)
    np.testing.assert_array_equal(score, wanted)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaf_quantiles(n, q, weighted):
    rng = np.random.default_rng(0)
    leaf = rng.integers(-1, 6, n).astype(np.int32)
    value = np.round(real(n), 1)
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    found = _core.leaf_quantiles(value, leaf, q, 7, w)
    wanted = [leaf_quantile(value[leaf == c], q, None if w is None else w[leaf == c]) for c in range(7)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("top", [0, 1, 5])
@pytest.mark.parametrize("by_ndcg", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rank_gradient(top, by_ndcg, weighted):
    rng = np.random.default_rng(1)
    sizes = np.array([1, 30, 0, 12, 57])
    n = int(sizes.sum())
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order = rng.permutation(n).astype(np.int32)
    gain = 2.0 ** rng.integers(0, 4, n) - 1
    score, w = np.round(rng.normal(size=n), 1), weights(n) if weighted else None
    g, h = np.full(n, np.nan), np.full(n, np.nan)
    _core.rank_gradient(gain, score, w, order, start, top, by_ndcg, g, h)
    wanted = rank_gradient_reference(gain, score, w, order, start, top, by_ndcg)
    np.testing.assert_allclose(g, wanted[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(h, wanted[1], rtol=1e-10, atol=1e-12)


def test_any_number_of_threads_gives_the_same_bits():
    n, k = 200_000, 3
    rng = np.random.default_rng(2)
    y, s, w = rng.integers(0, 2, n).astype(float), rng.normal(size=n), rng.random(n)
    codes, leaf = rng.integers(0, k, n).astype(np.int32), rng.integers(0, 31, n).astype(np.int32)
    many = np.asfortranarray(rng.normal(size=(n, k)))
    sizes = np.full(n // 100, 100)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def all_of_them():
        g, h = np.empty(n), np.empty(n)
        g2, h2 = np.empty((n, k), order="F"), np.empty((n, k), order="F")
        score = s.copy()
        _core.logistic_gradient(y, s, w, g, h)
        _core.softmax_gradient(codes, many, w, g2, h2)
        _core.add_leaves(score, leaf, rng_values)
        parts = [g.tobytes(), h.tobytes(), g2.tobytes(), h2.tobytes(), score.tobytes()]
        parts += [_core.leaf_quantiles(s, leaf, 0.3, 31, weight).tobytes() for weight in (None, w)]
        _core.rank_gradient(y, s, None, np.arange(n, dtype=np.int32), start, 10, True, g, h)
        return [*parts, g.tobytes(), h.tobytes()]

    rng_values = rng.normal(size=31)
    try:
        _core.set_threads(1)
        one = all_of_them()
        _core.set_threads(2)
        assert all_of_them() == one
    finally:
        _core.set_threads(0)


def test_what_does_not_fit_is_refused():
    n = 4
    v, codes = np.zeros(n), np.zeros(n, np.int32)
    order, start = np.arange(n, dtype=np.int32), np.array([0, 4], dtype=np.int64)
    square = np.zeros((n, 2))
    cases = [
        (ValueError, "y with one entry per row", lambda: _core.squared_gradient(v[:2], v, None, v)),
        (ValueError, "gradient with one entry", lambda: _core.squared_gradient(v, v, None, v[:2])),
        (TypeError, "writable float64", lambda: _core.squared_gradient(v, v, None, v.astype(np.float32))),
        (ValueError, "weight with one entry", lambda: _core.logistic_gradient(v, v, v[:1], v, v)),
        (ValueError, "Fortran order", lambda: _core.softmax_gradient(codes, square, None, square, square)),
        (
            ValueError,
            "from 0 to 1, found 7 in row 2",
            lambda: _core.softmax_gradient(
                np.array([0, 1, 7, 0], np.int32), np.asfortranarray(square), None, np.asfortranarray(square),
                np.asfortranarray(square),
            ),
        ),
        (ValueError, "leaves below 1", lambda: _core.add_leaves(v, codes + 3, np.zeros(1))),
        (ValueError, "leaves below 2", lambda: _core.leaf_quantiles(v, codes + 3, 0.5, 2)),
        (ValueError, "q from 0 to 1", lambda: _core.leaf_quantiles(v, codes, 1.5, 2)),
        (ValueError, "n_leaves of at least 0", lambda: _core.leaf_quantiles(v, codes, 0.5, -1)),
        (ValueError, "row numbers below 4", lambda: _core.rank_gradient(v, v, None, order + 1, start, 0, True, v, v)),
        (ValueError, "end at the number", lambda: _core.rank_gradient(v, v, None, order, 0 * start, 0, True, v, v)),
        (ValueError, "top of at least 0", lambda: _core.rank_gradient(v, v, None, order, start, -1, True, v, v)),
    ]  # fmt: skip
    for error, words, call in cases:
        with pytest.raises(error, match=words):
            call()
