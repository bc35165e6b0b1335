"""Columns that a fitted model itself finds useful: weights that are not zero, importance in trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from tilth.base import Card, Complexity, Recipe, Section
from tilth.base.foreign import last_step
from tilth.engines.linear.design import Terms
from tilth.engines.select.refit import Refit
from tilth.engines.select.walk import Clock, Step
from tilth.errors import warn_model
from tilth.models.catalogue import estimator_class
from tilth.models.select.base import TRAITS, Sample, ScoredSelector
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: A share of the largest importance below which a weight is zero.
ZERO = 1e-8


@declared
class SelectByModel(ScoredSelector):
    """Keep the columns to which a fitted model gives weight: L1 weights that are not zero, importance in trees.

    By default numbers are standardised and learned with an L1 penalty, by lasso or logistic regression. Importance of
    a linear model: |weight| x standard deviation of its term, the largest over classes, summed over the levels of a
    column. Of trees: the share of the impurity decrease. ``threshold="auto"`` keeps what is not zero under an L1
    penalty, and what is at least the mean elsewhere. One fit; two more per fold compare with all columns.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 6))
    >>> SelectByModel().fit(X, 3 * X[:, 1] - 2 * X[:, 4] + rng.normal(size=400)).selected()
    ['x1', 'x4']
    """

    card: ClassVar[Card] = Card(
        "Keep the columns to which a fitted model gives weight.",
        TRAITS,
        complexity=Complexity("O(cost of the model)", "O(1)", "O(n p)"),
        references=("Tibshirani 1996, Regression shrinkage and selection via the lasso", "Breiman 2001"),
    )
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"cv": 0.3},)
    learned: ClassVar[dict[str, str]] = {**ScoredSelector.learned, "importances_": "float[c]", "threshold_": "float"}

    threshold: Any = param("auto", doc="Least importance: 'auto', 'mean', 'median', 'nonzero', or a number.")
    max_columns: int | None = param(None, low=1, doc="Columns at most; None: no limit.")
    compare: bool = param(True, options=(True, False), doc="Whether to score the kept columns against all of them.")

    def recipe(self) -> Recipe:
        """One fit, one threshold."""
        return Recipe(
            "columns of any kind and a target",
            "the columns whose importance reaches a threshold [threshold, max_columns]",
            "that of the model [estimator]",
            "that of the model",
        )

    def _model(self, sample: Sample) -> Any:
        if self.estimator is not None:
            return self.estimator
        sparse = (
            estimator_class("LogisticRegression")(penalty="l1")
            if sample.is_classes
            else estimator_class("LassoCV")(rule="one_se", cv=max(2, min(5, sample.n_rows // 2)))
        )
        # A penalty on weights charges columns by their unit unless they have one spread.
        return make_pipeline(estimator_class("Standardise")(), sparse)

    def _choose(self, sample: Sample) -> Bools:
        d, clock = sample.n_columns, Clock()
        folds = self._folds(sample) if self.compare else []
        every = np.arange(d)
        refit = self._refit(sample, folds) if folds else Refit(self._model(sample), sample.rows, [], _no_score)
        model = refit.fitted(every, np.arange(sample.n_rows))
        self.importances_ = importance_of(model, sample.rows.X, sample.table.names, type(self).__name__)
        kept, self.threshold_ = self._enough(self.importances_, model)
        if not kept.any():
            kept[int(np.argmax(self.importances_))] = True
            warn_model(
                "W220",
                f"{type(self).__name__}: no column reaches the importance {self.threshold_:.4g}; "
                f"{sample.table.names[int(np.argmax(kept))]!r} is kept so that a model can follow.",
            )
        self.walk_, self.chosen_, self.n_fits_, self.test_ = [], 0, 1, None
        if not folds:
            self.score_name_, self.overlap_, self.n_val_, self.n_rows_ = "", 0.0, 0, sample.n_rows
            return kept
        one_fit = clock.lap()
        steps = [Step(np.zeros(d, dtype=bool), -1, self._baseline(refit, sample), 0, 0.0)]
        steps.append(Step(kept, -1, self._inside(refit, sample), 1, one_fit + clock.lap()))
        whole = Step(np.ones(d, dtype=bool), -1, refit.one(every), 1, clock.lap())
        self._record(steps, 1, sample.table.names, "keep", whole)
        return kept

    def _inside(self, refit: Refit, sample: Sample) -> Floats:
        """Scores with the selection made anew on the training rows of every fold."""
        every, scores = np.arange(sample.n_columns), []
        for train, test in refit.folds:
            try:
                model = refit.fitted(every, train)
                own = importance_of(model, sample.rows.take(train), sample.table.names, type(self).__name__)
                kept = np.flatnonzero(self._enough(own, model)[0])
                if not len(kept):
                    kept = np.array([int(np.argmax(own))])
                scores.append(refit.on_fold(kept, train, test)[0])
            except (ValueError, ArithmeticError):
                scores.append(float("nan"))
        return np.array(scores)

    def _enough(self, importances: Floats, model: Any) -> tuple[Bools, float]:
        """Which columns are important enough, and the threshold."""
        least = self._threshold(importances, model)
        kept = importances >= least if least > 0 else importances > 0
        if self.max_columns is not None:
            kept &= np.isin(np.arange(len(importances)), np.argsort(-importances, kind="stable")[: self.max_columns])
        return kept, least

    def _threshold(self, importances: Floats, model: Any) -> float:
        wanted = self.threshold
        if wanted == "auto":
            wanted = "nonzero" if _is_sparse_model(model) else "mean"
        if wanted == "nonzero":
            return ZERO * float(importances.max(initial=0.0))
        if wanted == "mean":
            return float(importances.mean())
        if wanted == "median":
            return float(np.median(importances))
        if isinstance(wanted, (int, float)) and not isinstance(wanted, bool) and wanted >= 0:
            return float(wanted)
        raise ValueError(
            f"{type(self).__name__}: threshold must be 'auto', 'mean', 'median', 'nonzero' or a number from 0; got "
            f"{wanted!r}."
        )

    def importances(self) -> pd.DataFrame:
        """Importance of each column, largest first, and whether it is kept."""
        import pandas as pd

        check_is_fitted(self)
        table = pd.DataFrame({"column": self.columns_, "importance": self.importances_, "kept": self.support_})
        return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    def sections(self) -> list[Section]:
        """Adds the importances."""
        pages = super().sections()
        pages.insert(1, Section("Importance", f"threshold {self.threshold_:.4g}", self.importances()))
        return pages


def _no_score(*_: Any, **__: Any) -> float:
    return float("nan")


def _is_sparse_model(model: Any) -> bool:
    """Whether some weight of a linear model is exactly zero by its penalty."""
    coef = getattr(last_step(model), "coef_", None)
    return coef is not None and bool((np.asarray(coef) == 0).any())


def importance_of(model: Any, X: Any, names: list[str], owner: str) -> Floats:
    """Importance of each of the given columns for a fitted model, or for the last of a pipeline that keeps columns."""
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        return importance_of(model.steps[-1][1], model[:-1].transform(X), names, owner)
    own = getattr(model, "n_features_in_", len(names)) == len(names)
    if own and isinstance(getattr(model, "terms_", None), Terms):
        return _linear_importance(model, X)
    coef = getattr(model, "coef_", None)
    importances = getattr(model, "feature_importances_", None) if coef is None else coef
    if own and importances is not None and np.asarray(importances).shape[-1:] == (len(names),):
        size = np.abs(np.asarray(importances, dtype=np.float64)).reshape(-1, len(names)).max(axis=0)
        return size * np.nanstd(np.asarray(X, dtype=np.float64), axis=0) if coef is not None else size
    raise TypeError(
        f"{owner}: {type(model).__name__} gives no importance for its {len(names)} columns (coef_ or "
        "feature_importances_); use a linear model or trees, or ForwardSelection, which takes any model."
    )


def _linear_importance(model: Any, X: Any) -> Floats:
    """|weight| x sd of its term, largest over classes, summed over the terms of a column."""
    terms = model.terms_
    dense = np.asarray(terms.design(model._table(X, warn=False)).dense(), dtype=np.float64)
    coef = np.abs(np.asarray(model.coef_, dtype=np.float64)).reshape(-1, dense.shape[1]).max(axis=0)
    size = coef * dense.std(axis=0)
    origin, place = model.plan_.origin(), {name: j for j, name in enumerate(model.schema_.names)}
    out = np.zeros(len(place))
    np.add.at(out, [place[origin.get(n, n)] for n in terms.owners], size)
    return out
