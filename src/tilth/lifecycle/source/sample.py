"""Some rows of a large file: how long all of it would take, and blocks evenly spread where that is too long."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.lifecycle.source.arff import is_arff
from tilth.lifecycle.source.delimited import Decimals, Layout, has_one_line_rows, tidied
from tilth.lifecycle.source.encoding import Utf8
from tilth.lifecycle.source.jsonlines import is_json
from tilth.lifecycle.source.signature import HEAD, Stream
from tilth.lifecycle.source.table import Source, SourceError
from tilth.words import about

if TYPE_CHECKING:
    import pandas as pd

#: What is read first, to see how long the rest would take; smaller files are read whole without a thought.
HEAD_BYTES = 1 << 21
#: Places of the file that blocks are read from.
BLOCKS = 64
#: Never read less of a file than this many rows, and measure no more of a parquet file than that many.
FEWEST_ROWS, MEASURED_ROWS = 1000, 20_000


def at_most(source: Source, rows: int | None) -> Source:
    """The table cut to this many rows, evenly spread, with a note."""
    return noted(source, len(source.frame), "evenly spread", rows)


def noted(source: Source, total: int | None, how: str, rows: int | None = None) -> Source:
    """A table of some of the rows, saying so first; ``total`` None means that nobody knows how many there are."""
    if source.total is not None:  # it was said before
        return source
    if rows is not None and len(source.frame) > rows:
        source.frame = source.frame.iloc[_spread(len(source.frame), rows)].reset_index(drop=True)
    n = len(source.frame)
    if total is not None and n >= total:
        return source
    source.total = total or n + 1
    of = f"of about {about(total)} rows" if total is not None else "rows"
    source.notes.insert(0, f"Read {n:,} {of}, {how}; with more time, or no limit of time or rows, all are read.")
    return source


def seconds_per_byte(layout: Layout, rows: bytes) -> float:
    """How long a byte of this text takes to become part of a table, measured on some rows."""
    start = time.perf_counter()
    layout.frame(rows)
    return (time.perf_counter() - start) / len(rows)


def seconds_per_row(file: Any, rows: int) -> float:
    """How long a row of a parquet file takes, measured on its first rows."""
    start = time.perf_counter()
    next(file.iter_batches(batch_size=rows)).to_pandas()
    return (time.perf_counter() - start) / rows


def require_sensible(seconds: float | None, rows: int | None) -> None:
    """Refuse limits under which nothing could be read."""
    if rows is not None and rows < 1:
        raise SourceError(f"rows must be at least 1; got {rows}.")
    if seconds is not None and not seconds > 0:
        raise SourceError(f"seconds must be more than 0; got {seconds}.")


# ----------------------------------------------------------------------------------------------- text with delimiters


class _Start:
    """The beginning of a text: its layout, its whole rows, and what they say about the rest."""

    def __init__(self, layout: Layout, rows: bytes, growth: float) -> None:
        self.name, self.layout, self.rows = layout.name, layout, rows
        self.n_rows = rows.count(b"\n")
        #: Bytes of the file for each byte of the converted text; two for UTF-16.
        self.growth = growth

    @classmethod
    def of(cls, head: bytes, name: str) -> _Start | None:
        """What the first bytes tell; None where they hold no whole row."""
        text = Utf8(head[:HEAD], name).converted(head)
        if not text.strip():
            return None
        layout = Layout.of(text, name)
        body = text[layout.start :]
        rows = body[: layout.record_end(body)]
        return cls(layout, rows, len(head) / len(text)) if rows.strip() else None

    def bytes_wanted(self, seconds: float | None, rows: int | None) -> int:
        """How much of the file can be read in time, and should be."""
        per_row = len(self.rows) / self.n_rows
        limits = [float(1 << 62)]
        if seconds is not None:
            limits.append(seconds / max(seconds_per_byte(self.layout, self.rows), 1e-12))
        if rows is not None:
            limits.append((1.2 * rows + 2 * BLOCKS) * per_row)  # each block loses the lines it cuts
        return int(self.growth * max(min(limits), (FEWEST_ROWS + 2 * BLOCKS) * per_row))

    def source(self, rows: bytes, utf8: Utf8, text: Collection[str]) -> Source:
        """Rows of the file as a table."""
        notes = [*utf8.notes(), *self.layout.notes]
        frame = self.layout.frame(rows, text=text)
        return Source(tidied(frame, self.layout, notes, Decimals(text)), self.name, notes)


def some_rows(
    stream: Stream, seconds: float | None, rows: int | None, text: Collection[str], part: int | None = None
) -> Source | None:  # fmt: skip
    """Some rows of a text with delimiters; None where all can be read: the stream is then at its beginning."""
    head = stream.peek(HEAD_BYTES)
    if len(head) < HEAD_BYTES or is_arff(head) or is_json(head[:HEAD]):
        return None
    start = _Start.of(head, stream.name)
    if start is None:
        return None
    wanted = start.bytes_wanted(seconds, rows) if part is None else part
    source = _read_part(start, stream, wanted, rows, text)
    if source is not None and source.total is not None:
        source.part = wanted
    return source


def _read_part(start: _Start, stream: Stream, wanted: int, rows: int | None, text: Collection[str]) -> Source | None:
    """About so many bytes of a text, from all over it where that can be; None where this is all of it."""
    if not stream.can_seek:
        return _from_front(start, stream, wanted, rows, text)
    size = stream.size or 0
    if wanted >= size:
        return None
    if not Utf8(stream.peek(HEAD), stream.name).is_wide and has_one_line_rows(start.rows):
        part = _from_blocks(start, stream, wanted, size, text)
        if part is not None:
            return noted(*part, "evenly spread over the file", rows)
        stream.restart()
    return _from_front(start, stream, wanted, rows, text)


def _from_blocks(
    start: _Start, stream: Stream, wanted: int, size: int, text: Collection[str]
) -> tuple[Source, int] | None:
    """Blocks evenly spread over the file, cut at line ends, and about how many rows the file has.

    None where a line end is not the end of a row.
    """
    utf8 = Utf8(b"", start.name, counts_lines=False)
    length = min(wanted, size) // BLOCKS
    first = max(int(length / max(start.growth, 1.0)) - start.layout.start, 0)
    pieces = [start.rows[: start.rows.rfind(b"\n", 0, first) + 1]]
    used = len(pieces[0])
    for low in np.linspace(0, size, BLOCKS + 1)[1:-1].astype(np.int64).tolist():
        stream.handle.seek(low)
        data = stream.handle.read(length)
        data = data[data.find(b"\n") + 1 : data.rfind(b"\n") + 1]
        piece = utf8.converted(data, last=True)
        if not has_one_line_rows(piece) or not start.layout.is_regular(piece):
            return None
        pieces.append(piece)
        used += len(data)
    source = start.source(b"".join(pieces), utf8, text)
    return source, round(len(source.frame) * size / max(used, 1))


def _from_front(start: _Start, stream: Stream, wanted: int, rows: int | None, text: Collection[str]) -> Source | None:
    """The beginning of a text that cannot be read from its middle; None where that is all of it."""
    data = stream.read(wanted)
    if not stream.peek(1):
        stream.unread(data)
        return None
    share = stream.share_read()
    utf8 = Utf8(data[:HEAD], start.name)
    body = utf8.converted(data)[start.layout.start :]
    source = start.source(body[: start.layout.record_end(body)], utf8, text)
    total = round(len(source.frame) / share) if share else None
    source.frame = source.frame.iloc[:rows]
    return noted(source, total, "the first ones")


# ------------------------------------------------------------------------------------------------------------ parquet


def row_groups(file: Any, seconds: float | None, rows: int | None) -> tuple[pd.DataFrame, int]:
    """The rows of a parquet file, or as many as there is time for, from row groups evenly spread; and their number."""
    total = int(file.metadata.num_rows)
    wanted = total if rows is None else min(rows, total)
    if seconds is not None and total > MEASURED_ROWS:
        wanted = min(wanted, max(int(seconds / max(seconds_per_row(file, MEASURED_ROWS), 1e-12)), FEWEST_ROWS))
    if wanted >= total:
        return file.read().to_pandas(), total
    import pyarrow as pa

    groups = _spread(file.num_row_groups, min(file.num_row_groups, BLOCKS, wanted))
    each = -(-wanted // len(groups))
    batches = []
    for group in groups.tolist():
        left = each
        for batch in file.iter_batches(batch_size=min(each, 1 << 16), row_groups=[group]):
            batches.append(batch.slice(0, left))
            left -= len(batches[-1])
            if left <= 0:
                break
    return pa.Table.from_batches(batches).slice(0, wanted).to_pandas(), total


def _spread(n: int, k: int) -> NDArray[np.int64]:
    """k places evenly spread over 0 ... n - 1."""
    return np.linspace(0, n - 1, k).round().astype(np.int64) if k > 1 else np.zeros(1, np.int64)
