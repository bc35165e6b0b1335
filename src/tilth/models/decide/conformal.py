"""Answers with a promise: intervals and sets of classes that hold the truth for a chosen share of new rows.

The promise rests on nothing but exchangeable rows: scores of rows that a model has not seen say how strange the truth
may look. The model may be any; a poor one gets wide intervals and large sets, not broken promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Assumption, Card, Complexity, Recipe, Regressor, Section, Traits
from tilth.base.answers import Need
from tilth.base.inner import Inner, answers_of, class_scores
from tilth.base.target import codes_among, numbers_of, one_dimensional, split_target
from tilth.data.kinds import level_key
from tilth.data.table import RawTable
from tilth.models.catalogue import estimator_class
from tilth.models.decide.coverage import Coverage
from tilth.models.decide.wrapper import Around, AroundClassifier
from tilth.params import declared, param
from tilth.parts.conformity import (
    SetMethod,
    conformal_quantile,
    label_scores,
    needed,
    outside_scores,
    plus_bound,
    weight_below,
)
from tilth.stats.folds import pairs_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXCHANGEABLE = Assumption(
    "New rows come from the same source as the calibration rows, in any order (exchangeable).",
    "Coverage falls below the level; compare coverage_report(X, y) over time.",
    "coverage_report",
)


@declared
class Conformal(Around):
    """What intervals and sets share: the held-out scores, their strata, and the report of coverage."""

    learned: ClassVar[dict[str, str]] = {
        "estimator_": "any",
        "estimators_": "list",
        "calibration_scores_": "float[c]",
        "calibration_fold_": "int[c]",
        "calibration_stratum_": "int[c]",
        "calibration_weight_": "float[c]?",
        "strata_": "list",
    }

    level: float = param(0.9, low=0.0, low_open=True, high=1.0, doc="Share of new rows whose truth is to be covered.")
    calibration_size: float = param(
        0.25, low=0.0, low_open=True, high=0.9, doc="Share of the rows held out where the method is a single split."
    )
    by: str | None = param(
        None, doc="A column by whose values rows are calibrated apart, so that the level holds for each of them."
    )

    def _split(self, inner: Inner, *, folds: int | None, stratify: bool) -> list[tuple[Ints, Ints]]:
        """Pairs of rows to learn from and rows to calibrate on: one pair, or one per fold."""
        self._level(None)
        if folds is None:
            return [inner.held_out(self.calibration_size, self._seed(), stratify=stratify)]
        return pairs_of(inner.folds(folds, self._seed(), stratify=stratify))

    def _keep(self, inner: Inner, rows: Ints, scores: Floats, fold: Ints, strata: tuple[list[Any], Ints]) -> None:
        self.calibration_scores_, self.calibration_fold_ = scores, fold
        self.strata_, stratum = strata
        self.calibration_stratum_ = stratum[rows]
        self.calibration_weight_ = None if inner.weight is None else inner.weight[rows]

    def _strata(self, raw: RawTable) -> tuple[list[Any], Ints]:
        """Distinct values of the column ``by``, as texts, and the place of every row's among them."""
        if self.by is None:
            return [], np.zeros(raw.n_rows, dtype=np.int64)
        values = self._column_values(raw)
        known, places = np.unique(values, return_inverse=True)
        return known.tolist(), places.astype(np.int64)

    def _column_values(self, raw: RawTable) -> NDArray[Any]:
        if raw.is_sparse:
            raise ValueError(f"{type(self).__name__}: by={self.by!r} names a column, and a sparse matrix has none.")
        column = raw.column(str(self.by))
        if column.levels:
            cells = [*(level_key(v) for v in column.levels), "missing"]
            return np.array(cells)[column.values]
        return np.array([level_key(v.item()) if v == v else "missing" for v in column.values])

    def _stratum_of(self, raw: RawTable) -> Ints:
        """Which stratum each new row belongs to; -1 for a value that calibration did not have."""
        if self.by is None:
            return np.zeros(raw.n_rows, dtype=np.int64)
        place = {v: i for i, v in enumerate(self.strata_)}
        return np.array([place.get(v, -1) for v in self._column_values(raw).tolist()], dtype=np.int64)

    def _calibration(self, stratum: int) -> tuple[Floats, Ints, Floats | None]:
        """Scores, folds and weights of a stratum; of all rows for one that calibration did not have."""
        chosen = np.ones(len(self.calibration_scores_), bool) if stratum < 0 else self.calibration_stratum_ == stratum
        weight = None if self.calibration_weight_ is None else self.calibration_weight_[chosen]
        return self.calibration_scores_[chosen], self.calibration_fold_[chosen], weight

    def _level(self, level: float | None) -> float:
        wanted = self.level if level is None else level
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float, np.number)) or not 0 < wanted < 1:
            raise ValueError(f"{type(self).__name__}: level must lie between 0 and 1, as in 0.9; got {wanted!r}.")
        return float(wanted)

    def validate_state(self) -> None:
        """Refuse a state whose scores and models do not fit together."""
        fold, stratum = self.calibration_fold_, self.calibration_stratum_
        if len(fold) and not (fold.min() >= 0 and fold.max() < max(len(self.estimators_), 1)):
            raise ValueError(f"calibration_fold_ names a model beyond the {len(self.estimators_)} there are")
        if len(stratum) and not (stratum.min() >= 0 and stratum.max() < max(len(self.strata_), 1)):
            raise ValueError(f"calibration_stratum_ names one beyond the {len(self.strata_)} there are")

    def _least_rows(self) -> int:
        """Calibration rows without which a level cannot be promised: ceil(level / (1 - level))."""
        return int(np.ceil(np.round(self.level / (1 - self.level), 9)))

    def _promise(self) -> str:
        """What is promised, in words."""
        held = [len(self._calibration(s)[0]) for s in range(max(len(self.strata_), 1))]
        text = f"{len(self.calibration_scores_)} calibration scores of rows that their model had not seen."
        if self.strata_:
            text += f" Calibrated apart for {len(self.strata_)} values of {self._parted()}, {min(held)} rows at least."
        if min(held) < self._least_rows():
            text += (
                f" A level of {self.level:g} needs {self._least_rows()} calibration rows (of each value): where there "
                "are fewer, the answer is everything."
            )
        return text

    def _parted(self) -> str:
        return repr(self.by)


# -------------------------------------------------------------------------------------------------------------- numbers


@declared
class ConformalRegressor(Conformal, Regressor):
    """Predictions with intervals that hold the truth for a share ``level`` of new rows, whatever the model inside.

    split: a part of the rows is held out; f(x) +- q, q the ceil((n + 1) level)-th smallest of its |y - f(x)|.
    cv+ and jackknife+: a model per fold (per row); the ends are quantiles of f_-i(x) -+ |y_i - f_-i(x_i)| over all rows
    i. At least 2 level - 1 is promised, and about ``level`` is kept. cqr: a low and a high quantile model and the
    held-out max(low - y, y - high), so that intervals are wide where the target spreads; the prediction is the median
    model's. ``by`` makes the level hold for every value of a column.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(600, 1))
    >>> y = 2 * X[:, 0] + rng.normal(size=600)
    >>> model = ConformalRegressor(level=0.9).fit(X[:400], y[:400])
    >>> ends = model.predict_interval(X[400:])
    >>> bool(0.85 < ((ends["low"] <= y[400:]) & (y[400:] <= ends["high"])).mean() < 0.95)
    True
    """

    card: ClassVar[Card] = Card(
        "Intervals that hold the truth for a chosen share of new rows, around any regressor.",
        Traits("regression", parametric=False),
        (EXCHANGEABLE,),
        Complexity("1 fit (split), 3 (cqr), folds + 1 (cv+), n + 1 (jackknife+)", "one answer of each model", "O(n)"),
        (
            "Vovk, Gammerman & Shafer 2005, Algorithmic learning in a random world",
            "Romano, Patterson & Candes 2019, Conformalized quantile regression",
            "Barber, Candes, Ramdas & Tibshirani 2021, Predictive inference with the jackknife+",
        ),
    )
    usual: ClassVar[str] = "LinearRegression"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"method": "cv+", "folds": 3}, {"method": "cqr"})
    hooks: ClassVar[dict[Need, str]] = {"prediction": "values", "intervals": "intervals"}

    method: str = param(
        "split", options=("split", "cv+", "jackknife+", "cqr"), doc="How rows are used to learn and to calibrate."
    )
    folds: int = param(5, low=2, doc="Parts of the rows for cv+.")

    def recipe(self) -> Recipe:
        """A quantile of held-out scores."""
        return Recipe(
            "rows to learn from and rows to calibrate on [method, calibration_size, folds]",
            f"{self._inner_words()} [estimator] and a width",
            "the least width whose held-out coverage is the level [level]",
            "the ceil((n + 1) level)-th smallest score",
        )

    def _inner_estimator(self) -> Any:
        if self.estimator is None and self.method == "cqr":
            return estimator_class("QuantileRegressor")(alpha=0.0)
        return super()._inner_estimator()

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        several = {"cv+": self.folds, "jackknife+": inner.n_rows}.get(self.method)
        pairs = self._split(inner, folds=several, stratify=False)
        self.estimators_ = []
        rows = np.concatenate([test for _, test in pairs])
        scores, fold = np.empty(inner.n_rows), np.empty(inner.n_rows, dtype=np.int64)
        if several is None:
            train, test = pairs[0]
            fold[test] = 0
            if self.method == "cqr":
                settings = _quantile_settings(inner.estimator, type(self).__name__)
                tail = (1 - self.level) / 2
                models = [inner.fit(train, quiet=i > 0, **settings(q)) for i, q in enumerate((0.5, tail, 1 - tail))]
                self.estimator_, self.estimators_ = models[0], models[1:]
                low, high = self._band(inner.rows(test))
                scores[test] = outside_scores(target[test], low, high)
            else:
                self.estimator_ = inner.fit(train)
                scores[test] = np.abs(target[test] - _values(self.estimator_, inner.rows(test)))
        else:
            for k, (_, test) in enumerate(pairs):
                fold[test] = k

            def answer(model: Any, test: Ints) -> None:
                scores[test] = np.abs(target[test] - _values(model, inner.rows(test)))

            self.estimators_ = inner.over_folds(fold, answer, "learning on folds")
            self.estimator_ = inner.fit()
        self._keep(inner, rows, scores[rows], fold[rows], self._strata(inner.raw))

    def _band(self, raw: RawTable) -> tuple[Floats, Floats]:
        ends = np.sort(np.column_stack([_values(m, raw) for m in self.estimators_]), axis=1)
        return ends[:, 0], ends[:, 1]

    def values(self, table: Any) -> Floats:
        """Predictions of the model inside."""
        return _values(self.estimator_, table)

    def predict_interval(self, X: Any, level: float | None = None) -> pd.DataFrame:
        """prediction, low and high of each row; ends are infinite where there are too few calibration rows."""
        import pandas as pd

        self._level(level)
        rows = self._rows(X)
        prediction = self.values(rows)
        low, high = self.intervals(rows, level, prediction).T
        return pd.DataFrame({"prediction": prediction, "low": low, "high": high})

    def intervals(self, rows: RawTable, level: float | None = None, prediction: Floats | None = None) -> Floats:
        """Low and high of rows, n x 2."""
        wanted = self._level(level)
        if self.method == "cqr":
            centres = np.column_stack([-self._band(rows)[0], self._band(rows)[1]])[:, :, None]
        elif self.estimators_:
            each = np.column_stack([_values(m, rows) for m in self.estimators_])
            centres = np.stack([-each, each], axis=1)
        else:
            prediction = self.values(rows) if prediction is None else prediction
            centres = np.stack([-prediction, prediction], axis=1)[:, :, None]
        stratum = self._stratum_of(rows)
        ends = np.empty((rows.n_rows, 2))
        for s in np.unique(stratum):
            scores, fold, weight = self._calibration(int(s))
            here = stratum == s
            for side in (0, 1):
                ends[here, side] = plus_bound(centres[here, side], fold, scores, wanted, weight)
        # Bands that cross by more than the width (cqr) leave no room: then the middle is the interval.
        low, high = -ends[:, 0], ends[:, 1]
        crossed = low > high
        low[crossed] = high[crossed] = (low[crossed] + high[crossed]) / 2
        return np.column_stack([low, high])

    def coverage_report(self, X: Any, y: Any = None, level: float | None = None) -> Coverage:
        """How many rows with known target are covered: all, by width of the interval, by the values of ``by``."""
        owner = type(self).__name__
        raw, labels, _ = split_target(X, y, owner)
        true = numbers_of(one_dimensional(labels, raw.n_rows, owner), owner)
        bounds = self.predict_interval(raw, level)
        low, high = bounds["low"].to_numpy(), bounds["high"].to_numpy()
        width = high - low
        parts: dict[str, NDArray[Any]] = {}
        if len(np.unique(width)) > 1:
            edges = np.unique(np.quantile(width, [0.25, 0.5, 0.75]))
            ends = ["narrowest quarter", "second quarter", "third quarter", "widest quarter"]
            parts["width"] = np.array(ends)[np.searchsorted(edges, width, side="left")]
        if self.by is not None:
            parts[self.by] = self._column_values(self._aligned(raw))
        covered = (true >= low) & (true <= high)
        drawn = (bounds["prediction"].to_numpy(), low, high, true)
        held = len(self.calibration_scores_)
        return Coverage.of(covered, width, parts, self._level(level), "width", owner, drawn, held)

    def plot(self) -> Any:
        """The calibration scores and the bound that covers the level; a matplotlib Figure."""
        from tilth.plot.decisions import score_histogram

        check_is_fitted(self)
        bound = conformal_quantile(self.calibration_scores_, self.level, self.calibration_weight_)
        name = "distance outside the band" if self.method == "cqr" else "absolute error on rows not learned from"
        return score_histogram(self.calibration_scores_, bound, name, self.level)

    def sections(self) -> list[Section]:
        """The promise and what it rests on."""
        bound = conformal_quantile(self.calibration_scores_, self.level, self.calibration_weight_)
        width = {"cqr": "band of the quantile models", "split": "prediction"}.get(
            self.method, "predictions of the folds"
        )
        text = f"{self.level:.0%} intervals by {self.method}: the {width} -+ {bound:.4g}. {self._promise()}"
        return [*super().sections(), Section("Intervals", text, figure=self.plot)]


def _values(model: Any, raw: RawTable) -> Floats:
    return np.asarray(answers_of(model, raw, "prediction").prediction, dtype=np.float64).reshape(raw.n_rows)


def _quantile_settings(estimator: Any, owner: str) -> Any:
    """How an estimator is told which quantile to predict: a function from the quantile to parameters."""
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    name = "quantile" if "quantile" in known else "alpha" if known.get("loss") == "quantile" else None
    if name is None or (name == "quantile" and known.get("loss", "quantile") != "quantile"):
        raise ValueError(
            f"{owner}: method='cqr' needs an estimator of quantiles, such as QuantileRegressor() or "
            f"GradientBoostingRegressor(loss='quantile'); got {type(estimator).__name__}."
        )
    return lambda q: {name: float(q)}


# -------------------------------------------------------------------------------------------------------------- classes


@declared
class ConformalClassifier(Conformal, AroundClassifier):
    """Sets of classes that hold the true one for a share ``level`` of new rows, whatever the model inside.

    The score of a class says how strange it is: lac 1 - p (smallest sets on average), aps the summed probability of all
    classes at least as probable (sets that grow where the model is unsure), raps aps plus a price on long sets. A class
    is in the set where fewer than (n + 1) level held-out scores are below its own. ``folds=None`` holds out one part;
    a number answers with a model per fold (CV+, at least 2 level - 1 is promised, about ``level`` is kept).
    ``by="class"`` makes the level hold for every true class, the name of a column for each of its values.

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> model = ConformalClassifier(level=0.95).fit(iris, iris.columns[-1])
    >>> sets = model.predict_set(iris)
    >>> [str(name) for name in sets.columns], bool((sets.sum(axis=1) >= 1).all())
    (['setosa', 'versicolor', 'virginica'], True)
    """

    card: ClassVar[Card] = Card(
        "Sets of classes that hold the true one for a chosen share of new rows, around any classifier.",
        Traits("classification", parametric=False, probabilistic=True),
        (EXCHANGEABLE,),
        Complexity("1 fit, or folds + 1", "one answer of each model", "O(n)"),
        (
            "Sadinle, Lei & Wasserman 2019, Least ambiguous set-valued classifiers with bounded error levels",
            "Romano, Sesia & Candes 2020, Classification with valid and adaptive coverage",
            "Angelopoulos, Bates, Malik & Jordan 2021, Uncertainty sets for image classifiers",
        ),
    )
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"folds": 3, "method": "aps"})
    hooks: ClassVar[dict[Need, str]] = {**AroundClassifier.hooks, "sets": "sets"}

    method: str = param("lac", options=("lac", "aps", "raps"), doc="How strange a class is for a row.")
    folds: int | None = param(  # type: ignore[assignment]
        None, low=2, doc="Parts of the rows, each answered by a model that learned the others; None holds out one part."
    )
    allow_empty: bool = param(
        False, options=(False, True), doc="Whether a set may be empty; else it holds the most probable class at least."
    )
    penalty: float = param(0.01, low=0.0, doc="Price of every class beyond free_classes (raps).", tune=(0.001, 0.2))
    free_classes: int = param(2, low=0, doc="Classes that cost nothing (raps).")

    def recipe(self) -> Recipe:
        """A quantile of held-out scores."""
        return Recipe(
            "rows to learn from and rows to calibrate on [calibration_size, folds]",
            f"{self._inner_words()} [estimator] and a border of strangeness [method]",
            "the least border whose held-out coverage is the level [level, by]",
            "counting the held-out scores below",
        )

    def _strangeness(self, model: Any, raw: RawTable) -> Floats:
        scores = class_scores(model, raw, self.classes_)
        return label_scores(scores, cast(SetMethod, self.method), self.penalty, self.free_classes)

    def _learn_around(self, inner: Inner, target: NDArray[Any]) -> None:
        if not self._uses_probabilities(inner):
            raise TypeError(
                f"{type(self).__name__} needs probabilities, which {self._inner_words()} does not give; put a "
                "CalibratedClassifier around it first."
            )
        pairs = self._split(inner, folds=self.folds, stratify=True)
        scores, fold = np.empty(inner.n_rows), np.empty(inner.n_rows, dtype=np.int64)
        for k, (_, test) in enumerate(pairs):
            fold[test] = k

        def answer(model: Any, test: Ints) -> None:
            scores[test] = self._strangeness(model, inner.rows(test))[np.arange(len(test)), target[test]]

        if self.folds is None:
            train, test = pairs[0]
            self.estimators_ = []
            self.estimator_ = inner.fit(train)
            answer(self.estimator_, test)
            rows = test
        else:
            self.estimators_ = inner.over_folds(fold, answer, "learning on folds")
            self.estimator_ = inner.fit()
            rows = np.arange(inner.n_rows)
        strata = (self.classes_.tolist(), target.astype(np.int64)) if self.by == "class" else self._strata(inner.raw)
        self._keep(inner, rows, scores[rows], fold[rows], strata)

    def _stratum_of(self, raw: RawTable) -> Ints:
        return np.zeros(raw.n_rows, dtype=np.int64) if self.by == "class" else super()._stratum_of(raw)

    def _parted(self) -> str:
        return "the true class" if self.by == "class" else super()._parted()

    def probabilities(self, table: Any) -> Floats:
        """Those of the model inside."""
        return self._inner_scores(table)

    def predict_set(self, X: Any, level: float | None = None) -> pd.DataFrame:
        """Whether each class (column) is in the set of each row."""
        import pandas as pd

        self._level(level)
        inside = self.sets(self._rows(X), level)
        return pd.DataFrame(inside, columns=pd.Index(self.classes_.tolist(), dtype=object))

    def sets(self, rows: RawTable, level: float | None = None) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row, n x k."""
        promise = self._level(level)
        models = self.estimators_ or [self.estimator_]
        strangeness = [self._strangeness(m, rows) for m in models]
        inside = np.zeros(strangeness[0].shape, dtype=bool)
        if self.by == "class":
            for c in range(len(self.classes_)):
                inside[:, c] = self._within(c, [a[:, c] for a in strangeness], promise)
        else:
            stratum = self._stratum_of(rows)
            for s in np.unique(stratum):
                here = stratum == s
                inside[here] = self._within(int(s), [a[here] for a in strangeness], promise)
        if not self.allow_empty:
            top = self.probabilities(rows).argmax(axis=1)
            empty = ~inside.any(axis=1)
            inside[empty, top[empty]] = True
        return inside

    def _within(self, stratum: int, strangeness: list[Floats], level: float) -> NDArray[np.bool_]:
        """Whether fewer than (n + 1) level calibration scores lie below, each compared by the model of its fold."""
        scores, fold, weight = self._calibration(stratum)
        below = np.zeros(strangeness[0].shape)
        for k, own in enumerate(strangeness):
            chosen = fold == k
            below += weight_below(scores[chosen], own, None if weight is None else weight[chosen])
        total = float(len(scores)) if weight is None else float(weight.sum())
        return np.asarray(below < needed(total, level))

    def predict_labels(self, X: Any, level: float | None = None) -> list[list[Any]]:
        """The classes of each row's set."""
        inside = self.predict_set(X, level).to_numpy()
        labels = self.classes_.tolist()
        return [[labels[c] for c in np.flatnonzero(row)] for row in inside]

    def coverage_report(self, X: Any, y: Any = None, level: float | None = None) -> Coverage:
        """How many rows with known class are covered: all, by class, by size of the set, by the values of ``by``."""
        owner = type(self).__name__
        raw, labels, _ = split_target(X, y, owner)
        true = codes_among(one_dimensional(labels, raw.n_rows, owner), self.classes_, owner)
        inside = self.predict_set(raw, level).to_numpy()
        size = inside.sum(axis=1)
        parts: dict[str, NDArray[Any]] = {"class": self.classes_[true], "size of set": size}
        if self.by not in (None, "class"):
            parts[str(self.by)] = self._column_values(self._aligned(raw))
        covered = inside[np.arange(len(true)), true]
        held = len(self.calibration_scores_)
        return Coverage.of(
            covered, size.astype(np.float64), parts, self._level(level), "size of set", owner, None, held
        )  # fmt: skip

    def plot(self) -> Any:
        """The calibration scores and the bound that covers the level; a matplotlib Figure."""
        from tilth.plot.decisions import score_histogram

        check_is_fitted(self)
        bound = conformal_quantile(self.calibration_scores_, self.level, self.calibration_weight_)
        return score_histogram(
            self.calibration_scores_, bound, f"strangeness of the true class ({self.method})", self.level
        )

    def sections(self) -> list[Section]:
        """The promise and what it rests on."""
        text = f"Sets by {self.method} that hold the true class for {self.level:.0%} of new rows. {self._promise()}"
        return [*super().sections(), Section("Sets of classes", text, figure=self.plot)]
