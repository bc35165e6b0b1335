"""One call that draws one, two or three columns by their kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds, infer
from tilth.data.names import beside
from tilth.data.reading import read
from tilth.data.table import Column, RawTable
from tilth.errors import KindError
from tilth.plot.marks import colour_of, merged_bars, plain_words, shortened, thinned

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Points, bars and groups drawn at most.
MOST_POINTS, MOST_BARS, MOST_GROUPS = 2000, 30, 8
OTHER, GONE = "(other)", "(missing)"


@dataclass
class Picture:
    """A picture and the numbers in it: ``kind`` says which, ``frame()`` holds what is drawn, ``figure`` draws it."""

    kind: str
    table: pd.DataFrame
    draw: Callable[[], Any]

    def frame(self) -> pd.DataFrame:
        """The numbers drawn."""
        return self.table

    @cached_property
    def figure(self) -> Any:
        """The picture, a matplotlib Figure."""
        return self.draw()


@dataclass
class Groups:
    """Rows in named groups: place of each row among ``names``."""

    title: str
    names: list[str]
    codes: NDArray[np.intp]


def picture(X: Any, columns: str | int | Sequence[str | int], by: Any = None, *, kinds: Kinds = None) -> Picture:
    """Draw one, two or three columns; which picture it is follows from their kinds.

    ======================  ==========================================================
    a column of levels      bars
    a numeric column        histogram
    two numeric columns     scatter
    levels and numbers      a box per level
    two columns of levels   cells, the darker the larger their share of the row
    three numeric columns   scatter in three dimensions
    ======================  ==========================================================

    Parameters
    ----------
    X : any table.
    columns : names or places.
    by : a column, or a value per row, whose groups colour bars and points; numbers are cut at their quartiles.
    kinds : kinds that inference should not decide, see :func:`tilth.data.infer`.

    >>> picture({"size": [1.0, 2.0, 2.5], "hue": ["red", "blue", "red"]}, "hue").frame()
      value  rows
    0   red     2
    1  blue     1
    >>> picture({"size": [1.0, 2.0, 2.5], "hue": ["red", "blue", "red"]}, ["hue", "size"]).kind
    'boxes'
    """
    raw = read(X)
    if raw.is_sparse or raw.n_rows == 0:
        raise ValueError(
            f"picture needs rows of a table with columns; found {'a sparse matrix' if raw.is_sparse else 'none'}."
        )
    names = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    if not 1 <= len(names) <= 3:
        raise ValueError(f"picture draws one, two or three columns; got {len(names)}.")
    chosen = [_typed(raw, c, kinds) for c in names]
    groups = None if by is None else _groups(raw, by, kinds)
    numeric = [c.kind.name == "numeric" for c in chosen]
    if len(chosen) == 3:
        if not all(numeric):
            odd = chosen[numeric.index(False)]
            raise KindError(f"picture: three columns make a scatter of numbers; {odd.name!r} is {odd.kind.name}.")
        return _scatter(chosen, groups)
    if len(chosen) == 1:
        return _histogram(chosen[0], groups) if numeric[0] else _bars(chosen[0], groups)
    if all(numeric):
        return _scatter(chosen, groups)
    if groups is not None:
        raise ValueError("picture: by colours bars, histograms and points; boxes and cells show two columns already.")
    if not any(numeric):
        return _cells(chosen[0], chosen[1])
    return _boxes(*(chosen if numeric[1] else chosen[::-1]))


def _typed(raw: RawTable, column: str | int | np.integer[Any], kinds: Kinds) -> Column:
    """One column with its kind; dates count as days since 1970."""
    if isinstance(column, (int, np.integer)):
        if not -len(raw.names) <= column < len(raw.names):
            raise ValueError(f"picture: there is no column {column}; the table has {len(raw.names)}.")
        column = raw.names[column]
    own = raw.column(column)
    if own.form == "date":
        from tilth.data.kinds import Kind

        days = own.values.astype("datetime64[s]").astype(np.float64) / 86_400
        return Column(f"{own.name} (days since 1970)", Kind("numeric"), np.where(np.isnat(own.values), np.nan, days))
    stated = {own.name: kinds[own.name]} if isinstance(kinds, dict) and own.name in kinds else None
    if stated is None and isinstance(kinds, str):
        stated = {own.name: kinds}
    spec = infer(RawTable([own], raw.n_rows, raw.named), stated)[own.name]
    if own.levels and (spec.role != "feature" or not (spec.kind.levels or spec.kind.name == "numeric")):
        # Set aside for models (an identifier, prose, dates as text): its levels were not listed, but can be drawn.
        from tilth.data.kinds import Kind

        return Column(own.name, Kind("nominal", tuple(own.levels)), own.values)
    values = own.typed(spec)
    if spec.kind.name == "numeric" and np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values)
    return Column(own.name, spec.kind, values)


def _groups(raw: RawTable, by: Any, kinds: Kinds) -> Groups:
    if isinstance(by, (str, int, np.integer)):
        column = _typed(raw, by, kinds)
    else:
        values = by.to_numpy() if hasattr(by, "to_numpy") else np.asarray(by)
        if values.shape != (raw.n_rows,):
            raise ValueError(f"picture: by needs a value for each of {raw.n_rows} rows; got shape {values.shape}.")
        name = getattr(by, "name", None)
        column = _typed(read({name if isinstance(name, str) else "group": values}), 0, None)
    if column.kind.name == "numeric":
        present = column.values[~column.missing]
        levels = np.unique(present)
        if len(levels) <= MOST_GROUPS:
            names, codes = [f"{v:g}" for v in levels], np.searchsorted(levels, column.values)
        else:
            cuts = np.unique(np.quantile(present, [0.25, 0.5, 0.75]))
            edges = [f"{c:g}" for c in cuts]
            names = [f"up to {edges[0]}", *(f"{a} to {b}" for a, b in pairwise(edges))]
            names.append(f"above {edges[-1]}")
            codes = np.searchsorted(cuts, column.values, side="left")
    else:
        names, codes = _levels(column, MOST_GROUPS)
        return Groups(column.name, names, codes)
    if column.missing.any():
        codes = np.where(column.missing, len(names), codes)
        names = [*names, GONE]
    return Groups(column.name, names, np.asarray(codes, dtype=np.intp))


def _levels(column: Column, most: int) -> tuple[list[str], NDArray[np.intp]]:
    """Names of the levels drawn and the place of every row: ordered ones in order, others commonest first."""
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.kind.levels))
    order = np.arange(len(counts)) if column.kind.name == "ordinal" else np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    kept = order if len(order) <= most else order[: most - 1]
    names = [str(column.kind.levels[i]) for i in kept]
    place = np.full(len(counts) + 2, len(kept), dtype=np.intp)
    place[kept] = np.arange(len(kept))
    if len(order) > len(kept):
        names.append(OTHER)
    place[-2:] = len(names)  # missing cells and levels that are not known
    if (column.values < 0).any():
        names.append(GONE)
    return names, place[column.values]


def _axes(width: float = 6.0, height: float = 3.6, **how: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot(**how)
    if not how:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _by_group(codes: NDArray[Any], n: int, groups: Groups | None) -> NDArray[np.int64]:
    """Rows of every bin and group: [bins, groups]."""
    k = 1 if groups is None else len(groups.names)
    own = codes if groups is None else codes * k + groups.codes
    return np.bincount(own[codes >= 0], minlength=n * k).reshape(n, k)


def _stacked(axes: Any, left: Floats, right: Floats, counts: NDArray[np.int64], groups: Groups | None) -> None:
    bottom = np.zeros(len(counts))
    for g in range(counts.shape[1]):
        label = None if groups is None else shortened(groups.names[g], 20)
        merged_bars(axes, left, right, counts[:, g].astype(float), bottom, facecolor=colour_of(g), label=label)
        bottom = bottom + counts[:, g]
    axes.set(ylabel="rows", ylim=(0, None))
    if groups is not None:
        axes.legend(title=shortened(groups.title, 20), frameon=False, fontsize=8)


def _long(columns: dict[str, Any], counts: NDArray[np.int64], groups: Groups | None) -> pd.DataFrame:
    import pandas as pd

    if groups is None:
        return pd.DataFrame({**columns, "rows": counts[:, 0]})
    k = counts.shape[1]
    repeated = {name: np.repeat(np.asarray(v), k) for name, v in columns.items()}
    (title,) = beside([groups.title], {*columns, "rows"}, "group")
    return pd.DataFrame({**repeated, title: groups.names * len(counts), "rows": counts.ravel()})


def _bars(column: Column, groups: Groups | None) -> Picture:
    names, codes = _levels(column, MOST_BARS)
    counts = _by_group(codes, len(names), groups)

    def draw() -> Any:
        figure, axes = _axes(max(4.0, 0.35 * len(names) + 2))
        at = np.arange(len(names), dtype=float)
        _stacked(axes, at - 0.4, at + 0.4, counts, groups)
        wide = max(map(len, names)) > 6
        axes.set_xticks(at, [shortened(n, 18) for n in names], rotation=40 if wide else 0,
                        ha="right" if wide else "center")  # fmt: skip
        axes.set_xlabel(column.name)
        return plain_words(figure)

    return Picture("bars", _long({"value": names}, counts, groups), draw)


def histogram_edges(present: Floats, most: int = 40) -> Floats:
    """Edges of the bins of a histogram: whole numbers one by one where they are few, else by the rule of Freedman and
    Diaconis, 2 IQR / n^(1/3) wide, within 5 and ``most`` bins."""
    if not present.size:
        return np.array([0.0, 1.0])
    low, high = float(present.min()), float(present.max())
    if low == high:
        return np.array([low - 0.5, high + 0.5])
    if high - low < most and (present == np.floor(present)).all():
        return np.arange(low - 0.5, high + 1)
    quarter, three = np.quantile(present, [0.25, 0.75])
    width = 2 * (three - quarter) / present.size ** (1 / 3)
    bins = int(np.clip((high / 2 - low / 2) / (width / 2), 5, most)) if width > 0 else most
    # Halves, so that the span of the largest floats does not overflow.
    share = np.linspace(0, 1, bins + 1)
    return np.asarray(low * (1 - share) + high * share)


def _histogram(column: Column, groups: Groups | None) -> Picture:
    present = column.values[~column.missing]
    edges = histogram_edges(present)
    places = np.clip(np.searchsorted(edges, column.values, side="right") - 1, 0, len(edges) - 2)
    counts = _by_group(np.where(column.missing, -1, places), len(edges) - 1, groups)

    def draw() -> Any:
        figure, axes = _axes()
        _stacked(axes, edges[:-1], edges[1:], counts, groups)
        gone = int(column.missing.sum())
        axes.set_xlabel(column.name + (f" ({gone} missing)" if gone else ""))
        return plain_words(figure)

    return Picture("histogram", _long({"from": edges[:-1], "to": edges[1:]}, counts, groups), draw)


def _scatter(columns: list[Column], groups: Groups | None) -> Picture:
    import pandas as pd

    gone = np.any([c.missing for c in columns], axis=0)
    shown = np.flatnonzero(~gone)
    shown = shown[thinned(len(shown), MOST_POINTS)]
    names = beside([c.name for c in columns], ())
    table = pd.DataFrame({name: c.values[shown] for name, c in zip(names, columns, strict=True)})
    if groups is not None:
        (title,) = beside([groups.title], names, "group")
        table[title] = np.array(groups.names, dtype=object)[groups.codes[shown]]

    def draw() -> Any:
        solid = len(columns) == 3
        figure, axes = _axes(6.0, 5.2 if solid else 4.4, **({"projection": "3d"} if solid else {}))
        for g in range(1 if groups is None else len(groups.names)):
            own = slice(None) if groups is None else groups.codes[shown] == g
            label = None if groups is None else shortened(groups.names[g], 20)
            at = [table[name].to_numpy()[own] for name in names]
            axes.plot(*at, "o", color=colour_of(g), markersize=3.5, alpha=0.6, markeredgewidth=0, label=label)
        axes.set_xlabel(names[0])
        axes.set_ylabel(names[1])
        if solid:
            axes.set_zlabel(names[2])
        if groups is not None:
            axes.legend(title=shortened(groups.title, 20), frameon=False, fontsize=8)
        if len(shown) < len(gone):
            axes.set_title(f"{len(shown):,} of {len(gone):,} rows", fontsize=9, loc="left")
        return plain_words(figure)

    return Picture("scatter in three dimensions" if len(columns) == 3 else "scatter", table, draw)


def _boxes(levels: Column, numbers: Column) -> Picture:
    import pandas as pd

    names, codes = _levels(levels, MOST_BARS)
    rows, stats = [], []
    for g, name in enumerate(names):
        values = numbers.values[(codes == g) & ~numbers.missing]
        if not values.size:
            continue
        quarter, middle, three = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 1.5 * (three - quarter)
        near = values[(values >= quarter - reach) & (values <= three + reach)]
        low, high = (float(near.min()), float(near.max())) if near.size else (middle, middle)
        far = values[(values < low) | (values > high)]
        rows.append((name, len(values), low, quarter, middle, three, high, len(far)))
        stats.append({"label": shortened(name, 18), "med": middle, "q1": quarter, "q3": three, "whislo": low,
                      "whishi": high, "fliers": far[thinned(len(far), 60)]})  # fmt: skip
    fields = ["rows", "low whisker", "q25", "median", "q75", "high whisker", "beyond"]
    if not rows:
        raise ValueError(f"picture: {numbers.name!r} has no value in any row.")

    def draw() -> Any:
        figure, axes = _axes(max(4.0, 0.45 * len(stats) + 2))
        axes.bxp(stats, patch_artist=True, boxprops={"facecolor": "#cfe0f1"}, medianprops={"color": "#e45756"},
                 flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "0.5"})  # fmt: skip
        axes.set_xticks(np.arange(1, len(stats) + 1), [s["label"] for s in stats])
        if max(len(s["label"]) for s in stats) > 6:
            axes.tick_params(axis="x", rotation=40)
        axes.set_xlabel(levels.name)
        axes.set_ylabel(numbers.name)
        return plain_words(figure)

    return Picture("boxes", pd.DataFrame(rows, columns=[*beside([levels.name], fields), *fields]), draw)


def _cells(first: Column, second: Column) -> Picture:
    import pandas as pd

    (down, a), (across, b) = _levels(first, MOST_BARS), _levels(second, MOST_BARS)
    counts = np.bincount(a * len(across) + b, minlength=len(down) * len(across)).reshape(len(down), len(across))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    facts = {"rows": counts.ravel(), "share of row": shares.ravel()}
    one, other = beside([first.name, second.name], facts)
    table = pd.DataFrame({one: np.repeat(down, len(across)), other: across * len(down)} | facts)

    def draw() -> Any:
        figure, axes = _axes(2.5 + 0.5 * len(across), 1.6 + 0.4 * len(down))
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        if counts.size <= 150:
            for i in range(len(down)):
                for j in range(len(across)):
                    shade = "white" if shares[i, j] > 0.6 else "0.15"
                    axes.text(j, i, f"{counts[i, j]}", ha="center", va="center", color=shade, size=8)
        axes.set_xticks(range(len(across)), [shortened(v, 14) for v in across], rotation=40, ha="right")
        axes.set_yticks(range(len(down)), [shortened(v, 18) for v in down])
        axes.set_xlabel(second.name)
        axes.set_ylabel(first.name)
        return plain_words(figure)

    return Picture("cells", table, draw)
