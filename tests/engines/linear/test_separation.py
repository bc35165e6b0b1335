"""Separation of classes: found exactly where a direction exists, in any design."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tilth.engines.linear.design import DenseDesign, OneHotDesign, SparseDesign
from tilth.engines.linear.separation import separated


def table(n=400, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, p)), rng.normal(size=p)


def test_the_direction_separates():
    _, X, w = table()
    y = (X @ w > 0.3).astype(int)
    for design in (DenseDesign(X), SparseDesign(csr_matrix(X))):
        found = separated(design, y)
        assert found is not None
        assert found.complete
        margin = np.where(y == 1, 1, -1) * (X @ found.coef + found.intercept)
        assert (margin > 0).all()


@pytest.mark.covers("G-08")
@pytest.mark.parametrize("seed", range(8))
def test_one_row_on_the_wrong_side_is_overlap(seed):
    _, X, w = table(3000, 6, seed)
    y = (X @ w > 0).astype(int)
    assert separated(DenseDesign(X), y) is not None
    y[np.argmax(X @ w)] = 0
    assert separated(DenseDesign(X), y) is None


@pytest.mark.covers("G-08")
def test_a_level_of_one_class_only_is_separation_up_to_the_border():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (200, 1)).astype(np.int32)
    y = np.where(codes[:, 0] == 2, 1, rng.integers(0, 2, 200))
    found = separated(OneHotDesign(rng.normal(size=(200, 1)), codes, [3], 1), y)
    assert found is not None
    assert not found.complete
    assert found.columns().tolist() == [2]  # after the number and level 1: the level that gives the class away


def test_without_an_intercept_the_border_goes_through_zero():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = np.array([0, 0, 1, 1])
    assert separated(DenseDesign(X), y) is not None
    assert separated(DenseDesign(X), y, intercept=False) is None


def test_scales_do_not_matter():
    _, X, w = table()
    y = (X @ w > 0).astype(int)
    scale = np.array([1e-6, 1.0, 1e6, 1.0])
    assert separated(DenseDesign(X * scale), y).complete
    y[np.argmax(X @ w)] = 0
    assert separated(DenseDesign(X * scale), y) is None


def test_many_classes():
    rng, X, _ = table(300, 2)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert separated(DenseDesign(X), y, 3).complete
    y = np.where(X[:, 0] > 0.5, 2, rng.integers(0, 2, 300))
    found = separated(DenseDesign(X), y, 3)
    assert found is not None
    assert not found.complete
    assert separated(DenseDesign(X), rng.integers(0, 3, 300), 3) is None


def test_duplicate_columns_and_constant_columns_are_no_separation():
    rng, X, _ = table()
    y = rng.integers(0, 2, 400)
    assert separated(DenseDesign(np.column_stack([X, X[:, 0], np.ones(400), np.zeros(400)])), y) is None


def test_scores_of_a_fit_change_nothing_but_speed():
    rng, X, w = table()
    for y in ((X @ w > 0).astype(int), (X @ w + rng.normal(size=400) > 0).astype(int)):
        a, b = separated(DenseDesign(X), y), separated(DenseDesign(X), y, scores=X @ w)
        assert (a is None) == (b is None)
