"""What subtree raising means, node by node and row by row, in plain numpy."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from tilth.engines.tree.trees import LEAF, SHARED, SUBSET, THRESHOLD

SLACK = 0.1


def expected(counts, confidence):
    """N x U(E, N) of a leaf."""
    weight = counts.sum()
    right = counts.max()
    if weight <= 0:
        return 0.0
    errors = max(weight - right, 0.0)
    return weight * (float(betaincinv(errors + 1, weight - errors, 1 - confidence)) if weight > errors else 1.0)


class ReferenceRaising:
    """One tree under pruning: ``source[node]`` is the node whose test now stands at ``node`` (-1: it is a leaf)."""

    def __init__(self, tree, table, codes, weight):
        self.tree, self.codes = tree, codes
        self.weight = np.ones(table.n_rows) if weight is None else weight
        self.columns = [c.values for c in (*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal"))]
        self.source = np.where(tree.test == LEAF, -1, np.arange(tree.n_nodes))
        self.counts = tree.value * tree.weight[:, None]
        self.value = tree.value.copy()
        self.raised = 0

    def run(self, confidence):
        """Prune the whole tree."""
        self.confidence = confidence
        rows = np.flatnonzero(self.weight > 0)
        self.prune(0, rows, self.weight[rows])
        return self

    def prune(self, node, rows, weight):
        """Errors expected of the node when it and all below it are pruned."""
        as_leaf = expected(self.counts[node], self.confidence)
        if self.source[node] < 0:
            return as_leaf
        parts = self.part(node, rows, weight)
        first = self.tree.child[self.source[node]]
        below = sum(self.prune(first + b, *part) for b, part in enumerate(parts))
        heavy, heaviest = first, -1.0
        for b in range(len(parts)):
            w = self.counts[first + b].sum()
            if w > heaviest + 1e-12 * max(heaviest, 0.0):  # rounding does not decide
                heavy, heaviest = first + b, w
        raised, filled = np.inf, {}
        if self.source[heavy] >= 0:
            filled = self.fill(heavy, rows, weight)
            raised = sum(expected(counts, self.confidence) for i, counts in filled.items() if self.source[i] < 0)
        if as_leaf <= min(below, raised) + SLACK:
            self.source[node] = -1
            return as_leaf
        if raised > below + SLACK:
            return below
        self.source[node] = self.source[heavy]
        self.raised += 1
        for i, counts in filled.items():
            if i != heavy:
                self.counts[i] = counts
                if counts.sum() > 0:
                    self.value[i] = counts / counts.sum()
        return self.prune(node, rows, weight)

    def part(self, node, rows, weight):
        """Rows of each branch of the test that stands at a node, and how much of each."""
        tree, source = self.tree, self.source[node]
        x, kind = self.columns[tree.column[source]][rows], tree.kinds[tree.column[source]]
        known = ~np.isnan(x) if kind.name == "numeric" else (x >= 0) & (x < len(kind.levels))
        if tree.test[source] == THRESHOLD:
            branch = (x > tree.threshold[source]).astype(int)
        elif tree.test[source] == SUBSET:
            branch = 1 - tree.levels_of(source)[np.where(known, x, 0)].astype(int)
        else:
            branch = x.astype(int)
        n, shared = tree.branches[source], tree.missing[source] == SHARED
        if not shared:
            branch, known = np.where(known, branch, tree.missing[source]), np.ones(len(rows), dtype=bool)
        sizes = np.array([weight[known & (branch == b)].sum() for b in range(n)])
        shares = sizes / sizes.sum() if sizes.sum() > 0 else np.full(n, 1 / n)
        out = []
        for b in range(n):
            here = (known & (branch == b)) | (~known & (shares[b] > 0))
            out.append((rows[here], np.where(known, weight, weight * shares[b])[here]))
        return out

    def fill(self, node, rows, weight):
        """Class weights of a node and of all nodes below it when these rows are sent into it."""
        filled = {node: np.bincount(self.codes[rows], weight, minlength=self.counts.shape[1]).astype(float)}
        if self.source[node] >= 0:
            for b, part in enumerate(self.part(node, rows, weight)):
                filled |= self.fill(self.tree.child[self.source[node]] + b, *part)
        return filled
