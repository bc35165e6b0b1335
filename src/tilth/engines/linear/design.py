"""The columns that weights multiply, whatever they are stored as: solvers see products, never the storage.

matvec(w)       X w          [n] or [n, k]
rmatvec(r)      X' r         [p] or [p, k]
gram(weight)    X' W X       [p, p]
squares(weight) diagonal of the Gram matrix
take(rows)      a design of some rows;  pick(columns) of some columns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import level_key
from tilth.data.table import Table
from tilth.params import stored

Floats = NDArray[np.float64]

#: Rows that tell where a column lies, so that its products can be taken about its middle in a single pass.
_PROBED_ROWS = 1024
#: Numbers in a block of rows that is copied.
_BLOCK_CELLS = 1 << 20


class Design(Protocol):
    """What a solver may ask of the columns."""

    @property
    def n_rows(self) -> int:
        """Rows."""

    @property
    def n_cols(self) -> int:
        """Columns, one weight each."""

    def matvec(self, w: Floats) -> Floats:
        """X w."""

    def rmatvec(self, r: Floats) -> Floats:
        """X' r."""

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X."""

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""

    def moments(
        self,
        weight: Floats | None = None,
        other: Floats | None = None,
        scale: Floats | None = None,
        shift: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Sum of w z z' and of w z, z = scale x - shift, for the columns of X followed by those of ``other``.

        ``scale`` and ``shift`` have an entry per column of both, and come together.
        """

    def middle(self) -> Floats:
        """A number within the range of each column, from some of its rows; 0 for columns that are mostly 0."""

    def largest(self) -> Floats:
        """The largest absolute value of each column."""

    def take(self, rows: NDArray[Any]) -> Design:
        """Some rows."""

    def pick(self, columns: NDArray[Any]) -> Design:
        """Some columns."""

    def dense(self) -> Floats:
        """All of it as one array; only for what is small."""


@dataclass(frozen=True)
class DenseDesign:
    """One float64 array, rows or columns together; no copy is made."""

    matrix: Floats

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.matrix)

    @property
    def n_cols(self) -> int:
        """Columns."""
        return int(self.matrix.shape[1])

    def matvec(self, w: Floats) -> Floats:
        """X w."""
        return _core.dense_times(self.matrix, _as_columns(w)).reshape(self.n_rows, *w.shape[1:])

    def rmatvec(self, r: Floats) -> Floats:
        """X' r."""
        return _core.dense_back(self.matrix, _as_columns(r)).reshape(self.n_cols, *r.shape[1:])

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X, a block of rows at a time: no second copy of X."""
        return self.moments(weight)[0]

    def moments(
        self,
        weight: Floats | None = None,
        other: Floats | None = None,
        scale: Floats | None = None,
        shift: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Cross products and sums."""
        if self.n_rows >= 16 * self.n_cols or self.n_cols < 64:
            return _core.weighted_gram(self.matrix, weight, other, scale, shift)
        return self._wide_moments(weight, other, scale, shift)

    def _wide_moments(
        self, weight: Floats | None, other: Floats | None, scale: Floats | None, shift: Floats | None
    ) -> tuple[Floats, Floats]:
        """The same where the result is as large as X: rows are too few to give each thread a table of its own."""
        cols = self.n_cols + (0 if other is None else other.shape[1])
        cross, sums = np.zeros((cols, cols)), np.zeros(cols)
        for rows in blocks(self.n_rows, cols):
            z = self.matrix[rows] if other is None else np.hstack([self.matrix[rows], other[rows]])
            z = np.asarray(z, dtype=np.float64) if scale is None or shift is None else z * scale - shift
            if weight is None:
                cross += z.T @ z
                sums += z.sum(axis=0)
            else:
                cross += z.T @ (z * weight[rows, None])
                sums += weight[rows] @ z
        return (cross + cross.T) / 2, sums

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        X = self.matrix
        if weight is None:
            return np.asarray(np.einsum("ij,ij->j", X, X, dtype=np.float64))
        return np.asarray(np.einsum("i,ij,ij->j", weight, X, X, dtype=np.float64))

    def middle(self) -> Floats:
        """The mean of some rows, evenly spaced."""
        return middle_of(self.matrix)

    def largest(self) -> Floats:
        """The largest absolute value of each column."""
        return largest_of(self.matrix)

    def take(self, rows: NDArray[Any]) -> DenseDesign:
        """Some rows."""
        return DenseDesign(self.matrix[rows])

    def pick(self, columns: NDArray[Any]) -> DenseDesign:
        """Some columns."""
        return DenseDesign(self.matrix[:, columns])

    def dense(self) -> Floats:
        """The array itself."""
        return self.matrix


@dataclass(frozen=True)
class SparseDesign:
    """A scipy sparse matrix: rows compressed for products, columns compressed when a solver walks columns."""

    rows: Any  # csr

    @cached_property
    def columns(self) -> Any:
        """The same, column by column."""
        return self.rows.tocsc()

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.rows.shape[0])

    @property
    def n_cols(self) -> int:
        """Columns."""
        return int(self.rows.shape[1])

    @cached_property
    def _values(self) -> NDArray[Any]:
        """The stored values in a type the kernels take."""
        data: NDArray[Any] = self.rows.data
        return data if data.dtype in (np.float64, np.float32, np.int64) else data.astype(np.float64)

    def matvec(self, w: Floats) -> Floats:
        """X w."""
        scores = _core.csr_scores(self.rows.indptr, self.rows.indices, self._values, _as_columns(w))
        return scores.reshape(self.n_rows, *w.shape[1:])

    def rmatvec(self, r: Floats) -> Floats:
        """X' r."""
        return np.asarray(_sums_by_column(self.rows, self._values, r))

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X, as a dense matrix."""
        other = self.rows if weight is None else self.rows.multiply(weight[:, None])
        return np.asarray((self.rows.T @ other).toarray(), dtype=np.float64)

    def moments(
        self,
        weight: Floats | None = None,
        other: Floats | None = None,
        scale: Floats | None = None,
        shift: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Cross products and sums."""
        w = np.ones(self.n_rows) if weight is None else weight
        beside = np.empty((self.n_rows, 0)) if other is None else other
        heavy = beside * w[:, None]
        across = self.rmatvec(heavy)
        cross = np.block([[self.gram(weight), across], [across.T, beside.T @ heavy]])
        sums = np.concatenate([self.rmatvec(w), heavy.sum(axis=0)])
        return (cross, sums) if scale is None or shift is None else _moved(cross, sums, float(w.sum()), scale, shift)

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        rows = self.rows
        if not rows.has_canonical_format:  # the square of a sum is not the sum of the squares of its parts
            rows = rows.copy()
            rows.sum_duplicates()
        return _sums_by_column(
            rows, rows.data.astype(np.float64) ** 2, np.ones(self.n_rows) if weight is None else weight
        )

    def middle(self) -> Floats:
        """Zero: most cells are."""
        return np.zeros(self.n_cols)

    def largest(self) -> Floats:
        """The largest absolute value of each column."""
        return np.asarray(abs(self.rows).max(axis=0).toarray(), dtype=np.float64).ravel()

    def take(self, rows: NDArray[Any]) -> SparseDesign:
        """Some rows."""
        return SparseDesign(self.rows[rows])

    def pick(self, columns: NDArray[Any]) -> SparseDesign:
        """Some columns."""
        return SparseDesign(self.columns[:, columns].tocsr())

    def dense(self) -> Floats:
        """All of it as one array."""
        return np.asarray(self.rows.toarray(), dtype=np.float64)


@stored
@dataclass(frozen=True)
class Terms:
    """Which columns the weights belong to: numbers, then one 0/1 column per level of each nominal column.

    With ``reference`` the first level of every column has none, because it is what the others are compared with: then
    the weights are unique without a penalty.
    """

    numbers: tuple[str, ...]
    levels: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    reference: bool = False

    @classmethod
    def of(cls, table: Any, reference: bool) -> Terms:
        """The terms of a typed table, or of the columns of a sparse matrix."""
        if not isinstance(table, Table):
            return cls(tuple(f"x{j}" for j in range(table.shape[1])))
        coded = table.of_kind("nominal", "ordinal")
        return cls(
            tuple(c.name for c in table.of_kind("numeric")),
            tuple((c.name, tuple(c.kind.levels)) for c in coded),
            reference,
        )

    @property
    def names(self) -> list[str]:
        """One name per weight: ``age``, ``job=cook``."""
        first = int(self.reference)
        coded = [f"{name}={level_key(level)}" for name, levels in self.levels for level in levels[first:]]
        return [*self.numbers, *coded]

    @property
    def keys(self) -> list[tuple[str, Any]]:
        """(column, level) of each weight; the level of a number is None."""
        first = int(self.reference)
        return [
            *((name, None) for name in self.numbers),
            *((n, v) for n, levels in self.levels for v in levels[first:]),
        ]

    def places(self, among: Terms) -> NDArray[np.int64]:
        """Where each of these terms is among those of ``among``."""
        place = {key: j for j, key in enumerate(among.keys)}
        return np.array([place[key] for key in self.keys], dtype=np.int64)

    @property
    def owners(self) -> list[str]:
        """The column of the table that each weight belongs to."""
        first = int(self.reference)
        return [*self.numbers, *(name for name, levels in self.levels for _ in levels[first:])]

    def design(self, table: Any) -> Design:
        """The design of typed rows (or of a sparse matrix)."""
        if not isinstance(table, Table):
            return SparseDesign(table.tocsr())
        if not self.levels:
            return DenseDesign(table.numbers())
        sizes = [len(levels) for _, levels in self.levels]
        return OneHotDesign(table.numbers(), table.codes(), sizes, int(self.reference))


@dataclass(frozen=True)
class OneHotDesign:
    """Numbers beside level codes: a 0/1 column per level that is never written out.

    A code below zero (missing, or a level that training did not have) has zeros in all columns of its attribute.
    """

    numbers: Floats  # [n, p]
    codes: NDArray[np.int32]  # [n, q]
    sizes: Sequence[int]  # levels of each coded column
    first: int = 0  # levels left out at the start of each column

    @cached_property
    def _known(self) -> NDArray[np.int32]:
        """Codes, with -1 for every level that has no column because it is not known."""
        return np.maximum(self.codes, -1) if self.codes.size and self.codes.min() < -1 else self.codes

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where the levels of each column begin, among all levels."""
        return np.concatenate([[0], np.cumsum(np.asarray(self.sizes, dtype=np.int64))]).astype(np.int64)

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """Which of all levels have a column here."""
        kept = np.ones(int(self._starts[-1]), dtype=bool)
        for start in self._starts[:-1]:
            kept[start : start + self.first] = False
        return kept

    @cached_property
    def _indicators(self) -> Any:
        """The 0/1 columns as a sparse matrix."""
        from scipy.sparse import csr_matrix

        place = np.cumsum(self._kept) - 1
        used = self.codes >= self.first
        columns = place[np.maximum(self.codes, 0) + self._starts[:-1]]
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        shape = (len(self.codes), int(self._kept.sum()))
        return csr_matrix((np.ones(int(ends[-1])), columns[used], ends), shape=shape)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.numbers)

    @property
    def n_cols(self) -> int:
        """Columns."""
        return int(self.numbers.shape[1] + self._kept.sum())

    def matvec(self, w: Floats) -> Floats:
        """X w: a product of the numbers, and one weight looked up per level."""
        p, table = self.numbers.shape[1], np.zeros((len(self._kept), *w.shape[1:]))
        table[self._kept] = w[p:]
        out = _core.dense_times(self.numbers, _as_columns(w[:p]))
        _core.add_table(self._known, self._starts, _as_columns(table), out)
        return out.reshape(self.n_rows, *w.shape[1:])

    def rmatvec(self, r: Floats) -> Floats:
        """X' r."""
        of_numbers = _core.dense_back(self.numbers, _as_columns(r)).reshape(self.numbers.shape[1], *r.shape[1:])
        return np.concatenate([of_numbers, self._by_level(r)])

    def _by_level(self, r: Floats) -> Floats:
        """Sum of r over the rows of each level, [levels] or [levels, k]."""
        one_class = np.zeros(self.n_rows, dtype=np.int32)
        sums = [
            _core.class_counts(self._known, one_class, 1, self._starts, np.ascontiguousarray(column))[0]
            for column in _as_columns(r).T
        ]
        totals = np.stack(sums, axis=1) if sums else np.empty((len(self._kept), 0))
        return totals[self._kept].reshape(int(self._kept.sum()), *r.shape[1:])

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X."""
        return self.moments(weight)[0]

    def moments(
        self,
        weight: Floats | None = None,
        other: Floats | None = None,
        scale: Floats | None = None,
        shift: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Cross products and sums: products of the numbers, sums of them by level, counts of pairs of levels."""
        p, levels = self.numbers.shape[1], int(self._kept.sum())
        numbers = self.numbers if other is None else np.hstack([self.numbers, other])
        w = np.ones(self.n_rows) if weight is None else weight
        if scale is not None and shift is not None:
            own = np.r_[0:p, p + levels : len(scale)]
            dense, of_dense = _core.weighted_gram(numbers, weight, None, scale[own].copy(), shift[own].copy())
            numbers = numbers * scale[own] - shift[own]
        else:
            dense, of_dense = _core.weighted_gram(numbers, weight)
        across = self._by_level(numbers * w[:, None])  # [levels, numbers]
        pairs, counts = self._pairs(w), self._by_level(w)
        if scale is not None and shift is not None:
            s, d = scale[p : p + levels], shift[p : p + levels]
            pairs, moved = _moved(pairs, counts, float(w.sum()), s, d)
            across = across * s[:, None] - np.outer(d, of_dense)
            counts = moved
        order = np.r_[0:p, len(of_dense) : len(of_dense) + levels, p : len(of_dense)]
        cross = np.block([[dense, across.T], [across, pairs]])[np.ix_(order, order)]
        return cross, np.concatenate([of_dense, counts])[order]

    def _pairs(self, weight: Floats) -> Floats:
        """Weight of the rows that have both of two levels."""
        tables = [
            _core.class_counts(self._known, np.ascontiguousarray(self._known[:, c]), size, self._starts, weight)
            for c, size in enumerate(self.sizes)
        ]
        whole = np.vstack(tables) if tables else np.empty((0, 0))
        return np.asarray(whole[np.ix_(self._kept, self._kept)])

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        w = np.ones(self.n_rows) if weight is None else weight
        return np.concatenate([DenseDesign(self.numbers).squares(weight), self._by_level(w)])

    def middle(self) -> Floats:
        """The mean of some rows of the numbers; zero for levels."""
        return np.concatenate([middle_of(self.numbers), np.zeros(int(self._kept.sum()))])

    def largest(self) -> Floats:
        """The largest absolute value of each column; 1 for levels."""
        return np.concatenate([largest_of(self.numbers), np.ones(int(self._kept.sum()))])

    def take(self, rows: NDArray[Any]) -> OneHotDesign:
        """Some rows."""
        return OneHotDesign(self.numbers[rows], self.codes[rows], self.sizes, self.first)

    def pick(self, columns: NDArray[Any]) -> Design:
        """Some columns."""
        return self._sparse().pick(columns)

    def _sparse(self) -> SparseDesign:
        from scipy.sparse import csr_matrix, hstack

        return SparseDesign(hstack([csr_matrix(self.numbers), self._indicators], format="csr"))

    def dense(self) -> Floats:
        """All of it as one array."""
        return np.hstack([self.numbers, self._indicators.toarray()])


def blocks(n_rows: int, n_cols: int) -> list[slice]:
    """Blocks of rows that are small enough to be copied."""
    step = max(1, _BLOCK_CELLS // max(n_cols, 1))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def middle_of(matrix: NDArray[Any]) -> Floats:
    """The mean of some rows, evenly spaced; 0 where it is no finite number."""
    if not len(matrix):
        return np.zeros(matrix.shape[1])
    some = np.asarray(matrix[:: -(-len(matrix) // _PROBED_ROWS)], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = some.mean(axis=0)
    return np.where(np.isfinite(mean), mean, 0.0)


def largest_of(matrix: NDArray[Any]) -> Floats:
    """The largest absolute value of each column."""
    low, high, _, _ = _core.column_facts(matrix)
    return np.fmax(np.abs(low), np.abs(high))


def _as_columns(values: NDArray[Any]) -> Floats:
    """One or more columns as a packed [n, k] array of float64."""
    flat = np.ascontiguousarray(values, dtype=np.float64)
    return flat if flat.ndim > 1 else flat[:, None]


def _sums_by_column(rows: Any, values: NDArray[Any], r: Floats) -> Floats:
    """X' r for stored ``values`` of a csr matrix."""
    one_class, p = np.zeros(rows.shape[0], dtype=np.int32), rows.shape[1]
    sums = [
        _core.csr_class_sums(rows.indptr, rows.indices, values, one_class, 1, p, np.ascontiguousarray(column))[0]
        for column in _as_columns(r).T
    ]
    totals = np.stack(sums, axis=1) if sums else np.empty((rows.shape[1], 0))
    return totals.reshape(rows.shape[1], *r.shape[1:])


def _moved(cross: Floats, sums: Floats, total: float, scale: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Cross products and sums of scale x - shift from those of x; for columns that lie around zero."""
    scaled = sums * scale
    product = np.outer(shift, scaled)
    out = cross * np.outer(scale, scale) - product - product.T + total * np.outer(shift, shift)
    return out, scaled - total * shift
