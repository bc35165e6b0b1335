"""Models inside models: copies of any estimator, ours or another library's, learn some rows and answer others.

A model of tilth, or a pipeline that begins with one, is given the table as it was read. Any other pipeline is given the
user's columns as a frame, or as a matrix where the user gave one. Any other estimator is given a matrix of numbers: the
conversions it needs are learned with it, on the rows that it learns from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from tilth import progress
from tilth.base.answers import Need, Outputs, answers, says
from tilth.base.columns import take_rows
from tilth.base.foreign import Foreign, is_ours, weights_for
from tilth.data.convert import Accepts, plan
from tilth.data.schema import Schema
from tilth.data.table import RawTable
from tilth.errors import TilthWarning
from tilth.stats.folds import fold_of_rows, holdout, pairs_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Inner:
    """One estimator and the rows that its copies learn from and answer."""

    estimator: Any
    owner: str
    raw: RawTable
    schema: Schema
    target: NDArray[Any]
    weight: Floats | None = None
    group: NDArray[Any] | None = None
    mismatch: str = "convert"
    missing: str = "auto"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.raw.n_rows

    def fit(self, rows: Ints | None = None, quiet: bool = False, **settings: Any) -> Any:
        """A copy that learned these rows (default: all); ``quiet`` keeps its remarks to itself."""
        model = clone(self.estimator)
        if settings:
            model.set_params(**settings)
        raw = self.raw if rows is None else take_rows(self.raw, rows)
        y = self.target if rows is None else self.target[rows]
        weight = self.weight if rows is None or self.weight is None else self.weight[rows]
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", TilthWarning)
            if is_ours(model):
                return self._fit_ours(model, raw, y, weight)
            return self._fit_foreign(model, raw, y, weight)

    def _fit_ours(self, model: Any, raw: RawTable, y: NDArray[Any], weight: Floats | None) -> Any:
        known = model.get_params(deep=False)
        if "kinds" in known and self.schema.columns:
            model.set_params(kinds={**self.schema.stated_kinds(), **(known["kinds"] or {})})
        for name, usual in (("mismatch", "convert"), ("missing", "auto")):
            if name in known and getattr(self, name) != usual:
                model.set_params(**{name: getattr(self, name)})
        return model.fit(raw, y, **weights_for(model, weight, self.owner))

    def _fit_foreign(self, model: Any, raw: RawTable, y: NDArray[Any], weight: Floats | None) -> Foreign:
        if is_classifier(model) and len(np.unique(y)) < 2:
            # Most estimators refuse a single class, which a part of the rows may well have.
            from sklearn.dummy import DummyClassifier

            model, weight = DummyClassifier(strategy="most_frequent"), None
        conversions = None
        if not (raw.is_sparse or isinstance(model, Pipeline)):
            tags = getattr(model, "__sklearn_tags__", lambda: None)()
            takes = Accepts(numeric=True, missing=bool(tags is not None and tags.input_tags.allow_nan))
            planned = plan(
                self.schema, takes, mismatch=self.mismatch, missing=self.missing, owner=type(model).__name__  # type: ignore[arg-type]
            )  # fmt: skip
            conversions, _ = planned.fit(raw.typed(self.schema), weight)
        foreign = Foreign(model, conversions, not raw.is_sparse)
        model.fit(foreign.rows(raw), y, **weights_for(model, weight, self.owner))
        return foreign

    # ---------------------------------------------------------------------------------------------------------- parts

    def folds(self, folds: int, seed: int, *, stratify: bool) -> Ints:
        """The part of every row: rows of a group stay together, classes keep their shares."""
        n = self._enough_rows()
        if self.group is None:
            return fold_of_rows(n, min(folds, n), classes=self._codes(stratify), seed=seed)
        members = len(np.unique(self.group))
        if members < 2:
            raise ValueError(f"{self.owner}: rows of a group stay together, so at least 2 groups are needed; got 1.")
        return fold_of_rows(n, min(folds, members), classes=self._codes(stratify), groups=self.group, seed=seed)

    def held_out(self, size: float, seed: int, *, stratify: bool) -> tuple[Ints, Ints]:
        """Rows to learn from, and about a share ``size`` of the rows, at least one; groups stay whole."""
        return holdout(self._enough_rows(), size, classes=self._codes(stratify), groups=self.group, seed=seed)

    def _enough_rows(self) -> int:
        if self.n_rows < 2:
            raise ValueError(
                f"{self.owner} needs at least 2 rows, one to train on and one to test on; got n_samples = "
                f"{self.n_rows}."
            )
        return self.n_rows

    def _codes(self, stratify: bool) -> Ints | None:
        return np.unique(self.target, return_inverse=True)[1] if stratify else None

    def over_folds(self, part: Ints, answer: Callable[[Any, Ints], None], title: str, **settings: Any) -> list[Any]:
        """Fit a model without each part and let ``answer(model, rows)`` ask it about the part; gives the models."""
        models = []
        with progress.task(f"{self.owner}: {title}", total=int(part.max()) + 1) as work:
            for train, test in pairs_of(part):
                model = self.fit(train, quiet=True, **settings)
                answer(model, test)
                models.append(model)
                work.advance()
        return models

    def rows(self, index: Ints) -> RawTable:
        """Some of the rows."""
        return take_rows(self.raw, index)


# --------------------------------------------------------------------------------------------------------------- asking


def answers_of(model: Any, raw: RawTable, *need: Need) -> Outputs:
    """What a fitted estimator says of rows; remarks about the rows are left to the model around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        if isinstance(model, Foreign):
            return answers(model.model, model.rows(raw), need)
        return answers(model, raw, need)


def class_scores(model: Any, raw: RawTable, classes: NDArray[Any]) -> Floats:
    """Class probabilities, or the scores of a model that has none; n x k in the order of ``classes``."""
    if "probabilities" in says(model):
        return answers_of(model, raw, "probabilities").probabilities_among(classes)
    return answers_of(model, raw, "scores").scores_among(classes)
