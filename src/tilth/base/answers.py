"""All that a fitted model says of rows, ours or another library's: ``answers(model, X, need)``.

A model of ours declares what it says (:meth:`~tilth.base.estimator.Estimator.says`) and answers every need from one
conversion of the rows; a pipeline passes the rows through its steps once. What a model of another library says is what
scikit-learn's methods on it are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

Floats = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])
Need = Literal["prediction", "probabilities", "scores", "intervals", "sets", "p_values", "transformed"]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model says of rows; None for what was not needed or what it does not say.

    ``prediction`` is the class, number, cluster, or -1 beside 1 of each row. ``probabilities`` are n x k in the order
    of ``classes``. ``scores`` are a classifier's ``decision_function`` ([n] for two classes, else n x k), the anomaly
    score of a detector (high for anomalies) or log p(x) of a density. ``intervals`` are low and high, n x 2; ``sets``
    say which classes cannot be ruled out, n x k.
    """

    prediction: Any = None
    probabilities: Floats | None = None
    scores: Floats | None = None
    intervals: Floats | None = None
    sets: NDArray[np.bool_] | None = None
    p_values: Floats | None = None
    transformed: Any = None
    classes: NDArray[Any] | None = None

    def probabilities_among(self, classes: NDArray[Any]) -> Floats:
        """Probabilities in the order of other classes; a class that the model never met has none."""
        assert self.probabilities is not None
        out = np.zeros((len(self.probabilities), len(classes)))
        out[:, self._places(classes)] = self.probabilities
        return out

    def scores_among(self, classes: NDArray[Any]) -> Floats:
        """Scores n x k in the order of other classes, for two classes their half lead with either sign."""
        assert self.scores is not None
        scores = np.asarray(self.scores, dtype=np.float64).reshape(len(self.scores), -1)
        places = self._places(classes)
        out = np.full((len(scores), len(classes)), scores.min() - 1.0 if scores.size else 0.0)
        if len(places) == 1:
            out[:, places[0]] = scores.max() + 1.0
        elif scores.shape[1] == 1:
            out[:, places[0]], out[:, places[1]] = -scores[:, 0] / 2, scores[:, 0] / 2
        else:
            out[:, places] = scores
        return out

    def _places(self, classes: NDArray[Any]) -> list[int]:
        place = {label: i for i, label in enumerate(classes.tolist())}
        return [place[label] for label in np.asarray(self.classes).tolist()]


def says(model: Any) -> tuple[Need, ...]:
    """What a model says of rows. A wrapper or a fitted detector may say more or less by how it was made.

    >>> from sklearn.svm import LinearSVC
    >>> says(LinearSVC())
    ('prediction', 'scores')
    """
    from tilth.base.estimator import Estimator

    if isinstance(model, Estimator):
        return model.says()
    if type(model) is Pipeline and model.steps and not isinstance(model.steps[-1][1], str | None):
        return says(model.steps[-1][1])
    return tuple(need for need, methods in _METHODS.items() if any(hasattr(model, m) for m in methods))


def answers(model: Any, X: Any, need: Collection[Need] | None = None, *, level: float | None = None) -> Outputs:
    """What a fitted model says of rows, as far as it is needed (None: all of it), from one conversion of the rows.

    Parameters
    ----------
    need : of prediction, probabilities, scores, intervals, sets, p_values, transformed; what the model does not say
        stays None.
    level : share of new rows that intervals and sets are to cover; None takes the model's own.
    """
    from tilth.base.estimator import Estimator

    wanted = [n for n in says(model) if need is None or n in need]
    if type(model) is Pipeline and not isinstance(model.steps[-1][1], str | None):
        rows = X if len(model.steps) == 1 else model[:-1].transform(X)
        return answers(model.steps[-1][1], rows, wanted, level=level)
    public = [n for n in wanted if not isinstance(model, Estimator) or _overridden(type(model), n)]
    parts = {n: _foreign(model, X, n) for n in public}
    if len(public) < len(wanted):
        parts |= model.outputs(X, [n for n in wanted if n not in public], level)
    return Outputs(**cast(dict[str, Any], parts), classes=getattr(model, "classes_", None))


def offered(need: Need) -> Callable[[F], F]:
    """A method that only models that say so have; scikit-learn's tools ask by ``hasattr``."""
    return cast(Callable[[F], F], available_if(lambda model: need in model.says()))


#: Where scikit-learn's models say each of them; the first that is there is asked.
_METHODS: dict[Need, tuple[str, ...]] = {
    "prediction": ("predict",), "probabilities": ("predict_proba",), "scores": ("decision_function", "score_samples"),
    "transformed": ("transform",),
}  # fmt: skip


def _overridden(cls: type, need: Need) -> bool:
    """Whether a class that somebody derived from ours has a method of its own for this need."""
    own = [vars(c) for c in cls.__mro__ if not c.__module__.startswith(("tilth.", "sklearn.", "builtins"))]
    return any(method in names for names in own for method in _METHODS.get(need, ()))


def _foreign(model: Any, X: Any, need: Need) -> Any:
    from sklearn.base import is_outlier_detector

    answer = getattr(model, next(m for m in _METHODS[need] if hasattr(model, m)))(X)
    if need == "transformed":
        return answer
    answer = np.asarray(answer)
    return -answer.astype(np.float64) if need == "scores" and is_outlier_detector(model) else answer
