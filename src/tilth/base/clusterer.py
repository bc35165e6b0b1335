"""Models of groups that nobody named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.base.target import TargetName
from tilth.base.training import Training
from tilth.data.schema import Schema
from tilth.params import declared

Labels = NDArray[np.int32]


@declared
class Clusterer(ClusterMixin, Learner):
    """A model of clusters. Subclasses give ``assign(table)``: the place of each row's cluster.

    ``labels_`` are the clusters of the training rows; a model file leaves them out. A model that can only say them
    (it has no answer for new rows) sets ``transductive`` and ``labels_`` itself. Clusters are numbers; a user may name
    them, and the names are kept until the next ``fit``.
    """

    learned: ClassVar[dict[str, str]] = {"cluster_names_": "dict"}

    not_in_files: ClassVar[tuple[str, ...]] = ("labels_",)
    transductive: ClassVar[bool] = False
    hooks: ClassVar[dict[Need, str]] = {"prediction": "assign"}

    def says(self) -> tuple[Need, ...]:
        """Nothing of new rows where the model only groups those it was fitted on."""
        return () if self.transductive else super().says()

    def assign(self, table: Any) -> Labels:
        """Cluster of typed rows."""
        raise NotImplementedError

    def _set_schema(self, schema: Schema, target_name: TargetName) -> None:
        super()._set_schema(schema, target_name)
        self.cluster_names_: dict[str, str] = {}  # by the number as text, as model files have keys

    def name_clusters(self, names: Mapping[int, str]) -> Self:
        """Give clusters names by their numbers; those left out keep the names they have.

        >>> from tilth import KMeans
        >>> model = KMeans(2).fit([[0.0], [1.0], [9.0]])
        >>> near = int(model.predict([[0.5]])[0])
        >>> model.name_clusters({near: "small"}).named([[0.0], [9.0]]).tolist()[0]
        'small'
        """
        check_is_fitted(self)
        unknown = [c for c in names if isinstance(c, bool) or not isinstance(c, (int, np.integer)) or c < 0]
        if unknown or not all(isinstance(name, str) and name for name in names.values()):
            raise ValueError(
                f"{type(self).__name__}: names of clusters are texts by the number of the cluster, such as "
                f"{{0: 'small'}}; got {dict(names)!r}."
            )
        self.cluster_names_ = {**self.cluster_names_, **{str(int(c)): name for c, name in names.items()}}
        return self

    def named(self, X: Any = None) -> NDArray[Any]:
        """The name of each row's cluster, its number where it has none; without X of the training rows."""
        check_is_fitted(self)
        clusters = self.labels_ if X is None else self.predict(X)
        return np.array([self.cluster_names_.get(str(c), str(c)) for c in clusters.tolist()])

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
