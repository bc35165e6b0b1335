"""Missing values in disguise: 999 for an unknown age, 0 for a test not made, 'N/A' in a column of words, 1 January."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tilth.data.numbers import is_missing_token
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.view import View
from tilth.words import count, listed, percent, shown

#: Words that often are a real answer ("other debtors: none"); alone they are a hint, not a warning.
WEAK_TOKENS = frozenset({"unknown", "none", "nil"})
#: Ends of machine integers, which stand for overflow or "no value".
MACHINE_ENDS = frozenset({32767.0, -32768.0, 65535.0, 2147483647.0, -2147483648.0, 4294967295.0})
_REPEATED = re.compile(r"-?(9+|8+)(\.9+)?$")
#: Dates that programs write when they have none.
EPOCHS = ("1900-01-01", "1899-12-30", "1970-01-01", "0001-01-01", "9999-12-31", "1753-01-01", "1601-01-01")
_JANUARY_TEXT = re.compile(r"\d{4}-01-01($|[T ])|0?1[/.]0?1[/.]\d{2,4}$")


def missing_words(view: View) -> Iterator[Finding]:
    """Text that means "no value" ('?', '-', 'N/A', 'missing') kept as an ordinary level."""
    weak: dict[str, dict[str, int]] = {}
    for column in view.columns:
        if column.raw.form not in ("text", "level"):
            continue
        tokens = {v: n for v, n in column.text_counts().items() if is_missing_token(v)}
        strong = {v: n for v, n in tokens.items() if column.is_number or v.strip().lower() not in WEAK_TOKENS}
        if strong:
            places = [i for i, v in enumerate(column.raw.levels) if v in strong]
            cells = sum(strong.values())
            read_so = column.is_number
            yield Finding(
                "info" if read_so else "warning",
                (column.name,),
                f"{column.name}: {count(cells, 'cell')} ({percent(cells / view.n_rows)}) say "
                f"{listed([f'{shown(v)} ({n})' for v, n in strong.items()])}"
                + (", read as missing" if read_so else ": missing values in disguise"),
                {"cells": cells, "tokens": strong, "rows": view.row_numbers(np.isin(column.raw.values, places))},
                "" if read_so else f"Read the file with na_values={sorted(strong)!r}, or replace them by missing.",
            )
        elif tokens:
            weak[column.name] = tokens
    if weak:
        words = sorted({v for tokens in weak.values() for v in tokens})
        yield Finding(
            "info",
            tuple(weak),
            f"{listed(map(shown, words))} in {listed(weak)}: a real value, or missing?",
            {"tokens": weak},
            "If it means no value, replace it by missing; otherwise leave it.",
        )


def constants(view: View) -> Iterator[Finding]:
    """Numbers that stand for "no value": 999, -1, 99 beyond a gap, or 0 where the other values stay far from it.

    A suspect is an odd-one-out constant (all nines or eights, -1 among positives, the end of a machine integer) that
    occurs at least twice, at an end of the column, beyond a gap of a quarter of the range of the others; or a zero
    below a gap of half a standard deviation; or nines inside the range that occur twenty times as often as any
    neighbour.
    """
    for column in view.columns:
        if not column.is_number or column.spec.role != "feature" or column.n_distinct < 4:
            continue
        values, counts = column.distinct
        for at in _suspects(column):
            value, n = float(values[at]), int(counts[at])
            rest_n = column.present.size - n
            rest_values, rest_counts = np.delete(values, at), np.delete(counts, at)
            mean = float((rest_values * rest_counts).sum() / rest_n)
            sd = float((((rest_values - mean) ** 2 * rest_counts).sum() / max(1, rest_n - 1)) ** 0.5)
            with_it = float(column.present.mean())
            shift = abs(with_it - mean) / sd if sd > 0 else 0.0
            zero = value == 0
            nearest = float(rest_values[np.abs(rest_values - value).argmin()])
            soft = zero and not _far_zero(column)
            yield Finding(
                "info" if soft else "serious" if shift > 0.25 and not zero else "warning",
                (column.name,),
                f"{column.name}: {value:g} occurs {count(n, 'time')} ({percent(n / view.n_rows)}) and the next "
                f"value is {nearest:g}: " + ("really zero, or not recorded?" if zero else "a code for missing?"),
                {
                    "value": value, "cells": n, "nearest_other": nearest, "mean": with_it, "mean_without": mean,
                    "sd_without": sd, "shift_of_mean_in_sd": shift, "rows": view.row_numbers(column.numbers == value),
                },
                f"If {value:g} means no value, replace it by missing before anything is averaged.",
            )  # fmt: skip


def _suspects(column: ColumnView) -> list[int]:
    """Places among the distinct values that look like codes, at most one per end and one inside."""
    values, counts = column.distinct
    places = []
    last = len(values) - 1
    for at, inner in ((last, slice(0, last)), (0, slice(1, None))):
        value, rest = float(values[at]), values[inner]
        gap = abs(value - float(rest[-1] if at else rest[0]))
        span = float(rest[-1] - rest[0])
        negative = value == -1 and rest[0] >= 0 and counts[at] >= 3
        code = _is_code(value) and gap >= max(0.25 * span, 3 if abs(value) < 10 else 2)
        zero = value == 0 and at == 0 and (_far_zero(column) or _many_zeros(column))
        if counts[at] >= 2 and (negative or code or zero):
            places.append(at)
    if column.n_distinct >= 30 and not places:
        at = int(counts.argmax())
        around = np.delete(counts[max(0, at - 10) : at + 11], min(at, 10))
        if abs(values[at]) >= 99 and _is_code(float(values[at])) and counts[at] >= max(10, 20 * int(around.max())):
            places.append(at)
    return places


def _is_code(value: float) -> bool:
    return value in MACHINE_ENDS or (bool(_REPEATED.match(f"{value:.10g}")) and value not in (8.0, -8.0))


def _far_zero(column: ColumnView) -> bool:
    """Zero at least twice below numbers that begin half a standard deviation and a fifth of the median away."""
    values, counts = column.distinct
    if values[0] != 0 or counts[0] < 2 or len(values) < 9:
        return False
    rest = column.present[counts[0] :]
    # In a column of counts zero is simply the number before one.
    if values[1] <= 3 * np.median(np.diff(values[1:])):
        return False
    return bool(values[1] >= 0.5 * rest.std() and values[1] >= 0.2 * np.median(rest))


def _many_zeros(column: ColumnView) -> bool:
    """Zeros in a twentieth of the cells of a fine-grained column, below a gap that is wide for its lower end."""
    values, counts = column.distinct
    if len(values) < 30 or counts[0] < 0.05 * column.present.size:
        return False
    steps = np.diff(values[1 : 2 + max(5, len(values) // 10)])
    return bool(values[1] > 3 * steps.max())


def dates_in_disguise(view: View) -> Iterator[Finding]:
    """Dates written when there was none: 1 January far too often, or 1900-01-01 and the like."""
    for column in view.columns:
        levels = _date_levels(column)
        total = sum(levels.values())
        if total < 20:
            continue
        epochs = {v: n for v, n in levels.items() if v.startswith(EPOCHS)}
        january = {v: n for v, n in levels.items() if _JANUARY_TEXT.match(v)}
        common = {v: n for v, n in epochs.items() if n >= 2} or (
            january if sum(january.values()) >= max(5, 0.03 * total) and len(levels) >= 10 else {}
        )
        if common and sum(common.values()) < 0.9 * total:
            n = sum(common.values())
            yield Finding(
                "warning",
                (column.name,),
                f"{column.name}: {count(n, 'date')} of {total:,} are {listed(sorted(common), 3)}: unknown in disguise?",
                {"cells": n, "dates": dict(list(common.items())[:20]), "expected": total / 365.25},
                "If these days stand for an unknown date, replace them by missing.",
            )


def _date_levels(column: ColumnView) -> dict[str, int]:
    if column.raw.form == "date":
        values, counts = column.distinct
        days = values.astype(np.int64).astype("datetime64[s]").astype("datetime64[D]").astype(str)
        out: dict[str, int] = {}
        for day, n in zip(days.tolist(), counts.tolist(), strict=True):
            out[day] = out.get(day, 0) + n
        return out
    if column.raw.form == "text" and "reads as dates" in column.spec.reason:
        return {str(v): n for v, n in column.level_counts().items()}
    return {}


def is_word_for_missing(value: Any) -> bool:
    """Whether a level is one of the words for "no value", the weak ones left out."""
    return is_missing_token(value) and value.strip().lower() not in WEAK_TOKENS
