"""A real server process: how it starts, what it survives, how it ends."""

import contextlib
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

import tilth
from tilth.cli.serve import _token as token_of
from tilth.cli.serve import serve as command
from tilth.serve.server import AddressError, bind

START = 120
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TILTH_TOKEN"}


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    model = tilth.NaiveBayes().fit(
        {"age": [1.0, 2.0, 3.0, 4.0], "job": ["a", "b", "a", "b"]}, ["no", "no", "yes", "yes"]
    )
    return tilth.save(model, tmp_path_factory.mktemp("served") / "model.tilth", about={"card": {"use": "tests"}})


def ended(*arguments):
    """A server that is expected not to start."""
    line = [sys.executable, "-m", "tilth.cli.main", "serve", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=START, env=ENVIRONMENT, check=False)


def ask(url, method="GET", path="/health", body=None, headers=()):
    connection = http.client.HTTPConnection(urlsplit(url).hostname, urlsplit(url).port, timeout=60)
    try:
        connection.request(method, path, body, dict(headers))
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def raw(url, sent):
    """Bytes on a bare connection; gives what comes back until the server hangs up."""
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=60) as connection:
        connection.sendall(sent)
        back = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                back += part
        return back


def test_it_serves_survives_and_stops(model_file, running):
    with running(model_file, "--timeout", "1") as (process, told):
        assert told["schema"] == "tilth.serve/1"
        assert told["model_id"] == hashlib.sha256(model_file.read_bytes()).hexdigest()
        url = told["url"]
        assert url.startswith("http://127.0.0.1:")
        assert ask(url) == (200, '{"status":"ok"}')
        sent = json.dumps({"age": 4, "job": "b"})
        status, text = ask(url, "POST", "/predict", sent, {"Content-Type": "application/json"})
        assert (status, json.loads(text)["prediction"]) == (200, "yes")
        assert json.loads(text)["model_id"] == told["model_id"]
        assert json.loads(ask(url, path="/card")[1])["card"] == {"use": "tests"}
        assert ask(url, headers={"Host": "evil.example"})[0] == 421
        # Headers without end, headers that stop, a body that stops, junk, an endless chunk size: all are ended by us.
        assert raw(url, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 200_000).startswith(b"HTTP/1.1 400")
        assert raw(url, b"GET /health HTTP/1.1\r\nHost: 127.0") == b""
        assert raw(url, b"") == b""
        head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        assert raw(url, head + b"Content-Length: 50\r\n\r\n{").startswith(b"HTTP/1.1 408")
        assert raw(url, b"\x16\x03\x01\x02\0\x01\0\r\n\r\n").startswith(b"HTTP/1.1 400")
        assert raw(url, head + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n").startswith(b"HTTP/1.1 400")
        assert ask(url)[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert "Traceback" not in process.stderr.read()


def test_sigterm_is_a_good_end_and_other_machines_without_a_token_are_warned_about(model_file, running):
    with running(model_file, "--host", "0.0.0.0", "-q") as (process, told):
        assert ask(f"http://127.0.0.1:{urlsplit(told['url']).port}/")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        said = process.stderr.read()
    assert said.startswith("WARNING: 0.0.0.0 can be reached from other machines")
    assert "--token-file" in said


SLOW = """
import time, tilth
from tilth.cli.main import main
from tilth.serve import server
server.GRACE = {grace}
told = tilth.NaiveBayes.probabilities
def slow(self, table):
    if 99 in table.numbers():
        print("begun", flush=True)
        time.sleep(600)
    return told(self, table)
tilth.NaiveBayes.probabilities = slow
main()
"""


AGE_99 = json.dumps({"age": 99, "job": "b"})
AS_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(("how", "timeout", "grace"), [("left", 500, 500), ("given up", 1, 500), ("waiting", 500, 1)])
def test_an_answer_that_never_comes_does_not_keep_the_server(model_file, running, how, timeout, grace):
    """The client has left; the client was told that it took too long; the client still waits, and grace is over.

    The answer takes far longer than the test is ready to wait.
    """
    code = SLOW.replace("{grace}", str(grace))
    with running(model_file, "--timeout", timeout, "-q", code=code) as (process, told):
        connection = http.client.HTTPConnection(urlsplit(told["url"]).hostname, urlsplit(told["url"]).port, timeout=60)
        connection.request("POST", "/predict", AGE_99, AS_JSON)
        assert process.stdout.readline() == "begun\n"
        if how == "left":
            connection.close()
        elif how == "given up":
            assert connection.getresponse().status == 504
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert "Traceback" not in process.stderr.read()
        connection.close()


def test_tokens_come_from_three_places(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("from-file\n")
    monkeypatch.setenv("TILTH_TOKEN", "from-environment")
    assert token_of(None, None) == "from-environment"
    assert token_of(None, tmp_path / "token") == "from-file"
    assert token_of("given", None) == "given"
    monkeypatch.delenv("TILTH_TOKEN")
    assert token_of(None, None) is None


def test_a_port_in_use_names_a_free_one(model_file):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = ended(model_file, "--port", port)
        assert found.returncode == 2
        assert f"Port {port} of 127.0.0.1 is in use; port " in found.stderr
        assert "--port" in found.stderr
        assert "Traceback" not in found.stderr
    with pytest.raises(AddressError, match="no address"):
        bind("no such host.invalid", 80)
    with pytest.raises(AddressError, match=r"Cannot listen at 192\.0\.2\.1"):
        bind("192.0.2.1", 0)


def test_a_model_file_that_is_not_there_or_is_refused(tmp_path):
    absent = ended(tmp_path / "nothing.tilth")
    assert (absent.returncode, "There is no model file" in absent.stderr) == (3, True)
    (tmp_path / "bad.tilth").write_bytes(b"PK\x03\x04 not a model")
    refused = ended(tmp_path / "bad.tilth", "--port", "0")
    assert refused.returncode == 6
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--token", ""], "--token: a token is one or more visible ASCII characters"),
        (["--token", "two words"], "--token: a token"),
        (["--token", "a", "--token-file", "b"], "not both"),
        (["--token-file", "/no/such/file"], "cannot be read"),
        (["--max-bytes", "lots"], "'lots' is not a size"),
        (["--max-rows", "0"], "--max-rows"),
        (["--port", "70000"], "--port"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "inf"], "timeout must be a number above 0"),
    ],
)
def test_wrong_options_are_told(model_file, options, said):
    found = CliRunner().invoke(command, [str(model_file), *options], env={"TILTH_TOKEN": None})
    assert found.exit_code == 2
    assert said in found.output


def test_an_empty_token_in_the_environment_does_not_open_the_server(model_file):
    found = CliRunner().invoke(command, [str(model_file)], env={"TILTH_TOKEN": " "})
    assert (found.exit_code, "TILTH_TOKEN: a token" in found.output) == (2, True)


def test_missing_libraries_are_named(model_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    found = CliRunner().invoke(command, [str(model_file)], env={"TILTH_TOKEN": None})
    assert found.exit_code == 2
    assert "pip install 'tilth[serve]'" in found.output
