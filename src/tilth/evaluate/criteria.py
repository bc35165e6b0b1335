"""Criteria of group fairness: what each asks, what it does not see, and which of them cannot hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.gaps import Measure, largest_difference, smallest_ratio
from tilth.evaluate.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
State = Literal["large gap", "gap", "no large gap", "cannot tell", "too few"]


@dataclass(frozen=True)
class Criterion:
    """A criterion: numbers that should be the same in every group, and its limits in words."""

    name: str
    measures: tuple[str, ...]
    asks: str
    limits: str
    number: str = ""

    @property
    def title(self) -> str:
        """The name, with its number where it has one: "I demographic parity"."""
        return f"{self.number} {self.name}".strip()


DEMOGRAPHIC_PARITY = Criterion(
    "demographic parity", ("selection rate",),
    "Every group gets the positive answer equally often: P(answer = + | group).",
    "It does not look at the truth: a perfect model fails it where base rates differ, and choosing at random within a "
    "group meets it. Errors may still fall on one group alone.",
    "I",
)  # fmt: skip
PREDICTIVE_PARITY = Criterion(
    "predictive parity", ("PPV",),
    "A positive answer is right equally often in every group: P(truth = + | answer = +, group).",
    "It does not look at those who get no positive answer: a group whose members are rarely recognised can meet it. "
    "It treats the recorded labels as the truth.",
    "II",
)  # fmt: skip
EQUAL_OPPORTUNITY = Criterion(
    "equal opportunity", ("TPR",),
    "Positives are recognised equally often in every group: P(answer = + | truth = +, group).",
    "It looks only at positives: false alarms may differ. It treats the recorded labels as the truth, so "
    "bias in past decisions stays hidden.",
    "III",
)  # fmt: skip
EQUALISED_ODDS = Criterion(
    "equalised odds", ("TPR", "FPR"),
    "True positive rate and false positive rate are the same in every group.",
    "It can be met by making answers worse for the group they are good for. Where base rates differ, selection and the "
    "worth of a positive answer then differ. It treats the recorded labels as the truth.",
)  # fmt: skip
ACCURACY_EQUALITY = Criterion(
    "equal accuracy", ("accuracy",),
    "Answers are right equally often in every group.",
    "It mixes both kinds of error: missed positives in one group may offset false alarms in another.",
)  # fmt: skip
CALIBRATION = Criterion(
    "calibration by group", ("probability - base rate",),
    "The mean probability is off from the share of positives by the same amount in every group.",
    "It compares groups: a model whose probabilities are too high everywhere meets it. It is about the mean only: a "
    "model that gives all members of a group the same probability meets it.",
)  # fmt: skip
EQUAL_BIAS = Criterion(
    "equal mean error", ("mean error",),
    "Answers are off by the same amount, on average and with sign, in every group.",
    "Errors of both signs cancel: a group with wild errors can meet it. It treats the recorded targets as the truth.",
)  # fmt: skip
EQUAL_RMSE = Criterion(
    "equal RMSE", ("RMSE",),
    "Answers are equally far off in every group.",
    "Targets that vary more in one group give larger errors even to the best model. It ignores "
    "the sign of the errors.",
)  # fmt: skip

BINARY = (
    DEMOGRAPHIC_PARITY, PREDICTIVE_PARITY, EQUAL_OPPORTUNITY, EQUALISED_ODDS, ACCURACY_EQUALITY, CALIBRATION,
)  # fmt: skip
SEVERAL_CLASSES = (ACCURACY_EQUALITY,)
NUMBERS = (EQUAL_BIAS, EQUAL_RMSE)


@dataclass(frozen=True, eq=False)
class Gap:
    """One criterion for one attribute: the largest difference between groups, and the smallest ratio.

    ``state`` says what the interval of the difference allows to say: "large gap" (surely above the tolerance), "gap"
    (surely above 0), "no large gap" (surely within the tolerance), "cannot tell", or "too few" rows.
    """

    criterion: Criterion
    attribute: str
    measure: str
    lowest: str
    highest: str
    difference: Interval
    ratio: Interval
    tolerance: float

    @property
    def state(self) -> State:
        """What the interval allows to say."""
        if np.isnan(self.difference.value) or np.isnan(self.difference.low):
            return "too few"
        if self.difference.low > self.tolerance:
            return "large gap"
        if self.difference.high <= self.tolerance:
            return "no large gap"
        return "gap" if self.difference.low > 0 else "cannot tell"

    @property
    def is_shown(self) -> bool:
        """Whether a gap is shown that may matter."""
        return self.state in ("large gap", "gap")

    def to_dict(self) -> dict[str, Any]:
        """The gap as JSON-ready data."""
        return {
            "criterion": self.criterion.name, "attribute": self.attribute, "measure": self.measure,
            "lowest": self.lowest, "highest": self.highest, "difference": self.difference.to_dict(),
            "ratio": self.ratio.to_dict(), "state": self.state, "tolerance": self.tolerance,
            "limits": self.criterion.limits,
        }  # fmt: skip


def gap_of(
    criterion: Criterion, attribute: str, labels: Sequence[str], measures: Mapping[str, Measure], least: int,
    level: float, tolerance: float, together: int | None = None,
) -> Gap:  # fmt: skip
    """The gap of a criterion; where it asks for several numbers, that of the one which differs most.

    ``together``: how many numbers, over all criteria and attributes, are compared in one judgement; by default those of
    this criterion. The bounds hold for all of them at once.
    """
    pairs = []
    tests = len(criterion.measures) if together is None else together
    for name in criterion.measures:
        measure = measures[name]
        usable = enough(measure, least)
        if usable.sum() < 2:
            continue
        places = np.flatnonzero(usable)
        order = np.argsort(measure.value[usable], kind="stable")
        ends = [labels[int(places[i])] for i in (order[0], order[-1])]
        pairs.append(
            (
                largest_difference(measure, usable, level, tests),
                smallest_ratio(measure, usable, level, tests),
                name,
                ends,
            )
        )
    if len(pairs) < len(criterion.measures):
        nothing = Interval(np.nan, np.nan, np.nan, level, "too few rows", 0)
        return Gap(criterion, attribute, criterion.measures[0], "", "", nothing, nothing, tolerance)
    worst = max(pairs, key=lambda f: f[0].value)
    apart = worst[0]
    ratios = [f[1] for f in pairs if not np.isnan(f[1].value)]
    # Both numbers must agree, so the larger of the two gaps counts: its bounds are the larger of the two bounds.
    difference = Interval(
        apart.value, max(f[0].low for f in pairs), max(f[0].high for f in pairs), level, apart.method, apart.n
    )
    ratio = min(ratios, key=lambda i: i.value) if ratios else worst[1]
    if ratios:
        ratio = Interval(
            ratio.value, min(r.low for r in ratios), min(r.high for r in ratios), level, ratio.method, ratio.n
        )
    return Gap(criterion, attribute, worst[2], worst[3][0], worst[3][1], difference, ratio, tolerance)


def enough(measure: Measure, least: int) -> NDArray[np.bool_]:
    """Groups with enough rows behind their number."""
    return np.asarray((measure.rows >= least) & ~np.isnan(measure.value))


# ------------------------------------------------------------------------------------------------------------ conflicts

#: Pairs of criteria that fix all other rates, with the parameters of :func:`implied` that state them.
WORLDS: tuple[tuple[str, tuple[str, str]], ...] = (
    ("I and II hold", ("selection", "ppv")),
    ("I and III hold", ("selection", "tpr")),
    ("II and III hold", ("ppv", "tpr")),
    ("equalised odds holds", ("tpr", "fpr")),
)
TOGETHER = (
    "Base rates differ, so of I demographic parity, II predictive parity and III equal opportunity at most two can "
    "hold at once; and equalised odds excludes I and II, unless the model is perfect or blind. Data cannot decide "
    "which one matters. The lines below show what the other rates would have to be."
)


def implied(
    base_rate: Any, *, tpr: Any = None, fpr: Any = None, ppv: Any = None, selection: Any = None
) -> pd.DataFrame:
    """What the base rates b of groups make of the other rates, once two of them are the same everywhere.

        selection = b TPR + (1 - b) FPR        PPV = b TPR / selection        accuracy = b TPR + (1 - b) (1 - FPR)

    Give ``tpr`` and ``fpr`` (equalised odds), or two of ``selection`` (demographic parity), ``ppv`` (predictive parity)
    and ``tpr`` (equal opportunity). A rate below 0 or above 1 says that these two cannot both be met at that height.

    >>> print(implied({"a": 0.5, "b": 0.2}, tpr=0.8, fpr=0.2).round(2))
           base rate  selection rate  TPR  FPR  PPV  accuracy
    group
    a            0.5            0.50  0.8  0.2  0.8       0.8
    b            0.2            0.32  0.8  0.2  0.5       0.8
    """
    import pandas as pd

    names = list(base_rate) if isinstance(base_rate, Mapping) else [str(i) for i in range(len(base_rate))]
    b = np.array(list(base_rate.values()) if isinstance(base_rate, Mapping) else base_rate, dtype=np.float64)
    rates = {k: v for k, v in (("tpr", tpr), ("fpr", fpr), ("ppv", ppv), ("selection", selection)) if v is not None}
    if not len(b) or not np.isfinite(b).all() or b.min() < 0 or b.max() > 1:
        raise ValueError(f"implied needs base rates between 0 and 1; got {b.tolist()}.")
    if any(not 0 <= float(v) <= 1 for v in rates.values()):
        raise ValueError(f"implied needs rates between 0 and 1; got {rates}.")
    with np.errstate(divide="ignore", invalid="ignore"):
        if set(rates) == {"tpr", "fpr"}:
            hits, alarms = np.full(len(b), float(tpr)), np.full(len(b), float(fpr))
        elif set(rates) == {"tpr", "ppv"}:
            hits = np.full(len(b), float(tpr))
            alarms = b * hits * (1 - ppv) / (ppv * (1 - b))
        elif set(rates) == {"ppv", "selection"}:
            hits, alarms = ppv * selection / b, (1 - ppv) * selection / (1 - b)
        elif set(rates) == {"tpr", "selection"}:
            hits = np.full(len(b), float(tpr))
            alarms = (selection - b * hits) / (1 - b)
        else:
            raise ValueError(f"implied needs tpr and fpr, or two of selection, ppv and tpr; got {sorted(rates)}.")
        chosen = b * hits + (1 - b) * alarms
        table = {
            "base rate": b, "selection rate": chosen, "TPR": hits, "FPR": alarms, "PPV": b * hits / chosen,
            "accuracy": b * hits + (1 - b) * (1 - alarms),
        }  # fmt: skip
    return pd.DataFrame(table, index=pd.Index(names, name="group"))
