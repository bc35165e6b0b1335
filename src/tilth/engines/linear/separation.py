"""Perfect separation: is there a direction along which no row loses likelihood, so that no weights are the best?

Albert and Anderson (1984): the maximum likelihood weights of a logistic (softmax) model are finite exactly when there
is no direction v with (v_y - v_c) . z >= 0 for every row of class y and every other class c, and > 0 for one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design

Floats = NDArray[np.float64]

#: How an optimisation over separated classes ends.
SEPARATED = "the classes can be separated perfectly"

#: Rows of the first linear program, and the most that are added after each.
_FIRST_ROWS = 200
_MORE_ROWS = 400
_MOST_ROUNDS = 40
#: Margins, of directions of at most unit weights on scaled columns, that count as zero.
_ZERO = 1e-7


@dataclass(frozen=True)
class Separation:
    """Classes that can be separated. ``complete``: strictly; else only up to rows on the border.

    ``coef`` [p] or [p, k] and ``intercept`` are a direction in which the likelihood grows for ever.
    """

    complete: bool
    coef: Floats
    intercept: Floats

    def columns(self) -> NDArray[np.intp]:
        """Places of the terms that separate, strongest first."""
        size = np.abs(self.coef).reshape(len(self.coef), -1).max(axis=1, initial=0.0)
        return np.flatnonzero(size > 1e-6)[np.argsort(-size[size > 1e-6], kind="stable")]


def separated(design: Design, codes: NDArray[Any], n_classes: int = 2, *, intercept: bool = True,
              scores: Floats | None = None) -> Separation | None:  # fmt: skip
    """The separation of the classes, or None where they overlap, so that the weights of maximum likelihood exist.

    Solves linear programs over few rows: rows that overlap among themselves overlap in any larger table, and a
    direction found for some rows is tried on all; the rows that refute it join them. ``scores`` of a fit put the
    hardest first.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> separated(DenseDesign(X), np.array([0, 0, 1, 1])).complete
    True
    >>> separated(DenseDesign(X), np.array([0, 1, 0, 1])) is None
    True
    """
    search = _Search(design, np.asarray(codes), n_classes, intercept)
    used = _first(search.codes, n_classes, scores)
    direction, used = search.direction(used, strict=False)
    if direction is None:
        return None
    strict, _ = search.direction(used, strict=True)
    return Separation(strict is not None, *(direction if strict is None else strict))


def _first(codes: NDArray[Any], n_classes: int, scores: Floats | None) -> NDArray[np.intp]:
    """Rows to begin with: of each class the least certain, or evenly spread ones."""
    each = max(2, _FIRST_ROWS // n_classes)
    margin = None if scores is None else _margins(scores, codes)
    chosen = []
    for c in range(n_classes):
        rows = np.flatnonzero(codes == c)
        if margin is None or len(rows) <= each:
            chosen.append(rows[:: max(1, len(rows) // each)][:each])
        else:
            chosen.append(rows[np.argpartition(margin[rows], each)[:each]])
    return np.concatenate(chosen)


def _margins(scores: Floats, codes: NDArray[Any]) -> Floats:
    """Score of the own class less the best of the others (of two classes: the signed score)."""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    own = np.take_along_axis(scores, codes[:, None].astype(np.intp), axis=1)[:, 0]
    others = scores.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


class _Search:
    """Linear programs over a growing set of rows."""

    def __init__(self, design: Design, codes: NDArray[Any], n_classes: int, intercept: bool) -> None:
        self.design, self.codes, self.k, self.intercept = design, codes, n_classes, intercept
        length = np.sqrt(design.squares() / design.n_rows)
        self.length = np.where(length > 0, length, 1.0)

    def direction(self, rows: NDArray[np.intp], strict: bool) -> tuple[tuple[Floats, Floats] | None, NDArray[np.intp]]:
        """A direction that no row of the table refutes, or None; and the rows that were needed to know.

        Not ``strict``: margins of at least zero, the largest sum. Strict: the largest least margin.
        """
        for _ in range(_MOST_ROUNDS):
            direction = self._program(rows, strict)
            if direction is None:
                return None, rows
            coef, bias = direction
            margin = _margins(self.design.matvec(coef) + bias, self.codes)
            against = np.flatnonzero(margin <= (0.0 if strict else -_ZERO))
            if not against.size:
                return direction, rows
            hardest = against[np.argsort(margin[against], kind="stable")[:_MORE_ROWS]]
            rows = np.union1d(rows, hardest)
        return None, rows

    def _program(self, rows: NDArray[np.intp], strict: bool) -> tuple[Floats, Floats] | None:
        from scipy.optimize import linprog

        X = self.design.take(rows).dense() / self.length
        Z = np.column_stack([X, np.ones(len(X))]) if self.intercept else X
        A = self._margin_rows(Z, self.codes[rows])
        cost, bounds = -A.mean(axis=0), [(-1.0, 1.0)] * A.shape[1]
        if strict:  # one more unknown, the least margin
            A = np.column_stack([A, -np.ones(len(A))])
            cost, bounds = np.append(np.zeros(len(cost)), -1.0), [*bounds, (0.0, 1.0)]
        solved: Any = linprog(cost, A_ub=-A, b_ub=np.zeros(len(A)), bounds=bounds, method="highs")
        if solved.status != 0 or -solved.fun <= _ZERO:
            return None
        v = (solved.x[:-1] if strict else solved.x).reshape(1 if self.k == 2 else self.k, Z.shape[1])
        coef = v[:, : len(self.length)] / self.length
        bias = v[:, -1] if self.intercept else np.zeros(len(v))
        return (coef[0], np.asarray(bias[0])) if self.k == 2 else (coef.T, bias)

    def _margin_rows(self, Z: Floats, y: NDArray[Any]) -> Floats:
        """Rows a with a . v = margin: one per row for two classes, one per row and other class for more."""
        if self.k == 2:
            return Z * np.where(y == 1, 1.0, -1.0)[:, None]
        n, q = Z.shape
        A = np.zeros((n, self.k, self.k, q))
        of_row, every = np.arange(n), np.arange(self.k)
        A[of_row[:, None], every, every] = -Z[:, None, :]
        A[of_row[:, None], every, y[:, None]] += Z[:, None, :]
        return A[every != y[:, None]].reshape(-1, self.k * q)
