"""Random forests and extra trees of 100 trees, grown full and to depth 12; one row at a time."""

from __future__ import annotations

from typing import Any

from benchmarks.data import interaction_rows
from benchmarks.harness import Contestant, Workload
from benchmarks.workloads.common import classifier, cores, on_new_rows
from benchmarks.workloads.rows import AHEAD, Serving, same_as_at_once, served
from benchmarks.workloads.trees import interactions

TREES = 100
DEPTH = 12
SHARE = 7 / 50  # columns tried at a node: the square root of 50, rounded down
DRAWN = 0.632  # rows without replacement: as many different ones as a draw of n with replacement holds

_LIGHTGBM: dict[str, Any] = {
    "boosting_type": "rf", "n_estimators": TREES, "num_leaves": 2048, "min_child_samples": 1, "subsample": DRAWN,
    "subsample_freq": 1, "feature_fraction_bynode": SHARE, "verbose": -1,
}  # fmt: skip
_XGBOOST: dict[str, Any] = {
    "n_estimators": TREES, "max_depth": DEPTH, "subsample": DRAWN, "colsample_bynode": SHARE, "reg_lambda": 0.0,
    "tree_method": "hist", "random_state": 0,
}  # fmt: skip


def _ours(name: str, **parameters: Any) -> dict[str, Contestant]:
    return {"tilth": classifier("tilth", name, n_estimators=TREES, **parameters)}


def _intel(name: str, rounds: int | None = None, **parameters: Any) -> Contestant:
    return classifier(
        "sklearnex.ensemble", name, rounds, n_estimators=TREES, n_jobs=cores(), random_state=0, **parameters
    )


def _sklearn(name: str, rounds: int | None = 1, **parameters: Any) -> Contestant:
    return classifier(
        "sklearn.ensemble", name, rounds, n_estimators=TREES, n_jobs=cores(), random_state=0, **parameters
    )


def _serving(quick: bool) -> Serving:
    return Serving.of(interaction_rows(1_000 if quick else 10_000, 50))


_AHEAD = {"fit": 1.0, "predict": 1.0}

WORKLOADS = [
    Workload(
        "forest",
        "A random forest of 100 full trees",
        interactions,
        _ours("RandomForestClassifier"),
        {
            "sklearn with Intel's extension": _intel("RandomForestClassifier", 2),
            "sklearn": _sklearn("RandomForestClassifier"),
            "LightGBM, 2,048 leaves": classifier("lightgbm", "LGBMClassifier", 1, n_jobs=cores(), **_LIGHTGBM),
        },
        on_new_rows,
        _AHEAD,
        rounds=3,
    ),
    Workload(
        "forest-depth",
        "A random forest of 100 trees of depth 12",
        interactions,
        _ours("RandomForestClassifier", max_depth=DEPTH),
        {
            "sklearn with Intel's extension": _intel("RandomForestClassifier", max_depth=DEPTH),
            "XGBoost": classifier("xgboost", "XGBRFClassifier", n_jobs=cores(), **_XGBOOST),
            "sklearn": _sklearn("RandomForestClassifier", max_depth=DEPTH),
        },
        on_new_rows,
        _AHEAD,
        rounds=3,
    ),
    Workload(
        "extra",
        "100 full extra trees",
        interactions,
        _ours("ExtraTreesClassifier"),
        {
            "sklearn": _sklearn("ExtraTreesClassifier"),
            "sklearn with Intel's extension": _intel("ExtraTreesClassifier", 2),
        },
        on_new_rows,
        _AHEAD,
        rounds=3,
    ),
    Workload(
        "extra-depth",
        "100 extra trees of depth 12",
        interactions,
        _ours("ExtraTreesClassifier", max_depth=DEPTH),
        {
            "sklearn with Intel's extension": _intel("ExtraTreesClassifier", max_depth=DEPTH),
            "sklearn": _sklearn("ExtraTreesClassifier", max_depth=DEPTH),
        },
        on_new_rows,
        _AHEAD,
        rounds=3,
    ),
    Workload(
        "row-forest",
        "One row at a time through a random forest of 100 trees",
        _serving,
        {"tilth": served("tilth", "RandomForestClassifier", n_estimators=TREES)},
        {
            # Without n_jobs: starting workers would cost more than the row.
            "sklearn": served("sklearn.ensemble", "RandomForestClassifier", n_estimators=TREES, random_state=0),
            "XGBoost": served("xgboost", "XGBRFClassifier", n_jobs=1, **_XGBOOST),
            "LightGBM, 2,048 leaves": served("lightgbm", "LGBMClassifier", n_jobs=1, **_LIGHTGBM),
        },
        same_as_at_once,
        AHEAD,
        weigh=False,
    ),
]
