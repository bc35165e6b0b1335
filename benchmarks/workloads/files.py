"""Saving and loading fitted models: a small one and a wide one."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Rows, word_counts
from benchmarks.harness import Answers, Contestant, Quality, Workload
from benchmarks.workloads.common import fit


class Saved:
    """A fitted model and the file it is written to; the folder goes when the subject does."""

    suffix = ""

    def __init__(self, data: Rows) -> None:
        self.model = self.fitted(data)
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder)
        self.path = Path(folder) / f"model.{self.suffix}"

    def fitted(self, data: Rows) -> Any:
        """The model to save."""
        raise NotImplementedError

    def save(self, data: Rows) -> int:
        """Write the model; gives the size of the file."""
        raise NotImplementedError

    def load(self, data: Rows) -> Any:
        """Read the model back; gives its first predictions, which proves that it works."""
        raise NotImplementedError


class TilthSaved(Saved):
    """With ``tilth.save`` and ``tilth.load``."""

    suffix = "tilth"

    def __init__(self, data: Rows) -> None:
        from tilth import load, save

        self._save, self._load = save, load
        super().__init__(data)

    def save(self, data: Rows) -> int:
        """Write the model."""
        self._save(self.model, self.path)
        return self.path.stat().st_size

    def load(self, data: Rows) -> Any:
        """Read the model back."""
        return self._load(self.path)


class Pickled(Saved):
    """With pickle, which runs code from the file when it is read."""

    suffix = "pickle"

    def save(self, data: Rows) -> int:
        """Write the model."""
        self.path.write_bytes(pickle.dumps(self.model, protocol=pickle.HIGHEST_PROTOCOL))
        return self.path.stat().st_size

    def load(self, data: Rows) -> Any:
        """Read the model back."""
        return pickle.loads(self.path.read_bytes())


class Joblibbed(Saved):
    """With joblib, which runs code from the file when it is read."""

    suffix = "joblib"

    def __init__(self, data: Rows) -> None:
        import joblib

        self.joblib = joblib
        super().__init__(data)

    def save(self, data: Rows) -> int:
        """Write the model."""
        self.joblib.dump(self.model, self.path)
        return self.path.stat().st_size

    def load(self, data: Rows) -> Any:
        """Read the model back."""
        return self.joblib.load(self.path)


def _tilth_small(data: Rows) -> Any:
    from tilth import NaiveBayes

    return NaiveBayes().fit(data.X, data.y)


def _tilth_wide(data: Rows) -> Any:
    from tilth import MultinomialNB

    return MultinomialNB().fit(data.X, data.y)


def _sklearn_small(data: Rows) -> Any:
    """A pipeline that can read the same raw frame."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include=np.number)),
        (one_hot, make_column_selector(dtype_exclude=np.number)),
    )
    return make_pipeline(columns, GaussianNB()).fit(data.X, data.y)


def _sklearn_wide(data: Rows) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    model = MultinomialNB()
    fit(model, data)
    return model


def _contestant(way: type[Saved], fitted: Any) -> Contestant:
    """A way of saving a model that ``fitted(data)`` gives."""
    kind = type(way.__name__, (way,), {"fitted": lambda self, data: fitted(data)})
    return Contestant(kind, {"save": lambda s, data: s.save(data), "load": lambda s, data: s.load(data)})


def _sizes(data: Rows, answers: Answers) -> Quality:
    """Size of the file, and whether the model read back predicts."""
    rows = data.X[:200]
    return {
        who: {
            "file kB": given["save"] / 1000,
            "accuracy on 200 rows": float((given["load"].predict(rows) == data.y[:200]).mean()),
        }
        for who, given in answers.items()
    }


def _titanic(quick: bool) -> Rows:
    from tilth.data.datasets import load

    dataset = load("titanic")
    target = dataset.card.target
    # Without names, tickets and the like: one-hot columns of those would make the peer's file large for nothing.
    frame = dataset.frame.drop(columns=[target, *dataset.card.ignore])
    return Rows(frame, dataset.frame[target].to_numpy())


def _words(quick: bool) -> Rows:
    return word_counts(2_000 if quick else 20_000, 50_000, 100, 10)


def _files(name: str, title: str, data: Any, ours: Any, peer: Any) -> Workload:
    return Workload(
        name,
        title,
        data,
        {"tilth save": _contestant(TilthSaved, ours)},
        {"sklearn joblib": _contestant(Joblibbed, peer), "sklearn pickle": _contestant(Pickled, peer)},
        _sizes,
        rounds=7,
    )


WORKLOADS = [
    _files(
        "file-small",
        "Save and load a naive Bayes of the titanic table",
        _titanic,
        _tilth_small,
        _sklearn_small,
    ),
    _files(
        "file-wide",
        "Save and load a multinomial naive Bayes of 50,000 columns",
        _words,
        _tilth_wide,
        _sklearn_wide,
    ),
]
