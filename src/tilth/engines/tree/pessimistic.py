"""C4.5's pruning (Quinlan 1993, chapter 4): errors on the training rows, counted at the upper end of their interval.

A leaf with E errors among N rows is expected to make N x U(E, N) errors on new ones. A subtree that promises no fewer
errors than a leaf is replaced by the leaf; or it is *raised*: its heaviest branch takes its place, and the rows of the
other branches are sorted into it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.bins import MOST_BINS, Bins
from tilth.engines.tree.reshape import cut_by_errors, replant, sum_branches
from tilth.engines.tree.trees import LEAF, THRESHOLD, Trees
from tilth.parts.criteria import NAMED

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: A leaf may be expected to make this many more errors than the subtree it replaces (Quinlan's constant).
SLACK = 0.1


def error_limit(errors: Any, weight: Any, confidence: float = 0.25) -> Floats:
    """Upper limit U of the error share of a leaf that makes ``errors`` among ``weight`` rows.

    U solves P(at most E errors among N | U) = confidence for the binomial distribution; both may be fractions.
    (Quinlan's program approximates U for E > 0: 0.157 in place of the last number here.)

    >>> np.round(error_limit([0, 0, 0, 1], [6, 9, 1, 16]), 3)
    array([0.206, 0.143, 0.75 , 0.16 ])
    """
    errors, weight = np.broadcast_arrays(np.asarray(errors, dtype=np.float64), np.asarray(weight, dtype=np.float64))
    return _core.error_limits(errors.ravel(), weight.ravel(), confidence).reshape(errors.shape)


def expected_errors(counts: Floats, confidence: float) -> Floats:
    """Errors to be expected of leaves with these class counts: N x U(E, N)."""
    weight = counts.sum(axis=-1)
    errors = np.maximum(weight - counts.max(axis=-1), 0.0)
    return np.asarray(weight * error_limit(errors, weight, confidence))


def prune_pessimistic(
    trees: Trees,
    confidence: float = 0.25,
    *,
    table: Table | None = None,
    codes: Ints | None = None,
    weight: Floats | None = None,
    criterion: str = "entropy",
) -> Trees:
    """Prune classification trees by what they were grown from.

    Leaves replace subtrees when their expected errors are not higher by more than 0.1. When the training ``table`` and
    class ``codes`` are given, a second pass raises subtrees of the smaller tree (Quinlan's program does both in one
    pass, which takes many times as long); ``criterion`` names the impurity of the nodes that this fills anew.
    """
    if not 0 < confidence <= 0.5:
        raise ValueError(f"prune_pessimistic: confidence must be above 0 and at most 0.5; got {confidence!r}.")
    trees = cut_by_errors(trees, expected_errors(trees.value * trees.weight[:, None], confidence), SLACK)
    if table is None or codes is None:
        return trees
    named = "entropy" if criterion == "gain_ratio" else criterion
    return Trees.join([raise_branches(tree, table, codes, weight, confidence, named) for tree in trees])


def raise_branches(
    tree: Trees,
    table: Table,
    codes: Ints,
    weight: Floats | None = None,
    confidence: float = 0.25,
    criterion: str = "entropy",
) -> Trees:
    """One tree, pruned from the bottom up with the rows it was grown from.

    A test whose branches are pruned is kept, closed, or gives its place to its heaviest branch, whichever is expected
    to make the fewest errors (the smaller tree may make 0.1 more). A test that comes up this way is looked at again.
    """
    bins, sizes, cut = _in_thresholds(tree, table)
    source, counts, value, raised = _core.raise_branches(
        bins, sizes, tree.test, tree.column, cut, tree.subset, tree.child, tree.branches, tree.missing, tree.bits,
        np.ascontiguousarray(codes, dtype=np.int32),
        None if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        tree.value * tree.weight[:, None], tree.value, confidence, SLACK,
    )  # fmt: skip
    pruned = replant(tree, source, value)
    if not raised:
        return pruned
    # Rows were sorted anew: weights, impurities and gains are those of the new branches.
    counts = replant(tree, source, counts).value
    mixture = np.where(counts > 0, counts, pruned.value * 1e-300)  # an empty branch is as mixed as its answer
    weights, impurity = counts.sum(axis=1), NAMED[criterion]().of(mixture)
    tests, gain = np.flatnonzero(pruned.test != LEAF), np.zeros(pruned.n_nodes)
    below = sum_branches(pruned, tests, weights * impurity) / np.maximum(weights[tests], 1e-300)
    gain[tests] = np.maximum(impurity[tests] - below, 0.0)
    return replace(pruned, weight=weights, impurity=impurity, gain=gain)


def _in_thresholds(tree: Trees, table: Table) -> tuple[NDArray[Any], NDArray[np.int64], Ints]:
    """The table in bins between the thresholds that the tree asks for, bins per column, and the bin of each threshold.

    All that a test needs of a row then lies side by side in a few bytes.
    """
    asks, n_numeric = tree.test == THRESHOLD, len(table.of_kind("numeric"))
    edges, cut = [], np.zeros(tree.n_nodes, dtype=np.int32)
    for j in range(n_numeric):
        tests = np.flatnonzero(asks & (tree.column == j))
        edge_values, cut[tests] = np.unique(tree.threshold[tests], return_inverse=True)
        edges.append(edge_values)
    coded = asks & (tree.column >= n_numeric)
    cut[coded] = np.clip(np.floor(tree.threshold[coded]), -1, MOST_BINS)
    bins = Bins(tree.names, tree.kinds, edges)
    if max(map(len, edges), default=0) < MOST_BINS:
        return bins.apply(table), bins.sizes, cut
    wide = np.empty((table.n_rows, bins.n_columns), dtype=np.uint32)
    for j, column in enumerate([*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal")]):
        place = np.searchsorted(edges[j], column.values) if j < n_numeric else column.values
        wide[:, j] = np.where(column.missing, bins.sizes[j], place)
    return wide, bins.sizes, cut
