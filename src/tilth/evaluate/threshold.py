"""Where to say yes, for scores that are there already: the choice, its uncertainty, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.base.target import check_weight, encode_labels, one_dimensional
from tilth.evaluate.intervals import Interval, from_resamples
from tilth.parts.thresholds import CELLS, Goal, candidates, counts_of_places, drawn_weights, measures, read_goal
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ThresholdChoice(Result):
    """Every threshold between the scores, and the one that is best for the goal.

    ``threshold`` carries the bootstrap interval of the choice. ``value`` is what the goal is about (cost per row, or a
    measure) at the chosen threshold, on the very rows that chose it: a little too good, which
    ``ThresholdClassifier`` avoids by choosing and asking on different rows.
    """

    goal: Goal
    positive: Any
    threshold: Interval
    value: Interval
    met: bool
    thresholds: Floats
    counts: Floats

    @property
    def measure(self) -> str:
        """What the goal is about."""
        return "cost per row" if self.goal.costs is not None else self.goal.aim[0]

    @property
    def place(self) -> int:
        """Place of the chosen threshold among all."""
        return int(np.flatnonzero(self.thresholds == self.threshold.value)[0])

    def verdict(self) -> str:
        """The choice in words."""
        t = self.threshold
        text = (
            f"Answer {self.positive!s} where the score is at least {t.value:.4g} ({t.level:.0%} interval {t.low:.4g} "
            f"to {t.high:.4g}, {t.method}), chosen for {self.goal}: {self.measure} {self.value.value:.4g} "
            f"[{self.value.low:.4g}, {self.value.high:.4g}]."
        )
        if not self.met:
            text += " The constraint cannot be met; this comes closest."
        return text

    def frame(self) -> pd.DataFrame:
        """Every threshold with its counts, cost per row (where costs are given) and measures."""
        import pandas as pd

        frame = pd.DataFrame({"threshold": self.thresholds})
        frame[list(CELLS)] = self.counts
        if self.goal.costs is not None:
            frame["cost"] = self.goal.loss(self.counts)
        return frame.assign(**measures(self.counts))

    def plot(self) -> Any:
        """What every threshold costs (or reaches), and the chosen one on the ROC curve; a matplotlib Figure."""
        from tilth.plot.decisions import threshold_curves

        rates = measures(self.counts)
        values = self.goal.loss(self.counts) if self.goal.costs is not None else rates[self.measure]
        ends = np.array([self.threshold.low, self.threshold.high])
        return threshold_curves(self.thresholds, values, self.measure, rates, self.threshold.value, ends)

    def sections(self) -> list[Section]:
        """The choice as a page of a report."""
        return [Section("Threshold", self.verdict(), self.frame().iloc[[self.place]], figure=self.plot)]

    def to_dict(self) -> dict[str, Any]:
        """The choice as JSON-ready data."""
        return plain(
            {
                "goal": str(self.goal),
                "positive": self.positive,
                "verdict": self.verdict(),
                "threshold": self.threshold.to_dict(),
                "measure": self.measure,
                "value": self.value.to_dict(),
                "met": self.met,
                "at": self.frame().iloc[self.place].to_dict(),
            }
        )

    def __str__(self) -> str:
        return f"{self.verdict()}\n{self.frame().iloc[[self.place]].to_string(index=False)}"


def choose_threshold(
    true: Any,
    score: Any,
    *,
    costs: Any = None,
    constraint: Any = None,
    maximise: Any = None,
    positive: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    level: float = 0.95,
    repeats: int = 200,
    seed: int = 0,
) -> ThresholdChoice:
    """Choose where yes begins, from true labels of two classes and scores that rise with yes.

    Parameters
    ----------
    true, score : of rows that the model did not learn from, such as out-of-fold answers.
    costs : ``{"fp": 1, "fn": 5}`` (also "tp", "tn"), or a 2 x 2 table with a row per true class.
    constraint : a promise to keep, as ``("recall", 0.9)`` or ``("fpr", 0.05)``.
    maximise : a measure to make large; balanced accuracy where nothing is said.
    positive : the positive class; the last in sorted order by default.
    groups : rows that are not independent of each other; they are resampled together.

    >>> found = choose_threshold(["no", "no", "yes", "no", "yes"], [0.1, 0.2, 0.3, 0.6, 0.8], costs={"fp": 1, "fn": 5})
    >>> round(found.threshold.value, 3), round(found.value.value, 3)
    (0.25, 0.2)
    """
    owner = "choose_threshold"
    try:
        s = np.asarray(score, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner} needs scores as numbers; got {type(score).__name__}.") from None
    if s.ndim != 1 or not len(s) or np.isnan(s).any():
        raise ValueError(f"{owner} needs one score per row, none of them missing; got shape {s.shape}.")
    classes, codes = encode_labels(one_dimensional(true, len(s), owner))
    labels = classes.tolist()
    if len(labels) != 2:
        raise ValueError(f"{owner} needs two classes among the true labels; found {len(labels)}: {labels[:8]}.")
    if positive is not None and positive not in labels:
        raise ValueError(f"{owner}: positive={positive!r} is none of the classes {labels}.")
    yes = codes == (1 if positive is None else labels.index(positive))
    weight = check_weight(sample_weight, len(s), owner)
    unit = (
        None
        if groups is None
        else np.unique(np.asarray(one_dimensional(groups, len(s), owner)), return_inverse=True)[1]
    )
    goal = read_goal(costs, maximise, constraint, owner)
    thresholds = candidates(s)
    place = np.searchsorted(thresholds, s, side="right")
    counts = counts_of_places(place, len(thresholds), yes, weight)
    best, met = goal.choose(thresholds, counts)
    sign = 1.0 if goal.costs is not None else goal.aim[1]
    drawn = np.empty((repeats, 2))
    for b, times in enumerate(drawn_weights(len(s), weight, unit, repeats, seed)):
        again = counts_of_places(place, len(thresholds), yes, times)
        drawn[b] = thresholds[goal.choose(thresholds, again)[0]], sign * goal.loss(again[[best]])[0]
    drawn[~np.isfinite(drawn[:, 1]), 1] = np.nan
    interval = from_resamples(float(sign * goal.loss(counts[[best]])[0]), drawn[:, 1], len(s), level, unit is not None)
    ends = np.quantile(drawn[:, 0], [(1 - level) / 2, (1 + level) / 2], method="nearest")
    chosen = Interval(float(thresholds[best]), float(ends[0]), float(ends[1]), level, interval.method, len(s))
    label = labels[1] if positive is None else positive
    return ThresholdChoice(goal, label, chosen, interval, met, thresholds, counts)
