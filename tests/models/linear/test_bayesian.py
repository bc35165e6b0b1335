"""Bayesian ridge regression: its mean is ridge with lambda = a s^2, its spread covers what it says."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge as Peer

from tilth import BayesianRidge, Ridge

rng = np.random.default_rng(6)
N = 60
X = rng.normal(size=(N, 4)) * [1.0, 2.0, 0.5, 1.0] + 3.0
Y = X @ [1.0, -0.5, 0.0, 2.0] + 1.0 + rng.normal(0, 0.7, N)
del rng  # tests draw from generators of their own


@pytest.mark.covers("R-22", "P-15", "WN-54")
@pytest.mark.parametrize("intercept", [True, False])
def test_the_posterior_mean_is_ridge_with_alpha_times_the_noise_variance(intercept):
    a, s2 = 3.0, 0.25
    model = BayesianRidge(precision=a, noise=s2, fit_intercept=intercept).fit(X, Y)
    right, wrong = (Ridge(alpha=v, fit_intercept=intercept).fit(X, Y) for v in (a * s2, a))
    np.testing.assert_allclose(model.coef_, right.coef_, atol=1e-8)
    assert np.abs(model.coef_ - wrong.coef_).max() > 1e-3
    assert model.outcome_.closed_form


def test_evidence_agrees_with_scikit_learn():
    mine = BayesianRidge(fit_intercept=False).fit(X, Y)
    theirs = Peer(fit_intercept=False, tol=1e-12, max_iter=10_000, compute_score=True).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(mine.sigma_, theirs.sigma_, atol=1e-6)
    assert mine.lambda_ == pytest.approx(theirs.lambda_, rel=1e-5)
    assert mine.alpha_ == pytest.approx(theirs.alpha_, rel=1e-5)
    mean, spread = mine.predict(X, return_std=True)
    np.testing.assert_allclose(spread, theirs.predict(X, return_std=True)[1], rtol=1e-5)
    np.testing.assert_allclose(mean, theirs.predict(X), rtol=1e-6)


@pytest.mark.covers("R-17")
def test_its_intervals_cover_as_often_as_they_say():
    inside = []
    draw = np.random.default_rng(0)
    for _ in range(60):
        w = draw.normal(size=3)
        x = draw.normal(size=(50, 3))
        y = x @ w + 2.0 + draw.normal(0, 0.5, 50)
        told = BayesianRidge().fit(x[:25], y[:25]).predict_distribution(np.clip(x[25:], x[:25].min(0), x[:25].max(0)))
        y = np.clip(x[25:], x[:25].min(0), x[:25].max(0)) @ w + 2.0 + draw.normal(0, 0.5, 25)
        inside.append(np.mean((y > told.quantile(0.025)) & (y < told.quantile(0.975))))
    assert abs(np.mean(inside) - 0.95) < 0.02


def test_effective_parameters_are_the_trace_of_the_hat_matrix():
    model = BayesianRidge(precision=2.0, noise=0.5).fit(X, Y)
    centred = X - X.mean(axis=0)
    hat = centred @ np.linalg.solve(centred.T @ centred + 1.0 * np.eye(4), centred.T)
    assert model.n_effective_params_ == pytest.approx(np.trace(hat) + 1)


def test_more_columns_than_rows_and_other_solvers():
    rng = np.random.default_rng(101)
    wide = rng.normal(size=(10, 30))
    model = BayesianRidge(precision=1.0, noise=0.1).fit(wide, wide[:, 0])
    assert model.sigma_.shape == (30, 30)
    assert np.linalg.eigvalsh(model.sigma_).min() > 0
    with pytest.raises(ValueError, match="closed form and takes no other solver"):
        BayesianRidge(solver="lbfgs").fit(X, Y)
