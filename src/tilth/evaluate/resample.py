"""Resampling: models fitted and asked on the same splits, and the scores of their answers with intervals.

One place decides which interval is valid:

    no row tested twice, a score that is a mean over rows    all answers together: Wilson for a share, else bootstrap of
                                                             rows, or of groups where rows belong together
    one split, any other score                               bootstrap of its rows
    several splits, any other score; rows tested again       mean over splits, corrected resampled t

Two models are compared by the differences of their splits (corrected resampled t), because another training set would
have given other models; with fewer than five splits by a bootstrap of rows, which knows the test rows' chance only.
"""

from __future__ import annotations

import time as clock
import warnings
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tilth import progress
from tilth.base import SequenceModel
from tilth.base.answers import Outputs, answers, says
from tilth.base.foreign import weights_for
from tilth.errors import CODES, TilthWarning
from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_means, from_resamples, over_splits, resampled_means
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job, Pool
from tilth.evaluate.problem import Problem
from tilth.evaluate.splits import Split, Splits
from tilth.evaluate.unsupervised import silhouettes

Floats = NDArray[np.float64]

#: From this many splits on, their differences say more than a bootstrap of rows.
ENOUGH_SPLITS = 5
#: Training rows that are asked about, where there are as many.
SEEN_ROWS = 1000


@dataclass(eq=False)
class Outcome:
    """What one fit on one split came to; ``failure`` says why it came to nothing."""

    answers: Answers | None = None
    train: Answers | None = None
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    failure: str = ""
    codes: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    model: Any = None


@dataclass(eq=False)
class Trial:
    """One model on all splits, in their order; splits that were not reached are missing at the end."""

    name: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def answers(self) -> list[Answers | None]:
        """Answers for the test rows of each split; None where the fit failed."""
        return [o.answers for o in self.outcomes]

    @property
    def failures(self) -> dict[int, str]:
        """Why splits failed."""
        return {k: o.failure for k, o in enumerate(self.outcomes) if o.failure}

    @property
    def fit_seconds(self) -> Floats:
        """Seconds of each fit."""
        return np.array([o.fit_seconds for o in self.outcomes])

    @property
    def predict_seconds(self) -> Floats:
        """Seconds to answer the test rows of each split."""
        return np.array([o.predict_seconds for o in self.outcomes])

    def notes(self) -> list[str]:
        """Warnings of the fits, one line per code or text instead of one per fit, and failures."""
        heard = Counter(c for o in self.outcomes for c in o.codes)
        messages = Counter(s for o in self.outcomes for s in o.said)
        notes = [
            f"{self.name}, in {n} fit{'s' * (n > 1)}: {CODES.get(c, 'a warning')} [{c}]."
            for c, n in sorted(heard.items())
        ]
        notes += [f"{self.name}, in {n} fit{'s' * (n > 1)}: {text}" for text, n in messages.most_common(3)]
        failed = self.failures
        if failed:
            first = next(iter(failed))
            notes.append(f"{self.name} failed in {len(failed)} of {len(self.outcomes)} splits, first: {failed[first]}")
        return notes


@dataclass(eq=False)
class Resampling:
    """Answers of some models for rows they have not seen, on the same splits."""

    problem: Problem
    splits: Splits
    trials: dict[str, Trial] = field(default_factory=dict)
    interrupted: bool = False
    _together: dict[str, Answers] = field(default_factory=dict, repr=False)

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.problem.task

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes, None for numbers."""
        return self.problem.classes

    def done(self, *names: str) -> list[int]:
        """Splits on which all of these models gave answers."""
        every = [{k for k, a in enumerate(self.trials[n].answers) if a is not None} for n in names]
        return sorted(set.intersection(*every)) if every else []

    def pooled(self, name: str) -> Answers:
        """The answers of all splits, one after the other."""
        if name not in self._together:
            self._together[name] = self._joined(name, self.done(name))
        return self._together[name]

    def _joined(self, name: str, splits: list[int]) -> Answers:
        return Answers.join([a for k in splits if (a := self.trials[name].answers[k]) is not None])

    def fold_scores(self, name: str, metric: Metric) -> Floats:
        """The score of each split by itself; NaN where it failed or is not defined."""
        return np.array([_score(metric, a) for a in self.trials[name].answers])

    def train_scores(self, name: str, metric: Metric) -> Floats:
        """The score of each split on (some of) its own training rows: optimistic."""
        return np.array([_score(metric, o.train) for o in self.trials[name].outcomes])

    def score(self, name: str, metric: Metric, level: float = 0.95) -> Interval:
        """The score of a model with the interval that is valid here."""
        if self._by_row(metric, name):
            return metric.interval(self.pooled(name), level=level, seed=self.splits.seed)
        return metric.clipped(over_splits(self.fold_scores(name, metric), self.splits.test_ratio, level))

    def difference(self, a: str, b: str, metric: Metric, level: float = 0.95) -> Interval:
        """Score of a minus score of b, paired by split or by row."""
        if len(self.done(a, b)) >= ENOUGH_SPLITS or not self._by_row(metric, a, b):
            apart = self.fold_scores(a, metric) - self.fold_scores(b, metric)
            return over_splits(apart, self.splits.test_ratio, level)
        both = self.done(a, b)
        first, second = self._joined(a, both), self._joined(b, both)
        seed, weight, group = self.splits.seed, first.weight, first.group
        if metric.rows is None:
            return _paired(metric, first, second, level, seed)
        rows = np.column_stack([metric.rows(first), metric.rows(second)])
        width = rows.shape[1] // 2
        means = np.average(rows, axis=0, weights=weight)
        drawn = resampled_means(rows, weight, group, seed=seed)
        return from_means(
            means, drawn, first.n, lambda m: metric.finish(m[:, :width]) - metric.finish(m[:, width:]), level,
            first.n_groups,
        )  # fmt: skip

    def _by_row(self, metric: Metric, *names: str) -> bool:
        """Whether the interval comes from rows: no row is tested twice, and all answers can be taken together."""
        if not self.splits.tested_once:
            return False
        if self.task == "clustering" and not metric.is_mean:
            return len(self.done(*names)) < 2  # clusters of two fits have no common names
        few = any(a is not None and a.n < 10 for n in names for a in self.trials[n].answers)
        return metric.is_mean or len(self.done(*names)) < 2 or few


def _score(metric: Metric, answers: Answers | None) -> float:
    return float("nan") if answers is None or not metric.serves(answers) else metric.score(answers)


def _paired(metric: Metric, a: Answers, b: Answers, level: float, seed: int, repeats: int = 1000) -> Interval:
    """Bootstrap of the difference of two scores of the same rows."""
    rng = np.random.default_rng(seed)
    scores = np.empty(repeats)
    for i in range(repeats):
        drawn = rng.integers(0, a.n, a.n)
        scores[i] = metric.score(a.rows(drawn)) - metric.score(b.rows(drawn))
    return from_resamples(metric.score(a) - metric.score(b), scores, a.n, level)


# -------------------------------------------------------------------------------------------------------------- running


def resample(
    models: Mapping[str, Any],
    problem: Problem,
    splits: Splits,
    *,
    train_scores: bool = True,
    keep_models: bool = False,
    may_fail: Container[str] = (),
    timeout: float | None = None,
    workers: int | None = None,
    title: str = "Evaluating",
) -> Resampling:
    """Fit and ask every model on every split.

    A fit that raises is noted and the others go on; a model that fails on every split is an error, unless it
    ``may_fail``. Ctrl-C ends the work and keeps what is done. ``timeout`` is the
    number of seconds a single fit may take: fits then run in other processes, which can be stopped. ``workers``: None
    takes several processes where a fit uses one core only and the work is worth it.
    """
    resampling = Resampling(problem, splits, {name: Trial(name) for name in models})
    jobs = [
        Job((name, k), answer_split, (model, problem, split, train_scores, keep_models))
        for k, split in enumerate(splits)
        for name, model in models.items()
    ]
    done: dict[tuple[str, int], Outcome] = {}
    with progress.task(title, total=len(jobs)) as work:
        try:
            for key, outcome in _results(jobs, timeout, workers):
                done[key] = outcome
                work.advance()
        except KeyboardInterrupt:
            if not done:
                raise
            resampling.interrupted = True
    for name, trial in resampling.trials.items():
        reached = [k for k in range(len(splits)) if (name, k) in done]
        trial.outcomes = [
            done.get((name, k), Outcome(failure="not reached")) for k in range(max(reached, default=-1) + 1)
        ]
    for name, trial in resampling.trials.items():
        if trial.outcomes and len(trial.failures) == len(trial.outcomes) and name not in may_fail:
            raise RuntimeError(f"{name} failed on every split, first: {trial.failures[0]}")
    return resampling


def _results(jobs: list[Job], timeout: float | None, workers: int | None) -> Iterator[tuple[tuple[str, int], Outcome]]:
    for key, result in Pool(workers, timeout).run(jobs):
        yield key, result if isinstance(result, Outcome) else Outcome(failure=str(result))


def answer_split(model: Any, problem: Problem, split: Split, train_scores: bool, keep_model: bool = False) -> Outcome:
    """Fit a copy of the model on the training rows and ask it about the test rows."""
    fitted = clone(model)
    if problem.told is not None and "kinds" in fitted.get_params():
        fitted.set_params(kinds={**problem.told, **(fitted.get_params()["kinds"] or {})})
    outcome = Outcome()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = clock.perf_counter()
            train = problem.whole(split.train)
            extras = fit_extras(fitted, problem, train)
            fitted.fit(problem.rows(train, model), problem.labels[train], **extras)
            middle = clock.perf_counter()
            outcome.answers = ask(fitted, problem, problem.whole(split.test))
            outcome.fit_seconds, outcome.predict_seconds = middle - start, clock.perf_counter() - middle
            if train_scores:
                outcome.train = ask(fitted, problem, problem.whole(_some(split)))
        except Exception as error:  # whatever a model raises belongs to its trial
            outcome.answers = None
            outcome.failure = f"{type(error).__name__}: {error}"
    ours = [w.message for w in caught if isinstance(w.message, TilthWarning)]
    outcome.codes = tuple(sorted({m.code for m in ours}))
    others = {f"{w.category.__name__}: {str(w.message).splitlines()[0]}" for w in caught if w.message not in ours}
    outcome.said = tuple(sorted(others))
    outcome.model = fitted if keep_model else None
    return outcome


def _some(split: Split) -> NDArray[Any]:
    """Some training rows: enough that the gap between the two scores is no accident, few enough to cost little."""
    step = np.diff(split.train)
    rows = split.train[np.r_[True, step > 0]] if (step >= 0).all() else np.unique(split.train)
    if len(rows) <= SEEN_ROWS:
        return rows
    rng = np.random.default_rng([split.repeat, split.fold])
    return np.sort(rng.choice(rows, SEEN_ROWS, replace=False))


def fit_extras(model: Any, problem: Problem, train: NDArray[Any]) -> dict[str, Any]:
    """Weights and groups for a fit that takes them."""
    units = train
    if isinstance(model, SequenceModel) and problem.starts is not None:  # one weight for each sequence
        units = train[problem.starts[train]]
    extras = weights_for(model, None if problem.weight is None else problem.weight[units])
    if problem.groups is not None:
        name = next((n for n in ("groups", "group") if has_fit_parameter(model, n)), None)
        extras |= {} if name is None else {name: problem.groups[train]}
    return extras


def ask(model: Any, problem: Problem, rows: NDArray[Any]) -> Answers:
    """The answers of a fitted model for some rows, with probabilities or scores where it gives them."""
    X = problem.rows(rows, model)
    outputs = answers(model, X, ("prediction", "probabilities" if "probabilities" in says(model) else "scores"))
    if problem.task == "clustering":
        outputs = replace(outputs, scores=silhouettes(model, X, outputs.prediction))
    return against(problem, rows, outputs)


def against(problem: Problem, rows: NDArray[Any], outputs: Outputs) -> Answers:
    """What a model says of some rows beside their targets."""

    def some(part: Any) -> Any:
        return None if part is None else part[rows]

    true, weight, group = problem.target[rows], some(problem.weight), some(problem.groups)
    predicted = np.asarray(outputs.prediction)
    if problem.task in ("anomaly", "clustering"):
        places = (predicted == -1 if problem.task == "anomaly" else predicted).astype(np.int64)
        return Answers(true, places, None, outputs.scores, weight, None, group)
    if problem.classes is None:
        numbers = predicted.astype(np.float64).reshape(true.shape)
        return Answers(true, numbers, None, numbers if problem.task == "ranking" else None, weight, None, group)
    own = np.asarray(outputs.classes)
    places = np.searchsorted(problem.classes, own)[np.searchsorted(own, predicted)].astype(np.int64)
    probability = score = None
    if outputs.probabilities is not None:
        probability = outputs.probabilities_among(problem.classes)
    elif outputs.scores is not None and len(problem.classes) == 2 and len(own) == 2:
        score = np.asarray(outputs.scores, dtype=np.float64).reshape(len(rows))
    return Answers(true, places, probability, score, weight, problem.classes, group)
