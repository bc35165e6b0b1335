"""A curve of scores with what it says: both scores at every point, their bands, the best point, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.data.names import beside
from tilth.evaluate.diagnosis import Diagnosis, diagnose, error_of, surely_above
from tilth.evaluate.intervals import Interval, over_splits
from tilth.evaluate.metrics import Metric
from tilth.evaluate.splits import Splits
from tilth.words import plain, readable

if TYPE_CHECKING:
    import pandas as pd

    from tilth.evaluate.extrapolate import Extrapolation

Floats = NDArray[np.float64]
Kind = Literal["rows", "parameter", "rounds"]


@dataclass(eq=False)
class Curve(Result):
    """Scores of training and validation rows at the points ``x``, of every split.

    ``train`` and ``validation`` are points x splits, NaN where a fit failed. ``baseline`` is the score of Zero-R and
    ``reference`` that of something known to be possible, one per split.
    """

    kind: Kind
    model: str
    metric: Metric
    x: NDArray[Any]
    x_name: str
    train: Floats
    validation: Floats
    splits: Splits
    way: str
    level: float = 0.95
    baseline: Floats | None = None
    reference: Floats | None = None
    reference_name: str = ""
    seconds: Floats | None = None
    notes: list[str] = field(default_factory=list)
    given: Any = None
    row_intervals: list[tuple[Interval, Interval]] | None = None

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.metric.task

    @cached_property
    def train_intervals(self) -> list[Interval]:
        """Training score of each point with its interval."""
        return self._intervals(self.train, 0)

    @cached_property
    def validation_intervals(self) -> list[Interval]:
        """Validation score of each point with its interval."""
        return self._intervals(self.validation, 1)

    def _intervals(self, scores: Floats, place: int) -> list[Interval]:
        if self.row_intervals is not None:
            return [both[place] for both in self.row_intervals]
        ratio = self.splits.test_ratio
        return [self.metric.clipped(over_splits(row, ratio, self.level)) for row in scores]

    @cached_property
    def best(self) -> int:
        """The point with the best mean validation score."""
        return int(np.nanargmin(_means(error_of(self.metric, self.validation))))

    @cached_property
    def one_standard_error(self) -> int:
        """The simplest point whose mean validation error is within one standard error of the best.

        Simple is where the training error is larger. The standard error is that of the mean over splits, s / sqrt(J).
        """
        errors = error_of(self.metric, self.validation)
        mean, at = _means(errors), errors[self.best]
        known = at[np.isfinite(at)]
        allowed = mean[self.best] + (known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0)
        good = np.flatnonzero(mean <= allowed)
        train = _means(error_of(self.metric, self.train))[good]
        return int(good[np.nanargmax(train)]) if np.isfinite(train).any() else self.best

    @cached_property
    def shape(self) -> str:
        """How the validation error runs: "U", "falling", "rising" or "flat"."""
        before, after = self._above_best(0), self._above_best(len(self.x) - 1)
        if before and after:
            return "U"
        return "falling" if before else "rising" if after else "flat"

    def _above_best(self, place: int) -> bool:
        """Whether the error of a point is above that of the best beyond the spread over splits."""
        errors = error_of(self.metric, self.validation)
        return place != self.best and surely_above(errors[place], errors[self.best], self.splits.test_ratio)

    def diagnosis_at(self, place: int) -> Diagnosis:
        """Underfit, overfit or fine at one point."""
        reference, name = self.reference, self.reference_name
        if self.kind != "rows":
            reference, name = self.validation[self.best], f"{self.x_name} = {_shown(self.x[self.best])}"
        return diagnose(
            self.train[place], self.validation[place], metric=self.metric, baseline=self.baseline, reference=reference,
            reference_name=name, ratio=self.splits.test_ratio, level=self.level,
            validation_interval=self.validation_intervals[place],
        )  # fmt: skip

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Underfit, overfit or fine: with all rows, at the value or rounds of the given model, or at the best point."""
        known = self._scored
        if self.kind == "parameter":
            same = [k for k in known if self.x[k] == self.given]
            return self.diagnosis_at(same[0] if same else self.best)
        return self.diagnosis_at(known[-1])

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every point; empty where it has no scores."""
        known = set(self._scored)
        return [self.diagnosis_at(k).state if k in known else "" for k in range(len(self.x))]

    @property
    def _scored(self) -> list[int]:
        """Points with both scores in some split."""
        both = np.isfinite(self.validation) & np.isfinite(self.train)
        return [int(k) for k in np.flatnonzero(both.any(axis=1))]

    def more_rows(self, factors: Sequence[float] = (2, 5, 10), **options: Any) -> Extrapolation:
        """What more rows would bring: see :func:`tilth.evaluate.extrapolate.extrapolate`."""
        from tilth.evaluate.extrapolate import extrapolate

        return extrapolate(self, factors, **options)

    def verdict(self) -> str:
        """What the curve says, in a sentence or two."""
        name = self.metric.name
        if self.kind == "rows":
            first, last = self.validation_intervals[0], self.validation_intervals[-1]
            text = f"{self.model}: {name} {first} with {self.x[0]} rows, {last} with {self.x[-1]}."
            return f"{text} {self.diagnosis.verdict()}"
        best, simple = self.best, self.one_standard_error
        text = (
            f"{self.model}: the best {name} is {self.validation_intervals[best]} at {self.x_name} = "
            f"{_shown(self.x[best])}."
        )
        if simple != best:
            text += (
                f" Within one standard error of it the simplest is {_shown(self.x[simple])} "
                f"({readable(self.validation_intervals[simple].value)})."
            )
        return f"{text} {self._shape_text()}"

    def _shape_text(self) -> str:
        low, high = _shown(self.x[0]), _shown(self.x[-1])
        return {
            "U": f"The error has a U-shape: it is surely higher at {low} and at {high}.",
            "falling": f"The error is surely higher at {low}, and not shown to rise again up to {high}.",
            "rising": f"The error is surely higher at {high}, and not shown to be higher at {low}.",
            "flat": f"Between {low} and {high} no value is shown to be better than another.",
        }[self.shape]

    def frame(self) -> pd.DataFrame:
        """One row per point: both scores with intervals, their spread over splits, and the verdict."""
        import pandas as pd

        rows = {
            "training score": [i.value for i in self.train_intervals],
            "training low": [i.low for i in self.train_intervals],
            "training high": [i.high for i in self.train_intervals],
            "validation score": [i.value for i in self.validation_intervals],
            "validation low": [i.low for i in self.validation_intervals],
            "validation high": [i.high for i in self.validation_intervals],
            "validation sd over splits": [_spread(row) for row in self.validation],
            "splits": np.isfinite(self.validation).sum(axis=1), "method": [i.method for i in self.validation_intervals],
            "verdict": self.verdicts,
        }  # fmt: skip
        if self.seconds is not None:
            rows["fit seconds"] = self.seconds
        (name,) = beside([self.x_name], rows, "parameter")
        return pd.DataFrame({name: self.x} | rows)

    def plot(self) -> Any:
        """Both curves with their bands, the best point marked; gives a matplotlib Figure."""
        from tilth.plot.learning import score_curves

        bands = {
            name: np.array([(i.value, i.low, i.high) for i in intervals])
            for name, intervals in (
                ("rows it has seen", self.train_intervals),
                ("other rows", self.validation_intervals),
            )
        }
        levels = {}
        if self.baseline is not None and np.isfinite(self.baseline).any():
            levels["Zero-R"] = float(np.nanmean(self.baseline))
        if self.reference is not None and np.isfinite(self.reference).any():
            levels[self.reference_name or "reference"] = float(np.nanmean(self.reference))
        marks = {}
        if self.kind != "rows":
            marks["best"] = self.best
            if self.one_standard_error != self.best:
                marks["one standard error"] = self.one_standard_error
        label = "training rows" if self.kind == "rows" else self.x_name
        return score_curves(
            self.x, bands, label, f"{self.metric.name}, {100 * self.level:g}% bands", levels=levels, marks=marks,
            title=self.model,
        )  # fmt: skip

    def sections(self) -> list[Section]:
        """The curve as a page of a report."""
        title = {"rows": "Learning curve", "parameter": f"Complexity: {self.x_name}", "rounds": "Round by round"}
        text = f"{self.verdict()}\n\n{self.how()}"
        advice = self.diagnosis.advice
        return [Section(title[self.kind], text, self.frame(), figure=self.plot, advice=advice)]

    def how(self) -> str:
        """How the scores came about."""
        method = self.validation_intervals[self.best].method
        text = f"{self.way} {self.splits.name}; intervals: {method}, {100 * self.level:g}%."
        return "\n".join([text, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-ready data."""
        return {
            "kind": self.kind, "model": self.model, "metric": self.metric.name, "x name": self.x_name,
            "x": plain(self.x), "train": plain(self.train), "validation": plain(self.validation), "way": self.way,
            "intervals": [plain(i.to_dict()) for i in self.validation_intervals], "level": self.level,
            "splits": self.splits.to_dict(), "baseline": plain(self.baseline), "reference": plain(self.reference),
            "reference name": self.reference_name, "best": plain(self.x[self.best]), "shape": self.shape,
            "one standard error": plain(self.x[self.one_standard_error]), "diagnosis": self.diagnosis.to_dict(),
            "verdicts": self.verdicts, "notes": list(self.notes),
        }  # fmt: skip

    def remarks(self) -> list[str]:
        """How the numbers came about."""
        return [self.how()]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _means(values: Floats) -> Floats:
    """Mean over splits of each point, NaN where there is none."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.divide(total, known.sum(axis=1), out=np.full(len(values), np.nan), where=known.any(axis=1))


def _spread(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")
