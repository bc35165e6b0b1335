"""What a run does about findings by itself: each remedy is told, and one option undoes it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilth.base.columns import take_rows
from tilth.data.schema import NOT_LEARNED
from tilth.data.table import RawTable
from tilth.lifecycle.run.question import Question
from tilth.quality import Finding
from tilth.words import count, listed


@dataclass(frozen=True)
class Remedy:
    """Something that was done about a finding, and how to undo it."""

    code: str
    columns: tuple[str, ...]
    done: str
    undo: str

    def __str__(self) -> str:
        return f"{self.done} ({self.undo})"


def leaks(findings: Iterable[Finding], question: Question, trust: Sequence[str]) -> list[str]:
    """Columns that give the target away, but for those that are trusted or left out anyway."""
    aside = {n for n, k in question.kinds.items() if k in NOT_LEARNED}
    named = [n for f in findings if f.code == "Q504" and f.severity == "serious" for n in f.columns]
    return [n for n in dict.fromkeys(named) if n != question.target and n not in aside and n not in trust]


def apply(question: Question, findings: Sequence[Finding], trust: Sequence[str]) -> list[Remedy]:
    """Change the question as the findings advise; columns whose kind was told are left as told."""
    told = set(question.kinds) | {question.target, *trust}
    done: list[Remedy] = []
    for code, remedy in _REMEDIES.items():
        for found in findings:
            if found.code == code:
                done += remedy(question, replace(found, columns=tuple(c for c in found.columns if c not in told)))
    suspects = leaks(findings, question, trust)
    features = [n for n in question.table.names if n != question.target and question.kinds.get(n) not in NOT_LEARNED]
    if suspects and len(suspects) < len(features):
        trusting = " ".join(f"--trust {shlex.quote(n)}" for n in suspects)
        done.append(_aside(question, "Q504", suspects, "too good to be true", f"{trusting} keeps it"))
    return done


def _aside(question: Question, code: str, columns: Sequence[str], why: str, undo: str = "--as-is keeps it") -> Remedy:
    question.kinds.update(dict.fromkeys(columns, "aside"))
    return Remedy(code, tuple(columns), f"{listed(columns)} left out: {why}", undo)


def _identifier(question: Question, found: Finding) -> list[Remedy]:
    if found.severity == "info" or not found.columns:
        return []
    return [_aside(question, found.code, found.columns, "an identifier")]


def _constant(question: Question, found: Finding) -> list[Remedy]:
    return [_aside(question, found.code, found.columns, "it is constant")] if found.columns else []


def _disguised(question: Question, found: Finding) -> list[Remedy]:
    """Words for "no value" become missing values."""
    tokens = found.evidence.get("tokens", {})
    if found.severity != "warning" or len(found.columns) != 1 or not tokens:
        return []
    name, words = found.columns[0], set(tokens)
    columns = []
    for column in question.table.columns:
        if column.name == name and column.form in ("text", "level"):
            kept = [i for i, v in enumerate(column.levels) if v not in words]
            place = np.full(len(column.levels) + 1, -1, dtype=column.values.dtype)
            place[kept] = np.arange(len(kept))
            column = replace(column, values=place[column.values], levels=[column.levels[i] for i in kept])
        columns.append(column)
    table = question.table
    question.table = RawTable(columns, table.n_rows, table.named, None, table.native)
    cells = int(sum(tokens.values()))
    return [Remedy(found.code, (name,), f"{count(cells, 'cell')} of {name} that say {listed(map(repr, sorted(words)))} "
                   "taken as missing", "--as-is keeps them")]  # fmt: skip


def _copies(question: Question, found: Finding) -> list[Remedy]:
    """Rows that repeat an earlier one exactly would be learned from and tested on at once."""
    if found.severity != "serious":
        return []
    first = _first_of_each(question.table)
    gone = question.table.n_rows - len(first)
    if not gone:
        return []
    question.table = take_rows(question.table, first)
    return [Remedy(found.code, (), f"{count(gone, 'row')} that repeat an earlier row exactly left out",
                   "--as-is keeps them")]  # fmt: skip


def _first_of_each(table: RawTable) -> Any:
    """The first of every set of equal rows."""
    import pandas as pd

    frame = pd.DataFrame({i: c.values for i, c in enumerate(table.columns)})
    return np.flatnonzero(~frame.duplicated().to_numpy())


#: What is done about which finding; rows before columns, as both count rows.
_REMEDIES: dict[str, Callable[[Question, Finding], list[Remedy]]] = {
    "Q401": _copies,
    "Q111": _disguised,
    "Q301": _constant,
    "Q302": _identifier,
}
