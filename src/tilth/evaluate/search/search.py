"""``tilth.search``: parameters found by trying, and a score of the result that rows chosen by nobody have given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone

from tilth import progress
from tilth.errors import TilthWarning
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job
from tilth.evaluate.problem import Problem, task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.resample import Outcome, Resampling, Trial, answer_split
from tilth.evaluate.search.budget import OutOfTimeError, Watch, cost_of, seconds_of
from tilth.evaluate.search.hunt import Hunt, candidate, fit_all, try_split
from tilth.evaluate.search.propose import Proposal, proposer
from tilth.evaluate.search.result import SearchResult
from tilth.evaluate.search.space import Space, space_of
from tilth.evaluate.search.trials import Log, Tried, best_of, header_of, ties_with
from tilth.evaluate.splits import ADVICE, Split, Splits, make_splits
from tilth.evaluate.table import chosen_metrics, zero_r
from tilth.stats.folds import draw

#: Folds inside and outside unless asked otherwise.
FOLDS = 5
#: Time kept for the fits after a search, in fits of the winner.
LAST_FITS = 3.0
#: The same where the model as given has been scored already.
LONE_FIT = 1.2
#: With less time than for this many tries in each place fewer outer folds are searched.
FEW_TRIES = 8
RULES = ("best", "one_se")


@dataclass(eq=False)
class Task:
    """What is searched: the model, the problem, the space and how tries are made and judged."""

    model: Any
    problem: Problem
    space: Space
    metric: Metric
    method: str
    trials: int | None
    rule: str
    seed: int

    @property
    def given(self) -> dict[str, Any]:
        """The searched parameters as the model came with them."""
        known = self.model.get_params()
        return {name: known[name] for name in self.space.names}

    def hunt(self, place: str, problem: Problem, inner: Splits, watch: Watch, log: Log) -> Hunt:
        """A search on these rows."""
        how = proposer(
            self.method, self.space, self.given, self.metric, trials=self.trials, timed=watch.budget is not None,
            n_train=max(len(s.train) for s in inner), seed=self.seed,
        )  # fmt: skip

        def job(proposal: Proposal, split: Split) -> Any:
            return try_split, (self.model, proposal, problem, split, self.metric, self.seed)

        return Hunt(place, self.space, how, inner, self.metric, self.given, job, watch, log)

    def chosen(self, tried: list[Tried]) -> Tried | None:
        """The try that wins: the best, or the simplest within one standard error of it."""
        best = best_of(tried, self.metric)
        if best is None or self.rule == "best" or best.share < 1.0:
            return best
        ties = ties_with(best, tried, self.metric)
        return min(ties, key=lambda t: (self.space.complexity(t.params), t.index))


def search(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    budget: Any = None,
    trials: int | None = None,
    ranges: Any = None,
    metric: Any = None,
    method: str = "auto",
    rule: str = "best",
    inner: Any = None,
    outer: Any = None,
    nested: bool = True,
    resume: Any = None,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> SearchResult:
    """Find good parameters of a model, and say honestly how good it is with them.

    Parameters
    ----------
    model : a classifier, regressor or pipeline, ours or scikit-learn's; it is cloned, never changed.
    X, y : rows and target as for ``fit``; ``y`` may name a column of X.
    budget : time for everything, search, honest score and last fit: seconds, "30s", "5m", "1h". It holds: fits that
        might not end in time run in processes that are stopped.
    trials : number of parameter settings to try; without a budget 20. Then all is decided by the seed.
    ranges : what to try, see :func:`space_of`; by default what the model declares.
    metric : name or metric that chooses; by default accuracy or RMSE.
    method : "grid", "random", "spread" (evenly), "dense" (where good tries lie dense), "halving" (many tries on few
        rows, the best on more), "optuna"; "auto": a grid where the values are few, else dense.
    rule : "best", or "one_se": the simplest within one standard error of the best.
    inner, outer : how rows are split to choose parameters, and to score the choice, see :func:`make_splits`; by
        default 5 folds each. ``groups`` and ``time`` are respected in both.
    nested : repeat the search inside every outer fold. False is faster and leaves only the score that chose the
        parameters, which is too good.
    resume : folder of a log; a search that was broken off goes on from there.
    protocol, options : as for :func:`tilth.evaluate`; how rows are split is said by ``inner`` and ``outer``.

    Ctrl-C ends the search and gives the best so far.

    >>> from tilth import Ridge
    >>> from tilth.data.datasets import load_auto_mpg
    >>> found = search(Ridge(), load_auto_mpg().frame, "mpg", trials=6, outer=3, inner=3)
    >>> found.best_params["alpha"] < 10, found.score.method, len(found.frame())
    (True, 'bootstrap', 6)
    """
    task_name = task_of_models({name_of(model): model}, "search")
    seconds = None if budget is None else seconds_of(budget)
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}.")
    # The clock starts before the rows are read: the budget is for everything.
    how = Protocol.of(protocol, options, "search", unused=("split", "folds", "repeats", "test_size"))
    watch = Watch(seconds, how.timeout, how.workers)
    space = space_of(model, ranges)
    problem = how.problem(X, y, task_name, "search")
    if how.kinds is not None and "kinds" in model.get_params(deep=False):
        model = clone(model).set_params(kinds=how.kinds)
    main = chosen_metrics(how.metrics if metric is None else metric, task_name, problem.labelled, problem.outputs)[0]
    task = Task(model, problem, space, main, method, trials, rule, how.seed)
    return run(task, watch, inner=inner, outer=outer if nested else False, level=how.level, resume=resume)


search.__doc__ = f"{search.__doc__}\n    How many folds? {ADVICE}\n    "


def run(
    task: Task,
    watch: Watch,
    *,
    inner: Any = None,
    outer: Any = None,
    level: float = 0.95,
    resume: Any = None,
    every_fold: bool = False,
    given: Trial | None = None,
) -> SearchResult:
    """The search on all rows, the last fit, then the search inside every outer fold (``outer`` False: none).

    ``every_fold`` makes fewer tries where time is short, rather than search fewer outer folds: for scores that are
    compared with those of other models on the same folds. ``given`` is what the model as given has answered for the
    outer folds already; then no last fit is made either, because whoever knows this much goes on by himself.
    """
    problem, seed = task.problem, task.seed
    own = splits_for(inner, problem, seed, "inner")
    outside = None if outer is False else splits_for(outer, problem, seed, "outer")
    inside = [] if outside is None else inner_splits(inner, outside, problem, seed)
    main = task.hunt("all rows", problem, own, watch, Log())
    main.log = Log.open(resume, header_of(
        problem, task.model, task.space, task.metric, own, outside, task.method, seed,
        main.proposer.total() if task.method in ("grid", "halving") else None,
    ))  # fmt: skip
    watch.look(lambda rows: first_look(task.model, problem, seed, rows), main.rows)
    result = SearchResult(task, own, watch, main.log, level)
    plan = Plan(task, watch, len(inside), len(inside) if every_fold else 1, LAST_FITS if given is None else LONE_FIT)
    try:
        main.run(plan.end)
        _take_over(result, main)
        if result.chosen is None:
            return result
        if given is None:
            _fit_last(result, main)
        if outside is not None:
            if plan.outer < len(inside):
                result.notes.append(f"The budget allows {plan.outer} of {len(inside)} outer folds.")
            _score(result, outside, inside[: plan.outer], len(main.tried), given)
    except KeyboardInterrupt:
        if not main.tried:
            raise
        _take_over(result, main)
        if result.chosen is None:
            raise
        result.notes.append(f"Interrupted after {len(main.tried)} tries: the best of them is returned.")
    result.seconds = watch.used
    return result


# --------------------------------------------------------------------------------------------------------------- splits


def splits_for(said: Any, problem: Problem, seed: int, what: str) -> Splits:
    """Splits as asked for; by default five folds, fewer where classes, groups or times are fewer."""
    try:
        if said is None:
            return make_splits(
                "auto", problem.target, task=problem.strata, folds=_fold_count(problem), groups=problem.groups,
                time=problem.time, seed=seed,
            )  # fmt: skip
        if problem.time is not None and isinstance(said, (int, np.integer)):
            return make_splits(
                "time", problem.target, task=problem.strata, folds=int(said), groups=problem.groups, time=problem.time,
                seed=seed,
            )  # fmt: skip
        return make_splits(
            said, problem.target, task=problem.strata, groups=problem.groups, time=problem.time, seed=seed
        )
    except ValueError as error:
        raise ValueError(f"search, {what} splits: {error}") from error


def _fold_count(problem: Problem) -> int:
    if problem.time is not None:
        return max(2, min(FOLDS, len(np.unique(problem.time)) - 1))
    if problem.groups is not None:
        return max(2, min(FOLDS, len(np.unique(problem.groups))))
    present = np.bincount(problem.target) if problem.strata == "classification" else np.array([problem.n_rows])
    return max(2, min(FOLDS, int(present[present > 0].min())))


def inner_splits(said: Any, outside: Splits, problem: Problem, seed: int) -> list[Splits]:
    """Inner splits of the training rows of every outer split, made before any fit so that problems show at once."""
    if isinstance(said, Splits) or not (
        said is None or isinstance(said, (str, int, np.integer)) or hasattr(said, "split")
    ):
        raise ValueError(
            "search: inner splits given as rows cannot be made again inside the outer folds. Give a name, a number of "
            "folds or a splitter, or say nested=False."
        )
    plans = []
    for k, split in enumerate(outside):
        try:
            plans.append(splits_for(said, problem.subset(split.train), seed, "inner"))
        except ValueError as error:
            raise ValueError(
                f"{error} This is inside outer fold {k + 1} of {len(outside)}: ask for fewer folds inside (inner=) or "
                "outside (outer=), or say nested=False."
            ) from error
    return plans


# --------------------------------------------------------------------------------------------------------------- phases


def first_look(model: Any, problem: Problem, seed: int, rows: int) -> None:
    """A fit of the model as given on few rows, of every class alike, to see how long it takes."""
    classes = problem.target if problem.task == "classification" else None
    chosen = draw(problem.n_rows, rows, classes=classes, seed=[seed, 31])
    answer_split(candidate(model, {}, problem), problem, Split(chosen, chosen[:1]), False)


def _took(tries: Iterable[Tried | None], hunt: Hunt, rows: int) -> float:
    """What a fit of so many rows takes with the parameters of these tries, from what their folds took; 0 if unknown."""
    known = [float(np.nanmax(t.seconds)) for t in tries if t is not None and np.isfinite(t.seconds).any()]
    return max(known, default=0.0) * max(1.0, rows / hunt.rows) ** 2


@dataclass(eq=False)
class Plan:
    """How a budget is shared: the search on all rows and that inside each outer fold get the same.

    Where that leaves too few tries, fewer outer folds are searched, though no fewer than ``least``: a wide interval of
    a real search is worth more than a narrow one of none.
    """

    task: Task
    watch: Watch
    most: int
    least: int = 1
    last_fits: float = LAST_FITS

    def __post_init__(self) -> None:
        self.begin = self.watch.used
        self.outer = self.most

    def end(self, hunt: Hunt) -> float:
        """When the search on all rows should end, as its tries so far suggest."""
        if self.watch.budget is None:
            return math.inf
        last = self.last_fits * _took([self.task.chosen(hunt.tried)], hunt, self.task.problem.n_rows)
        total = self.watch.budget - self.begin
        self.outer = self.most
        while self.outer > self.least and total < (self.outer + 1) * (FEW_TRIES * hunt.expected() + last):
            self.outer -= 1
        return self.begin + max(total / (self.outer + 1) - last, 0.0)


def _take_over(found: SearchResult, main: Hunt) -> None:
    """What the search on all rows came to."""
    found.tried = main.tried
    found.chosen = found.task.chosen(main.tried)
    if found.chosen is not None:
        if found.chosen.failures:
            found.notes.append(f"Folds that failed with all parameters do not count: {found.chosen.status()}.")
        return
    reasons = [t.status() for t in main.tried if t.failures]
    if main.out_of_time or found.watch.left <= 0:
        why = f" First try: {reasons[0]}." if reasons else ""
        found.notes.append(
            f"No try was finished within the budget of {found.watch.budget:g} s: the parameters are those the model "
            f"came with, and nothing is known about its score.{why} Give more time, or fewer rows."
        )
    elif reasons and len(reasons) == len(main.tried):
        raise RuntimeError(f"search: all {len(main.tried)} tries failed, the first: {reasons[0]}")
    elif main.tried:
        raise RuntimeError(f"search: no try has a score: {found.task.metric.name} is not defined on these folds.")


def _quiet_fit(model: Any, params: dict[str, Any], problem: Problem) -> Any:
    """The same without remarks, which the folds have made already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        return Fitted(fit_all(model, params, problem))


@dataclass(eq=False)
class Fitted:
    """A fitted model on its way from another process."""

    model: Any


def _fit_last(found: SearchResult, main: Hunt) -> None:
    """Fit the winner on all rows, within the budget; without time for it, it is fitted when it is asked for."""
    task, watch = found.task, found.watch
    job = Job("last", _quiet_fit, (task.model, found.best_params, task.problem))
    try:
        with progress.task("Fitting the best parameters on all rows", total=1) as work:
            cost, rows = cost_of(found.best_params, task.given), task.problem.n_rows
            for _, result in watch.run([job], rows, cost=cost, known=_took([found.chosen], main, rows), cap=False):
                if isinstance(result, Fitted):
                    found.fitted = result.model
                else:
                    found.notes.append(f"The final fit, on all rows, was stopped: {result}.")
                work.advance()
    except OutOfTimeError:
        found.notes.append("There was no time for the final fit: best_model is fitted on first use.")
    except KeyboardInterrupt:
        raise
    except Exception as error:  # the tries are worth keeping
        found.notes.append(f"The final fit, on all rows, failed: {type(error).__name__}: {error}")


def _share_of(task: Task, watch: Watch, rows: int, places: int, fits: float) -> Callable[[Hunt], float]:
    """When the search of one of so many places should end, the fits after it included."""
    begin, left = watch.used, watch.left

    def end(hunt: Hunt) -> float:
        last = fits * _took([task.chosen(hunt.tried)], hunt, rows)
        return begin + max(0.0, left / places - last)

    return end


def _score(
    found: SearchResult, outside: Splits, inside: list[Splits], tries: int, given: Trial | None
) -> None:  # fmt: skip
    """Search again inside every outer fold and answer its test rows with the winner: the score that can be believed."""
    task, watch, problem = found.task, found.watch, found.task.problem
    name = found.name
    others = {"Zero-R": zero_r(task.problem.task), "as given": task.model}
    outcomes: dict[str, list[Outcome]] = {"Zero-R": [], "as given": [], name: []}
    try:
        for k, (split, splits) in enumerate(zip(outside, inside, strict=False)):
            part = problem.subset(split.train)
            hunt = task.hunt(f"outer fold {k + 1}", part, splits, watch, found.log)
            # As many tries as on all rows: the score is that of the same search.
            fits = LAST_FITS if given is None else LONE_FIT
            hunt.run(_share_of(task, watch, len(split.train), len(inside) - k, fits), tries)
            best = task.chosen(hunt.tried)
            if best is None and hunt.out_of_time:
                raise OutOfTimeError
            models = {n: clone(m) for n, m in others.items()}
            if given is None:
                models["as given"] = candidate(task.model, {}, problem)
            else:
                del models["as given"]
            if best is not None:
                models[name] = candidate(task.model, best.params, problem)
            jobs = [Job(n, answer_split, (m, problem, split, True)) for n, m in models.items()]
            cost = 1.0 if best is None else cost_of(best.params, task.given)
            known = _took([best, *(t for t in hunt.tried if t.given)], hunt, len(split.train))
            answered = dict(watch.run(jobs, len(split.train), cost=cost, known=known, cap=False))
            answered.setdefault(name, Outcome(failure="all tries failed"))
            if given is not None:
                answered["as given"] = given.outcomes[k]
            for n in outcomes:
                result = answered[n]
                outcomes[n].append(result if isinstance(result, Outcome) else Outcome(failure=str(result)))
            found.inner_best.append(math.nan if best is None else best.score)
    except OutOfTimeError:
        found.notes.append(
            f"The budget ended after {len(found.inner_best)} of {len(inside)} outer folds"
            + (": the honest score is that of those." if found.inner_best else ": there is no honest score.")
        )
    except KeyboardInterrupt:
        found.notes.append(f"Interrupted after {len(found.inner_best)} of {len(inside)} outer folds.")
    done = len(found.inner_best)
    if not done:
        return
    reached = outside if done == len(outside) else replace(outside, parts=outside.parts[:done])
    trials = {n: Trial(n, o[:done]) for n, o in outcomes.items()}
    if all(o.answers is None for o in trials[name].outcomes):
        found.notes.append(f"There is no honest score: {trials[name].outcomes[0].failure}")
        return
    found.outer = Resampling(problem, reached, trials)
