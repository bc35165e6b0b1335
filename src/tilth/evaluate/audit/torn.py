"""What belongs together on both sides of a split: rows of one person, and rows of the future."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.audit.case import Case, shuffled
from tilth.evaluate.audit.finding import Doubt, Effect
from tilth.evaluate.problem import Problem
from tilth.evaluate.splits import Split, Splits, make_splits
from tilth.quality.column import ColumnView
from tilth.words import percent

Ints = NDArray[np.int64]

#: Words in the names of columns that say who or what a row belongs to.
GROUP_NAME = re.compile(
    r"(?i:(^|[_\s.-])(patient|person|subject|user|customer|client|household|family|group|session|student|employee|"
    r"account|device|machine|sensor|ticket|owner|speaker|author|site|case|hospital|store|vin|member|id|key)s?([_\s.-]|$))"
    r"|[a-z]I[dD]$"
)
TIME_NAME = re.compile(
    r"(^|[_\s.-])(date|time|timestamp|datetime|year|week|period|epoch|hour_index|day_index|created|updated)([_\s.-]|$)",
    re.I,
)
#: Rows per group: fewer are hardly a group, more are a level.
FEW_ROWS, MANY_ROWS = 1.3, 60
#: Groups that the grouped folds need, candidates that are measured, and blocks of time.
LEAST_GROUPS, CANDIDATES, BLOCKS = 20, 2, 3
#: Stretches of time that are drawn together for an interval: rows beside each other are not independent.
STRETCHES = 40


@dataclass(frozen=True, eq=False)
class Torn:
    """How many test rows have something in common with training rows that should not be on both sides."""

    rows: int
    of: int

    @property
    def share(self) -> float:
        """As a share of the test rows."""
        return self.rows / max(1, self.of)


def torn_apart(splits: Splits, code: NDArray[Any]) -> Torn:
    """Test rows whose code also occurs among their training rows."""
    hit = sum(int(np.isin(code[p.test], code[p.train]).sum()) for p in splits)
    return Torn(hit, sum(len(p.test) for p in splits))


def torn_groups(case: Case) -> Iterator[Doubt]:
    """Rows of one group (a person, a family, a machine) in training and in test; grouped folds show what that is worth.

    Groups are those given, or columns whose values repeat a few times each under a telling name, as text or as codes.
    """
    if case.problem.groups is not None:
        code = np.unique(case.problem.groups, return_inverse=True)[1]
        yield from _torn_group(case, "groups", (), code, given=True)
        return
    if case.problem.time is not None:
        return
    for column in group_columns(case)[:CANDIDATES]:
        codes = column.codes
        # Cells without a value belong to nobody: each is a group of its own.
        alone = np.arange(len(codes)) + column.n_distinct + (len(column.raw.levels) if column.is_coded else 0)
        code = np.unique(np.where(codes < 0, alone, codes), return_inverse=True)[1]
        yield from _torn_group(case, column.name, (column.name,), code, given=False)


def _torn_group(case: Case, name: str, columns: tuple[str, ...], code: Ints, *, given: bool) -> Iterator[Doubt]:
    torn = torn_apart(case.splits, code)
    if torn.share < 0.01:
        return
    named = given or bool(GROUP_NAME.search(name))
    effect = _grouped_effect(case, code[case.rows], None if named else columns)
    if not given and (effect is None or not effect.sure):
        if effect is None and named:
            yield Doubt(
                "info", columns,
                f"{name} may identify rows that belong together, and {percent(torn.share)} of test rows share it with "
                "training rows",
                {"rows_torn": torn.rows, "share": torn.share, "groups": int(code.max()) + 1},
                f"If new rows will have new values of it, pass groups={name!r}; tilth.audit then measures the effect.",
                consequence="If so, the model may recognise the group instead of learning a pattern.",
            )  # fmt: skip
        return
    consequence = effect.words("when groups are kept together") + "." if effect else ""
    yield Doubt(
        "serious" if effect is None or effect.sure else "warning",
        columns,
        f"{percent(torn.share)} of test rows have rows of the same {'group' if given else name} in training",
        {"rows_torn": torn.rows, "share": torn.share, "groups": int(code.max()) + 1,
         **(effect.evidence() if effect else {})},
        "Split by groups: groups= in tilth.evaluate, GroupKFold in scikit-learn."
        if given
        else f"If new rows will come with new values of {name}, split by it: groups={name!r}.",
        consequence=consequence or "The model may recognise the group instead of learning a pattern.",
    )  # fmt: skip


def _grouped_effect(case: Case, code: Ints, hidden: tuple[str, ...] | None) -> Effect | None:
    """What grouped folds change. ``hidden`` columns are shuffled in both plans: levels of an ordinary column, which
    grouped folds would make unknown, must not be taken for persons that the other columns give away.
    """
    if not case.measure:
        return None
    title = "Scoring with groups kept together"
    n_groups = len(np.unique(code))
    if len(case.plan) == 1:

        def change(problem: Problem, split: Split) -> tuple[Problem, Split]:
            kept = split.train[~np.isin(code[split.train], code[split.test])]
            return problem, Split(kept if len(kept) >= 0.3 * len(split.train) else split.train, split.test)

        return case.effect(change, title, groups=code)
    folds = min(max(2, len(case.plan)), 5)
    if n_groups < 2 * folds:
        return None
    grouped = make_splits("k-fold", case.small.target, task=case.task, folds=folds, groups=code, seed=case.seed)
    if hidden is None:
        return case.effect(lambda p, s: (p, s), title, splits=grouped, groups=code)
    return case.effect_between(case.plan, grouped, title, code, shuffled(case.small, hidden, case.seed))


def group_columns(case: Case) -> list[ColumnView]:
    """Columns that may say which rows belong together, the likeliest first."""
    if case.view is None:
        return []
    n = case.view.n_rows
    candidates: list[tuple[float, ColumnView]] = []
    for column in case.view.columns:
        if case.in_haste and not (column.is_coded or GROUP_NAME.search(column.name)):
            continue
        known = n - column.n_missing
        if column.n_distinct < LEAST_GROUPS or known < 0.2 * n or column.raw.form == "date":
            continue
        each = known / column.n_distinct
        if not FEW_ROWS <= each <= MANY_ROWS or column.distinct[1].max() > 0.2 * n:
            continue
        named = bool(GROUP_NAME.search(column.name))
        text = column.is_coded
        whole = column.is_number and bool((column.distinct[0] == np.floor(column.distinct[0])).all())
        if named or text:
            candidates.append((2.0 * named + text, column))
        elif whole and _blocks(column):
            candidates.append((0.5, column))
    return [column for _, column in sorted(candidates, key=lambda pair: -pair[0])]


def _blocks(column: ColumnView) -> bool:
    """Whether equal values stand side by side in the file, as rows of one person often do, without being sorted."""
    values = column.numbers
    if column.n_missing or len(values) < 20:
        return False
    same = values[1:] == values[:-1]
    expected = float(((column.distinct[1] / len(values)) ** 2).sum())
    steps = np.diff(values)
    is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
    return bool(same.mean() > 0.3 and same.mean() > 10 * expected) or (
        is_sorted and column.n_distinct < 0.5 * len(values)
    )


# ----------------------------------------------------------------------------------------------------------------- time


def torn_time(case: Case) -> Iterator[Doubt]:
    """Training rows later than the test rows, in a table with an order in time that matters.

    Blocks in order of time are tested twice: by models of the rows before, and by models of as many rows from any time.
    """
    for name, order, stated in _orders(case)[:CANDIDATES]:
        later = _later(case.splits, order)
        if later < 0.01:
            continue
        columns = () if stated else (name,)
        effect = _time_effect(case, order[case.rows])
        if effect is not None and effect.sure:
            yield Doubt(
                "serious",
                columns,
                f"rows are ordered by {name}, and the score comes from training rows later than the test rows",
                {"share_of_pairs_later": later, **effect.evidence()},
                "Test on what comes next: time= in tilth.evaluate, TimeSeriesSplit in scikit-learn.",
                consequence=effect.words("when as many rows, all earlier than the test rows, are learned from") + ".",
            )
        elif stated or (effect is None and not case.measure and _is_date(case, name)):
            yield Doubt(
                "warning" if stated else "info",
                columns,
                f"{percent(later)} of training rows are later than the test rows" + ("" if stated else f" by {name}"),
                {"share_of_pairs_later": later, **(effect.evidence() if effect else {})},
                "Test on what comes next: time= in tilth.evaluate, TimeSeriesSplit in scikit-learn.",
                consequence=effect.words("when only earlier rows are learned from") + "."
                if effect
                else "If the rows depend on their neighbours in time, the score is better than future scores will be.",
            )


def _is_date(case: Case, name: str) -> bool:
    return case.view is not None and case.view.column(name).raw.form == "date"


def _orders(case: Case) -> list[tuple[str, NDArray[np.float64], bool]]:
    """What orders the rows in time: what was given, dates, and columns that never fall from row to row."""
    if case.problem.time is not None:
        code = np.unique(case.problem.time, return_inverse=True)[1]
        return [("time", code.astype(np.float64), True)]
    if case.view is None or case.problem.n_rows < 50:
        return []
    candidates = []
    for column in case.view.columns:
        if column.n_missing or not (column.raw.form == "date" or column.is_number):
            continue
        steps = np.diff(column.numbers)
        rising = bool((steps >= 0).all()) or bool((steps <= 0).all())
        named = bool(TIME_NAME.search(column.name))
        if not (rising or named or column.raw.form == "date") or column.n_distinct < 10:
            continue
        if column.raw.form == "date" or (named and column.n_distinct >= 20):
            candidates.append((2 + rising, column))
        elif rising and column.n_distinct > 0.5 * case.problem.n_rows and not (steps == 1).all():
            candidates.append((1, column))
    return [(c.name, c.numbers, False) for _, c in sorted(candidates, key=lambda pair: -pair[0])]


def _later(splits: Splits, order: NDArray[Any]) -> float:
    """Share of training rows that are later than the middle of their test rows."""
    shares = [float((order[p.train] > np.median(order[p.test])).mean()) for p in splits]
    return float(np.mean(shares))


def _time_effect(case: Case, order: NDArray[np.float64]) -> Effect | None:
    """Models of earlier rows against models of as many rows from any time, on the same test rows."""
    if not case.measure or len(np.unique(order)) <= BLOCKS + 1:
        return None
    forward = make_splits(
        "time", case.small.target, task=case.task, folds=BLOCKS, time=order, groups=case.small.groups, seed=case.seed
    )
    if case.small.classes is not None:
        for part in forward:  # a file sorted by class has no order in time to be judged by
            new = np.setdiff1d(case.small.target[part.test], case.small.target[part.train])
            if (
                len(np.unique(case.small.target[part.train])) < 2
                or np.isin(case.small.target[part.test], new).mean() > 0.05
            ):
                return None
    rng = np.random.default_rng([case.seed, 7])
    mixed = []
    for part in forward:
        others = np.setdiff1d(np.arange(case.small.n_rows), part.test)
        mixed.append(Split(np.sort(rng.choice(others, len(part.train), replace=False)), part.test, 0, part.fold))
    any_time = Splits("rows of any time", "given", tuple(mixed), case.small.n_rows, case.seed)
    stretch = np.argsort(np.argsort(order, kind="stable"), kind="stable") * STRETCHES // len(order)
    return case.effect_between(any_time, forward, "Scoring in order of time", stretch, case.small)
