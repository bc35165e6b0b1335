"""Pictures of scores against known classes: confusion matrix, ROC curve, precision over recall."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import plain_words

Floats = NDArray[np.float64]
#: A marked place: horizontal, vertical, words.
Point = tuple[float, float, str]

#: Points drawn at most; a curve of more is thinned evenly.
_MOST = 5000
#: With more classes than this the cells carry no numbers.
_NUMBERED = 20


def confusion_matrix(values: Floats, shade: Floats, classes: list[str], rows: str, columns: str) -> Any:
    """Cells with their numbers, the darker the larger ``shade`` (0 to 1); both axes are named; a Figure."""
    from matplotlib.figure import Figure

    k = len(classes)
    size = min(2.2 + 0.55 * k, 12.0)
    figure = Figure(figsize=(size + 0.6, size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shade, cmap="Blues", vmin=0.0, vmax=1.0)
    whole = bool(np.equal(np.mod(values, 1), 0).all())
    if k <= _NUMBERED:
        for i in range(k):
            for j in range(k):
                text = f"{values[i, j]:.0f}" if whole else f"{values[i, j]:.2f}"
                axes.text(j, i, text, ha="center", va="center", color="white" if shade[i, j] > 0.6 else "0.15")
    is_wide = max(len(c) for c in classes) > 6
    axes.set_xticks(np.arange(k), classes, rotation=45 if is_wide else 0, ha="right" if is_wide else "center")
    axes.set_yticks(np.arange(k), classes)
    axes.set(xlabel=columns, ylabel=rows)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return plain_words(figure)


def roc_curve(
    fpr: Floats, tpr: Floats, label: str, *, point: Point | None = None, band: tuple[Floats, Floats] | None = None
) -> Any:
    """The curve beside the diagonal of chance; a Figure."""
    figure, axes = _square("share of other rows taken for the class (FPR)", "share of the class found (TPR)")
    kept = _thinned(len(fpr))
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="chance")
    if band is not None:
        axes.fill_between(fpr[kept], band[0][kept], band[1][kept], color="C0", alpha=0.15, linewidth=0)
    axes.plot(fpr[kept], tpr[kept], color="C0", linewidth=1.8, label=label)
    _mark(axes, point)
    axes.legend(frameon=False, loc="lower right")
    return plain_words(figure)


def precision_recall_curve(
    recall: Floats, precision: Floats, label: str, base_rate: float, *, point: Point | None = None
) -> Any:
    """Precision over recall in steps, beside the share of the class; a Figure."""
    figure, axes = _square("share of the class found (recall)", "share of rows taken that are of it (precision)")
    kept = _thinned(len(recall))
    axes.axhline(base_rate, color="0.6", linewidth=1, linestyle="--", label=f"chance {base_rate:.3g}")
    # Between two thresholds recall is gained at the precision of the lower one: a step, not a slope.
    axes.plot(
        np.append(0.0, recall[kept]), np.append(precision[kept[0]], precision[kept]), drawstyle="steps-pre", color="C0",
        linewidth=1.8, label=label,
    )  # fmt: skip
    _mark(axes, point)
    axes.legend(frameon=False, loc="best")
    return plain_words(figure)


def _square(x_label: str, y_label: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=x_label, ylabel=y_label, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _mark(axes: Any, point: Point | None) -> None:
    if point is not None:
        axes.plot(point[0], point[1], "o", color="C3", markersize=6)
        axes.annotate(point[2], point[:2], xytext=(8, -10), textcoords="offset points", color="C3")


def _thinned(n: int) -> NDArray[np.intp]:
    """At most so many places of n, the ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST)).round().astype(np.intp))
