"""Explanation: why a model answers as it does, in the user's own columns, for any fitted model.

``tilth.explain(model, X, y)`` is the function; the package holds what it is made of.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from tilth.explain.effects import Effect, Effects, partial_dependence
from tilth.explain.importance import Importance, permutation_importance
from tilth.explain.rows import RowExplanation, explain_rows
from tilth.explain.surrogate import Surrogate, surrogate
from tilth.explain.whole import Explained, explain

__all__ = [
    "Effect",
    "Effects",
    "Explained",
    "Importance",
    "RowExplanation",
    "Surrogate",
    "explain",
    "explain_rows",
    "partial_dependence",
    "permutation_importance",
    "surrogate",
]


class _CallablePackage(types.ModuleType):
    """The package is also the function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return explain(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
