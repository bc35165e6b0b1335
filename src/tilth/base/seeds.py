"""Seeds: one rule for ``random_state`` in every model."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tilth.params import param


def seed_param(doc: str = "Seed of all random choices; None takes a new one each time.") -> Any:
    """Declare ``random_state``: a whole number, a generator of numpy, or None for other draws in every fit."""
    return param(0, low=0, also=(type(None), np.random.Generator, np.random.RandomState), doc=doc)


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` stands for: the number itself, a draw from a generator, a new one for None.

    >>> seed_of(7), seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    (7, True)
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral) or random_state < 0:
        raise ValueError(
            f"random_state must be a whole number from 0, a numpy generator, or None; got {random_state!r}."
        )
    return int(random_state)
