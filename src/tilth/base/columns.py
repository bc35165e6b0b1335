"""New rows against the schema a model was trained on: order, missing and extra columns, unseen levels, ranges."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.convert import Accepts
from tilth.data.infer import infer
from tilth.data.kinds import Kind
from tilth.data.schema import Schema
from tilth.data.table import UNSEEN, RawColumn, RawTable, Table
from tilth.errors import SchemaError, warn_data

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base.target import TargetName


def align(table: RawTable, schema: Schema, owner: str, target: TargetName = None) -> RawTable:
    """The columns of ``table`` in the order of ``schema``, found by name where both have names."""
    if table.n_rows == 0 or table.width == 0:
        require_rows(table, owner)
    if not (schema.named and table.named):
        if table.width != len(schema):
            raise ValueError(f"X has {table.width} features, but {owner} is expecting {len(schema)} features as input.")
        if schema.named and not table.is_sparse:
            warn_data("W107", f"X does not have valid feature names, but {owner} was fitted with feature names; "
                      "columns were taken in order.")  # fmt: skip
        if table.is_sparse or table.names == list(schema.names):
            return table
        renamed = [
            RawColumn(n, c.form, c.values, c.levels, c.ordered)
            for n, c in zip(schema.names, table.columns, strict=True)
        ]
        return RawTable(renamed, table.n_rows, schema.named, table.matrix, table.native)
    if table.names == list(schema.names):
        return table
    have = {c.name: c for c in table.columns}
    gone = [c.name for c in schema.features if c.name not in have]
    if gone:
        raise SchemaError(
            f"{owner} was trained on {len(gone)} column{'s' * (len(gone) > 1)} that X lacks: "
            f"{', '.join(map(repr, gone[:8]))}. X has {', '.join(map(repr, table.names[:12]))}."
        )
    known = {*schema.names, *([target] if isinstance(target, str) else target or ())}
    extra = [n for n in table.names if n not in known]
    if extra:
        warn_data("W103", f"{owner} ignored {len(extra)} column{'s' * (len(extra) > 1)} it was not trained on: "
                  f"{', '.join(map(repr, extra[:5]))}.")  # fmt: skip
    empty = np.full(table.n_rows, np.nan)
    columns = [have.get(n) or RawColumn(n, "number", empty) for n in schema.names]
    return RawTable(columns, table.n_rows, True, None, table.native)


def require_rows(table: RawTable, owner: str) -> None:
    """Refuse a table without rows or columns."""
    if table.n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {table.width})) while a minimum of 1 is required by {owner}."
        )
    if table.width == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required by {owner}."
        )


@dataclass(frozen=True)
class Remark:
    """One thing about new rows that training had not: a code, the column, how many rows, and an example."""

    code: str
    column: str
    count: int
    text: str


def examine(table: Table, raw: RawTable | None, schema: Schema, far_only: bool) -> list[Remark]:
    """Unseen levels and values outside the training range; with ``far_only`` only those beyond twice the range.

    ``raw`` is where the table was read from, to quote an unseen level; a table of numbers alone needs none.
    """
    remarks = [] if raw is None else [*_unseen_levels(table, raw), *_odd_tokens(raw, schema)]
    return remarks + _outside_range(table, schema, far_only)


def _unseen_levels(table: Table, raw: RawTable) -> list[Remark]:
    remarks: list[Remark] = []
    if not table.has_unseen():
        return remarks
    sources = {c.name: c for c in raw.columns}
    for column in table.of_kind("nominal", "ordinal"):
        where = np.flatnonzero(column.values == UNSEEN)
        if len(where):
            source = sources[column.name]
            example = source.levels[source.values[where[0]]] if source.levels else source.values[where[0]]
            rows = f"{len(where)} row{'s hold' if len(where) > 1 else ' holds'}"
            text = f"{rows} a level of {column.name!r} that training did not have, such as {example!r}"
            remarks.append(Remark("W101", column.name, len(where), text))
    return remarks


def _odd_tokens(raw: RawTable, schema: Schema) -> Iterator[Remark]:
    for column, spec in zip(raw.columns, schema.columns, strict=False):
        odd = column.odd_tokens(spec) if column.form == "text" and spec.role == "feature" else {}
        if odd:
            cells = sum(odd.values())
            rows = f"{cells} row{'s hold' if cells > 1 else ' holds'}"
            text = f"{rows} text in the column of numbers {column.name!r}, such as {next(iter(odd))!r}"
            yield Remark("W108", column.name, cells, text)


def _outside_range(table: Table, schema: Schema, far_only: bool) -> list[Remark]:
    numbers = table.of_kind("numeric")
    if not numbers:
        return []
    low, high, _, infinite = table.number_facts()
    if infinite.any():
        j = int(np.argmax(infinite > 0))
        raise ValueError(
            f"Input X contains infinity or a value too large: column {numbers[j].name!r} holds {infinite[j]} "
            "infinite values; replace them by missing (NaN) or a cap."
        )
    least, most = schema.bounds([c.name for c in numbers], far_only)
    remarks = []
    for j in np.flatnonzero((low < least) | (high > most)).tolist():  # only these columns are looked at again
        column, spec = numbers[j], schema[numbers[j].name]
        outside = column.values[(column.values < least[j]) | (column.values > most[j])]
        text = (
            f"{len(outside)} row{'s have' if len(outside) > 1 else ' has'} {column.name!r} outside the training range "
            f"{spec.low:g} to {spec.high:g}, such as {outside[0]:g}"
        )
        remarks.append(Remark("W102", column.name, len(outside), text))
    return remarks


def settle(table: Table, accepts: Accepts, schema: Schema, owner: str) -> Table:
    """After the plan: unseen levels become missing; missing values a model cannot take are an error with its cure.

    A model that takes levels but nothing missing gets the code of an unseen level as it is: none of the known ones.
    """
    if accepts.missing:
        for column in table.columns if table.has_unseen() else ():
            if column.kind.name != "numeric" and column.values.min() == UNSEEN:
                column.values = np.maximum(column.values, -1)
        return table
    numbers = table.of_kind("numeric")
    gone = dict(zip((c.name for c in numbers), table.number_facts()[2], strict=True)) if numbers else {}
    gone |= {c.name: (c.values == -1).sum() for c in table.of_kind("nominal", "ordinal")}
    for name, count in gone.items():
        if count:
            raise SchemaError(
                f"{owner} takes no missing values and learned no replacement for {name!r}, which had none in "
                f"training but has {count} now. Fit with missing='median' (or 'mean', 'mode', 'own') to be prepared."
            )
    return table


def remarks_frame(remarks: list[Remark]) -> pd.DataFrame:
    """Remarks as a table."""
    import pandas as pd

    return pd.DataFrame([vars(r) for r in remarks], columns=["code", "column", "count", "text"])


def take_rows(raw: RawTable, index: NDArray[Any]) -> RawTable:
    """Some rows of a raw table."""
    return raw.rows(index)


def schema_of_part(raw: RawTable, known: Schema) -> Schema:
    """What a later part of the data adds to a schema: levels and ranges; kinds and roles stay as first decided."""
    kinds = {
        c.name: "text"
        if c.text
        else c.role
        if c.role != "feature"
        else "date"
        if c.expand_date
        else "numeric"
        if c.kind.name == "numeric"
        else "nominal"
        for c in known.columns
    }
    part = infer(raw, kinds)
    columns = tuple(
        dataclasses.replace(p, kind=k.kind if k.role != "feature" else Kind(k.kind.name, p.kind.levels), role=k.role)
        for p, k in zip(part.columns, known.columns, strict=True)
    )
    return dataclasses.replace(part, columns=columns)
