"""Two columns read together, row by row: what measures of relevance are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.steps import Bins
from tilth.data.table import Column
from tilth.data.weighted import mean_sd
from tilth.stats.hypothesis import Test, f_test

Floats = NDArray[np.float64]
Weight = Floats | None


@dataclass(frozen=True)
class Pair:
    """The rows of two columns in which neither is missing."""

    x: Column
    y: Column
    weight: Weight
    known: float

    @property
    def total(self) -> float:
        """Rows, by weight."""
        return float(len(self.x.values) if self.weight is None else self.weight.sum())


def pair_of(column: Column, target: Column, weight: Any) -> Pair:
    """The rows in which both are known, and their share of all."""
    if len(column.values) != len(target.values):
        raise ValueError(
            f"Relevance compares columns of equal length; {column.name!r} has {len(column.values)} rows and "
            f"{target.name!r} {len(target.values)}."
        )
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    keep = ~(column.missing | target.missing)
    if keep.all():
        return Pair(column, target, w, 1.0)
    known = float(keep.mean() if w is None else w[keep].sum() / (w.sum() or 1.0))
    return Pair(
        Column(column.name, column.kind, column.values[keep]),
        Column(target.name, target.kind, target.values[keep]),
        None if w is None else w[keep],
        known,
    )


def numbers_of(column: Column) -> Floats | None:
    """Numbers, or the ranks of ordinal levels; None for a nominal column, which has neither."""
    return None if column.kind.name == "nominal" else np.asarray(column.values, dtype=np.float64)


def levels_of(column: Column, n_bins: int, weight: Weight = None) -> tuple[NDArray[np.intp], str]:
    """Level codes 0, 1, ... of a column; numbers with more than ``n_bins`` values are cut into bins of equal counts."""
    values, how = column.values, ""
    if column.kind.name == "numeric":
        distinct, codes = np.unique(values, return_inverse=True)
        if len(distinct) <= n_bins:
            return codes.astype(np.intp), ""
        step = Bins(method="frequency", n_bins=n_bins)
        values = step.convert_column(column, step.learn_column(column, weight))[0].values
        how = f"cut into {n_bins} bins"
    return np.unique(values, return_inverse=True)[1].astype(np.intp), how


def counts_of(x: NDArray[np.intp], y: NDArray[np.intp], weight: Weight) -> Floats:
    """Contingency table without empty rows and columns."""
    if not len(x):
        return np.zeros((0, 0))
    k = int(y.max()) + 1
    table = np.bincount(x * k + y, weight, minlength=(int(x.max()) + 1) * k).reshape(-1, k).astype(np.float64)
    return table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]


@dataclass(frozen=True)
class OneWay:
    """Sums of squares of numbers (or of several columns of them) between and within groups."""

    between: float
    within: float
    groups: int
    total: float

    @property
    def share(self) -> float:
        """eta^2 = between / (between + within)."""
        whole = self.between + self.within
        return self.between / whole if whole > 0 else math.nan

    def test(self) -> Test:
        """Do the groups differ in their means?"""
        extra, left = self.groups - 1, self.total - self.groups
        if extra <= 0 or left <= 0 or self.between + self.within <= 0:
            return Test("F", math.nan, (extra, left), math.nan)
        with np.errstate(divide="ignore"):
            statistic = float(np.float64(self.between / extra) / np.float64(self.within / left))
        return f_test("F", statistic, extra, left)


def one_way(values: Floats, groups: NDArray[np.intp], weight: Weight) -> OneWay:
    """One-way analysis of variance; ``values`` [n] or [n, m], whose sums of squares add over the m columns."""
    values = values.reshape(len(values), -1)
    w = np.ones(len(values)) if weight is None else weight
    total = float(w.sum())
    if total <= 0:
        return OneWay(0.0, 0.0, 0, 0.0)
    middle = values - np.average(values, axis=0, weights=w)
    # What is left of a constant without its mean is rounding, and no variance.
    middle[:, np.abs(middle).max(axis=0) <= 1e-13 * np.abs(values).max(axis=0)] = 0.0
    held = np.bincount(groups, w)
    sums = np.stack([np.bincount(groups, w * column) for column in middle.T], axis=1)
    means = sums / np.where(held > 0, held, 1.0)[:, None]
    between = float((held[:, None] * means**2).sum())
    within = float((w[:, None] * (middle - means[groups]) ** 2).sum())
    return OneWay(between, within, int((held > 0).sum()), total)


def explained_share(column: Column, values: Floats, *, n_bins: int = 0, weight: Weight = None) -> float:
    """Share of the variance of ``values`` ([n] or [n, m]) that a column explains by itself, adjusted for its freedom.

    ``1 - (1 - R^2)(n - 1) / (n - 1 - df)``; of a numeric column R is the correlation (``n_bins=0``), else means of
    bins; of levels it is the means of the levels. A missing number counts as the mean, a missing level as a level.

    >>> from tilth.data.kinds import Kind
    >>> x = Column("x", Kind("numeric"), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> round(explained_share(x, np.array([2.0, 4.0, 6.0, 8.0])), 6)
    1.0
    """
    values = np.asarray(values, dtype=np.float64).reshape(len(column.values), -1)
    w = np.ones(len(values)) if weight is None else weight
    total = float(w.sum())
    number = numbers_of(column)
    if number is not None and not n_bins:
        gone = np.isnan(number) if column.kind.name == "numeric" else column.missing
        mean, sd = mean_sd(np.where(gone, np.nan, number), w)
        middle = values - np.average(values, axis=0, weights=w)
        whole = float((w[:, None] * middle**2).sum())
        if not sd > 0 or whole <= 0:
            return 0.0
        along = np.where(gone, 0.0, number - mean)
        share = float(((w * along) @ middle @ ((w * along) @ middle)) / (w * along @ along)) / whole
        freedom = 1
    else:
        codes, _ = levels_of(column, n_bins or 10, weight)
        analysis = one_way(values, codes, weight)
        share, freedom = analysis.share, analysis.groups - 1
    left = total - 1 - freedom
    return 1 - (1 - share) * (total - 1) / left if left > 0 and share == share else 0.0
