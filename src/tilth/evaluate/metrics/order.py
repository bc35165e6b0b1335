"""Rows in the order of a score: the curve of hits and false alarms, its areas, and their bootstrap from one sorting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core

Floats = NDArray[np.float64]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows of two classes by falling score.

    ``threshold`` holds the distinct scores; ``hits`` and ``alarms`` are the weights of the positive and of the negative
    rows whose score is at least that, ``rows`` their number.
    """

    threshold: Floats
    hits: Floats
    alarms: Floats
    rows: NDArray[np.int64]
    order: NDArray[np.intp]
    positive: Flags
    weight: Floats | None = None

    @classmethod
    def of(cls, positive: Any, score: Any, weight: Floats | None = None) -> Ordered:
        """Sort once.

        >>> Ordered.of([True, False, True], [0.9, 0.5, 0.5]).auc
        0.75
        """
        score = np.asarray(score, dtype=np.float64)
        order = np.argsort(-score, kind="stable")
        hits = np.asarray(positive, dtype=bool)[order].astype(np.uint8)
        by_score = score[order]
        ends = np.flatnonzero(np.append(by_score[1:] != by_score[:-1], True)) if len(score) else np.empty(0, np.int64)
        w = None if weight is None else np.ascontiguousarray(np.asarray(weight, dtype=np.float64)[order])
        up = hits.astype(np.float64) if w is None else w * hits
        down = (1.0 - hits) if w is None else w * (1 - hits)
        return cls(by_score[ends], np.cumsum(up)[ends], np.cumsum(down)[ends], ends + 1, order, hits, w)

    @property
    def n_positive(self) -> float:
        """Weight of the positive rows."""
        return float(self.hits[-1]) if len(self.hits) else 0.0

    @property
    def n_negative(self) -> float:
        """Weight of the negative rows."""
        return float(self.alarms[-1]) if len(self.alarms) else 0.0

    @property
    def auc(self) -> float:
        """P(positive above negative) + P(tie) / 2; NaN where a class is missing."""
        if not (self.n_positive > 0 and self.n_negative > 0):
            return float("nan")
        below = np.diff(self.alarms, prepend=0.0)
        middle = self.hits - np.diff(self.hits, prepend=0.0) / 2
        return float(np.clip(np.dot(below, middle) / (self.n_positive * self.n_negative), 0.0, 1.0))

    @property
    def average_precision(self) -> float:
        """Sum over thresholds of (recall gained) x (precision there); NaN without positive rows."""
        if not self.n_positive > 0:
            return float("nan")
        gained = np.diff(self.hits, prepend=0.0)
        total = self.hits + self.alarms
        precision = np.divide(self.hits, total, out=np.zeros_like(total), where=total > 0)
        return float(np.dot(gained, precision) / self.n_positive)

    def in_first(self, k: int) -> tuple[float, float]:
        """Weight of positive and of negative rows expected among the first ``k``; equal scores stand in any order."""
        at = np.append(0, self.rows)
        return float(np.interp(k, at, np.append(0.0, self.hits))), float(np.interp(k, at, np.append(0.0, self.alarms)))

    def in_first_resamples(self, k: int | None, repeats: int, seed: int) -> tuple[Floats, Floats, Floats]:
        """Positive and negative weight in the first ``k`` rows of bootstrap samples, and the weight of all positives.

        Without ``k`` as many rows are taken as positives were drawn. Only the rows that can be reached are drawn one by
        one; of those further down it is enough to know how many positives were drawn, and what they weigh.
        """
        rng = np.random.default_rng(seed)
        n = len(self.order)
        w = np.ones(n) if self.weight is None else self.weight
        run = np.repeat(np.arange(len(self.rows)), np.diff(self.rows, prepend=0))
        size = np.bincount(run)
        up, down = ((np.bincount(run, weights=x) / size)[run] for x in (w * self.positive, w * (1 - self.positive)))
        wanted = int(self.positive.sum()) if k is None else k
        reach = min(n, wanted + int(10 * np.sqrt(wanted)) + 20)
        near, below = self.positive[:reach], w[reach:][self.positive[reach:] == 1]
        share_below = len(below) / max(n - reach, 1)
        out = np.empty((3, repeats))
        for b in range(repeats):
            counts = np.bincount(rng.integers(0, reach, rng.binomial(n, reach / n)), minlength=reach)
            n_below = int(rng.binomial(n - counts.sum(), share_below))
            drawn = k if k is not None else counts @ near + n_below
            taken = np.clip(drawn - (np.cumsum(counts) - counts), 0, counts)
            out[:, b] = (
                taken @ up[:reach],
                taken @ down[:reach],
                counts @ (w[:reach] * near) + _sum_of(below, n_below, rng),
            )
        return out[0], out[1], out[2]

    def auc_resamples(self, repeats: int, seed: int, group: NDArray[Any] | None = None) -> Floats:
        """Bootstrap values of the AUC; equal seeds draw the same rows, so that differences of models are paired."""
        return _core.auc_resamples(*self.drawn(group), self.weight, repeats, seed)

    def average_precision_resamples(self, repeats: int, seed: int, group: NDArray[Any] | None = None) -> Floats:
        """Bootstrap values of average precision, made symmetric about the score on the logit scale.

        A drawn row ties with its copies, which lifts the precision of a sample, and the lift grows with the score: as
        they are the values sit too high and too close. So they are moved until their median is the score, and every
        second one is mirrored; equal seeds still give paired values.
        """
        from scipy.special import expit, logit

        values = _core.average_precision_resamples(*self.drawn(group), self.weight, repeats, seed)
        score, known = self.average_precision, ~np.isnan(values)
        if not (0 < score < 1 and known.any()):
            return values
        away = logit(np.clip(values, 1e-9, 1 - 1e-9))
        away -= np.median(away[known])
        away[1::2] *= -1
        return np.asarray(expit(logit(score) + away))

    def drawn(self, group: NDArray[Any] | None = None) -> tuple[Flags, Flags, NDArray[np.int32], int]:
        """What the kernels ask for: flags of positives and of the last of equal scores, what is drawn, how many."""
        last = np.zeros(len(self.order), dtype=np.uint8)
        last[self.rows - 1] = 1
        if group is None:
            return self.positive, last, self.order.astype(np.int32), max(len(self.order), 1)
        names, code = np.unique(group, return_inverse=True)
        return self.positive, last, code[self.order].astype(np.int32), max(len(names), 1)


def _sum_of(weight: Floats, draws: int, rng: np.random.Generator) -> float:
    """The sum of so many draws of the weights: exact where they are equal, else gamma of its mean and variance."""
    if not draws:
        return 0.0
    mean, variance = float(weight.mean()), float(weight.var())
    if variance <= 1e-24 * mean**2:
        return draws * mean
    return float(rng.gamma(draws * mean**2 / variance, variance / mean))
