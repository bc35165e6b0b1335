"""Isolation forests: growing from small samples, scoring every row."""

from __future__ import annotations

from typing import Any

from benchmarks.data import Rows, odd_rows
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import cores, estimator

TREES = 100
SAMPLE = 256
_SIZE: dict[str, Any] = {"n_estimators": TREES, "max_samples": SAMPLE}


def _odd(quick: bool) -> Rows:
    return odd_rows(20_000 if quick else 1_000_000, 20)


def _fit(model: Any, data: Rows) -> None:
    """Without labels."""
    model.fit(data.X)


def _lower_is_odd(model: Any, data: Rows) -> Any:
    return -model.score_samples(data.X)


def _higher_is_odd(model: Any, data: Rows) -> Any:
    return model.predict(data.X)


def _forest(module: str, score: Any, **parameters: Any) -> Contestant:
    return Contestant(estimator(module, "IsolationForest", **parameters).make, {"fit": _fit, "score": score})


def _told_apart(data: Rows, answers: Answers) -> Quality:
    """Area under the ROC curve of the scores."""
    from sklearn.metrics import roc_auc_score

    return {who: {"AUC": float(roc_auc_score(data.y, given["score"]))} for who, given in answers.items()}


WORKLOADS = [
    Workload(
        "isolation",
        "An isolation forest of 100 trees on 256 rows each",
        _odd,
        {"tilth": _forest("tilth", _lower_is_odd, **_SIZE)},
        {
            "isotree": _forest(
                "isotree", _higher_is_odd, ntrees=TREES, sample_size=SAMPLE, ndim=1, nthreads=cores(), random_seed=1
            ),
            "sklearn": _forest("sklearn.ensemble", _lower_is_odd, n_jobs=cores(), random_state=0, **_SIZE),
        },
        _told_apart,
        {"fit": 1.0, "score": 0.5},
        rounds=3,
    )
]
