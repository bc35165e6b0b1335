"""Rows of a request against the schema of the model: what each field takes, and what is remarkable about a value.

Columns are checked one at a time: a column of the right types is checked in compiled code, and only a bad one is walked
through to name its rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.base import Estimator
from tilth.data.chunks import CSV_MISSING
from tilth.data.kinds import Level, level_key
from tilth.data.numbers import parse_number
from tilth.data.reading import read
from tilth.data.schema import ColumnSpec
from tilth.data.steps import Impute, OwnCategory
from tilth.data.table import RawColumn, RawTable
from tilth.lifecycle.save import parts_of
from tilth.lifecycle.snapshot import entrance
from tilth.models.prepare.text import TextConverter
from tilth.serve.notes import Notes
from tilth.serve.refusal import Problems, shown
from tilth.words import listed

Takes = Literal["number", "level", "date", "text"]
#: Levels that a sentence lists.
_LISTED = 8
#: Characters of a stranger's name that are repeated, and names among which a similar one is looked for.
_LONGEST, _SEARCHED = 200, 1000
#: Unknown fields of a row that are remarked on.
_NOTED = 20
_NOTHING = type(None)
_BOOLEANS = {"true": "True", "false": "False", "TRUE": "True", "FALSE": "False"}


@dataclass(frozen=True)
class Field:
    """One field of a row. ``nullable`` says whether the model has an answer when the value is missing."""

    name: str
    takes: Takes
    levels: tuple[Level, ...] = ()
    ordered: bool = False
    low: float = math.nan
    high: float = math.nan
    nullable: bool = True
    #: Numbers were text in training, such as "12 %", so text is read as numbers here too.
    reads_text: bool = False
    #: Texts that stood for a missing number in training.
    tokens: tuple[str, ...] = ()

    @functools.cached_property
    def known(self) -> frozenset[str]:
        """The levels, by their keys."""
        return frozenset(map(level_key, self.levels))

    @functools.cached_property
    def has_numbers(self) -> bool:
        """Whether some levels are numbers."""
        return any(type(v) in (int, float) for v in self.levels)

    @property
    def has_range(self) -> bool:
        """Whether training has shown a smallest and a largest number."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def expected(self) -> str:
        """What a value should be, in words."""
        words = {"number": "a finite number", "date": "a date such as '2024-01-31'", "text": "text"}.get(self.takes)
        if words is None:
            words = f"one of {listed(self.levels, _LISTED, quoted=True)}"
        return words + (", or null" if self.nullable else "")

    def json_schema(self) -> dict[str, Any]:
        """The field as JSON schema. Levels are examples and no enumeration: others are answered, with a warning."""
        schema: dict[str, Any]
        if self.takes == "level":
            schema = {"type": ["string", "number", "boolean"], "examples": list(self.levels[:_LISTED])}
            schema["x-levels"], schema["x-ordered"] = list(self.levels), self.ordered
        elif self.takes == "number":
            schema = {"type": ["number", "string"] if self.reads_text else ["number"]}
            if self.has_range:
                schema["x-training-range"] = [self.low, self.high]
        else:
            schema = {"type": ["string"]} | ({"format": "date-time"} if self.takes == "date" else {})
        if self.nullable:
            schema["type"] = [*schema["type"], "null"]
        schema["title"] = self.name
        return schema

    def of_text(self, cell: str, missing: Sequence[str] = ("",)) -> Any:
        """A cell of a text file or a form as the value it stands for; what cannot be read stays text."""
        text = cell.strip()
        if self.takes == "text":
            return cell
        if self.takes == "level" and cell in self.known:
            return cell  # spaces belong to a level that training had with them
        if text in missing and text not in self.known:
            return None
        if self.takes == "number" and len(text) <= _LONGEST:
            number = math.nan if text in self.tokens else parse_number(text)
            return text if number is None else None if math.isnan(number) else number
        if self.takes == "level" and text not in self.known:
            number = parse_number(text) if len(text) <= _LONGEST and self.has_numbers else None
            if number is not None and level_key(number) in self.known:
                return level_key(number)  # "1.0" is the level 1
            return _BOOLEANS.get(text, text)
        return text

    def example(self) -> Any:
        """A value as training may have had it."""
        if self.takes == "number":
            middle = (self.low + self.high) / 2 if self.has_range else 0.0
            return float(f"{middle:.4g}")
        if self.takes == "level":
            return self.levels[0] if self.levels else None
        return "2024-01-31" if self.takes == "date" else "some text"


@dataclass
class Rows:
    """Checked rows: the table for the model, the plain values by field, and what is remarkable about them."""

    table: Any
    n: int
    values: dict[str, list[Any]]
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True)
class Fields:
    """The fields of a row, in the order of training. ``aside`` are columns of training that no model uses."""

    fields: tuple[Field, ...]
    target: str | None = None
    aside: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    named: bool = True
    #: The model takes a list of texts instead of a table.
    is_text: bool = False

    @functools.cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields by name."""
        return {f.name: f for f in self.fields}

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names every row must have."""
        return frozenset(self.by_name)

    def json_schema(self) -> dict[str, Any]:
        """JSON schema of one row."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Row",
            "type": "object",
            "properties": {f.name: f.json_schema() for f in self.fields} | {n: True for n in sorted(self.aside)},
            "required": [f.name for f in self.fields],
            "additionalProperties": False,
        }

    def example(self) -> dict[str, Any]:
        """A row as training may have had it."""
        return {f.name: f.example() for f in self.fields}

    # ---------------------------------------------------------------------------------------------------- checking

    def of_records(self, records: Sequence[Any], place: Callable[[int], str], ignore_extra: bool) -> Rows:
        """Rows given one by one; ``place`` says how a message calls a row."""
        problems, notes = Problems(), Notes()
        for i, record in enumerate(records):
            if type(record) is not dict:
                problems.add(place(i) or "the row", i, None, "an object of fields", shown(record))
            elif record.keys() != self.names:
                for name in self._other_keys(record.keys(), i, place(i), ignore_extra, problems):
                    notes.add(name, "unknown_field", [i], _ignored)
        problems.check()
        values = {name: [record[name] for record in records] for name in self.by_name}
        return self._checked(values, len(records), place, notes)

    def of_columns(self, columns: Mapping[str, Any], place: Callable[[int], str], ignore_extra: bool) -> Rows:
        """Rows given as lists, one for each field."""
        problems = Problems()
        extra = self._other_keys(columns.keys(), None, "columns", ignore_extra, problems)
        kept = {name: values for name, values in columns.items() if name in self.names}
        for name, values in kept.items():
            if type(values) is not list:
                problems.add(f"columns.{name}", None, name, "a list of values", shown(values))
        problems.check()
        sizes = {name: len(values) for name, values in kept.items()}
        n = max(sizes.values(), default=0)
        for name, size in sizes.items():
            if size != n:
                problems.add(f"columns.{name}", None, name, f"{n} values, as in other columns", f"{size}")
        problems.check()
        notes = Notes()
        for name in extra:
            notes.add(name, "unknown_field", range(n), _ignored)
        return self._checked(kept, n, place, notes)

    def table_of(self, values: dict[str, list[Any]], n: int) -> Any:
        """The table for the model of values that were checked before."""
        return self._checked(values, n, str, Notes()).table

    def _other_keys(self, keys: Any, row: int | None, where: str, ignore_extra: bool, problems: Problems) -> list[str]:
        """Refuse fields that are not there and fields that are not known; the latter are given if they are ignored."""
        for name, f in self.by_name.items():
            if name not in keys:
                text = f"the field is missing; send {f.expected}"
                problems.add(_joined(where, name), row, name, f.expected, "no such field", text)
        extra = [k for k in keys if k not in self.names and k not in self.aside]
        if ignore_extra:
            return [k[:_LONGEST] for k in extra[:_NOTED]]
        for name in extra:
            cure = "leave it out, or use ?extra=ignore"
            known = "is the target, which the model predicts" if name == self.target else "is not known to the model"
            text = f"the field {known}{self._near(name)}; {cure}"
            problems.add(_joined(where, name), row, name[:_LONGEST], "no such field", "a field", text)
        return []

    def _near(self, name: str) -> str:
        near = get_close_matches(name[:_LONGEST], self.names, 1) if len(self.names) < _SEARCHED else []
        return f" (did you mean {near[0]!r}?)" if near and name != self.target else ""

    def _checked(self, values: dict[str, list[Any]], n: int, place: Callable[[int], str], notes: Notes) -> Rows:
        problems = Problems()
        converted = {f.name: _CHECKS[f.takes](f, values[f.name], place, problems, notes) for f in self.fields}
        problems.check()
        if self.is_text:
            return Rows(converted[self.fields[0].name], n, values, notes)
        converted |= {f.name: read({f.name: converted[f.name]}).columns[0] for f in self.fields if f.takes == "text"}
        empty = np.full(n, np.nan) if self.aside else None
        columns = [converted[name] if name in converted else RawColumn(name, "number", empty) for name in self.order]  # type: ignore[arg-type]
        return Rows(RawTable(columns, n, self.named), n, values, notes)


def _ignored(row: int) -> str:
    return "the model was not trained on this field; it was ignored"


def _joined(where: str, name: str) -> str:
    return f"{where}.{name[:_LONGEST]}" if where else name[:_LONGEST]


Check = Callable[[Field, list[Any], Callable[[int], str], Problems, Notes], Any]


def _numbers(f: Field, values: list[Any], place: Callable[[int], str], problems: Problems, notes: Notes) -> Any:
    if f.reads_text:
        values = [f.of_text(v, CSV_MISSING) if type(v) is str else v for v in values]
    array = _plain_numbers(values)
    if array is None:
        for i, v in enumerate(values):
            if _plain_numbers([v]) is None:
                problems.add(_joined(place(i), f.name), i, f.name, f.expected, shown(v))
        return None
    usual = (array >= f.low) & (array <= f.high)  # false also where there is no number, or no range
    if not usual.all():
        if None in values:
            _note_missing(f, np.flatnonzero(np.isnan(array)).tolist(), place, problems, notes)
        reason = f"outside the range of training, {f.low:g} to {f.high:g}: the answer is an extrapolation"
        outside = np.flatnonzero((array < f.low) | (array > f.high)).tolist()
        notes.add(f.name, "out_of_range", outside, lambda i: f"{array[i]:g} is {reason}")
    return RawColumn(f.name, "number", array)


def _plain_numbers(values: list[Any]) -> NDArray[np.float64] | None:
    """Numbers and None as an array with NaN; None if there is anything else, or a number that is not finite."""
    if not {float, int, _NOTHING}.issuperset(map(type, values)) or math.inf in values or -math.inf in values:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def _levels(f: Field, values: list[Any], place: Callable[[int], str], problems: Problems, notes: Notes) -> Any:
    places: dict[str, int] = {}
    codes: list[int] = []
    gone, unseen, known = [], [], f.known
    for i, v in enumerate(values):
        if v is None:
            codes.append(-1)
            gone.append(i)
            continue
        key = v if type(v) is str else _scalar_key(v)
        if key is None:
            problems.add(_joined(place(i), f.name), i, f.name, f.expected, shown(v))
            continue
        codes.append(places.setdefault(key, len(places)))
        if key not in known:
            unseen.append(i)
    if unseen:
        reason = f"was not seen in training; known: {_some(f)}"
        notes.add(f.name, "unseen_level", unseen, lambda i: f"{shown(values[i])} {reason}")
    if gone:
        _note_missing(f, gone, place, problems, notes)
    return RawColumn(f.name, "level", np.array(codes, dtype=np.int32), list(places))


def _scalar_key(value: Any) -> str | None:
    """The key of a level that is no text; None for what is no level at all."""
    if type(value) not in (int, float, bool):
        return None
    try:
        return level_key(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _some(f: Field) -> str:
    more = ", ..." if len(f.levels) > _LISTED else ""
    return ", ".join(str(v)[:40] for v in f.levels[:_LISTED]) + more


def _dates(f: Field, values: list[Any], place: Callable[[int], str], problems: Problems, notes: Notes) -> Any:
    out = np.full(len(values), "NaT", dtype="datetime64[us]")
    for i, v in enumerate(values):
        if v is None:
            _note_missing(f, [i], place, problems, notes)
            continue
        when = _date(v)
        if when is None:
            problems.add(_joined(place(i), f.name), i, f.name, f.expected, shown(v))
        else:
            out[i] = when
    return RawColumn(f.name, "date", out)


def _date(value: Any) -> datetime | None:
    try:
        when = datetime.fromisoformat(value)
        return when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when
    except (ValueError, TypeError, OverflowError):
        return None


def _texts(f: Field, values: list[Any], place: Callable[[int], str], problems: Problems, notes: Notes) -> Any:
    for i, v in enumerate(values):
        if v is None:
            _note_missing(f, [i], place, problems, notes)
        elif type(v) is not str:
            problems.add(_joined(place(i), f.name), i, f.name, f.expected, shown(v))
    return ["" if v is None else v for v in values]


def _note_missing(f: Field, rows: list[int], place: Callable[[int], str], problems: Problems, notes: Notes) -> None:
    if f.nullable:
        notes.add(f.name, "missing_value", rows, lambda _: "missing; the model predicts without it")
        return
    for i in rows:
        problems.add(_joined(place(i), f.name), i, f.name, f"{f.expected} (the model learned nothing for a missing "
                     "value)", "null")  # fmt: skip


_CHECKS: dict[str, Check] = {"number": _numbers, "level": _levels, "date": _dates, "text": _texts}


# ------------------------------------------------------------------------------------------------------ from the model


def fields_of(model: Any) -> Fields:
    """The fields that a fitted model takes, from the schema it learned.

    >>> from tilth import NaiveBayes
    >>> model = NaiveBayes().fit({"age": [31, 47, 35, 52], "job": ["cook", "nurse"] * 2}, ["no", "yes"] * 2)
    >>> [(f.name, f.takes, f.expected) for f in fields_of(model).fields]
    [('age', 'number', 'a finite number, or null'), ('job', 'level', "one of 'cook', 'nurse', or null")]
    """
    first = parts_of(model)[0]
    if isinstance(first, TextConverter):
        return Fields((Field("text", "text"),), _target_of(model), order=("text",), is_text=True)
    start = entrance(model)
    if start is None:
        raise ValueError(f"{type(model).__name__} cannot be served: it is not fitted, or does not know its columns.")
    schema = start.schema_
    if not schema.columns:
        raise ValueError(
            f"{type(model).__name__} cannot be served: it was trained on a sparse matrix of {schema.width} unnamed "
            "columns. Serve a pipeline that begins with what made the matrix, such as WordCounts."
        )
    features = tuple(_field(spec, start) for spec in schema.features)
    aside = frozenset(c.name for c in schema.columns if c.role != "feature")
    return Fields(features, _target_of(model), aside, schema.names, schema.named)


def _field(spec: ColumnSpec, model: Estimator) -> Field:
    nullable = model.accepts.missing or any(
        isinstance(step.step, (Impute, OwnCategory)) and spec.typed_names[0] in step.inputs
        for step in model.plan_.steps
    )
    if spec.expand_date or spec.form == "date":
        return Field(spec.name, "date", nullable=nullable)
    if spec.text:
        return Field(spec.name, "text")
    if spec.kind.name == "numeric":
        text = spec.form in ("text", "level")
        return Field(spec.name, "number", low=spec.low, high=spec.high, nullable=nullable, reads_text=text,
                     tokens=spec.tokens)  # fmt: skip
    return Field(spec.name, "level", spec.kind.levels, spec.kind.name == "ordinal", nullable=nullable)


def _target_of(model: Any) -> str | None:
    named = [getattr(part, "target_", None) for part in parts_of(model)]
    return next((", ".join(name) if isinstance(name, list) else str(name) for name in named if name), None)
