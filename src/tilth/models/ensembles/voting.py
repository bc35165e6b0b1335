"""Voting (committees): models of any kind answer side by side, and their answers are put together.

Members that err in different places correct each other. With m members of the same variance s^2 whose errors have the
correlation r, the mean has the variance s^2 (r + (1 - r) / m): what they do not have in common is averaged away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Probabilistic, Recipe, Regressor, Section, Traits, WeightLaw
from tilth.base.answers import says
from tilth.base.inner import Inner, answers_of, class_scores
from tilth.base.over_models import OverModels
from tilth.models.catalogue import estimator_class
from tilth.params import declared, inert, param

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Member = tuple[str, Any]

ASSUMPTIONS = (
    Assumption("Members err in different places.", "The vote is no better than its best member; compare it with them."),
    Assumption("Every member is better than guessing.", "Poor members lower the score; give them less weight."),
)
COST = Complexity("the fits of all members", "the answers of all members", "that of all members")
SOURCES = (
    "Perrone and Cooper 1993, When networks disagree: ensemble methods for hybrid neural networks",
    "Kuncheva 2004, Combining pattern classifiers",
)


@declared
class Voting(OverModels):
    """What both committees share: their members, and how much each counts."""

    learned: ClassVar[dict[str, str]] = {"estimators_": "list", "weights_": "float[m]", "scores_": "float[m]?"}
    #: The members that None stands for: (name, class).
    usual: ClassVar[tuple[tuple[str, str], ...]] = ()
    contest = "the contest blends its best models itself"

    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    verbose: Any = inert(False, "tilth.progress shows how far a long fit is")
    estimators: Any = param(
        None, positional=True,
        doc="The members: models, or (name, model) pairs, of tilth or scikit-learn; None takes some of different "
        "kinds.",
    )  # fmt: skip
    weights: Any = param(
        None, doc="How much each member counts: one number each, or 'validation': its accuracy on folds that it has "
        "not seen (numbers: 1 / its mean squared error there); None: all alike.",
    )  # fmt: skip
    folds: int = param(5, low=2, doc="Parts of the rows by which weights='validation' judges the members.")

    # ------------------------------------------------------------------------------------------------------- members

    def members(self) -> list[Member]:
        """(name, model) of every member, unfitted."""
        owner = type(self).__name__
        if self.estimators is None:
            return [(name, estimator_class(cls)()) for name, cls in self.usual]
        if isinstance(self.estimators, (str, dict)) or not isinstance(self.estimators, Iterable):
            raise TypeError(
                f"{owner}: estimators must be a list of models or of (name, model) pairs; got "
                f"{type(self.estimators).__name__}."
            )
        members = [_member(item, i) for i, item in enumerate(self.estimators)]
        names = [name for name, _ in members]
        if not names:
            raise ValueError(f"{owner} needs at least one member; estimators is empty.")
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"{owner}: two members are called {twice[0]!r}; give (name, model) pairs.")
        if any("__" in n or not n for n in names):
            raise ValueError(f"{owner}: names of members must not be empty or hold '__'; got {names}.")
        return members

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """Fitted members by name."""
        return dict(zip([name for name, _ in self.members()], self.estimators_, strict=True))

    def _models(self) -> list[Any]:
        return [model for _, model in self.members()]

    def law_of_weights(self) -> WeightLaw:
        """That of the members, unless folds judge them: a repeated row may come into two folds."""
        laws = {getattr(model, "weight_law", "repeat") for model in self._models()}
        return "repeat" if laws == {"repeat"} and self.weights != "validation" else "importance"

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are for committees all of whose members take them."""
        tags = super().__sklearn_tags__()
        members = self.members() if self.estimators is None else self._named()
        tags.input_tags.sparse = all(get_tags(model).input_tags.sparse for _, model in members)
        return tags

    def _named(self) -> list[Member]:
        """Members as far as they have names; for parameters, which may be asked for before they are right."""
        items = self.estimators if isinstance(self.estimators, (list, tuple)) else ()
        pairs = [_member(item, i) for i, item in enumerate(items)]
        return [(n, m) for n, m in pairs if hasattr(m, "get_params") and not isinstance(m, type)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with ``deep`` the members and theirs as well, as ``name`` and ``name__parameter``."""
        params: dict[str, Any] = dict(super().get_params(deep=False))
        if deep:
            for name, model in self._named():
                params[name] = model
                params |= {f"{name}__{k}": v for k, v in model.get_params(deep=True).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by their name, and their parameters as ``name__parameter``."""
        mine = self.get_params(deep=False)
        own = {k: v for k, v in params.items() if k in mine}
        if own:
            super().set_params(**own)
        rest = {k: v for k, v in params.items() if k not in own}
        known = dict(self._named())
        replaced = {k: v for k, v in rest.items() if k in known}
        if replaced:
            pairs = [_member(item, i) for i, item in enumerate(self.estimators)]
            self.estimators = [(n, replaced.get(n, m)) for n, m in pairs]
            known |= replaced
        for key, value in rest.items():
            if key in replaced:
                continue
            name, mark, inner = key.partition("__")
            if not mark or name not in known:
                raise ValueError(
                    f"Invalid parameter {key!r} for estimator {type(self).__name__}; its members are {list(known)}."
                )
            known[name].set_params(**{inner: value})
        return self

    # ------------------------------------------------------------------------------------------------------- learning

    def _learn_over(self, inners: list[Inner], target: NDArray[Any]) -> None:
        self.scores_: Floats | None = None
        if isinstance(self.weights, str):
            if self.weights != "validation":
                raise ValueError(
                    f"{type(self).__name__}: weights must be numbers, 'validation' or None; got {self.weights!r}."
                )
            self.scores_ = np.array([self._validated(inner, target) for inner in inners])
            self.weights_ = self._weights_of(self.scores_)
        else:
            self.weights_ = self._told_weights(len(inners))
        # A member of weight 0 has no say, so it need not learn.
        self.estimators_ = [inner.fit() if w > 0 else None for inner, w in zip(inners, self.weights_, strict=True)]

    def _told_weights(self, m: int) -> Floats:
        if self.weights is None:
            return np.full(m, 1 / m)
        weights = np.asarray(self.weights, dtype=np.float64) if _are_numbers(self.weights) else np.empty(0)
        if weights.shape != (m,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise ValueError(
                f"{type(self).__name__}: weights must be one number of at least 0 for each of the {m} members, not all "
                f"0; got {self.weights!r}."
            )
        return np.asarray(weights / weights.sum())

    def _validated(self, inner: Inner, target: NDArray[Any]) -> float:
        """Score of a member over folds that it has not seen."""
        part = inner.folds(self.folds, self._seed(), stratify=isinstance(self, Probabilistic))
        out = np.empty(inner.n_rows)

        def answer(model: Any, rows: NDArray[np.int64]) -> None:
            out[rows] = self._judged(model, inner.rows(rows), target[rows])

        inner.over_folds(part, answer, "judging members")
        return float(np.average(out, weights=inner.weight))

    def _judged(self, model: Any, raw: Any, target: NDArray[Any]) -> Floats:
        """How good a member's answers are, row by row: right or wrong, or the squared error."""
        raise NotImplementedError

    def _weights_of(self, scores: Floats) -> Floats:
        """Weights from the scores of the members; they sum to 1."""
        raise NotImplementedError

    def validate_state(self) -> None:
        """Refuse a state whose weights and members do not fit together."""
        m = len(self.estimators_)
        fits = self.weights_.shape == (m,) and m > 0 and np.isfinite(self.weights_).all() and (self.weights_ >= 0).all()
        if not fits or not self.weights_.sum() > 0:
            raise ValueError(f"the weights do not fit the {m} members")
        if len(self.members()) != m or any((e is None) != (w == 0) for e, w in self._pairs()):
            raise ValueError("a member of the vote is missing")

    def _pairs(self) -> list[tuple[Any, float]]:
        return list(zip(self.estimators_, self.weights_.tolist(), strict=True))

    def _voters(self) -> list[tuple[Any, float]]:
        """Fitted members that have a say, with their weights."""
        check_is_fitted(self)
        return [(model, w) for model, w in self._pairs() if model is not None]

    # ------------------------------------------------------------------------------------------------------- speaking

    def comparison(self) -> pd.DataFrame:
        """The members, how much each counts, and the score that weighs it, where there is one."""
        import pandas as pd

        check_is_fitted(self)
        frame = pd.DataFrame({
            "member": [n for n, _ in self.members()], "model": [type(m).__name__ for _, m in self.members()],
            "weight": self.weights_,
        })  # fmt: skip
        return frame if self.scores_ is None else frame.assign(**{"on unseen folds": self.scores_})

    def sections(self) -> list[Section]:
        """The members with their weights, then each of them."""
        pages = [*super().sections(), Section("Members", frame=self.comparison())]
        for (name, _), (model, weight) in zip(self.members(), self._pairs(), strict=True):
            if model is not None and hasattr(model, "sections"):
                pages.append(Section(f"Member {name} ({weight:.0%})", parts=model.sections(), folded=True))
        return pages

    def _how(self) -> str:
        if self.weights is None:
            return "all alike"
        return "by validation" if isinstance(self.weights, str) else "as given"


def _member(item: Any, i: int) -> Member:
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return item[0], item[1]
    name = type(item).__name__ if not isinstance(item, type) else item.__name__
    return f"{name.lower()}{i + 1}", item


def _are_numbers(values: Any) -> bool:
    try:
        return all(not isinstance(v, bool) and isinstance(v, (int, float, np.number)) for v in values)
    except TypeError:
        return False


@declared
class VotingClassifier(Voting, Probabilistic):
    """A committee of classifiers: the class with most votes ("hard"), or with the largest mean probability ("soft").

    Of classes with equally many votes the first in the order of ``classes_`` wins. With "hard" the probability of a
    class is its share of the votes.

    >>> from tilth import C45, LogisticRegression, NaiveBayes
    >>> from tilth.data.datasets import load_iris
    >>> data = load_iris()
    >>> model = VotingClassifier(estimators=[C45(), LogisticRegression(), NaiveBayes()], voting="soft")
    >>> model.fit(data.frame, data.target).predict(data.frame.head(2)).tolist()
    ['setosa', 'setosa']
    >>> model.comparison()["weight"].round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    card: ClassVar[Card] = Card(
        "Classifiers of any kind that vote.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    usual: ClassVar[tuple[tuple[str, str], ...]] = (
        ("linear", "LogisticRegression"), ("bayes", "NaiveBayes"), ("tree", "DecisionTreeClassifier"),
    )  # fmt: skip
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"voting": "soft", "weights": "validation", "folds": 3})

    voting: str = param(
        "hard", options=("hard", "soft"), doc="Count the answers of the members, or average their probabilities."
    )

    def members(self) -> list[Member]:
        """(name, model) of every member, unfitted; all of them say how sure they are where that is averaged."""
        members = super().members()
        mute = [n for n, m in members if self.voting == "soft" and "probabilities" not in says(m)]
        if mute:
            raise TypeError(
                f"VotingClassifier: voting='soft' averages probabilities, and the member {mute[0]!r} gives none; wrap "
                "it in a CalibratedClassifier, or use voting='hard'."
            )
        return members

    def recipe(self) -> Recipe:
        """Nothing is optimised beyond the members."""
        how = "most votes" if self.voting == "hard" else "largest mean probability"
        return Recipe(
            "rows as every member takes them", f"{len(self.members())} members [estimators], {how} [voting]",
            "that of each member", f"each member by itself; weights: {self._how()} [weights]",
        )  # fmt: skip

    def _judged(self, model: Any, raw: Any, target: NDArray[Any]) -> Floats:
        return (answers_of(model, raw, "prediction").prediction == self.classes_[target]).astype(np.float64)

    def _weights_of(self, scores: Floats) -> Floats:
        return scores / scores.sum() if scores.sum() > 0 else np.full(len(scores), 1 / len(scores))

    def probabilities(self, table: Any) -> Floats:
        """Weighted shares of votes, or means of probabilities."""
        out = np.zeros((table.n_rows, len(self.classes_)))
        total = 0.0
        for model, weight in self._voters():
            total += weight
            out += weight * self._said(model, table)
        return out / total

    def _said(self, model: Any, raw: Any) -> Floats:
        if self.voting == "soft":
            return class_scores(model, raw, self.classes_)
        return (answers_of(model, raw, "prediction").prediction[:, None] == self.classes_).astype(np.float64)


@declared
class VotingRegressor(Voting, Regressor):
    """A committee of regressors: the weighted mean of their answers.

    >>> from tilth import CARTRegressor, Ridge
    >>> from tilth.data.datasets import load_auto_mpg
    >>> data = load_auto_mpg()
    >>> model = VotingRegressor(estimators=[("line", Ridge()), ("tree", CARTRegressor())], weights="validation")
    >>> model.fit(data.frame, data.target).comparison()["member"].tolist()
    ['line', 'tree']
    """

    card: ClassVar[Card] = Card(
        "Regressors of any kind whose answers are averaged.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COST,
        SOURCES,
    )
    usual: ClassVar[tuple[tuple[str, str], ...]] = (("linear", "Ridge"), ("tree", "DecisionTreeRegressor"))
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"weights": "validation", "folds": 3})

    def recipe(self) -> Recipe:
        """Nothing is optimised beyond the members."""
        return Recipe(
            "rows as every member takes them", f"mean of {len(self.members())} members [estimators]",
            "that of each member", f"each member by itself; weights: {self._how()} [weights]",
        )  # fmt: skip

    def _judged(self, model: Any, raw: Any, target: NDArray[Any]) -> Floats:
        return np.asarray((answers_of(model, raw, "prediction").prediction - target) ** 2)

    def _weights_of(self, scores: Floats) -> Floats:
        """1 / MSE; members without any error share all of the weight."""
        exact = scores <= 0
        weights = exact.astype(np.float64) if exact.any() else scores.min() / scores
        return weights / weights.sum()

    def values(self, table: Any) -> Floats:
        """The weighted mean of the members' answers."""
        voters = self._voters()
        total = sum(weight for _, weight in voters)
        return np.asarray(
            sum(w / total * answers_of(m, table, "prediction").prediction for m, w in voters), dtype=np.float64
        )
