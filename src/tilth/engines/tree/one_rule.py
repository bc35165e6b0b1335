"""One rule: for a single column, a table value -> class. The statistic of all columns, and the rule of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.params import stored
from tilth.stats.counts import Counts, ValueCounts
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]


@stored
@dataclass(slots=True, eq=False, repr=False)
class RuleStatistic(Statistic):
    """Class counts of everything a rule could ask: levels (the last one of each column is "missing") and numbers.

    ``weight`` [k] is the weight of each class, ``gone`` [k, p] the weight of missing numbers.
    """

    weight: Floats
    levels: Counts
    numbers: list[ValueCounts]
    gone: Floats

    @classmethod
    def empty(cls, n_classes: int, sizes: list[int], n_numbers: int) -> Self:
        """Nothing seen yet."""
        numbers = [ValueCounts.empty(n_classes) for _ in range(n_numbers)]
        return cls(
            np.zeros(n_classes),
            Counts.empty(n_classes, [s + 1 for s in sizes]),
            numbers,
            np.zeros((n_classes, n_numbers)),
        )

    def update(self, table: Table, y: NDArray[np.int32], weight: Floats | None = None) -> None:
        """Add typed rows with their class codes."""
        k = len(self.weight)
        self.weight += np.bincount(y, weight, minlength=k)
        coded = table.of_kind("nominal", "ordinal")
        if coded:
            last = self.levels.sizes - 1
            codes = np.stack([np.where(c.values < 0, m, c.values) for c, m in zip(coded, last, strict=True)], axis=1)
            self.levels.update(codes.astype(np.int32), y, weight)
        for j, column in enumerate(table.of_kind("numeric")):
            self.numbers[j].update(column.values, y, weight)
            gone = column.missing
            self.gone[:, j] += np.bincount(y[gone], None if weight is None else weight[gone], minlength=k)

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "weight", "gone")
        self.levels += other.levels
        for mine, theirs in zip(self.numbers, other.numbers, strict=True):
            mine += theirs
        self.weight += other.weight
        self.gone += other.gone
        return self

    def grow(self, sizes: list[int]) -> RuleStatistic:
        """Room for more levels; "missing" stays last."""
        bigger = RuleStatistic.empty(len(self.weight), sizes, 0)
        for j, size in enumerate(self.levels.sizes):
            bigger.levels.column(j)[:, : size - 1] = self.levels.column(j)[:, :-1]
            bigger.levels.column(j)[:, -1] = self.levels.column(j)[:, -1]
        return RuleStatistic(self.weight, bigger.levels, self.numbers, self.gone)

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        k = self.weight.size
        good = self.weight.ndim == 1 and self.levels.n_classes == k and all(n.n_classes == k for n in self.numbers)
        fit = good and self.gone.shape == (k, len(self.numbers)) and (self.levels.sizes > 0).all()
        return "" if fit else "weight, levels and numbers are of different classes"


@stored
@dataclass
class Rule:
    """The rule of one column: branches in order, the last one for missing values.

    ``counts`` [branches, k] are the class counts of each branch, ``edges`` the boundaries between numeric branches
    (branch i holds edges[i-1] < x <= edges[i]), empty for levels.
    """

    column: str
    kind: Kind
    edges: Floats
    counts: Floats
    shares: Floats

    @property
    def errors(self) -> float:
        """Training weight on the wrong side."""
        chosen = self.shares.argmax(axis=1)
        return float(self.counts.sum() - self.counts[np.arange(len(chosen)), chosen].sum())

    def branch(self, column: Column) -> NDArray[np.intp]:
        """Which branch each row takes; a level not seen in training takes the branch of missing values."""
        last = len(self.counts) - 1
        if self.kind.name == "numeric":
            place = np.searchsorted(self.edges, column.values, side="left")
            return np.where(np.isnan(column.values), last, place)
        return np.where((column.values < 0) | (column.values >= last), last, column.values)

    def validate(self, n_classes: int) -> None:
        """Refuse arrays that do not fit together (a damaged or hostile file)."""
        branches = len(self.edges) + 2 if self.kind.name == "numeric" else len(self.kind.levels) + 1
        if self.counts.shape != (branches, n_classes) or self.shares.shape != self.counts.shape:
            raise ValueError("the rule of the model does not fit its column")


def find_rules(statistic: RuleStatistic, kinds: list[tuple[str, Kind]], min_bucket: float) -> list[Rule]:
    """The best rule of every column, in table order."""
    prior = statistic.weight / statistic.weight.sum()
    rules = []
    coded = numbers = 0
    for name, kind in kinds:
        if kind.name == "numeric":
            seen = statistic.numbers[numbers]
            cuts = _core.bucket_values(seen.counts, min_bucket) if len(seen.values) else np.empty(0, dtype=np.int64)
            edges = (seen.values[cuts - 1] + seen.values[cuts]) / 2
            starts = np.concatenate([[0], cuts]).astype(np.intp)
            inside = np.add.reduceat(seen.counts, starts, axis=0) if len(seen.values) else np.zeros((1, len(prior)))
            counts = np.vstack([inside, statistic.gone[:, numbers]])
            numbers += 1
        else:
            edges = np.empty(0)
            counts = statistic.levels.column(coded).T.copy()
            coded += 1
        rules.append(Rule(name, kind, edges, counts, _shares(counts, prior)))
    return rules


def _shares(counts: Floats, prior: Floats) -> Floats:
    """Class shares of each branch, with one row's worth of the overall shares added.

    The addition lets an empty branch answer like Zero-R, and decides a tie within a branch for the class that is more
    frequent overall; with whole counts it never changes which class is ahead.
    """
    return (counts + prior) / (counts.sum(axis=1, keepdims=True) + 1.0)
