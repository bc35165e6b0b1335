"""Learning curves: an error over the number of trees or rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def curves(
    x: NDArray[Any], lines: Mapping[str, NDArray[Any]], x_label: str, y_label: str, *, mark_lowest: str = ""
) -> Any:
    """One line per name over ``x``; ``mark_lowest`` names the line whose lowest point is marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, values in lines.items():
        axes.plot(x, values, label=name, linewidth=1.6)
    if mark_lowest:
        place = int(np.nanargmin(lines[mark_lowest]))
        axes.axvline(x[place], color="0.6", linewidth=1, linestyle="--")
        axes.annotate(
            f"{x[place]}", (x[place], lines[mark_lowest][place]), xytext=(4, 6), textcoords="offset points", color="0.3"
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.spines[["top", "right"]].set_visible(False)
    if len(lines) > 1:
        axes.legend(frameon=False)
    return figure
