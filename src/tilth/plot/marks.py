"""Marks that several pictures share: bars as one path, short names, colours of classes, thinned points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.plot.trees import PALETTE

Floats = NDArray[np.float64]


def shortened(name: Any, most: int = 32) -> str:
    """A name that fits beside an axis."""
    text = str(name).replace("\n", " ")
    return text if len(text) <= most else text[: most - 3] + "..."


def plain_words(figure: Any) -> Any:
    """The figure with all its words taken as they are: a ``$`` in the name of a column or a class starts no formula."""
    from matplotlib.text import Text

    # Powers of ten on the other scales are formulas of the drawing library's own.
    scales = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() != "linear"]
    own = {id(label) for axis in scales for label in axis.get_ticklabels(which="both")}
    for text in figure.findobj(Text):
        text.set_parse_math(id(text) in own)
    return figure


def colour_of(place: int) -> str:
    """Colour of the class or series at a place."""
    return PALETTE[place % len(PALETTE)]


def merged_bars(axes: Any, left: Floats, right: Floats, height: Floats, bottom: Any = 0.0, **style: Any) -> Any:
    """Bars as a single path, so that a picture of many bars stays small; gives the patch.

    ``height`` and ``bottom`` are lengths upwards; the corners of bar i are vertices 5 i to 5 i + 3 of the path.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    low = np.broadcast_to(np.asarray(bottom, dtype=np.float64), np.shape(height))
    top = low + height
    corners = np.stack(
        [np.stack([left, low], 1), np.stack([left, top], 1), np.stack([right, top], 1), np.stack([right, low], 1)], 1
    )
    points = np.concatenate([corners, corners[:, :1]], axis=1).reshape(-1, 2)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(left))
    patch = PathPatch(Path(points, codes), **{"linewidth": 0, **style})
    axes.add_patch(patch)
    axes.update_datalim(points)
    axes.autoscale_view()
    return patch


def bar_heights(patch: Any) -> Floats:
    """Heights of bars drawn by :func:`merged_bars`, read back from the path."""
    corners = patch.get_path().vertices.reshape(-1, 5, 2)
    return np.asarray(corners[:, 1, 1] - corners[:, 0, 1])


def thinned(n: int, most: int) -> NDArray[np.intp]:
    """At most so many places of n, evenly, the ends among them."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).round().astype(np.intp))
