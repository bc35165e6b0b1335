"""Models of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from tilth.base.answers import Need
from tilth.base.learner import Predictor
from tilth.base.target import Target, numbers_of
from tilth.params import declared

Array = NDArray[Any]


@declared
class Regressor(RegressorMixin, Predictor):
    """A model of numbers. Subclasses give ``values(table)``."""

    #: Whether the numbers are scores that sort the rows of a query, and nothing else.
    ranks_queries: ClassVar[bool] = False
    hooks: ClassVar[dict[Need, str]] = {"prediction": "values"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = bool(self.modest)
        return tags

    def _encode_target(self, y: Target, classes: Any = None) -> Array:
        return numbers_of(y, type(self).__name__, unlabelled=self.unlabelled)

    def values(self, table: Any) -> NDArray[np.float64]:
        """Predictions for typed rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted number of each row."""
        return self.values(self._rows(X))
