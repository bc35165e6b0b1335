"""Zero-R and One-R: worked numbers of the weather table, Holte's buckets, ties, experts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth import OneRClassifier, ZeroRClassifier, ZeroRRegressor
from tilth.data.datasets import load


@pytest.fixture
def weather():
    return load("weather").frame


@pytest.mark.covers("B-01")
def test_zero_r_on_weather(weather):
    model = ZeroRClassifier().fit(weather, "Play")
    assert set(model.predict(weather)) == {"Yes"}
    assert model.score(weather.drop(columns="Play"), weather["Play"]) == pytest.approx(9 / 14)
    assert model.predict_proba(weather)[0] == pytest.approx([5 / 14, 9 / 14])


@pytest.mark.covers("B-01")
def test_zero_r_regression_is_the_weighted_mean():
    model = ZeroRRegressor().fit([[0], [1], [2]], [1.0, 2.0, 9.0], sample_weight=[1, 1, 2])
    assert model.predict([[7]])[0] == pytest.approx(21 / 4)
    assert model.score([[0], [1]], [5.25, 5.25]) == 1.0


@pytest.mark.covers("B-02", "WN-07")
def test_one_r_errors_and_tie_rule(weather):
    model = OneRClassifier().fit(weather, "Play")
    assert model.errors_ == {"Outlook": 4, "Temp": 5, "Humidity": 4, "Windy": 5}
    assert model.feature_ == "Outlook"  # the first of the tied columns in table order
    reordered = weather[["Humidity", "Outlook", "Temp", "Windy", "Play"]]
    assert OneRClassifier().fit(reordered, "Play").feature_ == "Humidity"
    assert model.rules().splitlines()[0] == "Outlook = Overcast -> Yes (4 of 4)"


@pytest.mark.covers("WN-08")
def test_share_of_yes_given_sunny(weather):
    model = OneRClassifier(feature="Outlook").fit(weather, "Play")
    sunny = model.rule_.counts[list(model.rule_.kind.levels).index("Sunny")]
    assert sunny[1] / sunny.sum() == pytest.approx(2 / 5)


@pytest.mark.covers("B-03", "SP-20")
def test_one_r_by_an_expert(weather):
    model = OneRClassifier(feature="Windy").fit(weather, "Play")
    assert model.errors_["Windy"] == 5
    assert (model.predict(weather) != weather["Play"]).sum() == 5
    with pytest.raises(ValueError, match="no column 'Wind'"):
        OneRClassifier(feature="Wind").fit(weather, "Play")


def test_tie_within_a_branch_goes_to_the_class_more_frequent_overall(weather):
    model = OneRClassifier(feature="Windy").fit(weather, "Play")
    windy = weather[weather["Windy"]]
    assert windy["Play"].value_counts().to_dict() == {"Yes": 3, "No": 3}
    assert set(model.predict(windy)) == {"Yes"}


def test_numeric_threshold_is_found():
    x = np.arange(40.0)
    frame = pd.DataFrame({"noise": np.tile([0.0, 1.0], 20), "x": x, "y": np.where(x > 17, "high", "low")})
    model = OneRClassifier(min_bucket=3).fit(frame, "y")
    assert model.feature_ == "x"
    assert model.rule_.edges == pytest.approx([17.5])
    assert model.score(frame, frame["y"]) == 1.0
    assert "x <= 17.5 -> low" in model.rules()


def test_larger_buckets_make_fewer_branches():
    iris = load("iris").frame
    branches = [
        len(OneRClassifier(feature="sepal_length", min_bucket=b).fit(iris, "species").branches()) for b in (1, 3, 6, 15)
    ]
    assert branches == sorted(branches, reverse=True)
    assert branches[0] > branches[-1]


def test_missing_is_a_branch_of_its_own():
    frame = pd.DataFrame({"x": [1.0, 1.0, 2.0, 2.0, None, None, None], "y": ["a", "a", "b", "b", "c", "c", "c"]})
    model = OneRClassifier(min_bucket=1).fit(frame, "y")
    assert model.predict(frame).tolist() == frame["y"].tolist()
    assert model.rules().splitlines()[-1] == "x missing -> c (3 of 3)"


def test_unseen_level_answers_like_zero_r(weather):
    model = OneRClassifier().fit(weather, "Play")
    with pytest.warns(UserWarning, match="Foggy"):
        made = model.predict({"Outlook": ["Foggy"], "Temp": ["Hot"], "Humidity": ["High"], "Windy": [True]})
    assert made.tolist() == ["Yes"]


def test_one_column_cannot_learn_an_interaction():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    assert OneRClassifier().fit(X, y).score(X, y) <= 0.75


def test_recipes_name_the_special_case_optimisers():
    assert "closed form" in ZeroRClassifier().recipe().optimiser
    assert "fewest errors" in OneRClassifier().recipe().optimiser


def test_a_file_does_not_hold_the_distinct_numbers_and_says_so_when_learning_goes_on(tmp_path):
    iris = load("iris").frame
    model = OneRClassifier().fit(iris, "species")
    again = tilth.load(tilth.save(model, tmp_path / "one.tilth"))
    assert not hasattr(again, "statistic_")
    assert (again.predict(iris) == model.predict(iris)).all()
    with pytest.raises(TypeError, match="does not hold the counts and sums"):
        again.partial_fit(iris, "species")
    model.partial_fit(iris, "species")
