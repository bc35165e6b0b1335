"""The report of an audit: what there is to doubt about a score, worst first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from tilth.base import Section
from tilth.base.result import Result
from tilth.evaluate.audit.finding import AUDIT_KINDS, AuditKind, Doubt
from tilth.evaluate.intervals import Interval
from tilth.quality.finding import SEVERITIES
from tilth.words import count, listed, plain

if TYPE_CHECKING:
    import pandas as pd

FailOn = Literal["leak", "protocol", "any"]
#: Findings shown unless all are asked for.
SHOWN = 3
SCHEMA = "tilth.audit/1"
#: Kinds of findings that count as a failure.
_FAILING: dict[str, tuple[AuditKind, ...]] = {
    "leak": ("leak",), "protocol": ("leak", "protocol"), "any": AUDIT_KINDS,
}  # fmt: skip

BLIND = (
    "What cannot be seen in a table: columns or rows chosen by looking at the target (pass source=), preparation that "
    "used all rows and left no exact trace, and knowledge of the future under an innocent name."
)


@dataclass(eq=False)
class Audit(Result):
    """What there is to doubt about a score, worst first.

    ``score`` is the estimate of the plan itself, ``checked`` the codes that were asked. ``print(audit)`` shows the
    three worst findings; ``audit.text(all=True)`` and ``audit.frame()`` show all.
    """

    findings: list[Doubt]
    model: str
    n_rows: int
    plan: str
    metric: str
    score: Interval | None = None
    checked: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    seed: int = 0

    @property
    def worst(self) -> Doubt | None:
        """The worst finding, or None."""
        return self.findings[0] if self.findings else None

    def __getitem__(self, code: str) -> list[Doubt]:
        """The findings of one code."""
        return [f for f in self.findings if f.code == code]

    def of(self, kind: AuditKind) -> list[Doubt]:
        """The findings of one kind."""
        return [f for f in self.findings if f.kind == kind]

    def failed(self, on: FailOn = "leak") -> bool:
        """Whether there is a finding of this kind or a worse one that is more than a note."""
        if on not in get_args(FailOn):
            raise ValueError(f"failed: on must be one of {', '.join(map(repr, get_args(FailOn)))}; got {on!r}.")
        return any(f.kind in _FAILING[on] and f.severity != "info" for f in self.findings)

    def verdict(self) -> str:
        """The report in one or two sentences."""
        n = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        text = f"{self.model} on {count(self.n_rows, 'row')}, {self.plan}"
        text += f": {self.metric} {self.score} ({self.score.method})." if self.score else "."
        if not self.findings:
            return f"{text} {count(len(self.checked), 'check')}, no problem found."
        if not n["serious"] and not n["warning"]:
            return f"{text} {count(len(self.checked), 'check')}, no leak found, {count(n['info'], 'note')}."
        counts = f"{n['serious']} serious, {count(n['warning'], 'warning')}, {count(n['info'], 'note')}"
        believe = " Do not trust the score before these are resolved." if n["serious"] else ""
        return f"{text} {counts}.{believe}"

    def text(self, *, all: bool = False) -> str:
        """The report as text; the three worst findings unless all are asked for."""
        shown = self.findings if all else self.findings[:SHOWN]
        lines = [self.verdict(), *("  " + str(f).replace("\n", "\n  ") for f in shown)]
        if len(shown) < len(self.findings):
            lines.append(f"  and {len(self.findings) - len(shown)} more: .text(all=True) or .frame()")
        return "\n".join([*lines, *self.notes])

    def frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        fields = ["severity", "kind", "code", "columns", "title", "consequence", "advice"]
        rows = [{**f.to_dict(), "columns": listed(f.columns)} for f in self.findings]
        return pd.DataFrame(rows, columns=fields)

    def sections(self, *, all: bool = True) -> list[Section]:
        """The report as pages."""
        table = self.frame() if all else self.frame().head(SHOWN)
        advice = self.worst.advice if self.worst and self.worst.severity != "info" else ""
        text = "\n\n".join([self.verdict(), *self.notes])
        return [Section("Can the score be trusted?", text, table if len(table) else None, advice=advice),
                Section("Settings of the audit", f"Checks {', '.join(self.checked)}.\n\n{BLIND}")]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "rows": self.n_rows,
            "plan": self.plan,
            "metric": self.metric,
            "score": None if self.score is None else plain(self.score.to_dict()),
            "seed": self.seed,
            "failed": {on: self.failed(on) for on in get_args(FailOn)},
            "counts": {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES},
            "findings": [f.to_dict() for f in self.findings],
            "checked": list(self.checked),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return self.text()


def ranked(found: list[Doubt]) -> list[Doubt]:
    """Worst first: by severity, then by kind, then by the optimism that was measured."""

    def key(f: Doubt) -> tuple[int, int, float, str]:
        measured = f.evidence.get("optimism")
        size = float(measured["value"]) if isinstance(measured, dict) else 0.0
        return SEVERITIES.index(f.severity), AUDIT_KINDS.index(f.kind), -size, f.code

    return sorted(found, key=key)
