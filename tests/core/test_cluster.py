"""The nearest centre of every row, beside a few lines of numpy."""

import numpy as np
import pytest

from tilth import _core


def reference(X, centres):
    squares = ((X[:, None, :] - centres[None]) ** 2).sum(axis=2)
    return squares.argmin(axis=1), squares.min(axis=1)


@pytest.mark.parametrize("k", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
def test_nearest_centres(k, layout):
    rng = np.random.default_rng(k)
    X, centres = rng.normal(size=(1003, 5)), rng.normal(size=(k, 5))
    given = {"rows": X, "columns": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[layout]
    labels, distance = _core.nearest_centres(given, centres)
    expected, squares = reference(X, centres)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(distance, squares, atol=1e-12)


def test_the_first_of_equally_near_centres_and_the_same_bits_on_any_number_of_threads():
    labels, distance = _core.nearest_centres(np.array([[1.0], [5.0]]), np.array([[0.0], [2.0], [0.0]]))
    assert labels.tolist() == [0, 1]
    assert distance.tolist() == [1.0, 9.0]
    rng = np.random.default_rng(0)
    X, centres = rng.normal(size=(30_000, 6)), rng.normal(size=(12, 6))
    together = _core.nearest_centres(X, centres)
    _core.set_threads(1)
    try:
        alone = _core.nearest_centres(X, centres)
    finally:
        _core.set_threads(0)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="column"):
        _core.nearest_centres(np.zeros((3, 2)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="at least one centre"):
        _core.nearest_centres(np.zeros((3, 2)), np.zeros((0, 2)))
    assert len(_core.nearest_centres(np.zeros((0, 2)), np.zeros((1, 2)))[0]) == 0
