"""Tables from files as people have them: any delimiter, any encoding, odd headers - read, and said how."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilth.data.chunks import CSV_MISSING
from tilth.data.datasets import cards, load
from tilth.data.datasets import names as bundled_names
from tilth.quality.finding import listed

if TYPE_CHECKING:
    import pandas as pd

    from tilth.data.datasets import Card

DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Lines looked at to find the delimiter.
_SNIFFED_LINES = 50
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$")


class SourceError(ValueError):
    """A file that cannot be read as a table; the message says where and what to do."""


@dataclass
class Source:
    """A table that was read; ``notes`` say what had to be decided to read it, ``card`` is that of a bundled table."""

    frame: pd.DataFrame
    name: str
    notes: list[str] = field(default_factory=list)
    card: Card | None = None


def read_source(source: str | Path) -> Source:
    """Read a bundled table by name, a file (csv, tsv, gz, parquet, xlsx; told apart by content), or ``-`` for stdin.

    >>> read_source("weather").frame.shape
    (14, 5)
    """
    text = str(source)
    if text == "-":
        return _from_bytes(sys.stdin.buffer.read(), "standard input")
    if text in bundled_names():
        return Source(load(text).frame, text, card=cards()[text])
    path = Path(text)
    if path.is_dir():
        raise SourceError(f"{text} is a folder; a table is read from a single file.")
    if not path.is_file():
        raise SourceError(_no_such(path))
    return _from_bytes(path.read_bytes(), path.name)


def require_column(names: Sequence[str], name: str, role: str = "target") -> None:
    """Refuse a column the table does not have, naming the nearest one."""
    if name in names:
        return
    lower = {n.lower(): n for n in reversed(names)}
    near = [lower[n] for n in get_close_matches(name.lower(), list(lower), 3, 0.5)]
    columns = f"the columns are {listed(map(repr, names), 12)}."
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else columns
    raise SourceError(f"There is no column {name!r} to be the {role}; {hint}")


def _no_such(path: Path) -> str:
    folder = path.parent
    beside = sorted(p.name for p in folder.iterdir() if p.is_file()) if folder.is_dir() else []
    near = [str(folder / n) for n in get_close_matches(path.name, beside, 3, 0.6)]
    near += get_close_matches(str(path), bundled_names(), 2, 0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Bundled tables: {', '.join(bundled_names())}."
    return f"There is no file {path}, and no bundled table of that name. {hint}"


def _from_bytes(data: bytes, name: str) -> Source:
    import pandas as pd

    if not data.strip():
        raise SourceError(f"{name} is empty: a table needs a header line and rows.")
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise SourceError(f"{name} is a damaged gzip file: {error}.") from None
        return _from_bytes(data, name)
    if data.startswith(b"PAR1"):
        return _with_names(_by_library(pd.read_parquet, data, name, "parquet", "frames", engine="pyarrow"), name)
    if data.startswith(b"PK\x03\x04"):
        return _with_names(_by_library(pd.read_excel, data, name, "Excel", "excel", engine="openpyxl"), name)
    return _from_text(data, name)


def _by_library(reader: Any, data: bytes, name: str, kind: str, extra: str, **options: Any) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = reader(io.BytesIO(data), **options)
    except ImportError:
        cure = f"pip install 'tilth[{extra}]'"
        raise SourceError(f"{name} is a {kind} file, which needs one more package: {cure}.") from None
    except Exception as error:  # the libraries raise classes of their own for damaged files
        raise SourceError(f"{name} looks like a {kind} file but cannot be read: {error!s:.200}") from error
    return frame


def _with_names(frame: pd.DataFrame, name: str) -> Source:
    if frame.empty:
        raise SourceError(f"{name} has no rows.")
    notes: list[str] = []
    frame.columns = _unique_names([str(c) for c in frame.columns], notes)
    return Source(frame, name, notes)


# ----------------------------------------------------------------------------------------------------------------- text


def _from_text(data: bytes, name: str) -> Source:
    import pandas as pd

    notes: list[str] = []
    text = _decoded(data, name, notes)
    delimiter = _delimiter(text, notes)
    first_line, header = _header(text, delimiter)
    body_starts = len(text) - len(text.lstrip("\r\n"))
    text = text[body_starts:].rstrip("\r\n") + "\n"
    _refuse_ragged(text, delimiter, len(header), name, first_line - 1)
    names = _unique_names(header, notes)
    frame = pd.read_csv(
        io.StringIO(text),
        sep=delimiter,
        header=None,
        skiprows=1,
        names=names,
        index_col=False,
        keep_default_na=False,
        na_values=CSV_MISSING,
        skipinitialspace=True,
        skip_blank_lines=len(names) > 1,  # in a table of one column an empty line is a missing cell
        low_memory=False,
    )
    if frame.empty:
        raise SourceError(f"{name} has a header line but no rows below it.")
    for column in [c for c, h in zip(names, header, strict=True) if not h.strip() and frame[c].isna().all()]:
        frame = frame.drop(columns=column)
        notes.append(f"{column} has no name and no values; it was left out.")
    if delimiter != ",":
        _read_decimal_commas(frame, notes)
    return Source(frame, name, notes)


def _decoded(data: bytes, name: str, notes: list[str]) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        notes.append("Read as UTF-16.")
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data[:4096]:
        raise SourceError(f"{name} is not text, parquet or Excel; save the table as CSV.")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            notes.append(f"Not UTF-8 (line {line}); read as Latin-1. Check accented letters.")
            text = data.decode("latin-1")
    # One kind of line end, so that line numbers mean what an editor shows.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _delimiter(text: str, notes: list[str]) -> str:
    """The character that cuts the first lines into the most, and equally many, fields."""
    lines = "\n".join([line for line in text.split("\n", _SNIFFED_LINES * 4) if line.strip()][:_SNIFFED_LINES])

    def agreement(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(lines, delimiter) if row)
        width, lines_alike = widths.most_common(1)[0]
        return (lines_alike / widths.total() if width > 1 else 0.0), width

    best = max(DELIMITERS, key=agreement)
    if agreement(best)[0] == 0.0:
        return ","
    if best != ",":
        notes.append(f"Fields are separated by {_DELIMITER_NAMES[best]}.")
    return best


def _rows(text: str, delimiter: str, strict: bool = False) -> Any:
    """A csv reader that reads as pandas will."""
    return csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=strict)


def _header(text: str, delimiter: str) -> tuple[int, list[str]]:
    """Number of the line that holds the header, and its fields."""
    reader = _rows(text, delimiter)
    before = 0
    for row in reader:
        if row:
            return before + 1, [field.strip() for field in row]
        before = reader.line_num
    raise AssertionError("text without a line was refused before")


def _unique_names(header: list[str], notes: list[str]) -> list[str]:
    names: list[str] = []
    taken = set(header)
    for place, given in enumerate(header):
        name = given or f"column {place + 1}"
        if name in names:
            number = 2
            while f"{name}.{number}" in taken or f"{name}.{number}" in names:
                number += 1
            notes.append(f"Column {place + 1} is the next {name!r}; it is called '{name}.{number}' here.")
            name = f"{name}.{number}"
        names.append(name)
    if all(re.fullmatch(r"[+-]?[\d.,eE+-]+", n) for n in header):
        notes.append("The first line holds numbers only; if it is data, add a line of column names above it.")
    return names


def _refuse_ragged(text: str, delimiter: str, width: int, name: str, lines_before: int) -> None:
    """Refuse rows of another width than the header.

    A pass over the bytes finds suspects: delimiters and line ends count where the number of quotes before them is even.
    Only then the slower csv reader, which knows every rule of quoting, decides.
    """
    data = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    outside = np.cumsum(data == ord('"'), dtype=np.uint8) % 2 == 0
    ends = np.flatnonzero((data == ord("\n")) & outside)
    cuts = np.flatnonzero((data == ord(delimiter)) & outside)
    per_line = np.diff(np.searchsorted(cuts, ends), prepend=0)
    blank = np.diff(ends, prepend=-1) == 1
    if bool(outside[-1]) and not ((per_line != width - 1) & ~blank).any():
        return
    reader = _rows(text, delimiter, strict=not bool(outside[-1]))
    ragged: list[tuple[int, int]] = []
    line = 1
    try:
        for row in reader:
            if row and len(row) != width and not (len(row) == 1 and not row[0].strip()):
                ragged.append((lines_before + line, len(row)))
            line = reader.line_num + 1
    except csv.Error:
        raise SourceError(
            f"{name}, line {lines_before + line}: a double quote opens a value here and is not closed as it should be."
        ) from None
    if not ragged:
        return
    where, found = ragged[0]
    more = f" {len(ragged)} lines in all differ." if len(ragged) > 1 else ""
    raise SourceError(
        f"{name}, line {where}: {found} field{'s' * (found != 1)} where the header has {width}.{more} "
        f"Look there for a value that itself holds the separator {delimiter!r}; put such values in double quotes."
    )


def _read_decimal_commas(frame: pd.DataFrame, notes: list[str]) -> None:
    """Numbers such as 1.234,5 become numbers, where no cell of the column could be anything else."""
    import pandas as pd

    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]) or pd.api.types.is_bool_dtype(frame[name]):
            continue
        present = frame[name].dropna().astype(str).str.strip()
        distinct = present.unique()
        if not len(distinct) or not all(_DECIMAL_COMMA.match(v) for v in distinct):
            continue
        if not any("," in v for v in distinct):
            continue
        plain = present.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        frame[name] = pd.to_numeric(plain).reindex(frame.index)
        notes.append(f"{name!r} was read with decimal commas.")
