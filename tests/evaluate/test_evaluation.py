import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as peer

import tilth
from tilth import DecisionTreeClassifier, NaiveBayes, OneRClassifier, Ridge, ZeroRClassifier, ZeroRRegressor, evaluate
from tilth.data.datasets import load
from tilth.evaluate.metrics import metric


@pytest.fixture(scope="module")
def penguins():
    data = load("penguins")
    return evaluate(NaiveBayes(), data.frame, data.target, kinds=data.kinds)


@pytest.mark.covers("B-05", "SP-10")
def test_every_model_stands_beside_the_baselines(penguins):
    frame = penguins.frame()
    assert list(frame["model"].unique()) == ["Zero-R", "One-R", "NaiveBayes"]
    others = frame[frame["model"] != "Zero-R"]
    assert others[["difference", "difference low", "difference high"]].notna().all().all()
    assert "better than Zero-R" in penguins.verdict()
    assert "One-R" in penguins.verdict()
    assert penguins.gain("One-R").value == pytest.approx(
        penguins.score().value - penguins.scores["One-R"]["accuracy"].value, abs=0.02
    )


@pytest.mark.covers("EV-23")
def test_classification_scores_agree_with_scikit_learn(penguins):
    answers = penguins.resampling.pooled("NaiveBayes")
    true, given = answers.classes[answers.true], answers.classes[answers.given]
    scores = penguins.scores["NaiveBayes"]
    assert scores["accuracy"].value == pytest.approx(peer.accuracy_score(true, given))
    assert scores["balanced accuracy"].value == pytest.approx(peer.balanced_accuracy_score(true, given))
    assert scores["log loss"].value == pytest.approx(peer.log_loss(true, answers.probability, labels=answers.classes))
    for interval in scores.values():
        assert interval.low <= interval.value <= interval.high


def test_regression_scores_agree_with_scikit_learn():
    data = load("auto_mpg")
    found = evaluate(Ridge(), data.frame, data.target)
    answers = found.resampling.pooled("Ridge")
    scores = found.scores["Ridge"]
    assert scores["RMSE"].value == pytest.approx(np.sqrt(peer.mean_squared_error(answers.true, answers.given)))
    assert scores["MAE"].value == pytest.approx(peer.mean_absolute_error(answers.true, answers.given))
    assert scores["R2"].value == pytest.approx(peer.r2_score(answers.true, answers.given))
    assert "better than Zero-R" in found.verdict()
    assert found.shares()["mean error (target - answer)"][0] == pytest.approx((answers.true - answers.given).mean())


@pytest.mark.covers("EV-09")
def test_the_bootstrap_estimates_by_the_rows_that_were_not_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    found = evaluate(DecisionTreeClassifier(), X, y, split="bootstrap", repeats=20)
    answers, splits = found.resampling.trials["DecisionTreeClassifier"].answers, found.resampling.splits
    assert splits.kind == "bootstrap"
    assert len(answers) == len(splits) == 20
    for part, answer in zip(splits, answers, strict=True):
        assert len(part.train) == 80
        assert sorted(part.test) == sorted(set(range(80)) - set(part.train))
        assert (answer.true == y[part.test]).all()
    by_sample = [np.mean(a.true == a.given) for a in answers]
    assert found.score().value == pytest.approx(np.mean(by_sample), abs=0.02)
    assert found.score().value == pytest.approx(0.5, abs=0.08), (
        "labels are coin flips: rows that were drawn have no say"
    )
    assert found.resampling.train_scores("DecisionTreeClassifier", metric("accuracy")).mean() > 0.7


@pytest.mark.covers("EV-13", "SP-06")
def test_a_small_test_is_called_small():
    found = evaluate(NaiveBayes(), load("weather").frame, "Play")
    assert found.caution("NaiveBayes").startswith(
        "Only 14 rows were tested: the interval of the accuracy of NaiveBayes is 0.4"
    )
    assert found.sections()[0].advice == found.caution("NaiveBayes")
    data = load("iris")
    assert evaluate(OneRClassifier(), data.frame, data.target).caution("OneRClassifier") == ""
    rng = np.random.default_rng(0)
    rare = evaluate(ZeroRClassifier(), rng.normal(size=(200, 2)), np.r_[np.zeros(198, int), 1, 1])
    assert "2 of '1'" in rare.caution("ZeroRClassifier")


@pytest.mark.covers("EV-14", "SP-07")
def test_mean_and_spread_over_folds_are_reported(penguins):
    frame = penguins.frame()
    row = frame[(frame["model"] == "NaiveBayes") & (frame["score"] == "accuracy")].iloc[0]
    by_fold = [np.mean(a.true == a.given) for a in penguins.resampling.trials["NaiveBayes"].answers]
    assert row["fold mean"] == pytest.approx(np.mean(by_fold))
    assert row["fold sd"] == pytest.approx(np.std(by_fold, ddof=1))
    assert len(by_fold) == len(penguins.resampling.splits) == 10


@pytest.mark.covers("EV-34", "SP-03")
def test_training_scores_are_called_optimistic(penguins):
    assert "training score (optimistic)" in penguins.frame()
    assert "optimistic" in penguins.how()


@pytest.mark.covers("BV-05")
def test_predicted_shares_stand_beside_true_ones():
    found = evaluate(ZeroRClassifier(), np.arange(40.0)[:, None], ["no"] * 30 + ["yes"] * 10)
    shares = found.shares()
    assert shares.loc["no", "predicted"] == 1.0
    assert shares.loc["no", "true"] == 0.75
    assert shares["predicted - true"].sum() == pytest.approx(0)


@pytest.mark.covers("LC-06")
def test_the_same_seed_gives_the_same_scores_and_the_model_is_left_alone():
    data, model = load("titanic"), NaiveBayes()
    first, second = (evaluate(model, data.frame, data.target, seed=3).to_dict() for _ in range(2))
    assert first == second
    json.dumps(first)
    assert not hasattr(model, "classes_")
    assert model.kinds is None


def test_training_and_test_rows_are_compared():
    frame = pd.DataFrame({"x": np.r_[np.random.default_rng(0).normal(size=150), np.full(50, 9.0)], "y": [0, 1] * 100})
    found = evaluate(ZeroRClassifier(), frame, "y", split="holdout", time=np.arange(200), test_size=0.25)
    assert "x" in str(found.shift())


def test_what_is_shown_is_drawn_and_told(penguins):
    assert penguins.plot().axes
    pages = penguins.sections()
    assert pages[0].title == "Scores"
    assert "agree" in pages[1].text
    assert "NaiveBayes: accuracy" in str(penguins)


def test_a_baseline_given_as_the_model_is_not_shown_twice():
    found = evaluate(ZeroRRegressor(), [[1.0], [2.0], [3.0]], [5.0, 5.0, 5.0])
    assert list(found.scores) == ["ZeroRRegressor"]
    assert found.score("R2").value == 1
    assert found.score().value == 0


def test_the_package_is_the_function():
    assert tilth.evaluate is evaluate
    assert callable(tilth.evaluate)


@pytest.mark.parametrize("name", ["iris", "titanic", "auto_mpg", "german_credit"])
def test_every_light_check_can_be_made(name):
    data = load(name)
    model = Ridge() if name == "auto_mpg" else NaiveBayes()
    found = evaluate(model, data.frame, data.target, kinds=data.kinds, folds=3)
    assert not [note for note in found.notes if "could not be made" in note]
