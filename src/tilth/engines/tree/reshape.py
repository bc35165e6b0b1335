"""Cutting trees back: walks by depth, sums over branches, and new arrays for the nodes that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.tree.trees import LEAF, Trees

Floats = NDArray[np.float64]


def children_of(trees: Trees, tests: NDArray[Any]) -> NDArray[np.int64]:
    """All branches of these tests, one test after the other."""
    if not tests.size:
        return np.empty(0, dtype=np.int64)
    ends = np.cumsum(trees.branches[tests], dtype=np.int64)
    first = trees.child[tests] - np.concatenate([[0], ends[:-1]])
    return np.repeat(first, trees.branches[tests]) + np.arange(ends[-1])


def questions_upwards(trees: Trees) -> list[NDArray[np.int64]]:
    """The tests of all trees by their depth, the deepest first."""
    levels = []
    nodes = trees.start[:-1].astype(np.int64)
    while nodes.size:
        tests = nodes[trees.test[nodes] != LEAF]
        levels.append(tests)
        nodes = children_of(trees, tests)
    return levels[::-1]


def sum_branches(trees: Trees, tests: NDArray[Any], of_node: NDArray[Any]) -> NDArray[Any]:
    """Sum of what the branches of each test hold."""
    if not tests.size:
        return of_node[:0]
    starts = np.concatenate([[0], np.cumsum(trees.branches[tests])[:-1]])
    return np.asarray(np.add.reduceat(of_node[children_of(trees, tests)], starts, axis=0))


def collapse(trees: Trees, cut: NDArray[np.bool_]) -> Trees:
    """The trees with the ``cut`` nodes as leaves and without what hung below them.

    Nodes keep their order, so parents still come first and children still stand side by side.
    """
    leaf = cut | (trees.test == LEAF)
    kept = np.zeros(trees.n_nodes, dtype=bool)
    nodes = trees.start[:-1].astype(np.int64)
    while nodes.size:
        kept[nodes] = True
        nodes = children_of(trees, nodes[~leaf[nodes]])
    if kept.all():
        return trees
    place = np.cumsum(kept) - 1
    old = np.flatnonzero(kept)
    leaf = leaf[old]
    return Trees(
        trees.names, trees.kinds, np.concatenate([[0], np.cumsum(kept)])[trees.start],
        np.where(leaf, LEAF, trees.test[old]).astype(np.uint8), np.where(leaf, -1, trees.column[old]).astype(np.int32),
        np.where(leaf, 0.0, trees.threshold[old]), np.where(leaf, -1, trees.subset[old]),
        np.where(leaf, -1, place[trees.child[old]]).astype(np.int32),
        np.where(leaf, 0, trees.branches[old]).astype(np.int32), np.where(leaf, 0, trees.missing[old]).astype(np.int32),
        trees.value[old], trees.weight[old], trees.impurity[old], np.where(leaf, 0.0, trees.gain[old]), trees.bits,
        trees.output,
    )  # fmt: skip


def replant(tree: Trees, source: NDArray[Any], value: Floats) -> Trees:
    """One tree in which the test of node ``source[i]`` stands at node i (-1: a leaf), with these answers.

    Level by level from the root, without the nodes that no test leads to any more.
    """
    levels = [np.zeros(1, dtype=np.int64)]
    while levels[-1].size:
        tests = source[levels[-1]]
        levels.append(children_of(tree, tests[tests >= 0]))
    old = np.concatenate(levels)
    tests = source[old]
    leaf = tests < 0
    branches = np.where(leaf, 0, tree.branches[tests])
    child = np.where(leaf, -1, 1 + np.cumsum(branches) - branches)
    return Trees(
        tree.names, tree.kinds, np.array([0, len(old)], dtype=np.int64),
        np.where(leaf, LEAF, tree.test[tests]).astype(np.uint8),
        np.where(leaf, -1, tree.column[tests]).astype(np.int32), np.where(leaf, 0.0, tree.threshold[tests]),
        np.where(leaf, -1, tree.subset[tests]), child.astype(np.int32), branches.astype(np.int32),
        np.where(leaf, 0, tree.missing[tests]).astype(np.int32), value[old], tree.weight[old], tree.impurity[old],
        np.where(leaf, 0.0, tree.gain[tests]), tree.bits, tree.output,
    )  # fmt: skip


def cut_by_errors(trees: Trees, as_leaf: Floats, slack: float = 0.0) -> Trees:
    """From the bottom up, a test becomes a leaf when that makes no more errors than what is left below it."""
    errors = as_leaf.copy()
    cut = np.zeros(trees.n_nodes, dtype=bool)
    for tests in questions_upwards(trees):
        below = sum_branches(trees, tests, errors)
        cut[tests] = as_leaf[tests] <= below + slack
        errors[tests] = np.where(cut[tests], as_leaf[tests], below)
    return collapse(trees, cut)
