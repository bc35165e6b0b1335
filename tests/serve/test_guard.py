"""Who may ask: hosts, origins, tokens; and what every response carries."""

import base64
import socket

import pytest

from tilth.serve.guard import Hosts, is_loopback

TOKEN = "a-long-secret-token"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:1", "localhost.", "[::1]:8000"]
)
def test_names_of_this_machine_are_answered(client, host):
    assert client.get("/health", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "10.0.0.1", "", "a b", "[::1", "x/../", None],
)
def test_other_names_are_not(client, row, host):
    for reply in (client.get("/health", host=host), client.post("/predict", row, host=host)):
        assert (reply.status, reply.error["code"]) == (421, "wrong_host")


def test_hosts_follow_the_address():
    assert Hosts("192.168.1.5").allow("192.168.1.5:80")
    assert not Hosts("192.168.1.5").allow("192.168.1.6")
    everywhere = Hosts("0.0.0.0", ["models.example"])
    assert everywhere.allow("10.1.2.3")
    assert everywhere.allow("[fe80::1]:9")
    assert everywhere.allow(socket.gethostname())
    assert everywhere.allow("models.example:443")
    assert not everywhere.allow("evil.example")
    assert [is_loopback(h) for h in ("::1", "127.9.9.9", "::", "example.org")] == [True, True, False, False]


def test_pages_of_other_origins_cannot_send(client, row):
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://evil.example"}
    assert client.post("/", b"c0=1", form).error["code"] == "other_origin"
    assert client.post("/predict", row, {"content-type": "application/json", "origin": "null"}).status == 403
    own = {"content-type": "application/json", "origin": "http://127.0.0.1"}
    assert client.post("/predict", row, own).status == 200


def test_every_response_is_locked_down(client, row):
    for reply in (
        client.get("/"),
        client.get("/nothing"),
        client.post("/predict", row),
        client.get("/health", host="evil"),
    ):
        assert reply.headers["content-security-policy"].startswith("default-src 'self';")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in reply.headers)


def basic(name, password):
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def test_a_token_is_asked_for(client_of, model, row):
    client = client_of(model, token=TOKEN)
    json_type = {"content-type": "application/json"}
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/health").json() == {"status": "ok"}
    for path in ("/", "/docs", "/openapi.json", "/schema", "/card", "/metrics", "/page/form.js", "/nothing"):
        refused = client.get(path)
        assert (refused.status, refused.error["code"]) == (401, "no_token"), path
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert client.get(path, bearer).status == (404 if path == "/nothing" else 200)
        assert client.get(path, basic("any", TOKEN)).status == (404 if path == "/nothing" else 200)
    assert client.post("/predict", row, json_type).status == 401
    assert client.post("/predict", row, json_type | bearer).status == 200
    assert client.get("/openapi.json", bearer).json()["security"] == [{"token": []}]


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Bearer wrong", f"Bearer {TOKEN}x", f"Token {TOKEN}", TOKEN, "Basic", "Basic !!!",
     "Basic YQ==", f"Bearer {TOKEN[:-1]}", "Bearer \xff"],
)  # fmt: skip
def test_wrong_tokens_are_refused(client_of, model, header):
    client = client_of(model, token=TOKEN)
    assert client.get("/schema", {"authorization": header}).status == 401
