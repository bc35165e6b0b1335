"""Models without a target: centres, components, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Rows
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import estimator

CENTRES = 10


def _groups(quick: bool) -> Rows:
    """Rows around twenty centres that overlap."""
    rng = np.random.default_rng(0)
    n, p = (20_000 if quick else 500_000), 20
    label = rng.integers(0, 20, n)
    return Rows(rng.normal(size=(20, p))[label] * 2.0 + rng.normal(size=(n, p)), label)


def _fit(model: Any, data: Rows) -> None:
    """Without labels."""
    model.fit(data.X)


def _predict(model: Any, data: Rows) -> Any:
    return model.predict(data.X)


def _transform(model: Any, data: Rows) -> Any:
    return np.asarray(model.transform(data.X))


def _score(model: Any, data: Rows) -> Any:
    return np.asarray(model.score_samples(data.X))


def _first_centres(data: Rows) -> Any:
    """The same first centres for all, so that the same walk is timed."""
    return np.array(data.X[:CENTRES])


def _kmeans(module: str, **parameters: Any) -> Contestant:
    def make(data: Rows) -> Any:
        return estimator(module, "KMeans", n_clusters=CENTRES, init=_first_centres(data), **parameters).make(data)

    return Contestant(make, {"fit": _fit, "predict": _predict})


def _inertia(data: Rows, answers: Answers) -> Quality:
    """Sum of squared distances to the means of the clusters, per row."""
    return {who: {"inertia": _within(data.X, given["predict"])} for who, given in answers.items()}


def _within(X: Any, label: Any) -> float:
    means = np.stack([X[label == c].mean(axis=0) for c in range(CENTRES)])
    return float(((X - means[label]) ** 2).sum(axis=1).mean())


def _variance(data: Rows, answers: Answers) -> Quality:
    """Variance along the first five components."""
    return {who: {"variance": float(given["transform"].var(axis=0).sum())} for who, given in answers.items()}


def _spread(data: Rows, answers: Answers) -> Quality:
    return {who: {"mean score": float(given["score"].mean())} for who, given in answers.items()}


WORKLOADS = [
    Workload(
        "kmeans",
        "k-means with 10 centres from the same first centres",
        _groups,
        {"tilth": _kmeans("tilth")},
        {"sklearn": _kmeans("sklearn.cluster", n_init=1)},
        _inertia,
        {"fit": 1.0, "predict": 1.0},
        rounds=3,
    ),
    Workload(
        "pca",
        "The first five principal components",
        _groups,
        {"tilth": Contestant(estimator("tilth", "PCA", n_components=5).make, {"fit": _fit, "transform": _transform})},
        {
            "sklearn": Contestant(
                estimator("sklearn.decomposition", "PCA", n_components=5).make, {"fit": _fit, "transform": _transform}
            )
        },
        _variance,
        {"fit": 1.0, "transform": 1.0},
        rounds=5,
    ),
    Workload(
        "hbos",
        "Histogram-based anomaly scores of every row",
        _groups,
        {"tilth": Contestant(estimator("tilth", "HBOS").make, {"fit": _fit, "score": _score})},
        {
            "pyod": Contestant(
                estimator("pyod.models.hbos", "HBOS").make,
                {"fit": _fit, "score": lambda m, d: m.decision_function(d.X)},
            )
        },
        _spread,
        {"fit": 1.0, "score": 1.0},
        rounds=3,
    ),
]
