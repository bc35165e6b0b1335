"""Trees of every kind of test, and typed rows to walk down them."""

from __future__ import annotations

import numpy as np

from tests.core import reference_trees
from tilth.data.kinds import Kind, nominal, numeric, ordinal
from tilth.data.table import Column, Table
from tilth.engines.tree.trees import Trees

NAMES = ["age", "dose", "colour", "town", "size"]
KINDS = [
    numeric,
    numeric,
    nominal("red", "green", "blue"),
    Kind("nominal", tuple(f"town {i}" for i in range(70))),
    ordinal("tiny", "small", "mid", "large"),
]
LEVELS = [len(k.levels) for k in KINDS]
WEATHER_NAMES = ["Outlook", "Temperature", "Humidity", "Windy"]
WEATHER_KINDS = [
    nominal("Overcast", "Rainy", "Sunny"),
    nominal("Cool", "Hot", "Mild"),
    nominal("High", "Normal"),
    nominal(False, True),
]
#: What ID3 finds in the weather data.
WEATHER = {
    "column": "Outlook",
    "branches": {
        "Sunny": {
            "column": "Humidity",
            "branches": {"High": {"class": "No", "weight": 3}, "Normal": {"class": "Yes", "weight": 2}},
        },
        "Overcast": {"class": "Yes", "weight": 4},
        "Rainy": {
            "column": "Windy",
            "branches": {"False": {"class": "Yes", "weight": 3}, "True": {"class": "No", "weight": 2}},
        },
    },
}


def random_trees(seed: int = 0, *, n_classes: int = 0, width: int = 1, **options) -> Trees:
    """Random trees over the columns above; with classes the values are shares."""
    made = reference_trees.random_trees(LEVELS, seed=seed, width=n_classes or width, **options)
    rng = np.random.default_rng(seed + 100)
    value = rng.dirichlet(np.full(n_classes, 0.6), len(made.test)) if n_classes else made.value
    return Trees(
        NAMES, KINDS, made.start, made.test, made.column, made.threshold, made.subset, made.child, made.branches,
        np.where(made.test == 0, 0, made.missing).astype(np.int32), value, made.weight, np.zeros(len(made.test)),
        np.where(made.test == 0, 0.0, rng.random(len(made.test))), made.bits, made.output,
    ).validate()  # fmt: skip


def random_table(n: int = 60, seed: int = 1, missing: float = 0.2) -> Table:
    """Typed rows of the columns above, some cells missing."""
    rng = np.random.default_rng(seed)
    columns = []
    for name, kind in zip(NAMES, KINDS, strict=True):
        gone = rng.random(n) < missing
        if kind.name == "numeric":
            columns.append(Column(name, kind, np.where(gone, np.nan, rng.normal(size=n))))
        else:
            codes = rng.integers(0, len(kind.levels), n)
            columns.append(Column(name, kind, np.where(gone, -1, codes).astype(np.int32)))
    return Table(columns, n)


def records(table: Table) -> list[dict]:
    """The rows as a user would write them, with None for missing."""
    labels = [[None if v is None or v != v else v for v in c.labels().tolist()] for c in table.columns]
    return [dict(zip(table.names, row, strict=True)) for row in zip(*labels, strict=True)]
