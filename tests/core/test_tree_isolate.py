"""Isolation trees against their meaning."""

import numpy as np
import pytest

from tests.core import reference_trees
from tests.core.inputs import LAYOUTS
from tilth import _core

NAMES = (
    "start", "test", "column", "threshold", "subset", "child", "branches", "missing", "value", "weight", "bits",
)  # fmt: skip


def mixed(n=80, seed=0):
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.normal(size=(n, 3)), 1)
    numbers[rng.random((n, 3)) < 0.1] = np.nan
    numbers[:, 2] = 4.0
    codes = np.column_stack([rng.integers(-1, 5, n), rng.integers(0, 3, n), rng.integers(0, 100, n)]).astype(np.int32)
    return numbers, codes, np.array([5, -3, 90])


def grow(numbers, codes, levels, subsample=64, max_depth=6, columns=None, seeds=range(5), upto=None):
    columns = numbers.shape[1] + codes.shape[1] if columns is None else columns
    made = _core.isolation_trees(
        numbers, codes, levels, upto, subsample, max_depth, columns, np.array(list(seeds), dtype=np.uint64)
    )
    return dict(zip(NAMES, made, strict=True))


@pytest.mark.parametrize(("subsample", "columns"), [(64, 6), (10, 2), (80, 6), (1, 1)])
def test_trees_are_those_of_the_reference(subsample, columns):
    numbers, codes, levels = mixed()
    made = grow(numbers, codes, levels, subsample, columns=columns)
    for i in range(5):
        wanted = reference_trees.isolation_tree(numbers, codes, levels, subsample, 6, columns, i)
        first, last = made["start"][i : i + 2]
        assert last - first == len(wanted)
        for j, node in enumerate(wanted, start=first):
            assert made["weight"][j] == len(node["rows"])
            assert made["column"][j] == node.get("column", -1)
            if "column" not in node:
                assert made["test"][j] == 0
                assert made["child"][j] == -1
                assert made["value"][j] == pytest.approx(node["depth"] + reference_trees.path_length(len(node["rows"])))
                continue
            assert made["child"][j] == first + node["child"]
            assert (made["branches"][j], made["missing"][j]) == (2, -1)
            if "set" in node:
                size = levels[node["column"] - 3]
                words = made["bits"][made["subset"][j] : made["subset"][j] + (size + 63) // 64]
                assert {v for v in range(size) if int(words[v // 64]) >> (v % 64) & 1} == node["set"]
            else:
                assert made["threshold"][j] == node["threshold"]


def test_layouts_and_float32_give_the_same_trees():
    numbers, codes, levels = mixed()
    numbers = numbers.astype(np.float32).astype(np.float64)
    wanted = grow(numbers, codes, levels)
    for name, layout in LAYOUTS.items():
        if name == "one value":
            continue
        for given in (layout(numbers), layout(numbers.astype(np.float32))):
            made = grow(given, layout(codes), levels)
            assert all(np.array_equal(made[k], wanted[k]) for k in NAMES)


def test_threads_do_not_change_the_trees():
    rng = np.random.default_rng(1)
    numbers, codes, levels = rng.normal(size=(5000, 6)), np.empty((5000, 0), np.int32), np.empty(0, np.int64)
    try:
        _core.set_threads(1)
        one = grow(numbers, codes, levels, 256, 8, seeds=range(64))
        _core.set_threads(2)
        two = grow(numbers, codes, levels, 256, 8, seeds=range(64))
    finally:
        _core.set_threads(0)
    assert all(np.array_equal(one[k], two[k]) for k in NAMES)


def test_a_whole_weight_is_a_repeated_row():
    numbers, codes, levels = mixed()
    times = np.random.default_rng(2).integers(1, 4, len(numbers))
    weighted = grow(numbers, codes, levels, upto=np.cumsum(times).astype(np.float64))
    rows = np.repeat(np.arange(len(numbers)), times)
    repeated = grow(numbers[rows], codes[rows], levels)
    assert all(np.array_equal(weighted[k], repeated[k]) for k in NAMES)


def test_weights_with_fractions_draw_heavy_rows_more_often():
    numbers = np.arange(1000.0)[:, None]
    codes, levels = np.empty((1000, 0), np.int32), np.empty(0, np.int64)
    weight = np.where(np.arange(1000) < 100, 5.5, 0.1)
    made = grow(numbers, codes, levels, 100, 1, seeds=range(200), upto=np.cumsum(weight))
    roots = made["start"][:-1]
    share = np.where(made["threshold"][roots] >= 100, np.nan, made["weight"][made["child"][roots]] / 100)
    assert (made["weight"][roots] == 100).all()
    left = made["threshold"][roots] >= 100  # the heavy rows are then all on the left, with some light ones
    assert made["weight"][made["child"][roots]][left].mean() > 80
    assert np.nanmax(share) <= 1


def test_constant_rows_and_single_rows_are_leaves():
    same = np.full((30, 2), 7.0)
    codes, levels = np.empty((30, 0), np.int32), np.empty(0, np.int64)
    made = grow(same, codes, levels, 20, 8)
    assert (made["test"] == 0).all()
    assert made["value"] == pytest.approx(reference_trees.path_length(20))
    one = grow(same[:1], codes[:1], levels, 1, 0)
    assert (one["value"] == 0).all()


def test_infinite_and_huge_numbers():
    numbers = np.array([[np.inf], [-1.7e308], [1.7e308], [-np.inf], [0.0], [np.nan]])
    made = grow(numbers, np.empty((6, 0), np.int32), np.empty(0, np.int64), 6, 20, seeds=range(50))
    assert np.isfinite(made["threshold"]).all()
    assert (np.abs(made["threshold"]) <= 1.7e308).all()


@pytest.mark.covers("WN-82")
def test_mean_path_length():
    assert round(_core.mean_path_length(256), 4) == 10.2448
    assert [_core.mean_path_length(n) for n in (0, 1, 2)] == [0, 0, 1]


def test_hostile_arguments_are_refused():
    numbers, codes, levels = mixed()
    cases = [
        (dict(numbers=numbers[:5]), "one entry per row"),
        (dict(levels=levels[:2]), "levels"),
        (dict(subsample=0), "subsample from 1 to 80"),
        (dict(subsample=81), "subsample from 1 to 80"),
        (dict(max_depth=-1), "max_depth"),
        (dict(columns=7), "columns from 1 to 6"),
        (dict(upto=np.ones(80)), "positive weights"),
        (dict(upto=np.full(80, np.nan)), "positive weights"),
        (dict(upto=np.cumsum(np.full(80, 1e300))), "below 9e15"),
        (dict(numbers=numbers[:0], codes=codes[:0], subsample=1), "a row and a column"),
    ]
    for change, words in cases:
        with pytest.raises(ValueError, match=words):
            grow(**(dict(numbers=numbers, codes=codes, levels=levels) | change))
    with pytest.raises(TypeError, match="seeds as uint64"):
        _core.isolation_trees(numbers, codes, levels, None, 8, 3, 6, np.arange(3.0))
    with pytest.raises(TypeError, match="codes as int32"):
        grow(numbers, codes.astype(np.int64), levels)
