"""Kinds of attributes and what each allows: nominal (equality), ordinal (order), numeric (arithmetic).

A *level* is one value of a nominal or ordinal attribute. Levels are compared by :func:`level_key`, so that the
``3`` of an integer column, the ``3.0`` it becomes when a cell is missing, and the ``"3"`` of a text file are one level.
"""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from typing import Any, Literal

from tilth.errors import KindError
from tilth.params import stored

Level = str | int | float | bool
KindName = Literal["numeric", "ordinal", "nominal"]

#: What may be done with the values of each kind. Each kind allows what the kinds before it allow.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "nominal": ("equality",),
    "ordinal": ("equality", "order"),
    "numeric": ("equality", "order", "arithmetic"),
}


@stored
@dataclass(frozen=True)
class Kind:
    """A kind of attribute: ``Kind("numeric")``, ``Kind("ordinal", ("low", "high"))``, ``Kind("nominal", (...))``."""

    name: KindName
    levels: tuple[Level, ...] = ()

    def allows(self, operation: str) -> bool:
        """Whether ``"equality"``, ``"order"`` or ``"arithmetic"`` makes sense for this kind."""
        return operation in OPERATIONS[self.name]

    def require(self, operation: str, column: str, wanted: str) -> None:
        """Refuse an operation with the reason.

        >>> Kind("nominal", ("red", "blue")).require("arithmetic", "colour", "a mean")
        Traceback (most recent call last):
            ...
        tilth.errors.KindError: 'colour' is nominal: its levels can only be tested for equality, ...
        """
        if not self.allows(operation):
            reason = {
                "nominal": "its levels can only be tested for equality",
                "ordinal": "its levels have an order but no distances",
                "numeric": "",
            }[self.name]
            raise KindError(f"{column!r} is {self.name}: {reason}, so {wanted} has no meaning.")

    def __str__(self) -> str:
        if self.name == "numeric":
            return "numeric"
        joiner = " < " if self.name == "ordinal" else ", "
        shown = joiner.join(str(v) for v in self.levels[:6])
        return f"{self.name}({shown}{joiner + '...' if len(self.levels) > 6 else ''})"


numeric = Kind("numeric")


def nominal(*levels: Level) -> Kind:
    """A kind whose levels have no order."""
    return Kind("nominal", levels)


def ordinal(*levels: Level) -> Kind:
    """A kind whose levels are given from lowest to highest."""
    return Kind("ordinal", levels)


def level_key(value: Any) -> str:
    """The text by which two spellings of one level are recognised as the same.

    >>> level_key(3), level_key(3.0), level_key("3"), level_key(True)
    ('3', '3', '3', 'True')
    """
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, numbers.Real) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def plain_level(value: Any) -> Level:
    """A level as a plain Python value that a JSON file can hold."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return value if isinstance(value, (str, bool, int, float)) else str(value)


_NUMBER_PARTS = re.compile(r"(\d+(?:\.\d+)?)")


def sort_levels(levels: list[Level]) -> list[Level]:
    """Levels in a natural order: numbers by value, text with embedded numbers as people sort it.

    >>> sort_levels(["b10", "b9", "a"])
    ['a', 'b9', 'b10']
    """
    if all(isinstance(v, (int, float)) for v in levels):
        return sorted(levels, key=float)

    def natural(value: Level) -> list[tuple[int, float, str]]:
        parts = _NUMBER_PARTS.split(level_key(value))
        return [(0, float(p), "") if i % 2 else (1, 0.0, p) for i, p in enumerate(parts) if p]

    return sorted(levels, key=natural)
