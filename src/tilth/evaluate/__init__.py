"""Evaluation: scores on rows a model has not seen, each with an interval, beside the baseline."""

from tilth.evaluate.intervals import Interval, corrected_t, exact, percentile, wald, wilson
from tilth.evaluate.resample import CrossValidation, cross_validate, stratified_folds

__all__ = [
    "CrossValidation", "Interval", "corrected_t", "cross_validate", "exact", "percentile", "stratified_folds", "wald",
    "wilson",
]  # fmt: skip
