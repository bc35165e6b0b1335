"""Measures of quality for every task, each with an interval."""

from tilth.evaluate.metrics import anomaly, clustering, ranking, sequences
from tilth.evaluate.metrics.classification import ACCURACY, BALANCED_ACCURACY, LOG_LOSS
from tilth.evaluate.metrics.clustering import SILHOUETTE
from tilth.evaluate.metrics.index import Metrics, metric, metrics
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.regression import MAE, R2, RMSE

#: The measures shown when none are asked for; the first of each list ranks the models.
USUAL: dict[str, tuple[Metric, ...]] = {
    "classification": (ACCURACY, BALANCED_ACCURACY, LOG_LOSS),
    "regression": (RMSE, MAE, R2),
    "anomaly": anomaly.METRICS[:3],
    "sequences": sequences.METRICS[:2],
    "ranking": (ranking.METRICS[0], ranking.MAP, ranking.MRR),
    "clustering": (clustering.METRICS[0], clustering.METRICS[1], SILHOUETTE),
}

__all__ = ["SILHOUETTE", "USUAL", "Metric", "Metrics", "metric", "metrics"]
