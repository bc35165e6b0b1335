"""Decision regions of any classifier, drawn in the user's own columns by asking it about every point of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import KindError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class Regions:
    """What a model answers on a grid: ``labels[i, j]`` is its answer at ``(across[j], up[i])``."""

    names: tuple[str, str]
    across: NDArray[np.float64]
    up: NDArray[np.float64]
    labels: NDArray[Any]


def regions(model: Any, X: Any, columns: Sequence[int | str] = (0, 1), *, points: int = 200) -> Regions:
    """Answers of a fitted model on a grid over two numeric columns; all other columns are held at a usual value.

    The usual value is the median of a numeric column and the mode of any other. Nothing needs to be known of the
    model: it may transform, learn in another space and bend the boundary as it likes.
    """
    raw = read(X)
    table = raw.typed(infer(raw))
    names = [raw.names[c] if isinstance(c, (int, np.integer)) else c for c in columns]
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"regions: two different columns are needed; got {list(columns)}.")
    axes = []
    for name in names:
        column = table[name]
        if column.kind.name != "numeric":
            raise KindError(f"regions: {name!r} is {column.kind.name}; a plane has two numeric axes.")
        low, high = float(np.nanmin(column.values)), float(np.nanmax(column.values))
        room = 0.05 * ((high - low) or 1.0)
        axes.append(np.linspace(low - room, high + room, points))
    across, up = np.meshgrid(*axes)
    grid = _usual_rows(X, raw, across.size)
    for name, values in zip(names, (across, up), strict=True):
        grid[name] = values.ravel()
    answers = np.asarray(model.predict(grid.to_numpy() if raw.native == "numpy" and not raw.named else grid))
    return Regions((names[0], names[1]), axes[0], axes[1], answers.reshape(across.shape))


def _usual_rows(X: Any, raw: RawTable, n: int) -> Any:
    """A frame of n rows that all hold the usual value of every column."""
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(
        {c.name: np.array([*c.levels, None], dtype=object)[c.values] if c.levels else c.values for c in raw.columns}
    )  # fmt: skip
    frame = frame.set_axis(raw.names, axis=1)
    usual = {}
    for name in frame.columns:
        is_number = pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name])
        modes = frame[name].mode()
        usual[name] = frame[name].median() if is_number else (modes.iloc[0] if len(modes) else None)
    return pd.DataFrame(
        {k: pd.Series([v] * n, dtype=None if isinstance(v, float) else frame[k].dtype) for k, v in usual.items()}
    )


def boundary(model: Any, X: Any, y: Any = None, columns: Sequence[int | str] = (0, 1), *, points: int = 200) -> Figure:
    """Draw the regions in which a fitted classifier gives each label, and the rows on top.

    Parameters
    ----------
    model : anything with ``predict``, a pipeline for instance; the boundary is drawn in the columns of ``X``, not in
        the space the pipeline transforms to.
    X : the rows to draw; their range is the range of the picture.
    y : their labels, which colour the points.
    columns : names or places of the two numeric columns to draw.
    points : grid points along each axis.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    found = regions(model, X, columns, points=points)
    labels = (
        np.unique(found.labels) if y is None else np.unique(np.concatenate([np.unique(found.labels), np.unique(y)]))
    )
    shades = ListedColormap([f"C{i % 10}" for i in range(len(labels))])
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    codes = np.searchsorted(labels, found.labels)
    colours: dict[str, Any] = {"cmap": shades, "vmin": -0.5, "vmax": len(labels) - 0.5}
    axes.pcolormesh(found.across, found.up, codes, alpha=0.25, shading="nearest", rasterized=True, **colours)
    if len(labels) > 1:
        edges = np.arange(len(labels) - 1) + 0.5
        axes.contour(found.across, found.up, codes, levels=edges, colors="black", linewidths=0.8)
    raw = read(X)
    table = raw.typed(infer(raw))
    if y is not None:
        for code, label in enumerate(labels):
            chosen = np.asarray(y) == label
            at = [table[name].values[chosen] for name in found.names]
            axes.scatter(at[0], at[1], color=shades(code), s=14, edgecolor="black", linewidth=0.3, label=str(label))
        axes.legend(title="label")
    axes.set_xlabel(found.names[0])
    axes.set_ylabel(found.names[1])
    return figure
