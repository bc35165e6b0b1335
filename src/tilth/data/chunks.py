"""Chunks: a table, a CSV or a parquet file as successive pieces, so that fitting never needs all rows at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds, Summary, decide, listing_wanted, summarise
from tilth.data.reading import read
from tilth.data.schema import Schema
from tilth.data.sequences import Offsets, Sequences, grouped, parts_of
from tilth.data.table import RawTable
from tilth.errors import SchemaError

CHUNK_ROWS = 65_536


@dataclass
class Chunk:
    """Some rows: the raw table without its target, the target, the weights; of sequences, whole ones with offsets."""

    table: RawTable
    target: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    offsets: Offsets | None = None


@dataclass
class Overview:
    """What one pass over all chunks tells before any learning: summaries of the columns and the labels."""

    summaries: list[Summary] = field(default_factory=list)
    named: bool = True
    targets: set[Any] = field(default_factory=set)
    chunks: Chunks | None = field(default=None, repr=False)

    def schema(self, kinds: Kinds = None) -> Schema:
        """Kinds from the whole source; numbers that the user calls levels cost another pass to list them."""
        wanted = listing_wanted([s.name for s in self.summaries], kinds)
        unlisted = {s.name for s in self.summaries if s.mixed or (s.form in ("number", "integer") and not s.listed)}
        if self.chunks is None or not unlisted.intersection(wanted):
            schema = decide(self.summaries, self.named, kinds)
            # Numbers in some chunks and words in others: either numbers with odd tokens, or levels to be listed.
            mixed = {s.name for s in self.summaries if s.mixed}
            wanted = [c.name for c in schema.columns if c.name in mixed and c.kind.name != "numeric"]
            if self.chunks is None or not wanted:
                return schema
        return decide(self.chunks.summaries(wanted), self.named, kinds)

    def labels(self, is_classifier: bool, owner: str) -> NDArray[Any]:
        """All distinct labels (a regressor only needs to know that there are some)."""
        if not is_classifier:
            return np.zeros(1)
        if len(self.targets) > MOST_CLASSES:
            raise ValueError(
                f"{owner}: the target has more than {MOST_CLASSES} different values; it is no set of classes."
            )
        if None in self.targets:
            raise ValueError("Input y contains NaN: some labels are missing; drop those rows.")
        # Sorted within a type, so that the order never depends on hashing; a mix of types is refused by the model.
        return np.array(sorted(self.targets, key=lambda v: (type(v).__name__, v)), dtype=object)


MOST_CLASSES = 10_000


@dataclass
class Chunks:
    """A re-iterable source of chunks; every iteration starts at the first row.

    With ``sequence``, the column that names the sequence of each row, no chunk cuts a sequence; ``prepare`` then
    changes the sequences of each chunk before anything is learned of them.
    """

    source: Any
    target: str | None = None
    weight: str | None = None
    rows: int = CHUNK_ROWS
    y: Any = None
    sequence: str | None = None
    order: str | None = None
    prepare: Callable[[Sequences], Sequences] | None = None
    #: Columns of a CSV file that hold numbers in some chunks and words in others: their cells stay as written.
    as_text: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"chunks: rows must be at least 1; got {self.rows}.")
        if self.order is not None and self.sequence is None:
            raise ValueError("chunks: order needs sequence, the column that names the sequence of each row.")

    def __iter__(self) -> Iterator[Chunk]:
        met: set[Any] = set()
        for piece, y in self._pieces():
            table = read(piece)
            if self.sequence is None:
                yield self._chunk(table, y)
                continue
            names = set(self._neighbours(table))
            if met & names:
                raise ValueError(self._torn(min(met & names, key=str)))
            met |= names
            yield self._sequence_chunk(table, y)

    def _neighbours(self, table: RawTable) -> list[Any]:
        """Names of the sequences in a piece, whose rows must be neighbours."""
        assert self.sequence is not None
        values = table.column(self.sequence).labels()
        names = values[np.r_[True, values[1:] != values[:-1]]].tolist() if len(values) else []
        if len(set(names)) < len(names):
            raise ValueError(self._torn(next(n for n in names if names.count(n) > 1)))
        return names

    def _torn(self, name: Any) -> str:
        return (
            f"chunks: the rows of a sequence must be neighbours in the source; those of {name!r} in column "
            f"{self.sequence!r} are not. Sort the source by that column."
        )

    def _sequence_chunk(self, table: RawTable, y: Any) -> Chunk:
        assert self.sequence is not None
        index, offsets = grouped(table, self.sequence, self.order)
        table = table.without(self.sequence).rows(index)
        chunk = self._chunk(
            table if self.order is None else table.without(self.order), None if y is None else np.asarray(y)[index]
        )
        chunk.offsets = offsets
        if self.prepare is not None:
            chunk.table = self.prepare(Sequences(chunk.table, offsets)).steps
        return chunk

    def _chunk(self, table: RawTable, y: Any) -> Chunk:
        weight = None
        if self.weight is not None:
            weight = np.asarray(table.column(self.weight).values, dtype=np.float64)
            table = table.without(self.weight)
        if self.target is not None:
            y = table.column(self.target).labels()
            table = table.without(self.target)
        return Chunk(table, y, weight)

    def _pieces(self) -> Iterator[tuple[Any, Any]]:
        path = Path(self.source) if isinstance(self.source, (str, Path)) else None
        if path is None:
            yield from self._table_pieces()
        else:
            if path.suffix == ".parquet":
                pieces = _parquet_pieces(path, self.rows)
            else:
                pieces = _csv_pieces(path, self.rows, self.as_text)
            yield from ((p, None) for p in (pieces if self.sequence is None else _uncut(pieces, self.sequence)))

    def _table_pieces(self) -> Iterator[tuple[Any, Any]]:
        source = self.source
        if isinstance(source, Mapping):
            source = {name: np.asarray(values) for name, values in source.items()}
            n = max((len(values) for values in source.values()), default=0)
        else:
            n = source.shape[0] if hasattr(source, "shape") else len(source)
        for part in self._cuts(n):
            if isinstance(source, Mapping):
                rows: Any = {name: values[part] for name, values in source.items()}
            else:
                rows = source.iloc[part] if hasattr(source, "iloc") else source[part]
            yield rows, None if self.y is None else np.asarray(self.y)[part]

    def _cuts(self, n: int) -> Iterator[slice]:
        """Ranges of rows, none of which cuts a sequence."""
        if self.sequence is None:
            yield from (slice(start, start + self.rows) for start in range(0, n, self.rows))
            return
        values = read(self.source).column(self.sequence).labels()
        offsets = np.r_[np.flatnonzero(np.r_[True, values[1:] != values[:-1]]), n].astype(np.int64)
        for begin, end in parts_of(offsets, self.rows):
            yield slice(int(offsets[begin]), int(offsets[end]))

    def summaries(self, wanted: Sequence[str] = ()) -> list[Summary]:
        """Summaries of all columns from one pass; ``wanted`` names number columns to list value by value."""
        return functools.reduce(_added, (summarise(chunk.table, wanted) for chunk in self), [])

    @functools.cached_property
    def _overview(self) -> Overview:
        return self._overview_once()

    def _overview_once(self) -> Overview:
        overview = Overview(chunks=self)
        for chunk in self:
            overview.named = chunk.table.named
            overview.summaries = _added(overview.summaries, summarise(chunk.table))
            if chunk.target is not None and len(overview.targets) <= MOST_CLASSES:
                values = chunk.target
                overview.targets |= set(values.tolist() if values.dtype == object else np.unique(values).tolist())
        mixed = frozenset(s.name for s in overview.summaries if s.mixed)
        if mixed and not self.as_text and isinstance(self.source, (str, Path)):
            self.as_text = mixed  # "1.50" in one chunk is then the same text in every other
            return self._overview_once()
        return overview

    def overview(self) -> Overview:
        """Summaries of all columns and all labels, from one pass."""
        return self._overview


def _added(total: list[Summary], more: list[Summary]) -> list[Summary]:
    """Summaries of the rows so far and of the next chunk, column by column."""
    if not total:
        return more
    names, new_names = [s.name for s in total], [s.name for s in more]
    if names != new_names:
        raise SchemaError(f"A later chunk has other columns: {new_names} instead of {names}.")
    return [a + b for a, b in zip(total, more, strict=True)]


def chunks(
    source: Any,
    target: str | None = None,
    *,
    weight: str | None = None,
    rows: int = CHUNK_ROWS,
    y: Any = None,
    sequence: str | None = None,
    order: str | None = None,
) -> Chunks:
    """Cut a table, CSV or parquet file into chunks.

    Parameters
    ----------
    source : a path ending in .csv, .csv.gz or .parquet, a data frame, or an array.
    target, weight : names of the target and weight columns of the source.
    rows : rows per chunk; it fixes the order of summation, so keep it when comparing results bit by bit.
    y : the target, for a source that does not hold it.
    sequence : column that names the sequence of each row, for models of sequences; a chunk never cuts a sequence.
    order : column that puts the steps of a sequence in order.
    """
    return Chunks(source, target, weight, rows, y, sequence, order)


def _uncut(pieces: Iterator[Any], sequence: str) -> Iterator[Any]:
    """Pieces of a file whose last sequence waits for the next piece, which may go on with it."""
    import pandas as pd

    waiting: Any = None
    for piece in pieces:
        rows = piece if waiting is None else pd.concat([waiting, piece], ignore_index=True)
        if sequence not in rows.columns:
            yield rows  # the reader of the piece names the column that lacks
            continue
        names = rows[sequence].to_numpy()
        change = np.flatnonzero(names[1:] != names[:-1])
        cut = int(change[-1]) + 1 if change.size else 0
        waiting = rows.iloc[cut:]
        if cut:
            yield rows.iloc[:cut]
    if waiting is not None and len(waiting):
        yield waiting


#: Cells read as missing; "None", "null" and "-" stay text, since they are real levels in many files.
CSV_MISSING = ["", "NA", "N/A", "NaN", "nan", "?"]


def _csv_pieces(path: Path, rows: int, as_text: Collection[str] = ()) -> Iterator[Any]:
    import pandas as pd

    types = dict.fromkeys(as_text, "str") or None
    with pd.read_csv(
        path, chunksize=rows, keep_default_na=False, na_values=CSV_MISSING, low_memory=False, dtype=types
    ) as reader:
        yield from reader


def _parquet_pieces(path: Path, rows: int) -> Iterator[Any]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("Reading parquet needs pyarrow: pip install 'tilth[frames]'.") from None
    # Without these two options pyarrow keeps what it has read, and memory grows with the file.
    source = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    for batch in source.iter_batches(batch_size=rows):
        yield batch.to_pandas()
