"""A client that speaks to the application directly, so that tests can send what no well-meaning library would."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json()["error"]


class Client:
    """Requests to one application, whose start and end it keeps to."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._runner = asyncio.Runner()
        self._lifespan = app.router.lifespan_context(app)

    def __enter__(self) -> Client:
        self._runner.run(self._lifespan.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._lifespan.__aexit__(None, None, None))
        self._runner.close()

    def run(self, work: Any) -> Any:
        return self._runner.run(work)

    async def send(
        self, method: str, path: str, body: Any = b"", headers: Any = (), host: str | None = "127.0.0.1",
        leaves: asyncio.Event | None = None,
    ) -> Reply:  # fmt: skip
        given = [(k.lower().encode(), v.encode("latin-1")) for k, v in dict(headers).items()]
        if host is not None:
            given.append((b"host", host.encode()))
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
            "headers": given, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        parts = list(body) if isinstance(body, list) else [body]
        stays = bool(parts)  # a client that sends nothing at all has left
        reply = Reply()

        async def receive() -> dict[str, Any]:
            if not parts:
                if stays:
                    await (leaves or asyncio.Event()).wait()
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            if part is None:  # a body that never comes
                await asyncio.sleep(3600)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                reply.status = message["status"]
                reply.headers = {k.decode(): v.decode() for k, v in message["headers"]}
            else:
                reply.body += message.get("body", b"")

        await self.app(scope, receive, send)
        return reply

    def __call__(self, method: str, path: str, body: Any = b"", headers: Any = (), **options: Any) -> Reply:
        return self.run(self.send(method, path, body, headers, **options))

    def get(self, path: str, headers: Any = (), **options: Any) -> Reply:
        return self("GET", path, b"", headers, **options)

    def post(self, path: str, given: Any, headers: Any = JSON, **options: Any) -> Reply:
        body = given if isinstance(given, (bytes, list)) else json.dumps(given).encode()
        return self("POST", path, body, headers, **options)


@pytest.fixture(scope="session")
def titanic() -> Any:
    from tilth.data.datasets import load

    frame = load("titanic").frame.drop(columns=["passenger_id", "name", "ticket"])
    return frame.assign(survived=frame["survived"].map({0: "no", 1: "yes"}))


@pytest.fixture(scope="session")
def model(titanic: Any) -> Any:
    from tilth import NaiveBayes

    return NaiveBayes().fit(titanic, "survived")


@pytest.fixture
def client_of() -> Any:
    """A client of an application for a model; it lives as long as the test."""
    from contextlib import ExitStack

    from tilth.serve.app import make_app

    with ExitStack() as stack:
        yield lambda model, **options: stack.enter_context(Client(make_app(model, **options)))


@pytest.fixture
def client(client_of: Any, model: Any) -> Client:
    return client_of(model, model_id="f" * 64)


@pytest.fixture
def row() -> dict[str, Any]:
    return {"pclass": 3, "sex": "male", "age": 30, "sib_sp": 0, "parch": 0, "fare": 8.05, "embarked": "S"}


@pytest.fixture(scope="session")
def running() -> Any:
    """A server process for a model file, and what it says at its start; it is ended with the block.

    ``code`` is a program that calls the command, where it is not the command itself.
    """
    environment = {k: v for k, v in os.environ.items() if k != "TILTH_TOKEN"}

    @contextlib.contextmanager
    def started(*arguments: Any, code: str | None = None) -> Any:
        program = ["-m", "tilth.cli.main"] if code is None else ["-c", code]
        line = [sys.executable, *program, "serve", *map(str, arguments), "--port", "0", "--json"]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            text = ""
            while not text.endswith("}\n"):
                part = process.stdout.readline()
                assert part, process.stderr.read()
                text += part
            yield process, json.loads(text)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=60)

    return started
