"""What has changed since training, in words, numbers and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.declare import Light
from tilth.base.result import Result
from tilth.lifecycle.monitor.drift import (
    Change,
    beyond_range,
    more_unlisted,
    neighbours_merged,
    rare_merged,
    same_share,
    same_shares,
)
from tilth.lifecycle.monitor.reference import ColumnReference, Reference
from tilth.quality.finding import SEVERITIES, Finding, Severity
from tilth.quality.shift import LARGE_INDEX, SHIFT_INDEX
from tilth.stats.hypothesis import holm
from tilth.words import count, listed, percent, plain, shown

if TYPE_CHECKING:
    import pandas as pd

    from tilth.lifecycle.monitor.watch import Tally

#: Codes of the findings and what they say.
CODES = {
    "M101": "Columns that the model needs are not there.",
    "M102": "Columns that were not there in training.",
    "M103": "Cells that cannot be read as the kind of their column.",
    "M201": "The shares of the values of a column have changed.",
    "M202": "A column misses more or fewer cells than in training.",
    "M203": "Values beyond the range of training.",
    "M204": "More cells of levels that were rare or never seen in training.",
    "M301": "Too few rows to tell whether a column has changed.",
}
#: Differences of the share of missing cells, and shares of strange cells, from which they matter, and matter much.
MISSING_MATTERS, MISSING_LARGE = 0.05, 0.2
STRANGE_LARGE = 0.05
TESTS = ("values", "missing", "range", "levels")


@dataclass
class Monitoring(Result):
    """The comparison of new rows with the rows of training.

    ``columns`` has one row per column, ``findings`` what deserves a decision, most urgent first.
    """

    reference: Reference
    n_rows: int
    columns: pd.DataFrame
    findings: list[Finding]
    level: float
    new_counts: dict[str, NDArray[np.int64]]

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity."""
        return [f for f in self.findings if f.severity == severity]

    def __getitem__(self, code: str) -> list[Finding]:
        """The findings of one code."""
        return [f for f in self.findings if f.code == code]

    @property
    def changed(self) -> list[str]:
        """Columns that have changed, by significance and by size."""
        return [str(n) for n in self.columns.loc[self.columns["state"] == "changed", "column"]]

    @property
    def undecided(self) -> list[str]:
        """Columns of which there are too few rows to tell."""
        return [str(n) for n in self.columns.loc[self.columns["state"] == "too few to tell", "column"]]

    @property
    def light(self) -> Light:
        """Green, amber or red."""
        return "bad" if self.of("serious") else "warn" if self.of("warning") else "good"

    def verdict(self) -> str:
        """What has changed, in one or two sentences."""
        if self.n_rows == 0:
            return "There are no new rows to compare."
        lost = [n for f in self["M101"] for n in f.columns]
        sentences = (
            [f"{listed(lost)} {'is' if len(lost) == 1 else 'are'} not there: the model cannot answer."] if lost else []
        )
        changed, total = [n for n in self.changed if n not in lost], len(self.columns)
        few = self.undecided
        if changed:
            verb = "has" if len(changed) == 1 else "have"
            sentences.append(f"{len(changed)} of {count(total, 'column')} {verb} changed: {listed(changed)}.")
            sentences.append("Scores measured on the old rows do not carry over.")
        elif few:
            sentences.append(
                f"{count(self.n_rows, 'row')} are too few to tell whether {_these(few, total)} changed; nothing "
                "alarming was seen."
                if not sentences
                else f"{count(self.n_rows, 'row')} are too few to tell more."
            )
        elif not sentences:
            unknown = [str(n) for n in self.columns.loc[self.columns["state"] == "shares not known", "column"]]
            sure = "a large one would have been"
            if unknown:
                sure = f"of {listed(unknown, 3)} only range, levels and missing cells could be compared"
            sentences.append(f"No change seen in {count(total, 'column')} of {count(self.n_rows, 'new row')}; {sure}.")
        return " ".join(sentences)

    def frame(self) -> pd.DataFrame:
        """One row per column: what was compared, how large the difference is, and what it comes to."""
        return self.columns

    def shares(self, column: str) -> pd.DataFrame:
        """Shares of the slices or levels of one column, in training and now."""
        import pandas as pd

        known = self.reference[column]
        if column not in self.new_counts:
            raise ValueError(f"Column {column!r} is set aside and was not watched.")
        after = self.new_counts[column].astype(np.float64)
        before = np.full(len(after), np.nan)
        if known.knows_shares:
            before = np.array([*known.counts, *([known.other_rows] if known.has_levels else [])], dtype=np.float64)
            before = before / max(before.sum(), 1.0)
        now = after / max(after.sum(), 1.0)
        return pd.DataFrame({"value": known.bin_names(), "training": before, "now": now, "rows now": after.astype(int)})

    def plot(self, column: str | None = None) -> Any:
        """The size of the change of every column beside what chance gives; or the shares of one column."""
        from tilth.plot.monitoring import change_sizes, share_bars

        if column is not None:
            shares = self.shares(column)
            return share_bars(shares["value"].tolist(), shares["training"].to_numpy(), shares["now"].to_numpy(), column)
        drawn = self.columns[self.columns["psi"].notna()]
        return change_sizes(
            drawn["column"].tolist(), drawn["psi"].to_numpy(), drawn["psi by chance"].to_numpy(),
            (drawn["state"] == "changed").to_numpy(), (SHIFT_INDEX, LARGE_INDEX),
        )  # fmt: skip

    def findings_frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        fields = ("severity", "code", "columns", "title", "advice")
        rows = [{**f.to_dict(), "columns": listed(f.columns)} for f in self.findings]
        return pd.DataFrame(rows, columns=list(fields))

    def sections(self) -> list[Section]:
        """Verdict and findings; then every column."""
        findings = self.findings_frame()
        first = next((f.advice for f in self.findings if f.severity != "info"), "")
        figure = self.plot if self.columns["psi"].notna().any() else None
        return [
            Section("New rows", self.verdict(), findings if len(findings) else None, advice=first, light=self.light),
            Section(
                "New rows, column by column",
                f"Size of each change (PSI) beside what chance gives; any false alarm has chance {self.level:g}.",
                self.columns,
                figure,
                folded=True,
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {
            "schema": "tilth.monitoring/1",
            "rows": self.n_rows,
            "reference_rows": self.reference.n_rows,
            "level": self.level,
            "verdict": self.verdict(),
            "light": self.light,
            "counts": {s: len(self.of(s)) for s in SEVERITIES},
            "findings": [f.to_dict() for f in self.findings],
            "columns": plain(self.columns.to_dict("records")),
        }

    def __str__(self) -> str:
        return "\n".join([self.verdict(), *(f"  {str(f).replace(chr(10), chr(10) + '  ')}" for f in self.findings)])


def _these(names: list[str], total: int) -> str:
    return "any column has" if len(names) == total else f"{listed(names, 3)} {'has' if len(names) == 1 else 'have'}"


# ------------------------------------------------------------------------------------------------------------ judging


@dataclass
class _Compared:
    """One column: its tests, its sizes."""

    known: ColumnReference
    tally: Tally
    m: int  # cells present in training
    n: int  # cells present now
    change: Change
    p: dict[str, float]
    missing: tuple[float, float]
    unlisted: int


def judge(reference: Reference, n_rows: int, tallies: dict[str, Tally], extra: list[str], level: float) -> Monitoring:
    """All tests, corrected together, and what they come to."""
    import pandas as pd

    watched = [c for c in reference.columns if c.role != "aside"]
    absent = [c.name for c in watched if n_rows and tallies[c.name].n_absent == n_rows]
    seen = [_compare(c, tallies[c.name], reference.n_rows, n_rows) for c in watched if c.name not in absent]
    flat = holm([c.p.get(t, math.nan) for c in seen for t in TESTS]).reshape(len(seen), len(TESTS))
    tests = int((~np.isnan(flat)).sum())
    for one, row in zip(seen, flat, strict=True):
        one.p = dict(zip(TESTS, row.tolist(), strict=True))
    findings: list[Finding] = []
    lost = [n for n in absent if reference[n].role == "feature"]
    if lost:
        findings.append(
            Finding("serious", tuple(lost), f"not in the new rows: {listed(lost)}", {}, "The model needs them.", "M101")
        )
    if extra:
        title = f"only in the new rows: {listed(extra)}"
        findings.append(Finding("info", tuple(extra), title, {}, "The model does not know them.", "M102"))
    rows = []
    few: list[str] = []
    for one in seen:
        own = list(_findings(one, level))
        findings += own
        detectable = one.change.detectable(level / max(tests, 1))
        changed = any(f.severity != "info" for f in own)
        blind = one.known.kind != "date" and detectable > LARGE_INDEX
        state = (
            "changed" if changed else "too few to tell" if blind else "slightly changed" if own else "no change seen"
        )
        # One slice or level holds all rows of both tables: more rows would not tell more.
        single = one.change.dof == 0 and one.m > 0 and one.n > 0
        if state == "too few to tell" and (single or not one.known.knows_shares):
            constant = one.known.has_levels or one.known.low == one.known.high
            state = "no change seen" if single and one.known.knows_shares and constant else "shares not known"
        elif state == "too few to tell":
            few.append(one.known.name)
        rows.append(_row(one, detectable, state))
    for name in lost:
        nothing = {"outside": 0, "other levels": 0, "unreadable": 0}
        rows.append({"column": name, "kind": reference[name].kind, "role": "feature", "state": "absent", **nothing})
    if few and n_rows:
        title = f"too few rows to tell whether {listed(few)} changed"
        advice = "Compare again when more rows have come."
        findings.append(Finding("info", tuple(few), title, {"rows": n_rows}, advice, "M301"))
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), f.code))
    counts = {c.name: tallies[c.name].counts for c in watched}
    return Monitoring(reference, n_rows, pd.DataFrame(rows, columns=_COLUMNS), findings, level, counts)


_COLUMNS = [
    "column", "kind", "role", "state", "psi", "psi by chance", "detectable", "p values", "missing training",
    "missing now", "p missing", "outside", "p range", "other levels", "p levels", "unreadable",
]  # fmt: skip


def _row(one: _Compared, detectable: float, state: str) -> dict[str, Any]:
    cells = (
        one.known.name, one.known.kind, one.known.role, state, one.change.psi, one.change.by_chance,
        detectable if math.isfinite(detectable) else math.nan, one.p["values"], *one.missing, one.p["missing"],
        one.tally.below + one.tally.above, one.p["range"], one.unlisted, one.p["levels"], one.tally.n_unreadable,
    )  # fmt: skip
    return dict(zip(_COLUMNS, cells, strict=True))


def _compare(known: ColumnReference, tally: Tally, m_rows: int, n_rows: int) -> _Compared:
    m, n = m_rows - known.n_missing, n_rows - tally.n_missing
    gone = tally.n_missing - tally.n_unreadable  # what cannot be read is told by itself
    shares = (known.n_missing / max(m_rows, 1), gone / max(n_rows, 1))
    p = {"missing": same_share(known.n_missing, m_rows, gone, n_rows)}
    after = tally.counts.astype(np.float64)
    unlisted = int(tally.counts[-1]) if known.has_levels else 0
    change = Change()
    if known.has_levels and known.knows_shares:
        before = np.array([*known.counts, known.other_rows], dtype=np.float64)
        change = same_shares(*rare_merged(before, after))
        p["levels"] = more_unlisted(known.other_rows, int(before.sum()), unlisted, n)
    elif known.counts:
        change = same_shares(*neighbours_merged(np.array(known.counts, dtype=np.float64), after))
    if known.low is not None and known.kind == "numeric":
        p["range"] = beyond_range(tally.below, tally.above, m, n)
    p["values"] = change.p_value
    return _Compared(known, tally, m, n, change, p, shares, unlisted)


def _findings(one: _Compared, level: float) -> list[Finding]:
    known, tally = one.known, one.tally
    findings: list[Finding] = []
    name = f"the target {known.name}" if known.role == "target" else known.name

    def say(severity: Severity, code: str, title: str, evidence: dict[str, Any], advice: str) -> None:
        findings.append(Finding(severity, (known.name,), f"{name}{title}", evidence, advice, code))

    if tally.n_unreadable:
        share = tally.n_unreadable / max(1, one.n + tally.n_missing)
        say("serious" if share >= STRANGE_LARGE else "warning", "M103",
            f": {count(tally.n_unreadable, 'cell')} cannot be read as {_article(known.kind)}",
            {"cells": tally.n_unreadable, "share": share}, "Clean them; the model cannot take them.")  # fmt: skip
    if one.p["values"] < level:
        size = one.change.size
        severity: Severity = "serious" if size >= LARGE_INDEX else "warning" if size >= SHIFT_INDEX else "info"
        words = "has changed" if severity != "info" else "has changed slightly"
        say(severity, "M201", f" {words}: PSI {one.change.psi:.2f}, {one.change.by_chance:.2f} by chance; "
            f"p {one.p['values']:.1g}",
            {"psi": one.change.psi, "by_chance": one.change.by_chance, "p_value": one.p["values"]},
            "Find the cause; retrain if the change is real." if severity != "info" else "")  # fmt: skip
    if one.p["missing"] < level:
        before, now = one.missing
        gap = abs(now - before)
        severity = "serious" if gap >= MISSING_LARGE else "warning" if gap >= MISSING_MATTERS else "info"
        say(severity, "M202", f": {percent(now)} missing, {percent(before)} in training; p {one.p['missing']:.1g}",
            {"before": before, "now": now, "p_value": one.p["missing"]},
            "Ask where the values went, or where they now come from.")  # fmt: skip
    outside = tally.below + tally.above
    if outside and (one.p["range"] < level or known.kind == "date"):
        share = outside / max(one.n, 1)
        dated = known.kind == "date"
        severity = "info" if dated else "serious" if share >= STRANGE_LARGE else "warning"
        say(severity, "M203", f": {count(outside, 'value')} ({percent(share)}) beyond {_span(known)}, "
            f"{_span(known, tally)} now",
            {"below": tally.below, "above": tally.above, "share": share, "p_value": one.p["range"]},
            "" if dated else "The model has never seen such values: its answers there are guesses.")  # fmt: skip
    if one.unlisted and (one.p["levels"] < level or not known.knows_shares):
        share = one.unlisted / max(one.n, 1)
        rarity = "never seen in training" if known.other_levels == 0 else "rare or never seen in training"
        severity = "serious" if share >= STRANGE_LARGE else "warning" if known.knows_shares else "info"
        say(severity, "M204", f": {count(one.unlisted, 'cell')} ({percent(share)}) of levels {rarity}, such as "
            + listed([shown(v) for v in tally.unlisted], 3),
            {"cells": one.unlisted, "share": share, "levels": dict(tally.unlisted), "p_value": one.p["levels"]},
            "The model was not trained on them.")  # fmt: skip
    return findings


def _article(kind: str) -> str:
    return "a date" if kind == "date" else "a number"


def _span(known: ColumnReference, tally: Tally | None = None) -> str:
    low, high = (known.low, known.high) if tally is None else (tally.low, tally.high)
    if low is None or high is None:
        return "what is known"
    if known.kind != "date":
        return f"{low:g} to {high:g}"
    # The last day ends where the next begins.
    first, last = (str(np.datetime64(int(v), "s"))[:10] for v in (low, high - (1 if tally is None else 0)))
    return f"{first} to {last}"
