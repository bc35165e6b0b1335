"""Logistic regression: the log-odds of a class are linear in the columns; and the same with other sigmoids."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.base.passes import Passes
from tilth.base.target import class_weights
from tilth.engines.linear.chunked import solve_in_rounds
from tilth.models.linear.linear_model import PENALTIES, penalty_by_word
from tilth.models.linear.probability_model import LinearProbabilityModel, several
from tilth.params import declared, inert, param
from tilth.parts.class_losses import Logistic, OneVersusAll, SigmoidLoss, Softmax
from tilth.parts.losses import Loss
from tilth.parts.penalties import Penalty
from tilth.parts.sigmoids import NAMED as SIGMOIDS
from tilth.parts.sigmoids import LogisticSigmoid, UnitSigmoid

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    Assumption("The score of a class is linear in the columns.", "Curved borders and interactions are missed."),
    Assumption("Rows are independent.", "Standard errors are too small."),
    Assumption("No column is a combination of the others.", "Without a penalty the weights are not unique."),
)
COST = Complexity("O(n p^2) per Newton step", "O(p k)", "O(p^2)")


@declared
class PricedByC(LinearProbabilityModel):
    """C x cost of the rows + penalty: the larger C, the more the rows count."""

    penalty: Any = param("l2", options=PENALTIES, also=(Penalty,), doc="What large weights cost: a word or a penalty.")
    C: float = param(
        1.0, low=0, low_open=True, scale="log", tune=(1e-3, 1e3), doc="Weight of the data relative to the penalty."
    )
    l1_ratio: float = param(0.5, low=0, high=1, doc="Share of L1 in 'elasticnet'.")

    def _penalty(self, total: float) -> Penalty:
        return penalty_by_word(self.penalty, 1.0 / (self.C * total), self.l1_ratio)

    def _priced(self, cost: str) -> str:
        """The cost in words."""
        if isinstance(self.penalty, Penalty):
            return f"mean {cost} + {self.penalty!r} [penalty]"
        if self.penalty in ("none", None):
            return cost
        return f"C x {cost} + {self.penalty} penalty, C = {self.C:g} [C, penalty]"


@declared
class LogisticRegression(PricedByC):
    """P(y = 1 | x) = 1 / (1 + e^-(w.x + b)); for k classes P(c | x) = e^(s_c) / sum_j e^(s_j) with s_c = w_c.x + b_c.

    Cost: C sum_i log-loss_i + penalty(w), where "l2" is |w|^2 / 2: C = 1 / alpha for a Gaussian prior of precision
    alpha on the weights. The intercept is never penalised. With ``multi_class="ovr"`` each class has a logistic
    regression against the others, and the largest of their probabilities wins.

    >>> model = LogisticRegression(C=10).fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]])
    array(['no', 'yes'], dtype='<U3')
    >>> model.predict_proba([[1.5]]).round(2)
    array([[0.5, 0.5]])
    """

    card: ClassVar[Card] = Card(
        "The log-odds of a class as a weighted sum of the columns.",
        Traits("classification", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        ("Cox 1958, The regression analysis of binary sequences",),
    )
    contest = Candidate("Logistic regression", 30, turn=-1)
    fold: ClassVar[Any] = "rounds"

    dual: Any = inert(False, "the solver is chosen by the shape of the table")
    intercept_scaling: Any = inert(1, "the constant is not penalised")
    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    random_state: Any = inert(None, "nothing is drawn")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    multi_class: str = param(
        "softmax", options=("softmax", "ovr"), doc="More than two classes: jointly, or one against all."
    )

    def _loss(self) -> Loss:
        k = len(self.classes_)
        if k <= 2:
            return Logistic()
        return Softmax(k=k) if self.multi_class == "softmax" else OneVersusAll(k=k)

    def learn_in_rounds(self, passes: Passes, table: Any, target: NDArray[Any]) -> None:
        """Minimise the cost over all chunks: a pass for every step."""
        owner = type(self).__name__
        if len(self.classes_) < 2:
            self.learn(table, target, None)
            return
        if self.solver != "auto" or (self.multi_class == "ovr" and len(self.classes_) > 2):
            raise ValueError(f"{owner}: chunks are learned with solver='auto' and multi_class='softmax'.")
        if self.class_weight == "balanced":
            raise ValueError(
                f"{owner}: the balance of the classes is not known before all chunks are read; "
                "give class_weight as a dict."
            )
        weigh = None
        if self.class_weight is not None:
            weigh = partial(_weigh, class_weights(self.class_weight, self.classes_, target, None, owner))
        self.terms_ = self._terms(table, None)
        result = solve_in_rounds(
            passes,
            self.terms_,
            self._loss(),
            self._penalty,
            self.fit_intercept,
            first=(table, target),
            weigh=weigh,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.centre_, self.evidence_ = result.centre, None
        self._finish(result.solution)

    def _cost_text(self) -> str:
        return self._priced("log-loss")


def _weigh(of_class: Floats, target: NDArray[Any], weight: Floats | None) -> Floats:
    """Weights of rows from those of their classes."""
    return of_class[target] if weight is None else of_class[target] * weight


@declared
class BinaryRegression(PricedByC):
    """P(y = 1 | x) = F(w.x + b) for a sigmoid F: the logistic function, the normal distribution function (probit), ...

    ``link`` is a word or a sigmoid from 0 to 1. Heavy tails (cauchit, Student's t) let odd rows pull less, but the cost
    is then not convex. More than two classes are taken one against all.

    >>> from tilth.parts.sigmoids import GeneralisedLogisticSigmoid
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1, 1]
    >>> BinaryRegression(link="probit").fit(X, y).coef_.round(3)
    array([[0.695]])
    >>> BinaryRegression(link=GeneralisedLogisticSigmoid(0.5)).fit(X, y).coef_.round(3)
    array([[1.444]])
    """

    card: ClassVar[Card] = Card(
        "The probability of a class as a sigmoid of a weighted sum of the columns.",
        Traits("classification", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        ("McCullagh and Nelder 1989, Generalized linear models",),
    )
    contest = "the general form of logistic and probit regression"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"penalty": "l2"},)

    link: Any = param("probit", options=tuple(SIGMOIDS), also=(UnitSigmoid,), doc="Sigmoid F, by its word or itself.")
    penalty: Any = param(
        "none", options=PENALTIES, also=(Penalty,), doc="What large weights cost: a word or a penalty."
    )

    def _loss(self) -> Loss:
        plain = self.link == "logit" or isinstance(self.link, LogisticSigmoid)
        return several(Logistic() if plain else SigmoidLoss(sigmoid=self.link), len(self.classes_))

    def _cost_text(self) -> str:
        return self._priced("cross-entropy of F(w.x + b)")


@declared
class ProbitRegression(BinaryRegression):
    """P(y = 1 | x) = Phi(w.x + b), Phi the normal distribution function: y tells whether a hidden normal is above 0.

    >>> ProbitRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1, 1]).coef_.round(3)
    array([[0.695]])
    """

    card: ClassVar[Card] = Card(
        "The chance that a hidden normal score, with a mean linear in the columns, is above zero.",
        Traits("classification", linear=True, probabilistic=True),
        ASSUMPTIONS,
        COST,
        ("Bliss 1934, The method of probits",),
    )
    contest = "as logistic regression, with another link"

    link: ClassVar[str] = "probit"  # type: ignore[misc]  # the name says it
