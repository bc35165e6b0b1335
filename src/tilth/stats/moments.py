"""Weight, mean and spread of each column in each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from tilth import _core
from tilth.params import stored
from tilth.stats.inputs import FloatArray, as_matrix, as_size, by_group, column_list
from tilth.stats.statistic import Statistic, require_mergeable


@stored
@dataclass(slots=True, eq=False, repr=False)
class Moments(Statistic):
    """First two moments of each column in each group; missing values (NaN) are skipped cell by cell.

    For a group and a column, over the rows that have a value::

        weight = sum w_i      mean = sum w_i x_i / weight      m2 = sum w_i (x_i - mean)^2

    Two parts a and b merge without losing digits (Chan, Golub and LeVeque, 1983, "Algorithms for computing
    the sample variance")::

        delta = mean_b - mean_a
        mean  = mean_a + delta * weight_b / weight
        m2    = m2_a + m2_b + delta^2 * weight_a * weight_b / weight

    A group without values in a column has weight 0 and mean 0.

    Examples
    --------
    >>> moments = Moments.empty(n_groups=2, n_columns=1)
    >>> moments.update([[1.0], [3.0], [10.0]], y=[0, 0, 1])
    >>> moments.mean
    array([[ 2.],
           [10.]])
    >>> moments.variance(ddof=0)
    array([[1.],
           [0.]])
    """

    weight: FloatArray
    mean: FloatArray
    m2: FloatArray

    @classmethod
    def empty(cls, n_groups: int, n_columns: int) -> Self:
        """Return the moments of no rows."""
        shape = (as_size(n_groups, 1, "n_groups"), as_size(n_columns, 0, "n_columns"))
        return cls(weight=np.zeros(shape), mean=np.zeros(shape), m2=np.zeros(shape))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.weight.shape[0])

    def update(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add rows, their groups (-1 skips a row, rows x groups are shares) and their weights."""
        matrix = as_matrix(X, self.weight.shape[1], "Moments")
        added = by_group(partial(_core.class_moments, matrix), y, weight, len(matrix), self.n_groups, "Moments")
        # Looking at the few results is enough: an infinite cell always leaves its mark on the mean or m2.
        unusable = np.asarray(~(np.isfinite(added[1]) & np.isfinite(added[2])).all(axis=0))
        if unusable.any():
            raise ValueError(
                f"Moments needs numbers below about 1e150, but columns {column_list(unusable)} hold "
                "infinite or larger ones. Replace them, or mark them as missing (NaN)."
            )
        self._merge(added[0], added[1], added[2])

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight")
        self._merge(other.weight, other.mean, other.m2)
        return self

    def _merge(self, weight: FloatArray, mean: FloatArray, m2: FloatArray) -> None:
        total = self.weight + weight
        share = np.divide(weight, total, out=np.zeros_like(total), where=total > 0)
        delta = mean - self.mean
        self.m2 += m2 + delta * (self.weight * share) * delta
        self.mean += delta * share
        self.weight = total

    def variance(self, ddof: float = 0) -> FloatArray:
        """Return ``m2 / (weight - ddof)``; NaN where the weight is not above `ddof`.

        `ddof` is 0 for the variance of the rows themselves (1/n) and 1 for the unbiased estimate (1/(n-1)).
        """
        freedom = self.weight - ddof
        return np.divide(self.m2, freedom, out=np.full_like(self.m2, np.nan), where=freedom > 0)

    def total(self) -> Self:
        """Return the moments of all groups taken as one."""
        weight = self.weight.sum(axis=0, keepdims=True)
        share = np.divide(self.weight, weight, out=np.zeros_like(self.weight), where=weight > 0)
        mean = (share * self.mean).sum(axis=0, keepdims=True)
        between = self.weight * (self.mean - mean) ** 2
        return type(self)(weight=weight, mean=mean, m2=(self.m2 + between).sum(axis=0, keepdims=True))

    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (1/n) by group; a group without values in a column takes those of all groups."""
        whole, empty = self.total(), self.weight <= 0
        return np.where(empty, whole.mean, self.mean), np.where(empty, whole.variance(), self.variance())

    def grow(self, n_groups: int) -> Self:
        """Return a copy with room for more groups; known ones keep their codes."""
        if n_groups < self.n_groups:
            raise ValueError(f"Moments.grow only adds: it cannot go from {self.n_groups} groups to {n_groups}.")
        bigger = type(self).empty(n_groups, self.weight.shape[1])
        for name in ("weight", "mean", "m2"):
            getattr(bigger, name)[: self.n_groups] = getattr(self, name)
        return bigger

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        good = self.weight.ndim == 2 and self.weight.shape == self.mean.shape == self.m2.shape and len(self.weight)
        return "" if good else "weight, mean and m2 differ in shape"
