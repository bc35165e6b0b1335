"""Data, model, cost and optimiser are four parts: each is replaced alone, and every way leads to one optimum."""

import numpy as np
import pytest
from scipy.special import expit

from tilth.engines.optimise.descent import gradient_descent
from tilth.engines.optimise.quadratic import quadratic_program
from tilth.parts.class_losses import Logistic
from tilth.parts.losses import Huber, Poisson, Squared
from tilth.parts.penalties import L2

rng = np.random.default_rng(7)
N = 40
X = rng.normal(size=(N, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + rng.normal(size=N)
TARGETS = {
    "squared": (Squared(), NUMBERS),
    "huber": (Huber(), NUMBERS),
    "logistic": (Logistic(), (NUMBERS > 0).astype(float)),
    "poisson": (Poisson(), rng.poisson(np.exp(X @ [0.5, -0.5, 0.2])).astype(float)),
}
del rng  # tests draw from generators of their own


def cost(loss, y, penalty=None):
    """Mean loss of a linear score, plus the penalty of its weights; value and gradient."""

    def value(w):
        return float(np.mean(loss.value(y, X @ w))) + (penalty.value(w) if penalty else 0.0)

    def gradient(w, rows=slice(None)):
        slope = X[rows].T @ loss.gradient(y[rows], X[rows] @ w) / len(X[rows])
        return slope + (penalty.gradient(w) if penalty else 0.0)

    return value, gradient


@pytest.mark.covers("R-01", "R-08")
def test_closed_form_descent_and_single_rows_agree():
    loss, y = TARGETS["squared"]
    closed = quadratic_program(X.T @ X / N, -X.T @ y / N)
    value, gradient = cost(loss, y)
    whole = gradient_descent(gradient, np.zeros(3), value=value, tol=1e-9)
    rows = gradient_descent(gradient, np.zeros(3), batch=1, n_rows=N, tol=1e-9)
    np.testing.assert_allclose(whole.x, closed.x, atol=1e-6)
    np.testing.assert_allclose(rows.x, closed.x, atol=1e-6)
    # How the answer was found is on record.
    assert closed.outcome.closed_form
    assert not whole.outcome.closed_form
    assert [r.outcome.solver.split(" (")[0] for r in (closed, whole, rows)] == [
        "equations of the optimum", "gradient descent", "stochastic gradient descent",
    ]  # fmt: skip


@pytest.mark.covers("R-01", "R-03")
@pytest.mark.parametrize("name", TARGETS)
def test_any_loss_goes_into_the_same_optimiser_and_the_risk_is_its_mean(name):
    loss, y = TARGETS[name]
    loss = loss.adapted(y)
    value, gradient = cost(loss, y)
    found = gradient_descent(gradient, np.zeros(3), value=value, tol=1e-8)
    by_hand = sum(float(loss.value(y[i : i + 1], X[i : i + 1] @ found.x)[0]) for i in range(N)) / N
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    assert found.outcome.objective == found.value
    np.testing.assert_allclose(gradient(found.x), 0, atol=1e-8)


@pytest.mark.covers("R-02")
def test_gaussian_likelihood_plus_l2_is_ridge():
    # -log N(y; Xw, s^2) summed, plus |w|^2 / (2 t^2): the ridge solution for lambda = s^2 / t^2.
    s, t = 1.3, 0.6

    def value(w):
        return float(
            ((NUMBERS - X @ w) ** 2).sum() / (2 * s**2) + N * np.log(s * np.sqrt(2 * np.pi)) + w @ w / (2 * t**2)
        )

    def gradient(w):
        return -X.T @ (NUMBERS - X @ w) / s**2 + w / t**2

    found = gradient_descent(gradient, np.zeros(3), value=value, tol=1e-8, convex=True)
    ridge = np.linalg.solve(X.T @ X + s**2 / t**2 * np.eye(3), X.T @ NUMBERS)
    np.testing.assert_allclose(found.x, ridge, atol=1e-8)


@pytest.mark.covers("R-04")
def test_a_stronger_penalty_never_gives_larger_weights():
    loss, y = TARGETS["logistic"]
    sizes, risks = [], []
    for alpha in (0.0001, 0.01, 0.1, 1.0, 10.0):
        value, gradient = cost(loss, y, L2(alpha))
        found = gradient_descent(gradient, np.zeros(3), value=value, tol=1e-8, max_iter=5000)
        sizes.append(float(found.x @ found.x))
        risks.append(float(np.mean(loss.value(y, X @ found.x))))
    assert (np.diff(sizes) < 0).all()
    assert (np.diff(risks) > 0).all()


@pytest.mark.covers("R-08")
def test_logarithm_first_then_the_derivative_is_zero_at_the_frequency():
    # The likelihood of 2000 throws underflows; its logarithm has the closed form k / n and a gradient to follow.
    throws = (np.random.default_rng(0).random(2000) < 0.3).astype(float)
    k, n = throws.sum(), throws.size
    closed = k / n
    assert np.prod(np.where(throws == 1, closed, 1 - closed)) == 0.0
    found = gradient_descent(
        lambda eta: expit(eta) - closed, [0.0], value=lambda eta: np.logaddexp(0, eta[0]) - closed * eta[0], tol=1e-10
    )
    assert expit(found.x[0]) == pytest.approx(closed, abs=1e-9)
