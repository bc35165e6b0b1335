"""A finding: one thing about the data that deserves a decision, with its numbers and the advice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from tilth.quality.view import View

Severity = Literal["serious", "warning", "info"]
#: Most urgent first.
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "info")
#: Row numbers shown as examples, and the longest text of a cell shown in a finding.
EXAMPLES = 10
TEXT_LENGTH = 60


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


def plain(value: Any) -> Any:
    """Numbers, words, lists and dicts that a JSON file can hold; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def shown(value: Any) -> str:
    """A cell as quoted text of bounded length."""
    text = repr(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 3] + "..."


def listed(names: Iterable[Any], limit: int = 6) -> str:
    """Names in a row, the first few of many."""
    words = [str(n) for n in names]
    return ", ".join(words[:limit]) + (f" and {len(words) - limit} more" if len(words) > limit else "")


def percent(share: float) -> str:
    """A share as a percentage, never rounded to 0 or 100 unless it is.

    >>> percent(0.5), percent(0.9999), percent(0.0001)
    ('50%', 'over 99.9%', 'under 0.1%')
    """
    if 0 < share < 0.001:
        return "under 0.1%"
    if 0.999 < share < 1:
        return "over 99.9%"
    return f"{100 * share:.3g}%"


def count(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "row"), count(1200, "row"), count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
