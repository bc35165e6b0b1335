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
    "OneHot": "tilth.models.prepare.levels",
    "IntegerCodes": "tilth.models.prepare.levels",
    "RankScores": "tilth.models.prepare.levels",
    "Bins": "tilth.models.prepare.levels",
    "Impute": "tilth.models.prepare.missing",
    "OwnCategory": "tilth.models.prepare.missing",
    "MissingIndicator": "tilth.models.prepare.missing",
    "Standardise": "tilth.models.prepare.scale",
    "MinMax": "tilth.models.prepare.scale",
    "Centre": "tilth.models.prepare.scale",
    "Log": "tilth.models.prepare.scale",
    "Winsorise": "tilth.models.prepare.scale",
    "Cap": "tilth.models.prepare.scale",
    "SignParts": "tilth.models.prepare.features",
    "Indicator": "tilth.models.prepare.features",
    "Waterfall": "tilth.models.prepare.features",
    "Denoise": "tilth.models.prepare.features",
    "Polynomial": "tilth.models.prepare.features",
    "Features": "tilth.models.prepare.features",
    "RandomProjection": "tilth.models.prepare.features",
    "DropColumns": "tilth.models.prepare.choose",
    "SelectKinds": "tilth.models.prepare.choose",
    "OneHotWords": "tilth.models.prepare.text",
    "WordCounts": "tilth.models.prepare.text",
    "WordVectors": "tilth.models.prepare.text",
    "PixelVectors": "tilth.models.prepare.images",
}

#: Functions, parts and plain values.
OTHERS: dict[str, str] = {
    "infer": "tilth.data.infer",
    "plan": "tilth.data.convert",
    "Accepts": "tilth.data.convert",
    "read": "tilth.data.reading",
    "chunks": "tilth.data.chunks",
    "Laplace": "tilth.parts.smoothing",
    "Epsilon": "tilth.parts.smoothing",
    "MEstimate": "tilth.parts.smoothing",
    "load_dataset": "tilth.data.datasets",
    "matching": "tilth.models.catalogue",
    "capabilities": "tilth.models.catalogue",
    "save": "tilth.lifecycle.save",
    "load": "tilth.lifecycle.save",
    "describe_file": "tilth.lifecycle.save",
    "profile": "tilth.lifecycle.profile",
    "compare_tables": "tilth.lifecycle.profile",
    "join_report": "tilth.lifecycle.profile",
    "stratified_sample": "tilth.lifecycle.profile",
    "balanced_weights": "tilth.lifecycle.profile",
    "imputation_bias": "tilth.lifecycle.profile",
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
