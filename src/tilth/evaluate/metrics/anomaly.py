"""Measures of scores of strangeness: ``true`` is 1 for anomalies, ``score`` is higher for stranger rows."""

from __future__ import annotations

from tilth.evaluate.metrics.classification import area, at_first, average_precision
from tilth.evaluate.metrics.metric import Metric


def precision_at(k: int | None) -> Metric:
    """Share of anomalies among the k rows of highest score (None: as many as there are anomalies)."""
    return at_first(k, "anomaly", "precision")


def recall_at(k: int) -> Metric:
    """Share of the anomalies found among the k rows of highest score."""
    return at_first(k, "anomaly", "recall")


METRICS = (area("anomaly"), average_precision("anomaly"), precision_at(None), precision_at(10), recall_at(10))
