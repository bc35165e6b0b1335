"""A raw frame of mixed columns: preparation to a numeric matrix, a model end to end, a profile."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import GRADES, N_FLAGS, N_GRADES, N_NUMBERS, N_TEXTS, Rows, mixed_frame
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import classifiers, fit


def _frame(quick: bool) -> Rows:
    return mixed_frame(50_000 if quick else 1_000_000)


class TilthPreparation:
    """Infer kinds, plan for a model of numbers and fit the plan; then replay it on the rows as if new."""

    def __init__(self, data: Rows) -> None:
        import tilth

        self.tilth = tilth

    def fit(self, data: Rows) -> Any:
        """The numeric matrix of the training rows."""
        raw = self.tilth.read(data.X)
        self.schema = self.tilth.infer(raw, data.kinds)
        self.plan, table = self.tilth.plan(self.schema, self.tilth.Accepts()).fit(raw.typed(self.schema))
        return table.numbers()

    def apply(self, data: Rows) -> Any:
        """The numeric matrix of new rows."""
        return self.plan.apply(self.tilth.read(data.X).typed(self.schema)).numbers()


class PeerPreparation:
    """The same conversions by scikit-learn: median and indicator, one-hot, ranks."""

    def __init__(self, data: Rows) -> None:
        self.transformer = _column_transformer()

    def fit(self, data: Rows) -> Any:
        """The numeric matrix of the training rows."""
        return self.transformer.fit_transform(data.X)

    def apply(self, data: Rows) -> Any:
        """The numeric matrix of new rows."""
        return self.transformer.transform(data.X)


def _column_transformer() -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    numbers = [f"number_{j}" for j in range(N_NUMBERS)]
    texts = [f"text_{j}" for j in range(N_TEXTS)]
    grades = [f"grade_{j}" for j in range(N_GRADES)]
    flags = [f"flag_{j}" for j in range(N_FLAGS)]
    return ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
            ("texts", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), texts),
            ("grades", OrdinalEncoder(categories=[list(GRADES)] * N_GRADES), grades),
            ("flags", "passthrough", flags),
        ]
    )


def _matrices(data: Rows, answers: Answers) -> Quality:
    """Shape of the matrix and the mean of its first column, which both must give alike."""
    found: Quality = {}
    for who, given in answers.items():
        matrix = np.asarray(given["fit"])
        same = bool(np.array_equal(matrix, np.asarray(given["apply"])))
        found[who] = {
            "columns": matrix.shape[1],
            "mean of number_0": float(matrix[:, 0].astype(float).mean()),
            "same again on replay": str(same),
        }
    return found


def _naive_bayes(data: Rows) -> Any:
    from tilth import NaiveBayes

    return NaiveBayes(kinds=data.kinds)


def _peer_pipeline(data: Rows) -> Any:
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_column_transformer(), GaussianNB())


def _predict(model: Any, data: Rows) -> Any:
    return model.predict(data.X)


class Profile:
    """The profile of a table."""

    def __init__(self, data: Rows) -> None:
        from tilth import profile

        self.profile = profile

    def run(self, data: Rows) -> Any:
        """Profile the frame without its label."""
        return self.profile(data.X)


_PREPARE = {
    "fit": lambda subject, data: subject.fit(data),
    "apply": lambda subject, data: subject.apply(data),
}
_MODEL = {"fit": fit, "predict": _predict}

WORKLOADS = [
    Workload(
        "prepare",
        "A mixed pandas frame to a numeric matrix",
        _frame,
        {"tilth infer + plan": Contestant(TilthPreparation, _PREPARE)},
        {"sklearn ColumnTransformer": Contestant(PeerPreparation, _PREPARE)},
        _matrices,
        {"fit": 1.0, "apply": 1.0},
        rounds=3,
    ),
    Workload(
        "mixed",
        "Naive Bayes on a mixed pandas frame, end to end (the peer: Gaussians on one-hot columns)",
        _frame,
        {"tilth NaiveBayes": Contestant(_naive_bayes, _MODEL)},
        {"sklearn ColumnTransformer + GaussianNB": Contestant(_peer_pipeline, _MODEL)},
        classifiers,
        {"fit": 1.0, "predict": 1.0},
        rounds=3,
    ),
    Workload(
        "profile",
        "Profile of a mixed pandas frame",
        _frame,
        {"tilth profile": Contestant(Profile, {"profile": lambda subject, data: subject.run(data)})},
        {},
        rounds=2,
    ),
]
