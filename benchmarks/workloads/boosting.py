"""Boosting: a million rows of numbers, a census with nominal columns, AdaBoost of stumps; one row at a time."""

from __future__ import annotations

from typing import Any

from benchmarks.data import Split, adult, collision_rows, interaction_rows, split
from benchmarks.harness import Contestant, Workload
from benchmarks.workloads.common import classifier, cores, on_new_rows
from benchmarks.workloads.rows import AHEAD, Serving, same_as_at_once, served

ROUNDS = 100
LEAVES = 31
RATE = 0.1

_OURS: dict[str, Any] = {"n_estimators": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE}
_LIGHTGBM: dict[str, Any] = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE, "verbose": -1}
_SKLEARN: dict[str, Any] = {
    "max_iter": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE, "early_stopping": False,
}  # fmt: skip
_XGBOOST: dict[str, Any] = {"n_estimators": ROUNDS, "learning_rate": RATE, "tree_method": "hist"}
_XGBOOST_LEAVES: dict[str, Any] = _XGBOOST | {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}
_CATBOOST: dict[str, Any] = {
    "iterations": ROUNDS, "learning_rate": RATE, "depth": 5, "boosting_type": "Plain", "verbose": False,
    "allow_writing_files": False,
}  # fmt: skip


def _numbers(quick: bool) -> Split:
    """Fitted on one draw; the new rows are another."""
    n = 20_000 if quick else 1_000_000
    seen, new = collision_rows(n), collision_rows(n, seed=1)
    return Split(seen.X, seen.y, new.X, new.y)


def _stumps(quick: bool) -> Split:
    return split(interaction_rows(6_000 if quick else 120_000, 50), 5_000 if quick else 100_000)


def _serving(quick: bool) -> Serving:
    return Serving.of(collision_rows(1_000 if quick else 10_000))


def _catboost_nominal() -> Contestant:
    """CatBoost is told the names of nominal columns, which depend on the table."""

    def make(data: Split) -> Any:
        nominal = list(data.X.select_dtypes("category").columns)
        told = classifier("catboost", "CatBoostClassifier", cat_features=nominal, thread_count=cores(), **_CATBOOST)
        return told.make(data)

    return Contestant(make, classifier("catboost", "CatBoostClassifier").steps)


WORKLOADS = [
    Workload(
        "boosting",
        "Gradient boosting of 100 trees of 31 leaves on a million rows",
        _numbers,
        {"tilth": classifier("tilth", "GradientBoostingClassifier", **_OURS)},
        {
            "LightGBM": classifier("lightgbm", "LGBMClassifier", n_jobs=cores(), **_LIGHTGBM),
            "LightGBM, quantised gradients": classifier(
                "lightgbm", "LGBMClassifier", n_jobs=cores(), use_quantized_grad=True, **_LIGHTGBM
            ),
            "XGBoost, 31 leaves": classifier("xgboost", "XGBClassifier", n_jobs=cores(), **_XGBOOST_LEAVES),
            "XGBoost, depth 5": classifier("xgboost", "XGBClassifier", n_jobs=cores(), max_depth=5, **_XGBOOST),
            "CatBoost, depth 5": classifier("catboost", "CatBoostClassifier", thread_count=cores(), **_CATBOOST),
            "sklearn": classifier("sklearn.ensemble", "HistGradientBoostingClassifier", **_SKLEARN),
        },
        on_new_rows,
        {"fit": 1.0, "predict": 0.13},  # half a second where LightGBM takes 3.8
        rounds=3,
    ),
    Workload(
        "boosting-nominal",
        "Gradient boosting of 100 trees of 31 leaves on a frame with nominal columns",
        adult,
        {"tilth": classifier("tilth", "GradientBoostingClassifier", **_OURS)},
        {
            "LightGBM": classifier("lightgbm", "LGBMClassifier", n_jobs=cores(), **_LIGHTGBM),
            "XGBoost": classifier(
                "xgboost", "XGBClassifier", n_jobs=cores(), enable_categorical=True, **_XGBOOST_LEAVES
            ),
            "CatBoost, depth 5": _catboost_nominal(),
            "sklearn": classifier(
                "sklearn.ensemble", "HistGradientBoostingClassifier", categorical_features="from_dtype", **_SKLEARN
            ),
        },
        on_new_rows,
        {"fit": 1.0, "predict": 1.0},
        rounds=7,
    ),
    Workload(
        "adaboost",
        "AdaBoost of 100 stumps (LightGBM for scale: another loss)",
        _stumps,
        {"tilth": classifier("tilth", "AdaBoostClassifier", n_estimators=ROUNDS)},
        {
            "sklearn": classifier(
                "sklearn.ensemble", "AdaBoostClassifier", rounds=1, n_estimators=ROUNDS, random_state=0
            ),
            "LightGBM, 100 stumps": classifier(
                "lightgbm", "LGBMClassifier", n_jobs=cores(), **_LIGHTGBM | {"num_leaves": 2}
            ),
        },
        on_new_rows,
        {"fit": 0.02},
    ),
    Workload(
        "row-boosting",
        "One row at a time through gradient boosting of 100 trees of 31 leaves",
        _serving,
        {"tilth": served("tilth", "GradientBoostingClassifier", **_OURS)},
        {
            # One thread: waking a second one would cost more than the row.
            "CatBoost, depth 5": served("catboost", "CatBoostClassifier", thread_count=1, **_CATBOOST),
            "LightGBM": served("lightgbm", "LGBMClassifier", n_jobs=1, **_LIGHTGBM),
            "XGBoost": served("xgboost", "XGBClassifier", n_jobs=1, **_XGBOOST_LEAVES),
            "sklearn": served("sklearn.ensemble", "HistGradientBoostingClassifier", **_SKLEARN),
        },
        same_as_at_once,
        AHEAD,
        weigh=False,
    ),
]
