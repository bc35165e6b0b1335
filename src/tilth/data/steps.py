"""Steps: the small conversions that make attributes match a model. Each learns on training rows, then converts.

A step says which kinds it ``takes``, learns a ``state`` per column (plain numbers, lists, arrays), and converts a
column into one or more columns. Steps serve in a :class:`~tilth.data.convert.Plan` and, as transformers of the same
name, on their own (:mod:`tilth.models.prepare`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.data import weighted
from tilth.data.kinds import OPERATIONS, Kind, Level, level_key
from tilth.data.table import UNSEEN, Column, Table
from tilth.data.weighted import Weight
from tilth.errors import SchemaError
from tilth.params import declared, param, stored

State = dict[str, Any]
NUMERIC = Kind("numeric")


@declared
class Step:
    """Base of all steps. Subclasses give ``takes``, :meth:`learn`, :meth:`convert` and :meth:`tell`."""

    takes: ClassVar[tuple[str, ...]] = ("numeric",)
    #: Two words for a printed plan.
    verb: ClassVar[str] = ""

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """What must be remembered of the training column."""
        return {}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The columns that replace ``column``."""
        raise NotImplementedError

    def tell(self, state: State) -> str:
        """What was learned, in a few words."""
        return ""

    def learn_all(self, columns: Sequence[Column], weight: Weight = None) -> list[State]:
        """States of all columns the step is given; a step that mixes columns overrides this."""
        return [self.learn_column(c, weight) for c in columns]

    def convert_all(self, columns: Sequence[Column], states: Sequence[State]) -> list[list[Column]]:
        """Replacements of each column; a step that mixes columns overrides this."""
        return [self.convert_column(c, s) for c, s in zip(columns, states, strict=True)]

    def require(self, column: Column) -> None:
        """Refuse a column of a kind the step does not take."""
        if column.kind.name not in self.takes:
            raise SchemaError(
                f"{type(self).__name__} takes {' and '.join(self.takes)} columns; "
                f"{column.name!r} is {column.kind.name}."
            )

    def settings(self) -> dict[str, Any]:
        """The parameters of the step by name."""
        from dataclasses import fields

        return {f.name: getattr(self, f.name) for f in fields(self)}


@stored
@dataclass
class FittedStep:
    """A step with the columns it works on and what it learned of each."""

    step: Step
    inputs: list[str]
    states: list[State] = field(default_factory=list)
    outputs: list[list[str]] = field(default_factory=list)
    reason: str = ""

    def fit(self, table: Table, weight: Weight = None) -> tuple[FittedStep, Table]:
        """Learn from the table and convert it."""
        columns = [table[name] for name in self.inputs]
        for column in columns:
            self.step.require(column)
        states = self.step.learn_all(columns, weight)
        fitted = FittedStep(self.step, self.inputs, states, [], self.reason)
        groups = fitted._converted(table)
        fitted.outputs = [[c.name for c in groups[name]] for name in self.inputs]
        return fitted, _replaced(table, groups)

    def apply(self, table: Table) -> Table:
        """Convert a table with what was learned; other columns stay where they are."""
        return _replaced(table, self._converted(table))

    def _converted(self, table: Table) -> dict[str, list[Column]]:
        """The columns that replace each input; a made name that is taken already gets a mark, so that names differ."""
        columns = [table[name] for name in self.inputs]
        groups = dict(zip(self.inputs, self.step.convert_all(columns, self.states), strict=True))
        taken = {name for name in table.names if name not in groups}
        for group in groups.values():
            for column in group:
                while column.name in taken:
                    column.name += "'"
                taken.add(column.name)
        return groups

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        if self.states and len(self.states) != len(self.inputs):
            return f"{len(self.states)} states for {len(self.inputs)} columns"
        return ""


def _replaced(table: Table, groups: dict[str, list[Column]]) -> Table:
    out = [part for column in table.columns for part in groups.get(column.name, [column])]
    return Table(out, table.n_rows)


# ------------------------------------------------------------------------------------------------- nominal, ordinal


@stored
@declared
class Drop(Step):
    """Leave columns out."""

    takes: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    verb: ClassVar[str] = "set aside"

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Nothing remains."""
        return []


@stored
@declared
class SelectKinds(Step):
    """Keep the columns of some kinds and leave the others out."""

    takes: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    verb: ClassVar[str] = "select"
    keep: str | tuple[str, ...] = param(("numeric",), doc="Kinds to keep: numeric, ordinal, nominal.")

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The column itself, or nothing."""
        wanted = (self.keep,) if isinstance(self.keep, str) else tuple(self.keep)
        unknown = [word for word in wanted if word not in OPERATIONS]
        if unknown or not wanted:
            raise ValueError(f"SelectKinds: keep must name kinds among {', '.join(OPERATIONS)}; got {self.keep!r}.")
        return [column] if column.kind.name in wanted else []


@stored
@declared
class OneHot(Step):
    """A 0/1 column per level: x -> [x = a], [x = b], ...; two levels give one column for the second.

    A level not seen in training has zeros in every column (or is an error), and so has a missing value.
    """

    takes: ClassVar[tuple[str, ...]] = ("nominal", "ordinal")
    verb: ClassVar[str] = "one-hot"
    unseen: str = param("zeros", options=("zeros", "error"), doc="What a level not seen in training becomes.")
    binary: str = param("one", options=("one", "two"), doc="Columns for a two-level attribute.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The levels in order."""
        levels = list(column.kind.levels)
        return {"levels": levels, "columns": 1 if len(levels) == 2 and self.binary == "one" else len(levels)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """0/1 columns named ``column=level``."""
        if self.unseen == "error" and (column.values == UNSEEN).any():
            raise SchemaError(
                f"Column {column.name!r} holds a level that training did not have; OneHot(unseen='zeros') accepts it."
            )
        levels = state["levels"]
        first = 1 if state["columns"] == 1 and len(levels) == 2 else 0
        return [
            Column(f"{column.name}={level_key(levels[i])}", NUMERIC, (column.values == i).astype(np.float64))
            for i in range(first, len(levels))
        ]

    def tell(self, state: State) -> str:
        """How many columns it makes."""
        n = state["columns"]
        return f"{n} column{'s' * (n != 1)} of 0 and 1"


@stored
@declared
class IntegerCodes(Step):
    """Levels become 0, 1, 2, ...: an arbitrary order and meaningless distances for a nominal attribute."""

    takes: ClassVar[tuple[str, ...]] = ("nominal", "ordinal")
    verb: ClassVar[str] = "integer codes"

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The levels in order."""
        return {"levels": list(column.kind.levels), "ordered": column.kind.name == "ordinal"}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The code as a number; missing and unseen become NaN."""
        return [Column(column.name, NUMERIC, np.where(column.values < 0, np.nan, column.values).astype(np.float64))]

    def invert(self, column: Column, state: State) -> list[Column]:
        """The levels that codes stand for; a number that is no code becomes missing."""
        return [_from_codes(column, column.values, state["levels"], ordered=state["ordered"])]

    def tell(self, state: State) -> str:
        """The range, and the warning."""
        order = "" if state["ordered"] else "; the order is arbitrary and distances mean nothing"
        return f"0 to {len(state['levels']) - 1}{order}"


def _from_codes(column: Column, codes: NDArray[Any], levels: list[Level], ordered: bool) -> Column:
    """A column of levels from numbers that count them from 0; any other number is missing."""
    known = np.isin(codes, np.arange(len(levels)))
    kind = Kind("ordinal" if ordered else "nominal", tuple(levels))
    return Column(column.name, kind, np.where(known, codes, -1).astype(np.int32))


@stored
@declared
class RankScores(Step):
    """Ordinal levels become evenly spaced scores: the r-th of m levels (from 0) is r / (m - 1)."""

    takes: ClassVar[tuple[str, ...]] = ("ordinal",)
    verb: ClassVar[str] = "rank scores"

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The number of levels."""
        return {"levels": list(column.kind.levels)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Scores in [0, 1]; missing and unseen become NaN."""
        scores = column.values / max(len(state["levels"]) - 1, 1)
        return [Column(column.name, NUMERIC, np.where(column.values < 0, np.nan, scores))]

    def invert(self, column: Column, state: State) -> list[Column]:
        """The level nearest to each score."""
        codes = np.round(column.values * max(len(state["levels"]) - 1, 1))
        return [_from_codes(column, codes, state["levels"], ordered=True)]

    def tell(self, state: State) -> str:
        """The ends of the scale."""
        return f"{state['levels'][0]} = 0 to {state['levels'][-1]} = 1" if state["levels"] else ""


@stored
@declared
class ForgetOrder(Step):
    """An ordinal attribute used as a nominal one."""

    takes: ClassVar[tuple[str, ...]] = ("ordinal",)
    verb: ClassVar[str] = "forget order"

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The same codes under a nominal kind."""
        return [Column(column.name, Kind("nominal", column.kind.levels), column.values)]


# ------------------------------------------------------------------------------------------------------------- bins

BIN_NAMES: dict[int, tuple[str, ...]] = {
    2: ("low", "high"),
    3: ("low", "medium", "high"),
    5: ("very low", "low", "medium", "high", "very high"),
}


@stored
@declared
class Bins(Step):
    """Numbers become an ordinal attribute of named bins; bin i holds edge[i-1] < x <= edge[i].

    ``width``: edges equally spaced. ``frequency``: equal counts, rows of equal value kept together. ``kmeans``: edges
    halfway between the centres of a one-dimensional k-means. ``edges`` gives the inner boundaries by hand.
    """

    verb: ClassVar[str] = "bins"
    method: str = param("frequency", options=("width", "frequency", "kmeans"), doc="How boundaries are chosen.")
    n_bins: int = param(5, low=2, high=1000, doc="Number of bins wanted.", tune=(2, 20))
    names: tuple[str, ...] | None = param(None, doc="Names of the bins, lowest first; low/medium/high by default.")
    edges: tuple[float, ...] | None = param(None, doc="Inner boundaries by hand, ascending; overrides method.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """Inner edges, bin names and the weight in each bin."""
        x, w = weighted.present(column.values, weight)
        if self.edges is not None:
            inner = np.asarray(self.edges, dtype=np.float64)
            if (np.diff(inner) <= 0).any():
                raise ValueError(f"Bins: edges must ascend; got {list(self.edges)}.")
        elif not x.size:
            inner = np.empty(0)
        else:
            maker = {"width": _equal_width, "frequency": _equal_frequency, "kmeans": _kmeans_edges}[self.method]
            inner = maker(x, w, self.n_bins)
        counts = np.bincount(np.searchsorted(inner, x, side="left"), w, minlength=len(inner) + 1)
        return {"edges": inner, "names": self._names(inner), "counts": counts, "wanted": self.n_bins}

    def _names(self, inner: NDArray[np.float64]) -> list[str]:
        n = len(inner) + 1
        if self.names is not None:
            if len(self.names) != n:
                raise ValueError(
                    f"Bins: {len(self.names)} names for {n} bins; equal values may leave fewer bins than asked for."
                )
            return list(self.names)
        if n in BIN_NAMES:
            return list(BIN_NAMES[n])
        ends = [f"{v:.6g}" for v in inner]
        return (
            [f"<= {ends[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(ends)), f"> {ends[-1]}"]
            if ends
            else ["all"]
        )

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """An ordinal column of bin codes."""
        codes = np.searchsorted(state["edges"], column.values, side="left").astype(np.int32)
        codes[np.isnan(column.values)] = -1
        return [Column(column.name, Kind("ordinal", tuple(state["names"])), codes)]

    def tell(self, state: State) -> str:
        """Boundaries, and whether ties kept the counts apart."""
        edges = ", ".join(f"{v:.4g}" for v in state["edges"][:6]) + (" ..." if len(state["edges"]) > 6 else "")
        return f"{len(state['names'])} bins at {edges}{self.tie_note(state)}"

    def tie_note(self, state: State) -> str:
        """A remark when equal-frequency bins could not hold equal counts."""
        counts = state["counts"]
        if self.method != "frequency" or self.edges is not None or not len(counts):
            return ""
        uneven = counts.max() - counts.min() > 1 or len(counts) < state["wanted"]
        shown = ", ".join(f"{c:g}" for c in counts[:8])
        return f"; equal values make the counts unequal ({shown})" if uneven else ""


def _equal_width(x: NDArray[Any], w: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    low, high = x.min(), x.max()
    return np.linspace(low, high, n_bins + 1)[1:-1] if high > low else np.empty(0)


def _equal_frequency(x: NDArray[Any], w: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    values, place = np.unique(x, return_inverse=True)
    total = np.cumsum(np.bincount(place, w))
    # Candidate cuts lie between distinct values; take for each target the one whose count is nearest.
    targets = total[-1] * np.arange(1, n_bins) / n_bins
    after = np.searchsorted(total, targets - 1e-9).clip(max=len(values) - 1)
    before = (after - 1).clip(min=0)
    cut = np.unique(np.where(np.abs(total[before] - targets) < np.abs(total[after] - targets), before, after))
    cut = cut[cut < len(values) - 1]
    return (values[cut] + values[cut + 1]) / 2


#: One-dimensional k-means is exact up to this many distinct values; more are first put into this many groups.
KMEANS_GROUPS = 1024


def _kmeans_edges(x: NDArray[Any], w: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Edges halfway between the centres of the k-means solution, found by dynamic programming on sorted values."""
    values, place = np.unique(x, return_inverse=True)
    mass = np.bincount(place, w)
    middle = values.mean()
    total = np.cumsum(mass)
    shares = (total - mass) / total[-1] * KMEANS_GROUPS
    _, group = np.unique(shares.astype(np.int64), return_inverse=True)
    if len(values) <= KMEANS_GROUPS:
        group = np.arange(len(values))
    moved = values - middle
    sums = [np.concatenate([[0.0], np.cumsum(np.bincount(group, mass * moved**k))]) for k in (0, 1, 2)]
    ends = _cheapest_cuts(sums[0], sums[1], sums[2], min(n_bins, group[-1] + 1))
    centres = np.diff(sums[1][ends]) / np.diff(sums[0][ends])
    weight, first = (np.concatenate([[0.0], np.cumsum(mass * moved**k)]) for k in (0, 1))
    # Lloyd's rounds move the cuts inside the groups; an exact solution stays where it is.
    for _ in range(100):
        cuts = np.searchsorted(moved, (centres[:-1] + centres[1:]) / 2, side="right")
        cuts = np.unique(np.concatenate([[0], cuts, [len(moved)]]))
        better = np.diff(first[cuts]) / np.diff(weight[cuts])
        if np.array_equal(better, centres):
            break
        centres = better
    return np.asarray((centres[:-1] + centres[1:]) / 2 + middle)


def _cheapest_cuts(
    weight: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Where to cut sorted groups into k runs of least total squared deviation, from prefix sums of w, w x, w x^2."""
    m = len(weight) - 1
    width = weight[None, :] - weight[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = second[None, :] - second[:, None] - (first[None, :] - first[:, None]) ** 2 / width
    cost[np.tril_indices(m + 1)] = np.inf
    best, back = cost[0], np.zeros((k, m + 1), dtype=np.int64)
    for run in range(1, k):
        options = best[:, None] + cost
        back[run] = options.argmin(axis=0)
        best = options.min(axis=0)
    ends = [m]
    for run in range(k - 1, 0, -1):
        ends.append(int(back[run, ends[-1]]))
    return np.array([0, *reversed(ends)], dtype=np.int64)


# ---------------------------------------------------------------------------------------------------------- missing

MISSING_LEVEL = "missing"


@stored
@declared
class Impute(Step):
    """Missing values become the mean, median or mode of the training column (the mode for a nominal one).

    What this does to the spread is told: filling with a constant shrinks the variance.
    """

    takes: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    verb: ClassVar[str] = "impute"
    method: str = param("median", options=("mean", "median", "mode"), doc="What replaces a missing number.")
    indicator: bool = param(False, doc="Add a 0/1 column that says where a value was missing.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The fill value, and the standard deviation before and after."""
        missing = column.missing
        share = float(np.average(missing, weights=weight)) if len(missing) else 0.0
        if column.kind.name != "numeric":
            counts = weighted.code_counts(column.values, len(column.kind.levels), weight)
            if not counts.any():
                raise SchemaError(f"Impute: column {column.name!r} has no value to learn a mode from; leave it out.")
            ordered = column.kind.name == "ordinal" and self.method == "median" and counts.sum() > 0
            code = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)) if ordered else int(counts.argmax())
            return {"fill": code, "level": column.kind.levels[code], "share": share}
        mean, sd = weighted.mean_sd(column.values, weight)
        if self.method == "mean":
            fill = mean
        elif self.method == "median":
            fill = float(weighted.quantile(column.values, 0.5, weight)[0])
        else:
            x, w = weighted.present(column.values, weight)
            values, place = np.unique(x, return_inverse=True)
            fill = float(values[np.bincount(place, w).argmax()]) if values.size else float("nan")
        if fill != fill:
            raise SchemaError(
                f"Impute: column {column.name!r} has no value to learn a {self.method} from; leave it out."
            )
        filled = np.where(missing, fill, column.values)
        return {
            "fill": fill,
            "share": share,
            "sd_before": sd,
            "sd_after": weighted.mean_sd(filled, weight)[1],
        }

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The filled column, and the indicator if asked for."""
        gone = column.missing
        filled = Column(
            column.name, column.kind, np.where(gone, state["fill"], column.values).astype(column.values.dtype)
        )
        if not self.indicator:
            return [filled]
        return [filled, Column(f"{column.name}_missing", NUMERIC, gone.astype(np.float64))]

    def tell(self, state: State) -> str:
        """The fill value and the bias it brings."""
        with_indicator = ", with an indicator" if self.indicator else ""
        if "level" in state:
            return f"{state['level']!r} fills {state['share']:.1%}{with_indicator}"
        return (
            f"{self.method} {state['fill']:.4g} fills {state['share']:.1%}{with_indicator}; "
            f"sd {state['sd_before']:.4g} becomes {state['sd_after']:.4g}"
        )


@stored
@declared
class OwnCategory(Step):
    """Missing becomes a level of its own, so that a model can learn from the absence."""

    takes: ClassVar[tuple[str, ...]] = ("nominal", "ordinal")
    verb: ClassVar[str] = "own category"

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The share that was missing and the name of the new level."""
        keys = {level_key(v) for v in column.kind.levels}
        name = MISSING_LEVEL
        while name in keys:
            name = f"({name})"
        return {
            "level": name,
            "share": float(np.average(column.values < 0, weights=weight)) if len(column.values) else 0.0,
        }

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """A nominal column with one level more; an unseen level stays unseen."""
        levels = (*column.kind.levels, state["level"])
        codes = np.where(column.values == -1, len(levels) - 1, column.values).astype(np.int32)
        return [Column(column.name, Kind("nominal", levels), codes)]

    def tell(self, state: State) -> str:
        """The new level and its share."""
        return f"level {state['level']!r} for {state['share']:.1%}"


@stored
@declared
class MissingIndicator(Step):
    """A 0/1 column that says where a value was missing, beside the column itself."""

    takes: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    verb: ClassVar[str] = "indicator"

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """The column and its indicator."""
        return [
            Column(column.name, column.kind, column.values),
            Column(f"{column.name}_missing", NUMERIC, column.missing.astype(np.float64)),
        ]
