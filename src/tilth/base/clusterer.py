"""Models of groups that nobody named."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.base.training import Training
from tilth.params import declared

Labels = NDArray[np.int32]


@declared
class Clusterer(ClusterMixin, Learner):
    """A model of clusters. Subclasses give ``assign(table)``: the place of each row's cluster.

    ``labels_`` are the clusters of the training rows; a model file leaves them out. A model that can only say them
    (it has no answer for new rows) sets ``transductive`` and ``labels_`` itself.
    """

    not_in_files: ClassVar[tuple[str, ...]] = ("labels_",)
    transductive: ClassVar[bool] = False
    hooks: ClassVar[dict[Need, str]] = {"prediction": "assign"}

    def says(self) -> tuple[Need, ...]:
        """Nothing of new rows where the model only groups those it was fitted on."""
        return () if self.transductive else super().says()

    def assign(self, table: Any) -> Labels:
        """Cluster of typed rows."""
        raise NotImplementedError

    def learn_from(self, training: Training) -> None:
        """Learn, then say the cluster of every row that was passed, rows of weight zero among them."""
        super().learn_from(training)
        if not self.transductive:
            labels = np.asarray(self.assign(training.table), dtype=np.int32)
            if training.kept is not None:
                everyone = np.full(training.n_given, -1, dtype=np.int32)
                everyone[training.kept] = labels
                labels = everyone
            self.labels_ = labels

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Labels:
        """Fit, and give the cluster of each row."""
        return np.asarray(self.fit(X, y, sample_weight).labels_)

    def predict(self, X: Any) -> Labels:
        """The cluster of each row."""
        check_is_fitted(self)
        if self.transductive:
            raise AttributeError(
                f"{type(self).__name__} groups the rows it was fitted on and has no answer for new ones; use "
                "fit_predict, or a model such as KMeans."
            )
        return np.asarray(self.assign(self._rows(X)), dtype=np.int32)
