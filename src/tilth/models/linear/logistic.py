"""Logistic regression: the log-odds of a class are linear in the columns."""

from __future__ import annotations

from typing import Any, ClassVar

from tilth.base import Assumption, Card, Complexity, Traits
from tilth.models.linear.linear_model import LinearClassifierModel
from tilth.params import declared, param
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.losses import Loss
from tilth.parts.penalties import L1, L2, NoPenalty, Penalty


@declared
class LogisticRegression(LinearClassifierModel):
    """P(y = 1 | x) = 1 / (1 + e^-(w.x + b)); for k classes the softmax of k scores.

    Cost: sum_i log-loss + penalty / C, so that C = 1 / alpha for a Gaussian prior of precision alpha.

    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    card: ClassVar[Card] = Card(
        "The log-odds of a class as a weighted sum of the columns.",
        Traits("classification", linear=True, probabilistic=True),
        (Assumption("The log-odds are linear in the columns.", "Curved borders are missed."),),
        Complexity("O(n p^2) per Newton step", "O(p k)", "O(p^2)"),
        ("Cox 1958, The regression analysis of binary sequences",),
    )

    penalty: Any = param("l2", options=("l2", "l1", "none"), doc="What large weights cost.")
    C: float = param(1.0, low=0, low_open=True, scale="log", tune=(1e-3, 1e3), doc="Weight of the data beside the penalty.")  # fmt: skip

    def _loss(self) -> Loss:
        return Logistic() if len(self.classes_) == 2 else Softmax(k=len(self.classes_))

    def _penalty(self, total: float) -> Penalty:
        if self.penalty == "none":
            return NoPenalty()
        return (L2 if self.penalty == "l2" else L1)(strength=1.0 / (self.C * total))

    def _cost_text(self) -> str:
        return "log-loss" if self.penalty == "none" else f"C x log-loss + {self.penalty} penalty, C = {self.C:g} [C]"
