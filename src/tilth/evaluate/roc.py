"""Curves of a score against two classes: ROC, and precision over recall, each with its area and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.base.target import check_weight, encode_labels, one_dimensional
from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval, from_resamples
from tilth.evaluate.metrics.order import Ordered
from tilth.stats.bounds import wilson_bounds
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RocCurve(Result):
    """Share of the positives found over share of the negatives taken for them, for every threshold of the score.

    A row is taken for positive when its score is at least the threshold; the first point takes none. The area is the
    probability that a positive scores above a negative, ties one half: 1 is perfect, 0.5 is chance, 0 is reversed.
    """

    fpr: Floats
    tpr: Floats
    threshold: Floats
    auc: Interval
    positive: Any
    n_positive: float
    n_negative: float
    rows: tuple[float, float]

    @property
    def youden(self) -> float:
        """The threshold where TPR - FPR is largest."""
        return float(self.threshold[int(np.argmax(self.tpr - self.fpr))])

    def at(self, threshold: float, level: float = 0.95) -> dict[str, Interval]:
        """TPR and FPR of a threshold, each with Wilson's interval."""
        place = _place(self.threshold, threshold)
        found = {}
        for name, shares, rows in (("TPR", self.tpr, self.rows[0]), ("FPR", self.fpr, self.rows[1])):
            low, high = wilson_bounds(shares[place] * rows, rows, level)
            found[name] = Interval(float(shares[place]), float(low), float(high), level, "Wilson", round(rows))
        return found

    def frame(self) -> pd.DataFrame:
        """The points of the curve."""
        import pandas as pd

        return pd.DataFrame({"threshold": self.threshold, "FPR": self.fpr, "TPR": self.tpr})

    def plot(self, threshold: float | None = None, *, band: bool = False) -> Any:
        """The curve beside chance; ``threshold`` marks an operating point, ``band`` draws Wilson bounds of the TPR."""
        from tilth.plot.scores import roc_curve

        point = None if threshold is None else _place(self.threshold, threshold)
        marked = None if point is None else (float(self.fpr[point]), float(self.tpr[point]), f"score ≥ {threshold:.3g}")
        bounds = wilson_bounds(self.tpr * self.rows[0], self.rows[0], self.auc.level) if band else None
        return roc_curve(self.fpr, self.tpr, f"AUC {_labelled(self.auc)}", point=marked, band=bounds)

    def verdict(self) -> str:
        """The area in words."""
        said = f"AUC {self.auc} ({self.auc.method}, {self.auc.level:.0%})"
        if 0.5 in self.auc:
            return f"{said}: not shown to be better than chance with {self.n_positive:,g} positives."
        if self.auc.high < 0.5:
            return f"{said}: the score is reversed; its negative would rank better than chance."
        return f"{said}: the chance that a random {self.positive!s} row scores above a row of another class."

    def sections(self) -> list[Section]:
        """The curve as a page of a report."""
        text = "FPR: share of the other rows predicted as the class. TPR: share of its own rows predicted as it."
        return [Section("ROC curve", f"{self.verdict()}\n\n{text}", figure=self.plot)]

    def to_dict(self) -> dict[str, Any]:
        """Points and area as JSON-ready data."""
        return _as_dict(self, "auc", fpr=self.fpr, tpr=self.tpr)

    def shown(self) -> pd.DataFrame:
        """No points: there are as many as rows."""
        return self.frame().head(0)


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve(Result):
    """Share of the rows taken that are positive, over the share of the positives found, for every threshold.

    ``average_precision`` = sum over thresholds of (recall gained) x (precision there); chance gives ``base_rate``.
    """

    precision: Floats
    recall: Floats
    threshold: Floats
    average_precision: Interval
    base_rate: float
    positive: Any
    n_positive: float
    n_negative: float
    rows: tuple[float, float]

    def at(self, threshold: float, level: float = 0.95) -> dict[str, Interval]:
        """Precision and recall of a threshold, each with Wilson's interval."""
        place = _place(self.threshold, threshold)
        p, r = float(self.precision[place]), float(self.recall[place])
        scale = self.rows[0] / self.n_positive
        taken = r * self.n_positive / p * scale if p > 0 else 0.0
        found = {}
        for name, share, rows in (("precision", p, taken), ("recall", r, self.rows[0])):
            low, high = wilson_bounds(share * rows, rows, level)
            found[name] = Interval(share, float(low), float(high), level, "Wilson", round(rows))
        return found

    def frame(self) -> pd.DataFrame:
        """The points of the curve."""
        import pandas as pd

        return pd.DataFrame({"threshold": self.threshold, "precision": self.precision, "recall": self.recall})

    def plot(self, threshold: float | None = None) -> Any:
        """The curve beside the base rate; ``threshold`` marks an operating point."""
        from tilth.plot.scores import precision_recall_curve

        point = None if threshold is None else _place(self.threshold, threshold)
        marked = (
            None
            if point is None
            else (float(self.recall[point]), float(self.precision[point]), f"score ≥ {threshold:.3g}")
        )
        label = f"average precision {_labelled(self.average_precision)}"
        return precision_recall_curve(self.recall, self.precision, label, self.base_rate, point=marked)

    def verdict(self) -> str:
        """The area in words."""
        found = self.average_precision
        compared = "no better than" if self.base_rate in found else "above" if found.low > self.base_rate else "below"
        return (
            f"Average precision {found} ({found.method}, {found.level:.0%}): {compared} chance, which gives "
            f"{self.base_rate:.3f}, the share of {self.positive!s}."
        )

    def sections(self) -> list[Section]:
        """The curve as a page of a report."""
        return [Section("Precision and recall", self.verdict(), figure=self.plot)]

    def to_dict(self) -> dict[str, Any]:
        """Points and area as JSON-ready data."""
        return _as_dict(self, "average_precision", precision=self.precision, recall=self.recall)

    def shown(self) -> pd.DataFrame:
        """No points: there are as many as rows."""
        return self.frame().head(0)


def roc(
    true: Any, score: Any = None, *, positive: Any = None, weight: Any = None, level: float = 0.95, repeats: int = 1000,
    seed: int = 0,
) -> RocCurve:  # fmt: skip
    """ROC curve of a score (or of a probability) and the area under it.

    Parameters
    ----------
    true, score : labels of two classes and one number per row, or :class:`Answers` alone.
    positive : the class that is to score high; default the last one in sorted order.
    level, repeats, seed : of the bootstrap interval of the area. Where the classes are separated completely every
        resample says so; the bound is then Newcombe's, the area whose own spread would still allow such a sample.

    >>> print(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    AUC 0.750 [0.000, 1.000] (bootstrap, 95%): not shown to be better than chance with 2 positives.
    """
    found = _read("roc", true, score, positive, weight)
    ordered, rows = found.ordered, found.rows
    value = ordered.auc
    if value in (0.0, 1.0):
        area = _separated(value, rows, level, len(ordered.order))
    else:
        area = from_resamples(value, ordered.auc_resamples(repeats, seed, found.group), len(ordered.order), level,
                              found.group is not None)  # fmt: skip
    return RocCurve(
        np.append(0.0, ordered.alarms / ordered.n_negative), np.append(0.0, ordered.hits / ordered.n_positive),
        np.append(np.inf, ordered.threshold), area, found.positive, ordered.n_positive, ordered.n_negative, rows,
    )  # fmt: skip


def precision_recall(
    true: Any, score: Any = None, *, positive: Any = None, weight: Any = None, level: float = 0.95, repeats: int = 1000,
    seed: int = 0,
) -> PrecisionRecallCurve:  # fmt: skip
    """Precision over recall of a score, and average precision; parameters as for :func:`roc`.

    >>> print(precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).frame().round(3).to_string(index=False))
     threshold  precision  recall
          0.80      1.000     0.5
          0.40      0.500     0.5
          0.35      0.667     1.0
          0.10      0.500     1.0
    """
    found = _read("precision_recall", true, score, positive, weight)
    ordered = found.ordered
    drawn = ordered.average_precision_resamples(repeats, seed, found.group)
    area = from_resamples(ordered.average_precision, drawn, len(ordered.order), level, found.group is not None)
    total = ordered.hits + ordered.alarms
    kept = total > 0  # a row without weight takes nothing
    return PrecisionRecallCurve(
        ordered.hits[kept] / total[kept], ordered.hits[kept] / ordered.n_positive, ordered.threshold[kept], area,
        ordered.n_positive / (ordered.n_positive + ordered.n_negative), found.positive, ordered.n_positive,
        ordered.n_negative, found.rows,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Read:
    ordered: Ordered
    positive: Any
    rows: tuple[float, float]
    group: NDArray[Any] | None = None


def _read(owner: str, true: Any, score: Any, positive: Any, weight: Any) -> _Read:
    """Check and sort; ``rows`` is the effective number of positive and of negative rows."""
    group = None
    if isinstance(true, Answers):
        answers, group = true, true.group
        labels = answers.true if answers.classes is None else np.asarray(answers.classes)[answers.true.astype(np.int64)]
        true, score, weight = labels, answers.ranking_score, answers.weight
        if positive is None and answers.classes is not None and len(answers.classes):
            positive = answers.classes[-1]
    n = len(true)
    if score is None:
        raise ValueError(f"{owner} needs one score per row, found none; give scores, or probabilities of two classes.")
    numbers = np.asarray(score, dtype=np.float64)
    if numbers.ndim == 2 and numbers.shape[1] == 2:  # predict_proba of two classes
        numbers = numbers[:, 1]
    if numbers.shape != (n,):
        raise ValueError(f"{owner} needs one score for each of the {n} rows; found an array of shape {numbers.shape}.")
    if np.isnan(numbers).any():
        raise ValueError(
            f"{owner} needs scores that are numbers; {int(np.isnan(numbers).sum())} of {n} are NaN. Drop those rows, "
            "or find out why the model has no score for them."
        )
    classes, codes = encode_labels(one_dimensional(true, n, owner))
    if len(classes) > 2:
        raise ValueError(f"{owner} needs two classes; found {len(classes)}. Ask for one of them against the rest.")
    names = classes.tolist()
    if positive is None and len(names) == 2:
        positive = names[1]
    if len(names) < 2 or positive not in names:
        raise ValueError(f"{owner} needs rows of two classes, one of them {positive!r}; found {names}.")
    w = check_weight(weight, n, owner)
    is_positive = codes == names.index(positive)
    ordered = Ordered.of(is_positive, numbers, w)
    if not (ordered.n_positive > 0 and ordered.n_negative > 0):
        raise ValueError(f"{owner} needs rows of weight above 0 in both classes; found one class without.")
    sides = (is_positive, ~is_positive)
    rows = [float(s.sum() if w is None else w[s].sum() ** 2 / (w[s] ** 2).sum()) for s in sides]
    return _Read(ordered, positive, (rows[0], rows[1]), group)


def _separated(value: float, rows: tuple[float, float], level: float, n: int) -> Interval:
    """Newcombe's (2006) interval at an area of 0 or 1: a with |value - a| = z sqrt(V(a)), V after Hanley and McNeil."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise ValueError(f"roc: level must lie between 0 and 1, as in 0.95; got {level}.")
    z, (m, k) = float(ndtri((1 + level) / 2)), rows

    def gap(a: float) -> float:
        spread = a * (1 - a) * (1 + ((m + k) / 2 - 1) * ((1 - a) / (2 - a) + a / (1 + a))) / (m * k)
        return (1 - a) - z * math.sqrt(spread)

    # gap is above 0 at a = 0 and, because the root is steeper than the line, below 0 just under 1.
    bound = float(brentq(gap, 0.0, 1.0 - 1e-12))
    low, high = (bound, 1.0) if value == 1.0 else (0.0, 1.0 - bound)
    return Interval(value, low, high, level, "Newcombe", n)


def _labelled(area: Interval) -> str:
    return f"{area}\n({area.method}, {area.level:.0%})"


def _place(thresholds: Floats, threshold: float) -> int:
    """The point of the curve that takes all rows with a score of at least ``threshold``."""
    place = int(np.searchsorted(-thresholds, -threshold, side="right")) - 1
    if place < 0 or np.isnan(threshold):
        raise ValueError(f"No row has a score of at least {threshold:g}; the highest is {thresholds[0]:g}.")
    return place


def _as_dict(curve: RocCurve | PrecisionRecallCurve, area: str, **points: Floats) -> dict[str, Any]:
    """The curve as data; at an infinite threshold nothing is taken, which JSON has no number for."""
    return plain(
        {
            area: getattr(curve, area).to_dict(), "positive": curve.positive, "n_positive": curve.n_positive,
            "n_negative": curve.n_negative, "threshold": curve.threshold, **points,
        }
    )  # fmt: skip
