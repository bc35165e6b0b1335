"""Models of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from tilth import _core
from tilth.base.learner import Learner, Predictor
from tilth.base.target import Target, codes_among, encode_labels
from tilth.params import declared

Array = NDArray[Any]


@declared
class Labelled(Learner):
    """A model whose target is a label of any type: ``classes_`` holds them, the model sees their places."""

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        if classes is None:
            found, codes = encode_labels(y)
        else:
            found = np.asarray(classes)
            codes = codes_among(y, found, type(self).__name__)
        self.classes_ = found
        return codes

    def _meet_labels(self, overview: Any) -> None:
        self._encode_target(overview.labels(is_classifier=True, owner=type(self).__name__))


@declared
class Classifier(ClassifierMixin, Labelled, Predictor):
    """A model of classes. Subclasses give ``probabilities(table)``; labels of any type go in and come out."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = bool(self.modest)
        return tags

    def probabilities(self, table: Any) -> NDArray[np.float64]:
        """Class probabilities of typed rows."""
        raise NotImplementedError

    def choice(self, table: Any) -> Array:
        """Place of the chosen class; the first of equally probable classes wins."""
        return _core.row_argmax(self.probabilities(table))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row: classes[argmax p(y | x)]."""
        rows = self._rows(X)
        return self.classes_[self.choice(rows)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(y | x) for every class, in the order of ``classes_``."""
        return self.probabilities(self._rows(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y | x) for every class."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
