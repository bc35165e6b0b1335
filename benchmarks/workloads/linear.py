"""Linear models: least squares, ridge, logistic and softmax regression, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Array, Rows
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import fit


def _numbers(n: int, p: int, seed: int = 0) -> Rows:
    """Normal columns, a linear target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return Rows(X, X @ rng.standard_normal(p) + rng.standard_normal(n) * 2 + 3)


def _two_classes(n: int, p: int, seed: int = 0) -> Rows:
    """Normal columns, a class by a noisy linear score."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    slopes = rng.standard_normal(p) / np.sqrt(p) * 2
    return Rows(X, ((X @ slopes + rng.standard_normal(n)) > 0).astype(np.int64))


def _ill(n: int, p: int, seed: int = 0) -> Rows:
    """Running sums as columns, of scales from 0.1 to 10: correlated, and hard for gradients alone."""
    rng = np.random.default_rng(seed)
    base = np.cumsum(rng.standard_normal((n, p)), axis=1)
    score = base @ (rng.standard_normal(p) / p)
    y = ((score / score.std() * 2 + rng.logistic(size=n)) > 0).astype(np.int64)
    return Rows(base * np.logspace(-1, 1, p), y)


def _several(n: int, p: int, k: int, seed: int = 0) -> Rows:
    """Normal columns, a class drawn from a softmax of linear scores."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    slopes = rng.standard_normal((p, k)) / np.sqrt(p) * 2
    return Rows(X, (X @ slopes + rng.gumbel(size=(n, k))).argmax(axis=1))


def _text(n: int, p: int, per_row: int, seed: int = 0) -> Rows:
    """Words whose frequency falls as 1 / rank, weighted by tf-idf; a class by a noisy linear score."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, p + 1)
    columns = np.searchsorted(np.cumsum(share / share.sum()), rng.random(n * per_row)).astype(np.int32).clip(0, p - 1)
    rows = np.repeat(np.arange(n, dtype=np.int32), per_row)
    X = sp.csr_matrix((np.ones(n * per_row), (rows, columns)), shape=(n, p))
    X.sum_duplicates()
    held = np.bincount(X.indices, minlength=p) + 1
    X.data = (1 + np.log(X.data)) * np.log(n / held)[X.indices]
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    score = X @ rng.standard_normal(p)
    score = (score - score.mean()) / score.std()
    return Rows(X, ((score * 2 + rng.logistic(size=n)) > 0).astype(np.int64))


def _weights(model: Any, data: Rows) -> tuple[Array, Array]:
    return np.asarray(model.coef_), np.asarray(model.intercept_)


def _model(module: str, name: str, rounds: int | None = None, **parameters: Any) -> Contestant:
    """A model that is fitted, predicts, and shows its weights."""
    import importlib

    def make(data: Rows) -> Any:
        return getattr(importlib.import_module(module), name)(**parameters)

    return Contestant(make, {"fit": fit, "predict": lambda m, d: m.predict(d.X), "weights": _weights}, rounds)


def _squares(alpha: float) -> Any:
    """The cost that least squares minimise, and how far it is above the least of all contestants."""

    def quality(data: Rows, answers: Answers) -> Quality:
        costs = {}
        for who, given in answers.items():
            coef, bias = given["weights"]
            residual = data.y - data.X @ coef.ravel() - bias
            costs[who] = float(residual @ residual + alpha * coef.ravel() @ coef.ravel())
        return _beside(costs)

    return quality


def _log_loss(data: Rows, answers: Answers) -> Quality:
    """The cost of logistic regression at C = 1: sum of log-losses + |w|^2 / 2."""
    from scipy.special import logsumexp

    costs = {}
    for who, given in answers.items():
        coef, bias = given["weights"]
        scores = np.asarray(data.X @ coef.T) + bias
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        lost = logsumexp(scores, axis=1) - scores[np.arange(len(data.y)), data.y]
        costs[who] = float(lost.sum() + 0.5 * (coef**2).sum())
    return _beside(costs)


def _beside(costs: dict[str, float]) -> Quality:
    """Costs, and their relative distance from the least; equal to 1e-6 where all reached the optimum."""
    least = min(costs.values())
    return {who: {"objective": cost, "above the least": (cost - least) / abs(least)} for who, cost in costs.items()}


def _regression(name: str, title: str, model: str, n: int, p: int, alpha: float, target: float) -> Workload:
    """``target``: twice the floor of a machine over scikit-learn's time there."""

    def data(quick: bool) -> Rows:
        return _numbers(n // 50 if quick else n, p)

    return Workload(
        name, title, data, {"tilth": _model("tilth", model)},
        {"sklearn": _model("sklearn.linear_model", model, 2), "sklearnex": _model("sklearnex.linear_model", model)},
        _squares(alpha), {"fit": target}, rounds=3,
    )  # fmt: skip


def _classes(name: str, title: str, data: Any, peers: dict[str, Contestant], target: float) -> Workload:
    ours = {"tilth": _model("tilth", "LogisticRegression")}
    return Workload(name, title, data, ours, peers, _log_loss, {"fit": target}, rounds=3)


_SKLEARN, _SKLEARNEX = "sklearn.linear_model", "sklearnex.linear_model"

WORKLOADS = [
    _regression("ols", "Least squares, many rows", "LinearRegression", 1_000_000, 50, 0.0, 0.045),
    _regression("ols-wide", "Least squares, many columns", "LinearRegression", 100_000, 500, 0.0, 0.25),
    _regression("ridge", "Ridge regression, many rows", "Ridge", 1_000_000, 50, 1.0, 0.28),
    _regression("ridge-wide", "Ridge regression, many columns", "Ridge", 100_000, 500, 1.0, 1.0),
    _classes(
        "logistic",
        "Logistic regression",
        lambda quick: _two_classes(10_000 if quick else 500_000, 50),
        {
            "sklearn": _model(_SKLEARN, "LogisticRegression"),
            "sklearn newton-cholesky": _model(_SKLEARN, "LogisticRegression", solver="newton-cholesky"),
            "sklearnex": _model(_SKLEARNEX, "LogisticRegression"),
        },
        0.7,
    ),
    _classes(
        "logistic-ill",
        "Logistic regression, correlated columns of different scales",
        lambda quick: _ill(10_000 if quick else 500_000, 50),
        {
            "sklearn newton-cholesky": _model(_SKLEARN, "LogisticRegression", solver="newton-cholesky"),
            "sklearn": _model(_SKLEARN, "LogisticRegression", 1, max_iter=1000),
        },
        0.7,
    ),
    _classes(
        "softmax",
        "Softmax regression, 10 classes",
        lambda quick: _several(5_000 if quick else 100_000, 100, 10),
        {
            "sklearn": _model(_SKLEARN, "LogisticRegression"),
            "sklearnex": _model(_SKLEARNEX, "LogisticRegression"),
        },
        0.7,
    ),
    _classes(
        "logistic-sparse",
        "Logistic regression on text",
        lambda quick: _text(5_000 if quick else 100_000, 50_000, 100),
        {
            "sklearn liblinear": _model(_SKLEARN, "LogisticRegression", solver="liblinear"),
            "sklearn": _model(_SKLEARN, "LogisticRegression"),
            "sklearn newton-cg": _model(_SKLEARN, "LogisticRegression", solver="newton-cg"),
        },
        0.7,
    ),
]
