"""Pictures of trees and of the importance of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

#: Colours of classes, told apart also by people who see red and green alike; later classes repeat them.
PALETTE = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e8b62c", "#72b7b2", "#e45756", "#9d755d", "#7f7f7f", "#d67195")
NUMBER_COLOUR = "#4c78a8"


@dataclass(frozen=True)
class Box:
    """A node to draw: the branch that leads into it, its test (empty at a leaf), its answer, and the rows behind it.

    ``shares`` are class shares (empty for numbers), ``number`` the predicted number, ``is_cut`` marks a node whose own
    branches are not drawn.
    """

    parent: int
    label: str
    question: str
    answer: str
    shares: list[float]
    number: float
    weight: float
    is_cut: bool = False


def node_frame(drawn: list[Box]) -> pd.DataFrame:
    """The boxes of a drawn tree as a table: one row per node, parents first, with the numbers written in it.

    ``parent`` is the place of the parent (-1 for the root), ``share`` that of the answer among the rows of the node.
    """
    import pandas as pd

    rows = [
        (i, b.parent, b.label, b.question, b.answer, b.weight, max(b.shares) if b.shares else float("nan"), b.is_cut)
        for i, b in enumerate(drawn)
    ]
    return pd.DataFrame(rows, columns=["node", "parent", "branch", "question", "answer", "rows", "share", "is cut"])


def mix(colour: str, strength: float) -> str:
    """A colour mixed with white: strength 0 is white, 1 the colour itself."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (p - 255) * min(max(strength, 0.0), 1.0)):02x}" for p in parts)


def box_colours(drawn: list[Box]) -> list[str]:
    """Fill of every box: the hue of its class, the stronger the surer; for numbers the stronger the larger."""
    if drawn[0].shares:
        least = 1.0 / len(drawn[0].shares)
        room = max(1.0 - least, 1e-9)
        best = [int(np.argmax(b.shares)) for b in drawn]
        return [
            mix(PALETTE[c % len(PALETTE)], 0.08 + 0.42 * (b.shares[c] - least) / room)
            for b, c in zip(drawn, best, strict=True)
        ]
    low, high = min(b.number for b in drawn), max(b.number for b in drawn)
    return [mix(NUMBER_COLOUR, 0.06 + 0.5 * (b.number - low) / ((high - low) or 1.0)) for b in drawn]


# ------------------------------------------------------------------------------------------------------------- layout


def layout(parents: list[int], widths: NDArray[np.float64], gap: float = 0.25) -> tuple[NDArray[Any], NDArray[Any]]:
    """Place of the middle of every box across, and its depth, so that no two boxes of a level meet.

    Every subtree is packed against its left neighbour as closely as their outlines allow, and a parent stands over the
    middle of its children (Reingold and Tilford 1981). Parents come before their children.
    """
    n = len(parents)
    kids: list[list[int]] = [[] for _ in range(n)]
    depth = np.zeros(n, dtype=int)
    for i, p in enumerate(parents):
        if p >= 0:
            kids[p].append(i)
            depth[i] = depth[p] + 1
    offset = np.zeros(n)  # of a child against its parent
    left: list[list[float]] = [[] for _ in range(n)]  # outline of a subtree, level by level, against its root
    right: list[list[float]] = [[] for _ in range(n)]
    for i in reversed(range(n)):
        outline_left: list[float] = []
        outline_right: list[float] = []
        at: list[float] = []
        for kid in kids[i]:
            clear = [r - a for r, a in zip(outline_right, left[kid], strict=False)]
            shift = max(clear) + gap if clear else 0.0
            at.append(shift)
            moved_left = [shift + v for v in left[kid]]
            moved_right = [shift + v for v in right[kid]]
            outline_left += moved_left[len(outline_left) :]
            outline_right[: len(moved_right)] = moved_right
            left[kid], right[kid] = [], []
        middle = (at[0] + at[-1]) / 2 if at else 0.0
        for kid, place in zip(kids[i], at, strict=True):
            offset[kid] = place - middle
        left[i] = [-widths[i] / 2] + [v - middle for v in outline_left]
        right[i] = [widths[i] / 2] + [v - middle for v in outline_right]
    across = np.zeros(n)
    for i, p in enumerate(parents):
        if p >= 0:
            across[i] = across[p] + offset[i]
    return across, depth


# ------------------------------------------------------------------------------------------------------------ drawing

_FONT = 9.0
_SMALL = 7.5
_LINE = 0.165  # inches from line to line
_CHAR = 0.078  # inches that a character of the large font takes
_WRAP = 24  # characters in a line of a box
_BAR = 0.09  # height of the bar of class shares
#: A tree with more ends than this is drawn from left to right, so that the picture grows downwards.
MOST_ACROSS = 10


@dataclass
class _Drawn:
    """A box with its lines of text and its size in inches."""

    box: Box
    lines: list[str]
    foot: str
    label: str
    width: float
    height: float


def _prepare(box: Box) -> _Drawn:
    import textwrap

    lines = textwrap.wrap(box.question or box.answer, _WRAP)[:3] or [""]
    label = textwrap.shorten(box.label, _WRAP, placeholder="...") if len(box.label) > _WRAP else box.label
    rows = f"{box.weight:.6g} row{'' if box.weight == 1 else 's'}"
    if box.shares:
        foot = (f"{box.answer}: " if box.question else "") + f"{max(box.shares):.0%} of {rows}"
    else:
        foot = f"{box.answer}, {rows}" if box.question else rows
    foot = textwrap.shorten(foot, 34, placeholder="...") if len(foot) > 34 else foot
    longest = max(max(map(len, lines)), len(foot) * _SMALL / _FONT, len(label) * _SMALL / _FONT)
    height = _LINE * (len(lines) + 1) + 0.12 + (_BAR + 0.05 if box.shares else 0.0)
    return _Drawn(box, lines, foot, label, max(0.8, longest * _CHAR + 0.2), height)


def tree_picture(drawn: list[Box], classes: list[str], *, title: str = "") -> Any:
    """Draw a tree: tests in words, class shares as bars, leaves coloured by class, edges as wide as their rows.

    Small trees grow downwards, wide ones to the right. Gives a matplotlib Figure.
    """
    from matplotlib.figure import Figure

    ready = [_prepare(b) for b in drawn]
    parents = [b.parent for b in drawn]
    ends = len(drawn) - len({p for p in parents if p >= 0})
    sideways = ends > MOST_ACROSS
    sizes = np.array([(d.width, d.height) for d in ready])
    place, depth = layout(parents, sizes[:, 1] if sideways else sizes[:, 0], 0.14 if sideways else 0.22)
    levels = range(int(depth.max()) + 1)
    thickness = np.array([sizes[depth == v, 0 if sideways else 1].max() for v in levels])
    if sideways:
        room = [max((len(d.label) for d, v in zip(ready, depth, strict=True) if v == u), default=0) for u in levels]
        gaps = np.array([max(0.45, r * _CHAR * _SMALL / _FONT + 0.3) for r in room])
    else:
        gaps = np.full(len(thickness), 0.62)
    begin = np.concatenate([[0.0], np.cumsum(thickness[:-1] + gaps[1:])])
    if sideways:
        x, y = begin[depth] + sizes[:, 0] / 2, -place
    else:
        x, y = place, -(begin[depth] + sizes[:, 1] / 2)
    margin = 0.2
    tail = 0.25 if any(b.is_cut for b in drawn) else 0.0
    head = 0.35 if classes or title else 0.0
    left, right = (x - sizes[:, 0] / 2).min() - margin, (x + sizes[:, 0] / 2).max() + margin + tail * sideways
    low, high = (y - sizes[:, 1] / 2).min() - margin - tail, (y + sizes[:, 1] / 2).max() + margin + head
    right = max(right, left + 3.0)
    figure = Figure(figsize=(right - left, high - low))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(left, right), ylim=(low, high))
    axes.axis("off")
    whole = max(drawn[0].weight, 1e-12)
    for i, one in enumerate(ready):
        if one.box.parent >= 0:
            _draw_edge(axes, one, ready[one.box.parent], (x[i], y[i]), (x[parents[i]], y[parents[i]]), whole, sideways)
    for i, (one, colour) in enumerate(zip(ready, box_colours(drawn), strict=True)):
        _draw_box(axes, one, float(x[i]), float(y[i]), colour, sideways)
    _draw_legend(axes, classes, title, float(left) + margin, float(high) - 0.2, float(right) - margin)
    return figure


def _draw_edge(
    axes: Any, child: _Drawn, parent: _Drawn, at: tuple[Any, Any], above: tuple[Any, Any], whole: float, sideways: bool
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if sideways:
        a = (above[0] + parent.width / 2, above[1])
        b = (at[0] - child.width / 2, at[1])
        bend = (a[0] + b[0]) / 2
        points = [a, (bend, a[1]), (bend, b[1]), b]
        place = {"x": b[0] - 0.06, "y": b[1] + 0.03, "ha": "right", "va": "bottom"}
    else:
        a = (above[0], above[1] - parent.height / 2)
        b = (at[0], at[1] + child.height / 2)
        bend = (a[1] + b[1]) / 2
        points = [a, (a[0], bend), (b[0], bend), b]
        place = {"x": b[0], "y": b[1] + 0.07, "ha": "center", "va": "bottom"}
    share = min(child.box.weight / whole, 1.0)
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(PathPatch(path, fill=False, edgecolor="#b8bcc2", linewidth=0.8 + 7.0 * share, capstyle="butt"))
    if child.label:
        back = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8}
        axes.text(
            place["x"], place["y"], child.label, ha=place["ha"], va=place["va"], fontsize=_SMALL, color="#333333",
            bbox=back, parse_math=False,
        )  # fmt: skip


def _draw_box(axes: Any, one: _Drawn, x: float, y: float, colour: str, sideways: bool) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    is_leaf = not one.box.question
    corner = (x - one.width / 2 + 0.04, y - one.height / 2 + 0.04)
    axes.add_patch(
        FancyBboxPatch(
            corner, one.width - 0.08, one.height - 0.08, boxstyle="round,pad=0.04,rounding_size=0.08", zorder=2,
            facecolor=colour if is_leaf else "white", edgecolor="#6b7280" if is_leaf else "#9aa0a8", linewidth=0.9,
        )
    )  # fmt: skip
    top = y + one.height / 2 - 0.06 - _LINE / 2
    for line in one.lines:
        axes.text(
            x, top, line, ha="center", va="center", fontsize=_FONT, zorder=3, color="#111111", parse_math=False,
            fontweight="bold" if is_leaf else "normal",
        )  # fmt: skip
        top -= _LINE
    if one.box.shares:
        start, length = x - one.width / 2 + 0.12, one.width - 0.24
        top += _LINE / 2 - _BAR - 0.02
        for c, share in enumerate(one.box.shares):
            bar = Rectangle((start, top), length * share, _BAR, facecolor=PALETTE[c % len(PALETTE)], zorder=3, lw=0)
            axes.add_patch(bar)
            start += length * share
        top -= _LINE / 2 + 0.02
    axes.text(x, top, one.foot, ha="center", va="center", fontsize=_SMALL, color="#4b5563", zorder=3, parse_math=False)
    if one.box.is_cut:
        dots = (x + one.width / 2 + 0.12, y) if sideways else (x, y - one.height / 2 - 0.1)
        axes.text(*dots, "...", ha="center", va="center", fontsize=_FONT + 2, color="#6b7280")


def _draw_legend(axes: Any, classes: list[str], title: str, left: float, top: float, right: float) -> None:
    from matplotlib.patches import Rectangle

    at = left
    if title:
        title = title if len(title) <= _WRAP else title[: _WRAP - 3] + "..."
        axes.text(at, top, title, ha="left", va="center", fontsize=_FONT + 1, fontweight="bold", parse_math=False)
        at += len(title) * _CHAR * 1.25 + 0.3
    for c, name in enumerate(classes):
        text = name if len(name) <= _WRAP else name[: _WRAP - 3] + "..."
        wide = 0.22 + len(text) * _CHAR * _SMALL / _FONT + 0.2
        if at + wide > right and c:
            axes.text(at, top, f"and {len(classes) - c} more", ha="left", va="center", fontsize=_SMALL, color="#333333")
            return
        axes.add_patch(Rectangle((at, top - 0.06), 0.15, 0.12, facecolor=PALETTE[c % len(PALETTE)], lw=0))
        axes.text(at + 0.22, top, text, ha="left", va="center", fontsize=_SMALL, color="#333333", parse_math=False)
        at += wide


def importance_bars(columns: list[str], amounts: NDArray[Any], measure: str, most: int = 30) -> Any:
    """Horizontal bars, the most important column on top; gives a matplotlib Figure."""
    from matplotlib.figure import Figure

    shown = [c if len(c) <= 32 else c[:29] + "..." for c in map(str, columns[:most])]
    amounts = np.asarray(amounts, dtype=np.float64)[:most]
    figure = Figure(figsize=(6, 0.9 + 0.26 * max(len(shown), 2)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(shown))
    axes.barh(places, np.nan_to_num(amounts), color=NUMBER_COLOUR, height=0.7)
    axes.set_yticks(places, shown, parse_math=False)
    axes.invert_yaxis()
    left_out = len(columns) - len(shown)
    axes.set_xlabel(measure + (f" (and {left_out} columns more)" if left_out > 0 else ""))
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.02)
    return figure
