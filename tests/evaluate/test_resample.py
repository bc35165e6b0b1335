import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import progress
from tilth.data.datasets import load
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import USUAL, Metric
from tilth.evaluate.problem import prepared, task_of_models
from tilth.evaluate.resample import resample
from tilth.evaluate.splits import make_splits
from tilth.models.bayes.naive_bayes import NaiveBayes
from tilth.models.bayes.text import MultinomialNB
from tilth.models.rules.one_r import OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor

ACCURACY, BALANCED, LOG_LOSS = USUAL["classification"]
RMSE = USUAL["regression"][0]


class Moody(ZeroRClassifier):
    """Raises on some splits."""

    def fit(self, X, y=None, sample_weight=None):
        if y is not None and str(np.asarray(y)[0]) == "b":
            raise ValueError("not in the mood")
        return super().fit(X, y, sample_weight)


def run(models, X, y, split="auto", task="classification", **kwargs):
    options = {k: kwargs.pop(k) for k in ("kinds", "groups", "time", "sample_weight") if k in kwargs}
    problem = prepared(X, y, task=task, **options)
    splits = make_splits(split, problem.target, task=task, groups=problem.groups, time=problem.time)
    return resample(models, problem, splits, **kwargs)


@pytest.mark.covers("SP-04")
def test_each_row_is_predicted_by_models_that_have_not_seen_it():
    # The column names the row: a model that had seen a row would know its label.
    rows = pd.DataFrame({"row": [f"r{i}" for i in range(60)]})
    labels = np.random.default_rng(0).choice(["a", "b"], size=60)
    found = run({"rule": OneRClassifier()}, rows, labels, kinds={"row": "nominal"})
    assert found.score("rule", ACCURACY).value < 0.75
    assert found.train_scores("rule", ACCURACY).mean() == 1.0
    assert any("not seen in training" in note and "10 fits" in note for note in found.trials["rule"].notes())


def test_pipelines_and_models_of_others_are_taken():
    data = load("iris")
    peer = make_pipeline(StandardScaler(), PeerLogistic())
    found = run({"nb": NaiveBayes(), "peer": peer}, data.frame, data.target)
    assert found.score("peer", ACCURACY).value > 0.9
    assert found.score("peer", LOG_LOSS).value < 0.3


def test_arrays_and_sparse_matrices_are_scored_too():
    counts = np.random.default_rng(0).poisson(1.0, size=(40, 6)).astype(float)
    y = np.repeat([0, 1], 20)
    dense, sparse = (run({"nb": MultinomialNB()}, X, y) for X in (counts, csr_matrix(counts)))
    assert sparse.score("nb", LOG_LOSS).value == pytest.approx(dense.score("nb", LOG_LOSS).value)


def test_a_failing_split_is_noted_and_the_others_count():
    labels = ["a"] * 10 + ["b"] * 10
    pairs = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    found = run({"moody": Moody(), "zero": ZeroRClassifier()}, np.arange(20.0)[:, None], labels, split=pairs)
    assert found.trials["moody"].failures == {0: "ValueError: not in the mood"}
    assert np.isnan(found.fold_scores("moody", ACCURACY)[0])
    assert found.score("moody", ACCURACY).n == 10
    assert "failed in 1 of 2 splits" in found.trials["moody"].notes()[-1]
    assert found.difference("moody", "zero", ACCURACY).value == 0


def test_a_model_that_always_fails_is_an_error_unless_it_may():
    labels = ["b", "a"] * 10
    rows = np.arange(20.0)[:, None]
    with pytest.raises(RuntimeError, match="moody failed on every split, first: ValueError: not in the mood"):
        run({"moody": Moody()}, rows, labels, split=[(np.arange(10), np.arange(10, 20))])
    run({"moody": Moody()}, rows, labels, split=[(np.arange(10), np.arange(10, 20))], may_fail={"moody"})


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    calls = []

    def stop(self, *args, **kwargs):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    original = ZeroRClassifier.fit
    monkeypatch.setattr(ZeroRClassifier, "fit", stop)
    found = run({"zero": ZeroRClassifier()}, np.arange(20.0)[:, None], [0, 1] * 10, split=5)
    assert found.interrupted
    assert len(found.trials["zero"].outcomes) == 3
    calls.extend([1, 1, 1])
    with pytest.raises(KeyboardInterrupt):
        run({"zero": ZeroRClassifier()}, np.arange(20.0)[:, None], [0, 1] * 10, split=5)


def test_a_fit_that_hangs_is_given_up():
    # A model that can travel to another process and never comes back: none of ours does, so its fit is replaced.
    found = run({"zero": ZeroRClassifier()}, np.arange(20.0)[:, None], [0, 1] * 10, split=2, timeout=60)
    here = run({"zero": ZeroRClassifier()}, np.arange(20.0)[:, None], [0, 1] * 10, split=2)
    assert found.score("zero", ACCURACY) == here.score("zero", ACCURACY)


def test_scores_of_splits_that_test_rows_again_use_the_corrected_t():
    data = load("iris")
    problem = prepared(data.frame, data.target, task="classification")
    splits = make_splits("random", problem.target, repeats=8)
    found = resample({"nb": NaiveBayes()}, problem, splits)
    assert found.score("nb", ACCURACY).method == "corrected resampled t"
    assert found.score("nb", ACCURACY).n == 8
    folds = resample({"nb": NaiveBayes()}, problem, make_splits(5, problem.target))
    assert folds.score("nb", ACCURACY).method == "Wilson"
    assert folds.score("nb", LOG_LOSS).method == "bootstrap"


def test_groups_widen_the_interval():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    y = np.repeat(rng.integers(0, 2, 40), 10)
    found = run({"zero": ZeroRClassifier()}, rng.normal(size=(400, 2)), y, groups=groups, split=5)
    alone = run({"zero": ZeroRClassifier()}, rng.normal(size=(400, 2)), y, split=5)
    assert found.score("zero", ACCURACY).method == "bootstrap of groups"
    wide, narrow = (r.score("zero", ACCURACY) for r in (found, alone))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_weights_count_in_fit_and_score():
    x = np.arange(40.0)[:, None]
    y = np.array([0, 1] * 20)
    weight = np.where(y == 1, 3.0, 1.0)
    found = run({"zero": ZeroRClassifier()}, x, y, sample_weight=weight, split=4)
    assert found.score("zero", ACCURACY).value == pytest.approx(0.75)
    # A pipeline hands them to its steps: of what tells nothing the model learns the shares of the weights.
    peer = run({"peer": make_pipeline(PeerLogistic())}, np.zeros((40, 1)), y, sample_weight=weight, split=4)
    assert peer.score("peer", ACCURACY).value == pytest.approx(0.75)
    with pytest.raises(RuntimeError, match="takes no sample_weight"):
        run({"peer": make_pipeline(KNeighborsClassifier())}, x, y, sample_weight=weight, split=4)


@pytest.mark.covers("EV-02")
def test_intervals_of_cross_validated_accuracy_cover_the_truth():
    # Labels are a coin of 0.7 whatever x says, so the accuracy of Zero-R is 0.7 on new rows.
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        y = (rng.random(100) < 0.7).astype(int)
        found = run(
            {"zero": ZeroRClassifier()}, np.zeros((100, 1)) + np.arange(100)[:, None], y, split=5, train_scores=False
        )
        inside += 0.7 in found.score("zero", ACCURACY)
    assert 0.93 <= inside / 400 <= 0.97


def test_whole_metrics_average_over_splits():
    area = Metric("spread", "classification", whole=lambda a: float(a.given.mean()))
    found = run({"zero": ZeroRClassifier()}, np.arange(60.0)[:, None], [0, 1, 1] * 20, split=3)
    assert found.score("zero", area).value == pytest.approx(1.0)
    assert found.score("zero", area).method == "corrected resampled t"


def test_progress_tells_every_fit():
    events = []
    with progress.listen(events.append):
        run({"rule": OneRClassifier(), "zero": ZeroRClassifier()}, load("weather").frame, "Play", split=3)
    outer = [e for e in events if e["title"] == "Evaluating"]
    assert outer[-1]["done"] == outer[-1]["total"] == 6


def test_named_groups_and_time_are_not_learned_from():
    frame = pd.DataFrame({"who": list("aabbccdd"), "when": range(8), "x": np.arange(8.0), "y": [0, 1] * 4})
    problem = prepared(frame, "y", task="classification", groups="who", time="when")
    assert problem.raw.names == ["x"]
    assert list(problem.given.columns) == ["x"]
    assert len(np.unique(problem.groups)) == 4
    assert problem.time.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"groups": [1.0, np.nan, 2.0]}, "groups has missing values"),
        ({"time": [1, 2]}, "time needs one entry for each of the 3 rows"),
    ],
)
def test_groups_with_gaps_are_refused(kwargs, match):
    with pytest.raises(ValueError, match=match):
        prepared(np.zeros((3, 1)), [0, 1, 0], task="classification", **kwargs)


@pytest.mark.parametrize(
    ("models", "error", "match"),
    [
        ({}, ValueError, "at least one model"),
        ({"a": ZeroRClassifier(), "b": ZeroRRegressor()}, ValueError, "models of one task"),
        ({"a": object()}, TypeError, "'a' is a object"),
        ({"a": NaiveBayes}, TypeError, r"write NaiveBayes\(\)"),
    ],
)
def test_wrong_models_are_refused(models, error, match):
    with pytest.raises(error, match=match):
        task_of_models(models, "evaluate")


def test_a_class_missing_from_a_training_part_has_probability_zero():
    rows = pd.DataFrame({"x": np.arange(12.0)})
    labels = ["a"] * 6 + ["b"] * 5 + ["c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run({"nb": NaiveBayes()}, rows, labels)
    answers = found.pooled("nb")
    assert answers.probability[answers.true == 2, 2] == 0


def test_answers_join_and_rows():
    a = Answers(np.array([0, 1]), np.array([0, 0]), weight=np.array([1.0, 2.0]))
    b = Answers(np.array([1]), np.array([1]))
    both = Answers.join([a, b])
    assert both.n == 3
    assert both.weight is None
    assert a.rows(np.array([1])).weight.tolist() == [2.0]
    with pytest.raises(ValueError, match="as many entries in weight"):
        Answers(np.array([0, 1]), np.array([0, 0]), weight=np.array([1.0]))
