"""What the common checks need to know of each kind of model: how to ask it, and what its answer is as numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Classifier, Clusterer, Density, Detector, Estimator, Predictor, Transformer
from tilth.base.answers import answers, says


@dataclass(frozen=True)
class Kind:
    """A kind of model: its base class, the method that answers new rows, and the answer as numbers."""

    base: type[Estimator]
    method: str
    numbers: Callable[[Any, Any], NDArray[Any]]

    def ask(self, model: Any, X: Any) -> Any:
        """The answer as a user gets it."""
        return getattr(model, self.method)(X)


def _of_classifier(model: Any, X: Any) -> NDArray[Any]:
    outputs = answers(model, X, ("probabilities" if "probabilities" in says(model) else "scores",))
    return np.asarray(outputs.scores if outputs.probabilities is None else outputs.probabilities)


def _of_transformer(model: Any, X: Any) -> NDArray[Any]:
    """Transformed rows."""
    table = model.transform(X)
    if hasattr(table, "toarray"):
        return np.asarray(table.toarray())
    if not hasattr(table, "columns"):
        return np.asarray(table, dtype=np.float64)
    columns = [table[name].to_numpy() if hasattr(table[name], "to_numpy") else table[name] for name in table.columns]
    return np.column_stack([_numbers(np.asarray(c)) for c in columns]) if columns else np.zeros((len(table), 0))


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers as it is, labels as hashes of their text, so that the container does not matter."""
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    return np.array([np.nan if v is None or v != v else float(zlib.crc32(str(v).encode())) for v in column.tolist()])


#: The first that fits is the kind of a model.
KINDS_OF_MODELS = (
    Kind(Classifier, "predict", _of_classifier),
    Kind(Predictor, "predict", lambda m, X: np.asarray(m.predict(X))),
    Kind(Clusterer, "predict", lambda m, X: np.asarray(m.predict(X))),
    Kind(Detector, "predict", lambda m, X: np.asarray(m.anomaly_score(X))),
    Kind(Density, "score_samples", lambda m, X: np.asarray(m.score_samples(X))),
    Kind(Transformer, "transform", _of_transformer),
)


def kind_of(model: Estimator) -> Kind:
    """The kind of a model."""
    return next(k for k in KINDS_OF_MODELS if isinstance(model, k.base))
