"""One search: parameters are proposed, tried on all inner folds, and noted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth import progress
from tilth.base import Estimator
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job
from tilth.evaluate.problem import Problem
from tilth.evaluate.resample import Outcome, answer_split, fit_extras
from tilth.evaluate.search.budget import OutOfTimeError, Watch, cost_of
from tilth.evaluate.search.early import EarlyStopped, stops_early
from tilth.evaluate.search.propose import Proposal, Proposer
from tilth.evaluate.search.space import Space
from tilth.evaluate.search.trials import Log, Tried
from tilth.evaluate.splits import Split, Splits
from tilth.stats.folds import draw

Floats = NDArray[np.float64]


#: Tries in a row that are left out as too long before a search ends.
MOST_LEFT_OUT = 8


@dataclass(eq=False)
class Fold:
    """Scores of one fit on one fold."""

    score: float = math.nan
    train: float = math.nan
    fit_seconds: float = math.nan
    seconds: float = math.nan
    failure: str = ""
    served: bool = True


def fold_of(outcome: Outcome, metric: Metric) -> Fold:
    """The scores of what a fit came to."""
    if outcome.answers is None:
        return Fold(failure=outcome.failure or "no answers")
    if not metric.serves(outcome.answers):
        return Fold(served=False)
    train = math.nan if outcome.train is None else metric.score(outcome.train)
    return Fold(
        metric.score(outcome.answers), train, outcome.fit_seconds, outcome.fit_seconds + outcome.predict_seconds
    )


def candidate(model: Any, params: dict[str, Any], problem: Problem) -> Any:
    """A copy of the model with these parameters; one that stops early puts its held-out rows aside first."""
    model_tried = clone(model).set_params(**{k: clone(v, safe=False) for k, v in params.items()})
    if not stops_early(model_tried):
        return model_tried
    if problem.told is not None and "kinds" in model_tried.get_params(deep=False):
        model_tried.set_params(kinds={**problem.told, **(model_tried.get_params(deep=False)["kinds"] or {})})
    return EarlyStopped(model_tried)


def fit_all(model: Any, params: dict[str, Any], problem: Problem) -> Any:
    """The model with these parameters, learned from all rows."""
    configured = candidate(model, params, problem)
    labels: Any = problem.labels
    if isinstance(configured, Estimator) and problem.target_name is not None:
        import pandas as pd

        labels = pd.Series(labels, name=problem.target_name)  # the model knows its target again in other tables
    every = np.arange(problem.n_rows)
    rows = problem.given_to(configured) if problem.starts is None else problem.rows(every, configured)
    fitted = configured.fit(rows, labels, **fit_extras(configured, problem, every))
    return fitted.estimator_ if isinstance(fitted, EarlyStopped) else fitted


def try_split(
    model: Any, proposal: Proposal, problem: Problem, split: Split, metric: Metric, seed: int
) -> Fold:  # fmt: skip
    """Fit on the training rows of one split, or on a share of them, and score the test rows."""
    try:
        configured = candidate(model, proposal.params, problem)
    except Exception as error:  # parameters that a model refuses belong to their try
        return Fold(failure=f"{type(error).__name__}: {error}")
    classes = problem.target if problem.task == "classification" else None
    return fold_of(answer_split(configured, problem, shortened(split, proposal.share, classes, seed), True), metric)


def shortened(split: Split, share: float, classes: NDArray[Any] | None, seed: int) -> Split:
    """The split with a share of its training rows: of every class alike, the same rows for all parameters."""
    if share >= 1.0:
        return split
    n, own = len(split.train), None if classes is None else classes[split.train]
    rows = draw(n, max(2, round(share * n)), classes=own, seed=[seed, 29, split.repeat, split.fold])
    return replace(split, train=split.train[rows])


@dataclass(eq=False)
class Hunt:
    """A search on some rows. ``job(proposal, split)`` is the call that gives a :class:`Fold`."""

    place: str
    space: Space
    proposer: Proposer
    splits: Splits
    metric: Metric
    given: dict[str, Any]
    job: Callable[[Proposal, Split], tuple[Callable[..., Fold], tuple[Any, ...]]]
    watch: Watch
    log: Log
    owner: str = "search"
    tried: list[Tried] = field(default_factory=list)
    out_of_time: bool = False
    left_out: int = 0

    @property
    def rows(self) -> int:
        """Training rows of a fold."""
        return max(len(s.train) for s in self.splits)

    def run(self, soft: Callable[[Hunt], float] | None = None, most: int | None = None) -> list[Tried]:
        """Try until all is tried, or ``most`` tries are done, or no further one would end in time.

        ``soft(self)`` is asked before each try but the first: the second of the watch at which this search should end.
        """
        total = self.proposer.total()
        ends = [n for n in (total, most) if n is not None]
        last = min(ends) if ends else None
        title = f"Searching {', '.join(self.space.names)[:60]} ({self.place})"
        with progress.task(title, total=None if last is None else last * len(self.splits)) as work:
            index = 0
            try:
                while last is None or index < last:
                    end = self.proposer.batch_end(index)
                    end = end if last is None else min(end, last)
                    if not self._batch(range(index, end), soft, work):
                        break
                    index = end
            except OutOfTimeError:
                self.out_of_time = True
            finally:
                self.tried.sort(key=lambda t: t.index)
        return self.tried

    def _batch(self, batch: range, soft: Callable[[Hunt], float] | None, work: progress.Task) -> bool:
        """Try one batch; False when the time of this search is over."""
        history = sorted(self.tried, key=lambda t: t.index)
        proposals = {i: self.proposer.ask(i, history) for i in batch}
        new = [i for i in batch if not self._known(i, proposals[i], work)]
        if self.watch.budget is None:
            self._try(new, proposals, work)
            return True
        for i in new:
            if soft is not None and self.tried and self.watch.used + self.expected(proposals[i]) > soft(self):
                self.left_out += 1  # too long for the time left; others may be shorter
                if self.left_out >= MOST_LEFT_OUT:
                    self.out_of_time = True
                    return False
                continue
            self.left_out = 0
            self._try([i], proposals, work)
        return True

    def expected(self, proposal: Proposal | None = None) -> float:
        """Seconds of the next try, as those before took for the work they had; of any on all rows, without one."""
        known = [
            float(np.nansum(t.seconds)) / (t.share * cost_of(t.params, self.given))
            for t in self.tried
            if not t.failures and t.seconds.any()
        ]
        if not known:
            return 0.0
        work = 1.0 if proposal is None else proposal.share * cost_of(proposal.params, self.given)
        return 1.2 * work * float(np.mean(known[-20:]))

    def _known(self, index: int, proposal: Proposal, work: progress.Task) -> bool:
        """Whether the log, or an earlier try of the same parameters, has the answer; it is then taken over."""
        entry = self.log.done.get((self.place, index))
        if entry is not None:
            trial = Tried.from_json(entry, self.space, self.given)
            if not proposal.given and entry["params"] != json.loads(json.dumps(self.space.encode(proposal.params))):
                raise ValueError(
                    f"{self.owner}: the log has other parameters for try {index} than are proposed now; it was written "
                    "by another version. Give another folder as resume=."
                )
        else:
            key = self._key(proposal)
            same = next((t for t in self.tried if self._key(Proposal(t.params, t.share)) == key), None)
            if same is None:
                return False
            trial = Tried(
                index, same.params, same.scores, same.train, np.zeros(len(same.scores)), same.failures, same.share,
                proposal.given,
            )  # fmt: skip
            self.log.add(trial.to_json(self.place, self.space))
        self.tried.append(trial)
        work.advance(len(self.splits))
        return True

    def _key(self, proposal: Proposal) -> str:
        return json.dumps([self.space.encode(proposal.params), proposal.share], default=repr)

    def _try(self, indices: list[int], proposals: dict[int, Proposal], work: progress.Task) -> None:
        """Fit on all folds; every try is noted as soon as its last fold is done."""
        jobs = [Job((i, k), *self.job(proposals[i], split)) for i in indices for k, split in enumerate(self.splits)]
        folds: dict[int, dict[int, Fold]] = {i: {} for i in indices}
        rows = max(1, round(self.rows * min((proposals[i].share for i in indices), default=1.0)))
        cost = max((cost_of(proposals[i].params, self.given) for i in indices), default=1.0)
        same = all(proposals[i].given for i in indices)
        for (i, k), result in self.watch.run(jobs, rows, cost=cost, same=same):
            fold = result if isinstance(result, Fold) else Fold(failure=str(result))
            if not fold.served:
                raise ValueError(
                    f"{self.owner}: {self.metric.name} needs a {self.metric.needs} of the classes, which the model "
                    "does not give. Choose another metric=, or a model that gives it."
                )
            folds[i][k] = fold
            work.advance()
            if self.watch.budget is not None and fold.failure and len(indices) == 1:
                break  # it can no longer be ranked: the time is better spent elsewhere
            if len(folds[i]) == len(self.splits):
                self._note(i, proposals[i], folds.pop(i))
        for i, some in folds.items():
            if some:
                self._note(i, proposals[i], some)

    def _note(self, index: int, proposal: Proposal, folds: dict[int, Fold]) -> None:
        every = [folds.get(k, Fold(failure="not tried")) for k in range(len(self.splits))]
        tried = Tried(
            index, proposal.params, np.array([f.score for f in every]), np.array([f.train for f in every]),
            np.array([f.seconds for f in every]), {k: f.failure for k, f in enumerate(every) if f.failure},
            proposal.share, proposal.given,
        )  # fmt: skip
        self.tried.append(tried)
        self.log.add(tried.to_json(self.place, self.space))
