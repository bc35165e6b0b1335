"""Declare a parameter once: ``param(default, low=, high=, doc=)``.

Validation, the docstring's Parameters section, command-line options, tuning ranges and report tables all read
the declaration; nothing repeats it.
"""

from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass(frozen=True)
class Param:
    """What is known of one parameter besides its default."""

    doc: str = ""
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    options: tuple[Any, ...] = ()
    scale: str = "linear"
    tune: tuple[Any, ...] = ()
    none_allowed: bool = False
    also: tuple[type, ...] = ()
    inert: bool = False

    def problem(self, value: Any) -> str | None:
        """Why ``value`` is not legal, as the end of a sentence, or None when it is."""
        if (value is None and self.none_allowed) or (self.also and isinstance(value, self.also)):
            return None
        if self.options and not any(value is o or (type(value) is type(o) and value == o) for o in self.options):
            return f"must be one of {', '.join(map(repr, self.options))}"
        if self.low is None and self.high is None:
            return None
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return f"must be a number {self.range_text()}"
        number = float(value)
        too_low = self.low is not None and (number <= self.low if self.low_open else number < self.low)
        if too_low or (self.high is not None and number > self.high) or number != number:
            return f"must be {self.range_text()}"
        return None

    def range_text(self) -> str:
        """The legal range in words: ``at least 0``, ``above 0 and at most 1``."""
        words = []
        if self.low is not None:
            words.append(f"{'above' if self.low_open else 'at least'} {self.low:g}")
        if self.high is not None:
            words.append(f"at most {self.high:g}")
        return " and ".join(words)


def param(
    default: Any,
    *,
    doc: str = "",
    low: float | None = None,
    high: float | None = None,
    low_open: bool = False,
    options: tuple[Any, ...] = (),
    scale: str = "linear",
    tune: tuple[Any, ...] = (),
    also: tuple[type, ...] = (),
    positional: bool = False,
) -> Any:
    """Declare a dataclass field that is a parameter.

    Parameters
    ----------
    default : the value when none is given; None there makes None legal.
    doc : one sentence for docs, help texts and reports.
    low, high, low_open : the legal range of a number.
    options : the legal words; ``also`` names classes that are legal besides.
    scale, tune : how a search should vary it: ``"log"`` or ``"linear"`` between ``tune`` (or low and high).
    positional : whether it may be given without its name, as the one number of a part: ``L1(0.1)``.
    """
    declared = Param(doc, low, high, low_open, options, scale, tune, default is None, also)
    return dataclasses.field(default=default, metadata={"tilth": declared}, kw_only=not positional)


def inert(default: Any, reason: str, *, options: tuple[Any, ...] = ()) -> Any:
    """Declare a parameter of scikit-learn's class of the same name that changes nothing here, and why.

    With ``options`` other values are refused: they ask for something that the model does not do.
    """
    words = f"Only {options[0]!r}" if options else "Taken from scikit-learn's callers, without effect"
    declared = Param(f"{words}: {reason}.", options=options, none_allowed=default is None, inert=True)
    return dataclasses.field(default=default, metadata={"tilth": declared}, kw_only=True)


@dataclass_transform(kw_only_default=True, eq_default=False)
def declared(cls: type[T]) -> type[T]:
    """Make a keyword-only dataclass whose docstring lists its parameters from their declarations."""
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    cls.__doc__ = document(cls)
    return cls


def stored(cls: type[T]) -> type[T]:
    """Mark a dataclass as one that model files may hold.

    The mark is the permission: a reader builds classes with a mark of their own and no others, and finds them in
    ``tilth/_registry.py``, which is written from the marks. Where fields must fit together, a method
    ``inconsistency()`` says in words what is wrong.
    """
    cls.__stored__ = True  # type: ignore[attr-defined]
    return cls


def params_of(owner: Any) -> dict[str, Param]:
    """The declared parameters of a class or instance, in order, inherited ones first."""
    return {f.name: f.metadata["tilth"] for f in dataclasses.fields(owner) if "tilth" in f.metadata}


def check_params(owner: Any) -> None:
    """Raise a ValueError naming the first parameter whose value is not legal."""
    for name, declared_param in params_of(owner).items():
        value = getattr(owner, name)
        problem = declared_param.problem(value)
        if problem:
            raise ValueError(f"{type(owner).__name__}: {name} {problem}; got {value!r}.")


def document(cls: type) -> str:
    """The class docstring with a Parameters section made from the declarations."""
    text = (cls.__dict__.get("__doc__") or "").rstrip()
    rows = []
    for field in dataclasses.fields(cls):
        info = field.metadata.get("tilth")
        if info is None:
            continue
        legal = " | ".join(repr(o) for o in info.options) or info.range_text()
        rows.append(f"    {field.name} : {legal + ', ' if legal else ''}default {field.default!r}\n        {info.doc}")
    if not rows or "Parameters\n    ----------" in text:
        return text
    head, mark, example = text.partition("\n\n    >>>")
    section = "\n\n    Parameters\n    ----------\n" + "\n".join(rows)
    learned = getattr(cls, "learned", {})
    if learned:
        section += "\n\n    Attributes\n    ----------\n"
        section += "\n".join(f"    {name} : {shape}" for name, shape in learned.items())
    return head + section + (("\n\n    Examples\n    --------\n    >>>" + example) if mark else "") + "\n    "
