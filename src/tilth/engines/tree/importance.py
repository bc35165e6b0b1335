"""How much columns matter to trees: by gain, by rows decided about, by depth of use, by tests, by shuffling.

Columns of the engine that came from one column of the user (the parts of a date) are counted as one: ``groups`` gives
the place of the user's column for each column of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Column, Table
from tilth.engines.tree.trees import LEAF, Trees

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

METHODS = ("gain", "weight", "depth", "splits", "all", "permutation")


def children(trees: Trees, inner: Places) -> tuple[Places, Places]:
    """Children of these test nodes, and for each the place of its parent in ``inner``."""
    counts = trees.branches[inner].astype(np.intp)
    owner = np.repeat(np.arange(len(inner)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return trees.child[inner][owner] + within, owner


def node_depths(trees: Trees) -> NDArray[np.int32]:
    """Depth of every node of all trees, one level at a time; a root has 0."""
    out = np.zeros(trees.n_nodes, dtype=np.int32)
    nodes, depth = trees.start[:-1].astype(np.intp), 0
    while nodes.size:
        out[nodes] = depth
        nodes = children(trees, nodes[trees.test[nodes] != LEAF])[0]
        depth += 1
    return out


def _tests(trees: Trees, groups: Places) -> tuple[Places, Places, Places]:
    """Test nodes, the tree each belongs to, and the user's column it asks."""
    nodes = np.flatnonzero(trees.test != LEAF)
    return nodes, np.searchsorted(trees.start, nodes, side="right") - 1, groups[trees.column[nodes]]


def by_gain(trees: Trees, groups: Places, n_groups: int, *, per_tree: bool = True) -> Floats:
    """Share of the decrease of impurity, sum over nodes of weight x gain; sums to 1 (all 0 without any test).

    ``per_tree`` lets every tree speak with the same weight, as in a forest; otherwise trees that gained more count
    more, as in boosting.
    """
    nodes, tree, column = _tests(trees, groups)
    decrease = np.zeros((trees.n_trees, n_groups))
    np.add.at(decrease, (tree, column), trees.weight[nodes] * trees.gain[nodes])
    if per_tree:
        whole = decrease.sum(axis=1, keepdims=True)
        decrease = np.divide(decrease, whole, out=np.zeros_like(decrease), where=whole > 0)
    total = decrease.sum(axis=0)
    return total / total.sum() if total.sum() > 0 else total


def by_weight(trees: Trees, groups: Places, n_groups: int) -> Floats:
    """Share of the training weight whose way to a leaf asks the column; mean over trees. The root's column has 1."""
    out = np.zeros((trees.n_trees, n_groups))
    for t, root in enumerate(trees.start[:-1]):
        nodes = np.array([root], dtype=np.intp)
        asked_above = np.zeros((1, n_groups), dtype=bool)
        while True:
            inner = np.flatnonzero(trees.test[nodes] != LEAF)
            if not inner.size:
                break
            column = groups[trees.column[nodes[inner]]]
            first = ~asked_above[inner, column]
            np.add.at(out[t], column[first], trees.weight[nodes[inner[first]]])
            asked_here = asked_above[inner]
            asked_here[np.arange(len(inner)), column] = True
            nodes, owner = children(trees, nodes[inner])
            asked_above = asked_here[owner]
    roots = trees.weight[trees.start[:-1]][:, None]
    return np.divide(out, roots, out=np.zeros_like(out), where=roots > 0).mean(axis=0)


def by_splits(trees: Trees, groups: Places, n_groups: int) -> NDArray[np.int64]:
    """Number of tests of each column."""
    return np.bincount(_tests(trees, groups)[2], minlength=n_groups)


def by_depth(trees: Trees, groups: Places, n_groups: int) -> tuple[Floats, Floats]:
    """Mean depth of the column's tests (NaN when never asked), and mean over trees of the depth of its first test.

    A tree that never asks the column counts one more than its own depth: the column matters less than all it asked.
    """
    nodes, tree, column = _tests(trees, groups)
    depth = node_depths(trees)
    count = np.bincount(column, minlength=n_groups)
    total = np.bincount(column, depth[nodes], minlength=n_groups)
    mean = np.divide(total, count, out=np.full(n_groups, np.nan), where=count > 0)
    deepest = np.maximum.reduceat(depth, trees.start[:-1])
    first = np.repeat((deepest + 1.0)[:, None], n_groups, axis=1)
    np.minimum.at(first, (tree, column), depth[nodes])
    return mean, first.mean(axis=0)


def frame(
    trees: Trees, groups: Places, names: Sequence[str], method: str = "all", *, per_tree: bool = True
) -> pd.DataFrame:
    """One measure of every column, or all of them, most important first."""
    import pandas as pd

    if method not in METHODS[:-1]:
        raise ValueError(f"importance: method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    n = len(names)
    importances = pd.DataFrame({"column": list(names)})
    if method in ("gain", "all"):
        importances["gain"] = by_gain(trees, groups, n, per_tree=per_tree)
    if method in ("weight", "all"):
        importances["weight"] = by_weight(trees, groups, n)
    if method in ("depth", "all"):
        importances["depth"], importances["first depth"] = by_depth(trees, groups, n)
    if method in ("splits", "all"):
        importances["splits"] = by_splits(trees, groups, n)
    key = "first depth" if method == "depth" else str(importances.columns[1])
    return importances.sort_values(key, ascending=method == "depth", kind="stable", ignore_index=True)


# ------------------------------------------------------------------------------------------------------- by shuffling


def accuracy(known: NDArray[np.generic], answered: NDArray[np.generic]) -> float:
    """Share of equal labels."""
    return float(np.mean(known == answered))


def r_squared(known: Floats, answered: Floats) -> float:
    """1 - (sum of squared errors) / (sum of squares about the mean); 0 for a constant target."""
    spread = float(((known - known.mean(axis=0)) ** 2).sum())
    return 1.0 - float(((known - answered) ** 2).sum()) / spread if spread > 0 else 0.0


def permutation(
    score: Callable[[Table], float],
    table: Table,
    families: Mapping[str, Sequence[str]],
    n_repeats: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Loss of ``score`` when the values of one column are shuffled over the rows: mean and spread over repeats.

    ``families`` gives for each of the user's columns its columns in the table, which are shuffled together.
    """
    import pandas as pd

    if n_repeats < 1:
        raise ValueError(f"importance: n_repeats must be at least 1; got {n_repeats}.")
    whole = score(table)
    rows = []
    for j, (name, parts) in enumerate(families.items()):
        shuffles = np.random.default_rng([seed, j])
        losses = np.array([whole - score(t) for t in _shuffled(table, set(parts), shuffles, n_repeats)])
        rows.append((name, losses.mean(), losses.std(ddof=1) if n_repeats > 1 else 0.0))
    importances = pd.DataFrame(rows, columns=["column", "permutation", "sd"])
    return importances.sort_values("permutation", ascending=False, kind="stable", ignore_index=True)


def _shuffled(table: Table, parts: set[str], random: np.random.Generator, n_repeats: int) -> Iterator[Table]:
    for _ in range(n_repeats):
        order = random.permutation(table.n_rows)
        columns = [Column(c.name, c.kind, c.values[order] if c.name in parts else c.values) for c in table.columns]
        yield Table(columns, table.n_rows)
