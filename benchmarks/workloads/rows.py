"""Models that answer one row per call, as behind a service: rows as arrays and as frames."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data import Array, Rows
from benchmarks.harness import Answers, Contestant, Quality

CALLS = 200
AHEAD = {"array row": 1.0, "frame row": 1.0}


@dataclass(frozen=True)
class Serving:
    """Rows to fit on, as an array and as a frame, and the first of them one by one."""

    X: Array
    frame: Any
    y: Array
    array_rows: list[Array]
    frame_rows: list[Any]

    @classmethod
    def of(cls, rows: Rows) -> Serving:
        """Cut the rows to be asked out of the others."""
        import pandas as pd

        frame = pd.DataFrame(rows.X, columns=[f"x{j}" for j in range(rows.X.shape[1])])
        arrays = [rows.X[i : i + 1] for i in range(CALLS)]
        return cls(rows.X, frame, rows.y, arrays, [frame.iloc[[i]] for i in range(CALLS)])

    def __str__(self) -> str:
        n, p = self.X.shape
        return f"{CALLS} calls of one row each, model of {n:,} x {p:,}"


@dataclass(frozen=True)
class Asked:
    """Probabilities of class 1 from single calls, microseconds of a middling call, and what one call for all gives."""

    single: Array
    microseconds: float
    at_once: Array


class Asking:
    """A model fitted off the clock, to be asked about rows one at a time."""

    def __init__(self, model: Any, X: Any, y: Array) -> None:
        self.model = model
        model.fit(X, y)
        self.at_once = np.asarray(model.predict_proba(X[:CALLS]))[:, 1]

    def ask(self, rows: Sequence[Any]) -> Asked:
        """Each row by a call of its own."""
        answers, spent = np.empty(len(rows)), np.empty(len(rows))
        for i, row in enumerate(rows):
            start = time.perf_counter()
            answer = self.model.predict_proba(row)
            spent[i] = time.perf_counter() - start
            answers[i] = answer[0, 1]
        return Asked(answers, float(np.median(spent) * 1e6), self.at_once)


class Served:
    """The same model fitted on an array and on a frame."""

    def __init__(self, build: Callable[[], Any], data: Serving) -> None:
        self.of_array = Asking(build(), data.X, data.y)
        self.of_frame = Asking(build(), data.frame, data.y)


def served(module: str, name: str, **parameters: Any) -> Contestant:
    """An estimator of a module that answers single rows."""

    def make(data: Serving) -> Served:
        kind = getattr(importlib.import_module(module), name)
        return Served(lambda: kind(**parameters), data)

    return Contestant(
        make,
        {
            "array row": lambda model, data: model.of_array.ask(data.array_rows),
            "frame row": lambda model, data: model.of_frame.ask(data.frame_rows),
        },
    )


def same_as_at_once(data: Serving, answers: Answers) -> Quality:
    """Microseconds of a middling call, and how far single answers are from those of one call for all rows."""
    found: Quality = {}
    for who, given in answers.items():
        off = max(float(np.abs(asked.single - asked.at_once).max()) for asked in given.values())
        found[who] = {f"{step} us": asked.microseconds for step, asked in given.items()} | {"off by": off}
    return found
