"""Linear support vector machines on many rows: squared hinge and hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Rows
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.linear import _beside, _model, _two_classes

_LIBLINEAR: dict[str, Any] = {"tol": 1e-4, "max_iter": 20_000}


def _rows(quick: bool) -> Rows:
    return _two_classes(4_000 if quick else 200_000, 50)


def _machine(power: int) -> Any:
    """The cost at C = 1, sum of slacks to a power + |w|^2 / 2, and how far it is above the least."""

    def quality(data: Rows, answers: Answers) -> Quality:
        costs = {}
        for who, given in answers.items():
            coef, bias = given["weights"]
            slack = np.maximum(0.0, 1.0 - (2 * data.y - 1) * (data.X @ coef.ravel() + bias))
            costs[who] = float((slack**power).sum() + 0.5 * (coef**2).sum())
        return _beside(costs)

    return quality


def _liblinear(rounds: int | None = None, **parameters: Any) -> Contestant:
    return _model("sklearn.svm", "LinearSVC", rounds, **_LIBLINEAR | parameters)


WORKLOADS = [
    Workload(
        "svm-squared",
        "Linear support vector machine, squared hinge",
        _rows,
        {"tilth": _model("tilth", "LinearSVC")},
        {"liblinear primal (sklearn)": _liblinear(dual=False)},
        _machine(2),
        {"fit": 0.5},
        rounds=5,
    ),
    Workload(
        "svm-hinge",
        "Linear support vector machine, hinge",
        _rows,
        {"tilth": _model("tilth", "LinearSVC", loss="hinge")},
        {"liblinear dual (sklearn)": _liblinear(1, loss="hinge")},
        _machine(1),
        {"fit": 0.1},
        rounds=3,
    ),
]
