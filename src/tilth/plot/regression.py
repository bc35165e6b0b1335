"""Pictures of regressions: residuals, and weights with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tilth.plot.marks import plain_words

Floats = NDArray[np.float64]

#: Points drawn at most; of more, every k-th in the order of the horizontal axis.
_MOST = 5000


def residual_plots(fitted: Floats, residual: Floats, standard: Floats, leverage: Floats, cooks: Floats) -> Any:
    """Four pictures: residuals over fitted values, normal quantiles, spread over fitted values, leverage; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    (a, b), (c, d) = figure.subplots(2, 2)
    shown = _thinned(fitted)
    _points(a, fitted[shown], residual[shown], "fitted value", "residual", "Residuals: no pattern wanted")
    a.axhline(0.0, color="0.6", linewidth=1)
    _trend(a, fitted, residual)

    known = np.sort(standard[np.isfinite(standard)])
    scores = ndtri((np.arange(len(known)) + 0.5) / max(len(known), 1))
    few = _thinned(scores)
    _points(b, scores[few], known[few], "normal quantile", "standardised residual", "Normal errors lie on the line")
    if len(known):
        ends = np.array([scores[0], scores[-1]])
        b.plot(ends, ends, color="0.6", linewidth=1)

    spread = np.sqrt(np.abs(standard))
    _points(
        c,
        fitted[shown],
        spread[shown],
        "fitted value",
        "root of |standardised residual|",
        "Spread: a level line wanted",
    )
    _trend(c, fitted, spread)

    few = _thinned(leverage)
    _points(d, leverage[few], standard[few], "leverage", "standardised residual", "Far rows that pull the fit")
    if np.isfinite(cooks).any():
        for i in np.argsort(-np.nan_to_num(cooks))[:3]:
            d.annotate(str(i), (leverage[i], standard[i]), xytext=(4, 2), textcoords="offset points", color="0.3")
    return plain_words(figure)


def weights_with_intervals(names: list[str], weights: Floats, low: Floats, high: Floats, level: float) -> Any:
    """A row per weight: a point and its interval; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 1.0 + 0.3 * max(len(names), 2)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(names))
    axes.hlines(places, low, high, color="C0", linewidth=2)
    axes.plot(weights, places, "o", color="C0", markersize=4)
    axes.axvline(0.0, color="0.6", linewidth=1, linestyle="--")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel(f"weight, with its {level:.0%} interval")
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def _thinned(x: Floats) -> NDArray[np.intp]:
    order = np.argsort(x, kind="stable")
    return order[:: max(1, -(-len(order) // _MOST))]


def _points(axes: Any, x: Floats, y: Floats, x_label: str, y_label: str, title: str) -> None:
    axes.plot(x, y, "o", color="C0", markersize=3, alpha=0.5, markeredgewidth=0)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _trend(axes: Any, x: Floats, y: Floats) -> None:
    """Mean of y in twenty slices of x, each of as many rows."""
    usable = np.isfinite(y)
    order = np.argsort(x[usable], kind="stable")
    parts = [p for p in np.array_split(order, min(20, max(1, len(order) // 5))) if len(p)]
    if len(parts) > 1:
        x, y = x[usable], y[usable]
        axes.plot([x[p].mean() for p in parts], [y[p].mean() for p in parts], color="C3", linewidth=1.4)
