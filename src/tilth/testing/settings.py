"""How parameters show their effect, where other legal values of them alone do not.

By class, bases included: for a parameter the settings under which it is varied, its own value among them where the
declaration names none; or a sentence that says why the examples cannot show it. ``"data"`` holds options of the
example; the settings under ``""`` hold for all parameters.
"""

from __future__ import annotations

from typing import Any

from tilth.models.catalogue import estimator_class
from tilth.parts.cuts import Sigma

Settings = dict[str, Any]

TWO = {"classes": 2}
UNEVEN = {"ant": 1.0, "bee": 5.0, "cat": 2.0}
LEVELS = {"kinds": {"visits": "nominal"}}
MANY = {**LEVELS, "data": {"n": 400}, "min_level_rows": 0.0, "level_smoothing": 0.0}
FALLING = {"monotonic_cst": {"height": -1}, "data": TWO}
GRADES = "it acts on whole grades of several queries; tests of the ranker vary it"
ONE_PROGRAM = "a linear program ends at a corner, however it is walked"


def _model(name: str, **params: Any) -> Any:
    return estimator_class(name)(**params)


def shows() -> dict[str, dict[str, Settings | str]]:
    """Settings by class and parameter."""
    descent = {"solver": "gradient descent"}
    stopping = {"early_stopping": True}
    priced = {"pruning": "cost_complexity"}
    return {
        "OnTables": {"kinds": LEVELS},
        "Recommender": {
            "user": {"user": "day"}, "item": {"item": "day"}, "kinds": "users and items are levels, whatever they hold",
            "mismatch": "users and items are levels, which every recommender takes",
        },
        "Detector": {"contamination": {"contamination": 0.2}, "threshold": {"threshold": Sigma(k=1.0)}},
        "OneRClassifier": {"feature": {"feature": "wet"}},
        "NaiveBayes": {
            "priors": {"priors": [0.2, 0.3, 0.5]}, "n_bins": {"numeric": "bins", "n_bins": 2},
            "var_smoothing": {"data": {"n": 8}, "var_smoothing": 0.5},
        },
        "CountNB": {"class_prior": {"class_prior": [0.2, 0.3, 0.5]}},
        # ------------------------------------------------------------------------------------------- linear models
        "LinearModel": {
            "solver": descent, "tol": {**descent, "tol": 0.5}, "max_iter": {**descent, "max_iter": 1},
            "warm_start": {**descent, "max_iter": 3},
        },
        "LinearClassifierModel": {"class_weight": {"class_weight": UNEVEN}},
        "LinearProbabilityModel": {
            "threshold": {"data": TWO, "threshold": 0.9},
            "uncertain": "it is the answer on an exact tie, which the example does not have",
        },
        "PricedByC": {"l1_ratio": {"penalty": "elasticnet", "l1_ratio": 0.9}},
        "LinearRegressor": {"alpha": {"penalty": "l2", "alpha": 10.0}},
        "BasisRegression": {"basis": {"basis": ["height", "height ** 2"]}},
        "LeastAbsoluteDeviations": dict.fromkeys(("solver", "tol", "max_iter", "warm_start"), ONE_PROGRAM),
        "QuantileRegressor": dict.fromkeys(("solver", "tol", "max_iter", "warm_start"), ONE_PROGRAM),
        "LeastSquaresClassifier": {"tol": {}, "max_iter": {}},
        "LinearSVC": {"multi_class": {"loss": "hinge", "multi_class": "crammer_singer"}},
        "CrossValidatedModel": {"tol": {}, "max_iter": "a step down the path of a squared loss ends at once"},
        "BayesianRidge": {
            "tol": {}, "max_iter": {}, "solver": "it has a closed form and refuses others",
            "warm_start": "a closed form starts nowhere",
        },
        "Perceptron": {"tol": {}, "max_iter": {}, "warm_start": {"max_iter": 2}},
        "LogLinear": {"features": "functions of a row and a class; its own tests give them"},
        "TweedieRegressor": {"power": {"data": {"positive": True}, "power": 1.2}},
        "RankingSVM": {"weights": GRADES},
        # --------------------------------------------------------------------------------------- trees and ensembles
        "PricedTree": {
            "max_bins": {"max_bins": 2, "data": {"n": 6000, "kinds": ("numeric",)}},
            "random_state": {"standard_errors": 0.0},
        },
        "GeneralTree": {
            "random_state": {"max_features": 2}, "max_features": {"max_features": 1},
            "max_bins": {"thresholds": "binned", "max_bins": 3}, "monotonic_cst": FALLING,
            "folds": {**priced, "folds": 2}, "standard_errors": {**priced, "standard_errors": 5.0},
            "validation_fraction": {"pruning": "reduced_error", "validation_fraction": 0.6},
        },
        "DecisionTreeClassifier": {
            "class_weight": {"class_weight": UNEVEN}, "confidence": {"pruning": "pessimistic", "confidence": 0.01},
        },
        "ForestModel": {
            "max_features_per_tree": {"max_features_per_tree": 2},
            "max_samples": {"bootstrap": True, "max_samples": 0.3},
            "replace": {"bootstrap": True, "max_samples": 0.5, "replace": False},
            "oob_score": {"bootstrap": True, "oob_score": True}, "monotonic_cst": FALLING,
        },
        "RandomForestClassifier": {"class_weight": {"class_weight": UNEVEN}},
        "Boosted": {
            "max_features": {"max_features": 0.3}, "random_state": {"subsample": 0.5},
            "base_learner": {"base_learner": _model("Ridge")},
            "validation_fraction": {**stopping, "validation_fraction": 0.5},
            "n_iter_no_change": {**stopping, "n_estimators": 60, "learning_rate": 0.5, "n_iter_no_change": 1},
            "tol": {**stopping, "tol": 0.5, "n_iter_no_change": 2}, "refit": {**stopping, "refit": True},
            "monotonic_cst": FALLING, "interaction_cst": {"interaction_cst": "no_interactions"},
            "level_smoothing": {**MANY, "level_smoothing": 50.0}, "min_level_rows": {**MANY, "min_level_rows": 150.0},
            "level_l2": {**MANY, "level_l2": 0.0}, "max_levels": {**MANY, "max_levels": 1},
            "warm_start": "it acts on a second fit with more rounds; tests of boosting vary it",
        },
        "GradientBoostingClassifier": {
            "loss": {"data": TWO, "loss": "exponential"}, "class_weight": {"class_weight": UNEVEN},
        },
        "GradientBoostingRegressor": {
            "quantile": {"loss": "quantile", "quantile": 0.9},
            "power": {"data": {"positive": True}, "loss": "tweedie", "power": 1.2},
        },
        "GradientBoostingRanker": dict.fromkeys(
            (
                "objective", "exponential_gain", "early_stopping", "validation_fraction", "n_iter_no_change", "tol",
                "refit",
            ),
            GRADES,
        ),
        "WeightBoosting": {"random_state": {"weighting": "resample"}},
        "AdaBoostClassifier": {
            "estimator": {"estimator": _model("NaiveBayes")},
            "validation_fraction": {"n_iter_no_change": 3, "validation_fraction": 0.5},
            "tol": {"n_iter_no_change": 2, "tol": 0.5},
        },
        "AdaBoostRegressor": {"estimator": {"estimator": _model("Ridge")}},
        "Voting": {
            "weights": {"weights": "validation"}, "folds": {"weights": "validation", "folds": 2},
            "random_state": {"weights": "validation"},
        },
        "VotingClassifier": {"estimators": {"estimators": [_model("NaiveBayes")]}},
        "VotingRegressor": {"estimators": {"estimators": [_model("Ridge")]}},
        "LeafCodes": {"forest": {"forest": _model("RandomForestClassifier", n_estimators=3)}},
        # ------------------------------------------------------------------------------------------ without a target
        "IsolationForest": {"max_samples": {"max_samples": 16}},
        "KMeans": {"n_init": {"init": "random", "n_clusters": 6, "n_init": 1}},
        "PCA": {"n_components": {"n_components": 2}},
        # ------------------------------------------------------------------------------------------- models of models
        "AroundClassifier": {"estimator": {"estimator": _model("NaiveBayes")}},
        "ConformalRegressor": {
            "estimator": {"estimator": _model("Ridge", alpha=9.0)}, "folds": {"method": "cv+", "folds": 2},
        },
        "Conformal": {"by": {"by": "wet"}},
        "ConformalClassifier": {
            "allow_empty": {"level": 0.5, "allow_empty": True},
            "penalty": {"method": "raps", "free_classes": 0, "penalty": 1.0},
            "free_classes": {"method": "raps", "penalty": 1.0, "free_classes": 0},
        },
        "ThresholdClassifier": {
            "estimator": {"data": TWO, "estimator": _model("NaiveBayes")},
            "random_state": {"data": TWO}, "folds": {"data": TWO, "folds": 2},
            "costs": {"data": TWO, "costs": {"fp": 1, "fn": 9}},
            "constraint": {"data": TWO, "constraint": ("recall", 0.99)}, "maximise": {"data": TWO, "maximise": "f1"},
            "positive": {"data": TWO, "costs": {"fp": 1, "fn": 9}, "positive": "ant"},
        },
        "Tuned": {"rule": {"trials": 12, "inner": 3, "rule": "one_se"}},
        "MostFrequentTagger": {"token": {"token": "mark"}, "min_count": {"min_count": 30.0}},
        "TunedClassifier": {
            "estimator": {"estimator": _model("NaiveBayes")}, "metric": {"metric": "log_loss", "trials": 6},
            "ranges": {"ranges": {"C": (0.01, 1.0, "log")}},
        },
        "TunedRegressor": {
            "estimator": {"estimator": _model("Lasso")}, "metric": {"metric": "mae", "trials": 6},
            "ranges": {"ranges": {"alpha": (0.01, 1.0, "log")}},
            "rule": "the best setting on the example is the simplest one too; tests of the search vary it",
        },
        "ScoredSelector": {
            "": {"estimator": _model("NaiveBayes")},
            "estimator": {"estimator": _model("OneRClassifier")}, "scoring": {"scoring": "neg_log_loss"},
        },
        "SubsetSearch": {"risk": {"rule": "bound", "max_columns": 7, "risk": 1e-12, "data": {"n": 400}}},
        "EmbeddedForward": {
            "": {}, "shape": {"max_columns": 7, "shape": "bins"},
            "n_bins": {"max_columns": 7, "shape": "bins", "n_bins": 40},
        },
        "SelectByRelevance": {"k": {"k": 2}, "rule": {"estimator": None}},
        "SelectByModel": {
            "": {},
            "estimator": {"estimator": _model("DecisionTreeClassifier")}, "threshold": {"threshold": "median"},
        },
        # ------------------------------------------------------------------------------------------------ conversions
        "StepTransformer": {"columns": {"columns": ["visits"]}},
        "OneHot": {"columns": {"columns": ["colour"]}},
        "IntegerCodes": {"columns": {"columns": ["colour"]}},
        "RankScores": {"columns": {"columns": ["grade"]}},
        "OwnCategory": {"columns": {"columns": ["colour"]}},
        "Bins": {"names": {"n_bins": 2, "names": ("few", "many")}, "edges": {"edges": (1.5,)}},
        "Cap": {"high": {"high": 2.0}, "low": {"low": 2.0}},
        "Log": {"shift": {"shift": 500.0}},
        "Waterfall": {"knots": {"knots": (1.0, 2.0)}},
        "Features": {
            "formulas": {"formulas": {"twice": "2 * height"}},
            "columns": "formulas name the columns they take",
        },
        "SelectKinds": {"keep": {"keep": ("nominal",)}, "columns": {"columns": ["visits"]}},
        "OneHotWords": {"vocabulary": {"vocabulary": ["ant", "bee"]}},
        "WordCounts": {"vocabulary": {"vocabulary": ["ant", "bee"]}},
    }  # fmt: skip
