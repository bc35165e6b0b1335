"""Decision regions of any classifier, drawn in the user's own columns by asking it about every point of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import infer
from tilth.data.names import beside
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.errors import KindError
from tilth.plot.marks import plain_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass
class Regions:
    """What a model answers on a grid: ``labels[i, j]`` is its answer at ``(across[j], up[i])``."""

    names: tuple[str, str]
    across: NDArray[np.float64]
    up: NDArray[np.float64]
    labels: NDArray[Any]

    def frame(self) -> pd.DataFrame:
        """One row per point of the grid: both columns and the answer."""
        import pandas as pd

        across, up = np.meshgrid(self.across, self.up)
        first, second = beside(self.names, ("answer",))
        return pd.DataFrame({first: across.ravel(), second: up.ravel(), "answer": self.labels.ravel()})


@dataclass
class Plane:
    """A grid over two numeric columns, and rows for a model to answer: other columns hold their usual value."""

    names: tuple[str, str]
    across: NDArray[np.float64]
    up: NDArray[np.float64]
    rows: Any

    def answers(self, values: Any) -> NDArray[Any]:
        """Answers for the rows in the shape of the grid."""
        return np.asarray(values).reshape(len(self.up), len(self.across))


def plane(X: Any, columns: Sequence[int | str] = (0, 1), *, points: int = 200, owner: str = "plane") -> Plane:
    """The grid of two numeric columns of a table, a little beyond their range.

    The usual value of another column is the median of a numeric column and the mode of any other.
    """
    if not isinstance(points, (int, np.integer)) or points < 2:
        raise ValueError(f"{owner}: points must be a whole number of at least 2; got {points!r}.")
    raw = read(X)
    if raw.is_sparse or raw.n_rows == 0:
        raise ValueError(
            f"{owner} needs rows of a table with columns; found {'a sparse matrix' if raw.is_sparse else 'none'}."
        )
    names = [_name(raw, c, owner) for c in columns]
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"{owner}: two different columns are needed; got {list(columns)}.")
    axes = []
    for name in names:
        values = plane_values(raw, name, owner)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        room = 0.05 * ((high - low) or 1.0)
        # Columns without negative numbers stay so: models of counts take no others.
        axes.append(np.linspace(max(low - room, 0.0) if low >= 0 else low - room, high + room, points))
    across, up = np.meshgrid(*axes)
    grid = _usual_rows(X, raw, across.size)
    for name, values in zip(names, (across, up), strict=True):
        grid[name] = values.ravel()
    rows = grid.to_numpy() if raw.native == "numpy" and not raw.named else grid
    return Plane((names[0], names[1]), axes[0], axes[1], rows)


def _name(raw: RawTable, column: int | str, owner: str) -> str:
    if isinstance(column, (int, np.integer)):
        if not -len(raw.names) <= column < len(raw.names):
            raise ValueError(f"{owner}: there is no column {column}; the table has {len(raw.names)}.")
        return raw.names[column]
    return raw.column(column).name


def plane_values(raw: RawTable, name: str, owner: str) -> NDArray[np.float64]:
    """The numbers of a column that is to be an axis."""
    column = raw.column(name)
    if column.form in ("number", "integer"):
        values = np.asarray(column.values, dtype=np.float64)
    else:
        spec = infer(RawTable([column], raw.n_rows, raw.named))[name]
        if column.form == "date" or spec.role != "feature" or spec.kind.name != "numeric":
            kind = "a date" if column.form == "date" else spec.kind.name
            raise KindError(f"{owner}: {name!r} is {kind}; a plane has two numeric axes.")
        values = np.asarray(column.typed(spec), dtype=np.float64)
    values = np.where(np.isinf(values), np.nan, values)
    if np.isnan(values).all():
        raise ValueError(f"{owner}: {name!r} has no value in any row.")
    return values


def regions(model: Any, X: Any, columns: Sequence[int | str] = (0, 1), *, points: int = 200) -> Regions:
    """Answers of a fitted model on a grid over two numeric columns; all other columns are held at a usual value.

    Nothing needs to be known of the model: it may transform, learn in another space and bend the boundary as it likes.

    >>> from tilth import DecisionStump
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> regions(DecisionStump().fit(X, ["a", "a", "b", "b"]), X, points=3).frame()
        x0     x1 answer
    0  0.0  0.000      a
    1  2.1  0.000      b
    2  4.2  0.000      b
    3  0.0  0.525      a
    4  2.1  0.525      b
    5  4.2  0.525      b
    6  0.0  1.050      a
    7  2.1  1.050      b
    8  4.2  1.050      b
    """
    grid = plane(X, columns, points=points, owner="regions")
    return Regions(grid.names, grid.across, grid.up, grid.answers(model.predict(grid.rows)))


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

    areas = regions(model, X, columns, points=points)
    if y is not None and len(y) != read(X).n_rows:
        raise ValueError(f"boundary: a label for each of {read(X).n_rows} rows is needed; got {len(y)}.")
    labels = np.unique(areas.labels if y is None else np.concatenate([areas.labels.ravel(), np.asarray(y).ravel()]))
    shades = ListedColormap([f"C{i % 10}" for i in range(len(labels))])
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    codes = np.searchsorted(labels, areas.labels)
    colours: dict[str, Any] = {"cmap": shades, "vmin": -0.5, "vmax": len(labels) - 0.5}
    axes.pcolormesh(areas.across, areas.up, codes, alpha=0.25, shading="nearest", rasterized=True, **colours)
    if len(labels) > 1:
        edges = np.arange(len(labels) - 1) + 0.5
        axes.contour(areas.across, areas.up, codes, levels=edges, colors="black", linewidths=0.8)
    if y is not None:
        raw = read(X)
        places = [plane_values(raw, name, "boundary") for name in areas.names]
        for code, label in enumerate(labels):
            chosen = np.asarray(y) == label
            at = [values[chosen] for values in places]
            axes.scatter(at[0], at[1], color=shades(code), s=14, edgecolor="black", linewidth=0.3, label=str(label))
        axes.legend(title="label")
    axes.set_xlabel(areas.names[0])
    axes.set_ylabel(areas.names[1])
    return plain_words(figure)
