"""Gradient descent as a solver: the same answers as the others, every partial in the trace, honest about kinks."""

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from tilth.engines.linear.descent import Descent
from tilth.engines.linear.design import DenseDesign, SparseDesign
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.solver import choose, solve
from tilth.parts.class_losses import Logistic, OneVersusAll, Softmax
from tilth.parts.losses import Absolute, Huber, Poisson, Squared
from tilth.parts.penalties import L1, L2, NoPenalty

rng = np.random.default_rng(3)
N = 120
X = rng.normal(size=(N, 3)) * [1.0, 20.0, 0.1] + [0.0, 50.0, 1.0]
Y = X @ [1.0, 0.2, -3.0] + 2.0 + rng.normal(size=N)
TWO = (rng.random(N) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
MANY = rng.integers(0, 3, N)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


def problem(loss=None, y=Y, penalty=None, weight=WEIGHT, intercept=True, x=X):
    return Problem(DenseDesign(x), y, loss or Squared(), penalty or NoPenalty(), weight, intercept)


def close(a: Weights, b: Weights, tol=1e-6):
    np.testing.assert_allclose(a.coef, b.coef, atol=tol)
    # A constant added to the intercepts of all classes changes nothing.
    np.testing.assert_allclose(a.intercept - np.mean(a.intercept), b.intercept - np.mean(b.intercept), atol=20 * tol)
    if a.intercept.ndim == 0:
        np.testing.assert_allclose(a.intercept, b.intercept, atol=20 * tol)


@pytest.mark.covers("R-01", "L-04")
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_by_descent_is_the_closed_form(intercept):
    p = problem(intercept=intercept)
    found = Descent(tol=1e-9).solve(p)
    close(found.weights, solve(p, "closed form").weights)
    assert found.outcome.converged
    assert not found.outcome.closed_form


@pytest.mark.covers("R-06")
@pytest.mark.parametrize(
    ("loss", "y"), [(Squared(), Y), (Logistic(), TWO), (Softmax(k=3), MANY)], ids=["squares", "logistic", "softmax"]
)
def test_one_row_some_rows_and_all_rows_meet_at_the_same_optimum(loss, y):
    p = problem(loss, y, L2(0.05))
    reference = solve(p, "lbfgs", tol=1e-10).weights
    for batch in (1, 25, N, None):
        found = Descent(batch=batch, tol=1e-8).solve(p)
        assert found.outcome.converged
        close(found.weights, reference, 1e-5)


def test_rows_weigh_as_if_repeated_in_batches_too():
    again = np.repeat(np.arange(N), WEIGHT.astype(int))
    twice = problem(y=Y[again], weight=None, x=X[again])
    close(Descent(batch=10, tol=1e-9).solve(problem()).weights, Descent(batch=10, tol=1e-9).solve(twice).weights)


@pytest.mark.covers("R-05", "R-07")
def test_every_partial_is_in_the_trace_and_all_vanish_at_the_end():
    found = Descent(tol=1e-7).solve(problem())
    trace = found.outcome.frame()
    assert {"d/dw0", "d/dw1", "d/dw2", "d/db"} <= set(trace)
    assert trace[["d/dw0", "d/dw1", "d/dw2", "d/db"]].iloc[-1].abs().max() <= 1e-7
    assert (np.diff(trace["value"]) <= 1e-12).all()
    assert found.outcome.guarantee == "the global optimum: the cost is convex"


def test_plain_columns_need_no_change_of_scale():
    rng = np.random.default_rng(101)
    x = rng.normal(size=(N, 2))
    p = problem(x=x, y=x @ [1.0, 2.0], weight=None)
    found = Descent(standardise=False, rate=0.5, tol=1e-9).solve(p)
    np.testing.assert_allclose(found.weights.coef, [1.0, 2.0], atol=1e-7)
    trace = found.outcome.frame()
    step = trace["w0"].diff().iloc[1:].to_numpy()
    np.testing.assert_allclose(step, -0.5 * trace["d/dw0"].iloc[:-1], atol=1e-12)  # w <- w - rate dJ/dw


def test_a_start_at_the_optimum_stays_there():
    p = problem(penalty=L2(0.1))
    best = solve(p)
    assert Descent(tol=1e-6).solve(p, best.weights).outcome.n_iter <= 1


def test_sparse_designs_and_other_losses():
    rng = np.random.default_rng(102)
    x = random_sparse(N, 5, 0.4, random_state=0, format="csr")
    counts = rng.poisson(2.0, N).astype(float)
    p = Problem(SparseDesign(x), counts, Poisson(), L2(0.1))
    close(Descent(tol=1e-8, batch=20).solve(p).weights, solve(p, "lbfgs", tol=1e-9).weights, 1e-5)


@pytest.mark.covers("P-19")
def test_kinks_are_walked_through_and_not_called_an_optimum():
    found = Descent().solve(problem(Absolute(), weight=None))
    outcome = found.outcome
    assert not outcome.converged
    assert "kinks" in outcome.stopped
    huber = Descent(tol=1e-6).solve(problem(Huber(delta=0.01), weight=None))
    assert outcome.objective <= problem(Absolute(), weight=None).objective(huber.weights) * 1.05


def test_an_l1_penalty_is_descended_by_a_subgradient():
    p = problem(Logistic(), TWO, L1(0.05), weight=None)
    assert Descent().solve(p).outcome.objective <= p.objective(p.start())


@pytest.mark.covers("R-07")
def test_a_step_that_is_too_long_is_told():
    found = Descent(rate=100.0).solve(problem())
    assert not found.outcome.converged
    assert "too long" in found.outcome.stopped


def test_it_is_the_last_that_auto_takes():
    from tilth.engines.linear.solver import solvers

    assert list(solvers())[-1] == "gradient descent"
    assert not isinstance(choose(problem())[0], Descent)
    assert isinstance(choose(problem(), "gradient descent")[0], Descent)


@pytest.mark.covers("G-11", "G-13")
def test_one_versus_all_is_solved_question_by_question():
    p = problem(OneVersusAll(k=3), MANY, L2(0.05))
    apart, together = solve(p, tol=1e-9), Descent(tol=1e-9).solve(p)
    close(apart.weights, together.weights, 1e-5)
    assert apart.outcome.objective == pytest.approx(p.objective(apart.weights))
    for c in range(3):
        alone = solve(problem(Logistic(), (c == MANY).astype(float), L2(0.05)), tol=1e-9)
        np.testing.assert_allclose(apart.weights.coef[:, c], alone.weights.coef, atol=1e-7)


@pytest.mark.covers("R-06")
def test_the_mean_of_the_batches_is_the_gradient_of_the_whole():
    rng = np.random.default_rng(103)
    from tilth.engines.linear.descent import _Way

    way = _Way.of(problem(Softmax(k=3), MANY, L2(0.1)), standardise=True)
    theta = rng.normal(size=len(way.names))
    parts = [way.gradient(theta, np.arange(i, N, 6)) for i in range(6)]
    np.testing.assert_allclose(np.mean(parts, axis=0), way.gradient(theta), atol=1e-12)
    numeric = [(way.cost(theta + h) - way.cost(theta - h)) / 2e-6 for h in 1e-6 * np.eye(len(theta))]
    np.testing.assert_allclose(way.gradient(theta), numeric, atol=1e-6)
