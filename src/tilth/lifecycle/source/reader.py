"""``read_source``: one table from a file, a bundled name or standard input."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilth.data.datasets import cards, load
from tilth.data.datasets import names as bundled_names
from tilth.lifecycle.source import sample
from tilth.lifecycle.source.arff import arff_frame, is_arff
from tilth.lifecycle.source.delimited import whole_frame
from tilth.lifecycle.source.encoding import Utf8
from tilth.lifecycle.source.jsonlines import is_json, json_frame
from tilth.lifecycle.source.names import no_such_file, unique_names
from tilth.lifecycle.source.signature import PARQUET, ZIP, Stream, seekable, unpacked
from tilth.lifecycle.source.table import Source, SourceError

if TYPE_CHECKING:
    import pandas as pd


def read_source(
    source: str | Path, *, seconds: float | None = None, rows: int | None = None, text: Collection[str] = (),
    part: int | None = None,
) -> Source:  # fmt: skip
    """Read a bundled table by name, a file, or ``-`` for standard input; notes say what had to be decided.

    Files are told apart by content: text with commas, semicolons, tabs or bars, parquet, Excel, ARFF, JSON lines; also
    packed by gzip, bzip2, xz or zip.

    Parameters
    ----------
    seconds : the time reading may take. Where it would not suffice for all rows, blocks evenly spread over the file are
        read (of a packed file and of a pipe the beginning), and a note says so.
    rows : the most rows to read, spread in the same way.
    text : columns that are read as they are written, even if they look like numbers.
    part : as much as an earlier reading took, its :attr:`Source.part`: then the same rows are read.

    >>> read_source("weather").frame.shape
    (14, 5)
    """
    sample.require_sensible(seconds, rows)
    name = str(source)
    if name in bundled_names():
        return sample.at_most(Source(load(name).frame, name, card=cards()[name]), rows)
    with opened(source) as stream:
        return sample.at_most(table_of(stream, seconds, rows, text, part), rows)


def read_table(source: str | Path, part: int | None = None) -> pd.DataFrame:
    """The table of a file as a frame, read as :func:`read_source` reads it; what had to be decided is not told.

    ``part`` is as much of a large file as an earlier reading took; None reads all of it.

    >>> read_table("weather").shape
    (14, 5)
    """
    return read_source(source, part=part).frame


@contextmanager
def opened(source: str | Path) -> Iterator[Stream]:
    """The bytes of a file or of standard input, unpacked."""
    if str(source) == "-":
        yield _filled(Stream(sys.stdin.buffer, "standard input"))
        return
    path = Path(source)
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".csv", ".tsv", ".parquet", ".xlsx", ".arff"))
        such = f", such as {path / inside[0]}" if inside else ""
        raise SourceError(f"{path} is a folder; a table is read from a single file{such}.")
    try:
        handle = path.open("rb")
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise SourceError(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}.") from None
    with handle:
        try:
            size = path.stat().st_size or None  # a named pipe has none
            yield _filled(Stream(handle, path.name, size))
        except OSError as error:
            if error.filename or not error.strerror:
                raise
            raise SourceError(f"{path} cannot be read: {error.strerror.lower()}.") from error


def _filled(stream: Stream) -> Stream:
    stream = unpacked(stream)
    if not stream.peek(1):
        raise empty(stream.name)
    return stream


def empty(name: str) -> SourceError:
    """The error of a file without a table."""
    return SourceError(f"{name} is empty: a table needs a header line and rows.")


def table_of(
    stream: Stream, seconds: float | None = None, rows: int | None = None, text: Collection[str] = (),
    part: int | None = None,
) -> Source:  # fmt: skip
    """The table that a stream of bytes holds."""
    head = stream.peek(8)
    if head.startswith(PARQUET):
        return parquet(stream, seconds, rows, part)
    if head.startswith(ZIP):
        return _excel(stream)
    if seconds is not None or rows is not None or part is not None:
        some = sample.some_rows(stream, seconds, rows, text, part)
        if some is not None:
            return some
    utf8 = Utf8(stream.peek(), stream.name)
    data = utf8.converted(stream.read(), last=True)
    if not data.strip():
        raise empty(stream.name)
    notes: list[str] = []
    if is_arff(data[: 1 << 20]):
        frame, notes = arff_frame(data, stream.name)
    elif is_json(data[:1000]):
        return _named(json_frame(data, stream.name, as_written=text), stream.name, utf8.notes())
    else:
        frame, notes = whole_frame(data, stream.name, text)
    return Source(frame, stream.name, [*utf8.notes(), *notes])


def _named(frame: pd.DataFrame, name: str, notes: list[str]) -> Source:
    """A table whose library gave names of its own making."""
    if frame.empty:
        raise SourceError(f"{name} has no rows.")
    frame.columns = unique_names([str(c).strip() for c in frame.columns], notes)
    return Source(frame, name, notes)


# --------------------------------------------------------------------------------------------------- formats of others


def parquet(
    stream: Stream, seconds: float | None = None, rows: int | None = None, part: int | None = None
) -> Source:  # fmt: skip
    """A parquet file; of a large one row groups evenly spread."""
    opened_file = parquet_file(stream)
    with by_library(stream.name, "parquet"):
        frame, total = sample.row_groups(opened_file, seconds, rows if part is None else part)
        if any(frame.index.names):  # pandas keeps named row labels beside the columns; they are data
            frame = frame.reset_index()
    groups = opened_file.num_row_groups
    how = "the first ones" if groups == 1 else f"the first ones of each of {min(groups, sample.BLOCKS)} row groups"
    source = sample.noted(_named(frame.reset_index(drop=True), stream.name, []), total, how)
    source.part = len(source.frame) if source.total is not None else None
    return source


def parquet_file(stream: Stream) -> Any:
    """A parquet file to read from."""
    with by_library(stream.name, "parquet"):
        import pyarrow.parquet as pq

        # Without these two options pyarrow keeps what it has read, and memory grows with the file.
        return pq.ParquetFile(seekable(stream), pre_buffer=False, buffer_size=1 << 20)


def _excel(stream: Stream) -> Source:
    import pandas as pd

    with by_library(stream.name, "Excel"):
        book = pd.ExcelFile(seekable(stream), engine="openpyxl")
        sheets = book.sheet_names
        cells = pd.read_excel(book, header=None, dtype=object).dropna(how="all").dropna(how="all", axis=1)
    if len(cells) < 2:
        raise SourceError(f"{stream.name}: the sheet {sheets[0]!r} needs a header line and rows.")
    notes = [f"Read the sheet {sheets[0]!r}, the first of {len(sheets)}."] if len(sheets) > 1 else []
    header = ["" if value is None or value != value else str(value).strip() for value in cells.iloc[0]]
    frame = cells.iloc[1:].infer_objects().reset_index(drop=True)
    frame.columns = unique_names(header, notes)
    return Source(frame, stream.name, notes)


@contextmanager
def by_library(name: str, kind: str) -> Iterator[None]:
    """Errors of a format's library as sentences."""
    try:
        yield
    except ImportError:
        cure = f"pip install 'tilth[{'excel' if kind == 'Excel' else 'frames'}]'"
        raise SourceError(f"{name} is a {kind} file, which needs one more package: {cure}.") from None
    except SourceError:
        raise
    except Exception as error:  # the libraries raise classes of their own for damaged files
        raise SourceError(f"{name} looks like a {kind} file but cannot be read: {error!s:.200}") from error
