"""The recipe view: data + model + cost + optimiser, each replaced by one argument, each visible afterwards."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import tilth
from tilth import (
    L1,
    L2,
    Absolute,
    CARTRegressor,
    DecisionTreeClassifier,
    Descent,
    Huber,
    Linear,
    LinearClassifier,
    LinearRegression,
    LinearRegressor,
    LogisticRegression,
    Poisson,
    Quantile,
    Ridge,
    Squared,
)
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.solver import choose
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.params import declared, param
from tilth.parts.losses import Loss

rng = np.random.default_rng(21)
N = 100
X = rng.normal(size=(N, 3)) * [1.0, 4.0, 0.5] + [0.0, 10.0, -2.0]
Y = X @ [1.0, -0.5, 2.0] + 3.0 + rng.normal(0, 0.8, N)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


@declared
class GaussianNLL(Loss):
    """-log N(y; eta, variance)."""

    variance: float = param(1.0, low=0, low_open=True, doc="Of the noise.")

    def value(self, y, eta):
        return 0.5 * np.log(2 * np.pi * self.variance) + (y - eta) ** 2 / (2 * self.variance)

    def gradient(self, y, eta):
        return (eta - y) / self.variance

    def hessian(self, y, eta):
        return np.full_like(eta, 1 / self.variance)


@pytest.mark.covers("R-01", "L-04", "SP-01")
def test_swapping_the_optimiser_is_one_argument_and_changes_nothing():
    closed = LinearRegression().fit(X, Y)
    for solver in ("lbfgs", Descent(tol=1e-9), Descent(batch=10, tol=1e-9), Descent(batch=1, tol=1e-9)):
        other = LinearRegression(solver=solver, **({"tol": 1e-10} if solver == "lbfgs" else {})).fit(X, Y)
        np.testing.assert_allclose(other.coef_, closed.coef_, atol=1e-6)
        assert other.intercept_ == pytest.approx(closed.intercept_, abs=1e-5)
        assert not other.outcome_.closed_form


@pytest.mark.covers("R-01", "SP-01")
def test_swapping_the_cost_is_one_argument():
    lines = {}
    wild = Y.copy()
    wild[:3] = 1e4
    for loss in ("squared_error", "absolute_error", "huber"):
        lines[loss] = Linear(loss=loss).fit(X, wild).predict(X)
    assert np.abs(lines["squared_error"] - Y)[3:].mean() > 50
    assert np.abs(lines["absolute_error"] - Y)[3:].mean() < 1
    assert np.abs(lines["huber"] - Y)[3:].mean() < 1
    classes = Linear(loss="log_loss").fit(X, np.median(Y) < Y)
    assert classes.score(X, np.median(Y) < Y) > 0.85


@pytest.mark.covers("R-02", "P-05")
def test_a_cost_is_a_likelihood_plus_a_penalty():
    """NLL(Gaussian) + L2 is ridge regression: the variance of the noise scales the penalty."""
    variance, alpha = 0.64, 5.0
    model = LinearRegressor(loss=GaussianNLL(variance=variance), penalty=L2(alpha / N), tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.coef_, Ridge(alpha=alpha * variance).fit(X, Y).coef_, atol=1e-8)
    plain = LinearRegressor(loss=GaussianNLL(variance=variance), tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(plain.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-8)


@pytest.mark.covers("R-03")
@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Huber(delta=0.5), Quantile(q=0.2), GaussianNLL(variance=2.0)], ids=repr
)
def test_the_reported_risk_is_the_mean_loss(loss):
    model = Linear(loss=loss).fit(X, Y, sample_weight=WEIGHT)
    by_hand = np.average(loss.value(Y, model.predict(X)), weights=WEIGHT)
    assert model.outcome_.objective == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.covers("R-03", "R-04")
@pytest.mark.parametrize("kind", [L2, L1])
def test_raising_lambda_shrinks_the_complexity_and_raises_the_risk(kind):
    sizes, risks = [], []
    for alpha in (0.0, 0.01, 0.1, 1.0, 10.0):
        model = Linear(penalty=kind(alpha), tol=1e-9).fit(X, Y)
        sizes.append(kind(1.0).value(model.coef_))
        risks.append(np.mean((Y - model.predict(X)) ** 2) / 2)
        assert model.outcome_.objective == pytest.approx(risks[-1] + alpha * sizes[-1], rel=1e-6)
    assert (np.diff(sizes) < 0).all()
    assert (np.diff(risks) > 0).all()


@pytest.mark.covers("R-07")
def test_the_outcome_tells_how_far_to_trust_the_answer():
    good = LogisticRegression().fit(X, np.median(Y) < Y)
    assert good.outcome_.converged
    assert good.outcome_.convex
    assert good.outcome_.n_iter >= 1
    assert good.outcome_.violation <= 1e-6
    assert good.outcome_.guarantee == "the global optimum: the cost is convex"
    with pytest.warns(tilth.errors.ModelWarning, match="W207"):
        bad = LinearRegressor(loss="huber", solver=Descent(max_iter=1)).fit(X, Y)
    assert not bad.outcome_.converged
    assert bad.outcome_.violation > 1e-3
    from tilth.parts.penalties import MCP

    assert not Linear(penalty=MCP(0.05)).fit(X, Y).outcome_.convex


@pytest.mark.covers("R-08", "L-05")
def test_the_choice_of_the_solver_is_recorded():
    closed = LinearRegression().fit(X, Y)
    assert closed.outcome_.closed_form
    assert "solved for" in closed.outcome_.reason
    assert "closed form" in closed.recipe().optimiser
    steps = LogisticRegression().fit(X, np.median(Y) < Y)
    assert not steps.outcome_.closed_form
    assert steps.outcome_.reason


@pytest.mark.covers("L-05", "WN-77", "FX-09", "R-29")
def test_a_million_rows_of_a_thousand_columns_are_iterated():
    """n p^2 = 10^12 multiplications, not 10^4."""
    huge = Problem(DenseDesign(np.broadcast_to(0.0, (10**6, 10**3))), np.broadcast_to(0.0, 10**6), Squared())
    solver, _ = choose(huge)
    assert solver.name != "closed form"
    assert "1e+12" in tilth.engines.linear.closed.ClosedForm().leaves(huge)
    small = Problem(DenseDesign(np.broadcast_to(0.0, (10**5, 10**2))), np.broadcast_to(0.0, 10**5), Squared())
    assert choose(small)[0].name == "closed form"


@pytest.mark.covers("R-16", "L-02")
def test_an_answer_is_a_plain_number_or_a_plain_vector():
    model = LinearRegression().fit(X, Y)
    answer = model.predict(X[:1])
    assert answer.shape == (1,)
    assert answer.dtype == np.float64
    both = LinearRegression().fit(X, np.column_stack([Y, Y**2]))
    assert both.predict(X[:5]).shape == (5, 2)
    for j, y in enumerate((Y, Y**2)):
        alone = LinearRegression().fit(X, y)
        np.testing.assert_allclose(both.coef_[j], alone.coef_, atol=1e-9)
        np.testing.assert_allclose(both.predict(X)[:, j], alone.predict(X), atol=1e-9)


@pytest.mark.covers("R-24")
def test_lines_cannot_learn_an_exclusive_or():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    x, y = np.repeat(corners, 5, axis=0), np.repeat([0, 1, 1, 0], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilth.errors.TilthWarning)
        for line in (
            LogisticRegression(),
            LinearClassifier(loss="probit", penalty="l2", alpha=0.01),
            tilth.LogLinear(),
        ):
            assert line.fit(x, y).score(x, y) <= 0.75
    assert DecisionTreeClassifier().fit(x, y).score(x, y) == 1.0
    product = tilth.BasisRegression(basis=["x0 * x1", "x0", "x1"]).fit(x, y)
    assert ((product.predict(x) > 0.5) == y).all(), "a product of columns makes it linear"


def test_effective_parameters():
    p = X.shape[1]
    assert LinearRegression().fit(X, Y).n_effective_params_ == pytest.approx(p + 1)
    assert LinearRegression(fit_intercept=False).fit(X, Y).n_effective_params_ == pytest.approx(p)
    centred = X - X.mean(axis=0)
    for alpha in (0.1, 10.0, 1000.0):
        hat = centred @ np.linalg.solve(centred.T @ centred + alpha * np.eye(p), centred.T)
        assert Ridge(alpha=alpha).fit(X, Y).n_effective_params_ == pytest.approx(np.trace(hat) + 1)
    tree = CARTRegressor().fit(X, Y)
    assert tree.n_effective_params_ == tree.get_n_leaves()


# ------------------------------------------------------------------------------------------------------ least squares


@pytest.mark.covers("L-01")
def test_simple_and_multiple_regression_by_hand():
    """x = 1..5, y = 2, 4, 5, 4, 5: slope Sxy / Sxx = 6 / 10, intercept 4 - 0.6 x 3."""
    simple = LinearRegression().fit([[1.0], [2.0], [3.0], [4.0], [5.0]], [2.0, 4.0, 5.0, 4.0, 5.0])
    assert simple.coef_[0] == pytest.approx(0.6)
    assert simple.intercept_ == pytest.approx(2.2)
    several = LinearRegression().fit(X, Y)
    by_hand = np.linalg.solve(*(np.column_stack([np.ones(N), X]).T @ v for v in (np.column_stack([np.ones(N), X]), Y)))
    np.testing.assert_allclose(np.append(several.intercept_, several.coef_), by_hand, atol=1e-9)


@pytest.mark.covers("L-07")
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_ridge_is_its_formula(alpha):
    model = Ridge(alpha=alpha, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(X.T @ X + alpha * np.eye(3), X.T @ Y), atol=1e-10)


@pytest.mark.covers("L-12")
def test_losses_have_the_values_of_their_formulas_and_each_can_be_minimised():
    model = LinearRegression().fit(X, Y)
    r = Y - model.predict(X)
    half_mse = model.outcome_.objective
    assert 2 * half_mse == pytest.approx(np.mean(r**2))
    assert model.residuals(X, Y).frame()["residual"].pow(2).sum() == pytest.approx(2 * N * half_mse)  # RSS = SSE = SSR
    answers = Answers(Y, model.predict(X))
    assert metric("MSE").score(answers) == pytest.approx(np.mean(r**2))
    assert metric("RMSE").score(answers) == pytest.approx(np.sqrt(np.mean(r**2)))
    assert metric("MAE").score(answers) == pytest.approx(np.mean(np.abs(r)))
    least = Linear(loss="absolute_error").fit(X, Y)
    assert least.outcome_.objective == pytest.approx(np.mean(np.abs(Y - least.predict(X))))  # MAE
    assert np.mean(np.abs(r)) >= least.outcome_.objective
    assert half_mse <= np.mean((Y - least.predict(X)) ** 2) / 2


@pytest.mark.covers("L-24")
def test_weights_of_a_line_are_a_start_for_logistic_regression():
    from tilth.engines.linear.problem import Weights
    from tilth.parts.class_losses import Logistic

    y = (np.median(Y) < Y).astype(float)
    problem = Problem(DenseDesign(X), y, Logistic(), L2(0.01))
    line = LinearRegression().fit(X, 4 * (2 * y - 1))
    seeded = Descent(tol=1e-7).solve(problem, Weights(line.coef_, np.asarray(line.intercept_)))
    away = Descent(tol=1e-7).solve(problem, Weights(-10 * line.coef_, np.asarray(0.0)))
    np.testing.assert_allclose(seeded.weights.coef, away.weights.coef, atol=1e-4)
    trace = seeded.outcome.frame()["value"]
    assert trace.iloc[0] < problem.objective(problem.start()), "the start is better than no weights at all"


# -------------------------------------------------------------------------------------- a loss of one's own, everywhere


@declared
class LogCosh(Loss):
    """L = log cosh(y - eta): squares near zero, lines far out, smooth everywhere."""

    def value(self, y, eta):
        r = np.abs(y - eta)
        return r + np.log1p(np.exp(-2 * r)) - np.log(2)

    def gradient(self, y, eta):
        return np.tanh(eta - y)

    def hessian(self, y, eta):
        return 1 - np.tanh(eta - y) ** 2

    def start(self, y, weight=None):
        return self.shift(y, np.zeros(len(y)), weight, np.zeros(len(y), dtype=np.int32), 1)


@pytest.mark.covers("R-01")
def test_a_loss_of_twenty_lines_serves_regression_boosting_and_scoring():
    """The class of CONTRIBUTING.md."""
    loss = LogCosh()
    line = Linear(loss=loss, tol=1e-9).fit(X, Y)

    def cost(theta):
        return np.mean(loss.value(Y, X @ theta[1:] + theta[0]))

    best = minimize(cost, np.append(line.intercept_, line.coef_), method="BFGS")
    assert line.outcome_.objective <= best.fun + 1e-9
    sparse = Linear(loss=loss, penalty=L1(0.3)).fit(X, Y)
    assert (sparse.coef_ == 0).any()
    assert sparse.outcome_.converged
    boosted = tilth.GradientBoostingRegressor(loss=loss, n_estimators=30).fit(X, Y)
    constant = np.full(N, loss.start(Y)[0])
    assert loss.mean(Y, boosted.predict(X)) < 0.5 * loss.mean(Y, constant)
    assert loss.mean(Y, line.predict(X)) == pytest.approx(line.outcome_.objective)
    text = (__import__("pathlib").Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
    assert "class LogCosh(Loss)" in text
    assert "np.tanh(eta - y)" in text


def test_counts_have_their_own_cost():
    rng = np.random.default_rng(101)
    counts = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    model = Linear(loss=Poisson()).fit(X, counts)
    assert (model.predict(X) > 0).all()
