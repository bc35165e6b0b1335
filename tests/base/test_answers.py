"""answers(model, X, need): what models declare they say, each from one conversion of the rows."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as SKMeans
from sklearn.ensemble import IsolationForest as SKForest
from sklearn.linear_model import LogisticRegression as SKLogistic
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC as SKSVC

import tilth
from tilth.base.answers import Outputs, answers, says
from tilth.parts.cuts import Conformal


def rows(seed: int = 0, n: int = 60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(scale=0.3, size=n) > 0).astype(int)


def counted(model, monkeypatch):
    """The conversions of rows that a model makes."""
    calls = []
    whole = type(model)._rows

    def once(self, X):
        calls.append(type(self).__name__)
        return whole(self, X)

    monkeypatch.setattr(type(model), "_rows", once)
    return calls


@pytest.mark.parametrize(
    "model",
    [tilth.LogisticRegression(), tilth.GaussianNB(), tilth.RandomForestClassifier(n_estimators=5),
     tilth.ConformalClassifier(), tilth.AdaBoostClassifier(n_estimators=3)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_everything_comes_from_one_conversion_and_is_what_the_methods_say(model, monkeypatch):
    X, y = rows()
    model.fit(X, y)
    expected = {"prediction": model.predict(X), "probabilities": model.predict_proba(X)}
    if "scores" in model.says():
        expected["scores"] = model.decision_function(X)
    if "sets" in model.says():
        expected["sets"] = model.predict_set(X).to_numpy()
    calls = counted(model, monkeypatch)
    found = answers(model, X)
    assert calls.count(type(model).__name__) == 1
    assert set(expected) == set(model.says())
    for need, wanted in expected.items():
        np.testing.assert_array_equal(getattr(found, need), wanted)
    np.testing.assert_array_equal(found.classes, [0, 1])


def test_only_what_is_needed_is_said():
    X, y = rows()
    found = answers(tilth.LogisticRegression().fit(X, y), X, ("probabilities", "intervals"))
    assert found.probabilities is not None
    assert found.prediction is found.scores is found.intervals is None


@pytest.mark.parametrize("threshold", [None, Conformal(rate=0.2)])
def test_a_detector_says_labels_scores_and_p_values_where_rows_were_kept_back(threshold):
    X, _ = rows(n=200)
    model = tilth.HBOS(threshold=threshold).fit(X)
    found = answers(model, X)
    np.testing.assert_array_equal(found.prediction, model.predict(X))
    np.testing.assert_array_equal(found.scores, model.anomaly_score(X))
    assert ("p_values" in says(model)) == (threshold is not None)
    if threshold is not None:
        np.testing.assert_array_equal(found.p_values, model.p_values(X))


def test_intervals_are_declared_only_where_they_are_known():
    X, _ = rows()
    y = X[:, 0]
    line, pulled = tilth.LinearRegression().fit(X, y), tilth.Ridge().fit(X, y)
    assert "intervals" in line.says()
    assert "intervals" not in pulled.says()
    ends = line.predict_interval(X, 0.8)[["low", "high"]].to_numpy()
    np.testing.assert_array_equal(answers(line, X, ("intervals",), level=0.8).intervals, ends)
    forest = tilth.RandomForestRegressor(n_estimators=20, oob_score=True).fit(X, y)
    assert "intervals" in forest.says()
    assert "intervals" not in tilth.RandomForestRegressor(n_estimators=5).fit(X, y).says()
    np.testing.assert_array_equal(answers(forest, X, level=0.7).intervals, forest.predict_interval(X, 0.7))


def test_models_of_other_libraries_say_the_same_things():
    X, y = rows()
    logistic, machine = SKLogistic().fit(X, y), SKSVC().fit(X, y)
    assert says(machine) == ("prediction", "scores")
    np.testing.assert_array_equal(answers(logistic, X).probabilities, logistic.predict_proba(X))
    np.testing.assert_array_equal(answers(machine, X).scores, machine.decision_function(X))
    odd = SKForest(random_state=0, n_estimators=10).fit(X)
    np.testing.assert_array_equal(answers(odd, X).scores, -odd.decision_function(X))
    assert says(SKMeans()) == ("prediction", "transformed")


def test_a_pipeline_says_what_its_last_step_says():
    X, y = rows()
    model = make_pipeline(tilth.Standardise(), tilth.ConformalClassifier()).fit(X, y)
    found = answers(model, X, ("prediction", "sets"))
    inside = model[-1].predict_set(model[0].transform(X)).to_numpy()
    np.testing.assert_array_equal(found.sets, inside)
    np.testing.assert_array_equal(found.prediction, model.predict(X))


def test_transformed_rows_keep_their_container():
    polars = pytest.importorskip("polars")
    X, _ = rows()
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    model = tilth.PCA(n_components=2).fit(frame)
    assert isinstance(answers(model, frame).transformed, polars.DataFrame)


def test_scores_and_probabilities_among_more_classes_than_the_model_met():
    outputs = Outputs(probabilities=np.array([[0.2, 0.8]]), scores=np.array([3.0]), classes=np.array(["a", "c"]))
    every = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(outputs.probabilities_among(every), [[0.2, 0.0, 0.8]])
    np.testing.assert_array_equal(outputs.scores_among(every), [[-1.5, 2.0, 1.5]])


def test_a_wrapper_says_what_the_model_inside_says_and_why_not():
    X, y = rows()
    probable, margins = tilth.LogisticRegression(), tilth.LinearSVC()
    for wrapper in (tilth.ThresholdClassifier, tilth.TunedClassifier):
        settings = {"trials": 2, "inner": 2} if wrapper is tilth.TunedClassifier else {}
        assert "probabilities" in wrapper(estimator=probable, **settings).fit(X, y).says()
        plain = wrapper(estimator=margins, **settings).fit(X, y)
        assert "probabilities" not in plain.says()
        assert not hasattr(plain, "predict_proba")
        with pytest.raises(AttributeError, match="LinearSVC gives no probabilities"):
            plain.predict_proba(X)
        np.testing.assert_array_equal(answers(plain, X).scores, plain.decision_function(X))


def test_a_missing_attribute_of_a_classifier_is_named_as_usual():
    with pytest.raises(AttributeError, match="'ID3' object has no attribute 'nothing'"):
        _ = tilth.ID3().nothing
