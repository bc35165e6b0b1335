"""The table at a glance: every column with the target over it, and where cells are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.data.kinds import level_key, sort_levels
from tilth.plot.columns import histogram_edges
from tilth.plot.overview import Panel
from tilth.quality.column import ColumnView
from tilth.quality.view import View, view_of
from tilth.stats.bounds import wilson_bounds
from tilth.stats.hypothesis import critical, f_test, holm
from tilth.words import count, listed, percent, plain, shown, verb

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

#: Small pictures at most; bars of a column of levels and of a numeric one; classes with a line of their own.
MOST, MOST_LEVELS, MOST_BINS, MOST_CLASSES = 24, 10, 14, 4
#: Blocks of rows and columns in the map of missing cells.
BLOCKS, MAPPED = 60, 40
#: A column that explains less than this share of the target is not called related to it.
RELATED = 0.01


@dataclass(frozen=True)
class Bars:
    """One column in bars: their names, the rows in them, and (value, low, high) of the target for each line.

    ``strength`` is the share of the target's variance between the bars, corrected for their number: R squared of a
    quantity, Goodman and Kruskal's tau of classes.
    """

    name: str
    kind: str
    labels: list[str]
    rows: Longs
    lines: dict[str, Floats]
    n_missing: int
    strength: float
    ends: tuple[str, str] | None = None
    is_target: bool = False
    p_value: float = float("nan")

    @property
    def has_gaps(self) -> bool:
        """Whether the last bar is that of missing cells."""
        return self.n_missing > 0


@dataclass
class Overview(Result):
    """All columns in bars, those that tell most of the target first.

    ``line`` says what stands over the bars, ``usual`` is its value over all rows; ``gaps`` holds the share of missing
    cells by block of rows and column, ``missing`` their number per column.
    """

    columns: list[Bars]
    n_rows: int
    n_columns: int
    target: str | None
    line: str
    usual: float | None
    gaps: pd.DataFrame
    missing: dict[str, int]
    sampling: str = ""
    most: int = MOST
    level: float = 0.95

    def __getitem__(self, name: str) -> Bars:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"The overview has no column {name!r}; it has {listed(c.name for c in self.columns)}.")

    def verdict(self) -> str:
        """Size, target, the columns that go with it most, and what is missing, in words."""
        said = [f"{count(self.n_rows, 'row')} x {count(self.n_columns, 'column')}."]
        if self.target is not None and self.usual is not None:
            said.append(f"Over all rows the {self.line} is {self.usual:.4g}.")
        if self.target is not None:
            own = [c for c in self.columns if not c.is_target]
            sure = holm([c.p_value for c in own]) < 1 - self.level
            related = [c.name for c, is_sure in zip(own, sure, strict=True) if c.strength >= RELATED and is_sure]
            said.append(
                f"Taken alone, {listed(related[:3], last='and')} {verb(len(related[:3]), 'predicts')} {self.target} "
                "best."
                if related
                else f"No single column is shown to be related to {self.target}."
            )
        if self.missing:
            worst = max(self.missing, key=lambda name: self.missing[name])
            share = percent(self.missing[worst] / self.n_rows)
            said.append(f"{count(len(self.missing), 'column')} with missing cells, {worst} most ({share}).")
        return " ".join(said) + (f" {self.sampling}" if self.sampling else "")

    def summary(self) -> pd.DataFrame:
        """One row per column: kind, missing share, how much of the target it explains alone."""
        import pandas as pd

        told = [(c.name, c.kind, c.n_missing / max(self.n_rows, 1), c.strength) for c in self.columns]
        return pd.DataFrame(told, columns=["column", "kind", "missing", "explains"])

    def frame(self) -> pd.DataFrame:
        """The numbers drawn: one row per column, bar and line."""
        import pandas as pd

        told = []
        for c in self.columns:
            for i, (label, rows) in enumerate(zip(c.labels, c.rows.tolist(), strict=True)):
                for name, values in (c.lines or {"": np.full((len(c.rows), 3), np.nan)}).items():
                    told.append((c.name, label, rows, name, *values[i]))
        return pd.DataFrame(told, columns=["column", "value", "rows", "line", "target", "low", "high"])

    def plot(self) -> Any:
        """Small pictures of the most telling columns, the target's share or mean over them; a matplotlib Figure."""
        from tilth.plot.overview import small_multiples

        panels = [
            Panel(
                c.name, f"{percent(c.n_missing / max(self.n_rows, 1))} missing" if c.n_missing else "", c.labels,
                c.rows.astype(np.float64), c.lines, c.has_gaps, c.kind != "nominal", c.ends,
            )
            for c in self.columns[: self.most]
        ]  # fmt: skip
        sure = f", with its {self.level:.0%} interval" if self.usual is not None else ""
        said = f"bars: rows; line: {self.line}{sure}" if self.line else "bars: rows"
        return small_multiples(panels, usual=self.usual, line_name=said, left_off=len(self.columns) - len(panels))

    def plot_missing(self) -> Any:
        """Where cells are missing, by column and place in the table; a matplotlib Figure."""
        from tilth.plot.overview import missing_map

        names = [str(n) for n in self.gaps.columns]
        return missing_map(names, self.gaps.to_numpy().T, [int(i) for i in self.gaps.index], self.n_rows)

    def sections(self) -> list[Section]:
        """The small pictures with their table; the map of missing cells below, where there are any."""
        parts = []
        if self.gaps.shape[1]:
            text = (
                "Dark cells are missing values in that stretch of rows. Stripes suggest that data collection changed."
            )
            parts.append(Section("Where cells are missing", text, figure=self.plot_missing, folded=True))
        return [Section("Data at a glance", self.verdict(), self.summary(), self.plot, parts=parts)]

    def to_dict(self) -> dict[str, Any]:
        """The overview as JSON-ready data."""
        return {
            "schema": "tilth.overview/1",
            "rows": self.n_rows,
            "target": self.target,
            "line": self.line,
            "usual": plain(self.usual),
            "verdict": self.verdict(),
            "columns": [
                {
                    "column": c.name, "kind": c.kind, "missing": c.n_missing, "explains": plain(c.strength),
                    "values": c.labels, "rows": plain(c.rows), "lines": plain(c.lines),
                }
                for c in self.columns
            ],
        }  # fmt: skip

    def shown(self) -> pd.DataFrame:
        """A line for each column."""
        return self.summary()


@dataclass(frozen=True)
class _Goal:
    """The target as lines: per row and line a number whose mean is drawn, and which rows have it."""

    names: list[str]
    values: Floats
    known: NDArray[np.bool_]
    is_share: bool
    weighed: Floats


def overview(
    table: Any,
    target: Any = None,
    *,
    kinds: Kinds = None,
    task: Literal["classification", "regression"] | None = None,
    positive: Any = None,
    most: int = MOST,
    level: float = 0.95,
) -> Overview:
    """Every column of a table in bars, with the target over them.

    Parameters
    ----------
    table : any table.
    target : name of the target column, or its values. Over every bar stands the share of the positive class, or of each
        of the commonest classes, or the mean of a quantity, with its interval (Wilson's, or Student's).
    kinds : kinds that inference should not decide, see :func:`tilth.data.infer`.
    task : whether the target is classes or a quantity; None decides.
    positive : the class whose share is drawn; of two classes the last in order, of more all.
    most : small pictures drawn at most.

    >>> found = overview({"size": [1.0, 2.0, 3.0, 4.0] * 5, "hue": ["red", "red", "blue", "blue"] * 5},
    ...                  ["no", "no", "yes", "yes"] * 5)
    >>> found["hue"].lines["share of yes"].round(2).tolist()
    [[0.0, 0.0, 0.28], [1.0, 0.72, 1.0]]
    """
    if task not in (None, "classification", "regression"):
        raise ValueError(f"overview: task must be 'classification', 'regression' or None; got {task!r}.")
    if not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"overview: most must be a whole number of at least 1; got {most!r}.")
    if not 0 < level < 1:
        raise ValueError(f"overview: level must lie between 0 and 1; got {level!r}.")
    whole = view_of(table, target, kinds=kinds)
    if whole.n_rows == 0:
        raise ValueError("overview needs at least one row; found none.")
    view = whole.sample
    goal, line, usual = _goal(view, task, positive)
    made = [_bars(c, goal, level) for c in view.columns if c.spec.role == "feature"]
    if goal is not None:
        made.sort(key=lambda c: -np.nan_to_num(c.strength))
    if view.target is not None:
        made.insert(0, _bars(view.target, None, level, is_target=True))
    made = [_scaled(c, whole) for c in made]
    sampled = view is not whole
    return Overview(
        made, whole.n_rows, len(whole.columns), None if whole.target is None else whole.target.name, line, usual,
        _gaps(whole), {c.name: c.n_missing for c in whole.everything if c.n_missing},
        f"Bars and lines are of a random {view.n_rows:,} rows." if sampled else "", int(most), level,
    )  # fmt: skip


def _scaled(bars: Bars, whole: View) -> Bars:
    """The bars with the number of missing cells of the whole table, where they are those of a sample."""
    gone = whole.column(bars.name).n_missing
    # A sample may miss the few gaps there are, and then has no bar for them.
    return replace(bars, n_missing=gone) if bool(gone) == bars.has_gaps else bars


def _goal(view: View, task: str | None, positive: Any) -> tuple[_Goal | None, str, float | None]:
    """The target as lines, what they are called, and the value over all rows where there is one line."""
    target = view.target
    if target is None:
        return None, "", None
    quantity = target.is_number or target.raw.form in ("number", "integer")
    codes = view.classes
    if codes is None and task == "classification":
        codes = target.codes
    if task == "regression" or codes is None:
        if not quantity:
            return None, "", None
        values = target.numbers
        known = np.isfinite(values)
        name = f"mean of {target.name}"
        usual = float(values[known].mean()) if known.any() else None
        filled = np.where(known, values, 0.0)[:, None]
        return _Goal([name], filled, known, False, filled), name, usual
    places, counts = target.places, target.distinct[1]
    labels = [target.label(int(i)) for i in places]
    if positive is not None:
        chosen = [i for i, v in enumerate(labels) if level_key(v) == level_key(positive)]
        if not chosen:
            raise ValueError(f"overview: the target has no class {positive!r}; it has {listed(map(shown, labels), 8)}.")
    elif len(labels) == 2:
        last = sort_levels(labels)[-1]
        chosen = [labels.index(last)]
    else:
        chosen = [int(i) for i in np.argsort(-counts, kind="stable")[:MOST_CLASSES]]
    names = [f"share of {labels[i]}" for i in chosen]
    known = codes >= 0
    flags = (codes[:, None] == places[chosen][None, :]).astype(np.float64)
    every = (codes[:, None] == places[None, :]).astype(np.float64) if len(places) <= 50 else flags
    usual = float(flags[known, 0].mean()) if len(chosen) == 1 and known.any() else None
    line = names[0] if len(chosen) == 1 else f"share of each class of {target.name}"
    return _Goal(names, flags, known, True, every), line, usual


def _bars(column: ColumnView, goal: _Goal | None, level: float, is_target: bool = False) -> Bars:
    ends: tuple[str, str] | None = None
    if column.is_number or column.raw.form == "date":
        codes, labels, ends = _number_bins(column)
        kind = "date" if column.raw.form == "date" else "numeric"
    else:
        codes, labels = _level_bins(column)
        kind = column.spec.kind.name
    if column.n_missing:
        codes = np.where(column.missing, len(labels), codes)
        labels = [*labels, "(missing)"]
    rows = np.bincount(codes, minlength=len(labels))
    lines: dict[str, Floats] = {}
    strength = p_value = float("nan")
    if goal is not None:
        lines = {
            name: _means(codes[goal.known], goal.values[goal.known, j], len(labels), goal.is_share, level)
            for j, name in enumerate(goal.names)
        }
        strength, p_value = _explained(codes[goal.known], goal.weighed[goal.known], len(labels))
    return Bars(column.name, kind, labels, rows, lines, column.n_missing, strength, ends, is_target, p_value)


def _number_bins(column: ColumnView) -> tuple[Longs, list[str], tuple[str, str] | None]:
    """Place of every cell among bins, their names, and the ends of the axis (None for single whole numbers).

    The outer bins hold what lies beyond.
    """
    low, high = column.quantiles(0.005, 0.995)
    present = column.present
    inner = present[(present >= low) & (present <= high)] if present.size else present
    edges = histogram_edges(inner, MOST_BINS)
    codes = np.searchsorted(edges[1:-1], column.numbers, side="right")
    if column.raw.form == "date":
        words = [str(np.datetime64(int(e), "s"))[:10] for e in edges]
    elif inner.size and len(edges) > 1 and np.allclose(np.diff(edges), 1.0) and (inner == np.floor(inner)).all():
        names = [f"{(a + b) / 2:g}" for a, b in pairwise(edges)]
        names[0] += " or less" if present[0] < edges[0] else ""
        names[-1] += " or more" if present[-1] > edges[-1] else ""
        return codes, names, None
    else:
        words = _rounded(edges)
    names = [f"{a} to {b}" for a, b in pairwise(words)]
    return codes, names, (words[0], words[-1])


def _rounded(edges: Floats) -> list[str]:
    """Edges in as few digits as name each of them, off by a tenth of a bin at most."""
    narrow = float(np.diff(edges).min())
    for digits in range(3, 17):
        words = [f"{e:.{digits}g}" for e in edges]
        if len(set(words)) == len(words) and np.abs(np.array(words, dtype=np.float64) - edges).max() <= narrow / 10:
            return words
    return [f"{e:.17g}" for e in edges]


def _level_bins(column: ColumnView) -> tuple[Longs, list[str]]:
    """Place of every cell among the levels drawn: ordered ones in order, else commonest first, the rest together."""
    places, counts = column.places, column.distinct[1]
    if column.spec.kind.name == "ordinal":
        rank = {level_key(v): i for i, v in enumerate(column.spec.kind.levels)}
        order = np.array(
            sorted(range(len(places)), key=lambda i: rank.get(level_key(column.label(int(places[i]))), 1e9))
        )
    else:
        order = np.argsort(-counts, kind="stable")
    kept = order if len(order) <= MOST_LEVELS else order[: MOST_LEVELS - 1]
    labels = [str(column.label(int(places[i]))) for i in kept]
    lookup = np.full(int(places.max(initial=0)) + 2, len(kept), dtype=np.int64)
    lookup[places[kept]] = np.arange(len(kept))
    if len(order) > len(kept):
        labels.append(f"{len(order) - len(kept)} more")
    return lookup[column.codes], labels


def _means(codes: Longs, values: Floats, n: int, is_share: bool, level: float) -> Floats:
    """(mean, low, high) of every bar; NaN where it has no rows."""
    rows = np.bincount(codes, minlength=n).astype(np.float64)
    total = np.bincount(codes, weights=values, minlength=n)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / rows
        if is_share:
            low, high = wilson_bounds(total, rows, level)
            low, high = (np.where(rows > 0, b, np.nan) for b in (low, high))
        else:
            away = np.bincount(codes, weights=(values - mean[codes]) ** 2, minlength=n)
            reach = np.array([critical(level, max(r - 1, 1)) for r in rows.tolist()])
            half = np.where(rows > 1, reach * np.sqrt(away / (rows - 1) / rows), np.nan)
            low, high = mean - half, mean + half
    return np.stack([mean, low, high], axis=1)


def _explained(codes: Longs, values: Floats, n: int) -> tuple[float, float]:
    """1 - (within / (rows - bars)) / (total / (rows - 1)): the share of the variance between the bars, corrected; and
    the p-value of none (F; of k classes with k - 1 times the degrees of freedom, Light and Margolin 1971).
    """
    rows = np.bincount(codes, minlength=n).astype(np.float64)
    used, size = int((rows > 0).sum()), len(codes)
    if size <= used or used == 0:
        return float("nan"), float("nan")
    whole = float(((values - values.mean(axis=0)) ** 2).sum())
    within = 0.0
    for column in values.T:
        mean = np.bincount(codes, weights=column, minlength=n) / np.maximum(rows, 1)
        within += float(((column - mean[codes]) ** 2).sum())
    if whole <= 0 or not np.isfinite(whole):
        return float("nan"), float("nan")
    lines = max(1, int((values.max(axis=0) > values.min(axis=0)).sum()) - 1)
    ratio = (whole - within) * (size - used) / (within * max(used - 1, 1)) if within > 0 else np.inf
    p_value = f_test("bars", ratio, lines * (used - 1), lines * (size - used)).p_value
    return max(0.0, 1 - (within / (size - used)) / (whole / (size - 1))), p_value


def _gaps(view: View) -> pd.DataFrame:
    """Share of missing cells by block of rows (the index is its first row) and column, worst columns first."""
    import pandas as pd

    starts = np.unique(np.linspace(0, view.n_rows, min(BLOCKS, view.n_rows), endpoint=False).astype(np.int64))
    sizes = np.diff([*starts, view.n_rows])
    with_gaps = sorted((c for c in view.everything if c.n_missing), key=lambda c: -c.n_missing)[:MAPPED]
    shares = {c.name: np.add.reduceat(c.missing.astype(np.float64), starts) / sizes for c in with_gaps}
    return pd.DataFrame(shares, index=pd.Index(starts, name="first row"))
