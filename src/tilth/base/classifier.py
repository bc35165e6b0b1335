"""Models of classes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from tilth import _core
from tilth.base.answers import Need, offered
from tilth.base.learner import Learner, Predictor
from tilth.base.target import Target, codes_among, encode_labels
from tilth.params import declared

Array = NDArray[Any]


@declared
class Labelled(Learner):
    """A model whose target is a label of any type: ``classes_`` holds the labels, the model sees their places."""

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        if classes is None:
            self.classes_, codes = encode_labels(y, unlabelled=self.unlabelled)
            return codes
        self.classes_ = np.asarray(classes)
        return codes_among(y, self.classes_, type(self).__name__, unlabelled=self.unlabelled)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _meet_labels(self, overview: Any) -> None:
        self._encode_target(overview.labels(is_classifier=True, owner=type(self).__name__))


@declared
class Classifier(ClassifierMixin, Labelled, Predictor):
    """A model of classes. Subclasses give ``scores(table)``; labels of any type go in and come out.

    Scores are [n] for two classes, how far the second is ahead, else n x k. A model of probabilities is a
    :class:`Probabilistic` classifier.
    """

    hooks: ClassVar[dict[Need, str]] = {"prediction": "labels", "scores": "scores"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = bool(self.modest)
        return tags

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not there: a classifier without probabilities says what to do about it."""
        if name in ("predict_proba", "predict_log_proba"):
            raise AttributeError(f"{type(self).__name__} has no {name}: {self._why_no_probabilities()}")
        # A property that failed comes here as well: its own error, such as NotFittedError, is the one to tell.
        return object.__getattribute__(self, name)

    def _why_no_probabilities(self) -> str:
        return (
            "a score is a signed distance, not a probability; wrap the model in a CalibratedClassifier, or use "
            "LogisticRegression."
        )

    def scores(self, table: Any) -> NDArray[np.float64]:
        """Scores of typed rows: [n] for two classes, else n x k."""
        raise NotImplementedError

    def choice(self, table: Any) -> Array:
        """Place of the chosen class: the second of two where its score is above zero, else that of the largest."""
        scores = self.scores(table)
        if len(self.classes_) < 2:
            return np.zeros(len(scores), dtype=np.int64)
        return (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)

    def labels(self, table: Any) -> Array:
        """The class of typed rows."""
        return self.classes_[self.choice(table)]

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        return self.labels(self._rows(X))

    @offered("scores")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: of two classes how far the second is ahead, else of every class."""
        return self.scores(self._rows(X))


@declared
class Probabilistic(Classifier):
    """A classifier with probabilities. Subclasses give ``probabilities(table)``, and ``scores`` if they have any."""

    hooks: ClassVar[dict[Need, str]] = {"prediction": "labels", "probabilities": "probabilities", "scores": "scores"}

    def says(self) -> tuple[Need, ...]:
        """Scores only where the class has some that are not its probabilities."""
        own = type(self).scores is not Classifier.scores
        return tuple(n for n in super().says() if own or n != "scores")

    def outputs(self, X: Any, need: Collection[Need], level: float | None = None) -> dict[Need, Any]:
        """The most probable class is read off the probabilities where both are needed."""
        cls = type(self)
        plain = cls.choice is Probabilistic.choice and cls.labels is Classifier.labels
        if not (plain and "prediction" in need and "probabilities" in need):
            return super().outputs(X, need, level)
        parts = super().outputs(X, [n for n in need if n != "prediction"], level)
        return {"prediction": self.classes_[_core.row_argmax(parts["probabilities"])], **parts}

    def probabilities(self, table: Any) -> NDArray[np.float64]:
        """Class probabilities of typed rows."""
        raise NotImplementedError

    def choice(self, table: Any) -> Array:
        """Place of the chosen class; the first of equally probable classes wins."""
        return _core.row_argmax(self.probabilities(table))

    @offered("probabilities")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(y | x) for every class, in the order of ``classes_``."""
        return self.probabilities(self._rows(X))

    @offered("probabilities")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y | x) for every class."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
