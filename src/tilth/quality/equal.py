"""Which rows are equal: 64-bit keys propose, the cells themselves decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilth.quality.column import ColumnView

Keys = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def row_keys(columns: Sequence[ColumnView]) -> Keys:
    """A 64-bit key per row; equal rows have equal keys."""
    keys = np.zeros(columns[0].n_rows if columns else 0, dtype=np.uint64)
    for column in columns:
        keys = _mixed(keys * _ODD + _mixed(_cells(column)))
    return keys


def _cells(column: ColumnView) -> Keys:
    """Cells as bits, all missing ones alike and -0.0 as 0.0."""
    if column.is_number or column.raw.form == "date":
        numbers = column.numbers + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    return column.raw.values.astype(np.int64).view(np.uint64)


def _mixed(bits: Keys) -> Keys:
    """Spread the bits (the finaliser of a multiplicative hash)."""
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits ^ (bits >> np.uint64(29)))


def first_places(columns: Sequence[ColumnView]) -> NDArray[np.int64]:
    """For each row the number of the first row equal to it (itself, if it is the first)."""
    n = columns[0].n_rows if columns else 0
    places = np.arange(n)
    if n == 0:
        return places
    keys = row_keys(columns)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    head = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    follower = ~starts
    rows, leaders = order[follower], head[follower]
    same = np.ones(len(rows), dtype=bool)
    for column in columns:
        cells = _cells(column)
        same &= cells[rows] == cells[leaders]
    places[rows[same]] = leaders[same]
    return places


def chance_pairs(columns: Sequence[ColumnView]) -> float:
    """Pairs of equal rows to be expected if the columns were independent: ``n (n - 1) / 2 x prod_j sum_v p_jv^2``."""
    n = columns[0].n_rows if columns else 0
    log_pairs = float(np.log(max(n * (n - 1) / 2, 1e-300)))
    for column in columns:
        counts = np.append(column.distinct[1], column.n_missing) / max(1, n)
        log_pairs += float(np.log((counts**2).sum()))
    return float(np.exp(min(log_pairs, 700.0)))
