"""Forests: many random trees, what the rows that a tree never saw say about them, and how much the trees differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.grow import Bag, Goal, Grid, Growth, grow_trees
from tilth.engines.tree.sizes import Seeds
from tilth.engines.tree.trees import Trees

Floats = NDArray[np.float64]

#: Trees grown between two reports of progress, and between two looks at the out-of-bag curve.
BATCH = 20


# --------------------------------------------------------------------------------------------------------- growing


def grow_forest(
    grid: Grid,
    goal: Goal,
    growth: Growth,
    seeds: Seeds,
    bag: Bag | None,
    *,
    balance: bool = False,
    columns_per_tree: int | None = None,
) -> Iterator[Trees]:
    """Trees of the given seeds in batches of :data:`BATCH`.

    ``balance`` weighs the classes by the bag of each tree; ``columns_per_tree`` shows each tree so many columns only.
    Both need a call per tree.
    """
    p = len(grid.table.columns)
    alone = balance or (columns_per_tree is not None and columns_per_tree < p)
    for first in range(0, len(seeds), BATCH):
        batch = seeds[first : first + BATCH]
        if alone:
            shown = columns_per_tree or p
            yield Trees.join([_one_tree(grid, goal, growth, int(s), bag, balance, shown) for s in batch])
        else:
            yield grow_trees(grid, goal, growth, batch, bag)


def _one_tree(
    grid: Grid, goal: Goal, growth: Growth, seed: int, bag: Bag | None, balance: bool, n_columns: int
) -> Trees:
    if balance and bag is not None:
        goal = replace(goal, weight=_balanced_in_bag(goal, bag.counts(seed, grid.table.n_rows)))
    p = len(grid.table.columns)
    if n_columns < p:
        chosen = np.random.default_rng(np.random.SeedSequence(seed)).choice(p, n_columns, replace=False)
        # One group that may meet on a path, and no other: only these columns can be asked.
        growth = replace(growth, interactions=(tuple(int(j) for j in np.sort(chosen)),))
    return grow_trees(grid, goal, growth, np.array([seed], dtype=np.int64), bag)


def _balanced_in_bag(goal: Goal, counts: NDArray[Any]) -> Floats:
    """Weights under which the classes weigh the same in the bag: n / (k n_c)."""
    weight = np.ones(len(counts)) if goal.weight is None else goal.weight
    codes = np.asarray(goal.codes)
    held = np.bincount(codes, weights=weight * counts, minlength=goal.n_classes)
    present = held > 0
    factor = np.zeros(goal.n_classes)
    factor[present] = held.sum() / (present.sum() * held[present])
    return np.asarray(weight * np.where(present, factor, 1.0)[codes])


# ------------------------------------------------------------------------------------------------------- out of bag


@dataclass
class OutOfBag:
    """Answers of the trees for the rows they did not see, added up tree by tree.

    ``sums`` [n, v] are summed leaf values and ``seen`` [n] the number of trees that had the row out of their bag.
    ``single`` holds each tree's own answer [n]: the class it chooses (-1 in its bag), or its number (NaN in its bag).
    ``curve`` is the error after each tree: the share of wrong rows, or the mean squared error.
    """

    table: Table
    goal: Goal
    bag: Bag
    sums: Floats
    seen: NDArray[np.int64]
    single: list[NDArray[Any]] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, table: Table, goal: Goal, bag: Bag) -> OutOfBag:
        """Nothing seen yet."""
        v = goal.n_classes if goal.codes is not None else np.asarray(goal.numbers).shape[1]
        return cls(table, goal, bag, np.zeros((table.n_rows, v)), np.zeros(table.n_rows, np.int64))

    def add(self, trees: Trees, seeds: Seeds) -> None:
        """Ask the trees of these seeds about the rows out of their bags."""
        leaves = trees.leaves(self.table)
        for i, seed in enumerate(seeds):
            out = np.flatnonzero(self.bag.counts(int(seed), self.table.n_rows) == 0)
            answers = trees.value[leaves[out, i]]
            self.sums[out] += answers
            self.seen[out] += 1
            if self.goal.codes is not None:
                own: NDArray[Any] = np.full(
                    self.table.n_rows, -1, dtype=np.int16 if self.sums.shape[1] < 2**15 else np.int32
                )
                own[out] = answers.argmax(axis=1)
            else:
                own = np.full(self.table.n_rows, np.nan, dtype=np.float32)
                own[out] = answers[:, 0]
            self.single.append(own)
            self.curve.append(self.error())

    def answers(self) -> Floats:
        """Mean leaf values of the trees that did not see the row; NaN where all of them did."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.sums / self.seen[:, None])

    def error(self) -> float:
        """Share of wrong rows, or mean squared error, among the rows that can be judged; NaN when there are none."""
        known = np.flatnonzero(self.seen)
        weight = np.ones(len(known)) if self.goal.weight is None else self.goal.weight[known]
        if not weight.sum() > 0:
            return math.nan
        if self.goal.codes is not None:
            loss = (self.sums[known].argmax(axis=1) != self.goal.codes[known]).astype(np.float64)
        else:
            answers = self.sums[known] / self.seen[known, None]
            loss = ((answers - np.asarray(self.goal.numbers)[known]) ** 2).mean(axis=1)
        return float((weight * loss).sum() / weight.sum())

    def score(self) -> float:
        """Accuracy, or R^2 = 1 - mean squared error / variance, of the rows out of bag."""
        if self.goal.codes is not None:
            return 1.0 - self.error()
        known = self.seen > 0
        target = np.asarray(self.goal.numbers)[known]
        weight = None if self.goal.weight is None else self.goal.weight[known]
        if not known.any():
            return math.nan
        centre = np.average(target, axis=0, weights=weight)
        spread = float(np.average((target - centre) ** 2, axis=0, weights=weight).mean())
        return 1.0 - self.error() / spread if spread > 0 else math.nan

    def strength(self) -> StrengthCorrelation:
        """Strength and correlation of the trees on the rows out of bag."""
        single = np.column_stack(self.single)
        if self.goal.codes is not None:
            return strength_and_correlation(single, self.goal.codes, single >= 0)
        target = np.asarray(self.goal.numbers)[:, 0]
        return strength_and_correlation(single.astype(np.float64), target, ~np.isnan(single))


def is_flat(curve: Sequence[float], window: int = BATCH, tolerance: float = 0.01) -> bool:
    """Whether the last two windows of an error curve lie above the one before, less ``tolerance`` of it.

    >>> is_flat([0.5] * 20 + [0.4] * 20 + [0.3] * 20), is_flat([0.3] * 60)
    (False, True)
    """
    if len(curve) < 3 * window:
        return False
    before, last, latest = (float(np.mean(curve[-k * window : len(curve) - (k - 1) * window])) for k in (3, 2, 1))
    return bool(min(last, latest) >= before * (1.0 - tolerance))


# ------------------------------------------------------------------------------------------- strength and correlation


@dataclass(frozen=True)
class StrengthCorrelation:
    """How good the trees are and how much alike (Breiman 2001); both ends of what a forest lives on.

    Classes: strength s = mean margin, the share of votes for the right class less that for the best wrong one;
    correlation r = var(margin) / (mean sd of the trees' margins)^2; the forest's error is at most r (1 - s^2) / s^2.
    Numbers: strength is the mean squared error of single trees, correlation that of their residuals; the error of the
    forest is correlation x (mean sd of the residuals)^2.
    """

    strength: float
    correlation: float
    bound: float

    @classmethod
    def of_classes(cls, strength: float, correlation: float) -> StrengthCorrelation:
        """With the bound that strength and correlation give for classes."""
        bound = correlation * (1 - strength**2) / strength**2 if strength > 0 else 1.0
        return cls(strength, correlation, min(1.0, bound))

    def __str__(self) -> str:
        return f"strength {self.strength:.4f}, correlation {self.correlation:.4f}, error at most {self.bound:.4f}"


def strength_and_correlation(
    answers: Floats, target: NDArray[Any], voted: NDArray[np.bool_] | None = None
) -> StrengthCorrelation:
    """Strength and correlation from every tree's answer on rows with a known target.

    ``answers`` [n, t] are class codes (``target`` integer codes) or numbers; ``voted`` [n, t] says which count (out of
    bag), None counts all.
    """
    voted = np.ones(answers.shape, dtype=bool) if voted is None else voted
    judged = voted.any(axis=1)
    answers, target, voted = answers[judged], target[judged], voted[judged]
    if target.dtype.kind in "iu":
        return _of_votes(answers, target, voted)
    return _of_numbers(answers, target, voted)


def _of_votes(choice: NDArray[Any], target: NDArray[Any], voted: NDArray[np.bool_]) -> StrengthCorrelation:
    n, k = len(target), int(max(choice.max(), target.max())) + 1
    votes = np.zeros((n, k))
    for c in range(k):
        votes[:, c] = ((choice == c) & voted).sum(axis=1)
    shares = votes / voted.sum(axis=1, keepdims=True)
    rows = np.arange(n)
    right = shares[rows, target].copy()
    others = shares.copy()
    others[rows, target] = -1.0
    rival = others.argmax(axis=1)
    margin = right - others[rows, rival]
    counts = voted.sum(axis=0)
    used = counts > 0
    hit = ((choice == target[:, None]) & voted).sum(axis=0)[used] / counts[used]
    miss = ((choice == rival[:, None]) & voted).sum(axis=0)[used] / counts[used]
    # A tree's margin is 1, -1 or 0, so its variance is p1 + p2 - (p1 - p2)^2.
    deviation = float(np.sqrt(np.maximum(hit + miss - (hit - miss) ** 2, 0.0)).mean())
    strength = float(margin.mean())
    correlation = float(margin.var() / deviation**2) if deviation > 0 else 1.0
    return StrengthCorrelation.of_classes(strength, correlation)


def _of_numbers(answers: Floats, target: Floats, voted: NDArray[np.bool_]) -> StrengthCorrelation:
    residual = np.where(voted, answers - target[:, None], 0.0)
    counts = np.maximum(voted.sum(axis=0), 1)
    single = (residual**2).sum(axis=0) / counts
    forest = float(((residual.sum(axis=1) / voted.sum(axis=1)) ** 2).mean())
    deviation = float(np.sqrt(single).mean())
    return StrengthCorrelation(float(single.mean()), forest / deviation**2 if deviation > 0 else 1.0, forest)
