"""Reading: any two-dimensional input becomes raw columns of numbers, factors and dates.

Reading never guesses kinds and never changes a value: it only says how each column is stored.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import level_key, plain_level
from tilth.data.schema import Form
from tilth.data.table import RawColumn, RawTable, relevel
from tilth.errors import SchemaError


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
        matrix = _pandas_matrix(native)
        if matrix is not None:
            columns = [RawColumn(_text_name(n), "number", matrix[:, j]) for j, n in enumerate(labels)]
        else:
            series = (native.iloc[:, j] for j in range(len(labels)))
            columns = [_read_pandas(_text_name(n), s) for n, s in zip(labels, series, strict=True)]
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
        twice = sorted(n for n, times in Counter(names).items() if times > 1)
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
    if isinstance(dtype, pd.SparseDtype):
        return _read_pandas(name, series.sparse.to_dense())
    if isinstance(dtype, pd.PeriodDtype):
        return _read_pandas(name, series.dt.to_timestamp())
    if dtype == np.dtype(object) or isinstance(dtype, pd.StringDtype):
        return _read_objects(name, series)
    if isinstance(dtype, np.dtype):
        return _read_values(name, series.to_numpy())
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) and series.hasnans:
        return RawColumn(name, "number", series.to_numpy(dtype=np.float64, na_value=np.nan))
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
            column = RawColumn(name, "level", relevel(column.values, column.levels, tuple(levels)), levels)
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
        raise ValueError(f"Complex data not supported: column {name!r}; give real and imaginary parts as two columns.")
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
        raise ValueError(f"Complex data not supported: column {name!r}; give real and imaginary parts as two columns.")
    if content == "mixed" and any(isinstance(v, (list, dict, set, np.ndarray)) for v in values[:1000]):
        values = np.array(
            [v if v is None or isinstance(v, (str, float, int)) else str(v) for v in values], dtype=object
        )
    codes, uniques = pd.factorize(values)
    if content == "boolean":
        order = np.array([int(bool(v)) for v in uniques] + [-1], dtype=np.int32)
        return RawColumn(name, "boolean", order[codes], [False, True])
    return _read_levels(name, codes, list(uniques), False, form="text")


def _read_levels(name: str, codes: NDArray[Any], labels: list[Any], ordered: bool, form: Form = "level") -> RawColumn:
    """Codes and levels with equal keys (1 and "1") united and interned text."""
    levels = [sys.intern(str(v)) if isinstance(v, str) else plain_level(v) for v in labels]
    keys: dict[str, int] = {}
    place = [keys.setdefault(level_key(v), len(keys)) for v in levels]
    codes = np.asarray(codes, dtype=np.int32)
    if len(keys) < len(levels):
        codes = np.array([*place, -1], dtype=np.int32)[codes]
        levels = list(keys)
    return RawColumn(name, form, codes, levels, ordered)
