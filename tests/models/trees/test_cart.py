"""CART: binary questions, the size of the tree by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from tilth.data.datasets import load
from tilth.engines.tree.trees import LEAF
from tilth.models.trees.cart import CART, CARTRegressor
from tilth.models.trees.decision_tree import DecisionTreeClassifier


@pytest.mark.covers("T-03", "T-14")
def test_the_chosen_subtree_is_on_the_path_and_much_smaller():
    X, y = load_breast_cancer(return_X_y=True)
    tree = CART().fit(X, y)
    free = DecisionTreeClassifier().fit(X, y)
    assert 2 <= tree.get_n_leaves() < free.get_n_leaves()
    assert tree.get_n_leaves() in tree.cv_[:, 1]
    alphas, leaves, errors = tree.cv_.T
    chosen = int(np.flatnonzero(leaves == tree.get_n_leaves())[-1])
    assert alphas[chosen] == pytest.approx(tree.alpha_)
    assert errors[chosen] >= errors.min()
    assert (tree.trees_.branches[tree.trees_.test != LEAF] == 2).all()
    assert tree.score(X, y) > 0.9


def test_no_standard_errors_gives_the_tree_of_lowest_error():
    data = load("german_credit")
    best, small = (CART(standard_errors=s, folds=5).fit(data.frame, data.target) for s in (0.0, 1.0))
    assert small.get_n_leaves() <= best.get_n_leaves()
    chosen = best.cv_[:, 1] == best.get_n_leaves()
    assert best.cv_[chosen, 2].min() == pytest.approx(best.cv_[:, 2].min())


def test_numbers():
    X, y = load_diabetes(return_X_y=True)
    tree = CARTRegressor(folds=5).fit(X, y)
    assert 2 <= tree.get_n_leaves() < 30
    assert tree.score(X, y) > 0.25
    constant = CARTRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 5.0])
    assert constant.predict([[2.5]]).tolist() == [5.0]


def test_the_seed_fixes_the_folds():
    data = load("breast_cancer_recurrence")
    a, b, c = (CART(random_state=s).fit(data.frame, data.target) for s in (0, 0, 1))
    assert (a.cv_ == b.cv_).all()
    assert (a.cv_[:, 2] != c.cv_[:, 2]).any()


def test_tiny_tables():
    assert CART().fit([[1.0]], ["a"]).predict([[1.0]]).tolist() == ["a"]
    assert CART().fit([[1.0], [2.0]], ["a", "b"]).get_n_leaves() in (1, 2)
