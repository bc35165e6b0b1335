"""Multinomial and Bernoulli naive Bayes: parity with scikit-learn on sparse and dense counts, weights, parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes as peers

from tilth import BernoulliNB, MultinomialNB


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.3, (300, 80)).astype(float))
    return X, np.array(["ham", "maybe", "spam"])[rng.integers(0, 3, 300)], rng.random(300)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("options", [{}, {"alpha": 0.1}, {"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}])
@pytest.mark.parametrize(("ours", "theirs"), [(MultinomialNB, peers.MultinomialNB), (BernoulliNB, peers.BernoulliNB)])
def test_parity(counts, ours, theirs, options, dense):
    X, y, weight = counts
    X = X.toarray() if dense else X
    a, b = ours(**options).fit(X, y, sample_weight=weight), theirs(**options).fit(X, y, sample_weight=weight)
    assert a.predict_proba(X) == pytest.approx(b.predict_proba(X), rel=1e-9)
    assert a.feature_count_ == pytest.approx(b.feature_count_)
    assert a.feature_log_prob_ == pytest.approx(b.feature_log_prob_)
    assert (a.predict(X) == b.predict(X)).all()


def test_sparse_and_dense_models_answer_each_others_rows(counts):
    X, y, _ = counts
    sparse, dense = MultinomialNB().fit(X, y), MultinomialNB().fit(X.toarray(), y)
    assert sparse.predict_proba(X.toarray()) == pytest.approx(dense.predict_proba(X))


def test_parts_of_a_sparse_matrix(counts):
    X, y, _ = counts
    parts = BernoulliNB()
    for rows in (slice(0, 10), slice(10, 200), slice(200, 300)):
        parts.partial_fit(X[rows], y[rows], classes=["ham", "maybe", "spam"])
    assert parts.predict_proba(X) == pytest.approx(BernoulliNB().fit(X, y).predict_proba(X))


def test_negative_counts_are_refused(counts):
    X, y, _ = counts
    with pytest.raises(ValueError, match="not negative"):
        MultinomialNB().fit(-X, y)
    with pytest.raises(ValueError, match="'x0' has -1"):
        MultinomialNB().fit([[-1.0], [2.0]], [0, 1])


def test_hostile_sparse_matrix_is_refused(counts):
    X, y, _ = counts
    model = MultinomialNB().fit(X, y)
    bad = X[:5].copy()
    bad.indices[0] = 10**6
    with pytest.raises(ValueError, match=r"column|index|indices"):
        model.predict(bad)


@pytest.mark.covers("N-13")
def test_words_that_speak_for_a_class():
    X = np.array([[5, 1, 0], [4, 1, 0], [0, 1, 6], [0, 1, 5]])
    model = MultinomialNB().fit(X, ["a", "a", "b", "b"])
    assert model.top_words(1) == {"a": ["x0"], "b": ["x2"]}
    explained = model.explain(X)
    assert explained.scores == pytest.approx(model.predict_joint_log_proba(X))


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB()])
def test_samples_follow_the_model(counts, model):
    X, y, _ = counts
    fitted = model.fit(X, y)
    made, labels = fitted.sample(20_000, seed=1)
    share = made[labels == "ham"].mean(axis=0)
    wanted = np.exp(fitted.feature_log_prob_[0])
    assert share / share.sum() == pytest.approx(wanted / wanted.sum(), abs=0.003)
