"""Scores as means of one number per row: one resampling of the rows then serves all of them and their differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Smallest probability that log loss distinguishes from zero.
TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Answers:
    """True targets and the answers of one model: class places with probabilities, or numbers."""

    true: NDArray[np.generic]
    given: NDArray[np.generic]
    probability: Floats | None = None


@dataclass(frozen=True)
class Metric:
    """A score: ``rows(answers)`` is n x m, and ``finish`` makes the score of the m means (a batch at a time)."""

    name: str
    rows: Callable[[Answers], Floats]
    finish: Callable[[Floats], Floats]
    higher_is_better: bool = True
    bounds: tuple[float, float] = (-np.inf, np.inf)
    meaning: str = ""

    def score(self, answers: Answers) -> float:
        """The score of these answers."""
        return float(self.finish(self.rows(answers).mean(axis=0)[None, :])[0])


def _first(means: Floats) -> Floats:
    return np.asarray(means[:, 0])


def _correct(answers: Answers) -> Floats:
    return np.asarray(answers.true == answers.given, dtype=np.float64)[:, None]


def _balanced(answers: Answers) -> Floats:
    """Rows whose mean is the mean recall of the classes, and whose spread is that of the mean recall.

    mean recall + (correct - recall of the row's class) / (classes x share of the class): the ratio of counts behind a
    recall, linearised, so that a class that a resample happens to miss does no harm.
    """
    true, correct = answers.true.astype(np.int64), _correct(answers)[:, 0]
    counts = np.bincount(true)
    hits = np.bincount(true, weights=correct)
    recall = np.divide(hits, counts, out=np.zeros(len(counts)), where=counts > 0)
    present = int((counts > 0).sum())
    share = counts[true] / len(true)
    return np.asarray(recall.sum() / present + (correct - recall[true]) / (present * share))[:, None]


def _surprise(answers: Answers) -> Floats:
    assert answers.probability is not None
    own = answers.probability[np.arange(len(answers.true)), answers.true.astype(np.int64)]
    return -np.log(np.clip(own, TINY, 1 - TINY))[:, None]


def _errors(answers: Answers) -> Floats:
    return answers.true.astype(np.float64) - answers.given.astype(np.float64)


def _explained(answers: Answers) -> Floats:
    true = answers.true.astype(np.float64)
    return np.column_stack([_errors(answers) ** 2, (true - true.mean()) ** 2])


def _share_explained(means: Floats) -> Floats:
    return 1 - np.divide(means[:, 0], means[:, 1], out=np.ones(len(means)), where=means[:, 1] > 0)


#: The first of each list is the one that ranks the models.
CLASSIFICATION = (
    Metric("accuracy", _correct, _first, bounds=(0, 1), meaning="share of rows with the right class"),
    Metric("balanced accuracy", _balanced, _first, bounds=(0, 1), meaning="mean over classes of the share found"),
    Metric("log loss", _surprise, _first, False, (0, np.inf), "mean of -log p(true class); 0 is perfect"),
)
REGRESSION = (
    Metric(
        "RMSE", lambda a: _errors(a)[:, None] ** 2, lambda m: np.sqrt(m[:, 0]), False, (0, np.inf),
        "root of the mean squared error, in units of the target; large errors weigh most",
    ),
    Metric("MAE", lambda a: np.abs(_errors(a))[:, None], _first, False, (0, np.inf), "mean absolute error"),
    Metric("R2", _explained, _share_explained, bounds=(-np.inf, 1), meaning="share of the target's variance explained"),
)  # fmt: skip
