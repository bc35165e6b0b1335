"""What is under audit: a model, its rows, the plan of the splits, and the means to measure what a suspicion costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.base import Estimator
from tilth.data.table import RawColumn, RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.audit.finding import Effect, effect_of
from tilth.evaluate.metrics import USUAL, Metric
from tilth.evaluate.metrics.classification import BALANCED_ACCURACY
from tilth.evaluate.pool import Job, Pool
from tilth.evaluate.problem import Problem
from tilth.evaluate.resample import Outcome, Resampling, Trial, answer_split, resample
from tilth.evaluate.splits import Split, Splits
from tilth.quality import Finding
from tilth.quality.column import ColumnView
from tilth.quality.redundancy import identifiers
from tilth.quality.view import View, view_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Change = Callable[[Problem, Split], tuple[Problem, Split]]

#: Rows that a light check looks at: it must cost little beside the fits.
LIGHT_ROWS = 2_000
#: The commonest class holds this share: accuracy says little.
UNEVEN = 0.8
#: Models that a monotone change of a column leaves as they are, or that treat whole numbers as levels.
_ORDER_FREE = re.compile(r"Tree|Forest|Boost|Stump|^C45|^ID3|^CART|OneR|ZeroR|Dummy|CategoricalNB|XGB|LGBM|CatBoost")


@dataclass(eq=False)
class Case:
    """A plan of evaluation under suspicion.

    ``problem`` and ``splits`` hold all rows; fits are made on ``rows`` of them only. Without ``measure`` nothing is
    fitted: a check then says what it sees and measures nothing. ``taken`` are columns and scores that a check has
    explained, so that no other reports them again; ``memo`` holds what several checks need.
    """

    model: Any
    problem: Problem
    splits: Splits
    metric: Metric
    rows: Ints
    measure: bool = True
    source: RawTable | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    held: Ints | None = None
    index: NDArray[Any] | None = None
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    scan_rows: int = 20_000
    notes: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    memo: dict[str, Any] = field(default_factory=dict)
    _base: Trial | None = None

    # ------------------------------------------------------------------------------------------------ what is looked at

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.problem.task

    @property
    def target_name(self) -> str:
        """What the target is called in a sentence."""
        name = self.problem.target_name
        return ", ".join(name) if isinstance(name, list) else name or "the target"

    @cached_property
    def view(self) -> View | None:
        """The table as the checks of data quality see it; None for a sparse matrix, which has no columns."""
        if self.problem.raw.is_sparse:
            return None
        classes = self.problem.classes
        target: Any = self.problem.target if classes is None else classes.astype(str)[self.problem.target]
        target = None if self.problem.outputs or not self.problem.labelled else target
        return view_of(self.problem.raw, target, kinds=self.problem.told, max_rows=self.scan_rows)

    @cached_property
    def used(self) -> list[ColumnView]:
        """Columns that the model learns from: of ours those not set aside, of others all."""
        if self.view is None:
            return []
        ours = isinstance(self.model, Estimator)
        return [c for c in self.view.columns if c.spec.role == "feature" or not ours]

    @cached_property
    def numbers(self) -> list[ColumnView]:
        """Used columns that the model takes as numbers."""
        return [c for c in self.used if c.is_number and varies(c.numbers)]

    @cached_property
    def scan(self) -> View | None:
        """The table for checks of patterns that a sample shows as well: all rows in an audit, some in a light check."""
        return self.view if self.measure or self.view is None else self.view.sample

    @cached_property
    def identifiers(self) -> list[Finding]:
        """Columns that number the rows."""
        return [] if self.scan is None else list(identifiers(self.scan))

    @property
    def in_haste(self) -> bool:
        """Whether sorting every column would take longer than a light check may."""
        return not self.measure and self.problem.n_rows > self.scan_rows

    @cached_property
    def parts(self) -> list[Any]:
        """The model and every estimator inside it."""
        models = [self.model]
        if hasattr(self.model, "get_params"):
            models += [v for v in self.model.get_params(deep=True).values() if hasattr(v, "fit")]
        return models

    @property
    def takes_order_seriously(self) -> bool:
        """Whether the model uses distances between the values of a column, as all but trees and rules do."""
        return not any(_ORDER_FREE.search(type(p).__name__) for p in self.parts)

    @cached_property
    def commonest(self) -> float:
        """Share of the commonest class; 0 for numbers."""
        if self.problem.classes is None:
            return 0.0
        return float(np.bincount(self.problem.target).max() / self.problem.n_rows)

    @cached_property
    def small(self) -> Problem:
        """The rows that fits are made on."""
        return self.problem if len(self.rows) == self.problem.n_rows else self.problem.subset(self.rows)

    @cached_property
    def plan(self) -> Splits:
        """The splits of those rows."""
        return self.splits if len(self.rows) == self.problem.n_rows else restricted(self.splits, self.rows)

    # ------------------------------------------------------------------------------------------------- what is measured

    @cached_property
    def judge(self) -> Metric:
        """The metric that optimism is measured by."""
        if self.task == "classification" and self.commonest >= UNEVEN:
            return BALANCED_ACCURACY
        return self.metric if self.metric.is_mean and self.metric.needs == "answer" else USUAL[self.task][0]

    @cached_property
    def base(self) -> Trial | None:
        """The model on the splits as planned; None where it cannot be fitted, which is noted."""
        if self._base is not None:
            return self._base
        if not self.measure:
            return None
        try:
            resampling = resample(
                {"model": self.model}, self.small, self.plan, train_scores=False, workers=self.workers,
                title="Scoring the plan under audit",
            )  # fmt: skip
        except RuntimeError as error:
            self.notes.append(f"Nothing could be measured: {str(error).replace('model', 'the model', 1)}")
            return None
        return resampling.trials["model"]

    @cached_property
    def answers(self) -> Answers | None:
        """Answers of the plan in the order of their rows, and which rows these are."""
        return None if self.base is None else in_row_order(self.base, self.plan)[1]

    def refit(self, change: Change, title: str, splits: Splits | None = None) -> Trial:
        """The model on changed rows: ``change`` gives the problem and the split to use instead of each planned one."""
        plan = self.plan if splits is None else splits
        jobs = []
        for k, split in enumerate(plan):
            problem, other = change(self.small, split)
            jobs.append(Job(k, answer_split, (self.model, problem, other, False)))
        done: dict[int, Outcome] = {}
        with progress.task(title, total=len(jobs)) as work:
            for key, outcome in Pool(self.workers).run(jobs):
                done[key] = outcome if isinstance(outcome, Outcome) else Outcome(failure=str(outcome))
                work.advance()
        return Trial("honest", [done[k] for k in range(len(jobs))])

    def effect(
        self, change: Change, title: str, *, splits: Splits | None = None, groups: NDArray[Any] | None = None
    ) -> Effect | None:
        """What the suspicion is worth: the plan against the same model on changed rows, for the rows both answered.

        ``groups``: rows that hang together, drawn together for the interval. None where nothing can be measured.
        """
        if not self.measure or self.base is None:
            return None
        other = self.plan if splits is None else splits
        return self._compared((self.base, self.plan), (self.refit(change, title, other), other), groups)

    def effect_between(
        self, planned: Splits, honest: Splits, title: str, groups: NDArray[Any], problem: Problem | None
    ) -> Effect | None:
        """The model under two plans of which only one is honest; None for a problem that could not be made."""
        if not self.measure or self.base is None or problem is None:
            return None

        def same(_: Problem, split: Split) -> tuple[Problem, Split]:
            return problem, split

        return self._compared(
            (self.refit(same, title, planned), planned), (self.refit(same, title, honest), honest), groups
        )

    def _compared(
        self, first: tuple[Trial, Splits], second: tuple[Trial, Splits], groups: NDArray[Any] | None
    ) -> Effect | None:
        rows, planned = in_row_order(*first)
        again, honest = in_row_order(*second)
        if planned is None or honest is None:
            return None
        common = np.intersect1d(rows, again)
        if len(common) < 10:
            return None
        a, b = planned.rows(np.searchsorted(rows, common)), honest.rows(np.searchsorted(again, common))
        if groups is not None:
            a, b = replace(a, group=groups[common]), replace(b, group=groups[common])
        return effect_of(a, b, self.small, self.judge, self.level, self.seed)

    def effect_without(self, names: Sequence[str], title: str) -> Effect | None:
        """The effect of columns, measured by shuffling their cells: what they say is lost, all else stays."""
        changed = shuffled(self.small, names, self.seed)
        return None if changed is None else self.effect(lambda _, split: (changed, split), title)


def varies(values: Floats) -> bool:
    """Whether there are two different numbers."""
    known = values[~np.isnan(values)]
    return bool(known.size and known.max() > known.min())


def restricted(splits: Splits, rows: Ints) -> Splits:
    """The splits of some of the rows, which are then counted from 0."""
    place = np.full(splits.n_rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    parts = []
    for part in splits:
        train, test = place[part.train], place[part.test]
        kept = Split(train[train >= 0], test[test >= 0], part.repeat, part.fold)
        if len(kept.train) and len(kept.test):
            parts.append(kept)
    return Splits(splits.name, splits.kind, tuple(parts), len(rows), splits.seed)


def in_row_order(trial: Trial, splits: Splits) -> tuple[Ints, Answers | None]:
    """Rows that were answered, ascending, and the first answer for each."""
    done = [(s.test, a) for s, a in zip(splits, trial.answers, strict=False) if a is not None]
    if not done:
        return np.empty(0, dtype=np.int64), None
    rows, first = np.unique(np.concatenate([test for test, _ in done]), return_index=True)
    return rows, Answers.join([a for _, a in done]).rows(first)


# ----------------------------------------------------------------------------------------------------- changed problems


def replaced(problem: Problem, cells: Mapping[str, NDArray[Any]]) -> Problem | None:
    """The problem with other numbers in some columns; None where the table as given cannot be changed."""
    frame = _with_cells(problem.given, problem.raw.names, cells)
    if frame is None:
        return None
    columns = [
        RawColumn(c.name, "number", np.asarray(cells[c.name], dtype=np.float64)) if c.name in cells else c
        for c in problem.raw.columns
    ]
    raw = RawTable(columns, problem.n_rows, problem.raw.named, None, problem.raw.native)
    return replace(problem, raw=raw, given=frame)


def shuffled(problem: Problem, names: Sequence[str], seed: int = 0) -> Problem | None:
    """The problem with the cells of some columns in another order."""
    order = np.random.default_rng([seed, 5]).permutation(problem.n_rows)
    columns = [replace(c, values=c.values[order]) if c.name in names else c for c in problem.raw.columns]
    raw = RawTable(columns, problem.n_rows, problem.raw.named, None, problem.raw.native)
    frame = _with_cells(problem.given, problem.raw.names, dict.fromkeys(names), order)
    return None if frame is None else replace(problem, raw=raw, given=frame)


def narrowed(problem: Problem, names: Iterable[str]) -> Problem | None:
    """The problem with some of its columns."""
    wanted = set(names)
    places = [j for j, name in enumerate(problem.raw.names) if name in wanted]
    raw = RawTable(
        [problem.raw.columns[j] for j in places], problem.n_rows, problem.raw.named, None, problem.raw.native
    )
    if isinstance(problem.given, np.ndarray):
        frame: Any = problem.given[:, places]
    elif hasattr(problem.given, "iloc"):
        frame = problem.given.iloc[:, places]
    elif isinstance(problem.given, (RawTable, Mapping)):
        frame = raw
    else:
        return None
    kinds = None if problem.told is None else {k: v for k, v in problem.told.items() if k in wanted}
    return replace(problem, raw=raw, given=frame, told=kinds)


def _with_cells(frame: Any, names: Sequence[str], cells: Mapping[str, Any], order: NDArray[Any] | None = None) -> Any:
    """The table as the user gave it with other cells in some columns, or with their own cells in another ``order``."""
    places = [j for j, name in enumerate(names) if name in cells]
    if isinstance(frame, np.ndarray):
        out = frame.astype(np.float64) if order is None and frame.dtype.kind in "iufb" else frame.copy()
        for j in places:
            out[:, j] = frame[order, j] if order is not None else cells[names[j]]
        return out
    if hasattr(frame, "iloc"):
        out = frame.copy()
        for j in places:
            label = frame.columns[j]
            out[label] = frame[label].to_numpy()[order] if order is not None else cells[names[j]]
        return out
    # Ours read the raw table; what others would be given in this form cannot be rebuilt here.
    return frame if isinstance(frame, (RawTable, Mapping)) else None


def standardised_inside(problem: Problem, split: Split) -> tuple[Problem, Split]:
    """Numbers less their mean over their deviation, both of the training rows alone."""
    cells = {}
    for column in problem.raw.columns:
        if column.form not in ("number", "integer"):
            continue
        values = np.asarray(column.values, dtype=np.float64)
        known = values[split.train][np.isfinite(values[split.train])]
        spread = float(known.std()) if known.size else 0.0
        if spread > 0:
            cells[column.name] = (values - known.mean()) / spread
    changed = replaced(problem, cells)
    return (problem if changed is None else changed), split


def case_of_resampling(model: Any, name: str, resampling: Resampling, metric: Metric | None = None) -> Case:
    """The case of an evaluation that has been made; nothing is fitted again."""
    return Case(
        model, resampling.problem, resampling.splits, metric or USUAL[resampling.task][0],
        np.arange(resampling.problem.n_rows), measure=False, seed=resampling.splits.seed,
        scan_rows=LIGHT_ROWS, _base=resampling.trials.get(name),
    )  # fmt: skip
