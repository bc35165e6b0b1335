"""A model, ours or another library's: what it is for, how it takes weights, and rows in the form it takes.

Whoever holds a model that somebody gave (a wrapper, a committee, an evaluation, a search) asks here, so that all of
them know the same models and refuse the same things in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from tilth.base.classifier import Classifier
from tilth.base.clusterer import Clusterer
from tilth.base.detector import Detector
from tilth.base.estimator import Estimator
from tilth.base.regressor import Regressor
from tilth.base.sequences import SequenceModel
from tilth.data.convert import Plan
from tilth.data.reading import read
from tilth.data.table import RawTable

Floats = NDArray[np.float64]
ModelTask = Literal["classification", "regression", "anomaly", "clustering", "sequences"]

#: What models of a task are called, by our class and by scikit-learn's question.
_TASKS: tuple[tuple[ModelTask, str, type, Any], ...] = (
    ("sequences", "model of sequences", SequenceModel, lambda model: False),
    ("classification", "classifier", Classifier, is_classifier),
    ("regression", "regressor", Regressor, is_regressor),
    ("anomaly", "detector", Detector, is_outlier_detector),
    ("clustering", "clusterer", Clusterer, is_clusterer),
)


def is_ours(model: Any) -> bool:
    """Whether the model, or the first step of a pipeline, takes tables as tilth reads them."""
    return isinstance(first_step(model), Estimator)


def first_step(model: Any) -> Any:
    """The model itself, or the one that meets the rows first in a pipeline."""
    while isinstance(model, Pipeline):
        model = model.steps[0][1]
    return model


def last_step(model: Any) -> Any:
    """The model itself, or the one at the end of a pipeline."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def task_of_model(model: Any) -> ModelTask | None:
    """What a model is for; None where it does not say.

    >>> from sklearn.cluster import KMeans
    >>> from sklearn.svm import SVC
    >>> task_of_model(SVC()), task_of_model(KMeans()), task_of_model(object())
    ('classification', 'clustering', None)
    """
    for task, _, ours, is_one in _TASKS:
        if isinstance(model, ours) or (hasattr(model, "__sklearn_tags__") and is_one(model)):
            return task
    return None


def require_model(model: Any, owner: str, task: ModelTask | None = None, *, usual: str = "") -> None:
    """Refuse what is no model, or one that says it is for another task; ``usual`` is what None stands for."""
    if isinstance(model, type):
        raise TypeError(f"{owner}: estimator must be a model, not a class: write {model.__name__}().")
    fits = callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))
    if not fits or (task is not None and task_of_model(model) not in (None, task)):
        wanted = next((f"a {word}" for t, word, _, _ in _TASKS if t == task), "a model")
        cure = f" None takes {usual}." if usual else ""
        raise TypeError(f"{owner}: estimator must be {wanted} with fit and predict; got {type(model).__name__}.{cure}")


def takes_weights(model: Any) -> bool:
    """Whether ``fit`` of the model (of the last step of a pipeline) takes ``sample_weight``."""
    return has_fit_parameter(last_step(model), "sample_weight")


def weights_for(model: Any, weight: Floats | None, owner: str = "") -> dict[str, Any]:
    """Weights by the names under which ``fit`` takes them: a pipeline hands them to all of its steps that do."""
    if weight is None:
        return {}
    if not takes_weights(model):
        raise TypeError(
            f"{owner + ': ' if owner else ''}{type(last_step(model)).__name__}.fit takes no sample_weight; leave the "
            "weights out, or choose an estimator that takes them."
        )
    return dict.fromkeys(_weight_names(model), weight)


def _weight_names(model: Any) -> Iterator[str]:
    if isinstance(model, Pipeline):
        for name, step in model.steps:
            yield from (f"{name}__{inner}" for inner in _weight_names(step))
    elif hasattr(model, "fit") and has_fit_parameter(model, "sample_weight"):
        yield "sample_weight"


@dataclass
class Foreign:
    """A fitted estimator of another library, and how rows become what it takes; its own attributes are reached too."""

    model: Any
    plan: Plan | None
    dense: bool

    def rows(self, raw: RawTable) -> Any:
        """Rows as the estimator takes them."""
        if raw.is_sparse and not self.dense:
            return raw.matrix
        if raw.is_sparse:
            raw = read(raw.matrix.toarray())
        if self.plan is not None:
            return np.ascontiguousarray(self.plan.apply(raw.typed(self.plan.schema)).numbers())
        return frame_of(raw) if raw.named or raw.matrix is None else raw.matrix

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not there: the estimator's own attributes."""
        if name.startswith("__") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)


def frame_of(raw: RawTable) -> Any:
    """A raw table as a pandas frame with the types that a user would have given it."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in raw.columns:
        if column.form in ("number", "integer", "date"):
            columns[column.name] = column.values
        elif column.form == "level":
            columns[column.name] = pd.Categorical.from_codes(column.values, column.levels, ordered=column.ordered)
        else:
            cells = np.array([*column.levels, None], dtype=object)[column.values]
            whole = column.form == "boolean" and (column.values >= 0).all()
            columns[column.name] = cells.astype(bool) if whole else cells
    return pd.DataFrame(columns, index=range(raw.n_rows))
