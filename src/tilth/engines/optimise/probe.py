"""What can be learned of a function by asking it near a point: slopes, curvature, contradictions of convexity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Relative step of central differences that balances rounding and truncation.
STEP = float(np.finfo(float).eps ** (1 / 3))
#: The same where the gradient is itself a difference.
WIDE_STEP = 1e-3
#: Curvature this small beside the largest is taken for flat: differences cannot tell it from zero.
FLAT = 1e-5


def point(values: Any, owner: str, name: str = "start") -> Floats:
    """The numbers of a point as a fresh vector; raises a sentence when they are none."""
    try:
        x = np.array(values, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{owner}: {name} must be numbers; got {values!r}.") from problem
    if x.ndim != 1 or not x.size:
        raise ValueError(f"{owner}: {name} must be one row of at least one number; got the shape {x.shape}.")
    if not np.isfinite(x).all():
        place = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"{owner}: {name} must be finite; entry {place} is {x[place]}.")
    return x


def jacobian(
    function: Callable[[Floats], Floats], x: Floats, low: Floats | None = None, high: Floats | None = None
) -> Floats:
    """d function_i / d x_j, [m, d], for a function that gives a vector of m numbers.

    Central differences; three points to one side where a bound, or the edge of what the function knows, is near.
    """
    low = np.full(x.size, -np.inf) if low is None else low
    high = np.full(x.size, np.inf) if high is None else high
    columns = [_slope(function, x, j, low[j], high[j]) for j in range(x.size)]
    return np.stack(columns, axis=1)


def _slope(function: Callable[[Floats], Floats], x: Floats, j: int, low: float, high: float) -> Floats:
    step = STEP * max(1.0, abs(float(x[j])))

    def at(shift: float) -> Floats:
        moved = x.copy()
        moved[j] += shift
        with np.errstate(all="ignore"):
            return np.asarray(function(moved), dtype=np.float64)

    def ways() -> Iterator[Floats]:
        fixed = low == high
        if fixed or (x[j] - low >= step and high - x[j] >= step):
            yield (at(step) - at(-step)) / (2 * step)
        # The roomier side first: between a point and a bound that it all but touches there is nothing but rounding.
        for side, room in sorted(((1.0, high - x[j]), (-1.0, x[j] - low)), key=lambda way: -way[1]):
            h = side * min(step, room / 2)
            if room > 0:
                yield (-3 * at(0.0) + 4 * at(h) - at(2 * h)) / (2 * h)

    gradient = np.zeros(1)
    for gradient in ways():
        if np.isfinite(gradient).all():
            break
    return gradient


def curvature_along(
    gradient: Callable[[Floats], Floats], x: Floats, g: Floats, direction: Floats, apart: float = STEP
) -> float:
    """|change of the gradient| per length of a step of ``apart`` (relative) along ``direction``; ``g`` is that at x."""
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return 0.0
    step = apart * max(1.0, float(np.linalg.norm(x)))
    change = float(np.linalg.norm(gradient(x + step / length * direction) - g)) / step
    return change if np.isfinite(change) else 0.0


def least_curvature(
    gradient: Callable[[Floats], Floats], x: Floats, basis: Floats | None = None, step: float = STEP
) -> float:
    """Smallest eigenvalue of the second derivatives at x (seen in the columns of an orthonormal ``basis``).

    Zero when it is too small beside the largest to be told from zero; nan where the function cannot be asked.
    """
    directions = np.eye(x.size) if basis is None else basis
    if not directions.shape[1]:
        return float("nan")
    h = step * max(1.0, float(np.abs(x).max()))
    with np.errstate(all="ignore"):
        bent = np.stack([(gradient(x + h * d) - gradient(x - h * d)) / (2 * h) for d in directions.T], axis=1)
    hessian = directions.T @ bent
    if not np.isfinite(hessian).all():
        return float("nan")
    values = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    return 0.0 if abs(values[0]) <= FLAT * np.abs(values).max() else float(values[0])


def bends_down(function: Callable[[Floats], float], pairs: Iterable[tuple[Floats, Floats]]) -> bool:
    """Whether f((a + b) / 2) > (f(a) + f(b)) / 2 for some pair: proof that f is not convex."""
    for a, b in pairs:
        with np.errstate(all="ignore"):
            ends, middle = (function(a), function(b)), function((a + b) / 2)
        if middle - sum(ends) / 2 > 1e-9 * (1.0 + abs(ends[0]) + abs(ends[1])):
            return True
    return False
