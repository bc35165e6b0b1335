"""Regularisation paths: every weight over the strength of the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words


def weight_paths(
    alphas: NDArray[Any],
    coef: NDArray[Any],
    names: Sequence[str],
    *,
    most_named: int = 8,
    chosen: float | None = None,
) -> Any:
    """One line per weight that is ever used, strong penalties on the left; the largest weights at the end are named.

    ``chosen`` marks a strength.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    used = np.flatnonzero(np.any(coef != 0, axis=0))
    named = used[np.argsort(-np.abs(coef[-1, used]), kind="stable")][:most_named]
    for j in used:
        axes.plot(alphas, coef[:, j], linewidth=1.4, color=None if j in named else "0.8", zorder=2 if j in named else 1)
    for j in named:
        axes.annotate(names[j], (alphas[-1], coef[-1, j]), xytext=(4, 0), textcoords="offset points", fontsize=8)
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    if chosen is not None:
        axes.axvline(chosen, color="0.6", linewidth=1, linestyle="--")
    if np.all(alphas > 0):
        axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("strength of the penalty")
    axes.set_ylabel("weight")
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def error_path(alphas: NDArray[Any], errors: NDArray[Any], chosen: float) -> Any:
    """Mean error over the folds and its standard error, over the strength; ``chosen`` is marked. errors: [s, folds]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    mean, spread = errors.mean(axis=1), errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    axes.plot(alphas, mean, linewidth=1.6)
    axes.fill_between(alphas, mean - spread, mean + spread, alpha=0.25, linewidth=0)
    axes.axvline(chosen, color="0.6", linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("strength of the penalty")
    axes.set_ylabel("squared error of new rows")
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)
