from __future__ import annotations

import numpy as np
import pytest

from tilth.stats import Counts, ValueCounts
from tilth.stats.inputs import are_offsets


def test_counts_against_a_hand_table() -> None:
    counts = Counts.empty(2, [2, 3])
    counts.update([[0, 2], [1, 2], [1, -1], [0, 0]], y=[0, 1, 1, -1], weight=[1.0, 2.0, 0.5, 9.0])
    np.testing.assert_array_equal(counts.column(0), [[1, 0], [0, 2.5]])
    np.testing.assert_array_equal(counts.column(1), [[0, 0, 1], [0, 0, 2]])
    assert counts.n_classes == 2
    np.testing.assert_array_equal(counts.sizes, [2, 3])


def test_column_is_a_view() -> None:
    counts = Counts.empty(2, [2, 3])
    counts.column(1)[:] = 7
    assert counts.table[:, 2:].min() == 7
    assert counts.table[:, :2].max() == 0


def test_one_class_needs_no_y() -> None:
    counts = Counts.empty(1, [2])
    counts.update([[0], [1], [1]])
    np.testing.assert_array_equal(counts.table, [[1, 2]])


def test_counts_of_a_column_without_levels_and_of_no_columns() -> None:
    counts = Counts.empty(2, [0, 2])
    counts.update([[-1, 1]], y=[0])
    assert counts.column(0).shape == (2, 0)
    assert counts.table.sum() == 1
    nothing = Counts.empty(2, [])
    nothing.update(np.empty((3, 0), dtype=np.int32), y=[0, 1, 1])
    assert nothing.table.shape == (2, 0)


def test_grow_keeps_levels_at_the_front() -> None:
    counts = Counts.empty(2, [2, 1])
    counts.update([[0, 0], [1, 0]], y=[0, 1])
    bigger = counts.grow(3, [3, 2])
    np.testing.assert_array_equal(bigger.column(0), [[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(bigger.column(1), [[1, 0], [1, 0], [0, 0]])
    bigger.update([[2, 1]], y=[2])
    assert counts.table.sum() == 4
    with pytest.raises(ValueError, match="only adds"):
        bigger.grow(2, [3, 2])
    with pytest.raises(ValueError, match="only adds"):
        bigger.grow(3, [3, 1])
    with pytest.raises(ValueError, match="keeps the columns"):
        bigger.grow(3, [3, 2, 2])


@pytest.mark.parametrize(
    ("codes", "y", "error", "match"),
    [
        ([[2]], [0], ValueError, "2"),
        ([[0]], [2], ValueError, "groups 0 to 1.*row 0 has group 2"),
        ([[0]], [-2], ValueError, "row 0 has group -2"),
        ([[0], [1]], [0], ValueError, "one group per row"),
        ([[0, 1]], [0], ValueError, "made for 1 columns, but was given 2"),
        ([0], [0], ValueError, "2-d"),
        ([[0.5]], [0], TypeError, "integer codes"),
        ([[0]], ["a"], TypeError, "integer group codes"),
        ([[0]], None, ValueError, "needs y"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(codes: object, y: object, error: type[Exception], match: str) -> None:
    counts = Counts.empty(2, [2])
    with pytest.raises(error, match=match):
        counts.update(codes, y)
    assert counts.table.sum() == 0


def test_codes_of_wide_integers_do_not_wrap_around() -> None:
    counts = Counts.empty(1, [2])
    with pytest.raises(ValueError, match="codes"):
        counts.update(np.array([[2**32]], dtype=np.int64))


def test_merge_of_different_levels_is_refused() -> None:
    with pytest.raises(ValueError, match="its own shape only: table is 2 x 3 here and 2 x 2"):
        Counts.empty(2, [3]) + Counts.empty(2, [2])
    with pytest.raises(ValueError, match="same levels only"):
        Counts.empty(2, [3, 1]) + Counts.empty(2, [1, 3])


@pytest.mark.parametrize(("n_classes", "sizes"), [(0, [1]), (2, [-1])])
def test_empty_checks_sizes(n_classes: int, sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="or more"):
        Counts.empty(n_classes, sizes)


def test_value_counts_by_hand() -> None:
    seen = ValueCounts.empty(2)
    seen.update([2.0, -0.0, np.nan, 2.0, np.inf], y=[0, 1, 0, 0, 1], weight=[1.0, 0.5, 1.0, 2.0, 1.0])
    seen.update([0.0, 5.0], y=[0, -1])
    seen.update([7.0], y=[0], weight=[0.0])
    np.testing.assert_array_equal(seen.values, [0.0, 2.0, np.inf])
    np.testing.assert_array_equal(seen.counts, [[1, 0.5], [3, 0], [0, 1]])
    assert not np.signbit(seen.values[0])
    np.testing.assert_array_equal((seen + seen).values, seen.values)


def test_value_counts_refuses_other_classes_and_matrices() -> None:
    with pytest.raises(ValueError, match="2 classes here and 3"):
        ValueCounts.empty(2) + ValueCounts.empty(3)
    with pytest.raises(ValueError, match="one column at a time"):
        ValueCounts.empty(1).update([[1.0]])


def test_a_column_without_levels_leaves_equal_offsets() -> None:
    assert are_offsets(np.array([0, 2, 2, 5]), 5)
    assert not are_offsets(np.array([0, 3, 2, 5]), 5)
    assert not are_offsets(np.array([1, 2, 5]), 5)
    assert not are_offsets(np.array([0, 2, 4]), 5)
    assert not are_offsets(np.array([]), 0)
