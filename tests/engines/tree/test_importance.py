import numpy as np
import pytest

from tests.engines.tree.hand_made import WEATHER, WEATHER_KINDS, WEATHER_NAMES, random_table, random_trees
from tilth.data.kinds import numeric
from tilth.data.table import Column, Table
from tilth.engines.tree import importance
from tilth.engines.tree.nested import from_nested
from tilth.engines.tree.paths import nodes_to, parents, path_matrix
from tilth.engines.tree.trees import LEAF

EACH = np.arange(4)


@pytest.fixture
def weather():
    return from_nested(WEATHER, WEATHER_NAMES, WEATHER_KINDS, ("No", "Yes"))


@pytest.mark.covers("T-22")
def test_the_share_of_rows_a_column_decides_about(weather):
    shares = importance.by_weight(weather, EACH, 4)
    np.testing.assert_allclose(shares, [1.0, 0.0, 5 / 14, 5 / 14])


@pytest.mark.covers("T-22")
def test_a_column_asked_twice_on_a_way_counts_once():
    lower = {"column": "x", "threshold": 1, "yes": {"value": 1}, "no": {"value": 2, "weight": 6}}
    tree = {"column": "y", "threshold": 0, "yes": {"column": "x", "threshold": 2, "yes": lower, "no": {"value": 3}},
            "no": {"value": 4, "weight": 2}}  # fmt: skip
    trees = from_nested(tree, ["x", "y"], [numeric, numeric])
    np.testing.assert_allclose(importance.by_weight(trees, EACH[:2], 2), [0.8, 1.0])
    np.testing.assert_allclose(importance.by_weight(trees, np.array([0, 0]), 1), [1.0])


@pytest.mark.covers("T-23")
def test_the_mean_depth_of_use(weather):
    mean, first = importance.by_depth(weather, EACH, 4)
    np.testing.assert_allclose(mean, [0, np.nan, 1, 1])
    np.testing.assert_allclose(first, [0, 3, 1, 1])
    table = importance.frame(weather, EACH, WEATHER_NAMES, "depth")
    assert table["column"].tolist() == ["Outlook", "Humidity", "Windy", "Temperature"]


@pytest.mark.covers("F-10")
def test_depth_is_averaged_over_trees():
    low = {"column": "y", "threshold": 0, "yes": {"value": 1}, "no": {"value": 2}}
    tree = {"column": "x", "threshold": 0, "yes": low, "no": {"value": 3}}
    trees = from_nested([tree, low, {"value": 1}], ["x", "y"], [numeric, numeric])
    mean, first = importance.by_depth(trees, EACH[:2], 2)
    np.testing.assert_allclose(mean, [0.0, 0.5])
    np.testing.assert_allclose(first, [(0 + 2 + 1) / 3, (1 + 0 + 1) / 3])


def test_gain_is_weighted_by_rows(weather):
    gain = importance.by_gain(weather, EACH, 4)
    gini = 1 - (5 / 14) ** 2 - (9 / 14) ** 2
    parts = np.array([14 * (gini - 10 / 14 * 0.48), 0.0, 5 * 0.48, 5 * 0.48])
    np.testing.assert_allclose(gain, parts / parts.sum())
    np.testing.assert_allclose(importance.by_splits(weather, EACH, 4), [1, 0, 1, 1])


def test_trees_speak_alike_in_a_forest_and_by_their_gain_in_boosting():
    def stump(column, spread):
        return {"column": column, "threshold": 0, "yes": {"value": -spread}, "no": {"value": spread}}

    trees = from_nested([stump("x", 3.0), stump("y", 1.0)], ["x", "y"], [numeric, numeric])
    np.testing.assert_allclose(importance.by_gain(trees, EACH[:2], 2), [0.5, 0.5])
    np.testing.assert_allclose(importance.by_gain(trees, EACH[:2], 2, per_tree=False), [0.9, 0.1])


def test_a_single_leaf_makes_nothing_important():
    trees = from_nested({"value": 1.0}, ["x"], [numeric])
    table = importance.frame(trees, np.array([0]), ["x"])
    assert table[["gain", "weight", "splits"]].to_numpy().tolist() == [[0.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="method must be one of 'gain'"):
        importance.frame(trees, np.array([0]), ["x"], "beauty")


@pytest.mark.parametrize("seed", range(4))
def test_measures_agree_with_a_walk_over_the_nodes(seed):
    trees = random_trees(seed, n_trees=4, n_leaves=20)
    np.testing.assert_array_equal(importance.node_depths(trees), trees.depth())
    np.testing.assert_array_equal(parents(trees), trees.parent())
    shares = np.zeros((4, 5))
    parent = parents(trees)
    for node in np.flatnonzero(trees.test != LEAF):
        tree = int(np.searchsorted(trees.start, node, side="right")) - 1
        above = {int(trees.column[a]) for a in nodes_to(parent, int(node))[:-1]}
        if int(trees.column[node]) not in above:
            shares[tree, trees.column[node]] += trees.weight[node] / trees.weight[trees.start[tree]]
    np.testing.assert_allclose(importance.by_weight(trees, np.arange(5), 5), shares.mean(axis=0))


def test_path_matrix_marks_every_node_on_the_way():
    trees = random_trees(1, n_trees=3)
    table = random_table(20)
    leaves = trees.leaves(table)
    matrix = path_matrix(trees, leaves).toarray()
    parent = parents(trees)
    for i in range(20):
        wanted = {n for leaf in leaves[i] for n in nodes_to(parent, int(leaf))}
        assert set(np.flatnonzero(matrix[i])) == wanted
    assert matrix.max() == 1


def test_shuffling_hurts_only_the_columns_that_matter():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=200), rng.normal(size=200)
    table = Table([Column("x", numeric, x), Column("twin", numeric, x), Column("noise", numeric, noise)], 200)

    def score(rows):
        return importance.r_squared(x, rows["x"].values)

    found = importance.permutation(score, table, {"x": ["x", "twin"], "noise": ["noise"]}, n_repeats=3, seed=4)
    assert found["column"].tolist() == ["x", "noise"]
    assert found["permutation"].iloc[0] > 1.0
    assert found["permutation"].iloc[1] == 0.0
    again = importance.permutation(score, table, {"x": ["x", "twin"], "noise": ["noise"]}, n_repeats=3, seed=4)
    assert found.equals(again)
    np.testing.assert_array_equal(table["x"].values, x)
    with pytest.raises(ValueError, match="n_repeats"):
        importance.permutation(score, table, {"x": ["x"]}, n_repeats=0)


def test_scores_of_known_answers():
    assert importance.accuracy(np.array(["a", "b"]), np.array(["a", "a"])) == 0.5
    assert importance.r_squared(np.ones(3), np.zeros(3)) == 0.0
