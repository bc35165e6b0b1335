"""The question: which column is predicted from which table, whether it is classes or numbers, and what is hopeless."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.columns import take_rows
from tilth.base.target import split_target
from tilth.data.dates import all_dates, dates_of
from tilth.data.kinds import Kind
from tilth.data.reading import read
from tilth.data.schema import NOT_LEARNED
from tilth.data.table import RawColumn, RawTable
from tilth.errors import SchemaError
from tilth.lifecycle.run.options import Options
from tilth.lifecycle.source import Source, SourceError, read_source, require_column
from tilth.models.catalogue import task_of
from tilth.words import count, listed

if TYPE_CHECKING:
    from tilth.data.datasets import Card

#: A text target of at least this many rows whose values mostly differ is no set of classes.
_MANY_ROWS = 20
#: Share of the budget that reading a file may take; of a larger file a part is read, and that is said.
READING_SHARE = 0.25


@dataclass
class Question:
    """A table, the column to predict and what kind of answer it wants."""

    name: str
    table: RawTable
    target: str
    task: str
    reason: str
    kinds: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    card: Card | None = None
    #: The file the table was read from, None for tables of other origin.
    path: Path | None = None
    #: Columns of texts that were read as dates.
    dated: tuple[str, ...] = ()
    #: How much of a large file was read, None: all.
    part: int | None = None


def prepare(source: Any, target: str | None, wishes: Options, part: int | None = None) -> Question:
    """The table with its target settled: which column, which task, rows without a label left out.

    ``part`` is how much of a large file an earlier run has read.
    """
    if isinstance(source, (str, Path)):
        seconds = None if wishes.budget is None else READING_SHARE * wishes.budget
        given = read_source(source, seconds=seconds, part=part)
    else:
        given = Source(source, "the table")
    table = read(given.frame)
    if table.is_sparse:
        raise SourceError("run needs a table with named columns; a sparse matrix has none.")
    target = target or (given.card.target if given.card else None)
    if target is None:
        raise SourceError(
            f"Which column of {given.name} should be predicted? Give its name as target; the columns are "
            f"{listed(map(repr, table.names), 12)}."
        )
    require_column(table.names, target)
    told: dict[str, Any] = dict(wishes.kinds)
    if given.card is not None:
        told = {**given.card.kinds, **dict.fromkeys(given.card.ignore, "aside"), **told}
    said = told.pop(target, None)
    for name in told:
        require_column(table.names, name, "one whose kind is given")
    notes = list(given.notes)
    table = _labelled(table, target, notes)
    table, dated = _with_dates(table, {*told, target, *(n for n in (wishes.time, wishes.groups) if n)})
    for column in table.columns:
        if column.form == "date" and column.name not in told and column.name != target:
            told[column.name] = "date"
            notes.append(f"{column.name!r} holds dates; they were expanded into year, month, day, weekday and days.")
    _set_aside(table, target, wishes, told, notes)
    if not [n for n in table.names if n != target and told.get(n) not in NOT_LEARNED]:
        raise SourceError(f"{given.name} has no column besides the target {target!r} to predict from.")
    task = wishes.task
    if task is None and said is not None:
        is_number = said == "numeric" or (isinstance(said, Kind) and said.name == "numeric")
        task, reason = ("regression" if is_number else "classification"), "the kind of the target was stated"
    elif task is None:
        task, reason = task_of(_values(table, target))
        reason = f"judging by the target: {reason}"
    else:
        reason = "as stated"
    _refuse_hopeless(table, target, task)
    return Question(given.name, table, target, task, reason, told, notes, given.card, _path(source), dated, given.part)


def _with_dates(table: RawTable, settled: set[str]) -> tuple[RawTable, tuple[str, ...]]:
    """The table with texts that are all dates read as dates, where their use is not settled; and which these are."""
    columns, found = [], []
    for column in table.columns:
        if column.form == "text" and column.name not in settled and all_dates(column.levels):
            moments, _ = dates_of(column.levels, column.values)
            column = replace(column, values=moments, form="date", levels=[])
            found.append(column.name)
        columns.append(column)
    return RawTable(columns, table.n_rows, table.named, None, table.native) if found else table, tuple(found)


def _path(source: Any) -> Path | None:
    return Path(source) if isinstance(source, (str, Path)) and str(source) != "-" and Path(source).is_file() else None


def _set_aside(table: RawTable, target: str, wishes: Options, told: dict[str, Any], notes: list[str]) -> None:
    """Columns that say how rows hang together, or whom an answer is about, are not learned from."""
    for what, name in (("groups", wishes.groups), ("time", wishes.time)):
        if name is None:
            continue
        require_column(table.names, name, f"one that was given as {what}")
        if name == target:
            raise SourceError(f"The column {name!r} cannot be the target and the {what} at once.")
        told[name] = "aside"
        use = "rows of the same value stay together" if what == "groups" else "later rows are tested by earlier ones"
        notes.append(f"{name!r} is not learned from: {use}.")
    for name in wishes.sensitive:
        require_column(table.names, name, "one that was given as sensitive")
        if name == target:
            raise SourceError(f"The column {name!r} cannot be the target and sensitive at once.")
        if not wishes.keep_sensitive:
            told[name] = "aside"
    if wishes.sensitive and not wishes.keep_sensitive:
        notes.append(
            f"Not learned from, being sensitive: {listed(wishes.sensitive)} (--keep-sensitive learns from them)."
        )
    for name in wishes.trust:
        require_column(table.names, name, "one to trust")


def moments(column: RawColumn) -> NDArray[Any]:
    """The time of every row as numbers that can be ordered."""
    if _missing(column).any():
        raise SchemaError(f"The time column {column.name!r} has missing values; every row needs a time.")
    if column.form in ("text", "level"):
        import pandas as pd

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the form of the times must be guessed
                words = pd.Series(list(column.levels))
                try:
                    parsed = pd.to_datetime(words)
                except ValueError:  # 31/12/2020
                    parsed = pd.to_datetime(words, dayfirst=True)
        except (ValueError, TypeError):
            raise SchemaError(
                f"The time column {column.name!r} holds words such as {column.levels[0]!r}, which are no times."
            ) from None
        return np.asarray(parsed.to_numpy("datetime64[ns]").astype(np.int64)[column.values])
    return np.asarray(column.values.astype(np.int64) if column.form == "date" else column.values)


def members(column: RawColumn) -> NDArray[Any]:
    """The group of every row."""
    if _missing(column).any():
        raise SchemaError(f"The group column {column.name!r} has missing values; every row needs a group.")
    return np.unique(column.values, return_inverse=True)[1]


def words_of(column: RawColumn) -> NDArray[Any]:
    """The values of a column as people read them; None where missing."""
    gone = _missing(column)
    if column.form in ("text", "level", "boolean"):
        names = (
            np.array([*column.levels, None], dtype=object) if column.levels else np.array([False, True, None], object)
        )
        return np.asarray(names[np.where(gone, len(names) - 1, column.values)])
    found = column.values.astype(object)
    found[gone] = None
    return found


def _values(table: RawTable, target: str) -> Any:
    return np.asarray(split_target(table, target, "run")[1])


def _labelled(table: RawTable, target: str, notes: list[str]) -> RawTable:
    """The rows that have a label."""
    missing = _missing(table.column(target))
    gone = int(missing.sum())
    if gone == table.n_rows:
        raise SchemaError(f"The target {target!r} has no value in any of the {count(table.n_rows, 'row')}.")
    if gone:
        table = take_rows(table, np.flatnonzero(~missing))
        notes.append(f"{count(gone, 'row')} without a value of {target!r} left out.")
    return table


def _missing(column: RawColumn) -> Any:
    if column.form in ("text", "level", "boolean"):
        return column.values < 0
    return np.isnat(column.values) if column.form == "date" else np.isnan(column.values.astype(np.float64))


def _refuse_hopeless(table: RawTable, target: str, task: str) -> None:
    """Targets that no score could be computed for, each with its cure."""
    column = table.column(target)
    if column.form == "date":
        raise SchemaError(f"The target {target!r} holds dates; predict a number, such as days, or a class instead.")
    values = _values(table, target)
    distinct = len(set(values.tolist()))
    if task == "regression":
        if values.dtype.kind not in "iuf":
            raise SchemaError(f"Regression needs a target of numbers; {target!r} holds words such as {values[0]!r}.")
        if not np.isfinite(values.astype(np.float64)).all():
            raise SchemaError(f"The target {target!r} holds infinite values; remove those rows.")
    elif values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        raise SchemaError(f"Classification needs classes; {target!r} holds numbers with fractions. Use regression.")
    elif values.dtype.kind not in "iufb" and len(values) >= _MANY_ROWS and 2 * distinct > len(values):
        raise SchemaError(
            f"The target {target!r} has {distinct} different words in {count(len(values), 'row')}: an identifier or "
            "free text, not classes. If these are numbers written as text, clean them first."
        )
    if distinct < 2:
        raise SchemaError(f"The target {target!r} has a single value, {values[0]!r}: there is nothing to learn.")
