"""Stability over resamples, and the steps of a tree's answers."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.data.kinds import Kind
from tilth.engines.tree.stability import stability
from tilth.engines.tree.steps import answers_at, steps, thresholds_of
from tilth.engines.tree.trees import Trees
from tilth.models.ensembles.random_forest import RandomForestClassifier
from tilth.models.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


def rivals(n=80, seed=0):
    """Two columns that tell the class equally well, so that chance decides which is asked first."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    X = np.column_stack([hidden + rng.normal(0, 0.6, n), hidden + rng.normal(0, 0.6, n), rng.normal(size=n)])
    return X, (hidden > 0).astype(int)


@pytest.mark.covers("T-26", "SP-48")
def test_a_tree_is_less_stable_than_a_forest():
    X, y = rivals(seed=4)
    tree = stability(DecisionTreeClassifier(), X, y, n_resamples=8)
    forest = stability(RandomForestClassifier(n_estimators=30, random_state=0), X, y, n_resamples=8)
    assert tree.score < forest.score <= 1
    assert sum(tree.roots.values()) == 8
    assert tree.same_root < 1
    assert tree.same_structure <= tree.same_root
    assert forest.same_root is None
    assert forest.roots == {}
    assert "8 resamples" in str(tree)
    assert "asked first" in str(tree)
    assert "asked first" not in str(forest)


@pytest.mark.covers("T-26", "SP-48")
def test_a_clear_question_is_always_asked_first():
    x = np.linspace(0, 1, 60)
    X, y = np.column_stack([x, np.sin(40 * x)]), (x > 0.5).astype(int)
    found = DecisionTreeClassifier().fit(X, y).stability(X, y, n_resamples=5)
    assert found.same_root == 1.0
    assert found.score > 0.95
    assert found == DecisionTreeClassifier().stability(X, y, n_resamples=5)


def test_numbers_are_compared_by_correlation():
    x = np.linspace(0, 1, 40)
    found = stability(DecisionTreeRegressor(max_depth=2), x[:, None], np.where(x > 0.5, 1.0, 0.0), n_resamples=4)
    assert found.score > 0.9
    constant = stability(DecisionTreeRegressor(), x[:, None], np.zeros(40), n_resamples=3)
    assert constant.score == 1.0
    assert list(constant.roots) == ["(no question)"]
    with pytest.raises(ValueError, match="at least 2"):
        stability(DecisionTreeRegressor(), x[:, None], x, n_resamples=1)


def two_columns() -> Trees:
    """a <= 1 ? (b <= 5 ? 10 : 20) : (a <= 3 ? 30 : 40), with weights 1, 3, 2, 2."""
    kinds = [Kind("numeric")] * 2
    value = np.array([[0.0], [0], [0], [10], [20], [30], [40]])
    return Trees(
        ["a", "b"], kinds, np.array([0, 7]), np.array([1, 1, 1, 0, 0, 0, 0], dtype=np.uint8),
        np.array([0, 1, 0, -1, -1, -1, -1], dtype=np.int32), np.array([1.0, 5, 3, 0, 0, 0, 0]), np.full(7, -1),
        np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32), np.array([2, 2, 2, 0, 0, 0, 0], dtype=np.int32),
        np.zeros(7, dtype=np.int32), value, np.array([8.0, 4, 4, 1, 3, 2, 2]), np.zeros(7), np.zeros(7),
        np.empty(0, dtype=np.uint64),
    ).validate(1)  # fmt: skip


def test_steps_average_the_other_columns_by_weight():
    tree = two_columns()
    assert thresholds_of(tree, 0).tolist() == [1, 3]
    assert answers_at(tree, 0, np.array([0.0, 1.0, 2.0, 9.0]))[:, 0].tolist() == [17.5, 17.5, 30, 40]
    cuts, left, right = steps(tree, 0)
    assert cuts.tolist() == [1, 3]
    assert left[:, 0].tolist() == [17.5, 30]
    assert right[:, 0].tolist() == [30, 40]
    # b is asked in half of the rows only: 10 or 20 there, 35 elsewhere.
    assert steps(tree, 1)[1][:, 0].tolist() == [22.5]
    assert steps(tree, 1)[2][:, 0].tolist() == [27.5]
    both = Trees.join([tree, tree.replace_values(tree.value * 3)])
    assert answers_at(both, 0, np.array([2.0]))[:, 0].tolist() == [60]
    assert steps(Trees.join([tree]), 0)[0].tolist() == [1, 3]
    alone = tree[0]
    alone.weight = np.array([8.0, 0, 8, 0, 0, 4, 4])
    assert np.isfinite(answers_at(alone, 0, np.array([0.0]))).all()
