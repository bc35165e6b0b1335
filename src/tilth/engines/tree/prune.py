"""Pruning: passes over finished trees that turn tests back into leaves. Each gives new :class:`Trees`.

- cost-complexity (CART): the weakest link first, by alpha = (rise of the risk) / (leaves saved);
- pessimistic (C4.5): errors are counted at the upper end of their confidence interval (:mod:`.pessimistic`);
- reduced error: errors are counted on rows the tree has not seen;
- few: branches of little weight or little gain.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.pessimistic import error_limit, prune_pessimistic
from tilth.engines.tree.reshape import collapse, cut_by_errors, questions_upwards, sum_branches
from tilth.engines.tree.trees import LEAF, Trees

Floats = NDArray[np.float64]

#: Entry of a path that is never reached.
_NEVER = int(np.iinfo(np.int64).max)

__all__ = [
    "PruningPath", "cost_complexity_path", "error_limit", "prune_cost_complexity", "prune_few", "prune_pessimistic",
    "prune_reduced_error",
]  # fmt: skip


@dataclass(eq=False)
class PruningPath:
    """The nested subtrees of one tree, from whole (entry 0) to root alone.

    ``alphas[i]`` is the price of a leaf from which on subtree i is better than subtree i - 1, ``impurities[i]`` its
    total leaf impurity and ``leaves[i]`` its size. ``closed_at[node]`` is the entry at which a test became a leaf.
    """

    trees: Trees
    alphas: Floats
    impurities: Floats
    leaves: NDArray[np.int64]
    closed_at: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.alphas)

    def subtree(self, i: int) -> Trees:
        """Entry i of the path as a tree."""
        return collapse(self.trees, self.closed_at <= i)

    def at(self, alpha: Any) -> Any:
        """The entry that is best when a leaf costs ``alpha`` (one price or an array); 0 is the whole tree."""
        rising = np.maximum.accumulate(self.alphas)
        entry = np.searchsorted(rising, alpha, side="right") - 1
        return np.where(np.asarray(alpha) > 0, entry, 0)[()]

    def sums(self, of_node: Floats) -> Floats:
        """Sum of ``of_node`` over the leaves of every subtree of the path."""
        first = np.where(self.trees.test == LEAF, 0, self.closed_at)  # entry from which on the node is a leaf
        parent = self.trees.parent()
        last = np.where(parent < 0, len(self), self.closed_at[parent])  # entry from which on it is gone
        lived = np.flatnonzero(first < np.minimum(last, len(self)))
        change = np.bincount(first[lived], of_node[lived], minlength=len(self) + 1)
        change -= np.bincount(np.minimum(last[lived], len(self)), of_node[lived], minlength=len(self) + 1)
        return np.cumsum(change[:-1])


def cost_complexity_path(trees: Trees) -> PruningPath:
    """Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3) of a single tree.

    R_alpha(T) = R(T) + alpha x leaves, where R(T) sums weight share x impurity over the leaves. The test whose removal
    costs least per leaf saved, alpha = (R(t) - R(T_t)) / (leaves(T_t) - 1), goes first; of equal ones the first node.
    """
    if trees.n_trees != 1:
        raise ValueError(f"A pruning path is that of one tree; got {trees.n_trees}. Take one of them: trees[i].")
    is_leaf = trees.test == LEAF
    risk = trees.weight / max(float(trees.weight[0]), 1e-300) * trees.impurity
    risk_below, leaves_below = np.where(is_leaf, risk, 0.0), is_leaf.astype(np.int64)
    _add_up(trees, risk_below)
    _add_up(trees, leaves_below)
    # Plain lists: the walk below touches single nodes, where arrays are slow.
    as_leaf, below, leaves = risk.tolist(), risk_below.tolist(), leaves_below.tolist()
    parent = trees.parent().tolist()
    closed_at = [_NEVER] * trees.n_nodes
    alphas, impurities, sizes = [0.0], [below[0]], [leaves[0]]

    def price(node: int) -> float:
        return float((as_leaf[node] - below[node]) / max(leaves[node] - 1, 1))

    cheapest = [(price(i), i) for i in np.flatnonzero(~is_leaf).tolist()]
    heapq.heapify(cheapest)
    while cheapest:
        noted, node = heapq.heappop(cheapest)
        if closed_at[node] < _NEVER:
            continue
        alpha = price(node)
        if alpha > noted:  # it rose since it was noted; prices never fall
            heapq.heappush(cheapest, (alpha, node))
            continue
        alphas.append(max(alpha, 0.0))
        _close(trees, node, len(alphas) - 1, closed_at)
        rise, fall = as_leaf[node] - below[node], leaves[node] - 1
        while node >= 0:
            below[node] += rise
            leaves[node] -= fall
            node = parent[node]
        impurities.append(below[0])
        sizes.append(leaves[0])
    return PruningPath(
        trees, np.array(alphas), np.array(impurities), np.array(sizes, dtype=np.int64),
        np.array(closed_at, dtype=np.int64),
    )  # fmt: skip


def _close(trees: Trees, node: int, entry: int, closed_at: list[int]) -> None:
    """Mark a test and all tests below it as gone from this entry of the path on."""
    waiting = [node]
    while waiting:
        i = waiting.pop()
        if trees.test[i] != LEAF and closed_at[i] == _NEVER:
            closed_at[i] = entry
            waiting.extend(range(int(trees.child[i]), int(trees.child[i] + trees.branches[i])))


def prune_cost_complexity(trees: Trees, alpha: float) -> Trees:
    """Each tree's best subtree when a leaf costs ``alpha``; 0 prunes nothing."""
    if alpha <= 0:
        return trees
    paths = [cost_complexity_path(tree) for tree in trees]
    return Trees.join([path.subtree(int(path.at(alpha))) for path in paths])


def prune_reduced_error(
    trees: Trees, table: Table, target: NDArray[Any], weight: Floats | None = None, *, is_class: bool
) -> Trees:
    """Prune by rows the tree was not grown on: a test stays only if it makes fewer errors there than a leaf would.

    ``target`` are class codes (errors are counted) or n x m numbers (squared errors are summed).
    """
    leaf = trees.leaves(table)
    w = np.ones(table.n_rows) if weight is None else weight
    return Trees.join(
        [
            cut_by_errors(tree, held_out_errors(tree, leaf[:, i] - trees.start[i], target, w, is_class))
            for i, tree in enumerate(trees)
        ]
    )


def held_out_errors(tree: Trees, leaf: NDArray[Any], target: NDArray[Any], w: Floats, is_class: bool) -> Floats:
    """Errors of every node as a leaf, on the rows that pass it."""
    m, value = tree.n_nodes, tree.value
    if is_class:
        k = value.shape[1]
        counts = np.bincount(leaf * k + target, w, minlength=m * k).reshape(m, k)
        _add_up(tree, counts)
        return np.asarray(counts.sum(axis=1) - counts[np.arange(m), value.argmax(axis=1)])
    y = target.reshape(len(leaf), -1)
    seen = np.bincount(leaf, w, minlength=m)
    sums = np.column_stack([np.bincount(leaf, w * y[:, j], minlength=m) for j in range(y.shape[1])])
    squares = np.bincount(leaf, w * (y**2).sum(axis=1), minlength=m)
    for statistic in (seen, sums, squares):
        _add_up(tree, statistic)
    return np.asarray(squares - 2 * (value * sums).sum(axis=1) + seen * (value**2).sum(axis=1))


def _add_up(trees: Trees, statistic: NDArray[Any]) -> None:
    """Add what the leaves hold into the nodes above them, in place."""
    for tests in questions_upwards(trees):
        statistic[tests] += sum_branches(trees, tests, statistic)


def prune_few(trees: Trees, min_weight: float = 0.0, min_gain: float = 0.0) -> Trees:
    """Remove branches with few rows or little gain.

    A node lighter than ``min_weight`` becomes a leaf. From the bottom up so does a test all of whose branches are
    leaves, when one that rows reached is lighter than ``min_weight`` or the gain is not above ``min_gain``: a test of
    no gain stays while useful tests hang below it.
    """
    cut = trees.weight < min_weight
    closed = (cut | (trees.test == LEAF)).astype(np.int64)
    light = ((trees.weight > 0) & cut).astype(np.int64)
    for tests in questions_upwards(trees):
        ends_here = sum_branches(trees, tests, closed) == trees.branches[tests]
        weak = (trees.gain[tests] <= min_gain) | (sum_branches(trees, tests, light) > 0)
        cut[tests] |= ends_here & weak
        closed[tests] = cut[tests]
    return collapse(trees, cut)
