"""Validation curve: training and validation score over one parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.data.names import beside
from tilth.evaluate.metrics import Metric
from tilth.evaluate.search.budget import Watch
from tilth.evaluate.search.hunt import Hunt, try_split
from tilth.evaluate.search.propose import Grid, Proposal
from tilth.evaluate.search.trials import Log, Tried
from tilth.evaluate.splits import Split
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

    from tilth.evaluate.search.result import SearchResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ValidationCurve(Result):
    """Scores over the values of one parameter, the others held: where training and validation part, it overfits."""

    parameter: str
    values: list[Any]
    tried: list[Tried]
    metric: Metric
    ratio: float
    log: bool = False
    level: float = 0.95

    @property
    def validation(self) -> Floats:
        """Mean score on rows not learned from, one per value."""
        return np.array([t.score for t in self.tried])

    @property
    def train(self) -> Floats:
        """Mean score on rows learned from: optimistic."""
        return np.array(
            [float(np.mean(k)) if len(k := t.train[np.isfinite(t.train)]) else math.nan for t in self.tried]
        )

    @property
    def best(self) -> Any:
        """The value with the best validation score; None when there is no score."""
        scores = self.validation
        if not np.isfinite(scores).any():
            return None
        return self.values[int(np.nanargmax(scores) if self.metric.higher_is_better else np.nanargmin(scores))]

    def frame(self) -> pd.DataFrame:
        """One row per value: validation score with interval, training score."""
        import pandas as pd

        intervals = [t.interval(self.metric, self.ratio, self.level) for t in self.tried]
        facts = {
            f"{self.metric.name} (validation)": [f.value for f in intervals],
            "low": [f.low for f in intervals], "high": [f.high for f in intervals],
            "method": [f.method for f in intervals],
            f"{self.metric.name} (training, optimistic)": self.train, "status": [t.status() for t in self.tried],
        }  # fmt: skip
        (name,) = beside([self.parameter], facts, "parameter")
        return pd.DataFrame({name: self.values} | facts)

    def verdict(self) -> str:
        """Where the curve is best, and what its ends say."""
        if self.best is None:
            return f"No value of {self.parameter} has a score."
        place = next(i for i, v in enumerate(self.values) if v is self.best or v == self.best)
        ends = place in (0, len(self.values) - 1) and len(self.values) > 2
        best = f"{self.best:.4g}" if isinstance(self.best, float) else repr(self.best)
        text = f"The best {self.metric.name} of these, {self.validation[place]:.3f}, is at {self.parameter} = {best}"
        gap = abs(self.train[place] - self.validation[place])
        text += f"; on training rows it is {self.train[place]:.3f} (optimistic), a gap of {gap:.3f}."
        return text + (" It lies at the end of the range: try a wider one." if ends else "")

    def plot(self) -> Any:
        """Both curves with the spread over folds; gives a matplotlib Figure."""
        from tilth.plot.search import validation_curve

        intervals = [t.interval(self.metric, self.ratio, self.level) for t in self.tried]
        return validation_curve(
            self.values, self.validation, np.array([f.low for f in intervals]), np.array([f.high for f in intervals]),
            self.train, self.parameter, self.metric.name, log=self.log, best=self.best, level=self.level,
        )  # fmt: skip

    def sections(self) -> list[Section]:
        """The curve as a page of a report."""
        return [Section(f"Validation curve of {self.parameter}", self.verdict(), self.frame(), figure=self.plot)]

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON-ready data."""
        data: dict[str, Any] = plain({
            "parameter": self.parameter, "values": self.values, "metric": self.metric.name, "best": self.best,
            "validation": [t.scores for t in self.tried], "training": [t.train for t in self.tried],
        })  # fmt: skip
        return data


def curve_of(result: SearchResult, parameter: str | None, points: int) -> ValidationCurve:
    """Fit over the values of one parameter, the others as the search chose them."""
    task = result.task
    name = task.space.names[0] if parameter is None else parameter
    searched = task.space[name]
    if points < 2:
        raise ValueError(f"A validation curve needs at least 2 points; got {points}.")
    values = searched.grid(points)
    grid = Grid([{**result.best_params, name: value} for value in values])

    def job(proposal: Proposal, split: Split) -> Any:
        return try_split, (task.model, proposal, task.problem, split, task.metric, task.seed)

    watch = Watch(None, result.watch.timeout, result.watch.workers)
    hunt = Hunt(f"curve of {name}", task.space, grid, result.inner, task.metric, task.given, job, watch, Log())
    # What the search has tried already is not fitted again.
    keys = {hunt._key(Proposal(t.params, t.share)): t for t in result.tried}
    known = [keys.get(hunt._key(Proposal(p))) for p in grid.combinations]
    hunt.proposer = Grid([p for p, t in zip(grid.combinations, known, strict=True) if t is None])
    fresh = iter(hunt.run())
    tried = [next(fresh) if t is None else t for t in known]
    return ValidationCurve(
        name, values, tried, task.metric, result.inner.test_ratio, bool(getattr(searched, "log", False)), result.level
    )
