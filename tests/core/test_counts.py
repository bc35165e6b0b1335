import numpy as np
import pytest

from tests.core import reference
from tests.core.inputs import LAYOUTS, codes, labels, weights
from tilth import _core


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(0, [2, 3]), (4, []), (50, [1]), (20_000, [2, 3, 7, 11]), (2_000, [5] * 150), (3_000, [40_000, 3])],
)
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_match_the_reference(n, sizes, k, weighted):
    table, offsets = codes(n, sizes)
    y, w = labels(n, k), weights(n) if weighted else None
    found = _core.class_counts(table, y, k, offsets, w)
    assert found.shape == (k, sum(sizes))
    np.testing.assert_allclose(found, reference.class_counts(table, y, k, offsets, w), rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_do_not_depend_on_the_layout(layout):
    table, offsets = codes(5_000, [3] * 20)
    table, y = LAYOUTS[layout](table), labels(5_000, 3)
    wanted = reference.class_counts(table, y, 3, offsets, None)
    np.testing.assert_array_equal(_core.class_counts(table, y, 3, offsets), wanted)


@pytest.mark.parametrize("n", [10, 40_000])
@pytest.mark.parametrize("code", [3, -2, 2**31 - 1, -(2**31)])
def test_a_code_out_of_range_names_its_row_and_column(n, code):
    table, offsets = codes(n, [3, 3, 3])
    table[[7, -1], 1] = code
    message = f"codes from 0 to 2 .* in column 1, found {code} in row 7"
    with pytest.raises(ValueError, match=message):
        _core.class_counts(table, np.zeros(n, np.int32), 1, offsets)
    out = np.zeros((n, 1))
    with pytest.raises(ValueError, match=message):
        _core.add_table(table, offsets, np.ones((9, 1)), out)
    assert not out.any(), "a refused call must leave out as it was"


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        (np.array([0, 3]), "offsets with one entry per column, plus one"),
        (np.array([1, 3, 4]), "start at 0"),
        (np.array([0, 3, 2]), "never decrease"),
    ],
)
def test_wrong_offsets_are_refused(offsets, message):
    with pytest.raises(ValueError, match=message):
        _core.class_counts(np.zeros((2, 2), np.int32), np.zeros(2, np.int32), 1, offsets)


@pytest.mark.parametrize(
    ("counts", "min_bucket", "cuts"),
    [
        # A bucket closes at 3 of one class, and goes on while the next value agrees.
        ([[1, 0], [0, 1], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], 3, [5]),
        ([[3, 0], [0, 3], [3, 0]], 3, [1, 2]),
        ([[3, 0], [0, 3], [1, 0]], 3, [1]),  # the short last bucket joins the one before
        ([[1, 0], [0, 1]], 3, []),  # never full: one bucket
        ([[2, 2], [2, 2]], 2, []),  # ties go to the lower class
        (np.zeros((0, 2)), 3, []),
        (np.zeros((3, 0)), 3, []),
    ],
)
def test_buckets_by_hand(counts, min_bucket, cuts):
    found = _core.bucket_values(np.asarray(counts, dtype=float), min_bucket)
    assert found.dtype == np.int64
    assert found.tolist() == cuts


def test_buckets_of_the_weather_temperatures():
    """The 12 distinct temperatures of the numeric weather data, at least 3 of a class in a bucket.

    64y 65n 68y 69y 70y | 71n 72yn 75yy | 80n 81y 83y 85n: the third never fills and joins the second, which
    stays yes like the first, so no cut is left.
    """
    no = [0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1]
    yes = [1, 0, 1, 1, 1, 0, 1, 2, 0, 1, 1, 0]
    assert _core.bucket_values(np.array([no, yes], dtype=float).T.copy(), 3).tolist() == []
    assert _core.bucket_values(np.array([no, yes], dtype=float).T.copy(), 2).tolist() == [5, 7, 8]


def test_buckets_match_the_step_by_step_reference():
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts = rng.integers(0, 4, size=(rng.integers(1, 30), rng.integers(1, 4))).astype(float)
        least = float(rng.integers(1, 7))
        assert _core.bucket_values(counts, least).tolist() == reference.bucket_values(counts, least)


def test_buckets_need_a_positive_size_and_c_order():
    with pytest.raises(ValueError, match="min_bucket above 0"):
        _core.bucket_values(np.ones((2, 2)), 0)
    with pytest.raises(ValueError, match="min_bucket above 0"):
        _core.bucket_values(np.ones((2, 2)), np.nan)
    with pytest.raises(ValueError, match="C order"):
        _core.bucket_values(np.asfortranarray(np.ones((4, 2))), 1)
