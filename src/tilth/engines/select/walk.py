"""Walks through the subsets of d columns: forward, backward, all of them, or guided by the model itself.

A walk asks ``score(subsets)``, [m, d] of true and false, for the scores of each subset on each fold, [m, folds]; what a
score is and how it is made is not its business. Equal scores: the first column of the table wins.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilth import progress

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Score = Callable[[Bools], Floats]
#: Given the steps so far, whether the walk may end.
Stop = Callable[[list["Step"]], bool]

#: Subsets asked for at once by the search through all.
_BLOCK = 4096


@dataclass(frozen=True)
class Step:
    """One stop of a walk: the subset, the column that came or went (-1: none), its scores, what it cost."""

    subset: Bools
    column: int
    scores: Floats
    fits: int
    seconds: float

    @property
    def size(self) -> int:
        """Columns."""
        return int(self.subset.sum())

    @property
    def mean(self) -> float:
        """Mean score; minus infinity when a fold has none."""
        return mean_score(self.scores)


@dataclass
class Clock:
    """Seconds since the last call."""

    last: float = field(default_factory=time.perf_counter)

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = time.perf_counter()
        passed, self.last = now - self.last, now
        return passed


def mean_score(scores: Floats) -> float:
    """Mean over the folds; minus infinity when one of them has no score, so that it is never chosen."""
    return -np.inf if np.isnan(scores).any() else float(scores.mean())


def never(steps: list[Step]) -> bool:
    """Walk to the end."""
    return False


def forward(score: Score, d: int, *, empty: Floats, most: int, stop: Stop = never, title: str = "") -> list[Step]:
    """Add the column that helps most, again and again: at most d + (d - 1) + ... + 1 = d (d + 1) / 2 fits."""
    clock = Clock()
    steps = [Step(np.zeros(d, dtype=bool), -1, empty, 0, 0.0)]
    with progress.task(title or "Forward selection", sum(d - s for s in range(most))) as work:
        while steps[-1].size < most and not stop(steps):
            here = steps[-1].subset
            open_columns = np.flatnonzero(~here)
            candidates = np.repeat(here[None, :], len(open_columns), axis=0)
            candidates[np.arange(len(open_columns)), open_columns] = True
            scores = score(candidates)
            best = int(np.argmax([mean_score(row) for row in scores]))
            steps.append(Step(candidates[best], int(open_columns[best]), scores[best], len(open_columns), clock.lap()))
            work.advance(len(open_columns))
    return steps


def backward(score: Score, d: int, *, least: int, stop: Stop = never, title: str = "") -> list[Step]:
    """Start with all columns and take away the one that is missed least: at most d (d + 1) / 2 fits with the first."""
    clock = Clock()
    every = np.ones((1, d), dtype=bool)
    with progress.task(title or "Backward elimination", 1 + sum(range(least + 1, d + 1))) as work:
        steps = [Step(every[0], -1, score(every)[0], 1, clock.lap())]
        work.advance(1)
        while steps[-1].size > least and not stop(steps):
            here = steps[-1].subset
            used = np.flatnonzero(here)
            candidates = np.repeat(here[None, :], len(used), axis=0)
            candidates[np.arange(len(used)), used] = False
            scores = score(candidates)
            # Of equal ones the last column goes, so that the first stays.
            best = len(used) - 1 - int(np.argmax([mean_score(row) for row in scores[::-1]]))
            steps.append(Step(candidates[best], int(used[best]), scores[best], len(used), clock.lap()))
            work.advance(len(used))
    return steps


def subsets_of_size(d: int, size: int) -> Iterator[Bools]:
    """All subsets of some of d columns, in blocks."""
    rest = itertools.combinations(range(d), size)
    while chosen := list(itertools.islice(rest, _BLOCK)):
        masks = np.zeros((len(chosen), d), dtype=bool)
        masks[np.arange(len(chosen))[:, None], np.array(chosen)] = True
        yield masks


def exhaustive(score: Score, d: int, *, empty: Floats, most: int, title: str = "") -> list[Step]:
    """The best subset of every size, all 2^d - 1 of them tried; of equal ones the first."""
    clock = Clock()
    steps = [Step(np.zeros(d, dtype=bool), -1, empty, 0, 0.0)]
    with progress.task(title or "Exhaustive selection", sum(math.comb(d, s) for s in range(1, most + 1))) as work:
        for size in range(1, most + 1):
            best = Step(steps[0].subset, -1, np.full(len(empty), np.nan), 0, 0.0)
            fits = 0
            for block in subsets_of_size(d, size):
                scores = score(block)
                top = int(np.nan_to_num(scores.mean(axis=1), nan=-np.inf).argmax())
                if fits == 0 or mean_score(scores[top]) > best.mean:
                    best = Step(block[top], -1, scores[top], 0, 0.0)
                fits += len(block)
                work.advance(len(block))
            steps.append(Step(best.subset, -1, best.scores, fits, clock.lap()))
    return steps


def guided(
    score: Callable[[Bools], tuple[Floats, Floats]],
    gains: Callable[[Floats], Floats],
    d: int,
    *,
    empty: tuple[Floats, Floats],
    most: int,
    stop: Stop = never,
    title: str = "",
) -> list[Step]:
    """Add the column that explains most of what the model gets wrong so far: one fit per column, d in all.

    ``score(subset)`` gives scores and what is left unexplained of every row; ``gains(left)`` how much of that each
    column explains by itself.
    """
    clock = Clock()
    steps = [Step(np.zeros(d, dtype=bool), -1, empty[0], 0, 0.0)]
    left = empty[1]
    with progress.task(title or "Embedded forward selection", most) as work:
        while steps[-1].size < most and not stop(steps):
            here = steps[-1].subset.copy()
            worth = np.where(here, -np.inf, np.nan_to_num(gains(left), nan=-1e300))
            column = int(worth.argmax())
            here[column] = True
            scores, left = score(here)
            steps.append(Step(here, column, scores, 1, clock.lap()))
            work.advance(1)
    return steps


# --------------------------------------------------------------------------------------------------------- the choice


def best_step(steps: list[Step], *, least: int = 1) -> int:
    """Place of the best mean score among subsets of at least ``least`` columns; the smallest of equal ones."""
    allowed = [i for i, s in enumerate(steps) if s.size >= least]
    return min(allowed, key=lambda i: (-steps[i].mean, steps[i].size))


def within(steps: list[Step], slack: float, *, least: int = 1) -> int:
    """Place of the smallest subset whose mean score is at most ``slack`` below the best."""
    top = steps[best_step(steps, least=least)].mean
    near = [i for i, s in enumerate(steps) if s.size >= least and s.mean >= top - slack]
    return min(near, key=lambda i: (steps[i].size, -steps[i].mean))


def one_standard_error(steps: list[Step], *, least: int = 1) -> int:
    """Place of the smallest subset within one standard error of the best mean score."""
    top = steps[best_step(steps, least=least)]
    spread = float(top.scores.std(ddof=1) / np.sqrt(len(top.scores))) if len(top.scores) > 1 else 0.0
    return within(steps, spread, least=least)
