"""Leaving a sensitive column out is not enough: how well the other columns give it back, one by one and together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tilth.base import Section
from tilth.base.columns import take_rows
from tilth.base.declare import Light
from tilth.base.result import Result
from tilth.data.infer import Kinds
from tilth.data.reading import read
from tilth.data.table import RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.audit.case import in_row_order
from tilth.evaluate.grouping import Grouping, chosen_columns, groupings, kinds_of, sensitive_table
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics.index import metric
from tilth.evaluate.problem import prepared
from tilth.evaluate.resample import resample
from tilth.evaluate.splits import make_splits
from tilth.models.ensembles.random_forest import RandomForestClassifier
from tilth.quality.scan import FOLDS, binned, folds_of, log_likelihood
from tilth.quality.view import view_of
from tilth.stats.bounds import wilson_bounds
from tilth.words import count, listed, percent, plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: What all columns together are called.
TOGETHER = "(all together)"
#: Rows used at most; beyond, some are drawn.
MOST_ROWS = 5_000
#: Rows needed before anything is said.
LEAST_ROWS = 30
#: A column that closes this share of the way from chance to certainty is a strong proxy, and a weak one.
STRONG, NOTED = 0.5, 0.1


@dataclass(frozen=True, eq=False)
class Proxy:
    """How well one column (or all) tells the groups: balanced accuracy and AUC on rows not learned from.

    The bounds of ``balanced`` hold for all columns of the list at once (Bonferroni).
    """

    column: str
    balanced: Interval
    auc: float
    chance: float

    @property
    def recovered(self) -> float:
        """Share of the way from chance to certainty: (balanced accuracy - chance) / (1 - chance)."""
        return (self.balanced.value - self.chance) / (1 - self.chance)

    @property
    def is_shown(self) -> bool:
        """Whether it is surely better than chance, and by enough to matter."""
        return self.balanced.low > self.chance and self.recovered >= NOTED


@dataclass(frozen=True, eq=False)
class Proxies(Result):
    """The columns that give a sensitive one back, best first, and what all of them do together."""

    sensitive: str
    groups: tuple[str, ...]
    columns: tuple[Proxy, ...]
    together: Proxy | None
    level: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    def chance(self) -> float:
        """What guessing gives: 1 / groups."""
        return 1 / len(self.groups)

    @property
    def confirmed(self) -> list[Proxy]:
        """Columns that are shown to tell the groups."""
        return [p for p in self.columns if p.is_shown]

    def frame(self) -> pd.DataFrame:
        """One line per column, and one for all together."""
        import pandas as pd

        every = [*([self.together] if self.together is not None else []), *self.columns]
        return pd.DataFrame(
            [
                {
                    "column": p.column, "balanced accuracy": p.balanced.value, "low": p.balanced.low,
                    "high": p.balanced.high, "chance": p.chance, "AUC": p.auc, "recovered": p.recovered,
                    "proxy": p.is_shown,
                }
                for p in every
            ]
        )  # fmt: skip

    def verdict(self) -> str:
        """The strongest proxies in words."""
        guess = f"guessing: {percent(self.chance)}"
        if not self.confirmed:
            text = f"No column is shown to reveal {self.sensitive} ({guess})."
        else:
            named = [
                f"{p.column} recovers {self.sensitive} with {percent(p.balanced.value)}" for p in self.confirmed[:3]
            ]
            more = (
                (f"; {count(len(self.confirmed) - 3, 'more column')} to a lesser degree")
                if len(self.confirmed) > 3
                else ""
            )
            text = f"{listed(named)}{more} (balanced accuracy; {guess})."
        if self.together is not None:
            b = self.together.balanced
            word = "recover" if self.together.is_shown else "are not shown to recover"
            text += (
                f" All columns together {word} it: {percent(b.value)} [{percent(b.low)}, {percent(b.high)}], AUC "
                f"{self.together.auc:.3f}."
            )
        return text

    @property
    def light(self) -> Light:
        """Strong proxies are a warning; a proxy by itself does no harm."""
        best = max((p.recovered for p in [*self.confirmed, *self._joint]), default=0.0)
        return "warn" if best >= STRONG else "" if best > 0 else "good"

    @property
    def _joint(self) -> list[Proxy]:
        return [self.together] if self.together is not None and self.together.is_shown else []

    def plot(self) -> Any:
        """Balanced accuracy of the best columns on their intervals, beside chance; a matplotlib Figure."""
        from tilth.plot.leaderboard import leaderboard

        every = [*([self.together] if self.together is not None else []), *self.columns[:12]]
        ends = [(p.balanced.value, p.balanced.low, p.balanced.high) for p in every]
        return leaderboard(
            [p.column for p in every], ends, [np.empty(0)] * len(every), f"balanced accuracy for {self.sensitive}",
            baseline=self.chance, level=self.level,
        )  # fmt: skip

    def sections(self) -> list[Section]:
        """The proxies as a page of a report."""
        cure = (
            f"Leaving {self.sensitive} out does not hide it from the model. Check for each strong proxy whether there "
            "is a legitimate reason to use it."
            if self.confirmed or self._joint
            else ""
        )
        how = (
            "Single columns: naive Bayes on their bins, cross-validated; together: a random forest over "
            f"folds. Intervals at {self.level:.0%} for all columns at once. {' '.join(self.notes)}"
        ).strip()
        return [
            Section(f"Proxies of {self.sensitive}", f"{self.verdict()}\n\n{how}", self.frame(), figure=self.plot,
                    advice=cure, light=self.light)
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The proxies as JSON-ready data."""
        return plain(
            {
                "sensitive": self.sensitive, "groups": list(self.groups), "chance": self.chance, "rows": self.n,
                "verdict": self.verdict(), "columns": self.frame().to_dict("records"), "level": self.level,
                "notes": list(self.notes),
            }
        )  # fmt: skip

    def remarks(self) -> list[str]:
        """What could not be told."""
        return list(self.notes)

    def shown(self) -> pd.DataFrame:
        """The strongest columns."""
        return self.frame().head(12)


def proxies(
    X: Any,
    sensitive: Any,
    *,
    names: Sequence[str] | None = None,
    folds: int = 5,
    together: bool = True,
    level: float = 0.95,
    bands: int = 4,
    kinds: Kinds = None,
    seed: int = 0,
) -> list[Proxies]:
    """How well the other columns tell each sensitive one, on rows not learned from, against chance.

    Balanced accuracy is the mean over groups of the share that is recognised, so that a small group counts as much as a
    large one; guessing gives 1 / groups. Each column alone is judged by a naive Bayes of its values or bins learned
    from the other folds, all together by a random forest.

    Parameters
    ----------
    X : the columns a model may learn from; without the target.
    sensitive : names of columns of X, which are then not used to tell each other; or a table of their own.
    together : whether the forest of all columns is grown too; it is what costs time.
    bands : into how many bands a sensitive number is cut. Rows without a sensitive value are left out.

    >>> from tilth.data.datasets import load
    >>> credit = load("german_credit").frame
    >>> found = proxies(credit, "sex", together=False)[0]
    >>> found.columns[0].column, round(found.columns[0].balanced.value, 3)
    ('personal_status', 1.0)
    """
    owner = "proxies"
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise ValueError(f"{owner}: folds must be a whole number of at least 2; got {folds!r}.")
    table, columns = split_sensitive(X, sensitive, names, owner)
    if not table.width or table.is_sparse:
        problem = "a sparse matrix, which has no columns to name" if table.is_sparse else "none"
        raise ValueError(f"{owner} needs a table with columns besides the sensitive ones; found {problem}.")
    all_groupings, _ = groupings(columns, kinds=kinds_of(kinds, columns), bands=bands, intersections=False, owner=owner)
    return [
        _of_one(table, g, folds=folds, together=together, level=level, kinds=kinds_of(kinds, table), seed=seed)
        for g in all_groupings
    ]


def split_sensitive(X: Any, sensitive: Any, names: Sequence[str] | None, owner: str) -> tuple[RawTable, RawTable]:
    """The table without its sensitive columns, and these; ``sensitive`` names columns of X or is a table itself."""
    table = read(X)
    if is_names(sensitive):
        if table.is_sparse:
            raise ValueError(f"{owner}: a sparse matrix has no names; give the sensitive columns as a table.")
        wanted = chosen_columns(table, sensitive, owner)
        kept = [c for c in table.columns if c.name not in wanted]
        own = [table.column(n) for n in wanted]
        return (
            RawTable(kept, table.n_rows, table.named, None, table.native),
            RawTable(own, table.n_rows, True, None, table.native),
        )
    columns = sensitive_table(sensitive, names, owner)
    if columns.n_rows != table.n_rows:
        raise ValueError(
            f"{owner} needs a sensitive value for each of the {table.n_rows} rows; found {columns.n_rows}."
        )
    return table, columns


def is_names(sensitive: Any) -> bool:
    """Whether sensitive columns are said by name: one text, or a short list of texts."""
    if isinstance(sensitive, str):
        return True
    return isinstance(sensitive, (list, tuple)) and all(isinstance(s, str) for s in sensitive)


def can_be_told(grouping: Grouping, folds: int = 5) -> bool:
    """Whether there are rows enough, of two groups that every fold can hold, to learn who is who."""
    known = grouping.codes[grouping.known()]
    counts = np.bincount(known, minlength=grouping.size)
    large = counts >= folds
    return bool(large.sum() >= 2 and counts[large].sum() >= LEAST_ROWS)


def _of_one(
    table: RawTable, grouping: Grouping, *, folds: int, together: bool, level: float, kinds: Kinds, seed: int
) -> Proxies:
    if not can_be_told(grouping, folds):
        raise ValueError(
            f"proxies needs {LEAST_ROWS} rows, of two groups of {grouping.name!r} with {folds} rows each; found "
            f"{grouping.rows.tolist()} rows of {listed(grouping.labels)}. Collect more rows, or join groups."
        )
    notes = []
    rows = np.flatnonzero(grouping.known())
    if len(rows) > MOST_ROWS:
        every, rows = len(rows), _drawn(rows, grouping, seed)
        notes.append(f"{len(rows):,} of {every:,} rows were used.")
    present, y = np.unique(grouping.codes[rows], return_inverse=True)
    counts = np.bincount(y)
    # A group that not every fold can hold cannot be learned.
    kept = np.flatnonzero(counts >= folds)
    if len(kept) < len(present):
        few = [grouping.labels[int(present[i])] for i in np.flatnonzero(counts < folds)]
        notes.append(f"Groups of fewer than {folds} rows were left out: {listed(few)}.")
        stays = np.isin(y, kept)
        rows, y = rows[stays], np.searchsorted(kept, y[stays])
    groups = tuple(grouping.labels[int(present[i])] for i in kept)
    part = take_rows(table, rows)
    views = [c for c in view_of(part, kinds=kinds).columns if c.n_distinct > 1]
    tests = max(len(views), 1)
    fold = folds_of(len(y))
    alone = []
    for view in views:
        score = log_likelihood(binned(view), y, len(groups), fold)
        answers = Answers(y, score.argmax(axis=1), softmax(score, axis=1), classes=np.array(groups, dtype=object))
        alone.append(_proxy(view.name, answers, level, tests, FOLDS))
    alone.sort(key=lambda p: -p.balanced.value)
    joint = None
    if together:
        joint = _together(part, np.array(groups, dtype=object)[y], folds, level, kinds, seed)
    return Proxies(grouping.name, groups, tuple(alone), joint, level, len(rows), tuple(notes))


def _drawn(rows: NDArray[np.int64], grouping: Grouping, seed: int) -> NDArray[np.int64]:
    """About ``MOST_ROWS`` of the rows, of every group in proportion, but of none fewer than are needed to tell it."""
    dealt = np.random.default_rng(seed).permutation(rows)
    dealt = dealt[np.argsort(grouping.codes[dealt], kind="stable")]
    own = grouping.codes[dealt]
    counts = np.bincount(own, minlength=grouping.size)
    place = np.arange(len(dealt)) - (np.cumsum(counts) - counts)[own]
    return np.sort(dealt[place < np.maximum(np.ceil(counts * MOST_ROWS / len(rows)), LEAST_ROWS)[own]])


def _together(part: RawTable, labels: NDArray[Any], folds: int, level: float, kinds: Kinds, seed: int) -> Proxy:
    """A forest of all columns over folds; the answer is the group whose probability exceeds its share the most, or
    small ones would never be named.
    """
    problem = prepared(part, labels, task="classification", kinds=kinds, owner="proxies")
    dates = {c.name: "date" for c in part.columns if c.form == "date"}
    problem = replace(problem, told=dates | (problem.told or {}))  # a date nobody spoke of may still tell the groups
    splits = make_splits("k-fold", problem.target, folds=folds, seed=seed)
    forest = RandomForestClassifier(n_estimators=60, min_samples_leaf=3, random_state=seed)
    done = resample({TOGETHER: forest}, problem, splits, train_scores=False, workers=1, title="Looking for proxies")
    _, answers = in_row_order(done.trials[TOGETHER], splits)
    assert answers is not None
    assert answers.probability is not None
    shares = np.bincount(problem.target) / problem.n_rows
    return _proxy(TOGETHER, replace(answers, given=(answers.probability / shares).argmax(axis=1)), level, 1, folds)


def _proxy(name: str, answers: Answers, level: float, tests: int, folds: int) -> Proxy:
    """Mean recall of the groups; its bounds are made of Wilson's (square and add), at a level at which all tests hold.

    Rows that are tested in one fold are learned from in the others, and a chance likeness counts on both sides: J folds
    vary as 1 + J / (J - 1) times fewer rows would (Nadeau and Bengio 2003).
    """
    k = len(np.asarray(answers.classes))
    true = answers.true.astype(np.int64)
    counts = np.bincount(true, minlength=k)
    recall = np.bincount(true, answers.given == answers.true, minlength=k) / counts
    rows = counts / (1 + folds / (folds - 1))
    low, high = wilson_bounds(recall * rows, rows, 1 - (1 - level) / tests)
    value = float(recall.mean())
    down, up = (float(np.sqrt(((recall - end) ** 2).sum())) / k for end in (low, high))
    interval = Interval(value, value - down, value + up, level, "square and add of Wilson bounds", answers.n)
    return Proxy(name, interval, metric("AUC").score(answers), 1 / k)
