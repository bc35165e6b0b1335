"""Scores round by round: boosting by its stages, other models by training on, whichever way a model allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.base.answers import Outputs
from tilth.evaluate.answers import Answers
from tilth.evaluate.curve import Curve
from tilth.evaluate.curve_points import Task, begin
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job, Pool
from tilth.evaluate.problem import Problem
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.resample import Outcome, Trial, against, answer_split, ask
from tilth.evaluate.splits import Split

Floats = NDArray[np.float64]

#: Rounds that are scored at most; of more, evenly spread ones.
SCORED = 100
#: Rounds of a model that does not say how many it does.
ROUNDS = 30
#: Bootstrap samples of the rows, per round, when there is a single split.
REPEATS = 200
#: Parameters that count rounds.
COUNTS = ("n_estimators", "max_iter", "n_iter", "n_epochs", "epochs")

WAYS = {
    "stages": "One fit; scored after each of its stages ({name}).",
    "partial_fit": "partial_fit: one more pass over the training rows per round.",
    "warm_start": "warm_start: the fit continues where it stopped, {name} rounds in all.",
    "refit": "A fit from the start for every number of rounds ({name}), because the model cannot continue a fit.",
}


@dataclass(frozen=True)
class Way:
    """How a model is asked round by round: ``kind`` of :data:`WAYS`, and the method or parameter it goes by."""

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return WAYS[self.kind].format(name=self.name)


def way_of(model: Any) -> Way:
    """The cheapest way to see the rounds of a model; a model without rounds is refused."""
    for name in ("staged_predict_proba", "staged_predict"):
        if hasattr(model, name):
            return Way("stages", name)
    known = model.get_params(deep=False)
    count = next((c for c in COUNTS if c in known), "")
    # A model that folds its rows once would count them anew with every pass.
    if count and hasattr(model, "partial_fit") and getattr(model, "fold", None) != "once":
        return Way("partial_fit", count)
    if count and "warm_start" in known:
        return Way("warm_start", count)
    if count:
        return Way("refit", count)
    raise TypeError(
        f"iteration_curve needs a model with rounds: staged answers, partial_fit, warm_start or a number of rounds "
        f"({', '.join(COUNTS)}); {type(model).__name__} has none. learning_curve and complexity_curve take any model."
    )


def iteration_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    rounds: int | Sequence[int] | None = None,
    metric: Any = None,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Curve:
    """Scores of seen and of other rows after every round, epoch or stage.

    The way is chosen by what the model has, and told: stages of a single fit (``staged_predict``), ``partial_fit`` over
    the training rows again and again, ``warm_start``, or a new fit for every number of rounds.

    Parameters
    ----------
    rounds : the last round, or the rounds to score; the model's own number unless told.

    >>> from tilth import GradientBoostingClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> curve = iteration_curve(GradientBoostingClassifier(n_estimators=10), iris.frame, iris.target, folds=3)
    >>> len(curve.x), curve.way
    (10, 'One fit; scored after each of its stages (staged_predict_proba).')
    """
    task = begin("iteration_curve", model, X, y, metric, protocol, options)
    way = way_of(model)
    wanted = _rounds(rounds, model)
    jobs = [
        Job(k, _follow, (model, task.problem, s, way, wanted, task.metric, task.level, len(task.splits) == 1))
        for k, s in enumerate(task.splits)
    ]
    done: dict[int, _Followed] = {}
    with progress.task(f"Rounds of {task.name}", total=len(jobs)) as work:
        for key, result in Pool(task.how.workers, task.how.timeout).run(jobs):
            done[key] = result if isinstance(result, _Followed) else _Followed(Outcome(failure=str(result)))
            work.advance()
    trial = Trial(task.name, [done[k].outcome for k in range(len(jobs))])
    if len(trial.failures) == len(jobs):
        raise RuntimeError(f"{task.name} failed on every split, first: {trial.failures[0]}")
    reached = max(len(d.scores) for d in done.values())
    x = np.array(wanted[:reached])
    both = np.full((2, reached, len(jobs)), np.nan)
    for k, stage in done.items():
        for place, pair in enumerate(stage.scores):
            both[:, place, k] = [interval.value for interval in pair]
    rows = done[0].scores if len(jobs) == 1 else None
    return Curve(
        "rounds", task.name, task.metric, x, "round", both[0], both[1], task.splits, str(way), task.level,
        _baseline(task), notes=trial.notes() + _early(reached, wanted), row_intervals=rows,
    )  # fmt: skip


def _early(reached: int, wanted: list[int]) -> list[str]:
    return [f"The fits ended at round {wanted[reached - 1]} of {wanted[-1]}."] if reached < len(wanted) else []


def _baseline(task: Task) -> Floats | None:
    others = task.baseline()
    if not others:
        return None
    resampling = task.how.resample(others, task.problem, task.splits, train_scores=False)
    return resampling.fold_scores("Zero-R", task.metric)


def _rounds(rounds: int | Sequence[int] | None, model: Any) -> list[int]:
    if rounds is None:
        known = model.get_params(deep=False)
        default = next((known[c] for c in COUNTS if c in known), None)
        rounds = int(default) if isinstance(default, (int, np.integer)) and not isinstance(default, bool) else ROUNDS
    counts = [rounds] if isinstance(rounds, (int, np.integer)) else list(rounds)
    if not counts or any(isinstance(r, bool) or not isinstance(r, (int, np.integer)) or r < 1 for r in counts):
        raise ValueError(f"iteration_curve: rounds must be whole numbers of at least 1; got {rounds!r}.")
    if len(counts) > 1 or not isinstance(rounds, (int, np.integer)):
        return sorted({int(r) for r in counts})
    return sorted({int(r) for r in np.round(np.linspace(1, counts[0], min(counts[0], SCORED)))})


@dataclass(eq=False)
class _Followed:
    """The scores of seen and other rows in every round of one split."""

    outcome: Outcome
    scores: list[tuple[Interval, Interval]] = field(default_factory=list)


def _follow(
    model: Any, problem: Problem, split: Split, way: Way, rounds: list[int], metric: Metric, level: float, alone: bool
) -> _Followed:
    """Fit on a split and score every wanted round; this runs in another process where that pays."""
    outcome = Outcome()
    scores: list[tuple[Interval, Interval]] = []

    def note(more: Outcome) -> None:
        outcome.codes = tuple(sorted({*outcome.codes, *more.codes}))
        outcome.said = tuple(sorted({*outcome.said, *(s for s in more.said if not s.startswith("ConvergenceWarning"))}))
        outcome.failure = outcome.failure or more.failure

    def measured(answers: Answers) -> Interval:
        if not metric.serves(answers):
            raise TypeError(f"{metric.name} needs a {metric.needs}, which the rounds of {type(model).__name__} lack.")
        if alone:
            return metric.interval(answers, level=level, repeats=REPEATS)
        return Interval(metric.score(answers), np.nan, np.nan, level, "one of several splits", answers.n)

    try:
        for seen, other, more in _rounds_of(model, problem, split, way, rounds):
            note(more)
            if seen is None or other is None:
                break
            scores.append((measured(seen), measured(other)))
    except Exception as error:  # whatever a model raises belongs to its split
        outcome.failure = f"{type(error).__name__}: {error}"
    return _Followed(outcome, scores)


Round = tuple[Answers | None, Answers | None, Outcome]


def _rounds_of(model: Any, problem: Problem, split: Split, way: Way, rounds: list[int]) -> Iterator[Round]:
    from sklearn.base import clone

    if way.kind == "stages":
        yield from _stages(model, problem, split, way.name, rounds)
    elif way.kind == "refit":
        for r in rounds:
            outcome = answer_split(clone(model).set_params(**{way.name: r}), problem, split, True)
            yield outcome.train, outcome.answers, outcome
    else:
        yield from _going_on(model, problem, split, way, rounds)


def _stages(model: Any, problem: Problem, split: Split, method: str, rounds: list[int]) -> Iterator[Round]:
    outcome = answer_split(model, problem, split, False, True)
    if outcome.failure:
        yield None, None, outcome
        return
    fitted, wanted, seen = outcome.model, set(rounds), np.unique(split.train)
    stages = [getattr(fitted, method)(problem.rows(rows, model)) for rows in (seen, split.test)]
    bare = replace(problem, given=np.empty((problem.n_rows, 0)))  # the rows have been asked already
    for r, (on_seen, on_other) in enumerate(zip(*stages, strict=True), start=1):
        if r in wanted:
            yield (
                _answers(fitted, bare, seen, method, on_seen),
                _answers(fitted, bare, split.test, method, on_other),
                outcome,
            )


def _answers(fitted: Any, problem: Problem, rows: NDArray[Any], method: str, stage: Any) -> Answers:
    """One stage of a fitted model as answers: the stage stands in for the whole model."""
    stage, classes = np.asarray(stage), getattr(fitted, "classes_", None)
    if not method.endswith("proba"):
        return against(problem, rows, Outputs(stage, classes=classes))
    assert classes is not None
    return against(problem, rows, Outputs(classes[stage.argmax(axis=1)], stage, classes=classes))


def _going_on(model: Any, problem: Problem, split: Split, way: Way, rounds: list[int]) -> Iterator[Round]:
    """Train on from round to round, by partial_fit or warm_start."""
    import warnings

    from sklearn.base import clone

    learner = clone(model)
    if problem.told is not None and "kinds" in learner.get_params():
        learner.set_params(kinds={**problem.told, **(learner.get_params()["kinds"] or {})})
    X, labels, seen = problem.rows(split.train, model), problem.labels[split.train], np.unique(split.train)
    extra = {} if problem.weight is None else {"sample_weight": problem.weight[split.train]}
    classes = {} if problem.classes is None else {"classes": problem.classes}
    done = 0
    for r in rounds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a fit of few rounds has not converged is the point of the curve
            if way.kind == "partial_fit":
                for _ in range(r - done):
                    learner.partial_fit(X, labels, **classes, **extra)
            else:
                # Some count all rounds (trees), others those of the next fit alone (epochs).
                more = r if way.name == "n_estimators" else r - done
                learner.set_params(warm_start=True, **{way.name: more}).fit(X, labels, **extra)
            done = r
            yield ask(learner, problem, seen), ask(learner, problem, split.test), Outcome()
