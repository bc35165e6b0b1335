"""Which rows are learned from, which choose the model, and which are tested on once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.problem import Problem, prepared
from tilth.evaluate.splits import Split, Splits, make_splits
from tilth.lifecycle.run.options import LEAST_ROWS_FOR_TEST, Options
from tilth.lifecycle.run.question import Question, members, moments

#: Outer folds of few and of more rows, from how many rows on the fewer do, and from how many on one holdout does.
FOLDS, FEW_FOLDS, MORE_ROWS, MANY_ROWS = 5, 3, 10_000, 50_000
#: Different times that are needed to hold some back and still have folds.
FEWEST_MOMENTS = 4
#: Inner folds, and from how many rows on one holdout chooses parameters as well.
INNER_FOLDS, MANY_INNER_ROWS = 3, 5_000


@dataclass(eq=False)
class Division:
    """``whole`` are all rows; ``develop`` those that choose; ``test`` those held back (none where rows are few).

    ``outer`` splits the rows of ``develop``; ``inner`` says how the search inside each of them splits.
    """

    whole: Problem
    develop: Problem
    rows: NDArray[np.int64]
    test: NDArray[np.int64]
    outer: Splits
    inner: Any
    held: str

    @property
    def test_once(self) -> Splits | None:
        """The one split that learns from all rows but those held back."""
        if not len(self.test):
            return None
        return Splits(self.held, "holdout", (Split(self.rows, self.test),), self.whole.n_rows, self.outer.seed)


def divide(question: Question, wishes: Options) -> Division:
    """Rows held back for one test, and folds of the others; groups stay whole and time is kept."""
    table, task = question.table, question.task
    groups = None if wishes.groups is None else members(table.column(wishes.groups))
    time = None if wishes.time is None else moments(table.column(wishes.time))
    whole = prepared(
        table, question.target, task=task, kinds=question.kinds or None, groups=groups, time=time, owner="run"
    )
    every = np.arange(whole.n_rows)
    rows, test, held = every, every[:0], ""
    moments_left = FEWEST_MOMENTS if time is None else len(np.unique(time))
    if wishes.test_size == 0:
        held = "no test set was requested"
    elif whole.n_rows < LEAST_ROWS_FOR_TEST:
        held = f"{whole.n_rows} rows are too few for a test set"
    elif moments_left < FEWEST_MOMENTS:
        held = f"there are only {moments_left} different times"
    else:
        splits = make_splits(
            "holdout", whole.target, task=task, test_size=wishes.test_size, groups=groups, time=time, seed=wishes.seed
        )
        # Every class must be learned from: rare ones stay among the rows that choose.
        rows, test, held = splits.parts[0].train, splits.parts[0].test, splits.name
        if whole.classes is not None and len(np.unique(whole.target[splits.parts[0].train])) < len(whole.classes):
            rows, test, held = every, every[:0], "a class would have been held out whole"
    develop = whole.subset(rows) if len(test) else whole
    outer = _outer(develop, wishes)
    one = outer.kind == "holdout" or develop.n_rows >= MANY_INNER_ROWS
    inner = "holdout" if one else None if develop.n_rows < 100 else INNER_FOLDS
    return Division(whole, develop, rows, test, outer, inner, held)


def _outer(problem: Problem, wishes: Options) -> Splits:
    how: dict[str, Any] = {"groups": problem.groups, "time": problem.time, "seed": wishes.seed, "task": problem.task}
    if wishes.folds is None and problem.n_rows > MANY_ROWS:
        return make_splits("holdout", problem.target, test_size=0.2, **how)
    most = problem.n_rows
    if problem.groups is not None:
        most = len(np.unique(problem.groups))
    if problem.time is not None:
        most = min(most, len(np.unique(problem.time)) - 1)
    elif problem.groups is None and problem.task == "classification":
        present = np.bincount(problem.target)
        most = max(2, int(present[present > 0].min()))
    usual = 10 if problem.n_rows < 100 else FOLDS if problem.n_rows < MORE_ROWS else FEW_FOLDS
    folds = wishes.folds or max(2, min(usual, most))
    return make_splits("auto", problem.target, folds=folds, **how)
