"""Pictures of explanations: importance with intervals, effects of columns, reasons for one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRONG, WEAK, NOISE = "#1f4e79", "0.6", "#f6dcc3"
UP, DOWN = "#4c78a8", "#e45756"
LINES = ("#4c78a8", "#e45756", "#54a24b", "#f58518", "#b279a2", "#9d755d")
#: Names longer than this are cut.
LONG = 34


class Line(NamedTuple):
    """One output over the points of a panel: its mean, the interval of the mean, and the band of single rows."""

    label: str
    mean: Floats
    low: Floats
    high: Floats
    band: tuple[Floats, Floats] | None


class Panel(NamedTuple):
    """The effect of one column; the last point is a missing value where ``has_missing``."""

    title: str
    at: Floats
    labels: Sequence[str]
    is_number: bool
    has_missing: bool
    lines: Sequence[Line]
    rug: Floats


def importance_intervals(
    names: Sequence[str],
    ends: Floats,
    noise: Floats,
    strong: Sequence[bool],
    n_single: int,
    what: str,
    level: float,
) -> Any:
    """One line per column, the first on top: loss (value, low, high) as a dot on its interval; a Figure.

    ``noise`` is what pure noise would reach, a pale bar around 0; ``strong`` marks columns that matter. After
    ``n_single`` columns come sets of columns that were shuffled together.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 1.1 + 0.32 * max(1, len(names))), layout="constrained")
    axes = figure.add_subplot()
    places = -np.arange(len(names), dtype=float)
    places[n_single:] -= 0.5
    for place, (value, low, high), chance, sure in zip(places, ends, noise, strong, strict=True):
        if np.isfinite(chance):
            axes.barh(place, 2 * chance, left=-chance, height=0.62, color=NOISE, zorder=0)
        colour = STRONG if sure else WEAK
        if np.isfinite(low) and np.isfinite(high):
            axes.plot([low, high], [place, place], color=colour, linewidth=2.5, alpha=0.7, solid_capstyle="butt")
        axes.plot([value], [place], "o", color=colour, markersize=5, zorder=3)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=1)
    axes.margins(x=0.04)
    if n_single < len(names):
        axes.axhline(-n_single + 0.25, color="0.8", linewidth=0.8, linestyle=":")
    axes.set_yticks(places, [_cut(n) for n in names])
    axes.set_xlabel(f"{what}, with its {100 * level:g}% interval; pale: what noise would reach")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def effect_panels(panels: Sequence[Panel], *, centred: bool = False) -> Any:
    """Small pictures, three in a row: lines with intervals over numbers, dots over levels; rows as a rug; a Figure."""
    from matplotlib.figure import Figure

    across = min(3, max(1, len(panels)))
    down = -(-max(1, len(panels)) // across)
    figure = Figure(figsize=(3.3 * across, 2.7 * down), layout="constrained")
    first = None
    for k, panel in enumerate(panels):
        # One scale for all, so that small effects look small.
        axes = figure.add_subplot(down, across, k + 1, sharey=first)
        first = first or axes
        known = len(panel.labels) - panel.has_missing
        at = panel.at[:known] if panel.is_number else np.arange(known, dtype=float)
        gone = _beyond(at) if panel.is_number else float(known)
        for colour, line in zip(LINES * (1 + len(panel.lines) // len(LINES)), panel.lines, strict=False):
            _draw(axes, panel, line, at, known, gone, colour)
        if centred:
            axes.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        if panel.is_number and len(panel.rug):
            axes.plot(panel.rug, np.zeros(len(panel.rug)), "|", color="0.35", markersize=7, alpha=0.35,
                      transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip
        _ticks(axes, panel, at, known, gone)
        axes.set_title(_cut(panel.title), fontsize=10, loc="left")
        if k % across == 0 and len(panel.lines) == 1:
            axes.set_ylabel(_cut(panel.lines[0].label), fontsize=8)
        if k == 0 and len(panel.lines) > 1:
            axes.legend(frameon=False, fontsize=7)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw(axes: Any, panel: Panel, line: Line, at: Floats, known: int, gone: float, colour: str) -> None:
    band = line.band if len(panel.lines) == 1 else None
    if band is not None:
        loose = slice(known if panel.is_number else 0, None)
        places = np.append(at, [gone] * panel.has_missing)
        axes.vlines(places[loose], band[0][loose], band[1][loose], color="0.87", linewidth=6, zorder=0)
    if panel.is_number:
        if band is not None:
            axes.fill_between(at, band[0][:known], band[1][:known], color="0.87", linewidth=0, zorder=0)
        axes.fill_between(at, line.low[:known], line.high[:known], color=colour, alpha=0.25, linewidth=0)
        axes.plot(at, line.mean[:known], color=colour, linewidth=1.6, label=_cut(line.label))
    else:
        _dots(axes, at, line, slice(0, known), colour, _cut(line.label))
    if panel.has_missing:
        _dots(axes, np.array([gone]), line, slice(known, known + 1), colour, "")


def _dots(axes: Any, at: Floats, line: Line, part: slice, colour: str, label: str) -> None:
    mean = line.mean[part]
    away = np.nan_to_num(np.abs(np.vstack([mean - line.low[part], line.high[part] - mean])))
    axes.errorbar(at, mean, away, fmt="o", color=colour, markersize=4, linewidth=1.4, label=label or None)


def _beyond(at: Floats) -> float:
    """Where a missing value is drawn beside numbers: to the right of all of them."""
    return float(at.max() + 0.12 * (np.ptp(at) or 1.0)) if len(at) else 0.0


def _ticks(axes: Any, panel: Panel, at: Floats, known: int, gone: float) -> None:
    if panel.is_number:
        if panel.has_missing:
            axes.annotate("missing", (gone, 0), xycoords=("data", "axes fraction"), xytext=(0, 4), size=7, ha="center",
                          textcoords="offset points", color="0.4")  # fmt: skip
        return
    places = np.append(at, gone) if panel.has_missing else at
    names = [_cut(label, 12) for label in panel.labels]
    crowded = len(names) > 4 or max((len(n) for n in names), default=0) > 7
    axes.set_xticks(places, names, rotation=45 if crowded else 0, ha="right" if crowded else "center")


def reasons(names: Sequence[str], amounts: Floats, errors: Floats | None, what: str) -> Any:
    """What each column adds to one answer, the strongest on top; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 0.9 + 0.3 * max(1, len(names))), layout="constrained")
    axes = figure.add_subplot()
    places = -np.arange(len(names), dtype=float)
    colours = [UP if a >= 0 else DOWN for a in amounts]
    axes.barh(places, amounts, height=0.62, color=colours, xerr=errors, error_kw={"ecolor": "0.3", "linewidth": 1})
    axes.axvline(0, color="0.4", linewidth=0.8)
    axes.set_yticks(places, [_cut(n) for n in names])
    axes.set_xlabel(what)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _cut(name: str, longest: int = LONG) -> str:
    """A name of bounded length; a dollar sign is no formula."""
    text = name if len(name) <= longest else name[: longest - 1] + "…"
    return text.replace("$", r"\$")
