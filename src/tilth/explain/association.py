"""Which columns tell the same: the strength of association of every pair of columns, whatever their kinds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Column
from tilth.parts.relevance import Correlation

Floats = NDArray[np.float64]

#: Rows that associations are measured on; columns beyond which they are not looked for.
MOST_ROWS = 2000
MOST_COLUMNS = 400
#: Pairs with levels are counted one by one, about a thousand in a second; beyond so many only numbers are compared.
MOST_PAIRS = 3000
#: Rows with both values below which a pair says nothing.
FEW_ROWS = 10


def associations(columns: list[Column], seed: int = 0, *, most_pairs: float = np.inf) -> Floats:
    """Strength 0 to 1 of every pair: |Spearman's r| of numbers and ranks, eta of a number and levels, Cramer's V of
    levels; the last two less what many levels reach by chance (Bergsma 2013). 0 where nothing can be said, and for
    pairs with levels where there are more than ``most_pairs`` of them.

    >>> from tilth.data.kinds import Kind
    >>> x = Column("x", Kind("numeric"), np.arange(20.0))
    >>> associations([x, Column("square", Kind("numeric"), np.arange(20.0) ** 2)])
    array([[1., 1.],
           [1., 1.]])
    """
    n = len(columns[0].values)
    rows = np.arange(n) if n <= MOST_ROWS else np.random.default_rng(seed).choice(n, MOST_ROWS, replace=False)
    some = [Column(c.name, c.kind, c.values[rows]) for c in columns]
    out = np.eye(len(some))
    number = [c.kind.name != "nominal" for c in some]
    _fill_numbers(out, [c for c, is_number in zip(some, number, strict=True) if is_number], np.flatnonzero(number))
    if level_pairs(some) > most_pairs:
        return out
    for i, a in enumerate(some):
        for j in range(i):
            if not (number[i] and number[j]):
                out[i, j] = out[j, i] = _levels(a, some[j])
    return out


def level_pairs(columns: list[Column]) -> int:
    """Number of pairs in which one column at least has levels without an order."""
    numbers = sum(c.kind.name != "nominal" for c in columns)
    return (len(columns) * (len(columns) - 1) - numbers * (numbers - 1)) // 2


def _fill_numbers(out: Floats, columns: list[Column], places: NDArray[np.intp]) -> None:
    """All pairs of numbers at once."""
    import pandas as pd

    if len(columns) < 2:
        return
    frame = pd.DataFrame({j: np.where(c.missing, np.nan, c.values) for j, c in enumerate(columns)})
    correlations = np.abs(frame.corr(method="spearman", min_periods=FEW_ROWS).to_numpy())
    out[np.ix_(places, places)] = np.nan_to_num(correlations)
    out[places, places] = 1.0


def _levels(a: Column, b: Column) -> float:
    """Of a pair in which one column at least has levels without an order."""
    both = ~(a.missing | b.missing)
    n = int(both.sum())
    if n < FEW_ROWS:
        return 0.0
    a, b = (Column(c.name, c.kind, c.values[both]) for c in (a, b))
    correlation = Correlation(method="spearman").of(a, b)
    if correlation.value != correlation.value:
        return 0.0
    if correlation.how == "eta":
        groups = len(np.unique((a if a.kind.name == "nominal" else b).values))
        left = 1 - (1 - correlation.value**2) * (n - 1) / (n - groups) if n > groups else 0.0
    elif correlation.how == "Cramer's V":
        r, c = (len(np.unique(x.values)) for x in (a, b))
        excess = (r - 1) * (c - 1) / (n - 1)
        room = min(size - (size - 1) ** 2 / (n - 1) for size in (r, c)) - 1
        left = max(0.0, correlation.value**2 * (min(r, c) - 1) - excess) / room if room > 0 else 0.0
    else:
        left = correlation.value**2
    return math.sqrt(min(1.0, max(0.0, left)))


def alike(
    columns: list[Column], above: float, seed: int = 0, *, most_pairs: float = MOST_PAIRS
) -> list[tuple[str, ...]]:
    """Sets of columns in which each is tied to another one by an association of at least ``above``."""
    from scipy.sparse.csgraph import connected_components

    if len(columns) < 2 or len(columns) > MOST_COLUMNS:
        return []
    _, part = connected_components(associations(columns, seed, most_pairs=most_pairs) >= above, directed=False)
    sets = [tuple(c.name for c, p in zip(columns, part, strict=True) if p == k) for k in range(int(part.max()) + 1)]
    return [names for names in sets if len(names) > 1]
