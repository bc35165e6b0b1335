"""Growing: what a tree is grown from (a grid, a goal), by which rules (a growth), and the call that does it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.bins import Bins
from tilth.engines.tree.trees import Trees

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

Criterion = Literal[
    "gini", "entropy", "log_loss", "gain_ratio", "misclassification", "squared_error", "absolute_error", "newton"
]
Missing = Literal["learned", "own", "frequent", "fractional"]


@dataclass(frozen=True)
class Growth:
    """The rules by which one tree grows. ``None`` means no limit.

    ``thresholds``: numbers are compared at the edges of at most 255 bins (``binned``), at every midpoint between
    neighbouring values (``exact``), or binned in large nodes and exactly in small ones (``auto``).
    ``order``: ``depth`` splits every node that may be split; ``best`` splits the node of highest gain first, which
    matters when ``max_leaves`` ends the growth.
    A node is split when the gain of its best split is at least ``min_gain``; a split without gain is a split too,
    unless ``min_gain`` is above 0. ``threshold_penalty`` takes log2(thresholds) / n off the gain of a number (C4.5
    release 8).
    """

    criterion: Criterion = "gini"
    splitter: Literal["best", "random"] = "best"
    nominal: Literal["subset", "multiway"] = "subset"
    missing: Missing = "learned"
    thresholds: Literal["auto", "exact", "binned"] = "binned"
    order: Literal["depth", "best"] = "depth"
    max_depth: int | None = None
    max_leaves: int | None = None
    min_rows_split: int = 2
    min_rows_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_gain: float = 0.0
    min_decrease: float = 0.0
    max_purity: float = 1.0
    threshold_penalty: bool = False
    max_features: int | None = None
    reuse: bool = True
    l2: float = 0.0
    l1: float = 0.0
    level_smoothing: float = 0.0
    min_level_rows: float = 0.0
    level_l2: float = 0.0
    max_levels: int | None = None
    monotone: tuple[int, ...] = ()
    interactions: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Bag:
    """The rows a tree sees: ``size`` of them drawn with or without replacement, by the tree's own seed."""

    size: int
    replace: bool = True

    def counts(self, seed: int, n_rows: int) -> Ints:
        """How often the tree of this seed saw each row; 0 = out of bag."""
        return _core.bag_counts(seed, n_rows, self.size, self.replace).astype(np.int32)


@dataclass(eq=False)
class Grid:
    """Training rows as the engine sees them: bins of every cell, and the typed table for exact thresholds."""

    table: Table
    bins: Bins
    cells: NDArray[Any]

    @classmethod
    def of(cls, table: Table, max_bins: int = 255, weight: Floats | None = None, seed: int = 0) -> Grid:
        """Bin a table, once."""
        bins = Bins.learn(table, max_bins, weight, seed)
        return cls(table, bins, bins.apply(table))

    @functools.cached_property
    def memory(self) -> NDArray[np.uint8]:
        """What growing one tree works in, kept for the next one: the rows twice, and their cells."""
        return np.empty(16 * self.table.n_rows + 256, dtype=np.uint8)

    @functools.cached_property
    def rows_memory(self) -> NDArray[np.uint8]:
        """The same where the cells have a place of their own."""
        return np.empty(8 * self.table.n_rows + 256, dtype=np.uint8)


@dataclass(eq=False)
class Goal:
    """What the trees are to explain.

    ``classes``: codes [n] of ``n_classes`` classes. ``numbers``: n x m targets. ``newton``: gradient and hessian of a
    loss, where a node answers -G / (H + l2).
    """

    codes: Ints | None = None
    n_classes: int = 0
    numbers: Floats | None = None
    gradient: Floats | None = None
    hessian: Floats | None = None
    weight: Floats | None = None
    staged: Staged | None = None


@dataclass(frozen=True, eq=False)
class Staged:
    """Gradient and hessian of every row as two floats in one word; the kernel makes its cells of them in place.

    ``one_each``: every hessian is 1.
    """

    words: NDArray[np.int64]
    one_each: bool


def grow_trees(grid: Grid, goal: Goal, growth: Growth, seeds: NDArray[np.int64], bag: Bag | None = None) -> Trees:
    """One tree per seed, in parallel; the same trees on any number of threads."""
    return _grow(grid, goal, growth, seeds, bag, None, False)[0]


def grow_newton(
    grid: Grid, gradient: Floats, hessian: Floats | None, growth: Growth, seed: int, rows: Ints | None = None
) -> tuple[Trees, Ints]:
    """One tree for gradients (``hessian`` None = all ones), on all or some ``rows`` (ascending row numbers).

    Gives the tree, whose values are -G / (H + l2) unshrunk, and the leaf of every row (-1 for rows that were left out).
    ``growth.min_gain`` is the least loss reduction 1/2 [G_L^2/(H_L + l2) + G_R^2/(H_R + l2) - G^2/(H + l2)] of a split.
    """
    goal = Goal(gradient=gradient, hessian=hessian)
    trees, leaves = _grow(grid, goal, growth, np.array([seed], dtype=np.int64), None, rows, True)
    assert leaves is not None
    return trees, leaves


def grow_staged(
    grid: Grid, staged: Staged, growth: Growth, seed: int, rows: Ints | None = None,
    scores: Floats | None = None, rate: float = 1.0,
) -> tuple[Trees, Ints | None]:  # fmt: skip
    """One tree for staged gradients, which are used up.

    With ``scores`` the answers times ``rate`` are added to them, and there are no leaves to tell.
    """
    seeds = np.array([seed], dtype=np.int64)
    return _grow(grid, Goal(staged=staged), growth, seeds, None, rows, scores is None, scores, rate)


def _grow(
    grid: Grid,
    goal: Goal,
    growth: Growth,
    seeds: NDArray[np.int64],
    bag: Bag | None,
    rows: Ints | None,
    want_leaves: bool,
    scores: Floats | None = None,
    rate: float = 1.0,
) -> tuple[Trees, Ints | None]:
    bins = grid.bins
    edges, first = bins.flat_edges()
    newton = goal.gradient is not None or goal.staged is not None
    targets = goal.numbers
    weight = goal.weight
    if goal.gradient is not None:
        targets, weight = goal.gradient[:, None], goal.hessian
    n_outputs = 1 if targets is None else targets.shape[1]
    settings = kernel_settings(growth, grid.table.n_rows, newton, n_outputs)
    exact = settings["exact_rows"] > 0  # only then the values themselves are looked at
    memory = grid.rows_memory if goal.staged is not None else grid.memory if want_leaves else None
    words, one_each = (None, False) if goal.staged is None else (goal.staged.words, goal.staged.one_each)
    arrays, leaves = _core.grow_trees(
        grid.cells, bins.sizes, bins.nominal, edges, first, grid.table.numbers() if exact else None,
        grid.table.codes() if exact else None, goal.codes, goal.n_classes, targets, weight, newton, settings, seeds,
        None if bag is None else (bag.size, bag.replace), rows, want_leaves, memory, words, one_each, scores, rate,
    )  # fmt: skip
    width = goal.n_classes if goal.codes is not None else n_outputs
    # Not a view: a forest gives its parts back while it joins them, and a view would hold on to all of it.
    arrays["value"].resize((len(arrays["value"]) // width, width), refcheck=False)
    return Trees(bins.names, bins.kinds, **arrays), leaves


#: Nodes of at most this many rows are searched exactly when thresholds are "auto".
EXACT_ROWS = 4096
#: A split must lower the loss at all.
LEAST_LOSS_REDUCTION = 1e-12

_CRITERIA = {
    "gini": 0, "entropy": 1, "log_loss": 1, "gain_ratio": 1, "misclassification": 2, "squared_error": 3, "newton": 3,
    "absolute_error": 4,
}  # fmt: skip
_MISSING = {"learned": 0, "own": 1, "frequent": 2, "fractional": 3}


def kernel_settings(growth: Growth, n_rows: int, newton: bool, n_outputs: int) -> dict[str, Any]:
    """The rules as the kernels take them: numbers only, 0 for "no limit"."""
    exact = {"exact": n_rows, "auto": EXACT_ROWS, "binned": 0}[growth.thresholds]
    if growth.criterion == "absolute_error":
        exact = n_rows
    units = 1 / np.log(2) if growth.criterion in ("entropy", "gain_ratio") else 1.0 / n_outputs
    return {
        "criterion": 3 if newton else _CRITERIA[growth.criterion],
        "missing": _MISSING[growth.missing],
        "gain_ratio": growth.criterion == "gain_ratio",
        "threshold_penalty": growth.threshold_penalty,
        "random_split": growth.splitter == "random",
        "multiway": growth.nominal == "multiway",
        "best_first": growth.order == "best",
        "reuse": growth.reuse,
        "max_depth": growth.max_depth or 0,
        "max_leaves": growth.max_leaves or 0,
        "exact_rows": exact,
        "max_features": growth.max_features or 0,
        "min_rows_split": growth.min_rows_split,
        "min_rows_leaf": growth.min_rows_leaf,
        "min_weight_leaf": growth.min_weight_leaf,
        "min_gain": max(growth.min_gain, LEAST_LOSS_REDUCTION) if newton else growth.min_gain,
        "min_decrease": growth.min_decrease,
        "units": units,
        "max_purity": growth.max_purity,
        "l2": growth.l2,
        "l1": growth.l1,
        "level_smoothing": growth.level_smoothing,
        "min_level_rows": growth.min_level_rows,
        "level_l2": growth.level_l2,
        "max_levels": growth.max_levels or 0,
        "monotone": list(growth.monotone) if any(growth.monotone) else [],
        "interactions": [list(s) for s in growth.interactions],
    }
