"""The table as the checks see it: columns whose sorted values, counts and codes are computed once, when first asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds, decide, summarise
from tilth.data.schema import ColumnSpec
from tilth.data.table import RawColumn, RawTable, read
from tilth.errors import SchemaError
from tilth.lifecycle.profile.finding import EXAMPLES

#: Rows used by the checks that compare columns with each other, unless the caller says otherwise.
SAMPLE_ROWS = 100_000
#: A target of whole numbers with at most this many different values is taken as classes.
MAX_CLASSES = 20


class ColumnView:
    """One column: its numbers or its codes, their order and their counts."""

    def __init__(self, raw: RawColumn, spec: ColumnSpec, n_infinite: int = 0) -> None:
        self.raw = raw
        self.spec = spec
        self.name = spec.name
        self.n_infinite = n_infinite

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.raw.values)

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers (also numbers written as text)."""
        return self.spec.kind.name == "numeric" and self.raw.form != "date" and not self.is_unread
    
    @property
    def is_unread(self) -> bool:
        """Whether a column set aside is stored as text although its kind is nominally numeric."""
        return self.spec.role == "aside" and self.raw.form in ("text", "level", "boolean")

    @property
    def is_text(self) -> bool:
        """Whether the cells are words: text or categories that are not numbers."""
        return self.raw.form in ("text", "level") and not self.is_number

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Cells as float64, NaN where missing."""
        if self.raw.form == "date":
            values = self.raw.values.astype("datetime64[s]")
            return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
        return np.asarray(self.raw.typed(self.spec), dtype=np.float64)

    @cached_property
    def present(self) -> NDArray[np.float64]:
        """The numbers that are there, sorted."""
        return np.sort(self.numbers[~self.missing])

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        if self.raw.form in ("text", "level", "boolean") and not self.is_number:
            return np.asarray(self.raw.values < 0)
        return np.isnan(self.numbers)

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(self.missing.sum())

    @cached_property
    def distinct(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Distinct values (numbers sorted, or places among the levels) and how often each occurs."""
        if self.raw.form in ("text", "level", "boolean") and not self.is_number:
            counts = np.bincount(self.raw.values[self.raw.values >= 0], minlength=len(self.raw.levels))
            found = np.flatnonzero(counts)
            return found, counts[found]
        values = self.present
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if values.size else np.empty(0, int)
        return values[starts], np.diff(np.append(starts, values.size))

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.distinct[0])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Place of each cell among the distinct values, -1 where missing."""
        if self.raw.form in ("text", "level", "boolean") and not self.is_number:
            return self.raw.values.astype(np.int64)
        found = np.searchsorted(self.distinct[0], self.numbers)
        return np.where(self.missing, -1, found)

    def label(self, place: int) -> Any:
        """The value that a code or a place in ``distinct`` stands for."""
        if self.raw.form in ("text", "level", "boolean") and not self.is_number:
            return self.raw.levels[place]
        value = float(self.distinct[0][place])
        if self.raw.form == "date":
            return str(np.datetime64(int(value), "s")).replace("T00:00:00", "")
        return int(value) if value.is_integer() else value

    def level_counts(self) -> dict[Any, int]:
        """Levels of a column of words and their counts, most frequent first."""
        found, counts = self.distinct
        order = np.argsort(-counts, kind="stable")
        return {self.label(int(found[i])): int(counts[i]) for i in order}

    def take(self, rows: NDArray[np.int64]) -> ColumnView:
        """The column of these rows."""
        return ColumnView(replace(self.raw, values=self.raw.values[rows]), self.spec, self.n_infinite)


@dataclass
class View:
    """The table with its target, and what the user says of it."""

    columns: list[ColumnView]
    n_rows: int
    target: ColumnView | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    max_rows: int = SAMPLE_ROWS
    named: bool = True
    rows: NDArray[np.int64] | None = None

    @property
    def everything(self) -> list[ColumnView]:
        """All columns, the target last."""
        return self.columns + ([self.target] if self.target is not None else [])

    def column(self, name: str) -> ColumnView:
        """The column of this name."""
        return next(c for c in self.everything if c.name == name)

    def take(self, rows: NDArray[np.int64]) -> View:
        """The table of these rows, which keep their numbers."""
        target = None if self.target is None else self.target.take(rows)
        kept = rows if self.rows is None else self.rows[rows]
        return replace(self, columns=[c.take(rows) for c in self.columns], n_rows=len(rows), target=target, rows=kept)

    @cached_property
    def sample(self) -> View:
        """At most ``max_rows`` rows, drawn with a fixed seed and kept in order; the table itself when it is small."""
        if self.n_rows <= self.max_rows:
            return self
        drawn = np.random.default_rng(0).choice(self.n_rows, self.max_rows, replace=False)
        return self.take(np.sort(drawn))

    def row_numbers(self, mask: NDArray[np.bool_], limit: int = EXAMPLES) -> list[int]:
        """Numbers (from 0, in the user's table) of the first rows of a mask."""
        places = np.flatnonzero(mask)[:limit]
        return [int(i) for i in (places if self.rows is None else self.rows[places])]

    @cached_property
    def classes(self) -> NDArray[np.int64] | None:
        """The target as classes 0, 1, ... (-1 = missing), or None when there is none or it is a quantity."""
        target = self.target
        if target is None or target.raw.form == "date":
            return None
        if not target.is_number:
            return target.codes
        values = target.distinct[0]
        few = len(values) <= MAX_CLASSES and bool((values == np.floor(values)).all())
        return target.codes if few and len(values) < 0.5 * max(1, self.n_rows) else None


def view_of(
    table: Any, target: Any = None, *, kinds: Kinds = None, rules: Mapping[str, Any] | None = None,
    max_rows: int | None = None,
) -> View:
    """Read a table for the checks: kinds inferred, infinite cells counted and taken as missing."""
    raw = read(table)
    if raw.is_sparse:
        raise SchemaError("profile needs a table with columns; a sparse matrix has none that can be checked one by one.")
    raw, target_name = _with_target(raw, target)
    for name in rules or {}:
        raw.column(name)
    infinite = {}
    columns = []
    for column in raw.columns:
        values = column.values
        if values.dtype.kind == "f" and np.isinf(values).any():
            infinite[column.name] = int(np.isinf(values).sum())
            column = replace(column, values=np.where(np.isinf(values), np.nan, values))
        columns.append(column)
    # Without the matrix each column is summarised by itself, which also counts the values of small whole numbers.
    clean = RawTable(columns, raw.n_rows, raw.named, None, raw.native)
    wanted = [n for n, k in kinds.items() if k in ("nominal", "ordinal")] if isinstance(kinds, Mapping) else []
    schema = decide(summarise(clean, wanted), raw.named, kinds)
    views = [ColumnView(c, s, infinite.get(c.name, 0)) for c, s in zip(columns, schema.columns, strict=True)]
    return View(
        [v for v in views if v.name != target_name],
        raw.n_rows,
        next((v for v in views if v.name == target_name), None),
        dict(rules or {}),
        SAMPLE_ROWS if max_rows is None else max_rows,
        raw.named,
    )


def _with_target(raw: RawTable, target: Any) -> tuple[RawTable, str | None]:
    """The table with the target among its columns, and its name."""
    if target is None or isinstance(target, str):
        if target is not None:
            raw.column(target)
        return raw, target
    values = target.to_numpy() if hasattr(target, "to_numpy") else np.asarray(target)
    if values.ndim != 1 or len(values) != raw.n_rows:
        raise ValueError(
            f"profile needs a target with one value per row ({raw.n_rows}), or the name of a column; got shape {values.shape}."
        )
    name = getattr(target, "name", None)
    name = name if isinstance(name, str) and name not in raw.names else "(target)"
    column = replace(read({name: values}).columns[0], name=name)
    return RawTable([*raw.columns, column], raw.n_rows, raw.named, None, raw.native), name
