"""One row at a time, some rows, all rows: one parameter, one optimum."""

import numpy as np
import pytest
from scipy.special import expit

from tilth.engines.optimise.descent import gradient_descent
from tilth.errors import ModelWarning

N = 61
rng = np.random.default_rng(0)
X = np.c_[np.ones(N), rng.normal(size=(N, 3)) * [1.0, 2.0, 0.7]]
NUMBERS = X @ [1.0, -2.0, 0.5, 3.0] + rng.normal(size=N)
CLASSES = (X @ [0.2, -1.0, 0.5, 1.0] + rng.logistic(size=N) > 0).astype(float)
del rng  # tests draw from generators of their own


def squared(theta, rows):
    return X[rows].T @ (X[rows] @ theta - NUMBERS[rows]) / len(rows)


def logistic(theta, rows):
    return X[rows].T @ (expit(X[rows] @ theta) - CLASSES[rows]) / len(rows)


def mean_logistic(theta):
    eta = X @ theta
    return float(np.mean(np.logaddexp(0, eta) - CLASSES * eta))


LEAST_SQUARES = np.linalg.lstsq(X, NUMBERS, rcond=None)[0]


@pytest.fixture(scope="module")
def logistic_optimum():
    theta = np.zeros(4)
    for _ in range(30):  # Newton's steps, the reference
        p = expit(X @ theta)
        theta = theta - np.linalg.solve((X.T * (p * (1 - p))) @ X, X.T @ (p - CLASSES))
    return theta


@pytest.mark.covers("R-06")
@pytest.mark.parametrize("batch", [1, 8, N, None])
def test_every_batch_size_reaches_the_same_least_squares(batch):
    found = gradient_descent(squared, np.zeros(4), batch=batch, n_rows=N, tol=1e-7, convex=True)
    np.testing.assert_allclose(found.x, LEAST_SQUARES, atol=1e-5)
    assert found.outcome.converged
    assert found.gradient_norm <= 1e-7


@pytest.mark.covers("R-06")
@pytest.mark.parametrize("batch", [1, 8, N])
def test_every_batch_size_reaches_the_same_logistic_regression(batch, logistic_optimum):
    found = gradient_descent(logistic, np.zeros(4), batch=batch, n_rows=N, value=mean_logistic, tol=1e-6, convex=True)
    np.testing.assert_allclose(found.x, logistic_optimum, atol=1e-4)


@pytest.mark.covers("R-06")
@pytest.mark.parametrize("batch", [1, 8])
def test_falling_rate_and_averages_reach_the_stated_accuracy(batch):
    found = gradient_descent(squared, np.zeros(4), batch=batch, n_rows=N, noise="average", tol=3e-3, max_iter=600)
    assert found.outcome.converged
    assert np.abs(squared(found.x, np.arange(N))).max() <= 3e-3
    assert (np.diff(found.trace.rate[1:]) <= 0).all()
    assert found.trace.rate[-1] < found.trace.rate[1]


@pytest.mark.covers("R-06")
def test_momentum_and_given_rates_work_in_batches():
    for settings in ({"momentum": 0.5}, {"rate": 0.02}, {"rate": lambda t: 0.05 / (1 + t) ** 0.1}):
        found = gradient_descent(squared, np.zeros(4), batch=10, n_rows=N, tol=1e-6, **settings)
        np.testing.assert_allclose(found.x, LEAST_SQUARES, atol=1e-4)


def test_a_pass_counts_every_row_alike():
    # 61 rows in batches of 60: the last batch is one row, which must not weigh as much as the other 60.
    asked = []

    def recorded(theta, rows):
        asked.append(rows)
        return squared(theta, rows)

    with pytest.warns(ModelWarning, match="W207"):
        found = gradient_descent(
            recorded, np.zeros(4), batch=60, n_rows=N, noise="average", rate=1e-9, max_iter=1, tol=0.0
        )
    many, one = (next(rows for rows in asked if len(rows) == size) for size in (60, 1))
    assert sorted([*many, *one]) == list(range(N))
    first, second = squared(np.zeros(4), many), squared(np.zeros(4), one) / 60
    # Iterates are averaged with weights 1/5 and 4/5 by then.
    np.testing.assert_allclose(found.x, -1e-9 * (first + 0.8 * second), rtol=1e-6)


def test_same_seed_same_path_and_another_seed_another():
    ways = [gradient_descent(squared, np.zeros(4), batch=4, n_rows=N, random_state=s).trace.x for s in (1, 1, 2)]
    np.testing.assert_array_equal(ways[0], ways[1])
    assert not np.array_equal(ways[0][1], ways[2][1])


def test_curvature_that_grows_on_the_way_halves_the_rate():
    # A Poisson cost: the curvature at the start says nothing of that further on.
    counts = np.random.default_rng(1).poisson(np.exp(1.0 + 0.8 * X[:, 1])).astype(float)

    def poisson(theta, rows):
        return X[rows].T @ (np.exp(X[rows] @ theta) - counts[rows]) / len(rows)

    start = np.array([-6.0, 0.0, 0.0, 0.0])
    found = gradient_descent(poisson, start, batch=5, n_rows=N, tol=1e-6, max_iter=3000)
    assert found.outcome.converged
    assert found.trace.rate[-1] < found.trace.rate[1]
    np.testing.assert_allclose(X.T @ (np.exp(X @ found.x) - counts) / N, 0, atol=1e-6)


@pytest.mark.covers("R-07")
def test_given_rate_that_is_too_long_for_single_rows_is_told():
    with pytest.warns(ModelWarning, match="the step is too long"):
        found = gradient_descent(squared, np.zeros(4), batch=1, n_rows=N, rate=1.0)
    assert np.isfinite(found.x).all()
    assert not found.outcome.converged
