"""The models of a contest, simplest first, and why others are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilth.data.schema import Schema
from tilth.errors import SchemaError
from tilth.evaluate.search.space import Space, space_of
from tilth.models.catalogue import estimator_class

#: Parts of the rows from which the probabilities of a model without any are learned.
CALIBRATION_FOLDS = 3


@dataclass(frozen=True)
class Rung:
    """A model of the contest: its name for people, its class, and the parameters it starts from.

    ``baseline`` rungs are scored as they are and never tuned; ``place`` says how simple a model is, 0 the simplest.
    ``ranges`` is what a search tries: None what the class declares, nothing for a model that is not tuned.
    """

    name: str
    model: str
    place: int
    params: Mapping[str, Any] = field(default_factory=dict)
    baseline: bool = False
    ranges: Mapping[str, Any] | None = None

    def space(self, model: Any) -> Space | None:
        """What is worth trying of the model; None where nothing is."""
        if self.baseline or (self.ranges is not None and not self.ranges):
            return None
        try:
            return space_of(model, self.ranges)
        except ValueError:  # nothing is declared
            return None

    def make(self, seed: int) -> Any:
        """The model, unfitted: prepared for missing values in any column, numbers on one scale where that matters.

        A classifier that only says which class gets a map from its scores to probabilities around it: whoever decides
        by the answers wants to know how sure they are.
        """
        cls = estimator_class(self.model)
        made = cls(**self.params)
        known = made.get_params(deep=False)
        if "random_state" in known:
            made.set_params(random_state=seed)
        if "missing" in known and not cls.accepts.missing and "missing" not in self.params:
            made.set_params(missing="ready")
        if "scale" in known and "scale" not in self.params:
            made.set_params(scale="standard")
        if cls.card.traits.concept == "classification" and not hasattr(made, "predict_proba"):
            from tilth.models.decide.calibrated import CalibratedClassifier

            return CalibratedClassifier(estimator=made, folds=CALIBRATION_FOLDS, random_state=seed)
        return made


#: (name, class, baseline), simplest first. The order is also the order of trying: simple models are quick.
_CLASSES: tuple[tuple[str, str, bool], ...] = (
    ("Zero-R", "ZeroRClassifier", True),
    ("One-R", "OneRClassifier", True),
    ("Naive Bayes", "NaiveBayes", False),
    ("Logistic regression", "LogisticRegression", False),
    ("Least-squares classifier", "LeastSquaresClassifier", False),
    ("Linear SVM", "LinearSVC", False),
    ("C4.5 tree", "C45", False),
    ("CART tree", "CART", False),
    ("Boosted stumps (AdaBoost)", "AdaBoostClassifier", False),
    ("Random forest", "RandomForestClassifier", False),
    ("Extra trees", "ExtraTreesClassifier", False),
    ("Gradient boosting", "GradientBoostingClassifier", False),
    ("Gradient boosting, stopped early", "GradientBoostingClassifier", False),
    ("Gradient boosting, small trees", "GradientBoostingClassifier", False),
    ("Gradient boosting, small steps", "GradientBoostingClassifier", False),
    ("Gradient boosting, large trees", "GradientBoostingClassifier", False),
)
_NUMBERS: tuple[tuple[str, str, bool], ...] = (
    ("Zero-R", "ZeroRRegressor", True),
    ("Ridge regression", "Ridge", False),
    ("Elastic net", "ElasticNet", False),
    ("Huber regression", "HuberRegressor", False),
    ("Poisson regression", "PoissonRegressor", False),
    ("Gamma regression", "GammaRegressor", False),
    ("CART tree", "CARTRegressor", False),
    ("Boosted trees (AdaBoost)", "AdaBoostRegressor", False),
    ("Random forest", "RandomForestRegressor", False),
    ("Extra trees", "ExtraTreesRegressor", False),
    ("Gradient boosting", "GradientBoostingRegressor", False),
    ("Gradient boosting, stopped early", "GradientBoostingRegressor", False),
    ("Gradient boosting, small trees", "GradientBoostingRegressor", False),
    ("Gradient boosting, small steps", "GradientBoostingRegressor", False),
    ("Gradient boosting, large trees", "GradientBoostingRegressor", False),
)
#: Boosting in small steps that stops by itself, then learns all rows. A tree asks part of the columns, so trees differ.
_SMALL_STEPS: dict[str, Any] = {
    "learning_rate": 0.05, "n_estimators": 1500, "max_leaf_nodes": 63, "tree_features": 0.6, "l2_regularization": 1.0,
    "early_stopping": True, "n_iter_no_change": 50, "refit": True,
}  # fmt: skip
#: Parameters that a rung starts from, where they are not those of its class.
_PARAMS: dict[str, dict[str, Any]] = {
    "Gradient boosting, stopped early": {"n_estimators": 1000, "early_stopping": True, "n_iter_no_change": 30},
    "Gradient boosting, small steps": _SMALL_STEPS,
    "Gradient boosting, small trees": {**_SMALL_STEPS, "max_leaf_nodes": 10},
    "Gradient boosting, large trees": {**_SMALL_STEPS, "max_leaf_nodes": 255},
}
#: Rows from which on, and below which, a rung is worth its time. Of many rows those held out are not missed.
_FROM_ROWS = {"Gradient boosting, large trees": 5_000, "Gradient boosting, stopped early": 50_000}
_BELOW_ROWS = {
    "Gradient boosting, small trees": 10_000, "Gradient boosting, small steps": 50_000,
    "Gradient boosting, large trees": 50_000,
}  # fmt: skip
#: What a search tries of a rung, where it is not what its class declares. The number of rounds is found by stopping.
_RANGES: dict[str, dict[str, Any]] = {
    "Gradient boosting": {},  # tuned in the form that stops by itself
    "Gradient boosting, stopped early": {},
    "Gradient boosting, small trees": {},
    "Gradient boosting, large trees": {},
    "Gradient boosting, small steps": {
        "learning_rate": (0.02, 0.2, "log"), "max_leaf_nodes": (6, 255, "log"), "min_samples_leaf": (3, 100, "log"),
        "tree_features": (0.3, 1.0), "l2_regularization": (0.01, 100.0, "log"),
    },
}  # fmt: skip
#: Tried after all others, in this order, though simpler than some: on all but small tables they take longest.
LATE = ("Gradient boosting, large trees", "Random forest", "Extra trees", "Gradient boosting, small trees")

#: Predictors that are no candidates by themselves, and why; any of them can be asked for by name.
LEFT_OUT: dict[str, str] = {
    "GaussianNB": "the naive Bayes of the contest takes all kinds of columns",
    "CategoricalNB": "the naive Bayes of the contest takes all kinds of columns",
    "MultinomialNB": "for counts of words",
    "BernoulliNB": "for words that are there or not",
    "LinearRegression": "ridge regression without its penalty",
    "TweedieRegressor": "Poisson and gamma regression are its usual members",
    "Lasso": "the elastic net with one kind of penalty",
    "LassoCV": "the elastic net is tuned by the contest itself",
    "ElasticNetCV": "the elastic net is tuned by the contest itself",
    "BestSubset": "its time doubles with every column",
    "LogLinear": "logistic regression in another form",
    "BayesianRidge": "ridge regression that finds its own penalty",
    "LeastAbsoluteDeviations": "Huber regression lies between it and least squares",
    "QuantileRegressor": "answers a quantile, not the mean",
    "PolynomialRegression": "its number of columns explodes; trees find products by themselves",
    "BasisRegression": "needs a basis to be chosen",
    "LinearRegressor": "the general form of the linear models of the contest",
    "LinearClassifier": "the general form of the linear models of the contest",
    "BinaryRegression": "the general form of logistic and probit regression",
    "ProbitRegression": "as logistic regression, with another link",
    "Perceptron": "gives no probabilities and does not settle on classes that overlap",
    "Pocket": "gives no probabilities",
    "LinearSVR": "Huber regression is as robust",
    "RankingSVM": "for rankings",
    "DecisionStump": "One-R says as much",
    "ID3": "C4.5 is what became of it",
    "DecisionTreeClassifier": "CART is this tree, pruned",
    "DecisionTreeRegressor": "CART is this tree, pruned",
    "GradientBoostingRanker": "for rankings",
    "ThresholdClassifier": "put around the chosen model where costs are given",
    "CalibratedClassifier": "put around a model",
    "ConformalRegressor": "put around a model",
    "ConformalClassifier": "put around a model",
    "VotingClassifier": "the contest blends its best models itself",
    "VotingRegressor": "the contest blends its best models itself",
    "TunedClassifier": "the contest tunes its models itself",
    "TunedRegressor": "the contest tunes its models itself",
}


def rungs(task: str, wanted: tuple[str, ...] = ()) -> list[Rung]:
    """The models of a task, simplest first; ``wanted`` are class names: these only, beside the baselines."""
    known = [
        Rung(n, m, i, _PARAMS.get(n, {}), baseline=b, ranges=_RANGES.get(n))
        for i, (n, m, b) in enumerate(_CLASSES if task == "classification" else _NUMBERS)
    ]
    if not wanted:
        return known
    concept = "classification" if task == "classification" else "regression"
    chosen = [r for r in known if r.baseline or r.model in wanted]
    for name in wanted:
        if estimator_class(name).card.traits.concept != concept:
            raise ValueError(f"run: {name} is no model for {task}; `tilth models` says what each is for.")
        if not any(r.model == name for r in chosen):
            chosen.append(Rung(name, name, len(known) + len(chosen)))
    return chosen


def fitting(ladder: list[Rung], schema: Schema, target: Any) -> Iterator[tuple[Rung, str]]:
    """Each rung with why it cannot be tried on these data; an empty reason means that it can."""
    for rung in ladder:
        yield rung, _refusal(rung, schema, target)


def _refusal(rung: Rung, schema: Schema, target: Any) -> str:
    cls = estimator_class(rung.model)
    if len(target) < _FROM_ROWS.get(rung.name, 0):
        return f"for {_FROM_ROWS[rung.name]:,} rows or more"
    if len(target) >= _BELOW_ROWS.get(rung.name, len(target) + 1):
        return f"for fewer than {_BELOW_ROWS[rung.name]:,} rows"
    if rung.model == "PoissonRegressor" and (target.min() < 0 or not np.array_equal(target, np.floor(target))):
        return "for counts: whole numbers from 0"
    if rung.model == "GammaRegressor" and target.min() <= 0:
        return "for amounts above 0"
    if cls.accepts.nonnegative and any(c.low < 0 for c in schema.features):
        return "a column has values below 0"
    try:
        cls()._plan(schema)
    except SchemaError as error:
        return str(error)
    return ""
