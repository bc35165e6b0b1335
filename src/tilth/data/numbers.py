"""Numbers and missing values as people type them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from tilth.words import count, listed

#: Cells that can only mean "no value" in a column of numbers.
MISSING_TOKENS = frozenset(
    {
        "",
        "?",
        "-",
        "--",
        "---",
        ".",
        "..",
        "...",
        "na",
        "n/a",
        "n.a.",
        "n.a",
        "<na>",
        "#n/a",
        "#div/0!",
        "#name?",
        "#null!",
        "#num!",
        "#ref!",
        "#value!",
        "nan",
        "null",
        "(null)",
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


def not_numbers(levels: Mapping[Any, int]) -> dict[str, int]:
    """The levels of a column of numbers that are none, the tokens for "no value" among them, with their counts.

    >>> not_numbers({"1.5": 90, "--": 3, "n.a.": 2, "see note": 1})
    {'--': 3, 'n.a.': 2, 'see note': 1}
    """
    return {str(v): n for v, n in levels.items() if (number := parse_number(v)) is None or math.isnan(number)}


def tokens_text(tokens: Mapping[str, int]) -> str:
    """Tokens that were read as missing, counted and named.

    >>> tokens_text({"--": 3}), tokens_text({"--": 3, "see note": 1})
    ("3 cells '--' taken as missing", "4 cells '--' (3), 'see note' (1) taken as missing")
    """
    cells, named = sum(tokens.values()), list(tokens.items())
    tokens_named = listed((repr(v) if len(named) == 1 else f"{v!r} ({n})" for v, n in named), 5)
    return f"{count(cells, 'cell')} {tokens_named} taken as missing"
