"""Pictures of learning: scores of seen and other rows, bias and variance, orders of a polynomial, more rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Colours of seen rows, other rows, and the parts of an error.
SEEN, OTHER = "#4c78a8", "#e45756"
BIAS, VARIANCE, NOISE = "#4c78a8", "#f58518", "#bab0ac"
#: Ends of an axis further apart than this ratio are drawn in equal ratios.
WIDE = 20.0


def score_curves(
    x: NDArray[Any],
    bands: Mapping[str, Floats],
    x_label: str,
    y_label: str,
    *,
    levels: Mapping[str, float] | None = None,
    marks: Mapping[str, int] | None = None,
    title: str = "",
) -> Any:
    """One line per name with its band: ``bands`` holds (value, low, high) per point.

    ``levels`` are drawn as dashed lines, ``marks`` names points of ``x`` that are marked on the last line.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    place, names = _places(x)
    for colour, (name, values) in zip((SEEN, OTHER, VARIANCE, "0.4"), bands.items(), strict=False):
        axes.plot(place, values[:, 0], color=colour, linewidth=1.8, marker="o", markersize=_dot(len(x)), label=name)
        axes.fill_between(place, values[:, 1], values[:, 2], color=colour, alpha=0.18, linewidth=0)
    drawn = np.concatenate([v[:, 0] for v in bands.values()] + [np.array(list((levels or {}).values()), dtype=float)])
    bounds = np.concatenate([v[:, 1:].ravel() for v in bands.values()])
    for name, value in (levels or {}).items():
        axes.axhline(value, color="0.55", linewidth=1, linestyle="--", zorder=0)
        axes.annotate(name, (1, value), xycoords=("axes fraction", "data"), xytext=(4, 0), va="center", size=8,
                      textcoords="offset points", color="0.4")  # fmt: skip
    last = list(bands.values())[-1]
    for lines_down, (name, point) in enumerate((marks or {}).items()):
        axes.axvline(place[point], color="0.6", linewidth=1, linestyle=":", zorder=0)
        axes.plot([place[point]], [last[point, 0]], "o", color=OTHER, markersize=9, markerfacecolor="none")
        axes.annotate(f"{name}: {names[point]}", (place[point], 1), xycoords=("data", "axes fraction"), size=8,
                      xytext=(4, -10 - 11 * lines_down), textcoords="offset points", color="0.3")  # fmt: skip
    _limits(axes, drawn, bounds)
    _horizontal(axes, x, place, names)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def more_rows(
    sizes: Floats, observed: Floats, ahead: Floats, fan: Floats, metric: str, level: float, *, title: str = ""
) -> Any:
    """A learning curve, (value, low, high) per size, and its continuation over ``ahead`` as a line with a fan."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.errorbar(
        sizes, observed[:, 0], np.clip(np.abs(observed[:, 1:].T - observed[:, 0]), 0, None), fmt="o", color=OTHER,
        markersize=4, linewidth=1, label="other rows, measured",
    )  # fmt: skip
    axes.plot(ahead, fan[:, 0], color="0.3", linewidth=1.6, label="power law")
    axes.fill_between(ahead, fan[:, 1], fan[:, 2], color="0.3", alpha=0.15, linewidth=0)
    axes.axvline(sizes.max(), color="0.6", linewidth=1, linestyle=":")
    _limits(
        axes, np.concatenate([observed[:, 0], fan[:, 0]]), np.concatenate([observed[:, 1:].ravel(), fan[:, 1:].ravel()])
    )
    axes.set_xscale("log")
    axes.set(xlabel="training rows", ylabel=f"{metric}, {100 * level:g}% intervals")
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def stacked_error(
    x: NDArray[Any], parts: Mapping[str, Floats], total: Floats, x_label: str, y_label: str, *, mark: int | None = None
) -> Any:
    """The parts of an expected error piled up over x, and the error itself as a line; ``mark`` is the least error."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    place, names = _places(x)
    colours = [NOISE if "noise" in n and "bias" not in n else VARIANCE if "variance" in n else BIAS for n in parts]
    axes.stackplot(place, *parts.values(), labels=list(parts), colors=colours, alpha=0.65)
    axes.plot(place, total, color="0.15", linewidth=1.6, marker="o", markersize=_dot(len(x)), label="expected error")
    if mark is not None:
        axes.axvline(place[mark], color="0.4", linewidth=1, linestyle=":")
        axes.annotate(f"least error: {names[mark]}", (place[mark], 1), xycoords=("data", "axes fraction"), size=8,
                      xytext=(4, -10), textcoords="offset points", color="0.2")  # fmt: skip
    known = total[np.isfinite(total)]
    if len(known) and known.max() > 20 * known.min() > 0:  # one wild point would flatten all others
        axes.set_ylim(0, 6 * float(np.median(known)))
    _horizontal(axes, x, place, names)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def targets(shots: Mapping[str, Floats]) -> Any:
    """Bias and variance as shots at a target: one target per name, an array of (x, y) each; the centre is the truth."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    columns = 2 if len(shots) == 4 else len(shots)
    lines = -(-len(shots) // columns)
    figure = Figure(figsize=(2.7 * columns, 2.9 * lines), layout="constrained")
    far = max(1.0, float(np.max([np.abs(s).max() for s in shots.values() if len(s)], initial=1.0)))
    for k, (name, points) in enumerate(shots.items()):
        axes = figure.add_subplot(lines, columns, k + 1)
        for ring, shade in zip((1.0, 0.75, 0.5, 0.25), ("#f2f2f2", "#dde6f0", "#b8cbe0", "#e45756"), strict=True):
            axes.add_patch(Circle((0, 0), ring * far, facecolor=shade, edgecolor="white", linewidth=1))
        axes.plot(points[:, 0], points[:, 1], "x", color="0.15", markersize=5, markeredgewidth=1.3)
        mean = points.mean(axis=0)
        axes.plot(mean[0], mean[1], "o", color="0.1", markersize=8, markerfacecolor="none", markeredgewidth=1.6)
        axes.set(xlim=(-1.08 * far, 1.08 * far), ylim=(-1.08 * far, 1.08 * far), xticks=[], yticks=[], aspect="equal")
        axes.set_title(name, fontsize=10)
        axes.spines[:].set_visible(False)
    return figure


def order_panels(
    x: Floats, y: Floats, grid: Floats, truth: Floats | None, fits: Mapping[str, Floats], notes: Sequence[str]
) -> Any:
    """One panel per name: the rows, the truth, and curves over ``grid`` (fits x points; the first is drawn bold)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(fits), 3.3), layout="constrained")
    span = float(y.max() - y.min()) or 1.0
    for k, ((name, curves), note) in enumerate(zip(fits.items(), notes, strict=True)):
        axes = figure.add_subplot(1, len(fits), k + 1)
        if len(curves) > 1:
            axes.plot(grid, curves[1:].T, color=VARIANCE, linewidth=0.7, alpha=0.35)
        if truth is not None:
            axes.plot(grid, truth, color="0.2", linewidth=1.2, linestyle="--", label="truth")
        axes.plot(grid, curves[0], color=OTHER, linewidth=2, label="this training set")
        axes.plot(x, y, "o", color=SEEN, markersize=4)
        axes.set_ylim(float(y.min()) - 0.4 * span, float(y.max()) + 0.4 * span)
        axes.set_title(f"{name}\n{note}", fontsize=9)
        axes.set_xlabel("x")
        axes.spines[["top", "right"]].set_visible(False)
        if k == 0:
            axes.legend(frameon=False, fontsize=8)
    return figure


def variance_trade(x: Floats, model: Floats, evaluation: Floats, x_label: str, names: tuple[str, str]) -> Any:
    """Two variances over the test share, each on its own axis: one rises, the other falls."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    left = figure.add_subplot()
    right = left.twinx()
    one = left.plot(x, model, color=SEEN, marker="o", markersize=4, label=names[0])
    two = right.plot(x, evaluation, color=OTHER, marker="s", markersize=4, label=names[1])
    left.set(xlabel=x_label, ylabel=names[0])
    right.set_ylabel(names[1])
    left.set_ylim(0, 1.3 * float(np.nanmax(model)) or 1.0)
    right.set_ylim(0, 1.3 * float(np.nanmax(evaluation)) or 1.0)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
    left.legend(handles=[*one, *two], frameon=False, fontsize=9, loc="upper center")
    return figure


def widths(n: Floats, width: Floats, law: Floats, metric: str, level: float) -> Any:
    """Width of an interval over the number of test rows, beside the law c / sqrt(n)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(n, width, "o-", color=OTHER, markersize=4, label="measured")
    axes.plot(n, law, color="0.4", linestyle="--", label="c / sqrt(n)")
    axes.set(
        xscale="log", yscale="log", xlabel="test rows", ylabel=f"width of the {100 * level:g}% interval of {metric}"
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def _places(x: NDArray[Any]) -> tuple[Floats, list[str]]:
    """Where points stand, and what they are called; what is no number stands in its order."""
    names = [f"{v:.4g}" if isinstance(v, (float, np.floating)) else str(v) for v in x]
    return (np.arange(len(x), dtype=float) if x.dtype.kind == "O" else x.astype(float)), names


def _horizontal(axes: Any, x: NDArray[Any], place: Floats, names: list[str]) -> None:
    if x.dtype.kind == "O":
        axes.set_xticks(place, names)
        return
    if place.min() > 0 and place.max() / place.min() >= WIDE:
        axes.set_xscale("log")
    if len(x) <= 12:
        axes.set_xticks(place, names)
        axes.set_xticks([], minor=True)


def _limits(axes: Any, values: Floats, bounds: Floats) -> None:
    """The values must be seen; wide bands may run out of the picture."""
    values, bounds = values[np.isfinite(values)], bounds[np.isfinite(bounds)]
    if not len(values):
        return
    low, high = float(values.min()), float(values.max())
    if high > 8 * abs(float(np.median(values))) > 0:  # one wild point would flatten all others
        high = 4 * abs(float(np.median(values)))
    span = (high - low) or max(abs(high), 1.0) * 0.1
    if len(bounds):
        low, high = max(float(bounds.min()), low - 0.6 * span), min(float(bounds.max()), high + 0.6 * span)
    axes.set_ylim(min(low, float(values.min())) - 0.06 * span, high + 0.12 * span)


def _dot(points: int) -> float:
    return 4.0 if points <= 25 else 0.0
