"""What happens to every request before and after it is answered: who may ask, under which name, what is never said.

A server on this machine can be reached by every page in the browser. So requests must name a host that is ours (a name
that a stranger points at this machine is not), and requests that a page of another origin sends are refused.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from tilth.serve.metrics import Metrics
from tilth.serve.refusal import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

log = logging.getLogger("tilth.serve")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANY_ADDRESS = ("0.0.0.0", "::", "")
#: Answered without a token, so that a machine can see whether the server lives.
_OPEN = ("/health",)
_HEADERS = [
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer a browser would hide the origin of our own form
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.8"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


class Hosts:
    """The names under which the server may be asked for."""

    def __init__(self, bound: str, also: Collection[str] = ()) -> None:
        # A bare address cannot be pointed elsewhere, so where all addresses are bound, all are taken.
        self._any_address = bound in _ANY_ADDRESS
        own = [socket.gethostname()] if self._any_address else [bound]
        self._names = {name.lower().rstrip(".") for name in (*LOOPBACK, *own, *also)}

    def allow(self, header: str) -> bool:
        """Whether a Host header names this server."""
        name = _name(header)
        return name in self._names or (self._any_address and _address(name) is not None)


def _name(header: str) -> str:
    """The host of a Host header, without its port; nothing for what is no such header."""
    try:
        parts = urlsplit(f"//{header}")
        return (parts.hostname or "").rstrip(".") if not (parts.path or parts.query or parts.username) else ""
    except ValueError:
        return ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: App, hosts: Hosts, token: str | None, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self.hosts = hosts
        self.token = None if token is None else token.encode()
        self.metrics = metrics
        self.paths = frozenset(paths)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Check, pass on, and answer for whatever went wrong inside."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, sending)
        except Refusal as refusal:
            await _answer(refusal, sending)
        except Exception:
            log.exception("A request to %s failed", scope["path"] if scope["path"] in self.paths else "another path")
            if status == 0:
                text = "The server failed to answer; see its log. The request was not the cause."
                await _answer(Refusal(500, "internal", text), sending)
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.answered(path, status, time.perf_counter() - begun)

    def _check(self, scope: Message) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.hosts.allow(host):
            message = f"This server is not called {host[:100]!r}; use its address, or start it with --allow-host."
            raise Refusal(421, "wrong_host", message)
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            sender = origin.decode("latin-1").partition("://")[2]
            if sender.lower() != host.lower():
                raise Refusal(403, "other_origin", "Pages of other origins may not send requests here.")
        if self.token is not None and scope["path"] not in _OPEN:
            token = _token(headers.get(b"authorization", b""))
            if not hmac.compare_digest(token, self.token):
                message = (
                    "A token is needed: Authorization: Bearer TOKEN (in a browser: any name, the token as password)."
                )
                raise Refusal(
                    401, "no_token", message, headers={"WWW-Authenticate": 'Basic realm="tilth", charset="UTF-8"'}
                )


def _token(header: bytes) -> bytes:
    """The token of an Authorization header: of the Bearer scheme, or the password of the Basic scheme."""
    scheme, _, token = header.partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(token, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


async def _answer(refusal: Refusal, send: Send) -> None:
    body = json.dumps(refusal.to_dict()).encode("ascii")
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    encoded = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
