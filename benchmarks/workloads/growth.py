"""How the cost of growing trees rises with rows, columns, trees, depth and levels of nominal columns.

Each step is one fit at one size, each size twice or more the one before; the table tells the power of the size that
the times follow.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data import Rows, interaction_rows
from benchmarks.harness import Contestant, Step, Workload

Build = Callable[[int], Any]

MANY_ROWS = (50_000, 100_000, 200_000, 400_000)
MANY_COLUMNS = (20, 40, 80, 160)
MANY_TREES = (25, 50, 100, 200)
DEPTHS = (2, 4, 8, 16)
MANY_LEVELS = (10, 100, 1_000, 10_000)


@dataclass(frozen=True)
class Sizes:
    """The rows of every size, each an array of its own."""

    rows: Mapping[int, Rows]

    def __str__(self) -> str:
        shapes = [rows.X.shape for rows in self.rows.values()]
        return " to ".join(f"{n:,} x {p:,}" for n, p in dict.fromkeys((shapes[0], shapes[-1])))


def _by_rows(quick: bool) -> Sizes:
    factor = 50 if quick else 1
    rows = interaction_rows(MANY_ROWS[-1] // factor, 20)
    return Sizes({size: Rows(rows.X[: size // factor], rows.y[: size // factor]) for size in MANY_ROWS})


def _by_columns(quick: bool) -> Sizes:
    rows = interaction_rows(1_000 if quick else 50_000, MANY_COLUMNS[-1])
    return Sizes({size: Rows(np.ascontiguousarray(rows.X[:, :size]), rows.y) for size in MANY_COLUMNS})


def _same(sizes: tuple[int, ...]) -> Callable[[bool], Sizes]:
    """The same rows at every size: what grows is the model."""

    def data(quick: bool) -> Sizes:
        return Sizes(dict.fromkeys(sizes, interaction_rows(1_000 if quick else 50_000, 20)))

    return data


def _by_levels(quick: bool) -> Sizes:
    return Sizes({size: nominal_rows(2_000 if quick else 100_000, size) for size in MANY_LEVELS})


def nominal_rows(n: int, levels: int, seed: int = 0) -> Rows:
    """Five nominal columns as a frame of categories; every level has an effect of its own on the class."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    score = rng.logistic(size=n)
    data = {}
    for j in range(5):
        codes = rng.integers(0, levels, n)
        score += rng.standard_normal(levels)[codes]
        data[f"level_{j}"] = pd.Categorical.from_codes(codes, [f"v{v:05d}" for v in range(levels)])
    return Rows(pd.DataFrame(data), (score > 0).astype(np.int64))


def _growing(build: Build, steps: Mapping[str, int]) -> Contestant:
    """A contestant with a step per size; ``build(size)`` makes the model, which costs next to nothing."""

    def step(size: int) -> Step:
        def work(ready: None, data: Sizes) -> Any:
            rows = data.rows[size]
            return build(size).fit(rows.X, rows.y)

        return work

    def make(data: Sizes) -> None:
        build(1)  # imports off the clock

    return Contestant(make, {name: step(size) for name, size in steps.items()})


def _fixed(name: str, **parameters: Any) -> Build:
    return lambda size: getattr(importlib.import_module("tilth"), name)(**parameters)


def _sized(name: str, parameter: str, **parameters: Any) -> Build:
    return lambda size: getattr(importlib.import_module("tilth"), name)(**parameters, **{parameter: size})


def _growth(
    axis: str, title: str, data: Callable[[bool], Sizes], sizes: tuple[int, ...], builds: Mapping[str, Build]
) -> Workload:
    steps = {f"{axis} {size:,}": size for size in sizes}
    ours = {f"tilth {name}": _growing(build, steps) for name, build in builds.items()}
    return Workload(f"growth-{axis}", title, data, ours, {}, rounds=2, weigh=False, sizes=steps)


_TREE = _fixed("DecisionTreeClassifier")
_FOREST = _fixed("RandomForestClassifier", n_estimators=20)
_BOOSTING = _fixed("GradientBoostingClassifier", n_estimators=50)

WORKLOADS = [
    _growth(
        "rows",
        "Cost of growing in rows",
        _by_rows,
        MANY_ROWS,
        {"full tree": _TREE, "forest of 20": _FOREST, "boosting of 50": _BOOSTING},
    ),
    _growth(
        "columns",
        "Cost of growing in columns",
        _by_columns,
        MANY_COLUMNS,
        {"full tree": _TREE, "forest of 20": _FOREST, "boosting of 50": _BOOSTING},
    ),
    _growth(
        "trees",
        "Cost of growing in trees",
        _same(MANY_TREES),
        MANY_TREES,
        {
            "forest": _sized("RandomForestClassifier", "n_estimators"),
            "boosting": _sized("GradientBoostingClassifier", "n_estimators"),
        },
    ),
    _growth(
        "depth",
        "Cost of growing in depth",
        _same(DEPTHS),
        DEPTHS,
        {
            "tree": _sized("DecisionTreeClassifier", "max_depth"),
            "forest of 20": _sized("RandomForestClassifier", "max_depth", n_estimators=20),
        },
    ),
    _growth(
        "levels",
        "Cost of growing in levels of nominal columns",
        _by_levels,
        MANY_LEVELS,
        {
            "tree of depth 10": _fixed("DecisionTreeClassifier", max_depth=10),
            "C45 of depth 10": _fixed("C45", max_depth=10),
            "boosting of 50": _BOOSTING,
        },
    ),
]
