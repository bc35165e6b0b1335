"""What is known of a table before any row is used: names, kinds with reasons, roles, ranges, missing counts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import Kind, level_key
from tilth.errors import SchemaError
from tilth.params import stored
from tilth.words import listed

if TYPE_CHECKING:
    import pandas as pd

#: What a column is for. Models learn from features alone; whoever needs a group, a weight or a user finds it by role.
Role = Literal["feature", "aside", "target", "user", "item", "sequence", "time", "group", "weight", "sensitive"]
#: The roles under which a column is never learned from.
NOT_LEARNED: tuple[str, ...] = get_args(Role)[1:]
Form = Literal["number", "integer", "boolean", "text", "level", "date"]
DATE_PARTS = ("year", "month", "day", "weekday", "days")


@stored
@dataclass(frozen=True)
class ColumnSpec:
    """One column: its kind and why, and what was seen of it.

    ``form`` is how the column was stored, ``role`` what it is for: ``"feature"``, ``"aside"`` for a column no model
    should use (an identifier), or one of target, user, item, sequence, time, group, weight, sensitive; ``low`` and
    ``high`` the observed range of a numeric column, ``n_missing`` of ``n_rows`` cells were empty, and ``tokens`` are
    the texts that stood for a missing number. ``text`` marks free text, which only some models use.
    """

    name: str
    kind: Kind
    reason: str
    form: Form = "number"
    role: Role = "feature"
    n_rows: int = 0
    n_missing: int = 0
    low: float = float("nan")
    high: float = float("nan")
    expand_date: bool = False
    tokens: tuple[str, ...] = ()
    text: bool = False

    @property
    def has_missing(self) -> bool:
        """Whether a cell was missing in the rows the schema was made from."""
        return self.n_missing > 0

    @property
    def typed_names(self) -> list[str]:
        """What the column is called in a typed table: itself, or the parts of a date."""
        return [f"{self.name}.{part}" for part in DATE_PARTS] if self.expand_date else [self.name]


@stored
@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. ``named`` is False when the names were made up for a plain array.

    ``width`` alone (and no columns) describes a sparse matrix: that many numeric columns, nothing missing.
    """

    columns: tuple[ColumnSpec, ...]
    named: bool = True
    width: int = 0

    def __post_init__(self) -> None:
        if self.columns:
            object.__setattr__(self, "width", len(self.columns))

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        if self.columns:
            return tuple(c.name for c in self.columns)
        return tuple(f"x{j}" for j in range(self.width))

    @functools.cached_property
    def by_name(self) -> dict[str, ColumnSpec]:
        """The columns by name."""
        return {c.name: c for c in self.columns}

    @functools.cached_property
    def features(self) -> tuple[ColumnSpec, ...]:
        """The columns a model may use."""
        return tuple(c for c in self.columns if c.role == "feature")

    def stated_kinds(self) -> dict[str, Any]:
        """The kinds as a user would state them, so that every part of the rows is read alike.

        Levels of nominal columns are left to each part.
        """
        kinds: dict[str, Any] = {}
        for spec in self.columns:
            if spec.text:
                kinds[spec.name] = "text"
            elif spec.role != "feature":
                kinds[spec.name] = spec.role
            elif spec.expand_date:
                kinds[spec.name] = "date"
            elif spec.form != "date":  # a date nobody spoke of is for the model to refuse
                kinds[spec.name] = list(spec.kind.levels) if spec.kind.name == "ordinal" else spec.kind.name
        return kinds

    @functools.cached_property
    def all_numbers(self) -> bool:
        """Whether every column is a number that models use."""
        return all(c.kind.name == "numeric" and c.role == "feature" and c.form != "date" for c in self.columns)

    def bounds(self, names: list[str], far: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The training range of these numbers, or with ``far`` as much again at both ends; infinite where unknown."""
        low, high = self._bounds[far]
        if self.all_numbers and len(names) == len(low):
            return low, high
        places = {c.name: j for j, c in enumerate(self.columns)}
        at = [places.get(name, -1) for name in names]
        return np.append(low, -np.inf)[at], np.append(high, np.inf)[at]

    @functools.cached_property
    def _bounds(self) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]:
        low, high = np.array([(c.low, c.high) for c in self.columns], dtype=np.float64).reshape(-1, 2).T
        with np.errstate(invalid="ignore", over="ignore"):
            room = np.where(high > low, high - low, np.inf)
            far = low - room, high + room
        return tuple(
            (np.where(np.isnan(a), -np.inf, a), np.where(np.isnan(b), np.inf, b)) for a, b in ((low, high), far)
        )

    def with_text(self) -> Schema:
        """The schema for a model that uses free text, which is set aside for others."""
        if not any(c.text for c in self.columns):
            return self
        columns = tuple(dataclasses.replace(c, role="feature") if c.text else c for c in self.columns)
        return dataclasses.replace(self, columns=columns)

    def __len__(self) -> int:
        return self.width

    def __iter__(self) -> Iterator[ColumnSpec]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> ColumnSpec:
        if name in self.by_name:
            return self.by_name[name]
        raise SchemaError(f"There is no column {name!r}; the columns are {listed(self.names, 8, quoted=True)}.")

    def merge(self, other: Schema) -> Schema:
        """The schema of both tables' rows together: levels united (ours first), ranges widened, counts added."""
        if self.names != other.names:
            raise SchemaError(
                f"Cannot merge schemas of {listed(self.names, 8, quoted=True)} and "
                f"{listed(other.names, 8, quoted=True)}."
            )
        return dataclasses.replace(self, columns=tuple(map(_merge_columns, self.columns, other.columns)))

    def frame(self) -> pd.DataFrame:
        """One row per column: name, kind, role, missing, range or levels, reason."""
        import pandas as pd

        return pd.DataFrame(
            {
                "column": [c.name for c in self.columns],
                "kind": [c.kind.name for c in self.columns],
                "role": [c.role for c in self.columns],
                "missing": [c.n_missing for c in self.columns],
                "values": [_values_text(c) for c in self.columns],
                "reason": [c.reason for c in self.columns],
            }
        )

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            (c.name, c.kind.name if c.role == "feature" else c.role, c.reason) for c in self.columns
        ]
        return table_text(rows) if rows else f"{self.width} numeric columns of a sparse matrix"

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        if not self.columns:
            return "" if self.width >= 0 else "a negative width"
        return "" if len(set(self.names)) == len(self) else "two columns of one name"


def _merge_columns(a: ColumnSpec, b: ColumnSpec) -> ColumnSpec:
    if a.kind.name != b.kind.name:
        raise SchemaError(
            f"Column {a.name!r} is {a.kind.name} in one part and {b.kind.name} in another; "
            f"fix it with kinds={{{a.name!r}: {a.kind.name!r}}}."
        )
    levels = a.kind.levels
    known = {level_key(v) for v in levels}
    levels += tuple(v for v in b.kind.levels if level_key(v) not in known)
    low = min((v for v in (a.low, b.low) if v == v), default=float("nan"))
    high = max((v for v in (a.high, b.high) if v == v), default=float("nan"))
    return dataclasses.replace(
        a,
        kind=Kind(a.kind.name, levels),
        n_rows=a.n_rows + b.n_rows,
        n_missing=a.n_missing + b.n_missing,
        low=low,
        high=high,
        tokens=tuple(dict.fromkeys(a.tokens + b.tokens)),
    )


def _values_text(spec: ColumnSpec) -> str:
    if spec.kind.name == "numeric":
        return f"{spec.low:g} to {spec.high:g}" if spec.low == spec.low else ""
    text = str(spec.kind)
    return text[text.index("(") + 1 : -1]


def table_text(rows: list[tuple[str, ...]], indent: str = "  ") -> str:
    """Rows of words as aligned plain text; the last column is free."""
    if not rows:
        return ""
    widths = [min(28, max(len(r[i]) for r in rows)) for i in range(len(rows[0]) - 1)]
    return "\n".join(
        indent + "  ".join([f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)] + [row[-1]]).rstrip()
        for row in rows
    )
