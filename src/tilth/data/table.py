"""Tables: raw columns as they are stored (numbers, factors, dates), and the typed columns they become.

:mod:`tilth.data.reading` makes raw tables, :mod:`tilth.data.infer` decides kinds, and :meth:`RawTable.typed` then
gives float64 numbers (NaN = missing) and int32 codes (-1 = missing, -2 = unseen level).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.dates import dates_of
from tilth.data.kinds import Kind, Level, level_key, plain_level
from tilth.data.numbers import parse_number
from tilth.data.schema import DATE_PARTS, ColumnSpec, Form, Schema
from tilth.errors import SchemaError

UNSEEN = -2
#: Integer columns whose span is at most this are coded through a lookup table instead of a sort.
SPAN_LIMIT = 1 << 20


@dataclass
class Column:
    """A typed column: ``values`` are float64 (numeric) or int32 level codes (nominal, ordinal)."""

    name: str
    kind: Kind
    values: NDArray[Any]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return np.isnan(self.values) if self.kind.name == "numeric" else self.values < 0

    def mean(self) -> float:
        """Arithmetic mean of the present values; refused unless the column is numeric."""
        self.kind.require("arithmetic", self.name, "a mean")
        present = self.values[~self.missing]
        return float(present.mean()) if present.size else float("nan")

    def median(self) -> float | Level:
        """Middle value (the lower one of two for an ordinal column); refused for a nominal column."""
        self.kind.require("order", self.name, "a median")
        present = np.sort(self.values[~self.missing])
        if not present.size:
            return float("nan")
        if self.kind.name == "numeric":
            return float(np.median(present))
        return self.kind.levels[int(present[(present.size - 1) // 2])]

    def mode(self) -> float | Level:
        """Most frequent value; the first of the levels, or the smallest number, wins a tie."""
        present = self.values[~self.missing]
        if not present.size:
            return float("nan")
        if self.kind.name == "numeric":
            values, counts = np.unique(present, return_counts=True)
            return float(values[counts.argmax()])
        return self.kind.levels[int(np.bincount(present).argmax())]

    def difference(self, i: int, j: int) -> float:
        """Value of row ``i`` minus value of row ``j``; refused unless the column is numeric."""
        self.kind.require("arithmetic", self.name, "a difference")
        return float(self.values[i] - self.values[j])

    def labels(self) -> NDArray[Any]:
        """Values as a person writes them: numbers, or levels with None for missing."""
        if self.kind.name == "numeric":
            return self.values
        lookup = np.array([*self.kind.levels, None], dtype=object)
        return np.asarray(lookup[np.where(self.values < 0, len(lookup) - 1, self.values)])


@dataclass
class Table:
    """Typed columns of equal length. ``matrix``, when there is one, holds all of them as one float array."""

    columns: list[Column]
    n_rows: int
    matrix: NDArray[Any] | None = None
    _block: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    _facts: Any = field(default=None, repr=False, compare=False)
    _places: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        if len(self._places) != len(self.columns):
            self._places = {c.name: j for j, c in enumerate(self.columns)}
        if name in self._places:
            return self.columns[self._places[name]]
        raise SchemaError(f"There is no column {name!r} in the table of {len(self.columns)} columns.")

    def of_kind(self, *names: str) -> list[Column]:
        """The columns of these kinds, in order."""
        return [c for c in self.columns if c.kind.name in names]

    def numbers(self) -> NDArray[np.float64]:
        """The numeric columns as one n x p array (no copy when the table came from a numeric array)."""
        if self.matrix is not None:
            return self.matrix
        if self._block is not None:
            return self._block
        chosen = [c.values for c in self.of_kind("numeric")]
        # Fortran order: each column is written once, contiguously; the kernels take any strides.
        out = np.empty((self.n_rows, len(chosen)), dtype=np.float64, order="F")
        for j, values in enumerate(chosen):
            out[:, j] = values
        self._block = out  # asked for by the checks of new rows and again by the model
        return out

    def number_facts(self) -> tuple[NDArray[Any], ...]:
        """Lowest and highest value, missing and infinite cells of each numeric column, from one pass over them."""
        if self._facts is None:
            self._facts = _core.column_facts(self.numbers())
        return cast("tuple[NDArray[Any], ...]", self._facts)

    def codes(self) -> NDArray[np.int32]:
        """The nominal and ordinal columns as one n x p array of level codes."""
        if self.matrix is not None:
            return np.empty((self.n_rows, 0), dtype=np.int32)
        chosen = [c.values for c in self.of_kind("nominal", "ordinal")]
        base = _shared_base(chosen)
        if base is not None:
            return base
        out = np.empty((self.n_rows, len(chosen)), dtype=np.int32, order="F")
        for j, values in enumerate(chosen):
            out[:, j] = values
        return out

    def has_unseen(self) -> bool:
        """Whether some cell holds a level that the schema does not know."""
        chosen = [c.values for c in self.of_kind("nominal", "ordinal")]
        base = _shared_base(chosen)
        # One pass over the block: its columns one by one would each walk all of its memory.
        return any(block.size and block.min() == UNSEEN for block in (chosen if base is None else [base]))

    def rows(self, index: slice | NDArray[Any]) -> Table:
        """The table of these rows."""
        if self.matrix is not None:
            return numeric_table(self.matrix[index], self.names)
        kept = [Column(c.name, c.kind, c.values[index]) for c in self.columns]
        n_rows = len(kept[0].values) if kept else len(np.arange(self.n_rows)[index])
        return Table(kept, n_rows)

    def frame(self) -> Any:
        """The table as a pandas frame: floats, (ordered) categories."""
        import pandas as pd

        data: dict[str, Any] = {}
        for c in self.columns:
            if c.kind.name == "numeric":
                data[c.name] = c.values
            else:
                codes = np.maximum(c.values, -1)
                data[c.name] = pd.Categorical.from_codes(
                    codes, categories=list(c.kind.levels), ordered=c.kind.name == "ordinal"
                )
        return pd.DataFrame(data, index=range(self.n_rows))


def _shared_base(views: Sequence[NDArray[Any]]) -> NDArray[np.int32] | None:
    """The 2-D array whose successive columns these views are, so that it need not be built again."""
    if not views or views[0].base is None or views[0].base.ndim != 2:
        return None
    base: NDArray[np.int32] = views[0].base
    same = len(views) == base.shape[1] and all(v.base is base for v in views)
    in_order = same and all(v.ctypes.data == base[:, j].ctypes.data for j, v in enumerate(views))
    return base if in_order and base.shape[0] == len(views[0]) else None


def matrix_of(rows: Any) -> Any:
    """The numbers of typed rows as a matrix; a sparse matrix stays as it is."""
    return rows.numbers() if isinstance(rows, Table) else rows


def empty_table(schema: Schema) -> Table:
    """A table of the schema's columns without rows, to learn what a plan makes of them."""
    columns = []
    for spec in schema.features:
        if spec.expand_date:
            columns += [Column(f"{spec.name}.{part}", Kind("numeric"), np.empty(0)) for part in DATE_PARTS]
        else:
            empty = np.empty(0) if spec.kind.name == "numeric" else np.empty(0, dtype=np.int32)
            columns.append(Column(spec.name, spec.kind, empty))
    return Table(columns, 0)


def numeric_table(matrix: NDArray[Any], names: Sequence[str]) -> Table:
    """A table of numeric columns over one array."""
    kind = Kind("numeric")
    columns = [Column(name, kind, matrix[:, j]) for j, name in enumerate(names)]
    return Table(columns, matrix.shape[0], matrix)


@dataclass
class RawColumn:
    """A column as stored: numbers, datetimes, or codes into ``levels`` (-1 = missing)."""

    name: str
    form: Form
    values: NDArray[Any]
    levels: list[Any] = field(default_factory=list)
    ordered: bool = False

    def labels(self) -> NDArray[Any]:
        """Values as they were given: numbers, dates, or levels with None for missing."""
        coded = self.form in ("text", "level", "boolean")
        return np.array([*self.levels, None], dtype=object)[self.values] if coded else self.values

    def as_levels(self) -> RawColumn:
        """The column as a factor of the levels that occur, whatever it holds; texts, numbers and dates are sorted."""
        if self.form in ("text", "level", "boolean"):
            met = np.unique(self.values[self.values >= 0])
            if self.form == "text":
                met = np.array(sorted(met, key=lambda i: str(self.levels[i])), dtype=np.intp)
            lookup = np.full(len(self.levels) + 1, -1, dtype=np.int32)
            lookup[met] = np.arange(len(met), dtype=np.int32)
            return replace(self, form="level", values=lookup[self.values], levels=[self.levels[i] for i in met])
        texts = self.values.astype("datetime64[s]").astype(str) if self.form == "date" else self.values
        missing = np.isnat(self.values) if self.form == "date" else self.values != self.values
        distinct, codes = np.unique(texts[~missing], return_inverse=True)
        values = np.full(len(self.values), -1, dtype=np.int32)
        values[~missing] = codes
        return RawColumn(self.name, "level", values, [plain_level(v) for v in distinct.tolist()])

    def typed(self, spec: ColumnSpec) -> NDArray[Any]:
        """Values for the kind in ``spec``: float64, or int32 codes with -2 for a level the spec does not know."""
        if spec.kind.name == "numeric":
            return self._numbers(spec)
        if self.form in ("number", "integer"):
            return _code_numbers(self.values, spec.kind.levels)
        if self.form == "date":
            values = self.values.astype("datetime64[s]")
            texts, codes = np.unique(values.astype(str), return_inverse=True)
            return relevel(np.where(np.isnat(self.values), -1, codes), list(texts), spec.kind.levels)
        return relevel(self.values, self.levels, spec.kind.levels)

    def _numbers(self, spec: ColumnSpec) -> NDArray[np.float64]:
        if self.form in ("number", "integer"):
            return np.asarray(self.values, dtype=np.float64)
        if self.form == "date":
            raise SchemaError(f"Column {self.name!r} holds dates where numbers are needed.")
        numbers = np.array([*map(parse_number, self.levels), None], dtype=np.float64)[self.values]
        odd = self.odd_tokens(spec)
        if odd and sum(odd.values()) >= np.count_nonzero(~np.isnan(numbers)):
            raise SchemaError(
                f"Column {self.name!r} is numeric, but {len(odd)} of its values do not read as numbers, "
                f"such as {next(iter(odd))!r}. Clean them, or say kinds={{{self.name!r}: 'nominal'}} when fitting."
            )
        return numbers

    def texts(self) -> Column:
        """The cells as texts, whose levels are those of these rows alone; anything but text counts as missing."""
        if self.form not in ("text", "level"):
            return Column(self.name, Kind("nominal"), np.full(len(self.values), -1, dtype=np.int32))
        return Column(self.name, Kind("nominal", tuple(map(str, self.levels))), self.values)

    def odd_tokens(self, spec: ColumnSpec) -> dict[str, int]:
        """Texts where ``spec`` has numbers that are neither numbers nor known to stand for none, with their counts."""
        if spec.kind.name != "numeric" or spec.form == "date" or self.form not in ("text", "level"):
            return {}
        odd = [i for i, v in enumerate(self.levels) if parse_number(v) is None and str(v) not in spec.tokens]
        cells = np.bincount(self.values[np.isin(self.values, odd)], minlength=len(self.levels)) if odd else ()
        return {str(self.levels[i]): int(cells[i]) for i in odd if cells[i]}


@dataclass
class RawTable:
    """Raw columns of equal length; ``matrix`` is the array they are views of (dense numbers, or sparse CSR)."""

    columns: list[RawColumn]
    n_rows: int
    named: bool
    matrix: Any = None
    native: str = "numpy"

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]

    @property
    def is_sparse(self) -> bool:
        """Whether the table is a scipy sparse matrix (it then has no separate columns)."""
        return self.matrix is not None and not isinstance(self.matrix, np.ndarray)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1]) if self.matrix is not None else len(self.columns)

    def column(self, name: str) -> RawColumn:
        """The column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"There is no column {name!r}; the columns are {', '.join(map(repr, self.names[:12]))}.")

    def without(self, name: str) -> RawTable:
        """The table less one column."""
        self.column(name)
        return RawTable([c for c in self.columns if c.name != name], self.n_rows, self.named, None, self.native)

    def rows(self, index: NDArray[Any] | slice) -> RawTable:
        """The table of these rows."""
        matrix = None if self.matrix is None else self.matrix[index]
        columns = [
            replace(
                c, values=matrix[:, j] if matrix is not None and c.values.dtype == matrix.dtype else c.values[index]
            )
            for j, c in enumerate(self.columns)
        ]
        n_rows = len(range(self.n_rows)[index]) if isinstance(index, slice) else len(index)
        return replace(self, columns=columns, n_rows=n_rows, matrix=matrix)

    def typed(self, schema: Schema) -> Table:
        """Typed columns, in the order of ``schema`` and without the columns set aside."""
        if self.is_sparse:
            raise SchemaError("A sparse matrix has no typed columns.")
        if not schema.columns:
            return self._plain_numbers(schema)
        used = schema.features
        if self.matrix is not None and len(used) == self.width and all(c.kind.name == "numeric" for c in used):
            matrix = self.matrix if self.matrix.dtype in (np.float64, np.float32) else self.matrix.astype(np.float64)
            return numeric_table(matrix, schema.names)
        block = self._coded_block(used)
        if block is not None:
            return Table([Column(s.name, s.kind, block[:, j]) for j, s in enumerate(used)], self.n_rows)
        by_name = {c.name: c for c in self.columns}
        columns: list[Column] = []
        for spec in used:
            if spec.expand_date:
                columns.extend(_date_parts(by_name[spec.name]))
            elif spec.text:
                columns.append(by_name[spec.name].texts())
            else:
                columns.append(Column(spec.name, spec.kind, by_name[spec.name].typed(spec)))
        return Table(columns, self.n_rows)

    def _plain_numbers(self, schema: Schema) -> Table:
        """Dense rows for a model that was trained on a sparse matrix."""
        odd = next((c.name for c in self.columns if c.form not in ("number", "integer", "boolean")), None)
        if odd is not None:
            raise SchemaError(f"The model was trained on a sparse matrix of numbers; column {odd!r} holds none.")
        block = self.matrix if self.matrix is not None else np.column_stack([c.values for c in self.columns])
        return numeric_table(block.astype(np.float64), schema.names)

    def _coded_block(self, used: tuple[ColumnSpec, ...]) -> NDArray[np.int32] | None:
        """Codes of an integer matrix whose columns are all nominal or ordinal, in one compiled pass."""
        integer = self.matrix is not None and self.matrix.dtype.kind in "iu" and self.matrix.dtype.itemsize <= 8
        if not integer or len(used) != self.width or any(c.kind.name == "numeric" for c in used):
            return None
        if self.matrix.dtype == np.uint64 or not all(isinstance(v, int) for c in used for v in c.kind.levels):
            return None
        levels = [np.array(c.kind.levels, dtype=np.int64) for c in used]
        if any(v.size == 0 or v.max() - v.min() >= SPAN_LIMIT for v in levels):
            return None
        low = np.array([v.min() for v in levels])
        offsets = np.concatenate([[0], np.cumsum([v.max() - v.min() + 1 for v in levels])])
        lookup = np.full(offsets[-1], UNSEEN, dtype=np.int32)
        for j, values in enumerate(levels):
            lookup[offsets[j] + values - low[j]] = np.arange(len(values))
        return _core.encode_integers(self.matrix, low, offsets, lookup)


def _code_numbers(values: NDArray[Any], levels: tuple[Level, ...]) -> NDArray[np.int32]:
    """Codes of numbers by their place among ``levels``; NaN is -1, an unknown number -2."""
    out = np.full(len(values), UNSEEN, dtype=np.int32)
    known = [(float(v), i) for i, v in enumerate(map(parse_number, levels)) if v is not None]
    if known:
        keys = np.array([k for k, _ in known])
        codes = np.array([i for _, i in known], dtype=np.int32)
        order = np.argsort(keys, kind="stable")
        at = np.searchsorted(keys[order], values).clip(max=len(keys) - 1)
        found = keys[order][at] == values
        out[found] = codes[order][at[found]]
    if values.dtype.kind == "f":
        out[np.isnan(values)] = -1
    return out


def relevel(codes: NDArray[Any], found: Sequence[Any], levels: tuple[Level, ...]) -> NDArray[np.int32]:
    """Codes into ``found`` turned into codes into ``levels``; the last entry of the lookup serves -1."""
    place = {level_key(v): i for i, v in enumerate(levels)}
    lookup = np.array([*(place.get(level_key(v), UNSEEN) for v in found), -1], dtype=np.int32)
    return lookup[codes]


def _moments(column: RawColumn) -> NDArray[Any]:
    """The values of a column that held dates in training: dates, or texts that are."""
    if column.form == "date":
        return column.values
    numbers = column.form in ("number", "integer")
    if (np.isnan(column.values.astype(np.float64)) if numbers else column.values < 0).all():
        return np.full(len(column.values), "NaT", dtype="datetime64[s]")
    coded = column.form in ("text", "level")
    found, wrong = dates_of(column.levels, column.values) if coded else (column.values, [column.form])
    if wrong:  # codes of texts, or numbers, would silently count as days since 1970
        raise SchemaError(
            f"Column {column.name!r} held dates in training and holds {wrong[0]!r} now; write dates as 2020-12-31, or "
            "convert them first (pandas.to_datetime)."
        )
    return found


def _date_parts(column: RawColumn) -> list[Column]:
    """Year, month, day, weekday (Monday = 0) and days since 1970 of a date column, as numbers."""
    dates = _moments(column).astype("datetime64[D]")
    gone = np.isnat(dates)
    days = dates.astype(np.int64)
    months = dates.astype("datetime64[M]").astype(np.int64)
    parts = (
        1970 + months // 12,
        1 + months % 12,
        (dates - dates.astype("datetime64[M]")).astype(np.int64) + 1,
        (days + 3) % 7,
        days,
    )
    kind = Kind("numeric")
    return [
        Column(f"{column.name}.{part}", kind, np.where(gone, np.nan, values.astype(np.float64)))
        for part, values in zip(DATE_PARTS, parts, strict=True)
    ]
