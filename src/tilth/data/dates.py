"""Dates written as text: year-month-day, with a time or without, as ISO 8601 has them.

Other ways of writing, such as 03/04/2020, mean different days to different people and are not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?Z?")


def read_date(text: Any) -> np.datetime64 | None:
    """The moment that a text names, to the second; None where it names none.

    >>> read_date("2020-02-29"), read_date("2020-02-30"), read_date("29/02/2020")
    (np.datetime64('2020-02-29T00:00:00'), None, None)
    """
    if not isinstance(text, str) or not _ISO.fullmatch(text.strip()):
        return None
    try:
        return np.datetime64(text.strip().removesuffix("Z").replace(" ", "T"), "s")
    except ValueError:  # there is no such day
        return None


def all_dates(texts: Iterable[Any]) -> bool:
    """Whether there are texts, and each is a date."""
    dates = list(texts)
    return bool(dates) and all(read_date(text) is not None for text in dates)


def dates_of(levels: Iterable[Any], codes: NDArray[Any]) -> tuple[NDArray[np.datetime64], list[Any]]:
    """The moment of every row, NaT where it is missing or no date, and the texts that are no dates."""
    read = [(text, read_date(text)) for text in levels]
    nothing = np.datetime64("NaT", "s")
    moments = np.array([*(nothing if at is None else at for _, at in read), nothing], dtype="datetime64[s]")
    return moments[codes], [text for text, at in read if at is None]
