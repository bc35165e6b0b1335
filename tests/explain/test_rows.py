"""Why single rows got their answers: exact where a model can, sampled Shapley values for any other."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression as PeerRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import (
    CalibratedClassifier,
    IsolationForest,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    RandomForestClassifier,
    ThresholdClassifier,
)
from tilth.data.datasets import load_iris, load_titanic
from tilth.explain import explain_rows


class Given(RegressorMixin, BaseEstimator):
    """A regressor that is a function."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.function(np.asarray(X))


def shapley(f, x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Shapley values by all subsets, mean over the background rows."""
    p = len(x)
    values = np.zeros(p)
    for j in range(p):
        for size in range(p):
            weight = math.factorial(size) * math.factorial(p - 1 - size) / math.factorial(p)
            for chosen in itertools.combinations([k for k in range(p) if k != j], size):
                without = background.copy()
                without[:, chosen] = x[list(chosen)]
                with_it = without.copy()
                with_it[:, j] = x[j]
                values[j] += weight * (f(with_it) - f(without)).mean()
    return values


# ----------------------------------------------------------------------------------------------------------------- laws


def test_contributions_add_up_to_the_answer():
    """base + sum = answer to rounding, for every model and every output."""
    titanic = load_titanic().frame[["sex", "age", "fare", "embarked", "survived"]]
    X = titanic.drop(columns="survived")
    model = ThresholdClassifier(estimator=NaiveBayes()).fit(X, titanic["survived"])
    assert not hasattr(model, "explain")
    found = explain_rows(model, X[:4], background=X, samples=10)
    np.testing.assert_allclose(found.scores, model.predict_proba(X[:4]), atol=1e-12)
    np.testing.assert_allclose(found.values.sum(axis=1), 0, atol=1e-12)  # what one class gains the other loses
    assert found.columns == ["sex", "age", "fare", "embarked"]
    assert found.cells[0][0] == "male"


def test_a_linear_model_is_explained_exactly_by_any_walk():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    model = PeerRegression().fit(X, X @ [1, 2, -3, 0])
    found = explain_rows(model, X[:3], background=X, samples=30)
    np.testing.assert_allclose(found.values[:, 0], (X[:3] - X.mean(axis=0)) * model.coef_, atol=1e-10)
    np.testing.assert_allclose(found.base, model.predict(X).mean())
    ours = LinearRegression().fit(X, X @ [1, 2, -3, 0]).explain(X[:3])
    np.testing.assert_allclose(found.values, ours.values, atol=1e-8)


def test_two_columns_are_exact_because_both_orders_are_walked():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    f = lambda X: X[:, 0] * X[:, 1] + np.maximum(X[:, 0], 0)  # noqa: E731
    found = explain_rows(Given(f).fit(X), X[:2], background=X)
    for i in range(2):
        np.testing.assert_allclose(found.values[i, 0], shapley(f, X[i], X), atol=1e-12)


def test_sampled_values_are_shapley_values_within_their_errors():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 5))
    f = lambda X: X[:, 0] * X[:, 1] * (X[:, 2] > 0) + np.abs(X[:, 3] - X[:, 0])  # noqa: E731
    found = explain_rows(Given(f).fit(X), X[:4], background=X, samples=40)
    for i in range(4):
        off = (found.values[i, 0] - shapley(f, X[i], X)) / np.maximum(found.error[i, 0], 1e-12)
        assert np.abs(off).max() < 3.5
    assert (found.values[:, :, 4] == 0).all()  # a column that is not used contributes nothing


def test_columns_that_do_the_same_get_the_same():
    X = np.random.default_rng(3).normal(size=(50, 3))
    f = lambda X: np.maximum(X[:, 0], X[:, 1])  # noqa: E731
    row, background = np.array([[1.0, 1.0, 5.0]]), np.repeat(X[:, :1], 3, axis=1)
    found = explain_rows(Given(f).fit(X), row, background=background)
    assert found.values[0, 0, 0] == pytest.approx(found.values[0, 0, 1], abs=1e-12)


# ------------------------------------------------------------------------------------------------------------ any model


@pytest.mark.covers("SP-26")
@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        LogisticRegression(),
        RandomForestClassifier(n_estimators=5),
        CalibratedClassifier(estimator=NaiveBayes()),
        make_pipeline(StandardScaler(), PeerForest(n_estimators=5, random_state=0)),
        LinearSVC(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_classifier_is_explained(model):
    iris = load_iris().frame
    X, y = iris.drop(columns="species"), iris["species"]
    model.fit(X, y)
    found = explain_rows(model, X[::50], background=X[::5], samples=10)
    assert found.values.shape == (3, 3, 4)
    assert found.columns == list(X.columns)
    assert np.asarray(found.classes)[found.scores.argmax(axis=1)].tolist() == model.predict(X[::50]).tolist()
    exact = hasattr(model, "explain")
    assert ("exact" in found.method) == exact
    assert (found.error is None) == exact
    assert 1 <= len(found.words(0)) <= 3


def test_scores_of_two_classes_lead_by_the_decision_function():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    from sklearn.svm import SVC

    model = SVC().fit(X, X[:, 0] * X[:, 1] > 0)
    found = explain_rows(model, X[:3], background=X, samples=20)
    assert found.scale == "score"
    lead = found.scores[:, 1] - found.scores[:, 0]
    np.testing.assert_allclose(lead, model.decision_function(X[:3]), atol=1e-10)
    assert "the score of" in found.words(0)[0]


def test_anomaly_detectors_explain_themselves():
    X = np.random.default_rng(5).normal(size=(200, 3))
    model = IsolationForest().fit(X)
    odd = np.array([[0.0, 8.0, 0.0]])
    found = explain_rows(model, odd)
    assert found.columns[int(np.abs(found.values[0, 0]).argmax())] == "x1"


# ---------------------------------------------------------------------------------------------------------------- words


def test_words_name_the_value_and_the_direction():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "kind": ["a", "b", "a", "b"]})
    model = Given(lambda X: X[:, 0].astype(float) * 10 - (X[:, 1] == "a")).fit(X)
    found = explain_rows(model, X[3:], background=X)
    assert found.words()[0] == "size = 4 raises the prediction by 15 (+-6.5)."  # sd of (30, 20, 10, 0) / 2
    assert found.words(0, most=1) == found.words()[:1]
    assert found.words()[1].startswith("kind = b raises the prediction by 0.5")
    with pytest.raises(IndexError, match="No row 1; 1 row explained"):
        found.words(1)
    flat = explain_rows(Given(lambda X: np.zeros(len(X))).fit(X), X, samples=2)
    assert flat.words() == ["No column changes the prediction from its average."]


def test_log_odds_are_said_to_be_log_odds():
    iris = load_iris().frame
    found = explain_rows(NaiveBayes().fit(iris, "species"), iris[60:61])
    assert "log-odds of versicolor against" in found.words()[0]


# ------------------------------------------------------------------------------------------------------------ bad input


def test_what_cannot_be_explained_is_refused():
    import scipy.sparse

    X = np.random.default_rng(6).normal(size=(20, 2))
    model = PeerRegression().fit(X, X[:, 0])
    with pytest.raises(NotFittedError):
        explain_rows(PeerRegression(), X)
    with pytest.raises(ValueError, match="give background rows"):
        explain_rows(model, X[:1])
    with pytest.raises(ValueError, match="samples must be at least 2"):
        explain_rows(model, X, samples=1)
    with pytest.raises(ValueError, match="X has 2 columns and the background 1"):
        explain_rows(model, X, background=X[:, :1])
    with pytest.raises(ValueError, match="at least one background row"):
        explain_rows(model, X, background=X[:0])
    with pytest.raises(TypeError, match="a sparse matrix has too many"):
        explain_rows(model, scipy.sparse.csr_matrix(X))
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(ValueError, match="background rows lack the column 'b'"):
        explain_rows(PeerRegression().fit(frame, X[:, 0]), frame, background=frame[["a"]])
    wide = np.zeros((3, 2001))
    with pytest.raises(ValueError, match="at most 2,000; found 2,001"):
        explain_rows(Given(lambda X: X[:, 0]).fit(wide), wide)


def test_levels_that_only_one_side_has():
    X = pd.DataFrame({"k": pd.Categorical(["a", "b", "a", "b"]), "x": [1.0, 2.0, 3.0, 4.0]})
    other = pd.DataFrame({"k": pd.Categorical(["c", "a"]), "x": [5.0, np.nan]})
    model = Given(lambda X: np.array([len(str(k)) + (0 if x != x else x) for k, x in X])).fit(X)
    found = explain_rows(model, X, background=other)
    np.testing.assert_allclose(found.scores[:, 0], model.predict(X))
    assert found.cells[0] == ["a", "1"]


# ------------------------------------------------------------------------------------------------------------- speaking


def test_report_and_picture():
    X = np.random.default_rng(7).normal(size=(50, 14))
    model = PeerForest(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    found = explain_rows(model, X[:3], background=X, samples=5)
    (page,) = found.sections()
    assert [p.title for p in page.parts] == ["Row 0", "Row 1", "Row 2"]
    figure = found.plot(1)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()][-1] == "4 others"
    assert page.parts[2].figure().axes
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.verdict() == " ".join(found.words(0))
    assert found.frame(0)["column"].tolist()[0] == "(start)"


def test_the_score_of_a_model_of_margins_is_explained_for_either_class():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    model = LinearSVC().fit(X, (X["a"] > 0).astype(int))
    told = explain_rows(model, X.head(20))
    for row in range(20):
        amounts, _, unit = told.reasons(row)
        assert unit.startswith("score of ")
        assert abs(amounts[0]) > abs(amounts[1])
