"""What every statistic promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np


@dataclass(slots=True, eq=False, repr=False)
class Statistic(ABC):
    """A summary of rows that is a plain value.

    The laws every statistic obeys, for rows A and B: ``stat(A) + stat(B)`` is ``stat(A and B)`` up to
    rounding (a sketch: up to its stated error), an empty statistic changes nothing when merged, a weight of
    3 is the same row three times, and neither ``+`` nor ``+=`` alters the right side.

    A subclass is a dataclass whose fields are arrays, numbers, strings, lists of these, or other statistics;
    it holds no reference to a model. When ``update`` or ``+=`` raises, the statistic is as it was before.
    """

    @abstractmethod
    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add rows."""

    @abstractmethod
    def __iadd__(self, other: Self) -> Self:
        """Merge `other` into this statistic."""

    def __add__(self, other: Self) -> Self:
        """Return a new statistic of the rows of both."""
        merged = self.copy()
        merged += other
        return merged

    def copy(self) -> Self:
        """Return an independent copy: no array is shared."""
        return type(self)(**{field.name: _copied(getattr(self, field.name)) for field in fields(self)})

    def __repr__(self) -> str:
        shown = (f"{field.name}={_brief(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"


def require_mergeable(left: Statistic, right: object, *array_names: str) -> None:
    """Refuse to merge two statistics of different kinds or whose named arrays differ in shape."""
    name = type(left).__name__
    if type(left) is not type(right):
        raise TypeError(f"{name} merges with another {name} only, but was given a {type(right).__name__}.")
    for array_name in array_names:
        mine, theirs = getattr(left, array_name).shape, getattr(right, array_name).shape
        if mine != theirs:
            raise ValueError(
                f"{name} merges with statistics of its own shape only: {array_name} is {_times(mine)} here "
                f"and {_times(theirs)} in the other. Make both from the same schema, or grow the smaller one."
            )


def _copied(value: Any) -> Any:
    if isinstance(value, (np.ndarray, Statistic)):
        return value.copy()
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"<{_times(value.shape)} {value.dtype}>"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
