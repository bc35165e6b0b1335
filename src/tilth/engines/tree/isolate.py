"""Isolation trees: how many random questions until a row stands alone?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.data.table import Table
from tilth.engines.tree.sizes import Seeds
from tilth.engines.tree.trees import Trees

Floats = NDArray[np.float64]


def copies_of(n_rows: int, weight: Floats | None) -> int:
    """How many rows can be drawn: a row of whole weight w stands for w equal rows, one of a fraction for itself."""
    if weight is None:
        return n_rows
    with np.errstate(over="ignore"):
        upto = np.cumsum(weight)
    if not np.isfinite(upto[-1]) or (np.diff(upto, prepend=0.0) <= 0).any():
        raise ValueError(
            f"rows are drawn by their weights, which lie from {weight.min():g} to {weight.max():g}: too far apart, or "
            "too large, to be summed. Round the small ones to 0, or divide all by a constant."
        )
    return int(upto[-1]) if (weight == np.floor(weight)).all() else n_rows


def grow_isolation(
    table: Table,
    seeds: Seeds,
    subsample: int,
    *,
    weight: Floats | None = None,
    max_depth: int | None = None,
    columns: int | None = None,
) -> Trees:
    """One isolation tree per seed, whose values are path lengths: depth of the leaf + c(rows in the leaf).

    Each tree draws ``subsample`` rows (a row of weight w stands for w rows) and ``columns`` columns (None: all). A node
    asks a random one of the columns that still differ: a number is cut at a random place between its smallest and
    largest value in the node, an ordinal column between two random levels, the levels of a nominal column are parted by
    coins. Growth ends at depth ceil(log2 subsample), where c(n) stands for what would have followed.

    A missing value says nothing: in growing it goes one way by lot, in proportion to the rows on either side; a new row
    is shared out among both, so that its path length is their weighted mean.
    """
    coded = table.of_kind("nominal", "ordinal")
    plain = table.of_kind("numeric")
    levels = [len(c.kind.levels) * (1 if c.kind.name == "nominal" else -1) for c in coded]
    depth = math.ceil(math.log2(subsample)) if max_depth is None else max_depth
    start, test, column, threshold, subset, child, branches, missing, value, held, bits = _core.isolation_trees(
        table.numbers(),
        table.codes(),
        np.array(levels, dtype=np.int64),
        None if weight is None else np.cumsum(weight),
        subsample,
        depth,
        len(table.columns) if columns is None else columns,
        seeds.astype(np.uint64),
    )
    nothing = np.zeros(len(test))
    return Trees(
        [c.name for c in (*plain, *coded)], [c.kind for c in (*plain, *coded)], start, test, column, threshold, subset,
        child, branches, missing, value[:, None], held, nothing, nothing, bits,
    )  # fmt: skip
