"""What several workloads share: estimators as contestants, and facts about predicted classes."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import Array, Rows, Split
from benchmarks.harness import Answers, Contestant, Quality


def estimator(module: str, name: str, *steps: str, **parameters: Any) -> Contestant:
    """An estimator of a module; it is imported and made off the clock. The steps follow its fit."""

    def make(data: Rows) -> Any:
        return getattr(importlib.import_module(module), name)(**parameters)

    return Contestant(make, {"fit": fit} | {step: _method(step) for step in steps})


def cores() -> int:
    """Cores this process may use: peers are told to use them all, as tilth does."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def classifier(module: str, name: str, rounds: int | None = None, **parameters: Any) -> Contestant:
    """A classifier that is fitted on rows and gives the probabilities of new ones."""
    made = estimator(module, name, **parameters)
    return Contestant(made.make, {"fit": fit, "predict": _new_probabilities}, rounds)


def _new_probabilities(model: Any, data: Split) -> Array:
    return np.asarray(model.predict_proba(data.new_X))


def on_new_rows(data: Split, answers: Answers) -> Quality:
    """Area under the ROC curve and accuracy on the new rows, two classes coded 0 and 1."""
    from sklearn.metrics import roc_auc_score

    found: Quality = {}
    for who, given in answers.items():
        share = given["predict"][:, 1]
        accuracy = float(((share > 0.5) == data.new_y).mean())
        found[who] = {"AUC": float(roc_auc_score(data.new_y, share)), "accuracy": accuracy}
    return found


def fit(model: Any, data: Rows | Split) -> None:
    """Fit a model on the rows."""
    model.fit(data.X, data.y)


def _method(name: str) -> Callable[[Any, Rows], Any]:
    def step(model: Any, data: Rows) -> Any:
        return getattr(model, name)(data.X)

    return step


def classifiers(data: Rows, answers: Answers) -> Quality:
    """Accuracy on the training rows, and how far answers are from those of the last contestant (a peer).

    ``difference`` is the largest absolute difference of two probabilities, ``disagree`` the share of
    unlike labels.
    """
    reference = list(answers.values())[-1]
    found: Quality = {}
    for who, given in answers.items():
        facts: dict[str, float | str] = {"accuracy": float((given["predict"] == data.y).mean())}
        if given is not reference:
            facts["disagree"] = float((given["predict"] != reference["predict"]).mean())
            if "predict_proba" in given and "predict_proba" in reference:
                facts["difference"] = float(np.abs(given["predict_proba"] - reference["predict_proba"]).max())
        found[who] = facts
    return found
