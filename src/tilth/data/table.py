"""Tables: any input becomes raw columns (numbers, factors, dates), and raw columns become typed ones.

Reading never guesses kinds: it only says how each column is stored. :mod:`tilth.data.infer` decides kinds, and
:meth:`RawTable.typed` then gives float64 numbers (NaN = missing) and int32 codes (-1 = missing, -2 = unseen level).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core
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

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
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

    def codes(self) -> NDArray[np.int32]:
        """The nominal and ordinal columns as one n x p array of level codes."""
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

    def typed(self, spec: ColumnSpec) -> NDArray[Any]:
        """Values for the kind in ``spec``: float64, or int32 codes with -2 for a level the spec does not know."""
        if spec.kind.name == "numeric":
            return self._numbers(spec)
        if self.form in ("number", "integer"):
            return _code_numbers(self.values, spec.kind.levels)
        if self.form == "date":
            values = self.values.astype("datetime64[s]")
            texts, codes = np.unique(values.astype(str), return_inverse=True)
            return _relevel(np.where(np.isnat(self.values), -1, codes), list(texts), spec.kind.levels)
        return _relevel(self.values, self.levels, spec.kind.levels)

    def _numbers(self, spec: ColumnSpec) -> NDArray[np.float64]:
        if self.form in ("number", "integer"):
            return np.asarray(self.values, dtype=np.float64)
        if self.form == "date":
            raise SchemaError(f"Column {self.name!r} holds dates where numbers are needed.")
        parsed = [parse_number(v) for v in self.levels]
        bad = [str(v) for v, p in zip(self.levels, parsed, strict=True) if p is None]
        if bad:
            raise SchemaError(
                f"Column {self.name!r} is numeric, but {len(bad)} of its values do not read as numbers, "
                f"such as {bad[0]!r}. Clean them, or say kinds={{{self.name!r}: 'nominal'}} when fitting."
            )
        lookup = np.array([*(p for p in parsed), np.nan], dtype=np.float64)
        return lookup[self.values]


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


def _relevel(codes: NDArray[Any], found: Sequence[Any], levels: tuple[Level, ...]) -> NDArray[np.int32]:
    """Codes into ``found`` turned into codes into ``levels``; the last entry of the lookup serves -1."""
    place = {level_key(v): i for i, v in enumerate(levels)}
    lookup = np.array([*(place.get(level_key(v), UNSEEN) for v in found), -1], dtype=np.int32)
    return lookup[codes]


def _date_parts(column: RawColumn) -> list[Column]:
    """Year, month, day, weekday (Monday = 0) and days since 1970 of a date column, as numbers."""
    dates = column.values.astype("datetime64[D]")
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


# ---------------------------------------------------------------------------------------------------------- reading


def read(X: Any) -> RawTable:
    """Read any two-dimensional input: numpy, pandas, polars, pyarrow, dict of columns, lists of rows, scipy sparse."""
    if isinstance(X, RawTable):
        return X
    if isinstance(X, np.ndarray):
        return _read_array(X)
    if is_sparse(X):
        return _read_sparse(X)
    if isinstance(X, Mapping):
        return _read_mapping(X)
    frame = _as_frame(X)
    if frame is not None:
        return _read_frame(frame)
    if isinstance(X, (str, bytes)) or X is None or np.isscalar(X):
        raise TypeError(
            f"A table is needed (an array, a data frame, a dict of columns); got {type(X).__name__} {X!r:.60}."
        )
    if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        import pandas as pd

        return _read_frame(_as_frame(pd.DataFrame(list(X))))
    return _read_array(_array_of(X))


def _array_of(X: Any) -> NDArray[Any]:
    if isinstance(X, (list, tuple)) and any(isinstance(v, str) for row in X[:50] for v in _cells(row)):
        return np.array([list(row) for row in X], dtype=object)
    return np.asarray(X)


def _cells(row: Any) -> Sequence[Any]:
    return row if isinstance(row, (list, tuple)) else ()


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse matrix or array."""
    return type(X).__module__.startswith("scipy.sparse")


def _as_frame(X: Any) -> Any:
    """A narwhals frame over a pandas, polars or pyarrow table, or None for anything else."""
    loaded = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals")
    if type(X).__module__.split(".")[0] not in loaded:
        return None
    import narwhals as nw

    if hasattr(X, "iloc") and hasattr(X, "columns"):
        _refuse_repeats([_text_name(n) for n in X.columns])
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        raise ValueError(
            "Expected 2D array, got 1D array instead: a single series. Reshape your data: "
            "give a frame, such as df[['column']]."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def _read_array(X: NDArray[Any]) -> RawTable:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it is a "
            "single feature, array.reshape(1, -1) if it is a single sample."
        )
    names = [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind in "fiub":
        if X.dtype.kind == "b" or (X.dtype.kind == "f" and X.dtype not in (np.float64, np.float32)):
            X = X.astype(np.float64)
        form: Form = "integer" if X.dtype.kind in "iu" else "number"
        return RawTable([RawColumn(n, form, X[:, j]) for j, n in enumerate(names)], X.shape[0], False, X)
    columns = [_read_values(name, X[:, j]) for j, name in enumerate(names)]
    return RawTable(columns, X.shape[0], False, _numeric_block(columns))


def _numeric_block(columns: list[RawColumn]) -> NDArray[np.float64] | None:
    """One float array for columns that all turned out to be numbers."""
    if not columns or any(c.form not in ("number", "integer") for c in columns):
        return None
    return np.column_stack([c.values for c in columns]).astype(np.float64)


def _read_sparse(X: Any) -> RawTable:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns.")
    matrix = X.tocsr()
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"A sparse matrix must hold numbers; its dtype is {matrix.dtype}.")
    return RawTable([], matrix.shape[0], False, matrix, "sparse")


def _read_mapping(X: Mapping[Any, Any]) -> RawTable:
    values = {k: _column_array(v) for k, v in X.items()}
    sizes = {len(v) if v.ndim == 1 else -1 for v in values.values()}
    if len(sizes) > 1 or -1 in sizes:
        raise ValueError("A dict of columns needs one-dimensional columns of equal length.")
    columns = [_read_values(_text_name(k), v) for k, v in values.items()]
    return _checked(RawTable(columns, sizes.pop() if sizes else 0, True))


def _column_array(values: Any) -> NDArray[Any]:
    """One column of a mapping; numpy would turn a missing cell among texts into the text 'nan'."""
    array = np.asarray(values)
    return (
        np.array(list(values), dtype=object) if array.dtype.kind == "U" and isinstance(values, (list, tuple)) else array
    )


def _text_name(name: Any) -> str:
    return name if isinstance(name, str) else str(name)


def _read_frame(frame: Any) -> RawTable:
    native = frame.to_native()
    library = type(native).__module__.split(".")[0]
    if library == "pandas":
        labels = list(native.columns)
        series = [native.iloc[:, j] for j in range(len(labels))]
        columns = [_read_pandas(_text_name(n), s) for n, s in zip(labels, series, strict=True)]
        matrix = _pandas_matrix(native)
    else:
        labels = frame.columns
        columns = [_read_series(_text_name(n), frame[n]) for n in labels]
        matrix = None
    named = bool(labels) and all(isinstance(n, str) for n in labels)
    if not named and any(isinstance(n, str) for n in labels):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but the columns mix "
            "strings with other types; rename them with df.columns = df.columns.astype(str)."
        )
    return _checked(RawTable(columns, len(frame), named, matrix, library))


def _checked(table: RawTable) -> RawTable:
    _refuse_repeats(table.names)
    return table


def _refuse_repeats(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = sorted({n for n in names if names.count(n) > 1})
        raise SchemaError(f"Column names must differ; these occur more than once: {', '.join(map(repr, twice))}.")


def _pandas_matrix(frame: Any) -> NDArray[Any] | None:
    """The single block of an all-float pandas frame, without a copy."""
    dtypes = set(frame.dtypes)
    if len(dtypes) == 1 and dtypes <= {np.dtype(np.float64), np.dtype(np.float32)}:
        return np.asarray(frame.to_numpy())
    return None


def _read_pandas(name: str, series: Any) -> RawColumn:
    """Read one pandas column; text is factorised by pandas, which is the costly part of any conversion."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_levels(name, series.cat.codes.to_numpy(), list(series.cat.categories), bool(dtype.ordered))
    if dtype == np.dtype(object) or isinstance(dtype, pd.StringDtype):
        return _read_objects(name, series)
    if isinstance(dtype, np.dtype):
        return _read_values(name, series.to_numpy())
    import narwhals as nw

    return _read_series(name, nw.from_native(series, series_only=True))


def _read_series(name: str, series: Any) -> RawColumn:
    """Read one narwhals series of any library."""
    import narwhals as nw

    dtype = series.dtype
    if dtype == nw.Boolean:
        values = series.to_numpy()
        return _read_values(name, np.asarray(values, dtype=object) if values.dtype != bool else values)
    if dtype.is_numeric():
        if series.null_count() == 0 and dtype.is_integer():
            return _read_values(name, np.asarray(series.to_numpy()))
        return RawColumn(name, "number", np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if isinstance(dtype, (nw.Datetime, nw.Date)) or dtype in (nw.Datetime, nw.Date):
        return RawColumn(name, "date", np.asarray(series.to_numpy()).astype("datetime64[us]"))
    if dtype == nw.Duration:
        return RawColumn(name, "number", _seconds(np.asarray(series.to_numpy())))
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object) or isinstance(dtype, nw.Enum):
        levels = list(series.cat.get_categories().to_list()) if isinstance(dtype, nw.Enum) else None
        column = _read_objects(name, np.asarray(series.cast(nw.String).to_numpy(), dtype=object))
        if levels is not None:
            column = RawColumn(name, "level", _relevel(column.values, column.levels, tuple(levels)), levels)
        return column
    raise TypeError(
        f"Column {name!r} has type {dtype}, which is neither a number, text, a category, a boolean nor a date; "
        "turn it into one of these or leave it out."
    )


def _seconds(values: NDArray[Any]) -> NDArray[np.float64]:
    out = values.astype("timedelta64[us]").astype(np.float64) / 1e6
    out[np.isnat(values)] = np.nan
    return out


def _read_values(name: str, values: NDArray[Any]) -> RawColumn:
    """Read a one-dimensional numpy array."""
    letter = values.dtype.kind
    if letter == "f":
        values = values if values.dtype == np.float64 else values.astype(np.float64)
        return RawColumn(name, "number", values)
    if letter in "iu":
        return RawColumn(name, "integer", values)
    if letter == "b":
        return RawColumn(name, "boolean", values.astype(np.int32), [False, True])
    if letter == "M":
        return RawColumn(name, "date", values.astype("datetime64[us]"))
    if letter == "m":
        return RawColumn(name, "number", _seconds(values))
    if letter == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns.")
    return _read_objects(name, values.astype(object))


def _read_objects(name: str, values: Any) -> RawColumn:
    """Read Python objects or strings: numbers stay numbers, everything else becomes codes into distinct values."""
    import pandas as pd

    content = pd.api.types.infer_dtype(values, skipna=True)
    if content in ("integer", "floating", "mixed-integer-float", "decimal"):
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return RawColumn(name, "number", numbers)
    if content in ("datetime", "datetime64", "date"):
        return RawColumn(name, "date", pd.to_datetime(pd.Series(values)).to_numpy().astype("datetime64[us]"))
    if content == "complex":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns.")
    if content == "mixed" and any(isinstance(v, (list, dict, set, np.ndarray)) for v in values[:1000]):
        values = np.array(
            [v if v is None or isinstance(v, (str, float, int)) else str(v) for v in values], dtype=object
        )
    codes, found = pd.factorize(values)
    if content == "boolean":
        order = np.array([int(bool(v)) for v in found] + [-1], dtype=np.int32)
        return RawColumn(name, "boolean", order[codes], [False, True])
    return _read_levels(name, codes, list(found), False, form="text")


def _read_levels(name: str, codes: NDArray[Any], found: list[Any], ordered: bool, form: Form = "level") -> RawColumn:
    """Codes and levels with equal keys (1 and "1") united and interned text."""
    levels = [sys.intern(v) if isinstance(v, str) else plain_level(v) for v in found]
    keys: dict[str, int] = {}
    place = [keys.setdefault(level_key(v), len(keys)) for v in levels]
    codes = np.asarray(codes, dtype=np.int32)
    if len(keys) < len(levels):
        codes = np.array([*place, -1], dtype=np.int32)[codes]
        levels = list(keys)
    return RawColumn(name, form, codes, levels, ordered)
