"""Running the application: a socket, a model file, and a quiet end."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from tilth.serve.app import make_app, require_starlette
from tilth.serve.guard import is_loopback
from tilth.serve.limits import THREADS, Limits

#: Connections kept open at once; more are turned away by the web server itself.
_CONNECTIONS = 1000
#: Seconds that requests may still take once the process is told to stop, if ``timeout`` is not less.
GRACE = 5
#: Bytes of a request line with its headers.
_HEADER_BYTES = 64 * 2**10


class AddressError(OSError):
    """An address that cannot be bound; the message names what can be done."""


def serve(
    path: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    token: str | None = None,
    limits: Limits | None = None,
    allow_hosts: Collection[str] = (),
    on_start: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Answer for a model file over HTTP until the process is told to stop (SIGINT or SIGTERM).

    Requests may then end within ``GRACE`` seconds. A thread that computes what nobody waits for cannot be stopped:
    Python waits for it at its end, unless :func:`leave_now` ends the process.

    Parameters
    ----------
    path : a model file.
    host, port : the address; 127.0.0.1 is reached from this machine only, port 0 takes any that is free.
    token : what clients must show; see :func:`tilth.serve.app.make_app`.
    on_start : called once the server listens, with its ``url``, the ``model_id`` and the ``class`` of the model.
    """
    require_starlette()
    from tilth.lifecycle.save import load, read_about

    listening = bind(host, port)
    with listening:
        target = Path(path)
        model, about = load(target), read_about(target)
        with target.open("rb") as stream:
            model_id = hashlib.file_digest(stream, "sha256").hexdigest()
        limits = limits or Limits()
        app = make_app(
            model, about=about, limits=limits, token=token, model_id=model_id, host=host, allow_hosts=allow_hosts
        )
        if token is None and not is_loopback(host):
            print(
                f"WARNING: {host} can be reached from other machines, and no token is required: anyone who reaches "
                "port "
                f"{listening.getsockname()[1]} can use the model. Give --token-file, or leave --host out.",
                file=sys.stderr,
                flush=True,
            )
        status = {"url": _url(listening), "model_id": model_id, "class": type(model).__name__}
        _run(app, listening, limits, lambda: on_start(status) if on_start else None)


def leave_now() -> None:
    """End the process, as a good end, if a thread still computes an answer; else do nothing."""
    if any(thread.name.startswith(THREADS) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # any other end joins the thread, or takes the interpreter from under compiled code


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address, or an error that names a free port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise AddressError(f"There is no address {host!r} on this machine: {error}. Give --host 127.0.0.1.") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise AddressError(f"Cannot listen at {host}: {error.strerror}. Give --host 127.0.0.1.") from None
        with socket.socket(family, kind) as other:
            other.bind((host, 0))
            free = other.getsockname()[1]
        why = "is in use" if error.errno == errno.EADDRINUSE else "is not allowed to this user"
        raise AddressError(f"Port {port} of {host} {why}; port {free} is free: --port {free}.") from None
    return listener


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _run(app: Any, listening: socket.socket, limits: Limits, on_start: Callable[[], None]) -> None:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes a connection whose request line and headers do not arrive in time."""

        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._stop_waiting()
            elif self._waiting is None and (self.cycle is None or self.cycle.response_complete):
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._waiting = self.loop.call_later(limits.timeout, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_start()

        def handle_exit(self, sig: int, frame: Any) -> None:
            # To stop when told to is a good end: unlike uvicorn's own, this does not raise the signal again.
            self.force_exit = self.should_exit and sig == signal.SIGINT
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_graceful_shutdown=min(math.ceil(limits.timeout), GRACE),
    )
    Server(config).run(sockets=[listening])
