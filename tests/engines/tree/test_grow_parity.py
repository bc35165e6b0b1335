"""The compiled grower against the plain one on small tables, and against scikit-learn on numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from tests.engines.tree.reference_grow import engine_columns, reference_grow, reference_values
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table, numeric_table
from tilth.engines.tree.grow import Goal, Grid, Growth, grow_trees
from tilth.engines.tree.trees import LEAF, MULTIWAY, SUBSET, Trees

SEED = np.zeros(1, dtype=np.int64)
MISSING = ["learned", "own", "frequent", "fractional"]


def table_of(n=60, seed=0, gone=0.15, levels=4) -> Table:
    """Two numeric columns, one ordinal, two nominal; some cells missing."""
    rng = np.random.default_rng(seed)
    kinds = [
        Kind("numeric"), Kind("ordinal", ("low", "mid", "high")), Kind("nominal", tuple(range(levels))),
        Kind("numeric"), Kind("nominal", ("p", "q", "r", "s", "t")),
    ]  # fmt: skip
    columns = []
    for j, kind in enumerate(kinds):
        if kind.name == "numeric":
            values = rng.normal(size=n).round(1 if j else 6)
            values[rng.random(n) < gone] = np.nan
        else:
            values = rng.integers(0, len(kind.levels) - (j == 4), n).astype(np.int32)  # the level t never occurs
            values[rng.random(n) < gone] = -1
        columns.append(Column(f"c{j}", kind, values))
    return Table(columns, n)


def target_of(table, n_classes, seed):
    """Classes that depend on two columns, and on chance."""
    rng = np.random.default_rng(seed + 100)
    first, last = table.columns[0].values, table.columns[2].values
    score = np.nan_to_num(first) + (last == 1) + rng.normal(0, 0.7, table.n_rows)
    return np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])).astype(np.int32), score


def compiled(table, goal, growth) -> Trees:
    return grow_trees(Grid.of(table, 255, goal.weight), goal, growth, SEED).validate()


def same_tree(found: Trees, expected: Trees, table: Table, *, exact_cuts: bool = False) -> None:
    """Node by node: the same question, the same rows in each branch, the same weight, impurity, gain and answer.

    Thresholds may differ between neighbouring values of the node, and the two sides of a level set may change places.
    """
    columns = [c.values for c in engine_columns(table)]
    waiting = [(0, 0, np.arange(table.n_rows))]
    while waiting:
        a, b, rows = waiting.pop()
        where = f"node {a} / {b}"
        assert found.weight[a] == pytest.approx(expected.weight[b]), where
        assert found.value[a] == pytest.approx(expected.value[b], abs=1e-9), where
        if expected.weight[b] > 0:
            assert found.impurity[a] == pytest.approx(expected.impurity[b], abs=1e-9), where
        assert found.gain[a] == pytest.approx(expected.gain[b], abs=1e-9), where
        assert found.test[a] == expected.test[b], where
        assert found.column[a] == expected.column[b], where
        if expected.test[b] == LEAF:
            continue
        assert found.branches[a] == expected.branches[b], where
        x = columns[expected.column[b]][rows]
        goes_a, goes_b = branch_of(found, a, x), branch_of(expected, b, x)
        turned = expected.test[b] == SUBSET and rows.size and (goes_a != goes_b).any()
        place = {0: 1, 1: 0} if turned else {}
        assert (goes_a == np.array([place.get(g, g) for g in goes_b])).all(), where
        if (goes_b < 0).any() or expected.missing[b] < 0:
            assert found.missing[a] == expected.missing[b], where
        elif is_gone(expected, b, x).any():
            assert found.missing[a] == place.get(int(expected.missing[b]), int(expected.missing[b])), where
        if exact_cuts:
            assert found.threshold[a] == pytest.approx(expected.threshold[b]), where
        for branch in range(int(expected.branches[b])):
            other = place.get(branch, branch)
            inside = (goes_b == branch) | (goes_b < 0)
            waiting.append((int(found.child[a]) + other, int(expected.child[b]) + branch, rows[inside]))


def is_gone(trees, node, x):
    kind = trees.kinds[trees.column[node]]
    return np.isnan(x) if kind.name == "numeric" else x < 0


def branch_of(trees, node, x):
    """Branch of each value; -1 where it is shared out."""
    gone = is_gone(trees, node, x)
    if trees.test[node] == SUBSET:
        branch = (~trees.levels_of(node)[np.where(gone, 0, x).astype(int)]).astype(int)
    elif trees.test[node] == MULTIWAY:
        branch = x.astype(int)
    else:
        branch = (x > trees.threshold[node]).astype(int)
    return np.where(gone, trees.missing[node], branch)


def weights(n, seed):
    """Weights that leave no two sets of rows with the same weight, so that there are no ties."""
    return np.random.default_rng(seed + 7).uniform(0.5, 2.0, n)


# ------------------------------------------------------------------------------------------------- the plain grower


@pytest.mark.covers("T-04", "T-05", "T-07", "T-08", "T-09", "T-10", "T-15")
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss", "gain_ratio", "misclassification"])
def test_multiway_trees_of_classes(criterion, missing):
    for seed, k in ((0, 2), (1, 3)):
        table = table_of(seed=seed)
        codes, _ = target_of(table, k, seed)
        goal = Goal(codes=codes, n_classes=k, weight=weights(60, seed))
        growth = Growth(criterion=criterion, nominal="multiway", missing=missing, thresholds="exact", min_gain=1e-12)
        same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


@pytest.mark.covers("T-09")
def test_deviance_asks_what_entropy_asks():
    table = table_of(seed=14)
    codes, _ = target_of(table, 3, 14)
    goal = Goal(codes=codes, n_classes=3, weight=weights(60, 14))
    bits, nats = (compiled(table, goal, Growth(criterion=c, nominal="multiway")) for c in ("entropy", "log_loss"))
    assert (bits.column == nats.column).all()
    assert (bits.threshold == nats.threshold).all()
    assert bits.gain * np.log(2) == pytest.approx(nats.gain)


@pytest.mark.covers("T-10", "T-16")
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize(("criterion", "k"), [("gini", 2), ("gini", 3), ("entropy", 2), ("log_loss", 4)])
def test_sets_of_levels_are_the_best_of_all_sets(criterion, k, missing):
    table = table_of(seed=k)
    codes, _ = target_of(table, k, k)
    goal = Goal(codes=codes, n_classes=k, weight=weights(60, k))
    # The order of levels holds the best of all sets, but not always the best of the sets of a certain size.
    growth = Growth(criterion=criterion, missing=missing, thresholds="exact", max_depth=4, min_rows_leaf=0)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


@pytest.mark.covers("T-12")
@pytest.mark.parametrize("nominal", ["multiway", "subset"])
@pytest.mark.parametrize("missing", MISSING)
def test_trees_of_numbers(nominal, missing):
    table = table_of(seed=3)
    _, score = target_of(table, 2, 3)
    goal = Goal(numbers=score[:, None], weight=weights(60, 3))
    growth = Growth(criterion="squared_error", nominal=nominal, missing=missing, thresholds="exact", max_depth=5)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


def test_trees_of_several_numbers():
    table = table_of(seed=4)
    _, score = target_of(table, 2, 4)
    numbers = np.column_stack([score, np.random.default_rng(4).normal(size=60), -3 * score])
    goal = Goal(numbers=numbers, weight=weights(60, 4))
    growth = Growth(criterion="squared_error", nominal="multiway", thresholds="exact", max_depth=5)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_by_absolute_error(weighted):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 3))
    y = np.where(x[:, 0] > 0, 3.0, 0.0) + rng.standard_t(2, 50)
    table = numeric_table(x, ["a", "b", "c"])
    goal = Goal(numbers=y[:, None], weight=weights(50, 5) if weighted else None)
    growth = Growth(criterion="absolute_error", thresholds="exact", max_depth=3, min_rows_leaf=3)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


def test_absolute_error_with_levels_and_missing_values():
    table = table_of(seed=3)
    _, score = target_of(table, 2, 3)
    goal = Goal(numbers=score[:, None], weight=weights(60, 3))
    growth = Growth(criterion="absolute_error", missing="frequent", thresholds="exact", max_depth=3)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


@pytest.mark.covers("T-13")
@pytest.mark.parametrize(
    "rule",
    [
        {"max_depth": 2}, {"min_rows_split": 15}, {"min_rows_leaf": 5}, {"min_weight_leaf": 9.0}, {"min_gain": 0.1},
        {"min_decrease": 0.02}, {"max_purity": 0.7}, {"reuse": False}, {"max_leaves": 6, "order": "best"},
        {"max_leaves": 9, "order": "best", "min_rows_leaf": 3},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("nominal", ["multiway", "subset"])
def test_stopping_rules(rule, nominal):
    for seed in (6, 7):
        table = table_of(seed=seed, gone=0.1)
        codes, _ = target_of(table, 3, seed)
        goal = Goal(codes=codes, n_classes=3, weight=weights(60, seed))
        growth = Growth(criterion="entropy", nominal=nominal, missing="own", thresholds="exact", **rule)
        expected = reference_grow(table, goal, growth)
        assert expected.n_nodes > 1
        same_tree(compiled(table, goal, growth), expected, table)


@pytest.mark.parametrize("thresholds", ["exact", "auto", "binned"])
def test_few_distinct_values_give_the_same_tree_in_bins(thresholds):
    table = table_of(seed=8, n=80)
    codes, _ = target_of(table, 2, 8)
    goal = Goal(codes=codes, n_classes=2, weight=weights(80, 8))
    growth = Growth(missing="frequent", nominal="multiway", thresholds=thresholds)
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table)


def test_thresholds_are_midpoints_when_asked_for():
    table = table_of(seed=9)
    codes, _ = target_of(table, 2, 9)
    goal = Goal(codes=codes, n_classes=2, weight=weights(60, 9))
    growth = Growth(missing="own", nominal="multiway", thresholds="exact")
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table, exact_cuts=True)


def test_the_penalty_of_release_8_is_taken_off_the_gain_of_numbers():
    table = table_of(seed=10, gone=0.0)
    codes, _ = target_of(table, 2, 10)
    goal = Goal(codes=codes, n_classes=2)
    plain, charged = (
        compiled(table, goal, Growth(criterion="gain_ratio", nominal="multiway", missing="fractional", max_depth=1,
                                     threshold_penalty=p))
        for p in (False, True)
    )  # fmt: skip
    assert plain.column[0] == charged.column[0] == 0
    distinct = len(np.unique(table.columns[0].values))
    assert charged.gain[0] == pytest.approx(plain.gain[0] - np.log2(distinct - 1) / 60)


def test_predictions_are_those_of_the_plain_walk():
    table = table_of(seed=11)
    codes, _ = target_of(table, 3, 11)
    for missing, nominal in itertools.product(MISSING, ["multiway", "subset"]):
        growth = Growth(missing=missing, nominal=nominal, thresholds="exact")
        tree = compiled(table, Goal(codes=codes, n_classes=3), growth)
        new = table_of(seed=12, n=200, gone=0.3)
        assert tree.sum_values(new) == pytest.approx(reference_values(tree, new))


@pytest.mark.covers("T-29")
def test_equal_questions_are_decided_by_order():
    rng = np.random.default_rng(13)
    x = rng.integers(0, 2, 30).astype(float)
    table = numeric_table(np.column_stack([1 - x, x, 3 * x]), ["a", "b", "c"])
    codes = np.where(rng.random(30) < 0.1, 1 - x, x).astype(np.int32)
    goal, growth = Goal(codes=codes, n_classes=2), Growth(thresholds="exact")
    same_tree(compiled(table, goal, growth), reference_grow(table, goal, growth), table, exact_cuts=True)


def test_rare_shapes():
    goal = Goal(codes=np.array([0, 1, 1], dtype=np.int32), n_classes=2)
    kinds = Kind("nominal", ("only",)), Kind("numeric")
    gone = np.full(3, np.nan)
    for growth in (Growth(missing=m, nominal=n, thresholds=t) for m, n, t in itertools.product(
        MISSING, ["multiway", "subset"], ["exact", "binned"]
    )):  # fmt: skip
        single = Table([Column("one", kinds[0], np.zeros(3, dtype=np.int32)), Column("gone", kinds[1], gone)], 3)
        assert compiled(single, goal, growth).n_nodes == 1
        levels = Table([Column("gone", kinds[0], np.full(3, -1, dtype=np.int32))], 3)
        assert compiled(levels, goal, growth).n_nodes == 1


# ------------------------------------------------------------------------------------------------------ scikit-learn


def same_as_peer(found: Trees, peer, X) -> int:
    """Walk both trees; gives how many nodes were reached before a tie between two questions led apart."""
    X = X.astype(np.float32)
    waiting, met = [(0, 0, np.arange(len(X)))], 0
    while waiting:
        a, b, rows = waiting.pop()
        met += 1
        assert found.weight[a] == pytest.approx(peer.weighted_n_node_samples[b])
        assert found.impurity[a] == pytest.approx(peer.impurity[b], abs=1e-9)
        if peer.impurity[b] > 1e-12:  # rounding lets the peer go on in nodes of one class
            assert (found.test[a] == LEAF) == (peer.children_left[b] < 0), (a, b)
        if found.test[a] == LEAF:
            assert found.value[a] == pytest.approx(peer.value[b].ravel(), abs=1e-9)
            continue
        left, right = int(peer.children_left[b]), int(peer.children_right[b])
        w = peer.weighted_n_node_samples
        gain = peer.impurity[b] - (w[left] * peer.impurity[left] + w[right] * peer.impurity[right]) / w[b]
        assert found.gain[a] == pytest.approx(gain, abs=1e-9, rel=1e-7)
        mine = X[rows, found.column[a]] <= found.threshold[a]
        theirs = X[rows, peer.feature[b]] <= peer.threshold[b]
        if (mine == theirs).all() or (mine != theirs).all():
            right, left = (left, right) if (mine != theirs).all() else (right, left)
        else:
            continue  # another question of the same gain
        if found.column[a] == peer.feature[b]:
            assert found.threshold[a] == pytest.approx(peer.threshold[b], rel=1e-6)
        waiting.append((int(found.child[a]), left, rows[mine]))
        waiting.append((int(found.child[a]) + 1, right, rows[~mine]))
    return met


def as_table(X) -> Table:
    """The numbers as scikit-learn sees them: in single precision."""
    return numeric_table(X.astype(np.float32).astype(np.float64), [f"x{j}" for j in range(X.shape[1])])


@pytest.mark.covers("T-03", "T-11")
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_splits_of_classes_are_those_of_scikit_learn(load, criterion):
    X, y = load(return_X_y=True)
    k = int(y.max()) + 1
    goal = Goal(codes=y.astype(np.int32), n_classes=k)
    for rule, ours in (({}, {}), ({"max_depth": 3}, {"max_depth": 3}), ({"min_samples_leaf": 7}, {"min_rows_leaf": 7})):
        found = compiled(as_table(X), goal, Growth(criterion=criterion, thresholds="exact", **ours))
        peer = PeerClassifier(criterion=criterion, random_state=0, **rule).fit(X, y)
        # Ties between questions lead some subtrees apart; the upper part of the tree has none.
        assert same_as_peer(found, peer.tree_, X) >= 5


@pytest.mark.covers("T-03", "T-12")
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_splits_of_numbers_are_those_of_scikit_learn(criterion):
    X, y = load_diabetes(return_X_y=True)
    goal = Goal(numbers=y[:, None])
    rules = {"max_depth": 5} if criterion == "squared_error" else {"max_depth": 3}
    found = compiled(as_table(X), goal, Growth(criterion=criterion, thresholds="exact", min_rows_leaf=5, **rules))
    peer = PeerRegressor(criterion=criterion, random_state=0, min_samples_leaf=5, **rules).fit(X, y)
    assert same_as_peer(found, peer.tree_, X) >= found.n_nodes - 6


@pytest.mark.covers("T-03")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_numbers_with_weights(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6))
    y = ((X[:, 0] > 0) + (X[:, 1] * X[:, 2] > 0.3)).astype(int)
    y = np.where(rng.random(300) < 0.1, rng.integers(0, 3, 300), y)
    w = rng.uniform(0.2, 3, 300)
    found = compiled(as_table(X), Goal(codes=y.astype(np.int32), n_classes=3, weight=w), Growth(thresholds="exact"))
    peer = PeerClassifier(random_state=0).fit(X, y, sample_weight=w).tree_
    assert same_as_peer(found, peer, X) >= 0.9 * found.n_nodes


@pytest.mark.covers("T-13")
@pytest.mark.parametrize("leaves", [2, 5, 12, 25])
def test_best_first_growth_is_that_of_scikit_learn(leaves):
    rng = np.random.default_rng(leaves)
    X = rng.normal(size=(250, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.3, 250)
    growth = Growth(criterion="squared_error", thresholds="exact", order="best", max_leaves=leaves)
    found = compiled(as_table(X), Goal(numbers=y[:, None]), growth)
    peer = PeerRegressor(max_leaf_nodes=leaves, random_state=0).fit(X, y).tree_
    assert same_as_peer(found, peer, X) == found.n_nodes == peer.node_count


def test_several_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1], X[:, 2] ** 2]) + rng.normal(0, 0.2, (200, 3))
    found = compiled(as_table(X), Goal(numbers=Y), Growth(criterion="squared_error", thresholds="exact", max_depth=5))
    peer = PeerRegressor(max_depth=5, random_state=0).fit(X, Y).tree_
    assert same_as_peer(found, peer, X) == found.n_nodes == peer.node_count
