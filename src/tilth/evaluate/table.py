"""Scores of several models on the same splits as a table, beside a baseline: what a page of results is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.evaluate.folds import FoldDiagnosis, diagnose_folds
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import SILHOUETTE, USUAL, Metric
from tilth.evaluate.metrics.outputs import of_each_output
from tilth.evaluate.resample import Resampling
from tilth.evaluate.unsupervised import ConstantScore, RandomHalves
from tilth.models.bayes.naive_bayes import NaiveBayes
from tilth.models.rules.one_r import OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor
from tilth.models.sequences.most_frequent import MostFrequentTagger
from tilth.words import digits

if TYPE_CHECKING:
    import pandas as pd

#: Fewer test rows than this, in all or of a class, and a score is a rough guide only.
SMALL_TEST, SMALL_CLASS = 30, 5
ZERO_R = (ZeroRClassifier, ZeroRRegressor, ConstantScore, RandomHalves)


def zero_r(task: str) -> Any:
    """The baseline that looks at no column."""
    makers: dict[str, Any] = {
        "classification": ZeroRClassifier, "sequences": ZeroRClassifier, "anomaly": ConstantScore,
        "clustering": RandomHalves,
    }  # fmt: skip
    return makers.get(task, ZeroRRegressor)()


def baselines_for(task: str, *, starting: bool = False) -> dict[str, Any]:
    """What every model must beat: Zero-R and One-R; with ``starting`` also good models to begin with."""
    from tilth.models.linear.least_squares import Ridge
    from tilth.models.linear.logistic import LogisticRegression

    baselines: dict[str, Any] = {"Zero-R": zero_r(task)}
    if task == "sequences":
        baselines["Most frequent label"] = MostFrequentTagger()
    if task == "classification":
        baselines["One-R"] = OneRClassifier()
        if starting:
            baselines |= {"Naive Bayes": NaiveBayes(), "Logistic regression": LogisticRegression()}
    elif starting and task == "regression":
        baselines["Ridge regression"] = Ridge()
    return baselines


def chosen_metrics(
    given: Any, task: str, labelled: bool = True, outputs: Sequence[str] = ()
) -> tuple[Metric, ...]:  # fmt: skip
    """Metrics by name; the first ranks the models. Clusters without known classes are judged by silhouettes.

    Of several ``outputs`` every metric is taken as a mean over them, and for each of them.
    """
    if outputs:
        return of_each_output(chosen_metrics(given, task), outputs)
    if given is None:
        return USUAL[task] if labelled else (SILHOUETTE,)
    from tilth.evaluate.metrics import metric

    if isinstance(given, (str, Metric)):
        given = [given]
    own = task if task in ("anomaly", "clustering", "ranking") else None
    return tuple(m if isinstance(m, Metric) else metric(m, task=own) for m in given)


@dataclass(eq=False)
class Scores(Result):
    """Scores with intervals of several models, their paired differences to the baseline, and what the folds say."""

    resampling: Resampling
    metrics: tuple[Metric, ...]
    baseline: str
    level: float = 0.95
    notes: list[str] = field(default_factory=list)
    scores: dict[str, dict[str, Interval]] = field(default_factory=dict)
    differences: dict[str, dict[str, Interval]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = [n for n, t in self.resampling.trials.items() if any(a is not None for a in t.answers)]
        for name in known:
            served = [m for m in self.metrics if m.serves(self.resampling.pooled(name))]
            self.scores[name] = {m.name: self.resampling.score(name, m, self.level) for m in served}
            self.differences[name] = {}
            if name == self.baseline or self.baseline not in known:
                continue
            base = self.resampling.pooled(self.baseline)
            self.differences[name] = {
                m.name: self.resampling.difference(name, self.baseline, m, self.level) for m in served if m.serves(base)
            }
        for name in self.resampling.trials:
            self.notes.extend(self.resampling.trials[name].notes())
        self.notes.extend(self._lone_classes())
        if self.resampling.interrupted:
            least = min(len(t.outcomes) for t in self.resampling.trials.values())
            self.notes.append(f"Interrupted: scores are those of {least} of {len(self.resampling.splits)} splits.")

    def _lone_classes(self) -> list[str]:
        problem = self.resampling.problem
        if problem.classes is None:
            return []
        lone = problem.classes[np.bincount(problem.target, minlength=len(problem.classes)) == 1].tolist()
        names = ", ".join(map(repr, lone[:5]))
        return [f"One row only of {names}: a class of one row cannot be both learned and tested."] if lone else []

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.resampling.task

    @property
    def main(self) -> Metric:
        """The metric that ranks the models."""
        return self.metrics[0]

    def fold_scores(self, name: str, m: Metric | None = None) -> NDArray[np.float64]:
        """The score of each split by itself."""
        return self.resampling.fold_scores(name, m or self.main)

    def fold_diagnosis(self, name: str) -> FoldDiagnosis:
        """Whether the folds agree about this model."""
        scores = self.fold_scores(name)
        sizes = [a.n for a in self.resampling.trials[name].answers if a is not None]
        value = self.scores[name][self.main.name].value
        chance = np.sqrt(max(value * (1 - value), 0.0) / np.mean(sizes)) if self.main.share else 0.0
        return diagnose_folds(scores, float(chance))

    def caution(self, name: str) -> str:
        """What to keep in mind about the size of the test; empty when there is nothing."""
        answers = self.resampling.pooled(name)
        score = self.scores[name][self.main.name]
        width = f"the interval of the {self.main.name} of {name} is {score.high - score.low:.3g} wide"
        rows = len(np.unique(np.concatenate([s.test for s in self.resampling.splits])))
        if rows < SMALL_TEST:
            return (
                f"Only {rows} rows were tested: {width}, and below {SMALL_TEST} rows intervals are rough themselves. "
                "Collect more before you trust a difference."
            )
        if answers.classes is None:
            return ""
        counts = np.bincount(answers.true, minlength=len(answers.classes))
        rare = [(str(answers.classes[c]), int(counts[c])) for c in np.flatnonzero(counts < SMALL_CLASS)]
        if not rare:
            return ""
        listed_classes = ", ".join(f"{n} of {label!r}" for label, n in rare[:4])
        return f"Few test rows of some classes ({listed_classes}): their scores are little more than chance; {width}."

    def frame(self) -> pd.DataFrame:
        """One row per model and score: value, interval, paired difference to the baseline, spread over folds."""
        import pandas as pd

        rows = []
        for name, scores in self.scores.items():
            for m in self.metrics:
                score = scores.get(m.name)
                if score is None:
                    continue
                gain = self.differences[name].get(m.name)
                ends = (gain.value, gain.low, gain.high) if gain else (np.nan,) * 3
                over, train = self.fold_scores(name, m), self.resampling.train_scores(name, m)
                spread = np.nanstd(over, ddof=1) if np.isfinite(over).sum() > 1 else np.nan
                rows.append((
                    name, m.name, score.value, score.low, score.high, *ends, _mean(over), spread, _mean(train),
                    score.method, score.n,
                ))  # fmt: skip
        names = ["model", "score", "value", "low", "high", "difference", "difference low", "difference high",
                 "fold mean", "fold sd", "training score (optimistic)", "method", "n"]  # fmt: skip
        return pd.DataFrame(rows, columns=names)

    def short_frame(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """The same in words, for people."""
        import pandas as pd

        chosen = list(self.scores) if names is None else list(names)
        rows = []
        for name in chosen:
            for m in self.metrics:
                score = self.scores[name].get(m.name)
                if score is None:
                    continue
                gain = self.differences[name].get(m.name)
                over = self.fold_scores(name, m)
                apart = float(np.nanstd(over, ddof=1)) if np.isfinite(over).sum() > 1 else np.nan
                train = _mean(self.resampling.train_scores(name, m))
                value, low, high, spread, seen = digits(score.value, score.low, score.high, apart, train)
                rows.append((
                    name, m.name, value, f"{low} to {high}", signed(gain) if gain else "",
                    "" if np.isnan(apart) else spread, "" if np.isnan(train) else seen,
                ))  # fmt: skip
        level = f"{100 * self.level:g}% interval"
        names_ = ["model", "score", "value", level, f"gain over {self.baseline}", "fold sd", "training rows"]
        return pd.DataFrame(rows, columns=names_)

    def how(self) -> str:
        """How the scores came about, in a few sentences."""
        problem, splits = self.resampling.problem, self.resampling.splits
        methods = sorted({f.method for s in self.scores.values() for f in s.values()})
        meanings = "\n".join(f"  {m.name}: {m.meaning}" for m in self.metrics)
        text = (
            f"{splits.name[0].upper()}{splits.name[1:]}: {problem.n_rows} rows, {len(splits)} split"
            f"{'s' * (len(splits) > 1)}; every tested row is predicted by models that were fitted without it, and "
            "conversions are learned inside each training part. Training scores are optimistic: those rows were "
            "seen.\n\n"
            f"Intervals: {', '.join(methods)}. Differences are paired.\n\n{meanings}"
        )
        return text if not self.notes else text + "\n\n" + "\n".join(self.notes)

    def _board(self, names: Sequence[str]) -> Any:
        """The main score of these models as a picture."""
        from tilth.plot.leaderboard import leaderboard

        scores = [self.scores[n][self.main.name] for n in names]
        base = self.scores[self.baseline][self.main.name].value if self.baseline in self.scores else None
        return leaderboard(
            names, [(f.value, f.low, f.high) for f in scores], [self.fold_scores(n) for n in names], self.main.name,
            baseline=base, level=self.level,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Scores as JSON-ready data."""
        return {
            "task": self.task,
            "n": self.resampling.problem.n_rows,
            "splits": self.resampling.splits.to_dict(),
            "level": self.level,
            "baseline": self.baseline,
            "scores": _plain(self.scores),
            "differences": _plain(self.differences),
            "notes": list(self.notes),
        }

    def shown(self) -> pd.DataFrame:
        """Scores with their intervals in words."""
        return self.short_frame()


def _plain(found: Mapping[str, Mapping[str, Interval]]) -> dict[str, dict[str, Any]]:
    return {name: {k: v.to_dict() for k, v in scores.items()} for name, scores in found.items()}


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def signed(gain: Interval) -> str:
    """A difference with its interval, signs shown."""
    value, low, high = digits(gain.value, gain.low, gain.high, sign="+")
    return f"{value} ({low} to {high})"
