"""A finding: one thing about the data that deserves a decision, with its numbers and the advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tilth.words import plain

if TYPE_CHECKING:
    from tilth.quality.view import View

Severity = Literal["serious", "warning", "info"]
#: Most urgent first.
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "info")
#: Row numbers shown as examples.
EXAMPLES = 10


@dataclass(frozen=True)
class Finding:
    """One finding.

    ``severity`` is ``"serious"`` (results would be wrong), ``"warning"`` (decide before learning) or ``"info"``.
    ``evidence`` holds the numbers behind the title; row numbers in it count from 0. The runner fills in ``code``.
    """

    severity: Severity
    columns: tuple[str, ...]
    title: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    advice: str = ""
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-ready data."""
        return {
            "code": self.code,
            "severity": self.severity,
            "columns": list(self.columns),
            "title": self.title,
            "evidence": plain(self.evidence),
            "advice": self.advice,
        }

    def __str__(self) -> str:
        return f"{self.severity:<7}  {self.code}  {self.title}" + (f"\n{' ' * 15}{self.advice}" if self.advice else "")


@dataclass(frozen=True)
class Check:
    """A check as a row of the table of checks: its code, its name, and the function that makes the findings."""

    code: str
    name: str
    run: Callable[[View], Iterable[Finding]]

    @property
    def about(self) -> str:
        """What the check looks for: the first sentence of its function's docstring."""
        return (self.run.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
