"""Permutation importance: what the score loses when a column's values are shuffled."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from tilth import progress
from tilth.base import Section
from tilth.base.result import Result
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import USUAL, Metric
from tilth.evaluate.metrics import metric as metric_of
from tilth.evaluate.metrics.regression import MAE
from tilth.explain.association import MOST_COLUMNS, MOST_PAIRS, alike, level_pairs
from tilth.explain.shuffling import Loss, Shuffling, Tally
from tilth.explain.subject import Subject, subject_of
from tilth.words import count, listed, plain, readable

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: With a limit of time: shuffles of the first round, and rows that are kept at least.
FIRST_ROUND = 2
LEAST_ROWS = 200
#: Share of the time that the first round may be expected to take, and pairs of columns that a second is spent on.
SHARE = 0.7
PAIRS_PER_SECOND = 200

MATTERS, WITH_OTHERS, NOT_SHOWN, UNUSED, NOT_REACHED = (
    "matters", "matters with", "not shown to matter", "no answer depends on it", "not reached",
)  # fmt: skip


#: What shuffling does to the answers of a model that has no target.
CHANGE = Metric(
    "change of the score", "anomaly", lambda a: np.abs(a.true - a.given)[:, None], higher_is_better=False,
    bounds=(0, np.inf), meaning="mean absolute change of the model's own score",
)  # fmt: skip
KEPT = Metric(
    "kept clusters", "clustering", lambda a: (a.true == a.given)[:, None].astype(np.float64), bounds=(0, 1), share=True,
    meaning="share of the rows that keep their cluster",
)  # fmt: skip


@dataclass(eq=False)
class Importance(Result):
    """How much a model's score depends on each of the user's columns, on the rows given.

    ``alone`` are the columns one by one, ``together`` columns that tell the same, shuffled as one, and ``rest`` all
    columns together that are not shown to matter by themselves.
    """

    model: str
    metric: Metric
    score: Interval
    alone: list[Loss]
    together: list[Loss] = field(default_factory=list)
    rest: Loss | None = None
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    level: float = 0.95
    n: int = 0

    def __getitem__(self, column: str) -> Loss:
        for loss in self.alone:
            if loss.names == (column,):
                return loss
        raise KeyError(f"No importance of {column!r}; measured: {listed(x.names[0] for x in self.alone)}.")

    def status(self, column: str) -> str:
        """What is shown of a column.

        "matters", "matters with ..." where columns that tell the same matter only together, "not shown to matter"
        (or not "beside" one of these that does), "no answer depends on it", "not reached".
        """
        if column in self.skipped:
            return NOT_REACHED
        own = self[column]
        if own.matters:
            return MATTERS
        group = self._set_of(column)
        shown = [n for n in group.names if n not in self.skipped and self[n].matters] if group is not None else []
        if group is not None and group.matters and not shown:
            return f"{WITH_OTHERS} {listed(n for n in group.names if n != column)}"
        if not own.used:
            return UNUSED
        return f"{NOT_SHOWN} beside {listed(shown)}" if shown else NOT_SHOWN

    def _set_of(self, column: str) -> Loss | None:
        """The columns that tell the same as this one."""
        return next((g for g in self.together if column in g.names), None)

    @property
    def matter(self) -> list[str]:
        """Columns that matter, by themselves or with others that tell the same; the most important first."""
        return [c for c in self.order() if self.status(c).startswith(MATTERS)]

    def order(self) -> list[str]:
        """Columns, the most important first; of columns that tell the same the first stands for all of them."""
        value = {loss.names[0]: loss.interval.value for loss in self.alone}
        for group in self.together:
            first = max(group.names, key=lambda n: value.get(n, -np.inf))
            value[first] = max(value.get(first, -np.inf), group.interval.value)
        return sorted(value, key=lambda n: -value[n])

    def top(self, most: int) -> list[str]:
        """The first few columns that some answer depends on."""
        return [c for c in self.order() if self.status(c) != UNUSED][:most]

    def frame(self) -> pd.DataFrame:
        """One line per column, then per set of columns shuffled together: loss, interval, noise, what it comes to."""
        import pandas as pd

        rows = [(self[c], c, self.status(c)) for c in self.order()]
        rows += [(g, " + ".join(g.names), MATTERS if g.matters else NOT_SHOWN) for g in self.together]
        if self.rest is not None:
            rows.append((self.rest, f"the other {len(self.rest.names)}", MATTERS if self.rest.matters else NOT_SHOWN))
        numbers = [
            (name, loss.interval.value, loss.interval.low, loss.interval.high, loss.noise, loss.shuffles, status)
            for loss, name, status in rows
        ]
        numbers += [(c, np.nan, np.nan, np.nan, np.nan, 0, NOT_REACHED) for c in self.skipped]
        return pd.DataFrame(
            numbers, columns=["column", "importance", "low", "high", "noise reaches", "shuffles", "verdict"]
        )

    def verdict(self) -> str:
        """Which columns matter, in words."""
        if not self.alone:
            return "No column was measured in time."
        shown, total = self.matter, len(self.alone) + len(self.skipped)
        if not shown:
            text = f"None of {count(total, 'column')} is shown to matter to the {self.metric.name} of {self.model}."
        else:
            first = ", ".join(f"{c} ({self._words(c)})" for c in shown[:3])
            text = (
                f"{len(shown)} of {count(total, 'column')} {'is' if len(shown) == 1 else 'are'} shown to matter to the "
                f"{self.metric.name} of {self.model}: {first}{f' and {len(shown) - 3} more' if len(shown) > 3 else ''}."
            )
        if self.rest is not None:
            many = f"the other {len(self.rest.names)}"
            text += (
                f" No single one of {many} is essential because they overlap; together they carry signal: "
                f"{_signed(self.rest.interval)}."
                if self.rest.matters
                else f" Even shuffled together, {many} are not shown to matter: {_signed(self.rest.interval)}."
            )
        return text + (f" {count(len(self.skipped), 'column')} not reached in time." if self.skipped else "")

    def _words(self, column: str) -> str:
        loss, status = self[column], self.status(column)
        if status != MATTERS:
            group = self._set_of(column)
            assert group is not None
            return f"{status.removeprefix('matters ')}: {_signed(group.interval)}"
        return _signed(loss.interval)

    def how(self) -> str:
        """How the numbers came about."""
        verb = "falls" if self.metric.higher_is_better else "rises"
        methods = sorted({loss.interval.method for loss in self.alone})
        text = (
            f"How far the {self.metric.name} ({readable(self.score.value)} on {count(self.n, 'row')}) {verb} when a "
            "column's values are shuffled. Use rows the model was not trained on: on training rows it would only "
            "show memorisation.\n\n"
            f"Intervals of {self.level:.0%}: {', '.join(methods)}; the interval covers both sources of chance, the "
            "rows and the shuffling. 'noise reaches' is what a column of pure noise would lose by chance 19 times out "
            "of 20. A column matters when its loss is above the noise and its interval, adjusted for the number of "
            "columns, is above 0."
        )
        if self.together:
            text += " Columns that carry the same information replace each other, so they are also shuffled together."
        return "\n\n".join([text, *self.notes])

    @property
    def advice(self) -> str:
        """What to do about columns that are not shown to matter."""
        if all(self.status(loss.names[0]).startswith(MATTERS) for loss in self.alone):
            return ""
        return (
            "'Not shown to matter' applies to this model and these rows only. Before dropping a column, fit again "
            "without it and compare the scores (tilth.BackwardElimination does)."
        )

    def plot(self, most: int = 20) -> Any:
        """Losses with their intervals, and beside each what noise would reach; a matplotlib Figure."""
        from tilth.plot.explain import importance_intervals

        order = self.order()[:most]
        shown = [self[c] for c in order] + self.together + ([self.rest] if self.rest is not None else [])
        names = order + [" + ".join(g.names) for g in self.together]
        names += [f"the other {len(self.rest.names)}"] if self.rest is not None else []
        strong = [self.status(c).startswith(MATTERS) for c in order] + [loss.matters for loss in shown[len(order) :]]
        ends = np.array([(s.interval.value, s.interval.low, s.interval.high, s.noise) for s in shown]).reshape(-1, 4)
        verb = "falls" if self.metric.higher_is_better else "rises"
        return importance_intervals(
            names, ends[:, :3], ends[:, 3], strong, len(order), f"{self.metric.name} {verb} by", self.level
        )

    def to_dict(self) -> dict[str, Any]:
        """The importance as JSON-ready data."""
        return plain(
            {
                "model": self.model, "metric": self.metric.name, "score": self.score.to_dict(), "rows": self.n,
                "level": self.level, "verdict": self.verdict(), "columns": self.frame().to_dict("records"),
                "together": [list(g.names) for g in self.together], "skipped": self.skipped, "notes": self.notes,
                "rest": None if self.rest is None else list(self.rest.names),
            }
        )  # fmt: skip

    def remarks(self) -> list[str]:
        """What could not be told."""
        return list(self.notes)

    def sections(self) -> list[Section]:
        """The importance as a page of a report."""
        text = f"{self.verdict()}\n\n{self.how()}"
        return [Section("What the model relies on", text, self.frame(), figure=self.plot, advice=self.advice)]


def _signed(interval: Interval) -> str:
    return f"{interval.value:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"


def permutation_importance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    metric: str | Metric | None = None,
    repeats: int = 5,
    groups_above: float | None = 0.9,
    seed: int = 0,
    rows: int | None = None,
    seconds: float | None = None,
    level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
) -> Importance:
    """What a model's score loses when the values of one of the user's columns are shuffled.

    Use rows the model was not trained on: on training rows it would only show memorisation.

    Parameters
    ----------
    model : any fitted model that answers new rows, ours or scikit-learn's, also a pipeline.
    X, y : rows and their target as for ``fit``; ``y`` may name a column of X. A detector, clusterer or density needs
        none: without y its answers are compared with those it gives when nothing is shuffled.
    metric : name of a measure, or a measure; default accuracy, RMSE, AUC (anomalies) or ARI (clusters); without y the
        mean change of the score, or the share of rows that keep their cluster.
    repeats : shuffles of each column.
    groups_above : columns associated at least so strongly (Spearman's r, eta, Cramer's V) are also shuffled together,
        because each alone looks useless while the other is left. None: no such sets.
    rows : most rows used, drawn at random; None: all.
    seconds : time after which no new column is begun; what is done is kept, and what is missing is said. Where even two
        shuffles of every column will not fit, fewer rows are used.
    sample_weight, groups : weights of the rows, and which rows belong together; intervals take both into account.
        Shuffling itself takes no notice of them: any row may give its cells to any other.

    Refused: sparse matrices, models of several targets.

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = NaiveBayes().fit(iris[::2], "species")
    >>> found = permutation_importance(model, iris[1::2], "species")
    >>> found.matter, found.status("sepal_width")
    (['petal_length', 'petal_width'], 'not shown to matter')
    >>> print(found["petal_width"].interval)
    0.317 [0.229, 0.405]
    """
    start = clock.monotonic()
    owner = "permutation_importance"
    _require(repeats, groups_above, rows, seconds, level)
    if y is None and (is_classifier(model) or is_regressor(model)):
        raise ValueError(f"{owner} measures a loss of score, which needs the true answers: give y, or a column's name.")
    subject = subject_of(model, X, y, owner=owner, sample_weight=sample_weight, groups=groups)
    usual = USUAL.get(subject.task, (MAE,))[0]
    if y is None:
        if metric is not None:
            raise ValueError(f"{owner}: {_title(metric)} compares answers with the true ones; give y, or no metric.")
        usual = KEPT if subject.says == "answer" else CHANGE
        subject = subject.against_itself()
    if subject.n < 2:
        raise ValueError(f"{owner} shuffles values among rows, so it needs at least 2 rows; got {subject.n}.")
    chosen = usual if metric is None else metric_of(metric, task=subject.task)
    notes: list[str] = []
    if rows is not None and rows < subject.n:
        notes.append(f"{count(rows, 'row')} of {subject.n:,}, drawn at random.")
        subject = subject.take(subject.sample(rows, seed))
    sets = _sets(subject, groups_above, seed, seconds, notes)
    work = Shuffling(subject, chosen, seed, level)
    began = clock.monotonic()
    _require_score(work, owner)
    if seconds is not None:
        each = clock.monotonic() - began
        left = SHARE * (seconds - (clock.monotonic() - start))
        needed = FIRST_ROUND * each * (len(subject.columns) + len(sets))
        fits = int(subject.n * max(left, 0.0) / needed) if needed > 0 else subject.n
        if fits < subject.n and subject.n > LEAST_ROWS:
            fits = max(LEAST_ROWS, fits)
            notes.append(f"{count(fits, 'row')} of {subject.n:,}, drawn at random, because of the limit of time.")
            subject = subject.take(subject.sample(fits, seed))
            work = Shuffling(subject, chosen, seed, level)
            _require_score(work, owner)
    end = None if seconds is None else start + seconds
    alone, together, rest, skipped = _measured(work, sets, repeats, end, notes)
    return Importance(
        subject.name, chosen, chosen.interval(work.base, level=level, seed=seed), alone, together, rest, skipped, notes,
        level, subject.n,
    )  # fmt: skip


def _title(measure: str | Metric) -> str:
    return measure if isinstance(measure, str) else measure.name


def _require(repeats: int, groups_above: float | None, rows: int | None, seconds: float | None, level: float) -> None:
    owner = "permutation_importance"
    if repeats < 1:
        raise ValueError(f"{owner}: repeats must be at least 1; got {repeats}.")
    if groups_above is not None and not 0 < groups_above <= 1:
        raise ValueError(f"{owner}: groups_above must lie above 0 and not above 1, or be None; got {groups_above}.")
    if rows is not None and rows < 2:
        raise ValueError(f"{owner}: rows must be at least 2, or None for all; got {rows}.")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{owner}: seconds must be above 0, or None for no limit; got {seconds}.")
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")


def _require_score(work: Shuffling, owner: str) -> None:
    """Refuse a measure that these answers do not have."""
    name = work.metric.name
    if not work.metric.serves(work.base):
        raise ValueError(
            f"{owner}: {name} needs {work.metric.needs} values, and {work.subject.name} gives none; choose a measure "
            "of the answers, such as 'accuracy', or wrap the model in a CalibratedClassifier."
        )
    if not np.isfinite(work.metric.score(work.base)):
        raise ValueError(f"{owner}: the {name} of these {count(work.base.n, 'row')} is not defined; give more rows.")


def _sets(
    subject: Subject, above: float | None, seed: int, seconds: float | None, notes: list[str]
) -> list[tuple[str, ...]]:
    """Columns that tell the same."""
    if above is None:
        return []
    columns = [subject.column(n) for n in subject.columns]
    most = MOST_PAIRS if seconds is None else min(MOST_PAIRS, PAIRS_PER_SECOND * seconds)
    if len(columns) > MOST_COLUMNS:
        notes.append(f"No search for columns with the same information: more than {MOST_COLUMNS} columns.")
    elif level_pairs(columns) > most:
        notes.append(
            "Columns with the same information were searched among numbers only: there are too many other pairs."
        )
    return alike(columns, above, seed, most_pairs=most)


def _measured(
    work: Shuffling, sets: list[tuple[str, ...]], repeats: int, end: float | None, notes: list[str]
) -> tuple[list[Loss], list[Loss], Loss | None, list[str]]:
    """All tallies that time allows: a short round over all columns first, then the other shuffles."""
    columns = work.subject.columns
    names = [*((c,) for c in columns), *sets]
    tallies = [Tally(n, j) for j, n in enumerate(names)]
    rounds = [repeats] if end is None else [min(FIRST_ROUND, repeats), repeats - FIRST_ROUND]
    slowest = 0.0  # seconds of one shuffle so far
    with progress.task("Shuffling columns", total=repeats * len(tallies)) as bar:
        try:
            for k, shuffles in enumerate(rounds):
                for tally in tallies if k == 0 else _largest(work, tallies):
                    began = clock.monotonic()
                    if shuffles < 1 or (end is not None and began + slowest * shuffles > end):
                        break
                    work.add(tally, shuffles)
                    slowest = max(slowest, (clock.monotonic() - began) / shuffles)
                    bar.advance(shuffles)
        except KeyboardInterrupt:
            if not tallies[0].scores:
                raise
            notes.append("Interrupted: results so far are kept.")
            end = -np.inf
    done = [t for t in tallies if t.scores]
    if any(len(t.scores) < repeats for t in done):
        notes.append(f"Time allowed {min(len(t.scores) for t in done)} to {repeats} shuffles of each column.")
    losses = work.losses(done)
    alone = [loss for loss in losses if len(loss.names) == 1]
    together = [loss for loss in losses if len(loss.names) > 1]
    skipped = [c for c in columns if all(loss.names != (c,) for loss in alone)]
    strong = {loss.names[0] for loss in alone if loss.matters}
    tied = {n for loss in together if loss.matters and not strong & set(loss.names) for n in loss.names}
    others = tuple(loss.names[0] for loss in alone if loss.used and loss.names[0] not in strong | tied)
    late = end is not None and clock.monotonic() + slowest * repeats > end
    if len(others) < 2 or late or any(set(others) == set(g.names) for g in together):
        return alone, together, None, skipped
    tally = Tally(others, len(tallies))
    work.add(tally, repeats)
    return alone, together, work.losses([tally])[0], skipped


def _largest(work: Shuffling, tallies: list[Tally]) -> list[Tally]:
    """Tallies that are begun, the largest losses first."""
    return sorted((t for t in tallies if t.scores), key=lambda t: work.sign * float(np.mean(t.scores)))
