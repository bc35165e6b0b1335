"""C4.5's pruning (Quinlan 1993, chapter 4): errors on the training rows, counted at the upper end of their interval.

A leaf with E errors among N rows is expected to make N x U(E, N) errors on new ones. A subtree that promises no fewer
errors than a leaf is replaced by the leaf; or it is *raised*: its heaviest branch takes its place, and the rows of the
other branches are sorted into it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.table import Table
from tilth.engines.tree.reshape import cut_by_errors
from tilth.engines.tree.trees import LEAF, SHARED, SUBSET, THRESHOLD, Trees
from tilth.parts.criteria import NAMED, Impurity

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
#: Rows of a node and how much of each: a row with a missing value may be in several branches in part.
Part = tuple[NDArray[np.int64], Floats]

#: A leaf may be expected to make this many more errors than the subtree it replaces (Quinlan's constant).
SLACK = 0.1


def error_limit(errors: Any, weight: Any, confidence: float = 0.25) -> Floats:
    """Upper limit U of the error share of a leaf that makes ``errors`` among ``weight`` rows.

    U solves P(at most E errors among N | U) = confidence for the binomial distribution; both may be fractions.
    (Quinlan's program approximates U for E > 0: 0.157 in place of the last number here.)

    >>> np.round(error_limit([0, 0, 0, 1], [6, 9, 1, 16]), 3)
    array([0.206, 0.143, 0.75 , 0.16 ])
    """
    from scipy.special import betaincinv

    errors, weight = np.asarray(errors, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    right = np.maximum(weight - errors, 0.0)
    limit = betaincinv(errors + 1.0, np.where(right > 0, right, 1.0), 1.0 - confidence)
    return np.asarray(np.where(weight <= 0, 0.0, np.where(right > 0, limit, 1.0)))


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
    w = np.ones(table.n_rows) if weight is None else weight
    impurity = NAMED["entropy" if criterion == "gain_ratio" else criterion]()
    return Trees.join([_Raising(tree, table, codes, w, confidence, impurity).run() for tree in trees])


@dataclass
class _Visit:
    """A node whose branches are being pruned one by one."""

    node: int
    rows: Part
    parts: list[Part]
    errors: list[float] = field(default_factory=list)


class _Raising:
    """One tree under pruning: ``source[node]`` is the node whose test now stands at ``node`` (-1: it is a leaf)."""

    def __init__(
        self, tree: Trees, table: Table, codes: Ints, weight: Floats, confidence: float, impurity: Impurity
    ) -> None:
        self.tree, self.codes, self.weight = tree, codes, weight
        self.confidence, self.impurity = confidence, impurity
        self.columns = [c.values for c in (*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal"))]
        self.source = np.where(tree.test == LEAF, -1, np.arange(tree.n_nodes))
        self.counts = tree.value * tree.weight[:, None]
        self.value = tree.value.copy()
        self.raised = False

    def run(self) -> Trees:
        """Visit every node after its branches; a stack of our own, since trees may be deep."""
        rows = np.flatnonzero(self.weight > 0)
        waiting = [self._visit(0, (rows, self.weight[rows]))]
        while True:
            visit = waiting[-1]
            done = len(visit.errors)
            if done < len(visit.parts):
                child = self._first(visit.node) + done
                waiting.append(self._visit(child, visit.parts[done]))
                continue
            again, errors = self._settle(visit)
            waiting.pop()
            if again:
                waiting.append(self._visit(visit.node, visit.rows))
            elif waiting:
                waiting[-1].errors.append(errors)
            else:
                return self._rebuild()

    def _visit(self, node: int, rows: Part) -> _Visit:
        return _Visit(node, rows, self._part(node, rows) if self.source[node] >= 0 else [])

    def _first(self, node: int) -> int:
        return int(self.tree.child[self.source[node]])

    def _as_leaf(self, node: int) -> float:
        return float(expected_errors(self.counts[node], self.confidence))

    def _settle(self, visit: _Visit) -> tuple[bool, float]:
        """Keep, close or raise a test whose branches are pruned; whether to look again, and the errors expected."""
        node, as_leaf = visit.node, self._as_leaf(visit.node)
        if self.source[node] < 0:
            return False, as_leaf
        below = sum(visit.errors)
        first, n = self._first(node), len(visit.parts)
        heavy = first + int(self.counts[first : first + n].sum(axis=1).argmax())
        if self.source[heavy] < 0:
            if as_leaf <= below + SLACK:
                self.source[node] = -1
                return False, as_leaf
            return False, below
        filled = self._fill(heavy, visit.rows)
        ends = np.array([counts for i, counts in filled if self.source[i] < 0])
        raised = float(expected_errors(ends, self.confidence).sum())
        if as_leaf <= min(below, raised) + SLACK:
            self.source[node] = -1
            return False, as_leaf
        if raised <= below + SLACK:
            self.source[node] = self.source[heavy]
            for i, counts in filled[1:]:
                self.counts[i] = counts
                if counts.sum() > 0:
                    self.value[i] = counts / counts.sum()
            self.raised = True
            return True, raised
        return False, below

    def _part(self, node: int, rows: Part) -> list[Part]:
        """Rows of each branch of the test that stands at a node."""
        tree, source = self.tree, int(self.source[node])
        index, weight = rows
        column = int(tree.column[source])
        x = self.columns[column][index]
        kind = tree.kinds[column]
        known = ~np.isnan(x) if kind.name == "numeric" else (x >= 0) & (x < len(kind.levels))
        if tree.test[source] == THRESHOLD:
            branch = (x > tree.threshold[source]).astype(np.int64)
        elif tree.test[source] == SUBSET:
            branch = (~tree.levels_of(source)[np.where(known, x, 0)]).astype(np.int64)
        else:
            branch = x.astype(np.int64)
        n, shared = int(tree.branches[source]), tree.missing[source] == SHARED
        branch = np.where(known, branch, n if shared else tree.missing[source])
        order = np.argsort(branch.astype(np.uint16), kind="stable")  # a column has fewer than 2^16 levels
        index, weight = index[order], weight[order]
        ends = np.cumsum(np.bincount(branch, minlength=n + 1))
        parts = [(index[e - s : e], weight[e - s : e]) for e, s in zip(ends, np.diff(ends, prepend=0), strict=True)]
        lost, lost_weight = parts.pop()  # rows to be shared out
        if not lost.size:
            return parts
        sizes = np.array([w.sum() for _, w in parts])
        shares = sizes / sizes.sum() if sizes.sum() > 0 else np.full(n, 1.0 / n)
        return [
            (np.concatenate([i, lost]), np.concatenate([w, lost_weight * s])) if s > 0 else (i, w)
            for (i, w), s in zip(parts, shares, strict=True)
        ]

    def _fill(self, node: int, rows: Part) -> list[tuple[int, Floats]]:
        """Class counts of a node and all nodes below it, when ``rows`` are sent into it; the node itself first."""
        size = self.counts.shape[1]
        filled: list[tuple[int, Floats]] = []
        waiting = [(node, rows)]
        while waiting:
            i, (index, weight) = waiting.pop()
            filled.append((i, np.bincount(self.codes[index], weight, minlength=size).astype(np.float64)))
            if self.source[i] >= 0:
                waiting.extend(enumerate(self._part(i, (index, weight)), self._first(i)))
        return filled

    def _rebuild(self) -> Trees:
        """The nodes that are left, in new arrays."""
        tree, order, child = self.tree, [0], []
        for node in order:  # grows while it is read
            inner = self.source[node] >= 0
            child.append(len(order) if inner else -1)
            if inner:
                first = self._first(node)
                order.extend(range(first, first + int(tree.branches[self.source[node]])))
        old, source = np.array(order), self.source[order]
        leaf = source < 0
        counts, value = self.counts[old], self.value[old]
        weight, impurity, gain = tree.weight[old], tree.impurity[old], np.where(leaf, 0.0, tree.gain[source])
        if self.raised:
            weight, impurity = counts.sum(axis=1), self.impurity.of(np.where(counts > 0, counts, value * 1e-300))
            for i in np.flatnonzero(~leaf):
                here = slice(child[i], child[i] + int(tree.branches[source[i]]))
                gain[i] = max(impurity[i] - (weight[here] * impurity[here]).sum() / max(weight[i], 1e-300), 0.0)
        return Trees(
            tree.names, tree.kinds, np.array([0, len(old)], dtype=np.int64),
            np.where(leaf, LEAF, tree.test[source]).astype(np.uint8),
            np.where(leaf, -1, tree.column[source]).astype(np.int32), np.where(leaf, 0.0, tree.threshold[source]),
            np.where(leaf, -1, tree.subset[source]), np.array(child, dtype=np.int32),
            np.where(leaf, 0, tree.branches[source]).astype(np.int32),
            np.where(leaf, 0, tree.missing[source]).astype(np.int32), value, weight, impurity, gain, tree.bits,
        )  # fmt: skip
