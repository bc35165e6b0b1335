"""The table as the checks see it: its columns, its target, a sample for the costly checks, and which rows are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds, decide, summarise
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import SchemaError
from tilth.quality.column import ColumnView
from tilth.quality.equal import first_places
from tilth.quality.finding import EXAMPLES

#: Rows used by the checks that compare columns with each other, unless the caller says otherwise.
SAMPLE_ROWS = 100_000
#: A target of whole numbers with at most this many different values is taken as classes.
MAX_CLASSES = 20


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
    def first_rows(self) -> NDArray[np.int64]:
        """For each row the place of the first row equal to it in every column."""
        return first_places(self.everything) if self.everything else np.arange(self.n_rows)

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """Which rows repeat no earlier row."""
        return np.asarray(self.first_rows == np.arange(self.n_rows))

    @cached_property
    def classes(self) -> NDArray[np.int64] | None:
        """The target as classes 0, 1, ... (-1 = missing), or None when there is none or it is a quantity."""
        target = self.target
        if target is None or target.raw.form == "date":
            return None
        if not target.is_number and target.raw.form not in ("number", "integer"):
            return target.codes if target.spec.role == "feature" else None
        values = target.distinct[0]
        few = len(values) <= MAX_CLASSES and bool((values == np.floor(values)).all())
        return target.codes if few and len(values) < 0.5 * max(1, self.n_rows) else None


def view_of(
    table: Any,
    target: Any = None,
    *,
    kinds: Kinds = None,
    rules: Mapping[str, Any] | None = None,
    max_rows: int | None = None,
) -> View:
    """Read a table for the checks: kinds inferred, infinite cells counted and taken as missing."""
    raw = read(table)
    if raw.is_sparse:
        raise SchemaError("profile needs a table with columns; a sparse matrix has no named columns.")
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
            f"profile needs a target value for each of {raw.n_rows} rows, or a column's name; got {values.shape}."
        )
    name = getattr(target, "name", None)
    name = name if isinstance(name, str) and name not in raw.names else "(target)"
    column = replace(read({name: values}).columns[0], name=name)
    return RawTable([*raw.columns, column], raw.n_rows, raw.named, None, raw.native), name
