"""Sparse matrices and typed tables in a model file: their parts, and what is built from parts once they are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import Kind
from tilth.data.table import UNSEEN, Column, Table, numeric_table
from tilth.errors import ModelFileError
from tilth.lifecycle import archive
from tilth.lifecycle.state import brief

#: Sparse matrices a file holds: the class by its name.
FORMATS = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


def offsets_problem(offsets: Any, last: int) -> str | None:
    """Why offsets are none: they start at 0, never fall and end at ``last``."""
    whole = isinstance(offsets, np.ndarray) and offsets.dtype.kind in "iu" and offsets.ndim == 1 and offsets.size
    if not whole:
        return f"its offsets are {brief(offsets)}"
    if int(offsets[0]) != 0 or int(offsets[-1]) != last:
        return f"its offsets go from {offsets[0]} to {offsets[-1]} and should go from 0 to {last}"
    return None if (offsets[1:] >= offsets[:-1]).all() else "its offsets fall"


# ------------------------------------------------------------------------------------------------------------- sparse


def parts_of_sparse(matrix: Any) -> dict[str, Any] | None:
    """Format, shape and arrays of a CSR or CSC matrix; None for any other kind."""
    name = type(matrix).__name__
    if name not in FORMATS:
        return None
    arrays = {part: np.asarray(getattr(matrix, part)) for part in ("data", "indices", "indptr")}
    return {"format": name, "shape": [int(n) for n in matrix.shape], **arrays}


def sparse_from(format: Any, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """A sparse matrix whose indices lie within its shape."""
    import scipy.sparse

    if format not in FORMATS:
        raise ModelFileError(f"its sparse matrix is of format {format!r:.40}; a model file holds CSR and CSC.")
    rows_columns = archive.checked_shape(shape, "its sparse matrix")
    if len(rows_columns) != 2:
        raise ModelFileError(f"its sparse matrix has the shape {shape!r:.80}, which is not one of rows and columns.")
    major, minor = rows_columns if format.startswith("csr") else rows_columns[::-1]
    numbers = isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "biuf"
    places = isinstance(indices, np.ndarray) and indices.ndim == 1 and indices.dtype in (np.int32, np.int64)
    if not numbers or not places or len(data) != len(indices):
        raise ModelFileError(f"its sparse matrix holds {brief(data)} at {brief(indices)}; they do not fit.")
    problem = offsets_problem(indptr, len(indices))
    if problem is None and (len(indptr) != major + 1 or indptr.dtype != indices.dtype):
        problem = f"it has {len(indptr) - 1} offsets of {indptr.dtype} for {major} rows or columns"
    if problem is None and len(indices) and not (int(indices.min()) >= 0 and int(indices.max()) < minor):
        problem = f"its indices go from {indices.min()} to {indices.max()}, beyond its shape"
    if problem is not None:
        raise ModelFileError(f"its sparse matrix is inconsistent: {problem}.")
    return getattr(scipy.sparse, format)((data, indices, indptr), shape=rows_columns)


# ------------------------------------------------------------------------------------------------------------- tables


def parts_of_table(table: Table) -> dict[str, Any]:
    """Names, kinds and cells of a typed table; one matrix where the columns are views of it."""
    whole = table.matrix is not None
    return {
        "names": table.names,
        "kinds": [c.kind for c in table.columns],
        "n_rows": table.n_rows,
        "matrix": table.matrix,
        "values": None if whole else [c.values for c in table.columns],
    }


def table_from(names: Any, kinds: Any, n_rows: Any, matrix: Any, values: Any) -> Table:
    """A typed table whose columns are of one length and whose codes lie among their levels."""
    lists = isinstance(names, list) and isinstance(kinds, list) and len(names) == len(kinds)
    if not lists or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        raise ModelFileError("its table needs a different name and a kind for each column.")
    if not all(isinstance(k, Kind) for k in kinds) or type(n_rows) is not int or n_rows < 0 or (n_rows and not names):
        raise ModelFileError(f"its table has columns without kinds, or {n_rows!r:.40} rows.")
    if matrix is None:
        if not isinstance(values, list) or len(values) != len(names):
            raise ModelFileError(f"its table has {len(names)} columns and {brief(values)} as their cells.")
        columns = [Column(n, k, _cells(n, k, v, n_rows)) for n, k, v in zip(names, kinds, values, strict=True)]
        return Table(columns, n_rows)
    numbers = isinstance(matrix, np.ndarray) and matrix.dtype in (np.float64, np.float32) and values is None
    if not numbers or matrix.shape != (n_rows, len(names)) or any(k.name != "numeric" for k in kinds):
        raise ModelFileError(f"its table of {n_rows} rows and {len(names)} columns holds {brief(matrix)}.")
    return numeric_table(matrix, names)


def _cells(name: str, kind: Kind, values: Any, n_rows: int) -> NDArray[Any]:
    if not isinstance(values, np.ndarray) or values.shape != (n_rows,):
        raise ModelFileError(f"column {name!r:.60} of its table has {brief(values)} for {n_rows} rows.")
    if kind.name == "numeric":
        if values.dtype not in (np.float64, np.float32):
            raise ModelFileError(f"the numeric column {name!r:.60} of its table holds {values.dtype}.")
        return values
    if values.dtype != np.int32 or (n_rows and not (values.min() >= UNSEEN and values.max() < len(kind.levels))):
        raise ModelFileError(f"column {name!r:.60} of its table holds codes that are no levels.")
    return values
