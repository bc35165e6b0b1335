"""What all models around another model share: the inner estimator, and answers of rows that it has not learned."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Probabilistic, WeightLaw
from tilth.base.answers import says
from tilth.base.inner import Inner, class_scores
from tilth.base.over_models import OverModels
from tilth.data.table import RawTable
from tilth.models.catalogue import estimator_class
from tilth.params import declared, param

Floats = NDArray[np.float64]


@declared
class Around(OverModels):
    """A model around another one."""

    weight_law: ClassVar[WeightLaw] = "importance"
    #: The estimator that None stands for.
    usual: ClassVar[str] = "LogisticRegression"
    contest = "a wrapper for other models"

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
            f"{type(inner.estimator).__name__} has neither. Choose one that gives a confidence."
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
