"""Answers over HTTP are the answers of the model, whichever way the rows come."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import tilth
from tilth.data.datasets import load
from tilth.serve.schema import fields_of

CSV = {"content-type": "text/csv"}


def records(frame):
    return json.loads(frame.to_json(orient="records"))


def numbers(answers, *keys):
    return np.array([[a["probabilities"][k] for k in keys] for a in answers])


@pytest.fixture
def rows(titanic):
    return titanic.drop(columns=["survived", "cabin"]).head(60)


def test_every_form_of_rows_gives_the_answers_of_the_model(client, model, rows, titanic):
    frame = titanic.drop(columns="survived").head(60)
    given = {
        "rows": {"rows": records(rows)},
        "records": {"dataframe_records": records(rows)},
        "columns": {"columns": {c: [r[c] for r in records(rows)] for c in rows}},
        "shuffled": {"rows": records(rows[rows.columns[::-1]])},
        "with a column set aside": {"rows": records(frame)},
    }
    for name, body in given.items():
        reply = client.post("/predict", body)
        assert reply.status == 200, (name, reply.text)
        answers = reply.json()["predictions"]
        assert [a["prediction"] for a in answers] == model.predict(frame).tolist(), name
        np.testing.assert_array_equal(numbers(answers, "no", "yes"), model.predict_proba(frame), err_msg=name)
    answers = client.post("/predict", rows.to_csv(index=False).encode(), CSV).json()["predictions"]
    np.testing.assert_allclose(numbers(answers, "no", "yes"), model.predict_proba(frame), rtol=1e-12)


def test_a_single_row_is_answered_alone_with_the_signature(client, model, row):
    told = client.post("/predict", row).json()
    assert told["prediction"] == "no"
    assert set(told) == {"prediction", "probabilities", "warnings", "model_id", "version"}
    assert told["model_id"] == "f" * 64
    assert told["version"] == tilth.__version__
    assert told["warnings"] == []
    assert math.isclose(sum(told["probabilities"].values()), 1)


def test_a_batch_is_its_rows(client, rows):
    together = client.post("/predict", {"rows": records(rows.head(9))}).json()["predictions"]
    for one, answer in zip(records(rows.head(9)), together, strict=True):
        alone = client.post("/predict", one).json()
        assert {k: alone[k] for k in answer} == answer


def test_what_weakens_an_answer_is_said_for_its_row(client, row):
    odd = {**row, "age": None, "sex": "unknown", "fare": 10_000}
    told = client.post("/predict", {"rows": [row, odd]}).json()["predictions"]
    assert told[0]["warnings"] == []
    codes = {(w["field"], w["code"]) for w in told[1]["warnings"]}
    assert codes == {("age", "missing_value"), ("sex", "unseen_level"), ("fare", "out_of_range")}
    assert "0 to 512.329" in next(w["message"] for w in told[1]["warnings"] if w["field"] == "fare")


def test_unknown_fields_are_refused_or_ignored_as_asked(client, row):
    extra = {**row, "ages": 1}
    refused = client.post("/predict", extra)
    assert refused.status == 422
    assert refused.error["problems"][0]["field"] == "ages"
    assert "did you mean 'age'?" in refused.error["message"]
    taken = client.post("/predict?extra=ignore", extra)
    assert taken.status == 200
    assert [(w["field"], w["code"]) for w in taken.json()["warnings"]] == [("ages", "unknown_field")]
    columns = {"columns": {name: [value, value] for name, value in extra.items()}}
    told = client.post("/predict?extra=ignore", columns).json()["predictions"]
    assert [len(a["warnings"]) for a in told] == [1, 1]
    assert client.post("/predict?extra=perhaps", row).status == 400


@pytest.mark.covers("LC-04")
@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"age": "old"}, "age", "age: expected a finite number, or null; found 'old'."),
        ({"age": True}, "age", "found true"),
        ({"age": [1]}, "age", "found a list"),
        ({"age": 10**400}, "age", "too large"),
        ({"sex": {}}, "sex", "sex: expected one of 'female', 'male', or null; found an object."),
        ({"sex": 10**400}, "sex", "too large"),
        ({"survived": "yes"}, "survived", "is the target, which the model predicts"),
        ({"age": ...}, "age", "age: the field is missing; send a finite number, or null."),
    ],
)
def test_a_bad_value_is_named_with_field_and_cure(client, row, change, field, said):
    wrong = {k: v for k, v in {**row, **change}.items() if v is not ...}
    for body, where in ((wrong, ""), ({"rows": [row, wrong]}, "rows[1].")):
        reply = client.post("/predict", body)
        assert reply.status == 422
        assert reply.error["code"] == "invalid_rows"
        problem = reply.error["problems"][0]
        assert problem["field"] == field
        assert problem["row"] == (1 if where else 0)
        assert problem["message"].startswith(f"{where}{field}: ")
        assert said in problem["message"]


def test_problems_are_all_told_but_not_without_end(client, row):
    reply = client.post("/predict", {"rows": [{**row, "age": "x", "sex": []}] * 500})
    assert len(reply.error["problems"]) == 20
    assert "There are at least 19 more." in reply.error["message"]


def test_csv_lines_are_named(client, rows):
    lines = rows.head(3).to_csv(index=False).splitlines()
    bad = lines[2].split(",")
    bad[2] = "old"
    reply = client.post("/predict", "\n".join([*lines[:2], ",".join(bad)]).encode(), CSV)
    assert reply.error["problems"][0]["message"].startswith("line 3.age: expected a finite number")
    ragged = client.post("/predict", f"{lines[0]}\n1,2\n".encode(), CSV)
    assert (ragged.status, ragged.error["message"]) == (400, "Line 2 has 2 cells; the header line has 7.")
    assert client.post("/predict", b"age,age\n1,2\n", CSV).status == 400
    assert client.post("/predict", f"{lines[0]}\n".encode(), CSV).error["code"] == "no_rows"
    assert client.post("/predict", b"", CSV).error["code"] == "no_rows"
    assert client.post("/predict", b'a,b\n"open', CSV).error["code"] == "bad_csv"


def test_csv_reads_missing_tokens_and_booleans(client_of):
    frame = pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0, 5.0] * 4, "big": [False, False, True, True, False] * 4})
    model = tilth.NaiveBayes().fit(frame, ["a", "a", "b", "b", "b"] * 4)
    client = client_of(model)
    told = client.post("/predict", b"size,big\nNA,true\n1.0,FALSE\n", CSV).json()["predictions"]
    assert [a["prediction"] for a in told] == ["b", "a"]
    assert [[w["code"] for w in a["warnings"]] for a in told] == [["missing_value"], []]
    assert client.post("/predict", {"size": 4, "big": True}).json()["warnings"] == []


# ---------------------------------------------------------------------------------------------------- kinds of models


def test_regression_with_an_interval(client_of):
    X = pd.DataFrame({"x": np.arange(40.0), "z": np.tile([0.0, 1.0], 20)})
    y = 3 * X["x"] + np.sin(np.arange(40.0))
    model = tilth.LinearRegression().fit(X, y)
    told = client_of(model).post("/predict", {"x": 10, "z": 1}).json()
    ends = model.predict_interval(pd.DataFrame({"x": [10.0], "z": [1.0]}), 0.95).iloc[0]
    assert told["prediction"] == pytest.approx(ends["prediction"])
    assert told["interval"] == {"low": pytest.approx(ends["low"]), "high": pytest.approx(ends["high"]), "level": 0.95}
    assert "probabilities" not in told


def test_a_forest_gives_an_interval_only_if_it_can(client_of):
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    without = client_of(tilth.RandomForestRegressor(n_estimators=5).fit(X, y)).post("/predict", {"x0": 3}).json()
    assert "interval" not in without
    model = tilth.RandomForestRegressor(n_estimators=20, oob_score=True).fit(X, y)
    told = client_of(model).post("/predict", {"x0": 3}).json()
    assert told["interval"]["low"] <= told["prediction"] <= told["interval"]["high"]


def test_a_conformal_classifier_gives_sets(client_of, titanic):
    model = tilth.ConformalClassifier(estimator=tilth.NaiveBayes(), level=0.8).fit(titanic, "survived")
    frame = titanic.drop(columns="survived").head(20)
    told = client_of(model).post("/predict", {"rows": records(frame)}).json()["predictions"]
    inside = model.predict_set(frame)
    for answer, row in zip(told, inside.itertuples(index=False), strict=True):
        assert answer["set"] == {
            "classes": [c for c, is_in in zip(inside.columns, row, strict=True) if is_in],
            "level": 0.8,
        }


def test_a_model_without_probabilities_gives_its_score(client_of):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = tilth.LinearSVC().fit(X, (X[:, 0] > 0).astype(int))
    told = client_of(model).post("/predict", {"x0": 1.0, "x1": 0.0}).json()
    assert told["prediction"] == 1
    assert told["scores"] == pytest.approx(float(model.decision_function([[1.0, 0.0]])[0]))
    odd = tilth.IsolationForest().fit(X)
    told = client_of(odd).post("/predict", {"x0": 99.0, "x1": 0.0}).json()
    assert told["prediction"] == -1
    assert told["scores"] == pytest.approx(float(odd.anomaly_score([[99.0, 0.0]])[0]))


def test_a_pipeline_of_texts(client_of):
    texts = ["good film", "good cast", "bad film", "bad plot"]
    model = make_pipeline(tilth.WordCounts(), tilth.MultinomialNB()).fit(texts, ["up", "up", "down", "down"])
    client = client_of(model)
    assert client.post("/predict", {"text": "good good"}).json()["prediction"] == "up"
    assert client.post("/predict", {"text": 1}).status == 422
    assert client.post("/explain", {"text": "good"}).status == 501
    assert client.get("/").status == 200


def test_dates_are_read_and_expanded(client_of):
    when = pd.date_range("2020-01-01", periods=60)
    model = tilth.CARTRegressor(kinds={"when": "date"}).fit(pd.DataFrame({"when": when}), np.arange(60.0))
    client = client_of(model)
    told = [client.post("/predict", {"when": w}).json()["prediction"] for w in ("2020-01-10", "2020-01-10T12:00:00Z")]
    assert told == model.predict(pd.DataFrame({"when": [when[9]] * 2})).tolist()
    for bad in ("yesterday", 5, "2020-13-01", ["2020-01-01"]):
        assert client.post("/predict", {"when": bad}).error["problems"][0]["field"] == "when"


def test_null_is_refused_by_a_model_that_learned_nothing_for_it(client_of):
    model = tilth.LinearRegression().fit(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), [1.0, 2.0, 3.0])
    client = client_of(model)
    reply = client.post("/predict", {"x": None})
    assert reply.status == 422
    assert "learned nothing for a missing value" in reply.error["message"]
    assert client.get("/schema").json()["properties"]["x"]["type"] == ["number"]


def test_what_only_the_model_can_refuse_is_told_in_its_words(client_of):
    model = tilth.MultinomialNB().fit(pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}), ["x", "y"])
    reply = client_of(model).post("/predict", {"a": -1, "b": 0})
    assert (reply.status, reply.error["code"]) == (422, "refused_by_model")
    assert "'a'" in reply.error["message"]


def test_models_that_cannot_be_served_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="not fitted"):
        fields_of(tilth.NaiveBayes())
    sparse = tilth.MultinomialNB().fit(csr_array(np.eye(3)), [0, 1, 1])
    with pytest.raises(ValueError, match="WordCounts"):
        fields_of(sparse)


@pytest.mark.parametrize(
    "name",
    ["ZeroRClassifier", "OneRClassifier", "LogisticRegression", "C45", "RandomForestClassifier", "AdaBoostClassifier",
     "GradientBoostingClassifier", "LinearSVC", "ThresholdClassifier", "CalibratedClassifier"],
)  # fmt: skip
def test_any_classifier_answers_and_explains(client_of, name):
    frame = load("weather").frame
    model = getattr(tilth, name)().fit(frame, "Play")
    X = frame.drop(columns="Play")
    client = client_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = client.post("/predict", {"rows": records(X)}).json()["predictions"]
        assert [a["prediction"] for a in answers] == model.predict(X).tolist()
        assert not any("interval" in a for a in answers)
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(numbers(answers, "No", "Yes"), model.predict_proba(X), atol=1e-12)
        reply = client.post("/explain", records(X)[0])
    assert reply.status == 200, reply.text
    why = reply.json()["explanation"]
    for key, total in why["total"].items():
        parts = why["start"][key] + sum(t["contributions"][key] for t in why["terms"])
        assert parts == pytest.approx(total, abs=1e-9)
    assert why["reasons"]


def test_explained_rows_are_few(client, row):
    assert client.post("/explain", {"rows": [row] * 3}).status == 200
    assert client.post("/explain", {"rows": [row] * 101}).error["code"] == "too_many_rows"


def test_levels_are_taken_to_the_last_character_in_every_form(client_of):
    frame = pd.DataFrame({"job": ["cook ", "smith"] * 40, "size": [1.0, 2.5] * 40, "y": ["yes", "no"] * 40})
    model = tilth.NaiveBayes(kinds={"size": "nominal"}).fit(frame, "y")
    client = client_of(model)
    plain = client.post("/predict", {"job": "cook ", "size": 1.0}).json()
    (typed,) = client.post("/predict", b"job,size\ncook ,1.0\n", CSV).json()["predictions"]
    assert typed["probabilities"] == plain["probabilities"]
    assert plain["prediction"] == "yes"
    assert not typed.get("warnings")


def test_detectors_and_clusterers_answer(client_of):
    from tilth.parts.cuts import Conformal

    X = np.random.default_rng(0).normal(size=(80, 2))
    odd = tilth.HBOS(threshold=Conformal(rate=0.1)).fit(X)
    row = {"x0": 9.0, "x1": 0.0}
    told = client_of(odd).post("/predict", row).json()
    assert told["prediction"] == -1
    assert told["scores"] == pytest.approx(float(odd.anomaly_score([[9.0, 0.0]])[0]))
    assert told["p_value"] == pytest.approx(float(odd.p_values([[9.0, 0.0]])[0]))
    clusters = tilth.KMeans(n_clusters=2).fit(X)
    client = client_of(clusters)
    assert client.post("/predict", row).json()["prediction"] == int(clusters.predict([[9.0, 0.0]])[0])
    assert client.get("/openapi.json").status == 200
