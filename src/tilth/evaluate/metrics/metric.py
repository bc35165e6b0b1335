"""A measure of quality: a function of answers, in the form that gives an interval at least cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_means, from_resamples, resampled_means, wilson

Floats = NDArray[np.float64]
Needs = Literal["answer", "probability", "score"]


def first(means: Floats) -> Floats:
    """The score that is a mean itself."""
    return np.asarray(means[:, 0])


@dataclass(frozen=True)
class Metric:
    """A measure of quality, as a mean over rows or as a function of all of them.

    Mean form: the score is ``finish(mean over rows of rows(answers))``, where ``rows`` gives n x m numbers and
    ``finish`` makes b scores of b x m means. One resampling of the rows then serves every such metric, every model and
    every difference. Whole form: ``whole(answers)`` is the score, and ``resample(answers, repeats, seed)`` gives its
    bootstrap values where that can be done faster than row by row (``resamples_groups``: of whole groups too).
    """

    name: str
    task: str
    rows: Callable[[Answers], Floats] | None = field(default=None, repr=False)
    finish: Callable[[Floats], Floats] = field(default=first, repr=False)
    higher_is_better: bool = True
    bounds: tuple[float, float] = (-np.inf, np.inf)
    meaning: str = ""
    needs: Needs = "answer"
    share: bool = False
    whole: Callable[[Answers], float] | None = field(default=None, repr=False)
    resample: Callable[[Answers, int, int], Floats] | None = field(default=None, repr=False)
    resamples_groups: bool = False

    @property
    def is_mean(self) -> bool:
        """Whether it has the mean form."""
        return self.rows is not None

    def serves(self, answers: Answers) -> bool:
        """Whether the answers hold what it needs."""
        if self.needs == "probability":
            return answers.probability is not None
        return self.needs == "answer" or answers.ranking_score is not None or answers.probability is not None

    def score(self, answers: Answers) -> float:
        """The score of these answers; NaN where it is not defined."""
        if answers.n == 0:
            return float("nan")
        if self.rows is None:
            assert self.whole is not None
            return float(self.whole(answers))
        return float(self.finish(np.average(self.rows(answers), axis=0, weights=answers.weight)[None, :])[0])

    def interval(self, answers: Answers, *, level: float = 0.95, repeats: int = 1000, seed: int = 0) -> Interval:
        """The score with an interval over rows: Wilson's for a share, else by bootstrap (of groups where there are)."""
        if self.share and answers.weight is None and answers.group is None:
            assert self.rows is not None
            return wilson(float(self.rows(answers).sum()), answers.n, level)
        if self.rows is not None:
            rows = self.rows(answers)
            means = np.average(rows, axis=0, weights=answers.weight)
            drawn = resampled_means(rows, answers.weight, answers.group, repeats=repeats, seed=seed)
            return self.clipped(from_means(means, drawn, answers.n, self.finish, level, answers.n_groups))
        value = self.score(answers)
        if self.resample is not None and (answers.group is None or self.resamples_groups):
            scores = self.resample(answers, repeats, seed)
        else:
            scores = self._row_by_row(answers, repeats, seed)
        return self.clipped(from_resamples(value, scores, answers.n, level, answers.group is not None))

    def _row_by_row(self, answers: Answers, repeats: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        groups = None if answers.group is None else _members(answers.group)
        scores = np.empty(repeats)
        for b in range(repeats):
            if groups is None:
                drawn = rng.integers(0, answers.n, answers.n)
            else:
                drawn = np.concatenate([groups[g] for g in rng.integers(0, len(groups), len(groups))])
            scores[b] = self.score(answers.rows(drawn))
        return scores

    def clipped(self, interval: Interval) -> Interval:
        """The interval within the bounds of the metric."""
        low, high = np.clip([interval.low, interval.high], *self.bounds)
        return Interval(interval.value, float(low), float(high), interval.level, interval.method, interval.n)

    def better(self, a: float, b: float) -> bool:
        """Whether score a is better than score b."""
        return a > b if self.higher_is_better else a < b


def _members(group: NDArray[np.generic]) -> list[NDArray[np.intp]]:
    """Rows of each group."""
    _, code = np.unique(group, return_inverse=True)
    order = np.argsort(code, kind="stable")
    return np.split(order, np.cumsum(np.bincount(code))[:-1])
