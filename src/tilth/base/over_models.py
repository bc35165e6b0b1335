"""Models of other models, ours or another library's, which get the rows as they came."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from tilth.base.classifier import Classifier
from tilth.base.foreign import ModelTask, require_model
from tilth.base.inner import Inner
from tilth.base.learner import Predictor
from tilth.base.seeds import seed_of, seed_param
from tilth.base.training import Training
from tilth.base.whole import whole_or_nothing
from tilth.data.convert import Accepts, Plan
from tilth.data.infer import infer
from tilth.data.table import RawTable
from tilth.params import declared


@declared
class OverModels(Predictor):
    """A model of other models, which get the rows as they came."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, sparse=True)

    #: What is taken where the user names no model.
    usual_words: ClassVar[str] = "a linear model"

    random_state: Any = seed_param()

    def _models(self) -> list[Any]:
        """The models inside, unfitted."""
        raise NotImplementedError

    def _learn_over(self, inners: list[Inner], target: NDArray[Any]) -> None:
        """Set the fitted attributes; there is an ``Inner`` for each of the models."""
        raise NotImplementedError

    def _seed(self) -> int:
        return int(np.random.RandomState(seed_of(self.random_state) % 2**32).randint(2**31 - 1))

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : table; may include the target column, whose name is then given as ``y``.
        y : labels or numbers, or the name of a column of X.
        sample_weight : weight of each row.
        groups : which rows belong together; they are never parted between learning and asking.
        """
        return self._fit(X, y, sample_weight, groups=groups)

    def _begin_training(self, training: Training, classes: Any = None) -> None:
        """Only kinds are found: the models inside convert columns themselves."""
        owner, raw = type(self).__name__, training.raw
        training.target = self._encode_target(cast(Any, training.labels), classes)
        models = self._models()
        task: ModelTask = "classification" if isinstance(self, Classifier) else "regression"
        for model in models:
            require_model(model, owner, task, usual=self.usual_words)
        if raw.is_sparse:
            self._require_sparse(raw)
        schema = infer(raw, self.kinds if self.kinds is not None else self._kinds_inside(models))
        self._set_schema(schema, training.name)
        self.plan_ = Plan(schema, owner=owner, outputs=[] if raw.is_sparse else raw.typed(schema).names)

    def learn_from(self, training: Training) -> None:
        """Give every model inside the rows as they came."""
        owner, codes = type(self).__name__, training.target
        groups = training.of_rows("groups", owner)
        members = None if groups is None else np.unique(groups.astype(str), return_inverse=True)[1]
        target = self.classes_[codes] if isinstance(self, Classifier) else codes
        rows = (training.raw, self.schema_, target, training.weight, members, self.mismatch, self.missing)
        self._learn_over([Inner(model, owner, *rows) for model in self._models()], codes)

    @staticmethod
    def _kinds_inside(models: list[Any]) -> Any:
        """Kinds that the models inside were told; the first that speaks of a column is believed."""
        told: dict[str, Any] = {}
        for model in models:
            told = {**(getattr(model, "kinds", None) or {}), **told}
        return told or None

    def _rows(self, X: Any) -> RawTable:
        """New rows in the columns of training, as they were read; remarks about them become warnings."""
        raw = self._aligned(X)
        if not raw.is_sparse:
            self._typed(raw)
        return raw
