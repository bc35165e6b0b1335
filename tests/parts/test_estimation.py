"""Maximum likelihood and posterior of any density: closed forms, least squares, ridge and logistic models come out."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import log_expit, xlog1py, xlogy
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression, Ridge

from tilth.errors import ModelWarning
from tilth.parts.climb import numeric_gradient, numeric_hessian
from tilth.parts.distributions import GammaDistribution, LaplaceDistribution, NormalDistribution, StudentTDistribution
from tilth.parts.distributions_discrete import BernoulliDistribution, PoissonDistribution
from tilth.parts.distributions_vector import MultivariateNormalDistribution
from tilth.parts.estimation import Estimate, absolute_subdifferential, maximum_likelihood, maximum_posterior
from tilth.parts.losses import Absolute

POSITIVE = (0, None)


def normal(x, p):
    return NormalDistribution(p[0], p[1]).logpdf(x)


def bernoulli(x, p):
    return xlogy(x, p[0]) + xlog1py(1 - x, -p[0])


def noisy_line(data, p):
    X, y = data
    return NormalDistribution(X @ p[:-1], p[-1]).logpdf(y)


def logistic(data, w):
    X, y = data
    eta = X @ w
    return y * log_expit(eta) + (1 - y) * log_expit(-eta)


def regression_rows(n=80, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1)) * np.geomspace(0.1, 10, p - 1)])
    return X, X @ rng.normal(size=p) + rng.normal(scale=0.7, size=n)


def class_rows(n=150, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.3]))).astype(float)


# -------------------------------------------------------------------------------------------------------- closed forms


@pytest.mark.covers("P-04")
@pytest.mark.parametrize("start", [[0.0, 1.0], [50.0, 0.1], [3.0, 200.0]])
def test_the_normal_distribution_from_anywhere(start):
    x = NormalDistribution(3.0, 2.0).sample(60, random_state=0)
    found = maximum_likelihood(normal, x, start, [(None, None), POSITIVE])
    closed = NormalDistribution().fit(x)
    np.testing.assert_allclose(found.parameters, [closed.location, closed.scale], rtol=1e-9)
    assert found.converged
    assert found.log_likelihood == pytest.approx(closed.log_likelihood(x), rel=1e-12)
    # The information of a normal sample is known: n / s^2 and 2 n / s^2.
    np.testing.assert_allclose(found.standard_errors, closed.scale / np.sqrt([60, 120]), rtol=1e-7)
    assert found.covariance[0, 1] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.covers("P-04")
@pytest.mark.parametrize(
    ("family", "truth", "bounds"),
    [
        (BernoulliDistribution, (0.3,), [(0, 1)]),
        (PoissonDistribution, (2.5,), [POSITIVE]),
        (GammaDistribution, (2.0, 3.0), [POSITIVE, POSITIVE]),
        (StudentTDistribution, (4.0, 1.0, 2.0), [POSITIVE, (None, None), POSITIVE]),
    ],
    ids=["bernoulli", "poisson", "gamma", "t"],
)
def test_the_search_agrees_with_the_fit_of_the_family(family, truth, bounds):
    x = family(*truth).sample(150, random_state=1)
    found = maximum_likelihood(lambda x, p: family(*map(float, p)).logpdf(x), x, truth, bounds)
    closed = family(*truth).fit(x)
    learned = [v for name, v in closed.get_params().items() if name != "fixed_df"]
    np.testing.assert_allclose(found.parameters, learned, rtol=1e-5)
    assert found.converged
    assert found.log_likelihood >= closed.log_likelihood(x) - 1e-9


@pytest.mark.covers("P-04")
def test_units_do_not_matter():
    x = NormalDistribution(0.0, 1.0).sample(50, random_state=2)
    plain = maximum_likelihood(normal, x, [0.5, 2.0], [(None, None), POSITIVE])
    for unit, shift in ((1e-6, 0.0), (1e6, 0.0), (1e-3, 1000.0)):
        scaled = maximum_likelihood(normal, x * unit + shift, [0.5 * unit + shift, 2 * unit], [(None, None), POSITIVE])
        np.testing.assert_allclose(scaled.parameters, plain.parameters * unit + [shift, 0], rtol=1e-8)
        np.testing.assert_allclose(scaled.standard_errors, plain.standard_errors * unit, rtol=1e-5)


def test_weights_are_repetitions():
    x = NormalDistribution(3.0, 2.0).sample(20, random_state=3)
    weight = np.random.default_rng(0).integers(0, 4, 20)
    x[weight == 0] = np.nan  # a row of no weight is no row
    by_weight = maximum_likelihood(normal, x, [0.0, 1.0], [(None, None), POSITIVE], weight=weight)
    by_rows = maximum_likelihood(normal, np.repeat(x, weight), [0.0, 1.0], [(None, None), POSITIVE])
    np.testing.assert_allclose(by_weight.parameters, by_rows.parameters, rtol=1e-9)
    np.testing.assert_allclose(by_weight.covariance, by_rows.covariance, rtol=1e-6, atol=1e-9)
    assert by_weight.n == by_rows.n == weight.sum()
    assert by_weight.bic == pytest.approx(by_rows.bic)


# --------------------------------------------------------------------------------------------------------- regression


@pytest.mark.covers("P-05", "P-06", "WN-53", "FX-02")
def test_normal_noise_is_least_squares_and_its_variance_the_mean_squared_residual():
    X, y = regression_rows()
    found = maximum_likelihood(noisy_line, (X, y), np.r_[np.zeros(4), 1.0], [(None, None)] * 4 + [POSITIVE])
    w, *_ = np.linalg.lstsq(X, y, rcond=None)
    np.testing.assert_allclose(found.parameters[:4], w, rtol=0, atol=1e-8)
    mean_square = np.mean((y - X @ w) ** 2)
    assert found.parameters[4] ** 2 == pytest.approx(mean_square, rel=1e-9)
    assert found.parameters[4] ** 2 != pytest.approx(mean_square / 2, rel=0.1)
    # Covariance of the weights: s^2 (X'X)^-1.
    np.testing.assert_allclose(found.covariance[:4, :4], mean_square * np.linalg.inv(X.T @ X), rtol=1e-6, atol=1e-10)


def test_criteria_and_errors_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    X, y = regression_rows()
    peer = sm.OLS(y, X).fit()
    found = maximum_likelihood(noisy_line, (X, y), np.r_[np.zeros(4), 1.0], [(None, None)] * 4 + [POSITIVE])
    assert found.log_likelihood == pytest.approx(peer.llf, rel=1e-10)
    assert found.aic == pytest.approx(peer.aic + 2)  # the noise is a parameter too, which statsmodels does not count
    assert found.bic == pytest.approx(peer.bic + math.log(80))
    # Its errors use the divisor n - p.
    np.testing.assert_allclose(found.standard_errors[:4], peer.bse * math.sqrt(76 / 80), rtol=1e-6)
    X, y = class_rows()
    logit = sm.Logit(y, X).fit(disp=False, method="newton", tol=1e-12)
    ours = maximum_likelihood(logistic, (X, y), np.zeros(3))
    np.testing.assert_allclose(ours.parameters, logit.params, rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors, logit.bse, rtol=1e-6)
    table = ours.summary()
    np.testing.assert_allclose(table["p_value"], logit.pvalues, rtol=1e-4)
    np.testing.assert_allclose(table[["low", "high"]], logit.conf_int(), rtol=1e-5)


@pytest.mark.covers("P-15", "WN-54", "FX-03")
def test_a_normal_prior_of_weights_is_ridge_with_alpha_times_variance():
    X, y = regression_rows(seed=3)
    alpha, variance = 2.5, 0.49
    prior = NormalDistribution(0.0, alpha**-0.5)

    def known_noise(data, w):
        return NormalDistribution(data[0] @ w, variance**0.5).logpdf(data[1])

    found = maximum_posterior(known_noise, prior, (X, y), np.zeros(4))
    ridge = Ridge(alpha=alpha * variance, fit_intercept=False, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(found.parameters, ridge.coef_, rtol=0, atol=1e-8)
    other = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(X, y)
    assert np.abs(found.parameters - other.coef_).max() > 1e-3
    # The same prior as one density of the whole vector.
    vector = MultivariateNormalDistribution(np.zeros(4), np.eye(4) / alpha)
    again = maximum_posterior(known_noise, vector, (X, y), np.zeros(4))
    np.testing.assert_allclose(again.parameters, ridge.coef_, rtol=0, atol=1e-8)


@pytest.mark.covers("P-16")
def test_a_normal_prior_of_log_odds_is_logistic_regression_with_c_one_over_alpha():
    X, y = class_rows()
    alpha = 4.0
    found = maximum_posterior(logistic, NormalDistribution(0.0, alpha**-0.5), (X, y), np.zeros(3))
    peer = LogisticRegression(C=1 / alpha, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(found.parameters, peer.coef_[0], rtol=0, atol=1e-6)

    # Binary cross-entropy + alpha / 2 |w|^2 has its minimum there: both brackets of -[y log f + (1 - y) log(1 - f)].
    def cost(w):
        f = 1 / (1 + np.exp(-X @ w))
        return -np.sum(y * np.log(f) + (1 - y) * np.log(1 - f)) + alpha / 2 * w @ w

    assert np.abs(numeric_gradient(cost, found.parameters)).max() < 1e-6
    for step in 1e-3 * np.eye(3):
        assert cost(found.parameters) < min(cost(found.parameters + step), cost(found.parameters - step))


@pytest.mark.covers("P-14")
def test_a_flat_prior_is_maximum_likelihood_and_a_strong_prior_its_own_mode():
    X, y = class_rows()
    likely = maximum_likelihood(logistic, (X, y), np.zeros(3))
    flat = maximum_posterior(logistic, lambda w: 0.0, (X, y), np.zeros(3))
    np.testing.assert_allclose(flat.parameters, likely.parameters, rtol=1e-9)
    np.testing.assert_allclose(flat.covariance, likely.covariance, rtol=1e-6)
    strong = maximum_posterior(logistic, NormalDistribution(0.7, 1e-4), (X, y), np.zeros(3))
    np.testing.assert_allclose(strong.parameters, 0.7, atol=1e-5)
    assert strong.kind == "posterior"
    assert strong.log_likelihood == pytest.approx(logistic((X, y), strong.parameters).sum())
    with pytest.raises(ValueError, match="maximises a posterior"):
        _ = strong.aic


# ----------------------------------------------------------------------------------------------- intervals and tests


@pytest.mark.covers("P-12")
def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(4)
    rate, n, rounds, held = 2.0, 60, 200, {"wald": 0, "profile": 0}
    for i in range(rounds):
        x = rng.exponential(1 / rate, n)
        found = maximum_likelihood(lambda x, p: np.log(p[0]) - p[0] * x, x, {"rate": 1.0}, {"rate": POSITIVE})
        for method in held if i < 60 else ["wald"]:
            low, high = found.interval(0.95, method).loc["rate"]
            held[method] += low <= rate <= high
    # Four standard errors of a share of 0.95 around it.
    assert abs(held["wald"] / rounds - 0.95) < 4 * math.sqrt(0.95 * 0.05 / rounds)
    assert abs(held["profile"] / 60 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 60)


@pytest.mark.covers("P-12")
def test_the_ends_of_a_profile_interval_lose_what_a_ratio_test_allows():
    x = GammaDistribution(2.0, 3.0).sample(40, random_state=5)

    def density(x, p):
        return GammaDistribution(float(p[0]), float(p[1])).logpdf(x)

    found = maximum_likelihood(density, x, {"shape": 1.0, "rate": 1.0}, {"shape": POSITIVE, "rate": POSITIVE})
    table = found.interval(0.9, "profile")
    assert list(table.index) == ["shape", "rate"]
    for name in found.names:
        for end in table.loc[name]:
            test = found.test(name, end, "profile")
            assert test.statistic == pytest.approx(chi2.ppf(0.9, 1), rel=1e-4)
            assert test.p_value == pytest.approx(0.1, rel=1e-3)
        low, high = table.loc[name]
        assert low < found[name] < high
        assert high - found[name] > found[name] - low, "skewed to the right, as the likelihood is"
        wald = found.test(name, found[name] - 2 * found.standard_errors[found.names.index(name)])
        assert wald.statistic == pytest.approx(2.0)
        assert wald.p_value == pytest.approx(0.0455, abs=1e-4)
    only = found.interval(0.9, "profile", "rate")
    np.testing.assert_allclose(only, table.loc[["rate"]])


def test_a_profile_keeps_to_the_bounds():
    x = np.r_[np.zeros(20), 1.0]
    found = maximum_likelihood(bernoulli, x, {"p": 0.3}, {"p": (0, 1)})
    assert found.interval().loc["p", "low"] < 0, "a Wald interval does not know them"
    low, high = found.interval(method="profile").loc["p"]
    assert 0 < low < 1 / 21 < high < 0.25


def test_a_parameter_at_its_bound_is_said_to_be_there():
    found = maximum_likelihood(bernoulli, np.zeros(12), {"p": 0.3}, {"p": (0, 1)})
    assert found["p"] == 0
    assert found.at_bound == ("p",)
    assert np.isnan(found.standard_errors).all()
    with pytest.raises(ValueError, match="'p' has no standard error"):
        found.test("p", 0.1)
    assert found.test("p", 0.1, "profile").statistic == pytest.approx(-24 * math.log(0.9))
    assert found.converged
    assert "bound" in found.message
    assert found.aic == 0

    def variances(x, p):
        return NormalDistribution(p[0], math.sqrt(1.0 + p[1])).logpdf(x)

    x = np.random.default_rng(0).normal(scale=0.5, size=30)
    both = maximum_likelihood(variances, x, {"mean": 1.0, "extra": 1.0}, {"extra": POSITIVE})
    assert both.at_bound == ("extra",)
    assert both["mean"] == pytest.approx(x.mean(), abs=1e-8)
    assert both.standard_errors[0] == pytest.approx(1 / math.sqrt(30), rel=1e-6)
    assert both.interval(method="profile", name="mean").notna().all(axis=None)


# -------------------------------------------------------------------------------------------------- never in silence


def _separated(p):
    x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    return logistic((np.column_stack([np.ones(4), x]), y), p)


@pytest.mark.parametrize(
    ("density", "data", "start", "bounds"),
    [
        (lambda _, p: _separated(p), None, [0.0, 0.0], None),
        (normal, np.ones(5), [0.0, 1.0], [(None, None), POSITIVE]),
        (lambda x, p: normal(x, [p[0] + p[1], p[2]]), np.arange(9.0), [0.0, 0.0, 1.0], [(None, None)] * 2 + [POSITIVE]),
        (lambda x, p: 0.0 * x, np.arange(3.0), [1.0], None),
        (lambda x, p: p[0] + 0.0 * x, np.arange(3.0), [1.0], None),
        (lambda x, p: np.exp(-p[0]) * x, -np.arange(1, 4.0), [1.0], None),
    ],
    ids=["separated classes", "no spread", "only the sum matters", "flat", "a line", "falling for ever"],
)
def test_a_likelihood_without_a_maximum_is_never_silent(density, data, start, bounds):
    with pytest.warns(ModelWarning, match="W207"):
        found = maximum_likelihood(density, data, start, bounds)
    assert not found.converged
    assert "NOT CONVERGED" in str(found)


def test_a_search_cut_short_says_so():
    x = NormalDistribution(300.0, 2.0).sample(30, random_state=0)
    with pytest.warns(ModelWarning, match="all 1 steps were used"):
        found = maximum_likelihood(normal, x, [0.0, 1.0], [(None, None), POSITIVE], max_iter=1)
    assert not found.converged


def test_parameters_that_the_density_refuses_are_avoided():
    x = NormalDistribution(3.0, 2.0).sample(60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = maximum_likelihood(normal, x, [0.0, 1.0])  # no bound, though a scale below 0 is an error
    np.testing.assert_allclose(found.parameters, [x.mean(), x.std()], rtol=1e-8)


# ---------------------------------------------------------------------------------------------------------- derivatives


def test_differences_are_derivatives():
    def function(x):
        return float(np.exp(x[0]) * np.sin(x[1]) + x[0] ** 3 * x[2])

    x = np.array([0.3, 0.7, -1.2])
    e, s, c = math.exp(0.3), math.sin(0.7), math.cos(0.7)
    np.testing.assert_allclose(numeric_gradient(function, x), [e * s + 3 * 0.09 * -1.2, e * c, 0.027], rtol=1e-11)
    expected = [[e * s + 6 * 0.3 * -1.2, e * c, 0.27], [e * c, -e * s, 0.0], [0.27, 0.0, 0.0]]
    np.testing.assert_allclose(numeric_hessian(function, x), expected, atol=1e-8)


@pytest.mark.covers("P-19", "FX-33")
def test_the_subgradient_of_the_absolute_value_is_defined_at_zero():
    low, high = absolute_subdifferential([-2.0, 0.0, 0.5])
    assert low.tolist() == [-1.0, -1.0, 1.0]
    assert high.tolist() == [-1.0, 1.0, 1.0]
    x = np.linspace(-1, 1, 9)
    for place in x:
        for slope in np.linspace(*absolute_subdifferential(place), 5):
            assert (np.abs(x) >= np.abs(place) + slope * (x - place) - 1e-15).all(), "a line below, touching there"
    loss = Absolute()
    taken = -loss.gradient(np.array([0.0, 1.0, -1.0]), np.zeros(3))
    assert taken.tolist() == [0.0, 1.0, -1.0], "the loss takes sign(x), 0 at 0"


@pytest.mark.covers("P-19")
def test_least_absolute_errors_run_through_exact_zeros():
    rng = np.random.default_rng(6)
    X = np.column_stack([np.ones(41), rng.integers(-3, 4, 41)]).astype(float)
    y = X @ [2.0, -1.0] + np.where(rng.random(41) < 0.3, rng.normal(scale=9, size=41), 0.0)
    loss, w = Absolute(), np.array([2.0, -1.0])  # the start fits most rows exactly: their residuals are zeros
    assert np.count_nonzero(y == X @ w) > 20
    best, least = w, np.abs(y - X @ w).sum()
    for t in range(1, 400):
        slope = X.T @ loss.gradient(y, X @ w)
        assert np.isfinite(slope).all()
        w = w - 0.01 / t * slope
        if np.abs(y - X @ w).sum() < least:
            best, least = w, np.abs(y - X @ w).sum()
    # Optimal: 0 lies in the sum of the subdifferentials, for each weight.
    low, high = absolute_subdifferential(y - X @ best)
    for column in X.T:
        ends = np.sort([-column * low, -column * high], axis=0).sum(axis=1)
        assert ends[0] <= 0 <= ends[1]
    # And it is maximum likelihood under Laplace noise.
    here = LaplaceDistribution(X @ best, 1.0).logpdf(y).sum()
    for step in rng.normal(scale=1e-3, size=(50, 2)):
        assert LaplaceDistribution(X @ (best + step), 1.0).logpdf(y).sum() <= here


# --------------------------------------------------------------------------------------------------------- overfitting


def orthogonal_polynomials(x, degree, recurrence=None):
    """Polynomials orthogonal on the points themselves, by the Arnoldi process; their recurrence, for other points."""
    basis, steps = np.ones((len(x), degree + 1)), np.zeros((degree + 1, degree)) if recurrence is None else recurrence
    for k in range(degree):
        column = x * basis[:, k]
        if recurrence is None:
            for _ in range(2):  # twice: the first pass leaves rounding behind
                share = basis[:, : k + 1].T @ column / len(x)
                column = column - basis[:, : k + 1] @ share
                steps[: k + 1, k] += share
            steps[k + 1, k] = np.linalg.norm(column) / math.sqrt(len(x))
        else:
            column = column - basis[:, : k + 1] @ steps[: k + 1, k]
        basis[:, k + 1] = column / steps[k + 1, k]
    return basis, steps


@pytest.mark.covers("P-13")
def test_a_polynomial_of_degree_99_through_100_points_is_most_likely_and_useless():
    rng = np.random.default_rng(7)

    def rows(n):
        x = rng.uniform(-1, 1, n)
        return x, np.sin(3 * x) + rng.normal(scale=0.1, size=n)

    (x, y), (new_x, new_y) = rows(100), rows(1000)
    assert np.linalg.cond(np.vander(np.linspace(-1, 1, 100))) > 1e19, "powers of x cannot be told apart"
    errors = {}
    for degree in (5, 99):
        basis, steps = orthogonal_polynomials(x, degree)
        assert np.linalg.cond(basis) < 1 + 1e-10
        weights, *_ = np.linalg.lstsq(basis, y, rcond=None)
        other, _ = orthogonal_polynomials(new_x, degree, steps)
        errors[degree] = [np.sqrt(np.mean((b @ weights - t) ** 2)) for b, t in ((basis, y), (other, new_y))]
    assert errors[5][0] == pytest.approx(0.1, rel=0.3)
    assert errors[5][1] == pytest.approx(0.1, rel=0.3)
    assert errors[99][0] < 1e-13
    assert errors[99][1] > 1e6
    # The noise that maximum likelihood believes in has all but gone, and with it every doubt.
    assert NormalDistribution(0.0, errors[99][0]).logpdf(0.0) > 28


# -------------------------------------------------------------------------------------------------------------- values


def test_an_estimate_can_be_read():
    x = NormalDistribution(3.0, 2.0).sample(60, random_state=0)
    found = maximum_likelihood(normal, x, {"mean": 0.0, "sd": 1.0}, {"sd": POSITIVE})
    assert isinstance(found, Estimate)
    assert found["mean"] == found.parameters[0]
    assert str(found).startswith("maximum likelihood of 60 rows, log-likelihood -")
    assert list(found.summary().columns) == ["estimate", "std_error", "z", "p_value", "low", "high"]
    assert found.n_evaluations > found.n_iter > 0
    with pytest.raises(ValueError, match="read-only"):
        found.parameters[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": [0.0, -1.0]}, "between its bounds"),
        ({"start": ["a", 1.0]}, "one number per parameter"),
        ({"start": [np.nan, 1.0]}, "finite"),
        ({"start": []}, "one finite number per parameter"),
        ({"names": ["mean"]}, "2 different names"),
        ({"names": ["a", "a"]}, "2 different names"),
        ({"bounds": [(0, 1)]}, "pair"),
        ({"bounds": [(None, None), (2, 1)]}, "below its high one"),
        ({"bounds": {"sigma": (0, None)}}, "no parameter 'sigma'"),
        ({"density": lambda x, p: normal(x, p).sum()}, "not their sum; it gave a single number"),
        ({"density": lambda x, p: normal(x, p)[:, None]}, "it gave shape"),
        ({"density": lambda x, p: np.where(x > 1.5, -np.inf, 0.0)}, "row 1 has log density -inf"),
        ({"weight": [1.0]}, "one weight per row"),
        ({"weight": [0.0, 0.0, 0.0]}, "positive weight"),
        ({"max_iter": 0}, "at least 1"),
    ],
)
def test_bad_input_is_a_sentence(arguments, message):
    given = {"density": normal, "start": [0.0, 1.0], "bounds": [(None, None), POSITIVE], **arguments}
    with pytest.raises(ValueError, match=message):
        maximum_likelihood(
            given["density"], np.array([1.0, 2.0, 4.0]), given["start"], given["bounds"], given.get("names"),
            weight=given.get("weight"), max_iter=given.get("max_iter", 50),
        )  # fmt: skip


def test_bad_questions_are_refused():
    x = np.array([1.0, 2.0, 4.0])
    found = maximum_likelihood(normal, x, {"mean": 0.0, "sd": 1.0}, {"sd": POSITIVE})
    with pytest.raises(KeyError, match="no parameter 'median'; the parameters are mean, sd"):
        found.test("median")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        found.interval(95)
    with pytest.raises(ValueError, match="'wald' or 'profile'"):
        found.interval(method="bootstrap")
    with pytest.raises(ValueError, match="outside the bounds"):
        found.test("sd", -1.0, "profile")
    with pytest.raises(TypeError, match="function or a distribution"):
        maximum_posterior(normal, 3.0, x, [0.0, 1.0])
    with pytest.raises(ValueError, match="log prior"):
        maximum_posterior(normal, lambda p: -np.inf, x, [0.0, 1.0])
