"""Scales of numbers: laws, worked examples, and learning on training rows only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tilth.errors import DataWarning
from tilth.models.prepare import Cap, Centre, Impute, Log, MinMax, Standardise, Winsorise

RNG = np.random.default_rng(0)
TRAIN, TEST = RNG.normal([5, -2], [3, 0.5], (200, 2)), RNG.normal([6, -2], [3, 0.5], (50, 2))
del RNG  # tests draw from generators of their own


@pytest.mark.covers("X-08", "FX-56")
def test_standardise_uses_training_mean_and_sd() -> None:
    model = Standardise().fit(TRAIN)
    z = model.transform(TRAIN)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), 1)
    np.testing.assert_allclose(model.transform(TEST), (TEST - TRAIN.mean(axis=0)) / TRAIN.std(axis=0))
    np.testing.assert_allclose(model.inverse_transform(z), TRAIN)


@pytest.mark.covers("X-08")
@pytest.mark.parametrize("constant", [0.1, 0.0, -1e9, 1e-300])
def test_a_constant_column_becomes_zero(constant: float) -> None:
    for n in (1, 3, 10, 77):
        z = Standardise().fit_transform(np.full((n, 1), constant))
        np.testing.assert_array_equal(z, 0.0)


@pytest.mark.covers("X-09", "FX-56")
def test_min_max_reaches_both_ends_and_treats_new_values_as_told() -> None:
    model = MinMax().fit(TRAIN)
    z = model.transform(TRAIN)
    np.testing.assert_array_equal(z.min(axis=0), 0)
    np.testing.assert_array_equal(z.max(axis=0), 1)
    beyond = np.array([[TRAIN[:, 0].max() + 1, TRAIN[0, 1]]])
    assert model.transform(beyond)[0, 0] > 1
    flagged = model.check(beyond)
    assert flagged["column"].tolist() == ["x0"]
    assert flagged["code"].tolist() == ["W102"]
    assert MinMax(outside="clip").fit(TRAIN).transform(beyond)[0, 0] == 1
    with pytest.warns(DataWarning, match="W102.*outside the training range"):
        model.transform(beyond + 1000)
    np.testing.assert_array_equal(MinMax().fit_transform([[4.0], [4.0]]), 0)


@pytest.mark.covers("X-10")
def test_centring_keeps_covariances() -> None:
    z = Centre().fit_transform(TRAIN)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.cov(z.T), np.cov(TRAIN.T))


@pytest.mark.covers("X-16")
def test_values_are_capped() -> None:
    x = np.array([[-5.0], [0.0], [9.0], [np.nan]])
    np.testing.assert_array_equal(Cap(high=3.0).fit_transform(x).ravel(), [-5, 0, 3, np.nan])
    both = Cap(high=3.0, low=-1.0).fit(x)
    np.testing.assert_array_equal(both.transform(x).ravel(), [-1, 0, 3, np.nan])
    assert both.explain_ == "x0: at least -1 and at most 3"


@pytest.mark.covers("X-18")
def test_winsorise_learns_quantiles_on_training_rows() -> None:
    model = Winsorise(tail=0.1).fit(TRAIN)
    low, high = np.quantile(TRAIN[:, 0], [0.1, 0.9])
    out = model.transform(TEST)
    np.testing.assert_allclose(out[:, 0], TEST[:, 0].clip(low, high))
    assert out[:, 0].max() == high


@pytest.mark.covers("X-20")
def test_log_makes_a_lognormal_column_normal() -> None:
    x = np.exp(np.random.default_rng(1).normal(2, 0.8, (500, 1)))
    model = Log().fit(x)
    z = model.transform(x)
    assert stats.shapiro(x.ravel()).pvalue < 1e-6
    assert stats.shapiro(z.ravel()).pvalue > 0.05
    assert model.fitted_step
    state = model.fitted_step.states[0]
    assert state["skew_before"] == pytest.approx(stats.skew(x.ravel()))
    assert abs(state["skew_after"]) < 0.3 < state["skew_before"]
    assert "skewness" in model.explain_
    np.testing.assert_allclose(model.inverse_transform(z), x)


@pytest.mark.covers("X-20")
def test_log_shifts() -> None:
    assert Log().fit_transform([[-3.0], [0.0]])[0, 0] == 0.0
    np.testing.assert_allclose(Log(shift=2.0).fit_transform([[0.0], [1.0]]).ravel(), np.log([2, 3]))
    with pytest.raises(ValueError, match="give a larger shift"):
        Log(shift=1.0).fit([[-3.0], [1.0]])
    assert np.isnan(Log().fit([[1.0], [9.0]]).transform([[-4.0]])).all()


@pytest.mark.covers("X-26")
def test_test_rows_never_change_what_was_learned() -> None:
    for cls in (Standardise, MinMax, Centre, Winsorise, Impute):
        one = cls().fit(TRAIN).transform(TRAIN)
        model = cls().fit(TRAIN)
        model.transform(TEST)
        np.testing.assert_array_equal(model.transform(TRAIN), one)
        assert model.fitted_step
        assert repr(model.fitted_step.states) == repr(cls().fit(TRAIN).fitted_step.states)  # type: ignore[union-attr]


@pytest.mark.covers("X-26")
def test_a_planted_leak_shows_outside_the_pipeline_only() -> None:
    rng = np.random.default_rng(3)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.7] = np.nan
    leaked = X.copy()
    for label in (0, 1):
        for j in range(4):
            gone = np.isnan(leaked[:, j]) & (y == label)
            leaked[gone, j] = np.nanmean(X[y == label, j])
    outside = cross_val_score(LogisticRegression(), leaked, y, cv=5).mean()
    inside = cross_val_score(make_pipeline(Impute(method="mean"), LogisticRegression()), X, y, cv=5).mean()
    assert outside > 0.65, "filling by class on all rows tells the answer"
    assert inside < 0.6, "filling inside the folds cannot"


@pytest.mark.covers("X-26")
def test_models_learn_their_own_conversions_on_training_rows() -> None:
    from tilth.data import Accepts, infer, plan, read

    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0, 100.0]})
    train = frame.iloc[:3]
    fitted, _ = plan(infer(train), Accepts()).fit(read(train).typed(infer(train)))
    assert fitted.steps[0].states[0]["fill"] == 2.0
