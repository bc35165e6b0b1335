"""The exact L0 fit: brute force, its surrogate L1, weights, columns that are equal or constant."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.path import path
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.prox_newton import ProxNewton
from tilth.engines.linear.solver import choose, solve
from tilth.engines.linear.subset import AllSubsets, best_subsets, refit
from tilth.parts.class_losses import Logistic
from tilth.parts.losses import Squared
from tilth.parts.penalties import L0, L1


def data(seed, n=40, p=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p))) + 2.0
    return X, X[:, :3] @ np.array([1.0, -0.5, 0.25]) + rng.normal(size=n)


def least_cost(problem):
    """Every subset in turn."""
    best = np.inf
    for size in range(problem.design.n_cols + 1):
        for columns in itertools.combinations(range(problem.design.n_cols), size):
            best = min(best, problem.objective(refit(problem, columns)))
    return best


@pytest.mark.covers("FS-14")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("intercept", [True, False])
def test_the_l0_objective_is_least_over_all_subsets(seed, intercept):
    X, y = data(seed)
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(y)) if seed else None
    problem = Problem(DenseDesign(X), y, Squared(), L0(0.03), weight, intercept)
    exact = solve(problem)
    assert exact.outcome.solver == "all subsets"
    assert exact.outcome.converged
    assert exact.outcome.objective == pytest.approx(least_cost(problem), rel=1e-9)
    descended = ProxNewton().solve(problem)  # a set that no single change improves
    assert descended.outcome.objective >= exact.outcome.objective - 1e-12


@pytest.mark.covers("FS-14")
def test_l1_is_a_surrogate_that_is_never_better_on_the_l0_objective():
    """Every support on the lasso path, refitted, against the exact answer; on clear data the supports are the same."""
    X, y = data(5, n=100)
    problem = Problem(DenseDesign(X), y, Squared(), L0(0.02))
    exact = solve(problem).outcome.objective
    found = path(problem.with_penalty(L1(1.0)), 40)
    costs = [problem.objective(refit(problem, tuple(np.flatnonzero(c)))) for c in found.coef]
    assert min(costs) >= exact - 1e-12
    rng = np.random.default_rng(6)
    clear = X[:, [1, 4]] @ np.array([5.0, -4.0]) + 0.01 * rng.normal(size=100)
    problem = Problem(DenseDesign(X), clear, Squared(), L0(0.5))
    by_count = np.flatnonzero(solve(problem).weights.coef)
    assert by_count.tolist() == [1, 4]
    by_l1 = [np.flatnonzero(c).tolist() for c in path(problem.with_penalty(L1(1.0)), 60).coef]
    assert [1, 4] in by_l1


def test_sizes_residuals_and_refits_agree():
    X, y = data(7)
    problem = Problem(DenseDesign(X), y, Squared(), L0(0.0))
    found = best_subsets(problem)
    assert (np.diff(found.residual) <= 1e-9).all()
    for columns, residual in zip(found.columns, found.residual, strict=True):
        at = refit(problem, columns)
        assert np.flatnonzero(at.coef).tolist() == list(columns)
        assert ((y - problem.scores(at)) ** 2).sum() == pytest.approx(residual, rel=1e-6)
    assert len(best_subsets(problem, 2).columns) == 3


def test_equal_and_constant_columns_and_more_columns_than_rows():
    X, y = data(8)
    problem = Problem(
        DenseDesign(np.column_stack([X, X[:, 0], np.full(40, 1e5), np.zeros(40)])), y, Squared(), L0(0.05)
    )
    solution = solve(problem)
    assert solution.weights.finite
    assert solution.weights.coef[10] == solution.weights.coef[11] == 0
    assert solution.outcome.objective == pytest.approx(
        solve(Problem(DenseDesign(X), y, Squared(), L0(0.05))).outcome.objective
    )
    few = solve(Problem(DenseDesign(X[:5]), y[:5], Squared(), L0(0.05)))
    assert few.weights.finite


def test_thirty_columns_are_no_trouble():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, 30))
    y = X[:, :6] @ np.array([1.0, -1.0, 0.8, 0.6, -0.5, 0.4]) + rng.normal(size=200)
    found = best_subsets(Problem(DenseDesign(X), y, Squared()), 10)
    assert found.finished
    assert found.weighed < 2**20
    assert set(range(6)) <= set(found.columns[8])


def test_it_says_what_it_cannot_do():
    X, y = data(0)
    solver = AllSubsets()
    assert "squared loss" in solver.refuses(Problem(DenseDesign(X), (y > 0).astype(float), Logistic(), L0(0.1)))
    assert "squared loss" in solver.refuses(Problem(DenseDesign(X), y, Squared(), L1(0.1)))
    wide = Problem(DenseDesign(np.zeros((5, 70))), np.zeros(5), Squared(), L0(0.1))
    assert "at most 62" in solver.refuses(wide)
    with pytest.raises(ValueError, match="at most 62 columns, found 70"):
        best_subsets(wide)
    middle = Problem(DenseDesign(np.random.default_rng(0).normal(size=(50, 30))), np.arange(50.0), Squared(), L0(0.1))
    assert choose(middle)[0].name == "prox-newton"
    cut = AllSubsets(max_iter=12).solve(Problem(DenseDesign(X), y, Squared(), L0(0.001)))
    assert not cut.outcome.converged
