"""Kernels of level-wise growth: sums that add over parts, and splits made from them."""

import numpy as np
import pytest

from tests.core.reference_trees import reference_level_lanes
from tilth import _core
from tilth.engines.tree.grow import Growth, kernel_settings

SIZES = np.array([4, 7, 3], dtype=np.int64)
SETTINGS = kernel_settings(Growth(), 0, False, 1)
GOALS = ["two classes", "three classes", "weighted classes", "numbers", "two numbers", "weighted numbers"]


def rows_of(goal, n=500, kind=np.uint8, seed=0):
    """Arguments of level_sums as a dict of arrays by row, and the facts."""
    rng = np.random.default_rng(seed)
    bins = np.column_stack([rng.integers(0, s + 1, n) for s in SIZES]).astype(kind)
    rows = {"bins": bins, "slot": rng.integers(-1, 3, n).astype(np.int32), "y": None, "targets": None, "weight": None}
    k = 0
    if "classes" in goal:
        k = 3 if goal == "three classes" else 2
        rows["y"] = rng.integers(0, k, n).astype(np.int32)
    else:
        rows["targets"] = rng.normal(1000.0, 3.0, (n, 2 if goal == "two numbers" else 1))
    if "weighted" in goal:
        rows["weight"] = rng.random(n) + 0.1
    low, high = (np.empty(0),) * 2 if k else (rows["targets"].min(axis=0), rows["targets"].max(axis=0))
    top = 1.0 if rows["weight"] is None else rows["weight"].max()
    return rows, k, (n, float(top), rows["weight"] is None, low, high)


def sums(rows, k, facts, n_tables=2, n_slots=3):
    return _core.level_sums(
        rows["bins"], SIZES, rows["slot"], n_tables, n_slots, rows["y"], k, rows["targets"], rows["weight"], facts
    )


def part(rows, index):
    return {name: None if values is None else np.ascontiguousarray(values[index]) for name, values in rows.items()}


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("goal", GOALS)
def test_sums_are_those_of_the_rows(goal, kind):
    rows, k, facts = rows_of(goal, kind=kind)
    tables, totals = sums(rows, k, facts)
    m = len(facts[3])
    root = sums({**rows, "slot": np.zeros(500, dtype=np.int32)}, k, facts, 0, 1)[1][0]

    def lanes(cells):
        found, centre = _core.level_lanes(np.ascontiguousarray(cells), root, k, m, facts)
        if m:
            found[:, 2:] += centre * found[:, 1:2]
        return found

    reference = reference_level_lanes(rows["slot"], 3, rows["y"], k, rows["targets"], rows["weight"])
    assert lanes(totals) == pytest.approx(reference, rel=1e-12)
    first = np.concatenate([[0], np.cumsum(SIZES + 1)])
    for slot in range(2):
        for j in range(3):
            here = rows["slot"] == slot
            place = np.where(here, rows["bins"][:, j].astype(np.int64), -1)
            wanted = reference_level_lanes(place, SIZES[j] + 1, rows["y"], k, rows["targets"], rows["weight"])
            assert lanes(tables[slot, first[j] : first[j + 1]]) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("goal", GOALS)
def test_parts_in_any_order_add_up_to_the_same_bits(goal):
    rows, k, facts = rows_of(goal)
    whole = sums(rows, k, facts)
    order = np.random.default_rng(7).permutation(500)
    parts = [sums(part(rows, index), k, facts) for index in np.array_split(order, 9)]
    for i in range(2):
        assert np.array_equal(sum(p[i] for p in parts), whole[i])
    for threads in (1, 2):
        _core.set_threads(threads)
        try:
            assert all(np.array_equal(a, b) for a, b in zip(sums(rows, k, facts), whole, strict=True))
        finally:
            _core.set_threads(0)


def splits(tables, totals, k, facts, **settings):
    count, m = len(totals), len(facts[3])
    rules = SETTINGS | ({"criterion": 3} if m else {}) | settings
    edges, first = np.arange(3) + 0.5, np.array([0, 3], dtype=np.int64)
    return _core.level_splits(
        tables, totals, totals.sum(axis=0), 1, np.arange(count).astype(np.uint64), np.full(count, -np.inf),
        np.full(count, np.inf), np.zeros((count, 3), dtype=np.uint8), np.zeros(count, dtype=np.uint8), SIZES,
        np.array([0, 1, 0], dtype=np.int32), edges, first, k, m, facts, rules,
    )  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"multiway": True, "missing": 1}, {"max_features": 1, "reuse": False}])
@pytest.mark.parametrize("goal", GOALS)
def test_children_share_out_the_sums_of_their_parent(goal, settings):
    rows, k, facts = rows_of(goal)
    tables, totals = sums(rows, k, facts, 3)
    made = splits(tables, totals, k, facts, **settings)
    assert (made["test"] > 0).all()
    assert len(made["open"]) == made["branches"].sum()
    parent = np.repeat(np.arange(3), made["branches"])
    held = np.zeros_like(totals)
    np.add.at(held, parent, made["totals"])
    assert np.array_equal(held, totals)
    assert len(set(made["seed"].tolist())) == len(made["seed"])
    if "reuse" in settings:
        assert np.array_equal(made["used"].argmax(axis=1), made["column"][parent])


def test_limits_close_nodes():
    rows, k, facts = rows_of("two classes")
    tables, totals = sums(rows, k, facts, 3)
    assert (splits(tables, totals, k, facts, max_depth=1)["test"] == 0).all()
    assert not splits(tables, totals, k, facts, max_depth=2)["open"].any()
    assert (splits(tables, totals, k, facts, min_gain=0.9)["test"] == 0).all()


def test_the_root_has_the_seed_of_splitmix():
    assert _core.root_seed(0) == 0xE220A8397B1DCDAF


def test_what_does_not_fit_is_refused():
    rows, k, facts = rows_of("weighted numbers")
    wrong = {
        "slots below 3": {"slot": np.full(500, 3, dtype=np.int32)},
        "bins up to 4": {"bins": np.full((500, 3), 9, dtype=np.uint8)},
        "uint8 or uint16": {"bins": np.zeros((500, 3))},
        "weights that agree": {"weight": np.full(500, 2.0)},
        "targets in the range": {"targets": np.zeros((500, 1))},
        "one entry per row": {"slot": np.zeros(3, dtype=np.int32)},
        "classes or targets": {"targets": None},
    }
    for words, change in wrong.items():
        with pytest.raises((TypeError, ValueError), match=words):
            sums({**rows, **change}, k, (*facts[:3], facts[3][:0], facts[4][:0]) if "classes" in words else facts)
    with pytest.raises(ValueError, match="as many slots as tables"):
        sums(rows, k, facts, 4, 3)
    with pytest.raises(ValueError, match="at least one row"):
        sums(rows, k, (0, *facts[1:]))
    with pytest.raises(ValueError, match="five facts"):
        sums(rows, k, facts[:4])
    with pytest.raises(ValueError, match="finite"):
        sums(rows, k, (*facts[:3], np.array([-np.inf]), facts[4]))
    half, k2, facts2 = rows_of("two classes")
    with pytest.raises(ValueError, match="weights that agree"):
        sums({**half, "weight": np.full(500, 0.5)}, k2, facts2)
    with pytest.raises(ValueError, match="a class for every row"):
        sums({**half, "y": np.full(500, -1, dtype=np.int32)}, k2, facts2)
    tables, totals = sums(half, k2, facts2, 3)
    with pytest.raises(ValueError, match="tables of shape"):
        splits(tables[:2], totals, k2, facts2)
    for settings in ({"criterion": 3}, {"missing": 3}):
        with pytest.raises(ValueError, match="a criterion that fits"):
            splits(tables, totals, k2, facts2, **settings)
