"""Weighted counts: of levels by class, and of the distinct values of a number by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tilth import _core
from tilth.params import stored
from tilth.stats.inputs import (
    CodeArray,
    FloatArray,
    IndexArray,
    are_offsets,
    as_codes,
    as_column,
    as_groups,
    as_size,
    as_weight,
    by_group,
)
from tilth.stats.statistic import Statistic, require_mergeable


@stored
@dataclass(slots=True, eq=False, repr=False)
class Counts(Statistic):
    """Weight of each level in each class, for several nominal or ordinal columns at once.

    ``table[c, offsets[j] + v]`` is the sum of the weights of the rows of class `c` whose column `j` has code
    `v`. Missing codes (-1) and rows of no class (y = -1) are not counted.

    Examples
    --------
    >>> counts = Counts.empty(n_classes=2, sizes=[3])
    >>> counts.update([[0], [2], [2], [-1]], y=[0, 1, 1, 1])
    >>> counts.column(0)
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """

    table: FloatArray
    offsets: IndexArray

    @classmethod
    def empty(cls, n_classes: int, sizes: Sequence[int] | IndexArray) -> Self:
        """Return counts of zero for `n_classes` classes and ``sizes[j]`` levels in column `j`."""
        n_classes = as_size(n_classes, 1, "n_classes")
        checked = [as_size(size, 0, f"the number of levels of column {j}") for j, size in enumerate(sizes)]
        offsets = np.concatenate([[0], np.cumsum(checked)]).astype(np.int64)
        return cls(table=np.zeros((n_classes, int(offsets[-1]))), offsets=offsets)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.table.shape[0])

    @property
    def sizes(self) -> IndexArray:
        """Number of levels of each column."""
        return np.diff(self.offsets)

    def column(self, j: int) -> FloatArray:
        """Return the class x level table of column `j`, as a view."""
        return self.table[:, self.offsets[j] : self.offsets[j + 1]]

    def update(self, codes: npt.ArrayLike, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add rows of level codes (rows x columns), their classes (rows x classes are shares) and their weights."""
        matrix = as_codes(codes, self.offsets.size - 1, "Counts")

        def kernel(groups: CodeArray, k: int, weights: FloatArray | None) -> tuple[FloatArray, ...]:
            return (_core.class_counts(matrix, groups, k, self.offsets, weights),)

        self.table += by_group(kernel, y, weight, len(matrix), self.n_classes, "Counts")[0]

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "table", "offsets")
        if not np.array_equal(self.offsets, other.offsets):
            raise ValueError(
                f"Counts merges with counts of the same levels only: columns have {self.sizes.tolist()} "
                f"levels here and {other.sizes.tolist()} in the other. Use grow(...) to make room."
            )
        self.table += other.table
        return self

    def grow(self, n_classes: int, sizes: Sequence[int] | IndexArray) -> Self:
        """Return a copy with room for more classes and levels; known ones keep their codes."""
        bigger = type(self).empty(n_classes, sizes)
        if bigger.offsets.size != self.offsets.size:
            raise ValueError(
                f"Counts.grow keeps the columns: {self.offsets.size - 1} here, {len(sizes)} sizes were given."
            )
        if bigger.n_classes < self.n_classes or (bigger.sizes < self.sizes).any():
            raise ValueError(
                f"Counts.grow only adds: from {self.n_classes} classes and levels {self.sizes.tolist()} "
                f"it cannot go to {n_classes} classes and levels {list(map(int, sizes))}."
            )
        known = np.arange(self.table.shape[1])
        shift = np.repeat(bigger.offsets[:-1] - self.offsets[:-1], self.sizes)
        bigger.table[: self.n_classes, known + shift] = self.table
        return bigger

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.table.ndim == 2 and self.table.shape[0] and are_offsets(self.offsets, self.table.shape[1])
        return "" if good else "the offsets do not fit the table"


@stored
@dataclass(slots=True, eq=False, repr=False)
class ValueCounts(Statistic):
    """Every distinct value of one numeric column, in order, with its weight in each class.

    ``counts[i, c]`` is the sum of the weights of the rows of class `c` whose value is ``values[i]``. It is
    exact and its size is the number of distinct values; for a bounded size see `QuantileSketch`.

    Examples
    --------
    >>> seen = ValueCounts.empty(n_classes=2)
    >>> seen.update([3.0, 1.0, 3.0, float("nan")], y=[0, 1, 1, 0])
    >>> seen.values
    array([1., 3.])
    >>> seen.counts
    array([[0., 1.],
           [1., 1.]])
    """

    values: FloatArray
    counts: FloatArray

    @classmethod
    def empty(cls, n_classes: int = 1) -> Self:
        """Return counts of no values."""
        return cls(values=np.empty(0), counts=np.empty((0, as_size(n_classes, 1, "n_classes"))))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    def update(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add the values `x`, their classes and weights; missing values are skipped."""
        column = as_column(x, "ValueCounts")
        k = self.n_classes
        groups = as_groups(y, column.size, k, "ValueCounts")
        weights = as_weight(weight, column.size, "ValueCounts")
        kept = ~np.isnan(column) & (groups >= 0)
        if weights is not None:
            kept &= weights > 0  # a row of weight 0 is a row that is not there: its value is not seen
            weights = weights[kept]
        # Adding 0.0 turns -0.0 into 0.0, so that the stored zero does not depend on the order of the rows.
        values, position = np.unique(column[kept] + 0.0, return_inverse=True)
        cells = np.bincount(position * k + groups[kept], weights=weights, minlength=values.size * k)
        self._merge(values, cells.reshape(values.size, k).astype(np.float64, copy=False))

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other)
        if self.n_classes != other.n_classes:
            raise ValueError(
                f"ValueCounts merges counts of the same classes only: {self.n_classes} classes here and "
                f"{other.n_classes} in the other."
            )
        self._merge(other.values, other.counts)
        return self

    def _merge(self, values: FloatArray, counts: FloatArray) -> None:
        # Two sorted runs: a stable sort merges them in linear time.
        union = np.sort(np.concatenate([self.values, values]), kind="stable")
        first = np.ones(union.size, dtype=bool)
        first[1:] = union[1:] != union[:-1]
        union = union[first]
        merged = np.zeros((union.size, self.n_classes))
        merged[np.searchsorted(union, self.values)] += self.counts
        merged[np.searchsorted(union, values)] += counts
        self.values, self.counts = union, merged

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        k = self.counts.ndim == 2 and self.counts.shape[1]
        good = k and self.values.ndim == 1 and len(self.counts) == len(self.values) and (np.diff(self.values) > 0).all()
        return "" if good else "values and counts do not fit"
