"""Words for numbers and lists: how every message, verdict and page writes them. One home, so that all speak alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

#: The longest text of a cell in a sentence.
TEXT_LENGTH = 60

_MANY = {"is": "are", "was": "were", "has": "have", "does": "do"}

# ---------------------------------------------------------------------------------------------------------------- lists


def count(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "row"), count(1200, "row"), count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def verb(n: int, one: str) -> str:
    """A verb that agrees with a number, given as it goes with one.

    >>> verb(1, "is"), verb(2, "is"), verb(2, "has"), verb(2, "tells")
    ('is', 'are', 'have', 'tell')
    """
    return one if n == 1 else _MANY.get(one, one.removesuffix("s"))


def listed(names: Iterable[Any], limit: int = 6, *, quoted: bool = False, last: str = "") -> str:
    """Names in a row, the first few of many; ``last`` is the word before the last one where all are named.

    >>> listed("abc"), listed("abcd", 2), listed("abc", quoted=True, last="or")
    ('a, b, c', 'a, b and 2 more', "'a', 'b' or 'c'")
    """
    words = [repr(n) if quoted else str(n) for n in names]
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit:,} more"
    if last and len(words) > 1:
        return f"{', '.join(words[:-1])} {last} {words[-1]}"
    return ", ".join(words)


def shown(value: Any, limit: int = TEXT_LENGTH) -> str:
    """A cell as quoted text of bounded length."""
    return cut(
        repr(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value), limit
    )


def cut(text: str, limit: int = TEXT_LENGTH) -> str:
    """Text of bounded length.

    >>> cut("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= limit else text[: limit - 3] + "..."


def setting(value: Any) -> str:
    """The value of a parameter as it would be typed, numbers in four digits.

    >>> setting(0.123456), setting("auto"), setting(None)
    ('0.1235', "'auto'", 'None')
    """
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


# -------------------------------------------------------------------------------------------------------------- numbers


def digits(*values: float, sign: str = "") -> list[str]:
    """Numbers of one scale in as many digits as can be read: three decimals, fewer of large numbers, more of tiny ones.

    ``sign`` "+" shows the sign of positive numbers too.

    >>> digits(0.7851, 0.75, 0.8)
    ['0.785', '0.750', '0.800']
    >>> digits(44818.013, 42379.4, sign="+"), digits(0.00002345)
    (['+44,818', '+42,379'], ['2.35e-05'])
    """
    size = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if 0 < size < 1e-3:
        return [f"{v:{sign}.3g}" for v in values]
    places = 3 if size < 100 else 1 if size < 10_000 else 0
    return [f"{v:{sign},.{places}f}" for v in values]


def readable(value: float, sign: str = "") -> str:
    """One number in as many digits as can be read.

    >>> readable(1234.56), readable(-0.5, sign="+")
    ('1,234.6', '-0.500')
    """
    return digits(value, sign=sign)[0]


def brief(value: float) -> str:
    """A number in two digits, whole from 10 on.

    >>> brief(0.0073), brief(3.14), brief(1512.3)
    ('0.0073', '3.1', '1,512')
    """
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.2g}"


def about(n: float) -> str:
    """A large number as it is said aloud.

    >>> about(26278), about(1_234_567), about(2_000_000_000)
    ('26,278', '1.2 million', '2 billion')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if abs(n) >= size:
            return f"{n / size:.1f}".removesuffix(".0") + f" {word}"
    return f"{n:,.0f}"


def spanned(value: float, low: float, high: float, *, sign: str = "") -> str:
    """A number with the interval it lies in.

    >>> spanned(0.7851, 0.75, 0.8)
    '0.785 (0.750 to 0.800)'
    """
    middle, low_text, high_text = digits(value, low, high, sign=sign)
    return f"{middle} ({low_text} to {high_text})"


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


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(2.345), duration(600), duration(7500)
    ('2.3 s', '10 min', '2 h 05 min')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


# ---------------------------------------------------------------------------------------------------------------- files


def plain(value: Any) -> Any:
    """Numbers, words, lists and dicts that a JSON file can hold; NaN and infinity become None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # an array or a number of numpy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
