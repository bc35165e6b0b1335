"""Evaluation: scores on rows a model has not seen, each with an interval, beside the baseline.

``tilth.evaluate(model, X, y)`` is the function; the package holds what it is made of.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _CallablePackage(types.ModuleType):
    """The package is also the function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from tilth.evaluate.evaluation import evaluate

        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
