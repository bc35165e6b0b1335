"""Scores of models with their intervals, one line per model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words
from tilth.words import readable


def leaderboard(
    names: Sequence[str],
    scores: Sequence[tuple[float, float, float]],
    folds: Sequence[NDArray[np.float64]],
    metric: str,
    *,
    baseline: float | None = None,
    level: float = 0.95,
) -> Any:
    """One line per model, the first on top: the score as a dot on its interval (value, low, high), folds as small dots.

    ``baseline`` is the score of the model that must be beaten, drawn as a dashed line.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 0.9 + 0.42 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(names))[::-1]
    for place, (value, low, high), over in zip(places, scores, folds, strict=True):
        known = over[np.isfinite(over)]
        axes.plot(known, np.full(len(known), place) - 0.22, "|", color="0.7", markersize=5, zorder=1)
        if np.isfinite(low) and np.isfinite(high):
            axes.plot([low, high], [place, place], color="#4c78a8", linewidth=3, alpha=0.5, solid_capstyle="butt")
        axes.plot([value], [place], "o", color="#1f4e79", markersize=6, zorder=3)
        axes.annotate(readable(value), (value, place), xytext=(0, 7), textcoords="offset points", ha="center", size=8)
    if baseline is not None and np.isfinite(baseline):
        axes.axvline(baseline, color="0.5", linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.set_xlabel(f"{metric}, with its {100 * level:g}% interval; small strokes are the splits")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return plain_words(figure)
