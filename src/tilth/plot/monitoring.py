"""Pictures of new rows beside the rows of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words, shortened

Floats = NDArray[np.float64]
#: Columns drawn at most, those that changed most first.
_MOST = 30
_BEFORE, _NOW, _ALARM = "#9aa5b1", "#4c78a8", "#e45756"


def change_sizes(
    names: Sequence[str], sizes: Floats, by_chance: Floats, changed: NDArray[np.bool_], marks: tuple[float, float]
) -> Any:
    """A dot per column for the size of its change, a stroke for what chance alone gives; a Figure.

    ``marks`` are the sizes from which a change matters and matters much, drawn as dashed lines.
    """
    from matplotlib.figure import Figure

    order = np.argsort(-sizes, kind="stable")[:_MOST]
    figure = Figure(figsize=(6.4, 1.1 + 0.26 * max(len(order), 2)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(order))
    axes.hlines(places, 0, sizes[order], color="0.85", linewidth=1.2, zorder=1)
    axes.plot(by_chance[order], places, "|", color="0.5", markersize=9, label="by chance")
    for flag, colour, label in ((False, _NOW, "no alarm"), (True, _ALARM, "changed")):
        chosen = changed[order] == flag
        if chosen.any():
            axes.plot(sizes[order][chosen], places[chosen], "o", color=colour, markersize=6, label=label, zorder=3)
    for mark in marks:
        axes.axvline(mark, color="0.6", linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(places, [shortened(names[i]) for i in order])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    left_out = len(names) - len(order)
    axes.set_xlabel("size of the change (PSI)" + (f", and {left_out} columns more" if left_out > 0 else ""))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return plain_words(figure)


def share_bars(values: Sequence[str], before: Floats, now: Floats, name: str) -> Any:
    """Shares of slices or levels, in training beside now; a Figure."""
    from matplotlib.figure import Figure

    shown = [shortened(v, 18) for v in values]
    figure = Figure(figsize=(max(4.5, 0.55 * len(shown) + 1.5), 3.2), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(shown))
    axes.bar(places - 0.2, np.nan_to_num(before), 0.38, color=_BEFORE, label="training")
    axes.bar(places + 0.2, now, 0.38, color=_NOW, label="now")
    axes.set_xticks(places, shown, rotation=40, ha="right", fontsize=8)
    axes.set_title(shortened(name, 60), fontsize=10)
    axes.set_ylabel("share of rows")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return plain_words(figure)
