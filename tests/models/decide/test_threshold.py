"""Thresholds: chosen out of fold for costs, measures and promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tilth import GaussianNB, LinearSVC, LogisticRegression, load
from tilth.errors import ModelWarning
from tilth.lifecycle.save import save
from tilth.models.decide.threshold import ThresholdClassifier
from tilth.parts.thresholds import (
    MEASURES,
    Goal,
    calibrated_threshold,
    candidates,
    counts_at,
    measure_name,
    measures,
    read_costs,
)


def planted(n: int, seed: int):
    """Rows whose log-odds of "sick" are 1.5 x - 1.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0]))
    return X, np.where(rng.random(n) < p, "sick", "well")


# ------------------------------------------------------------------------------------------------------------ the parts


def test_counts_agree_with_confusion_matrices():
    rng = np.random.default_rng(0)
    score, yes, weight = rng.random(60).round(1), rng.random(60) < 0.4, rng.random(60)
    thresholds = candidates(score)
    for w in (None, weight):
        found = counts_at(thresholds, score, yes, w)
        for t, row in zip(thresholds, found, strict=True):
            tn, fp, fn, tp = confusion_matrix(yes, score >= t, sample_weight=w, labels=[False, True]).ravel()
            np.testing.assert_allclose(row, [tp, fp, fn, tn])


def test_measures_agree_with_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(1)
    yes, given = rng.random(80) < 0.3, rng.random(80) < 0.4
    found = measures(counts_at(np.array([0.5]), given.astype(float), yes))
    assert set(found) == set(MEASURES)
    for name, function in (
        ("recall", metrics.recall_score), ("precision", metrics.precision_score), ("f1", metrics.f1_score),
        ("accuracy", metrics.accuracy_score), ("balanced accuracy", metrics.balanced_accuracy_score),
        ("mcc", metrics.matthews_corrcoef),
    ):  # fmt: skip
        assert found[name][0] == pytest.approx(function(yes, given)), name
    assert found["fpr"][0] == pytest.approx(1 - found["specificity"][0])
    assert found["fnr"][0] == pytest.approx(1 - found["recall"][0])
    assert np.isnan(measures(np.array([[0.0, 0.0, 5.0, 5.0]]))["precision"][0])


def test_the_choice_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(2)
    score = rng.random(300)
    yes = rng.random(300) < score
    thresholds = candidates(score)
    counts = counts_at(thresholds, score, yes)
    goal = Goal(costs=(0.0, 1.0, 4.0, 0.0))
    place, met = goal.choose(thresholds, counts)
    cost = (counts[:, 1] + 4 * counts[:, 2]) / 300
    assert met
    assert cost[place] == cost.min()
    tight = Goal(constraint=("precision", 0.9))
    place, met = tight.choose(thresholds, counts)
    found = measures(counts)
    allowed = found["precision"] >= 0.9
    assert met
    assert allowed[place]
    assert found["recall"][place] == found["recall"][allowed].max()
    assert not Goal(constraint=("precision", 1.0), maximise="f1").choose(thresholds[1:5], counts[1:5])[1]


def test_two_neighbours_without_a_number_between_them_are_parted():
    low = 1.0
    high = np.nextafter(low, 2)
    assert counts_at(candidates(np.array([low, high])), np.array([low, high]), np.array([False, True]))[1].tolist() == [
        1, 0, 0, 1,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({"fp": 1, "miss": 2}, "'miss'"),
        ({"fp": -1, "fn": 0}, "must cost more"),
        ({"fp": np.nan, "fn": 1}, "finite"),
        ({"fp": "1", "fn": 1}, "finite"),
        ([[0, 1, 2], [1, 0, 2]], "2 x 2"),
        ("cheap", "2 x 2"),
    ],
)
def test_costs_that_mean_nothing_are_refused(costs, words):
    with pytest.raises(ValueError, match=words):
        read_costs(costs, "me")


def test_a_table_of_costs_has_true_classes_as_rows():
    assert read_costs([[0, 1], [5, 0]], "me") == read_costs({"fp": 1, "fn": 5}, "me")


def test_an_unknown_measure_is_named():
    with pytest.raises(ValueError, match="'beauty'"):
        measure_name("beauty", "me")


# ------------------------------------------------------------------------------------------------------------ the model


@pytest.mark.covers("EV-25")
def test_planted_costs_lower_what_new_rows_cost():
    """Twelve tables: new rows always cost less than at 0.5, about as much as was told, and the gap is told too."""
    new, truth = planted(20_000, 1000)

    def cost(given):
        return ((given == "sick") & (truth == "well")).mean() + 9 * ((given == "well") & (truth == "sick")).mean()

    told, gaps, ideal = 0, 0, 0
    for seed in range(12):
        X, y = planted(400, seed)
        model = ThresholdClassifier(costs={"fp": 1, "fn": 9}, positive="sick").fit(X, y)
        own, plain = cost(model.predict(new)), cost(model.estimator_.predict(new))
        assert own < plain
        scores = model.scores_
        assert scores["difference"][0] == pytest.approx(scores["chosen"][0] - scores["plain"][0])
        told += scores["chosen"][1] <= own <= scores["chosen"][2]
        gaps += scores["difference"][1] <= own - plain <= scores["difference"][2]
        low, high = model.threshold_interval_
        assert low <= model.threshold_ <= high
        ideal += low <= calibrated_threshold((0.0, 1.0, 9.0, 0.0)) <= high
    # Of 12 intervals of 95%, fewer than 9 hold once in 5000 times.
    assert min(told, gaps, ideal) >= 9


@pytest.mark.covers("EV-25")
def test_the_chosen_point_lies_on_the_roc_curve():
    X, y = planted(400, 2)
    model = ThresholdClassifier(costs={"fp": 1, "fn": 3}).fit(X, y)
    curve = model.curve_
    chosen = curve[curve["threshold"] == model.threshold_].iloc[0]
    assert chosen["cost"] == curve["cost"].min()
    axes = model.plot().axes[1]
    line, point = axes.lines[1], axes.lines[2]
    on_line = np.column_stack(line.get_data())
    assert (np.abs(on_line - np.column_stack(point.get_data())[0]).max(axis=1) < 1e-12).any()
    assert (np.diff(curve["recall"]) <= 0).all()
    assert (np.diff(curve["fpr"]) <= 0).all()
    assert model.at(model.threshold_)["cost"] == chosen["cost"]


def test_scores_are_out_of_fold():
    """A model that remembers its rows is perfect on them; its threshold must not be chosen there."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    model = ThresholdClassifier(estimator=KNeighborsClassifier(1), maximise="accuracy").fit(X, y)
    assert model.curve_["accuracy"].max() < 0.65
    assert (model.estimator_.predict(X) == y).all()


@pytest.mark.parametrize(("word", "bound"), [("recall", 0.9), ("precision", 0.7), ("fpr", 0.1), ("positive rate", 0.2)])
def test_a_constraint_is_kept_out_of_sample_within_its_interval(word, bound):
    from tilth.stats.bounds import wilson_bounds

    X, y = planted(2000, 4)
    new, truth = planted(3000, 5)
    model = ThresholdClassifier(constraint=(word, bound), positive="sick").fit(X, y)
    assert model.met_
    given, sick = model.predict(new) == "sick", truth == "sick"
    hits, n = {
        "recall": ((given & sick).sum(), sick.sum()),
        "precision": ((given & sick).sum(), given.sum()),
        "fpr": ((given & ~sick).sum(), (~sick).sum()),
        "positive rate": (given.sum(), len(given)),
    }[word]
    # The bound was met on 2000 other rows, so both samples spread: a 99.9% interval holds it.
    low, high = wilson_bounds(hits, n, 0.999)
    assert low <= bound <= high
    assert "holds about every other time" in model.summary()


def test_a_constraint_that_cannot_be_kept_is_told():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(200, 1)), rng.integers(0, 2, 200)
    with pytest.warns(ModelWarning, match="precision at least 0.99") as seen:
        model = ThresholdClassifier(constraint=("precision", 0.99)).fit(X, y)
    assert seen[0].message.code == "W212"
    assert not model.met_
    assert "cannot be met" in model.summary()


def test_parity_with_scikit_learn_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(0, 569, 2), np.arange(1, 569, 2)
    inner = make_pipeline(StandardScaler(), SkLogistic())
    ours = ThresholdClassifier(estimator=inner, maximise="balanced accuracy").fit(X[train], y[train])
    peer = TunedThresholdClassifierCV(inner, scoring="balanced_accuracy", cv=5).fit(X[train], y[train])
    mine, theirs = (balanced_accuracy_score(y[test], m.predict(X[test])) for m in (ours, peer))
    assert mine >= theirs - 0.015
    np.testing.assert_allclose(ours.predict_proba(X[test]), peer.predict_proba(X[test]))


def test_many_classes_answer_the_least_expected_cost():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 300)
    X = np.eye(3)[y] + rng.normal(0, 0.8, (300, 3))
    costs = np.array([[0.0, 1.0, 1.0], [20.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    model = ThresholdClassifier(costs=costs).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), (p @ costs).argmin(axis=1))
    plain = ThresholdClassifier().fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), p.argmax(axis=1))
    paid = costs[y, model.predict(X)].mean()
    assert paid < costs[y, plain.predict(X)].mean()
    with pytest.raises(AttributeError, match="no threshold"):
        model.at(0.5)
    assert not hasattr(model, "curve_")
    assert model.plot() is not None


def test_a_model_without_probabilities_is_asked_for_its_distances():
    X, y = planted(300, 8)
    model = ThresholdClassifier(estimator=LinearSVC(), costs={"fp": 1, "fn": 9}, positive="sick").fit(X, y)
    assert model.threshold_ < 0
    assert not hasattr(model, "predict_proba")
    assert (model.predict(X) == "sick").mean() > (model.estimator_.predict(X) == "sick").mean()
    # The last class is "well", and a positive decision speaks for it.
    np.testing.assert_array_equal(model.decision_function(X) <= 0, model.predict(X) == "sick")


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier that gives labels alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"estimator": Silent()}, TypeError, "has neither"),
        ({"estimator": LogisticRegression}, TypeError, "not a class"),
        ({"estimator": object()}, TypeError, "must be a classifier"),
        ({"estimator": make_pipeline(StandardScaler())}, TypeError, "must be a classifier"),
        ({"positive": "dead"}, ValueError, "'dead'"),
        ({"costs": {"fp": 1, "fn": 1}, "maximise": "f1"}, ValueError, "two goals"),
        ({"constraint": ("recall", 2)}, ValueError, "between 0 and 1"),
        ({"constraint": "recall"}, ValueError, "between 0 and 1"),
        ({"maximise": "joy"}, ValueError, "'joy'"),
    ],
)
def test_bad_settings_are_refused_in_words_and_change_nothing(settings, error, words):
    X, y = planted(60, 9)
    model = ThresholdClassifier().fit(X, y).set_params(**settings)
    before = dict(vars(model))
    with pytest.raises(error, match=words):
        model.fit(X, y)
    assert vars(model) == before


def test_words_about_two_classes_are_refused_for_three():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    with pytest.raises(ValueError, match="two classes, found 3"):
        ThresholdClassifier(maximise="f1").fit(X, y)
    with pytest.raises(ValueError, match="3 x 3"):
        ThresholdClassifier(costs={"fp": 1, "fn": 2}).fit(X, y)
    with pytest.raises(TypeError, match="CalibratedClassifier"):
        ThresholdClassifier(estimator=LinearSVC()).fit(X, y)


@pytest.mark.filterwarnings("ignore::tilth.errors.ModelWarning")  # a class of one row does not vary
@pytest.mark.parametrize("inner", [GaussianNB(), SkLogistic(), LinearSVC()])
def test_a_class_of_one_row_is_missing_in_a_fold_and_nothing_breaks(inner):
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.array(["no"] * 11 + ["yes"])
    model = ThresholdClassifier(estimator=inner, folds=4).fit(X, y)
    assert set(model.predict(X)) <= {"no", "yes"}


def test_mixed_tables_reach_models_of_other_libraries():
    rng = np.random.default_rng(10)
    frame = pd.DataFrame(
        {"size": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200), "wet": rng.random(200) < 0.5}
    )
    frame.loc[3, "size"] = np.nan
    frame["good"] = np.where((frame["colour"] == "red") & frame["wet"], "yes", "no")
    plain = ThresholdClassifier(estimator=SkLogistic()).fit(frame, "good")
    assert plain.score(frame, frame["good"]) > 0.95
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour", "wet"])), SkLogistic()
    )  # fmt: skip
    piped = ThresholdClassifier(estimator=pipeline).fit(frame, "good")
    assert piped.score(frame[["wet", "good", "colour", "size"]], frame["good"]) > 0.95
    assert piped.estimator_.named_steps["logisticregression"].coef_.shape == (1, 4)


def test_rows_of_a_group_stay_together():
    """Rows of a group are copies of each other: only folds that part groups would see through the noise."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(11)
    who = np.repeat(np.arange(60), 5)
    X = rng.normal(size=(60, 3))[who]
    y = rng.integers(0, 2, 60)[who]
    inner = KNeighborsClassifier(1)
    apart = ThresholdClassifier(estimator=inner, maximise="accuracy").fit(X, y)
    together = ThresholdClassifier(estimator=inner, maximise="accuracy").fit(X, y, groups=who)
    assert apart.curve_["accuracy"].max() == 1.0
    assert together.curve_["accuracy"].max() < 0.75
    weighted = ThresholdClassifier(estimator=LogisticRegression()).fit(X, y, np.r_[0.0, np.ones(299)], groups=who)
    assert weighted.counts_[0].sum() == 299
    with pytest.raises(ValueError, match="at least 2 groups"):
        ThresholdClassifier().fit(X, y, groups=np.zeros(300))
    with pytest.raises(ValueError, match="groups needs one entry for each of the 300 rows"):
        ThresholdClassifier().fit(X, y, groups=who[:10])


def test_weights_count_rows():
    X, y = planted(300, 12)
    heavy = np.where(y == "sick", 5.0, 1.0)
    model = ThresholdClassifier(maximise="accuracy", positive="sick").fit(X, y, heavy)
    assert model.counts_[0, :2].sum() == heavy.sum()
    with pytest.raises(TypeError, match="takes no sample_weight"):
        ThresholdClassifier(estimator=Knn()).fit(X, y, heavy)


class Knn(ClassifierMixin, BaseEstimator):
    """A classifier that takes no weights."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_saved_and_loaded(tmp_path):
    X, y = planted(150, 13)
    model = ThresholdClassifier(costs={"fp": 1, "fn": 4}).fit(X, y)
    path = save(model, tmp_path / "m.tilth", classes=[ThresholdClassifier])
    again = load(path, classes=[ThresholdClassifier])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.curve_.equals(model.curve_)
    assert again.summary() == model.summary()
    foreign = ThresholdClassifier(estimator=SkLogistic()).fit(X, y)
    with pytest.raises(TypeError, match="cannot be saved"):
        save(foreign, tmp_path / "f.tilth", classes=[ThresholdClassifier])


def test_a_threshold_is_judged_by_folds_that_did_not_choose_it():
    """Scores that say nothing: on the rows that chose it a threshold always looks better than the plain border."""
    honest, flattered = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 1)), np.arange(60) % 2
        model = ThresholdClassifier(estimator=SkLogistic(), maximise="accuracy", folds=5).fit(X, y)
        honest.append(model.scores_["chosen"][0])
        flattered.append(model.curve_["accuracy"].max())
    assert np.mean(honest) < np.mean(flattered) - 0.04
    assert np.mean(honest) == pytest.approx(0.5, abs=0.05)
