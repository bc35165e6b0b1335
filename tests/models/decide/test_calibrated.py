"""Calibrated classifiers: probabilities that come true, around any model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier as SkForest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as SkLinearSVC

from tilth import GaussianNB, LinearSVC, LogisticRegression, load
from tilth.lifecycle.save import save
from tilth.models.decide.calibrated import CalibratedClassifier
from tilth.parts.calibrators import METHODS, apply_map, fit_map, log_odds, odds_floor, recalibration, reliability
from tilth.stats.folds import fold_of_rows


def doubled(n: int, seed: int):
    """Eight noisy copies of one column: naive Bayes counts the same evidence eight times."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 1))
    X = hidden + 0.3 * rng.normal(size=(n, 8))
    return X, np.where(hidden[:, 0] + rng.normal(size=n) > 0, "yes", "no")


# ------------------------------------------------------------------------------------------------------------ the parts


@pytest.mark.parametrize("method", ["sigmoid", "beta"])
def test_maps_have_the_least_log_loss(method):
    rng = np.random.default_rng(0)
    z = rng.normal(size=500) * 2
    event = rng.random(500) < expit(0.4 * z + 0.5)
    weight = rng.random(500)
    yes, no = weight[event].sum(), weight[~event].sum()
    target = np.where(event, (yes + 1) / (yes + 2), 1 / (no + 2))
    found = fit_map(method, z, event, weight)

    def loss(w):
        p = np.clip(apply_map(method, w[None], z), 1e-15, 1 - 1e-15)
        return -(weight * (target * np.log(p) + (1 - target) * np.log(1 - p))).sum()

    best = minimize(
        loss, np.zeros(found.shape[1]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    )
    assert loss(found[0]) <= best.fun + 1e-8
    np.testing.assert_allclose(found[0], best.x, atol=1e-3)


def test_the_sigmoid_is_platts():
    from sklearn.calibration import _sigmoid_calibration

    rng = np.random.default_rng(1)
    z = rng.normal(size=300)
    event = rng.random(300) < expit(2 * z)
    a, b = _sigmoid_calibration(z, event.astype(int))
    np.testing.assert_allclose(fit_map("sigmoid", z, event)[0], [-a, -b], atol=1e-3)


def test_isotonic_is_scikit_learns():
    rng = np.random.default_rng(2)
    z = rng.normal(size=200)
    event = rng.random(200) < expit(z)
    peer = IsotonicRegression(out_of_bounds="clip").fit(z, event)
    asked = rng.normal(size=50) * 3
    np.testing.assert_allclose(apply_map("isotonic", fit_map("isotonic", z, event), asked), peer.predict(asked))


@pytest.mark.parametrize("method", METHODS)
def test_maps_rise_and_survive_extreme_scores(method):
    rng = np.random.default_rng(3)
    z = np.r_[rng.normal(size=100) * 30, [-700.0, 700.0]]
    event = rng.random(102) < expit(z / 20)
    found = apply_map(method, fit_map(method, z, event), np.linspace(-800, 800, 50))
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 1)).all()
    split = fit_map(method, z, z > 0)  # separable
    assert np.isfinite(split).all()
    against = fit_map("beta", z, z < 0)
    assert (against[0, :2] >= 0).all()


def test_beta_holds_the_identity():
    rng = np.random.default_rng(4)
    z = rng.normal(size=40_000)
    found = fit_map("beta", z, rng.random(40_000) < expit(z))[0]
    np.testing.assert_allclose(found, [1, 1, 0], atol=0.1)


def test_slope_and_intercept_of_planted_odds():
    rng = np.random.default_rng(5)
    z = rng.normal(size=50_000)
    happened = rng.random(50_000) < expit(0.5 * z + 0.3)
    np.testing.assert_allclose(recalibration(expit(z), happened), [0.5, 0.3], atol=0.03)
    assert np.isnan(recalibration(np.array([0.2, 0.8]), np.array([False, True]))).all()
    assert np.isnan(recalibration(np.array([0.2, 0.8]), np.array([True, True]))).all()


def test_odds_of_zero_and_one_are_finite():
    p = np.array([[0.0, 1.0], [0.1, 0.9]])
    assert odds_floor(p) == pytest.approx(0.01)
    assert np.isfinite(log_odds(p, odds_floor(p))).all()
    assert odds_floor(np.array([[0.0, 1.0]])) == 0.01


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_bins_are_scikit_learns(strategy):
    from sklearn.calibration import calibration_curve

    rng = np.random.default_rng(6)
    p = rng.random(500)
    y = rng.random(500) < p
    happened, promised = calibration_curve(y, p, n_bins=8, strategy=strategy)
    found = reliability(p, y, bins=8, strategy=strategy)
    np.testing.assert_allclose(found.promised, promised)
    np.testing.assert_allclose(found.happened, happened)
    assert found.n.sum() == 500
    for j in range(len(found.n)):
        assert p[found.place == j].mean() == pytest.approx(found.promised[j])


# ------------------------------------------------------------------------------------------------------------ the model


def test_naive_bayes_that_counts_evidence_eight_times_is_cured():
    X, y = doubled(800, 0)
    new, truth = doubled(4000, 1)
    yes = truth == "yes"
    model = CalibratedClassifier(estimator=GaussianNB()).fit(X, y)
    before, after = model.estimator_.predict_proba(new)[:, 1], model.predict_proba(new)[:, 1]
    assert model.method_ == "sigmoid"
    assert log_loss(yes, after) < 0.5 * log_loss(yes, before)
    assert recalibration(before, yes)[0] < 0.3
    assert recalibration(after, yes)[0] == pytest.approx(1.0, abs=0.2)
    assert model.losses_["sigmoid"] == pytest.approx(log_loss(yes, after), abs=0.06)
    assert "lowers the out-of-fold log loss" in model.summary()


def test_a_calibrated_model_is_left_alone():
    """Here another map has the least loss, by chance and by less than a standard error: the simplest is taken."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    y = rng.random(400) < expit(X[:, 0])
    model = CalibratedClassifier(estimator=LogisticRegression()).fit(X, y)
    assert min(model.losses_, key=model.losses_.get) != "none"
    assert model.method_ == "none"
    np.testing.assert_allclose(model.predict_proba(X), model.estimator_.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("inner", [SkLinearSVC(), SkLogistic()])
def test_the_same_folds_give_scikit_learns_probabilities(method, inner):
    """A model of distances, and one whose log-odds are its distances: ensemble=False is what we do."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :6]
    ours = CalibratedClassifier(estimator=inner, method=method, folds=4).fit(X, y)
    part = fold_of_rows(len(y), 4, classes=y, seed=ours._seed())
    peer = CalibratedClassifierCV(inner, method=method, cv=PredefinedSplit(part), ensemble=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-3)


def test_many_classes_as_good_as_scikit_learns():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    inner = SkForest(20, random_state=0)
    ours = CalibratedClassifier(estimator=inner, method="sigmoid").fit(X[train], names[train])
    peer = CalibratedClassifierCV(inner, method="sigmoid", ensemble=False).fit(X[train], names[train])
    found = ours.predict_proba(X[test])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert log_loss(names[test], found) < log_loss(names[test], peer.predict_proba(X[test])) + 0.02
    assert len(ours.maps_) == 3


@pytest.mark.covers("S-17", "SP-44")
def test_distances_become_probabilities_on_request():
    X, y = doubled(400, 8)
    assert not hasattr(LinearSVC(), "predict_proba")
    model = CalibratedClassifier(estimator=LinearSVC()).fit(X, y)
    new, truth = doubled(2000, 9)
    p = model.predict_proba(new)[:, 1]
    assert brier_score_loss(truth == "yes", p) < 0.2
    assert recalibration(p, truth == "yes")[0] == pytest.approx(1.0, abs=0.3)
    assert "none" not in model.losses_


@pytest.mark.parametrize("method", METHODS)
def test_every_map_in_a_pipeline_with_text_labels_and_a_missing_class(method):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c", "lonely"])[y]
    names[0] = "lonely"
    model = CalibratedClassifier(estimator=make_pipeline(StandardScaler(), SkLogistic()), method=method).fit(X, names)
    found = model.predict_proba(X)
    assert found.shape == (150, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert model.classes_.tolist() == ["a", "b", "c", "lonely"]
    assert model.plot() is not None


def test_what_is_shown_is_out_of_fold():
    X, y = doubled(300, 10)
    model = CalibratedClassifier(estimator=GaussianNB()).fit(X, y)
    frame = model.comparison()
    assert frame.loc[frame["chosen"], "method"].tolist() == [model.method_]
    promised, happened, n = model.reliability_["before"].T
    assert n.sum() == 300
    gap_after = np.abs(model.reliability_["after"][:, 0] - model.reliability_["after"][:, 1])
    assert np.average(np.abs(promised - happened), weights=n) > 2 * np.average(
        gap_after, weights=model.reliability_["after"][:, 2]
    )


def test_bad_input_is_refused_in_words():
    X, y = doubled(60, 11)
    with pytest.raises(ValueError, match="method must be one of"):
        CalibratedClassifier(method="magic").fit(X, y)
    with pytest.raises(TypeError, match="must be a classifier"):
        CalibratedClassifier(estimator="logistic").fit(X, y)
    with pytest.raises(ValueError, match="folds"):
        CalibratedClassifier(folds=1).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_saved_and_loaded(method, tmp_path):
    X, y = doubled(100, 12)
    model = CalibratedClassifier(estimator=GaussianNB(), method=method).fit(X, y)
    path = save(model, tmp_path / "m.tilth", classes=[CalibratedClassifier])
    again = load(path, classes=[CalibratedClassifier])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.comparison().equals(model.comparison())
    model.maps_ = [np.zeros((3, 3))]
    with pytest.raises(ValueError, match="shape"):
        save(model, tmp_path / "bad.tilth", classes=[CalibratedClassifier])
