"""What the training rows looked like, as counts that tell of no single row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds
from tilth.data.reading import read
from tilth.data.schema import ColumnSpec, Schema
from tilth.data.table import RawColumn, RawTable
from tilth.errors import SchemaError
from tilth.lifecycle.monitor.cells import levels_of, numbers_of, seconds_of, short_level
from tilth.quality.view import view_of
from tilth.words import listed

Floats = NDArray[np.float64]
WatchedKind = Literal["numeric", "ordinal", "nominal", "date"]
WatchedRole = Literal["feature", "aside", "target"]

#: A level or an end of a range is kept as it is only if this many rows share it, and no slice holds fewer rows.
SHARED_BY = 5
#: Slices of a numeric column.
SLICES = 10
#: Levels kept per column, fewer where very many columns have levels.
MOST_LEVELS, LEVEL_BUDGET = 50, 50_000


@dataclass(frozen=True)
class ColumnReference:
    """One column of the training rows.

    A numeric column has ``cuts`` between slices (a value at a cut belongs below it) and the ``counts`` of rows in them;
    ``low`` and ``high`` bound what was seen. Another has its commoner ``levels`` with their ``counts``;
    ``other_levels`` more levels share ``other_rows`` rows.

    Where some levels are too rare to be kept, one half of the rows says which are kept and the other half is counted:
    levels that are common in some rows are a little less so in others, and new rows are others.
    """

    name: str
    kind: WatchedKind
    role: WatchedRole = "feature"
    n_missing: int = 0
    low: float | None = None
    high: float | None = None
    cuts: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    other_rows: int = 0
    other_levels: int = 0

    @property
    def has_levels(self) -> bool:
        """Whether the column is of levels."""
        return self.kind in ("nominal", "ordinal")

    @property
    def knows_shares(self) -> bool:
        """Whether it is known how many rows each slice or level had."""
        return bool(self.counts) or self.other_rows > 0

    @property
    def n_bins(self) -> int:
        """Slices, or levels and one more for all other levels."""
        return len(self.levels) + 1 if self.has_levels else len(self.cuts) + 1

    def bin_names(self) -> list[str]:
        """Slices or levels in words."""
        if self.has_levels:
            return [*self.levels, "(other)"]
        if not self.cuts:
            return ["all"]
        inner = [f"{a:g} to {b:g}" for a, b in pairwise(self.cuts)]
        return [f"up to {self.cuts[0]:g}", *inner, f"above {self.cuts[-1]:g}"]

    def to_dict(self) -> dict[str, Any]:
        """The column as JSON-ready data; what is not known is left out."""
        content: dict[str, Any] = {"name": self.name, "kind": self.kind, "role": self.role, "missing": self.n_missing}
        if self.low is not None and self.high is not None:
            content |= {"low": self.low, "high": self.high}
        for name in ("cuts", "levels", "counts"):
            if getattr(self, name):
                content[name] = list(getattr(self, name))
        if self.has_levels:
            content |= {"other_rows": self.other_rows, "other_levels": self.other_levels}
        return content


@dataclass(frozen=True)
class Reference:
    """What the training rows looked like: per column its kind, missing cells, slices or levels with counts, and range.

    No row can be read out of it. Slices hold at least five rows and are cut at round numbers between two values; an end
    of the range is the value itself only where five rows share it, else a rounder number beyond it; a level that fewer
    than five rows share is not kept at all, only how many such levels and rows there are. Columns set aside and dates
    keep no values.

    >>> reference = Reference.of({"age": [31, 47, 52, 38, 29, 61, 44, 35, 58, 40], "sex": ["m", "f"] * 5})
    >>> reference["age"].cuts, reference["age"].counts, reference["sex"].levels
    ((42.0,), (5, 5), ('m', 'f'))
    >>> Reference.from_dict(reference.to_dict()) == reference
    True
    """

    SCHEMA: ClassVar[str] = "tilth.reference/1"

    columns: tuple[ColumnReference, ...]
    n_rows: int
    named: bool = True

    @classmethod
    def of(cls, X: Any, *, kinds: Kinds = None, schema: Schema | None = None, target: Any = None) -> Reference:
        """Remember a table.

        Parameters
        ----------
        X : any table of training rows.
        kinds, schema : the kinds of its columns, as told to a model, or the ``schema_`` that a model has; without
            either they are inferred.
        target : name of the target column, or its values; new rows that have it too are compared in it.
        """
        raw = read(X)
        if raw.is_sparse:
            raise SchemaError("Reference.of needs a table with columns; a sparse matrix has none to be watched.")
        if raw.n_rows == 0 or not raw.columns:
            raise ValueError(f"Reference.of needs rows and columns; found {raw.n_rows} x {len(raw.columns)}.")
        raw, goal = _split(raw, target)
        if schema is None:
            specs = [c.spec for c in view_of(raw, kinds=kinds).columns] if raw.columns else []
        else:
            specs = list(schema.columns)
        have = {c.name: c for c in raw.columns}
        gone = [s.name for s in specs if s.name not in have]
        if gone:
            raise SchemaError(f"Reference.of: the schema has columns that the table lacks: {listed(gone)}.")
        pairs: list[tuple[RawColumn, ColumnSpec, WatchedRole]] = [
            (have[s.name], s, "feature" if s.role == "feature" and not s.text else "aside") for s in specs
        ]
        if goal is not None:
            whole = RawTable([goal], raw.n_rows, True)
            pairs.append((goal, view_of(whole).columns[0].spec, "target"))
        with_levels = sum(spec.kind.name != "numeric" for _, spec, _ in pairs)
        most = int(np.clip(LEVEL_BUDGET // max(with_levels, 1), SHARED_BY, MOST_LEVELS))
        return cls(tuple(_remember(*pair, most) for pair in pairs), raw.n_rows, raw.named)

    @classmethod
    def of_schema(cls, schema: Schema) -> Reference:
        """What a fitted model's own ``schema_`` knows: kinds, levels, ranges and missing cells, but no shares."""
        if not schema.columns:
            raise SchemaError("A model of a sparse matrix has no columns to be watched.")
        columns = []
        for spec in schema.columns:
            kind = _kind(spec, spec.form)
            bounded = kind == "numeric" and math.isfinite(spec.low) and math.isfinite(spec.high)
            known = spec.role == "feature"
            columns.append(
                ColumnReference(
                    spec.name, kind, "feature" if known else "aside", spec.n_missing,
                    low=float(spec.low) if bounded and known else None,
                    high=float(spec.high) if bounded and known else None,
                    levels=tuple(short_level(v) for v in spec.kind.levels) if known else (),
                )
            )  # fmt: skip
        return cls(tuple(columns), max((c.n_rows for c in schema.columns), default=0), schema.named)

    def __getitem__(self, name: str) -> ColumnReference:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"The reference has no column {name!r}; it has {listed(c.name for c in self.columns)}.")

    def to_dict(self) -> dict[str, Any]:
        """The reference as JSON-ready data."""
        columns = [c.to_dict() for c in self.columns]
        return {"schema": self.SCHEMA, "rows": self.n_rows, "named": self.named, "columns": columns}

    @classmethod
    def from_dict(cls, content: Any) -> Reference:
        """The reference that :meth:`to_dict` wrote; anything else is a ``ValueError`` that says what is wrong."""
        if not isinstance(content, Mapping) or content.get("schema") != cls.SCHEMA:
            raise ValueError(f"Reference.from_dict needs data of the schema {cls.SCHEMA!r}; found {content!r:.80}.")
        rows, columns = content.get("rows"), content.get("columns")
        if not _is_count(rows) or not isinstance(columns, list) or type(content.get("named")) is not bool:
            raise ValueError("Reference.from_dict needs rows (a count), named (a boolean) and columns (a list).")
        references = tuple(_column_from(c, rows) for c in columns)
        names = [c.name for c in references]
        if len(set(names)) < len(names):
            raise ValueError("Reference.from_dict: a column occurs twice.")
        return cls(references, rows, content["named"])

    def __str__(self) -> str:
        return f"Reference of {self.n_rows:,} rows x {len(self.columns)} columns"


def _split(raw: RawTable, target: Any) -> tuple[RawTable, RawColumn | None]:
    """The columns besides the target, and the target."""
    if target is None:
        return raw, None
    if isinstance(target, str):
        return raw.without(target), raw.column(target)
    values = target.to_numpy() if hasattr(target, "to_numpy") else np.asarray(target)
    if values.ndim != 1 or len(values) != raw.n_rows:
        raise ValueError(
            f"Reference.of needs a target value for each of {raw.n_rows} rows, or a column's name; got {values.shape}."
        )
    name = getattr(target, "name", None)
    name = name if isinstance(name, str) and name not in raw.names else "(target)"
    return raw, read({name: values}).columns[0]


def _kind(spec: ColumnSpec, form: str) -> WatchedKind:
    return "date" if form == "date" or spec.expand_date else spec.kind.name


def _remember(column: RawColumn, spec: ColumnSpec, role: WatchedRole, most: int) -> ColumnReference:
    kind = _kind(spec, column.form)
    if role == "aside":
        return ColumnReference(column.name, kind, role)
    if kind in ("nominal", "ordinal"):
        return _remember_levels(column.name, kind, role, *levels_of(column), most)
    values = (numbers_of(column) if kind == "numeric" else seconds_of(column))[0]
    present = np.sort(values[~np.isnan(values)])
    gone = len(values) - present.size
    if present.size < SHARED_BY:
        return ColumnReference(column.name, kind, role, gone)
    low, high = outer_range(present) if kind == "numeric" else _days(present)
    if kind == "date":
        return ColumnReference(column.name, kind, role, gone, low, high)
    cuts, counts = slices(present)
    return ColumnReference(column.name, kind, role, gone, low, high, cuts, (), counts)


def _remember_levels(
    name: str, kind: WatchedKind, role: WatchedRole, codes: NDArray[np.int64], names: list[str], most: int
) -> ColumnReference:
    known = codes[codes >= 0]
    choosing = counted = known
    if len(names) > most or np.bincount(known, minlength=len(names)).min(initial=SHARED_BY) < SHARED_BY:
        known = np.random.default_rng(0).permutation(known)
        choosing, counted = known[: len(known) // 2], known[len(known) // 2 :]
    chosen_by = np.bincount(choosing, minlength=len(names))
    order = np.argsort(-chosen_by, kind="stable")[:most]
    kept = [int(i) for i in order if chosen_by[i] >= SHARED_BY]
    counts = np.bincount(counted, minlength=len(names))
    rest = int(counts.sum() - counts[kept].sum())
    return ColumnReference(
        name, kind, role, len(codes) - len(known), levels=tuple(names[i] for i in kept),
        counts=tuple(int(counts[i]) for i in kept), other_rows=rest, other_levels=len(names) - len(kept),
    )  # fmt: skip


def slices(present: Floats, wanted: int = SLICES) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Cuts near the deciles of sorted values, each slice with enough rows, and the rows in each slice.

    >>> slices(np.arange(20.0), 4)
    ((4.5, 9.5, 14.5), (5, 5, 5, 5))
    """
    ends = np.flatnonzero(present[1:] > present[:-1]) + 1  # rows below each possible cut
    chosen: list[int] = []
    for share in np.arange(1, wanted) / wanted if len(ends) else ():
        near = int(ends[np.abs(ends - share * present.size).argmin()])
        below = chosen[-1] if chosen else 0
        if near - below >= SHARED_BY and present.size - near >= SHARED_BY:
            chosen.append(near)
    cuts = tuple(_between(float(present[i - 1]), float(present[i])) for i in chosen)
    counts = np.diff([0, *chosen, present.size])
    return cuts, tuple(int(n) for n in counts)


def _between(a: float, b: float) -> float:
    """A round number above a and below b; a itself where there is none between them."""
    middle = a / 2 + b / 2
    gap = b - a
    if not math.isfinite(gap) or gap == 0:
        return middle
    step = 10.0 ** math.floor(math.log10(gap))
    for part in (step, step / 2):
        if part > 0:
            rounded = float(f"{round(middle / part) * part:.12g}")
            if a < rounded < b:
                return rounded
    return middle if a < middle < b else a


def outer_range(present: Floats) -> tuple[float, float]:
    """Ends of sorted values: as they are where enough rows share them, else the next rounder number beyond.

    >>> outer_range(np.array([18.3, 20, 30, 40, 50, 60, 90, 90, 90, 90, 90]))
    (18.0, 90.0)
    """
    low, high = float(present[0]), float(present[-1])
    span = high - low
    if not math.isfinite(span):
        return low, high
    step = 10.0 ** math.floor(math.log10(span / 20)) if span / 20 > 0 else 0.0
    if step > 0 and present[:SHARED_BY][-1] > low:
        low = min(low, float(f"{math.floor(low / step) * step:.12g}"))
    if step > 0 and present[-SHARED_BY:][0] < high:
        high = max(high, float(f"{math.ceil(high / step) * step:.12g}"))
    return low, high


def _days(present: Floats) -> tuple[float, float]:
    """First and last day, as seconds since 1970."""
    day = 86_400.0
    return math.floor(present[0] / day) * day, math.floor(present[-1] / day) * day + day


# -------------------------------------------------------------------------------------------- reading without trust

_FIELDS = {"name", "kind", "role", "missing"}
_MORE = {"low", "high", "cuts", "levels", "counts", "other_rows", "other_levels"}


def _column_from(content: Any, rows: int) -> ColumnReference:
    if (
        not isinstance(content, Mapping)
        or not _FIELDS <= set(content) <= _FIELDS | _MORE
        or not isinstance(content["name"], str)
    ):
        raise ValueError(f"Reference.from_dict: a column needs {', '.join(sorted(_FIELDS))}; found {content!r:.80}.")
    name = content["name"]

    def require(fine: bool, what: str) -> None:
        if not fine:
            raise ValueError(f"Reference.from_dict: column {name!r:.60} {what}.")

    kind, role = content["kind"], content["role"]
    require(kind in get_args(WatchedKind) and role in get_args(WatchedRole), "is of no known kind and role")
    require(_is_count(content["missing"]) and content["missing"] <= rows, "has no sound count of missing cells")
    has_levels = kind in ("nominal", "ordinal")
    cuts, levels, counts = (content.get(k, []) for k in ("cuts", "levels", "counts"))
    require(all(isinstance(v, list) for v in (cuts, levels, counts)), "has cuts, levels or counts that are no lists")
    require(all(_is_number(v) for v in cuts), "has a cut that is no number")
    require(all(a < b for a, b in pairwise(cuts)), "has cuts that do not rise")
    require(all(isinstance(v, str) for v in levels) and len(set(levels)) == len(levels), "has levels that are no texts")
    require(all(_is_count(v) for v in counts), "has counts that are none")
    require(not (cuts if has_levels else levels), "has both cuts and levels")
    bins = len(levels) if has_levels else len(cuts) + 1
    require(not counts or len(counts) == bins, "does not have a count for each of its levels or slices")
    require(bool(counts) or not levels or not content.get("other_rows"), "has counts of other levels alone")
    low, high = content.get("low"), content.get("high")
    require((low is None) == (high is None), "has one end of a range")
    require(low is None or (_is_number(low) and _is_number(high) and low <= high), "has no sound range")
    others = [content.get(k, 0) for k in ("other_rows", "other_levels")]
    require(all(_is_count(v) for v in others), "has no sound counts of other levels")
    require(sum(counts) + others[0] + content["missing"] <= rows, "has more cells than there are rows")
    return ColumnReference(
        name, kind, role, content["missing"], None if low is None else float(low),
        None if high is None else float(high), tuple(float(c) for c in cuts), tuple(levels), tuple(counts), *others,
    )  # fmt: skip


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**53


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1.7976931348623157e308
