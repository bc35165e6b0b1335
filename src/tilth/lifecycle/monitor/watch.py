"""Counting new rows against a reference, a chunk at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import level_key
from tilth.data.numbers import parse_number
from tilth.data.reading import read
from tilth.data.schema import Schema
from tilth.data.table import RawColumn, RawTable
from tilth.errors import ModelFileError, SchemaError
from tilth.lifecycle.monitor.cells import levels_of, numbers_of, seconds_of
from tilth.lifecycle.monitor.reference import ColumnReference, Reference
from tilth.lifecycle.monitor.result import Monitoring, judge
from tilth.lifecycle.save import parts_of, read_about
from tilth.quality.shift import LEVEL

#: Levels outside the reference that are remembered by name, and names of new columns.
EXAMPLES, MOST_NAMES = 20, 1000


@dataclass
class Tally:
    """Counts of the new cells of one column: by slice or level, beyond the range, missing, unreadable, not given."""

    counts: NDArray[np.int64]
    n_missing: int = 0
    n_absent: int = 0
    n_unreadable: int = 0
    below: int = 0
    above: int = 0
    low: float = np.inf
    high: float = -np.inf
    unlisted: dict[str, int] = field(default_factory=dict)

    def __iadd__(self, other: Tally) -> Tally:
        self.counts = self.counts + other.counts
        for name in ("n_missing", "n_absent", "n_unreadable", "below", "above"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        for level, rows in other.unlisted.items():
            if level in self.unlisted or len(self.unlisted) < EXAMPLES:
                self.unlisted[level] = self.unlisted.get(level, 0) + rows
        return self


class Watcher:
    """Compares new rows with a reference as they come; memory does not grow with them.

    The order of chunks and where they are cut changes nothing in the counts. Asking for :meth:`result` again and again
    while rows come in gives chance as many tries: the level of its tests holds for one look.

    >>> watcher = Watcher(Reference.of({"age": list(range(20, 60)), "sex": ["m", "f"] * 20}))
    >>> watcher.add({"age": [25.0, 31.0], "sex": ["f", "x"]}).add({"age": [44.0], "sex": ["m"]})
    <Watcher: 3 rows>
    >>> watcher.result().of("serious")
    []
    """

    def __init__(self, reference: Reference, *, level: float = LEVEL) -> None:
        if not isinstance(reference, Reference):
            raise TypeError(
                f"Watcher needs a Reference; found {type(reference).__name__}. Make one by Reference.of(X)."
            )
        if not (isinstance(level, float) and 0 < level < 1):
            raise ValueError(f"Watcher: level must be a number between 0 and 1; found {level!r}.")
        self.reference = reference
        self.level = level
        self.n_rows = 0
        self._watched = [c for c in reference.columns if c.role != "aside"]
        self._tallies = {c.name: Tally(np.zeros(c.n_bins, dtype=np.int64)) for c in self._watched}
        self._extra: dict[str, None] = {}

    def add(self, chunk: Any) -> Watcher:
        """Count the rows of a table: all of them, or none if it cannot be read."""
        raw = read(chunk)
        if raw.is_sparse:
            raise SchemaError("Watcher needs a table with columns; a sparse matrix has none to be watched.")
        if raw.n_rows == 0:
            return self
        have = self._by_name(raw)
        fresh = {c.name: _count(c, have.get(c.name), raw.n_rows) for c in self._watched}
        for name, tally in fresh.items():
            self._tallies[name] += tally
        known = {c.name for c in self.reference.columns}
        for name in have:
            if name not in known and len(self._extra) < MOST_NAMES:
                self._extra[name] = None
        self.n_rows += raw.n_rows
        return self

    def _by_name(self, raw: RawTable) -> dict[str, RawColumn]:
        """The columns by the names of the reference; in order where one of the tables has no names."""
        if raw.named and self.reference.named:
            return {c.name: c for c in raw.columns}
        names = [c.name for c in self.reference.columns if c.role != "target"]
        if len(names) != len(raw.columns):
            raise SchemaError(
                f"The rows have {len(raw.columns)} columns without names, and the reference has {len(names)}; give "
                "the columns their names."
            )
        return dict(zip(names, raw.columns, strict=True))

    def result(self) -> Monitoring:
        """What has changed, judged on all rows so far."""
        return judge(self.reference, self.n_rows, self._tallies, list(self._extra), self.level)

    def __repr__(self) -> str:
        return f"<Watcher: {self.n_rows:,} rows>"


def _count(column: ColumnReference, cells: RawColumn | None, n_rows: int) -> Tally:
    tally = Tally(np.zeros(column.n_bins, dtype=np.int64))
    if cells is None:
        tally.n_missing = tally.n_absent = n_rows
        return tally
    if column.has_levels:
        codes, names = levels_of(cells)
        place = {level: i for i, level in enumerate(column.levels)}
        if cells.form in ("number", "integer"):
            # As models read them: the number 7 is the level "007".
            numbers = {level_key(n): i for v, i in place.items() if (n := parse_number(v)) is not None}
            place = numbers | place
        other = len(column.levels)
        lookup = np.array([place.get(name, other) for name in names], dtype=np.int64)
        rows = np.bincount(codes[codes >= 0], minlength=len(names))
        np.add.at(tally.counts, lookup, rows)
        tally.n_missing = int((codes < 0).sum())
        # All of them: which are remembered is decided where chunks come together, so that cuts do not matter.
        tally.unlisted = {name: int(k) for name, k, i in zip(names, rows, lookup, strict=True) if i == other}
        return tally
    values, tally.n_unreadable = numbers_of(cells) if column.kind == "numeric" else seconds_of(cells)
    present = values[~np.isnan(values)]
    tally.n_missing = len(values) - present.size
    places = np.searchsorted(np.asarray(column.cuts), present, side="left")
    tally.counts = np.bincount(places, minlength=column.n_bins)
    if present.size:
        tally.low, tally.high = float(present.min()), float(present.max())
    if column.low is not None and column.high is not None:
        tally.below, tally.above = int((present < column.low).sum()), int((present > column.high).sum())
    return tally


def monitor(known: Any, X_new: Any, *, level: float = LEVEL) -> Monitoring:
    """Compare new rows with the rows a model was trained on: columns, ranges, levels, missing cells, shares.

    Parameters
    ----------
    known : a :class:`Reference`, the path of a model file that holds one (see :func:`tilth.lifecycle.save.read_about`),
        or a fitted model, which knows levels and ranges but no shares.
    X_new : the new rows, any table. For rows that come in parts, see :class:`Watcher`.
    level : chance that any alarm is false, over all columns and tests together (Holm).

    Numbers and levels: chi-square of slices or levels. Missing cells, and levels never or hardly seen: exact
    hypergeometric tests. Range: by chance alone, j new values lie above m old ones with probability C(n, j) /
    C(m + n, j). A change counts when it is significant and large; where even a large one could not be seen, the result
    says so.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> before = {"age": rng.normal(40, 9, 500), "pay": rng.normal(30, 5, 500)}
    >>> now = {"age": rng.normal(40, 9, 300), "pay": rng.normal(36, 5, 300)}
    >>> print(monitor(Reference.of(before), now).verdict())
    1 of 2 columns has changed: pay. Scores measured on the old rows do not carry over.
    """
    return Watcher(reference_of(known), level=level).add(X_new).result()


def reference_of(known: Any) -> Reference:
    """The reference that a model file holds, or what a fitted model knows by itself."""
    if isinstance(known, Reference):
        return known
    if isinstance(known, (str, os.PathLike)):
        path = Path(known)
        reference = read_about(path).get("reference")
        if reference is None:
            raise ModelFileError(
                f"{path.name} does not say what its training rows looked like; save the model with "
                "about={'reference': Reference.of(X).to_dict()}, or give the loaded model."
            )
        try:
            return Reference.from_dict(reference)
        except ValueError as error:
            raise ModelFileError(f"The reference in {path.name} cannot be used: {error}") from error
    schema = getattr(next(iter(parts_of(known)), None), "schema_", None)
    if not isinstance(schema, Schema):
        raise TypeError(
            f"monitor needs a Reference, a fitted model of tilth or the path of a model file; found "
            f"{type(known).__name__}. Make a reference by Reference.of(X)."
        )
    return Reference.of_schema(schema)
