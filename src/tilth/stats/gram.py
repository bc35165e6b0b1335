"""Centred cross products of all columns: covariance, correlation, least squares, principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilth.params import stored
from tilth.stats.inputs import FloatArray, as_groups, as_matrix, as_memberships, as_size, as_weight, column_list
from tilth.stats.statistic import Statistic, require_mergeable

# Rows centred at once: bounds the copy of a large table, and depends on nothing but the table.
_BLOCK_ROWS = 32_768


@stored
@dataclass(slots=True, eq=False, repr=False)
class Gram(Statistic):
    """Weight, column means and centred cross products of rows without missing values.

    ::

        weight = sum w_i     mean = sum w_i x_i / weight     cross = sum w_i (x_i - mean)(x_i - mean)'

    Parts merge as in `Moments` (Chan, Golub and LeVeque, 1983), with an outer product for the square.
    The products are the BLAS library's: for hundreds of columns their last bits may depend on its threads.

    Examples
    --------
    >>> gram = Gram.empty(2)
    >>> gram.update([[0.0, 1.0], [2.0, 5.0]])
    >>> gram.covariance()
    array([[1., 2.],
           [2., 4.]])
    >>> gram.correlation()
    array([[1., 1.],
           [1., 1.]])
    """

    weight: float
    mean: FloatArray
    cross: FloatArray

    @classmethod
    def empty(cls, n_columns: int) -> Self:
        """Return the cross products of no rows."""
        p = as_size(n_columns, 0, "n_columns")
        return cls(weight=0.0, mean=np.zeros(p), cross=np.zeros((p, p)))

    def update(self, X: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> None:
        """Add rows and their weights; every value must be finite. Rows of a sparse matrix are made dense in blocks."""
        sparse = hasattr(X, "toarray")
        matrix: Any = X if sparse else as_matrix(X, self.mean.size, "Gram")
        weights = as_weight(weight, matrix.shape[0], "Gram")
        added = type(self).empty(self.mean.size)
        # What is not finite is found in the result and reported there, by column.
        with np.errstate(invalid="ignore", over="ignore"):
            for start in range(0, matrix.shape[0], _BLOCK_ROWS):
                rows = slice(start, start + _BLOCK_ROWS)
                block = as_matrix(matrix[rows].toarray(), self.mean.size, "Gram") if sparse else matrix[rows]
                added._merge(*_block(block, None if weights is None else weights[rows]))
        unusable = ~(np.isfinite(added.mean) & np.isfinite(np.diagonal(added.cross)))
        if unusable.any():
            raise ValueError(
                f"Gram needs finite numbers below about 1e150, but columns {column_list(unusable)} hold "
                "missing, infinite or larger ones. Impute them, or drop those rows."
            )
        self += added

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "mean")
        self._merge(other.weight, other.mean, other.cross)
        return self

    def _merge(self, weight: float, mean: FloatArray, cross: FloatArray) -> None:
        total = self.weight + weight
        if total == 0:
            return
        share = weight / total
        delta = mean - self.mean
        self.cross += cross + np.outer(delta * (self.weight * share), delta)
        self.mean += delta * share
        self.weight = total

    def covariance(self, ddof: float = 0) -> FloatArray:
        """Return ``cross / (weight - ddof)``: `ddof` 0 for 1/n, 1 for 1/(n-1); NaN if rows are too few."""
        freedom = self.weight - ddof
        return self.cross / freedom if freedom > 0 else np.full_like(self.cross, np.nan)

    def correlation(self) -> FloatArray:
        """Return ``r_ij = cross_ij / sqrt(cross_ii cross_jj)``; NaN for a column that does not vary."""
        root = np.sqrt(np.diagonal(self.cross))
        varies = root > 0
        unit = np.divide(1.0, root, out=np.full_like(root, np.nan), where=varies)
        r = np.clip(self.cross * unit[:, None] * unit[None, :], -1.0, 1.0)
        r[varies, varies] = 1.0
        return r

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.mean.ndim == 1 and self.cross.shape == (self.mean.size, self.mean.size)
        return "" if good else "mean and cross differ in shape"


@stored
@dataclass(slots=True, eq=False, repr=False)
class Grams(Statistic):
    """Cross products within each group of rows: one `Gram` per group.

    Examples
    --------
    >>> grams = Grams.empty(n_groups=2, n_columns=1)
    >>> grams.update([[0.0], [2.0], [9.0]], y=[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> grams.mean.ravel()
    array([1., 9.])
    """

    groups: list[Gram]

    @classmethod
    def empty(cls, n_groups: int, n_columns: int) -> Self:
        """Return the cross products of no rows."""
        return cls([Gram.empty(n_columns) for _ in range(as_size(n_groups, 1, "n_groups"))])

    @property
    def weight(self) -> FloatArray:
        """Weight of each group."""
        return np.array([gram.weight for gram in self.groups])

    @property
    def mean(self) -> FloatArray:
        """Means, groups x columns."""
        return np.stack([gram.mean for gram in self.groups])

    @property
    def cross(self) -> FloatArray:
        """Centred cross products, groups x columns x columns."""
        return np.stack([gram.cross for gram in self.groups])

    def update(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add rows, their groups (-1 skips a row, rows x groups are shares) and their weights."""
        matrix, k = as_matrix(X, self.groups[0].mean.size, "Grams"), len(self.groups)
        weights = as_weight(weight, len(matrix), "Grams")
        if y is not None and np.ndim(y) == 2:
            shares = as_memberships(y, len(matrix), k, "Grams")
            shares = shares if weights is None else shares * weights[:, None]
            added = [_gram(matrix, share) for share in shares.T]
        else:
            codes = as_groups(y, len(matrix), k, "Grams")
            kept = (np.flatnonzero(codes == group) for group in range(k))
            added = [_gram(matrix[rows], None if weights is None else weights[rows]) for rows in kept]
        for gram, part in zip(self.groups, added, strict=True):
            gram += part

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight", "mean")
        for gram, part in zip(self.groups, other.groups, strict=True):
            gram += part
        return self

    def total(self) -> Gram:
        """Return the cross products of all groups taken as one."""
        whole = Gram.empty(self.groups[0].mean.size)
        for gram in self.groups:
            whole += gram
        return whole


def _gram(matrix: npt.NDArray[np.floating], weight: FloatArray | None) -> Gram:
    gram = Gram.empty(matrix.shape[1])
    gram.update(matrix, weight)
    return gram


def _block(X: npt.NDArray[np.floating], weight: FloatArray | None) -> tuple[float, FloatArray, FloatArray]:
    """Return weight, mean and cross products of a block of rows."""
    total = float(X.shape[0]) if weight is None else float(weight.sum())
    if total == 0:
        return 0.0, np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    if weight is None:
        mean = X.mean(axis=0, dtype=np.float64)
        centred = X - mean
    else:
        mean = (weight / total) @ X.astype(np.float64, copy=False)
        centred = (X - mean) * np.sqrt(weight)[:, None]
    return total, mean, centred.T @ centred
