"""Cross-validation: every row is predicted once by a model that has not seen it, on the same folds for all models."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tilth import progress
from tilth.base import Classifier, Predictor, Section
from tilth.base.columns import take_rows
from tilth.base.target import encode_labels, numbers_of, one_dimensional, split_target
from tilth.data.infer import Kinds, infer
from tilth.data.schema import Schema
from tilth.data.table import RawTable
from tilth.errors import TilthWarning
from tilth.evaluate.intervals import Interval, from_means, resampled_means, wilson
from tilth.evaluate.metrics import CLASSIFICATION, REGRESSION, Answers, Metric
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor

if TYPE_CHECKING:
    import pandas as pd

#: Fewer rows than this and an interval is a rough guide only.
SMALL_SAMPLE = 30
MOST_FOLDS = 10
BASELINE = "Zero-R"
ZERO_R = (ZeroRClassifier, ZeroRRegressor)


def stratified_folds(classes: NDArray[Any], folds: int, *, seed: int = 0) -> NDArray[np.int32]:
    """The fold of every row: sizes differ by at most one, and so do the rows of a class from fold to fold.

    Rows are shuffled within their class and dealt out in turn; a single class gives plain folds.

    >>> import numpy as np
    >>> fold = stratified_folds(np.array([0] * 6 + [1] * 3), 3)
    >>> [np.bincount(fold[:6]).tolist(), np.bincount(fold[6:]).tolist()]
    [[2, 2, 2], [1, 1, 1]]
    """
    n = len(classes)
    if not 2 <= folds <= n:
        raise ValueError(f"folds must be at least 2 and at most the number of rows, {n}; got {folds}.")
    order = np.lexsort((np.random.default_rng(seed).permutation(n), classes))
    fold = np.empty(n, dtype=np.int32)
    fold[order] = np.arange(n) % folds
    return fold


@dataclass
class CrossValidation:
    """Out-of-fold answers of some models and their scores, each with an interval and its difference to the baseline."""

    task: str
    y: NDArray[Any]
    fold: NDArray[np.int32]
    seed: int
    baseline: str
    classes: NDArray[Any] | None = None
    predictions: dict[str, NDArray[Any]] = field(default_factory=dict)
    probabilities: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    scores: dict[str, dict[str, Interval]] = field(default_factory=dict)
    differences: dict[str, dict[str, Interval]] = field(default_factory=dict)
    fold_scores: dict[str, dict[str, NDArray[np.float64]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The scores that were computed; the first ranks the models."""
        return CLASSIFICATION if self.task == "classification" else REGRESSION

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    @property
    def best(self) -> str:
        """The model with the best first score; of equal ones the first, which is the simpler."""
        metric = self.metrics[0]
        sign = -1 if metric.higher_is_better else 1
        return min(self.scores, key=lambda name: sign * self.scores[name][metric.name].value)

    def caution(self) -> str:
        """What to keep in mind about the size of the sample; empty when there is nothing."""
        n = len(self.y)
        if n >= SMALL_SAMPLE:
            return ""
        metric = self.metrics[0].name
        found = self.scores[self.best][metric]
        return (
            f"Only {n} rows: the interval of the {metric} of {self.best} is {found.high - found.low:.3g} wide, "
            f"and below {SMALL_SAMPLE} rows intervals are rough themselves. Collect more before believing a difference."
        )

    def verdict(self) -> str:
        """Whether the best model is better than the baseline, in one sentence."""
        metric = self.metrics[0]
        best, base = self.best, self.baseline
        found = self.scores[best][metric.name]
        if best == base:
            rivals = len(self.scores) > 1
            return f"{'No model beats ' + base if rivals else 'Only ' + base + ' was tried'}: {metric.name} {found}."
        gain = self.differences[best][metric.name]
        sure = (gain.low > 0) if metric.higher_is_better else (gain.high < 0)
        return (
            f"{best} has the best {metric.name}, {found}; {base} has {self.scores[base][metric.name].value:.3f}. "
            f"The difference {_signed(gain)} {'excludes' if sure else 'includes'} zero: {best} is "
            f"{'better than' if sure else 'not shown to be better than'} {base} on these rows."
        )

    def frame(self) -> pd.DataFrame:
        """One row per model and score: value, interval, paired difference to the baseline, spread over folds."""
        import pandas as pd

        rows = []
        for model, scores in self.scores.items():
            for metric, found in scores.items():
                gain = self.differences[model].get(metric)
                own = (found.value, found.low, found.high)
                ends = (gain.value, gain.low, gain.high) if gain else (np.nan,) * 3
                over = self.fold_scores[model][metric]
                rows.append((model, metric, *own, *ends, over.mean(), over.std(ddof=1), found.method, found.n))
        names = ["model", "score", "value", "low", "high", "difference", "difference low", "difference high",
                 "fold mean", "fold sd", "method", "n"]  # fmt: skip
        return pd.DataFrame(rows, columns=names)

    def to_dict(self) -> dict[str, Any]:
        """Scores as JSON-ready data."""
        return {
            "task": self.task,
            "n": len(self.y),
            "folds": self.n_folds,
            "seed": self.seed,
            "baseline": self.baseline,
            "best": self.best,
            "scores": {m: {k: v.to_dict() for k, v in s.items()} for m, s in self.scores.items()},
            "differences": {m: {k: v.to_dict() for k, v in s.items()} for m, s in self.differences.items()},
            "notes": list(self.notes),
        }

    def sections(self) -> list[Section]:
        """The scores as a page: one row per model and score, intervals beside the values."""
        import pandas as pd

        table = pd.DataFrame(
            [
                (
                    model, metric, f"{found.value:.3f}", f"{found.low:.3f} to {found.high:.3f}",
                    _signed(self.differences[model][metric]) if metric in self.differences[model] else "",
                    f"{self.fold_scores[model][metric].std(ddof=1):.3f}",
                )
                for model, scores in self.scores.items()
                for metric, found in scores.items()
            ],
            columns=["model", "score", "value", "95% interval", f"difference to {self.baseline}", "sd over folds"],
        )  # fmt: skip
        kind = "Stratified" if self.classes is not None else "Plain"
        how = (
            f"{kind} {self.n_folds}-fold cross-validation, seed {self.seed}: each of the {len(self.y)} rows is "
            "predicted by models fitted without it; conversions are learned inside each fold, and the folds are shared."
        )
        others = "Wilson for accuracy, else " if self.classes is not None else ""
        intervals = f"Intervals: {others}percentile bootstrap over rows. Differences are paired by row."
        meanings = "\n".join(f"  {m.name}: {m.meaning}" for m in self.metrics)
        notes = "\n".join(self.notes)
        text = "\n\n".join(t for t in (how, intervals, meanings, notes) if t)
        return [Section("Cross-validated scores", text, table, advice=self.caution())]

    def __str__(self) -> str:
        return f"{self.verdict()}\n\n{self.sections()[0].frame.to_string(index=False)}"  # type: ignore[union-attr]


def _signed(gain: Interval) -> str:
    return f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"


def cross_validate(
    models: Mapping[str, Predictor], X: Any, y: Any, *, folds: int | None = None, seed: int = 0, kinds: Kinds = None
) -> CrossValidation:
    """Score models on the same folds; Zero-R is added when it is not among them.

    Parameters
    ----------
    models : estimators by name, all classifiers or all regressors; they are cloned, never changed.
    X, y : raw rows and target, as for ``fit``; ``y`` may name a column of X.
    folds : default 10, or the size of the smallest class if that is less, and at least 2.
    kinds : kinds of columns, where inference should be overruled.

    >>> from tilth.data.datasets import load_weather
    >>> from tilth.models.bayes.naive_bayes import NaiveBayes
    >>> found = cross_validate({"Naive Bayes": NaiveBayes()}, load_weather().frame, "Play")
    >>> print(found.scores["Zero-R"]["accuracy"])
    0.643 [0.388, 0.837]
    """
    raw, target, _ = split_target(X, y, "cross_validate")
    values = np.asarray(one_dimensional(target, raw.n_rows, "cross_validate"))
    is_classification = _one_task(models)
    ladder = dict(models)
    baseline = next((n for n, m in ladder.items() if isinstance(m, ZERO_R)), None)
    if baseline is None:
        baseline = BASELINE
        ladder = {baseline: ZeroRClassifier() if is_classification else ZeroRRegressor(), **ladder}
    if raw.n_rows < 2:
        raise ValueError(f"cross_validate needs at least 2 rows, to learn from and to test on; got {raw.n_rows}.")
    if is_classification:
        classes, codes = encode_labels(values)
    else:
        classes, codes = None, np.zeros(raw.n_rows, dtype=np.int32)
        values = numbers_of(values, "cross_validate")
    smallest = int(np.bincount(codes).min()) if is_classification else raw.n_rows
    fold = stratified_folds(codes, max(2, min(MOST_FOLDS, smallest)) if folds is None else folds, seed=seed)
    task = "classification" if is_classification else "regression"
    found = CrossValidation(task, values, fold, seed, baseline, classes)
    if is_classification and smallest < 2:
        assert classes is not None
        lone = classes[np.bincount(codes) == 1].tolist()
        names = ", ".join(map(repr, lone[:5]))
        found.notes.append(f"One row only of {names}: a class of one row cannot be both learned and tested.")
    told = None if raw.is_sparse else _told(infer(raw, kinds))
    answers = {}
    with progress.task("Cross-validation", total=len(ladder) * found.n_folds) as work:
        for name, model in ladder.items():
            answers[name] = _out_of_fold(name, model, raw, values, codes, told, found, work)
    _score(answers, found)
    return found


def _one_task(models: Mapping[str, Predictor]) -> bool:
    """Whether these are classifiers (else regressors); a mix has no common score."""
    if not models:
        raise ValueError("cross_validate needs at least one model; got none.")
    for name, model in models.items():
        if not isinstance(model, Predictor):
            raise TypeError(f"cross_validate needs classifiers or regressors; {name!r} is a {type(model).__name__}.")
    kinds = {isinstance(m, Classifier) for m in models.values()}
    if len(kinds) > 1:
        raise ValueError("cross_validate needs models of one task; got classifiers and regressors together.")
    return kinds.pop()


def _told(schema: Schema) -> dict[str, Any]:
    """Kinds found on all rows, so that every fold reads a column alike; levels of nominals are learned in the fold."""
    told: dict[str, Any] = {}
    for spec in schema.columns:
        if spec.role == "aside":
            told[spec.name] = "aside"
        elif spec.expand_date:
            told[spec.name] = "date"
        elif spec.form != "date":  # a date nobody spoke of is for the model to refuse
            told[spec.name] = list(spec.kind.levels) if spec.kind.name == "ordinal" else spec.kind.name
    return told


def _out_of_fold(
    name: str, model: Predictor, raw: RawTable, values: NDArray[Any], codes: NDArray[np.int32],
    told: dict[str, Any] | None, found: CrossValidation, work: progress.Task,
) -> Answers:  # fmt: skip
    """The answers of one model for all rows, each from a fold that left the row out."""
    is_classification = found.classes is not None
    given = np.empty(len(values), dtype=np.int64 if is_classification else np.float64)
    probability = np.zeros((len(values), len(found.classes))) if found.classes is not None else None
    heard: Counter[str] = Counter()
    for k in range(found.n_folds):
        train, test = np.flatnonzero(found.fold != k), np.flatnonzero(found.fold == k)
        fitted = clone(model)
        if told is not None:
            fitted.set_params(kinds=told)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.fit(_rows(raw, train), values[train])
            rows = _rows(raw, test)
            if probability is None:
                given[test] = fitted.predict(rows)
            else:
                places = np.asarray(np.searchsorted(np.asarray(found.classes), fitted.classes_))
                if hasattr(fitted, "predict_proba"):
                    probability[np.ix_(test, places)] = fitted.predict_proba(rows)
                given[test] = places[np.searchsorted(fitted.classes_, fitted.predict(rows))]
        heard.update({w.message.code for w in caught if isinstance(w.message, TilthWarning)})
        for other in (w for w in caught if not isinstance(w.message, TilthWarning)):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        work.advance()
    found.notes.extend(_heard(name, heard))
    if found.classes is not None:
        found.predictions[name] = found.classes[given]
        if probability is not None:
            found.probabilities[name] = probability
        return Answers(codes, given, probability)
    found.predictions[name] = given
    return Answers(values, given)


def _rows(raw: RawTable, index: NDArray[Any]) -> Any:
    """Some rows as a model takes them."""
    return raw.matrix[index] if raw.is_sparse else take_rows(raw, index)


def _heard(name: str, heard: Counter[str]) -> list[str]:
    """Warnings of the folds, one line per code instead of one per fold."""
    from tilth.errors import CODES

    told = [(n, CODES.get(code, "a warning"), code) for code, n in sorted(heard.items())]
    return [f"{name}, in {n} fold{'s' * (n > 1)}: {meaning} [{code}]." for n, meaning, code in told]


def _score(answers: dict[str, Answers], found: CrossValidation) -> None:
    """Scores, intervals and differences of all models from one resampling of the rows."""
    n = len(found.y)
    for metric in found.metrics:
        blocks = {name: metric.rows(a) for name, a in answers.items()}
        width = next(iter(blocks.values())).shape[1]
        rows = np.column_stack(list(blocks.values()))
        means, resampled = rows.mean(axis=0), resampled_means(rows, seed=found.seed)
        base = list(blocks).index(found.baseline) * width
        for place, name in enumerate(blocks):
            own = slice(place * width, (place + 1) * width)
            against = slice(base, base + width)
            if metric.name == "accuracy":
                interval = wilson(float(blocks[name].sum()), n)
            else:
                interval = _clipped(from_means(means[own], resampled[:, own], n, metric.finish), metric.bounds)
            found.scores.setdefault(name, {})[metric.name] = interval
            gains = found.differences.setdefault(name, {})
            if name != found.baseline:
                pair = np.r_[own, against]
                gains[metric.name] = from_means(means[pair], resampled[:, pair], n, _difference(metric, width))
            found.fold_scores.setdefault(name, {})[metric.name] = _fold_scores(metric, answers[name], found.fold)


def _difference(metric: Metric, width: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """From the means of a model and then of the baseline to the difference of their scores."""
    return lambda means: metric.finish(means[:, :width]) - metric.finish(means[:, width:])


def _fold_scores(metric: Metric, answers: Answers, fold: NDArray[np.int32]) -> NDArray[np.float64]:
    """The score of each fold by itself."""
    out = np.empty(int(fold.max()) + 1)
    for k in range(len(out)):
        rows = fold == k
        own = None if answers.probability is None else answers.probability[rows]
        out[k] = metric.score(Answers(answers.true[rows], answers.given[rows], own))
    return out


def _clipped(interval: Interval, bounds: tuple[float, float]) -> Interval:
    low, high = np.clip([interval.low, interval.high], *bounds)
    return Interval(interval.value, float(low), float(high), interval.level, interval.method, interval.n)
