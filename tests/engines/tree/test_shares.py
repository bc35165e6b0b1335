"""Rows in parts (C4.5): large nodes, weights, classes, numbers and threads give the tree of the plain grower."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.tree.reference_grow import reference_grow
from tests.engines.tree.test_grow_parity import SEED, compiled, same_tree, table_of, target_of
from tilth import _core
from tilth.engines.tree.grow import Bag, Goal, Grid, Growth, grow_trees
from tilth.engines.tree.reshape import replant
from tilth.engines.tree.trees import ARRAYS, LEAF

GROWTH = {"missing": "fractional", "thresholds": "binned"}
C45 = {**GROWTH, "criterion": "gain_ratio", "nominal": "multiway", "min_rows_split": 0, "min_rows_leaf": 0}


def goal_of(table, what, weight=None):
    codes, numbers = target_of(table, 3 if what == "three classes" else 2, 1)
    if what == "numbers":
        return Goal(numbers=numbers[:, None], weight=weight)
    return Goal(codes=codes, n_classes=int(codes.max()) + 1, weight=weight)


@pytest.mark.covers("T-02")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("what", ["two classes", "three classes", "numbers"])
def test_nodes_of_many_rows(what, weighted):
    """Nodes of more than 512 rows are summed in histograms, smaller ones column by column."""
    table = table_of(n=1300, seed=4, gone=0.1)
    table.columns[0].values = table.columns[0].values.round(1)  # few values: a bin for each
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], 1300) if weighted else None
    goal = goal_of(table, what, weight)
    rules = {**GROWTH, "criterion": "squared_error"} if what == "numbers" else C45
    growth = Growth(**rules, max_depth=2, min_weight_leaf=2.0)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


@pytest.mark.covers("T-13")
@pytest.mark.parametrize("least", [0.93, 1.91, 7.47])
def test_no_node_is_split_that_cannot_make_two_leaves_of_enough_weight(least):
    table = table_of(n=90, seed=2)
    goal = goal_of(table, "two classes")
    growth = Growth(**C45, min_weight_leaf=least)
    found = compiled(table, goal, growth)
    same_tree(found, reference_grow(table, goal, growth), table)
    for node in np.flatnonzero(found.test != LEAF):
        below = found.weight[found.child[node] : found.child[node] + found.branches[node]]
        assert (below >= least - 1e-9).sum() >= 2


@pytest.mark.parametrize("what", ["two classes", "three classes"])
def test_the_same_tree_on_any_number_of_threads(what):
    table = table_of(n=30_000, seed=3, gone=0.05)
    goal, growth = goal_of(table, what), Growth(**C45, min_weight_leaf=2.0)
    grid = Grid.of(table, 255, None)
    whole = grow_trees(grid, goal, growth, SEED).validate()
    assert whole.n_nodes > 5000
    try:
        for threads in (1, 5):
            _core.set_threads(threads)
            again = grow_trees(grid, goal, growth, SEED)
            assert all(getattr(whole, name).tobytes() == getattr(again, name).tobytes() for name in ARRAYS)
    finally:
        _core.set_threads(0)


def test_a_drawn_row_is_a_weight():
    """Bagging draws a row several times; the tree is that of rows with these weights."""
    table = table_of(n=1500, seed=6)
    goal, seed = goal_of(table, "two classes"), np.array([11])
    growth = Growth(**C45, max_depth=4)
    grid = Grid.of(table, 255, None)
    drawn = grow_trees(grid, goal, growth, seed, bag=Bag(size=1500))
    times = _core.bag_counts(11, 1500, 1500, True).astype(float)
    weighted = grow_trees(grid, goal_of(table, "two classes", times), growth, seed)
    plain = [replant(t, np.where(t.test == LEAF, -1, np.arange(t.n_nodes)), t.value) for t in (drawn, weighted)]
    for name in ("test", "column", "child"):
        assert np.array_equal(getattr(plain[0], name), getattr(plain[1], name)), name
    assert plain[0].weight == pytest.approx(plain[1].weight)
    assert plain[0].value == pytest.approx(plain[1].value)
