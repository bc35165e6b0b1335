"""Detectors and clusterers are evaluated, compared and searched like any model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.ensemble import IsolationForest as PeerForest
from sklearn.metrics import adjusted_rand_score, roc_auc_score, silhouette_score

from tilth import HBOS, IsolationForest, KMeans, NaiveBayes, compare, evaluate, search
from tilth.data.datasets import load_iris
from tilth.evaluate.unsupervised import anomalies_of


@pytest.fixture
def anomalies():
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 20 == 0).astype(int)
    return rng.normal(size=(400, 3)) + 4.0 * y[:, None] * rng.choice([-1, 1], (400, 3)), y


def test_a_detector_is_scored_by_its_order_of_the_rows(anomalies):
    X, y = anomalies
    result = evaluate(HBOS(), X, y, folds=4)
    pooled = result.resampling.trials["HBOS"].answers
    scores = [roc_auc_score(a.true, a.score) for a in pooled]
    assert result.score("AUC").value == pytest.approx(np.mean(scores))
    assert result.score("AUC").value > 0.95
    assert result.scores["Zero-R"]["AUC"].value == 0.5
    assert sum(a.true.sum() for a in pooled) == y.sum()
    assert len({int(a.true.sum()) for a in pooled}) == 1  # folds keep the share of anomalies
    assert "better than Zero-R" in result.verdict()
    assert all(page.to_dict() for page in result.sections())


def test_labels_of_anomalies_in_any_spelling(anomalies):
    X, y = anomalies
    for labels in (y, 1 - 2 * y, y.astype(bool), np.where(y == 1, "odd", "usual")):
        np.testing.assert_array_equal(anomalies_of(labels, "evaluate"), y)
    with pytest.raises(ValueError, match="labels of anomalies have two values"):
        evaluate(HBOS(), X, np.arange(400) % 3)


def test_detectors_of_two_libraries_are_compared(anomalies):
    X, y = anomalies
    result = compare({"ours": IsolationForest(), "peer": PeerForest(random_state=0), "HBOS": HBOS()}, X, y, folds=3)
    assert set(result.ranking[:3]) == {"ours", "peer", "HBOS"}
    assert result.ranking[-1] == "Zero-R"
    with pytest.raises(ValueError, match="models of one task; got anomaly and clustering together"):
        compare([HBOS(), KMeans()], X, y)
    with pytest.raises(ValueError, match="classification"):
        compare([HBOS(), NaiveBayes()], X, y)


def test_clusters_with_and_without_known_classes():
    iris = load_iris().frame
    X = iris.drop(columns="species")
    named = evaluate(KMeans(3), iris, "species", split="holdout", test_size=0.5)
    answers = named.resampling.pooled("KMeans")
    assert named.score("ARI").value == pytest.approx(adjusted_rand_score(answers.true, answers.given))
    bare = evaluate(KMeans(3), X, split="holdout", test_size=0.5)
    test = bare.resampling.splits.parts[0].test
    expected = silhouette_score(X.to_numpy()[test], bare.resampling.pooled("KMeans").given)
    assert bare.score().value == pytest.approx(expected)
    assert list(bare.scores["KMeans"]) == ["silhouette"]
    assert evaluate(PeerKMeans(3, random_state=0, n_init=3), X.to_numpy(), folds=3).score().value > 0.4


def test_the_number_of_clusters_is_searched():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(8.0 * i, 1.0, (40, 2)) for i in range(4)])
    X = X[rng.permutation(len(X))]
    result = search(KMeans(), X, ranges={"n_clusters": [2, 3, 4, 5, 6]}, method="grid", nested=False)
    assert result.best_params["n_clusters"] == 4
