"""A search as a model: it learns its parameters when it is fitted, so that evaluating it is nested cross-validation."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Classifier, Complexity, Probabilistic, Recipe, Regressor, Section, Traits
from tilth.base.answers import Need, says
from tilth.base.columns import take_rows
from tilth.base.foreign import is_ours
from tilth.base.inner import Inner, answers_of
from tilth.data.names import beside
from tilth.data.table import RawTable
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem
from tilth.evaluate.resample import Outcome, against
from tilth.evaluate.search.budget import Watch
from tilth.evaluate.search.early import EarlyStopped, stops_early
from tilth.evaluate.search.hunt import Fold, Hunt, fold_of, shortened
from tilth.evaluate.search.propose import Proposal, proposer
from tilth.evaluate.search.space import space_of
from tilth.evaluate.search.trials import Log, Tried, best_of, ties_with
from tilth.evaluate.splits import Split, Splits, make_splits
from tilth.evaluate.table import chosen_metrics
from tilth.models.decide.wrapper import Around
from tilth.params import declared, param
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    Assumption(
        "New rows come from the same source as the training rows.",
        "The parameters suit rows that will not occur again.",
    ),
    Assumption(
        "Rows are independent, or groups are given.", "Inner scores are optimistic and choose too complex a model."
    ),
)
COST = Complexity("trials x folds + 1 fits", "one answer of the model inside", "that of the model inside")
REFERENCES = (
    "Varma & Simon 2006, Bias in error estimation when using cross-validation for model selection",
    "Bergstra, Bardenet, Bengio & Kegl 2011, Algorithms for hyper-parameter optimization",
)


@declared
class Tuned(Around):
    """What the tuned classifier and regressor share: the search."""

    learned: ClassVar[dict[str, str]] = {
        "estimator_": "any", "best_params_": "dict", "best_score_": "float[]", "tries_": "list", "metric_": "str[]",
    }  # fmt: skip
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"trials": 3, "inner": 2},)
    contest = "the contest tunes its models itself"

    ranges: Any = param(
        None, doc="What to try: {'alpha': (1e-3, 10, 'log'), 'loss': ['a', 'b']}; None takes what the model declares."
    )
    trials: int = param(
        20, low=1, doc="Number of parameter settings that are tried, those of the estimator among them."
    )
    method: str = param(
        "auto",
        options=("auto", "grid", "random", "spread", "dense", "halving", "optuna"),
        doc="How settings are chosen.",
    )
    inner: Any = param(5, doc="Splits that choose: a number of folds, a name ('holdout', ...), or a splitter.")
    metric: Any = param(None, doc="Name of the measure that chooses; None: accuracy, or RMSE.")
    rule: str = param(
        "best", options=("best", "one_se"), doc="The best, or the simplest within one standard error of the best."
    )

    def recipe(self) -> Recipe:
        """Two levels: parameters are learned inside, hyper-parameters by trying."""
        return Recipe(
            "rows, split repeatedly [inner]",
            f"{self._inner_words()} [estimator] with parameters that are searched [ranges]",
            "the score on rows that were not learned from [metric]",
            f"up to {self.trials} tries [trials, method]",
        )

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        classes = self.classes_ if isinstance(self, Classifier) else None
        space = space_of(inner.estimator, self.ranges)
        known = inner.estimator.get_params()
        given = {name: known[name] for name in space.names}
        metric = chosen_metrics(self.metric, "regression" if classes is None else "classification")[0]
        seed = self._seed()
        chosen: Tried | None = None
        tried: list[Tried] = []
        if classes is None or len(classes) > 1:  # with a single class there is nothing to choose by
            splits = self._splits(inner, target, seed)
            how = proposer(
                self.method, space, given, metric, trials=self.trials, timed=False,
                n_train=max(len(s.train) for s in splits), seed=seed,
            )  # fmt: skip
            codes = target if classes is not None else None

            def job(proposal: Proposal, split: Split) -> Any:
                return _try_inner, (inner, proposal, split, metric, classes, codes, seed)

            hunt = Hunt("inside", space, how, splits, metric, given, job, Watch(), Log(), owner=type(self).__name__)
            tried = hunt.run()
            best = best_of(tried, metric)
            if best is None:
                reason = tried[0].status() if tried else "nothing was tried"
                raise ValueError(
                    f"{type(self).__name__}: no try of {', '.join(space.names)} has a score; first: {reason}"
                )
            ties = ties_with(best, tried, metric) if self.rule == "one_se" and best.share == 1.0 else [best]
            chosen = min(ties, key=lambda t: (space.complexity(t.params), t.index)) if len(ties) > 1 else best
        self.best_params_ = dict(given if chosen is None else chosen.params)
        self.best_score_ = math.nan if chosen is None else chosen.score
        self.metric_ = metric.name
        self.tries_ = [
            {"params": plain(t.params), "score": t.score, "se": t.standard_error, "share": t.share,
             "status": t.status(), "chosen": chosen is not None and t.index == chosen.index}
            for t in tried
        ]  # fmt: skip
        self.estimator_ = _learned(inner, self.best_params_, None)

    def _splits(self, inner: Inner, target: NDArray[Any], seed: int) -> Splits:
        owner, n = type(self).__name__, inner.n_rows
        task = "classification" if isinstance(self, Classifier) else "regression"
        if n < 2:
            raise ValueError(f"{owner} needs at least 2 rows, one to train on and one to test on; got n_samples = {n}.")
        said = self.inner
        if isinstance(said, (int, np.integer)) and not isinstance(said, bool):
            units = n if inner.group is None else len(np.unique(inner.group))
            if said < 2:
                raise ValueError(f"{owner}: inner must be at least 2 folds; got {said}.")
            said = min(int(said), max(units, 2))
        try:
            return make_splits(said, target, task=task, groups=inner.group, seed=seed)
        except ValueError as error:
            raise ValueError(f"{owner}, inner splits: {error}") from error

    def tries(self) -> pd.DataFrame:
        """One row per try: parameters, mean score over the inner folds and its standard error."""
        import pandas as pd

        check_is_fitted(self)
        rows = []
        for t in self.tries_:
            facts = {self.metric_: t["score"], "se": t["se"], "chosen": t["chosen"], "status": t["status"]}
            params = beside(t["params"], facts, "parameter")
            rows.append(dict(zip(params, t["params"].values(), strict=True)) | facts)
        return pd.DataFrame(rows)

    def sections(self) -> list[Section]:
        """The choice and what it rests on."""
        said = ", ".join(f"{k} = {v!r}" for k, v in self.best_params_.items())
        text = (
            f"Chosen: {said}. The inner score of {self.best_score_:.4g} ({self.metric_}) chose them and is optimistic; "
            "tilth.evaluate of this model is nested and honest."
        )
        return [*super().sections(), Section("Search", text, self.tries() if self.tries_ else None)]

    def validate_state(self) -> None:
        """Refuse a state that cannot answer."""
        if not hasattr(self.estimator_, "predict"):
            raise ValueError(f"the model inside is a {type(self.estimator_).__name__}, which cannot predict")


@declared
class TunedClassifier(Tuned, Probabilistic):
    """A classifier that searches its own parameters when it is fitted, and then learns all rows with the best.

    theta* = argmax over tries theta of the mean over inner folds k of score(fit(rows not in k; theta), rows in k).
    ``tilth.evaluate`` of it is nested cross-validation: the search is repeated on the training rows of every fold.

    >>> from tilth import LogisticRegression
    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = TunedClassifier(estimator=LogisticRegression(), trials=5, inner=3).fit(iris, "species")
    >>> sorted(model.best_params_), len(model.tries())
    (['C'], 5)
    """

    card: ClassVar[Card] = Card(
        "Any classifier, with parameters that are searched inside the training rows.",
        Traits("classification", parametric=False, probabilistic=True),
        ASSUMPTIONS,
        COST,
        REFERENCES,
    )

    def says(self) -> tuple[Need, ...]:
        """What the model inside says."""
        inside = says(self._inside())
        return tuple(n for n in super().says() if n in inside)

    def _why_no_probabilities(self) -> str:
        inside = type(self._inside()).__name__
        return f"{inside} gives no probabilities, so there are none here; wrap it in a CalibratedClassifier."

    def outputs(self, X: Any, need: Collection[Need], level: float | None = None) -> dict[Need, Any]:
        """The model inside is asked once."""
        inside = answers_of(self.estimator_, self._rows(X), *need)
        return {n: getattr(inside, n) for n in need}

    def labels(self, table: RawTable) -> NDArray[Any]:
        """What the model inside answers."""
        return np.asarray(answers_of(self.estimator_, table, "prediction").prediction)

    def probabilities(self, table: RawTable) -> Floats:
        """Those of the model inside."""
        return answers_of(self.estimator_, table, "probabilities").probabilities_among(self.classes_)

    def scores(self, table: RawTable) -> Floats:
        """Scores of the model inside."""
        return np.asarray(answers_of(self.estimator_, table, "scores").scores)


@declared
class TunedRegressor(Tuned, Regressor):
    """A regressor that searches its own parameters when it is fitted, and then learns all rows with the best.

    theta* = argmin over tries theta of the mean over inner folds k of RMSE(fit(rows not in k; theta), rows in k).

    >>> from tilth import Ridge
    >>> from tilth.data.datasets import load_auto_mpg
    >>> model = TunedRegressor(estimator=Ridge(), trials=5, inner=3).fit(load_auto_mpg().frame, "mpg")
    >>> 0.001 <= model.best_params_["alpha"] <= 1000
    True
    """

    card: ClassVar[Card] = Card(
        "Any regressor, with parameters that are searched inside the training rows.",
        Traits("regression", parametric=False),
        ASSUMPTIONS,
        COST,
        REFERENCES,
    )
    usual: ClassVar[str] = "Ridge"

    def values(self, table: RawTable) -> Floats:
        """What the model inside answers."""
        return np.asarray(answers_of(self.estimator_, table, "prediction").prediction, dtype=np.float64)


def _learned(inner: Inner, params: dict[str, Any], rows: NDArray[np.int64] | None) -> Any:
    """The model inside with these parameters; one that stops early puts its held-out rows aside first."""
    made = clone(inner.estimator).set_params(**{k: clone(v, safe=False) for k, v in params.items()})
    if not (stops_early(made) and is_ours(made)):
        return inner.fit(rows, quiet=rows is not None, **params)
    if "kinds" in made.get_params(deep=False) and inner.schema.columns:
        made.set_params(kinds={**inner.schema.stated_kinds(), **(made.get_params(deep=False)["kinds"] or {})})
    every = np.arange(inner.n_rows) if rows is None else rows
    weight = None if inner.weight is None else inner.weight[every]
    group = None if inner.group is None else inner.group[every]
    return EarlyStopped(made).fit(take_rows(inner.raw, every), inner.target[every], weight, group).estimator_


def _try_inner(
    inner: Inner, proposal: Proposal, split: Split, metric: Metric, classes: NDArray[Any] | None,
    codes: NDArray[Any] | None, seed: int,
) -> Fold:  # fmt: skip
    """Fit on the training rows of one split and score its test rows."""
    import time

    part, outcome = shortened(split, proposal.share, codes, seed), Outcome()
    try:
        begin = time.perf_counter()
        model = _learned(inner, proposal.params, part.train)
        middle = time.perf_counter()
        outcome.answers = _answers(inner, model, part.test, classes, codes)
        outcome.fit_seconds, outcome.predict_seconds = middle - begin, time.perf_counter() - middle
    except Exception as error:  # whatever a model raises belongs to its try
        outcome.failure = f"{type(error).__name__}: {error}"
    return fold_of(outcome, metric)


def _answers(
    inner: Inner, model: Any, rows: NDArray[np.int64], classes: NDArray[Any] | None, codes: NDArray[Any] | None
) -> Answers:
    problem = Problem(
        "regression" if classes is None else "classification", inner.raw, inner.raw, inner.target,
        inner.target if codes is None else codes, classes, None, inner.weight, inner.group,
    )  # fmt: skip
    need: Need = "probabilities" if "probabilities" in says(model) else "scores"
    return against(problem, rows, answers_of(model, inner.rows(rows), "prediction", need))
