"""Pictures of a search: tries over time and over each parameter, and validation curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DOT, _BEST, _HONEST = "#4c78a8", "#e45756", "#54a24b"
#: Parameters shown at most.
_MOST = 5


def tries(
    order: NDArray[Any],
    scores: Floats,
    parameters: Mapping[str, tuple[NDArray[Any], bool]],
    metric: str,
    *,
    higher_is_better: bool = True,
    chosen: int | None = None,
    honest: tuple[float, float, float] | None = None,
) -> Any:
    """Scores in the order of the tries with the best so far, then over each parameter (values, log scale); a Figure.

    ``chosen`` is the place of the winner; ``honest`` the score of the outer folds with its interval, drawn as a band.
    """
    from matplotlib.figure import Figure

    shown = list(parameters.items())[:_MOST]
    figure = Figure(figsize=(3.2 * (1 + len(shown)), 3.2), layout="constrained")
    all_axes = figure.subplots(1, 1 + len(shown), sharey=True, squeeze=False)[0]
    first = all_axes[0]
    first.plot(order, scores, "o", color=_DOT, markersize=4, alpha=0.7)
    if len(scores):
        best = np.maximum.accumulate(scores) if higher_is_better else np.minimum.accumulate(scores)
        first.step(order, best, where="post", color=_DOT, linewidth=1.4, label="best so far (optimistic)")
    first.set_xlabel("try")
    first.set_ylabel(metric)
    for axes, (name, (values, log)) in zip(all_axes[1:], shown, strict=True):
        numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        axes.plot(numbers, scores, "o", color=_DOT, markersize=4, alpha=0.7)
        if log:
            axes.set_xscale("log")
        axes.set_xlabel(name)
        if chosen is not None:
            axes.plot(numbers[chosen], scores[chosen], "o", color=_BEST, markersize=7)
    if chosen is not None:
        first.plot(order[chosen], scores[chosen], "o", color=_BEST, markersize=7, label="chosen")
    for axes in all_axes:
        if honest is not None and np.isfinite(honest[0]):
            axes.axhline(honest[0], color=_HONEST, linewidth=1.4, label="outer folds (honest)")
            if np.isfinite(honest[1]) and np.isfinite(honest[2]):
                axes.axhspan(honest[1], honest[2], color=_HONEST, alpha=0.12, linewidth=0)
        axes.spines[["top", "right"]].set_visible(False)
    if first.get_legend_handles_labels()[0]:
        first.legend(frameon=False, fontsize=8)
    return figure


def validation_curve(
    values: list[Any],
    validation: Floats,
    low: Floats,
    high: Floats,
    train: Floats,
    parameter: str,
    metric: str,
    *,
    log: bool = False,
    best: Any = None,
    level: float = 0.95,
) -> Any:
    """Validation score with its interval and training score over the values of a parameter; a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    x = np.array(values, dtype=np.float64) if numeric else np.arange(len(values), dtype=np.float64)
    axes.fill_between(x, low, high, color=_DOT, alpha=0.2, linewidth=0, label=f"{100 * level:g}% interval")
    axes.plot(x, validation, "o-", color=_DOT, markersize=4, label="validation")
    axes.plot(x, train, "o--", color="0.5", markersize=3, label="training (optimistic)")
    if best is not None:
        place = next(i for i, v in enumerate(values) if v is best or v == best)
        axes.axvline(x[place], color=_BEST, linewidth=1, linestyle="--")
    if not numeric:
        axes.set_xticks(x, [str(v) for v in values])
    elif log:
        axes.set_xscale("log")
    axes.set_xlabel(parameter)
    axes.set_ylabel(metric)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
