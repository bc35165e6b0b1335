"""Class sums of counts: the statistic of the text forms of naive Bayes, on dense tables and sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.params import stored
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]


@stored
@dataclass(slots=True, eq=False, repr=False)
class ClassSums(Statistic):
    """Weight of each class [k] and the weighted sum of each column within it [k, p].

    With ``binarize`` a cell counts 1 where it exceeds that number, else 0.
    """

    weight: Floats
    sums: Floats
    binarize: float | None = None

    @classmethod
    def empty(cls, n_classes: int, n_columns: int, binarize: float | None = None) -> Self:
        """Nothing seen yet."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, n_columns)), binarize)

    def update(self, rows: Any, y: NDArray[np.int32], weight: Floats | None = None) -> None:
        """Add rows of a typed table or a sparse matrix with their class codes."""
        k, p = self.sums.shape
        self.weight += np.bincount(y, weight, minlength=k)
        if isinstance(rows, Table):
            numbers = rows.numbers()
            if self.binarize is not None:
                numbers = (numbers > self.binarize).astype(np.float64)
            member = np.zeros((len(y), k))
            member[np.arange(len(y)), y] = 1.0 if weight is None else weight
            self.sums += member.T @ numbers
        else:
            self.sums += _core.csr_class_sums(
                rows.indptr, rows.indices, sparse_data(rows), y, k, p, weight, self.binarize
            )

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight", "sums")
        self.weight += other.weight
        self.sums += other.sums
        return self

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        k = self.weight.size
        good = self.weight.ndim == 1 and k and self.sums.ndim == 2 and len(self.sums) == k
        return "" if good else "weight and sums differ in shape"


def linear_scores(rows: Any, coef: Floats, binarize: float | None = None) -> Floats:
    """rows @ coef for a typed table or a sparse matrix; ``coef`` is [p, k]."""
    if isinstance(rows, Table):
        numbers = rows.numbers()
        return (numbers if binarize is None else (numbers > binarize).astype(np.float64)) @ coef
    return _core.csr_scores(rows.indptr, rows.indices, sparse_data(rows), coef, binarize)


def sparse_data(matrix: Any) -> NDArray[Any]:
    """The stored values in a type the kernels take."""
    data: NDArray[Any] = matrix.data
    return data if data.dtype in (np.float64, np.float32, np.int64) else data.astype(np.float64)
