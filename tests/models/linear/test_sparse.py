"""Lasso, elastic net, their cross-validated forms, best subset: laws, parity with scikit-learn, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import ElasticNetCV as SklearnElasticNetCV
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import LassoCV as SklearnLassoCV
from sklearn.linear_model import lasso_path
from sklearn.model_selection import KFold

from tilth import GroupLasso, LinearRegression, LinearRegressor
from tilth.errors import TilthWarning
from tilth.models.linear.sparse import BestSubset, ElasticNet, ElasticNetCV, Lasso, LassoCV, _chosen
from tilth.parts.penalties import L1


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), y


@pytest.mark.covers("L-08")
@pytest.mark.parametrize("alpha", [0.1, 0.7, 2.0])
def test_on_an_orthonormal_design_the_lasso_is_the_soft_threshold(alpha):
    """X'X / n = I: w = sign(w_ols) max(|w_ols| - alpha, 0)."""
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(50, 6))
    Q = np.linalg.qr(raw - raw.mean(axis=0))[0] * np.sqrt(50)
    y = Q @ np.array([3.0, -2.0, 1.0, 0.5, 0.0, -0.3]) + rng.normal(size=50)
    least_squares = LinearRegression().fit(Q, y).coef_
    found = Lasso(alpha=alpha).fit(Q, y)
    assert found.coef_ == pytest.approx(L1(1.0).prox(least_squares, alpha), abs=1e-9)
    assert found.intercept_ == pytest.approx(y.mean())


def test_real_data_agrees_with_scikit_learn(diabetes):
    X, y = diabetes
    for alpha in (0.05, 1.0, 10.0):
        peer, ours = (
            SklearnLasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y),
            Lasso(alpha=alpha, tol=1e-9).fit(X, y),
        )
        assert ours.coef_ == pytest.approx(peer.coef_, abs=1e-5)
        assert ours.intercept_ == pytest.approx(peer.intercept_)
        assert ours.dual_gap_ < 1e-6
        peer = SklearnElasticNet(alpha=alpha, l1_ratio=0.3, tol=1e-12, max_iter=100_000).fit(X, y)
        assert ElasticNet(alpha=alpha, l1_ratio=0.3, tol=1e-9).fit(X, y).coef_ == pytest.approx(peer.coef_, abs=1e-5)
    no_intercept = SklearnLasso(alpha=1.0, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    assert Lasso(alpha=1.0, fit_intercept=False, tol=1e-9).fit(X, y).coef_ == pytest.approx(
        no_intercept.coef_, abs=1e-5
    )


def test_paths_agree_with_scikit_learn(diabetes):
    X, y = diabetes
    alphas, coefs, _ = lasso_path(X, y - y.mean(), eps=1e-3, alphas=20, tol=1e-12, max_iter=100_000)
    found = Lasso().path(X, y, alphas=20)
    assert found.alphas == pytest.approx(alphas)
    assert found.coef == pytest.approx(coefs.T, abs=1e-4)
    assert found.names == tuple(f"x{j}" for j in range(10))
    again = Lasso(alpha=float(alphas[7])).fit(X, y).coef_
    assert found.coef[7] == pytest.approx(again, abs=1e-4)
    model = Lasso()
    model.path(X, y, alphas=2)
    assert not hasattr(model, "coef_")


@pytest.mark.covers("R-04")
def test_raising_alpha_shrinks_the_sum_of_weights(diabetes):
    X, y = diabetes
    sums = [np.abs(Lasso(alpha=a).fit(X, y).coef_).sum() for a in np.geomspace(0.01, 50, 12)]
    assert (np.diff(sums) <= 1e-9).all()
    assert sums[0] > sums[-1]


@pytest.mark.covers("FS-13")
def test_terms_without_a_weight_can_be_dropped():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.normal(size=200) for name in ("a", "b", "c", "d", "e")})
    frame["town"] = rng.choice(["north", "south", "west"], 200)
    y = 2 * frame["b"] - frame["d"] + (frame["town"] == "west") + 0.1 * rng.normal(size=200)
    model = Lasso(alpha=0.05).fit(frame, y)
    assert model.selected() == ["b", "d", "town=west"]
    assert "3 of 8 terms" in model.sections()[-1].text
    assert model.sections()[-1].frame["term"].tolist() == ["(intercept)", "b", "d", "town=west"]
    kept = Lasso(alpha=0.05).fit(frame[["b", "d", "town"]], y)
    assert kept.predict(frame[["b", "d", "town"]]) == pytest.approx(model.predict(frame), abs=1e-6)
    X = frame[["a", "b", "c", "d", "e"]].to_numpy()
    chosen = SelectFromModel(Lasso(alpha=0.1)).fit(X, y)
    assert chosen.get_support().tolist() == [False, True, False, True, False]
    assert chosen.transform(X).shape == (200, 2)


def test_sparse_matrices_are_not_made_dense(diabetes):
    X, y = diabetes
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense, sparse = Lasso(alpha=0.5).fit(X, y), Lasso(alpha=0.5).fit(csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-5)
    assert sparse.predict(csr_matrix(X)) == pytest.approx(dense.predict(X), abs=1e-4)


def test_the_strength_of_least_error_is_that_of_scikit_learn(diabetes):
    X, y = diabetes
    peer = SklearnLassoCV(cv=KFold(4), alphas=30, tol=1e-8, max_iter=100_000).fit(X, y)
    ours = LassoCV(cv=4, alphas=30).fit(X, y)
    assert ours.alphas_ == pytest.approx(peer.alphas_)
    assert ours.mse_path_ == pytest.approx(peer.mse_path_, rel=1e-4)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert ours.coef_ == pytest.approx(peer.coef_, abs=1e-3)
    peer = SklearnElasticNetCV(cv=KFold(4), alphas=15, l1_ratio=[0.2, 0.9], tol=1e-8, max_iter=100_000).fit(X, y)
    ours = ElasticNetCV(cv=KFold(4), alphas=15, l1_ratio=[0.2, 0.9]).fit(X, y)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((peer.alpha_, peer.l1_ratio_))
    assert ours.coef_ == pytest.approx(peer.coef_, abs=1e-3)


def test_one_standard_error_takes_the_strongest_that_is_as_good(diabetes):
    X, y = diabetes
    least, strong = LassoCV(alphas=40).fit(X, y), LassoCV(alphas=40, rule="one_se").fit(X, y)
    errors = least.errors()
    best = errors["error"].idxmin()
    bound = errors["error"][best] + errors["se"][best]
    assert strong.alpha_ > least.alpha_
    assert strong.alpha_ == errors["alpha"][errors["error"] <= bound].max()
    assert len(strong.selected()) <= len(least.selected())
    assert least.plot().axes[0].get_ylabel() == "squared error of new rows"
    assert least.alpha_ == pytest.approx(Lasso(alpha=least.alpha_).fit(X, y).alpha)
    assert least.coef_ == pytest.approx(Lasso(alpha=least.alpha_).fit(X, y).coef_, abs=1e-4)


def test_weights_count_in_the_folds():
    """Rows of weight zero are not there, and a common factor changes nothing."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + rng.normal(size=60)
    weight = rng.uniform(0.5, 2.0, 60)
    a, b = LassoCV(alphas=10).fit(X, y, weight), LassoCV(alphas=10).fit(X, y, 3 * weight)
    assert a.alpha_ == pytest.approx(b.alpha_)
    assert a.coef_ == pytest.approx(b.coef_, abs=1e-6)
    held = np.arange(12)  # the first of five folds
    alone = Lasso(alpha=float(a.alphas_[4])).fit(X[12:], y[12:], weight[12:])
    error = np.average((y[held] - alone.predict(X[held])) ** 2, weights=weight[held])
    assert a.mse_path_[4, 0] == pytest.approx(error, rel=1e-5)


def test_levels_of_a_column_come_and_go_together():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    frame["town"], frame["job"] = rng.choice(list("abcd"), 300), rng.choice(list("pqr"), 300)
    y = frame["x"] + frame["town"].map({"a": 0.0, "b": 1.0, "c": 2.0, "d": 1.5}) + 0.1 * rng.normal(size=300)
    model = LinearRegressor(penalty=GroupLasso(0.05)).fit(frame, y)
    used = {term: w != 0 for term, w in zip(model.terms_.names, model.coef_, strict=True)}
    assert all(used[f"town={level}"] for level in "abcd")
    assert not any(used[f"job={level}"] for level in "pqr")
    assert used["x"]
    assert not used["z"]


@pytest.mark.covers("FS-14")
def test_the_best_subset_is_exact_and_not_shrunk():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 10))
    y = 2 * X[:, 3] - X[:, 7] + 0.5 * rng.normal(size=80)
    model = BestSubset().fit(X, y)
    assert model.selected() == ["x3", "x7"]
    plain = LinearRegression().fit(X[:, [3, 7]], y)
    assert model.coef_[[3, 7]] == pytest.approx(plain.coef_)
    assert model.intercept_ == pytest.approx(plain.intercept_)
    table = model.subsets()
    assert table["terms"][2] == "x3, x7"
    assert table["bic"].idxmin() == 2
    assert (table["residual"].diff().dropna() <= 1e-9).all()
    one = BestSubset(size=1).fit(X, y)
    assert one.selected() == ["x3"]
    assert len(BestSubset(criterion="aic").fit(X, y).selected()) >= 2
    assert BestSubset(size=0).fit(X, y).predict(X[:2]) == pytest.approx(np.full(2, y.mean()))
    with pytest.raises(ValueError, match="penal"):
        model.estimates()  # columns chosen by the target have no honest errors
    with pytest.raises(TypeError, match="no path"):
        model.path(X, y)


def test_a_fit_that_stops_early_warns(diabetes):
    X, y = diabetes
    with pytest.warns(TilthWarning, match="W207|stopped after"):
        Lasso(alpha=1e-4, max_iter=1, tol=1e-14).fit(
            np.hstack([X, np.random.default_rng(0).normal(size=(442, 600))]), y
        )


def test_alpha_zero_is_least_squares(diabetes):
    X, y = diabetes
    plain = LinearRegression().fit(X, y).coef_
    assert Lasso(alpha=0.0).fit(X, y).coef_ == pytest.approx(plain)
    assert ElasticNet(alpha=0.0).fit(X, y).coef_ == pytest.approx(plain)


def test_bad_parameters_are_sentences(diabetes):
    X, y = diabetes
    wide = np.random.default_rng(5).normal(size=(100, 70))
    for make, words in [
        (lambda: Lasso(alpha=-1.0).fit(X, y), "alpha must be at least 0"),
        (lambda: Lasso().fit(X, np.column_stack([y, y])), "1d|one-dimensional|one column|y should be"),
        (lambda: ElasticNet(l1_ratio=2.0).fit(X, y), "l1_ratio must be"),
        (lambda: LassoCV(cv=1).fit(X, y), "cv must be from 2"),
        (lambda: LassoCV(cv=500).fit(X, y), "number of rows, n_samples=442"),
        (lambda: LassoCV(alphas=[-1.0]).fit(X, y), "list of finite numbers"),
        (lambda: LassoCV(alphas=[]).fit(X, y), "list of finite numbers"),
        (lambda: LassoCV(alphas=0).fit(X, y), "list of finite numbers"),
        (lambda: LassoCV(alphas="many").fit(X, y), "got 'many'"),
        (lambda: ElasticNetCV(l1_ratio=0.0).fit(X, y), "l1_ratio must be above 0"),
        (lambda: ElasticNetCV(l1_ratio=[]).fit(X, y), "l1_ratio must be above 0"),
        (lambda: BestSubset(size=11).fit(X, y), "at most the number of terms, 10"),
        (lambda: BestSubset().fit(wide, wide[:, 0]), "at most 62 terms"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()


def test_a_target_without_spread_and_hopeless_columns():
    X = np.random.default_rng(6).normal(size=(30, 4))
    for model in (Lasso(), ElasticNet(), LassoCV(alphas=5), BestSubset()):
        found = model.fit(X, np.full(30, 2.0))
        assert not found.coef_.any()
        assert found.predict(X) == pytest.approx(np.full(30, 2.0))
        assert found.selected() == []


def test_the_standard_error_of_two_folds_divides_by_one():
    """Errors 1 and 3: their standard error is sqrt(2) / sqrt(2) = 1, and 0.71 with the wrong divisor."""
    errors = np.array([[2.9, 2.9], [1.0, 3.0]])
    assert _chosen(errors, "one_se") == 0
    assert _chosen(np.array([[3.1, 3.1], [1.0, 3.0]]), "one_se") == 1
    assert _chosen(errors, "min") == 1
