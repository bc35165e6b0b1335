"""tilth: one library for the machine-learning curriculum - typed tables, one estimator contract, honest evaluation.

Every public name is importable from here and loaded when first used::

    from tilth import NaiveBayes, profile, save
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from tilth._names import OTHERS, PACKAGES
from tilth._registry import CHAPTERS, ESTIMATORS

# Read when OpenMP is loaded: how often a thread looks for more work before it sleeps. By default it looks for so long
# that a fit beside another busy process takes ten times as long; a few microseconds are enough between two steps.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

_NAMES = ESTIMATORS | OTHERS
__all__ = ["__version__", *_NAMES, *PACKAGES, *CHAPTERS]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tilth")
        except PackageNotFoundError:  # used from a source tree that is not installed
            return "0+source"
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), "load" if name == "load_dataset" else name)
        globals()[name] = value
        return value
    if name in PACKAGES:
        return importlib.import_module(f"tilth.{name}")
    if name in CHAPTERS:
        return importlib.import_module(f"tilth.models.{name}")
    raise AttributeError(f"module 'tilth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
