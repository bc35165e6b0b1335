"""Counts, latencies and drift."""

import json
import re

import pytest

import tilth
from tilth.lifecycle.monitor import Reference
from tilth.serve.metrics import prometheus

LINE = re.compile(r'(# (HELP|TYPE) tilth_\w+ .+|tilth_\w+(\{\w+="([^"\\]|\\.)*"(,\w+="([^"\\]|\\.)*")*\})? [-+0-9.e]+)')


def test_counts_are_exact(client, row):
    client.post("/predict", row)
    client.post("/predict", {"rows": [row, {**row, "age": None, "sex": "x"}]})
    client.post("/predict", {"age": 1})
    client.post("/predict?extra=ignore", {**row, "<odd>": 1})
    client.get("/no/such/path/1")
    client.get("/no/such/path/2")
    told = client.get("/metrics?format=json").json()
    counted = {(r["path"], r["status"]): r["count"] for r in told["requests"]}
    assert counted == {("/predict", 200): 3, ("/predict", 422): 1, ("other", 404): 2}
    assert told["rows_total"] == 4
    assert told["errors_total"] == 3
    warned = {(w["field"], w["code"]): w["count"] for w in told["warnings"]}
    assert warned == {("age", "missing_value"): 1, ("sex", "unseen_level"): 1, ("", "unknown_field"): 1}
    low, middle, high = told["latency_seconds"].values()
    assert 0 < low <= middle <= high
    assert told["drift"] is None
    assert client.get("/metrics", {"accept": "application/json"}).headers["content-type"] == "application/json"


def test_prometheus_can_read_it(client, row):
    client.post("/predict", row)
    reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in reply.text.splitlines():
        assert LINE.fullmatch(line), line
    assert 'tilth_requests_total{path="/predict",status="200"} 1' in reply.text


def test_hostile_names_stay_inside_their_label():
    told = {
        "model": {"id": 'a"}\nevil 1', "class": "x\\"}, "requests": [], "errors_total": 0, "rows_total": 0,
        "warnings": [], "in_flight": 0, "latency_seconds": {"0.5": None},
        "drift": {"rows": 3, "columns": [{"column": 'c"\n\0', "psi": None, "state": "changed"}]},
    }  # fmt: skip
    text = prometheus(told)
    assert all(LINE.fullmatch(line) for line in text.splitlines()), text
    assert "\nevil" not in text


@pytest.mark.covers("LC-05")
def test_drift_is_seen_in_the_rows_that_were_asked_about(client_of, model, titanic):
    X = titanic.drop(columns="survived")
    about = {"reference": Reference.of(X, schema=model.schema_).to_dict()}
    rows = json.loads(X.drop(columns="cabin").to_json(orient="records"))

    def changed(client, given):
        client.post("/predict", {"rows": given})
        for one in given[:5]:
            client.post("/predict", one)
        told = client.get("/metrics?format=json").json()["drift"]
        assert told["rows"] == len(given) + 5
        return {c["column"] for c in told["columns"] if c["state"] == "changed"}

    assert changed(client_of(model, about=about), rows) == set()
    moved = [{**r, "fare": r["fare"] * 5 + 200, "sex": "male"} for r in rows]
    client = client_of(model, about=about)
    assert changed(client, moved) == {"fare", "sex"}
    assert 'tilth_drift_found{field="fare"} 1' in client.get("/metrics").text


def test_a_reference_of_other_columns_stops_no_answer(client_of, caplog):
    model = tilth.NaiveBayes().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 4.0]], ["a", "a", "b", "b"])
    about = {"reference": Reference.of([[1.0], [2.0]] * 10).to_dict()}
    client = client_of(model, about=about)
    assert client.post("/predict", {"x0": 1, "x1": 1}).status == 200
    assert client.get("/metrics?format=json").json()["drift"] is None
    assert "no longer compared" in caplog.text
    assert client.post("/predict", {"x0": 1, "x1": 1}).status == 200
