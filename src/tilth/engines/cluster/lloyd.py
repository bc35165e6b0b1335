"""Lloyd's walk: assign every row to its nearest centre, move every centre to the mean of its rows, until nothing moves.

A pass over the rows is a statistic (:class:`ClusterSums`), so the same walk serves all rows at once and chunks.
Distances never exist as a matrix of all rows: a compiled pass keeps the smallest of each row, and blocks of sparse rows
meet all centres through one product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Sparse rows of a block: their distances to some ten centres stay in the cache.
BLOCK = 1 << 12
#: Different rows that first centres are drawn from.
POOL = 4096


def nearest(X: Any, centres: Floats) -> tuple[Ints, Floats]:
    """The nearest centre of every row (the first of equally near ones) and the squared distance to it."""
    if not hasattr(X, "multiply"):
        return _core.nearest_centres(X, centres)
    # |x - c|^2 = |x|^2 - 2 x.c + |c|^2, of which |x|^2 does not choose.
    labels, distance = np.empty(X.shape[0], dtype=np.int32), np.empty(X.shape[0])
    lengths = np.einsum("ij,ij->i", centres, centres)
    for rows in (slice(i, i + BLOCK) for i in range(0, X.shape[0], BLOCK)):
        part = X[rows]
        apart = lengths - 2.0 * np.asarray(part @ centres.T)
        labels[rows] = apart.argmin(axis=1)
        squares = np.asarray(part.multiply(part).sum(axis=1)).ravel()
        distance[rows] = np.maximum(squares + apart.min(axis=1), 0.0)
    return labels, distance


@dataclass(slots=True, eq=False, repr=False)
class ClusterSums(Statistic):
    """Of every cluster its weight and the sum of its rows, and the inertia: weighted squared distances to centres."""

    centres: Floats
    weight: Floats
    sums: Floats
    inertia: float = 0.0
    #: The row furthest from its centre, to start a cluster anew that has lost all rows.
    far: float = -1.0
    furthest: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def empty(cls, centres: Floats) -> Self:
        """No rows, around these centres."""
        return cls(centres, np.zeros(len(centres)), np.zeros_like(centres))

    def update(self, X: Any, weight: Floats | None = None) -> None:
        """Add rows to their nearest clusters."""
        labels, distance = nearest(X, self.centres)
        k, n = self.centres.shape[0], len(labels)
        self.weight += np.bincount(labels, weight, minlength=k)
        if hasattr(X, "multiply"):
            from scipy.sparse import csr_array

            mass = np.ones(n) if weight is None else weight
            self.sums += (csr_array((mass, (labels, np.arange(n))), shape=(k, n)) @ X).toarray()
        else:
            total, mean, _ = _core.class_moments(X, labels, k, weight)
            self.sums += total * mean
        self.inertia += float(distance.sum() if weight is None else distance @ weight)
        at = int(distance.argmax())
        if distance[at] > self.far:
            row = X[[at]]
            self.far, self.furthest = (
                float(distance[at]),
                np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0],
            )

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "centres")
        self.weight += other.weight
        self.sums += other.sums
        self.inertia += other.inertia
        if other.far > self.far:
            self.far, self.furthest = other.far, other.furthest
        return self

    def moved(self) -> Floats:
        """Every centre at the mean of its rows; an empty cluster starts anew at the row furthest from its centre."""
        gone = np.flatnonzero(self.weight == 0)
        out = self.sums / np.where(self.weight == 0, 1.0, self.weight)[:, None]
        out[gone] = self.centres[gone]
        if gone.size and self.far > 0:
            out[gone[0]] = self.furthest
        return out


@dataclass(slots=True, eq=False, repr=False)
class RowPool(Statistic):
    """A sample of the different rows with their weights: those whose content has the lowest hashes.

    The hash depends on the row and the seed alone, so the sample is the same however the rows come in parts, in which
    order, and whether a row is given twice or has a weight of 2.
    """

    seed: int
    hashes: NDArray[np.uint64]
    rows: Floats
    weight: Floats

    @classmethod
    def empty(cls, width: int, seed: int) -> Self:
        """No rows."""
        return cls(seed, np.zeros(0, dtype=np.uint64), np.zeros((0, width)), np.zeros(0))

    def update(self, X: Any, weight: Floats | None = None) -> None:
        """Add rows."""
        step = max(1, (1 << 22) // max(X.shape[1], 1))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            part = np.ascontiguousarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
            mass = np.ones(len(part)) if weight is None else weight[start : start + step]
            hashes = row_hashes(part, self.seed)
            if len(self.hashes) >= POOL:
                low = hashes <= self.hashes[-1]
                part, mass, hashes = part[low], mass[low], hashes[low]
            self._add(hashes, part, mass)

    def __iadd__(self, other: Self) -> Self:
        self._add(other.hashes, other.rows, other.weight)
        return self

    def _add(self, hashes: NDArray[np.uint64], rows: Floats, weight: Floats) -> None:
        every = np.concatenate([self.hashes, hashes])
        kept, first, place = np.unique(every, return_index=True, return_inverse=True)
        mass = np.bincount(place, np.concatenate([self.weight, weight]), minlength=len(kept))
        pick = first[:POOL]
        known = len(self.hashes)
        table = np.empty((len(pick), rows.shape[1]))
        old = pick < known
        table[old], table[~old] = self.rows[pick[old]], rows[pick[~old] - known]
        self.hashes, self.rows, self.weight = kept[:POOL], table, mass[:POOL].astype(np.float64)


def row_hashes(rows: Floats, seed: int) -> NDArray[np.uint64]:
    """A number for every row that depends on its content and the seed alone."""
    bits = (rows + 0.0).view(np.uint64)  # -0 and 0 are one value
    out = np.full(len(rows), np.uint64((seed * 0x9E3779B97F4A7C15 + 0x1234567) & (2**64 - 1)))
    with np.errstate(over="ignore"):
        for j in range(rows.shape[1]):
            out ^= bits[:, j]
            out *= np.uint64(0x9E3779B97F4A7C15)
            out ^= out >> np.uint64(29)
            out *= np.uint64(0xBF58476D1CE4E5B9)
            out ^= out >> np.uint64(32)
    return out


def spread_out(pool: RowPool, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ (Arthur & Vassilvitskii 2007): each further centre is drawn in proportion to weight x squared distance,
    the best of 2 + ln k candidates."""
    rows, weight = pool.rows, pool.weight
    centres = np.empty((k, rows.shape[1]))
    centres[0] = rows[rng.choice(len(rows), p=weight / weight.sum())]
    distance = nearest(rows, centres[:1])[1]
    tries = 2 + int(np.log(k))
    for i in range(1, k):
        mass = distance * weight
        if mass.sum() <= 0:
            centres[i:] = rows[rng.integers(0, len(rows), k - i)]
            break
        drawn = np.searchsorted(np.cumsum(mass), rng.random(tries) * mass.sum(), side="right").clip(max=len(rows) - 1)
        reach = [np.minimum(distance, nearest(rows, rows[[d]])[1]) for d in drawn]
        best = int(np.argmin([r @ weight for r in reach]))
        centres[i], distance = rows[drawn[best]], reach[best]
    return centres


@dataclass(frozen=True)
class Walk:
    """Where a walk ended: centres, inertia after every pass, whether it came to rest."""

    centres: Floats
    inertia: list[float]
    converged: bool


def walk(measure: Callable[[Floats], ClusterSums], centres: Floats, max_iter: int, tol: float) -> Walk:
    """Assign and move until no centre moves by more than the squared length ``tol``; ``measure`` is one pass."""
    trace: list[float] = []
    for _ in range(max_iter):
        sums = measure(centres)
        trace.append(sums.inertia)
        after = sums.moved()
        shift = float(((after - centres) ** 2).sum())
        centres = after
        if shift <= tol:
            return Walk(centres, [*trace, measure(centres).inertia], True)
    return Walk(centres, [*trace, measure(centres).inertia], False)
