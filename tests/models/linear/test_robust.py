"""Robust regression: outliers leave the line alone, quantiles split the rows, parity with the peers."""

import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor as PeerHuber
from sklearn.linear_model import QuantileRegressor as PeerQuantile

import tilth
from tilth import HuberRegressor, LeastAbsoluteDeviations, LinearRegression, QuantileRegressor

rng = np.random.default_rng(9)
N = 121
X = rng.normal(size=(N, 3)) * [1.0, 5.0, 0.2]
Y = X @ [1.0, 0.4, -3.0] + 2.0 + rng.standard_t(2, size=N)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


@pytest.mark.covers("L-06")
def test_one_huge_outlier_leaves_the_line_alone():
    clean = LeastAbsoluteDeviations().fit(X, Y)
    wild = Y.copy()
    worst = int((Y - clean.predict(X)).argmax())
    wild[worst] = 1e9
    np.testing.assert_allclose(LeastAbsoluteDeviations().fit(X, wild).coef_, clean.coef_, atol=1e-6)
    assert np.abs(LinearRegression().fit(X, wild).coef_ - clean.coef_).max() > 1e3


@pytest.mark.covers("L-06")
def test_without_columns_that_tell_anything_it_is_the_median():
    rng = np.random.default_rng(101)
    x = np.zeros((N, 1))
    x[0] = 1.0
    y = np.append(99.0, rng.normal(size=N - 1))
    assert LeastAbsoluteDeviations().fit(x, y).intercept_ == pytest.approx(np.median(y[1:]), abs=0.05)


@pytest.mark.covers("L-06")
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_agree_with_scikit_learn_and_split_the_rows(q):
    mine = QuantileRegressor(quantile=q, alpha=0).fit(X, Y, sample_weight=WEIGHT)
    theirs = PeerQuantile(quantile=q, alpha=0).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    below = np.average(mine.predict(X) > Y, weights=WEIGHT)
    assert abs(below - q) < 0.05


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_penalised_quantiles_agree_with_scikit_learn(alpha):
    mine, theirs = (
        QuantileRegressor(quantile=0.3, alpha=alpha).fit(X, Y),
        PeerQuantile(quantile=0.3, alpha=alpha).fit(X, Y),
    )
    assert mine.outcome_.converged
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), atol=1e-5)


def test_least_absolute_deviations_are_the_median_and_agree_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    mine = LeastAbsoluteDeviations().fit(X, Y)
    theirs = sm.QuantReg(Y, sm.add_constant(X)).fit(q=0.5, p_tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(mine.coef_, theirs.params[1:], atol=1e-4)
    np.testing.assert_allclose(mine.coef_, QuantileRegressor(alpha=0).fit(X, Y).coef_, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_huber_agrees_with_scikit_learn(alpha, intercept):
    mine = HuberRegressor(alpha=alpha, fit_intercept=intercept).fit(X, Y, sample_weight=WEIGHT)
    theirs = PeerHuber(alpha=alpha, fit_intercept=intercept, tol=1e-10, max_iter=10_000).fit(X, Y, sample_weight=WEIGHT)

    def cost(w, b, s):
        z = np.abs(Y - X @ w - b) / s
        loss = np.where(z <= 1.35, z**2, 2 * 1.35 * z - 1.35**2)
        return WEIGHT @ (s + s * loss) + alpha * w @ w

    ours, peer = cost(mine.coef_, mine.intercept_, mine.scale_), cost(theirs.coef_, theirs.intercept_, theirs.scale_)
    assert ours <= peer * (1 + 1e-9)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=2e-3)
    assert mine.scale_ == pytest.approx(theirs.scale_, rel=1e-4)


def test_huber_measures_in_units_of_its_scale():
    model = HuberRegressor(alpha=0).fit(X, Y)
    large = HuberRegressor(alpha=0).fit(X, 1e6 * Y)
    np.testing.assert_allclose(large.coef_, 1e6 * model.coef_, rtol=1e-6)
    assert large.scale_ == pytest.approx(1e6 * model.scale_, rel=1e-6)
    far = np.abs(Y - model.predict(X)) > 1.35 * model.scale_
    assert (model.outliers(X, Y) == far).all()
    assert 0 < far.sum() < N / 2


def test_rows_on_a_line_have_no_scale():
    model = HuberRegressor(alpha=0).fit(X, X @ [1.0, 2.0, 3.0] + 4.0)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], atol=1e-6)
    assert model.scale_ < 1e-6
    constant = HuberRegressor().fit(X, np.full(N, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0)


def test_huber_of_a_wide_middle_is_least_squares():
    wide = HuberRegressor(alpha=0, epsilon=100.0).fit(X, Y)
    np.testing.assert_allclose(wide.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "model", [QuantileRegressor(quantile=1.5), HuberRegressor(epsilon=0.5), LeastAbsoluteDeviations(alpha=-1)], ids=str
)
def test_bad_settings_are_told(model):
    with pytest.raises(ValueError, match="must be"):
        model.fit(X, Y)


@pytest.mark.covers("R-01")
def test_the_same_words_in_the_generic_estimator():
    named = QuantileRegressor(quantile=0.3, alpha=0.05).fit(X, Y)
    generic = tilth.Linear(loss=tilth.Quantile(q=0.3), penalty=tilth.L1(0.05)).fit(X, Y)
    np.testing.assert_array_equal(named.coef_, generic.coef_)
