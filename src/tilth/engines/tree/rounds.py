"""One tree from chunks of rows: facts and bins in a first pass, then a level in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.bin_values import BinValues
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.level import Passes, StatisticT, TargetFacts, grow_by_level
from tilth.engines.tree.trees import Trees
from tilth.stats.counts import Counts
from tilth.stats.statistic import Statistic

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(slots=True, eq=False, repr=False)
class FirstPass(Statistic):
    """Facts about the targets, and the values of the numeric columns."""

    facts: TargetFacts
    values: BinValues

    @classmethod
    def empty(cls, n_targets: int, n_numeric: int, max_bins: int = 255) -> Self:
        """Nothing seen yet; ``n_targets`` is 0 for classes."""
        return cls(TargetFacts.empty(n_targets), BinValues.empty(n_numeric, max_bins))

    def update(self, table: Table, target: Array, weight: Floats | None = None) -> None:
        """Add rows."""
        self.values.update(table)
        self.facts.update(target, weight)

    def __iadd__(self, other: Self) -> Self:
        self.values += other.values
        self.facts += other.facts
        return self


@dataclass(frozen=True)
class ByClass:
    """Passes in which a row of class c weighs ``factor[c]`` times as much."""

    passes: Passes
    factor: Floats

    def __call__(self, make: Callable[[], StatisticT], update: Callable[..., object]) -> StatisticT:
        """One pass."""
        return self.passes(make, _Weighed(self.factor, update))


@dataclass(frozen=True)
class _Weighed:
    factor: Floats
    update: Callable[..., object]

    def __call__(self, statistic: Any, table: Table, target: Array, weight: Floats | None) -> None:
        factor = self.factor[target]
        self.update(statistic, table, target, factor if weight is None else factor * weight)


def class_totals(passes: Passes, n_classes: int) -> Floats:
    """Weight of each class, in a pass of its own."""
    return np.asarray(passes(partial(Counts.empty, 1, [n_classes]), _count_classes).table[0])


def _count_classes(counts: Counts, table: Table, target: Array, weight: Floats | None) -> None:
    counts.update(target[:, None], None, weight)


def grow_over_chunks(
    passes: Passes, table: Table, growth_of: Callable[[TargetFacts], Growth], seed: int, *, n_classes: int = 0,
    n_targets: int = 0, max_bins: int = 255,
) -> Trees:  # fmt: skip
    """Learn the bins, then grow level by level.

    Parameters
    ----------
    passes : folds a statistic over all rows.
    table : some rows, for the names and kinds of the columns.
    growth_of : the rules of growth, once the number of rows and their weight are known.
    seed, n_classes : as for :func:`tilth.engines.tree.level.grow_by_level`.
    n_targets : numbers in a target; 0 for classes.
    max_bins : bins of a numeric column.
    """
    n_numeric = len(table.of_kind("numeric"))
    seen = passes(partial(FirstPass.empty, n_targets, n_numeric, max_bins), FirstPass.update)
    growth = growth_of(seen.facts)
    return grow_by_level(passes, seen.values.bins(table), seen.facts, growth, seed, n_classes=n_classes)
