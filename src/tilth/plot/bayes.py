"""Pictures of class-conditional distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilth.data.kinds import Kind
from tilth.plot.marks import plain_words


def class_distributions(name: str, table: Any, kind: Kind) -> Any:
    """Bars of P(level | class) for levels, Gaussian curves for numbers; gives a matplotlib Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    if kind.name == "numeric":
        low = (table["mean"] - 3.5 * table["sd"]).min()
        high = (table["mean"] + 3.5 * table["sd"]).max()
        x = np.linspace(low, high, 400)
        for label, row in table.iterrows():
            axes.plot(
                x,
                np.exp(-0.5 * ((x - row["mean"]) / row["sd"]) ** 2) / (row["sd"] * np.sqrt(2 * np.pi)),
                label=str(label),
            )
        axes.set(xlabel=name, ylabel="density within class")
    else:
        shares = table["probability"]
        width = 0.8 / len(shares)
        places = np.arange(shares.shape[1])
        for i, (label, row) in enumerate(shares.iterrows()):
            axes.bar(places + (i + 0.5) * width - 0.4, row.to_numpy(), width, label=str(label))
        axes.set_xticks(places, [str(c) for c in shares.columns])
        axes.set(xlabel=name, ylabel="probability within class")
    axes.legend(title=str(table.index.name))
    axes.spines[["top", "right"]].set_visible(False)
    return plain_words(figure)
