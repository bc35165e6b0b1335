"""Cross products of every inner fold for linear and ridge regression, so that subsets need no fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from tilth.base.columns import take_rows
from tilth.data.reading import read
from tilth.engines.linear.normal import NormalEquations
from tilth.engines.select.folds import Folds
from tilth.engines.select.shared import FoldSums, SharedSquares
from tilth.models.catalogue import estimator_class
from tilth.models.select.base import Sample
from tilth.stats.gram import Gram

SCORES = (None, "r2", "neg_mean_squared_error", "neg_root_mean_squared_error")
#: Training rows needed per term: with fewer, the shortest of many solutions would have to be told apart.
_ROWS_PER_TERM = 2


def shared_squares(estimator: Any, sample: Sample, folds: Folds, scoring: Any) -> SharedSquares | None:
    """The scores of subsets from cross products; None when the model or the score is not made of squares.

    Each fold converts its rows as the model would (levels, missing values) from its own training rows alone.
    """
    if type(estimator) not in map(estimator_class, ("LinearRegression", "Ridge")) or not estimator.fit_intercept:
        return None
    if (scoring is not None and not isinstance(scoring, str)) or scoring not in SCORES or sample.is_classes:
        return None
    sums = [_fold_sums(estimator, sample, train, test) for train, test in folds]
    if any(s is None for s in sums):
        return None
    return SharedSquares([s for s in sums if s is not None], scoring or "r2")


def _fold_sums(estimator: Any, sample: Sample, train: Any, test: Any) -> FoldSums | None:
    model = clone(estimator)
    raw = read(sample.rows.X)
    names = {name: j for j, name in enumerate(raw.names)}
    weight = sample.rows.weights(train)
    try:
        table = model._begin(take_rows(raw, train), None, weight)
        model.terms_ = model._terms(table, weight)
        fresh = model._table(take_rows(raw, test), warn=False)
    except ValueError:
        return None  # the model will say so itself when it is fitted
    origin = model.plan_.origin()
    owner = np.array([names[origin.get(n, n)] for n in model.terms_.owners], dtype=np.intp)
    if len(train) < _ROWS_PER_TERM * len(owner):
        return None
    # A column that this fold's training rows cannot use would be an error for a model of that column alone.
    if set(owner.tolist()) != set(names.values()):
        return None
    y = sample.rows.y
    both = [
        _gram(model.terms_.design(rows), y[index], sample.rows.weights(index))
        for rows, index in ((table, train), (fresh, test))
    ]
    if any(b is None for b in both):
        return None
    ridge = float(getattr(estimator, "alpha", 0.0))
    return FoldSums(both[0], both[1], owner, ridge)  # type: ignore[arg-type]


def _gram(design: Any, y: Any, weight: Any) -> Gram | None:
    """Centred cross products of terms and target; None for numbers whose squares no float holds."""
    equations = NormalEquations.of(design, y, weight)
    return equations.gram if (equations.scale == 1).all() else None
