import numpy as np
import pytest

from tests.core import reference
from tests.core.inputs import LAYOUTS, SHAPES, labels, real, weights
from tilth import _core


def check(X, y, k, w, rtol=1e-11):
    found = _core.class_moments(X, y, k, w)
    for ours, wanted in zip(found, reference.class_moments(X, y, k, w), strict=True):
        assert ours.shape == (k, X.shape[1])
        np.testing.assert_allclose(ours, wanted, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 4, 200])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_match_the_reference(shape, k, missing, weighted):
    n = shape[0]
    check(real(shape, missing=missing), labels(n, k), k, weights(n) if weighted else None)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_do_not_depend_on_the_layout(layout, dtype):
    X = LAYOUTS[layout](real((3_000, 21), missing=0.02).astype(dtype))
    y, w = labels(len(X), 3), weights(len(X))
    check(X, np.repeat(y, 2)[::2], 3, np.repeat(w, 2)[::2])


def test_without_labels_all_rows_are_one_class():
    X = real((500, 3), missing=0.1)
    for ours, wanted in zip(
        _core.class_moments(X), _core.class_moments(X, np.zeros(500, np.int32), 1, None), strict=True
    ):
        np.testing.assert_array_equal(ours, wanted)


def test_a_far_mean_costs_no_accuracy():
    rng = np.random.default_rng(4)
    X = 1e9 + rng.normal(size=(200_000, 3))
    total, mean, m2 = _core.class_moments(X)
    exact = X - 1e9  # the subtraction is exact here, so this is the variance of the stored numbers
    np.testing.assert_allclose(mean[0] - 1e9, exact.mean(axis=0), atol=4 * np.spacing(1e9))
    # One pass over memory may lose mean / sd units of rounding; the naive formula loses everything.
    np.testing.assert_allclose(m2[0] / total[0], exact.var(axis=0), rtol=1e-7)


def test_a_cell_without_weight_is_zero_not_nan():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    total, mean, m2 = _core.class_moments(X, np.array([0, -1], np.int32), 2, np.array([0.0, 1.0]))
    assert not total.any()
    assert not mean.any()
    assert not m2.any()


def test_weights_are_repetitions():
    X, y = real((400, 5), missing=0.1), labels(400, 3)
    w = np.random.default_rng(6).integers(0, 4, 400)
    repeated = _core.class_moments(np.repeat(X, w, axis=0), np.repeat(y, w), 3, None)
    for ours, wanted in zip(_core.class_moments(X, y, 3, w.astype(float)), repeated, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((3, 2)), np.array([0, 2, 0], np.int32), 2, None), ValueError, "found 2 in row 1"),
        ((np.zeros((3, 2)), np.array([0, -2, 0], np.int32), 2, None), ValueError, "found -2 in row 1"),
        (
            (np.zeros((3, 2)), np.zeros(2, np.int32), 2, None),
            ValueError,
            r"y with one entry per row \(3\), found 2",
        ),
        ((np.zeros((3, 2)), np.zeros(3), 2, None), TypeError, "y as int32, found float64"),
        ((np.zeros((3, 2)), None, 0, None), ValueError, "k of at least 1"),
        ((np.zeros((3, 2)), None, 1, np.ones(4)), ValueError, "weight with one entry per row"),
        ((np.zeros((3, 2)), None, 1, np.ones(3, int)), TypeError, "weight as float64"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        _core.class_moments(*arguments)
