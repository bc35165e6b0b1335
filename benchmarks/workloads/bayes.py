"""Naive Bayes on dense numbers, level codes and sparse counts."""

from __future__ import annotations

from benchmarks.data import Rows, coded_rows, gaussian_rows, word_counts
from benchmarks.harness import Contestant, Workload
from benchmarks.workloads.common import classifiers, estimator

PREDICT = ("predict", "predict_proba")
PEERS = "sklearn.naive_bayes"


def _both(name: str) -> tuple[dict[str, Contestant], dict[str, Contestant]]:
    """The same estimator here and in scikit-learn."""
    ours = {f"tilth {name}": estimator("tilth", name, *PREDICT)}
    return ours, {f"sklearn {name}": estimator(PEERS, name, *PREDICT)}


def _numbers(quick: bool) -> Rows:
    return gaussian_rows(50_000 if quick else 1_000_000, 50, 5)


def _levels(quick: bool) -> Rows:
    return coded_rows(50_000 if quick else 1_000_000, 20, 10, 5)


def _words(quick: bool) -> Rows:
    return word_counts(5_000 if quick else 100_000, 50_000, 100, 10)


def _text(name: str, model: str) -> Workload:
    ours, peers = _both(model)
    targets = {"fit": 1.0, "predict": 1.0, "predict_proba": 1.0}
    return Workload(name, f"{model} on sparse word counts", _words, ours, peers, classifiers, targets)


_gaussian_ours, _gaussian_peers = _both("GaussianNB")
_levels_ours, _levels_peers = _both("CategoricalNB")

WORKLOADS = [
    Workload(
        "gaussian",
        "Gaussian naive Bayes on a dense matrix",
        _numbers,
        {**_gaussian_ours, "tilth NaiveBayes": estimator("tilth", "NaiveBayes", *PREDICT)},
        _gaussian_peers,
        classifiers,
        {"fit": 0.4, "predict": 0.2, "predict_proba": 0.2},
    ),
    Workload(
        "categorical",
        "Categorical naive Bayes on level codes",
        _levels,
        _levels_ours,
        _levels_peers,
        classifiers,
        {"fit": 0.1, "predict": 0.2, "predict_proba": 0.2},
    ),
    _text("multinomial", "MultinomialNB"),
    _text("bernoulli", "BernoulliNB"),
]
