"""Prox-Newton: conditions of an optimum, agreement of designs and with scikit-learn, hard inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import LogisticRegression as SklearnLogistic

from tilth.engines.linear import prox_newton
from tilth.engines.linear.design import DenseDesign, OneHotDesign, SparseDesign
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.prox_newton import ProxNewton, duality_gap, last_gap
from tilth.engines.linear.solver import choose, solve
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.losses import Absolute, Huber, Poisson, Squared
from tilth.parts.penalties import L0, L1, L2, MCP, SCAD, ElasticNet, GroupLasso, NoPenalty


def numbers(n=120, p=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + np.arange(p) % 3
    w = np.zeros(p)
    w[:5] = [2.0, -1.5, 1.0, 0.5, -0.5]
    return X, X @ w + rng.normal(size=n)


def conditions(problem, solution):
    """Largest violation, computed anew from all rows and columns."""
    at = solution.weights
    return problem.violation(at, problem.gradient(problem.scores(at)))


PENALTIES = [
    L1(0.05), ElasticNet(0.1, ratio=0.4), MCP(0.1), SCAD(0.1), L0(0.02), L2(0.1),
    GroupLasso(0.05, groups=tuple(j % 15 for j in range(60))),
]  # fmt: skip


def targets(y):
    """Every smooth loss with a target that it serves and that no plane separates."""
    rng = np.random.default_rng(9)
    return [
        (Squared(), y),
        (Logistic(), (y + 4 * rng.normal(size=len(y)) > 3).astype(np.float64)),
        (Poisson(), rng.poisson(np.exp(np.clip(y / 10, -2, 2))).astype(np.float64)),
        (Huber(delta=0.7), y),
        (Softmax(k=3), np.digitize(y + 4 * rng.normal(size=len(y)), [1.0, 5.0])),
    ]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("place", range(5), ids=["squared", "logistic", "poisson", "huber", "softmax"])
def test_the_conditions_of_an_optimum_hold(penalty, place):
    X, y = numbers()
    loss, target = targets(y)[place]
    problem = Problem(DenseDesign(X), target, loss, penalty)
    solution = ProxNewton(tol=1e-7).solve(problem)
    assert solution.outcome.converged
    assert conditions(problem, solution) < 1e-6
    assert solution.outcome.objective == pytest.approx(problem.objective(solution.weights))
    assert solution.outcome.objective < problem.objective(problem.start())
    # No single weight can be changed for the better, near or far.
    rng = np.random.default_rng(3)
    for _ in range(40):
        coef = solution.weights.coef.copy()
        coef[rng.integers(len(coef))] += rng.normal() * 10.0 ** -rng.integers(0, 4)
        near = problem.objective(Weights(coef, solution.weights.intercept))
        assert near >= solution.outcome.objective - 1e-9 or not penalty.convex


@pytest.mark.parametrize("seed", range(10, 18))
def test_a_count_of_weights_settles_also_where_newton_steps_fail(seed):
    """Heavy tails: the model of a step and the loss disagree on which columns pay."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(100, 20))
    y = (X[:, :2].sum(axis=1) + rng.logistic(size=100) > 0).astype(np.float64)
    problem = Problem(DenseDesign(X), y, Logistic(), L0(0.01))
    solution = ProxNewton().solve(problem)
    assert solution.outcome.converged
    assert solution.outcome.n_iter < 60
    assert conditions(problem, solution) < 1e-4


def test_lasso_and_logistic_agree_with_scikit_learn():
    X, y = numbers(seed=1)
    for alpha in (0.5, 0.05, 0.005):
        peer = SklearnLasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
        ours = ProxNewton(tol=1e-9).solve(Problem(DenseDesign(X), y, Squared(), L1(alpha))).weights
        assert ours.coef == pytest.approx(peer.coef_, abs=1e-7)
        assert float(ours.intercept) == pytest.approx(peer.intercept_, abs=1e-6)
    labels = (y > np.median(y)).astype(np.float64)
    problem = Problem(DenseDesign(X), labels, Logistic(), L1(1 / (0.2 * len(y))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = SklearnLogistic(C=0.2, l1_ratio=1.0, solver="saga", tol=1e-7, max_iter=20_000).fit(X, labels)
    found = ProxNewton(tol=1e-9).solve(problem)
    assert found.outcome.objective <= problem.objective(Weights(peer.coef_[0], np.asarray(peer.intercept_[0]))) + 1e-9
    assert found.weights.coef == pytest.approx(peer.coef_[0], abs=2e-3)


@pytest.mark.parametrize("penalty", [L1(0.05), MCP(0.2), GroupLasso(0.05, groups=tuple(j // 4 for j in range(60)))])
@pytest.mark.parametrize("intercept", [True, False])
def test_designs_orders_and_forms_of_the_model_agree(penalty, intercept, monkeypatch):
    """C and Fortran order, sparse, cross products or rows: the same weights."""
    X, y = numbers()
    X[np.abs(X) < 0.8] = 0.0
    weight = np.random.default_rng(4).uniform(0.5, 2.0, len(y))
    for loss, target in targets(y)[:2]:
        found = []
        for most in (10_000, 0):  # cross products always, or never
            for limit in ("MOST_KEPT", "MOST_FRESH", "MOST_KEPT_SPARSE", "MOST_FRESH_SPARSE"):
                monkeypatch.setattr(prox_newton, limit, most)
            for design in (DenseDesign(X), DenseDesign(np.asfortranarray(X)), SparseDesign(csr_matrix(X))):
                problem = Problem(design, target, loss, penalty, weight, intercept)
                solution = ProxNewton(tol=1e-9).solve(problem)
                assert solution.outcome.converged
                found.append(solution.weights)
        for other in found[1:]:
            assert other.coef == pytest.approx(found[0].coef, abs=1e-6)
            assert other.intercept == pytest.approx(found[0].intercept, abs=1e-5)


def test_levels_need_no_columns_of_their_own():
    rng = np.random.default_rng(5)
    codes = rng.integers(-1, 4, size=(200, 2)).astype(np.int32)
    numbers_ = rng.normal(size=(200, 3))
    y = numbers_[:, 0] + np.array([0.0, 1.0, -1.0, 0.0, 2.0])[codes[:, 0]] + 0.1 * rng.normal(size=200)
    design = OneHotDesign(numbers_, codes, [4, 4])
    a = ProxNewton(tol=1e-9).solve(Problem(design, y, Squared(), L1(0.02))).weights
    b = ProxNewton(tol=1e-9).solve(Problem(DenseDesign(design.dense()), y, Squared(), L1(0.02))).weights
    assert a.coef == pytest.approx(b.coef, abs=1e-7)


def test_weights_of_rows_are_repetitions():
    X, y = numbers(60, 20)
    weight = np.random.default_rng(6).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    for loss, target in [(Squared(), y), (Logistic(), (y > 3).astype(np.float64))]:
        a = ProxNewton(tol=1e-10).solve(Problem(DenseDesign(X), target, loss, L1(0.05), weight.astype(np.float64)))
        b = ProxNewton(tol=1e-10).solve(Problem(DenseDesign(X[rows]), target[rows], loss, L1(0.05)))
        assert a.weights.coef == pytest.approx(b.weights.coef, abs=1e-7)


def test_many_columns_few_rows_and_warm_starts():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 3000))
    y = X[:, :3] @ np.array([3.0, -2.0, 1.0]) + 0.1 * rng.normal(size=50)
    problem = Problem(DenseDesign(X), y, Squared(), L1(0.1))
    cold = ProxNewton(tol=1e-8).solve(problem)
    assert conditions(problem, cold) < 1e-7
    assert cold.outcome.trace["columns"][-1] < 1000
    assert last_gap(cold.outcome) < 1e-8
    warm = ProxNewton(tol=1e-8).solve(problem, cold.weights)
    assert warm.outcome.n_iter == 1
    assert warm.weights.coef == pytest.approx(cold.weights.coef, abs=1e-9)
    far = ProxNewton(tol=1e-8).solve(problem, Weights(rng.normal(size=3000), np.asarray(5.0)))
    assert far.weights.coef == pytest.approx(cold.weights.coef, abs=1e-5)


def test_the_gap_bounds_how_far_the_cost_is_from_the_least():
    X, y = numbers()
    for penalty in (L1(0.1), ElasticNet(0.1, ratio=0.5)):
        problem = Problem(DenseDesign(X), y, Squared(), penalty)
        best = ProxNewton(tol=1e-10).solve(problem).outcome.objective
        rng = np.random.default_rng(8)
        for size in (0.0, 0.01, 1.0):
            w = size * rng.normal(size=60)
            at = Weights(w, np.asarray(np.mean(y - X @ w)))
            eta = problem.scores(at)
            gap = duality_gap(problem, w, eta, problem.gradient(eta).coef)
            assert gap >= problem.objective(at) - best - 1e-10
    assert np.isnan(duality_gap(problem.with_penalty(MCP(0.1)), w, eta, w))


@pytest.mark.filterwarnings("error")
def test_odd_columns_do_no_harm():
    """Constant, equal, huge and tiny columns, and a target without spread."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(80, 4))
    X = np.column_stack([x, x[:, 0], np.full(80, 1e6), np.zeros(80), 1e12 * x[:, 1], 1e-12 * x[:, 2]])
    y = x @ np.array([1.0, 2.0, 0.0, -1.0]) + 0.1 * rng.normal(size=80)
    for loss, target in [(Squared(), y), (Logistic(), (y + rng.normal(size=80) > 0).astype(np.float64))]:
        problem = Problem(DenseDesign(X), target, loss, L1(0.01))
        solution = ProxNewton().solve(problem)
        assert solution.weights.finite
        assert solution.outcome.converged
        assert solution.weights.coef[5] == solution.weights.coef[6] == 0
        assert solution.outcome.objective < problem.objective(problem.start())
    uneven = np.column_stack([x, np.full(80, 0.1)])  # whose mean is not exactly 0.1
    assert ProxNewton().solve(Problem(DenseDesign(uneven), y, Squared(), NoPenalty())).weights.coef[4] == 0
    nothing = ProxNewton().solve(Problem(DenseDesign(X), np.full(80, 3.0), Squared(), L1(0.01)))
    assert not nothing.weights.coef.any()
    assert float(nothing.weights.intercept) == pytest.approx(3.0)
    assert nothing.outcome.converged


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_the_answer_moves_with_the_scale_of_the_target(scale):
    X, y = numbers()
    plain = ProxNewton().solve(Problem(DenseDesign(X), y, Squared(), L1(0.1))).weights.coef
    scaled = ProxNewton().solve(Problem(DenseDesign(X), scale * y, Squared(), L1(0.1 * scale)))
    assert scaled.outcome.converged
    assert scaled.weights.coef / scale == pytest.approx(plain, abs=1e-4)


def test_it_says_what_it_cannot_do_and_is_chosen_by_itself():
    X, y = numbers(30, 5)
    assert "gradient" in ProxNewton().refuses(Problem(DenseDesign(X), y, Absolute(), L1(0.1)))
    assert "one target" in ProxNewton().refuses(Problem(DenseDesign(X), np.column_stack([y, y]), Squared(), L1(0.1)))
    solver, why = choose(Problem(DenseDesign(X), y, Squared(), L1(0.1)))
    assert solver.name == "prox-newton"
    assert "corners" in why
    assert solve(Problem(DenseDesign(X), y, Huber(delta=1.0), SCAD(0.1))).outcome.solver == "prox-newton"


@pytest.mark.parametrize("most", [10_000, 0])
def test_a_tolerance_that_rounding_does_not_allow_ends_all_the_same(most, monkeypatch):
    for limit in ("MOST_KEPT", "MOST_FRESH"):
        monkeypatch.setattr(prox_newton, limit, most)
    X, y = numbers()
    for loss, target in targets(y):
        problem = Problem(DenseDesign(X), target, loss, L1(0.01))
        solution = ProxNewton(tol=1e-300).solve(problem)
        assert conditions(problem, solution) < 1e-8
        assert "max_iter" not in solution.outcome.stopped
        assert solution.outcome.converged == (solution.outcome.violation == 0)


def test_a_run_that_is_cut_short_does_not_claim_to_have_converged():
    X, y = numbers()
    outcome = (
        ProxNewton(max_iter=1, tol=1e-12)
        .solve(Problem(DenseDesign(X), targets(y)[1][1], Logistic(), L1(0.001)))
        .outcome
    )
    assert not outcome.converged
    assert outcome.n_iter == 1
    assert "max_iter" in outcome.stopped
