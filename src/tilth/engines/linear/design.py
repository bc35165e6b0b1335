"""The columns that weights multiply, whatever they are stored as: solvers see products, never the storage.

times(w)        X w          [n] or [n, k]
back(r)         X' r         [p] or [p, k]
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

from tilth.data.kinds import level_key
from tilth.data.table import Table

Floats = NDArray[np.float64]


class Design(Protocol):
    """What a solver may ask of the columns."""

    @property
    def n_rows(self) -> int:
        """Rows."""

    @property
    def n_cols(self) -> int:
        """Columns, one weight each."""

    def times(self, w: Floats) -> Floats:
        """X w."""

    def back(self, r: Floats) -> Floats:
        """X' r."""

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X."""

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""

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

    def times(self, w: Floats) -> Floats:
        """X w."""
        return np.asarray(self.matrix @ w)

    def back(self, r: Floats) -> Floats:
        """X' r."""
        return np.asarray(self.matrix.T @ r)

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X, a block of rows at a time: no second copy of X."""
        p, block = self.n_cols, max(1, (1 << 20) // max(self.n_cols, 1))
        out = np.zeros((p, p))
        for start in range(0, self.n_rows, block):
            rows = self.matrix[start : start + block]
            out += rows.T @ (rows if weight is None else rows * weight[start : start + block, None])
        return out

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        return np.asarray(np.einsum("ij,ij->j", self.matrix, self.matrix) if weight is None
                          else np.einsum("i,ij,ij->j", weight, self.matrix, self.matrix))  # fmt: skip

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

    def times(self, w: Floats) -> Floats:
        """X w."""
        return np.asarray(self.rows @ w)

    def back(self, r: Floats) -> Floats:
        """X' r."""
        return np.asarray(self.rows.T @ r)

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X, as a dense matrix."""
        other = self.rows if weight is None else self.rows.multiply(weight[:, None])
        return np.asarray((self.rows.T @ other).toarray())

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        squared = self.rows.multiply(self.rows)
        return np.asarray(squared.T @ (np.ones(self.n_rows) if weight is None else weight)).ravel()

    def take(self, rows: NDArray[Any]) -> SparseDesign:
        """Some rows."""
        return SparseDesign(self.rows[rows])

    def pick(self, columns: NDArray[Any]) -> SparseDesign:
        """Some columns."""
        return SparseDesign(self.columns[:, columns].tocsr())

    def dense(self) -> Floats:
        """All of it as one array."""
        return np.asarray(self.rows.toarray())


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
    def _indicators(self) -> Any:
        """The 0/1 columns as a sparse matrix."""
        from scipy.sparse import csr_matrix

        kept = np.asarray(self.sizes, dtype=np.int64) - self.first
        start = np.concatenate([[0], np.cumsum(kept)])
        used = self.codes >= self.first
        place = self.codes - self.first + start[:-1]
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        return csr_matrix((np.ones(int(ends[-1])), place[used], ends), shape=(len(self.codes), int(start[-1])))

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.numbers)

    @property
    def n_cols(self) -> int:
        """Columns."""
        return int(self.numbers.shape[1] + self._indicators.shape[1])

    def _parts(self, w: Floats) -> tuple[Floats, Floats]:
        p = self.numbers.shape[1]
        return w[:p], w[p:]

    def times(self, w: Floats) -> Floats:
        """X w."""
        of_numbers, of_levels = self._parts(w)
        return np.asarray(self.numbers @ of_numbers + self._indicators @ of_levels)

    def back(self, r: Floats) -> Floats:
        """X' r."""
        return np.concatenate([self.numbers.T @ r, self._indicators.T @ r])

    def gram(self, weight: Floats | None = None) -> Floats:
        """X' W X."""
        dense, coded = DenseDesign(self.numbers), SparseDesign(self._indicators)
        weighted = self.numbers if weight is None else self.numbers * weight[:, None]
        across = np.asarray(self._indicators.T @ weighted)
        return np.block([[dense.gram(weight), across.T], [across, coded.gram(weight)]])

    def squares(self, weight: Floats | None = None) -> Floats:
        """Sum of w x^2 of each column."""
        return np.concatenate(
            [DenseDesign(self.numbers).squares(weight), SparseDesign(self._indicators).squares(weight)]
        )

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
