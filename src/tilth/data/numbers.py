"""Numbers and missing values as people type them."""

from __future__ import annotations

import math
import re
from typing import Any

#: Cells that can only mean "no value" in a column of numbers.
MISSING_TOKENS = frozenset(
    {
        "",
        "?",
        "-",
        "--",
        ".",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "unknown",
        "not available",
    }
)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")


def is_missing_token(value: Any) -> bool:
    """Whether a text cell is one of the usual ways to write that there is no value.

    >>> is_missing_token(" N/A "), is_missing_token("no")
    (True, False)
    """
    return isinstance(value, str) and value.strip().lower() in MISSING_TOKENS


def parse_number(value: Any) -> float | None:
    """The number a cell stands for, NaN for a missing token, None when it is no number.

    Thousands separators and a trailing percent sign are read; anything that could mean two numbers is not.

    >>> parse_number("1,234.5"), parse_number("12 %"), parse_number("four")
    (1234.5, 12.0, None)
    """
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if is_missing_token(text):
        return math.nan
    text = text.removesuffix("%").rstrip()
    if _THOUSANDS.match(text):
        text = text.replace(",", "")
    return float(text) if _PLAIN.match(text) else None
