"""Pictures of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def loss_curve(curves: dict[str, NDArray[np.float64]], best: int | None, label: str = "mean loss") -> Any:
    """One line per sample over the rounds, with a mark at the best round; gives a matplotlib Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, values in curves.items():
        axes.plot(np.arange(1, len(values) + 1), values, label=name)
    if best is not None:
        axes.axvline(best, color="grey", linestyle="--", linewidth=1, label=f"best round: {best}")
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
