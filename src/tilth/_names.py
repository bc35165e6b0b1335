"""The registry: every public name and the module it lives in. Adding an estimator is one file plus one line here."""

from __future__ import annotations

#: Estimators, in the order of the ladder from baseline to model. A model file may hold these and no other classes.
ESTIMATORS: dict[str, str] = {
    "ZeroRClassifier": "tilth.models.rules.zero_r",
    "ZeroRRegressor": "tilth.models.rules.zero_r",
    "OneRClassifier": "tilth.models.rules.one_r",
    "NaiveBayes": "tilth.models.bayes.naive_bayes",
    "GaussianNB": "tilth.models.bayes.naive_bayes",
    "CategoricalNB": "tilth.models.bayes.naive_bayes",
    "MultinomialNB": "tilth.models.bayes.text",
    "BernoulliNB": "tilth.models.bayes.text",
}

#: Functions, parts and plain values.
OTHERS: dict[str, str] = {
    "infer": "tilth.data.infer",
    "plan": "tilth.data.convert",
    "Accepts": "tilth.data.convert",
    "read": "tilth.data.table",
    "chunks": "tilth.data.chunks",
    "Laplace": "tilth.parts.smoothing",
    "Epsilon": "tilth.parts.smoothing",
    "MEstimate": "tilth.parts.smoothing",
    "load_dataset": "tilth.data.datasets",
    "matching": "tilth.models.catalogue",
    "capabilities": "tilth.models.catalogue",
    "save": "tilth.lifecycle.save",
    "load": "tilth.lifecycle.save",
    "profile": "tilth.lifecycle.profile",
    "run": "tilth.lifecycle.run",
    "cross_validate": "tilth.evaluate.resample",
}

#: Sub-packages reachable as attributes; the chapters of models also without the word models, as in ``tilth.bayes``.
PACKAGES = (
    "data",
    "stats",
    "parts",
    "engines",
    "base",
    "models",
    "plot",
    "evaluate",
    "testing",
    "lifecycle",
    "report",
    "cli",
)
CHAPTERS = ("bayes", "rules", "prepare")
