"""Things in a report that a reader can move: their data checked, and said as a table where nothing moves.

``Section.control`` is a mapping whose ``"kind"`` is one of :data:`KINDS`; the template of that name in
``templates/controls`` draws it.

``threshold``: from which score on a row is taken for the class, with costs of the reader's own::

    {"kind": "threshold", "thresholds": [..], "tp": [..], "fp": [..], "fn": [..], "tn": [..],
     "n": 1000, "chosen": 0.4, "positive": "yes", "cost": {"fp": 1, "fn": 5}}

The five lists have one entry per threshold (1 to 200 of them, rising); counts may be weights. ``n`` is their sum,
``positive`` the class, ``cost`` what one false alarm and one miss cost at first.

``rows``: example rows as cards to step through, with the reasons of each answer as bars::

    {"kind": "rows", "columns": ["age", "job"], "rows": [
        {"title": "Row 17: most surely wrong", "text": "Said yes with 0.98; it is no.", "light": "bad",
         "facts": {"said": "yes", "is": "no"}, "cells": {"age": 31, "job": "none"},
         "reasons": [{"column": "age", "value": "31", "amount": 0.8}]}]}

Only ``title`` is needed. ``cells`` are shown in the order of ``columns``. Reasons above zero speak for the answer.

``numbers``: the few numbers to see first::

    {"kind": "numbers", "numbers": [{"label": "accuracy", "value": "75.4%", "note": "72.7 to 78.0%", "light": "good"}]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tilth.report.cells import LIGHT_WORDS, Table, cell_text, shortened

#: Thresholds that a page holds at most.
MOST_THRESHOLDS = 200
#: Cards and the reasons on one of them at most.
MOST_CARDS, MOST_REASONS = 40, 12
_COUNTS = ("tp", "fp", "fn", "tn")


class ControlError(ValueError):
    """The data of a control do not have the documented shape; the message says what was found."""


@dataclass(frozen=True)
class Control:
    """A checked control: its kind, what its template shows, the table that says the same, and data for the script."""

    kind: str
    shown: Mapping[str, Any]
    table: Table
    data: Mapping[str, Any] | None = None

    def json(self) -> str:
        """The data as json that is safe inside a script element, which only "<" could end."""
        return json.dumps(self.data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def checked(control: Mapping[str, Any]) -> Control:
    """The control with its data checked.

    >>> checked({"kind": "numbers", "numbers": [{"label": "rows", "value": 14}]}).table.rows
    [['rows', '14', '']]
    """
    kind = control.get("kind")
    if kind not in KINDS:
        raise ControlError(f"A control of kind {kind!r} is unknown; the kinds are {', '.join(KINDS)}.")
    return KINDS[kind](control)


# ------------------------------------------------------------------------------------------------------------ threshold


def _threshold(control: Mapping[str, Any]) -> Control:
    lists = {name: _numbers(control, name) for name in ("thresholds", *_COUNTS)}
    at = lists["thresholds"]
    sizes = {name: len(values) for name, values in lists.items()}
    if len(set(sizes.values())) != 1 or not 1 <= len(at) <= MOST_THRESHOLDS:
        raise ControlError(
            f"A threshold control needs five lists of one length from 1 to {MOST_THRESHOLDS}; found {sizes}."
        )
    if any(b < a for a, b in pairwise(at)):
        raise ControlError("The thresholds of a threshold control must rise; sort the five lists by threshold.")
    n = _number(control.get("n"), "n", least=0.0)
    if n == 0:
        raise ControlError("A threshold control needs rows: n is 0.")
    cost = {name: _number(dict(control.get("cost") or {}).get(name, 1.0), f"cost of {name}", 0.0) for name in _COSTS}
    chosen = _number(control.get("chosen"), "chosen")
    # Costs a reader types are weighed again by the script; these are what stands there at first and without a script.
    place = min(range(len(at)), key=lambda i: (abs(at[i] - chosen), i))
    costs = [1000 * (cost["fp"] * fp + cost["fn"] * fn) / n for fp, fn in zip(lists["fp"], lists["fn"], strict=True)]
    cheapest = min(range(len(at)), key=lambda i: (costs[i], abs(at[i] - chosen)))
    header = ["", "threshold", *_COUNTS, "precision", "recall", "cost per 1,000"]
    rows = []
    for name, i in (("chosen", place), ("cheapest at these costs", cheapest)):
        tp, fp, fn, tn = (lists[key][i] for key in _COUNTS)
        rates = (_share(tp, tp + fp), _share(tp, tp + fn), costs[i])
        rows.append([name, *map(cell_text, (at[i], tp, fp, fn, tn, *rates))])
    positive = shortened(cell_text(control.get("positive", "the class")))
    table = Table([h.upper() if h in _COUNTS else h for h in header], rows, [False] + [True] * (len(header) - 1), 0)
    data = {**lists, "n": n, "cost": cost, "place": place}
    return Control("threshold", {"positive": positive, "cost": cost, "place": place, "size": len(at)}, table, data)


_COSTS = ("fp", "fn")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _numbers(control: Mapping[str, Any], name: str) -> list[float]:
    values = control.get(name)
    if values is None or isinstance(values, str) or not hasattr(values, "__len__"):
        raise ControlError(f"A threshold control needs a list {name!r}; found {type(values).__name__}.")
    return [_number(v, name, None if name == "thresholds" else 0.0) for v in values]


def _number(value: Any, name: str, least: float | None = None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (least is not None and number < least):
        needed = "a finite number" + ("" if least is None else f" of at least {least:g}")
        raise ControlError(f"The {name} of a threshold control must be {needed}; found {value!r}.")
    return int(number) if number.is_integer() and abs(number) < 2**53 else float(f"{number:.6g}")


# ----------------------------------------------------------------------------------------------------------------- rows


def _rows(control: Mapping[str, Any]) -> Control:
    mappings = _mappings(control, "rows")[:MOST_CARDS]
    columns = [str(c) for c in control.get("columns") or ()]
    cards = [_card(row, columns) for row in mappings]
    facts = list(dict.fromkeys(name for card in cards for name in card["facts"]))
    header = ["example", *facts, *map(_name, columns), "reasons"]
    rows = [
        [
            _lit(card["title"], card["light"]),
            *(card["facts"].get(name, "") for name in facts),
            *(card["cells"].get(_name(name), "") for name in columns),
            ", ".join(f"{r['column']}{_equals(r['value'])} {r['shown']}" for r in card["reasons"]),
        ]
        for card in cards
    ]
    return Control("rows", {"cards": cards}, Table(header, rows, [False] * len(header), 0))


def _card(row: Mapping[str, Any], columns: list[str]) -> dict[str, Any]:
    reasons = sorted(_mappings(row, "reasons"), key=lambda r: -abs(_amount(r)))[:MOST_REASONS]
    largest = max((abs(_amount(r)) for r in reasons), default=0.0) or 1.0
    cells = {str(k): v for k, v in dict(row.get("cells") or {}).items()}
    return {
        "title": _name(row.get("title", "")),
        "text": shortened(cell_text(row.get("text", "")), 1000),
        "light": _light(row),
        "facts": {_name(k): _name(v) for k, v in dict(row.get("facts") or {}).items()},
        "cells": {_name(c): _name(cells[c]) for c in (columns or cells) if c in cells},
        "reasons": [
            {
                "column": _name(r.get("column", "")),
                "value": _name(r.get("value", "")),
                "shown": f"{_amount(r):+.3g}",
                "width": f"{100 * abs(_amount(r)) / largest:.1f}",
                "side": "for" if _amount(r) >= 0 else "against",
            }
            for r in reasons
        ],
    }


def _amount(reason: Mapping[str, Any]) -> float:
    value = reason.get("amount")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ControlError(f"A reason of a rows control needs a finite number as its amount; found {value!r}.")
    return float(value)


def _equals(value: str) -> str:
    return f" = {value}" if value else ""


def _name(value: Any) -> str:
    return shortened(cell_text(value))


# -------------------------------------------------------------------------------------------------------------- numbers


def _key_numbers(control: Mapping[str, Any]) -> Control:
    numbers = [
        {
            "label": _name(one.get("label", "")), "value": _name(one.get("value")), "note": _name(one.get("note")),
            "light": _light(one),
        }
        for one in _mappings(control, "numbers")
    ]  # fmt: skip
    rows = [[_lit(one["label"], one["light"]), one["value"], one["note"]] for one in numbers]
    return Control("numbers", {"numbers": numbers}, Table(["number", "value", "note"], rows, [False, True, False], 0))


def _mappings(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    values = holder.get(name) or []
    if not isinstance(values, Sequence) or not all(isinstance(one, Mapping) for one in values):
        raise ControlError(f"The {name} of a control must be a list of mappings; found {type(values).__name__}.")
    return list(values)


def _light(one: Mapping[str, Any]) -> str:
    light = one.get("light", "")
    if light not in LIGHT_WORDS:
        raise ControlError(f"A light is one of {', '.join(repr(x) for x in LIGHT_WORDS)}; found {light!r}.")
    return str(light)


def _lit(text: str, light: str) -> str:
    return f"{text} [{LIGHT_WORDS[light]}]" if light else text


#: What a control can be.
KINDS: dict[str, Callable[[Mapping[str, Any]], Control]] = {
    "threshold": _threshold,
    "rows": _rows,
    "numbers": _key_numbers,
}
