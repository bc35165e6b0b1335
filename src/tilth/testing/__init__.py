"""Checks that every estimator must pass, generated from its declarations.

``for check in yield_checks(model): check(model)``
"""

from tilth.testing.checks import yield_checks
from tilth.testing.data import example

__all__ = ["example", "yield_checks"]
