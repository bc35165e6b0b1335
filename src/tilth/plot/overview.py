"""A table at a glance: a small picture per column with the target over it, and a map of missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.marks import colour_of, merged_bars, plain_words, shortened

Floats = NDArray[np.float64]
_BAR, _GONE, _LINE = "#c3d0de", "#e3d5c5", "#b4532a"
#: Small pictures in a row, and the size of one in inches.
_ACROSS, _WIDTH, _HEIGHT = 4, 2.45, 1.75


@dataclass
class Panel:
    """One small picture: bars of ``rows``, named by ``labels``, the last of missing cells where ``has_gaps``.

    ``lines`` holds (value, low, high) per bar for every line, by its name; ``joined`` says whether bars have an order,
    so that a line may join their values; ``ends`` are the ends of a numeric axis.
    """

    name: str
    note: str
    labels: list[str]
    rows: Floats
    lines: dict[str, Floats] = field(default_factory=dict)
    has_gaps: bool = False
    joined: bool = True
    ends: tuple[str, str] | None = None


def small_multiples(
    panels: Sequence[Panel], *, usual: float | None = None, line_name: str = "", left_off: int = 0
) -> Any:
    """All panels in one Figure: bars for rows, lines with their intervals over them, on one scale for all.

    ``usual`` is the value of the line over all rows, drawn dashed; ``line_name`` says what the line is.
    """
    from matplotlib.figure import Figure

    down = max(1, -(-len(panels) // _ACROSS))
    figure = Figure(figsize=(_ACROSS * _WIDTH, down * _HEIGHT + 0.5), layout="constrained")
    all_axes = figure.subplots(down, _ACROSS, squeeze=False).ravel()
    limits = _line_limits(panels, usual)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    for axes, panel in zip(all_axes, panels, strict=False):
        _draw(axes, panel, names, usual, limits)
    for axes in all_axes[len(panels) :]:
        axes.axis("off")
    remarks = [line_name] if line_name else []
    remarks += [f"{left_off} columns more"] if left_off > 0 else []
    if len(names) > 1:
        figure.legend(*_handles(names), loc="outside lower center", ncols=min(5, len(names)), fontsize=8,
                      frameon=False)  # fmt: skip
    if remarks:
        figure.suptitle("; ".join(remarks), fontsize=9, x=0.01, ha="left")
    return plain_words(figure)


def _handles(names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """A handle and a name for each line of the legend."""
    from matplotlib.lines import Line2D

    colours = [_colour(k, len(names)) for k in range(len(names))]
    return [Line2D([], [], color=c, linewidth=1.4) for c in colours], [shortened(n, 20) for n in names]


def _colour(place: int, lines: int) -> str:
    return _LINE if lines == 1 else colour_of(place)


def _draw(axes: Any, panel: Panel, names: list[str], usual: float | None, limits: tuple[float, float]) -> None:
    n = len(panel.rows)
    at = np.arange(n, dtype=np.float64)
    if panel.has_gaps and n > 1:
        at[-1] += 0.09 * n + 0.4  # missing cells stand apart
    gap = 0.5 if panel.ends is not None else 0.4
    known = n - int(panel.has_gaps)
    merged_bars(axes, at[:known] - gap, at[:known] + gap, panel.rows[:known], facecolor=_BAR, edgecolor="white",
                linewidth=0.4)  # fmt: skip
    if panel.has_gaps:
        merged_bars(axes, at[known:] - 0.4, at[known:] + 0.4, panel.rows[known:], facecolor=_GONE)
    axes.set(xlim=(at[0] - 0.7, at[-1] + 0.7), ylim=(0, max(float(panel.rows.max()), 1.0) * 1.08))
    if panel.ends is not None and known:
        ticks, words = [at[0] - 0.5, at[known - 1] + 0.5], list(panel.ends)
    else:
        step = max(1, -(-known // 6))
        ticks, words = list(at[:known:step]), [shortened(v, 9) for v in panel.labels[:known:step]]
    if panel.has_gaps:
        ticks, words = [*ticks, at[-1]], [*words, "gone"]
    turn = {"rotation": 35, "ha": "right"} if len(words) > 3 else {}
    axes.set_xticks(ticks, words, fontsize=6.5, **turn)
    axes.set_yticks([])
    axes.tick_params(length=2, pad=1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(shortened(panel.name, 24), fontsize=8.5, loc="left", pad=3)
    axes.set_title(panel.note, fontsize=6.5, loc="right", pad=3, color="0.4")
    if panel.lines:
        _draw_lines(axes.twinx(), panel, names, at, known, usual, limits)


def _draw_lines(
    axes: Any, panel: Panel, names: list[str], at: Floats, known: int, usual: float | None, limits: tuple[float, float]
) -> None:
    if usual is not None:
        axes.axhline(usual, color="0.55", linewidth=0.7, linestyle="--")
    for name, values in panel.lines.items():
        colour = _colour(names.index(name), len(names))
        axes.plot(
            at[:known], values[:known, 0], marker="o" if panel.ends is None else "", markersize=2.5, color=colour,
            linewidth=1.2, linestyle="-" if panel.joined else "",
        )  # fmt: skip
        if panel.has_gaps:
            axes.plot(at[known:], values[known:, 0], "o", markersize=2.5, color=colour)
        if len(names) == 1:
            sure = np.isfinite(values[:, 1:]).all(axis=1)
            axes.vlines(at[sure], values[sure, 1], values[sure, 2], color=colour, linewidth=0.8, alpha=0.7)
    axes.set_ylim(*limits)
    axes.tick_params(axis="y", labelsize=6.5, length=2, pad=1, colors="0.35")
    axes.spines[["top", "left"]].set_visible(False)
    axes.spines["right"].set_color("0.8")
    axes.locator_params(axis="y", nbins=3)


def _line_limits(panels: Sequence[Panel], usual: float | None) -> tuple[float, float]:
    """Ends of the axis of all lines: every value, and intervals as far as they do not dwarf them."""
    values = [v[:, 0] for panel in panels for v in panel.lines.values()]
    seen = np.concatenate([*values, np.array([] if usual is None else [usual])]) if values else np.array([0.0, 1.0])
    seen = seen[np.isfinite(seen)]
    if not seen.size:
        return 0.0, 1.0
    low, high = float(seen.min()), float(seen.max())
    room = 0.15 * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def missing_map(names: Sequence[str], shares: Floats, starts: Sequence[int], n_rows: int) -> Any:
    """Share of missing cells per column (down) and block of rows (across, in order); a Figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 0.9 + 0.22 * max(len(names), 2)), layout="constrained")
    axes = figure.subplots()
    edges = np.array([*starts, n_rows], dtype=np.float64)
    shades = axes.pcolormesh(edges, np.arange(len(names) + 1), shares, cmap="Oranges", vmin=0, vmax=1, rasterized=True)
    axes.set_yticks(np.arange(len(names)) + 0.5, [shortened(n) for n in names], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("row, in the order of the table")
    axes.tick_params(axis="y", length=0)
    figure.colorbar(shades, ax=axes, label="missing")
    return plain_words(figure)
