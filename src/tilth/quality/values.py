"""Single values that cannot be right: against the user's rules, infinite, far outside, in another format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import level_key
from tilth.data.numbers import is_missing_token, parse_number
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.view import View
from tilth.words import count, listed, percent, shown

Floats = NDArray[np.float64]

#: Rows listed for a broken rule.
RULE_ROWS = 1000
#: Robust standard deviations from the median, and to the next value, that make an outlier.
FAR = 6.0
FAR_GAP = 1.5
#: Distinct texts looked at for formats.
FORMAT_LEVELS = 50_000
FORMAT_SHARE = 0.95
FACTORS = ((10.0, "ten times"), (100.0, "a hundred times"), (1000.0, "a thousand times"))


def broken_rules(view: View) -> Iterator[Finding]:
    """Values against the user's rules, row by row: a range, a set of legal values, or a pattern."""
    for name, rule in view.rules.items():
        column = view.column(name)
        bad, wanted = _violations(column, rule)
        if bad.any():
            n = int(bad.sum())
            examples = [shown(_cell(column, int(i))) for i in np.flatnonzero(bad)[:5]]
            yield Finding(
                "serious",
                (name,),
                f"{name}: {count(n, 'value')} not {wanted}: {', '.join(examples)}{' ...' if n > 5 else ''}",
                {"violations": n, "rule": wanted, "rows": view.row_numbers(bad, RULE_ROWS)},
                "Correct them at the source. Unknown or unrecorded values are missing; irrelevant ones are a level.",
            )


def _violations(column: ColumnView, rule: Any) -> tuple[NDArray[np.bool_], str]:
    there = ~column.missing
    if isinstance(rule, tuple) and len(rule) == 2:
        if not column.is_number:
            raise ValueError(
                f"rules[{column.name!r}] is a range, but the column is {column.spec.kind.name} ({column.spec.reason}); "
                "give a set of allowed values, or clean the column."
            )
        low = -np.inf if rule[0] is None else float(rule[0])
        high = np.inf if rule[1] is None else float(rule[1])
        if not low <= high:
            raise ValueError(f"rules[{column.name!r}] must be (low, high) with low <= high; got {rule!r}.")
        return there & ((column.numbers < low) | (column.numbers > high)), f"from {low:g} to {high:g}"
    accept: Callable[[Any], bool]
    if isinstance(rule, (set, frozenset, list)):
        keys = {level_key(v) for v in rule}
        accept, wanted = (lambda v: level_key(v) in keys), f"one of {listed(sorted(map(str, rule)))}"
    elif isinstance(rule, re.Pattern):
        accept, wanted = (lambda v: rule.fullmatch(str(v)) is not None), f"of the form {rule.pattern}"
    else:
        raise ValueError(
            f"rules[{column.name!r}] must be (low, high), a set of legal values or a compiled pattern; got {rule!r}."
        )
    bad_places = [int(i) for i in column.places if not accept(column.label(int(i)))]
    return there & np.isin(column.codes, bad_places), wanted


def _cell(column: ColumnView, row: int) -> Any:
    return column.label(int(column.codes[row]))


def infinite_values(view: View) -> Iterator[Finding]:
    """Infinite numbers, which no model accepts."""
    for column in view.everything:
        if column.n_infinite:
            yield Finding(
                "serious",
                (column.name,),
                f"{column.name}: {count(column.n_infinite, 'infinite value')}",
                {"cells": column.n_infinite},
                "Usually a division by zero upstream. Replace by missing or a cap; here they count as missing.",
            )


def outliers(view: View) -> Iterator[Finding]:
    """Numbers far from all others, with the likely reason (a slipped decimal point).

    On the raw scale, and on ``log(1 + x / median)`` for positive columns, ``z = (x - median) / s`` with
    ``s = IQR / 1.349``, which errors hardly touch. An outlier is beyond 6 on both scales, past a gap of 1.5, and there
    are few of them: many far values are a long tail, not errors.
    """
    for column in view.columns:
        values, counts = column.distinct if column.is_number else (np.empty(0), np.empty(0, int))
        # A handful of counts (0, 1, 2, 8) has a tail, not outliers.
        if column.spec.role != "feature" or len(values) < min(10, 0.5 * column.present.size) or len(values) < 5:
            continue
        far = _far_values(column)
        n = int(counts[far].sum()) if len(far) else 0
        if n == 0 or n > max(3, 0.005 * column.present.size):
            continue
        median = float(column.quantiles(0.5)[0])
        worst = float(values[far[np.abs(values[far] - median).argmax()]])
        reason = _reason(column, worst)
        low, high = column.quantiles(0.05, 0.95)
        rows = np.isin(column.numbers, values[far])
        yield Finding(
            "warning" if reason else "info",
            (column.name,),
            f"{column.name}: {listed([f'{v:g}' for v in values[far]], 4)} far from the usual {low:g} to {high:g}"
            + (f": {reason}" if reason else ""),
            {
                "values": values[far][:20], "cells": n, "median": median, "worst_in_sd": _robust_z(column, worst),
                "reason": reason, "rows": view.row_numbers(rows),
            },
            "Check these rows at the source: correct errors, keep true extremes, delete neither blindly.",
        )  # fmt: skip


def _robust_z(column: ColumnView, value: float) -> float:
    low, middle, high = column.quantiles(0.25, 0.5, 0.75)
    return (value - middle) / ((high - low) / 1.349) if high > low else float("nan")


def _far_values(column: ColumnView) -> NDArray[np.int64]:
    """Places of the outlying values among the distinct ones."""
    values, quartiles = column.distinct[0], column.quantiles(0.25, 0.5, 0.75)
    far = _far_on(values, quartiles)
    median = quartiles[1]
    if len(far) and values[0] >= 0 and median > 0:
        # Quartiles of the logarithms are the logarithms of the quartiles.
        far = np.intersect1d(far, _far_on(np.log1p(values / median), np.log1p(quartiles / median)))
    return far


def _far_on(values: Floats, quartiles: Floats) -> NDArray[np.int64]:
    scale = (quartiles[2] - quartiles[0]) / 1.349
    if scale == 0:
        return np.empty(0, dtype=np.int64)
    z = (values - quartiles[1]) / scale
    steps = np.diff(z)
    low_gap = np.flatnonzero((z[:-1] < -FAR) & (steps > FAR_GAP))
    high_gap = np.flatnonzero((z[1:] > FAR) & (steps > FAR_GAP))
    low = np.arange(low_gap[-1] + 1) if low_gap.size else np.empty(0, dtype=np.int64)
    high = np.arange(high_gap[0] + 1, len(values)) if high_gap.size else np.empty(0, dtype=np.int64)
    return np.concatenate([low, high])


def _reason(column: ColumnView, value: float) -> str:
    low, high = column.quantiles(0.05, 0.95)
    if value < 0 < low and low <= -value <= high:
        return "the sign is wrong?"
    # Where usual values differ tenfold among themselves, or around zero, a factor of ten explains nothing.
    if low <= 0 <= high or max(abs(low), abs(high)) >= 10 * min(abs(low), abs(high)):
        return ""
    for factor, words in FACTORS:
        if low <= value / factor <= high:
            return f"{words} the usual: a slipped decimal point?"
        if low <= value * factor <= high:
            return f"the usual divided by {factor:g}: a slipped decimal point?"
    return ""


# ------------------------------------------------------------------------------------------------------------- format


def nearly_numbers(view: View) -> Iterator[Finding]:
    """Columns of text where nearly every value reads as a number and a few do not."""
    for column in view.columns:
        if column.raw.form != "text" or not 5 <= column.n_distinct <= FORMAT_LEVELS:
            continue
        levels = {v: n for v, n in column.text_counts().items() if not is_missing_token(v)}
        bad = {v: n for v, n in levels.items() if parse_number(v) is None}
        total, n = sum(levels.values()), sum(bad.values())
        if bad and total and n <= 0.1 * total and len(levels) - len(bad) >= 5:
            read_so = ", read as missing" if column.is_number else ""
            places = [i for i, v in enumerate(column.raw.levels) if v in bad]
            yield Finding(
                "warning",
                (column.name,),
                f"{column.name}: numbers, except {count(n, 'value')} such as {listed(map(shown, bad), 3)}{read_so}",
                {
                    "cells": n,
                    "values": dict(list(bad.items())[:20]),
                    "rows": view.row_numbers(np.isin(column.raw.values, places)),
                },
                "Correct them where the number is known."
                if column.is_number
                else f"Correct them, so that {column.name} is numeric; now it is read as text.",
            )


def format_of(text: str, exact: bool = True) -> str:
    """The format of a text: letters as A or a, digits as 9, the rest as it is; runs of any length alike unless exact.

    >>> format_of("K-0417"), format_of("K-0417", exact=False)
    ('A-9999', 'A+-9+')
    """
    form = re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", re.sub(r"\d", "9", text))
    return form if exact else re.sub(r"([Aa9])\1*", r"\1+", form)


def broken_formats(view: View) -> Iterator[Finding]:
    """Values that break the format which nearly all others of the column share, such as A-9999."""
    for column in view.columns:
        if not column.is_text or column.spec.kind.name == "ordinal" or column.n_distinct < 10:
            continue
        levels = {str(v): n for v, n in list(column.level_counts().items())[:FORMAT_LEVELS] if not is_missing_token(v)}
        total = sum(levels.values())
        for exact in (True, False):
            forms: dict[str, int] = {}
            for v, n in levels.items():
                form = format_of(v[:200], exact)
                forms[form] = forms.get(form, 0) + n
            main = max(forms, key=lambda f: forms[f])
            share = forms[main] / total
            # Plain words have no format to break; a code has digits.
            if "9" not in main or share < FORMAT_SHARE:
                continue
            bad = {v: n for v, n in levels.items() if format_of(v[:200], exact) != main}
            if bad:
                places = [i for i, v in enumerate(column.raw.levels) if str(v) in bad]
                n = sum(bad.values())
                yield Finding(
                    "warning",
                    (column.name,),
                    f"{column.name}: {percent(share)} of values have the form {shown(main)}; {count(n, 'value')} "
                    f"{'does' if n == 1 else 'do'} not, such as {listed(map(shown, bad), 3)}",
                    {
                        "format": main, "share": share, "cells": n, "values": dict(list(bad.items())[:20]),
                        "rows": view.row_numbers(np.isin(column.raw.values, places)),
                    },
                    "Check these entries: typing errors, another source, or intentional.",
                )  # fmt: skip
            break
