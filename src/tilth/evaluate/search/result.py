"""What a search found, and what may be believed of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilth.base import Section
from tilth.base.result import Result
from tilth.data.names import beside
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.resample import Resampling
from tilth.evaluate.search.budget import Watch
from tilth.evaluate.search.curve import ValidationCurve, curve_of
from tilth.evaluate.search.hunt import fit_all
from tilth.evaluate.search.trials import Log, Tried, best_of, comparable, ties_with
from tilth.evaluate.splits import ADVICE, Splits
from tilth.evaluate.table import signed
from tilth.words import plain, readable, setting

if TYPE_CHECKING:
    import pandas as pd

    from tilth.evaluate.search.search import Task

OPTIMISTIC = "inner score (optimistic: it chose the parameters)"


@dataclass(eq=False)
class SearchResult(Result):
    """Parameters that were found, every try, and the score of the whole search on rows that it never saw.

    ``score`` is honest: the search was repeated inside every outer fold. ``best`` is not: of many tries the luckiest
    wins, and it is told by how much (``optimism``).
    """

    task: Task
    inner: Splits
    watch: Watch = field(repr=False)
    log: Log = field(repr=False)
    level: float = 0.95
    tried: list[Tried] = field(default_factory=list)
    chosen: Tried | None = None
    fitted: Any = None
    outer: Resampling | None = None
    inner_best: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = math.nan

    # ------------------------------------------------------------------------------------------------- what was found

    @property
    def name(self) -> str:
        """The model, tuned."""
        return f"{name_of(self.task.model)}, tuned"

    @property
    def metric(self) -> Metric:
        """The metric that chose."""
        return self.task.metric

    @property
    def best_params(self) -> dict[str, Any]:
        """The chosen parameters; those the model came with, when no try was finished."""
        return dict(self.task.given if self.chosen is None else self.chosen.params)

    @property
    def best_model(self) -> Any:
        """The model with these parameters, learned from all rows."""
        if self.fitted is None:
            self.fitted = fit_all(self.task.model, self.best_params, self.task.problem)
        return self.fitted

    @property
    def best(self) -> Interval:
        """The score that chose the parameters, over the inner folds: optimistic."""
        if self.chosen is None:
            return Interval(math.nan, math.nan, math.nan, self.level, "nothing was tried", 0)
        return self.chosen.interval(self.metric, self.inner.test_ratio, self.level)

    @property
    def score(self) -> Interval:
        """The honest score: of outer folds whose rows had no part in the search; NaN without a nested search."""
        if self.outer is None:
            return Interval(math.nan, math.nan, math.nan, self.level, "not nested: no honest score", 0)
        return self.outer.score(self.name, self.metric, self.level)

    @property
    def optimism(self) -> float:
        """By how much the inner score of the winner is too good: its mean over outer folds of inner - outer score."""
        if self.outer is None:
            return math.nan
        gap = np.array(self.inner_best) - self.outer.fold_scores(self.name, self.metric)
        known = gap[np.isfinite(gap)]
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return sign * float(known.mean()) if len(known) else math.nan

    def gain(self, over: str = "as given") -> Interval:
        """Honest score less that of the model ``"as given"``, or of ``"Zero-R"``, on the same outer folds; paired."""
        if self.outer is None:
            raise ValueError("The gain of tuning needs a nested search: search(..., nested=True).")
        return self.outer.difference(self.name, over, self.metric, self.level)

    @property
    def ties(self) -> list[Tried]:
        """Tries within one standard error of the best, simplest first."""
        if self.chosen is None:
            return []
        best = best_of(self.tried, self.metric)
        assert best is not None
        return sorted(
            ties_with(best, self.tried, self.metric), key=lambda t: (self.task.space.complexity(t.params), t.index)
        )

    @property
    def simplest(self) -> dict[str, Any]:
        """The parameters of the simplest of the ties."""
        ties = self.ties
        return dict(ties[0].params) if ties else self.best_params

    @property
    def failures(self) -> dict[int, str]:
        """Tries that failed, and why."""
        return {t.index: t.status() for t in self.tried if t.failures}

    # --------------------------------------------------------------------------------------------------------- tables

    def frame(self) -> pd.DataFrame:
        """One row per try: parameters, inner score with interval, training score, seconds, what became of it."""
        import pandas as pd

        ties = {t.index for t in self.ties}
        rows = []
        for t in self.tried:
            score = t.interval(self.metric, self.inner.test_ratio, self.level)
            known = t.train[np.isfinite(t.train)]
            chosen = self.chosen is not None and t.index == self.chosen.index
            rows.append({
                "try": t.index, "rows share": t.share,
                self.metric.name: score.value, "low": score.low, "high": score.high, "method": score.method,
                "training score (optimistic)": float(known.mean()) if len(known) else np.nan,
                "seconds": float(np.nansum(t.seconds)),
                "verdict": "chosen" if chosen else "tie" if t.index in ties else "as given" if t.given else "",
                "status": t.status(),
            })  # fmt: skip
        own = ["try", "rows share", self.metric.name, "low", "high", "method", "training score (optimistic)",
               "seconds", "verdict", "status"]  # fmt: skip
        frame = pd.DataFrame(rows, columns=own)
        params = self.task.space.names
        for place, (name, shown) in enumerate(zip(params, beside(params, own, "parameter"), strict=True), 1):
            frame.insert(place, shown, [t.params.get(name) for t in self.tried])
        return frame

    def honest_frame(self) -> pd.DataFrame:
        """The outer folds: tuned, as given and Zero-R, with intervals, and the inner score beside them."""
        import pandas as pd

        rows: list[tuple[Any, ...]] = []
        if self.outer is not None:
            for name in (self.name, "as given", "Zero-R"):
                if any(a is not None for a in self.outer.trials[name].answers):
                    score = self.outer.score(name, self.metric, self.level)
                    rows.append((name, "outer folds", score.value, score.low, score.high, score.method))
        if self.chosen is not None:
            best = self.best
            rows.append((self.name, OPTIMISTIC, best.value, best.low, best.high, best.method))
        return pd.DataFrame(rows, columns=["model", "from", self.metric.name, "low", "high", "method"])

    def validation_curve(self, parameter: str | None = None, points: int = 10) -> ValidationCurve:
        """Training and validation score over one parameter, the others as chosen, on the inner folds."""
        return curve_of(self, parameter, points)

    # ------------------------------------------------------------------------------------------------------- speaking

    def verdict(self) -> str:
        """What was found and how good it is, in words."""
        if self.chosen is None:
            return f"{self.name}: nothing was tried. {' '.join(self.notes)}"
        setting_text = ", ".join(f"{k}={setting(v)}" for k, v in self.best_params.items())
        m, best = self.metric, self.best
        if self.outer is None:
            return (
                f"{self.name}: {setting_text}. The {m.name} of {best} over the inner folds chose the parameters and is "
                "optimistic; evaluate on other rows, or search with nested=True."
            )
        score = self.score
        text = (
            f"{self.name}: {m.name} {score} ({score.method}, {100 * self.level:g}%), from {len(self.outer.splits)} "
            f"outer folds with a search inside each. Chosen on all rows: {setting_text}, by an inner score of "
            f"{readable(best.value)}. The inner score of a winner is optimistic, because it made the choice: here by "
            f"{readable(self.optimism)} on average."
        )
        gain = self.gain()
        sure = gain.low > 0 if m.higher_is_better else gain.high < 0
        worse = gain.high < 0 if m.higher_is_better else gain.low > 0
        effect = "helps" if sure else "does harm" if worse else "is not shown to help"
        return f"{text} Compared with the parameters as given, tuning {effect}: {signed(gain)}."

    def how(self) -> str:
        """How the search was done."""
        outer = "none: the score is not honest" if self.outer is None else self.outer.splits.name
        limit = "" if self.watch.budget is None else f" Budget {self.watch.budget:g} s, used {self.seconds:.3g} s."
        text = (
            f"{len(self.tried)} tries of {', '.join(self.task.space.names)} (method {self.task.method}, seed "
            f"{self.task.seed}).{limit} Inner splits: {self.inner.name}. Outer splits: {outer}. Conversions and early "
            "stopping are learned inside each training part; groups and time are kept in both. Training scores are "
            f"optimistic: those rows were seen.\n\nRanges:\n{self.task.space}\n\nHow many folds? {ADVICE}"
        )
        return text if not self.notes else f"{text}\n\n" + "\n".join(self.notes)

    def plot(self) -> Any:
        """Scores of the tries in order and over each parameter, the choice marked; gives a matplotlib Figure."""
        from tilth.plot.search import tries

        shown = comparable(self.tried)
        numeric = {
            p.name: (np.array([_number(t.params[p.name]) for t in shown]), bool(getattr(p, "log", False)))
            for p in self.task.space
            if any(_number(t.params[p.name]) is not None for t in shown)
        }
        chosen = next(
            (i for i, t in enumerate(shown) if self.chosen is not None and t.index == self.chosen.index), None
        )
        honest = self.score
        return tries(
            np.array([t.index for t in shown]), np.array([t.score for t in shown]), numeric, self.metric.name,
            higher_is_better=self.metric.higher_is_better, chosen=chosen,
            honest=None if self.outer is None else (honest.value, honest.low, honest.high),
        )  # fmt: skip

    def sections(self) -> list[Section]:
        """The search as pages of a report."""
        pages = [Section("Search", f"{self.verdict()}\n\n{self.how()}", self.honest_frame(), figure=self.plot)]
        if self.tried:
            ties = f"{len(self.ties)} tries are within one standard error of the best; the simplest: {self.simplest}."
            failed = f" {len(self.failures)} tries failed; they are kept with their reason." if self.failures else ""
            pages.append(Section("Tries", ties + failed, self.frame()))
        return pages

    def to_dict(self) -> dict[str, Any]:
        """The search as JSON-ready data."""
        data: dict[str, Any] = plain({
            "model": name_of(self.task.model), "metric": self.metric.name, "method": self.task.method,
            "seed": self.task.seed, "best_params": self.best_params, "simplest": self.simplest,
            "inner_score": self.best.to_dict(), "score": self.score.to_dict(), "optimism": self.optimism,
            "inner": self.inner.to_dict(), "outer": None if self.outer is None else self.outer.splits.to_dict(),
            "budget": self.watch.budget, "seconds": self.seconds, "notes": self.notes,
            "tries": [t.to_json("all rows", self.task.space) for t in self.tried],
        })  # fmt: skip
        return data

    def remarks(self) -> list[str]:
        """What is doubtful about the search."""
        return list(self.notes) if self.chosen is not None else []

    def shown(self) -> pd.DataFrame:
        """The honest scores."""
        return self.honest_frame()


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
