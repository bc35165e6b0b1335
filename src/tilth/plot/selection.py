"""Pictures of a search for columns: the path of scores with its cost, and how often each column is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words


def selection_path(path: Any, score_name: str, every: float | None) -> Any:
    """Score over the number of columns with its interval, and the seconds of every step below; a matplotlib Figure.

    ``path`` has the columns ``columns``, ``column``, ``score``, ``low``, ``high``, ``fits``, ``seconds``, ``chosen``;
    ``every`` is the score of all columns.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes, cost = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    path = path.sort_values("columns", kind="stable")
    x, score = path["columns"].to_numpy(), path["score"].to_numpy()
    axes.plot(x, score, marker="o", markersize=3.5, linewidth=1.6)
    known = path["low"].notna().to_numpy()
    if known.any():
        low, high = path["low"].to_numpy(), path["high"].to_numpy()
        axes.fill_between(x[known], low[known], high[known], alpha=0.18, linewidth=0, label="95% interval")
    if every is not None:
        axes.axhline(every, color="0.5", linewidth=1, linestyle="--", label="all columns")
    chosen = path[path["chosen"]]
    axes.plot(chosen["columns"], chosen["score"], "o", color="tab:red", markersize=7, label="chosen")
    if len(path) <= 16:
        for place, value, name in zip(x, score, path["column"], strict=True):
            axes.annotate(name, (place, value), xytext=(3, -11), textcoords="offset points", fontsize=7, color="0.3")
    axes.set_ylabel(score_name)
    axes.legend(frameon=False, fontsize=8)
    cost.bar(x, path["seconds"].to_numpy(), width=0.6, color="0.6")
    cost.set(xlabel="columns", ylabel="seconds")
    cost.set_title(f"{int(path['fits'].sum())} fits, {path['seconds'].sum():.3g} s", fontsize=8, loc="right")
    for one in (axes, cost):
        one.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)


def chosen_shares(names: Sequence[str], shares: NDArray[Any], title: str, *, most: int = 30) -> Any:
    """Bars of how often each column is chosen, most frequent first; a matplotlib Figure."""
    from matplotlib.figure import Figure

    order = np.argsort(-np.asarray(shares), kind="stable")[:most]
    figure = Figure(figsize=(6.4, 0.9 + 0.24 * len(order)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh([names[j] for j in order][::-1], [shares[j] for j in order][::-1], color="tab:blue")
    axes.axvline(0.5, color="0.6", linewidth=1, linestyle="--")
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of resamples in which it is chosen")
    axes.set_title(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)
