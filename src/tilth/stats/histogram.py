"""Counts between fixed edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tilth.params import stored
from tilth.stats.inputs import FloatArray, as_column, as_groups, as_shares, as_size, as_weight
from tilth.stats.statistic import Statistic, require_mergeable


@stored
@dataclass(slots=True, eq=False, repr=False)
class Histogram(Statistic):
    """Weights of one numeric column between fixed edges, by class.

    Bin `i` holds ``edges[i] <= x < edges[i + 1]``; the last bin also holds its upper edge. What lies outside
    the edges, and what is missing, is counted apart.

    Examples
    --------
    >>> histogram = Histogram.empty([0.0, 1.0, 2.0])
    >>> histogram.update([0.5, 1.0, 2.0, 7.0, float("nan")])
    >>> histogram.counts, histogram.above, histogram.missing
    (array([[1., 2.]]), array([1.]), array([1.]))
    """

    edges: FloatArray
    counts: FloatArray
    below: FloatArray
    above: FloatArray
    missing: FloatArray

    @classmethod
    def empty(cls, edges: npt.ArrayLike, n_classes: int = 1) -> Self:
        """Return a histogram of no values, with its own copy of the edges."""
        own = np.array(edges, dtype=np.float64)
        if own.ndim != 1 or own.size < 2 or not np.isfinite(own).all() or not (np.diff(own) > 0).all():
            raise ValueError(f"Histogram needs two or more finite, rising edges, but was given {own.tolist()}.")
        k = as_size(n_classes, 1, "n_classes")
        return cls(
            edges=own,
            counts=np.zeros((k, own.size - 1)),
            below=np.zeros(k),
            above=np.zeros(k),
            missing=np.zeros(k),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[0])

    def update(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None, weight: npt.ArrayLike | None = None) -> None:
        """Add the values `x`, their classes (-1 skips a row) and their weights."""
        column = as_column(x, "Histogram")
        groups = as_groups(y, column.size, self.n_classes, "Histogram")
        weights = as_weight(weight, column.size, "Histogram")
        k, n_bins = self.counts.shape
        # Slots of a class: below, the bins, above, missing.
        slot = np.searchsorted(self.edges, column, side="right")
        slot[column == self.edges[-1]] = n_bins
        slot[np.isnan(column)] = n_bins + 2
        kept = groups >= 0
        width = n_bins + 3
        cells = np.bincount(
            groups[kept] * width + slot[kept],
            weights=None if weights is None else weights[kept],
            minlength=k * width,
        ).reshape(k, width)
        self.below += cells[:, 0]
        self.counts += cells[:, 1 : n_bins + 1]
        self.above += cells[:, n_bins + 1]
        self.missing += cells[:, n_bins + 2]

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "edges", "counts")
        if not np.array_equal(self.edges, other.edges):
            raise ValueError("Histogram merges with histograms of the same edges only, but the edges differ.")
        for name in ("counts", "below", "above", "missing"):
            getattr(self, name).__iadd__(getattr(other, name))
        return self

    def quantile(self, q: npt.ArrayLike, group: int | None = None) -> FloatArray:
        """Return the values below which a share `q` of the weight lies, of one class or of all.

        Weight is taken to be spread evenly within a bin; what lies outside the edges is taken to lie on the
        nearest edge, and what is missing is left out. NaN if there is no weight.
        """
        shares = as_shares(q, "Histogram.quantile")
        chosen = slice(None) if group is None else slice(group, group + 1)
        below, above = self.below[chosen].sum(), self.above[chosen].sum()
        weights = np.concatenate([[below], self.counts[chosen].sum(axis=0), [above]])
        left = np.concatenate([self.edges[:1], self.edges[:-1], self.edges[-1:]])
        right = np.concatenate([self.edges[:1], self.edges[1:], self.edges[-1:]])
        reached = np.cumsum(weights)
        if reached[-1] == 0:
            return np.full(shares.shape, np.nan)
        # Empty slots are no knots: no quantile lies inside a gap, and q = 1 ends at the last bin in use.
        full = weights > 0
        knots = np.stack([reached[full] - weights[full], reached[full]], axis=1).ravel()
        places = np.stack([left[full], right[full]], axis=1).ravel()
        return np.asarray(np.interp(shares * reached[-1], knots, places))

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        if self.edges.ndim != 1 or self.edges.size < 2 or not (np.diff(self.edges) > 0).all():
            return "the edges do not rise"
        k = self.below.size
        good = k and self.below.shape == self.above.shape == self.missing.shape == (k,)
        good = good and self.counts.shape == (k, self.edges.size - 1)
        return "" if good else "edges and counts differ in shape"
