"""Whatever is sent, the answer is a refusal in JSON that says why; never a 500, never a traceback."""

import json
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

JSON = {"content-type": "application/json"}

BODIES = {
    "nothing": (b"", 400),
    "spaces": (b"   ", 400),
    "half": (b'{"age": ', 400),
    "deep lists": (b'{"age":' + b"[" * 200_000 + b"]" * 200_000 + b"}", 400),
    "deep objects": (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, 400),
    "deep and open": (b"[" * 1_000_000, 400),
    "NaN": (b'{"age": NaN}', 400),
    "Infinity": (b'{"age": -Infinity}', 400),
    "1e400": (b'{"rows": [{"age": 1e400}]}', 422),
    "5,000 digits": (b'{"age": ' + b"9" * 5000 + b"}", 400),
    "100,000 digits": (b'{"age": ' + b"9" * 100_000 + b"}", 400),
    "invalid utf-8": (b'{"age": "\xff"}', 400),
    "utf-16": ('{"age": 1}'.encode("utf-16"), 400),
    "key twice": (b'{"age": 1, "age": 2}', 400),
    "key twice inside": (b'{"rows": [{"age": 1, "age": 2}]}', 400),
    "zero bytes": (b"\0\0\0\0", 400),
    "zero byte in a key": (b'{"a\\u0000ge": 1}', 422),
    "lone surrogate": (b'{"sex\\ud800": "\\udfff"}', 422),
    "a list": (b'[{"age": 1}]', 422),
    "a number": (b"17", 422),
    "null": (b"null", 422),
    "a text": (b'"age"', 422),
    "rows are an object": (b'{"rows": {"age": 1}}', 422),
    "rows are text": (b'{"rows": "age"}', 422),
    "rows are lists": (b'{"rows": [[1, 2, 3]]}', 422),
    "rows are null": (b'{"rows": [null]}', 422),
    "no rows": (b'{"rows": []}', 422),
    "columns are a list": (b'{"columns": [1]}', 422),
    "columns hold no lists": (b'{"columns": {"age": 1}}', 422),
    "columns of odd lengths": (b'{"columns": {"age": [1], "sex": ["male", "male"]}}', 422),
    "no columns": (b'{"columns": {}}', 422),
    "empty object": (b"{}", 422),
    "100,000 keys": (json.dumps({f"k{i}": i for i in range(100_000)}).encode(), 422),
    "one of 200,000 keys twice": (b"{" + b"".join(b'"k%d":1,' % i for i in range(200_000)) + b'"k9":1}', 400),
    "100 empty rows": (b'{"rows": [' + b"{}," * 99 + b"{}]}", 422),
    "a key of 1 MB": (json.dumps({"k" * 2**20: 1}).encode(), 422),
    "a value of 1 MB": (json.dumps({"age": "v" * 2**20}).encode(), 422),
}


@pytest.mark.parametrize("name", BODIES)
def test_hostile_bodies_are_refused_in_few_words(client, name):
    body, status = BODIES[name]
    for path in ("/predict", "/explain"):
        reply = client.post(path, body)
        assert reply.status == status, reply.text
        assert reply.error["message"]
        assert "Traceback" not in reply.text
        assert len(reply.body) < 30_000
    assert client.get("/health").status == 200


def test_hostile_values_in_good_rows_are_only_unseen(client, row):
    for level in ("\0", "\ud800", "<script>", "v" * 100_000, "\N{RIGHT-TO-LEFT OVERRIDE}", ""):
        reply = client.post("/predict", {**row, "sex": level})
        assert reply.status == 200, level
        warning = reply.json()["warnings"][0]
        assert warning["code"] == "unseen_level"
        assert len(warning["message"]) < 300


def test_a_number_beyond_all_bounds_is_refused_by_its_field(client, row):
    for text in (b"1e400", b"-1e999", b"9" * 400):
        body = json.dumps({**row, "age": 0.25}).encode().replace(b"0.25", text)
        problem = client.post("/predict", body).error["problems"][0]
        assert (problem["field"], problem["expected"]) == ("age", "a finite number, or null")


def test_content_that_is_not_taken(client, row):
    body = json.dumps(row).encode()
    for kind in (
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "",
        "application/json; charset=utf-16",
    ):
        assert client.post("/predict", body, {"content-type": kind}).status == 415, kind
    assert client.post("/predict", body, {}).status == 415
    assert client.post("/predict", body, {"content-type": "APPLICATION/JSON; charset=UTF-8"}).status == 200
    squeezed = client.post("/predict", body, {**JSON, "content-encoding": "gzip"})
    assert (squeezed.status, squeezed.error["code"]) == (415, "content_encoding")


def test_other_methods_and_paths(client):
    assert client("OPTIONS", "/predict").status == 405
    assert "access-control-allow-origin" not in client("OPTIONS", "/predict").headers
    assert client("HEAD", "/health").status == 200
    assert client.get("/predict").status == 405
    assert client("PUT", "/predict").headers["allow"] == "POST"
    for path in (
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/",
        "/page/parts.html",
        "//etc/passwd",
        "/predict/",
        "/\0",
    ):
        reply = client.get(path)
        assert reply.status == 404, path
        assert "error" in reply.json()


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("pclass", "sex", "age", "sib_sp", "parch", "fare", "embarked")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.one_of(st.binary(max_size=200), JSONS.map(lambda v: json.dumps(v).encode())))
def test_any_body_gets_an_answer(client, body):
    assert client.post("/predict", body).status in (200, 400, 422)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.fixed_dictionaries({name: JSONS for name in FIELDS}), min_size=1, max_size=3))
def test_any_values_get_an_answer(client, rows):
    reply = client.post("/predict", {"rows": rows})
    assert reply.status in (200, 400, 422)
    if reply.status == 200:
        assert len(reply.json()["predictions"]) == len(rows)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_any_csv_and_any_form_get_an_answer(client, text):
    assert client.post("/predict", text.encode("utf-8", "replace"), {"content-type": "text/csv"}).status in (
        200,
        400,
        422,
    )
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/", text.encode("utf-8", "replace"), form).status in (200, 400, 422)


def test_a_fault_of_the_server_tells_nothing_of_its_inside(client_of, model, row, monkeypatch, caplog):
    client = client_of(model)

    def broken(*arguments, **options):
        raise RuntimeError("secret inside")

    monkeypatch.setattr("tilth.serve.service.rows_of", broken)
    with caplog.at_level(logging.ERROR, logger="tilth.serve"):
        reply = client.post("/predict", row)
    assert (reply.status, reply.error["code"]) == (500, "internal")
    assert "secret" not in reply.text
    assert "secret inside" in caplog.text


def test_ignored_fields_are_remarked_on_within_reason(client, row):
    columns = {name: [value] * 10 for name, value in row.items()} | {f"k{i}": [] for i in range(5000)}
    told = client.post("/predict?extra=ignore", {"columns": columns}).json()["predictions"]
    assert [len(a["warnings"]) for a in told] == [20] * 10


def test_long_digits_that_are_no_number_are_refused_at_once(client, row):
    digits = "9" * 100_000 + "x"
    lines = ",".join(row) + "\n" + ",".join(digits if name == "age" else str(v) for name, v in row.items())
    assert client.post("/predict", lines.encode(), {"content-type": "text/csv"}).error["problems"][0]["field"] == "age"
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/", f"c0={digits}".encode(), form).status == 422
