"""Detectors and clusterers under evaluation: what their answers are held against, baselines that look at nothing."""

from __future__ import annotations

import zlib
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, OutlierMixin

from tilth.base import OnTables
from tilth.base.target import Target, encode_labels
from tilth.data.table import matrix_of

Floats = NDArray[np.float64]

#: Rows whose silhouettes are taken, at most: each needs its distance to all others.
MOST_SILHOUETTES = 2000


def anomalies_of(values: Target, owner: str) -> NDArray[np.int64]:
    """1 for anomalies: -1 beside 1 (scikit-learn), 1 beside 0, true beside false, else the rarer of two labels."""
    classes, codes = encode_labels(values)
    if len(classes) > 2:
        raise ValueError(
            f"{owner}: labels of anomalies have two values, such as 0 and 1; y has {len(classes)}: "
            f"{classes.tolist()[:5]}."
        )
    known = classes.tolist()
    if known in ([0, 1], [1], [0]):
        return np.asarray(np.asarray(known)[codes], dtype=np.int64)
    if known in ([-1, 1], [-1]):
        return (codes == 0).astype(np.int64)
    rare = int(np.bincount(codes, minlength=2).argmin()) if len(known) == 2 else -1
    return (codes == rare).astype(np.int64)


def silhouettes(model: Any, X: Any, clusters: NDArray[Any]) -> Floats:
    """The silhouette of each row in the columns that the model sees; NaN where there is one cluster."""
    from sklearn.metrics import silhouette_samples

    rows: Any = matrix_of(model._rows(X)) if isinstance(model, OnTables) else X
    if not (hasattr(rows, "toarray") or np.asarray(rows).dtype.kind in "fiub"):
        return np.full(len(clusters), np.nan)
    out = np.full(len(clusters), np.nan)
    chosen = np.arange(len(clusters))
    if len(chosen) > MOST_SILHOUETTES:
        chosen = np.sort(np.random.default_rng(0).choice(len(chosen), MOST_SILHOUETTES, replace=False))
    if 1 < len(np.unique(clusters[chosen])) < len(chosen):
        part = rows[chosen] if hasattr(rows, "toarray") else np.asarray(rows, dtype=np.float64)[chosen]
        out[chosen] = silhouette_samples(part, clusters[chosen])
    return out


class ConstantScore(OutlierMixin, BaseEstimator):
    """The detector that finds every row equally strange."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Nothing is learned."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """No row is an anomaly."""
        return np.ones(_count(X), dtype=np.int64)

    def decision_function(self, X: Any) -> Floats:
        """The same for every row."""
        return np.zeros(_count(X))


class RandomHalves(ClusterMixin, BaseEstimator):
    """The clusterer that deals rows into two groups by chance."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Nothing is learned."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """0 or 1, by a seed that is the content of the first column: other rows, other draws."""
        rows = X.columns[0].values if hasattr(X, "n_rows") else X.toarray() if hasattr(X, "toarray") else X
        seed = zlib.crc32(np.asarray(rows).tobytes())
        return np.random.default_rng(seed).integers(0, 2, _count(X))


def _count(X: Any) -> int:
    return int(X.n_rows if hasattr(X, "n_rows") else X.shape[0] if hasattr(X, "shape") else len(X))
