"""How many of how much, and from which seed: numbers, shares and words that say the sizes of random choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.seeds import seed_of

Seeds = NDArray[np.int64]

#: Further from 0 than this, the variance of squared targets leaves the range of floating-point numbers.
LARGEST_TARGET = 1e75


def require_squares(targets: NDArray[Any], owner: str) -> None:
    """Refuse numbers too large to be squared and summed."""
    largest = float(np.abs(targets).max(initial=0.0))
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"{owner}: targets are squared while learning, so they must lie within {LARGEST_TARGET:g} of 0; found "
            f"{largest:g}. Divide them by a constant first."
        )


def subset_size(rule: Any, p: int) -> int | None:
    """Columns tried at a node, of p: ``"sqrt"``, ``"log2"``, ``"log2+1"`` = floor(log2 p + 1), a share, a number.

    None tries all.

    >>> [subset_size("log2+1", p) for p in (4, 10, 16, 100, 1000)]
    [3, 4, 5, 7, 10]
    """
    if rule is None:
        return None
    if rule == "sqrt":
        return max(1, math.isqrt(p))
    if rule == "log2":
        return max(1, math.floor(math.log2(p)))
    if rule == "log2+1":
        return min(p, math.floor(math.log2(p) + 1))
    if isinstance(rule, str):
        raise ValueError(
            f"max_features must be 'sqrt', 'log2', 'log2+1', a share (float), a number (int) or None; got {rule!r}."
        )
    return part_of(rule, p, "max_features", "columns")


def part_of(asked: Any, whole: int, name: str, things: str) -> int:
    """A number (int) or a share (float) of ``whole`` things, as a number from 1 to ``whole``.

    >>> part_of(0.5, 7, "max_features", "columns"), part_of(3, 7, "max_features", "columns")
    (3, 3)
    """
    if isinstance(asked, (int, np.integer)) and asked is not True and asked is not False:
        if asked < 1:
            raise ValueError(f"{name} must be at least 1; got {asked!r}.")
        return min(int(asked), whole)
    if isinstance(asked, (float, np.floating)):
        if not 0.0 < asked <= 1.0:
            raise ValueError(f"{name} as a share of the {things} must be above 0 and at most 1; got {asked!r}.")
        return max(1, int(asked * whole))
    raise ValueError(f"{name} must be a number of {things} (int) or a share of them (float); got {asked!r}.")


def tree_seeds(random_state: Any, count: int) -> Seeds:
    """One seed per tree; the first seeds stay the same when more are asked for."""
    words = np.random.SeedSequence(seed_of(random_state)).generate_state(count, np.uint64)
    return (words >> np.uint64(1)).astype(np.int64)
