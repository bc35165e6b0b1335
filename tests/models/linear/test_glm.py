"""Generalised linear models: parity with scikit-learn and statsmodels, deviances, exposure, bad targets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model as peers
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

from tilth import GammaRegressor, PoissonRegressor, TweedieRegressor
from tilth.data.datasets import load as load_table
from tilth.parts.families import GammaFamily, NormalFamily, PoissonFamily, TweedieFamily, family_of
from tilth.parts.losses import Gamma, Poisson, PowerVariance, Squared, Tweedie

COLUMNS = ["displacement", "horsepower", "weight", "acceleration"]
POWERS = [0.0, 1.0, 1.5, 2.0, 3.0]


@pytest.fixture(scope="module")
def cars():
    frame = load_table("auto_mpg").frame.dropna()
    X = frame[COLUMNS].to_numpy(dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), frame["mpg"].to_numpy()


def cost(model, X, y, power, alpha):
    return mean_tweedie_deviance(y, model.predict(X), power=power) / 2 + alpha / 2 * model.coef_ @ model.coef_


def sharp(model):
    return model.set_params(tol=1e-9, max_iter=10_000)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("power", POWERS)
def test_weights_agree_with_scikit_learn(cars, power, alpha):
    X, y = cars
    link = "identity" if power == 0 else "log"
    theirs = peers.TweedieRegressor(power=power, alpha=alpha, link=link, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = sharp(TweedieRegressor(power=power, alpha=alpha)).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-6)
    assert cost(ours, X, y, power, alpha) <= cost(theirs, X, y, power, alpha) * (1 + 1e-12)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-7)
    assert ours.score(X, y) == pytest.approx(d2_tweedie_score(y, ours.predict(X), power=power))
    assert ours.deviance(X, y) == pytest.approx(mean_tweedie_deviance(y, ours.predict(X), power=power))


def test_short_names_are_powers(cars):
    X, y = cars
    for short, power in ((PoissonRegressor, 1.0), (GammaRegressor, 2.0)):
        a, b = sharp(short(alpha=0.5)).fit(X, y), sharp(TweedieRegressor(power=power, alpha=0.5)).fit(X, y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7)


def test_normal_errors_with_a_log_link(cars):
    X, y = cars
    theirs = peers.TweedieRegressor(power=0, alpha=0, link="log", tol=1e-10, max_iter=10_000).fit(X, y)
    ours = sharp(TweedieRegressor(power=0, alpha=0, link="log")).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


@pytest.mark.covers("P-12")
@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_errors_agree_with_statsmodels(cars, power):
    sm = pytest.importorskip("statsmodels.api")
    X, y = cars
    log = sm.families.links.Log()
    family = {
        1.0: sm.families.Poisson(log),
        1.5: sm.families.Tweedie(log, var_power=1.5),
        2.0: sm.families.Gamma(log),
        3.0: sm.families.InverseGaussian(log),
    }[power]
    theirs = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-12, maxiter=200)
    ours = sharp(TweedieRegressor(power=power, alpha=0)).fit(X, y)
    found = ours.estimates()
    np.testing.assert_allclose(found.weights, theirs.params, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.errors, theirs.bse, rtol=1e-6)
    facts = ours.goodness()
    assert facts["deviance"] == pytest.approx(theirs.deviance, rel=1e-7)
    assert facts["null deviance"] == pytest.approx(theirs.null_deviance, rel=1e-7)
    assert facts["Pearson chi2"] == pytest.approx(theirs.pearson_chi2, rel=1e-6)
    assert facts["dispersion"] == pytest.approx(theirs.scale, rel=1e-6)
    if power in (1.0, 2.0):
        assert facts["log-likelihood"] == pytest.approx(theirs.llf, rel=1e-7)
        assert facts["AIC"] == pytest.approx(theirs.aic, rel=1e-7)
        bounds = ours.predict_interval(X[:5], kind="mean")
        wanted = theirs.get_prediction(sm.add_constant(X)[:5]).summary_frame()
        np.testing.assert_allclose(bounds, wanted[["mean", "mean_ci_lower", "mean_ci_upper"]], rtol=1e-5)
        robust = sm.GLM(y, sm.add_constant(X), family=family).fit(cov_type="HC0", tol=1e-12)
        np.testing.assert_allclose(ours.estimates(X, y, covariance="HC0").errors, robust.bse, rtol=1e-5)
    influence = theirs.get_influence(observed=False)
    listing = ours.residuals(X, y)
    np.testing.assert_allclose(listing.leverage, influence.hat_matrix_diag, rtol=1e-5)
    np.testing.assert_allclose(listing.pearson, theirs.resid_pearson, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(listing.deviance, theirs.resid_deviance, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(listing.cooks, influence.cooks_distance[0], rtol=1e-4, atol=1e-9)


def test_exposure_is_a_weight_on_the_rate():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    exposure = rng.uniform(0.2, 3.0, 400)
    y = rng.poisson(exposure * np.exp(0.3 + X @ [0.5, -0.2]))
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson(), exposure=exposure).fit(tol=1e-12)
    ours = sharp(PoissonRegressor(alpha=0)).fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(ours.estimates().weights, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors(), theirs.bse, rtol=1e-6)


def test_ratios_multiply_the_mean():
    model = sharp(PoissonRegressor(alpha=0)).fit([[0.0], [1.0], [2.0], [3.0]], [1, 3, 3, 9])
    table = model.ratios()
    assert list(table.columns) == ["term", "ratio of means", "low", "high"]
    ratio = model.predict([[2.0]])[0] / model.predict([[1.0]])[0]
    assert table["ratio of means"][1] == pytest.approx(ratio)
    np.testing.assert_allclose(model.linear_predictor([[2.0]]), np.log(model.predict([[2.0]])))


def test_levels_and_text_columns_need_no_conversion():
    frame = load_table("auto_mpg").frame
    model = sharp(GammaRegressor(alpha=0)).fit(frame[["origin", "mpg"]], "mpg")
    means = frame.groupby("origin")["mpg"].mean()
    got = model.predict(frame[["origin"]].drop_duplicates())
    np.testing.assert_allclose(sorted(got), sorted(means), rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (PoissonRegressor(), [1.0, -2.0, 3.0], "not negative, found -2"),
        (PoissonRegressor(), [0.0, 0.0, 0.0], "not zero everywhere"),
        (GammaRegressor(), [1.0, 0.0, 3.0], "above zero, found 0"),
        (TweedieRegressor(power=3), [1.0, 0.0, 3.0], "above zero, found 0"),
        (TweedieRegressor(power=0, link="log"), [-1.0, -2.0, 0.5], "mean above zero"),
        (TweedieRegressor(power=0.5), [1.0, 2.0, 3.0], "no distribution has a power between 0 and 1"),
        (TweedieRegressor(power=1.5, link="identity"), [1.0, 2.0, 3.0], "needs link='log'"),
    ],
)
def test_bad_targets_and_powers_are_sentences(model, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit([[0.0], [1.0], [2.0]], y)
    assert not hasattr(model, "coef_")


def test_a_distribution_without_a_density_is_refused():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 5.0]
    model = sharp(TweedieRegressor(power=1.5, alpha=0)).fit(X, y)
    with pytest.raises(ValueError, match="no density in closed form"):
        model.predict_distribution(X)
    bounds = model.predict_interval(X, kind="mean")
    assert (bounds["low"] < bounds["prediction"]).all()


# ---------------------------------------------------------------------------------------------- families are losses


LOSSES = [Squared(), Poisson(), Gamma(), Tweedie(power=1.3), PowerVariance(power=3.0), PowerVariance(power=0.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_loss_is_half_the_deviance_up_to_a_constant(loss):
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, 1.0, 20)
    family = family_of(loss)
    first, second = rng.normal(size=20), rng.normal(size=20)
    between = loss.value(y, first) - loss.value(y, second)
    half = (family.deviance(y, loss.inverse(first)) - family.deviance(y, loss.inverse(second))) / 2
    np.testing.assert_allclose(between, half, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("family", [NormalFamily(), PoissonFamily(), GammaFamily(), TweedieFamily(power=1.4)], ids=repr)
def test_the_deviance_is_zero_at_the_target_and_curved_by_the_variance(family):
    y = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(family.deviance(y, y), 0.0, atol=1e-12)
    h = 1e-4
    curve = (family.deviance(y, y + h) + family.deviance(y, y - h)) / h**2
    np.testing.assert_allclose(curve / 2, 1 / family.variance(y), rtol=1e-4)


@pytest.mark.parametrize("family", [NormalFamily(), PoissonFamily(), GammaFamily()], ids=repr)
def test_likelihood_and_distribution_are_one(family):
    y, mean = np.array([1.0, 2.0, 5.0]), np.array([1.5, 1.0, 4.0])
    dispersion = 1.0 if family.fixed else 0.6
    drawn = family.distribution(mean, dispersion)
    np.testing.assert_allclose(drawn.logpdf(y), family.log_likelihood(y, mean, dispersion))
    np.testing.assert_allclose(drawn.mean(), mean)
    np.testing.assert_allclose(drawn.variance(), dispersion * family.variance(mean))
