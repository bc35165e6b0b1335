"""Which classes a model file may name: those marked ``@stored``, and the estimators of the public registry.

Nothing outside ``tilth/_registry.py`` is ever imported for a file. A value is a dataclass of ours; its fields are
checked against their annotations, then against what the class itself needs to be consistent.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import importlib
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from tilth._registry import ESTIMATORS, STORED
from tilth.base import Estimator
from tilth.data.steps import Step
from tilth.errors import ModelFileError
from tilth.lifecycle.state import brief
from tilth.models import catalogue
from tilth.params import check_params

#: Own estimator classes that the caller allows besides the registry, by name.
Extra: TypeAlias = Mapping[str, type[Estimator]]


# ------------------------------------------------------------------------------------------ classes


def value_class(name: str) -> type:
    """The value class of this name; any other name is refused."""
    cls = None if name not in STORED else getattr(importlib.import_module(STORED[name]), name)
    if cls is None or not _is_marked(cls):
        raise ModelFileError(f"it names the value {name!r:.80}, which this version of tilth does not know.")
    return cast(type, cls)


def _is_marked(cls: type) -> bool:
    """Whether the class itself, not only one it inherits from, is decorated with ``@stored``."""
    return "__stored__" in vars(cls)


def estimator_class(name: str, extra: Extra) -> type[Estimator]:
    """The estimator of this public name, or one the caller allowed; any other name is refused."""
    if name in extra:
        return extra[name]
    if name not in ESTIMATORS:
        raise ModelFileError(
            f"it names the model {name!r:.80}, which is no estimator of this version of tilth. "
            "A class of your own is allowed with load(path, classes=[...])."
        )
    return catalogue.estimator_class(name)


def is_value(thing: Any) -> bool:
    """Whether exactly this class is one that files may hold."""
    cls = type(thing)
    return _is_marked(cls) and STORED.get(cls.__qualname__) == cls.__module__


def build_value(name: str, content: dict[str, Any]) -> Any:
    """A value from its fields, each checked; names that are not fields, and fields that lack, are refused."""
    cls = value_class(name)
    hints = field_types(cls)
    if set(content) != set(hints):
        wrong = sorted(set(content) ^ set(hints))
        raise ModelFileError(f"its {name} has or lacks the fields {', '.join(wrong)}.")
    for field, hint in hints.items():
        if not fits(content[field], hint):
            raise ModelFileError(f"the field {field!r} of its {name} holds {brief(content[field])}.")
    value = cls(**content)
    if isinstance(value, Step):
        check_params(value)
    problem = value.inconsistency() if hasattr(cls, "inconsistency") else ""
    if problem:
        raise ModelFileError(f"its {name} is inconsistent: {problem}.")
    return value


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Annotations of the dataclass fields, resolved."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


# ------------------------------------------------------------------------------------------ types


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says; one that says nothing checkable admits everything.

    >>> fits((1, "a"), tuple[int | str, ...]), fits([1], list[str]), fits(True, int), fits(1, float)
    (True, False, False, True)
    """
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    origin, args = get_origin(hint), get_args(hint)
    if origin is not None:
        return _fits_generic(value, origin, args)
    if hint is float:
        return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _fits_generic(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    if origin in (Union, types.UnionType):
        return any(fits(value, a) for a in args)
    if origin is Literal:
        return any(type(value) is type(a) and value == a for a in args)
    if origin is np.ndarray:
        scalar = get_args(args[1])[0] if get_args(args[1]) else Any
        return isinstance(value, np.ndarray) and (scalar is Any or np.issubdtype(value.dtype, scalar))
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(fits(v, args[0]) for v in value)
        return len(value) == len(args) and all(map(fits, value, args))
    if origin in (list, collections.abc.Sequence):
        return isinstance(value, (list, tuple)) and all(fits(v, args[0]) for v in value)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return isinstance(value, origin) if isinstance(origin, type) else True
