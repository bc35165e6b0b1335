"""The few columns that a sparse fit works on, copied out of the design column by column.

Penalties that leave most weights at zero need most columns only once in a while, to see whether they are still not
worth a weight. The columns at work grow as columns are found missing; their cross products are kept and extended.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.blas import threads_for
from tilth.engines.linear.design import DenseDesign, Design, SparseDesign
from tilth.parts.penalties import GroupLasso, Penalty

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: Columns of a block that is turned over at once, so that it stays in cache.
_TILE = 128


class Columns(Protocol):
    """Chosen columns of a design; ``m`` of them, in the order in which they were added."""

    @property
    def n_columns(self) -> int:
        """m."""

    def add(self, places: Places) -> None:
        """More columns."""

    def some(self, slots: Places) -> Columns:
        """A few of them, by their order."""

    def matvec(self, w: Floats) -> Floats:
        """Scores of the rows, [n]."""

    def rmatvec(self, r: Floats) -> Floats:
        """Products of each column with the rows, [m]."""

    def squares(self, h: Floats) -> Floats:
        """Sum of h x^2 of each column."""

    def cross(self, h: Floats, first: int, out: Floats | None = None) -> Floats:
        """X' H X of the columns from ``first`` on with all columns, [m - first, m]; written to ``out`` where given."""

    def descend(self, h: Floats, curve: Floats, mean: Floats | None, r: Floats, w: Floats, *rule: Any) -> None:
        """Coordinate descent; r and w change in place."""


class DenseColumns:
    """Columns as the rows of one array, less a constant each: a shift that the intercept takes up."""

    def __init__(self, design: DenseDesign, shift: Floats | None) -> None:
        self._source = design.matrix.T
        self._shift = shift
        self._room = np.empty((0, design.n_rows))
        self.n_columns = 0

    @property
    def cells(self) -> Floats:
        """[m, n]."""
        return self._room[: self.n_columns]

    def add(self, places: Places) -> None:
        """More columns; room grows by doubling."""
        end = self.n_columns + len(places)
        if end > len(self._room):
            larger = np.empty((min(max(end, 2 * len(self._room)), len(self._source)), self._room.shape[1]))
            larger[: self.n_columns] = self.cells
            self._room = larger
        fresh = self._room[self.n_columns : end]
        fresh[...] = self._source[places]
        if self._shift is not None:
            fresh -= self._shift[places, None]
            # What rounding leaves of a constant column is no column.
            fresh[np.abs(fresh).max(axis=1, initial=0.0) <= 1e-12 * np.abs(self._shift[places])] = 0.0
        self.n_columns = end

    def some(self, slots: Places) -> DenseColumns:
        """Copied together."""
        few = copy.copy(self)
        few._room, few.n_columns = self._room[slots], len(slots)
        return few

    def matvec(self, w: Floats) -> Floats:
        """w X', over the columns whose weight is not zero."""
        used = np.flatnonzero(w)
        if len(used) < self.n_columns // 2:
            return np.asarray(w[used] @ self.cells[used]) if len(used) else np.zeros(self._room.shape[1])
        return np.asarray(w @ self.cells)

    def rmatvec(self, r: Floats) -> Floats:
        """X r."""
        return np.asarray(self.cells @ r)

    def squares(self, h: Floats) -> Floats:
        """A block of columns at a time."""
        return np.concatenate([(block * block) @ h for block in self._blocks()] or [np.zeros(0)])

    def cross(self, h: Floats, first: int, out: Floats | None = None) -> Floats:
        """Rows of the cross products from ``first`` on."""
        cells = self.cells
        return np.asarray(np.matmul(cells[first:] * h, cells.T, out=out))

    def descend(self, h: Floats, curve: Floats, mean: Floats | None, r: Floats, w: Floats, *rule: Any) -> None:
        """Compiled."""
        _core.coordinate_dense(self.cells, h, curve, mean, r, w, *rule)

    def _blocks(self) -> list[Floats]:
        step = max(1, (1 << 18) // max(self._room.shape[1], 1))
        return [self.cells[i : min(i + step, self.n_columns)] for i in range(0, self.n_columns, step)]


class SparseColumns:
    """Columns of which the cells that are not zero are stored."""

    def __init__(self, design: SparseDesign) -> None:
        self._source = design.columns.astype(np.float64, copy=False)
        self._kept = self._source[:, :0]

    @property
    def n_columns(self) -> int:
        """m."""
        return int(self._kept.shape[1])

    def add(self, places: Places) -> None:
        """More columns."""
        from scipy.sparse import hstack

        fresh = self._source[:, places]
        self._kept = hstack([self._kept, fresh], format="csc") if self.n_columns else fresh.tocsc()

    def some(self, slots: Places) -> SparseColumns:
        """Copied together."""
        few = copy.copy(self)
        few._kept = self._kept[:, slots]
        return few

    def matvec(self, w: Floats) -> Floats:
        """X w."""
        return np.asarray(self._kept @ w)

    def rmatvec(self, r: Floats) -> Floats:
        """X' r."""
        return np.asarray(self._kept.T @ r)

    def squares(self, h: Floats) -> Floats:
        """Sum of h x^2."""
        return np.asarray(self._kept.power(2).T @ h)

    def cross(self, h: Floats, first: int, out: Floats | None = None) -> Floats:
        """Sparse products, dense answer."""
        weighted = self._kept[:, first:].multiply(h[:, None])
        product = np.asarray((weighted.T @ self._kept).toarray())
        if out is None:
            return product
        out[...] = product
        return out

    def descend(self, h: Floats, curve: Floats, mean: Floats | None, r: Floats, w: Floats, *rule: Any) -> None:
        """Compiled."""
        x = self._kept
        _core.coordinate_sparse(x.indptr, x.indices, x.data, x.shape[0], h, curve, mean, r, w, *rule)


def columns_of(design: Design, shift: Floats | None) -> tuple[Columns, Floats | None]:
    """An empty set of columns of a design, and the shift that it takes off (None: none, zeros are to stay zeros)."""
    if isinstance(design, DenseDesign):
        return DenseColumns(design, shift), shift
    sparse = design if isinstance(design, SparseDesign) else design.pick(np.arange(design.n_cols))
    if isinstance(sparse, SparseDesign):
        return SparseColumns(sparse), None
    return DenseColumns(DenseDesign(sparse.dense()), shift), shift


class WorkingSet:
    """Chosen columns, their places in the design, and their cross products where these are kept."""

    def __init__(self, design: Design, shift: Floats | None) -> None:
        self.columns, self.shift = columns_of(design, shift)
        self.places: Places = np.zeros(0, dtype=np.int64)
        self.at_work = np.zeros(design.n_cols, dtype=bool)
        #: Threads that a large product may use.
        self.threads = 1
        self._n_rows = design.n_rows
        self._gram: Floats = np.zeros((0, 0))
        self._known = 0

    def add(self, wanted: NDArray[np.bool_], penalty: Penalty) -> None:
        """Columns that are wanted and not yet there; groups come whole and stay together."""
        fresh = np.flatnonzero(penalty.whole(wanted) & ~self.at_work)
        if not len(fresh):
            return
        if isinstance(penalty, GroupLasso):
            fresh = fresh[np.argsort(penalty.codes(len(wanted))[fresh], kind="stable")]
        self.columns.add(fresh)
        self.places = np.concatenate([self.places, fresh])
        self.at_work[fresh] = True

    def cross(self, columns: Columns, h: Floats, first: int = 0, out: Floats | None = None) -> Floats:
        """X' H X of some columns, with threads where that is worth it."""
        m = columns.n_columns
        with threads_for(float(self._n_rows) * m * (m - first), self.threads):
            return columns.cross(h, first, out)

    def gram(self, h: Floats) -> Floats:
        """X' H X, not centred; ``h`` is always the same, so that only what is new is computed."""
        m = self.columns.n_columns
        if self._known < m:
            first = self._known
            if m > len(self._gram):
                larger = np.empty((min(max(2 * m, 512), len(self.at_work)),) * 2)
                larger[:first, :first] = self._gram[:first, :first]
                self._gram = larger
            self.cross(self.columns, h, first, self._gram[first:m, :m])
            for a in range(0, first, _TILE):
                b = min(a + _TILE, first)
                self._gram[a:b, first:m] = self._gram[first:m, a:b].T
            self._known = m
        return self._gram[:m, :m]
