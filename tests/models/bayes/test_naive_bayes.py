"""Naive Bayes: worked numbers, parity with scikit-learn, smoothing, zero variance, explanation, sampling."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn import naive_bayes as peers
from sklearn.model_selection import GridSearchCV

from tilth import CategoricalNB, Epsilon, GaussianNB, Laplace, MEstimate, NaiveBayes
from tilth.data.datasets import load
from tilth.errors import ModelWarning

COLUMNS = ["Outlook", "Temp", "Humidity", "Windy"]


@pytest.fixture
def weather():
    return load("weather").frame


def day(*values):
    return pd.DataFrame([values], columns=COLUMNS)


def unsmoothed(weather):
    with pytest.warns(ModelWarning, match="Overcast never occurs with class No"):
        return NaiveBayes(alpha=0).fit(weather, "Play")


@pytest.mark.covers("N-01", "N-02", "WN-09", "FX-35", "FX-62")
def test_sunny_hot_high_windy(weather):
    model = unsmoothed(weather)
    row = day("Sunny", "Hot", "High", True)
    assert np.exp(model.predict_joint_log_proba(row))[0] == pytest.approx([0.041143, 0.003527], abs=5e-7)
    assert model.predict_proba(row)[0] == pytest.approx([0.9210, 0.0790], abs=5e-5)
    assert model.predict(row)[0] == "No"


@pytest.mark.covers("WN-10")
def test_sunny_cold_high_windy(weather):
    row = day("Sunny", "Cold", "High", True)
    assert np.exp(unsmoothed(weather).predict_joint_log_proba(row))[0] == pytest.approx([0.020571, 0.005291], abs=5e-7)
    assert unsmoothed(weather).predict_proba(row)[0] == pytest.approx([0.7954, 0.2046], abs=5e-5)


@pytest.mark.covers("N-03", "WN-11", "SP-23")
def test_zero_frequency_is_certain_and_named(weather):
    row = day("Overcast", "Cold", "High", True)
    assert unsmoothed(weather).predict_proba(row)[0].tolist() == [0.0, 1.0]
    assert NaiveBayes().fit(weather, "Play").predict_proba(row)[0, 0] > 0.1, "smoothed unless asked otherwise"


@pytest.mark.covers("WN-11")
@pytest.mark.parametrize(("smoothing", "yes"), [(Laplace(alpha=1), 0.7216), (MEstimate(m=1), 0.8550)])
def test_smoothed_overcast_day(weather, smoothing, yes):
    model = NaiveBayes(smoothing=smoothing).fit(weather, "Play")
    assert model.predict_proba(day("Overcast", "Cold", "High", True))[0, 1] == pytest.approx(yes, abs=5e-5)


@pytest.mark.covers("N-04", "WN-12", "FX-34", "FX-61")
def test_laplace_denominator_counts_levels(weather):
    table = NaiveBayes(alpha=1).fit(weather, "Play").tables()["Outlook"]
    assert table.loc["No", ("probability", "Overcast")] == pytest.approx(1 / 8)
    assert table.loc["No", ("count", "Overcast")] == 0


@pytest.mark.covers("N-06", "WN-12")
def test_m_estimate_with_m_levels_is_laplace(weather):
    three = NaiveBayes(smoothing=MEstimate(m=3)).fit(weather, "Play").tables()["Outlook"]["probability"]
    laplace = NaiveBayes(alpha=1).fit(weather, "Play").tables()["Outlook"]["probability"]
    assert three.to_numpy() == pytest.approx(laplace.to_numpy())


@pytest.mark.covers("N-06")
def test_m_estimate_with_a_prior_of_its_own(weather):
    prior = {"Outlook": {"Overcast": 0.5, "Rainy": 0.25, "Sunny": 0.25}}
    table = NaiveBayes(smoothing=MEstimate(m=2, prior=prior)).fit(weather, "Play").tables()["Outlook"]
    assert table.loc["No", ("probability", "Overcast")] == pytest.approx((0 + 2 * 0.5) / (5 + 2))
    with pytest.raises(ValueError, match="lacks 'Sunny'"):
        NaiveBayes(smoothing=MEstimate(prior={"Outlook": {"Overcast": 0.5, "Rainy": 0.5}})).fit(weather, "Play")


@pytest.mark.covers("N-05")
def test_epsilon_replaces_zeros_only(weather):
    model = NaiveBayes(smoothing=Epsilon(epsilon=0.01)).fit(weather, "Play")
    shares = model.tables()["Outlook"]["probability"]
    assert shares.loc["No", "Overcast"] == pytest.approx(0.01)
    assert shares.loc["No", "Sunny"] == pytest.approx(3 / 5)
    assert shares.loc["Yes"].to_numpy() == pytest.approx([4 / 9, 3 / 9, 2 / 9])
    with pytest.raises(ValueError, match="below 1/N"):
        NaiveBayes(smoothing=Epsilon(epsilon=1 / 14)).fit(weather, "Play")


@pytest.mark.covers("WN-13")
@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.filterwarnings("ignore::tilth.errors.ModelWarning")
def test_training_accuracy_on_weather(weather, alpha):
    assert NaiveBayes(alpha=alpha).fit(weather, "Play").score(weather, weather["Play"]) == pytest.approx(13 / 14)


@pytest.mark.covers("N-02")
def test_equals_the_exact_answer_when_columns_are_independent_given_the_class():
    """The rows are a full factorial of p(y) p(a | y) p(b | y), so the empirical posterior is the product form."""
    rows = []
    for y, a, b in itertools.product("uv", "pq", "rst"):
        share = (
            {"u": 6, "v": 4}[y]
            * {"up": 1, "uq": 3, "vp": 2, "vq": 2}[y + a]
            * {"ur": 1, "us": 1, "ut": 2, "vr": 2, "vs": 1, "vt": 1}[y + b]
        )
        rows += [(a, b, y)] * share
    frame = pd.DataFrame(rows, columns=["a", "b", "y"])
    model = NaiveBayes(alpha=0).fit(frame, "y")
    for (a, b), part in frame.groupby(["a", "b"]):
        exact = (part["y"] == "u").mean()
        assert model.predict_proba({"a": [a], "b": [b]})[0, 0] == pytest.approx(exact)


@pytest.mark.covers("N-07")
def test_gaussian_means_and_standard_deviations_by_hand():
    frame = pd.DataFrame({"x": [1.0, 2.0, 6.0, 10.0, 14.0], "y": ["a", "a", "a", "b", "b"]})
    table = GaussianNB().fit(frame, "y").tables()["x"]
    assert table.loc["a", "mean"] == pytest.approx(3.0)
    assert table.loc["a", "sd"] == pytest.approx(np.sqrt((4 + 1 + 9) / 3))
    assert table.loc["b", "sd"] == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["iris", "penguins"])
def test_gaussian_parity_with_scikit_learn(name):
    data = load(name)
    frame = data.frame.dropna()
    X, y = frame.select_dtypes("number"), frame[data.target]
    ours, theirs = GaussianNB().fit(X, y), peers.GaussianNB(var_smoothing=0).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-6, abs=1e-12)
    assert ours.predict_joint_log_proba(X) == pytest.approx(theirs.predict_joint_log_proba(X), rel=1e-7)


@pytest.mark.covers("N-04")
def test_categorical_parity_with_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (500, 6)), rng.integers(0, 3, 500)
    weight = rng.random(500)
    ours = CategoricalNB(alpha=0.7).fit(X, y, sample_weight=weight)
    theirs = peers.CategoricalNB(alpha=0.7).fit(X, y, sample_weight=weight)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-9)


@pytest.mark.covers("N-08")
def test_constant_column_is_left_out_and_told():
    frame = pd.DataFrame({"flat": [7.0] * 6, "x": [1.0, 2, 3, 7, 8, 9], "y": list("aaabbb")})
    with pytest.warns(ModelWarning, match="'flat' had one single value"):
        model = NaiveBayes().fit(frame, "y")
    alone = NaiveBayes().fit(frame[["x"]], frame["y"])
    assert model.predict_proba(frame) == pytest.approx(alone.predict_proba(frame[["x"]]))
    assert model.predict_proba({"flat": [9.0], "x": [2.0]}) == pytest.approx(alone.predict_proba({"x": [2.0]}))


@pytest.mark.covers("N-08")
@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9])
def test_zero_variance_in_one_class_adds_a_fraction_of_the_columns_own_variance(unit):
    frame = pd.DataFrame(
        {
            "x": np.array([5.0, 5, 5, 1, 2, 9]) * unit,
            "big": np.array([1.0, 4, 2, 8, 5, 7]) * 1e6,
            "y": list("aaabbb"),
        }
    )
    with pytest.warns(ModelWarning, match="raised"):
        model = NaiveBayes(var_smoothing=1e-3).fit(frame, "y")
    whole = frame["x"].var(ddof=0)
    by_class = frame.groupby("y")["x"].var(ddof=0)
    assert model.product_.variance[:, 0] == pytest.approx(by_class.to_numpy() + 1e-3 * whole)
    assert model.product_.variance[:, 1] == pytest.approx(frame.groupby("y")["big"].var(ddof=0).to_numpy())
    assert np.isfinite(model.predict_proba(frame)).all()


@pytest.mark.covers("N-09")
def test_mixed_columns_in_one_model():
    frame = load("weather_numeric").frame
    model = NaiveBayes().fit(frame, "Play")
    assert {k.name for k in model.column_kinds_} == {"numeric", "nominal"}
    numbers = frame.select_dtypes("number")
    gaussian = GaussianNB().fit(numbers, frame["Play"])
    levels = NaiveBayes().fit(frame.drop(columns=[*numbers.columns, "Play"]), frame["Play"])
    joint = gaussian.predict_joint_log_proba(numbers) + levels.predict_joint_log_proba(
        frame.drop(columns=[*numbers.columns, "Play"])
    )
    assert model.predict_joint_log_proba(frame) == pytest.approx(joint - np.log(model.class_prior_))


@pytest.mark.covers("N-10", "SP-22")
def test_five_thousand_columns_do_not_underflow():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    X = rng.normal(y[:, None] * 0.5, 1.0, (40, 5000))
    shares = GaussianNB().fit(X, y).predict_proba(X)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.covers("N-11")
def test_given_priors_change_the_posterior_as_bayes_says(weather):
    base, other = NaiveBayes().fit(weather, "Play"), NaiveBayes(priors=[0.8, 0.2]).fit(weather, "Play")
    odds = base.predict_proba(weather) / base.class_prior_ * [0.8, 0.2]
    assert other.predict_proba(weather) == pytest.approx(odds / odds.sum(axis=1, keepdims=True))
    assert np.exp(base.log_evidence(weather)) == pytest.approx(
        np.exp(base.predict_joint_log_proba(weather)).sum(axis=1)
    )
    with pytest.raises(ValueError, match="sum to 1"):
        NaiveBayes(priors=[0.8, 0.8]).fit(weather, "Play")
    with pytest.raises(ValueError, match="each of the 2 classes"):
        NaiveBayes(priors=[1.0]).fit(weather, "Play")


@pytest.mark.covers("N-12")
def test_tables_show_counts_and_probabilities(weather):
    tables = NaiveBayes().fit(weather, "Play").tables()
    assert tables["(class)"]["count"].to_dict() == {"No": 5.0, "Yes": 9.0}
    assert tables["Windy"]["count"].to_numpy().tolist() == [[2, 3], [6, 3]]
    assert tables["Outlook"]["probability"].sum(axis=1).to_numpy() == pytest.approx(1.0)


@pytest.mark.covers("N-13")
def test_contributions_sum_to_the_log_odds(weather):
    model = NaiveBayes().fit(weather, "Play")
    explained = model.explain(weather)
    log = model.predict_log_proba(weather)
    prior = np.log(model.class_prior_[1] / model.class_prior_[0])
    assert prior + explained.log_odds("Yes", "No").sum(axis=1) == pytest.approx(log[:, 1] - log[:, 0])
    frame = explained.frame(0, label="Yes", against="No")
    assert frame["contribution"].iloc[:-1].sum() == pytest.approx(frame["contribution"].iloc[-1])


@pytest.mark.covers("N-14", "R-19")
def test_refitting_on_samples_recovers_the_parameters():
    frame = load("penguins").frame.drop(columns="year")
    model = NaiveBayes().fit(frame, "species")
    X, y = model.sample(50_000, seed=4)
    again = NaiveBayes(kinds={"island": "nominal"}).fit(X, y)
    assert again.class_prior_ == pytest.approx(model.class_prior_, abs=0.01)
    scale = np.sqrt(model.product_.variance)
    assert np.abs((again.product_.mean - model.product_.mean) / scale).max() < 0.05
    assert np.sqrt(again.product_.variance) == pytest.approx(scale, rel=0.05)
    assert np.exp(again.product_.log_prob) == pytest.approx(np.exp(model.product_.log_prob), abs=0.02)


@pytest.mark.covers("R-19", "FX-01")
def test_joint_evidence_and_posterior_are_one_distribution(weather):
    """p(x) is the sum of p(x, y) over y, p(y | x) = p(x, y) / p(x), and p(x) sums to 1 over all rows there can be."""
    model = NaiveBayes().fit(weather, "Play")
    levels = [sorted(weather[c].unique()) for c in ("Outlook", "Temp", "Humidity", "Windy")]
    every = pd.DataFrame(list(itertools.product(*levels)), columns=["Outlook", "Temp", "Humidity", "Windy"])
    joint, evidence = np.exp(model.predict_joint_log_proba(every)), np.exp(model.log_evidence(every))
    np.testing.assert_allclose(joint.sum(axis=1), evidence)
    np.testing.assert_allclose(joint / evidence[:, None], model.predict_proba(every))
    assert evidence.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(joint.sum(axis=0), model.class_prior_)
    drawn, _ = model.sample(20_000, seed=0)
    assert (drawn["Outlook"] == "Sunny").mean() == pytest.approx(evidence[every["Outlook"] == "Sunny"].sum(), abs=0.02)


@pytest.mark.covers("N-15")
def test_a_duplicated_column_is_flagged():
    frame = load("titanic").frame[["sex", "age", "pclass", "survived"]].assign(gender=lambda f: f["sex"])
    model = NaiveBayes().fit(frame, "survived")
    with pytest.warns(ModelWarning, match="'sex' and 'gender'"):
        found = model.check_independence(frame, "survived")
    assert found.iloc[0]["strength"] == pytest.approx(1.0, abs=0.02)
    assert found.iloc[0]["p_value"] < 1e-10
    assert found.iloc[1]["strength"] < 0.2


def test_independent_columns_are_not_flagged():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 5000)
    X = rng.normal(y[:, None], 1.0, (5000, 3))
    found = NaiveBayes().fit(X, y).check_independence(X, y)
    assert found["strength"].max() < 0.01


@pytest.mark.covers("N-16")
def test_an_unseen_value_drops_out_and_is_told(weather):
    model = NaiveBayes().fit(weather, "Play")
    with pytest.warns(UserWarning, match="'Foggy'; it counts as missing"):
        foggy = model.predict_proba(day("Foggy", "Hot", "High", True))
    assert foggy == pytest.approx(model.predict_proba(day(None, "Hot", "High", True)))


@pytest.mark.covers("X-12")
def test_missing_as_its_own_category_is_evidence():
    frame = pd.DataFrame({"x": [None] * 8 + ["a"] * 8, "y": ["sick"] * 8 + ["well"] * 8})
    ignoring = NaiveBayes().fit(frame, "y").predict_proba({"x": np.array([None], dtype=object)})[0]
    using = NaiveBayes(missing="own").fit(frame, "y").predict_proba({"x": np.array([None], dtype=object)})[0]
    assert ignoring == pytest.approx([0.5, 0.5])
    assert using[0] > 0.8


@pytest.mark.covers("D-05")
def test_changing_the_assumption_instead_of_the_data():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 2000)
    x = 2.0 * y + rng.choice([0.0, 4.0], 2000) + rng.normal(0, 0.3, 2000)  # two humps in each class
    X = x.reshape(-1, 1)
    assert NaiveBayes().fit(X, y).score(X, y) < 0.8
    assert NaiveBayes(numeric="bins", n_bins=4).fit(X, y).score(X, y) > 0.97
    assert "bins" in str(NaiveBayes(numeric="bins").fit(X, y).plan_)


def test_smoothing_is_reached_by_a_search():
    frame = load("car_evaluation").frame.sample(frac=1, random_state=0)
    search = GridSearchCV(NaiveBayes(smoothing=Laplace()), {"smoothing__alpha": [0.01, 1.0, 50.0]}, cv=3)
    search.fit(frame.drop(columns="acceptability"), frame["acceptability"])
    assert search.best_params_["smoothing__alpha"] in (0.01, 1.0)


def test_a_class_without_rows_in_a_part_is_possible():
    model = GaussianNB().partial_fit([[1.0], [2.0]], [0, 0], classes=[0, 1])
    assert model.predict_proba([[1.5]]).tolist() == [[1.0, 0.0]]
    model.partial_fit([[8.0], [9.0]], [1, 1])
    assert model.predict([[8.5]]).tolist() == [1]
    with pytest.raises(ValueError, match="do not list"):
        model.partial_fit([[1.0]], [2])


@pytest.mark.covers("R-20", "FX-01")
def test_the_evidence_never_changes_the_decision(weather):
    model = NaiveBayes().fit(weather, "Play")
    joint = model.predict_joint_log_proba(weather)
    assert (joint.argmax(axis=1) == (joint - model.log_evidence(weather)[:, None]).argmax(axis=1)).all()
    assert (model.predict(weather) == model.classes_[joint.argmax(axis=1)]).all()


def test_kernel_bounds_hold_for_a_tampered_model(weather):
    model = NaiveBayes().fit(weather, "Play")
    model.product_.offsets = np.array([0, 1, 2, 3, 4])
    with pytest.raises(ValueError, match="fit"):
        model.validate_state()
    with pytest.raises(ValueError):
        model.predict(weather)


def test_a_row_that_no_class_explains_is_decided_by_the_prior_and_told():
    frame = pd.DataFrame({"a": ["x", "x", "y", "y", "y"], "b": ["u", "u", "v", "v", "v"], "label": [0, 0, 1, 1, 1]})
    with pytest.warns(ModelWarning):
        model = NaiveBayes(alpha=0).fit(frame, "label")
    row = {"a": ["x"], "b": ["v"]}
    with pytest.warns(UserWarning, match="W205.*no class explains 1 of 1 rows"):
        assert model.predict_proba(row)[0] == pytest.approx([0.4, 0.6])
    with pytest.warns(UserWarning, match="W205"):
        assert model.predict(row).tolist() == [1]
    assert model.log_evidence(row)[0] == -np.inf
