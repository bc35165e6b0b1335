import numpy as np
import pytest

from tests.core import reference
from tests.core.inputs import LAYOUTS, SHAPES, real
from tilth import _core


def spoil(X):
    """Infinite values, an all-missing column and a column with nothing finite."""
    if X.size:
        X[0, 0] = np.inf
        X[-1, -1] = -np.inf
    if X.shape[1] > 2:
        X[:, 1] = np.nan
        X[:, 2] = np.where(np.arange(len(X)) % 2, np.inf, np.nan)
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("clean", [True, False])
def test_facts_of_real_columns(shape, dtype, clean):
    X = real(shape, missing=0.0 if clean else 0.05).astype(dtype)
    X = X if clean else spoil(X)
    found = _core.column_facts(X)
    for ours, wanted in zip(found, reference.column_facts(X), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    assert [a.dtype for a in found] == [np.float64, np.float64, np.int64, np.int64]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_facts_do_not_depend_on_the_layout(layout, dtype):
    X = LAYOUTS[layout](spoil(real((2_000, 19), missing=0.1)).astype(dtype))
    for ours, wanted in zip(_core.column_facts(X), reference.column_facts(X), strict=True):
        np.testing.assert_array_equal(ours, wanted)


INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]


def integers(shape, dtype, seed=0):
    info = np.iinfo(dtype)
    low, high = max(info.min, -300), min(info.max, 300)
    return np.random.default_rng(seed).integers(low, high, size=shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[0]])
def test_facts_presence_and_codes_of_integers(shape, dtype):
    X = integers(shape, dtype)
    low, high = _core.integer_facts(X)
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))

    flags, offsets, outside = _core.integer_presence(X, low, high)
    wanted_flags, wanted_offsets = reference.integer_presence(X, low, high)
    assert outside == 0
    assert flags.dtype == bool
    np.testing.assert_array_equal(flags, wanted_flags)
    np.testing.assert_array_equal(offsets, wanted_offsets)

    lookup = np.random.default_rng(1).permutation(len(flags)).astype(np.int32)
    other = integers(shape, dtype, seed=5)
    encoded = _core.encode_integers(other, low, offsets, lookup)
    assert encoded.dtype == np.int32
    np.testing.assert_array_equal(encoded, reference.encode_integers(other, low, offsets, lookup))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_do_not_depend_on_the_layout(layout, dtype):
    X = LAYOUTS[layout](integers((3_000, 21), dtype))
    low, high = _core.integer_facts(X)
    np.testing.assert_array_equal((low, high), (X.min(axis=0), X.max(axis=0)))
    flags, offsets, _outside = _core.integer_presence(X, low, high)
    np.testing.assert_array_equal(flags, reference.integer_presence(X, low, high)[0])
    lookup = np.arange(len(flags), dtype=np.int32)
    wanted = reference.encode_integers(X, low, offsets, lookup)
    np.testing.assert_array_equal(_core.encode_integers(X, low, offsets, lookup), wanted)


def test_integers_at_the_ends_of_int64_do_not_overflow():
    ends = np.iinfo(np.int64)
    X = np.array([[ends.min, 5], [ends.max, 6]])
    low, high = _core.integer_facts(X)
    assert (low[0], high[0]) == (ends.min, ends.max)
    with pytest.raises(ValueError, match=r"span at most 1048576 integers, found .* in column 0"):
        _core.integer_presence(X, low, high)
    lookup = np.array([7, 8], dtype=np.int32)
    found = _core.encode_integers(X, np.array([ends.max, 5]), np.array([0, 1, 2]), lookup)
    np.testing.assert_array_equal(found, [[-2, 8], [7, -2]])


def test_no_rows_of_integers_give_empty_ranges():
    X = np.zeros((0, 2), np.int16)
    low, high = _core.integer_facts(X)
    assert (low > high).all()
    flags, offsets, _outside = _core.integer_presence(X, low, high)
    assert flags.shape == (0,)
    np.testing.assert_array_equal(offsets, [0, 0, 0])
    assert _core.encode_integers(X, low, offsets, np.zeros(0, np.int32)).shape == (0, 2)


def test_presence_ignores_values_outside_the_range():
    flags, _, outside = _core.integer_presence(np.array([[1], [9], [-4]]), np.array([0]), np.array([2]))
    assert outside == 2
    np.testing.assert_array_equal(flags, [False, True, False])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: _core.column_facts([[1.0]]),
            TypeError,
            "column_facts needs X as a numpy array .* found list",
        ),
        (
            lambda: _core.column_facts(np.zeros(3)),
            ValueError,
            r"X with 2 dimensions, found float64 of shape \(3,\)",
        ),
        (lambda: _core.column_facts(np.zeros((2, 2), int)), TypeError, "float64 or float32, found int64"),
        (lambda: _core.column_facts(np.zeros((2, 2), ">f8")), TypeError, "native number type"),
        (lambda: _core.integer_facts(np.zeros((2, 2))), TypeError, "int64, int32, int16, int8 or uint8"),
        (
            lambda: _core.integer_presence(np.zeros((2, 2), int), np.zeros(1, int), np.zeros(2, int)),
            ValueError,
            r"low with one entry per column \(2\), found 1",
        ),
        (
            lambda: _core.encode_integers(
                np.zeros((2, 1), int), np.zeros(1, int), np.array([0, 3]), np.zeros(2, np.int32)
            ),
            ValueError,
            "lookup",
        ),
        (
            lambda: _core.encode_integers(
                np.zeros((2, 1), int), np.zeros(1, int), np.array([0, -1]), np.zeros(0, np.int32)
            ),
            ValueError,
            "offsets that never decrease",
        ),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()
