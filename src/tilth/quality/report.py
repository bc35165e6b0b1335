"""The data-quality report: findings, a table of columns, and their renderings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilth import progress
from tilth.base.declare import Section
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.quality.column import ColumnView
from tilth.quality.finding import SEVERITIES, Finding, Severity
from tilth.quality.registry import CHECKS
from tilth.quality.shift import Shift, compare_views
from tilth.quality.target import class_balance
from tilth.quality.view import View, view_of
from tilth.words import count, listed, plain, shown

if TYPE_CHECKING:
    import pandas as pd

#: Findings of one code that are kept; the rest are counted.
MOST_PER_CODE = 10
#: Notes printed in text; all stand in the frame.
NOTES_SHOWN = 8
QUANTILES = {"low": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "high": 1.0}
COLUMN_FIELDS = ("column", "kind", "role", "missing", "distinct", *QUANTILES, "mean", "sd", "top", "reason")


@dataclass
class Profile(Result):
    """What is wrong with a table, most urgent first, and what is in it.

    ``findings`` is the ranked list, ``columns`` one row per column, ``balance`` one row per class, ``shift`` the
    comparison with a reference table, ``sampling`` the sentence that says which checks saw a sample only, ``omitted``
    how many findings of a code were left off.
    """

    findings: list[Finding]
    columns: pd.DataFrame
    n_rows: int
    target: str | None = None
    balance: pd.DataFrame | None = None
    shift: Shift | None = None
    sampling: str = ""
    omitted: dict[str, int] = field(default_factory=dict)

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity."""
        return [f for f in self.findings if f.severity == severity]

    def __getitem__(self, code: str) -> list[Finding]:
        """The findings of one code."""
        return [f for f in self.findings if f.code == code]

    @property
    def suspects(self) -> list[str]:
        """Columns better left out of a first model: leaks, identifiers, constants, empty columns."""
        urgent = [f for f in self["Q504"] + self["Q301"] if f.severity != "info"]
        return list(dict.fromkeys(n for f in urgent + self["Q302"] + self["Q102"] for n in f.columns))

    def frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        fields = ("severity", "code", "columns", "title", "advice")
        rows = [{**f.to_dict(), "columns": listed(f.columns)} for f in self.findings]
        return pd.DataFrame(rows, columns=list(fields))

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "schema": "tilth.profile/1",
            "rows": self.n_rows,
            "target": self.target,
            "counts": {s: len(self.of(s)) for s in SEVERITIES},
            "findings": [f.to_dict() for f in self.findings],
            "omitted": dict(self.omitted),
            "columns": plain(self.columns.to_dict("records")),
            "balance": None if self.balance is None else plain(self.balance.to_dict("records")),
            "shift": None if self.shift is None else self.shift.to_dict(),
            "sampling": self.sampling,
        }

    def sections(self) -> list[Section]:
        """The report as sections, for html, markdown or a terminal."""
        out = [Section("Data quality", self.verdict(), self.frame(), advice=self._first_advice())]
        if self.balance is not None:
            out.append(Section("Classes", f"Target {self.target}.", self.balance))
        if self.shift is not None:
            out.append(Section("Against the reference table", self.shift.verdict(), self.shift.columns))
        out.append(Section("Columns", f"{count(len(self.columns), 'column')}, kinds with their reasons.", self.columns))
        return out

    def verdict(self) -> str:
        """The report in one or two sentences."""
        n = {s: len(self.of(s)) for s in SEVERITIES}
        size = f"{count(self.n_rows, 'row')} x {count(len(self.columns), 'column')}"
        if not self.findings:
            text = f"{size}: nothing to report."
        elif not n["serious"] and not n["warning"]:
            text = f"{size}: no problem found, {count(n['info'], 'note')}."
        else:
            text = f"{size}: {n['serious']} serious, {count(n['warning'], 'warning')}, {count(n['info'], 'note')}."
        return text + (f" {self.sampling}" if self.sampling else "")

    def _first_advice(self) -> str:
        urgent = [f for f in self.findings if f.severity == "serious"]
        return urgent[0].advice if urgent else ""

    def __str__(self) -> str:
        urgent = [f for f in self.findings if f.severity != "info"]
        notes = self.of("info")
        lines = [self.verdict(), *(f"  {str(f).replace(chr(10), chr(10) + '  ')}" for f in urgent)]
        lines += [f"  note     {f.code}  {f.title}" for f in notes[:NOTES_SHOWN]]
        if len(notes) > NOTES_SHOWN:
            lines.append(f"  and {count(len(notes) - NOTES_SHOWN, 'more note')} in .frame()")
        if self.omitted:
            lines.append("  left off: " + ", ".join(f"{n} more of {code}" for code, n in self.omitted.items()))
        return "\n".join(lines)


def profile(
    df: Any, target: Any = None, *, kinds: Kinds = None, rules: Mapping[str, Any] | None = None, reference: Any = None,
    max_rows: int | None = None,
) -> Profile:  # fmt: skip
    """Check a table before anything is learned from it.

    Parameters
    ----------
    df : any table: pandas, polars, pyarrow, numpy, a dict of columns. It is only read.
    target : name of the target column, or its values; it wakes the checks for leaks, balance and labels.
    kinds : kinds of columns that inference cannot know, see :func:`tilth.data.infer`.
    rules : legal values, ``{"age": (0, 120), "sex": {"m", "f"}, "plate": re.compile("[A-Z]{2}-\\\\d+")}``.
    reference : an earlier table; the columns that have shifted since are reported.
    max_rows : rows used by the checks that compare columns, 100,000 unless given; a sample is drawn with a fixed seed.

    >>> report = profile({"x": [1.0, 2.0, 3.0, 4.0] * 10, "c": ["k"] * 40})
    >>> [f.columns for f in report["Q301"]]
    [('c',)]
    """
    whole = isinstance(max_rows, (int, np.integer)) and not isinstance(max_rows, bool)
    if max_rows is not None and not (whole and max_rows >= 1):
        raise ValueError(f"profile: max_rows must be a whole number of at least 1, or None; got {max_rows!r}.")
    view = view_of(df, target, kinds=kinds, rules=rules, max_rows=max_rows)
    findings: list[Finding] = []
    with progress.task("Checking the data", total=len(CHECKS) + (reference is not None)) as work:
        for check in CHECKS:
            findings += [replace(f, code=check.code) for f in check.run(view)]
            work.advance()
        shift = None
        if reference is not None:
            shift = compare_views(view_of(reference, _target_name(view, reference), kinds=kinds), view)
            findings += shift.findings
            work.advance()
    kept, omitted = _ranked(findings)
    sampled = view.n_rows > view.max_rows
    return Profile(
        kept,
        describe(view),
        view.n_rows,
        None if view.target is None else view.target.name,
        class_balance(view),
        shift,
        f"Checks that compare columns saw a random {view.max_rows:,} of {view.n_rows:,} rows." if sampled else "",
        omitted,
    )


def _target_name(view: View, reference: Any) -> str | None:
    from tilth.data.reading import read

    name = None if view.target is None else view.target.name
    return name if name in read(reference).names else None


def _ranked(findings: list[Finding]) -> tuple[list[Finding], dict[str, int]]:
    """Findings by severity, then by code, at most a few per code."""
    order = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.code[1] in "1", f.code))
    kept: list[Finding] = []
    seen: dict[str, int] = {}
    for f in order:
        seen[f.code] = seen.get(f.code, 0) + 1
        if seen[f.code] <= MOST_PER_CODE or (f.severity == "serious" and seen[f.code] <= 3 * MOST_PER_CODE):
            kept.append(f)
    omitted = {code: n - sum(f.code == code for f in kept) for code, n in seen.items()}
    return kept, {code: n for code, n in omitted.items() if n}


def describe(view: View) -> pd.DataFrame:
    """One row per column: kind, reason, missing, distinct, and quantiles or the commonest levels."""
    import pandas as pd

    return pd.DataFrame([_describe(c, c is view.target) for c in view.everything], columns=list(COLUMN_FIELDS))


def _describe(column: ColumnView, is_target: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "column": column.name,
        "kind": "date" if column.raw.form == "date" else column.spec.kind.name,
        "role": "target" if is_target else column.spec.role,
        "missing": column.n_missing,
        "distinct": column.n_distinct,
        "reason": column.spec.reason,
    }
    if column.is_number and column.present.size:
        values = column.present
        out |= dict(zip(QUANTILES, map(float, column.quantiles(*QUANTILES.values())), strict=True))
        # Sums of squares of huge numbers overflow, their shares of the largest do not.
        largest = float(np.abs(values[[0, -1]]).max())
        scale = largest if largest > 1e100 else 1.0
        spread = float((values / scale).std(ddof=1)) * scale if values.size > 1 else float("nan")
        out |= {"mean": float((values / scale).mean()) * scale, "sd": spread}
    elif column.n_distinct:
        counts, places = column.distinct[1], column.places
        order = np.argsort(-counts, kind="stable")[:5]
        out["top"] = ", ".join(f"{shown(column.label(int(places[i])))} ({counts[i]})" for i in order)
    return out
