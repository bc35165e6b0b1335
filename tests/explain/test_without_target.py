"""Importance and reasons of models without a target: detectors by their score, clusterers by the cluster."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans as SKMeans
from sklearn.ensemble import IsolationForest as SKForest

import tilth
from tilth.explain import explain_rows, permutation_importance


def far_in_one_column(n: int = 120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[: n // 10, 0] += 7
    frame = pd.DataFrame(X, columns=["far", "b", "c"])
    return frame, (np.arange(n) < n // 10).astype(int)


@pytest.mark.parametrize("model", [tilth.HBOS(), SKForest(random_state=0, n_estimators=20)], ids=["ours", "theirs"])
def test_a_detector_without_labels_is_compared_with_its_own_score(model):
    X, _ = far_in_one_column()
    found = permutation_importance(model.fit(X), X)
    assert found.metric.name == "change of the score"
    assert found["far"].interval.low > 0
    assert found.score.value == 0.0


def test_a_detector_with_labels_is_judged_by_auc():
    X, y = far_in_one_column()
    found = permutation_importance(tilth.HBOS().fit(X), X, y)
    assert found.metric.name == "AUC"
    assert found.matter == ["far"]


@pytest.mark.parametrize("model", [tilth.KMeans(n_clusters=2), SKMeans(2, random_state=0, n_init=3)], ids=["our", "sk"])
def test_the_columns_that_decide_the_cluster(model):
    X, y = far_in_one_column()
    model.fit(X)
    found = permutation_importance(model, X)
    assert found.metric.name == "kept clusters"
    assert found.matter == ["far"]
    assert permutation_importance(model, X, y).metric.name == "ARI"


def test_a_measure_of_truth_needs_the_truth():
    X, _ = far_in_one_column()
    with pytest.raises(ValueError, match="AUC compares answers with the true ones; give y, or no metric"):
        permutation_importance(tilth.HBOS().fit(X), X, metric="AUC")
    with pytest.raises(ValueError, match="needs the true answers"):
        permutation_importance(tilth.Ridge().fit(X, X["b"]), X)


def test_the_reasons_of_a_detector_add_up_to_its_anomaly_score():
    X, _ = far_in_one_column()
    model = SKForest(random_state=0, n_estimators=20).fit(X)
    found = explain_rows(model, X.head(2), background=X, samples=20)
    np.testing.assert_allclose(found.scores[:, 0], -model.decision_function(X.head(2)))
    assert found.frame(0)["column"].iloc[1] == "far"


def test_the_reasons_of_a_cluster():
    X, _ = far_in_one_column()
    model = tilth.KMeans(n_clusters=2).fit(X)
    found = explain_rows(model, X.head(1), background=X, samples=20)
    np.testing.assert_allclose(found.scores[0], np.eye(2)[model.predict(X.head(1))[0]])


def test_a_conversion_has_no_answers_to_explain():
    X, _ = far_in_one_column()
    with pytest.raises(TypeError, match="PCA"):
        permutation_importance(tilth.PCA(n_components=1).fit(X), X)
