"""Cells, texts and tables as people read them: what every renderer shares.

Column names and cells come from strangers' files: control characters never reach a terminal or a page, and what is
endless is cut.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_NOTHING = ("NAType", "NaTType")
#: Joiners shape letters and emoji, so they stay; marks of direction are dropped; any other hidden character is shown.
_STAND_INS = {
    "\t": " ",
    "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ",
    "\N{ZERO WIDTH JOINER}": "\N{ZERO WIDTH JOINER}",
    "\N{ZERO WIDTH NON-JOINER}": "\N{ZERO WIDTH NON-JOINER}",
    "\N{LEFT-TO-RIGHT MARK}": "",
    "\N{RIGHT-TO-LEFT MARK}": "",
    "\N{ARABIC LETTER MARK}": "",
    "\N{ZERO WIDTH NO-BREAK SPACE}": "",
}
_NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?|inf|-inf|")
#: A report shows this many rows of a table; the json has them all.
MOST_ROWS = 200
#: And this many characters of one cell or name.
MOST_CHARACTERS = 300
#: What is longer without a space is no word; so much of it is enough to know it again.
LONGEST_WORD = 100
#: What a traffic light says, for those who read words.
LIGHT_WORDS = {"": "", "good": "OK", "warn": "Check", "bad": "Action needed"}


def printable(text: str) -> str:
    """Text without control characters, which could steer a terminal; line ends stay."""
    return "".join(c if c.isprintable() or c == "\n" else _STAND_INS.get(c, "\N{REPLACEMENT CHARACTER}") for c in text)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Text of at most that many characters (fewer where they are not words), saying how long it was.

    >>> shortened("abcdefgh" * 1000, 10)
    'abcdefghab... (8,000 characters)'
    """
    if len(text) <= most:
        return text
    kept = text[:most]
    kept = kept[:LONGEST_WORD] if max(map(len, kept.split()), default=0) > LONGEST_WORD else kept
    return f"{kept}... ({len(text):,} characters)"


def cell_text(value: Any) -> str:
    """A cell as a person reads it: four significant digits, nothing for a missing value, one line.

    >>> cell_text(0.123456), cell_text(3.0), cell_text(float("nan")), cell_text(True)
    ('0.1235', '3', '', 'yes')
    """
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if value is None or type(value).__name__ in _NOTHING:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return " ".join(printable(str(value)).split())


def blocks_of(text: str) -> list[tuple[bool, str]]:
    """Paragraphs of a text, each with whether it is laid out by spaces (and must keep them).

    >>> blocks_of("Words.\\n\\n  a   1\\n  bb  2")
    [(False, 'Words.'), (True, '  a   1\\n  bb  2')]
    """
    parts = [p.strip("\n") for p in re.split(r"\n\s*\n", text) if p.strip()]
    return [(any(line.startswith(("  ", "| ")) for line in p.split("\n")), p) for p in parts]


@dataclass(frozen=True)
class Table:
    """A frame as text: names, cells of the first rows, which columns hold numbers, how many rows are not shown."""

    header: list[str]
    rows: list[list[str]]
    is_number: list[bool]
    more: int

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Table:
        """The first rows of a frame."""
        shown = frame.head(MOST_ROWS)
        columns = [[shortened(cell_text(v)) for v in shown.iloc[:, j].tolist()] for j in range(frame.shape[1])]
        return cls(
            header=[shortened(cell_text(c)) for c in frame.columns],
            rows=[list(row) for row in zip(*columns, strict=True)],
            is_number=[any(c) and all(_NUMBER.fullmatch(v) for v in c) for c in columns],
            more=max(0, len(frame) - MOST_ROWS),
        )
