"""Scores of subsets by fitting a model on each: any estimator, any score."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth.base.answers import Need, answers, says
from tilth.base.foreign import weights_for
from tilth.engines.select.folds import Folds
from tilth.errors import TilthWarning

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass
class Rows:
    """Rows for models: a frame or an array of the columns to choose from, class codes or numbers, weights."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None = None
    #: Labels of the class codes; None for numbers.
    classes: NDArray[Any] | None = None

    def take(self, rows: Any, columns: Any = None) -> Any:
        """Some rows of some columns, in the form they came."""
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        if columns is None:
            return X
        return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]

    def labels(self, rows: Any) -> NDArray[Any]:
        """The target as models know it."""
        return self.y[rows] if self.classes is None else self.classes[self.y[rows]]

    def weights(self, rows: Any) -> Floats | None:
        """Weights of some rows."""
        return None if self.weight is None else self.weight[rows]


@dataclass
class Refit:
    """Fits a copy of the estimator on the training rows of each fold and scores it on the others.

    A fit that fails has no score (NaN); ``failures`` counts them by their message.
    """

    estimator: Any
    rows: Rows
    folds: Folds
    scorer: Callable[..., float]
    fits: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    last: BaseException | None = None

    def __call__(self, subsets: Bools) -> Floats:
        """Scores of subsets [m, d] on each fold, [m, folds]."""
        return np.array([self.one(np.flatnonzero(subset)) for subset in subsets]).reshape(len(subsets), -1)

    def one(self, columns: NDArray[np.intp]) -> Floats:
        """Scores of one subset."""
        self.fits += 1
        return np.array([self.on_fold(columns, train, test)[0] for train, test in self.folds])

    def with_errors(self, subset: Bools) -> tuple[Floats, Floats]:
        """Scores of a subset, and of each row what the model that did not see it left unexplained ([n, m])."""
        self.fits += 1
        columns = np.flatnonzero(subset)
        left = self.baseline_errors()
        scores = np.empty(len(self.folds))
        for i, (train, test) in enumerate(self.folds):
            scores[i], model = self.on_fold(columns, train, test)
            if model is not None:
                left[test] = self._errors(model, columns, test)
        return scores, left

    def baseline_errors(self) -> Floats:
        """Of each row its distance to the mean, or to the class shares: what no column explains."""
        truth = self._truth(slice(None))
        weight = None if self.rows.weight is None else self.rows.weight
        return np.asarray(truth - np.average(truth, axis=0, weights=weight))

    def _truth(self, rows: Any) -> Floats:
        y = self.rows.y[rows]
        if self.rows.classes is None:
            return np.asarray(y, dtype=np.float64)[:, None]
        return np.eye(len(self.rows.classes))[y]

    def _errors(self, model: Any, columns: NDArray[np.intp], test: Any) -> Floats:
        X = self.rows.take(test, columns)
        truth = self._truth(test)
        with _quiet():
            if self.rows.classes is None:
                return np.asarray(truth - np.asarray(model.predict(X), dtype=np.float64)[:, None])
            known = {label: i for i, label in enumerate(self.rows.classes.tolist())}
            need: Need = "probabilities" if "probabilities" in says(model) else "prediction"
            outputs = answers(model, X, (need,))
        if outputs.probabilities is not None:
            return np.asarray(truth - outputs.probabilities_among(self.rows.classes))
        chosen = [known[v] for v in np.asarray(outputs.prediction).tolist()]
        return np.asarray(truth - np.eye(truth.shape[1])[chosen])

    def fitted(self, columns: NDArray[np.intp], train: Any) -> Any:
        """A copy fitted on some rows."""
        model = clone(self.estimator)
        weights = weights_for(model, self.rows.weights(train))
        with _quiet():
            return model.fit(self.rows.take(train, columns), self.rows.labels(train), **weights)

    def score(self, model: Any, columns: NDArray[np.intp], test: Any) -> float:
        """Score of a fitted model on some rows."""
        weight = self.rows.weights(test)
        weights = {} if weight is None else {"sample_weight": weight}
        with _quiet():
            return float(self.scorer(model, self.rows.take(test, columns), self.rows.labels(test), **weights))

    def on_fold(self, columns: NDArray[np.intp], train: Any, test: Any) -> tuple[float, Any]:
        """Score of one subset on one fold, and the fitted model; NaN and None when it cannot be fitted."""
        try:
            model = self.fitted(columns, train)
            return self.score(model, columns, test), model
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            text = f"{type(error).__name__}: {error}"
            self.failures[text] = self.failures.get(text, 0) + 1
            self.last = error
            return float("nan"), None


class _quiet(warnings.catch_warnings):
    """Remarks of hundreds of inner fits are noise: the model that follows makes its own."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", TilthWarning)
