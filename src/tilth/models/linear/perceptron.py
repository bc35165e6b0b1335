"""The perceptron: a plane that every wrong row pulls to its side, and the pocket that remembers the best plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Assumption, Card, Complexity, Recipe, Traits, WeightLaw
from tilth.base.seeds import seed_of, seed_param
from tilth.base.target import codes_among, one_dimensional, split_target
from tilth.base.training import Training
from tilth.engines.linear.design import Terms
from tilth.engines.linear.perceptron import PerceptronRun, Separability, first_weights, run_perceptron, separability
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.optimise.outcome import Outcome
from tilth.errors import warn_model
from tilth.models.linear.margin_model import MarginClassifier
from tilth.params import declared, inert, param
from tilth.parts.losses import Loss
from tilth.parts.margin_losses import CrammerSinger, PerceptronLoss

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Terms up to which a run that did not end asks a linear program whether it ever could.
MOST_TERMS = 500


@declared
class Perceptron(MarginClassifier):
    """A neuron with a step, the sign of w.x + b. While a row has z (w.x + b) <= 0: w <- w + eta z x, b <- b + eta z.

    The bias is the weight of an input that is always 1. If a plane separates the classes, the updates end, after at
    most (R / gamma)^2 of them from zero, R the longest row and gamma the widest margin (Novikoff 1962). If none does,
    they never end, and the fit says so. Which separating plane is found depends on start, order and eta; it is not the
    one of the widest margin (:class:`LinearSVC`). ``partial_fit`` visits its rows once, in their order.

    More than two classes: each has a plane, and a mistake moves that of the true class and that of its best rival.

    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["no", "no", "no", "yes"]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> model.predict(X), model.n_updates_
    (array(['no', 'no', 'no', 'yes'], dtype='<U3'), 18)
    """

    card: ClassVar[Card] = Card(
        "A plane that every wrong row pulls to its side.",
        Traits("classification", linear=True),
        (
            Assumption(
                "A plane separates the classes.", "Updates never end; Pocket keeps the best plane.", "separability"
            ),
        ),
        Complexity("O(n p) per epoch", "O(p k)", "O(p k)"),
        ("Rosenblatt 1958, The perceptron", "Novikoff 1962, On convergence proofs on perceptrons"),
    )
    contest = "gives no probabilities and does not converge on overlapping classes"
    fold: ClassVar[Any] = "online"
    weight_law: ClassVar[WeightLaw] = "importance"
    learned: ClassVar[dict[str, str]] = {
        **MarginClassifier.learned, "n_updates_": "int", "history_": "float[h]", "errors_": "float",
    }  # fmt: skip

    solver: ClassVar[str] = "auto"  # type: ignore[misc]  # the perceptron has a rule of its own
    tol: Any = inert(None, "an epoch without a mistake ends the run")
    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    eta0: float = param(1.0, low=0, low_open=True, doc="Length eta of an update.", tune=(0.01, 1.0), scale="log")
    init: str = param(
        "zeros",
        options=("zeros", "random", "linear"),
        doc="First weights; 'linear': least squares on targets +1 and -1.",
    )
    shuffle: bool = param(True, doc="Whether every epoch visits the rows in a new order.")
    max_iter: int = param(1000, low=1, doc="Epochs, visits of all rows, at most.")
    max_updates: int | None = param(None, low=1, doc="Updates at most; None: no limit.")
    random_state: Any = seed_param("Seed of random weights and of the order; None takes a new one each time.")

    _pocket: ClassVar[bool] = False

    def _loss(self) -> Loss:
        k = len(self.classes_)
        return PerceptronLoss() if k <= 2 else CrammerSinger(k=k, margin=0.0)

    def _penalised(self) -> bool:
        return True  # weights need not be unique here: every level of a column has one

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Visit the rows until an epoch makes no mistake."""
        self.n_updates_, self.history_, self.errors_ = 0, np.zeros(0), 0.0
        super().learn(table, target, weight)

    # ------------------------------------------------------------------------------------------------ the updates

    def _solve(self, problem: Problem) -> Solution:
        codes = np.asarray(problem.y, dtype=np.int32)
        start = self._start(problem) or first_weights(
            self.init, problem.design, codes, problem.weight, len(self.classes_), intercept=self.fit_intercept,
            seed=seed_of(self.random_state),
        )  # fmt: skip
        run = run_perceptron(
            problem.design, codes, problem.weight, start, eta=self.eta0, intercept=self.fit_intercept,
            shuffle=self.shuffle, pocket=self._pocket, epochs=self.max_iter,
            updates=1 << 60 if self.max_updates is None else self.max_updates, seed=seed_of(self.random_state),
        )  # fmt: skip
        self._note(run)
        stopped = "no row is on the wrong side" if run.converged else self._why_not_ended(problem, codes)
        outcome = Outcome(
            "pocket" if self._pocket else "perceptron", run.converged, run.epochs, run.errors / problem.total,
            problem.objective(run.weights), stopped=stopped, trace={"errors": run.history},
        )  # fmt: skip
        return Solution(run.weights, outcome)

    def _note(self, run: PerceptronRun) -> None:
        self.n_updates_ = self.n_updates_ + run.updates
        self.history_ = np.concatenate([self.history_, run.history])
        self.errors_ = run.errors

    def _why_not_ended(self, problem: Problem, codes: NDArray[np.int32]) -> str:
        if problem.design.n_cols > MOST_TERMS:
            return "rows are still on the wrong side"
        parted = separability(problem.design, codes, len(self.classes_), intercept=self.fit_intercept)
        return "linearly separable, but more epochs are needed" if parted else str(parted)

    def _finish(self, solution: Solution) -> None:
        self.outcome_ = solution.outcome
        self._keep(solution.weights)
        if not solution.outcome.converged:
            self._announce(solution.outcome)

    def _announce(self, outcome: Outcome) -> None:
        cure = "raise max_iter" if outcome.stopped.startswith("linearly") else "use Pocket, LinearSVC, or more features"
        warn_model(
            "W207",
            f"{type(self).__name__}: after {outcome.n_iter} epochs and {self.n_updates_} updates rows are still on the "
            f"wrong side ({outcome.stopped}); {cure}.",
        )

    def update(self, training: Training) -> None:
        """Visit these rows once, in their order, from the weights there are."""
        begun = hasattr(self, "coef_")
        if not begun:
            self.terms_ = Terms.of(training.table, reference=False)
            self.n_updates_, self.history_, self.errors_ = 0, np.zeros(0), 0.0
        design = self.terms_.design(training.table)
        k = len(self.classes_)
        if not begun:
            shape = (design.n_cols,) if k <= 2 else (design.n_cols, k)
            self._keep(Weights(np.zeros(shape), np.zeros(shape[1:])))
            self.centre_, self.evidence_ = np.zeros(design.n_cols), None
        if k < 2:
            self.outcome_ = Outcome("none", True, 0, 0.0, 0.0, stopped="there is one class only")
            return
        run = run_perceptron(
            design, training.target, training.weight, self._weights(), eta=self.eta0, intercept=self.fit_intercept,
            shuffle=False, epochs=1,
        )  # fmt: skip
        self._note(run)
        self._keep(run.weights)
        stopped = "one visit of every row"
        self.outcome_ = Outcome("perceptron", run.converged, 1, run.errors, run.errors, stopped=stopped)

    # --------------------------------------------------------------------------------------------------- speaking

    def separability(self, X: Any, y: Any = None) -> Separability:
        """Whether planes separate the classes of these rows, by linear programming, with the proof."""
        owner = type(self).__name__
        raw, target, _ = split_target(X, y, owner)
        codes = codes_among(one_dimensional(target, raw.n_rows, owner), self.classes_, owner)
        design = self.terms_.design(self._rows(X))
        return separability(design, codes, len(self.classes_), intercept=self.fit_intercept)

    def recipe(self) -> Recipe:
        """Only wrong rows cost, and each moves the plane."""
        rule = "w <- w + eta z x for each wrong row" + (", the best weights kept" if self._pocket else "")
        return Recipe(
            "rows of numbers and levels with labels",
            "sign(w.x + b)",
            "sum over wrong rows of -z (w.x + b)",
            f"{rule}, eta = {self.eta0:g} [eta0], start: {self.init} [init]",
        )


@declared
class Pocket(Perceptron):
    """The perceptron for classes that no plane separates: the weights with the fewest wrong rows seen are kept.

    After every update all rows are looked at; ``history_`` holds the weight of wrong rows each time, and the answer is
    the plane of its minimum.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]  # exclusive or
    >>> model = Pocket(init="random", max_updates=100).fit(X, y)
    >>> model.errors_, model.outcome_.stopped
    (1.0, 'not linearly separable: the hulls of the classes meet (4 rows prove it)')
    """

    card: ClassVar[Card] = Card(
        "The best plane that a perceptron passed on its way.",
        Traits("classification", linear=True),
        (Assumption("A plane is a good boundary.", "Curved borders are missed; add features."),),
        Complexity("O(n p) per update", "O(p k)", "O(p k)"),
        ("Gallant 1990, Perceptron-based learning algorithms",),
    )
    contest = "gives no probabilities"

    max_updates: int | None = param(
        1000, low=1, doc="Updates at most, each followed by a look at all rows; None: no limit."
    )

    _pocket: ClassVar[bool] = True

    def _announce(self, outcome: Outcome) -> None:
        """Wrong rows at the end are what the pocket is for."""


def separable(X: Any, y: Any = None) -> Separability:
    """Whether planes separate the classes, by linear programming, with the proof of either answer.

    >>> bool(separable([[0.0], [1.0], [2.0]], ["a", "a", "b"])), bool(separable([[0.0], [1.0], [2.0]], ["a", "b", "a"]))
    (True, False)
    """
    kind: type[Any] = Perceptron
    model = kind()
    training = model._training(X, y, None)
    model._begin_training(training)
    if len(model.classes_) < 2:
        raise ValueError(f"separable: y holds one class only: {model.classes_[0]!r}.")
    design = Terms.of(training.table, reference=False).design(training.table)
    return separability(design, training.target, len(model.classes_))


def neuron_table() -> pd.DataFrame:
    """One neuron, several models: what activation, cost and steps make of sigma(w.x + b).

    >>> neuron_table()["same as"].tolist()
    ['Perceptron', 'LogisticRegression', 'LinearRegression', 'LeastSquaresClassifier', 'LinearSVC']
    """
    import pandas as pd

    rows = [
        ("sign", "max(0, -z s): only wrong rows", "one wrong row at a time", "a class", "Perceptron", "PerceptronLoss"),
        ("sigmoid", "cross-entropy", "gradient of all rows", "a probability", "LogisticRegression", "Logistic"),
        ("identity", "squared error", "closed form", "a number", "LinearRegression", "Squared"),
        ("sign", "squared error on +1, -1", "closed form", "a class", "LeastSquaresClassifier", "Squared"),
        ("sign", "max(0, 1 - z s) + |w|^2 / 2C", "quadratic program", "a class and a margin", "LinearSVC", "Hinge"),
    ]
    return pd.DataFrame(rows, columns=["activation", "cost", "learning", "gives", "same as", "loss"])
