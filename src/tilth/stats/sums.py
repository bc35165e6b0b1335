"""Weighted sums of columns by group, from dense or sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilth import _core
from tilth.params import stored
from tilth.stats.inputs import CodeArray, FloatArray, as_size, by_group, group_weight
from tilth.stats.statistic import Statistic, require_mergeable


@stored
@dataclass(slots=True, eq=False, repr=False)
class Sums(Statistic):
    """Weight of each group [k] and the weighted sum of each column within it [k, p]: all that counts need.

    With ``binarize`` a cell counts 1 where it exceeds that number, else 0.

    Examples
    --------
    >>> words = Sums.empty(n_groups=2, n_columns=2)
    >>> words.update(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 4.0]]), y=[0, 0, 1])
    >>> words.sums
    array([[3., 1.],
           [0., 4.]])
    """

    weight: FloatArray
    sums: FloatArray
    binarize: float | None = None

    @classmethod
    def empty(cls, n_groups: int, n_columns: int, binarize: float | None = None) -> Self:
        """Return the sums of no rows."""
        k = as_size(n_groups, 1, "n_groups")
        return cls(np.zeros(k), np.zeros((k, as_size(n_columns, 0, "n_columns"))), binarize)

    @property
    def mean(self) -> FloatArray:
        """Means, groups x columns; those of all groups for a group without rows."""
        whole = self.sums.sum(axis=0) / max(self.weight.sum(), np.finfo(float).tiny)
        weight = self.weight[:, None]
        return np.divide(self.sums, weight, out=np.tile(whole, (len(weight), 1)), where=weight > 0)

    def update(self, rows: Any, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add rows of a matrix or a sparse matrix, their groups (rows x groups are shares) and their weights."""
        p = self.sums.shape[1]

        def kernel(groups: CodeArray, k: int, weights: FloatArray | None) -> tuple[FloatArray, ...]:
            if isinstance(rows, np.ndarray):
                share = (groups[:, None] == np.arange(k)) * (1.0 if weights is None else weights[:, None])
                sums = share.T @ (rows if self.binarize is None else (rows > self.binarize).astype(np.float64))
            else:
                data = sparse_data(rows)
                sums = _core.csr_class_sums(rows.indptr, rows.indices, data, groups, k, p, weights, self.binarize)
            return group_weight(groups, k, weights), sums

        total, sums = by_group(kernel, y, weight, rows.shape[0], len(self.weight), "Sums")
        self.weight += total
        self.sums += sums

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight", "sums")
        self.weight += other.weight
        self.sums += other.sums
        return self

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.weight.ndim == 1 and self.weight.size and self.sums.ndim == 2 and len(self.sums) == len(self.weight)
        return "" if good else "weight and sums differ in shape"


def sparse_data(matrix: Any) -> npt.NDArray[Any]:
    """Return the stored values in a type the kernels take."""
    data: npt.NDArray[Any] = matrix.data
    return data if data.dtype in (np.float64, np.float32, np.int64) else data.astype(np.float64)
