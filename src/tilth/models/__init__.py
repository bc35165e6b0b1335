"""Models: sentences of parts and engines, one chapter per question. ``tilth.models()`` lists them."""

from __future__ import annotations

import sys
import types
from typing import Any


class _CallablePackage(types.ModuleType):
    """The package is also the function of the same name: ``tilth.models.bayes`` and ``tilth.models(task=...)``."""

    def __call__(self, **wanted: Any) -> Any:
        from tilth.models.catalogue import models

        return models(**wanted)


sys.modules[__name__].__class__ = _CallablePackage
