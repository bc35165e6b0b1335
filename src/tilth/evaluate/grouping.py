"""Rows by group: the levels of a sensitive column, bands of a number, missing as a group of its own, intersections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.columns import take_rows
from tilth.data.infer import Kinds
from tilth.data.kinds import sort_levels
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import SchemaError
from tilth.quality.column import ColumnView
from tilth.quality.view import view_of
from tilth.words import TEXT_LENGTH, listed

Ints = NDArray[np.int64]

#: Groups of one column at most: with more, most are too small to say anything about.
MOST_GROUPS = 50
#: A number with at most this many values is taken as levels, not cut into bands.
FEW_VALUES = 6
#: What the group of rows without a value is called.
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows by group: ``codes[i]`` is the place of row i's group among ``labels``, ``columns`` what it is made of."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Ints

    @property
    def name(self) -> str:
        """The column, or several joined: "sex x race"."""
        return " x ".join(self.columns)

    @property
    def size(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def rows(self) -> Ints:
        """Rows in each group."""
        return np.bincount(self.codes, minlength=self.size)

    def words(self) -> NDArray[Any]:
        """The label of every row's group; None where the value is missing."""
        lookup = np.array([None if label == MISSING else label for label in self.labels], dtype=object)
        return np.asarray(lookup[self.codes])

    def known(self) -> NDArray[np.bool_]:
        """Rows whose group is known."""
        return np.array([label != MISSING for label in self.labels])[self.codes]


def sensitive_table(sensitive: Any, names: Sequence[str] | None, owner: str) -> RawTable:
    """Sensitive values as a table: from a table, one column, or an array with a column per attribute."""
    if isinstance(sensitive, RawTable):
        return sensitive
    if isinstance(names, str):
        names = [names]
    source = sensitive
    if hasattr(sensitive, "to_frame") and not hasattr(sensitive, "columns"):
        source = {str(getattr(sensitive, "name", None) or "group"): sensitive}
    elif not hasattr(sensitive, "columns") and not hasattr(sensitive, "keys"):
        cells = np.asarray(sensitive)
        if cells.dtype.kind in "US":  # a missing value beside text must not become a text
            cells = np.frompyfunc(lambda v: str(v) if isinstance(v, str) else v, 1, 1)(np.asarray(sensitive, object))
        if cells.ndim not in (1, 2):
            raise ValueError(f"{owner} needs one value, or one row of values, for each row; found shape {cells.shape}.")
        columns = cells[:, None] if cells.ndim == 1 else cells
        group_names = [f"group {j + 1}" for j in range(columns.shape[1])] if columns.shape[1] > 1 else ["group"]
        source = {name: columns[:, j] for j, name in enumerate(group_names)}
    table = read(source)
    if not table.width or not table.n_rows:
        raise ValueError(f"{owner} needs at least one sensitive column with rows; found none.")
    if names is None:
        return table
    if len(names) != table.width:
        raise ValueError(f"{owner}: names must name the {table.width} sensitive columns; found {len(names)} names.")
    if len(set(map(str, names))) != table.width:
        raise ValueError(f"{owner}: names must differ from each other; found {list(names)}.")
    renamed = [replace(c, name=str(name)) for name, c in zip(names, table.columns, strict=True)]
    return RawTable(renamed, table.n_rows, True, None, table.native)


def chosen_columns(table: RawTable, names: Any, owner: str) -> list[str]:
    """Names of columns of a table, each checked; a near miss is suggested."""
    wanted = [names] if isinstance(names, str) else [str(n) for n in names]
    if not wanted:
        raise ValueError(f"{owner} needs the name of at least one sensitive column; found none.")
    for name in wanted:
        if name not in table.names:
            near = get_close_matches(name, table.names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the columns are {listed(map(repr, table.names), 12)}."
            raise SchemaError(f"{owner}: there is no column {name!r} to take as sensitive; {hint}")
    return list(dict.fromkeys(wanted))


def kinds_of(kinds: Kinds, table: RawTable) -> Kinds:
    """What the user says of the columns of this table."""
    return {k: v for k, v in kinds.items() if k in table.names} if isinstance(kinds, Mapping) else kinds


def aligned(table: RawTable, n: int, rows: Any, owner: str) -> RawTable:
    """The row of the table that each of n answers is about; ``rows`` are their places, None means one after another."""
    if rows is None:
        if table.n_rows != n:
            raise ValueError(
                f"{owner} needs a row of the table for each of the {n} answers; found {table.n_rows}. Say rows=, the "
                "row that each answer is about."
            )
        return table
    places = row_places(rows, n, table.n_rows, owner)
    return take_rows(table, places)


def row_places(rows: Any, n: int, n_rows: int | None, owner: str) -> Ints:
    """Row numbers as given by a user, one per answer."""
    places = np.asarray(rows)
    if places.shape != (n,) or places.dtype.kind not in "iu":
        raise ValueError(f"{owner}: rows needs a whole number for each of the {n} answers; got shape {places.shape}.")
    if n and (places.min() < 0 or (n_rows is not None and places.max() >= n_rows)):
        raise ValueError(
            f"{owner}: rows must lie within the table's 0 to {(n_rows or 1) - 1}; found {places.min()} to "
            f"{places.max()}."
        )
    return places.astype(np.int64)


def groupings(
    table: RawTable,
    *,
    kinds: Kinds = None,
    bands: int = 4,
    intersections: bool = True,
    owner: str = "by_group",
) -> tuple[list[Grouping], list[str]]:
    """The groups of each column, then of pairs of columns and of all together, and notes on what was left out.

    Parameters
    ----------
    bands : a number with more than a few values is cut into this many bands of about as many rows each.
    """
    if isinstance(bands, bool) or not isinstance(bands, (int, np.integer)) or bands < 2:
        raise ValueError(f"{owner}: bands must be a whole number of at least 2; got {bands!r}.")
    single = [_of_column(c, int(bands), owner) for c in view_of(table, kinds=kinds).columns]
    all_groupings, notes = list(single), list[str]()
    if not intersections or len(single) < 2:
        return all_groupings, notes
    several = list(combinations(single, 2)) + ([tuple(single)] if len(single) > 2 else [])
    for parts in several:
        joined = _crossed(parts)
        if joined.size > MOST_GROUPS:
            notes.append(
                f"{joined.name} has {joined.size} groups, more than {MOST_GROUPS}: left out. Join levels to see it."
            )
        else:
            all_groupings.append(joined)
    return all_groupings, notes


def _of_column(column: ColumnView, bands: int, owner: str) -> Grouping:
    if column.is_coded:
        codes, labels = _levels(column)
    elif column.n_distinct <= FEW_VALUES or column.spec.kind.name != "numeric":
        codes, labels = column.codes, [str(column.label(j)) for j in range(column.n_distinct)]
    else:
        codes, labels = _bands(column, bands)
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{owner}: {column.name!r} has {len(labels)} groups, more than {MOST_GROUPS}. Join rare levels into one, "
            "or give a coarser column (a region for a postcode, a decade for a date of birth)."
        )
    if column.n_missing:
        codes = np.where(codes < 0, len(labels), codes)
        labels.append(MISSING)
    if len(labels) < 2:
        groups = f"one: {labels[0]!r}" if labels else "none"
        raise ValueError(
            f"{owner} needs at least two groups to compare in {column.name!r}; found {groups}. Take it out of the "
            "sensitive columns, or give rows of other groups too."
        )
    return Grouping((column.name,), tuple(_told_apart(labels)), codes.astype(np.int64))


def _levels(column: ColumnView) -> tuple[Ints, list[str]]:
    """Levels that occur, in their own order or a natural one."""
    places = column.places.tolist()
    if column.spec.kind.name != "ordinal":
        by_name = {level: place for place in places for level in [column.label(place)]}
        places = [by_name[level] for level in sort_levels(list(by_name))]
    lookup = np.full(len(column.raw.levels) + 1, -1, dtype=np.int64)
    lookup[places] = np.arange(len(places))
    return lookup[column.codes], [str(column.label(p)) for p in places]


def _bands(column: ColumnView, bands: int) -> tuple[Ints, list[str]]:
    """Bands of about as many rows each; equal values stay together, so there may be fewer bands."""
    values = column.present
    places = (np.arange(1, bands) * len(values) // bands).clip(1) - 1
    cuts = np.unique(values[places])
    cuts = cuts[cuts < values[-1]]
    codes = np.where(column.missing, -1, np.searchsorted(cuts, column.numbers, side="left"))
    ends = np.searchsorted(values, cuts, side="right")
    first, last = np.append(0, ends), np.append(ends, len(values)) - 1

    def said(value: float) -> str:
        if column.raw.form == "date":
            return str(column.label(int(np.searchsorted(column.distinct[0], value))))
        return f"{value:g}"

    pairs = [(said(values[a]), said(values[b])) for a, b in zip(first, last, strict=True)]
    return codes, [low if low == high else f"{low} to {high}" for low, high in pairs]


def _told_apart(labels: list[str]) -> list[str]:
    """Labels of bounded length that still differ from each other."""
    short = [t if len(t) <= TEXT_LENGTH else t[: TEXT_LENGTH - 3] + "..." for t in labels]
    seen: dict[str, int] = {}
    for i, label in enumerate(short):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            short[i] = f"{label} ({seen[label]})"
    return short


def _crossed(parts: Sequence[Grouping]) -> Grouping:
    """The groups of several columns together, those that have rows."""
    place = np.ravel_multi_index([p.codes for p in parts], [p.size for p in parts])
    cells, codes = np.unique(place, return_inverse=True)
    each = np.unravel_index(cells, [p.size for p in parts])
    labels = [", ".join(p.labels[int(c[i])] for p, c in zip(parts, each, strict=True)) for i in range(len(cells))]
    names = tuple(c for p in parts for c in p.columns)
    return Grouping(names, tuple(labels), codes.astype(np.int64))
