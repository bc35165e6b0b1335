"""Answers to shuffled columns, and how sure their loss is.

Shuffling columns by an order p gives row i the cells of row p(i), and changes its loss by d(i, p(i)). What the score
loses is (a function of) the mean of d, and both rows vary: the one asked about and the one that gives its cells. So
each row counts twice in the spread, with its mean d as the one asked about and with its mean d as the giver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_means, resampled_means
from tilth.evaluate.metrics import Metric
from tilth.explain.subject import Subject
from tilth.stats.folds import fold_of_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Blocks of rows that are left out in turn, for scores that are no means over rows.
BLOCKS = 20


@dataclass(frozen=True)
class Loss:
    """What the score loses when columns are shuffled together.

    ``noise`` is what chance alone would reach, 19 times of 20: the loss of a column of pure noise with the same values
    that the model uses in the same way. NaN with a single shuffle. ``used`` is False where no answer changed at all.
    """

    names: tuple[str, ...]
    interval: Interval
    error: float
    noise: float
    shuffles: int
    used: bool
    z: float

    @property
    def matters(self) -> bool:
        """Whether the loss is surely above 0, given how many were measured, and above what noise would reach."""
        value = self.interval.value
        return bool(value - self.z * self.error > 0) and not value <= self.noise


@dataclass(eq=False)
class Tally:
    """What is known so far of the shuffles of some columns."""

    names: tuple[str, ...]
    number: int
    scores: list[float] = field(default_factory=list)
    used: bool = False
    rows: Any = 0.0
    left_out: list[Floats] = field(default_factory=list)


@dataclass(eq=False)
class Shuffling:
    """A model's answers to rows, and to the same rows with columns shuffled, measured by one metric."""

    subject: Subject
    metric: Metric
    seed: int
    level: float

    @cached_property
    def base(self) -> Answers:
        """The answers to the rows as they are."""
        answers = self.subject.answers(np.arange(self.subject.n), needs=self.metric.needs)
        return replace(answers, weight=self.subject.weight, group=self.subject.group)

    @property
    def sign(self) -> float:
        """1 where a fall of the score is a loss, -1 where a rise is."""
        return 1.0 if self.metric.higher_is_better else -1.0

    @cached_property
    def blocks(self) -> Ints:
        """The block of every row; rows of a group are in one block."""
        units: Any = np.arange(self.base.n) if self.base.group is None else self.base.group
        _, unit = np.unique(units, return_inverse=True)
        n = int(unit.max()) + 1
        return np.zeros(len(unit), np.int64) if n < 2 else fold_of_rows(n, min(n, BLOCKS), seed=[self.seed, 1])[unit]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.blocks.max()) + 1

    def _left_out(self, answers: Answers, givers: Ints) -> Floats:
        """Loss of score without each block: its rows are neither asked about nor give their cells."""
        lost = np.zeros(self.n_blocks)
        for b in range(self.n_blocks):
            kept = np.flatnonzero((self.blocks != b) & (self.blocks[givers] != b))
            lost[b] = self.metric.score(self.base.rows(kept)) - self.metric.score(answers.rows(kept))
        return self.sign * lost

    @cached_property
    def base_rows(self) -> Floats:
        """The numbers whose mean is (behind) the score of the rows as they are."""
        assert self.metric.rows is not None
        return self.metric.rows(self.base)

    # ------------------------------------------------------------------------------------------------------ shuffling

    def add(self, tally: Tally, shuffles: int) -> None:
        """Shuffle the columns of a tally so many times more."""
        first = len(tally.scores)
        orders = np.stack([
            np.random.default_rng([self.seed, tally.number, k]).permutation(self.base.n)
            for k in range(first, first + shuffles)
        ])  # fmt: skip
        for order, (answers, used) in zip(orders, self._answers(tally.names, orders), strict=True):
            tally.used = tally.used or used
            if self.metric.rows is None:
                tally.scores.append(self.metric.score(answers))
                tally.left_out.append(self._left_out(answers, order) if used else np.zeros(self.n_blocks))
                continue
            rows = self.metric.rows(answers)
            means = np.average(rows, axis=0, weights=answers.weight)
            tally.scores.append(float(self.metric.finish(means[None, :])[0]))
            tally.rows = tally.rows + rows + self._given(rows - self.base_rows, order)

    def _given(self, change: Floats, order: Ints) -> Floats:
        """Of every row, the change of the row that got its cells, less the mean change."""
        receiver, w = np.argsort(order), self.base.weight
        mean = np.average(change, axis=0, weights=w)
        if w is None:
            return np.asarray(change[receiver] - mean)
        # The mean is one of weights x numbers: what a row gives weighs what the receiver weighs.
        return np.asarray(change[receiver] * (w[receiver] / w)[:, None] - mean)

    def _answers(self, names: tuple[str, ...], orders: Ints) -> Iterator[tuple[Answers, bool]]:
        """Answers to every shuffle, and whether any differs. Asked about are only cells that differ, each once."""
        code = self.subject.codes(names)
        shuffle, row = np.nonzero(code[orders] != code)
        donor = orders[shuffle, row]
        levels = int(code.max()) + 1
        place = np.arange(len(row))
        if levels <= len(code) // 2:
            _, first, place = np.unique(row * levels + code[donor], return_index=True, return_inverse=True)
            rows, donor = row[first], donor[first]
        else:
            rows = row
        swaps = dict.fromkeys(names, donor)
        got = self.subject.answers(rows, swaps, needs=self.metric.needs) if len(rows) else None
        ends = np.searchsorted(shuffle, np.arange(len(orders) + 1))
        used = got is not None and _differ(got, self.base.rows(rows))
        for k in range(len(orders)):
            part = slice(ends[k], ends[k + 1])
            yield (_filled(self.base, row[part], got, place[part]) if got is not None and used else self.base), used

    # -------------------------------------------------------------------------------------------------------- results

    def losses(self, tallies: list[Tally]) -> list[Loss]:
        """The loss of each tally; all share the same resampled rows."""
        if not tallies:
            return []
        from scipy.special import ndtri
        from scipy.stats import t

        tail = 1 - (1 - self.level) / len(tallies)
        if self.metric.rows is None:
            z = float(t.ppf(tail, max(1, self.n_blocks - 1)))
            return [self._loss(tally, *self._jackknife(tally), z) for tally in tallies]
        width = self.base_rows.shape[1]
        table = np.column_stack([self.base_rows] + [tally.rows / len(tally.scores) for tally in tallies])
        means = np.average(table, axis=0, weights=self.base.weight)
        drawn = resampled_means(table, self.base.weight, self.base.group, seed=self.seed)

        def lost(moments: Floats) -> Floats:
            return self.sign * (self.metric.finish(moments[:, :width]) - self.metric.finish(moments[:, width:]))

        out = []
        for k, tally in enumerate(tallies, start=1):
            own = [*range(width), *range(k * width, (k + 1) * width)]
            interval = from_means(means[own], drawn[:, own], self.base.n, lost, self.level, self.base.n_groups)
            out.append(self._loss(tally, interval, float(np.nanstd(lost(drawn[:, own]), ddof=1)), float(ndtri(tail))))
        return out

    def _loss(self, tally: Tally, interval: Interval, error: float, z: float) -> Loss:
        if not tally.used:  # exactly nothing, without rounding
            interval, error = Interval(0.0, 0.0, 0.0, self.level, "no answer changed", self.base.n), 0.0
        return Loss(tally.names, interval, error, _noise(tally.scores), len(tally.scores), tally.used, z)

    def _jackknife(self, tally: Tally) -> tuple[Interval, float]:
        """Loss with an interval from blocks of rows left out in turn (t with blocks - 1 degrees of freedom)."""
        from scipy.stats import t

        value = self.sign * (self.metric.score(self.base) - float(np.mean(tally.scores)))
        without = np.mean(tally.left_out, axis=0)
        known = without[np.isfinite(without)]
        blocks = len(known)
        if blocks < 2:
            return Interval(value, math.nan, math.nan, self.level, "no interval: too few rows", self.base.n), math.nan
        error = math.sqrt((blocks - 1) * float(known.var()))
        half = float(t.ppf((1 + self.level) / 2, blocks - 1)) * error
        method = f"jackknife of {blocks} blocks of {'rows' if self.base.group is None else 'groups'}"
        return Interval(value, value - half, value + half, self.level, method, self.base.n), error


def _noise(scores: list[float]) -> float:
    """What a column of noise would lose by chance: one shuffle against the mean of as many others, t-quantile x sd."""
    from scipy.stats import t

    n = len(scores)
    if n < 2:
        return math.nan
    return float(t.ppf(0.95, n - 1) * np.std(scores, ddof=1) * math.sqrt(1 + 1 / n))


_PARTS = ("given", "probability", "score")


def _differ(got: Answers, base: Answers) -> bool:
    pairs = ((getattr(got, part), getattr(base, part)) for part in _PARTS)
    return any(a is not None and not np.array_equal(a, b) for a, b in pairs)


def _filled(base: Answers, rows: Ints, got: Answers, places: Ints) -> Answers:
    """The answers of ``base`` with those of some rows replaced."""
    parts = {}
    for name in _PARTS:
        values = getattr(base, name)
        if values is not None:
            values = values.copy()
            values[rows] = getattr(got, name)[places]
            parts[name] = values
    return replace(base, **parts)
