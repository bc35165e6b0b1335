"""Measures of answers that are classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.order import Ordered
from tilth.evaluate.metrics.rates import RATES, Average, Rate, Shares, class_finish, class_rows, n_classes

Floats = NDArray[np.float64]

#: Smallest probability that log loss distinguishes from zero.
TINY = float(np.finfo(np.float64).eps)

_AVERAGES = {
    "macro": "mean over the classes",
    "micro": "over all rows, so that frequent classes count most",
    "weighted": "mean over the classes, weighted by their number of rows",
}


def _correct(answers: Answers) -> Floats:
    return np.asarray(answers.true == answers.given, dtype=np.float64)[:, None]


def _balanced(answers: Answers) -> Floats:
    """Rows whose mean is the mean recall of the classes, and whose spread is that of the mean recall.

    mean recall + (correct - recall of the row's class) / (classes x share of the class): the ratio of counts behind a
    recall, linearised, so that a class that a resample happens to miss does no harm.
    """
    true, correct = answers.true.astype(np.int64), _correct(answers)[:, 0]
    weight = np.ones(answers.n) if answers.weight is None else answers.weight
    counts = np.bincount(true, weights=weight)
    hits = np.bincount(true, weights=correct * weight)
    recall = np.divide(hits, counts, out=np.zeros(len(counts)), where=counts > 0)
    present = int((counts > 0).sum())
    share = counts[true] / weight.sum()
    off = np.divide(correct - recall[true], present * share, out=np.zeros(answers.n), where=share > 0)
    return np.asarray(recall.sum() / present + off)[:, None]


def _surprise(answers: Answers) -> Floats:
    own = _probability(answers)[np.arange(answers.n), answers.true.astype(np.int64)]
    return -np.log(np.clip(own, TINY, 1 - TINY))[:, None]


def _brier(answers: Answers) -> Floats:
    probability = _probability(answers)
    wanted = np.arange(probability.shape[1]) == answers.true[:, None]
    return np.asarray(((probability - wanted) ** 2).sum(axis=1) / 2)[:, None]


def _probability(answers: Answers) -> Floats:
    if answers.probability is None:
        raise ValueError("This measure needs probabilities of the classes, found answers without them.")
    return answers.probability


def _of_classes(
    name: str, score: Callable[[Shares], Floats], meaning: str, low: float = 0.0, higher_is_better: bool = True
) -> Metric:
    """A metric that is a function of the hits, the actual and the predicted shares of the classes."""
    raw = class_finish(score)
    return Metric(
        name, "classification", class_rows(raw), lambda means: np.clip(raw(means), low, 1.0),
        higher_is_better=higher_is_better, bounds=(low, 1.0), meaning=meaning,
    )  # fmt: skip


def _averaged(rate: Rate, how: Average) -> Metric:
    return _of_classes(
        f"{how} {rate.name}", lambda shares: rate.average(shares, how),
        f"{rate.meaning}; {_AVERAGES[how]}", higher_is_better=rate.higher_is_better,
    )  # fmt: skip


def _kappa(shares: Shares) -> Floats:
    agreed, chance = shares.hit.sum(axis=1), (shares.actual * shares.predicted).sum(axis=1)
    # Where chance alone agrees everywhere there is nothing to gain over it.
    return np.divide(agreed - chance, 1 - chance, out=np.zeros(len(agreed)), where=1 - chance > 1e-12)


def _mcc(shares: Shares) -> Floats:
    joint = shares.hit.sum(axis=1) - (shares.actual * shares.predicted).sum(axis=1)
    spread = (1 - (shares.actual**2).sum(axis=1)) * (1 - (shares.predicted**2).sum(axis=1))
    return np.divide(joint, np.sqrt(np.maximum(spread, 0.0)), out=np.zeros(len(joint)), where=spread > 1e-12)


def one_against_rest(answers: Answers) -> list[Ordered]:
    """The rows in the order of the score of each class; for two classes of the last one's alone. Empty: not defined."""
    k, score = n_classes(answers), answers.ranking_score
    if score is not None and k <= 2:
        columns, places = score[:, None], [k - 1 if k else 0]
    elif answers.probability is not None:
        columns, places = answers.probability, list(range(answers.probability.shape[1]))
    else:
        return []
    if np.isnan(columns).any():
        return []
    return [
        Ordered.of(answers.true == place, column, answers.weight)
        for place, column in zip(places, columns.T, strict=True)
    ]


def _mean_known(values: list[Floats]) -> Floats:
    """Mean over the classes for which there is a value; NaN where there is none."""
    table = np.array(values).reshape(len(values), -1)
    known = ~np.isnan(table)
    count = known.sum(axis=0)
    return np.divide(np.where(known, table, 0.0).sum(axis=0), count, out=np.full(len(count), np.nan), where=count > 0)


def _auc(answers: Answers) -> float:
    areas = [np.array([o.auc]) for o in one_against_rest(answers)]
    return float(_mean_known(areas)[0]) if areas else float("nan")


def _average_precision(answers: Answers) -> float:
    values = [np.array([o.average_precision]) for o in one_against_rest(answers)]
    return float(_mean_known(values)[0]) if values else float("nan")


def _auc_resamples(answers: Answers, repeats: int, seed: int) -> Floats:
    areas = [o.auc_resamples(repeats, seed, answers.group) for o in one_against_rest(answers)]
    return _mean_known(areas) if areas else np.full(repeats, np.nan)


def _average_precision_resamples(answers: Answers, repeats: int, seed: int) -> Floats:
    values = [o.average_precision_resamples(repeats, seed, answers.group) for o in one_against_rest(answers)]
    return _mean_known(values) if values else np.full(repeats, np.nan)


def area(task: str) -> Metric:
    """Area under the ROC curve: P(a row of the class scores above another) + P(equal) / 2."""
    return Metric(
        "AUC", task, bounds=(0, 1), needs="score", whole=_auc, resample=_auc_resamples, resamples_groups=True,
        meaning="probability that a row of the last class scores above another row, ties one half; 0.5 is chance, "
        "0 is a reversed score; mean over classes against the rest where there are more than two",
    )  # fmt: skip


def average_precision(task: str) -> Metric:
    """Precision averaged over the recall gained from the highest score down."""
    return Metric(
        "average precision", task, bounds=(0, 1), needs="score", whole=_average_precision,
        resample=_average_precision_resamples, resamples_groups=True,
        meaning="precision averaged over recall; chance gives the share of the class; mean over classes where there "
        "are more than two",
    )  # fmt: skip


def at_first(k: int | None, task: str, what: str) -> Metric:
    """Precision or recall of the last class among the k rows of highest score; equal scores stand in any order.

    Without ``k`` among as many rows as there are of that class.
    """
    if k is not None and k < 1:
        raise ValueError(f"{what}@k needs k of at least 1, found {k}.")

    def score(answers: Answers) -> float:
        curves = one_against_rest(answers)
        if len(curves) != 1:
            return float("nan")
        hits, alarms = curves[0].in_first(int(curves[0].positive.sum()) if k is None else k)
        whole = curves[0].n_positive if what == "recall" else hits + alarms
        return hits / whole if whole > 0 else float("nan")

    def resample(answers: Answers, repeats: int, seed: int) -> Floats:
        curves = one_against_rest(answers)
        if len(curves) != 1:
            return np.full(repeats, np.nan)
        hits, alarms, positives = curves[0].in_first_resamples(k, repeats, seed)
        whole = positives if what == "recall" else hits + alarms
        return np.divide(hits, whole, out=np.full(repeats, np.nan), where=whole > 0)

    rows = f"the {k} rows" if k is not None else "as many rows as there are of them, taken from those"
    share = {
        "precision": "share of the last class (or of anomalies) among",
        "recall": "share of the last class found in",
    }
    meaning = f"{share[what]} {rows} of highest score"
    name = f"{what}@{k}" if k is not None else f"{what} at n"
    return Metric(name, task, bounds=(0, 1), needs="score", whole=score, resample=resample, meaning=meaning)


def place_of(label: Any, answers: Answers, owner: str) -> int:
    """Place of a class by its label, or by the text of it (the command line knows text only)."""
    classes = list(range(n_classes(answers))) if answers.classes is None else answers.classes.tolist()
    for wanted, known in ((label, classes), (str(label), [str(c) for c in classes])):
        if wanted in known:
            return known.index(wanted)
    raise ValueError(f"{owner} needs one of the classes {', '.join(map(repr, classes))}; found {label!r}.")


def rate_of(name: str, label: Any) -> Metric:
    """A rate of one class against the rest, such as the precision of "yes".

    >>> import numpy as np
    >>> answers = Answers(np.array([0, 1, 1]), np.array([1, 1, 1]), classes=np.array(["no", "yes"]))
    >>> round(rate_of("precision", "yes").score(answers), 4)
    0.6667
    """
    rate = RATES[name]
    title = f"{name} of {label!r}"

    def rows(answers: Answers) -> Floats:
        place = place_of(label, answers, title)
        own, predicted = (answers.true == place).astype(np.float64), (answers.given == place).astype(np.float64)
        return np.column_stack([own * predicted, own, predicted])

    def finish(means: Floats) -> Floats:
        shares = Shares(means[:, :1], means[:, 1:2], means[:, 2:], np.ones((len(means), 1)))
        return np.clip(rate.by_class(shares)[:, 0], 0.0, 1.0)

    return Metric(
        title, "classification", rows, finish, higher_is_better=rate.higher_is_better, bounds=(0, 1),
        meaning=f"{rate.meaning}; 0 where there are none",
    )  # fmt: skip


def expected_cost(cost: Any) -> Metric:
    """Mean of cost[actual, predicted] over the rows, classes in their sorted order; the 0-1 costs give the error rate.

    >>> import numpy as np
    >>> answers = Answers(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]))
    >>> expected_cost([[0, 1], [10, 0]]).score(answers)
    2.75
    """
    table = np.asarray(cost, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise ValueError(
            f"expected_cost needs a square table of finite costs, actual by predicted; found shape {table.shape}."
        )

    def rows(answers: Answers) -> Floats:
        if n_classes(answers) > len(table):
            raise ValueError(f"expected_cost needs costs of {n_classes(answers)} classes, found {len(table)}.")
        return np.asarray(table[answers.true.astype(np.int64), answers.given.astype(np.int64)])[:, None]

    return Metric(
        "expected cost", "classification", rows, higher_is_better=False,
        bounds=(float(table.min()), float(table.max())), meaning="mean cost of the answers, in the unit of the costs",
    )  # fmt: skip


ACCURACY = Metric(
    "accuracy", "classification", _correct, bounds=(0, 1), meaning="share of rows with the right class", share=True
)
ERROR_RATE = Metric(
    "error rate", "classification", lambda a: 1 - _correct(a), higher_is_better=False, bounds=(0, 1), share=True,
    meaning="share of rows with a wrong class: the mean 0-1 loss, 1 - accuracy",
)  # fmt: skip
BALANCED_ACCURACY = Metric(
    "balanced accuracy", "classification", _balanced, bounds=(0, 1), meaning="mean recall over the classes"
)
LOG_LOSS = Metric(
    "log loss", "classification", _surprise, higher_is_better=False, bounds=(0, np.inf), needs="probability",
    meaning="mean of -log p(true class); 0 is perfect",
)  # fmt: skip
BRIER = Metric(
    "Brier score", "classification", _brier, higher_is_better=False, bounds=(0, 1), needs="probability",
    meaning="mean of half the squared distance between the probabilities and the truth; for two classes (p - y)^2",
)  # fmt: skip
KAPPA = _of_classes(
    "kappa",
    _kappa,
    "agreement beyond chance (Cohen): 0 is chance, 1 is perfect; 0 where chance agrees everywhere",
    -1.0,
)
MCC = _of_classes(
    "MCC", _mcc, "Matthews' correlation of answers and truth: 0 is chance, 1 is perfect; 0 where one is constant", -1.0,
)  # fmt: skip
AUC = area("classification")
AVERAGE_PRECISION = average_precision("classification")
AVERAGED = tuple(_averaged(rate, how) for rate in RATES.values() for how in get_args(Average))

METRICS = (
    ACCURACY, ERROR_RATE, BALANCED_ACCURACY, *AVERAGED, KAPPA, MCC, LOG_LOSS, BRIER, AUC, AVERAGE_PRECISION,
)  # fmt: skip
