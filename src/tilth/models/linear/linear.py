"""The linear engine in the open: any loss, any penalty, any solver that takes the two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Card, Complexity, Traits
from tilth.base.answers import Need
from tilth.models.linear.linear_model import PENALTIES, LinearRegressorModel, named_part, penalty_by_word
from tilth.models.linear.probability_model import LinearProbabilityModel, several
from tilth.params import declared, param
from tilth.parts.class_losses import Exponential, Logistic, OneVersusAll, SigmoidLoss, Softmax
from tilth.parts.losses import NAMED as NUMBER_LOSSES
from tilth.parts.losses import Loss
from tilth.parts.penalties import Penalty

Floats = NDArray[np.float64]

CLASS_LOSSES: dict[str, Callable[[], Loss]] = {
    "log_loss": Logistic,
    "exponential": Exponential,
    "probit": SigmoidLoss,
}
ASSUMPTIONS = (Assumption("The score is linear in the columns.", "Bends and interactions are missed."),)
COST = Complexity("O(n p) per round, or O(n p^2) for a closed form and Newton", "O(p k)", "O(p^2)")
SOURCES = ("Vapnik 1998, Statistical learning theory: risk minimisation",)


@declared
class LinearRegressor(LinearRegressorModel):
    """Numbers by J(w) = mean_i L(y_i, w.x_i + b) + penalty(w): risk on the rows plus lambda times complexity.

    >>> from tilth import Huber
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 70.0, 9.0]
    >>> LinearRegressor(loss=Huber(delta=0.1)).fit(X, y).coef_.round(2)
    array([2.01])
    >>> LinearRegressor().fit(X, y).coef_.round(2)
    array([8.3])
    """

    card: ClassVar[Card] = Card(
        "A weighted sum of the columns under a loss and a penalty of your choice.",
        Traits("regression", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = "the general form of the linear models of the contest"

    loss: Any = param(
        "squared_error", options=tuple(NUMBER_LOSSES), also=(Loss,), doc="Cost of a wrong number: a word or a loss."
    )
    penalty: Any = param("none", options=PENALTIES, also=(Penalty,), doc="Cost of weights: a word or a penalty.")
    alpha: float = param(1.0, low=0, scale="log", tune=(1e-4, 1e2), doc="lambda of a penalty given by a word.")

    def _loss(self) -> Loss:
        loss: Loss = named_part(self.loss, Loss, dict(NUMBER_LOSSES), "loss", type(self).__name__)
        if loss.serves != "numbers":
            raise ValueError(
                f"{type(self).__name__}: {type(loss).__name__} is a loss of {loss.serves}, and a regressor predicts "
                "numbers; use LinearClassifier."
            )
        return loss

    def _penalty(self, total: float) -> Penalty:
        return penalty_by_word(self.penalty, self.alpha)

    def _cost_text(self) -> str:
        return _cost_text(self.loss, self.penalty)


def _is_probability(loss: Loss) -> bool:
    """Whether the inverse link gives shares: of a class, or of all classes together."""
    if isinstance(loss, OneVersusAll):
        return _is_probability(loss.one)
    if loss.n_scores > 1:
        return bool(np.allclose(loss.inverse(np.arange(loss.n_scores, dtype=np.float64)[None]).sum(axis=1), 1.0))
    low, high = loss.inverse(np.array([-2.0, 2.0]))
    return bool(0 < low < high < 1)


@declared
class LinearClassifier(LinearProbabilityModel):
    """Classes by J(w) = mean_i L(y_i, w.x_i + b) + penalty(w).

    A loss of two classes serves more of them one against all; "log_loss" is the softmax cross-entropy there.

    >>> model = LinearClassifier(loss="probit", penalty="l2", alpha=0.1)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]).predict([[2.2]])
    array(['yes'], dtype='<U3')
    """

    card: ClassVar[Card] = Card(
        "Classes by weighted sums of the columns under a loss and a penalty of your choice.",
        Traits("classification", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    contest = "the general form of the linear models of the contest"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"penalty": "l2", "alpha": 0.01},)

    loss: Any = param(
        "log_loss", options=tuple(CLASS_LOSSES), also=(Loss,), doc="Cost of a wrong score: a word or a loss of classes."
    )
    penalty: Any = param("none", options=PENALTIES, also=(Penalty,), doc="Cost of weights: a word or a penalty.")
    alpha: float = param(1.0, low=0, scale="log", tune=(1e-4, 1e2), doc="lambda of a penalty given by a word.")

    def _loss(self) -> Loss:
        k, owner = len(self.classes_), type(self).__name__
        if self.loss == "log_loss" and k > 2:
            return Softmax(k=k)
        loss: Loss = named_part(self.loss, Loss, CLASS_LOSSES, "loss", owner)
        if loss.serves == "two classes":
            return several(loss, k)
        if loss.serves != "classes":
            raise ValueError(
                f"{owner}: {type(loss).__name__} is a loss of {loss.serves}, and a classifier predicts classes; "
                "use LinearRegressor."
            )
        if loss.n_scores != k:
            raise ValueError(f"{owner}: {loss!r} has {loss.n_scores} scores, and y has {k} classes.")
        return loss

    def _penalty(self, total: float) -> Penalty:
        return penalty_by_word(self.penalty, self.alpha)

    def _border(self) -> float:
        return super()._border() if _is_probability(self._loss()) else 0.0

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Minimise the cost; a margin has no probability that could be compared with a threshold."""
        if self.threshold != 0.5 and not _is_probability(self._loss()):
            raise ValueError(f"LinearClassifier: {self.loss!r} gives no probabilities; leave threshold at 0.5.")
        super().learn(table, target, weight)

    def says(self) -> tuple[Need, ...]:
        """Probabilities of losses that have them: a margin loss has none."""
        margins = isinstance(self.loss, Loss) and not _is_probability(self.loss)
        return tuple(n for n in super().says() if not (margins and n == "probabilities"))

    def _why_no_probabilities(self) -> str:
        return f"{type(self.loss).__name__} is a loss of margins and gives no probabilities."

    def _cost_text(self) -> str:
        return _cost_text(self.loss, self.penalty)


def _cost_text(loss: Any, penalty: Any) -> str:
    return f"mean {loss} [loss]" + ("" if penalty in ("none", None) else f" + {penalty} [penalty]")


def Linear(*, loss: Any = "squared_error", **settings: Any) -> LinearRegressor | LinearClassifier:
    """The estimator of a loss: a :class:`LinearRegressor` for a loss of numbers, else a :class:`LinearClassifier`.

    >>> from tilth import Huber, L1, Logistic
    >>> Linear(loss=Huber(), penalty=L1(0.1))
    LinearRegressor(loss=Huber(delta=None), penalty=L1(alpha=0.1))
    >>> Linear(loss=Logistic())
    LinearClassifier(loss=Logistic())
    """
    if isinstance(loss, Loss):
        of_numbers = loss.serves == "numbers"
    else:
        of_numbers = loss in NUMBER_LOSSES
        if not of_numbers and loss not in CLASS_LOSSES:
            words = ", ".join(map(repr, [*NUMBER_LOSSES, *CLASS_LOSSES]))
            raise ValueError(f"Linear: loss must be a loss or one of {words}; got {loss!r}.")
    return (LinearRegressor if of_numbers else LinearClassifier)(loss=loss, **settings)
