"""Linear support vector machines: the plane with the widest margin, for classes and for numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Candidate, Card, Complexity, Traits
from tilth.engines.linear.margin_subset import MOST_COLUMNS
from tilth.engines.linear.problem import Problem, Solution
from tilth.engines.linear.separation import separated
from tilth.models.linear.linear_model import LinearRegressorModel
from tilth.models.linear.margin_model import MarginClassifier
from tilth.params import declared, inert, param
from tilth.parts.class_losses import OneVersusAll
from tilth.parts.losses import Loss
from tilth.parts.margin_losses import (
    CrammerSinger,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    WestonWatkins,
)
from tilth.parts.penalties import L0, L1, L2, Penalty

Floats = NDArray[np.float64]

COST = Complexity("O(n p) per pass, about 10 passes, and O(p^3)", "O(p k)", "O(n + p^2)")
SCALES = Assumption("Columns have similar scales.", "The penalty then hardly touches the weights of wide columns.")
_PENALTIES: dict[str, type[Penalty]] = {"l2": L2, "l1": L1, "l0": L0}


@declared
class LinearSVC(MarginClassifier):
    """min |w|^2 / 2 + C sum_i xi_i with z_i (w.x_i + b) >= 1 - xi_i, xi_i >= 0: the widest margin, softened by C.

    The slack of the best weights is xi_i = max(0, 1 - z_i (w.x_i + b)), so this is the same as the hinge loss plus an
    L2 penalty ("squared_hinge" squares the slack). The intercept is NOT penalised: it is the exact optimum of this
    formula, where liblinear shrinks the intercept too. ``C=inf`` is the hard margin: a row inside it is not allowed,
    and classes that no plane separates are refused.

    ``penalty="l1"`` is hinge + |w|_1 / (C n) in the mean, by linear programming: weights of useless columns are exactly
    zero. ``penalty="l0"`` counts the weights that are not zero; it is exact, and for at most 15 terms.

    More than two classes: "ovr" takes k planes, each class against all others, and the largest score wins;
    "weston_watkins" finds all of them together, sum over j != y of max(0, 1 + s_j - s_y); "crammer_singer" lets only
    the nearest rival count. There are no probabilities: a score is a signed distance times |w|.

    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> model = LinearSVC(C=float("inf")).fit(X, y)
    >>> round(model.geometric_margin(X, y), 4), model.predict([[2.5, 1.0]])
    (1.118, array(['yes'], dtype='<U3'))
    """

    card: ClassVar[Card] = Card(
        "The plane that keeps the classes as far apart as it can.",
        Traits("classification", linear=True),
        (
            SCALES,
            Assumption("A plane is a good boundary.", "Curved boundaries are missed; add features, or use a kernel."),
        ),
        COST,
        (
            "Cortes and Vapnik 1995, Support-vector networks",
            "Weston and Watkins 1999; Crammer and Singer 2001",
            "Zhu, Rosset, Hastie and Tibshirani 2003, 1-norm support vector machines",
        ),
    )
    contest = Candidate("Linear SVM", 50)
    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        {"C": 0.1},
        {"loss": "hinge", "C": 0.05},
        {"loss": "hinge", "C": 0.05, "multi_class": "weston_watkins"},
    )

    dual: Any = inert("auto", "the solver is chosen by the shape of the table")
    intercept_scaling: Any = inert(1, "the constant is not penalised")
    random_state: Any = inert(None, "nothing is drawn")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    loss: str = param("squared_hinge", options=("squared_hinge", "hinge"), doc="Cost of a row inside the margin.")
    penalty: str = param("l2", options=("l2", "l1", "l0"), doc="Cost of weights: their squares, sizes or number.")
    C: float = param(
        1.0,
        low=0,
        low_open=True,
        scale="log",
        tune=(1e-3, 1e3),
        doc="Weight of the rows relative to the penalty; inf: hard margin.",
    )
    multi_class: str = param(
        "ovr", options=("ovr", "weston_watkins", "crammer_singer"), doc="How more than two classes are handled."
    )

    def _one(self) -> Loss:
        if np.isinf(self.C):
            return HardMargin()
        return Hinge() if self.loss == "hinge" else SquaredHinge()

    def _loss(self) -> Loss:
        k = len(self.classes_)
        if k <= 2:
            return self._one()
        if self.multi_class == "ovr":
            return OneVersusAll(k=k, loss=self._one())
        return WestonWatkins(k=k) if self.multi_class == "weston_watkins" else CrammerSinger(k=k)

    def _penalty(self, total: float) -> Penalty:
        return _PENALTIES[self.penalty](alpha=1.0 / (total if np.isinf(self.C) else self.C * total))

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Minimise; refuse combinations that mean nothing."""
        joint = len(self.classes_) > 2 and self.multi_class != "ovr"
        if joint and self.loss != "hinge":
            raise ValueError(f"LinearSVC: multi_class={self.multi_class!r} is a hinge; say loss='hinge'.")
        if np.isinf(self.C) and (joint or self.penalty != "l2"):
            raise ValueError("LinearSVC: C=inf, the hard margin, goes with penalty='l2' and multi_class='ovr' only.")
        super().learn(table, target, weight)

    def _solve(self, problem: Problem) -> Solution:
        if np.isinf(self.C):
            self._require_separable(problem)
        if self.penalty == "l0" and problem.design.n_cols > MOST_COLUMNS:
            raise ValueError(
                f"LinearSVC: penalty='l0' tries subsets of the columns, so it takes at most {MOST_COLUMNS} terms, "
                f"found {problem.design.n_cols}; use penalty='l1', its convex stand-in."
            )
        return super()._solve(problem)

    def _require_separable(self, problem: Problem) -> None:
        for c in range(len(self.classes_)) if len(self.classes_) > 2 else (1,):
            separation = separated(
                problem.design, (np.asarray(problem.y) == c).astype(np.int32), intercept=problem.intercept
            )
            if separation is None or not separation.complete:
                raise ValueError(
                    f"LinearSVC: C=inf allows no row inside the margin, but class {self.classes_[c]!r} is not linearly "
                    "separable from the rest; give a finite C."
                )

    def _cost_text(self) -> str:
        words = "hard margin" if np.isinf(self.C) else f"C x {self.loss} [loss], C = {self.C:g} [C]"
        return f"{words} + {self.penalty} penalty [penalty]"


@declared
class LinearSVR(LinearRegressorModel):
    """min |w|^2 / 2 + C sum_i max(0, |y_i - w.x_i - b| - epsilon): the flattest line with most rows in a tube.

    The intercept is not penalised. "squared_epsilon_insensitive" squares the distance from the tube.

    >>> model = LinearSVR(C=100.0, epsilon=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([0.6667]), 0.5)
    """

    card: ClassVar[Card] = Card(
        "The flattest line that keeps the rows inside a tube.",
        Traits("regression", linear=True),
        (SCALES, Assumption("y is linear in the columns.", "Bends are missed.")),
        COST,
        ("Vapnik 1995, The nature of statistical learning theory",),
    )
    contest = "Huber regression is as robust"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"epsilon": 0.1}, {"loss": "squared_epsilon_insensitive"})

    dual: Any = inert("auto", "the solver is chosen by the shape of the table")
    intercept_scaling: Any = inert(1, "the constant is not penalised")
    random_state: Any = inert(None, "nothing is drawn")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    loss: str = param(
        "epsilon_insensitive",
        options=("epsilon_insensitive", "squared_epsilon_insensitive"),
        doc="Cost of a row outside the tube.",
    )
    epsilon: float = param(0.0, low=0, tune=(0.0, 1.0), doc="Half the width of the tube, in units of y.")
    C: float = param(
        1.0,
        low=0,
        high=1e300,
        low_open=True,
        scale="log",
        tune=(1e-3, 1e3),
        doc="Weight of the rows relative to the penalty.",
    )

    def _loss(self) -> Loss:
        kind = EpsilonInsensitive if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
        return kind(epsilon=self.epsilon)

    def _penalty(self, total: float) -> Penalty:
        return L2(alpha=1.0 / (self.C * total))

    def _cost_text(self) -> str:
        return f"C x {self.loss} [loss] beyond {self.epsilon:g} [epsilon], C = {self.C:g} [C], + l2 penalty"


def choose_C(
    model: Any, X: Any, y: Any = None, *, among: Any = None, cv: int = 5, scoring: Any = None, one_error: bool = False
) -> Any:
    """A fitted ``GridSearchCV`` over C: the best by cross-validation, and the model refitted on all rows with it.

    Parameters
    ----------
    model : an estimator with a parameter C.
    X, y : rows and target.
    among : values of C; default: 10^-3 to 10^3.
    cv : number of folds, or a splitter.
    scoring : what is compared; default: the model's own score.
    one_error : whether to take the least C whose mean score is within one standard error of the best.

    >>> X, y = [[i / 10] for i in range(20)], [int(i > 9) for i in range(20)]
    >>> choose_C(LinearSVC(), X, y, cv=4).best_params_
    {'C': 0.01}
    """
    from sklearn.model_selection import GridSearchCV

    if "C" not in model.get_params():
        raise ValueError(f"choose_C: {type(model).__name__} has no parameter C.")
    values = sorted(float(v) for v in (np.logspace(-3, 3, 7) if among is None else among))
    folds = cv if not isinstance(cv, int) else max(2, cv)

    def least_within_one_error(results: dict[str, Any]) -> int:
        mean, spread = np.asarray(results["mean_test_score"]), np.asarray(results["std_test_score"])
        best = int(np.nanargmax(mean))
        number = sum(1 for name in results if name.startswith("split") and name.endswith("_test_score"))
        return int(np.flatnonzero(mean >= mean[best] - spread[best] / np.sqrt(number))[0])

    search = GridSearchCV(
        model, {"C": values}, cv=folds, scoring=scoring, refit=least_within_one_error if one_error else True
    )
    return search.fit(X, y)
