"""``tilth.fairness``: who bears the errors of a model, and what in the data may be behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.declare import Light
from tilth.base.result import Result
from tilth.base.target import encode_labels
from tilth.data.infer import Kinds
from tilth.data.kinds import level_key
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.audit.case import in_row_order, narrowed
from tilth.evaluate.gaps import difference, largest_difference, share
from tilth.evaluate.grouping import Grouping, groupings, kinds_of
from tilth.evaluate.groups import LEAST, TOLERANCE, GroupScores, scores_of
from tilth.evaluate.intervals import Interval, wilson
from tilth.evaluate.population import SamplingBias, sampling_bias
from tilth.evaluate.problem import Problem, task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.proxies import Proxies, can_be_told, is_names, proxies, split_sensitive
from tilth.evaluate.resample import ask, resample
from tilth.evaluate.splits import make_splits
from tilth.quality.view import view_of
from tilth.words import listed, percent, plain, verb

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


# ----------------------------------------------------------------------------------------------- missing cells by group


@dataclass(frozen=True, eq=False)
class MissingByGroup:
    """Shares of missing cells by column and group; ``differs`` names the columns in which groups surely differ."""

    table: pd.DataFrame
    differs: tuple[tuple[str, str, Interval], ...]
    level: float

    def frame(self) -> pd.DataFrame:
        """One line per column, attribute and group."""
        return self.table

    def verdict(self) -> str:
        """Where cells are missing more often for some groups than for others."""
        if self.table.empty:
            return "No cell is missing."
        if not self.differs:
            return "Cells are not shown to be missing more often in one group than in another."
        named = [f"{column} by {attribute} ({gap})" for column, attribute, gap in self.differs]
        return f"Cells are missing more often in some groups: {listed(named, 4)}."


def missing_by_group(
    table: RawTable, made: Sequence[Grouping], *, kinds: Kinds = None, least: int = LEAST, level: float = 0.95
) -> MissingByGroup:
    """Missing cells of each column by group. Intervals of gaps hold for all columns and attributes at once."""
    import pandas as pd

    views = [] if table.is_sparse else [c for c in view_of(table, kinds=kinds).columns if c.n_missing]
    single = [g for g in made if len(g.columns) == 1]
    every = np.ones(table.n_rows, dtype=bool)
    lines, differs = [], []
    for view in views:
        for g in single:
            found = share("missing", view.missing, every, g.codes, g.size, None, None)
            low, high = found.bounds(level)
            for j, label in enumerate(g.labels):
                lines.append((view.name, g.name, label, int(found.rows[j]), found.value[j], low[j], high[j]))
            usable = found.rows >= least
            if usable.sum() >= 2:
                gap = largest_difference(found, usable, level, len(views) * len(single))
                if gap.low > 0:
                    differs.append((view.name, g.name, gap))
    differs.sort(key=lambda d: -d[2].value)
    names = ["column", "attribute", "group", "rows", "missing", "low", "high"]
    return MissingByGroup(pd.DataFrame(lines, columns=names), tuple(differs), level)


# ------------------------------------------------------------------------------------------------- errors of each class


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """Errors of each class, over all rows and in each group: what the 0/1 loss of all rows together hides.

    ``gap`` is the error of the rarest class less that of the other rows, with its interval.
    """

    table: pd.DataFrame
    rarest: Any
    gap: Interval
    share: float
    bears: float
    level: float

    @property
    def is_shown(self) -> bool:
        """Whether the rarest class is surely worse off."""
        return bool(self.gap.low > 0)

    def frame(self) -> pd.DataFrame:
        """One line per attribute, group and class: rows, share that is wrong with bounds."""
        return self.table

    def verdict(self) -> str:
        """Whether the errors fall on the rarest class."""
        if np.isnan(self.gap.value):
            return f"Too few rows of {self.rarest!s}, the rarest class, to estimate its error."
        if not self.is_shown:
            return f"{self.rarest!s}, the rarest class, is not shown to have more errors than the other rows."
        return (
            f"{self.rarest!s}, the rarest class ({percent(self.share)} of rows), bears {percent(self.bears)} of the "
            f"errors: its error is higher than that of other rows by {self.gap}. A small overall error "
            "hides it."
        )


def class_losses(
    answers: Answers, made: Sequence[Grouping], *, least: int = LEAST, level: float = 0.95
) -> ClassLosses | None:
    """The 0/1 loss of each class, in all rows and in each group; None for numbers."""
    import pandas as pd

    if answers.classes is None:
        return None
    labels = np.asarray(answers.classes).tolist()
    true, wrong = answers.true.astype(np.int64), np.asarray(answers.true != answers.given)
    every = np.ones(answers.n, dtype=bool)
    k = len(labels)
    unit = None if answers.group is None else np.unique(answers.group, return_inverse=True)[1].astype(np.int64)
    whole = Grouping((), ("(all rows)",), np.zeros(answers.n, dtype=np.int64))
    lines = []
    for g in [whole, *made]:
        found = share("error", wrong, every, g.codes * k + true, g.size * k, answers.weight, unit)
        low, high = found.bounds(level)
        for j in range(g.size * k):
            if found.rows[j] > 0:
                few = "too few" if found.rows[j] < least else ""
                lines.append((g.name, g.labels[j // k], labels[j % k], round(float(found.rows[j])), found.value[j],
                              low[j], high[j], few))  # fmt: skip
    counts = np.bincount(true, minlength=k)
    rare = int(np.where(counts > 0, counts, answers.n + 1).argmin())
    inside = true == rare
    two = share("error", wrong, every, inside.astype(np.int64), 2, answers.weight, unit)
    gap = Interval(np.nan, np.nan, np.nan, level, "too few rows", answers.n)
    if (two.rows >= least).all():
        gap = difference(two, 1, 0, level)
    names = ["attribute", "group", "class", "rows", "error", "low", "high", "note"]
    bears = float((wrong & inside).sum() / wrong.sum()) if wrong.any() else 0.0
    return ClassLosses(pd.DataFrame(lines, columns=names), labels[rare], gap, float(inside.mean()), bears, level)


# ------------------------------------------------------------------------------------------------------------- together


@dataclass(frozen=True, eq=False)
class Fairness(Result):
    """Scores by group and the gaps between them, and what may be behind: representation, missing cells, proxies."""

    scores: GroupScores
    losses: ClassLosses | None
    missing: MissingByGroup
    representation: SamplingBias | None
    proxies: tuple[Proxies, ...]
    shares: pd.DataFrame
    how: str

    def verdict(self) -> str:
        """Who bears the errors, in words."""
        return self.scores.verdict()

    def frame(self) -> pd.DataFrame:
        """The numbers of every group."""
        return self.scores.frame()

    def plot(self, attribute: str | None = None) -> Any:
        """The gaps, or the groups of one attribute; a matplotlib Figure."""
        return self.scores.plot(attribute)

    def sections(self) -> list[Section]:
        """The audit as pages of a report."""
        pages = self.scores.sections()
        pages[0].text = f"{pages[0].text}\n\n{self.how}"
        if self.losses is not None:
            light: Light = "warn" if self.losses.is_shown else ""
            text = f"{self.losses.verdict()}\n\nShare of wrong answers (0/1 loss) of each class."
            pages.append(
                Section("Which class bears the errors?", text, self.losses.frame(), light=light, folded=not light)
            )
        if self.representation is not None:
            pages += self.representation.sections()
        else:
            text = "Shares of the rows. Pass population= to compare them with the population concerned."
            pages.append(Section("Who is in the rows?", text, self.shares, folded=True))
        if not self.missing.frame().empty:
            light = "warn" if self.missing.differs else ""
            cure = (
                "Find out why. A cell that is missing more often for one group makes its answers worse, and filling it "
                "with the overall mean makes its rows look like those of others."
                if self.missing.differs
                else ""
            )
            pages.append(
                Section("Whose cells are missing?", self.missing.verdict(), self.missing.frame(), advice=cure,
                        light=light, folded=not light)
            )  # fmt: skip
        for found in self.proxies:
            pages += found.sections()
        return pages

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON-ready data."""
        out: dict[str, Any] = {
            "verdict": self.verdict(), "how": self.how, "scores": self.scores.to_dict(),
            "shares": self.shares.to_dict("records"),
            "missing": {"verdict": self.missing.verdict(), "cells": self.missing.frame().to_dict("records")},
            "proxies": [p.to_dict() for p in self.proxies],
        }  # fmt: skip
        if self.losses is not None:
            out["class_losses"] = {
                "verdict": self.losses.verdict(), "gap": self.losses.gap.to_dict(),
                "classes": self.losses.frame().to_dict("records"),
            }  # fmt: skip
        if self.representation is not None:
            out["representation"] = self.representation.to_dict()
        return plain(out)

    def __str__(self) -> str:
        lines = [str(self.scores), self.how]
        lines += [] if self.losses is None else [self.losses.verdict()]
        lines += [] if self.representation is None else [self.representation.verdict()]
        lines.append(self.missing.verdict())
        lines += [p.verdict() for p in self.proxies]
        return "\n".join(lines)


#: Fields of a protocol that have no meaning here: rows are split into folds, or not at all.
UNUSED = ("split", "repeats", "test_size", "time", "metrics", "timeout", "workers")


def fairness(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive: Any,
    positive: Any = None,
    population: Mapping[str, Mapping[Any, float]] | None = None,
    unaware: bool = False,
    least: int = LEAST,
    tolerance: float = TOLERANCE,
    bands: int = 4,
    intersections: bool = True,
    look_for_proxies: bool = True,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Fairness:
    """Compare what the groups of sensitive columns get from a model.

    Parameters
    ----------
    model : fitted, then asked about X, which should be rows it has not learned from; or, with ``folds``, any model: it
        is fitted on folds and asked about the rows left out.
    X, y : rows and target; ``y`` may name a column of X.
    sensitive : names of columns of X, or a table of its own with as many rows: the model need not know it.
    positive : the class that counts as selected; by default the last of two.
    population : shares of the groups among the people concerned, by column: ``{"sex": {"f": 0.5, "m": 0.5}}``.
    unaware : with ``folds``, leaves the sensitive columns out of what is learned from. Proxies may give them back.
    least, tolerance, bands, intersections : see :func:`tilth.evaluate.groups.by_group`.
    protocol, options : as for :func:`tilth.evaluate`: ``folds``, ``groups``, ``sample_weight``, ``kinds``, ``seed``,
        and ``level``, the confidence of the intervals; those of gaps hold for all groups, columns and criteria at once.

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load
    >>> credit = load("german_credit").frame
    >>> found = fairness(NaiveBayes(), credit, "credit_risk", sensitive="sex", positive="good", folds=5)
    >>> print(found.scores.gap("demographic parity").difference)
    0.117 [0.038, 0.200]
    """
    owner = "fairness"
    task = task_of_models({"the model": model}, owner)
    how = Protocol.of(protocol, options, owner, UNUSED)
    kinds = how.kinds
    rest, columns = split_sensitive(_learnable(X, y, how.groups), sensitive, None, owner)
    # What cannot be compared is refused before anything is fitted.
    groupings(columns, kinds=kinds_of(kinds, columns), bands=bands, intersections=False, owner=owner)
    problem = how.problem(X, y, task, owner)
    if how.folds is None:
        if unaware:
            raise ValueError(f"{owner}: a fitted model cannot unlearn a column; pass folds= to fit without it.")
        answers, source = _asked(model, problem, owner)
    else:
        if unaware and is_names(sensitive):
            learned = narrowed(problem, [n for n in problem.raw.names if n not in columns.names])
            if learned is None:
                raise TypeError(
                    f"{owner}: a {type(X).__name__} cannot be taken apart here; give the sensitive columns as a table "
                    "of their own, and X without them."
                )
            if not learned.raw.width:
                raise ValueError(f"{owner}: no column is left to learn from without the sensitive ones.")
            problem = learned
        answers, source = _over_folds(model, problem, how.folds, how.seed)
        if unaware:
            source += f" {listed(columns.names)} {verb(len(columns.names), 'was')} not learned from."
    return fairness_of(
        answers, rest, columns, positive=positive, population=population, level=how.level, least=least,
        tolerance=tolerance, bands=bands, intersections=intersections, look_for_proxies=look_for_proxies, kinds=kinds,
        seed=how.seed, how=source,
    )  # fmt: skip


def fairness_of(
    answers: Answers,
    X: Any,
    sensitive: Any,
    *,
    positive: Any = None,
    population: Mapping[str, Mapping[Any, float]] | None = None,
    level: float = 0.95,
    least: int = LEAST,
    tolerance: float = TOLERANCE,
    bands: int = 4,
    intersections: bool = True,
    look_for_proxies: bool = True,
    kinds: Kinds = None,
    seed: int = 0,
    how: str = "",
) -> Fairness:
    """The same for answers that are there already, one for each row of X (without the target)."""
    owner = "fairness"
    rest, columns = split_sensitive(X, sensitive, None, owner)
    if columns.n_rows != answers.n:
        raise ValueError(
            f"{owner} needs a sensitive value for each of the {answers.n} answers; found {columns.n_rows}."
        )
    told = kinds_of(kinds, columns)
    made, notes = groupings(columns, kinds=told, bands=bands, intersections=intersections, owner=owner)
    scores = scores_of(
        answers, made, positive=positive, level=level, least=least, tolerance=tolerance, notes=notes, owner=owner
    )
    single = [g for g in made if len(g.columns) == 1]
    look = look_for_proxies and bool(rest.columns) and all(can_be_told(g) for g in single)
    found = proxies(rest, columns, level=level, bands=bands, kinds=kinds, seed=seed) if look else []
    return Fairness(
        scores, class_losses(answers, made, least=least, level=level),
        missing_by_group(rest, made, kinds=kinds_of(kinds, rest), least=least, level=level),
        None if population is None else _represented(single, population, level, owner), tuple(found),
        _shares(made, level), how,
    )  # fmt: skip


def _learnable(X: Any, *others: Any) -> RawTable:
    """The table without the columns that others name: the target, and what says which rows belong together."""
    table = read(X)
    for name in others:
        table = table.without(name) if isinstance(name, str) else table
    return table


def _asked(model: Any, problem: Problem, owner: str) -> tuple[Answers, str]:
    """A fitted model about all rows."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(
            f"{owner} needs a fitted model, or folds= to fit it on; found {type(model).__name__}, not fitted."
        ) from None
    known = getattr(model, "feature_names_in_", None)
    if known is not None and problem.raw.named:
        # A sensitive column that the model has not seen is no column for it.
        kept = narrowed(problem, [n for n in problem.raw.names if n in set(map(str, known))])
        problem = problem if kept is None or not kept.raw.width else kept
    if problem.classes is not None:
        own = np.asarray(model.classes_)
        both = [problem.labels, own]
        if own.dtype.kind != np.asarray(problem.labels).dtype.kind:
            both = [np.asarray(v).astype(object) for v in both]
        classes, codes = encode_labels(np.concatenate(both))
        problem = replace(problem, classes=classes, target=codes[: problem.n_rows].astype(np.int64))
    return ask(model, problem, np.arange(problem.n_rows)), (
        f"Predictions of the fitted model for {problem.n_rows:,} rows; valid only if it was not trained on them."
    )


def _over_folds(model: Any, problem: Problem, folds: int, seed: int) -> tuple[Answers, str]:
    """Answers for every row by models that have not seen it."""
    splits = make_splits("k-fold", problem.target, task=problem.task, folds=folds, groups=problem.groups, seed=seed)
    found = resample({"the model": model}, problem, splits, train_scores=False, title="Predicting every group")
    rows, answers = in_row_order(found.trials["the model"], splits)
    if answers is None or len(rows) < problem.n_rows:
        failed = "; ".join(found.trials["the model"].failures.values())
        raise RuntimeError(f"fairness needs answers for every row; {type(model).__name__} failed in a fold: {failed}")
    return answers, f"Every row was predicted by a model not trained on it: {splits.name}."


def _represented(
    single: Sequence[Grouping], population: Mapping[str, Mapping[Any, float]], level: float, owner: str
) -> SamplingBias:
    """Shares of the groups beside those of the population; levels are compared as they are written."""
    import pandas as pd

    by_name = {g.columns[0]: g for g in single}
    for name in population:
        if name not in by_name:
            raise ValueError(f"{owner}: population names {name!r}; the sensitive columns are {listed(by_name)}.")
    margins = {
        name: {level_key(k): v for k, v in margin.items()} if isinstance(margin, Mapping) else margin
        for name, margin in population.items()
    }
    return sampling_bias(pd.DataFrame({n: by_name[n].words() for n in population}), margins, level=level)


def _shares(made: Sequence[Grouping], level: float) -> pd.DataFrame:
    """Rows and share of every group."""
    import pandas as pd

    lines = []
    for g in made:
        total = int(g.rows.sum())
        for label, n in zip(g.labels, g.rows.tolist(), strict=True):
            found = wilson(n, total, level)
            lines.append((g.name, label, n, found.value, found.low, found.high))
    return pd.DataFrame(lines, columns=["attribute", "group", "rows", "share", "low", "high"])
