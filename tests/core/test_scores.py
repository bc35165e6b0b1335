import numpy as np
import pytest

from tests.core import reference
from tests.core.inputs import LAYOUTS, SHAPES, codes, real
from tilth import _core


def gaussian_inputs(shape, k, missing=0.0):
    rng = np.random.default_rng(7)
    X = real(shape, missing=missing)
    return X, rng.normal(size=(k, shape[1])), rng.random((k, shape[1])) + 0.2, rng.normal(size=(shape[0], k))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.1, 1.0])
def test_gaussian_scores_match_the_reference(shape, k, missing):
    X, mean, variance, start = gaussian_inputs(shape, k, missing)
    ours, wanted = start.copy(), start.copy()
    _core.add_gaussian(X, mean, variance, ours)
    reference.add_gaussian(X, mean, variance, wanted)
    np.testing.assert_allclose(ours, wanted, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gaussian_scores_do_not_depend_on_the_layout(layout, dtype):
    X, mean, variance, start = gaussian_inputs((2_000, 21), 4, 0.05)
    X = LAYOUTS[layout](X.astype(dtype))
    ours, wanted = np.hstack([start, start])[:, :4], start.copy()
    _core.add_gaussian(X, mean, variance, ours)
    reference.add_gaussian(X, mean, variance, wanted)
    np.testing.assert_allclose(ours, wanted, rtol=1e-11, atol=1e-9)


def test_gaussian_scores_far_from_zero():
    X = 1e9 + np.random.default_rng(0).normal(size=(100, 2))
    out = np.zeros((100, 1))
    _core.add_gaussian(X, np.full((1, 2), 1e9), np.ones((1, 2)), out)
    np.testing.assert_allclose(out[:, 0], -np.log(2 * np.pi) - ((X - 1e9) ** 2).sum(axis=1) / 2, rtol=1e-12)


def test_an_infinite_cell_scores_minus_infinity():
    out = np.zeros((1, 2))
    _core.add_gaussian(np.array([[np.inf, 0.0]]), np.zeros((2, 2)), np.ones((2, 2)), out)
    assert np.isneginf(out).all()


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan])
def test_a_variance_must_be_positive(variance):
    spread = np.ones((2, 3))
    spread[1, 2] = variance
    with pytest.raises(ValueError, match=r"positive variances, found .* for class 1, column 2"):
        _core.add_gaussian(np.zeros((4, 3)), np.zeros((2, 3)), spread, np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((3, 2)), ValueError, r"out with one entry per row \(4\), found 3"),
        (np.zeros((4, 2), np.float32), TypeError, "writable float64 matrix"),
        (np.broadcast_to(np.zeros(2), (4, 2)), TypeError, "writable float64 matrix"),
        (np.asfortranarray(np.zeros((4, 2))), ValueError, "contiguous rows"),
        (np.zeros((4, 3)), ValueError, r"mean of shape \(3, 5\), found float64 of shape \(2, 5\)"),
    ],
)
def test_out_must_fit(out, error, message):
    with pytest.raises(error, match=message):
        _core.add_gaussian(np.zeros((4, 5)), np.zeros((2, 5)), np.ones((2, 5)), out)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [1, 2, 7])
def test_table_scores_match_the_reference(layout, k):
    table, offsets = codes(6_000, [2, 5, 3, 9] * 3)
    table = LAYOUTS[layout](table)
    rng = np.random.default_rng(0)
    log_prob, start = np.log(rng.random((offsets[-1], k))), rng.normal(size=(6_000, k))
    log_prob[3] = -np.inf
    ours, wanted = start.copy(), start.copy()
    _core.add_table(table, offsets, log_prob, ours)
    reference.add_table(table, offsets, log_prob, wanted)
    np.testing.assert_allclose(ours, wanted, rtol=1e-12)


@pytest.mark.parametrize(("n", "p"), [(0, 2), (3, 0)])
def test_an_empty_table_adds_nothing(n, p):
    table, offsets = codes(n, [2] * p)
    out = np.ones((n, 3))
    _core.add_table(table, offsets, np.zeros((2 * p, 3)), out)
    assert (out == 1).all()


def test_a_table_of_the_wrong_shape_is_refused():
    table, offsets = codes(4, [2, 2])
    with pytest.raises(ValueError, match=r"log_prob of shape \(4, 3\), found float64 of shape \(4, 2\)"):
        _core.add_table(table, offsets, np.zeros((4, 2)), np.zeros((4, 3)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(0, 2), (5, 1), (20_000, 6)])
def test_softmax_and_argmax_match_the_reference(layout, shape):
    if layout == "one value" and not shape[0]:
        pytest.skip("there is no value to repeat")
    scores = np.random.default_rng(0).normal(scale=400, size=shape)
    scores[:, 0] = np.where(np.arange(len(scores)) % 3 == 0, -np.inf, scores[:, 0])
    scores[::7] = -np.inf
    scores = LAYOUTS[layout](scores)
    proba, log_total = _core.row_softmax(scores)
    wanted, wanted_total = reference.row_softmax(scores)
    np.testing.assert_allclose(proba, wanted, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(log_total, wanted_total, rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(_core.row_argmax(scores), reference.row_argmax(scores))


@pytest.mark.covers("N-10")
def test_scores_of_thousands_of_columns_do_not_underflow():
    X = np.random.default_rng(0).normal(size=(3, 5_000))
    scores = np.zeros((3, 2))
    _core.add_gaussian(X, np.zeros((2, 5_000)), np.ones((2, 5_000)), scores)
    assert (np.exp(scores) == 0).all(), "the densities themselves must be too small for a float64"
    scores[:, 1] -= np.log(3.0)
    proba, log_total = _core.row_softmax(scores)
    np.testing.assert_allclose(proba, [[0.75, 0.25]] * 3, rtol=1e-9)
    np.testing.assert_allclose(log_total, scores[:, 0] + np.log(4 / 3), rtol=1e-12)


def test_a_row_without_hope_gets_equal_shares():
    proba, log_total = _core.row_softmax(np.array([[-np.inf] * 4, [np.nan] * 4]))
    assert (proba == 0.25).all()
    assert np.isneginf(log_total).all()


def test_argmax_takes_the_first_maximum_and_passes_over_nan():
    scores = np.array([[1.0, 1.0], [np.nan, -5.0], [np.nan, np.nan], [-np.inf, -np.inf]])
    assert _core.row_argmax(scores).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("kernel", [_core.row_softmax, _core.row_argmax])
def test_scores_need_a_column(kernel):
    with pytest.raises(ValueError, match="at least one column"):
        kernel(np.zeros((3, 0)))
