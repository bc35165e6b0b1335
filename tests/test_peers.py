"""A class that has the name of one of scikit-learn's takes its parameters and has its methods and attributes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import all_estimators

import tilth
from tilth._registry import ESTIMATORS
from tilth.models.catalogue import estimator_class

PEERS = dict(all_estimators())
SAME = sorted(set(PEERS) & set(ESTIMATORS))

TREES = "trees of the compiled engine are one array, not a list of estimators: rules(), export and plot show them"
CALLBACKS = "a protocol of scikit-learn's own; tilth.progress reports"
BOOSTED = "grown from histograms with second derivatives, as HistGradientBoosting is, whose parameters it has"
EVIDENCE = "the evidence is maximised itself, without priors on the two precisions"
ROWS = "it would keep a fact about every training row"
DENSE = "weights are dense; a sparse copy is scipy.sparse.csr_matrix(model.coef_)"
#: What a class does not have, with the reason; "" are those of every class.
ALLOWED = {
    "": {
        "set_callbacks": CALLBACKS, "densify": DENSE, "sparsify": DENSE, "sparse_coef_": DENSE,
        "warm_start": "a larger forest is grown anew; boosting and linear models take it",
        "estimator_": TREES, "estimators_": TREES, "estimators_samples_": ROWS, "estimators_features_": TREES,
        "tree_": TREES, "max_features_": TREES, "n_outputs_": "one target; several are a list of models",
        "outliers_": f"{ROWS}: outliers(X, y)", "X_offset_": ROWS, "X_scale_": ROWS,
        "staged_score": "staged_predict gives the answers to be scored",
        "staged_decision_function": "staged_predict gives the answers",
    },
    "AdaBoostRegressor": {"feature_importances_": "the learners may be of any kind; permutation_importance takes all"},
    "BayesianRidge": dict.fromkeys(
        ("alpha_1", "alpha_2", "alpha_init", "compute_score", "lambda_1", "lambda_2", "lambda_init", "scores_"),
        EVIDENCE,
    ),
    "CategoricalNB": dict.fromkeys(
        ("class_prior", "fit_prior"), "priors= says both"
    ) | dict.fromkeys(
        (
            "force_alpha", "min_categories", "category_count_", "class_log_prior_", "feature_log_prob_",
            "n_categories_",
        ),
        "levels are read from the table; sections() shows the probabilities",
    ),
    "GaussianNB": {"epsilon_": "only a column without variance gets some, by its own scale, not all by one number"},
    "GradientBoostingClassifier": dict.fromkeys(
        (
            "ccp_alpha", "criterion", "init", "min_impurity_decrease", "min_samples_split",
            "min_weight_fraction_leaf", "init_", "n_estimators_", "n_trees_per_iteration_", "train_score_",
        ),
        BOOSTED,
    ),
    "IsolationForest": {"bootstrap": "samples are drawn without replacement, as in the paper"},
    "LinearRegression": {"rank_": "inference() and collinearity() tell more", "singular_": "see rank_"},
    "MissingIndicator": dict.fromkeys(
        ("error_on_new", "features", "missing_values", "sparse", "features_"),
        "a step on typed tables, which know their missing cells",
    ),
    "PCA": dict.fromkeys(("get_precision", "score", "score_samples"), "densities are a kind of their own"),
    "Perceptron": dict.fromkeys(
        ("alpha", "early_stopping", "l1_ratio", "n_iter_no_change", "penalty", "validation_fraction", "t_"),
        "Rosenblatt's rule; LinearClassifier takes penalties",
    ),
    "QuantileRegressor": {"solver_options": "the linear program has none"},
    "Ridge": {"solver_": "the recipe tells the solver"},
    "VotingClassifier": dict.fromkeys(
        ("flatten_transform", "le_", "fit_transform", "get_feature_names_out", "set_output", "transform"),
        "a committee answers, it does not transform",
    ),
}  # fmt: skip
ALLOWED["GradientBoostingRegressor"] = {**ALLOWED["GradientBoostingClassifier"], "alpha": "quantile= says it"}
ALLOWED["VotingRegressor"] = {
    k: v for k, v in ALLOWED["VotingClassifier"].items() if k not in ("flatten_transform", "le_")
}


def parameters(cls):
    return set(inspect.signature(cls.__init__).parameters) - {"self"}


def methods(cls):
    """Public methods, without those that route metadata."""
    names = {n for n in dir(cls) if not n.startswith("_") and callable(getattr(cls, n, None))}
    return {n for n in names if not n.endswith("_request") and "metadata" not in n}


def attributes(model):
    return {n for n in dir(model) if n.endswith("_") and not n.startswith("_") and hasattr(model, n)}


def both(name):
    """The two models, fitted on the same rows."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 3))).round(2)
    ours = estimator_class(name)()
    y = np.exp(X[:, 0]) if isinstance(ours, tilth.base.Regressor) else rng.integers(0, 2, 40)
    members = [("a", PEERS["LogisticRegression"]())] if name == "VotingClassifier" else [("a", PEERS["Ridge"]())]
    theirs = PEERS[name](members) if name.startswith("Voting") else PEERS[name]()
    return ours.fit(X, y), theirs.fit(X.round() if name == "CategoricalNB" else X, y)


@pytest.mark.filterwarnings("ignore::tilth.errors.TilthWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SAME)
def test_a_class_of_the_same_name_has_what_the_other_has(name):
    ours, theirs = both(name)
    missing = parameters(PEERS[name]) - parameters(type(ours))
    missing |= {m for m in methods(PEERS[name]) if not hasattr(ours, m)}
    missing |= attributes(theirs) - attributes(ours)
    allowed = {**ALLOWED[""], **ALLOWED.get(name, {})}
    assert sorted(missing - set(allowed)) == []
    assert set(ALLOWED.get(name, {})) <= missing, "reasons for what is there"


@pytest.mark.parametrize(
    ("name", "value", "parameter"),
    [
        ("Lasso", 0.1, "alpha"), ("Ridge", 2.0, "alpha"), ("ElasticNet", 0.1, "alpha"), ("KMeans", 3, "n_clusters"),
        ("PCA", 2, "n_components"), ("RandomForestClassifier", 50, "n_estimators"),
        ("ExtraTreesRegressor", 50, "n_estimators"), ("IsolationForest", 50, "n_estimators"),
        ("MultinomialNB", 0.5, "alpha"), ("VotingClassifier", [tilth.NaiveBayes()], "estimators"),
    ],
)  # fmt: skip
def test_the_first_parameter_needs_no_name(name, value, parameter):
    model = estimator_class(name)(value)
    assert model.get_params(deep=False)[parameter] is value
    assert repr(clone(model)) == repr(model)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("GaussianNB", {"numeric": "bins"}), ("CategoricalNB", {"numeric": "bins"}),
        ("ProbitRegression", {"link": "logit"}), ("LassoCV", {"solver": "newton"}), ("BestSubset", {"tol": 0.1}),
    ],
)  # fmt: skip
def test_a_name_is_not_contradicted(name, params):
    with pytest.raises(TypeError, match=next(iter(params))):
        estimator_class(name)(**params)


def test_what_is_not_done_is_refused_by_a_sentence():
    with pytest.raises(ValueError, match="Lasso: positive must be one of False; got True"):
        tilth.Lasso(positive=True).fit([[1.0], [2.0]], [1.0, 2.0])
