"""Laws of every statistic: merged parts are the whole, weights are repetition, values are plain."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilth.stats import Counts, Gram, Histogram, Moments, QuantileSketch, Statistic, ValueCounts

N_CLASSES = 3
SIZES = [4, 2, 5]


@dataclass(frozen=True)
class Rows:
    """Rows that every statistic can take its share of."""

    X: np.ndarray
    codes: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.codes[rows], self.y[rows], self.weight[rows])


def make_rows(seed: int, n: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(50.0, 3.0, (n, 3)), 1)
    X[rng.random((n, 3)) < 0.2] = np.nan
    codes = np.column_stack([rng.integers(-1, size, n) for size in SIZES]).astype(np.int32)
    y = rng.integers(-1, N_CLASSES, n).astype(np.int32)
    return Rows(X, codes, y, rng.integers(0, 4, n).astype(float))


@dataclass(frozen=True)
class Case:
    make: Callable[[], Statistic]
    add: Callable[[Statistic, Rows], None]
    add_weighted: Callable[[Statistic, Rows], None] | None


EDGES = [44.0, 47.0, 50.0, 51.5, 56.0]
CASES = {
    "Counts": Case(
        lambda: Counts.empty(N_CLASSES, SIZES),
        lambda s, r: s.update(r.codes, r.y),
        lambda s, r: s.update(r.codes, r.y, r.weight),
    ),
    "ValueCounts": Case(
        lambda: ValueCounts.empty(N_CLASSES),
        lambda s, r: s.update(r.X[:, 0], r.y),
        lambda s, r: s.update(r.X[:, 0], r.y, r.weight),
    ),
    "Moments": Case(
        lambda: Moments.empty(N_CLASSES, 3),
        lambda s, r: s.update(r.X, r.y),
        lambda s, r: s.update(r.X, r.y, r.weight),
    ),
    "Gram": Case(
        lambda: Gram.empty(3),
        lambda s, r: s.update(np.nan_to_num(r.X, nan=49.0)),
        lambda s, r: s.update(np.nan_to_num(r.X, nan=49.0), r.weight),
    ),
    "Histogram": Case(
        lambda: Histogram.empty(EDGES, N_CLASSES),
        lambda s, r: s.update(r.X[:, 0], r.y),
        lambda s, r: s.update(r.X[:, 0], r.y, r.weight),
    ),
    # Small enough inputs: the sketch is exact up to its size. Its error beyond is in test_sketch.py.
    "QuantileSketch": Case(lambda: QuantileSketch.empty(size=512), lambda s, r: s.update(r.X[:, 0]), add_weighted=None),
}
WEIGHTED = [name for name, case in CASES.items() if case.add_weighted is not None]


def state(statistic: Statistic) -> dict[str, np.ndarray]:
    values = {field.name: np.asarray(getattr(statistic, field.name)) for field in fields(statistic)}
    if isinstance(statistic, QuantileSketch):
        values["items"] = np.sort(values["items"])  # the order within a level carries no meaning
    return values


def assert_same(left: Statistic, right: Statistic, *, exact: bool = False) -> None:
    assert type(left) is type(right)
    ours, theirs = state(left), state(right)
    for name in ours:
        if exact:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
        else:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-10, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 120), n_parts=st.integers(1, 6), weighted=st.booleans())
def test_merged_parts_are_the_whole(name: str, seed: int, n: int, n_parts: int, weighted: bool) -> None:
    case = CASES[name]
    add = case.add_weighted if weighted and case.add_weighted else case.add
    rows = make_rows(seed, n)
    rng = np.random.default_rng(seed)
    whole = case.make()
    add(whole, rows)
    # Parts of any size, some empty, of rows in any order; merged in any order.
    part_of_row = rng.integers(0, n_parts, n) * rng.integers(0, 2)
    merged = case.make()
    for part in rng.permutation(n_parts):
        statistic = case.make()
        add(statistic, rows.take(rng.permutation(np.flatnonzero(part_of_row == part))))
        merged += statistic
    assert_same(merged, whole)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 80), cut=st.integers(0, 80))
def test_updates_are_the_whole(name: str, seed: int, n: int, cut: int) -> None:
    case, rows = CASES[name], make_rows(seed, n)
    whole, stepwise = case.make(), case.make()
    case.add(whole, rows)
    case.add(stepwise, rows.take(np.arange(n)[:cut]))
    case.add(stepwise, rows.take(np.arange(n)[cut:]))
    assert_same(stepwise, whole)


@pytest.mark.parametrize("name", WEIGHTED)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 80))
def test_weights_are_repetition(name: str, seed: int, n: int) -> None:
    case, rows = CASES[name], make_rows(seed, n)
    weighted, repeated = case.make(), case.make()
    assert case.add_weighted is not None
    case.add_weighted(weighted, rows)
    case.add(repeated, rows.take(np.repeat(np.arange(n), rows.weight.astype(int))))
    assert_same(weighted, repeated)


@pytest.mark.parametrize("name", CASES)
def test_merge_leaves_the_right_side_alone(name: str) -> None:
    case = CASES[name]
    left, right = case.make(), case.make()
    case.add(right, make_rows(1, 40))
    before = right.copy()
    left += right
    case.add(left, make_rows(2, 40))
    assert_same(right, before, exact=True)
    third = left + right
    case.add(third, make_rows(3, 10))
    assert_same(right, before, exact=True)


@pytest.mark.parametrize("name", CASES)
def test_plus_is_a_new_value(name: str) -> None:
    case = CASES[name]
    left, right = case.make(), case.make()
    case.add(left, make_rows(1, 40))
    case.add(right, make_rows(2, 30))
    before = left.copy()
    merged = left + right
    assert_same(left, before, exact=True)
    left += right
    assert_same(merged, left, exact=True)


@pytest.mark.parametrize("name", CASES)
def test_empty_changes_nothing(name: str) -> None:
    case = CASES[name]
    statistic = case.make()
    case.add(statistic, make_rows(1, 40))
    assert_same(statistic + case.make(), statistic, exact=True)
    assert_same(case.make() + statistic, statistic, exact=True)


@pytest.mark.parametrize("name", CASES)
def test_merge_with_itself_doubles(name: str) -> None:
    case = CASES[name]
    once, twice = case.make(), case.make()
    rows = make_rows(4, 40)
    case.add(once, rows)
    case.add(twice, rows)
    case.add(twice, rows)
    once += once
    assert_same(once, twice)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("clone", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, Statistic.copy])
def test_round_trip(name: str, clone: Callable[[Statistic], Statistic]) -> None:
    case = CASES[name]
    statistic = case.make()
    case.add(statistic, make_rows(1, 40))
    again = clone(statistic)
    assert_same(again, statistic, exact=True)
    case.add(again, make_rows(2, 10))
    assert state(again).keys() == state(statistic).keys()
    for field in fields(statistic):
        value = getattr(statistic, field.name)
        assert isinstance(value, (np.ndarray, int, float))
        if isinstance(value, np.ndarray) and value.size:
            assert not np.shares_memory(value, getattr(again, field.name))


@pytest.mark.parametrize("name", CASES)
def test_merges_only_its_own_kind(name: str) -> None:
    statistic = CASES[name].make()
    other = CASES["Gram" if name != "Gram" else "Counts"].make()
    with pytest.raises(TypeError, match=f"{name} merges with another {name} only"):
        statistic += other


@pytest.mark.parametrize("name", CASES)
def test_update_does_not_alter_or_keep_its_input(name: str) -> None:
    case, rows = CASES[name], make_rows(5, 30)
    given_rows = copy.deepcopy(rows)
    statistic = case.make()
    case.add(statistic, rows)
    before = statistic.copy()
    for array in ("X", "codes", "y", "weight"):
        np.testing.assert_array_equal(getattr(rows, array), getattr(given_rows, array))
        getattr(rows, array)[:] = 0
    assert_same(statistic, before, exact=True)


@pytest.mark.parametrize("name", CASES)
def test_repr_is_short(name: str) -> None:
    statistic = CASES[name].make()
    CASES[name].add(statistic, make_rows(1, 100))
    assert repr(statistic).startswith(f"{name}(")
    assert len(repr(statistic)) < 300


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_weight_is_refused_and_changes_nothing(name: str, bad: float) -> None:
    case, rows = CASES[name], make_rows(1, 20)
    statistic = case.make()
    case.add(statistic, rows)
    before = statistic.copy()
    rows.weight[7] = bad
    assert case.add_weighted is not None
    with pytest.raises(ValueError, match="row 7 has weight"):
        case.add_weighted(statistic, rows)
    assert_same(statistic, before, exact=True)
