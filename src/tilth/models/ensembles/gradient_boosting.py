"""Gradient boosting (Friedman 2001; second order as in Chen and Guestrin 2016): trees that correct each other.

F_0 is the best constant. In every round a tree is grown for the derivatives of the loss at the scores so far, and a
share of its answers (``learning_rate``) is added. For squared error the tree is fitted to the residuals y - F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tilth import _core
from tilth.base import Candidate, Card, Complexity, Probabilistic, Regressor, Traits
from tilth.base.target import class_weights
from tilth.engines.tree.boost import flat
from tilth.engines.tree.sizes import require_squares
from tilth.models.ensembles.boosted import ASSUMPTIONS, Boosted, named_loss
from tilth.params import declared, param
from tilth.parts.class_losses import Exponential, Logistic, Softmax
from tilth.parts.losses import NAMED, Loss, Quantile, Tweedie

Floats = NDArray[np.float64]

COST = Complexity("O(rounds x n x p), rows binned once", "O(rounds x depth)", "O(n p) bytes")
SOURCES = (
    "Friedman 2001, Greedy function approximation: a gradient boosting machine",
    "Chen and Guestrin 2016, XGBoost: a scalable tree boosting system",
    "Ke et al. 2017, LightGBM: a highly efficient gradient boosting decision tree",
)
#: Small steps that stop by themselves, then learn all rows. A tree sees part of the columns, so trees differ.
_SMALL_STEPS: dict[str, Any] = {
    "learning_rate": 0.05, "n_estimators": 1500, "max_leaf_nodes": 63, "tree_features": 0.6, "l2_regularization": 1.0,
    "early_stopping": True, "n_iter_no_change": 50, "refit": True,
}  # fmt: skip
_STOPPED_EARLY: dict[str, Any] = {"n_estimators": 1000, "early_stopping": True, "n_iter_no_change": 30}
#: What is tuned is the form that finds its own number of rounds.
_RANGES: dict[str, Any] = {
    "learning_rate": (0.02, 0.2, "log"), "max_leaf_nodes": (6, 255, "log"), "min_samples_leaf": (3, 100, "log"),
    "tree_features": (0.3, 1.0), "l2_regularization": (0.01, 100.0, "log"),
}  # fmt: skip
#: Rows that are held out are not missed where there are many. On all but small tables the last ones take longest.
CANDIDATES = (
    Candidate("Gradient boosting", 110, ranges={}),
    Candidate("Gradient boosting, stopped early", 120, _STOPPED_EARLY, {}, from_rows=50_000),
    Candidate(
        "Gradient boosting, small trees", 130, {**_SMALL_STEPS, "max_leaf_nodes": 10}, {}, turn=4, below_rows=10_000
    ),
    Candidate("Gradient boosting, small steps", 140, _SMALL_STEPS, _RANGES, below_rows=50_000),
    Candidate(
        "Gradient boosting, large trees", 150, {**_SMALL_STEPS, "max_leaf_nodes": 255}, {}, turn=1,
        from_rows=5_000, below_rows=50_000,
    ),
)  # fmt: skip


@declared
class GradientBoostingClassifier(Boosted, Probabilistic):
    """Classes by a sum of trees on the log-odds scale; one tree per round for two classes, else one per class.

    >>> from tilth.data.datasets import load_iris
    >>> data = load_iris()
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(data.frame, data.target)
    >>> round(model.score(data.frame, data.frame[data.target]), 2) > 0.9
    True
    """

    card: ClassVar[Card] = Card(
        "Many small trees, each correcting what the sum of those before it gets wrong.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = CANDIDATES

    loss: Any = param(
        "log_loss", options=("log_loss", "exponential"), also=(Loss, Callable),  # type: ignore[arg-type]
        doc="Loss of a score: a name, a loss, or a function (y, score) -> (gradient, hessian) of class codes.",
    )  # fmt: skip
    class_weight: Any = param(None, doc="Weight of each class: a dict of labels, or 'balanced'.")

    def _loss(self) -> Loss:
        k = len(self.classes_)

        def named(word: str) -> Loss:
            if word == "exponential":
                if k > 2:
                    raise ValueError(
                        f"GradientBoostingClassifier: the loss 'exponential' is for two classes, found {k}; "
                        "use 'log_loss'."
                    )
                return Exponential()
            return Logistic() if k <= 2 else Softmax(k=k)

        return named_loss(self.loss, named, 1 if k <= 2 else k)

    def _answer_link(self) -> tuple[str, float]:
        """Log-odds; the exponential loss has half of them as its score."""
        halved = self.loss == "exponential" or isinstance(self.loss, Exponential)
        return ("softmax" if len(self.start_) > 1 or len(self.classes_) == 1 else "logistic"), 2.0 if halved else 1.0

    def _target(self, codes: NDArray[Any]) -> Any:
        if len(self.classes_) > 2:
            return np.ascontiguousarray(codes, dtype=np.int32)
        return codes.astype(np.float64) if len(self.classes_) == 2 else np.ones(len(codes))

    def _row_weights(self, codes: NDArray[Any], weight: Floats | None) -> Floats | None:
        if self.class_weight is None:
            return weight
        by_class = class_weights(self.class_weight, self.classes_, codes, weight, type(self).__name__)
        return np.ascontiguousarray(by_class[codes] if weight is None else by_class[codes] * weight)

    def _shares(self, scores: Floats) -> Floats:
        """Probabilities of all classes from the scores."""
        link, factor = self._answer_link()
        if link == "softmax":
            return _core.row_softmax(np.ascontiguousarray(scores))[0]
        p = expit(factor * scores[:, 0])
        return np.column_stack([expit(-factor * scores[:, 0]), p])

    def probabilities(self, table: Any) -> Floats:
        """Logistic function, or softmax, of the scores."""
        return self._shares(self._scores(table))

    def scores(self, table: Any) -> Floats:
        """The scores before the link: [n], or n x classes."""
        return flat(self._scores(table))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """The scores after each round."""
        return map(flat, self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Probabilities after each round."""
        return map(self._shares, self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Classes after each round."""
        return (self.classes_[_core.row_argmax(shares)] for shares in self.staged_predict_proba(X))


@declared
class GradientBoostingRegressor(Boosted, Regressor):
    """Numbers by a sum of trees, each fitted to what is left over.

    >>> X = [[i] for i in range(40)]
    >>> model = GradientBoostingRegressor(min_samples_leaf=5).fit(X, [0.0] * 20 + [10.0] * 20)
    >>> model.predict([[3], [33]]).round(3)
    array([ 0., 10.])
    """

    card: ClassVar[Card] = Card(
        "Many small trees, each fitted to what the sum of those before it leaves over.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = CANDIDATES

    loss: Any = param(
        "squared_error", options=tuple(NAMED), also=(Loss, Callable),  # type: ignore[arg-type]
        doc="Cost of a wrong answer: a word, a loss, or a function (y, score) -> (gradient, hessian).",
    )  # fmt: skip
    quantile: float = param(0.5, low=0, low_open=True, high=1, doc="The quantile to predict when loss is 'quantile'.")
    power: float = param(1.5, low=1, low_open=True, high=1.999, doc="Variance = mean^power when loss is 'tweedie'.")

    def _loss(self) -> Loss:
        def named(word: str) -> Loss:
            if word == "quantile":
                return Quantile(q=self.quantile)
            return Tweedie(power=self.power) if word == "tweedie" else NAMED[word]()

        return named_loss(self.loss, named, 1)

    def _target(self, codes: NDArray[Any]) -> Any:
        require_squares(codes, type(self).__name__)
        return super()._target(codes)

    def _answer_link(self) -> tuple[str, float]:
        """Counts and amounts have their logarithm as the score."""
        return ("exp" if self._loss().inverse(0.0) == 1.0 else "identity"), 1.0

    def values(self, table: Any) -> Floats:
        """The score, or e^score."""
        return self._loss().inverse(self._scores(table)[:, 0])

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predictions after each round."""
        inverse = self._loss().inverse
        return (inverse(scores[:, 0]) for scores in self._staged_scores(X))
