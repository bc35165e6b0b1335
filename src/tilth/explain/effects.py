"""Effects: how a model's answer moves with one column, averaged over what the other columns are."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tilth import progress
from tilth.base import Section
from tilth.base.result import Result
from tilth.explain.grid import Grid, grid_of, nearest, never_together, own_level
from tilth.explain.importance import Importance
from tilth.explain.subject import Subject, subject_of
from tilth.words import count, listed, percent, plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Way = Literal["pdp", "ale"]

#: Ends of the band of single rows.
BAND = (0.1, 0.9)
#: Share of pairs never seen together from which on the average over them is doubted.
UNHEARD = 0.15
#: Values of a column kept to show where the data lie, and rows asked about to choose columns.
RUG = 200
LOOK = 200


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of one column at some points: ``mean``, ``low``, ``high`` are points x outputs.

    ``band`` is where single rows lie (10% to 90%), for partial dependence. The last point is a missing value where
    ``has_missing``. ``count`` is the rows that have a value (or come nearest to it), ``rug`` values that occur.
    """

    column: str
    kind: str
    way: str
    labels: list[str]
    at: Floats
    outputs: list[Any]
    mean: Floats
    low: Floats
    high: Floats
    band: tuple[Floats, Floats] | None
    count: Ints
    has_missing: bool
    rug: Floats
    says: str
    cautions: list[str] = field(default_factory=list)

    @property
    def known(self) -> int:
        """Number of points that are values."""
        return len(self.labels) - self.has_missing

    @property
    def shown(self) -> list[int]:
        """Outputs that are shown: of two classes the last, else all."""
        return [1] if len(self.outputs) == 2 else list(range(len(self.outputs)))

    @property
    def reach(self) -> float:
        """How far the mean moves over the points."""
        return float(np.ptp(self.mean, axis=0).max()) if len(self.mean) else 0.0

    def what(self, output: int) -> str:
        """What is drawn, in words."""
        of = {"probability": "probability of", "score": "score of", "answer": "share answered"}.get(self.says, "")
        return f"{of} {self.outputs[output]}".strip() if len(self.outputs) > 1 or not of else of.removesuffix(" of")

    def words(self) -> str:
        """The course of the effect in a sentence, for the output that moves most."""
        output = max(self.shown, key=lambda k: float(np.ptp(self.mean[:, k])) if len(self.mean) else 0.0)
        values, labels = self.mean[: self.known, output], self.labels[: self.known]
        what = self.what(output) + (" (from its mean)" if self.way == "ale" else "")
        if len(values) < 2:
            return f"{self.column} has {'one value' if len(values) else 'no value'} here: it cannot change the {what}."
        low, high = int(values.argmin()), int(values.argmax())
        if values[high] - values[low] <= 1e-12 * max(1.0, float(np.abs(values).max())):
            return f"{self.column}: the {what} does not change."
        if self.kind != "nominal" and {low, high} == {0, len(values) - 1}:
            verb = "rises" if high else "falls"
            first, last = (f"{values[k]:.3g} at {labels[k]}" for k in (0, -1))
            return f"{self.column}: the {what} {verb} from {first} to {last}."
        ends = " and ".join(f"{w} at {labels[k]} ({values[k]:.3g})" for w, k in (("lowest", low), ("highest", high)))
        return f"{self.column}: the {what} is {ends}."

    def frame(self) -> pd.DataFrame:
        """One line per point and output."""
        import pandas as pd

        parts = []
        for k, output in enumerate(self.outputs):
            part = {
                "column": self.column, "value": self.labels, "output": output, "rows": self.count,
                "mean": self.mean[:, k], "low": self.low[:, k], "high": self.high[:, k],
            }  # fmt: skip
            if self.band is not None:
                part |= {"10% of rows below": self.band[0][:, k], "10% of rows above": self.band[1][:, k]}
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)


@dataclass(eq=False)
class Effects(Result):
    """The effects of some columns on a model's answers."""

    model: str
    way: Way
    effects: list[Effect]
    n: int
    level: float = 0.95
    skipped: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.effects)

    def __len__(self) -> int:
        return len(self.effects)

    def __getitem__(self, column: str) -> Effect:
        for effect in self.effects:
            if effect.column == column:
                return effect
        raise KeyError(f"No effect of {column!r}; there are effects of {listed(e.column for e in self.effects)}.")

    def verdict(self) -> str:
        """The largest effects in words, and what to doubt."""
        first = sorted(self.effects, key=lambda e: -e.reach)[:3]
        doubtful = [e.column for e in self.effects if e.cautions]
        text = " ".join(e.words() for e in first) or "No effect was computed."
        text += f" With caution: {listed(doubtful)}." if doubtful else ""
        return text + (f" Not reached in time: {listed(self.skipped)}." if self.skipped else "")

    def how(self) -> str:
        """How the numbers came about."""
        if self.way == "pdp":
            text = (
                f"Partial dependence: {count(self.n, 'row')} are predicted repeatedly, with the column set to "
                "each of its values and all else unchanged; the line is the mean answer, the band holds the middle "
                "80% of rows. Lines that cross within the band mean that the effect differs between rows."
            )
        else:
            text = (
                "Accumulated local effects: each row is predicted with the two values of the column nearest to its "
                "own, and the differences are added up along the column; 0 is the mean over the rows. Values change "
                "only a little, so correlated columns do not mislead."
            )
        return f"{text} Intervals of {self.level:.0%} are for the mean. This describes the model, not cause and effect."

    def frame(self) -> pd.DataFrame:
        """One line per column, point and output."""
        import pandas as pd

        return pd.concat([e.frame() for e in self.effects], ignore_index=True) if self.effects else pd.DataFrame()

    def plot(self) -> Any:
        """A small picture per column; a matplotlib Figure."""
        from tilth.plot.explain import Line, Panel, effect_panels

        panels = []
        for e in self.effects:
            lines = [
                Line(
                    e.what(k), e.mean[:, k], e.low[:, k], e.high[:, k],
                    None if e.band is None else (e.band[0][:, k], e.band[1][:, k]),
                )
                for k in e.shown
            ]  # fmt: skip
            panels.append(Panel(e.column, e.at, e.labels, e.kind == "numeric", e.has_missing, lines, e.rug))
        return effect_panels(panels, centred=self.way == "ale")

    def sections(self) -> list[Section]:
        """The effects as a page of a report, a part for each column."""
        parts = [
            Section(e.column, e.words(), e.frame(), advice=" ".join(e.cautions), folded=True) for e in self.effects
        ]
        doubtful = any(e.cautions for e in self.effects)
        advice = "Where values are never seen together, read kind='ale' instead." if doubtful else ""
        text = f"{self.verdict()}\n\n{self.how()}"
        return [
            Section(
                "How the answer changes", text, figure=self.plot if self.effects else None, parts=parts,
                light="warn" if doubtful and self.way == "pdp" else "", advice=advice if self.way == "pdp" else "",
            )
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The effects as JSON-ready data."""
        columns = {
            e.column: {
                "kind": e.kind,
                "words": e.words(),
                "cautions": e.cautions,
                "points": e.frame().to_dict("records"),
            }
            for e in self.effects
        }
        return plain({"model": self.model, "way": self.way, "rows": self.n, "level": self.level, "columns": columns})

    def __str__(self) -> str:
        cautions = [c for e in self.effects for c in e.cautions]
        return "\n".join([e.words() for e in self.effects] + cautions)


def partial_dependence(
    model: Any,
    X: Any,
    columns: str | Sequence[str] | None = None,
    *,
    kind: Way = "pdp",
    points: int = 20,
    rows: int = 500,
    seed: int = 0,
    importance: Importance | None = None,
    most: int = 6,
    level: float = 0.95,
    seconds: float | None = None,
) -> Effects:
    """How a model's answer moves with single columns.

    ``"pdp"``, partial dependence: mean over rows i of f(x_i with column = v). ``"ale"``, accumulated local effects
    (Apley and Zhu 2020): the sum up to v of the mean over rows i in (v_k-1, v_k] of
    f(x_i with column = v_k) - f(x_i with column = v_k-1), less its mean over the rows; unordered levels stand in the
    order of the model's mean answers. Of two classes the probability of the last is shown.

    Values are those of the rows: quantiles of numbers, levels, and a missing value as a point of its own where there
    are some (for ALE: the mean change when a value is taken away).

    Parameters
    ----------
    model, X : any fitted model, and rows; their target is not needed.
    columns : names of the user's columns; None takes the first of ``importance``, or those that move answers most.
    points : values of a number.
    rows : rows asked about at each point (for ALE the same amount of asking).
    most : number of columns when none are named.
    seconds : time after which no new column is begun.

    >>> import numpy as np
    >>> from tilth import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = partial_dependence(LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1]), X, ["x0"])
    >>> line = found["x0"]
    >>> np.allclose(np.diff(line.mean[:, 0]) / np.diff(line.at), 3)
    True
    """
    owner = "partial_dependence"
    if kind not in get_args(Way):
        raise ValueError(f"{owner}: kind must be 'pdp' or 'ale'; got {kind!r}.")
    for what, value, least in (("points", points, 2), ("rows", rows, 1), ("most", most, 1)):
        if value < least:
            raise ValueError(f"{owner}: {what} must be at least {least}; got {value}.")
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
    subject = subject_of(model, X, owner=owner)
    end = None if seconds is None else clock.monotonic() + seconds
    chosen = _chosen(subject, columns, importance, most, seed, owner)
    outputs = subject.labels
    sample = subject.sample(rows if kind == "pdp" else max(1, rows * points // 2), seed)
    effects, skipped = [], []
    slowest = 0.0
    with progress.task("Effects of columns", total=len(chosen)) as bar:
        for name in chosen:
            began = clock.monotonic()
            if end is not None and began + slowest > end:
                skipped.append(name)
                continue
            effects.append(_effect(subject, name, kind, points, sample, outputs, level))
            slowest = max(slowest, clock.monotonic() - began)
            bar.advance()
    return Effects(subject.name, kind, effects, len(sample), level, skipped)


def _chosen(
    subject: Subject, columns: Any, importance: Importance | None, most: int, seed: int, owner: str
) -> list[str]:
    if columns is not None:
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            if name not in subject.columns:
                raise ValueError(
                    f"{owner}: {subject.name} uses no column {name!r}; it uses "
                    f"{listed(map(repr, subject.columns), 12)}."
                )
        return names
    if importance is not None:
        return [c for c in importance.top(most) if c in subject.columns]
    rows = subject.sample(LOOK, seed)
    base, moved = subject.outputs(rows), {}
    for j, name in enumerate(subject.columns):
        dealt = np.random.default_rng([seed, j]).permutation(rows)
        moved[name] = float(np.abs(subject.outputs(rows, {name: dealt}) - base).mean())
    return [c for c in sorted(moved, key=lambda c: -moved[c]) if moved[c] > 0][:most] or subject.columns[:1]


def _effect(subject: Subject, name: str, way: Way, points: int, rows: Ints, outputs: list[Any], level: float) -> Effect:
    everything = np.arange(subject.n)
    grid = grid_of(subject, name, points, everything if way == "pdp" else rows)
    z = float(ndtri((1 + level) / 2))
    if way == "pdp":
        mean, error, band = _dependence(subject, grid, rows)
    else:
        grid, mean, error = _accumulated(subject, grid, rows, len(outputs))
        band = None
    has_missing = grid.missing >= 0
    place = nearest(grid, everything)
    amount = np.bincount(place[place >= 0], minlength=len(grid.rows))
    if has_missing:
        amount = np.append(amount, int(grid.column.missing.sum()))
    values = grid.column.values[rows][~grid.column.missing[rows]]
    rug = values[np.linspace(0, len(values) - 1, min(len(values), RUG)).round().astype(np.int64)]
    return Effect(
        name, grid.column.kind.name, way, grid.labels + ["missing"] * has_missing, grid.at, outputs, mean,
        mean - z * error, mean + z * error, band, amount.astype(np.int64), has_missing,
        rug.astype(np.float64) if grid.is_number else np.empty(0), subject.says, _cautions(subject, grid, way, rows),
    )  # fmt: skip


def _cautions(subject: Subject, grid: Grid, way: Way, rows: Ints) -> list[str]:
    name, cautions = grid.column.name, []
    spec = subject.schema[name]
    values = grid.column.values[grid.rows]
    if grid.is_number and spec.low == spec.low and len(values) and spec.form != "date":
        outside = int(((values < spec.low) | (values > spec.high)).sum())
        if outside:
            cautions.append(
                f"{name}: {count(outside, 'point')} outside the training range {spec.low:g} to {spec.high:g}: there "
                "the model extrapolates."
            )
    if way == "pdp":
        share, other = never_together(subject, name, subject.columns, subject.sample(2000, 0))
        if share >= UNHEARD:
            cautions.append(
                f"{name}: {percent(share)} of the rows pair it with values of {other} that never occur together; "
                "use kind='ale'."
            )
    return cautions


def _dependence(subject: Subject, grid: Grid, rows: Ints) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Mean answer at every point, its standard error, and the band of single rows."""
    donors = np.append(grid.rows, grid.missing) if grid.missing >= 0 else grid.rows
    single = subject.outputs(np.tile(rows, len(donors)), {grid.column.name: np.repeat(donors, len(rows))})
    single = single.reshape(len(donors), len(rows), -1)
    error = single.std(axis=1, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(single[:, 0].shape, np.nan)
    low, high = np.quantile(single, BAND, axis=1)
    return single.mean(axis=1), error, (low, high)


def _accumulated(subject: Subject, grid: Grid, rows: Ints, width: int) -> tuple[Grid, Floats, Floats]:
    """Accumulated local effects, centred, and their standard errors; levels without an order are put in one."""
    name, column = grid.column.name, grid.column
    known = rows[~column.missing[rows]]
    if column.kind.name == "nominal" and len(grid.rows) > 2:
        grid = _in_order(subject, grid, known)
    n_points, place = len(grid.rows), _own_point(grid, known)
    mean, weights = np.zeros((n_points, width)), np.zeros((n_points, max(0, n_points - 1)))
    spread = np.zeros((n_points, width))
    if n_points > 1:
        step, repeated = _steps(grid, known, place)
        swaps = np.concatenate([grid.rows[step + 1], grid.rows[step]])
        both = subject.outputs(np.tile(repeated, 2), {name: swaps})
        change = both[: len(repeated)] - both[len(repeated) :]
        held = np.bincount(step, minlength=n_points - 1)
        totals = np.stack([np.bincount(step, c, minlength=n_points - 1) for c in change.T], axis=1)
        average = totals / np.maximum(held, 1)[:, None]
        # Point k is the sum of the steps before it, less the mean of that over the rows: weights of the steps.
        weights = np.tri(n_points, n_points - 1, -1)
        shares = _shares(grid, known, place)
        weights = weights - shares @ weights
        mean = weights @ average
        rest = (change - average[step]) ** 2
        pooled = rest.sum(axis=0) / max(1, len(repeated) - n_points + 1)
        own = np.stack([np.bincount(step, r, minlength=n_points - 1) for r in rest.T], axis=1)
        variance = np.where(held[:, None] > 1, own / np.maximum(held - 1, 1)[:, None], pooled)
        spread = np.sqrt(weights**2 @ (variance / np.maximum(held, 1)[:, None]))
    if grid.missing >= 0:
        lost = np.zeros((1, width)) if not len(known) else _taken_away(subject, name, known, grid.missing)
        error = lost.std(axis=0, ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.full(width, np.nan)
        mean, spread = np.vstack([mean, lost.mean(axis=0)]), np.vstack([spread, error])
    return grid, mean, spread


def _taken_away(subject: Subject, name: str, known: Ints, missing: int) -> Floats:
    """Change of the answer of each row when its value is taken away."""
    return subject.outputs(known, {name: np.full(len(known), missing)}) - subject.outputs(known)


def _own_point(grid: Grid, rows: Ints) -> Ints:
    """The bin (number: the point at its upper end) or the level of each row; -1 for a level that is not shown."""
    if not grid.is_number or not len(grid.rows):
        return own_level(grid, rows)
    return np.searchsorted(grid.at, grid.column.values[rows]).clip(max=len(grid.at) - 1)


def _steps(grid: Grid, rows: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Steps between neighbouring points and the rows that take them: a number's bin, both sides of a level."""
    if grid.is_number:
        return np.maximum(place - 1, 0), rows
    down, up = place > 0, (place >= 0) & (place < len(grid.rows) - 1)
    return np.concatenate([place[down] - 1, place[up]]), np.concatenate([rows[down], rows[up]])


def _shares(grid: Grid, rows: Ints, place: Ints) -> Floats:
    """Weights of the points in the mean over the rows; a row within a bin lies on the line between its ends."""
    n_points = len(grid.rows)
    if grid.is_number:
        upper = np.maximum(place, 1)
        start, end = grid.at[upper - 1], grid.at[upper]
        along = (grid.column.values[rows] - start) / (end - start)
        held = np.bincount(upper, along, n_points) + np.bincount(upper - 1, 1 - along, n_points)
        return np.asarray(held / max(1, len(rows)))
    level = np.bincount(place[place >= 0], minlength=n_points)
    return level / max(1, level.sum())


def _in_order(subject: Subject, grid: Grid, rows: Ints) -> Grid:
    """Levels in the order of the model's mean answer for the rows that have them."""
    answer = subject.outputs(rows)[:, -1]
    place = _own_point(grid, rows)
    shown = place >= 0
    held = np.bincount(place[shown], minlength=len(grid.rows))
    mean = np.bincount(place[shown], answer[shown], minlength=len(grid.rows)) / np.maximum(held, 1)
    order = np.argsort(mean, kind="stable")
    return Grid(grid.column, grid.rows[order], grid.at, [grid.labels[k] for k in order], grid.missing)
