"""How much a server takes on."""

import asyncio
import threading

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.serve.limits import Gate, Limits, parse_size
from tilth.serve.refusal import Refusal

JSON = {"content-type": "application/json"}


def test_sizes_are_read_as_people_write_them():
    assert [parse_size(t) for t in ("1", "1k", "2M", "1 GiB", "10mb")] == [1, 1024, 2 * 2**20, 2**30, 10 * 2**20]
    for bad in ("", "0", "-1", "1.5m", "many", "1t", "9" * 30):
        with pytest.raises(ValueError, match="is not a size"):
            parse_size(bad)


@pytest.mark.parametrize(
    "wrong", [{"max_rows": 0}, {"max_bytes": -1}, {"timeout": float("inf")}, {"timeout": float("nan")}]
)
def test_limits_must_be_positive(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a number above 0"):
        Limits(**wrong)


def test_too_many_rows(client_of, model, row):
    client = client_of(model, limits=Limits(max_rows=2))
    lines = ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"
    for n, status in ((2, 200), (3, 413)):
        assert client.post("/predict", {"rows": [row] * n}).status == status
        assert client.post("/predict", {"columns": {k: [v] * n for k, v in row.items()}}).status == status
        text = lines + lines.splitlines()[1] + "\n" if n == 2 else lines + (lines.splitlines()[1] + "\n") * 2
        assert client.post("/predict", text.encode(), {"content-type": "text/csv"}).status == status
    assert "at most 2" in client.post("/predict", {"rows": [row] * 3}).error["message"]


def test_an_answer_holds_a_bounded_number_of_warnings(client_of):
    """30 columns of 10,000 rows that are all out of range: 28 MB of warnings, were each told."""
    n, width = 10_000, 30
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, width)), columns=[f"x{j}" for j in range(width)])
    model = tilth.NaiveBayes().fit(frame, ["a", "b"] * 25)
    client = client_of(model)
    columns = {name: [9] * n for name in frame} | {"x3": [9] * (n - 1) + [None], "x4": [0] * n}
    reply = client.post("/predict", {"columns": columns})
    told = reply.json()
    assert len(reply.body) < 2_000_000
    kinds = {(w["field"], w["code"]): w for w in told["warnings"]}
    expected = {(name, "out_of_range") for name in frame if name != "x4"} | {("x3", "missing_value")}
    assert kinds.keys() == expected
    assert (kinds["x3", "out_of_range"]["count"], kinds["x3", "missing_value"]["count"]) == (n - 1, 1)
    assert kinds["x3", "missing_value"]["rows"] == [n - 1]
    assert kinds["x0", "out_of_range"]["rows"] == [0, 1, 2, 3, 4]
    # A kind that is rare is told however common the others are, and what is told is what the rows have.
    assert [w["code"] for w in told["predictions"][-1]["warnings"]] == ["missing_value"]
    rows = [[(w["field"], w["code"]) for w in a["warnings"]] for a in told["predictions"]]
    assert sum(map(len, rows)) <= 1000
    for kind, one in kinds.items():
        assert one["told"] == sum(kind in row for row in rows) >= 1
    counted = {(w["field"], w["code"]): w["count"] for w in client.get("/metrics?format=json").json()["warnings"]}
    assert counted == {kind: one["count"] for kind, one in kinds.items()}


def test_few_rows_have_all_their_warnings(client, row):
    odd = {**row, "age": None, "sex": "unknown", "fare": 10_000}
    told = client.post("/predict", {"rows": [odd] * 100}).json()
    assert [len(a["warnings"]) for a in told["predictions"]] == [3] * 100
    assert {(w["field"], w["count"], w["told"]) for w in told["warnings"]} == {
        ("age", 100, 100), ("sex", 100, 100), ("fare", 100, 100),
    }  # fmt: skip
    assert client.post("/predict", {"rows": [row]}).json()["warnings"] == []
    assert len(client.post("/explain", {"rows": [odd]}).json()["warnings"]) == 3


def test_names_that_strangers_make_up_are_told_apart_within_reason(client, row):
    given = {"rows": [{**row, f"k{i}": 1} for i in range(3000)]}
    reply = client.post("/predict?extra=ignore", given)
    told = reply.json()["warnings"]
    assert [w["field"] for w in told] == [*(f"k{i}" for i in range(20)), ""]
    assert [w["count"] for w in told] == [1] * 20 + [2980]
    assert client.get("/metrics?format=json").json()["warnings"] == [
        {"field": "", "code": "unknown_field", "count": 3000}
    ]


def test_too_many_bytes_said_or_sent(client_of, model):
    client = client_of(model, limits=Limits(max_bytes=100))
    said = client.post("/predict", b"{}", {**JSON, "content-length": "101"})
    assert (said.status, said.error["code"]) == (413, "too_large")
    assert client.post("/predict", b"{}", {**JSON, "content-length": "9" * 30}).status == 413
    assert client.post("/predict", [b" " * 60, b" " * 60]).status == 413
    assert client.post("/predict", [b" " * 60, b"{}"]).status == 422


def test_a_slow_body_is_given_up(client_of, model):
    client = client_of(model, limits=Limits(timeout=0.05))
    reply = client.post("/predict", [b"{", None])
    assert (reply.status, reply.error["code"]) == (408, "too_slow")


def test_a_client_that_leaves_breaks_nothing(client):
    assert client.post("/predict", []).status == 400
    assert client.get("/health").status == 200


@pytest.fixture
def slow(model, monkeypatch):
    """A model that answers when told to."""
    go = threading.Event()
    told = type(model).probabilities

    def waiting(self, table):
        go.wait(20)
        return told(self, table)

    yield go, lambda: monkeypatch.setattr(type(model), "probabilities", waiting)
    go.set()


def test_one_request_too_many_is_told_to_come_back(client_of, model, row, slow):
    go, begin = slow
    client = client_of(model, limits=Limits(max_requests=2))
    begin()

    async def crowd():
        waiting = [asyncio.create_task(client.send("POST", "/predict", _json(row), JSON)) for _ in range(2)]
        while client_gate(client).inside < 2:
            await asyncio.sleep(0.005)
        refused = await client.send("POST", "/predict", _json(row), JSON)
        healthy = await client.send("GET", "/health")
        go.set()
        return refused, healthy, await asyncio.gather(*waiting)

    refused, healthy, served = client.run(crowd())
    assert (refused.status, refused.error["code"], refused.headers["retry-after"]) == (503, "overloaded", "1")
    assert healthy.status == 200
    assert [r.status for r in served] == [200, 200]
    assert client_gate(client).inside == 0
    assert client.post("/predict", row).status == 200


def test_a_slow_answer_is_given_up_but_counts_until_it_is_done(client_of, model, row, slow):
    go, begin = slow
    client = client_of(model, limits=Limits(max_requests=1, timeout=0.05))
    begin()
    assert client.post("/predict", row).error["code"] == "timeout"
    assert client.post("/predict", row).status == 503  # its thread is still at work
    go.set()

    async def free():
        while client_gate(client).inside:
            await asyncio.sleep(0.005)

    client.run(free())
    client_gate(client).limits = Limits(max_requests=1)
    assert client.post("/predict", row).status == 200


def test_an_answer_whose_client_has_left_is_given_up_at_once(client_of, model, row, slow):
    go, begin = slow
    client = client_of(model)
    begin()

    async def visit():
        leaves = asyncio.Event()
        asked = asyncio.create_task(client.send("POST", "/predict", _json(row), JSON, leaves=leaves))
        while not client_gate(client).inside:
            await asyncio.sleep(0.005)
        leaves.set()
        return await asyncio.wait_for(asked, 10)

    reply = client.run(visit())
    assert (reply.status, reply.error["code"]) == (400, "disconnected")
    assert client_gate(client).inside == 1  # its thread is still at work
    go.set()
    assert client.post("/predict", row).status == 200


def test_work_that_has_not_begun_is_dropped_when_given_up():
    gate = Gate(Limits(max_requests=100, timeout=0.02))
    go, done = threading.Event(), []

    async def crowd():
        threads = gate._pool._max_workers
        busy = [asyncio.create_task(gate.run(go.wait, 20)) for _ in range(threads)]
        late = [asyncio.create_task(gate.run(done.append, 1)) for _ in range(5)]
        return await asyncio.gather(*busy, *late, return_exceptions=True)

    told = asyncio.run(crowd())
    assert all(isinstance(t, Refusal) and t.status == 504 for t in told)
    go.set()
    gate._pool.shutdown(wait=True)
    assert done == []
    assert gate.inside == 0


def test_bodies_together_are_bounded():
    gate = Gate(Limits(max_bytes=10))
    with gate.holding() as more:
        for _ in range(8):
            more(10)
        with gate.holding() as other, pytest.raises(Refusal, match="too much at once"):
            other(1)
    assert gate.held == 0


def client_gate(client):
    """The gate behind an application: that of any of its endpoints."""
    return client.app.routes[0].endpoint.__self__.gate


def _json(row):
    import json

    return json.dumps(row).encode()
