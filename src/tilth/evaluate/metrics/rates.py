"""Rates of one class against the rest, their averages, and scores over classes as functions of means over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers

Floats = NDArray[np.float64]
Average = Literal["macro", "micro", "weighted"]

#: With more classes than this, rows carry one linearised number instead of three per class.
MOST_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Shares:
    """Hits, actual and predicted weight per class, b x k, and the weight of all rows, b x 1."""

    hit: Floats
    actual: Floats
    predicted: Floats
    total: Floats

    @property
    def tp(self) -> Floats:
        """Of the class, and said to be."""
        return self.hit

    @property
    def fp(self) -> Floats:
        """Said to be of the class, and not."""
        return self.predicted - self.hit

    @property
    def fn(self) -> Floats:
        """Of the class, and not said to be."""
        return self.actual - self.hit

    @property
    def tn(self) -> Floats:
        """Not of the class, and not said to be."""
        return self.total - self.actual - self.predicted + self.hit

    @property
    def present(self) -> NDArray[np.bool_]:
        """Classes that occur or were predicted."""
        return (self.actual > 0) | (self.predicted > 0)

    @classmethod
    def of_tables(cls, cells: Floats) -> Shares:
        """From confusion matrices b x k x k, actual by predicted."""
        total = cells.sum(axis=(1, 2))[:, None]
        return cls(np.diagonal(cells, axis1=1, axis2=2), cells.sum(axis=2), cells.sum(axis=1), total)


@dataclass(frozen=True)
class Rate:
    """A share of one class against the rest: ``part`` of ``whole``."""

    name: str
    part: Callable[[Shares], Floats]
    whole: Callable[[Shares], Floats]
    meaning: str
    higher_is_better: bool = True

    def by_class(self, shares: Shares, undefined: float = 0.0) -> Floats:
        """The rate of every class, b x k; ``undefined`` where it is 0 / 0."""
        part, whole = self.part(shares), self.whole(shares)
        return np.divide(part, whole, out=np.full(part.shape, undefined), where=whole > 0)

    def average(self, shares: Shares, how: Average, undefined: float = 0.0) -> Floats:
        """One number per sample. macro: mean over the classes present; micro: ratio of the sums; weighted: by support.

        With ``undefined`` NaN the classes where the rate is 0 / 0 are left out.
        """
        if how == "micro":
            part, whole = (np.where(shares.present, f(shares), 0.0).sum(axis=1) for f in (self.part, self.whole))
            return np.divide(part, whole, out=np.full(len(part), undefined), where=whole > 0)
        rate = self.by_class(shares, undefined)
        weight = np.where(np.isnan(rate), 0.0, shares.present if how == "macro" else shares.actual)
        total = weight.sum(axis=1)
        summed = (np.nan_to_num(rate) * weight).sum(axis=1)
        return np.divide(summed, total, out=np.full(len(total), np.nan), where=total > 0)


RATES = {
    rate.name: rate
    for rate in (
        Rate(
            "precision",
            lambda s: s.tp,
            lambda s: s.predicted,
            "share of the rows predicted as the class that belong to it",
        ),
        Rate("recall", lambda s: s.tp, lambda s: s.actual, "share of the rows of the class that are predicted as it"),
        Rate("F1", lambda s: 2 * s.tp, lambda s: s.actual + s.predicted, "harmonic mean of precision and recall"),
        Rate(
            "specificity", lambda s: s.tn, lambda s: s.fp + s.tn, "share of the other rows that are not predicted as it"
        ),
        Rate(
            "FPR",
            lambda s: s.fp,
            lambda s: s.fp + s.tn,
            "share of the other rows predicted as it: 1 - specificity",
            False,
        ),
        Rate(
            "FNR",
            lambda s: s.fn,
            lambda s: s.actual,
            "share of the rows of the class that are missed: 1 - recall",
            False,
        ),
    )
}


def n_classes(answers: Answers) -> int:
    """Number of classes the places of these answers may have."""
    if answers.classes is not None:
        return len(answers.classes)
    if answers.probability is not None:
        return answers.probability.shape[1]
    return int(max(answers.true.max(initial=0), answers.given.max(initial=0))) + 1


def class_rows(finish: Callable[[Floats], Floats]) -> Callable[[Answers], Floats]:
    """Rows for scores that are functions of hits, actual and predicted shares of k classes: n x 3k indicators.

    For many classes a column per indicator is too wide; a row then holds score + sum over means m of ds/dm (own value
    - m), whose mean is the score and whose spread is the score's.
    """

    def rows(answers: Answers) -> Floats:
        true, predicted = answers.true.astype(np.int64), answers.given.astype(np.int64)
        k, hit = n_classes(answers), (true == predicted).astype(np.float64)
        if k <= MOST_CLASSES:
            known = np.eye(k)
            return np.column_stack([known[true] * hit[:, None], known[true], known[predicted]])
        means = class_means(answers, k)
        steps = np.maximum(means, 1.0 / answers.n) * 1e-6
        with np.errstate(invalid="ignore"):
            nearby = means + np.concatenate([np.diag(steps), -np.diag(steps)])
            slope = (finish(nearby[: 3 * k]) - finish(nearby[3 * k :])) / (2 * steps)
        own = hit * slope[:k][true] + slope[k : 2 * k][true] + slope[2 * k :][predicted]
        return np.asarray(finish(means[None, :])[0] + own - slope @ means)[:, None]

    return rows


def class_means(answers: Answers, k: int) -> Floats:
    """Shares of the weight: hits of each class, then actual, then predicted."""
    true, predicted, w = answers.true.astype(np.int64), answers.given.astype(np.int64), answers.weight
    hit = (true == predicted) if w is None else w * (true == predicted)
    sums = [np.bincount(p, weights=v, minlength=k) for p, v in ((true, hit), (true, w), (predicted, w))]
    return np.concatenate(sums) / (answers.n if w is None else w.sum())


def class_finish(score: Callable[[Shares], Floats]) -> Callable[[Floats], Floats]:
    """The other half of :func:`class_rows`: from means b x 3k (or b x 1, linearised) to scores."""

    def finish(means: Floats) -> Floats:
        if means.shape[1] == 1:
            return np.asarray(means[:, 0])
        hit, actual, predicted = np.split(means, 3, axis=1)
        return score(Shares(hit, actual, predicted, np.ones((len(means), 1))))

    return finish
