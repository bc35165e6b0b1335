"""Pictures of rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words


def branch_shares(branches: list[str], counts: NDArray[np.float64], classes: list[str]) -> Any:
    """Stacked bars: for every branch the number of rows of each class; gives a matplotlib Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 0.6 + 0.45 * max(len(branches), 2)), layout="constrained")
    axes = figure.subplots()
    left = np.zeros(len(branches))
    for c, label in enumerate(classes):
        axes.barh(branches, counts[:, c], left=left, label=label)
        left += counts[:, c]
    axes.invert_yaxis()
    axes.set_xlabel("training rows")
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)
