"""Residuals of any model: true against given, and what is left over against the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Points drawn at most: more say nothing new and make a page heavy.
MOST_POINTS = 400


def residual_pair(fitted: Floats, residual: Floats) -> Any:
    """Two pictures side by side; of many rows every so many are drawn, in the order of their answers."""
    from matplotlib.figure import Figure

    order = np.argsort(fitted, kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_POINTS)).round().astype(int))]
    x, left = fitted[shown], residual[shown]
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    first, second = figure.subplots(1, 2)
    first.plot(x, x + left, "o", markersize=2.5, alpha=0.6, color="#2b5d34")
    ends = [float(min(x.min(), (x + left).min())), float(max(x.max(), (x + left).max()))]
    first.plot(ends, ends, linewidth=1, color="#8a4b08")
    first.set(xlabel="answer", ylabel="truth", title="Truth against answer")
    second.plot(x, left, "o", markersize=2.5, alpha=0.6, color="#2b5d34")
    second.axhline(0, linewidth=1, color="#8a4b08")
    second.set(xlabel="answer", ylabel="truth less answer", title="What is left over")
    return figure
