"""Bodies of requests: JSON and CSV from strangers become rows, or a refusal that says where and why."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import parse_qsl

from tilth.data.chunks import CSV_MISSING
from tilth.serve.refusal import Refusal, shown
from tilth.serve.schema import Fields, Rows

Content = Literal["json", "csv"]
#: Keys under which a JSON body holds many rows.
_LISTS = ("rows", "dataframe_records")


def rows_of(
    body: bytes, content: Content, fields: Fields, *, max_rows: int, ignore_extra: bool = False
) -> tuple[Rows, bool]:
    """The rows of a body, and whether it was a single row rather than a list.

    JSON is one row as an object, ``{"rows": [...]}``, ``{"dataframe_records": [...]}`` or ``{"columns": {...}}``.
    """
    text = _decoded(body)
    if content == "csv":
        return _of_csv(text, fields, max_rows, ignore_extra), False
    document = _parsed(text)
    if type(document) is not dict:
        raise _not_rows(f"it is {shown(document)}")
    key = next(iter(document), "")
    if len(document) == 1 and key in _LISTS and (key not in fields.names or type(document[key]) is list):
        records = document[key]
        if type(records) is not list:
            raise _not_rows(f"{key!r} is {shown(records)}")
        _require_few(len(records), max_rows)
        return fields.of_records(records, lambda i: f"{key}[{i}]", ignore_extra), False
    if len(document) == 1 and key == "columns" and (key not in fields.names or type(document[key]) is dict):
        columns = document[key]
        if type(columns) is not dict:
            raise _not_rows(f"'columns' is {shown(columns)}")
        _require_few(max((len(v) for v in columns.values() if type(v) is list), default=1), max_rows)
        return fields.of_columns(columns, lambda i: f"row {i}", ignore_extra), False
    return fields.of_records([document], lambda i: "", ignore_extra), True


def cells_of(body: bytes, fields: Fields) -> dict[str, str]:
    """The cells of a posted form by its controls: ``c0``, ``c1``, ..."""
    try:
        pairs = parse_qsl(_decoded(body), keep_blank_values=True, max_num_fields=len(fields.fields) + 16)
    except ValueError as error:
        raise Refusal(400, "bad_form", "The form has more fields than the model.") from error
    return dict(pairs)


def row_of(cells: Mapping[str, str], fields: Fields) -> Rows:
    """The row of a posted form; blank is missing."""
    row = {f.name: f.of_text(cells.get(f"c{i}", "")) for i, f in enumerate(fields.fields)}
    return fields.of_records([row], lambda i: "", False)


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal(400, "bad_encoding", f"The body is not UTF-8: byte {error.start} cannot be read.") from None


def _require_few(n: int, most: int) -> None:
    if n > most:
        raise Refusal(413, "too_many_rows", f"The request has {n} rows; at most {most} are taken at once. Split it.")
    if n == 0:
        raise Refusal(422, "no_rows", "The request has no rows; at least one is needed.")


def _not_rows(reason: str) -> Refusal:
    return Refusal(
        422,
        "not_rows",
        'The body must be one row as an object, {"rows": [...]}, {"dataframe_records": [...]} or '
        f'{{"columns": {{...}}}}; {reason}.',
    )


# ----------------------------------------------------------------------------------------------------------------- json


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise _bad_json("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _bad_json(f"{error.msg} at line {error.lineno}, character {error.colno}") from None
    except ValueError:
        raise _bad_json("a number in it has too many digits") from None


def _bad_json(why: str) -> Refusal:
    return Refusal(400, "bad_json", f"The body is not valid JSON: {why}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _bad_json(f"an object has the key {shown(twice)} more than once")
    return content


def _no_constant(word: str) -> Any:
    raise _bad_json(f"{word} is not JSON; write null for a missing value")


# ------------------------------------------------------------------------------------------------------------------ csv


def _of_csv(text: str, fields: Fields, max_rows: int, ignore_extra: bool) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise Refusal(400, "bad_csv", "The header line has a name more than once.")
        cells: list[list[str]] = []
        lines: list[int] = []
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                message = f"Line {reader.line_num} has {len(row)} cells; the header line has {len(header)}."
                raise Refusal(400, "bad_csv", message)
            if len(cells) == max_rows:
                _require_few(max_rows + 1, max_rows)
            cells.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise Refusal(400, "bad_csv", f"The body is not valid CSV: {error} at line {reader.line_num}.") from None
    _require_few(len(cells), max_rows)
    columns: dict[str, Any] = {}
    for name, column in zip(header, zip(*cells, strict=True), strict=True):
        known = fields.by_name.get(name)
        columns[name] = [known.of_text(cell, CSV_MISSING) for cell in column] if known else list(column)
    return fields.of_columns(columns, lambda i: f"line {lines[i]}", ignore_extra)
