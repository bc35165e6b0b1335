"""AdaBoost (Freund & Schapire 1997): weak learners in turn, each on rows weighted by what the others got wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth import _core
from tilth.base import (
    Accepts,
    Assumption,
    Candidate,
    Card,
    Complexity,
    Estimator,
    Probabilistic,
    Recipe,
    Regressor,
    Section,
    Traits,
)
from tilth.base.foreign import require_model
from tilth.base.seeds import seed_param
from tilth.base.target import one_dimensional, split_target
from tilth.data.convert import Plan, plan
from tilth.data.schema import Schema
from tilth.data.table import Table
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.grow import Goal, Grid, Growth, grow_newton, grow_trees
from tilth.engines.tree.reweight import (
    EarlyStop,
    Rounds,
    Votes,
    boost_classes,
    boost_numbers,
    drawn_rows,
    weighted_median,
)
from tilth.engines.tree.sizes import Seeds, require_squares, tree_seeds
from tilth.engines.tree.tree_model import TreeModel
from tilth.engines.tree.trees import Trees
from tilth.models.ensembles.weak import Weak, answers_of, taken_by
from tilth.params import declared, param
from tilth.stats.folds import draw, without

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    Assumption(
        "A weak learner is better than chance under any weights of the rows.",
        "Boosting stops early; see stopped_.",
        "rounds",
    ),
    Assumption(
        "Labels are right.",
        "Rows with wrong labels get ever more weight; watch staged_curve() on other rows.",
        "staged_curve",
    ),
)
COMPLEXITY = Complexity("O(rounds x n p)", "O(rounds)", "O(rounds)")


@declared
class WeightBoosting(Estimator):
    """What both AdaBoosts share: parameters, the trees they grow by default, and the log of the rounds."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    learned: ClassVar[dict[str, str]] = {
        "trees_": "value?",
        "estimators_": "list?",
        "estimator_weights_": "float[t]",
        "estimator_errors_": "float[t]",
        "stopped_": "str[]",
    }

    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        {"n_estimators": 10},
        {"n_estimators": 5, "max_depth": 2, "learning_rate": 0.5},
    )

    estimator: Any = param(
        None,
        doc="The weak learner: any model of tilth or of scikit-learn; None grows trees of max_depth on bins made once.",
    )
    n_estimators: int = param(50, low=1, doc="Rounds at most.", tune=(10, 500))
    learning_rate: float = param(
        1.0, low=0.0, low_open=True, doc="Factor on every vote; below 1 learns more slowly.", scale="log"
    )
    weighting: str = param(
        "reweight",
        options=("reweight", "resample"),
        doc="Give the weak learner weights, or rows drawn in proportion to them.",
    )
    max_depth: int = param(1, low=1, doc="Depth of the trees grown by default: 1 is a stump.", tune=(1, 5))
    max_bins: int = param(255, low=2, high=255, doc="Bins of a numeric column for the trees grown by default.")
    random_state: Any = seed_param()

    def _plan(self, schema: Schema) -> Plan:
        taken = self.accepts if self.estimator is None else taken_by(self.estimator)
        return plan(
            schema,
            taken,
            mismatch=cast(Any, self.mismatch),
            missing=cast(Any, self.missing),
            owner=type(self).__name__,
        )

    def _learner_words(self) -> str:
        if self.estimator is not None:
            return type(self.estimator).__name__
        return "stumps" if self.max_depth == 1 else f"trees of depth {self.max_depth}"

    def _grower(self, table: Table, goal: Goal, seeds: Seeds) -> tuple[Any, Any]:
        """Two functions: the tree of round i on weighted rows, from bins made once, and its answers for rows."""
        grid, n = Grid.of(table, self.max_bins), table.n_rows
        growth = Growth(criterion="gini" if goal.codes is not None else "squared_error", max_depth=self.max_depth)
        two = goal.codes is not None and goal.n_classes == 2
        sign = np.where(goal.codes == 1, -1.0, 1.0) if two else np.empty(0)
        last: list[Any] = [None, None]  # the newest tree, and the answers that growing it gave for free

        def learn(i: int, weight: Floats) -> Trees:
            if self.weighting == "resample":
                drawn_weight = np.bincount(drawn_rows(weight, seeds[i]), minlength=n).astype(np.float64)
            else:
                drawn_weight = weight * n
            if not two:
                drawn = dataclasses.replace(goal, weight=drawn_weight)
                return grow_trees(grid, drawn, growth, seeds[i : i + 1])
            # For classes -1 and 1 the squares that a split saves are the Gini impurity it saves.
            least = np.maximum(drawn_weight, 1e-300)
            squares = dataclasses.replace(growth, criterion="newton")
            trees, leaves = grow_newton(grid, sign * least, least, squares, int(seeds[i]))
            trees = trees.replace_values(np.column_stack([trees.value <= 0, trees.value > 0]).astype(np.float64))
            last[:] = trees, trees.value[:, 1].astype(np.int32)[leaves]
            return trees

        def ask(trees: Trees, rows: Table) -> NDArray[Any]:
            if trees is last[0] and rows is table:
                return last[1]
            if goal.codes is None:
                return trees.sum_values(rows)[:, 0]
            return trees.value.argmax(axis=1)[trees.leaves(rows)[:, 0]]

        return learn, ask

    def _foreign(self, table: Table, target: NDArray[Any], n_classes: int, seeds: Seeds) -> tuple[Any, Any]:
        """The same two functions for a weak learner given by the user."""
        owner = type(self).__name__
        weak = Weak(self.estimator, table, target, n_classes, owner)
        return (
            lambda i, weight: weak.learn(weight, int(seeds[i]), resample=self.weighting == "resample"),
            lambda learner, rows: answers_of(learner, rows, owner),
        )

    def _set_rounds(self, learners: list[Any], log: Rounds) -> None:
        self.estimators_ = None
        if self.estimator is None:
            self.trees_ = Trees.join(learners)
        else:
            self.estimators_ = learners
        self.estimator_weights_ = np.array(log.alpha)
        self.estimator_errors_ = np.array(log.error)
        self.stopped_ = log.stopped

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not there: trees, when the user's own learners were boosted."""
        if name == "trees_" and self.__dict__.get("estimators_") is not None:
            raise AttributeError(
                f"{type(self).__name__}: its weak learners are {type(self.estimator).__name__}, not trees grown here; "
                "look at estimators_."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _answers(self, table: Table) -> Iterator[NDArray[Any]]:
        """What each learner of another kind than our trees says, one after the other."""
        for learner in self.estimators_ or ():
            yield answers_of(learner, table, type(self).__name__)

    def validate_state(self) -> None:
        """Refuse a state whose learners and votes do not fit together."""
        votes = len(self.estimator_weights_)
        held = self.trees_.validate().n_trees if self.estimators_ is None else len(self.estimators_)
        if votes != held or votes == 0:
            raise ValueError(f"there are {held} learners and {votes} votes")


@declared
class AdaBoostClassifier(WeightBoosting, TreeModel, Probabilistic):
    """Weak classifiers vote; each round weighs the rows that were wrong before more.

    With e the weighted share of wrong rows, a round votes with alpha = 1/2 ln((1 - e) / e) + 1/2 ln(K - 1), and weights
    become w e^alpha / Z where it was wrong, w e^-alpha / Z where it was right. A round that is no better than chance,
    e >= 1 - 1/K, ends the loop. The training error stays below prod Z, which is prod 2 sqrt(e (1 - e)) for two classes.
    The class with the most votes V wins; probabilities are softmax(2 V).

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = AdaBoostClassifier(n_estimators=20).fit(iris, iris.columns[-1])
    >>> model.score(iris, iris.iloc[:, -1]) > 0.9
    True
    """

    card: ClassVar[Card] = Card(
        "A weighted vote of weak classifiers, each trained where the others failed.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COMPLEXITY,
        (
            "Freund & Schapire 1997, A decision-theoretic generalization of on-line learning",
            "Zhu, Zou, Rosset & Hastie 2009, Multi-class AdaBoost",
        ),
    )
    contest = Candidate("Boosted stumps (AdaBoost)", 80)
    learned: ClassVar[dict[str, str]] = {
        **WeightBoosting.learned,
        "z_": "float[t]",
        "bound_": "float[t]",
        "training_errors_": "float[t]",
        "validation_errors_": "float[t]?",
    }

    n_iter_no_change: int | None = param(
        None, low=1, doc="Rounds without a fall of the error on held-out rows that end the loop; None holds out none."
    )
    validation_fraction: float = param(
        0.1, low=0.0, high=0.9, low_open=True, doc="Share of the rows held out to watch the error."
    )
    tol: float = param(0.0, low=0.0, doc="Fall of the held-out error that counts.")

    def recipe(self) -> Recipe:
        """Exponential loss, one weak learner at a time."""
        return Recipe(
            f"weighted rows with a class [weighting={self.weighting!r}]",
            f"a weighted vote of up to {self.n_estimators} {self._learner_words()} [estimator, n_estimators]",
            "exponential loss mean e^(-margin)",
            "forward stagewise: the weak learner of least weighted error, then its vote in closed form [learning_rate]",
        )

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Run the rounds."""
        owner, k = type(self).__name__, len(self.classes_)
        codes = np.ascontiguousarray(target, dtype=np.int32)
        seeds = tree_seeds(self.random_state, self.n_estimators + 1)
        stop = None
        aside: NDArray[Any] = np.empty(0, dtype=np.int64)
        if self.n_iter_no_change is not None:
            stop = EarlyStop(self.n_iter_no_change, self.tol)
            aside = draw(len(codes), int(self.validation_fraction * len(codes)), seed=int(seeds[-1]))
            if not aside.size or aside.size == len(codes):
                raise ValueError(
                    f"{owner}: {len(codes)} rows cannot be parted to hold out {self.validation_fraction:g} of them; "
                    "set n_iter_no_change=None, or give more rows."
                )
        held_table, held_codes = (table.rows(aside), codes[aside]) if aside.size else (None, None)
        if aside.size:
            kept, _ = without(aside, len(codes))
            table, codes = table.rows(kept), codes[kept]
            weight = None if weight is None else weight[kept]
        if self.estimator is None:
            learn, ask = self._grower(table, Goal(codes=codes, n_classes=k), seeds)
        else:
            require_model(self.estimator, owner, "classification", usual="a small tree")
            learn, ask = self._foreign(table, codes, k, seeds)
        held = None if held_table is None else (lambda learner: ask(learner, held_table), held_codes)
        learners, log = boost_classes(
            learn, lambda learner: ask(learner, table), codes, k, weight, self.n_estimators, rate=self.learning_rate,
            held=cast(Any, held), stop=stop,
        )  # fmt: skip
        self._set_rounds(learners, log)
        if self.estimators_ is None:  # a vote for the most frequent class of the leaf, not its shares
            self.trees_ = self.trees_.replace_values(np.eye(k)[self.trees_.value.argmax(axis=1)])
        self.z_ = np.array(log.z)
        self.bound_ = np.array(log.bound)
        self.training_errors_ = np.array(log.training_error)
        self.validation_errors_ = np.array(log.validation) if log.validation else None

    # -------------------------------------------------------------------------------------------------------- answers

    def _additive(self) -> Additive:
        scale = 2.0 * self.estimator_weights_
        return Additive(self.trees_, np.zeros(len(self.classes_)), scale, "softmax", self._classes())

    def _votes(self, table: Table) -> Floats:
        """V: the votes for each class, n x k."""
        if self.estimators_ is None:
            return self.trees_.sum_values(table, self.estimator_weights_)
        votes = Votes(table.n_rows, len(self.classes_))
        for alpha, answer in zip(self.estimator_weights_, self._answers(table), strict=True):
            votes.add(answer, alpha)
        return np.ascontiguousarray(votes.table.T)

    def probabilities(self, table: Any) -> Floats:
        """softmax(2 V): what the votes say of the class probabilities under the exponential loss."""
        return _core.row_softmax(2.0 * self._votes(table))[0]

    def choice(self, table: Any) -> NDArray[Any]:
        """Place of the class with the most votes."""
        return _core.row_argmax(self._votes(table))

    def scores(self, table: Any) -> Floats:
        """Shares of the votes, n x k; for two classes the lead of the second."""
        votes = self._votes(table) / self.estimator_weights_.sum()
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def votes(self, X: Any) -> pd.DataFrame:
        """Share of the votes that each class gets, one line per row."""
        import pandas as pd

        shares = self._votes(self._seen(X)) / self.estimator_weights_.sum()
        return pd.DataFrame(shares, columns=self.classes_.tolist())

    # --------------------------------------------------------------------------------------------------------- rounds

    @property
    def rounds_(self) -> pd.DataFrame:
        """Per round: weighted error, vote alpha, Z, the bound prod Z on the training error, and that error."""
        import pandas as pd

        check_is_fitted(self)
        columns = {
            "round": np.arange(1, len(self.estimator_weights_) + 1),
            "error": self.estimator_errors_,
            "alpha": self.estimator_weights_,
            "z": self.z_,
            "bound": self.bound_,
            "training_error": self.training_errors_,
        }
        if self.validation_errors_ is not None:
            columns["validation_error"] = self.validation_errors_
        return pd.DataFrame(columns)

    def rounds(self) -> pd.DataFrame:
        """The table of the rounds, as :attr:`rounds_`."""
        return self.rounds_

    def _staged_votes(self, table: Table) -> Iterator[Floats]:
        votes = Votes(table.n_rows, len(self.classes_))
        if self.estimators_ is None:
            chosen = self.trees_.value.argmax(axis=1)[self.trees_.leaves(table)]
            answers: Iterator[NDArray[Any]] = iter(chosen.T)
        else:
            answers = self._answers(table)
        for alpha, answer in zip(self.estimator_weights_, answers, strict=True):
            votes.add(answer, alpha)
            yield votes.table.T

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The predicted classes after each round."""
        for votes in self._staged_votes(self._seen(X)):
            yield self.classes_[votes.argmax(axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """The class probabilities after each round."""
        for votes in self._staged_votes(self._seen(X)):
            yield _core.row_softmax(2.0 * votes)[0]

    def staged_curve(self, X: Any, y: Any) -> pd.DataFrame:
        """Training error and error on other rows after each round; ``attrs["best"]`` is the round of the lowest."""
        raw, labels, _ = split_target(X, y, type(self).__name__)
        known = np.asarray(one_dimensional(labels, raw.n_rows, type(self).__name__))
        table = self.rounds_[["round", "training_error"]].copy()
        table["error"] = [float((predicted != known).mean()) for predicted in self.staged_predict(raw)]
        table.attrs["best"] = int(table["round"].iloc[int(table["error"].argmin())])
        return table

    def plot_rounds(self) -> Any:
        """Training error and its bound over the rounds; gives a matplotlib Figure."""
        from tilth.plot.curves import curves

        lines = {"training error": self.training_errors_, "bound": self.bound_}
        if self.validation_errors_ is not None:
            lines["held-out error"] = self.validation_errors_
        return curves(np.arange(1, len(self.z_) + 1), lines, "round", "error")

    def sections(self) -> list[Section]:
        """The rounds, and why they ended."""
        pages = super().sections() if self.estimators_ is None else super(TreeModel, self).sections()
        text = f"{len(self.estimator_weights_)} rounds: {self.stopped_}."
        return [*pages, Section("Rounds", text, self.rounds_, figure=self.plot_rounds)]


@declared
class AdaBoostRegressor(WeightBoosting, Regressor):
    """AdaBoost.R2 (Drucker 1997): weak regressors, each on rows weighted by the errors before; the weighted median.

    With L the errors of a round over the largest of them, b = mean L / (1 - mean L), weights become w b^(1 - L) / Z,
    and the round speaks with ln(1 / b). A round with mean L >= 1/2 ends the loop.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> AdaBoostRegressor(max_depth=4).fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])) > 0.98
    True
    """

    card: ClassVar[Card] = Card(
        "The weighted median of weak regressors, each trained where the others failed.",
        Traits("regression", parametric=False),
        (ASSUMPTIONS[0], Assumption(ASSUMPTIONS[1].text, "Rows with wrong targets get ever more weight.")),
        COMPLEXITY,
        ("Drucker 1997, Improving regressors using boosting techniques",),
    )
    contest = Candidate("Boosted trees (AdaBoost)", 80)

    max_depth: int = param(3, low=1, doc="Depth of the trees grown by default.", tune=(1, 8))
    loss: str = param(
        "linear", options=("linear", "square", "exponential"), doc="How errors, over the largest of them, are counted."
    )

    def recipe(self) -> Recipe:
        """Errors relative to the largest, one weak learner at a time."""
        return Recipe(
            f"weighted rows with a number [weighting={self.weighting!r}]",
            f"the weighted median of up to {self.n_estimators} {self._learner_words()} [estimator, n_estimators]",
            f"{self.loss} loss over the largest error [loss]",
            "one weak learner at a time on new weights [learning_rate]",
        )

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Run the rounds."""
        owner = type(self).__name__
        require_squares(target, owner)
        seeds = tree_seeds(self.random_state, self.n_estimators)
        if self.estimator is None:
            learn, ask = self._grower(table, Goal(numbers=np.ascontiguousarray(target[:, None])), seeds)
        else:
            require_model(self.estimator, owner, "regression", usual="a small tree")
            learn, ask = self._foreign(table, target, 0, seeds)
        learners, log = boost_numbers(
            learn, lambda learner: ask(learner, table), target, weight, self.n_estimators, rate=self.learning_rate,
            loss=cast(Any, self.loss),
        )  # fmt: skip
        self._set_rounds(learners, log)

    def _each(self, table: Table) -> Floats:
        """What every learner says, n x rounds."""
        if self.estimators_ is None:
            return self.trees_.value[self.trees_.leaves(table), 0]
        return np.column_stack(list(self._answers(table)))

    def values(self, table: Any) -> Floats:
        """The weighted median over the learners."""
        return weighted_median(self._each(table), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """The predictions after each round."""
        check_is_fitted(self)
        answers = self._each(self._table(X))
        for i in range(1, answers.shape[1] + 1):
            yield weighted_median(answers[:, :i], self.estimator_weights_[:i])

    @property
    def rounds_(self) -> pd.DataFrame:
        """Per round: mean loss and the weight ln(1 / b) in the median."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(
            {
                "round": np.arange(1, len(self.estimator_weights_) + 1),
                "error": self.estimator_errors_,
                "weight": self.estimator_weights_,
            }
        )

    def rounds(self) -> pd.DataFrame:
        """The table of the rounds, as :attr:`rounds_`."""
        return self.rounds_

    def sections(self) -> list[Section]:
        """The rounds, and why they ended."""
        text = f"{len(self.estimator_weights_)} rounds: {self.stopped_}."
        return [*super().sections(), Section("Rounds", text, self.rounds_)]
