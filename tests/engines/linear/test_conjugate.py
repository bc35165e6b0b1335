"""Bayesian least squares: the posterior by the textbook formula, the evidence by the density of y."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tilth.engines.linear.conjugate import posterior
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.problem import Problem
from tilth.parts.losses import Squared

rng = np.random.default_rng(4)
N, P = 40, 3
X = rng.normal(size=(N, P)) * [1.0, 3.0, 0.5] + [0.0, 2.0, -1.0]
Y = X @ [1.0, -0.5, 0.0] + 0.7 + rng.normal(0, 0.6, N)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


def problem(intercept=False, weight=None, x=X, y=Y):
    return Problem(DenseDesign(x), y, Squared(), weight=weight, intercept=intercept)


@pytest.mark.covers("R-22")
def test_mean_and_covariance_are_those_of_the_formula():
    found = posterior(problem(), precision=2.0, noise=0.4)
    covariance = np.linalg.inv(X.T @ X / 0.4 + 2.0 * np.eye(P))
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)
    np.testing.assert_allclose(found.weights.coef, covariance @ X.T @ Y / 0.4, atol=1e-12)


def test_the_evidence_is_the_density_of_the_targets_and_is_highest_where_it_stops():
    def density(a, s2):
        return multivariate_normal.logpdf(Y, np.zeros(N), s2 * np.eye(N) + X @ X.T / a)

    found = posterior(problem(), None, None)
    a, s2 = found.precision, found.noise
    assert found.converged
    assert found.log_evidence == pytest.approx(density(a, s2), abs=1e-8)
    assert all(density(a * f, s2 * g) < density(a, s2) for f, g in ((1.1, 1), (0.9, 1), (1, 1.1), (1, 0.9)))


def test_a_flat_prior_on_the_intercept_is_the_limit_of_a_wide_one():
    wide = 1e5
    cov = 0.4 * np.eye(N) + X @ X.T / 2.0 + wide * np.ones((N, N))
    density = multivariate_normal.logpdf(Y, np.zeros(N), cov) + 0.5 * np.log(2 * np.pi * wide)
    assert posterior(problem(intercept=True), 2.0, 0.4).log_evidence == pytest.approx(density, abs=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_repetitions(intercept):
    again = np.repeat(np.arange(N), WEIGHT.astype(int))
    a = posterior(problem(intercept, WEIGHT), None, None)
    b = posterior(problem(intercept, None, X[again], Y[again]), None, None)
    np.testing.assert_allclose(a.weights.coef, b.weights.coef, rtol=1e-9)
    np.testing.assert_allclose(a.covariance, b.covariance, rtol=1e-8)
    assert a.noise == pytest.approx(b.noise)
    assert a.log_evidence == pytest.approx(b.log_evidence)


@pytest.mark.parametrize(
    "y", [np.zeros(N), np.full(N, 3.0), X @ [1.0, 2.0, 3.0]], ids=["zeros", "constant", "no noise"]
)
def test_targets_without_noise_stay_finite(y):
    found = posterior(problem(True, y=y), None, None)
    assert np.isfinite(found.weights.coef).all()
    assert np.isfinite(found.covariance).all()
    np.testing.assert_allclose(X @ found.weights.coef + found.weights.intercept, y, atol=1e-5)
