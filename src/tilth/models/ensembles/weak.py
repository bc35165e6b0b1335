"""Weak learners as committees use them: learn typed rows with weights, answer typed rows.

A model of tilth learns on the rows that the committee converted for it; any other estimator gets a matrix of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth.base import Accepts, Classifier, Predictor, Regressor
from tilth.base.columns import settle
from tilth.base.foreign import takes_weights, weights_for
from tilth.data.convert import Plan
from tilth.data.schema import ColumnSpec, Schema
from tilth.data.table import Table
from tilth.engines.tree.reweight import drawn_rows

Floats = NDArray[np.float64]


def taken_by(estimator: Any) -> Accepts:
    """What a weak learner takes as it stands; one of another library takes numbers without gaps."""
    return estimator.accepts if isinstance(estimator, Predictor) else Accepts(numeric=True)


class Weak:
    """One kind of weak learner on one table of training rows; ``n_classes`` 0 means numbers."""

    def __init__(self, estimator: Any, table: Table, target: NDArray[Any], n_classes: int, owner: str) -> None:
        self.estimator = estimator
        self.table = table
        self.target = target
        self.n_classes = n_classes
        self.owner = owner
        self.schema = Schema(tuple(ColumnSpec(c.name, c.kind, "") for c in table.columns), named=True)
        self.takes_weights = takes_weights(estimator)

    def learn(self, weight: Floats, seed: int, *, resample: bool) -> Any:
        """A fitted copy; by drawing rows where weights are not taken or not wanted."""
        if resample or not self.takes_weights:
            rows = drawn_rows(weight, seed)
            return self._fitted(self.table.rows(rows), self.target[rows], None, seed)
        # Weights of mean one, so that limits of the learner on weights keep their meaning.
        return self._fitted(self.table, self.target, weight * len(weight), seed)

    def _fitted(self, table: Table, target: NDArray[Any], weight: Floats | None, seed: int) -> Any:
        learner = clone(self.estimator)
        if "random_state" in learner.get_params(deep=False):
            learner.set_params(random_state=seed % (2**31))
        if not isinstance(learner, Predictor):
            matrix = numbers_of(table, self.schema, self.owner)
            return learner.fit(matrix, target, **weights_for(learner, weight, self.owner))
        learner._set_schema(self.schema, None)
        learner.plan_ = Plan(self.schema, owner=type(learner).__name__, outputs=table.names)
        if isinstance(learner, Classifier):
            learner.classes_ = np.arange(self.n_classes)
        learner.learn(settle(table, learner.accepts, self.schema, self.owner), target, weight)
        return learner


def answers_of(learner: Any, table: Table, owner: str) -> NDArray[Any]:
    """Class codes, or numbers, that a fitted weak learner gives typed rows."""
    if isinstance(learner, Classifier):
        return learner.choice(table)
    if isinstance(learner, Regressor):
        return learner.values(table)
    schema = Schema(tuple(ColumnSpec(c.name, c.kind, "") for c in table.columns), named=True)
    return np.asarray(learner.predict(numbers_of(table, schema, owner)))


def numbers_of(table: Table, schema: Schema, owner: str) -> Floats:
    """A matrix of numbers without gaps for estimators that know nothing else."""
    settle(table, Accepts(numeric=True), schema, owner)
    return np.ascontiguousarray(table.numbers())
