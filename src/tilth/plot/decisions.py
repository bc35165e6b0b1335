"""Pictures of decisions: thresholds, reliability of probabilities, intervals and sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words

Floats = NDArray[np.float64]

#: Rows drawn at most; of more, every k-th.
_MOST = 400


def threshold_curves(
    thresholds: Floats,
    values: Floats,
    name: str,
    rates: Mapping[str, Floats],
    chosen: float,
    interval: Floats | None = None,
) -> Any:
    """Left what is made small or large, right the ROC curve, both with the chosen threshold; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    place = int(np.flatnonzero(thresholds == chosen)[0])
    inside = np.isfinite(thresholds)
    at, label = thresholds, "threshold"
    if np.isfinite(chosen) and inside.any():
        first, last = thresholds[inside][[0, -1]]
        if not 0.02 < (chosen - first) / max(last - first, 1e-300) < 0.98:
            # Scores crowd at an end, where thresholds would be one line: spread them by what they answer.
            at, label, inside = rates["positive rate"], "share of rows answered yes", np.ones(len(thresholds), bool)
    left.plot(at[inside], values[inside], color="C0", linewidth=1.6)
    if np.isfinite(chosen):
        left.axvline(at[place], color="0.5", linewidth=1, linestyle="--")
        left.plot([at[place]], [values[place]], "o", color="C3", markersize=6)
    if interval is not None and np.isfinite(interval).all():
        low, high = (at[int(np.argmin(np.abs(thresholds - end)))] for end in interval)
        left.axvspan(min(low, high), max(low, high), color="C3", alpha=0.12, linewidth=0)
    left.set(xlabel=label, ylabel=name)
    left.set_title(f"chosen: {chosen:.3g}, with the interval of the choice", fontsize=10)
    right.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    right.plot(rates["fpr"], rates["recall"], color="C0", linewidth=1.6)
    right.plot([rates["fpr"][place]], [rates["recall"][place]], "o", color="C3", markersize=6)
    right.annotate(
        f"recall {rates['recall'][place]:.3g}\nfalse alarms {rates['fpr'][place]:.3g}",
        (rates["fpr"][place], rates["recall"][place]), xytext=(8, -26), textcoords="offset points", color="0.3",
    )  # fmt: skip
    right.set(xlabel="false positive rate", ylabel="recall", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    right.set_title("out-of-fold ROC curve", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def cost_bars(costs: Floats, labels: list[str]) -> Any:
    """The table of costs as coloured cells; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.8 + 0.6 * len(labels), 1.6 + 0.5 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(costs, cmap="Reds")
    middle = (costs.max() + costs.min()) / 2
    for i in range(len(costs)):
        for j in range(len(costs)):
            shade = "white" if costs[i, j] > middle else "0.2"
            axes.text(j, i, f"{costs[i, j]:g}", ha="center", va="center", color=shade)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="answer", ylabel="true class")
    return plain_words(figure)


def reliability_plot(
    lines: Mapping[str, tuple[Floats, Floats]],
    bounds: tuple[Floats, Floats] | None = None,
    counts: Floats | None = None,
    title: str = "",
) -> Any:
    """What happened over what was promised, one line per name; ``bounds`` belong to the first; a Figure.

    ``counts`` are the rows behind the points of the first line, drawn below.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 5.4 if counts is not None else 4.6), layout="constrained")
    if counts is not None:
        axes, below = figure.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    else:
        axes, below = figure.subplots(), None
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    for i, (name, (promised, happened)) in enumerate(lines.items()):
        axes.plot(promised, happened, "o-", color=f"C{i}", markersize=4, linewidth=1.4, label=name)
        if i == 0 and bounds is not None:
            axes.vlines(promised, bounds[0], bounds[1], color="C0", linewidth=1.2, alpha=0.6)
    axes.set(ylabel="share that happened", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_title(title, fontsize=10)
    if len(lines) > 1:
        axes.legend(frameon=False)
    if below is not None and counts is not None:
        promised = next(iter(lines.values()))[0]
        below.vlines(promised, 0, counts, color="C0", linewidth=4, alpha=0.6)
        below.set_ylabel("rows")
        below.set_ylim(bottom=0)
        below.spines[["top", "right"]].set_visible(False)
    (below or axes).set_xlabel("promised probability")
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def interval_plot(prediction: Floats, low: Floats, high: Floats, true: Floats | None, level: float) -> Any:
    """Rows in the order of their prediction, each with its interval, and what happened; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(prediction, kind="stable")
    order = order[:: max(1, -(-len(order) // _MOST))]
    place = np.arange(len(order))
    axes.fill_between(place, low[order], high[order], color="C0", alpha=0.2, linewidth=0, label=f"{level:.0%} interval")
    axes.plot(place, prediction[order], color="C0", linewidth=1.4, label="prediction")
    if true is not None:
        inside = (true >= low) & (true <= high)
        for mask, colour, label in ((inside, "0.4", "inside"), (~inside, "C3", "outside")):
            at = mask[order]
            axes.plot(place[at], true[order][at], "o", color=colour, markersize=3, label=label, markeredgewidth=0)
    axes.set(xlabel="rows, in the order of the prediction", ylabel="target")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def coverage_bars(names: list[str], share: Floats, low: Floats, high: Floats, level: float, confidence: float) -> Any:
    """A row per part: the share that was covered with its interval, beside the level that was promised; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 1.0 + 0.3 * max(len(names), 2)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(names))
    axes.hlines(places, low, high, color="C0", linewidth=2)
    axes.plot(share, places, "o", color="C0", markersize=4)
    axes.axvline(level, color="C3", linewidth=1, linestyle="--", label=f"promised: {level:.0%}")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel(f"share covered, with its {confidence:.0%} interval")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def score_histogram(scores: Floats, bound: float, name: str, level: float) -> Any:
    """Calibration scores and the bound that covers the level; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.hist(scores, bins=min(40, max(5, len(scores) // 5)), color="C0", alpha=0.6)
    if np.isfinite(bound):
        axes.axvline(bound, color="C3", linewidth=1.4, label=f"covers {level:.0%}: {bound:.4g}")
        axes.legend(frameon=False)
    axes.set(xlabel=name, ylabel="calibration rows")
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)
