"""What a model file says of itself besides the model: plain data, checked alike when written and when read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Characters of the data as JSON, and how deeply lists and dicts may stand inside each other.
MAX_ABOUT = 16 << 20
MAX_ABOUT_DEPTH = 24
#: Whole numbers beyond this lose digits in most readers of JSON.
MAX_WHOLE = 2**63


def plain_about(about: Any) -> dict[str, Any]:
    """The data as dicts, lists, texts, finite numbers, booleans and None; anything else is a ``ValueError``.

    >>> plain_about({"card": {"use": "teaching"}, "shares": (0.25, 0.75)})
    {'card': {'use': 'teaching'}, 'shares': [0.25, 0.75]}
    >>> plain_about({"when": 1e999})
    Traceback (most recent call last):
        ...
    ValueError: about.when is inf, and only finite numbers can be stored.
    """
    if not isinstance(about, Mapping):
        raise ValueError(f"about must be a dict with texts as keys; found {type(about).__name__}.")
    content: dict[str, Any] = _plain(about, "about", 0)
    size = len(json.dumps(content))
    if size > MAX_ABOUT:
        raise ValueError(f"about takes {size:,} characters as JSON, and a model file holds at most {MAX_ABOUT:,}.")
    return content


def _plain(value: Any, place: str, depth: int) -> Any:
    if depth > MAX_ABOUT_DEPTH:
        raise ValueError(f"about is nested too deeply: more than {MAX_ABOUT_DEPTH} lists or dicts inside each other.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _text(value, place)
    if type(value) is int:
        if abs(value) >= MAX_WHOLE:
            raise ValueError(f"{place} is a whole number of more than 63 bits; store it as text.")
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value}, and only finite numbers can be stored.")
        return value
    if isinstance(value, Mapping):
        odd = next((k for k in value if type(k) is not str), None)
        if odd is not None:
            raise ValueError(f"{place} has the key {odd!r:.60}; keys must be texts.")
        # Places are cut: a file may hold a long key over many values.
        return {_text(k, f"a key of {place}"): _plain(v, f"{place:.150}.{k:.40}", depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, f"{place:.150}[{i}]", depth + 1) for i, v in enumerate(value)]
    raise ValueError(
        f"{place} is a {type(value).__module__}.{type(value).__qualname__}; only dicts, lists, texts, finite "
        "numbers, booleans and None can be stored. Convert it, for instance with float(...) or .tolist()."
    )


def _text(value: str, place: str) -> str:
    """The text, unless it holds half a character, which no file in UTF-8 can."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{place} is no text: it holds half of a pair of code units.") from None
    return value
