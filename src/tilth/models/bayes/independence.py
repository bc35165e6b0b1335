"""Are columns independent given the class? Conditional mutual information of all pairs, on one scale for all kinds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.steps import Bins
from tilth.data.table import Column, Table

MOST_ROWS = 100_000
MOST_LEVELS = 50


def dependence_table(table: Table, y: NDArray[Any]) -> Any:
    """Pairs of columns with ``strength`` I(A; B | Y) / min(H(A | Y), H(B | Y)) in [0, 1] and a chi-square p-value.

    Numbers are cut into five bins of equal counts. The estimate is corrected for the (a-1)(b-1)k/(2n) that independent
    columns would show by chance. At most 100,000 rows, evenly spaced, are used.
    """
    import pandas as pd
    from scipy.stats import chi2

    step = max(1, -(-table.n_rows // MOST_ROWS))
    rows = slice(None, None, step)
    coded = {c.name: _codes(Column(c.name, c.kind, c.values[rows])) for c in table.columns}
    y = y[rows]
    pairs = []
    for a, b in combinations(coded, 2):
        (ca, na), (cb, nb) = coded[a], coded[b]
        keep = (ca >= 0) & (cb >= 0)
        n, k = int(keep.sum()), int(y.max()) + 1 if len(y) else 1
        if n < 2 or na < 2 or nb < 2:
            continue
        cells = np.bincount((y[keep] * na + ca[keep]) * nb + cb[keep], minlength=k * na * nb).reshape(k, na, nb)
        information = _information(cells)
        freedom = k * (na - 1) * (nb - 1)
        spread = min(_entropy(cells.sum(axis=2)), _entropy(cells.sum(axis=1)))
        corrected = max(0.0, information - freedom / (2 * n))
        strength = min(1.0, corrected / spread) if spread > 0 else 0.0
        pairs.append((a, b, strength, float(chi2.sf(2 * n * information, freedom))))
    frame = pd.DataFrame(pairs, columns=["first", "second", "strength", "p_value"])
    return frame.sort_values("strength", ascending=False, kind="stable", ignore_index=True)


def _codes(column: Column) -> tuple[NDArray[Any], int]:
    if column.kind.name == "numeric":
        binned = Bins(n_bins=5)
        column = binned.convert_column(column, binned.learn_column(column))[0]
    n = len(column.kind.levels)
    # Rare levels of a long list are pooled: their cells would be empty anyway.
    return np.minimum(column.values, MOST_LEVELS - 1), min(n, MOST_LEVELS)


def _information(cells: NDArray[Any]) -> float:
    """I(A; B | Y) in nats from counts [y, a, b]."""
    n = cells.sum()
    expected = (
        cells.sum(axis=2, keepdims=True)
        * cells.sum(axis=1, keepdims=True)
        / np.maximum(cells.sum(axis=(1, 2), keepdims=True), 1)
    )
    some = cells > 0
    return float((cells[some] / n * np.log(cells[some] / expected[some])).sum())


def _entropy(cells: NDArray[Any]) -> float:
    """H(A | Y) in nats from counts [y, a]."""
    n = cells.sum()
    totals = np.broadcast_to(cells.sum(axis=1, keepdims=True), cells.shape)
    some = cells > 0
    return float(-(cells[some] / n * np.log(cells[some] / totals[some])).sum())
