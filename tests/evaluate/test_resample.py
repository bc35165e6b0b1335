import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as peer

from tilth import progress
from tilth.data.datasets import load, make_mixed
from tilth.evaluate.metrics import CLASSIFICATION, REGRESSION, Answers
from tilth.evaluate.resample import cross_validate, stratified_folds
from tilth.models.bayes.naive_bayes import NaiveBayes
from tilth.models.rules.one_r import OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor


@pytest.fixture(scope="module")
def weather():
    return cross_validate(
        {"Zero-R": ZeroRClassifier(), "One-R": OneRClassifier(), "Naive Bayes": NaiveBayes()},
        load("weather").frame,
        "Play",
    )


@pytest.mark.covers("EV-05")
def test_three_folds_of_3000_rows():
    fold = stratified_folds(np.zeros(3000), 3)
    assert np.bincount(fold).tolist() == [1000, 1000, 1000]
    assert not np.array_equal(fold, stratified_folds(np.zeros(3000), 3, seed=1))
    assert np.array_equal(fold, stratified_folds(np.zeros(3000), 3, seed=0))


@pytest.mark.covers("EV-06")
@pytest.mark.parametrize("folds", [2, 5, 7])
def test_stratified_folds_keep_class_shares(folds):
    classes = np.random.default_rng(0).choice(4, size=203, p=[0.5, 0.3, 0.15, 0.05])
    fold = stratified_folds(classes, folds)
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for c in range(4):
        counts = np.bincount(fold[classes == c], minlength=folds)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("folds", [1, 6])
def test_impossible_folds_are_refused(folds):
    with pytest.raises(ValueError, match="at least 2 and at most the number of rows, 5"):
        stratified_folds(np.zeros(5), folds)


@pytest.mark.covers("B-05")
def test_every_model_stands_beside_the_baseline(weather):
    frame = weather.frame()
    assert set(frame["model"]) == {"Zero-R", "One-R", "Naive Bayes"}
    others = frame[frame["model"] != "Zero-R"]
    assert others[["difference", "difference low", "difference high"]].notna().all().all()
    assert weather.n_folds == 5  # the smaller class has five rows
    assert weather.scores["Zero-R"]["accuracy"].value == pytest.approx(9 / 14)
    assert weather.best == "Naive Bayes"
    assert "Naive Bayes has the best accuracy" in weather.verdict()


@pytest.mark.covers("EV-13")
def test_a_small_sample_is_called_small(weather):
    assert weather.caution().startswith("Only 14 rows: the interval of the accuracy of Naive Bayes is 0.4 wide")
    assert weather.sections()[0].advice == weather.caution()
    big = cross_validate({"One-R": OneRClassifier()}, load("iris").frame, "species")
    assert big.caution() == ""


@pytest.mark.covers("EV-14")
def test_mean_and_spread_over_folds_are_reported(weather):
    frame = weather.frame()
    row = frame[(frame["model"] == "Naive Bayes") & (frame["score"] == "accuracy")].iloc[0]
    right = weather.predictions["Naive Bayes"] == weather.y
    by_fold = [right[weather.fold == k].mean() for k in range(weather.n_folds)]
    assert row["fold mean"] == pytest.approx(np.mean(by_fold))
    assert row["fold sd"] == pytest.approx(np.std(by_fold, ddof=1))


@pytest.mark.covers("EV-23")
def test_classification_scores_agree_with_scikit_learn():
    data = load("penguins")
    found = cross_validate({"Naive Bayes": NaiveBayes()}, data.frame, data.target, kinds=data.kinds)
    given, shares = found.predictions["Naive Bayes"], found.probabilities["Naive Bayes"]
    scores = found.scores["Naive Bayes"]
    assert scores["accuracy"].value == pytest.approx(peer.accuracy_score(found.y, given))
    assert scores["accuracy"].value == pytest.approx(1 - peer.zero_one_loss(found.y, given))
    assert scores["balanced accuracy"].value == pytest.approx(peer.balanced_accuracy_score(found.y, given))
    assert scores["log loss"].value == pytest.approx(peer.log_loss(found.y, shares, labels=found.classes))
    for interval in scores.values():
        assert interval.low <= interval.value <= interval.high


def test_regression_scores_agree_with_scikit_learn():
    data = load("auto_mpg")
    found = cross_validate({"mean": ZeroRRegressor()}, data.frame, data.target)
    assert found.baseline == "mean"
    given, scores = found.predictions["mean"], found.scores["mean"]
    assert scores["RMSE"].value == pytest.approx(np.sqrt(peer.mean_squared_error(found.y, given)))
    assert scores["MAE"].value == pytest.approx(peer.mean_absolute_error(found.y, given))
    assert scores["R2"].value == pytest.approx(peer.r2_score(found.y, given))
    assert found.verdict().startswith("Only mean was tried")


def test_each_row_is_predicted_by_models_that_have_not_seen_it():
    # The column names the row: a model that had seen a row would know its label.
    n = 60
    rows = pd.DataFrame({"row": [f"r{i}" for i in range(n)]})
    labels = np.random.default_rng(0).choice(["a", "b"], size=n)
    found = cross_validate({"rule": OneRClassifier()}, rows, labels, kinds={"row": "nominal"})
    assert found.scores["rule"]["accuracy"].value < 0.75
    assert any("not seen in training" in note and "10 folds" in note for note in found.notes)


@pytest.mark.covers("LC-06")
def test_the_same_seed_gives_the_same_scores_and_models_are_left_alone():
    data = load("titanic")
    model = NaiveBayes()
    first, second = (cross_validate({"nb": model}, data.frame, data.target, seed=3).to_dict() for _ in range(2))
    assert first == second
    assert not hasattr(model, "classes_")
    assert model.kinds is None


def test_balanced_accuracy_interval_is_that_of_the_ratio_bootstrap():
    rng = np.random.default_rng(5)
    true = rng.choice(3, size=300, p=[0.6, 0.3, 0.1])
    given = np.where(rng.random(300) < 0.7, true, rng.choice(3, size=300))
    metric = CLASSIFICATION[1]
    rows = metric.rows(Answers(true, given))
    ratios = []
    for _ in range(2000):
        i = rng.integers(0, 300, 300)
        ratios.append(peer.balanced_accuracy_score(true[i], given[i]))
    assert rows.mean() == pytest.approx(peer.balanced_accuracy_score(true, given))
    assert rows.std() / np.sqrt(300) == pytest.approx(np.std(ratios), rel=0.1)


@pytest.mark.covers("EV-31")
def test_differences_favour_the_better_model_with_the_right_sign():
    data = make_mixed(2000, seed=0)
    found = cross_validate({"nb": NaiveBayes()}, data.frame, data.target)
    gain = found.differences["nb"]
    for metric in ("accuracy", "log loss"):
        both = [found.scores[name][metric].value for name in ("nb", "Zero-R")]
        assert gain[metric].value == pytest.approx(both[0] - both[1])
        assert gain[metric].low <= gain[metric].value <= gain[metric].high
    # Paired by row: far narrower than if the two models had been tested on different rows.
    right = [found.predictions[name] == found.y for name in ("nb", "Zero-R")]
    paired = (right[0].astype(float) - right[1]).std() / np.sqrt(len(found.y))
    assert gain["accuracy"].high - gain["accuracy"].low == pytest.approx(2 * 1.96 * paired, rel=0.1)


def test_a_class_of_one_row_is_told_not_fatal():
    rows = pd.DataFrame({"x": np.arange(12.0)})
    labels = ["a"] * 6 + ["b"] * 5 + ["c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_validate({"nb": NaiveBayes()}, rows, labels)
    assert found.n_folds == 2
    assert any("'c'" in note for note in found.notes)


def test_a_constant_target_of_regression_has_no_variance_to_explain():
    found = cross_validate({"mean": ZeroRRegressor()}, [[1.0], [2.0], [3.0]], [5.0, 5.0, 5.0])
    assert found.scores["mean"]["RMSE"].value == 0
    assert found.scores["mean"]["R2"].value == 0
    assert REGRESSION[2].name == "R2"


def test_arrays_and_sparse_matrices_are_scored_too():
    from scipy.sparse import csr_matrix

    from tilth.models.bayes.text import MultinomialNB

    counts = np.random.default_rng(0).poisson(1.0, size=(40, 6))
    y = np.repeat([0, 1], 20)
    dense = cross_validate({"nb": MultinomialNB()}, counts.astype(float), y)
    sparse = cross_validate({"nb": MultinomialNB()}, csr_matrix(counts.astype(float)), y)
    assert sparse.scores["nb"]["log loss"].value == pytest.approx(dense.scores["nb"]["log loss"].value)


def test_folds_are_reported_as_progress():
    events = []
    with progress.listen(events.append):
        cross_validate({"rule": OneRClassifier()}, load("weather").frame, "Play", folds=3)
    outer = [e for e in events if e["title"] == "Cross-validation"]
    assert outer[-1]["done"] == outer[-1]["total"] == 6


@pytest.mark.parametrize(
    ("models", "error", "match"),
    [
        ({}, ValueError, "at least one model"),
        ({"a": ZeroRClassifier(), "b": ZeroRRegressor()}, ValueError, "models of one task"),
        ({"a": object()}, TypeError, "'a' is a object"),
    ],
)
def test_wrong_models_are_refused(models, error, match):
    with pytest.raises(error, match=match):
        cross_validate(models, [[1.0], [2.0]], [0, 1])


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="at least 2 rows"):
        cross_validate({"a": ZeroRClassifier()}, [[1.0]], [0])
