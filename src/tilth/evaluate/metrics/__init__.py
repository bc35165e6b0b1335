"""Measures of quality for every task, each with an interval."""

from tilth.evaluate.metrics.classification import ACCURACY, BALANCED_ACCURACY, LOG_LOSS
from tilth.evaluate.metrics.index import Metrics, metric, metrics
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.regression import MAE, R2, RMSE

#: The measures shown when none are asked for; the first of each list ranks the models.
USUAL: dict[str, tuple[Metric, ...]] = {
    "classification": (ACCURACY, BALANCED_ACCURACY, LOG_LOSS),
    "regression": (RMSE, MAE, R2),
}

__all__ = ["USUAL", "Metric", "Metrics", "metric", "metrics"]
