"""Steps from numbers to numbers: scaling, capping, parts, powers, formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.data import weighted
from tilth.data.formula import Formula
from tilth.data.steps import NUMERIC, State, Step
from tilth.data.table import Column
from tilth.data.weighted import Weight
from tilth.params import declared, param, stored


def _same(column: Column, values: NDArray[Any]) -> list[Column]:
    return [Column(column.name, NUMERIC, values)]


@stored
@declared
class Standardise(Step):
    """(x - mean) / sd with the training mean and sd; a constant column becomes 0."""

    verb: ClassVar[str] = "standardise"

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """Mean and standard deviation."""
        mean, sd = weighted.mean_sd(column.values, weight)
        return {"mean": mean, "sd": sd}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Scores."""
        return _same(column, (column.values - state["mean"]) / (state["sd"] or 1.0))

    def invert(self, column: Column, state: State) -> list[Column]:
        """Back to the original unit."""
        return _same(column, column.values * (state["sd"] or 1.0) + state["mean"])

    def tell(self, state: State) -> str:
        """Mean and sd."""
        return f"mean {state['mean']:.4g}, sd {state['sd']:.4g}"


@stored
@declared
class MinMax(Step):
    """(x - min) / (max - min) into [0, 1]; new values outside are clipped or kept."""

    verb: ClassVar[str] = "min-max"
    outside: str = param("keep", options=("keep", "clip"), doc="What becomes of new values outside the range.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """Smallest and largest value."""
        x, _ = weighted.present(column.values, weight)
        return {"low": float(x.min()) if x.size else 0.0, "high": float(x.max()) if x.size else 0.0}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Shares of the training range."""
        scaled = (column.values - state["low"]) / ((state["high"] - state["low"]) or 1.0)
        return _same(column, scaled.clip(0, 1) if self.outside == "clip" else scaled)

    def invert(self, column: Column, state: State) -> list[Column]:
        """Back to the original unit."""
        return _same(column, column.values * ((state["high"] - state["low"]) or 1.0) + state["low"])

    def tell(self, state: State) -> str:
        """The range."""
        return f"{state['low']:.4g} to {state['high']:.4g}"


@stored
@declared
class Centre(Step):
    """x - mean: means become 0, covariances stay."""

    verb: ClassVar[str] = "centre"

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The mean."""
        return {"mean": weighted.mean_sd(column.values, weight)[0]}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Deviations."""
        return _same(column, column.values - state["mean"])

    def invert(self, column: Column, state: State) -> list[Column]:
        """Back to the original place."""
        return _same(column, column.values + state["mean"])

    def tell(self, state: State) -> str:
        """The mean."""
        return f"mean {state['mean']:.4g}"


@stored
@declared
class SignParts(Step):
    """Positive and negative part: max(x, 0) and max(-x, 0); their difference is x, their sum |x|."""

    verb: ClassVar[str] = "sign parts"

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Two columns."""
        return [
            Column(f"{column.name}_plus", NUMERIC, np.maximum(column.values, 0.0)),
            Column(f"{column.name}_minus", NUMERIC, np.maximum(-column.values, 0.0)),
        ]


@stored
@declared
class Cap(Step):
    """min(x, high), and max(x, low) if asked for."""

    verb: ClassVar[str] = "cap"
    high: float | None = param(None, doc="Largest value kept.")
    low: float | None = param(None, doc="Smallest value kept.")

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Capped values."""
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return _same(column, np.clip(column.values, low, high))

    def tell(self, state: State) -> str:
        """The caps."""
        return " and ".join(
            f"{word} {v:g}" for word, v in (("at least", self.low), ("at most", self.high)) if v is not None
        )


@stored
@declared
class Indicator(Step):
    """1 where x > threshold, else 0."""

    verb: ClassVar[str] = "above"
    threshold: float = param(0.0, doc="The value to exceed.")

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """A 0/1 column; missing stays missing."""
        above = np.where(np.isnan(column.values), np.nan, column.values > self.threshold)
        return [Column(f"{column.name}>{self.threshold:g}", NUMERIC, above.astype(np.float64))]


@stored
@declared
class Winsorise(Step):
    """Values beyond the training quantiles become those quantiles."""

    verb: ClassVar[str] = "winsorise"
    tail: float = param(0.05, low=0, high=0.5, doc="Share of rows pulled in at each end.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The two quantiles."""
        low, high = weighted.quantile(column.values, [self.tail, 1 - self.tail], weight)
        return {"low": float(low), "high": float(high)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Values pulled in."""
        return _same(column, np.clip(column.values, state["low"], state["high"]))

    def tell(self, state: State) -> str:
        """The bounds."""
        return f"to {state['low']:.4g} ... {state['high']:.4g}"


@stored
@declared
class Log(Step):
    """log(x + k); k is given, or learned so that the smallest training value maps to log of 1."""

    verb: ClassVar[str] = "log"
    shift: float | None = param(None, doc="k; None learns 0 for positive columns and 1 - min otherwise.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The shift, and how far from normal the column was before and after (skewness)."""
        x, w = weighted.present(column.values, weight)
        low = float(x.min()) if x.size else 1.0
        shift = (0.0 if low > 0 else 1.0 - low) if self.shift is None else float(self.shift)
        if low + shift <= 0:
            raise ValueError(
                f"Log: column {column.name!r} has {low:g}, so x + {shift:g} is not positive; give a larger shift."
            )
        return {"shift": shift, "skew_before": _skew(x, w), "skew_after": _skew(np.log(x + shift), w)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Logarithms; what is not positive after the shift becomes missing."""
        moved = column.values + state["shift"]
        return _same(column, np.log(np.where(moved > 0, moved, np.nan)))

    def invert(self, column: Column, state: State) -> list[Column]:
        """Back to the original unit."""
        return _same(column, np.exp(column.values) - state["shift"])

    def tell(self, state: State) -> str:
        """The shift and the effect."""
        return f"log(x + {state['shift']:g}); skewness {state['skew_before']:.2f} becomes {state['skew_after']:.2f}"


def _skew(x: NDArray[Any], w: NDArray[Any]) -> float:
    mean, sd = weighted.mean_sd(x, w)
    return float(np.average(((x - mean) / sd) ** 3, weights=w)) if sd > 0 else 0.0


@stored
@declared
class Waterfall(Step):
    """Ranges of x as separate columns, so that a linear model bends at each knot.

    Column i holds how far x has got through range i: min(max(x - t[i-1], 0), t[i] - t[i-1]); the first is
    min(x, t[0]), so that they sum to x.
    """

    verb: ClassVar[str] = "waterfall"
    knots: tuple[float, ...] | None = param(None, doc="Inner boundaries; None takes quantiles.")
    n_ranges: int = param(4, low=2, high=100, doc="Ranges when knots are learned.")

    def learn_column(self, column: Column, weight: Weight = None) -> State:
        """The knots."""
        if self.knots is not None:
            knots = np.asarray(self.knots, dtype=np.float64)
            if not knots.size or (np.diff(knots) <= 0).any():
                raise ValueError(f"Waterfall: knots must be at least one number, ascending; got {list(self.knots)}.")
            return {"knots": knots}
        inner = weighted.quantile(column.values, list(np.arange(1, self.n_ranges) / self.n_ranges), weight)
        return {"knots": np.unique(inner)}

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """One column per range; the outer two are open-ended."""
        knots = state["knots"]
        parts = [np.minimum(column.values, knots[0])]
        parts += [np.clip(column.values - a, 0.0, b - a) for a, b in itertools.pairwise(knots)]
        parts.append(np.maximum(column.values - knots[-1], 0.0))
        return [Column(f"{column.name}_range{i}", NUMERIC, p) for i, p in enumerate(parts)]

    def tell(self, state: State) -> str:
        """The knots."""
        return "knots " + ", ".join(f"{k:.4g}" for k in state["knots"])


@stored
@declared
class Denoise(Step):
    """A running median (or mean) along the rows, which must be in order, to remove noise before seeking anomalies."""

    verb: ClassVar[str] = "denoise"
    window: int = param(5, low=1, high=10001, doc="Rows in the window, made odd.")
    method: str = param("median", options=("median", "mean"), doc="The median keeps steps, the mean does not.")

    def convert_column(self, column: Column, state: State) -> list[Column]:
        """Smoothed values; the ends repeat the outermost value."""
        half = self.window // 2
        if not len(column.values) or not half:
            return _same(column, column.values)
        padded = np.pad(column.values, half, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
        if not np.isnan(padded).any():
            return _same(column, np.median(windows, axis=1) if self.method == "median" else windows.mean(axis=1))
        # A missing cell takes no part in its neighbours' windows, and stays missing itself.
        smoothed = np.full(len(column.values), np.nan)
        kept = ~np.isnan(column.values)
        smoothed[kept] = (np.nanmedian if self.method == "median" else np.nanmean)(windows[kept], axis=1)
        return _same(column, smoothed)


@stored
@declared
class Polynomial(Step):
    """All products of powers up to a degree: 1, x, y, x^2, x y, y^2, ..."""

    verb: ClassVar[str] = "powers"
    degree: int = param(2, low=1, high=20, doc="Highest total degree.", tune=(1, 5))
    bias: bool = param(True, doc="Include the constant column x0 = 1.")
    interactions: bool = param(True, doc="Include products of different columns.")

    def learn_all(self, columns: Sequence[Column], weight: Weight = None) -> list[State]:
        """The exponents of each product, kept with the first column."""
        p = len(columns)
        combos: list[tuple[int, ...]] = [()] if self.bias else []
        for d in range(1, self.degree + 1):
            pool = itertools.combinations_with_replacement(range(p), d)
            combos += [c for c in pool if self.interactions or len(set(c)) == 1]
        powers = np.array([[c.count(j) for j in range(p)] for c in combos], dtype=np.int32).reshape(len(combos), p)
        return [{"powers": powers}] + [{} for _ in columns[1:]]

    def convert_all(self, columns: Sequence[Column], states: Sequence[State]) -> list[list[Column]]:
        """All products, in place of the first column."""
        if not columns:
            return []
        products = [_product(columns, row) for row in states[0]["powers"]]
        return [products] + [[] for _ in columns[1:]]


def _product(columns: Sequence[Column], powers: NDArray[Any]) -> Column:
    names = [f"{c.name}^{k}" if k > 1 else c.name for c, k in zip(columns, powers, strict=True) if k]
    out = np.ones(len(columns[0].values))
    for column, k in zip(columns, powers, strict=True):
        if k:
            out = out * column.values**k
    return Column(" ".join(names) or "1", NUMERIC, out)


@stored
@declared
class Features(Step):
    """New columns computed from others and named by the user: ``Features(formulas={"ratio": "cpu / net"})``.

    A formula is text (arithmetic on column names, and log, exp, sqrt, abs, minimum, maximum, where, comparisons),
    which a model file can hold; a callable that takes a mapping of arrays is allowed too but cannot be saved.
    """

    verb: ClassVar[str] = "features"
    formulas: dict[str, str | Callable[[Any], Any]] | None = param(None, doc="New column name -> formula.")
    keep: bool = param(True, doc="Keep the columns the formulas were computed from.")

    def learn_all(self, columns: Sequence[Column], weight: Weight = None) -> list[State]:
        """Nothing; but a new name that is taken is refused before any row is converted."""
        taken = [c.name for c in columns if self.keep and c.name in (self.formulas or {})]
        if taken:
            raise ValueError(f"Features: {taken[0]!r} is a column already; name the new feature otherwise.")
        return [{} for _ in columns]

    def convert_all(self, columns: Sequence[Column], states: Sequence[State]) -> list[list[Column]]:
        """The original columns (if kept), then the new ones after the last."""
        values = {c.name: c.values for c in columns}
        features: list[Column] = []
        for name, formula in (self.formulas or {}).items():
            result = formula(values) if callable(formula) else Formula(formula)(values)
            array = np.asarray(result, dtype=np.float64)
            if array.ndim and array.shape != columns[0].values.shape:
                raise ValueError(
                    f"Features: {name!r} must give one number per row ({len(columns[0].values)} rows); "
                    f"it gave an array of shape {array.shape}."
                )
            array = np.broadcast_to(array, columns[0].values.shape)
            features.append(Column(name, NUMERIC, np.where(np.isfinite(array), array, np.nan)))
        groups = [_same(c, c.values) if self.keep else [] for c in columns]
        groups[-1] = groups[-1] + features
        return groups

    def tell(self, state: State) -> str:
        """The formulas."""
        named = (self.formulas or {}).items()
        return "; ".join(f"{name} = {'a function' if callable(f) else f}" for name, f in named)


@stored
@declared
class RandomProjection(Step):
    """z = R x with R[i, j] drawn from N(0, 1/k): k columns that keep all squared distances within 1 +- eps.

    The Johnson-Lindenstrauss lemma asks for k >= 4 ln(n) / (eps^2 / 2 - eps^3 / 3) for n rows. Where that is no less
    than the number of columns, a projection would save nothing and the columns stay as they are.
    """

    verb: ClassVar[str] = "project"
    n_components: int | None = param(None, low=1, doc="k; None takes the least that the lemma allows for eps.")
    eps: float = param(0.5, low=0, low_open=True, high=0.999, doc="Largest relative error of a squared distance.")
    random_state: int = param(0, low=0, doc="Seed of the draw.")

    def learn_all(self, columns: Sequence[Column], weight: Weight = None) -> list[State]:
        """The matrix, kept with the first column."""
        p = len(columns)
        rows = max(len(columns[0].values), 2)
        k = self.n_components or int(np.ceil(4 * np.log(rows) / (self.eps**2 / 2 - self.eps**3 / 3)))
        if self.n_components is None and k >= p:
            matrix = np.eye(p)
        else:
            matrix = np.random.default_rng(self.random_state).normal(0.0, 1.0 / np.sqrt(k), (k, p))
        return [{"matrix": matrix}] + [{} for _ in columns[1:]]

    def convert_all(self, columns: Sequence[Column], states: Sequence[State]) -> list[list[Column]]:
        """The projected columns, in place of the first; a row with a missing value has no projection."""
        matrix = states[0]["matrix"]
        projected = np.column_stack([c.values for c in columns]) @ matrix.T
        projections = [Column(f"projection{i}", NUMERIC, projected[:, i]) for i in range(len(matrix))]
        return [projections] + [[] for _ in columns[1:]]

    def tell(self, state: State) -> str:
        """The dimensions."""
        return "{} columns from {}".format(*state["matrix"].shape) if state else ""
