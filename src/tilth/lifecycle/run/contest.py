"""The contest: models scored on the same outer folds, first as they are, then tuned by a search inside every fold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from tilth.base import Section
from tilth.evaluate.compare import Comparison
from tilth.evaluate.metrics import Metric
from tilth.evaluate.pool import Job
from tilth.evaluate.resample import Outcome, Resampling, Trial, answer_split
from tilth.evaluate.search.budget import OutOfTimeError, Watch
from tilth.evaluate.search.early import stops_early
from tilth.evaluate.search.result import SearchResult
from tilth.evaluate.search.search import Task, first_look
from tilth.evaluate.search.search import run as run_search
from tilth.evaluate.table import signed
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.division import INNER_FOLDS, Division
from tilth.lifecycle.run.journal import Journal
from tilth.lifecycle.run.ladder import Rung
from tilth.words import brief, listed, readable, setting

#: Level of the interval within which a simpler model is as good: one standard error.
ONE_STANDARD_ERROR = 0.6827
#: Seconds below which nothing new is begun.
LEAST_SECONDS = 0.3
#: Share of the best gain over Zero-R from which on a model is worth a search.
PROMISING = 0.8
#: Rows from which on a search may choose by one part of them, where time is too short for folds.
ENOUGH_FOR_HOLDOUT = 1000
#: Tries below which a search says nothing that the model as given does not.
LEAST_TRIES = 4.0
#: Share of the budget by which the last fit of the contest must have ended: the rest is for what is said of its winner.
CONTEST_END = 0.7
#: What the fits for the test and on all rows take, in fits of an outer fold: they have more rows.
TEST_FIT, LAST_FIT = 1.4, 1.8
#: How many times longer a fit may take that stops by itself, where it is no matter of a moment.
WAVERING, SURE_SECONDS = 1.5, 2.0
#: Models that a blend usually has.
USUAL_MEMBERS = 3
#: Share of a model's time that each look at how long its fits take may cost.
CLOSER = 0.02
#: Seconds that One-R gets even where the share for models is used up already.
LEAST_FOR_BASELINE = 0.5
NOT_REACHED = "no time was left for it"


@dataclass(eq=False)
class Entry:
    """A model of the contest: as it is, and what its search came to."""

    rung: Rung
    model: Any
    trial: Trial
    search: SearchResult | None = None
    tuned: Trial | None = None
    #: Seconds that a fit should take, as fits on fewer rows suggest.
    foreseen: float = 0.0
    #: Of a blend: the models in it, with their weights.
    members: dict[str, float] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether it was scored on every fold."""
        return bool(self.trial.outcomes) and all(o.answers is not None for o in self.trial.outcomes)

    @property
    def failure(self) -> str:
        """Why it was not."""
        return "" if self.done else next((o.failure for o in self.trial.outcomes if o.failure), NOT_REACHED)

    @property
    def fit_seconds(self) -> float:
        """What a fit takes, as given or as tuned."""
        every = np.concatenate([t.fit_seconds for t in (self.trial, self.tuned) if t is not None])
        known = every[np.isfinite(every)]
        return float(known.max()) if len(known) else 0.0

    @property
    def last_seconds(self) -> float:
        """What the fits for the test and on all rows will take; one that stops by itself may go on for longer there."""
        wavers = stops_early(self.model) and self.fit_seconds > SURE_SECONDS
        return (TEST_FIT + LAST_FIT) * self.fit_seconds * (WAVERING if wavers else 1.0)


@dataclass(eq=False)
class Contest:
    """Everything that was tried on the rows that choose a model."""

    division: Division
    metrics: tuple[Metric, ...]
    seed: int
    journal: Journal
    entries: dict[str, Entry] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: Models that fit the data and were not entered yet.
    waiting: list[Rung] = field(default_factory=list)
    #: What decides among models that are as good by the measure that ranks.
    second: Metric | None = None

    @property
    def metric(self) -> Metric:
        """The measure that ranks."""
        return self.metrics[0]

    # -------------------------------------------------------------------------------------------------------- trying

    def try_as_given(self, rung: Rung, seconds: float, slack: float = 0.0) -> Entry:
        """Score a model with the parameters it comes with on every outer fold, or go on with those that are missing.

        No fit is begun after so many ``seconds``; ``slack`` is how much longer the last one may take.
        """
        problem, splits = self.division.develop, self.division.outer
        entry = self.entries.get(rung.name)
        if entry is None:
            known = self.journal.get(rung.name, problem.classes)
            entry = self.entries[rung.name] = Entry(rung, rung.make(self.seed), known or Trial(rung.name))
        if entry.done and len(entry.trial.outcomes) == len(splits):
            return entry
        outcomes = {k: o for k, o in enumerate(entry.trial.outcomes) if o.answers is not None}
        watch = Watch(None if math.isinf(seconds) else max(seconds, 0.0), slack=slack)
        rows = max(len(s.train) for s in splits)
        try:
            if seconds < LEAST_SECONDS:
                raise OutOfTimeError
            watch.look(lambda n: first_look(entry.model, problem, self.seed, n), rows, CLOSER)
            jobs = [
                Job(k, answer_split, (entry.model, problem, split, True))
                for k, split in enumerate(splits)
                if k not in outcomes
            ]
            entry.foreseen = watch.pace.foreseen(rows)
            if entry.foreseen * len(jobs) > watch.left:  # half a score is none
                raise OutOfTimeError
            for k, found in watch.run(jobs, rows, same=True, cap=False):
                outcomes[k] = found if isinstance(found, Outcome) else Outcome(failure=str(found))
        except OutOfTimeError:
            pass
        entry.trial = Trial(
            rung.name, [outcomes.get(k, Outcome(failure=NOT_REACHED)) for k in range(len(splits))]
        )  # fmt: skip
        if entry.done:
            self.journal.put(entry.trial)
        return entry

    def tune(self, name: str, trials: int, seconds: float, slack: float = 0.0, inner: Any = None) -> None:
        """Search good parameters on all rows, and again inside every outer fold for an honest score.

        ``inner`` says how the search splits its rows; None: as the division says.
        """
        entry, division = self.entries[name], self.division
        inner = division.inner if inner is None else inner
        space = entry.rung.space(entry.model)
        assert space is not None
        task = Task(entry.model, division.develop, space, self.metric, "auto", trials, "one_se", self.seed)
        watch = Watch(None if math.isinf(seconds) else seconds, slack=slack)
        found = run_search(
            task, watch, inner=inner, outer=division.outer, every_fold=True, given=entry.trial,
            resume=self.journal.search_folder(name if inner == division.inner else f"{name} {inner}"),
        )  # fmt: skip
        entry.search = found
        if found.outer is None or found.chosen is None:
            return
        tuned = found.outer.trials[found.name]
        if len(tuned.outcomes) == len(division.outer) and all(o.answers is not None for o in tuned.outcomes):
            entry.tuned = Trial(name, tuned.outcomes)

    def tunable(self, hurried: bool = False) -> list[str]:
        """Models whose parameters are worth a search, the most promising first.

        A search moves a score a little: where time is short (``hurried``), a model that is far behind as given would
        take that of one that may win.
        """
        promise = self._promise(self.metric)
        able = [n for n in promise if self.entries[n].rung.space(self.entries[n].model) is not None]
        far = [n for n in able if hurried and promise[n] < PROMISING]
        if far:
            self.notes.append(f"Not tuned, because far behind the best: {', '.join(far)}.")
        too = {} if self.second is None else self._promise(self.second)
        return sorted((n for n in able if n not in far), key=lambda n: -promise[n] - too.get(n, 0.0))

    def like(self, name: str) -> list[str]:
        """Other models that are nearly as good, the best first."""
        promise = self._promise(self.metric)
        near = [n for n in promise if promise[n] >= PROMISING and n != name and not self.entries[n].rung.baseline]
        return sorted(near, key=lambda n: -promise[n])

    def _promise(self, metric: Metric) -> dict[str, float]:
        """The gain of every model over Zero-R as a share of the largest; 1 for all where nothing is better than it."""
        scores = {n: self.mean_score(e.trial, metric) for n, e in self.entries.items() if e.done}
        zero, sign = scores.get("Zero-R", math.nan), 1.0 if metric.higher_is_better else -1.0
        gains = {n: sign * (s - zero) for n, s in scores.items() if not math.isnan(s)}
        best = max(gains.values(), default=0.0)
        return {n: gain / best if best > 0 else 1.0 for n, gain in gains.items()}

    # ------------------------------------------------------------------------------------------------------- standing

    def mean_score(self, trial: Trial, metric: Metric | None = None) -> float:
        """The mean of the folds, without the cost of an interval; of the measure that ranks, unless told otherwise."""
        one = metric or self.metric
        known = [one.score(a) for a in trial.answers if a is not None and one.serves(a)]
        return float(np.mean(known)) if known else math.nan

    def best_trial(self, entry: Entry) -> Trial:
        """The better of a model as it is and as tuned, by the outer folds."""
        if entry.tuned is None:
            return entry.trial
        ours, given = self.mean_score(entry.tuned), self.mean_score(entry.trial)
        return entry.tuned if self.metric.better(ours, given) or ours == given else entry.trial

    def is_tuned(self, name: str) -> bool:
        """Whether the tuned form of a model stands on the board."""
        entry = self.entries[name]
        return entry.tuned is not None and self.best_trial(entry) is entry.tuned

    def board(self) -> Comparison:
        """All models that were scored on every fold, simplest first."""
        standing = sorted((e for e in self.entries.values() if e.done), key=lambda e: e.rung.place)
        trials = {e.rung.name: self.best_trial(e) for e in standing}
        return Comparison(self._resampling(trials), self.metrics, "Zero-R")

    def _resampling(self, trials: dict[str, Trial]) -> Resampling:
        return Resampling(self.division.develop, self.division.outer, trials)

    def affordable(self, board: Comparison, seconds: float) -> list[str]:
        """Models, best first, that can be fitted for the test and on all rows within so many seconds."""
        return [n for n in board.ranking if self.entries[n].last_seconds <= seconds or n == board.baseline]

    def last_fits(self) -> float:
        """Seconds that the fits for the test and on all rows will take, of the best models so far put together."""
        sign = -1.0 if self.metric.higher_is_better else 1.0
        done = sorted((e for e in self.entries.values() if e.done), key=lambda e: sign * self.mean_score(e.trial))
        return sum(e.last_seconds for e in done[:USUAL_MEMBERS])

    def choice(self, board: Comparison, seconds: float = math.inf) -> str:
        """The simplest model within one standard error of the best; Zero-R only where nothing is better.

        With a ``second`` measure: of the models within one standard error of the best, those within one standard error
        of the best of them by the second measure; of these the simplest. Models that cannot be fitted twice more
        within so many ``seconds`` are not chosen.
        """
        able = self.affordable(board, seconds)
        best = able[0]
        if best == board.baseline:
            return best
        tied = [n for n in able if n != board.baseline and self._as_good(board, n, best, self.metric)]
        if self.second is not None:
            scores = {n: board.scores[n][self.second.name].value for n in tied if self.second.name in board.scores[n]}
            if scores:
                sign = -1.0 if self.second.higher_is_better else 1.0
                first = min(scores, key=lambda n: sign * scores[n])
                tied = [n for n in scores if self._as_good(board, n, first, self.second)]
        return min(tied, key=lambda n: self.entries[n].rung.place)

    def _as_good(self, board: Comparison, name: str, best: str, metric: Metric) -> bool:
        """Whether a model is within one standard error of the best: of the paired differences of folds, s / sqrt(J).

        That is the rule of Breiman and others (1984). The wider interval of the board, which counts that training sets
        overlap, says what is proved; a choice needs less than a proof.
        """
        if name == best:
            return True
        apart = board.fold_scores(name, metric) - board.fold_scores(best, metric)
        known = apart[np.isfinite(apart)]
        if len(known) < 2:
            gap = board.resampling.difference(name, best, metric, ONE_STANDARD_ERROR)
            return gap.low <= 0 <= gap.high
        return bool(abs(known.mean()) <= known.std(ddof=1) / math.sqrt(len(known)))

    def called(self, name: str) -> str:
        """A model in words: what a blend is made of, whether a model is tuned."""
        members = self.entries[name].members
        if members:
            return f"{name} of {listed(f'{n} ({w:.0%})' for n, w in members.items())}"
        return f"{name}, tuned" if self.is_tuned(name) else name

    def params(self, name: str) -> dict[str, Any]:
        """The parameters of a model that a search found, where its tuned form stands on the board."""
        entry = self.entries[name]
        return dict(entry.search.best_params) if entry.search is not None and self.is_tuned(name) else {}

    def made(self, name: str) -> Any:
        """The model as it stands on the board, unfitted."""
        return clone(self.entries[name].model).set_params(**self.params(name))

    def search_rows(self) -> Iterator[dict[str, Any]]:
        """One row per search: tries, seconds, inner and outer score, gain of tuning."""
        for name, entry in self.entries.items():
            found = entry.search
            if found is None:
                continue
            gain = found.gain() if entry.tuned is not None else None
            stands = "tuned" if self.is_tuned(name) else "as given"
            yield {
                "model": name, "tries": len(found.tried), "seconds": round(found.seconds, 2),
                "inner (optimistic)": readable(found.best.value),
                "outer (honest)": "" if gain is None else str(found.score),
                "optimism": "" if gain is None else readable(found.optimism, sign="+"),
                "gain of tuning": "" if gain is None else signed(gain),
                "kept": stands if gain is not None else "as given: no time for all folds",
                "parameters": ", ".join(f"{k}={setting(v)}" for k, v in found.best_params.items()),
            }  # fmt: skip


Say = Callable[[str], None]


def enter_all(contest: Contest, rungs: list[Rung], clock: Clock, share: float, said: Say, most: float = 0.5) -> None:
    """Every model as it is, in this order, each with a part of the time that is left for this, at ``most`` so much."""
    for i, rung in enumerate(rungs):
        left = clock.until(share)
        # A model that is quick leaves its part to the others.
        part = left if math.isinf(left) else max(left / (len(rungs) - i), most * left)
        if rung.name == "Zero-R":  # it costs next to nothing, and nothing can be said without it
            part = math.inf
        elif rung.baseline:
            part = max(part, LEAST_FOR_BASELINE)
        entry = contest.try_as_given(rung, part, _slack(clock, part))
        if entry.done:
            contest.refused.pop(rung.name, None)
            clock.owed = contest.last_fits()
            said(f"{rung.name} {readable(contest.mean_score(entry.trial))}")
        else:
            contest.refused[rung.name] = entry.failure


def unfinished(contest: Contest) -> list[Rung]:
    """Models that time did not suffice for, quick ones first; those that failed stay out."""
    waiting = [e for e in contest.entries.values() if not e.done and e.failure == NOT_REACHED]
    return [e.rung for e in sorted(waiting, key=lambda e: e.foreseen)]


def _slack(clock: Clock, part: float) -> float:
    """How much longer than its part of the time a fit may take."""
    end = clock.until(CONTEST_END)
    return max(end - part, 0.0) if math.isfinite(part) and math.isfinite(end) else 0.0


def inner_for(contest: Contest, name: str, seconds: float) -> tuple[Any, float] | None:
    """How a search of the model splits its rows, and the seconds that a few tries need; None where they are too few.

    Few tries on folds find little: from enough rows on, one part of them chooses, and there are more tries.
    """
    usual = contest.division.inner
    places, fit = len(contest.division.outer) + 1, contest.entries[name].fit_seconds

    def need(parts: int) -> float:
        return places * (LEAST_TRIES * parts + LAST_FIT) * fit

    ways = [(usual, need(1 if usual == "holdout" else INNER_FOLDS))]
    if usual != "holdout" and contest.division.develop.n_rows >= ENOUGH_FOR_HOLDOUT:
        ways.append(("holdout", need(1)))
    return next((way for way in ways if way[1] <= seconds), None)


def tune_all(contest: Contest, trials: int, clock: Clock, share: float, said: Say) -> None:
    """Searches, the most promising model first, while time is left."""
    waiting = contest.tunable(hurried=clock.budget is not None)
    for i, name in enumerate(waiting):
        left = clock.until(share)
        way = inner_for(contest, name, left)
        if left < LEAST_SECONDS or way is None:
            contest.notes.append(f"{name} was not tuned: {NOT_REACHED}.")
            continue
        inner, need = way
        # The first few get the most: a search that is cut short says little.
        part = left if math.isinf(left) else max(left / min(3, len(waiting) - i), need)
        try:
            contest.tune(name, trials, part, _slack(clock, part), inner)
        except (RuntimeError, ValueError) as error:
            contest.notes.append(f"{name} was not tuned: {error}")
            continue
        said(f"{name} tuned")


def leaderboard_section(contest: Contest, board: Comparison) -> Section:
    """The board as a page: scores, ties and what each model costs."""
    page = board.sections()[0]
    full = board.leaderboard().set_index("model")
    frame = page.frame
    assert frame is not None
    frame["parameters"] = [
        "weights" if contest.entries[n].members else "tuned" if contest.is_tuned(n) else "as given"
        for n in frame["model"]
    ]
    frame["seconds to fit"] = [brief(full.loc[n, "seconds to fit"]) for n in frame["model"]]
    frame["per 1,000 answers"] = [
        f"{brief(1e6 * full.loc[n, 'seconds to predict'] / _tested(contest))} ms" for n in frame["model"]
    ]
    return page


def _tested(contest: Contest) -> float:
    return float(np.mean([len(s.test) for s in contest.division.outer]))
