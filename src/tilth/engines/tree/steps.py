"""Steps: a tree answers in jumps. What does it say just left and just right of each threshold of a column?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilth.engines.tree.reshape import children_of, questions_upwards, sum_branches
from tilth.engines.tree.trees import THRESHOLD, Trees

Floats = NDArray[np.float64]

#: Numbers held at a time while the answers at many places are worked out.
_BLOCK = 4_000_000


def thresholds_of(trees: Trees, column: int) -> Floats:
    """The distinct thresholds at which a column is asked, ascending."""
    tests = (trees.test == THRESHOLD) & (trees.column == column)
    thresholds = np.unique(trees.threshold[tests])
    return thresholds[thresholds < np.finfo(np.float64).max]


def answers_at(trees: Trees, column: int, x: Floats) -> Floats:
    """Mean answer of the trees when ``column`` is x, for each x: n x outputs.

    Tests of the column are decided by x; at every other test the branches are averaged by their training weight.
    """
    size = max(1, _BLOCK // max(trees.value.size, 1))
    blocks = [_answers_block(trees, column, x[i : i + size]) for i in range(0, len(x), size)]
    return np.concatenate(blocks) if blocks else np.empty((0, trees.value.shape[1]))


def _answers_block(trees: Trees, column: int, x: Floats) -> Floats:
    out = np.repeat(trees.value[:, None, :], len(x), axis=1)  # nodes x places x outputs
    place = np.arange(len(x))
    for tests in questions_upwards(trees):
        asks = (trees.column[tests] == column) & (trees.test[tests] == THRESHOLD)
        mine, other = tests[asks], tests[~asks]
        if mine.size:
            goes = trees.child[mine][:, None] + (x > trees.threshold[mine][:, None])
            out[mine] = out[goes, place]
        if other.size:
            total = sum_branches(trees, other, trees.weight)
            lost = np.repeat(total <= 0, trees.branches[other])
            branch = children_of(trees, other)
            weight = np.zeros(trees.n_nodes)
            weight[branch] = np.where(lost, 1.0, trees.weight[branch])
            share = sum_branches(trees, other, weight)
            out[other] = sum_branches(trees, other, out * weight[:, None, None]) / share[:, None, None]
    return np.asarray(out[trees.start[:-1]].mean(axis=0))


def steps(trees: Trees, column: int) -> tuple[Floats, Floats, Floats]:
    """Thresholds of a column, and the mean answers just left and just right of each."""
    cuts = thresholds_of(trees, column)
    return cuts, answers_at(trees, column, cuts), answers_at(trees, column, np.nextafter(cuts, np.inf))
