"""Parameters of tree models as the rules that the engine grows by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilth.data.table import Table
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.sizes import subset_size


def count_of(value: float, n_rows: int, least: int) -> int:
    """A number of rows given as a whole number, or as a share of all rows (a float)."""
    return int(value) if isinstance(value, (int, np.integer)) else max(least, math.ceil(value * n_rows))


def growth_of(model: Any, table: Table, weight: float, monotone: tuple[int, ...]) -> Growth:
    """The rules that trees and forests share, from the parameters of the same names."""
    n = table.n_rows
    return Growth(
        criterion=model.criterion,
        splitter=model.splitter,
        missing=model._missing_rule(),
        thresholds=model.thresholds,
        order="depth" if model.max_leaf_nodes is None else "best",
        max_depth=model.max_depth,
        max_leaves=model.max_leaf_nodes,
        min_rows_split=count_of(model.min_samples_split, n, 2),
        min_rows_leaf=count_of(model.min_samples_leaf, n, 1),
        min_weight_leaf=model.min_weight_fraction_leaf * weight,
        min_decrease=model.min_impurity_decrease,
        max_features=subset_size(model.max_features, len(table.columns)),
        reuse=model.reuse_features,
        monotone=monotone,
    )


def signs_of(value: Any, table: Table, owner: str) -> tuple[int, ...]:
    """Monotone directions (-1, 0, 1) in the order of the engine, from names or from the order of the table."""
    names = table.names
    if hasattr(value, "items"):
        strangers = [name for name in value if name not in names]
        if strangers:
            raise ValueError(
                f"{owner}: monotonic_cst names {strangers[0]!r}, which is none of the columns {names[:12]}."
            )
        by_name = {name: value.get(name, 0) for name in names}
    else:
        if len(value) != len(names):
            raise ValueError(
                f"{owner}: monotonic_cst needs a direction for each of the {len(names)} columns; got {len(value)}. "
                "A dict from names to directions is easier to keep right."
            )
        by_name = dict(zip(names, value, strict=True))
    for column in table.columns:
        sign = by_name[column.name]
        if sign not in (-1, 0, 1):
            raise ValueError(f"{owner}: monotonic_cst of {column.name!r} must be -1, 0 or 1; got {sign!r}.")
        if sign and column.kind.name == "nominal":
            raise ValueError(f"{owner}: {column.name!r} is nominal and has no direction; its monotonic_cst must be 0.")
    order = (*table.of_kind("numeric"), *table.of_kind("nominal", "ordinal"))
    signs = tuple(int(by_name[c.name]) for c in order)
    return signs if any(signs) else ()
