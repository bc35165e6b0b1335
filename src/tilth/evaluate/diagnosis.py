"""Does a model fit too little, too much, or well? Judged from the scores of rows it has seen and rows it has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilth.base.result import Result
from tilth.evaluate.intervals import Interval, over_splits
from tilth.evaluate.metrics import Metric
from tilth.words import percent, plain, readable

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
State = Literal["underfit", "overfit", "fine", "unclear"]

#: Share of what was gained on seen rows that is lost on others, from which a gap is large.
BIG_GAP = 0.25
#: Share of what the reference gains over the baseline that is missed on the model's own rows: high bias.
BIG_BIAS = 0.15
#: Without a reference nobody can tell noise from bias once this share of the baseline's error is left.
MUCH_LEFT = 0.5
#: A model that keeps this share of the baseline's error on its own rows has learned nothing.
NOTHING_LEARNED = 0.95

#: "Surely" in a verdict: nine to one, the lower end of an 80% interval. A verdict asks for a remedy, not for a proof.
SURE = 0.8
#: Splits from which nine of ten pointing one way is enough: of 5, all.
SIGN_SPLITS = 5

#: What helps against what (high bias, high variance).
REMEDIES: Mapping[str, tuple[str, ...]] = {
    "underfit": (
        "Use a richer model: a higher degree or depth, less penalty, a non-linear model.",
        "Add features, or products and powers of the present ones.",
        "More rows of the same kind will not help by themselves.",
    ),
    "overfit": (
        "Collect more rows.",
        "Use fewer features.",
        "Use a simpler model: a lower degree or depth, more penalty, an earlier stop.",
        "Average many models (bagging, a random forest).",
    ),
    "fine": ("Fit looks right. See the learning curve for the value of more rows.",),
    "unclear": ("State a score that can be reached (reference=), or try a richer model on the same splits.",),
}


def error_of(metric: Metric, scores: ArrayLike) -> Floats:
    """Scores as errors: lower is better, 0 is the best there is where the metric has a best value."""
    values = np.asarray(scores, dtype=np.float64)
    if not metric.higher_is_better:
        return values
    return (metric.bounds[1] if np.isfinite(metric.bounds[1]) else 0.0) - values


@dataclass(frozen=True, eq=False)
class Diagnosis(Result):
    """Whether a model underfits, overfits or is fine, the numbers behind it and what to do.

    ``gap`` is how much worse the model is on rows it has not seen, ``lost`` the gap as a share of what was gained over
    the baseline on seen rows (the optimism). ``shortfall`` is how much better the reference is on the rows that neither
    has seen, ``missed`` the part of the way from the baseline to the reference that is not gone even on seen rows.
    """

    heading: ClassVar[str] = "Underfit, overfit or about right?"

    state: State
    high_bias: bool
    high_variance: bool
    metric: Metric
    train: Interval
    validation: Interval
    gap: Interval
    lost: float
    baseline: float = np.nan
    reference: float = np.nan
    reference_name: str = ""
    shortfall: Interval | None = None
    missed: float = np.nan
    because: str = ""

    @property
    def advice(self) -> str:
        """What to do, in one paragraph."""
        return " ".join(self.remedies)

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to do about it."""
        if self.high_bias and self.high_variance:
            return REMEDIES["overfit"] + REMEDIES["underfit"][:2]
        return REMEDIES[self.state]

    @property
    def more_rows_help(self) -> bool | None:
        """Whether more rows are among the cures; None where nobody can tell."""
        return {"overfit": True, "underfit": self.high_variance, "fine": None, "unclear": None}[self.state]

    def frame(self) -> pd.DataFrame:
        """The numbers, one row."""
        import pandas as pd

        return pd.DataFrame([{
            "verdict": self.state, "training score": self.train.value, "validation score": self.validation.value,
            "validation low": self.validation.low, "validation high": self.validation.high, "gap": self.gap.value,
            "gap low": self.gap.low, "gap high": self.gap.high, "share lost": self.lost, "baseline": self.baseline,
            "reference": self.reference, "share missed": self.missed,
        }])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON-ready data."""
        return {
            "verdict": self.state, "high bias": self.high_bias, "high variance": self.high_variance,
            "metric": self.metric.name, "train": plain(self.train.to_dict()), "because": self.because,
            "validation": plain(self.validation.to_dict()), "gap": plain(self.gap.to_dict()), "lost": plain(self.lost),
            "baseline": plain(self.baseline), "reference": plain(self.reference), "missed": plain(self.missed),
            "reference name": self.reference_name, "advice": list(self.remedies),
        }  # fmt: skip

    def verdict(self) -> str:
        """What is wrong with the fit, why, and the numbers behind it."""
        label = {"underfit": "Underfit (high bias)", "overfit": "Overfit (high variance)", "fine": "Fit looks right",
                "unclear": "Unclear"}[self.state]  # fmt: skip
        also = {"underfit": "; high variance too", "overfit": "; high bias too"}.get(self.state, "")
        both = also if self.high_bias and self.high_variance else ""
        numbers = f"{self.metric.name} {readable(self.train.value)} on training rows, {self.validation} on new ones"
        others = [f"Zero-R {readable(self.baseline)}"] if np.isfinite(self.baseline) else []
        if np.isfinite(self.reference):
            others.append(f"{self.reference_name or 'reference'} {readable(self.reference)}")
        level = f"{100 * self.validation.level:g}%, {self.validation.method}"
        reason = self.because[:1].upper() + self.because[1:]
        return f"{label}{both}: {numbers} ({'; '.join([*others, level])}). {reason}."


def diagnose(
    train: ArrayLike,
    validation: ArrayLike,
    *,
    metric: Metric | str = "accuracy",
    baseline: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    reference_name: str = "",
    ratio: float = 0.25,
    level: float = 0.95,
    validation_interval: Interval | None = None,
) -> Diagnosis:
    """Judge the scores of one model on the training and test rows of some splits.

    With errors E of seen rows (t), other rows (v), the baseline (b) and a reference that can be reached (r):

        overfit    E_v - E_t is surely above 0 and at least 1/4 of the gain E_b - E_t that the seen rows promised
        underfit   E_v - E_r is surely above 0 and E_t - E_r is at least 0.15 of the way E_b - E_r;
                   or E_t is still 0.95 E_b and more, while nothing is known to do better

    When both hold, the larger part names the verdict. Without a reference, a training error above half of the
    baseline's may be bias or noise: that is called unclear. "Surely" is nine to one: by the spread over splits (of log
    ratios where all errors are above 0), or in nine of ten splits; with a single split the size alone decides.

    Parameters
    ----------
    train, validation, baseline : score of each split; a single number is one split.
    reference : a score known to be possible, or the scores of a reference model on the same splits.
    ratio : test rows per training row, for the correction of overlapping training rows.

    >>> found = diagnose([1.0, 1.0, 1.0], [0.71, 0.69, 0.73], baseline=[0.7, 0.7, 0.7])
    >>> found.state, found.remedies[0]
    ('overfit', 'Collect more rows.')
    """
    if isinstance(metric, str):
        from tilth.evaluate.table import chosen_metrics

        metric = chosen_metrics(metric, "classification")[0]
    seen, other = _scores(train, "train"), _scores(validation, "validation")
    if len(seen) != len(other):
        raise ValueError(
            f"diagnose needs a training and a validation score per split; got {len(seen)} and {len(other)}."
        )
    base = None if baseline is None else _scores(baseline, "baseline", len(other))
    known = np.isfinite(seen) & np.isfinite(other)
    if base is not None:
        known &= np.isfinite(base)
    ref = None if reference is None else _scores(reference, "reference", len(other))
    if ref is not None and np.isfinite(ref).any():
        known &= np.isfinite(ref)
    else:
        ref = None
    if not known.any():
        raise ValueError("diagnose needs at least one split with a training and a validation score; all are missing.")
    seen, other = seen[known], other[known]
    e_t, e_v = error_of(metric, seen), error_of(metric, other)
    e_b = None if base is None else error_of(metric, base[known])
    e_r = None if ref is None else error_of(metric, ref[known])

    gap = over_splits(e_v - e_t, ratio, level)
    promised = float(np.mean(e_v if e_b is None else e_b - e_t))
    lost = gap.value / promised if promised > 0 else 0.0
    left = np.nan if e_b is None or np.mean(e_b) <= 0 else float(np.mean(e_t) / np.mean(e_b))
    nothing = left >= NOTHING_LEARNED
    high_variance = not nothing and gap.value > 0 and lost >= BIG_GAP and surely_above(e_v, e_t, ratio)

    shortfall, missed, high_bias = None, np.nan, False
    if e_r is not None:
        shortfall = over_splits(e_v - e_r, ratio, level)
        way = float(np.mean(e_v if e_b is None else e_b) - np.mean(e_r))
        missed = float(np.mean(e_t - e_r)) / way if way > 0 else 0.0
        high_bias = shortfall.value > 0 and missed >= BIG_BIAS and surely_above(e_v, e_r, ratio)
    blind = e_r is None or (e_b is not None and np.mean(e_r) >= np.mean(e_b))
    if e_r is None and nothing:
        high_bias = True

    state: State
    if high_bias and high_variance:
        state = "underfit" if missed > gap.value / max(promised, 1e-300) else "overfit"
    elif high_bias or high_variance:
        state = "underfit" if high_bias else "overfit"
    elif (blind and (nothing or left > MUCH_LEFT)) or (e_r is None and e_b is None):
        state = "unclear"
    else:
        state = "fine"
    return Diagnosis(
        state, high_bias, high_variance, metric, over_splits(seen, ratio, level),
        validation_interval or over_splits(other, ratio, level), gap, lost,
        np.nan if base is None else float(np.mean(base[known])), np.nan if ref is None else float(np.mean(ref[known])),
        reference_name, shortfall, missed, _because(state, lost, missed, left, e_r is not None, reference_name),
    )  # fmt: skip


def _because(state: State, lost: float, missed: float, left: float, compared: bool, name: str) -> str:
    name = name or "the reference"
    if state == "overfit":
        return f"{percent(min(lost, 1.0))} of its gain on training rows is lost on new rows"
    if state == "underfit":
        if not compared:
            return "it does no better than the baseline even on training rows"
        return f"even on training rows it misses {percent(min(missed, 1.0))} of the way from the baseline to {name}"
    if state == "fine":
        return "training and validation scores are close" + (f", and {name} is not far better" if compared else "")
    if compared:
        return (
            "neither it nor the reference clearly beats the baseline: the columns may carry little information "
            "about the target"
        )
    if np.isnan(left):
        return "the gap is small, and there is no reference to compare the score with"
    return f"{percent(left)} of the baseline's error remains on training rows, which may be bias or noise"


def surely_above(a: Floats, b: Floats, ratio: float) -> bool:
    """Whether errors a are above errors b, split by split, beyond their spread (nine to one)."""
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if len(a) < 2:
        return bool((a > b).all()) and len(a) > 0
    # A few wild splits must not hide that all are worse: errors multiply, hence logs; and nine of ten splits will do.
    if len(a) >= SIGN_SPLITS and (a > b).mean() >= (1 + SURE) / 2:
        return True
    apart = np.log(a / b) if (a > 0).all() and (b > 0).all() else a - b
    return bool(over_splits(apart, ratio, SURE).low > 0)


def _scores(values: ArrayLike, what: str, n: int | None = None) -> Floats:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1:
        raise ValueError(f"diagnose needs one score per split as {what}; got an array of {array.ndim} dimensions.")
    if n is not None and len(array) == 1:
        array = np.full(n, array[0])
    if n is not None and len(array) != n:
        raise ValueError(f"diagnose needs one score or one per split as {what} ({n} splits); got {len(array)}.")
    return array
