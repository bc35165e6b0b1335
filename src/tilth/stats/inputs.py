"""Checks of the arrays given to a statistic, made before anything is changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tilth.words import listed

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]


def as_column(values: npt.ArrayLike, who: str) -> FloatArray:
    """Return `values` as one column of float64."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"{who} takes one column at a time (1-d), but was given a {column.ndim}-d array.")
    return column


def as_matrix(X: npt.ArrayLike, n_columns: int, who: str) -> npt.NDArray[np.floating]:
    """Return `X` as a float matrix with `n_columns` columns; float32 and float64 are not copied."""
    matrix = np.asarray(X)
    if matrix.dtype not in (np.float64, np.float32):
        matrix = matrix.astype(np.float64)
    _check_matrix(matrix, n_columns, who)
    return matrix


def as_codes(codes: npt.ArrayLike, n_columns: int, who: str) -> CodeArray:
    """Return `codes` as an int32 matrix with `n_columns` columns."""
    matrix = _integers(codes, f"{who} needs integer codes (-1 for missing)")
    _check_matrix(matrix, n_columns, who)
    if not np.can_cast(matrix.dtype, np.int32) and matrix.size:
        low, high = matrix.min(), matrix.max()
        if low < -1 or high > np.iinfo(np.int32).max:
            raise ValueError(f"{who} needs codes from -1 (missing) upwards in 32 bits, but found {low} to {high}.")
    return matrix.astype(np.int32, copy=False)


def as_groups(y: npt.ArrayLike | None, n_rows: int, n_groups: int, who: str) -> CodeArray:
    """Return the group of each row as int32 codes in -1..n_groups-1; no `y` means the one and only group."""
    if y is None:
        if n_groups != 1:
            raise ValueError(f"{who} keeps {n_groups} groups and needs y, the group of each row; y is None.")
        return np.zeros(n_rows, dtype=np.int32)
    groups = _integers(y, f"{who} needs integer group codes in y")
    if groups.shape != (n_rows,):
        raise ValueError(f"{who} needs one group per row: {n_rows} rows, but y has shape {groups.shape}.")
    if groups.size and (groups.min() < -1 or groups.max() >= n_groups):
        row = int(np.flatnonzero((groups < -1) | (groups >= n_groups))[0])
        raise ValueError(
            f"{who} has groups 0 to {n_groups - 1} (-1 skips a row), but row {row} has group "
            f"{groups[row]}. Encode y with the known levels, or grow the statistic first."
        )
    return groups.astype(np.int32, copy=False)


def as_weight(weight: npt.ArrayLike | None, n_rows: int, who: str) -> FloatArray | None:
    """Return the weights as float64, checked to be finite and not negative."""
    if weight is None:
        return None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"{who} needs one weight per row: {n_rows} rows, but weight has shape {weights.shape}.")
    usable = np.isfinite(weights) & (weights >= 0)
    if not usable.all():
        row = int(np.flatnonzero(~usable)[0])
        raise ValueError(f"{who} needs finite weights of 0 or more, but row {row} has weight {weights[row]}.")
    return weights


def as_shares(q: npt.ArrayLike, who: str) -> FloatArray:
    """Return `q` as float64 shares between 0 and 1."""
    shares = np.asarray(q, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"{who} needs shares q between 0 and 1, but found {shares.tolist()}.")
    return shares


def as_memberships(y: npt.ArrayLike, n_rows: int, n_groups: int, who: str) -> FloatArray:
    """Return how much of each row belongs to each group, rows x groups, checked to be finite and not negative."""
    shares = np.asarray(y, dtype=np.float64)
    if shares.shape != (n_rows, n_groups):
        raise ValueError(
            f"{who} needs a share of every row for each group, {n_rows} x {n_groups}; the shares have shape "
            f"{' x '.join(map(str, shares.shape))}."
        )
    usable = np.isfinite(shares) & (shares >= 0)
    if not usable.all():
        row, group = (int(place[0]) for place in np.nonzero(~usable))
        raise ValueError(
            f"{who} needs finite shares of 0 or more, but row {row} has {shares[row, group]} of group {group}."
        )
    return shares


Kernel = Callable[[CodeArray, int, FloatArray | None], tuple[FloatArray, ...]]


def by_group(
    kernel: Kernel, y: npt.ArrayLike | None, weight: npt.ArrayLike | None, n_rows: int, n_groups: int, who: str
) -> tuple[FloatArray, ...]:
    """Return the arrays, one row per group, of ``kernel(groups, n_groups, weight)``.

    `y` is a code per row, or rows x groups: the share of each row in each group, such as the responsibilities of a
    mixture. Shares are weights, so the kernel then runs once per group with all rows in it.
    """
    weights = as_weight(weight, n_rows, who)
    if y is None or np.ndim(y) != 2:
        return kernel(as_groups(y, n_rows, n_groups, who), n_groups, weights)
    shares = as_memberships(y, n_rows, n_groups, who)
    whole = np.zeros(n_rows, dtype=np.int32)
    columns = np.ascontiguousarray(shares.T if weights is None else shares.T * weights)
    return tuple(np.concatenate(parts) for parts in zip(*(kernel(whole, 1, w) for w in columns), strict=True))


def group_weight(groups: CodeArray, n_groups: int, weight: FloatArray | None) -> FloatArray:
    """Return the weight of each group; rows of no group (-1) count nowhere."""
    return np.bincount(groups + 1, weight, minlength=n_groups + 1)[1:].astype(np.float64)


def as_size(value: int, low: int, what: str) -> int:
    """Return a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what} must be a whole number, but is {value!r}.")
    if value < low:
        raise ValueError(f"{what} must be {low} or more, but is {value}.")
    return int(value)


def column_list(flags: npt.NDArray[np.bool_]) -> str:
    """Name the columns whose flag is set, at most five of them."""
    return listed(np.flatnonzero(flags), 5)


def _integers(values: npt.ArrayLike, need: str) -> npt.NDArray[np.integer]:
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list has no type of its own
        array = array.astype(np.int32)
    if array.dtype.kind == "b":
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{need}, but was given {array.dtype}. Encode the values first.")
    return array


def _check_matrix(matrix: npt.NDArray[np.number], n_columns: int, who: str) -> None:
    if matrix.ndim != 2:
        raise ValueError(f"{who} needs a table of rows and columns (2-d), but was given {matrix.ndim}-d.")
    if matrix.shape[1] != n_columns:
        raise ValueError(f"{who} was made for {n_columns} columns, but was given {matrix.shape[1]}.")


def are_offsets(values: IndexArray, last: int) -> bool:
    """Whether places start at 0, never fall and end at ``last``."""
    flat = values.ndim == 1 and values.size > 0
    return bool(flat and values[0] == 0 and values[-1] == last and (np.diff(values) >= 0).all())
