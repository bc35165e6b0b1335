"""The points of a curve: a model fitted and scored on the same splits at each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem, task_of_models
from tilth.evaluate.protocol import Protocol
from tilth.evaluate.resample import Outcome, Trial
from tilth.evaluate.splits import Splits
from tilth.evaluate.table import chosen_metrics, zero_r

Floats = NDArray[np.float64]

#: Folds unless asked otherwise: every point is as many fits.
FOLDS = 5


@dataclass(eq=False)
class Task:
    """A model, a problem, splits and a metric: what all curves begin with."""

    name: str
    model: Any
    problem: Problem
    splits: Splits
    metric: Metric
    how: Protocol

    @property
    def level(self) -> float:
        """Confidence of the intervals."""
        return self.how.level

    def baseline(self) -> dict[str, Any]:
        """Zero-R, unless that is the model."""
        plain_model = zero_r(self.problem.task)
        return {} if type(plain_model) is type(self.model) else {"Zero-R": plain_model}


def begin(
    owner: str, model: Any, X: Any, y: Any, metric: Any, protocol: Protocol | None, options: Mapping[str, Any]
) -> Task:
    """Read the input of a curve. Five folds unless asked otherwise; with ``time`` the last rows are held out."""
    how = Protocol.of(protocol, options, owner)
    name = name_of(model)
    task = task_of_models({name: model}, owner)
    problem = how.problem(X, y, task, owner)
    if how.split == "auto" and problem.time is not None:
        how = replace(how, split="holdout")
    splits = how.splits(problem)
    if how.split == "auto" and how.folds is None and len(splits) > FOLDS * (how.repeats or 1):
        splits = replace(how, folds=FOLDS).splits(problem)
    chosen = chosen_metrics(how.metrics if metric is None else metric, task)[0]
    if not chosen.share and min(len(s.test) for s in splits) < 2:
        raise ValueError(
            f"{owner}: {chosen.name} needs at least 2 test rows in every split, and some have 1; ask for fewer folds."
        )
    return Task(name, model, problem, splits, chosen, how)


def score_points(
    task: Task,
    points: Sequence[tuple[Any, Splits]],
    *,
    beside: Mapping[str, Any],
    beside_at: int,
    title: str,
) -> Scored:
    """Fit and score a model at each point (a model and its splits); ``beside`` are others, fitted at one of them."""
    n = len(task.splits)
    scored = Scored(np.full((len(points), n), np.nan), np.full((len(points), n), np.nan), np.full(len(points), np.nan))
    rows, heard = [], Trial(task.name)
    with progress.task(title, total=len(points)) as work:
        for place, (model, splits) in enumerate(points):
            others = dict(beside) if place == beside_at else {}
            done = task.how.resample(
                {task.name: model, **others}, task.problem, splits, may_fail={task.name, *others},
                title=f"{title}: point {place + 1}",
            )  # fmt: skip
            trial = done.trials[task.name]
            reached = len(trial.outcomes)
            scored.validation[place, :reached] = done.fold_scores(task.name, task.metric)
            scored.train[place, :reached] = done.train_scores(task.name, task.metric)
            if np.isfinite(trial.fit_seconds).any():
                scored.seconds[place] = np.nanmean(trial.fit_seconds)
            heard.outcomes += [Outcome(failure=o.failure, codes=o.codes, said=o.said) for o in trial.outcomes]
            for name in others:
                scores = done.fold_scores(name, task.metric)
                scored.beside[name] = np.concatenate([scores, np.full(n - len(scores), np.nan)])
            if n == 1:
                rows.append(_by_rows(trial.outcomes[0], task))
            work.advance()
            if done.interrupted:
                scored.notes.append(f"Interrupted at point {place + 1} of {len(points)}.")
                break
    if not np.isfinite(scored.validation).any():
        failures = heard.failures or {0: f"the {task.metric.name} of these rows is not defined"}
        raise RuntimeError(f"{task.name} gave no score at any point, first: {next(iter(failures.values()))}")
    scored.notes = heard.notes() + scored.notes
    missing = _nowhere(task.name, len(points) - len(rows))
    scored.rows = [*rows, *missing] if n == 1 else None
    return scored


@dataclass(eq=False)
class Scored:
    """Scores of the points (points x splits), of the models beside, and what the fits said."""

    train: Floats
    validation: Floats
    seconds: Floats
    beside: dict[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[Interval, Interval]] | None = None


def _by_rows(outcome: Any, task: Task) -> tuple[Interval, Interval]:
    """With one split the spread over its rows is all there is to go by."""
    both = []
    for answers in (outcome.train, outcome.answers):
        usable = answers is not None and task.metric.serves(answers)
        nothing = Interval(np.nan, np.nan, np.nan, task.level, "failed", 0)
        both.append(task.metric.interval(answers, level=task.level, seed=task.splits.seed) if usable else nothing)
    return both[0], both[1]


def _nowhere(name: str, n: int) -> list[tuple[Interval, Interval]]:
    nothing = Interval(np.nan, np.nan, np.nan, 0.95, "not reached", 0)
    return [(nothing, nothing)] * n
