"""Tables of JSON: one object per line, or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tilth.lifecycle.source.table import SourceError

if TYPE_CHECKING:
    import pandas as pd

#: The largest integer up to which a float holds every one.
_EXACT = 2**53


def is_json(head: bytes) -> bool:
    """Whether a text begins as JSON does; a line of a CSV file does not begin with a brace or bracket and a quote.

    >>> is_json(b'{"a": 1}'), is_json(b"[]"), is_json(b"a,b")
    (True, True, False)
    """
    start = b"".join(head.lstrip()[:200].split())
    return start.startswith((b'{"', b"{}", b'[{"', b"[{}", b"[]", b"[["))


def json_frame(text: bytes, name: str, lines_before: int = 0, as_written: Collection[str] = ()) -> pd.DataFrame:
    """The objects as rows, keys as columns in the order they are met; a key that a row lacks is missing there.

    Numbers with gaps are floats, but for integers that a float cannot hold and columns that stay as written.
    """
    import pandas as pd

    whole = text.lstrip().startswith(b"[")
    rows: list[tuple[str, Any]] = []
    for number, line in enumerate([text] if whole else text.split(b"\n"), lines_before + 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            where = name if whole else f"{name}, line {number}"
            raise SourceError(f"{where}: this is no JSON ({error!s:.120}); each line should be one object.") from None
        if whole:
            if not isinstance(record, list):
                raise SourceError(f"{name} is one JSON value; a table is a list of objects, or one object per line.")
            rows = [(f"entry {i}", row) for i, row in enumerate(record, 1)]
        else:
            rows.append((f"line {number}", record))
    for where, row in rows:
        if not isinstance(row, dict):
            raise SourceError(
                f'{name}, {where}: a {type(row).__name__} where an object such as {{"age": 40}} is needed.'
            )
        nested = next((k for k, v in row.items() if isinstance(v, (dict, list))), None)
        if nested is not None:
            raise SourceError(f"{name}, {where}: {nested!r} holds a list or an object; give each value its own key.")
    frame = pd.DataFrame([row for _, row in rows])
    if frame.empty:
        raise SourceError(f"{name} has no rows.")
    for key in frame.columns[[d.kind == "f" for d in frame.dtypes]]:
        cells = [row.get(key) for _, row in rows]
        if str(key).strip() in as_written or any(type(v) is int and abs(v) > _EXACT for v in cells):
            frame[key] = pd.Series(cells, dtype=object)
    return frame
