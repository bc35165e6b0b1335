"""What all models around another model share: the inner estimator, folds, and rows passed on as they were given."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Classifier, Predictor, Probabilistic, WeightLaw, whole_or_nothing
from tilth.base.answers import says
from tilth.base.seeds import seed_of, seed_param
from tilth.base.training import Training
from tilth.data.convert import Plan
from tilth.data.infer import infer
from tilth.data.table import RawTable
from tilth.models.catalogue import estimator_class
from tilth.models.decide.inner import Inner, class_scores, require_inner
from tilth.params import declared, param

Floats = NDArray[np.float64]


@declared
class OverModels(Predictor):
    """A model of other models, which get the rows as they came."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, sparse=True)

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
        for model in models:
            require_inner(model, owner, classes=isinstance(self, Classifier))
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


@declared
class Around(OverModels):
    """A model around another one."""

    weight_law: ClassVar[WeightLaw] = "importance"
    #: The estimator that None stands for.
    usual: ClassVar[str] = "LogisticRegression"
    contest = "put around a model"

    estimator: Any = param(
        None, doc="The model inside: any of tilth or scikit-learn, or a pipeline; None takes a linear model."
    )

    def _inner_estimator(self) -> Any:
        return estimator_class(self.usual)() if self.estimator is None else self.estimator

    def _inside(self) -> Any:
        """The model inside: the fitted one, where there is one."""
        fitted = self.__dict__.get("estimator_")
        return self._inner_estimator() if fitted is None else fitted

    def _inner_words(self) -> str:
        return type(self._inner_estimator()).__name__

    def _models(self) -> list[Any]:
        return [self._inner_estimator()]

    def _learn_over(self, inners: list[Inner], target: NDArray[Any]) -> None:
        self._learn_around(inners[0], target)

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError


@declared
class AroundClassifier(Around, Probabilistic):
    """A classifier around another one."""

    folds: int = param(5, low=2, doc="Parts of the rows; each is answered by a model that learned the others.")

    def _uses_probabilities(self, inner: Inner) -> bool:
        """Whether scores are probabilities, else signed distances; a model with neither is refused."""
        for need in ("probabilities", "scores"):
            if need in says(inner.estimator):
                return need == "probabilities"
        raise TypeError(
            f"{type(self).__name__} needs a model with predict_proba or decision_function; "
            f"{type(inner.estimator).__name__} has neither. Choose one that says how sure it is."
        )

    def _out_of_fold(self, inner: Inner, seed: int) -> tuple[Floats, NDArray[np.int64]]:
        """Probabilities (or scores) n x k of rows by models that have not seen them, and the fold of each row."""
        part = inner.folds(self.folds, seed, stratify=True)
        out = np.empty((inner.n_rows, len(self.classes_)))

        def answer(model: Any, rows: NDArray[np.int64]) -> None:
            out[rows] = class_scores(model, inner.rows(rows), self.classes_)

        inner.over_folds(part, answer, "learning on folds")
        return out, part

    def _inner_scores(self, rows: RawTable) -> Floats:
        """Probabilities of the model inside, or its scores where it has none; n x k."""
        check_is_fitted(self)
        return class_scores(self.estimator_, rows, self.classes_)
