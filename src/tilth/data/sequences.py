"""Sequences: a table of steps and the offsets that say where each sequence begins and ends.

Steps are rows like those of any table: numbers, levels, missing cells, found by name. :func:`read_sequences` reads
lists of sequences, long frames, arrays with lengths, and files in CoNLL's format.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.numbers import parse_number
from tilth.data.reading import is_sparse, read
from tilth.data.schema import Schema
from tilth.data.table import RawColumn, RawTable, Table
from tilth.errors import SchemaError
from tilth.params import stored
from tilth.words import count, listed

Array = NDArray[Any]
Offsets = NDArray[np.int64]
#: Lines of CoNLL files that begin a document and hold no token.
DOCUMENT = "-DOCSTART-"


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """Sequences of steps: sequence i is ``steps`` from row ``offsets[i]`` up to row ``offsets[i + 1]``.

    ``steps`` is a raw table as it was read, or a typed one as a model sees it. Like a table of n rows, sequences have a
    length n; an integer gives one of them (its steps), a slice or an array of integers gives sequences.

    >>> songs = read_sequences([["do", "re"], ["mi"], ["fa", "sol", "la"]])
    >>> songs
    3 sequences of 1 to 3 steps, column token
    >>> songs[1:].lengths
    array([1, 3])
    """

    steps: Any
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """Number of sequences."""
        return len(self)

    @property
    def n_steps(self) -> int:
        """Number of steps of all sequences together."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> Offsets:
        """Number of steps of each sequence."""
        return np.diff(self.offsets)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, (int, np.integer)):
            return self.rows(index)
        place = range(len(self))[index]
        return self.steps.rows(slice(int(self.offsets[place]), int(self.offsets[place + 1])))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def rows(self, index: slice | Array | Sequence[int]) -> Sequences:
        """The sequences at these places, in this order."""
        chosen = np.arange(len(self))[index if isinstance(index, slice) else np.asarray(index)]
        offsets = np.concatenate([[0], np.cumsum(self.lengths[chosen])]).astype(np.int64)
        return Sequences(self.steps.rows(self.places(chosen)), offsets)

    def places(self, index: Array) -> NDArray[np.int64]:
        """Rows of ``steps`` that hold the sequences at these places."""
        lengths = self.lengths[index]
        shift = np.repeat(self.offsets[:-1][index] - (np.cumsum(lengths) - lengths), lengths)
        return np.arange(lengths.sum(), dtype=np.int64) + shift

    def with_steps(self, steps: RawTable | Table) -> Sequences:
        """The same sequences with other columns."""
        return Sequences(steps, self.offsets)

    def spread(self, values: Array | None) -> Array | None:
        """One value per sequence, repeated for each of its steps."""
        return None if values is None else np.repeat(values, self.lengths)

    def split(self, values: Array) -> list[Array]:
        """One value per step, cut into an array for each sequence."""
        return np.split(values, self.offsets[1:-1])

    def column(self, name: str) -> list[Array]:
        """A column as it was read, one array for each sequence."""
        source = self.steps[name] if isinstance(self.steps, Table) else self.steps.column(name)
        return self.split(source.labels())

    def typed(self, schema: Schema) -> Sequences:
        """The sequences with typed steps: float64 numbers and int32 level codes."""
        return self.with_steps(self.steps.typed(schema))

    def chunks(self, steps: int) -> Iterator[Sequences]:
        """Successive parts of at most this many steps; a longer sequence is a part of its own and is never cut."""
        for begin, end in parts_of(self.offsets, steps):
            yield self.rows(slice(begin, end))

    def __repr__(self) -> str:
        n, lengths, names = len(self), self.lengths, self.steps.names
        low, high = (int(lengths.min()), int(lengths.max())) if n else (0, 0)
        span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        columns = "column" if len(names) == 1 else "columns"
        return f"{count(n, 'sequence')} of {span} step{'s' * (high != 1)}, {columns} {listed(names, 8)}"

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        if type(self.steps) is not Table:
            return f"its steps are {type(self.steps).__name__}, not a typed table"
        ends = self.offsets.ndim == 1 and self.offsets.size and self.offsets[0] == 0
        if not ends or self.offsets[-1] != self.steps.n_rows:
            return f"its offsets do not go from 0 to {self.steps.n_rows}"
        return "" if (self.lengths > 0).all() else "a sequence without steps, or offsets that fall"


def parts_of(offsets: Offsets, steps: int) -> Iterator[tuple[int, int]]:
    """Ranges of sequences that have at most this many steps together; a longer sequence stands alone."""
    if steps < 1:
        raise ValueError(f"chunks: the number of steps must be at least 1; got {steps}.")
    begin = 0
    while begin < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[begin] + steps, side="right")) - 1
        end = max(last, begin + 1)
        yield begin, end
        begin = end


def symbols(table: RawTable) -> RawTable:
    """The table with text as levels: a word in a sequence is a symbol, however many different ones there are."""
    return replace(table, columns=[c.as_levels() if c.form == "text" else c for c in table.columns])


# ------------------------------------------------------------------------------------------------------------- reading


def read_sequences(
    source: Any,
    *,
    lengths: Any = None,
    sequence: str | None = None,
    order: str | None = None,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str | None = None,
) -> Sequences:
    """Read sequences of steps.

    Parameters
    ----------
    source : a list of sequences, each a 2-D array, a frame, a list of tokens, of numbers or of dicts of features; one
        table of all steps, with ``lengths`` (as hmmlearn has it) or with ``sequence``; or the path of a file in CoNLL's
        format. A table alone is one sequence.
    lengths : number of steps of each sequence, where the source is one table of all steps in order.
    sequence : column of a long table that names the sequence of each row; rows of one sequence need not be neighbours.
    order : column of a long table that puts the steps of a sequence in order; equal entries keep the order of the rows.
    columns : names of a file's columns; by default token, x1, x2 ... and label for the last.
    separator : what stands between a file's columns; by default a tab where a line has one, else white space.
    comment : how lines begin that are to be left out of a file, such as "# ".

    >>> read_sequences({"song": [1, 1, 2], "note": ["do", "re", "mi"]}, sequence="song")
    2 sequences of 1 to 2 steps, column note
    """
    if sequence is None and order is not None:
        raise ValueError("read_sequences: order needs sequence, the column that names the sequence of each row.")
    if isinstance(source, Sequences):
        _refuse_options("sequences that were read already", lengths=lengths, sequence=sequence)
        return source
    if isinstance(source, (str, Path)):
        _refuse_options("a file", lengths=lengths, sequence=sequence)
        return _read_conll(Path(source), columns, separator, comment)
    _refuse_options("data that is no file", columns=columns, separator=separator, comment=comment)
    if isinstance(source, np.ndarray) and (source.ndim == 3 or (source.ndim == 1 and source.dtype == object)):
        source = list(source)
    if isinstance(source, (list, tuple)) and lengths is None and sequence is None:
        return _read_list(source)
    if is_sparse(source):
        raise TypeError("read_sequences needs dense steps; a sparse matrix was given: use X.toarray().")
    table = read(source)
    if sequence is not None:
        _refuse_options("a long table with sequence", lengths=lengths)
        return _read_long(table, sequence, order)
    return Sequences(table, _offsets([table.n_rows] if lengths is None else lengths, table.n_rows))


def _refuse_options(what: str, **options: Any) -> None:
    extra = [name for name, value in options.items() if value is not None]
    if extra:
        raise ValueError(f"read_sequences: {' and '.join(extra)} cannot be used with {what}.")


def _offsets(lengths: Any, n_steps: int | None = None) -> Offsets:
    """Where sequences of these lengths begin and end."""
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not sizes.size:
        raise ValueError(f"read_sequences: lengths must be a list of whole numbers, at least one; got {lengths!r:.80}.")
    empty = np.flatnonzero(sizes < 1)
    if empty.size:
        raise ValueError(
            f"read_sequences: every sequence needs at least one step; sequence {empty[0]} has {sizes[empty[0]]}. "
            "Leave empty sequences out."
        )
    if n_steps is not None and sizes.sum() != n_steps:
        raise ValueError(
            f"read_sequences: lengths must sum to the number of steps; they sum to {sizes.sum()} and there are "
            f"{n_steps}."
        )
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _read_list(source: Sequence[Any]) -> Sequences:
    """A list of sequences; what the first one holds says how all are read."""
    if not len(source):
        raise ValueError("read_sequences needs at least one sequence; the list is empty.")
    for i, one in enumerate(source):
        if isinstance(one, (str, bytes, Mapping)) or not hasattr(one, "__len__"):
            raise TypeError(
                f"read_sequences needs a list of sequences, each a list or an array of steps; entry {i} is "
                f"{type(one).__name__} {one!r:.40}. Write [sequence] for a single sequence, text.split() for words."
            )
    offsets = _offsets([len(one) for one in source])
    if hasattr(source[0], "columns"):
        return Sequences(_read_frames(source), offsets)
    if all(isinstance(one, np.ndarray) for one in source):
        widths = [one.shape[1:] for one in source]
        _require_alike(widths, "arrays with steps of shape")
        joined = np.concatenate(list(source))
        return Sequences(_read_tokens(joined) if joined.ndim == 1 else read(joined), offsets)
    flat = [step for one in source for step in one]
    if isinstance(flat[0], Mapping):
        _require_alike([isinstance(step, Mapping) for step in flat], "steps that are dicts:", offsets)
        return Sequences(read(flat), offsets)
    if isinstance(flat[0], (list, tuple, np.ndarray)):
        _require_alike([np.shape(step)[:1] for step in flat], "steps of shape", offsets)
        return Sequences(read([list(step) for step in flat]), offsets)
    _require_alike(
        [not isinstance(step, (list, tuple, np.ndarray, Mapping)) for step in flat], "single tokens:", offsets
    )
    return Sequences(_read_tokens(_objects(flat)), offsets)


def _objects(values: list[Any]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _read_tokens(values: Array) -> RawTable:
    """One column: numbers without a name, as those of an array, and all else as tokens."""
    numbers = values.dtype.kind in "fiub" or not any(isinstance(v, (str, bytes)) for v in values.tolist())
    return read(values[:, None]) if numbers else read({"token": values})


def _require_alike(forms: Sequence[Any], what: str, offsets: Offsets | None = None) -> None:
    """Refuse a sequence (``forms`` of each sequence, or of each step with offsets) unlike the first."""
    odd = next((i for i, form in enumerate(forms) if form != forms[0]), None)
    if odd is not None:
        place = odd if offsets is None else int(np.searchsorted(offsets, odd, side="right")) - 1
        raise ValueError(
            f"read_sequences: all sequences must have the same columns; the first has {what} {forms[0]} and sequence "
            f"{place} has {forms[odd]}."
        )


def _read_frames(frames: Sequence[Any]) -> RawTable:
    import narwhals as nw
    import pandas as pd

    parts = [nw.from_native(frame, eager_only=True) for frame in frames]
    for i, part in enumerate(parts):
        if set(part.columns) != set(parts[0].columns):
            raise SchemaError(
                f"read_sequences: all sequences must have the same columns; the first has {list(parts[0].columns)} and "
                f"sequence {i} has {list(part.columns)}."
            )
    natives = [part.select(parts[0].columns).to_native() for part in parts]
    if type(natives[0]).__module__.startswith("polars"):
        import polars as pl

        return read(pl.concat(natives, how="vertical_relaxed"))
    natives = [n if isinstance(n, pd.DataFrame) else part.to_pandas() for n, part in zip(natives, parts, strict=True)]
    return read(pd.concat(natives, ignore_index=True))


def _read_long(table: RawTable, sequence: str, order: str | None) -> Sequences:
    index, offsets = grouped(table, sequence, order)
    steps = table.without(sequence) if order is None else table.without(sequence).without(order)
    if not steps.columns:
        raise SchemaError(f"read_sequences: the table has no column besides {sequence!r}; steps need at least one.")
    return Sequences(steps.rows(index), offsets)


def grouped(table: RawTable, sequence: str, order: str | None = None) -> tuple[NDArray[np.intp], Offsets]:
    """Rows of a long table, sequence by sequence in the order of their first rows, and the offsets of the sequences."""
    import pandas as pd

    codes, names = pd.factorize(table.column(sequence).labels())
    gone = int((codes < 0).sum())
    if gone or not len(codes):
        raise ValueError(
            f"read_sequences: every row needs a sequence; {gone} of {len(codes)} rows have none in column {sequence!r}."
        )
    keys = (codes,) if order is None else (_order_of(table.column(order)), codes)
    index = np.lexsort(keys)  # stable: equal entries keep the order of the rows
    return index, _offsets(np.bincount(codes, minlength=len(names)))


def _order_of(column: RawColumn) -> Array:
    values = column.values
    if column.form == "text":
        numbers = [parse_number(level) for level in column.levels]
        bad = next((v for v, n in zip(column.levels, numbers, strict=True) if n is None), None)
        if bad is not None:
            raise ValueError(
                f"read_sequences: the order column {column.name!r} must hold numbers or dates; it holds {bad!r}."
            )
        values = np.array([*numbers, np.nan], dtype=np.float64)[column.values]
    missing = (
        np.isnat(values) if column.form == "date" else np.isnan(values) if values.dtype.kind == "f" else values < 0
    )
    if column.form == "integer":
        missing = np.zeros(len(values), dtype=bool)
    if missing.any():
        raise ValueError(
            f"read_sequences: the order column {column.name!r} has {int(missing.sum())} missing values; every step "
            "needs its place."
        )
    return values


# --------------------------------------------------------------------------------------------------------------- files


def _read_conll(path: Path, columns: Sequence[str] | None, separator: str | None, comment: str | None) -> Sequences:
    """Lines of columns; an empty line ends a sequence."""
    rows: list[list[str | None]] = []
    ends: list[int] = []
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.rstrip("\r\n")
            if comment is not None and text.startswith(comment):
                continue
            if not text.strip() or text.startswith(DOCUMENT):
                ends.append(len(rows))
                continue
            cells = text.split(separator if separator is not None else "\t" if "\t" in text else None)
            if rows and len(cells) != len(rows[0]):
                raise ValueError(
                    f"read_sequences: {path.name} has {len(cells)} columns in line {number} and {len(rows[0])} in the "
                    "lines before; give separator or comment where lines are of another kind."
                )
            rows.append([cell or None for cell in cells])
    if not rows:
        raise ValueError(f"read_sequences: {path.name} holds no steps.")
    names = _file_columns(len(rows[0]), columns, path.name)
    cuts = np.unique([0, *ends, len(rows)])
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Sequences(read({name: _objects(list(values)) for name, values in cells.items()}), cuts.astype(np.int64))


def _file_columns(width: int, columns: Sequence[str] | None, file: str) -> list[str]:
    if columns is None:
        return ["token", *(f"x{j}" for j in range(1, width - 1)), *(["label"] if width > 1 else [])]
    if len(columns) != width or len(set(columns)) < width:
        raise ValueError(f"read_sequences: {file} has {width} columns, which need {width} different names.")
    return [str(c) for c in columns]


# -------------------------------------------------------------------------------------------------------------- labels


def flat_labels(y: Any, sequences: Sequences, owner: str) -> Any:
    """Labels of all steps, one after the other: from a list for each sequence, or from one entry for each step."""
    if isinstance(y, Sequences):
        if len(y.steps.names) != 1:
            raise ValueError(f"{owner}: y should have one column, the label of each step; it is {y!r}.")
        y = y.column(y.steps.names[0])
    entries = y if isinstance(y, (list, tuple)) else list(y) if np.asarray(y).dtype.kind == "O" else None
    nested = entries is not None and len(entries) and all(_is_list(one) for one in entries)
    if not nested:
        return y  # one entry for each step
    counts = np.array([len(one) for one in entries or ()])
    lengths = sequences.lengths
    if len(counts) != len(lengths):
        raise ValueError(f"{owner}: y has labels for {len(counts)} sequences and X has {len(lengths)} sequences.")
    odd = np.flatnonzero(counts != lengths)
    if odd.size:
        i = int(odd[0])
        raise ValueError(f"{owner}: sequence {i} has {lengths[i]} steps and {counts[i]} labels; each step needs one.")
    parts = [np.asarray(one) if hasattr(one, "dtype") else _objects(list(one)) for one in entries or ()]
    kinds = {part.dtype.kind for part in parts}
    flat = np.concatenate(parts)
    return flat if kinds != {"O"} else flat.tolist()


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__len__") and hasattr(value, "dtype"))
