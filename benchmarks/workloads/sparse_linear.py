"""Lasso on many more columns than rows: one weak and one strong penalty, and a path of fifty."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.harness import Answers, Contestant, Quality, Workload

STRENGTHS = 50
ENOUGH = 100_000  # iterations: none of the contestants is to be cut short


@dataclass(frozen=True)
class Wide:
    """Few rows, many columns, of which a few hundred matter."""

    X: Array
    y: Array

    def __str__(self) -> str:
        return f"{self.X.shape[0]:,} x {self.X.shape[1]:,}, 200 columns that matter"

    @cached_property
    def strongest(self) -> float:
        """The least alpha at which all weights are zero."""
        return float(np.abs(self.X.T @ (self.y - self.y.mean())).max() / len(self.y))

    @property
    def path(self) -> Array:
        """Strengths down to a hundredth of the strongest."""
        return np.geomspace(self.strongest, self.strongest / 100, STRENGTHS)

    def cost(self, coef: Array, intercept: float, alpha: float) -> float:
        """What all contestants minimise."""
        used = np.flatnonzero(coef)
        residual = self.y - self.X[:, used] @ coef[used] - intercept
        return float(0.5 * np.mean(residual**2) + alpha * np.abs(coef).sum())


def _wide(quick: bool) -> Wide:
    n, p = (300, 2_000) if quick else (2_000, 20_000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    w = np.zeros(p)
    w[rng.choice(p, 200, replace=False)] = rng.standard_normal(200)
    return Wide(X, X @ w + 3.0 * rng.standard_normal(n) + 3.0)


def _lasso(module: str, share: float, **parameters: Any) -> Contestant:
    """A lasso at a share of the strongest alpha; its answer is (weights, intercept)."""

    def make(data: Wide) -> Any:
        return importlib.import_module(module).Lasso(alpha=data.strongest * share, **parameters)

    def fit(model: Any, data: Wide) -> Any:
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return Contestant(make, {"fit": fit})


def _engine(share: float) -> Contestant:
    """The solver without the reading of a table: no kinds, no checks."""

    def make(data: Wide) -> Any:
        from tilth.engines.linear.design import DenseDesign
        from tilth.engines.linear.problem import Problem
        from tilth.parts.losses import Squared
        from tilth.parts.penalties import L1

        return Problem(DenseDesign(data.X), data.y, Squared(), L1(alpha=data.strongest * share))

    def fit(problem: Any, data: Wide) -> Any:
        from tilth.engines.linear.solver import solve

        found = solve(problem).weights
        return found.coef, float(found.intercept)

    return Contestant(make, {"fit": fit})


def _quality(share: float) -> Any:
    def told(data: Wide, answers: Answers) -> Quality:
        found = {who: given["fit"] for who, given in answers.items()}
        alpha = data.strongest * share
        return {
            who: {"objective": data.cost(coef, float(intercept), alpha), "columns": float(np.count_nonzero(coef))}
            for who, (coef, intercept) in found.items()
        }

    return told


def _single(name: str, share: float, targets: dict[str, float]) -> Workload:
    return Workload(
        name,
        f"Lasso at alpha_max x {share:g}",
        _wide,
        {"tilth Lasso": _lasso("tilth", share), "tilth solver": _engine(share)},
        {
            "sklearn Lasso": _lasso("sklearn.linear_model", share, max_iter=ENOUGH),
            "celer Lasso": _lasso("celer", share),
            "skglm Lasso": _lasso("skglm", share, tol=1e-6),
        },
        _quality(share),
        targets,
        rounds=3,
    )


def _ours_path(model: Any, data: Wide) -> Any:
    found = model.path(data.X, data.y, alphas=data.path)
    return found.coef[-1], float(found.intercept[-1])


def _peer_path(function: Any, data: Wide) -> Any:
    """Peers' paths have no intercept: centring is part of the work."""
    middle = data.X.mean(axis=0)
    coefs = function(data.X - middle, data.y - data.y.mean(), alphas=data.path)[1]
    return coefs[:, -1], float(data.y.mean() - middle @ coefs[:, -1])


def _sklearn_path(data: Wide) -> Any:
    from sklearn.linear_model import lasso_path

    return lambda X, y, alphas: lasso_path(X, y, alphas=alphas, max_iter=ENOUGH)


def _celer_path(data: Wide) -> Any:
    celer_path = importlib.import_module("celer.homotopy").celer_path
    return lambda X, y, alphas: celer_path(X, y, "lasso", alphas=alphas)


def _ours(data: Wide) -> Any:
    from tilth import Lasso

    return Lasso()


WORKLOADS = [
    _single("lasso", 1 / 20, {"fit": 1.0}),
    _single("lasso-weak", 1 / 100, {"fit": 0.7}),
    Workload(
        "lasso-path",
        f"Lasso path of {STRENGTHS} strengths down to alpha_max / 100",
        _wide,
        {"tilth path": Contestant(_ours, {"fit": _ours_path}, 2)},
        {
            "sklearn lasso_path": Contestant(_sklearn_path, {"fit": _peer_path}, 1),
            "celer_path": Contestant(_celer_path, {"fit": _peer_path}, 1),
        },
        _quality(1 / 100),
        {"fit": 0.5},
        rounds=2,
    ),
]
