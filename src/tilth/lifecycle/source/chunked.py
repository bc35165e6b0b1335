"""``read_chunks``: a table piece by piece, in constant memory, each piece read as the whole would be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tilth.data.chunks import CHUNK_ROWS
from tilth.data.datasets import names as bundled_names
from tilth.lifecycle.source.arff import is_arff
from tilth.lifecycle.source.delimited import Decimals, Layout, after_lines, tidied
from tilth.lifecycle.source.encoding import Utf8
from tilth.lifecycle.source.jsonlines import is_json, json_frame
from tilth.lifecycle.source.names import unique_names
from tilth.lifecycle.source.reader import by_library, empty, opened, parquet_file, read_source, table_of
from tilth.lifecycle.source.signature import HEAD, PARQUET, ZIP, Stream
from tilth.lifecycle.source.table import Source, SourceError

if TYPE_CHECKING:
    import pandas as pd

#: Bytes read at a time, and the most that wait for the end of a chunk.
_READ, _MOST_WAITING = 1 << 22, 1 << 26


def read_chunks(
    source: str | Path, rows: int = CHUNK_ROWS, *, text: Collection[str] = (), needed: Collection[str] = ()
) -> Iterator[Source]:
    """Read a table as :func:`read_source` does, in pieces of about ``rows`` rows, in order.

    Delimited text, JSON lines and parquet are read piece by piece; other formats are read whole and then cut. The notes
    of a piece are those that the pieces before it did not have.

    Parameters
    ----------
    text : columns that are read as they are written, even if they look like numbers.
    needed : columns that will be asked for. Lines of JSON may have a key only later: until then it is missing. That no
        line has it is known at the end, so the last piece lacks it, as the whole does.

    >>> [len(piece.frame) for piece in read_chunks("weather", 5)]
    [5, 5, 4]
    """
    if rows < 1:
        raise SourceError(f"A chunk needs at least 1 row; got {rows}.")
    if str(source) in bundled_names():
        yield from _cut(read_source(source), rows)
        return
    with opened(source) as stream:
        head = stream.peek()
        if head.startswith(PARQUET):
            yield from _parquet(stream, rows)
        elif head.startswith(ZIP) or _is_whole(stream):
            yield from _cut(table_of(stream), rows)
        else:
            yield from _text(stream, rows, text, needed)


def _is_whole(stream: Stream) -> bool:
    """Whether a text is ARFF, or one list of JSON, in whatever encoding; comments of ARFF may be long."""
    head = stream.peek(1 << 20)
    text = Utf8(head[:HEAD], stream.name).converted(head, last=True)
    return is_arff(text) or text.lstrip().startswith(b"[")


def _cut(whole: Source, rows: int) -> Iterator[Source]:
    for start in range(0, len(whole.frame), rows):
        part = whole.frame.iloc[start : start + rows].reset_index(drop=True)
        yield Source(part, whole.name, whole.notes if start == 0 else [], whole.card)


def _parquet(stream: Stream, rows: int) -> Iterator[Source]:
    file = parquet_file(stream)
    kept = [n for n in file.schema_arrow.names if not n.startswith("__index_level_")]  # row labels without a name
    notes: list[str] = []
    names = unique_names([n.strip() for n in kept], notes)
    if not file.metadata.num_rows:
        raise SourceError(f"{stream.name} has no rows.")
    with by_library(stream.name, "parquet"):
        for batch in file.iter_batches(batch_size=rows, columns=kept):
            frame = batch.to_pandas(ignore_metadata=True, integer_object_nulls=True)
            frame.columns = names
            yield Source(frame, stream.name, notes)
            notes = []


def _text(stream: Stream, rows: int, text: Collection[str], needed: Collection[str]) -> Iterator[Source]:
    utf8 = Utf8(stream.peek(), stream.name)
    waiting = _Waiting(stream, utf8)
    while not waiting.text.strip() and not waiting.ended:
        waiting.more()
    if not waiting.text.strip():
        raise empty(stream.name)
    is_lines = is_json(waiting.text[:1000])
    pieces = _json_lines(waiting, rows, text, needed) if is_lines else _delimited(waiting, rows, text)
    seen: set[str] = set()
    encoding_told = False
    for piece in pieces:
        if not encoding_told and utf8.notes():
            encoding_told = True
            piece.notes[:0] = utf8.notes()
        piece.notes = [n for n in piece.notes if n not in seen]
        seen.update(piece.notes)
        yield piece


class _Waiting:
    """Text that was read and not yet given away."""

    def __init__(self, stream: Stream, utf8: Utf8) -> None:
        self.stream, self.utf8 = stream, utf8
        self.text = b""
        self.ended = False

    def more(self) -> None:
        data = self.stream.read(_READ)
        self.ended = not data
        self.text += self.utf8.converted(data, last=self.ended)

    def blocks(self, rows: int, end_of_record: Callable[[bytes], int]) -> Iterator[bytes]:
        """Blocks of about this many lines that end where a record does."""
        while True:
            lines = self.text.count(b"\n")
            if not self.ended and lines <= rows and len(self.text) < _MOST_WAITING:
                self.more()
                continue
            if self.ended and lines <= rows:
                if self.text:
                    yield self.text
                return
            cut = end_of_record(self.text[: after_lines(self.text, rows)]) or end_of_record(self.text)
            if not cut and self.ended:
                cut = len(self.text)
            elif not cut and len(self.text) >= _MOST_WAITING:
                raise SourceError(
                    f"{self.stream.name}: a row of more than {_MOST_WAITING >> 20} MB; a double quote is probably "
                    "opened and not closed."
                )
            elif not cut:
                self.more()
                continue
            block, self.text = self.text[:cut], self.text[cut:]
            yield block


def _json_lines(waiting: _Waiting, rows: int, text: Collection[str], needed: Collection[str]) -> Iterator[Source]:
    name = waiting.stream.name
    known: dict[str, None] = {}
    pieces = _numbered(waiting.blocks(rows, lambda text: text.rfind(b"\n") + 1))
    piece = next(pieces, None)
    while piece is not None:
        block, before = piece
        piece = next(pieces, None)
        frame, notes = json_frame(block, name, before, text), list[str]()
        frame.columns = unique_names([str(c).strip() for c in frame.columns], notes)
        known |= dict.fromkeys(frame.columns)
        hoped = [] if piece is None else [n for n in needed if n not in known]
        yield Source(_with_columns(frame, [*known, *hoped]), name, notes)


def _numbered(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Blocks that hold more than blank lines, each with the number of lines before it."""
    before = 0
    for block in blocks:
        if block.strip():
            yield block, before
        before += block.count(b"\n")


def _with_columns(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The columns in this order; one that no row has is missing in all, and of no type: other pieces may have any."""
    import pandas as pd

    empty = pd.Series(None, index=frame.index, dtype=object)
    return pd.DataFrame({n: frame.get(n, empty) for n in names})


def _delimited(waiting: _Waiting, rows: int, text: Collection[str]) -> Iterator[Source]:
    layout = Layout.of(waiting.text, waiting.stream.name)
    waiting.text = waiting.text[layout.start :]
    before, decimals = layout.lines_before, Decimals(text)
    n_rows, blank = 0, b""
    for part in waiting.blocks(rows, layout.record_end):
        block = blank + part
        if layout.width == 1:
            # An empty line is a missing cell if a value follows, and nothing at the end of the file.
            end = len(block.rstrip(b"\n")) + 1
            block, blank = (b"", block) if end == 1 else (block[:end], block[end:])
        frame = layout.frame(block, before, text)
        before += block.count(b"\n")
        if len(frame):
            n_rows += len(frame)
            notes = list(layout.notes)
            yield Source(tidied(frame, layout, notes, decimals), layout.name, notes)
    if not n_rows:
        raise SourceError(f"{layout.name} has a header line but no rows below it.")
