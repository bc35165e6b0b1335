"""Functions of columns that weights multiply: products of powers, polynomials made orthogonal, formulas."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.formula import Formula
from tilth.data.table import Table
from tilth.engines.linear.design import DenseDesign, Design, OneHotDesign, Terms
from tilth.params import stored

Floats = NDArray[np.float64]

#: Functions of columns at most; the number of products grows as a power of the degree.
MOST_FUNCTIONS = 20_000


def recurrence(x: Floats, degree: int, weight: Floats | None = None) -> Floats:
    """Numbers H [d + 1, d] that make polynomials q_0 .. q_d of x with mean q_i q_j = [i = j] over these rows.

    x q_k = sum_j H[j, k] q_j: each power is x times the one before, less its parts along those before (Arnoldi), which
    keeps its digits where powers of x do not. d is less than ``degree`` where x has too few different values.
    """
    share = np.full(len(x), 1.0 / len(x)) if weight is None else weight / weight.sum()
    known = np.ones((len(x), 1))
    H = np.zeros((degree + 1, degree))
    for k in range(degree):
        new = x * known[:, k]
        size = np.sqrt(share @ new**2)
        # Once, not twice as one might: new rows walk the same steps, and rounding grows where theirs are others.
        H[: k + 1, k] = known.T @ (share * new)
        new = new - known @ H[: k + 1, k]
        H[k + 1, k] = np.sqrt(share @ new**2)
        if H[k + 1, k] <= 1e-10 * max(size, 1e-300):
            return H[: k + 1, :k]
        known = np.column_stack([known, new / H[k + 1, k]])
    return H


def orthogonal_powers(x: Floats, H: Floats) -> Floats:
    """q_1 .. q_d of these rows, [n, d].

    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> q = orthogonal_powers(x, recurrence(x, 2))
    >>> abs(q.T @ q / 4).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    known = np.ones((len(x), H.shape[1] + 1))
    for k in range(H.shape[1]):
        known[:, k + 1] = (x * known[:, k] - known[:, : k + 1] @ H[: k + 1, k]) / H[k + 1, k]
    return known[:, 1:]


@stored
@dataclass(frozen=True)
class PowerTerms(Terms):
    """Products of powers of the numeric columns, or of the polynomials that :func:`recurrence` makes of each."""

    source: tuple[str, ...] = ()
    exponents: NDArray[np.int64] | None = None  # [terms, columns]
    shift: Floats | None = None  # [columns, 2]: centre and half width, for orthogonal ones
    recurrences: tuple[Floats, ...] = ()

    @classmethod
    def powers(
        cls, table: Table, degree: int, interactions: bool, orthogonal: bool, weight: Floats | None, reference: bool
    ) -> PowerTerms:
        """All products up to a total degree."""
        plain = Terms.of(table, reference)
        x = table.numbers()
        p = len(plain.numbers)
        shift = np.array([[0.5 * (c.min() + c.max()), 0.5 * np.ptp(c) or 1.0] for c in x.T]).reshape(p, 2)
        bases: tuple[Floats, ...] = ()
        if orthogonal:
            bases = tuple(recurrence((x[:, j] - shift[j, 0]) / shift[j, 1], degree, weight) for j in range(p))
        most = [H.shape[1] for H in bases] if orthogonal else [degree] * p
        products = _exponents(p, degree, interactions, most)
        exponents = np.array(products, dtype=np.int64).reshape(len(products), p)
        names = tuple(_product_name(plain.numbers, row, orthogonal) for row in exponents)
        return cls(names, plain.levels, reference, plain.numbers, exponents, shift if orthogonal else None, bases)

    @property
    def owners(self) -> list[str]:
        """The column of each weight; of a product, the names of its columns."""
        assert self.exponents is not None
        of_numbers = [" x ".join(n for n, k in zip(self.source, row, strict=True) if k) for row in self.exponents]
        return of_numbers + super().owners[len(self.numbers) :]

    def design(self, table: Any) -> Design:
        """The products beside the level codes."""
        assert self.exponents is not None
        x = table.numbers()
        powers = [self._powers(x[:, j], j) for j in range(len(self.source))]
        out = np.ones((len(x), len(self.exponents)), order="F")
        for i, row in enumerate(self.exponents):
            for j in np.flatnonzero(row):
                out[:, i] *= powers[j][:, row[j] - 1]
        return _with_levels(self, out, table)

    def _powers(self, x: Floats, j: int) -> Floats:
        if self.shift is not None:
            return orthogonal_powers((x - self.shift[j, 0]) / self.shift[j, 1], self.recurrences[j])
        assert self.exponents is not None
        return np.vander(x, int(self.exponents[:, j].max(initial=0)) + 1, increasing=True)[:, 1:]


@stored
@dataclass(frozen=True)
class FormulaTerms(Terms):
    """Functions of the numeric columns, written as formulas."""

    source: tuple[str, ...] = ()

    @classmethod
    def formulas(cls, table: Table, texts: Sequence[str], reference: bool, owner: str) -> FormulaTerms:
        """The functions; each must be known once the columns are, so that the model is linear in its weights."""
        plain = Terms.of(table, reference)
        for text in texts:
            unknown = [name for name in Formula(text).names if name not in plain.numbers]
            if unknown:
                raise ValueError(
                    f"{owner}: {text!r} needs {', '.join(map(repr, unknown))}, which "
                    f"{'are' if len(unknown) > 1 else 'is'} no numeric column of the table "
                    f"({', '.join(map(repr, plain.numbers))}). A basis function must be known before the fit: the "
                    "model is w1 f1(x) + w2 f2(x) + ..., linear in its weights, and weights stand outside. A parameter "
                    "inside, as in exp(b * x), makes the cost non-linear in it, with many valleys and no closed form: "
                    "try several fixed values of it as basis functions, transform y (log y = a + b x), or minimise "
                    "with scipy.optimize.curve_fit."
                )
        return cls(tuple(texts), plain.levels, reference, plain.numbers)

    @property
    def owners(self) -> list[str]:
        """The column of each weight; of a function of several, their names."""
        return [" x ".join(Formula(text).names) or text for text in self.numbers] + super().owners[len(self.numbers) :]

    def design(self, table: Any) -> Design:
        """The functions beside the level codes."""
        x = table.numbers()
        columns = {name: x[:, j] for j, name in enumerate(self.source)}
        out = np.empty((len(x), len(self.numbers)), order="F")
        for i, text in enumerate(self.numbers):
            out[:, i] = Formula(text)(columns)
            wrong = np.flatnonzero(~np.isfinite(out[:, i]))
            if len(wrong):
                row = {name: float(columns[name][wrong[0]]) for name in Formula(text).names}
                raise ValueError(
                    f"The basis function {text!r} is not finite for {len(wrong)} of {len(x)} rows, such as {row}; "
                    "choose one that is defined there, or leave these rows out."
                )
        return _with_levels(self, out, table)


def _with_levels(terms: Terms, numbers: Floats, table: Table) -> Design:
    if not terms.levels:
        return DenseDesign(numbers)
    return OneHotDesign(numbers, table.codes(), [len(levels) for _, levels in terms.levels], int(terms.reference))


def _exponents(p: int, degree: int, interactions: bool, most: Sequence[int]) -> list[list[int]]:
    """Powers of each column in every product, products of low degree first."""
    exponents: list[list[int]] = []
    for d in range(1, degree + 1):
        for combo in itertools.combinations_with_replacement(range(p), d):
            row = [combo.count(j) for j in range(p)]
            alone = len(set(combo)) == 1
            if (alone or interactions) and all(k <= m for k, m in zip(row, most, strict=True)):
                exponents.append(row)
                if len(exponents) > MOST_FUNCTIONS:
                    raise ValueError(
                        f"Degree {degree} of {p} columns makes more than {MOST_FUNCTIONS} products; lower the degree, "
                        "or say interactions=False."
                    )
    return exponents


def _product_name(names: Sequence[str], row: NDArray[np.int64], orthogonal: bool) -> str:
    def power(name: str, k: int) -> str:
        return f"P{k}({name})" if orthogonal else name if k == 1 else f"{name}^{k}"

    return " ".join(power(name, int(k)) for name, k in zip(names, row, strict=True) if k)
