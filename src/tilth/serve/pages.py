"""Pages for people. Names and values come from strangers: whatever is not a piece of our own templates is escaped.

A template is text with ``$names``; :func:`fill` escapes every value except pieces that it made itself, so that
forgetting something leaves it escaped.
"""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from string import Template
from typing import Any

from tilth.data.kinds import level_key
from tilth.report.render import cell_text, printable
from tilth.serve.schema import Field
from tilth.serve.service import Service

FILES = {"style.css": "text/css; charset=utf-8", "form.js": "text/javascript; charset=utf-8"}
#: A form with more fields than this is no help to anybody.
MOST_FIELDS = 300
#: Up to this many levels are a menu; more are typed, with suggestions.
_MENU, _SUGGESTIONS = 60, 500
#: Depth of a model card that is shown.
_DEPTH = 6


class Html(str):
    """A piece of a page that needs no escaping; joining or cutting it makes plain text again."""

    __slots__ = ()


def escaped(value: Any) -> Html:
    """Text as it is to be read, whatever it holds.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return value if isinstance(value, Html) else Html(html.escape(printable(str(value)), quote=True))


def fill(part: str, **values: Any) -> Html:
    """A part of the page with its values put in."""
    return Html(_parts()[part].substitute({name: escaped(value) for name, value in values.items()}))


def joined(pieces: Iterable[Any]) -> Html:
    """Pieces one after the other."""
    return Html("".join(map(escaped, pieces)))


@functools.cache
def file(name: str) -> str:
    """A file of the pages; only names in our own table are ever asked for."""
    return resources.files("tilth.serve").joinpath("page", name).read_text("utf-8")


@functools.cache
def _parts() -> dict[str, Template]:
    """The templates by name; each begins with a line ``<!-- part: name -->``."""
    pieces = re.split(r"<!-- part: (\w+) -->\n", file("parts.html"))
    return {name: Template(text.rstrip("\n")) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def _page(service: Service, title: str, body: Html) -> Html:
    model = service.answerer
    signature = f"{model.name} · tilth {service.version} · model {service.model_id[:12] or 'in memory'}"
    return fill("layout", title=title, body=body, signature=signature)


def _target(service: Service) -> str:
    return service.fields.target or "the answer"


# ----------------------------------------------------------------------------------------------------------------- form


def form_page(service: Service, reply: Mapping[str, Any] | None = None) -> Html:
    """The form, filled in as it was sent, and the answer beside it."""
    fields = service.fields.fields
    title = f"Predict {_target(service)}"
    if len(fields) > MOST_FIELDS:
        return _page(service, title, fill("no_form", count=len(fields)))
    cells = reply["cells"] if reply else {}
    controls = joined(_control(f, f"c{i}", cells.get(f"c{i}", "")) for i, f in enumerate(fields))
    answer = answer_part(service, reply) if reply else fill("no_answer")
    return _page(service, title, fill("form", controls=controls, answer=answer, target=_target(service)))


def _control(f: Field, key: str, value: str) -> Html:
    is_menu = f.takes == "level" and len(f.levels) <= _MENU
    if f.takes == "number":
        hint = f"{cell_text(f.low)} to {cell_text(f.high)} in training" if f.has_range else "a number"
        control = fill("number", key=key, value=value)
    elif is_menu:
        hint = "from low to high" if f.ordered else ""
        texts = [level_key(v) for v in f.levels]
        extra = [value] if value and value not in texts else []
        options = joined(_option(t, t == value) for t in (*texts, *extra))
        control = fill("menu", key=key, options=options, none="(missing)" if f.nullable else "(choose)")
    elif f.takes == "level":
        hint = f"one of {len(f.levels)} values"
        control = fill(
            "typed", key=key, value=value, options=joined(_option(level_key(v), False) for v in f.levels[:_SUGGESTIONS])
        )
    elif f.takes == "date":
        hint = "year-month-day"
        control = fill("date", key=key, value=value)
    else:
        hint, control = "", fill("text", key=key, value=value)
    missing = ("" if is_menu else "blank if missing") if f.nullable else "needed"
    return fill("control", key=key, name=f.name, control=control, hint="; ".join(h for h in (hint, missing) if h))


def _option(text: Any, chosen: bool) -> Html:
    # What is sent back must be the level to the last character, so only the text to be read is made printable.
    value = Html(html.escape(str(text), quote=True))
    return fill("chosen_option" if chosen else "option", value=value, text=text)


def answer_part(service: Service, reply: Mapping[str, Any]) -> Html:
    """The answer to a form: prediction, probabilities, reasons, warnings; or what has to be changed."""
    refusal = reply.get("refusal")
    if refusal is not None:
        messages = [p.message for p in refusal.problems] or [refusal.message]
        return fill("refused", items=joined(fill("item", text=text) for text in messages))
    answer = reply["answer"]
    pieces = [fill("prediction", target=_target(service), value=_shown(answer["prediction"]))]
    if "probabilities" in answer:
        shares = sorted(answer["probabilities"].items(), key=lambda item: -(item[1] or 0.0))[:20]
        bars = joined(fill("bar", name=name, value=f"{p or 0:.4f}", percent=f"{p or 0:.1%}") for name, p in shares)
        pieces.append(fill("bars", bars=bars))
    if "interval" in answer:
        ends = answer["interval"]
        words = f"{_shown(ends['low'])} to {_shown(ends['high'])}, expected to hold in {ends['level']:.0%} of cases"
        pieces.append(fill("sure", title="Interval", text=words))
    if "set" in answer:
        classes = ", ".join(map(str, answer["set"]["classes"])) or "none"
        words = f"{classes}; expected to contain the true class in {answer['set']['level']:.0%} of cases"
        pieces.append(fill("sure", title="Classes that cannot be ruled out", text=words))
    if reply["reasons"]:
        pieces.append(fill("reasons", items=joined(fill("item", text=text) for text in reply["reasons"])))
    if answer["warnings"]:
        items = joined(fill("item", text=f"{w['field']}: {w['message']}") for w in answer["warnings"])
        pieces.append(fill("warnings", items=items))
    return joined(pieces)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return "unbounded" if value is None else cell_text(value) if isinstance(value, float) else str(value)


# ------------------------------------------------------------------------------------------------------- docs and card


def docs_page(service: Service, document: Mapping[str, Any], host: str) -> Html:
    """The interface for people: paths, fields, examples to copy."""
    paths = joined(
        fill("path", method=method.upper(), path=path, summary=operation["summary"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    fields = joined(
        fill("field", name=f.name, expected=f.expected, range=_range(f)) for f in service.fields.fields[:MOST_FIELDS]
    )
    post = next(operation["post"] for path, operation in document["paths"].items() if path == "/predict")
    answers = joined(
        fill("status", status=status, text=operation["description"]) for status, operation in post["responses"].items()
    )
    example = json.dumps(service.fields.example(), ensure_ascii=False)
    quoted = example.replace("'", "'\\''")
    token = "-H 'Authorization: Bearer TOKEN' " if "security" in document else ""
    call = f"curl {token}-H 'Content-Type: application/json' \\\n  -d '{quoted}' \\\n  http://{host}/predict"
    body = fill("docs", paths=paths, fields=fields, answers=answers, example=example, call=call)
    return _page(service, f"Interface: {_target(service)}", body)


def _range(f: Field) -> str:
    return f"{f.low:g} to {f.high:g}" if f.takes == "number" and f.has_range else ""


def card_page(service: Service, card: Mapping[str, Any]) -> Html:
    """Facts about the model file."""
    rest = {key: value for key, value in card.items() if key != "fields" and value not in (None, [], {})}
    return _page(service, f"Model card: {_target(service)}", fill("card", facts=_facts(rest, 0)))


def _facts(value: Any, depth: int) -> Html:
    if depth > _DEPTH:
        return escaped("...")
    if isinstance(value, Mapping):
        return fill("facts", rows=joined(fill("fact", name=k, value=_facts(v, depth + 1)) for k, v in value.items()))
    if isinstance(value, list):
        return fill("listing", items=joined(fill("item", text=_facts(v, depth + 1)) for v in value[:100]))
    return escaped(_shown(value) if value is not None else "")
