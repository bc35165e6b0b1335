"""Pictures of groups and segments: gaps between groups, numbers of groups, weak segments, wrong rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.words import cut

Floats = NDArray[np.float64]
#: Value, lower and upper bound.
Line = tuple[float, float, float]
#: A number of every group: its name, values, bounds, which are trusted, and the value of all rows.
Panel = tuple[str, Floats, Floats, Floats, NDArray[np.bool_], float]

_COLOURS = {"large gap": "#b3261e", "gap": "#b26a00", "no large gap": "#2e7d32"}
_GREY, _BLUE = "0.6", "#1f4e79"


def gap_dots(names: Sequence[str], lines: Sequence[Line], states: Sequence[str], tolerance: float, level: float) -> Any:
    """One line per gap: a dot on its interval, red where it is surely large, grey where rows cannot tell; a Figure.

    The dashed line is the largest gap that is tolerated.
    """
    figure, axes = _rows(len(names))
    places = np.arange(len(names))[::-1]
    for place, (value, low, high), state in zip(places, lines, states, strict=True):
        colour = _COLOURS.get(state, _GREY)
        axes.plot([low, high], [place, place], color=colour, linewidth=3, alpha=0.4, solid_capstyle="butt")
        axes.plot([value], [place], "o", color=colour, markersize=6)
    axes.axvline(0, color="0.3", linewidth=1)
    axes.axvline(tolerance, color="0.5", linewidth=1, linestyle="--")
    axes.set_yticks(places, [_short(n) for n in names])
    figure.supxlabel(f"largest difference between groups, with its {100 * level:g}% interval", fontsize=9)
    return figure


def group_dots(groups: Sequence[str], panels: Sequence[Panel], level: float) -> Any:
    """A panel per number, a line per group: dots on their intervals beside the value of all rows; a Figure.

    Groups too small to tell are grey.
    """
    from matplotlib.figure import Figure

    across = min(len(panels), 4)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(2.3 * across + 1.2, down * (0.9 + 0.32 * len(groups))), layout="constrained")
    places = np.arange(len(groups))[::-1]
    grid = np.atleast_1d(figure.subplots(down, across, sharey=True, squeeze=False)).ravel()
    for axes, (name, values, low, high, trusted, whole) in zip(grid, panels, strict=False):
        for place, v, a, b, sure in zip(places, values, low, high, trusted, strict=True):
            if np.isnan(v):
                continue
            colour = _BLUE if sure else _GREY
            axes.plot([a, b], [place, place], color=colour, linewidth=2.5, alpha=0.4, solid_capstyle="butt")
            axes.plot([v], [place], "o", color=colour, markersize=5)
        axes.axvline(whole, color="0.5", linewidth=1, linestyle="--", zorder=0)
        axes.set_title(name, fontsize=9)
        axes.tick_params(axis="both", labelsize=8)
        _bare(axes)
    grid[0].set_yticks(places, [_short(g) for g in groups])
    grid[0].set_ylim(-0.6, len(groups) - 0.4)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel(f"dots with {100 * level:g}% intervals; dashed: all rows; grey: too few to tell", fontsize=8)
    return figure


def segment_bars(names: Sequence[str], errors: Sequence[Line], elsewhere: float, what: str) -> Any:
    """A bar per segment with the bounds of its error, beside the error of the other rows (dashed); a Figure."""
    figure, axes = _rows(len(names))
    places = np.arange(len(names))[::-1]
    value, low, high = (np.array([e[i] for e in errors]) for i in range(3))
    axes.barh(places, value, height=0.55, color="#c98b87", xerr=[value - low, high - value], ecolor="0.3", capsize=3)
    axes.axvline(elsewhere, color="0.3", linewidth=1, linestyle="--")
    axes.annotate("all rows", (elsewhere, len(names) - 0.45), xytext=(3, 0), textcoords="offset points", size=8)
    axes.set_yticks(places, [_short(n, 48) for n in names])
    axes.set_xlim(left=0)
    figure.supxlabel(what, fontsize=9)
    return figure


def surprise_histogram(values: Floats, marked: Floats, what: str) -> Any:
    """How surprising the rows are, with the listed ones as strokes; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.hist(values, bins=min(60, max(10, int(np.sqrt(len(values))))), color="#9db7d1")
    axes.set_yscale("symlog")
    axes.plot(marked, np.zeros(len(marked)), "|", color="#b3261e", markersize=16, clip_on=False)
    axes.set(xlabel=what, ylabel="rows")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _rows(n: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 0.9 + 0.36 * max(n, 1)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylim(-0.6, max(n, 1) - 0.3)
    _bare(axes)
    return figure, axes


def _bare(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _short(text: str, limit: int = 40) -> str:
    # A dollar sign would start a formula.
    return cut(text, limit).replace("$", r"\$")
