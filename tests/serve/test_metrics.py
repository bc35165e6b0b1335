"""Counts, latencies and drift."""

import json
import pickle
import re

import pytest

import tilth
from tilth.lifecycle.monitor import Reference
from tilth.lifecycle.monitor.watch import EXAMPLES
from tilth.serve.metrics import Metrics, prometheus

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


# ------------------------------------------------------------------------------------------------------- bounded memory


def service_of(client):
    """What stands behind the endpoints of an application."""
    return client.app.routes[0].endpoint.__self__.service


def test_counts_do_not_grow_with_what_strangers_send(client, row):
    for i in range(200):
        client.get(f"/no/such/path/{i}")
        client.post(f"/predict?extra=ignore&n={i}", {**row, f"made up {i}": i, "sex": f"never seen {i}"})
    counts = service_of(client).metrics
    assert set(counts.requests) == {("other", 404), ("/predict", 200)}
    assert set(counts.warnings) == {("", "unknown_field"), ("sex", "unseen_level")}
    assert counts.warnings["sex", "unseen_level"] == 200
    text = client.get("/metrics").text
    assert "made up" not in text
    assert "never seen" not in text


def test_latencies_are_of_recent_requests_only():
    counts = Metrics()
    for i in range(10_000):
        counts.answered("/predict", 200, float(i >= 5000))
    counts.answered("/metrics", 200, 99.0)
    assert len(counts._recent) == 2048
    assert set(counts.to_dict()["latency_seconds"].values()) == {1.0}
    assert counts.to_dict()["seconds_total"] == 5099.0


def test_long_levels_do_not_wait_in_memory(client_of, model, titanic, row):
    """Texts of megabytes are answered, and are not kept until they are compared with training."""
    about = {"reference": Reference.of(titanic.drop(columns="survived"), schema=model.schema_).to_dict()}
    client = client_of(model, about=about)
    watch = service_of(client).watch
    for i in range(6):
        rows = [{**row, "sex": f"{i} {j} " + "x" * 100_000} for j in range(60)]
        assert client.post("/predict", {"rows": rows}).status == 200
    assert watch._n == 360
    assert len(pickle.dumps(watch._waiting)) < 300_000
    assert service_of(client).watch.state()["rows"] == 360


def test_what_is_remembered_of_new_rows_does_not_grow_with_them(client_of, model, titanic, row):
    about = {"reference": Reference.of(titanic.drop(columns="survived"), schema=model.schema_).to_dict()}
    client = client_of(model, about=about)
    watch = service_of(client).watch
    sizes = []
    for i in range(4):
        rows = [{**row, "sex": f"never seen {i} {j}", "age": float(j)} for j in range(1500)]
        assert client.post("/predict", {"rows": rows}).status == 200
        assert watch._n == 0  # rows wait until there are 1000, then they are only counted
        assert {len(values) for values in watch._waiting.values()} == {0}
        sizes.append(len(pickle.dumps((watch._watcher._tallies, watch._watcher._extra))))
    assert sizes[-1] < sizes[0] + 200
    assert len(watch._watcher._tallies["sex"].unlisted) == EXAMPLES
    told = watch.state()
    assert told["rows"] == 6000
