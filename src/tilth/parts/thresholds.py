"""Thresholds: what every place of the border between no and yes would answer, and which place is best for a goal.

A row is answered yes where its score is at least the threshold. Counts are weights of rows in the order tp, fp, fn, tn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Costs = tuple[float, float, float, float]

CELLS = ("tp", "fp", "fn", "tn")
#: Thresholds that are tried at most: beyond, every k-th of the distinct scores.
MOST_THRESHOLDS = 1000
_ALIASES = {
    "tpr": "recall", "sensitivity": "recall", "ppv": "precision", "tnr": "specificity", "false positive rate": "fpr",
    "false negative rate": "fnr", "f": "f1", "matthews": "mcc",
}  # fmt: skip
#: Measures that a constraint bounds from above; all others from below.
AT_MOST = ("fpr", "fnr", "positive rate")
#: Measures that answering yes more often can only help; under such a constraint false alarms are what is left to lower.
_MORE_YES = ("recall", "fnr", "npv")


def measures(counts: Floats) -> dict[str, Floats]:
    """Every measure that a table of right and wrong answers gives; NaN where it is 0 / 0.

    >>> import numpy as np
    >>> found = measures(np.array([[1.0, 2.0, 1.0, 1.0]]))
    >>> [round(float(found[m][0]), 3) for m in ("precision", "recall", "f1", "fpr")]
    [0.333, 0.5, 0.4, 0.667]
    """
    tp, fp, fn, tn = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    total = tp + fp + fn + tn
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, specificity = tp / (tp + fn), tn / (tn + fp)
        return {
            "recall": recall,
            "precision": tp / (tp + fp),
            "specificity": specificity,
            "fpr": fp / (tn + fp),
            "fnr": fn / (tp + fn),
            "npv": tn / (tn + fn),
            "accuracy": (tp + tn) / total,
            "balanced accuracy": (recall + specificity) / 2,
            "youden": recall + specificity - 1,
            "f1": 2 * tp / (2 * tp + fp + fn),
            "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
            "positive rate": (tp + fp) / total,
        }


MEASURES = tuple(measures(np.zeros((1, 4))))


def measure_name(word: Any, owner: str) -> str:
    """The measure that a word means, in any spelling.

    >>> measure_name("Balanced_Accuracy", "me"), measure_name("TPR", "me")
    ('balanced accuracy', 'recall')
    """
    name = " ".join(word.lower().replace("_", " ").replace("-", " ").split()) if isinstance(word, str) else ""
    name = _ALIASES.get(name, name)
    if name not in MEASURES:
        raise ValueError(f"{owner}: {word!r} is no measure of two classes; there are {', '.join(MEASURES)}.")
    return name


def read_costs(costs: Any, owner: str) -> Costs:
    """Costs of tp, fp, fn, tn from a mapping, or from a 2 x 2 table whose rows are the true classes (no, yes).

    >>> read_costs({"fp": 1, "fn": 5}, "me")
    (0.0, 1.0, 5.0, 0.0)
    """
    if isinstance(costs, Mapping):
        strangers = [k for k in costs if k not in CELLS]
        if strangers:
            raise ValueError(f"{owner}: costs are named {', '.join(CELLS)}; got {strangers[0]!r}.")
        cells = [costs.get(c, 0.0) for c in CELLS]
    else:
        table = cost_table(costs, 2, owner)
        cells = [table[1, 1], table[0, 1], table[1, 0], table[0, 0]]
    tp, fp, fn, tn = (_number(v, owner) for v in cells)
    if fp - tn + fn - tp <= 0:
        raise ValueError(
            f"{owner}: wrong answers must cost more than right ones, (fp - tn) + (fn - tp) > 0; got "
            f"tp={tp:g}, fp={fp:g}, fn={fn:g}, tn={tn:g}."
        )
    return tp, fp, fn, tn


def cost_table(costs: Any, k: int, owner: str) -> Floats:
    """A k x k table of costs: row the true class, column the answer, both in sorted order of the classes."""
    try:
        table = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.shape != (k, k) or not np.isfinite(table).all():
        raise ValueError(
            f"{owner}: costs for {k} classes are a {k} x {k} table of numbers, rows the true classes and columns the "
            f"answers; got {costs!r:.80}."
        )
    return table


def _number(value: Any, owner: str) -> float:
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not np.isfinite(float(value)):  # type: ignore[arg-type]
        raise ValueError(f"{owner}: costs must be finite numbers; got {value!r}.")
    return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Goal:
    """What a threshold is chosen for: least cost, or most of a measure; both may stand under a constraint."""

    costs: Costs | None = None
    maximise: str | None = None
    constraint: tuple[str, float] | None = None

    def loss(self, counts: Floats) -> Floats:
        """What is made small, per threshold; infinite where it is not defined."""
        if self.costs is not None:
            return np.asarray(counts @ np.asarray(self.costs) / counts.sum(axis=-1))
        word, sign = self.aim
        losses = sign * measures(counts)[word]
        return np.where(np.isnan(losses), np.inf, losses)

    @property
    def aim(self) -> tuple[str, float]:
        """The measure that decides, and -1 where it is made large."""
        if self.maximise is not None:
            return self.maximise, -1.0
        if self.constraint is None:
            return "balanced accuracy", -1.0
        return ("fpr", 1.0) if self.constraint[0] in _MORE_YES else ("recall", -1.0)

    def meets(self, counts: Floats) -> NDArray[np.bool_]:
        """Which thresholds keep the constraint."""
        if self.constraint is None:
            return np.ones(counts.shape[:-1], dtype=bool)
        word, bound = self.constraint
        value = measures(counts)[word]
        # The bound may have been made of the same counts: rounding must not lose it.
        return np.asarray(value <= bound + 1e-12 if word in AT_MOST else value >= bound - 1e-12)

    def choose(self, thresholds: Floats, counts: Floats) -> tuple[int, bool]:
        """Place of the best threshold, and whether it keeps the constraint (else it comes nearest to it).

        Of equally good thresholds the middle one is taken, and one that says both yes and no if there is one.
        """
        allowed = self.meets(counts)
        met = bool(allowed.any())
        if met:
            loss = np.where(allowed, self.loss(counts), np.inf)
        else:
            assert self.constraint is not None
            word = self.constraint[0]
            value = measures(counts)[word] * (1.0 if word in AT_MOST else -1.0)
            loss = np.where(np.isnan(value), np.inf, value)
        least = loss.min()
        best = (
            np.flatnonzero(loss <= least + 1e-12 * max(1.0, abs(least))) if np.isfinite(least) else np.arange(len(loss))
        )
        both = best[np.isfinite(thresholds[best])]
        best = both if len(both) else best
        return int(best[len(best) // 2]), met

    def __str__(self) -> str:
        parts = []
        if self.costs is not None:
            priced = zip(CELLS, self.costs, strict=True)
            parts.append("least cost per row (" + ", ".join(f"{c} {v:g}" for c, v in priced if v) + ")")
        elif self.maximise is not None or self.constraint is None:
            parts.append(f"most {self.aim[0]}")
        else:
            word, sign = self.aim
            parts.append(f"{'least' if sign > 0 else 'most'} {word}")
        if self.constraint is not None:
            word, bound = self.constraint
            parts.append(f"with {word} {'at most' if word in AT_MOST else 'at least'} {bound:g}")
        return " ".join(parts)


def read_goal(costs: Any, maximise: Any, constraint: Any, owner: str) -> Goal:
    """The goal as a user writes it, checked.

    >>> str(read_goal({"fp": 1, "fn": 5}, None, ("recall", 0.9), "me"))
    'least cost per row (fp 1, fn 5) with recall at least 0.9'
    """
    if costs is not None and maximise is not None:
        raise ValueError(f"{owner}: costs and maximise are two goals; give one of them.")
    promise = None
    if constraint is not None:
        try:
            word, bound = constraint
            bound = float(bound)
        except (TypeError, ValueError):
            word, bound = None, np.nan
        if not 0 <= bound <= 1:
            raise ValueError(
                f'{owner}: constraint is a measure and a bound between 0 and 1, as ("recall", 0.9); got {constraint!r}.'
            )
        promise = (measure_name(word, owner), bound)
    return Goal(
        None if costs is None else read_costs(costs, owner),
        None if maximise is None else measure_name(maximise, owner),
        promise,
    )


def drawn_weights(
    n: int, weight: Floats | None, unit: NDArray[Any] | None, repeats: int, seed: int
) -> Iterator[Floats]:
    """Weights of rows in bootstrap samples of rows, or of units of rows that belong together."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) if unit is None else unit
    n_units = int(own.max()) + 1
    w = np.ones(n) if weight is None else weight
    for _ in range(repeats):
        yield np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[own] * w


def candidates(score: Floats, most: int = MOST_THRESHOLDS) -> Floats:
    """Thresholds between neighbouring distinct scores, from always yes (-inf) to never yes (inf).

    >>> import numpy as np
    >>> candidates(np.array([0.2, 0.8, 0.2, 0.4]))
    array([-inf, 0.3, 0.6,  inf])
    """
    distinct = np.unique(score)
    between = (distinct[1:] + distinct[:-1]) / 2
    # Two neighbours may have no number between them: the upper one itself parts them.
    between = np.where(between <= distinct[:-1], distinct[1:], between)
    if len(between) > most:
        between = between[np.linspace(0, len(between) - 1, most).round().astype(np.int64)]
    return np.concatenate([[-np.inf], between, [np.inf]])


def counts_at(thresholds: Floats, score: Floats, positive: NDArray[np.bool_], weight: Floats | None = None) -> Floats:
    """Right and wrong answers of every threshold, t x 4 in the order tp, fp, fn, tn; one sort for all.

    >>> import numpy as np
    >>> score, yes = np.array([0.2, 0.4, 0.9]), np.array([False, True, True])
    >>> counts_at(np.array([0.3, 0.5]), score, yes)
    array([[2., 0., 0., 1.],
           [1., 0., 1., 1.]])
    """
    place = np.searchsorted(thresholds, score, side="right")
    return counts_of_places(place, len(thresholds), positive, weight)


def counts_of_places(
    place: NDArray[Any], n_thresholds: int, positive: NDArray[np.bool_], weight: Floats | None = None
) -> Floats:
    """The same from the number of thresholds at or below each score."""
    cells = np.bincount(place + (n_thresholds + 1) * positive, weight, minlength=2 * (n_thresholds + 1))
    no, yes = cells.astype(np.float64).reshape(2, -1)
    tp, fp = (np.cumsum(c[::-1])[::-1][1:] for c in (yes, no))
    fn, tn = (np.cumsum(c)[:-1] for c in (yes, no))  # not total less the others: rounding would leave less than nothing
    return np.column_stack([tp, fp, fn, tn])


def calibrated_threshold(costs: Costs) -> float:
    """The threshold that is best where scores are true probabilities: (fp - tn) / (fp - tn + fn - tp).

    >>> calibrated_threshold((0.0, 1.0, 4.0, 0.0))
    0.2
    """
    tp, fp, fn, tn = costs
    return (fp - tn) / (fp - tn + fn - tp)
