"""The log-linear model: classes by joint features of row and class that the user writes down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Card, Complexity, Explanation, Probabilistic, Recipe, Traits
from tilth.data.table import Table
from tilth.engines.linear.design import Terms
from tilth.engines.linear.joint import LogLinearProblem, class_blocks, fit_log_linear, joint_matrix
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class LogLinear(Probabilistic):
    """p(y | x) = exp(w.phi(x, y)) / sum_c exp(w.phi(x, c)), the maximum entropy model of the features phi.

    Maximises sum_i log p(y_i | x_i) - alpha / 2 |w|^2; its gradient is observed - expected features - alpha w, so that
    at the optimum (alpha = 0) the model expects every feature exactly as often as it was observed.

    ``features`` is a function phi(x, y) that gives a dict of named numbers, or a row of numbers; or a dict (or list) of
    functions, each giving one number. A row x is a dict of columns, or an array where the table has no names. None
    stands for class blocks, phi(x, y) = (x, 1) in the block of y: then this is softmax regression, and blocks of ones
    have no penalty. A model with functions of yours cannot be stored in a file, which holds no code.

    >>> words = [{"w": "dogs"}, {"w": "cats"}, {"w": "run"}, {"w": "ran"}, {"w": "birds"}, {"w": "sing"}]
    >>> tags = ["noun", "noun", "verb", "verb", "noun", "verb"]
    >>> phi = {"noun in s": lambda x, y: x["w"].endswith("s") and y == "noun", "noun": lambda x, y: y == "noun"}
    >>> model = LogLinear(features=phi, alpha=0.1, kinds={"w": "nominal"}).fit(words, tags)
    >>> model.predict([{"w": "dogs"}, {"w": "run"}])
    array(['noun', 'verb'], dtype='<U4')
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, nominal=True)
    card: ClassVar[Card] = Card(
        "Log-odds as a weighted sum of features of row and class together.",
        Traits("classification", linear=True, probabilistic=True),
        (Assumption("Log-odds are linear in the features.", "Anything no feature expresses is missed."),),
        Complexity("O(n k m) per step for m features, and n k calls of the functions", "O(k m)", "O(n k) features"),
        ("Berger, Della Pietra and Della Pietra 1996, A maximum entropy approach to natural language processing",),
    )
    contest = "logistic regression in another form"
    learned: ClassVar[dict[str, str]] = {
        "weights_": "float[m]",
        "features_": "list",
        "terms_": "value",
        "outcome_": "value",
    }

    features: Any = param(
        None, doc="Joint features phi(x, y): a function, a dict or list of functions, or None: class blocks."
    )
    alpha: float = param(
        1.0, low=0, scale="log", tune=(1e-3, 1e2), doc="Precision of the Gaussian prior on the weights."
    )
    tol: float = param(1e-8, low=0, low_open=True, scale="log", doc="Largest partial derivative, per row, at the end.")
    max_iter: int = param(500, low=1, doc="Iterations at most.")

    # --------------------------------------------------------------------------------------------------- features

    def _phi(self) -> Callable[[Any, Any], Any]:
        features = self.features
        if callable(features):
            return features
        if isinstance(features, (list, tuple)):
            features = {getattr(f, "__name__", f"f{j}"): f for j, f in enumerate(features)}
            if len(features) < len(self.features):
                features = {f"f{j}": f for j, f in enumerate(self.features)}
        if not isinstance(features, Mapping) or not features or not all(callable(f) for f in features.values()):
            raise ValueError(
                "LogLinear: features must be a function phi(x, y), a dict or list of such functions, or None; "
                f"got {features!r:.80}."
            )
        return lambda x, y: {name: f(x, y) for name, f in features.items()}

    def _matrix(self, table: Table, names: list[str] | None) -> tuple[Any, list[str]]:
        """phi of all rows and classes, and the names of the features."""
        if self.features is not None:
            return joint_matrix(self._phi(), self._records(table), self.classes_.tolist(), names, type(self).__name__)
        blocks = class_blocks(self.terms_.design(table).dense(), len(self.classes_), intercept=True)
        return blocks, [f"{term} & {label}" for label in self.classes_ for term in [*self.terms_.names, "1"]]

    def _records(self, table: Table) -> list[Any]:
        """Rows as the user's functions see them."""
        if not self.schema_.named and not table.of_kind("nominal"):
            return list(table.numbers())
        columns = [(c.name, c.labels().tolist()) for c in table.columns]
        return [{name: values[i] for name, values in columns} for i in range(len(table))]

    # --------------------------------------------------------------------------------------------------- learning

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Maximise the penalised likelihood."""
        k = len(self.classes_)
        self.terms_ = Terms.of(table, reference=False)
        phi, self.features_ = self._matrix(table, None)
        if not self.features_:
            raise ValueError("LogLinear: features gave no feature for any row and class.")
        total = float(len(target) if weight is None else weight.sum())
        alpha = np.full(len(self.features_), self.alpha / total)
        if self.features is None:
            alpha[len(self.terms_.names) :: len(self.terms_.names) + 1] = 0.0
        problem = LogLinearProblem(phi, target, k, alpha, weight)
        weights, outcome = fit_log_linear(problem, None, self.tol, self.max_iter)
        if self.features is None:  # a constant added to the ones of all classes changes nothing: their mean is 0
            ones = weights.reshape(k, -1)[:, -1]
            ones -= ones.mean()
        self.weights_ = weights
        outcome.warn(type(self).__name__, "raise max_iter, or alpha: without a prior the best weights may be infinite")
        self.outcome_: Outcome = outcome

    # ------------------------------------------------------------------------------------------------- predicting

    def _sums(self, table: Table) -> Floats:
        """w.phi(x, c) of typed rows, [n, k]."""
        return np.asarray(self._matrix(table, self.features_)[0] @ self.weights_).reshape(-1, len(self.classes_))

    def scores(self, table: Any) -> Floats:
        """w.phi(x, c): of two classes, how far the second is ahead."""
        sums = self._sums(table)
        return np.asarray(sums[:, 1] - sums[:, 0]) if sums.shape[1] == 2 else sums

    def probabilities(self, table: Any) -> Floats:
        """Softmax of the scores of the classes."""
        return np.asarray(softmax(self._sums(table), axis=1))

    @property
    def n_iter_(self) -> int:
        """Iterations of the solver."""
        return max(self.outcome_.n_iter, 1)

    # --------------------------------------------------------------------------------------------------- speaking

    def coefficients(self) -> pd.DataFrame:
        """One row per feature: its name and weight."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame({"feature": self.features_, "weight": self.weights_})

    def explain(self, X: Any) -> Explanation:
        """Per row, class and feature, w phi(x, c); for class blocks per column of the table."""
        check_is_fitted(self)
        typed = self._typed(X)
        table = self._converted(typed)
        phi, _ = self._matrix(table, self.features_)
        k = len(self.classes_)
        values = (phi.toarray() * self.weights_).reshape(len(table), k, -1)
        if self.features is not None:
            shown = [[f"{v:.6g}" for v in row] for row in phi.toarray().reshape(len(table), k, -1).max(axis=1)]
            return Explanation(values, np.zeros(k), list(self.features_), self.classes_.tolist(), shown)
        by_class = np.stack([values[:, c].reshape(len(table), k, -1)[:, c] for c in range(k)], axis=1)
        ones = self.weights_.reshape(k, -1)[:, -1]
        return self._explanation(typed, self.terms_.owners, by_class[:, :, :-1], ones)

    def recipe(self) -> Recipe:
        """Maximum likelihood with a Gaussian prior."""
        return Recipe(
            "rows with a class, and joint features phi(x, y) [features]",
            "p(y | x) proportional to exp(w.phi(x, y))",
            f"negative log-likelihood + {self.alpha:g} / 2 |w|^2 [alpha]",
            "Newton steps; L-BFGS for many features",
        )
