"""A slow, plain, textbook grower: what the compiled grower is compared with.

Every candidate test is tried by cutting the rows and measuring the groups anew. Columns are tried in the order of the
engine, thresholds from the lowest; a later candidate must be better by more than rounding.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tilth.engines.tree.grow import Goal, Growth
from tilth.engines.tree.trees import LEAF, MULTIWAY, SHARED, SUBSET, THRESHOLD, Trees
from tilth.parts.criteria import NAMED, Entropy

TINY = 1e-12


def engine_columns(table):
    """Columns in the order of the engine."""
    return [*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal")]


@dataclass
class Node:
    rows: np.ndarray
    share: np.ndarray  # how much of each row is here: less than 1 when it came in part
    weight: np.ndarray  # of each row, times its share
    depth: int
    used: frozenset = frozenset()
    value: np.ndarray = None
    total: float = 0.0
    impurity: float = 0.0
    split: Split | None = None
    children: list[Node] = field(default_factory=list)


@dataclass
class Split:
    column: int
    test: int
    branch: np.ndarray  # of every row of the node; -1 = missing
    branches: int
    missing: int
    gain: float
    score: float
    threshold: float = 0.0
    levels: frozenset = frozenset()


class Measure:
    """Impurity and answer of a group of rows."""

    def __init__(self, goal: Goal, growth: Growth):
        self.goal, self.criterion = goal, growth.criterion
        if goal.codes is not None:
            name = "entropy" if self.criterion == "gain_ratio" else self.criterion
            self.of_counts = NAMED[name]()

    def __call__(self, rows, weight):
        """Impurity, answer."""
        if self.goal.codes is not None:
            counts = np.bincount(self.goal.codes[rows], weight, minlength=self.goal.n_classes)
            return float(self.of_counts.of(counts)), counts / max(counts.sum(), 1e-300)
        y = self.goal.numbers[rows]
        total = weight.sum()
        if self.criterion == "absolute_error":
            centre = np.array([weighted_median(y[:, j], weight) for j in range(y.shape[1])])
            spread = np.abs(y - centre)
        else:
            centre = (weight[:, None] * y).sum(axis=0) / total
            spread = (y - centre) ** 2
        return float(((weight[:, None] * spread).sum(axis=0) / total).mean()), centre


def weighted_median(values, weight):
    """The value where half of the weight is reached, or the middle of two when it is reached exactly between them."""
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    reached = np.cumsum(weight)
    half = reached[-1] / 2
    i = int(np.searchsorted(reached, half - 1e-12 * half))
    if abs(reached[i] - half) <= 1e-12 * half and i + 1 < len(values):
        return (values[i] + values[i + 1]) / 2
    return values[i]


class Grower:
    """Grows one tree on all rows."""

    def __init__(self, table, goal: Goal, growth: Growth):
        self.columns = engine_columns(table)
        self.goal, self.growth = goal, growth
        n = table.n_rows
        self.weight = np.ones(n) if goal.weight is None else goal.weight
        self.measure = Measure(goal, growth)
        self.root_weight = float(self.weight.sum())

    def grow(self) -> Trees:
        rows = np.flatnonzero(self.weight > 0)
        root = self.node(rows, np.ones(len(rows)), 0, frozenset())
        if self.growth.order == "depth":
            self.grow_below(root)
        else:
            self.grow_best(root)
        return self.flatten(root)

    def node(self, rows, share, depth, used) -> Node:
        node = Node(rows, share, share * self.weight[rows], depth, used)
        node.impurity, node.value = self.measure(rows, node.weight)
        node.total = float(node.weight.sum())
        return node

    def grow_below(self, node: Node) -> None:
        split = self.best_split(node)
        if split is not None:
            for child in self.part(node, split):
                if child.total > 0:
                    self.grow_below(child)

    def grow_best(self, root: Node) -> None:
        """The node whose split takes most impurity away first."""
        order = itertools.count()
        waiting: list = []

        def offer(node):
            split = self.best_split(node) if node.total > 0 else None
            if split is not None:
                heapq.heappush(waiting, (-split.gain * node.total, next(order), node, split))

        offer(root)
        leaves = 1
        most = self.growth.max_leaves
        while waiting:
            _, _, node, split = heapq.heappop(waiting)
            if most is not None and leaves + split.branches - 1 > most:
                continue
            leaves += split.branches - 1
            for child in self.part(node, split):
                offer(child)

    # ------------------------------------------------------------------------------------------------------ parting

    def part(self, node: Node, split: Split) -> list[Node]:
        node.split = split
        known = split.branch >= 0
        sizes = np.array([node.weight[split.branch == b].sum() for b in range(split.branches)])
        for b in range(split.branches):
            here = split.branch == b
            share = node.share.copy()
            if split.missing == SHARED:
                share[~known] *= sizes[b] / sizes.sum()
                here = here | (~known & (sizes[b] > 0))
            elif split.missing == b:
                here = here | ~known
            rows = node.rows[here]
            if rows.size:
                child = self.node(rows, share[here], node.depth + 1, node.used | {split.column})
            else:
                child = Node(rows, share[here], share[here], node.depth + 1, value=node.value, impurity=node.impurity)
            node.children.append(child)
        return node.children

    # ----------------------------------------------------------------------------------------------------- searching

    def best_split(self, node: Node) -> Split | None:
        g = self.growth
        if g.max_depth is not None and node.depth >= g.max_depth:
            return None
        if node.share.sum() < g.min_rows_split or node.impurity <= TINY:
            return None
        if self.goal.codes is not None and node.value.max() >= g.max_purity:
            return None
        found = []
        for j in range(len(self.columns)):
            if g.reuse or j not in node.used:
                found.extend(self.best_of_column(node, j))
        best = self.choose(node, found)
        if best is None:
            return None
        if best.gain * node.total / self.root_weight < g.min_decrease - TINY:
            return None
        return best

    def choose(self, node: Node, found: list[Split]) -> Split | None:
        """Highest score; for the gain ratio only among tests of at least average gain."""
        g = self.growth
        if g.criterion == "gain_ratio":
            positive = [s.gain for s in found if s.gain > TINY]
            average = np.mean(positive) - 1e-9 if positive else -np.inf
            found = [s for s in found if s.gain >= average]
        best = None
        for split in found:
            if best is None or split.score > best.score + self.tiny(node):
                best = split
        return best if best is not None and best.score >= g.min_gain else None

    @staticmethod
    def tiny(node: Node) -> float:
        return TINY * (1.0 + node.impurity)

    def best_of_column(self, node: Node, j: int) -> list[Split]:
        """The best test of a column, or nothing."""
        best = None
        for split in self.tests_of_column(node, j):
            if not self.leaves_allowed(node, split):
                continue
            if best is None or split.gain > best.gain + self.tiny(node):
                best = split
        return [] if best is None else [best]

    def tests_of_column(self, node: Node, j: int) -> Iterator[Split]:
        column = self.columns[j]
        values = column.values[node.rows]
        known = ~np.isnan(values) if column.kind.name == "numeric" else values >= 0
        if column.kind.name != "nominal":
            distinct = np.unique(values[known])
            for low, high in itertools.pairwise(distinct.tolist()):
                middle = low / 2 + high / 2
                threshold = low if middle >= high else middle
                branch = np.where(known, (values > threshold).astype(int), -1)
                yield from self.measured(node, Split(j, THRESHOLD, branch, 2, 0, 0.0, 0.0, threshold))
        elif self.growth.nominal == "multiway":
            branch = np.where(known, values, -1)
            if len(np.unique(branch[known])) > 1:
                yield from self.measured(node, Split(j, MULTIWAY, branch, len(column.kind.levels), 0, 0.0, 0.0))
        else:
            present = np.unique(values[known]).tolist()
            # The first level always goes to branch 0: the other half of all sets are mirror images.
            for size in range(len(present) - 1):
                for others in itertools.combinations(present[1:], size):
                    levels = frozenset([present[0], *others])
                    branch = np.where(known, (~np.isin(values, list(levels))).astype(int), -1)
                    yield from self.measured(node, Split(j, SUBSET, branch, 2, 0, 0.0, 0.0, 0.0, levels))
        alone = self.growth.missing == "learned" and known.any() and not known.all()
        if alone and (column.kind.name != "nominal" or self.growth.nominal == "subset"):
            # Known values on one side, missing ones on the other.
            test, levels = (SUBSET, frozenset(present)) if column.kind.name == "nominal" else (THRESHOLD, frozenset())
            far = np.finfo(np.float64).max
            split = Split(j, test, np.where(known, 0, 1), 2, 0, 0.0, 0.0, far, levels)
            yield self.scored(node, split, split.branch, 2, 1)

    def measured(self, node: Node, split: Split) -> Iterator[Split]:
        """The test with its gain, once for each way missing rows may go."""
        known = split.branch >= 0
        sizes = np.array([node.weight[split.branch == b].sum() for b in range(split.branches)])
        heaviest = int(sizes.argmax())
        rule = self.growth.missing
        if known.all():
            yield self.scored(node, split, split.branch, split.branches, SHARED if rule == "fractional" else heaviest)
        elif rule == "own":
            branch = np.where(known, split.branch, split.branches)
            yield self.scored(node, split, branch, split.branches + 1, split.branches)
        elif rule == "learned" and split.test == MULTIWAY:
            yield self.scored(node, split, np.where(known, split.branch, heaviest), split.branches, heaviest)
        elif rule == "learned":
            for b in range(split.branches):
                yield self.scored(node, split, np.where(known, split.branch, b), split.branches, b)
        else:
            yield self.scored(node, split, split.branch, split.branches, SHARED if rule == "fractional" else heaviest)

    def scored(self, node: Node, split: Split, branch, n_branches: int, missing: int) -> Split:
        """Gain of the groups; rows of branch -1 are left out and lower the gain by their share (C4.5)."""
        inside = branch >= 0
        whole, _ = self.measure(node.rows[inside], node.weight[inside])
        total = node.weight[inside].sum()
        after = 0.0
        sizes = []
        for b in range(n_branches):
            here = branch == b
            size = node.weight[here].sum()
            sizes.append(size)
            if size > 0:
                after += size / total * self.measure(node.rows[here], node.weight[here])[0]
        gain = max(whole - after, 0.0)
        if not inside.all():
            gain *= total / node.total
            sizes.append(node.weight[~inside].sum())
        score = gain
        if self.growth.criterion == "gain_ratio":
            cost = float(Entropy().of(sizes))
            score = gain / cost if cost > 0 else 0.0
        return Split(split.column, split.test, branch, n_branches, missing, gain, score, split.threshold, split.levels)

    def leaves_allowed(self, node: Node, split: Split) -> bool:
        """Both branches of a binary test, and two branches of a multiway one, must be large enough."""
        g = self.growth
        large = 0
        for b in range(split.branches if split.test == MULTIWAY else 2):
            here = split.branch == b
            size = node.weight[here].sum()
            large += node.share[here].sum() >= g.min_rows_leaf and size >= g.min_weight_leaf - 1e-9 and size > 0
        return large >= 2

    # ---------------------------------------------------------------------------------------------------- flattening

    def flatten(self, root: Node) -> Trees:
        nodes, child = [root], []
        for node in nodes:  # grows while it is read: children side by side, after their parent
            child.append(len(nodes) if node.split else -1)
            nodes.extend(node.children)
        m = len(nodes)
        split = [n.split for n in nodes]
        bits, place = [], np.full(m, -1, dtype=np.int64)
        for i, s in enumerate(split):
            if s is not None and s.test == SUBSET:
                place[i] = len(bits)
                size = len(self.columns[s.column].kind.levels)
                words = [0] * ((size + 63) // 64)
                for level in s.levels:
                    words[int(level) // 64] |= 1 << (int(level) % 64)
                bits.extend(words)

        def of(name, empty, dtype):
            return np.array([getattr(s, name) if s is not None else empty for s in split], dtype=dtype)

        return Trees(
            [c.name for c in self.columns], [c.kind for c in self.columns], np.array([0, m], dtype=np.int64),
            of("test", LEAF, np.uint8), of("column", -1, np.int32), of("threshold", 0.0, np.float64), place,
            np.array(child, dtype=np.int32), of("branches", 0, np.int32), of("missing", 0, np.int32),
            np.array([n.value for n in nodes], dtype=np.float64).reshape(m, -1),
            np.array([n.total for n in nodes]), np.array([n.impurity for n in nodes]), of("gain", 0.0, np.float64),
            np.array(bits, dtype=np.uint64),
        ).validate()  # fmt: skip


def reference_grow(table, goal: Goal, growth: Growth) -> Trees:
    """The tree of all rows."""
    return Grower(table, goal, growth).grow()


def reference_values(trees: Trees, table) -> np.ndarray:
    """Answers of the first tree, one row at a time."""
    columns = [c.values for c in engine_columns(table)]
    return np.array([_walk(trees, 0, [c[i] for c in columns]) for i in range(table.n_rows)])


def _walk(trees: Trees, node: int, cells) -> np.ndarray:
    while trees.test[node] != LEAF:
        x = cells[trees.column[node]]
        kind = trees.kinds[trees.column[node]]
        first, n = int(trees.child[node]), int(trees.branches[node])
        gone = np.isnan(x) if kind.name == "numeric" else not 0 <= x < len(kind.levels)
        if gone and trees.missing[node] == SHARED:
            w = trees.weight[first : first + n]
            return sum(w[b] / w.sum() * _walk(trees, first + b, cells) for b in range(n) if w[b] > 0)
        if gone:
            b = int(trees.missing[node])
        elif trees.test[node] == THRESHOLD:
            b = int(x > trees.threshold[node])
        elif trees.test[node] == SUBSET:
            b = int(not trees.levels_of(node)[x])
        else:
            b = int(x)
        node = first + b
    return trees.value[node]
