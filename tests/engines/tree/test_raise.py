"""Subtree raising: the kernel does what the plain reference does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.reference_trees import random_rows, random_trees
from tests.engines.tree.reference_raise import ReferenceRaising
from tilth import _core
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.tree import pessimistic
from tilth.engines.tree.pessimistic import raise_branches
from tilth.engines.tree.reshape import replant
from tilth.engines.tree.trees import LEAF, Trees

EXACT = ("start", "test", "column", "threshold", "subset", "child", "branches", "missing")


def typed(levels, numbers, codes):
    """The rows as a table; every other column with levels has an order."""
    kinds = [
        Kind("numeric") if not size else Kind(("nominal", "ordinal")[j % 2], tuple(f"l{i}" for i in range(size)))
        for j, size in enumerate(levels)
    ]
    values = [*numbers.T, *codes.T]
    return Table([Column(f"x{j}", k, v) for j, (k, v) in enumerate(zip(kinds, values, strict=True))], len(numbers))


def case(levels, n, n_classes, seed, n_leaves=25, weighted=False, shared=True, by_leaf=True):
    """A random tree, rows whose class goes by the leaf they reach (or by the first column), mostly, and the tree
    filled with them.
    """
    rng = np.random.default_rng(seed)
    t = random_trees(levels, n_trees=1, n_leaves=n_leaves, width=n_classes, shared=shared, seed=seed)
    numbers, codes = random_rows(levels, n, missing=0.15, seed=seed)
    table = typed(levels, numbers, np.where(codes >= np.array([s for s in levels if s], dtype=int), -1, codes))
    names, kinds = table.names, [c.kind for c in table.columns]
    m = len(t.test)
    tree = Trees(
        names, kinds, t.start, t.test, t.column, t.threshold, t.subset, t.child, t.branches, t.missing,
        np.full((m, n_classes), 1 / n_classes), t.weight, np.zeros(m), rng.random(m), t.bits,
    ).validate(n_classes)  # fmt: skip
    rule = tree.leaves(table)[:, 0] // 3 % n_classes if by_leaf else (table.columns[0].values > 0).astype(int)
    y = np.where(rng.random(n) < 0.15, rng.integers(0, n_classes, n), rule).astype(np.int32)
    weight = rng.choice([0.0, 0.5, 1.0, 2.25], n) if weighted else None
    w = np.ones(n) if weight is None else weight
    filled = ReferenceRaising(tree, table, y, w).fill(0, np.arange(n), w)
    counts = np.array([filled[i] for i in range(m)])
    total = counts.sum(axis=1, keepdims=True)
    value = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / n_classes)
    return Trees(**{**vars(tree.replace_values(value)), "weight": total[:, 0]}), table, y, weight


def check(tree, table, y, weight, confidence=0.25):
    wanted = ReferenceRaising(tree, table, y, weight).run(confidence)
    found = raise_branches(tree, table, y, weight, confidence)
    planted = replant(tree, wanted.source, wanted.value)
    for name in EXACT:
        assert np.array_equal(getattr(found, name), getattr(planted, name)), name
    assert found.value == pytest.approx(planted.value, abs=1e-12)
    counts = replant(tree, wanted.source, wanted.counts).value
    assert found.weight == pytest.approx(counts.sum(axis=1), rel=1e-12, abs=1e-12)
    return wanted, found.validate(y.max() + 1)


@pytest.mark.covers("T-14")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("levels", "n_classes"), [([0, 0, 3, 5], 2), ([0, 0, 0], 2), ([4, 3, 70, 2], 2), ([0, 4, 300], 7)]
)
def test_the_kernel_prunes_as_the_reference_does(levels, n_classes, weighted):
    kept = closed = raised = 0
    for seed in range(12):
        tree, table, y, weight = case(levels, 400, n_classes, seed, weighted=weighted, shared=seed % 3 > 0)
        wanted, found = check(tree, table, y, weight, (0.25, 0.05, 0.5)[seed % 3])
        raised += wanted.raised
        kept += int((found.test != LEAF).sum())
        closed += int((tree.test != LEAF).sum() - (found.test != LEAF).sum()) - wanted.raised
    assert min(kept, closed, raised) > 0


def test_many_rows_on_any_number_of_threads():
    tree, table, y, _ = case([0, 0, 4], 40_000, 3, seed=18, n_leaves=40, by_leaf=False)
    wanted, found = check(tree, table, y, None)
    assert wanted.raised > 0
    try:
        for threads in (1, 2, 5):
            _core.set_threads(threads)
            again = raise_branches(tree, table, y)
            assert again.value.tobytes() == found.value.tobytes()
            assert again.weight.tobytes() == found.weight.tobytes()
            assert again.child.tobytes() == found.child.tobytes()
    finally:
        _core.set_threads(0)


def test_more_thresholds_than_16_bits_can_number(monkeypatch):
    monkeypatch.setattr(pessimistic, "MOST_BINS", 3)
    for seed in range(4):
        tree, table, y, weight = case([0, 0, 3, 5], 300, 2, seed, weighted=True)
        assert pessimistic._in_thresholds(tree, table)[0].dtype == np.uint32
        check(tree, table, y, weight)


def test_a_weight_is_a_repetition():
    tree, table, y, _ = case([0, 0, 3, 5], 300, 2, seed=7)
    times = np.random.default_rng(0).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), times)
    weighted = raise_branches(tree, table, y, times.astype(float))
    repeated = raise_branches(tree, table.rows(rows), y[rows])
    for name in EXACT:
        assert np.array_equal(getattr(weighted, name), getattr(repeated, name)), name
    assert weighted.value == pytest.approx(repeated.value)


def test_no_rows_and_a_single_leaf():
    tree, table, y, _ = case([0, 3], 200, 2, seed=1)
    none = raise_branches(tree, table.rows(np.arange(0)), y[:0]).validate(2)
    assert none.n_nodes >= 1
    leaf = replant(tree, np.full(tree.n_nodes, -1), tree.value)
    assert raise_branches(leaf, table, y).n_nodes == 1
