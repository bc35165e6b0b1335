"""Evaluation: what it costs beside the fits themselves, and bootstraps and searches that share their work."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Rows, gaussian_rows
from benchmarks.harness import Answers, Contestant, Quality, Workload


def _tenth_of_a_second(quick: bool) -> Rows:
    """Rows on which one fit of a small forest takes 50 ms and more."""
    return gaussian_rows(2_000 if quick else 20_000, 20, 2)


def _hundred_thousand(quick: bool) -> Rows:
    return gaussian_rows(5_000 if quick else 100_000, 20, 2)


def _ours(model: str, repeats: int, **settings: Any) -> Contestant:
    def step(subject: Any, data: Rows) -> Any:
        found = subject[1](
            subject[0], data.X, data.y, folds=10, repeats=repeats, baselines=False, audit=False, workers=1,
            metrics=["accuracy"],
        )  # fmt: skip
        return found.score().value

    def make(data: Rows) -> Any:
        import tilth

        return getattr(tilth, model)(**settings), tilth.evaluate

    return Contestant(make, {"evaluate": step})


def _bare(model: str, repeats: int, **settings: Any) -> Contestant:
    """The fits and the predictions alone, on the same splits."""

    def make(data: Rows) -> Any:
        import tilth

        return getattr(tilth, model)(**settings), tilth.make_splits(10, data.y, repeats=repeats)

    def step(subject: Any, data: Rows) -> Any:
        from sklearn.base import clone

        model, splits = subject
        scores = []
        for s in splits:
            fitted = clone(model).fit(data.X[s.train], data.y[s.train])
            scores.append(np.mean(fitted.predict(data.X[s.test]) == data.y[s.test]))
        return float(np.mean(scores))

    return Contestant(make, {"evaluate": step})


def _sklearn(model: str, repeats: int, **settings: Any) -> Contestant:
    """scikit-learn's loop around our model: one number per split, no interval."""

    def make(data: Rows) -> Any:
        import tilth

        return getattr(tilth, model)(**settings), tilth.make_splits(10, data.y, repeats=repeats)

    def step(subject: Any, data: Rows) -> Any:
        from sklearn.model_selection import cross_val_score

        model, splits = subject
        return float(cross_val_score(model, data.X, data.y, cv=[(s.train, s.test) for s in splits]).mean())

    return Contestant(make, {"evaluate": step})


def _score(data: Any, answers: Answers) -> Quality:
    return {who: {step: float(value) for step, value in steps.items()} for who, steps in answers.items()}


def _overhead(name: str, title: str, data: Any, model: str, repeats: int, target: float, **settings: Any) -> Workload:
    return Workload(
        name, title, data, {"tilth evaluate": _ours(model, repeats, **settings)},
        {
            "bare fits and predictions": _bare(model, repeats, **settings),
            "sklearn cross_val_score": _sklearn(model, repeats, **settings),
        },
        _score, {"evaluate": target}, rounds=3,
    )  # fmt: skip


class _Scored:
    """True classes and scores of many rows."""

    def __init__(self, n: int) -> None:
        rng = np.random.default_rng(0)
        self.y = rng.integers(0, 2, n)
        self.score = rng.normal(size=n) + 0.7 * self.y

    def __str__(self) -> str:
        return f"{len(self.y):,} scores, 1,000 resamples"


def _resampled_here(subject: Any, data: _Scored) -> Any:
    return subject.interval(_answers(data), repeats=1000).low


def _answers(data: _Scored) -> Any:
    from tilth.evaluate.answers import Answers as Given

    return Given(data.y, (data.score > 0).astype(int), score=data.score)


def _metric(data: _Scored) -> Any:
    import tilth

    return tilth.metric("AUC")


def _resampled_by_sorting(subject: Any, data: _Scored) -> Any:
    """scikit-learn's AUC of 10 of the 1,000 resamples; the seconds are to be multiplied by 100."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        drawn = rng.integers(0, len(data.y), len(data.y))
        found.append(roc_auc_score(data.y[drawn], data.score[drawn]))
    return float(np.quantile(found, 0.025))


WORKLOADS = [
    _overhead(
        "evaluate-forest", "10-fold evaluation of a forest against its bare fits", _tenth_of_a_second,
        "RandomForestClassifier", 1, 1.05, n_estimators=20,
    ),
    _overhead(
        "evaluate-bayes", "10 x 10-fold evaluation of naive Bayes", _hundred_thousand, "GaussianNB", 10, 1.5,
    ),
    Workload(
        "auc-bootstrap", "Bootstrap interval of an AUC (the peer does a hundredth of the resamples)",
        lambda quick: _Scored(20_000 if quick else 1_000_000),
        {"tilth, 1,000 resamples": Contestant(_metric, {"interval": _resampled_here})},
        {"sklearn, 10 resamples": Contestant(lambda data: None, {"interval": _resampled_by_sorting}, rounds=1)},
        _score, {"interval": 1.0}, rounds=3,
    ),
]  # fmt: skip
