"""Growing level by level over chunks of rows: trees from tables that are never in memory as a whole.

Every pass over the rows sums histograms for the nodes of one level; the nodes are then split from the sums. Sums are
whole numbers, so that a tree does not depend on how the rows are cut into chunks, on their order or on who adds them
up, and it is the tree that :func:`tilth.engines.tree.grow.grow_trees` grows from all rows with the same bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.bins import Bins
from tilth.engines.tree.grow import Growth, kernel_settings
from tilth.engines.tree.trees import LEAF, Trees
from tilth.parts.criteria import NAMED
from tilth.stats.statistic import Statistic, require_mergeable

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Cells = NDArray[np.int64]
Array = NDArray[Any]
StatisticT = TypeVar("StatisticT", bound=Statistic)

#: Histograms of one pass take at most this much memory; a level of more nodes takes several passes.
TABLE_BYTES = 1 << 26
#: Larger whole weights are treated as fractions are.
LARGEST_WHOLE = 65_535


class Passes(Protocol):
    """One fold over all rows: ``update(statistic, table, target, weight)`` adds a chunk."""

    def __call__(
        self, make: Callable[[], StatisticT], update: Callable[[StatisticT, Table, Array, Floats | None], object]
    ) -> StatisticT:
        """Return the statistic of all rows."""
        ...


@dataclass(slots=True, eq=False, repr=False)
class TargetFacts(Statistic):
    """What must be known of all rows before the first is counted: how many, their weights, the range of the targets.

    >>> facts = TargetFacts.empty(1)
    >>> facts.update(np.array([3.0, 1.0]), np.array([1.0, 2.5]))
    >>> facts
    TargetFacts(rows=2, weight=3.5, top_weight=2.5, whole_weights=False, low=[1.0], high=[3.0])
    """

    rows: int
    weight: float
    top_weight: float
    whole_weights: bool
    low: Floats
    high: Floats

    @classmethod
    def empty(cls, n_targets: int) -> Self:
        """No rows yet, of ``n_targets`` numbers (0 for classes)."""
        return cls(0, 0.0, 0.0, True, np.full(n_targets, np.inf), np.full(n_targets, -np.inf))

    def update(self, target: Array, weight: Floats | None = None) -> None:
        """Add rows: class codes, or one or several numbers a row."""
        n = len(target)
        if n == 0:
            return
        self.rows += n
        self.weight += float(n if weight is None else weight.sum())
        self.top_weight = max(self.top_weight, 1.0 if weight is None else float(weight.max()))
        if weight is not None:
            self.whole_weights &= bool(((weight == np.floor(weight)) & (weight <= LARGEST_WHOLE)).all())
        if len(self.low):
            numbers = target.reshape(n, len(self.low))
            self.low, self.high = np.minimum(self.low, numbers.min(axis=0)), np.maximum(self.high, numbers.max(axis=0))

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "low")
        self.rows += other.rows
        self.weight += other.weight
        self.top_weight = max(self.top_weight, other.top_weight)
        self.whole_weights &= other.whole_weights
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return self

    def for_kernel(self) -> tuple[int, float, bool, Floats, Floats]:
        """The facts as the kernels take them."""
        return self.rows, self.top_weight, self.whole_weights, self.low, self.high


@dataclass(slots=True, eq=False, repr=False)
class LevelStatistic(Statistic):
    """Sums of the rows of some nodes: histograms of the first nodes, totals of all.

    For targets that are numbers also their range in each node and sum w (y - c)^2 around a number c near their mean.
    """

    tables: Cells
    totals: Cells
    low: Floats
    high: Floats
    squares: Floats

    def update(self, level: LevelPass, table: Table, target: Array, weight: Floats | None = None) -> None:
        """Add the rows of a table, each to the node that it reaches."""
        slot = level.slots(table)
        tables, totals = level.sums(level.bins.apply(table), slot, target, weight)
        if level.n_targets:
            here = slot >= 0
            at, y = slot[here], target.reshape(len(target), level.n_targets)[here]
            squares = (y - level.near[at]) ** 2 * (1.0 if weight is None else weight[here, None])
            np.minimum.at(self.low, at, y)
            np.maximum.at(self.high, at, y)
            for o in range(level.n_targets):
                self.squares[:, o] += np.bincount(at, squares[:, o], len(self.totals))
        self.tables += tables
        self.totals += totals

    def __iadd__(self, other: Self) -> Self:
        require_mergeable(self, other, "tables", "totals", "squares")
        self.tables += other.tables
        self.totals += other.totals
        self.squares += other.squares
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return self


@dataclass(eq=False)
class LevelPass:
    """What one pass counts: the tree so far, and the place of its open nodes in the statistic (-1: not counted)."""

    trees: Trees
    slot_of_node: Ints
    n_tables: int
    near: Floats
    bins: Bins
    facts: TargetFacts
    n_classes: int

    @property
    def n_targets(self) -> int:
        """Numbers in a target; 0 for classes."""
        return len(self.facts.low)

    def slots(self, table: Table) -> Ints:
        """Place of the node that each row reaches."""
        return self.slot_of_node[self.trees.leaves(table)[:, 0]]

    def sums(self, cells: Array, slot: Ints, target: Array, weight: Floats | None) -> tuple[Cells, Cells]:
        """Histograms and totals of rows in bins."""
        numbers = np.ascontiguousarray(target.reshape(len(target), self.n_targets)) if self.n_targets else None
        return _core.level_sums(
            cells, self.bins.sizes, slot, self.n_tables, len(self.near), None if self.n_targets else target,
            self.n_classes, numbers, weight, self.facts.for_kernel(),
        )  # fmt: skip

    def empty(self) -> LevelStatistic:
        """The sums of no rows."""
        target: Array = np.empty((0, self.n_targets)) if self.n_targets else np.empty(0, dtype=np.int32)
        none = np.empty((0, self.bins.n_columns), dtype=np.uint16)
        tables, totals = self.sums(none, np.empty(0, dtype=np.int32), target, None)
        shape = len(totals), self.n_targets
        return LevelStatistic(tables, totals, np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape))

    def add(self, statistic: LevelStatistic, table: Table, target: Array, weight: Floats | None) -> None:
        """Add a chunk."""
        statistic.update(self, table, target, weight)


def require_foldable(growth: Growth, owner: str = "grow_by_level") -> None:
    """Refuse rules of growth that need rows at hand, and say what to choose instead."""
    cures = {
        "thresholds='exact'": (growth.thresholds == "exact", "thresholds='binned'"),
        "criterion='absolute_error'": (growth.criterion == "absolute_error", "criterion='squared_error'"),
        "criterion='newton'": (growth.criterion == "newton", "criterion='squared_error'"),
        "missing='fractional'": (growth.missing == "fractional", "missing='learned'"),
        "a limit on leaves": (growth.max_leaves is not None or growth.order == "best", "max_depth to limit the tree"),
    }
    for what, (needed, cure) in cures.items():
        if needed:
            raise ValueError(
                f"{owner}: {what} needs all rows at hand, not chunks of them; use {cure}, or fit the rows."
            )


def grow_by_level(
    passes: Passes, bins: Bins, facts: TargetFacts, growth: Growth, seed: int, *, n_classes: int = 0,
    table_bytes: int = TABLE_BYTES,
) -> Trees:  # fmt: skip
    """Grow one tree in passes over the rows, a level (or, of a wide level, a part) in each.

    Parameters
    ----------
    passes : folds a statistic over all rows; called once or more per level.
    bins : how cells become bins; ``thresholds="auto"`` means binned.
    facts : of all rows.
    growth, seed : as for ``grow_trees``, which gives the same tree from the same bins.
    n_classes : number of classes; 0 when the targets are numbers.
    table_bytes : memory for the histograms of one pass.
    """
    require_foldable(growth)
    if facts.rows == 0:
        raise ValueError("A tree cannot be grown from no rows.")
    sapling = _Sapling(bins, facts, growth, n_classes)
    front = sapling.root(seed)
    while len(front.node):
        front = sapling.grow(passes, front, table_bytes)
    return sapling.finish()


@dataclass(eq=False)
class _Front:
    """Nodes of the last level, side by side; ``near`` is the mean of their targets, or a first guess at it."""

    node: Ints
    totals: Cells
    seed: NDArray[np.uint64]
    low: Floats
    high: Floats
    used: NDArray[np.uint8]
    open: NDArray[np.bool_]
    near: Floats

    def some(self, index: Array) -> _Front:
        return _Front(**{name: values[index] for name, values in vars(self).items()})

    @classmethod
    def joined(cls, parts: list[_Front]) -> _Front:
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in vars(parts[0])})


@dataclass(eq=False)
class _Sapling:
    """A tree while it grows: one entry per node in each array."""

    bins: Bins
    facts: TargetFacts
    growth: Growth
    n_classes: int
    depth: int = 0
    levels: list[int] = field(default_factory=lambda: [0, 1])  # where the nodes of each level begin
    nodes: dict[str, Array] = field(default_factory=dict)
    bits: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    def __post_init__(self) -> None:
        self.k = len(self.facts.low)
        self.rules = kernel_settings(self.growth, 0, False, max(self.k, 1))

    def root(self, seed: int) -> _Front:
        """The front of a tree that is nothing but its root."""
        paths_matter = not self.growth.reuse or bool(self.growth.interactions)
        front = _Front(
            np.zeros(1, dtype=np.int32), np.zeros((1, 0), dtype=np.int64),
            np.array([_core.root_seed(seed)], dtype=np.uint64), np.array([-np.inf]), np.array([np.inf]),
            np.zeros((1, self.bins.n_columns if paths_matter else 0), dtype=np.uint8), np.ones(1, dtype=bool),
            (self.facts.low / 2 + self.facts.high / 2)[None],
        )  # fmt: skip
        self._append(front)
        return front

    def _append(self, front: _Front) -> None:
        """Make leaves of the front's nodes."""
        n = len(front.node)
        new: dict[str, Array] = {name: np.full(n, value, dtype=kind) for name, (value, kind) in _LEAVES.items()} | {
            "low": front.low, "high": front.high, "totals": front.totals, "near": front.near,
            "squares": np.zeros((n, self.k)),
        }  # fmt: skip
        for name, values in new.items():
            self.nodes[name] = np.concatenate([self.nodes[name], values]) if name in self.nodes else values

    # ------------------------------------------------------------------------------------------------------- one level

    def grow(self, passes: Passes, front: _Front, table_bytes: int) -> _Front:
        """Split the nodes of the front that may be split; gives the front of their children."""
        words = max(front.totals.shape[1], 1)
        room = max(1, table_bytes // (8 * words * int((self.bins.sizes + 1).sum())))
        may, closed = np.flatnonzero(front.open), np.flatnonzero(~front.open)
        fronts = []
        for start in range(0, max(len(may), 1), room):
            # Nodes that are leaves already need their spread only, which the first pass finds for all of them.
            group = np.concatenate([may[start : start + room], closed if start == 0 else closed[:0]])
            fronts.append(self._split(passes, front.some(group)))
        children = _Front.joined(fronts)
        self.levels.append(len(self.nodes["test"]))
        self.depth += 1
        # The spread of numbers in a leaf is not in its parent's sums; the shares of classes are.
        counted = children.open if self.n_classes else self._weights(children.totals) > 0
        return children.some(np.flatnonzero(counted))

    def _split(self, passes: Passes, front: _Front) -> _Front:
        n_tables = int(front.open.sum())
        slot = np.full(len(self.nodes["test"]), -1, dtype=np.int32)
        slot[front.node] = np.arange(len(front.node))
        level = LevelPass(
            self._walkable(), slot, n_tables, np.ascontiguousarray(front.near), self.bins, self.facts, self.n_classes
        )
        level_sums = passes(level.empty, level.add)
        if not self.depth:
            self.nodes["totals"] = front.totals = level_sums.totals
        self.nodes["squares"][front.node] = level_sums.squares
        front = front.some(np.arange(n_tables))
        edges, first = self.bins.flat_edges()
        uniform = (
            (level_sums.low == level_sums.high).all(axis=1) if self.k else np.zeros(len(level_sums.totals), dtype=bool)
        )
        splits = _core.level_splits(
            level_sums.tables, front.totals, self.nodes["totals"][0], self.depth, front.seed, front.low, front.high,
            front.used, uniform[:n_tables].astype(np.uint8), self.bins.sizes, self.bins.nominal, edges, first,
            self.n_classes, self.k, self.facts.for_kernel(), self.rules,
        )  # fmt: skip
        return self._ask(front, splits)

    def _ask(self, front: _Front, splits: dict[str, Any]) -> _Front:
        """Write the questions into the tree and hang the children on it."""
        nodes, first = self.nodes, len(self.nodes["test"])
        subset = splits["subset"] + np.where(splits["subset"] >= 0, len(self.bits), 0)
        child = first + np.cumsum(splits["branches"]) - splits["branches"]
        for name in ("test", "column", "threshold", "branches", "missing", "gain"):
            nodes[name][front.node] = splits[name]
        nodes["subset"][front.node] = subset
        nodes["child"][front.node] = np.where(splits["test"] == LEAF, -1, child)
        self.bits = np.concatenate([self.bits, splits["bits"]])
        children = _Front(
            np.arange(first, first + len(splits["open"]), dtype=np.int32), splits["totals"], splits["seed"],
            splits["low"], splits["high"], splits["used"], splits["open"].astype(bool), self._means(splits["totals"]),
        )  # fmt: skip
        self._append(children)
        return children

    def _walkable(self) -> Trees:
        """The tree so far, for rows to walk down; it has no answers yet."""
        n = len(self.nodes["test"])
        shape = {name: self.nodes[name] for name in _WAYS}
        zeros = np.zeros(n)
        trees = Trees(
            self.bins.names, self.bins.kinds, np.array([0, n], dtype=np.int64), **shape, bits=self.bits,
            value=np.zeros((n, 1)), weight=zeros, impurity=zeros, gain=zeros,
        )  # fmt: skip
        trees.packed()  # once, before threads ask for it
        return trees

    # ------------------------------------------------------------------------------------------------------- the sums

    def _lanes(self, totals: Cells) -> tuple[Floats, Floats]:
        return _core.level_lanes(
            np.ascontiguousarray(totals), self.nodes["totals"][0], self.n_classes, self.k, self.facts.for_kernel()
        )

    def _weights(self, totals: Cells) -> Floats:
        lanes = self._lanes(totals)[0]
        return np.ascontiguousarray(lanes[:, 1:].sum(axis=1) if self.n_classes else lanes[:, 1])

    def _means(self, totals: Cells) -> Floats:
        """Mean targets of nodes; of classes there are none."""
        if self.n_classes:
            return np.empty((len(totals), 0))
        lanes, centre = self._lanes(totals)
        return np.asarray(centre + lanes[:, 2:] / np.where(lanes[:, 1:2] > 0, lanes[:, 1:2], 1.0))

    # ------------------------------------------------------------------------------------------------------ the answers

    def finish(self) -> Trees:
        """The tree with its answers."""
        nodes = self.nodes
        weight = self._weights(nodes["totals"])
        if self.n_classes:
            counts = self._lanes(nodes["totals"])[0][:, 1:]
            value = counts / np.where(weight > 0, weight, 1.0)[:, None]
            name = "entropy" if self.growth.criterion == "gain_ratio" else self.growth.criterion
            impurity = NAMED[name]().of(counts)
        else:
            value = self._means(nodes["totals"])
            impurity = self._variances(value, weight)
            if any(self.growth.monotone):
                value = np.clip(value, nodes["low"][:, None], nodes["high"][:, None])
        parent = self._parents()
        for a, b in zip(self.levels[1:-1], self.levels[2:], strict=True):
            empty = a + np.flatnonzero(weight[a:b] == 0)  # a branch that no row took answers as its parent does
            value[empty], impurity[empty] = value[parent[empty]], impurity[parent[empty]]
        shape = {name: nodes[name] for name in (*_WAYS, "gain")}
        start = np.array([0, len(weight)], dtype=np.int64)
        return Trees(
            self.bins.names, self.bins.kinds, start, **shape, bits=self.bits, value=value, weight=weight,
            impurity=impurity,
        )  # fmt: skip

    def _parents(self) -> NDArray[np.int64]:
        inner = np.flatnonzero(self.nodes["test"] != LEAF)
        order = inner[np.argsort(self.nodes["child"][inner])]  # children stand in the order of their numbers
        return np.concatenate([[-1], np.repeat(order, self.nodes["branches"][order])])

    def _variances(self, mean: Floats, weight: Floats) -> Floats:
        """Mean square around the mean, averaged over the targets; of an inner node from those of its branches."""
        held = weight[:, None]
        within = np.maximum(self.nodes["squares"] - held * (mean - self.nodes["near"]) ** 2, 0.0)
        within[self.nodes["test"] != LEAF] = 0.0
        parent = self._parents()
        for a, b in reversed(list(zip(self.levels[1:-1], self.levels[2:], strict=True))):
            above = parent[a:b]
            np.add.at(within, above, within[a:b] + held[a:b] * (mean[a:b] - mean[above]) ** 2)
        return np.asarray((within / np.where(held > 0, held, 1.0)).mean(axis=1))


#: How a leaf is written.
_LEAVES: dict[str, tuple[float, type]] = {
    "test": (LEAF, np.uint8), "column": (-1, np.int32), "threshold": (0.0, np.float64), "subset": (-1, np.int64),
    "child": (-1, np.int32), "branches": (0, np.int32), "missing": (0, np.int32), "gain": (0.0, np.float64),
}  # fmt: skip
#: What rows need to walk down a tree, besides the level sets.
_WAYS = ("test", "column", "threshold", "subset", "child", "branches", "missing")
