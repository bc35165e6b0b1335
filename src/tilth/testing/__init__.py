"""Checks that every estimator must pass, generated from its declarations.

``for check in yield_checks(model): check(model)``
"""

from tilth.testing.data import example
from tilth.testing.kinds import excuses, yield_checks

__all__ = ["example", "excuses", "yield_checks"]
