"""What all models that score with w.x share: the terms, the problem, the weights, the explanation.

A model file names its loss and its penalty; the engine does the rest. The cost is J(w) = mean loss + penalty(w).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Classifier, Explanation, Recipe, Regressor
from tilth.base.answers import Need
from tilth.base.target import class_weights
from tilth.data.table import Table
from tilth.engines.linear.design import Terms
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.separation import SEPARATED
from tilth.engines.linear.solver import Solver, solve
from tilth.engines.optimise.outcome import Outcome
from tilth.errors import warn_model
from tilth.models.linear.inference import Inferential
from tilth.params import declared, param
from tilth.parts.losses import Loss
from tilth.parts.penalties import L1, L2, ElasticNet, NoPenalty, Penalty
from tilth.words import listed

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base.columns import Remark
    from tilth.models.linear.assumptions import AssumptionReport

Floats = NDArray[np.float64]

#: Attributes that every linear model learns; ``p`` terms.
LEARNED = {"terms_": "value", "outcome_": "value", "centre_": "float[p]", "evidence_": "value?"}


@declared
class LinearModel(Inferential):
    """A score w.x + b. Subclasses give ``_loss()`` and ``_penalty(total)``, and set their weights in ``_keep``.

    Columns of levels need no conversion: each level has a weight of its own. Without a penalty the first level of a
    column has none, because it is what the others are compared with.
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, nominal=True, sparse=True, text=1000)

    fit_intercept: bool = param(True, doc="Whether a constant is added to every score.")
    solver: Any = param("auto", also=(Solver,), doc="How the cost is minimised: 'auto', a name, or a solver.")
    tol: float | None = param(
        None, low=0, low_open=True, scale="log",
        doc="Largest violation of the conditions of an optimum; None: the solver's.",
    )  # fmt: skip
    max_iter: int | None = param(None, low=1, doc="Iterations at most; None: the solver's.")
    warm_start: bool = param(False, doc="Whether a new fit starts from the weights of the last one.")
    scale: str = param(
        "none", options=("none", "standard"),
        doc="Numbers as they are, or standardised first, so that a penalty weighs all of them alike.",
    )  # fmt: skip

    def _wants(self) -> Accepts:
        """Without a penalty a weight for every word would fit the training rows whatever they say."""
        wants = super()._wants()
        return wants if self._penalised() else replace(wants, text=0)

    # ------------------------------------------------------------------------------------------- what a model says

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _penalty(self, total: float) -> Penalty:
        """The penalty beside a mean loss over rows that weigh ``total`` together."""
        return NoPenalty()

    def _penalised(self) -> bool:
        """Whether weights are unique although every level of a column has one."""
        return not isinstance(self._penalty(1.0), NoPenalty)

    def _keep(self, weights: Weights) -> None:
        """Set ``coef_`` and ``intercept_``."""
        raise NotImplementedError

    def _weights(self) -> Weights:
        """The fitted weights in the shape of the engine."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- learning

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Minimise the cost over all rows."""
        self.terms_ = self._terms(table, weight)
        problem = self._problem(table, target, weight)
        self.centre_ = (
            problem.design.rmatvec(np.ones(problem.design.n_rows) if weight is None else weight) / problem.total
        )
        solution = self._without_end(problem, self._solve(problem))
        self._finish(solution)
        self._take_evidence(problem, solution)

    def _terms(self, table: Any, weight: Floats | None) -> Terms:
        """What the weights belong to; models of other functions of the columns give their own."""
        return Terms.of(table, reference=not self._penalised())

    def _problem(self, table: Any, target: Any, weight: Floats | None) -> Problem:
        loss = self._loss().adapted(target, weight)
        self._require_target(loss, target)
        total = float(len(target) if weight is None else weight.sum())
        penalty = self._penalty(total).adapted(self.terms_.owners)
        return Problem(self.terms_.design(table), target, loss, penalty, weight, self.fit_intercept)

    def _require_target(self, loss: Loss, target: Any) -> None:
        wrong = loss.problem(target)
        if wrong is not None:
            raise ValueError(f"{type(self).__name__}: {wrong}")

    def _solve(self, problem: Problem) -> Solution:
        return solve(problem, self.solver, self._start(problem), tol=self.tol, max_iter=self.max_iter)

    def _start(self, problem: Problem) -> Weights | None:
        """The last weights, when they are asked for and fit the columns."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        last = self._weights()
        return last if last.coef.shape == problem.shape else None

    def _finish(self, solution: Solution) -> None:
        if solution.outcome.stopped != SEPARATED:  # which has its own warning
            solution.outcome.warn(type(self).__name__)
        self.outcome_: Outcome = solution.outcome
        self._keep(solution.weights)
        if solution.dependent:
            self._tell_dependent(solution.dependent)

    def _tell_dependent(self, terms: tuple[int, ...]) -> None:
        """Warn (W209) that other weights fit as well."""
        names = self.terms_.names
        if len(terms) == len(names) and len(names) > 12:
            what = f"there are more terms ({len(names)}) than rows to tell them apart"
        else:
            some = listed((names[j] for j in terms), 8, quoted=True)
            what = f"{some} depend on each other (one is a sum of multiples of the others)"
        warn_model(
            "W209",
            f"{type(self).__name__}: {what}, so the weights are the shortest of many that fit equally well; leave some "
            "out, or use a penalty.",
        )

    @property
    def n_iter_(self) -> int:
        """Iterations of the solver; a closed form counts as one."""
        return max(self.outcome_.n_iter, 1)

    # ------------------------------------------------------------------------------------------------- predicting

    def scores(self, rows: Any) -> Floats:
        """w.x + b of typed rows, [n] or [n, k]."""
        weights = self._weights()
        return np.asarray(self.terms_.design(rows).matvec(weights.coef) + weights.intercept)

    # --------------------------------------------------------------------------------------------------- speaking

    def coefficients(self) -> pd.DataFrame:
        """One row per weight: the term, the column it belongs to, its weight (one per class or output).

        Where errors are known (see :meth:`estimates`) also se, t or z, p and the bounds of 95%.
        """
        import pandas as pd

        check_is_fitted(self)
        weights = self._weights()
        coef = np.vstack([np.atleast_2d(weights.intercept), weights.coef.reshape(len(self.centre_), -1)])
        names = self._score_names(coef.shape[1])
        frame = pd.DataFrame(coef, columns=names)
        frame.insert(0, "term", ["(intercept)", *self.terms_.names])
        frame.insert(1, "column", ["", *self._owners()])
        return self._with_errors(frame if self.fit_intercept else frame.iloc[1:].reset_index(drop=True))

    def _score_names(self, n: int) -> list[Any]:
        return ["weight"] if n == 1 else [f"weight {i}" for i in range(n)]

    def _owners(self) -> list[str]:
        """The user's own column behind each weight."""
        origin = self.plan_.origin()
        return [origin.get(name, name) for name in self.terms_.owners]

    def _contributions(self, table: Table) -> tuple[Floats, Floats]:
        """(x_j - mean_j) w_j per row, score and term, and the score of a mean row."""
        weights = self._weights()
        coef = weights.coef.reshape(len(self.centre_), -1)
        design = self.terms_.design(table).dense() - self.centre_
        base = np.atleast_1d(weights.intercept) + self.centre_ @ coef
        return design[:, None, :] * coef.T[None], base

    def explain(self, X: Any) -> Explanation:
        """Per row and column, (x - mean) w: what the column adds to the score of a mean row."""
        check_is_fitted(self)
        typed = self._typed(X)
        values, base = self._contributions(self._converted(typed))
        return self._told(typed, values, base)

    def _told(self, typed: Table, values: Floats, base: Floats) -> Explanation:
        return self._explanation(typed, self.terms_.owners, values, base)

    def recipe(self) -> Recipe:
        """Loss and penalty are the cost; the solver is the optimiser."""
        chosen = f"{self.outcome_}" if hasattr(self, "outcome_") else "chosen by loss, penalty and size"
        return Recipe(
            "rows of numbers and levels with a target",
            "score = w.x + b",
            self._cost_text(),
            f"{self.solver if isinstance(self.solver, str) else type(self.solver).name} [solver]: {chosen}",
        )

    def _cost_text(self) -> str:
        return "mean loss + penalty"


def named_part(part: Any, kind: type, named: dict[str, Callable[[], Any]], what: str, owner: str) -> Any:
    """A part given as itself, or by a word."""
    if isinstance(part, kind):
        return part
    if part not in named:
        raise ValueError(
            f"{owner}: {what} must be one of {', '.join(map(repr, named))}, or a {kind.__name__}; got {part!r}."
        )
    return named[part]()


#: Words for penalties.
PENALTIES = ("l2", "l1", "elasticnet", "none", None)


def penalty_by_word(penalty: Any, alpha: float, l1_ratio: float = 0.5) -> Penalty:
    """A penalty by its word and strength; a part is taken as it is."""
    if isinstance(penalty, Penalty):
        return penalty
    if penalty in ("none", None):
        return NoPenalty()
    if penalty == "elasticnet":
        return ElasticNet.priced(alpha, ratio=l1_ratio)
    return (L2 if penalty == "l2" else L1).priced(alpha)


@declared
class LinearRegressorModel(LinearModel, Regressor):
    """A number from the score; ``coef_`` [p], or [m, p] for m targets."""

    learned: ClassVar[dict[str, str]] = {"coef_": "float[..., p]", "intercept_": "float[...]", **LEARNED}
    hooks: ClassVar[dict[Need, str]] = {"prediction": "values", "intervals": "intervals"}

    extrapolation: str = param(
        "far",
        options=("far", "warn", "refuse", "ignore"),
        doc="Rows outside the training range of a column: warn when far outside, warn always, refuse, or ignore.",
    )

    def says(self) -> tuple[Need, ...]:
        """Intervals where the errors of the answers are known."""
        facts = self._known()
        known = facts is not None and facts.freedom() > 0
        return tuple(n for n in super().says() if known or n != "intervals")

    def _keep(self, weights: Weights) -> None:
        self.coef_ = np.ascontiguousarray(weights.coef.T)
        self.intercept_ = float(weights.intercept) if weights.intercept.ndim == 0 else weights.intercept

    def _weights(self) -> Weights:
        return Weights(self.coef_.T, np.asarray(self.intercept_, dtype=np.float64))

    def values(self, table: Any) -> Floats:
        """The mean that the score stands for."""
        return self._loss().inverse(self.scores(table))

    def _plain(self, X: Any) -> Table | None:
        return super()._plain(X) if self.extrapolation in ("far", "ignore") else None

    def _examined(self, X: Any, far_only: bool) -> tuple[Table, list[Remark]]:
        if not far_only or self.extrapolation == "far":
            return super()._examined(X, far_only)
        table, remarks = super()._examined(X, far_only=False)
        outside = [remark for remark in remarks if remark.code == "W102"]
        if outside and self.extrapolation == "refuse":
            raise ValueError(
                f"{type(self).__name__}: {'; '.join(r.text for r in outside[:5])}. The line is known only where rows "
                "were; set extrapolation='warn' to have an answer all the same."
            )
        return table, [r for r in remarks if r.code != "W102"] if self.extrapolation == "ignore" else remarks

    def assumption_report(
        self, X: Any, y: Any, *, new: Any = None, order: Any = None, level: float = 0.05
    ) -> AssumptionReport:
        """All that least squares takes for granted, tested on the training rows, with verdicts and remedies.

        ``new`` are rows to be predicted, looked through for gaps and extrapolation; ``order`` the time of each row.
        """
        from tilth.models.linear.assumptions import assumption_report

        return assumption_report(self, X, y, new=new, order=order, level=level)

    def corrected_for_noise(self, noise: dict[str, float]) -> Floats:
        """Weights without the pull towards zero of errors of measurement, whose standard deviations are given."""
        from tilth.models.linear.assumptions import corrected_for_noise

        return corrected_for_noise(self, noise)

    def linear_predictor(self, X: Any) -> Floats:
        """w.x + b: the answer itself, or its logarithm where the loss has a log link."""
        return self.scores(self._rows(X))

    def _told(self, typed: Table, values: Floats, base: Floats) -> Explanation:
        explanation = super()._told(typed, values, base)
        explanation.scale = "answer" if float(self._loss().inverse(1.0)) == 1.0 else "score"
        return explanation


@declared
class LinearClassifierModel(LinearModel, Classifier):
    """A class from the scores; ``coef_`` [1, p] for two classes, else [k, p]."""

    learned: ClassVar[dict[str, str]] = {"coef_": "float[s, p]", "intercept_": "float[s]", **LEARNED}

    class_weight: Any = param(None, doc="Weight of each class: a dict of labels, or 'balanced'.")

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Minimise the cost over all rows; a single class needs no weights."""
        if len(self.classes_) < 2:
            self.terms_ = self._terms(table, weight)
            self.centre_ = np.zeros(len(self.terms_.names))
            self.outcome_ = Outcome("none", True, 0, 0.0, 0.0, stopped="there is one class only")
            self._keep(Weights(np.zeros(len(self.centre_)), np.zeros(())))
            return
        if self.class_weight is not None:
            by_class = class_weights(self.class_weight, self.classes_, target, weight, type(self).__name__)[target]
            weight = by_class if weight is None else weight * by_class
        super().learn(table, target, weight)

    def _keep(self, weights: Weights) -> None:
        self.coef_ = np.ascontiguousarray(np.atleast_2d(weights.coef.T))
        self.intercept_ = np.atleast_1d(weights.intercept)

    def _weights(self) -> Weights:
        if len(self.coef_) == 1:
            return Weights(self.coef_[0], np.asarray(self.intercept_[0]))
        return Weights(self.coef_.T, self.intercept_)

    def _score_names(self, n: int) -> list[Any]:
        return [str(self.classes_[-1])] if n == 1 else [str(c) for c in self.classes_]

    def _told(self, typed: Table, values: Floats, base: Floats) -> Explanation:
        if len(base) == 1 and len(self.classes_) == 2:  # the score of the second of two classes; the first has none
            values, base = np.concatenate([np.zeros_like(values), values], axis=1), np.concatenate([[0.0], base])
        return super()._told(typed, values, base)
