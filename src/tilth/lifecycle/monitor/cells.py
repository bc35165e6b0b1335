"""Cells of a raw column as numbers or as levels, read alike for training rows and for new rows."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tilth.data.dates import dates_of
from tilth.data.kinds import level_key
from tilth.data.numbers import parse_number
from tilth.data.table import RawColumn

Floats = NDArray[np.float64]
#: Characters of a level that are kept; a longer one is told from others by a hash of the whole.
LONGEST = 100


def numbers_of(column: RawColumn) -> tuple[Floats, int]:
    """Numbers with NaN for missing, and how many cells are there but are no numbers.

    An infinite number counts as missing, since no model takes it.
    """
    if column.form == "date":
        return np.full(len(column.values), np.nan), int((~np.isnat(column.values)).sum())
    if column.form in ("number", "integer"):
        values = np.asarray(column.values, dtype=np.float64)
        return (values if np.isfinite(values).all() else np.where(np.isfinite(values), values, np.nan)), 0
    parsed = [parse_number(v) for v in column.levels]
    lookup = np.array([*(np.nan if p is None or not np.isfinite(p) else p for p in parsed), np.nan])
    odd = np.array([*(p is None for p in parsed), False])
    return lookup[column.values], int(odd[column.values].sum())


def seconds_of(column: RawColumn) -> tuple[Floats, int]:
    """Dates as seconds since 1970, NaN for missing, and how many cells are there but are no dates."""
    if column.form == "date":
        values = column.values.astype("datetime64[s]")
        return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64)), 0
    if column.form in ("text", "level"):
        dates, wrong = dates_of(column.levels, column.values)
        unread = np.isin(column.values, [i for i, v in enumerate(column.levels) if v in set(wrong)])
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64)), int(unread.sum())
    gone = np.isnan(column.values) if column.values.dtype.kind == "f" else np.asarray(column.values) < 0
    gone = np.zeros(len(gone), dtype=bool) if column.form == "integer" else gone
    return np.full(len(column.values), np.nan), int((~gone).sum())


def levels_of(column: RawColumn) -> tuple[NDArray[np.int64], list[str]]:
    """Places among the levels (-1 = missing), and the levels as texts, in the order in which they first occur."""
    if column.form in ("number", "integer"):
        values = np.asarray(column.values, dtype=np.float64)
        gone = ~np.isfinite(values)
    elif column.form == "date":
        values, gone = column.values.astype("datetime64[s]"), np.isnat(column.values)
    else:
        values, gone = column.values, column.values < 0
    distinct, first, place = np.unique(values[~gone], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[~gone] = rank[place.ravel()]
    if column.form in ("number", "integer"):
        return codes, [level_key(v) for v in distinct[order]]
    if column.form == "date":
        return codes, [str(v) for v in distinct[order]]
    return codes, [short_level(column.levels[int(v)]) for v in distinct[order]]


def short_level(level: object) -> str:
    """A level as text of bounded length.

    >>> short_level("red"), len(short_level("x" * 5000))
    ('red', 100)
    """
    key = level_key(level).encode("utf-8", "replace").decode()
    if len(key) <= LONGEST:
        return key
    return key[: LONGEST - 17] + "~" + hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
