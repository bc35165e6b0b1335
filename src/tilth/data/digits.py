"""Numbers as people read them."""

from __future__ import annotations

import math


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
