"""Coverage of intervals and sets that came from anywhere: does the promised share of rows hold?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.target import codes_among, numbers_of, one_dimensional
from tilth.models.decide.coverage import Coverage


def coverage(
    true: Any, low: Any, high: Any, *, level: float, by: Any = None, calibration_rows: int | None = None
) -> Coverage:
    """How many true numbers lie within their intervals, all and by the values of ``by``.

    ``calibration_rows`` is how many rows the intervals were calibrated on, where they were: see :class:`Coverage`.

    >>> found = coverage([1.0, 2.0, 3.0, 9.0], [0.0] * 4, [5.0] * 4, level=0.9)
    >>> found.coverage, found.frame()["method"][0]
    (0.75, 'Wilson')
    """
    owner = "coverage"
    _require_level(level, owner)
    below = np.asarray(low, dtype=np.float64)
    if below.ndim != 1 or not len(below):
        raise ValueError(f"{owner} needs one lower end per row, and at least one row; got shape {below.shape}.")
    y = numbers_of(one_dimensional(true, len(below), owner), owner)
    above = np.asarray(one_dimensional(high, len(below), owner), dtype=np.float64)
    if np.isnan(below).any() or np.isnan(above).any() or (below > above).any():
        raise ValueError(f"{owner} needs ends that are numbers, the lower one first.")
    held = (y >= below) & (y <= above)
    return Coverage.of(
        held, above - below, _parts(by, len(y), owner), float(level), "width", owner, None, calibration_rows
    )


def set_coverage(
    true: Any, sets: Any, *, level: float, classes: Any = None, by: Any = None, calibration_rows: int | None = None
) -> Coverage:
    """How many true classes are in their sets: all, by class, by size of the set and by the values of ``by``.

    Parameters
    ----------
    sets : n x k of true and false, as ``predict_set`` gives; columns are ``classes``, or the frame's own names.

    >>> import numpy as np
    >>> set_coverage(["a", "b"], np.array([[True, False], [True, False]]), level=0.9, classes=["a", "b"]).coverage
    0.5
    """
    owner = "set_coverage"
    _require_level(level, owner)
    names = np.asarray(sets.columns.tolist() if classes is None and hasattr(sets, "columns") else classes)
    inside = np.asarray(sets)
    if inside.ndim != 2 or inside.dtype != bool or not len(inside) or names.shape != (inside.shape[1],):
        raise ValueError(
            f"{owner} needs n x k of true and false with a class for each column; got shape {inside.shape} and classes "
            f"{classes!r:.60}."
        )
    place = codes_among(one_dimensional(true, len(inside), owner), names, owner)
    size = inside.sum(axis=1)
    parts = {"class": names[place], "size of set": size, **_parts(by, len(inside), owner)}
    held = inside[np.arange(len(inside)), place]
    return Coverage.of(held, size.astype(np.float64), parts, float(level), "size of set", owner, None, calibration_rows)


def _require_level(level: float, owner: str) -> None:
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.9; got {level!r}.")


def _parts(by: Any, n: int, owner: str) -> dict[str, NDArray[Any]]:
    if by is None:
        return {}
    name = getattr(by, "name", None)
    return {str(name) if name is not None else "group": np.asarray(one_dimensional(by, n, owner)).astype(str)}
