"""The routes: a form for people, an interface for programs."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tilth.errors import TilthWarning
from tilth.serve import pages
from tilth.serve.guard import Guard, Hosts
from tilth.serve.limits import Gate, Limits
from tilth.serve.metrics import prometheus
from tilth.serve.openapi import document
from tilth.serve.payload import Content
from tilth.serve.refusal import Refusal
from tilth.serve.service import Service

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_CONTENTS: dict[str, Content] = {"application/json": "json", "text/csv": "csv"}
FORM = "application/x-www-form-urlencoded"


def require_starlette() -> None:
    """Say what to install if the web libraries are not there."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Serving a model needs two more packages, and {error.name} is not installed: pip install 'tilth[serve]'."
        ) from None


def make_app(
    model: Any,
    *,
    about: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    token: str | None = None,
    model_id: str = "",
    host: str = "127.0.0.1",
    allow_hosts: Collection[str] = (),
) -> Starlette:
    """A web application that answers for a fitted model.

    Parameters
    ----------
    about : what the model file says besides the model: ``reference`` (training rows as counts), ``card``, ``score``.
    token : what clients must show; None lets everybody in who can reach the server.
    model_id : given with every answer; by custom the SHA-256 of the model file.
    host, allow_hosts : the address it is bound to, and further names under which it may be asked for.
    """
    require_starlette()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.routing import Route

    limits = limits or Limits()
    service = Service(model, about or {}, limits, model_id)
    gate = Gate(limits)
    web = _Web(service, gate, secured=token is not None)
    routes = [
        Route("/", web.page, methods=["GET", "POST"]),
        Route("/predict", web.predict, methods=["POST"]),
        Route("/explain", web.explain, methods=["POST"]),
        Route("/health", web.health),
        Route("/schema", web.schema),
        Route("/openapi.json", web.openapi),
        Route("/docs", web.docs),
        Route("/card", web.card),
        Route("/metrics", web.metrics),
        *(Route(f"/page/{name}", web.file) for name in pages.FILES),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # What a model would warn about is in the answers. Filters belong to the whole process, so they are set once
        # and not by every thread.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TilthWarning)
            yield
        gate.close()

    guard = Middleware(
        cast(Any, Guard),
        hosts=Hosts(host, allow_hosts),
        token=token,
        metrics=service.metrics,
        paths=[r.path for r in routes],
    )
    app = Starlette(
        routes=routes,
        middleware=[guard],
        lifespan=lifespan,
        exception_handlers={HTTPException: cast(Any, _refused)},
    )
    app.router.redirect_slashes = False
    return app


def _refused(request: Request, error: Any) -> Response:
    """404 and 405 in the form of all refusals."""
    messages = {404: "No such path; GET /docs lists the paths."}
    raise Refusal(error.status_code, "http", messages.get(error.status_code, f"{error.detail}."), headers=error.headers)


class _Web:
    """The endpoints of one served model."""

    def __init__(self, service: Service, gate: Gate, secured: bool) -> None:
        self.service = service
        self.gate = gate
        self.document = document(service, secured)

    # ------------------------------------------------------------------------------------------------ for programs

    async def predict(self, request: Request) -> Response:
        """``POST /predict``."""
        return await self._rows(request, self.service.predict)

    async def explain(self, request: Request) -> Response:
        """``POST /explain``."""
        return await self._rows(request, self.service.explain)

    async def _rows(self, request: Request, work: Any) -> Response:
        from starlette.responses import Response

        content = _CONTENTS.get(_content_type(request))
        if content is None:
            raise Refusal(415, "content_type", f"Send application/json or text/csv; got {_told_type(request)}.")
        extra = request.query_params.get("extra", "refuse")
        if extra not in ("refuse", "ignore"):
            raise Refusal(400, "bad_query", f"extra must be 'refuse' or 'ignore'; got {extra[:60]!r}.")
        with self.gate.holding() as more:
            body = await _body(request, self.gate.limits, more)
            answer = await self.gate.run(work, body, content, extra == "ignore", left=partial(_left, request))
        return Response(answer, media_type="application/json")

    async def health(self, request: Request) -> Response:
        """``GET /health``."""
        return _json({"status": "ok"})

    async def schema(self, request: Request) -> Response:
        """``GET /schema``."""
        return _json(self.service.fields.json_schema())

    async def openapi(self, request: Request) -> Response:
        """``GET /openapi.json``."""
        return _json(self.document)

    async def metrics(self, request: Request) -> Response:
        """``GET /metrics``."""
        from starlette.responses import PlainTextResponse

        numbers = await self.gate.run(self.service.numbers)
        numbers["in_flight"] = self.gate.inside
        if request.query_params.get("format") == "json" or "application/json" in request.headers.get("accept", ""):
            return _json(numbers)
        return PlainTextResponse(prometheus(numbers), media_type="text/plain; version=0.0.4")

    # -------------------------------------------------------------------------------------------------- for people

    async def page(self, request: Request) -> Response:
        """``GET /`` and ``POST /``: the form, with the answer once there is one."""
        if request.method != "POST":
            return _html(pages.form_page(self.service))
        if _content_type(request) != FORM:
            raise Refusal(415, "content_type", f"The form is sent as {FORM}; programs use POST /predict.")
        with self.gate.holding() as more:
            body = await _body(request, self.gate.limits, more)
            answer = await self.gate.run(self.service.form, body, left=partial(_left, request))
        refusal = answer.get("refusal")
        status = refusal.status if refusal is not None else 200
        if request.query_params.get("part") == "answer":
            return _html(pages.answer_part(self.service, answer), status)
        return _html(pages.form_page(self.service, answer), status)

    async def docs(self, request: Request) -> Response:
        """``GET /docs``."""
        return _html(pages.docs_page(self.service, self.document, request.headers["host"]))

    async def card(self, request: Request) -> Response:
        """``GET /card``."""
        card = self.service.card()
        return _html(pages.card_page(self.service, card)) if _wants_html(request) else _json(card)

    async def file(self, request: Request) -> Response:
        """The style and the script of the pages."""
        from starlette.responses import Response

        name = request.url.path.rpartition("/")[2]
        return Response(pages.file(name), media_type=pages.FILES[name])


def _json(content: Any) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(content)


def _html(page: str, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(page.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _wants_html(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def _content_type(request: Request) -> str:
    """The media type, or nothing if the text is in another encoding than UTF-8."""
    kind, *options = request.headers.get("content-type", "").lower().split(";")
    charset = [o.partition("=")[2].strip(' "') for o in options if o.strip().startswith("charset")]
    return kind.strip() if all(c in ("utf-8", "utf8") for c in charset) else ""


def _told_type(request: Request) -> str:
    return (
        repr(request.headers.get("content-type", "")[:100]) if "content-type" in request.headers else "no Content-Type"
    )


async def _left(request: Request) -> None:
    """Wait until the client is gone; its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request, limits: Limits, more: Any) -> bytes:
    """The body, as long as it is not too large, not too slow and not compressed."""
    from starlette.requests import ClientDisconnect

    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "content_encoding", "Compressed bodies are not accepted; send the body uncompressed.")
    too_large = Refusal(413, "too_large", f"The body has more than {limits.max_bytes} bytes; send fewer rows at once.")
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and (len(length) > 15 or int(length) > limits.max_bytes):
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.timeout):
            async for part in request.stream():
                size += len(part)
                if size > limits.max_bytes:
                    raise too_large
                more(len(part))
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "too_slow", f"The body did not arrive within {limits.timeout:g} seconds.") from None
    except ClientDisconnect:
        raise Refusal(400, "disconnected", "The client left before its body was sent.") from None
    return b"".join(parts)
