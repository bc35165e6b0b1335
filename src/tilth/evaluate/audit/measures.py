"""Scores that say little, and probabilities that are none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.audit.case import LIGHT_ROWS, UNEVEN, Case
from tilth.evaluate.audit.finding import Doubt
from tilth.evaluate.audit.protocol import honest_score
from tilth.evaluate.calibration import calibration
from tilth.evaluate.metrics.classification import ACCURACY, BALANCED_ACCURACY
from tilth.parts.calibrators import reliability
from tilth.words import percent

Floats = NDArray[np.float64]

#: Rows needed to judge the calibration error.
LEAST_ROWS = 100
#: Mean distance between probability and frequency that deserves a note, a warning.
NOTED, WARNED = 0.05, 0.1


def accuracy_on_uneven_classes(case: Case) -> Iterator[Doubt]:
    """Accuracy as the measure where one class holds most rows: always naming that class scores high."""
    wanted = {m.lower() for m in case.scores} or {case.metric.name}
    if case.commonest < UNEVEN or "accuracy" not in wanted:
        return
    accuracy, balanced = honest_score(case, ACCURACY), honest_score(case, BALANCED_ACCURACY)
    evidence = {"commonest_share": case.commonest}
    consequence = f"The most frequent class alone is right for {percent(case.commonest)} of rows."
    if accuracy is not None and balanced is not None:
        consequence = f"Accuracy {accuracy} looks good; balanced accuracy is {balanced}, and guessing gives "
        consequence += f"{1 / len(case.problem.classes if case.problem.classes is not None else (0, 1)):.3f}."
        evidence |= {"accuracy": accuracy.to_dict(), "balanced_accuracy": balanced.to_dict()}  # type: ignore[dict-item]
    poor = balanced is not None and accuracy is not None and accuracy.low <= case.commonest
    yield Doubt(
        "warning" if poor or case.measure else "info",
        (),
        f"accuracy is the measure, and {percent(case.commonest)} of rows are of one class",
        evidence,
        "Judge by balanced accuracy, recall or cost: metrics='balanced accuracy'.",
        consequence=consequence,
    )


def uncalibrated_probabilities(case: Case) -> Iterator[Doubt]:
    """Probabilities that are not frequencies: of rows given 0.9, far more or fewer than 90% are right."""
    answers = case.answers
    if answers is None or answers.probability is None or answers.n < LEAST_ROWS:
        return
    if not case.measure and answers.n > LIGHT_ROWS:
        answers = answers.rows(np.sort(np.random.default_rng(case.seed).choice(answers.n, LIGHT_ROWS, replace=False)))
    assert answers.probability is not None
    claimed, right = _claims(answers.probability, answers.true)
    bins = reliability(claimed, right, answers.weight)
    if float((bins.share * np.abs(bins.gap)).sum()) < NOTED:  # the interval costs a hundred times as much
        return
    curve = calibration(right, claimed, classes=[False, True], sample_weight=answers.weight, groups=answers.group,
                        level=case.level, repeats=200 if case.measure else 50, seed=case.seed)  # fmt: skip
    error = curve.ece_debiased
    if error.value < NOTED or error.low <= 0:
        return
    yield Doubt(
        "warning" if error.value >= WARNED else "info",
        (),
        f"probabilities are {error.value:.3f} off on average",
        {"calibration_error": error.to_dict(), "by_chance": curve.ece_by_chance, "slope": curve.slope,
         "mean_probability": float(claimed.mean()), "frequency": float(right.mean()), "kind": curve.kind},
        "Calibrate inside the folds before using them as probabilities, or use only their order.",
        consequence=f"The calibration error is {error} ({error.method}, corrected for chance); sums, costs and "
        "thresholds "
        "based on these probabilities are off.",
    )  # fmt: skip


def _claims(probability: Floats, true: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
    """What is claimed and whether it came: of two classes the last one, of more the one that was named."""
    if probability.shape[1] == 2:
        return probability[:, 1], np.asarray(true == 1)
    best = probability.argmax(axis=1)
    return probability[np.arange(len(best)), best], np.asarray(best == true)
