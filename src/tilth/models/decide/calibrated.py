"""Probabilities that say what happens: a model inside, and a map from its scores learned on rows it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Recipe, Section, Traits
from tilth.base.answers import says
from tilth.base.inner import Inner
from tilth.models.decide.wrapper import AroundClassifier
from tilth.params import declared, param
from tilth.parts.calibrators import METHODS, apply_map, fit_map, log_odds, odds_floor, reliability

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
_TINY = float(np.finfo(np.float64).eps)
_WORDS = {
    "none": "none; the scores of the model inside are kept as they are",
    "sigmoid": "sigmoid s({:.4g} z + {:.4g})",
    "beta": "beta s({:.4g} ln q - {:.4g} ln(1 - q) + {:.4g})",
    "isotonic": "isotonic",
}


@declared
class CalibratedClassifier(AroundClassifier):
    """Turn the scores of any classifier into probabilities that come true.

    Out-of-fold scores z (log-odds, or distances where there are no probabilities) and what happened teach a map of each
    class: "sigmoid" s(a z + b) (Platt), "beta" s(a ln q - b ln(1 - q) + c) with q = s(z), "isotonic" any rising one.
    Maps of more than two classes are one against the rest, and their answers are divided by their sum. Then the model
    inside learns all rows. "auto" takes the simplest map, "none" among them, whose out-of-fold log loss is within one
    standard error of the least.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1)) @ np.ones((1, 8)) + rng.normal(size=(500, 8))
    >>> y = X.mean(axis=1) + rng.normal(size=500) > 0
    >>> from tilth import GaussianNB
    >>> sure = GaussianNB().fit(X, y).predict_proba(X).max(axis=1).mean()
    >>> model = CalibratedClassifier(estimator=GaussianNB()).fit(X, y)
    >>> model.method_, bool(model.predict_proba(X).max(axis=1).mean() < sure)
    ('sigmoid', True)
    """

    card: ClassVar[Card] = Card(
        "Any classifier, with its scores turned into calibrated probabilities.",
        Traits("classification", parametric=False, probabilistic=True),
        (
            Assumption(
                "New rows come from the same source as the training rows.", "The probabilities or intervals are off."
            ),
            Assumption(
                "There are enough rows for the calibration map: about 50 of each class, 500 for isotonic.",
                "The map is noise; 'auto' then keeps the simplest.",
                "comparison",
            ),
        ),
        Complexity("(folds + 1) fits", "one answer of the model inside", "that of the model inside"),
        (
            "Platt 1999, Probabilistic outputs for support vector machines",
            "Zadrozny & Elkan 2002, Transforming classifier scores into accurate multiclass probability estimates",
            "Kull, Silva Filho & Flach 2017, Beta calibration",
        ),
    )
    learned: ClassVar[dict[str, str]] = {
        "estimator_": "any",
        "method_": "str[]",
        "maps_": "list",
        "floor_": "float[]",
        "losses_": "dict",
        "reliability_": "dict",
    }
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"folds": 3}, {"folds": 3, "method": "isotonic"})

    method: str = param(
        "auto", options=("auto", *METHODS), doc="The map from scores to probabilities; auto chooses by log loss."
    )

    def recipe(self) -> Recipe:
        """Log loss of a map with few parameters."""
        return Recipe(
            "scores of rows by models that have not seen them [folds]",
            f"{self._inner_words()} [estimator] and a rising map of its scores [method]",
            "log loss (sigmoid, beta), squared error (isotonic)",
            "Newton steps (sigmoid, beta), pooling of neighbours (isotonic)",
        )

    # ------------------------------------------------------------------------------------------------------- learning

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        probable = self._uses_probabilities(inner)
        k = len(self.classes_)
        self.method_, self.maps_, self.losses_, self.reliability_ = "none", [], {}, {}
        self.floor_ = 0.01
        if k > 1:
            scores, part = self._out_of_fold(inner, self._seed())
            self.floor_ = odds_floor(scores) if probable else 0.01
            z = self._log_odds(scores, probable)
            crossed = {m: self._crossed(m, z, target, inner.weight, part) for m in self._wanted(probable)}
            rows = {m: -np.log(np.clip(p[np.arange(len(p)), target], _TINY, 1)) for m, p in crossed.items()}
            self.losses_ = {m: float(np.average(v, weights=inner.weight)) for m, v in rows.items()}
            self.method_ = _simplest(rows, inner.weight)
            self.maps_ = _maps(self.method_, z, target, inner.weight)
            before = _probabilities("none", _maps("none", z, target, None), z)
            self.reliability_ = {
                "before": _bins(before, target, inner.weight),
                "after": _bins(crossed[self.method_], target, inner.weight),
            }
        self.estimator_ = inner.fit()

    def _wanted(self, probable: bool) -> list[str]:
        if self.method != "auto":
            return [self.method]
        return [m for m in METHODS if probable or m != "none"]

    def _log_odds(self, scores: Floats, probable: bool) -> Floats:
        """Scores whose maps are learned: of the second of two classes alone, n x 1, else of every class, n x k."""
        if scores.shape[1] == 2:
            return log_odds(scores[:, 1:], self.floor_) if probable else scores[:, 1:] - scores[:, :1]
        return log_odds(scores, self.floor_) if probable else scores

    def _crossed(
        self, method: str, z: Floats, target: NDArray[Any], weight: Floats | None, part: NDArray[np.int64]
    ) -> Floats:
        """Probabilities of every row by maps that were learned without its fold."""
        out = np.empty((len(z), len(self.classes_)))
        for k in range(int(part.max()) + 1):
            others = part != k
            maps = _maps(method, z[others], target[others], None if weight is None else weight[others])
            out[~others] = _probabilities(method, maps, z[~others])
        return out

    def validate_state(self) -> None:
        """Refuse a state that cannot answer."""
        k = len(self.classes_)
        wanted = 0 if k == 1 else 1 if k == 2 else k
        shape = {"none": (1, 0), "sigmoid": (1, 2), "beta": (1, 3)}.get(self.method_)
        if self.method_ not in METHODS or len(self.maps_) != wanted:
            raise ValueError(f"there are {len(self.maps_)} maps of method {self.method_!r:.20} for {k} classes")
        for learned in self.maps_:
            fits = isinstance(learned, np.ndarray) and learned.ndim == 2 and learned.dtype == np.float64
            if not fits or (learned.shape != shape if shape else learned.shape[0] != 2 or not learned.shape[1]):
                raise ValueError(f"a map of method {self.method_!r} has another shape")

    # -------------------------------------------------------------------------------------------------------- answers

    def probabilities(self, table: Any) -> Floats:
        """The maps of the scores of the model inside."""
        scores = self._inner_scores(table)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return _probabilities(
            self.method_, self.maps_, self._log_odds(scores, "probabilities" in says(self.estimator_))
        )

    # ------------------------------------------------------------------------------------------------------- speaking

    def comparison(self) -> pd.DataFrame:
        """Out-of-fold log loss of every map that was tried, each learned without the fold that it answers."""
        import pandas as pd

        check_is_fitted(self)
        frame = pd.DataFrame({"method": list(self.losses_), "log loss": list(self.losses_.values())})
        return frame.assign(chosen=frame["method"] == self.method_)

    def plot(self) -> Any:
        """What happened over what was promised, before and after, out of fold; a matplotlib Figure."""
        from tilth.plot.decisions import reliability_plot

        check_is_fitted(self)
        lines = {name: (points[:, 0], points[:, 1]) for name, points in self.reliability_.items()}
        if not lines:
            lines = {"one class": (np.ones(1), np.ones(1))}
        what = f"P({self.classes_[-1]})" if len(self.classes_) == 2 else "probability of the answer"
        return reliability_plot(lines, title=f"{what}, out of fold")

    def sections(self) -> list[Section]:
        """The map and what it rests on."""
        chosen = "there is one class, so there is none" if not self.maps_ else _WORDS[self.method_]
        if self.method_ == "isotonic":
            chosen += f" with {', '.join(str(m.shape[1]) for m in self.maps_[:6])} knots"
        elif self.maps_:
            chosen = "; ".join(chosen.format(*learned[0]) for learned in self.maps_[:6])
        text = f"Map of the scores: {chosen}."
        if "none" in self.losses_ and self.method_ != "none":
            saved = self.losses_["none"] - self.losses_[self.method_]
            text += f" It lowers the out-of-fold log loss by {saved:.4g}, from {self.losses_['none']:.4g}."
        return [*super().sections(), Section("Calibration", text, self.comparison(), figure=self.plot)]


def _maps(method: str, z: Floats, target: NDArray[Any], weight: Floats | None) -> list[Floats]:
    """One map for two classes, else one per class against the rest."""
    first = 1 if z.shape[1] == 1 else 0
    return [fit_map(method, z[:, j], target == j + first, weight) for j in range(z.shape[1])]


def _probabilities(method: str, maps: list[Floats], z: Floats) -> Floats:
    shares = np.column_stack([apply_map(method, learned, z[:, j]) for j, learned in enumerate(maps)])
    if shares.shape[1] == 1:
        return np.column_stack([1 - shares[:, 0], shares[:, 0]])
    total = shares.sum(axis=1, keepdims=True)
    # No class is possible by any of the maps: then all are equally so.
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1])


def _simplest(rows: dict[str, Floats], weight: Floats | None) -> str:
    """The first method whose mean loss is within one standard error of the least."""
    best = min(rows, key=lambda m: float(np.average(rows[m], weights=weight)))
    for method, losses in rows.items():
        gap = losses - rows[best]
        mean = float(np.average(gap, weights=weight))
        spread = np.sqrt(np.average((gap - mean) ** 2, weights=weight) / len(gap))
        if mean <= spread:
            return method
    return best


def _bins(probability: Floats, target: NDArray[Any], weight: Floats | None) -> Floats:
    """Promised, happened and rows of ten bins: of the second of two classes, or of the answer."""
    if probability.shape[1] == 2:
        p, event = probability[:, 1], target == 1
    else:
        p, event = probability.max(axis=1), target == probability.argmax(axis=1)
    bins = reliability(p, event, weight)
    return np.column_stack([bins.promised, bins.happened, bins.n])
