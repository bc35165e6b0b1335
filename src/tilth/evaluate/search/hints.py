"""What to try where a declaration does not say it, and which way a parameter makes a model simpler."""

from __future__ import annotations

from typing import Any

#: Ranges worth searching, by the name that scikit-learn gives the parameter.
RANGES: dict[str, tuple[Any, ...]] = {
    "C": (1e-3, 1e3, "log"),
    "alpha": (1e-4, 1e2, "log"),
    "ccp_alpha": (1e-5, 1e-1, "log"),
    "epsilon": (1e-3, 1.0, "log"),
    "gamma": (1e-4, 1e1, "log"),
    "l1_ratio": (0.05, 1.0),
    "l2_regularization": (1e-3, 1e2, "log"),
    "learning_rate": (0.01, 0.5, "log"),
    "max_depth": (2, 30),
    "max_features": (0.1, 1.0),
    "max_iter": (50, 500),
    "max_leaf_nodes": (4, 255),
    "min_samples_leaf": (1, 50),
    "n_estimators": (20, 500),
    "n_neighbors": (1, 50),
    "p": (1, 2),
    "subsample": (0.5, 1.0),
    "var_smoothing": (1e-10, 1e-2, "log"),
}

_FOREST = ("max_depth", "max_features", "min_samples_leaf")
_TREE = ("max_depth", "min_samples_leaf", "ccp_alpha")
_BOOSTING = ("learning_rate", "n_estimators", "max_depth", "min_samples_leaf", "subsample")
_HISTOGRAM = ("learning_rate", "max_iter", "max_leaf_nodes", "min_samples_leaf", "l2_regularization")

#: Estimators of scikit-learn and what of them is worth a search.
FOREIGN: dict[str, tuple[str, ...]] = {
    "LogisticRegression": ("C",),
    "LinearSVC": ("C",),
    "LinearSVR": ("C", "epsilon"),
    "SVC": ("C", "gamma"),
    "SVR": ("C", "gamma", "epsilon"),
    "Ridge": ("alpha",),
    "RidgeClassifier": ("alpha",),
    "Lasso": ("alpha",),
    "ElasticNet": ("alpha", "l1_ratio"),
    "SGDClassifier": ("alpha",),
    "SGDRegressor": ("alpha",),
    "KernelRidge": ("alpha", "gamma"),
    "MultinomialNB": ("alpha",),
    "BernoulliNB": ("alpha",),
    "GaussianNB": ("var_smoothing",),
    "KNeighborsClassifier": ("n_neighbors", "p"),
    "KNeighborsRegressor": ("n_neighbors", "p"),
    "MLPClassifier": ("alpha",),
    "MLPRegressor": ("alpha",),
    "DecisionTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "RandomForestClassifier": _FOREST,
    "RandomForestRegressor": _FOREST,
    "ExtraTreesClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "GradientBoostingClassifier": _BOOSTING,
    "GradientBoostingRegressor": _BOOSTING,
    "HistGradientBoostingClassifier": _HISTOGRAM,
    "HistGradientBoostingRegressor": _HISTOGRAM,
    "AdaBoostClassifier": ("learning_rate", "n_estimators"),
    "AdaBoostRegressor": ("learning_rate", "n_estimators"),
}

#: +1: a larger value makes a simpler model; -1: a smaller one. Others say nothing about simplicity.
SIMPLER: dict[str, int] = {
    "C": -1, "alpha": 1, "ccp_alpha": 1, "confidence": -1, "degree": -1, "gamma": -1,
    "l1_regularization": 1, "l2_regularization": 1, "max_depth": -1, "max_features": -1, "max_iter": -1,
    "max_leaf_nodes": -1, "min_bucket": 1, "min_samples_leaf": 1, "min_samples_split": 1, "min_split_loss": 1,
    "n_bins": -1, "n_estimators": -1, "n_neighbors": 1, "var_smoothing": 1,
}  # fmt: skip
