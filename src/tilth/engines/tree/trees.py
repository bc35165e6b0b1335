"""Finished trees as plain arrays: one predictor, one exporter, one plot and one TreeSHAP serve them all.

A :class:`Trees` value holds one tree or a thousand. Nodes of all trees stand one after the other; a node's parent comes
before it, its children stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Table
from tilth.params import stored

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: What a node asks (``Trees.test``).
LEAF, THRESHOLD, SUBSET, MULTIWAY = 0, 1, 2, 3
#: ``Trees.missing`` of a node that shares a row with a missing value out among all its branches.
SHARED = -1


@stored
@dataclass(eq=False)
class Trees:
    """One or more trees over the same columns.

    Columns are counted in the order of the engine: the numeric ones of the table first, then those with levels.

    ========== ============ =======================================================================================
    array      shape        meaning
    ========== ============ =======================================================================================
    start      int64[t + 1] nodes of tree i are ``start[i] : start[i + 1]``; the first of them is its root
    test       uint8[m]     LEAF, or which test chooses the branch
    column     int32[m]     the column asked, -1 at a leaf
    threshold  float64[m]   THRESHOLD: branch 0 when ``x <= threshold``, else branch 1; an ordinal column is compared by
                            its level codes (threshold 0.5 lies between the levels 0 and 1)
    subset     int64[m]     SUBSET: place in ``bits`` of the first word of the level set, else -1
    child      int32[m]     node of branch 0, -1 at a leaf; branch i is ``child + i``
    branches   int32[m]     number of branches; MULTIWAY has one per level, then perhaps one for missing values
    missing    int32[m]     branch of a row whose value is missing or unseen; SHARED shares it out by branch weight
    value      f8[m, v]     class shares, or the predicted numbers, of the training rows in the node
    weight     float64[m]   training weight in the node
    impurity   float64[m]   impurity of the node, in the units of the criterion
    gain       float64[m]   how much the node's split lowers the impurity, per unit of weight in the node; 0 at a leaf
    bits       uint64[b]    the level sets of all SUBSET nodes
    output     int32[t]     output that each tree adds to, when a tree answers for one of several outputs (v = 1: the
                            trees of softmax boosting); empty when every tree answers for all v outputs
    ========== ============ =======================================================================================

    SUBSET: branch 0 when bit ``code`` of the set is on, else branch 1; a set of a column with L levels takes
    ``ceil(L / 64)`` words. A binary test may have a third branch, for missing values alone.
    """

    names: list[str]
    kinds: list[Kind]
    start: NDArray[np.int64]
    test: NDArray[np.uint8]
    column: Ints
    threshold: Floats
    subset: NDArray[np.int64]
    child: Ints
    branches: Ints
    missing: Ints
    value: Floats
    weight: Floats
    impurity: Floats
    gain: Floats
    bits: NDArray[np.uint64]
    output: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    _packed: ClassVar[Any] = None  # the predictor's copy of the nodes; each object makes its own when first asked

    # ------------------------------------------------------------------------------------------------- size and shape

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.start) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.test)

    @property
    def n_outputs(self) -> int:
        """Numbers in an answer: classes, or targets."""
        return int(self.output.max()) + 1 if self.output.size else self.value.shape[1]

    def __len__(self) -> int:
        return self.n_trees

    def __iter__(self) -> Iterator[Trees]:
        return (self[i] for i in range(self.n_trees))

    def __getitem__(self, i: int | slice) -> Trees:
        """One tree, or a run of trees, as a value of its own."""
        run = i if isinstance(i, slice) else slice(i % self.n_trees, i % self.n_trees + 1)
        first, last, step = run.indices(self.n_trees)
        if step != 1:
            raise ValueError("Trees can be cut into runs only, not in steps.")
        last = max(first, last)
        a, b = int(self.start[first]), int(self.start[last])
        child = self.child[a:b].copy()
        child[child >= 0] -= a
        return Trees(
            self.names, self.kinds, self.start[first : last + 1] - a, self.test[a:b], self.column[a:b],
            self.threshold[a:b], self.subset[a:b], child, self.branches[a:b], self.missing[a:b],
            self.value[a:b], self.weight[a:b], self.impurity[a:b], self.gain[a:b], self.bits, self.output[first:last],
        )  # fmt: skip

    def depth(self) -> Ints:
        """Depth of every node; a root has 0."""
        out = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(self.test != LEAF):  # parents come before their children
            out[self.child[node] : self.child[node] + self.branches[node]] = out[node] + 1
        return out

    def parent(self) -> Ints:
        """Parent of every node; a root has -1."""
        out = np.full(self.n_nodes, -1, dtype=np.int32)
        for node in np.flatnonzero(self.test != LEAF):
            out[self.child[node] : self.child[node] + self.branches[node]] = node
        return out

    def n_leaves(self) -> NDArray[np.int64]:
        """Leaves of each tree."""
        leaves = np.concatenate([[0], np.cumsum(self.test == LEAF)])
        return np.asarray(leaves[self.start[1:]] - leaves[self.start[:-1]])

    def levels_of(self, node: int) -> NDArray[np.bool_]:
        """Which levels of its column a SUBSET node sends to branch 0."""
        size = len(self.kinds[self.column[node]].levels)
        words = self.bits[self.subset[node] : self.subset[node] + (size + 63) // 64]
        place = np.arange(size)
        return ((words[place // 64] >> (place % 64).astype(np.uint64)) & np.uint64(1)).astype(bool)

    def replace_values(self, value: Floats) -> Trees:
        """The same tests with other answers."""
        return Trees(
            self.names, self.kinds, self.start, self.test, self.column, self.threshold, self.subset, self.child,
            self.branches, self.missing, value, self.weight, self.impurity, self.gain, self.bits, self.output,
        )  # fmt: skip

    @classmethod
    def join(cls, parts: Sequence[Trees], *, release: bool = False) -> Trees:
        """Trees of the same columns, one after the other; ``release`` empties the parts while they are copied."""
        first = parts[0]
        if len(parts) == 1:
            return first
        nodes = np.cumsum([0, *(t.n_nodes for t in parts)])
        words = np.cumsum([0, *(len(t.bits) for t in parts)])
        shift = {"start": nodes, "child": nodes, "subset": words}
        arrays: dict[str, NDArray[Any]] = {}
        for name in ARRAYS:
            own: NDArray[Any] = getattr(first, name)
            size = sum(len(getattr(t, name)) for t in parts) - (len(parts) - 1) * (name == "start")
            into = np.empty((size, *own.shape[1:]), dtype=own.dtype)
            at = 0
            for place, part in enumerate(parts):
                size = len(getattr(part, name)) - (name == "start" and place < len(parts) - 1)
                here = into[at : at + size]
                if release:
                    _pour(part.__dict__.pop(name), here)
                    part.__dict__[name] = np.empty((0, *into.shape[1:]), dtype=into.dtype)
                    _core.give_back_freed_memory()
                else:
                    here[...] = getattr(part, name)[:size]
                if name in shift:
                    here[here >= 0] += here.dtype.type(shift[name][place])
                at += size
            arrays[name] = into
        return cls(first.names, first.kinds, **arrays)

    # ---------------------------------------------------------------------------------------------------- answering

    def packed(self) -> Any:
        """Nodes of 16 bytes for the compiled predictor; made once, never stored in files."""
        if self._packed is None:
            levels = np.array([0 if k.name == "numeric" else len(k.levels) for k in self.kinds], dtype=np.int32)
            self.__dict__["_packed"] = _core.pack_trees(
                self.test, self.column, self.threshold, self.subset, self.child, self.branches, self.missing, levels
            )
        return self._packed

    def sum_values(self, table: Table, scale: Floats | None = None) -> Floats:
        """Sum over the trees of the value of the leaf each row reaches, n x v; ``scale`` weighs the trees."""
        return _core.sum_trees(
            table.numbers(), table.codes(), self.packed(), self.start, self.bits, self.value, self.weight, self.output,
            self.n_outputs, scale,
        )  # fmt: skip

    def leaves(self, table: Table) -> Ints:
        """Leaf that each row reaches in each tree, n x t, as node numbers; a shared row goes the heaviest way."""
        return _core.tree_leaves(table.numbers(), table.codes(), self.packed(), self.start, self.bits, self.weight)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_packed"}

    # ---------------------------------------------------------------------------------------------------- soundness

    def validate(self, n_outputs: int | None = None) -> Self:
        """Refuse arrays that do not make trees (a damaged file, a slip in a hand-made tree)."""
        check_trees(self, n_outputs)
        return self

    def inconsistency(self) -> str:
        """What does not fit together in values that came from a file; empty where all does."""
        try:
            self.validate()
        except ValueError as problem:
            return str(problem)
        return ""


def _pour(source: NDArray[Any], into: NDArray[Any]) -> None:
    """Copy an array that nobody needs any more, from its end, and give back its memory meanwhile."""
    step = max(1, len(into) // 8)
    for stop in range(len(into), 0, -step):
        start = max(0, stop - step)
        into[start:stop] = source[start:stop]
        if source.flags.owndata:
            source.resize((start, *source.shape[1:]), refcheck=False)


#: The array fields of :class:`Trees`, in order.
ARRAYS = (
    "start", "test", "column", "threshold", "subset", "child", "branches", "missing", "value", "weight", "impurity",
    "gain", "bits", "output",
)  # fmt: skip


#: Nodes checked at a time.
_CHECKED_NODES = 100_000


def check_trees(trees: Trees, n_outputs: int | None = None) -> None:
    """Raise a ValueError when the arrays do not describe trees that every row can walk down."""
    m = len(trees.test)
    start = trees.start
    if len(trees.names) != len(trees.kinds):
        raise ValueError("the trees name another number of columns than they have kinds")
    for name in ARRAYS[1:-2]:
        if len(getattr(trees, name)) != m:
            raise ValueError(f"the trees have {m} nodes, but {len(getattr(trees, name))} entries in {name}")
    if trees.value.ndim != 2 or (n_outputs is not None and trees.n_outputs != n_outputs):
        raise ValueError(f"the trees give answers of {trees.n_outputs} numbers, {n_outputs} are needed")
    if len(start) < 1 or start[0] != 0 or start[-1] != m or (np.diff(start) < 1).any():
        raise ValueError("the trees do not say where each of them begins")
    if trees.output.size and (
        len(trees.output) != len(start) - 1 or trees.value.shape[1] != 1 or (trees.output < 0).any()
    ):
        raise ValueError("the trees do not say which output each of them adds to")
    first = 0
    while first < len(start) - 1:  # runs of trees, so that the check of a large forest needs little memory
        last = max(first + 1, int(np.searchsorted(start, start[first] + _CHECKED_NODES, side="right")) - 1)
        _check_nodes(trees, start[first : last + 1])
        first = last


def _check_nodes(trees: Trees, start: NDArray[np.int64]) -> None:
    """The same for the nodes of some neighbouring trees."""
    begin, end = int(start[0]), int(start[-1])
    m, start = end - begin, start - begin
    all_tests, columns, missing = trees.test[begin:end], trees.column[begin:end], trees.missing[begin:end]
    branches = trees.branches[begin:end].astype(np.int64)
    child = trees.child[begin:end].astype(np.int64)
    leaf = all_tests == LEAF
    if (all_tests > MULTIWAY).any() or (child[leaf] != -1).any() or (columns[leaf] != -1).any():
        raise ValueError("the trees hold a node that is neither leaf nor test")
    inner = np.flatnonzero(~leaf)
    tree_of = np.searchsorted(start, inner, side="right")
    column, test = columns[inner], all_tests[inner]
    if (column < 0).any() or (column >= len(trees.names)).any():
        raise ValueError("the trees ask a column that is not there")
    first, count = child[inner] - begin, branches[inner]
    last = first + count
    if (count < 1).any() or (first <= inner).any() or (last > start[tree_of]).any():
        raise ValueError("the trees hold a branch that leads backwards or out of its tree")
    # Every node but the roots must be the child of exactly one node; with child > parent this excludes cycles.
    owners = np.zeros(m + 1, dtype=np.int64)
    np.add.at(owners, first, 1)
    np.add.at(owners, last, -1)
    owned = np.cumsum(owners[:-1])
    expected = np.ones(m, dtype=np.int64)
    expected[start[:-1]] = 0
    if not np.array_equal(owned, expected):
        raise ValueError("the trees hold a node with no parent or with two")
    if (missing[inner] < SHARED).any() or (missing[inner] >= count).any():
        raise ValueError("the trees send missing values to a branch that is not there")
    sizes = np.array([len(k.levels) if k.name != "numeric" else -1 for k in trees.kinds], dtype=np.int64)
    binary = test != MULTIWAY
    if (~np.isin(count[binary], (2, 3))).any():
        raise ValueError("the trees hold a binary test with another number of branches than two or three")
    extra = count - sizes[column]
    if ((test == MULTIWAY) & ((sizes[column] < 0) | ~np.isin(extra, (0, 1)))).any():
        raise ValueError("the trees hold a multiway test that does not fit the levels of its column")
    if not np.isfinite(trees.threshold[begin:end][inner][test == THRESHOLD]).all():
        raise ValueError("the trees hold a threshold that is not a finite number")
    place = trees.subset[begin:end][inner]
    wrong = (sizes[column] < 0) | (place < 0) | (place + (sizes[column] + 63) // 64 > len(trees.bits))
    if ((test == SUBSET) & wrong).any():
        raise ValueError("the trees hold a level set that does not fit its column")
    weight = trees.weight[begin:end]
    if not np.isfinite(trees.value[begin:end]).all() or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("the trees hold an answer or a weight that is not a finite number")
