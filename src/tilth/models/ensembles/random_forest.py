"""Random forests (Breiman 2001): the average of trees, each grown on drawn rows and drawn columns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Candidate, Card, Probabilistic, Regressor, Traits
from tilth.base.answers import Need
from tilth.base.target import class_weights
from tilth.engines.tree.forest import OutOfBag
from tilth.engines.tree.grow import Goal
from tilth.engines.tree.sizes import require_squares
from tilth.models.ensembles.forest_model import ASSUMPTIONS, COMPLEXITY, ForestModel
from tilth.params import declared, param

Floats = NDArray[np.float64]

REFERENCES = ("Breiman 2001, Random forests", "Breiman 1996, Bagging predictors", "Ho 1998, The random subspace method")
#: Places at which the out-of-bag errors of a regression forest are kept, for prediction intervals.
ERROR_PLACES = 401


@declared
class RandomForestClassifier(ForestModel, Probabilistic):
    """The average of the class shares of trees grown on drawn rows and columns.

    A column of any kind is used as it is. The rows that a tree did not see (about 1/e = 37 % of them) judge it.

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = RandomForestClassifier(n_estimators=50, oob_score=True).fit(iris, iris.columns[-1])
    >>> model.oob_score_ > 0.9
    True
    """

    card: ClassVar[Card] = Card(
        "Class shares averaged over trees that differ by drawn rows and columns.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COMPLEXITY,
        REFERENCES,
    )
    contest = Candidate("Random forest", 90, turn=2)
    learned: ClassVar[dict[str, str]] = {**ForestModel.learned, "oob_decision_function_": "float[n, k]?"}
    not_in_files: ClassVar[tuple[str, ...]] = ("oob_decision_function_",)  # one line per training row

    criterion: str = param(
        "gini",
        options=("gini", "entropy", "log_loss", "misclassification", "gain_ratio"),
        doc="Impurity that a split lowers.",
    )
    class_weight: Any = param(
        None,
        doc='Weights of classes by name, "balanced" (all classes weigh the same), or "balanced_subsample" (the same in '
        "the rows that each tree drew).",
    )

    def _goal(self, target: NDArray[Any], weight: Floats | None) -> Goal:
        k = len(self.classes_)
        if self.class_weight is not None and self.class_weight != "balanced_subsample":
            factor = class_weights(self.class_weight, self.classes_, target, weight, type(self).__name__)[target]
            weight = factor if weight is None else weight * factor
        return Goal(codes=np.ascontiguousarray(target, dtype=np.int32), n_classes=k, weight=weight)

    def _set_out_of_bag(self, out: OutOfBag | None) -> None:
        super()._set_out_of_bag(out)
        self.oob_decision_function_ = None if out is None else out.answers()

    def probabilities(self, table: Any) -> Floats:
        """Class shares of the leaves a row reaches, averaged over the trees."""
        return self._additive().answers(table)


@declared
class RandomForestRegressor(ForestModel, Regressor):
    """The average of trees grown on drawn rows and columns.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = RandomForestRegressor(min_samples_leaf=5).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    """

    card: ClassVar[Card] = Card(
        "Numbers averaged over trees that differ by drawn rows and columns.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COMPLEXITY,
        (*REFERENCES, "Zhang, Zimmerman, Nettleton & Nordman 2020, Random forest prediction intervals"),
    )
    contest = Candidate("Random forest", 90, turn=2)
    learned: ClassVar[dict[str, str]] = {
        **ForestModel.learned,
        "oob_prediction_": "any",
        "oob_errors_": "float[q]?",
    }
    not_in_files: ClassVar[tuple[str, ...]] = ("oob_prediction_",)  # one line per training row
    multi_output: ClassVar[bool] = True
    hooks: ClassVar[dict[Need, str]] = {"prediction": "values", "intervals": "intervals"}

    criterion: str = param(
        "squared_error", options=("squared_error", "absolute_error"), doc="Impurity that a split lowers."
    )
    max_features: Any = param(
        1.0,
        doc='Columns tried at a node: "sqrt", "log2", "log2+1" = floor(log2 p + 1), a share (float), a number (int), '
        "or None for all.",
        tune=(0.1, 1.0),
    )

    def _goal(self, target: NDArray[Any], weight: Floats | None) -> Goal:
        require_squares(target, type(self).__name__)
        return Goal(numbers=np.ascontiguousarray(target.reshape(len(target), -1)), weight=weight)

    def _set_out_of_bag(self, out: OutOfBag | None) -> None:
        super()._set_out_of_bag(out)
        self.oob_prediction_ = None if out is None else _column(out.answers())
        self.oob_errors_ = None
        if out is not None and (out.seen > 0).any() and out.sums.shape[1] == 1:
            errors = np.asarray(out.goal.numbers)[:, 0] - out.answers()[:, 0]
            self.oob_errors_ = np.quantile(errors[out.seen > 0], np.linspace(0, 1, ERROR_PLACES))

    def values(self, table: Any) -> Floats:
        """Leaf values averaged over the trees."""
        return _column(self._additive().answers(table))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Low and high end for each row, n x 2: the prediction plus quantiles of the out-of-bag errors.

        About ``coverage`` of new rows from the same source lie inside. The width is the same everywhere; needs
        ``oob_score=True``.
        """
        check_is_fitted(self)
        owner = type(self).__name__
        if self.oob_errors_ is None:
            raise ValueError(f"{owner}: intervals come from out-of-bag errors of one target; fit with oob_score=True.")
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"{owner}: coverage must be above 0 and below 1; got {coverage!r}.")
        return self.intervals(self._rows(X), coverage)

    def says(self) -> tuple[Need, ...]:
        """Intervals where the forest kept its out-of-bag errors."""
        known = getattr(self, "oob_errors_", None) is not None
        return tuple(n for n in super().says() if known or n != "intervals")

    def intervals(self, table: Any, level: float | None = None) -> Floats:
        """Low and high of typed rows, n x 2."""
        assert self.oob_errors_ is not None
        share = 0.9 if level is None else level
        ends = np.interp([(1 - share) / 2, (1 + share) / 2], np.linspace(0, 1, ERROR_PLACES), self.oob_errors_)
        return np.asarray(self.values(table)[:, None] + ends)


def _column(answers: Floats) -> Floats:
    """One number per row as a vector."""
    return answers[:, 0] if answers.shape[1] == 1 else answers
