"""Pruning passes on trees of the plain grower: nested subtrees, worked limits, laws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from tests.engines.tree.reference_grow import reference_grow, reference_values
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table, numeric_table
from tilth.engines.tree.choose_alpha import choose_alpha
from tilth.engines.tree.grow import Goal, Growth
from tilth.engines.tree.pessimistic import expected_errors
from tilth.engines.tree.prune import (
    cost_complexity_path,
    error_limit,
    prune_cost_complexity,
    prune_few,
    prune_pessimistic,
    prune_reduced_error,
)
from tilth.engines.tree.reshape import collapse
from tilth.engines.tree.trees import LEAF, Trees
from tilth.stats.folds import fold_of_rows


def noisy(n=120, seed=0, flip=0.15):
    """Numbers, levels and missing values; the class follows two columns, with some labels wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).round(2)
    level = rng.integers(0, 4, n).astype(np.int32)
    codes = ((x[:, 0] > 0.2) | (level == 2)).astype(np.int32)
    codes = np.where(rng.random(n) < flip, 1 - codes, codes).astype(np.int32)
    x[rng.random(n) < 0.1, 0] = np.nan
    kinds = [Kind("numeric"), Kind("numeric"), Kind("nominal", ("a", "b", "c", "d"))]
    values = [x[:, 0], x[:, 1], level]
    return Table([Column(f"x{j}", k, v) for j, (k, v) in enumerate(zip(kinds, values, strict=True))], n), codes


def grown(seed=0, **growth):
    table, codes = noisy(seed=seed)
    options = {"criterion": "gini", **growth}
    return table, codes, reference_grow(table, Goal(codes=codes, n_classes=2), Growth(**options))


def leaf_risk(tree: Trees) -> float:
    leaf = tree.test == LEAF
    return float((tree.weight * tree.impurity)[leaf].sum() / tree.weight[0])


@pytest.mark.covers("T-14")
@pytest.mark.parametrize("load", [load_iris, load_diabetes])
def test_the_path_is_that_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    X, y = X[:120:2], y[:120:2]
    table = numeric_table(np.ascontiguousarray(X, dtype=np.float64), [f"x{j}" for j in range(X.shape[1])])
    if load is load_diabetes:
        peer, goal, criterion = PeerRegressor(random_state=0), Goal(numbers=y[:, None].astype(float)), "squared_error"
    else:
        peer, goal, criterion = PeerClassifier(random_state=0), Goal(codes=y.astype(np.int32), n_classes=3), "gini"
    expected = peer.cost_complexity_pruning_path(X, y)
    path = cost_complexity_path(reference_grow(table, goal, Growth(criterion=criterion)))
    assert path.alphas == pytest.approx(expected.ccp_alphas, abs=1e-9)
    assert path.impurities == pytest.approx(expected.impurities, rel=1e-9, abs=1e-9)
    for alpha in expected.ccp_alphas[1::3] * 1.0001:
        pruned = prune_cost_complexity(path.trees, alpha)
        assert pruned.n_leaves()[0] == type(peer)(random_state=0, ccp_alpha=alpha).fit(X, y).get_n_leaves()


def test_subtrees_of_the_path_are_nested_and_shrink():
    _, _, tree = grown(nominal="multiway", missing="own")
    path = cost_complexity_path(tree)
    assert (np.diff(path.alphas) >= -1e-12).all()
    assert (np.diff(path.impurities) >= -1e-12).all()
    assert (np.diff(path.leaves) < 0).all()
    for i in range(len(path)):
        sub = path.subtree(i).validate(2)
        assert sub.n_leaves()[0] == path.leaves[i]
        assert leaf_risk(sub) == pytest.approx(path.impurities[i])
        assert set(np.flatnonzero(path.closed_at <= i)) >= set(np.flatnonzero(path.closed_at <= i - 1))
    assert path.subtree(0) is tree
    assert path.subtree(len(path) - 1).n_nodes == 1
    of_node = np.random.default_rng(1).random(tree.n_nodes)
    sums = [sum(of_node[_leaves_of(path, i)]) for i in range(len(path))]
    assert path.sums(of_node) == pytest.approx(sums)


def _leaves_of(path, i):
    """Leaves of subtree i, by walking down."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if path.trees.test[node] == LEAF or path.closed_at[node] <= i:
            found.append(node)
        else:
            waiting.extend(range(path.trees.child[node], path.trees.child[node] + path.trees.branches[node]))
    return found


def test_each_subtree_is_the_best_one_at_its_price():
    """Brute force over all ways to cut the tree."""
    tree = grown(max_depth=3, missing="frequent")[2]
    nodes = np.arange(tree.n_nodes)
    inner = np.flatnonzero(tree.test != LEAF)
    assert 3 <= len(inner) <= 12
    path = cost_complexity_path(tree)
    for alpha in [*(path.alphas[1:] * 1.01), 0.001]:
        best = min(
            leaf_risk(cut) + alpha * cut.n_leaves()[0]
            for mask in range(1 << len(inner))
            for cut in [collapse(tree, np.isin(nodes, inner[(mask >> np.arange(len(inner))) & 1 == 1]))]
        )
        found = prune_cost_complexity(tree, alpha)
        assert leaf_risk(found) + alpha * found.n_leaves()[0] == pytest.approx(best)


def test_many_trees_are_pruned_one_by_one():
    trees = [grown(seed)[2] for seed in range(3)]
    alone = [prune_cost_complexity(t, 0.02) for t in trees]
    joined = prune_cost_complexity(Trees.join(trees), 0.02)
    assert joined.validate(2).n_leaves().tolist() == [int(t.n_leaves()[0]) for t in alone]
    assert prune_cost_complexity(trees[0], 0.0) is trees[0]
    with pytest.raises(ValueError, match="one tree"):
        cost_complexity_path(Trees.join(trees))


# ------------------------------------------------------------------------------------------------------ pessimistic


def test_upper_limits_of_errors():
    """Quinlan's own values for a confidence of 25%; his program approximates the last one, by 0.157."""
    assert error_limit([0, 0, 0, 1], [6, 9, 1, 16]) == pytest.approx([0.206, 0.143, 0.750, 0.1596], abs=6e-4)
    assert error_limit(3, 3) == 1.0
    assert error_limit(0, 0) == 0.0
    assert (np.diff(error_limit(np.arange(0, 10, 0.5), 10)) > 0).all()
    from scipy.stats import binom

    assert binom.cdf(4, 20, error_limit(4, 20, 0.1)) == pytest.approx(0.1)


def test_quinlans_vote_example():
    """Leaves with (6, 0), (9, 0), (1, 0) promise 3.273 errors, one leaf with (15, 1) fewer."""
    below = expected_errors(np.array([[6.0, 0], [9, 0], [1, 0]]), 0.25).sum()
    assert below == pytest.approx(3.273, abs=0.005)
    assert float(expected_errors(np.array([15.0, 1]), 0.25)) == pytest.approx(2.55, abs=0.01)


@pytest.mark.covers("T-14")
@pytest.mark.parametrize("missing", ["fractional", "own", "learned"])
def test_pessimistic_pruning_makes_smaller_trees_that_predict_better(missing):
    table, codes, tree = grown(criterion="gain_ratio", nominal="multiway", missing=missing)
    fresh, answers = noisy(n=2000, seed=9, flip=0.0)
    accuracy = lambda t: np.mean(reference_values(t, fresh).argmax(axis=1) == answers)  # noqa: E731
    replaced = prune_pessimistic(tree, 0.25).validate(2)
    raised = prune_pessimistic(tree, 0.25, table=table, codes=codes).validate(2)
    for pruned in (replaced, raised):
        assert pruned.n_leaves()[0] < tree.n_leaves()[0]
        assert accuracy(pruned) >= accuracy(tree)
        assert pruned.weight[0] == pytest.approx(tree.weight[0])
        leaves = pruned.test == LEAF
        assert pruned.weight[leaves].sum() == pytest.approx(pruned.weight[0])
    harder = prune_pessimistic(tree, 0.01)
    assert harder.n_leaves()[0] <= replaced.n_leaves()[0]
    with pytest.raises(ValueError, match="confidence"):
        prune_pessimistic(tree, 0.7)


def test_a_heavy_branch_takes_the_place_of_a_weak_question():
    """x takes two rows away before the real question z. Raising puts z at the root with the counts of all rows."""
    z = np.repeat([0.0, 1.0], 30)
    x = np.zeros(60)
    codes = (z > 0.5).astype(np.int32)
    x[[7, 40]] = 2.0
    table = numeric_table(np.column_stack([x, z]), ["x", "z"])
    tree = Trees(
        ["x", "z"], [Kind("numeric")] * 2, np.array([0, 5]), np.array([1, 1, 0, 0, 0], dtype=np.uint8),
        np.array([0, 1, -1, -1, -1], dtype=np.int32), np.array([1.5, 0.5, 0, 0, 0]), np.full(5, -1),
        np.array([1, 3, -1, -1, -1], dtype=np.int32), np.array([2, 2, 0, 0, 0], dtype=np.int32),
        np.zeros(5, dtype=np.int32), np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]),
        np.array([60.0, 58, 2, 29, 29]), np.zeros(5), np.zeros(5), np.empty(0, dtype=np.uint64),
    ).validate(2)  # fmt: skip
    raised = prune_pessimistic(tree, 0.25, table=table, codes=codes)
    assert raised.n_nodes == 3
    assert raised.column[0] == 1
    assert raised.weight.tolist() == [60, 30, 30]
    assert raised.value.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]
    assert raised.impurity.tolist() == [1, 0, 0]
    assert raised.gain[0] == 1
    assert prune_pessimistic(tree, 0.25).column[0] == 0


def test_deep_trees_are_pruned_without_recursion():
    n = 1500
    x = np.arange(n, dtype=float)
    m = 2 * (n - 1) + 1
    child, column = np.full(m, -1, dtype=np.int32), np.full(m, -1, dtype=np.int32)
    threshold, weight = np.zeros(m), np.zeros(m)
    spine = 0
    for i in range(n - 1):  # a chain: each question takes one row away
        child[spine], column[spine], threshold[spine], weight[spine] = 2 * i + 1, 0, i + 0.5, n - i
        weight[2 * i + 1] = 1
        spine = 2 * i + 2
    weight[spine] = 1
    codes = (np.arange(n) % 2).astype(np.int32)
    tree = Trees(
        ["x"], [Kind("numeric")], np.array([0, m]), (child >= 0).astype(np.uint8), column, threshold, np.full(m, -1),
        child, np.where(child >= 0, 2, 0).astype(np.int32), np.zeros(m, dtype=np.int32), np.full((m, 2), 0.5), weight,
        np.full(m, 0.5), np.zeros(m), np.empty(0, dtype=np.uint64),
    ).validate(2)  # fmt: skip
    table = numeric_table(x[:, None], ["x"])
    assert prune_pessimistic(tree, 0.25).n_nodes == 1
    assert prune_pessimistic(tree, 0.25, table=table, codes=codes).validate(2).n_nodes >= 1
    assert cost_complexity_path(tree).leaves[-1] == 1


# ---------------------------------------------------------------------------------------------------- reduced error


@pytest.mark.covers("T-14")
def test_reduced_error_pruning_is_never_worse_on_the_rows_it_uses():
    tree = grown(nominal="multiway", missing="frequent")[2]
    held, answers = noisy(n=300, seed=5)
    pruned = prune_reduced_error(tree, held, answers, is_class=True).validate(2)
    errors = [int((reference_values(t, held).argmax(axis=1) != answers).sum()) for t in (pruned, tree)]
    assert errors[0] <= errors[1]
    assert pruned.n_leaves()[0] < tree.n_leaves()[0]
    # No test of the pruned tree could go without more errors.
    for node in np.flatnonzero(pruned.test != LEAF):
        cut = collapse(pruned, np.arange(pruned.n_nodes) == node)
        assert (reference_values(cut, held).argmax(axis=1) != answers).sum() > errors[0]


def test_reduced_error_pruning_of_numbers():
    rng = np.random.default_rng(2)
    x = rng.random((200, 2))
    y = np.column_stack([np.where(x[:, 0] > 0.5, 3.0, 1.0), x[:, 0]]) + rng.normal(0, 0.5, (200, 2))
    table = numeric_table(x, ["a", "b"])
    tree = reference_grow(table.rows(np.arange(100)), Goal(numbers=y[:100]), Growth(criterion="squared_error"))
    held = table.rows(np.arange(100, 200))
    w = rng.random(100)
    pruned = prune_reduced_error(tree, held, y[100:], w, is_class=False)
    errors = [float((w[:, None] * (reference_values(t, held) - y[100:]) ** 2).sum()) for t in (pruned, tree)]
    assert errors[0] < errors[1]
    assert pruned.n_leaves()[0] < tree.n_leaves()[0]


# -------------------------------------------------------------------------------------------------------------- few


@pytest.mark.covers("T-14")
def test_few_rows_and_little_gain():
    tree = grown()[2]
    fresh, answers = noisy(n=2000, seed=9, flip=0.0)
    pruned = prune_few(tree, min_weight=10, min_gain=0.01).validate(2)
    assert pruned.n_leaves()[0] < tree.n_leaves()[0]
    accuracy = [np.mean(reference_values(t, fresh).argmax(axis=1) == answers) for t in (pruned, tree)]
    assert accuracy[0] >= accuracy[1]
    inner = pruned.test != LEAF
    assert (pruned.weight[inner] >= 10).all()
    for node in np.flatnonzero(inner):
        branches = slice(pruned.child[node], pruned.child[node] + pruned.branches[node])
        if (pruned.test[branches] == LEAF).all():
            assert pruned.gain[node] > 0.01
            assert (pruned.weight[branches] >= 10).all()
    assert prune_few(tree) is tree or prune_few(tree).n_leaves()[0] <= tree.n_leaves()[0]
    assert prune_few(tree, min_weight=1e9).n_nodes == 1


# ---------------------------------------------------------------------------------------------------- cross-validation


@pytest.mark.parametrize("is_class", [True, False])
def test_the_price_of_a_leaf_by_cross_validation(is_class):
    rng = np.random.default_rng(0)
    x = rng.random((60, 2))
    signal = np.where(x[:, 0] > 0.5, 1.0, 0.0)
    flipped = np.where(rng.random(60) < 0.1, 1 - signal, signal).astype(np.int32)
    y = flipped if is_class else signal + rng.normal(0, 0.3, 60)
    table = numeric_table(x, ["a", "b"])
    growth = Growth(criterion="gini" if is_class else "squared_error")

    def grow(rows):
        goal = Goal(codes=y[rows], n_classes=2) if is_class else Goal(numbers=y[rows][:, None])
        return reference_grow(table.rows(rows), goal, growth)

    path = cost_complexity_path(grow(np.arange(60)))
    choice = choose_alpha(path, grow, table, y, None, is_class=is_class, folds=5)
    assert path.leaves[choice.chosen] == 2
    # The errors that were reported are those of the pruned trees of the folds.
    fold = fold_of_rows(60, 5, classes=y if is_class else None)
    beta = np.sqrt(path.alphas[choice.chosen] * path.alphas[choice.chosen + 1])
    errors = 0.0
    for i in range(5):
        part = prune_cost_complexity(grow(np.flatnonzero(fold != i)), beta)
        answers = reference_values(part, table.rows(np.flatnonzero(fold == i)))
        truth = y[fold == i]
        errors += (answers.argmax(axis=1) != truth).sum() if is_class else ((answers[:, 0] - truth) ** 2).sum()
    assert choice.error[choice.chosen] == pytest.approx(errors / 60)
    greedy = choose_alpha(path, grow, table, y, None, is_class=is_class, folds=5, standard_errors=0.0)
    assert greedy.error[greedy.chosen] == pytest.approx(choice.error.min())
    alone = cost_complexity_path(path.subtree(len(path) - 1))
    assert choose_alpha(alone, grow, table, y, None, is_class=is_class).chosen == 0


def test_breast_cancer_is_pruned_to_a_readable_tree():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::4, :5], y[::4]
    table = numeric_table(np.ascontiguousarray(X), list("abcde"))
    tree = reference_grow(table, Goal(codes=y.astype(np.int32), n_classes=2), Growth())
    assert 1 < prune_cost_complexity(tree, 0.02).n_leaves()[0] < tree.n_leaves()[0]
