"""Early stopping that does not peek: held-out rows pass through steps that were learned without them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if

from tilth.base.columns import take_rows
from tilth.base.foreign import last_step, takes_weights
from tilth.base.target import check_weight
from tilth.data.table import RawTable
from tilth.evaluate.splits import make_splits

F = TypeVar("F", bound=Callable[..., Any])


def stops_early(model: Any) -> bool:
    """Whether the model, or the last step of a pipeline, is set to stop early and can be given the held-out rows."""
    last = last_step(model)
    wanted = getattr(last, "early_stopping", False) is True
    return wanted and hasattr(last, "fit") and "eval_set" in inspect.signature(last.fit).parameters


def _has(method: str) -> Callable[[F], F]:
    return cast(Callable[[F], F], available_if(lambda self: hasattr(self._asked(), method)))


class EarlyStopped(BaseEstimator):
    """A model or pipeline whose held-out rows are put aside before anything is learned.

    A booster inside a pipeline that holds out rows by itself gets them after the steps before it have learned from
    them too: scales, filled-in values and chosen columns know the rows that are to say when to stop. Here the rows are
    parted first, the steps learn from the rest, and the held-out rows are converted by them (``eval_set``). With
    ``refit=True`` of the model the rounds that were found are then learned from all rows.

    Parameters
    ----------
    estimator : a model, or a pipeline whose last step is one, with ``early_stopping=True`` and ``fit(eval_set=)``.
    validation_fraction : share of the rows held out; None takes that of the model.
    random_state : seed of the choice.

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from tilth import GradientBoostingRegressor, Standardise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> booster = GradientBoostingRegressor(early_stopping=True, n_estimators=300)
    >>> model = EarlyStopped(make_pipeline(Standardise(), booster)).fit(X, X[:, 0] + rng.normal(size=200))
    >>> model.estimator_[-1].n_iter_ < 300, len(model.held_)
    (True, 20)
    """

    def __init__(self, estimator: Any, *, validation_fraction: float | None = None, random_state: int = 0) -> None:
        self.estimator = estimator
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def _asked(self) -> Any:
        return self.__dict__.get("estimator_", self.estimator)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Hold rows out, learn the steps from the others, boost until the held-out loss no longer falls."""
        model = clone(self.estimator)
        last = last_step(model)
        if not stops_early(model):
            raise TypeError(
                f"EarlyStopped needs a last step with early_stopping=True and fit(eval_set=); got {last!r}."
            )
        labels = np.asarray(y)
        share = last.validation_fraction if self.validation_fraction is None else self.validation_fraction
        split = make_splits(
            "holdout", labels, task="classification" if is_classifier(model) else "regression", test_size=share,
            groups=None if groups is None else np.asarray(groups), seed=self.random_state,
        ).parts[0]  # fmt: skip
        weight = check_weight(sample_weight, len(labels), "EarlyStopped")
        if weight is not None and not takes_weights(last):
            raise ValueError(f"{type(last).__name__}.fit takes no sample_weight.")
        learned, held = _rows(X, split.train), _rows(X, split.test)
        if last is not model:
            # A slice of a pipeline holds the very same steps: what they learn here is in the whole pipeline.
            head = model[:-1]
            learned, held = head.fit_transform(learned, labels[split.train]), head.transform(held)
        extras: dict[str, Any] = {"eval_set": (held, labels[split.test])}
        if weight is not None:
            extras = {"sample_weight": weight[split.train], "eval_set": (held, labels[split.test], weight[split.test])}
        last.fit(learned, labels[split.train], **extras)
        if getattr(last, "refit", False):
            model, last = self._refitted(X, y, weight, last.n_iter_)
        self.estimator_, self.held_ = model, split.test
        if is_classifier(model):
            self.classes_ = last.classes_
        return self

    def _refitted(self, X: Any, y: Any, weight: Any, rounds: int) -> tuple[Any, Any]:
        """The model and its last step, with so many rounds, learned from all rows."""
        model = clone(self.estimator)
        last = last_step(model)
        last.set_params(early_stopping=False, n_estimators=rounds)
        name = "sample_weight" if last is model else f"{model.steps[-1][0]}__sample_weight"
        return model.fit(X, y, **({} if weight is None else {name: weight})), last

    def predict(self, X: Any) -> NDArray[Any]:
        """Answers of the model."""
        return np.asarray(self.estimator_.predict(X))

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the model."""
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the model."""
        return np.asarray(self.estimator_.decision_function(X))


def _rows(X: Any, index: NDArray[Any]) -> Any:
    if isinstance(X, RawTable):
        return X.matrix[index] if X.is_sparse else take_rows(X, index)
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, index)
