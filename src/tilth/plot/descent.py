"""The way down: steps of gradient descent on the curve or the surface of a cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.names import beside
from tilth.plot.marks import plain_words

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Grid points along an axis.
_POINTS = {1: 400, 2: 90}


@dataclass
class DescentPath:
    """Where a descent has been, ``path`` [k, 1 or 2], the cost there, and the cost on a grid around it.

    ``grid`` holds one axis per weight; ``surface`` the cost, [up, across] for two weights. ``minima`` are the places of
    the grid that are lower than all around them.
    """

    names: tuple[str, ...]
    path: Floats
    cost: Floats
    grid: tuple[Floats, ...]
    surface: Floats
    minima: Floats

    def frame(self) -> pd.DataFrame:
        """One row per step: its number, the weights, the cost."""
        import pandas as pd

        weights = dict(zip(beside(self.names, ("step", "cost"), "weight"), self.path.T, strict=True))
        return pd.DataFrame({"step": np.arange(len(self.path)), **weights, "cost": self.cost})

    @property
    def ends_lowest(self) -> bool:
        """Whether no place of the grid is clearly lower than where the path ends: False is a local minimum's mark."""
        room = 1e-3 * float(np.ptp(self.surface))
        return bool(self.cost[-1] <= self.surface.min() + room)

    @property
    def figure(self) -> Any:
        """The cost as a curve or as contours, the steps on it, minima as stars; a matplotlib Figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 4.6), layout="constrained")
        axes = figure.subplots()
        if len(self.names) == 1:
            axes.plot(self.grid[0], self.surface, color="0.5", linewidth=1.4)
            axes.plot(self.path[:, 0], self.cost, "o-", color="#e45756", markersize=4, linewidth=1.0)
            axes.plot(self.minima[:, 0], self.minima[:, 1], "*", color="#54a24b", markersize=11)
            axes.set_ylabel("cost")
        else:
            lowest = float(self.surface.min())
            # Rings at equal ratios above the bottom: both the steep sides and the flat valley are seen.
            height = np.geomspace(1.0, 1e4, 18) * max(float(np.ptp(self.surface)), 1e-300) / 1e4
            axes.contour(*self.grid, self.surface, levels=lowest + height, cmap="Blues_r", linewidths=0.8)
            axes.plot(self.path[:, 0], self.path[:, 1], "o-", color="#e45756", markersize=4, linewidth=1.0)
            axes.plot(self.minima[:, 0], self.minima[:, 1], "*", color="#54a24b", markersize=11)
            axes.set_ylabel(self.names[1])
        remark = "" if self.ends_lowest else "; a lower place is in the picture"
        axes.set_title(f"{len(self.path) - 1} steps, cost {self.cost[-1]:.4g}{remark}", fontsize=10, loc="left")
        axes.set_xlabel(self.names[0])
        axes.spines[["top", "right"]].set_visible(False)
        return plain_words(figure)


def descent_path(
    path: Any,
    value: Callable[[Floats], Any],
    *,
    names: tuple[str, ...] | None = None,
    low: Any = None,
    high: Any = None,
) -> DescentPath:
    """The steps of a descent on the cost of one or two weights.

    Parameters
    ----------
    path : the trace of :func:`tilth.gradient_descent`, or an array with one row per step.
    value : value(w), the cost at one point.
    names : of the weights; a trace knows them.
    low, high : ends of the picture, one per weight; by default the path and half its extent around it.

    >>> from tilth import gradient_descent
    >>> cost = lambda w: float((w[0] - 1) ** 2 + 4 * w[1] ** 2)
    >>> slope = lambda w: np.array([2 * (w[0] - 1), 8 * w[1]])
    >>> found = gradient_descent(slope, [3.0, 1.0], value=cost, rate=0.1, tol=1e-3, names=("a", "b"))
    >>> descent_path(found.trace, cost).frame().head(2)
       step    a    b  cost
    0     0  3.0  1.0  8.00
    1     1  2.6  0.2  2.72
    """
    owner = "descent_path"
    points = np.atleast_2d(np.asarray(getattr(path, "x", path), dtype=np.float64))
    if points.ndim != 2 or points.shape[1] not in (1, 2) or not len(points):
        raise ValueError(f"{owner} draws steps of one or two weights, a row per step; got shape {points.shape}.")
    if not np.isfinite(points).all():
        raise ValueError(f"{owner}: the steps hold numbers that are not finite; a descent that blew up has no picture.")
    size = points.shape[1]
    labels = names or getattr(path, "names", None) or tuple(f"w{j}" for j in range(size))
    if len(labels) != size:
        raise ValueError(f"{owner}: a name per weight is needed, {size}; got {len(labels)}.")
    lowest, highest = points.min(axis=0), points.max(axis=0)
    room = 0.5 * np.where(highest > lowest, highest - lowest, 1.0)
    first = lowest - room if low is None else np.broadcast_to(np.asarray(low, dtype=np.float64), size)
    last = highest + room if high is None else np.broadcast_to(np.asarray(high, dtype=np.float64), size)
    if not (first < last).all():
        raise ValueError(f"{owner}: low must be below high; got {low!r} and {high!r}.")
    grid = tuple(np.linspace(a, b, _POINTS[size]) for a, b in zip(first, last, strict=True))
    if size == 1:
        surface = np.array([float(value(np.array([w]))) for w in grid[0]])
    else:
        surface = np.array([[float(value(np.array([w, v]))) for w in grid[0]] for v in grid[1]])
    cost = np.array([float(value(w)) for w in points])
    return DescentPath(tuple(labels), points, cost, grid, surface, _minima(grid, surface))


def _minima(grid: tuple[Floats, ...], surface: Floats) -> Floats:
    """Inner places of the grid lower than every neighbour; of one weight with their cost beside them."""
    from scipy.ndimage import minimum_filter

    around = np.ones((3,) * surface.ndim, dtype=bool)
    around[(1,) * surface.ndim] = False
    is_lowest = surface < minimum_filter(surface, footprint=around, mode="constant", cval=-np.inf)
    places = np.argwhere(is_lowest)
    if surface.ndim == 1:
        return np.column_stack([grid[0][places[:, 0]], surface[places[:, 0]]])
    return np.column_stack([grid[0][places[:, 1]], grid[1][places[:, 0]]])
