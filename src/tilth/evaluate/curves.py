"""Scores against the number of rows or a parameter: two curves, of rows seen and of rows not seen, with their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.curve import Curve
from tilth.evaluate.curve_points import Task, begin, score_points
from tilth.evaluate.diagnosis import error_of
from tilth.evaluate.evaluation import name_of
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem, task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.ranges import resolve, usual_values
from tilth.evaluate.splits import Ints, Split, Splits

Floats = NDArray[np.float64]

#: Points of a learning curve unless asked otherwise, and its least number of rows.
POINTS, LEAST_ROWS = 8, 10
#: Trees of the forest that stands for "what can be reached".
REFERENCE_TREES = 100


def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[float] | None = None,
    metric: Any = None,
    reference: Any = "auto",
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Curve:
    """Scores of seen and of other rows against the number of training rows.

    In every split the smaller training sets lie inside the larger ones and the test rows stay the same, so points
    differ by their rows alone. Classes keep their shares; groups are taken whole; with ``time`` the latest rows are
    taken first, and the last rows are held out.

    Parameters
    ----------
    model, X, y : as for :func:`tilth.evaluate`; the model is cloned, never changed.
    sizes : numbers of rows, or shares (0 to 1) of the training rows; eight in equal ratios unless told.
    metric : a name or a metric; accuracy or RMSE unless told.
    reference : what can be reached, for the verdict on underfitting: a score, a model that is fitted on all training
        rows of the same splits, "auto" (the better of a random forest and a linear model) or None.
    protocol, options : as for :func:`tilth.evaluate`; 5 folds unless named.

    >>> from tilth import NaiveBayes, load_dataset
    >>> iris = load_dataset("iris")
    >>> curve = learning_curve(NaiveBayes(), iris.frame, iris.target, sizes=[12, 30, 120], reference=None)
    >>> curve.frame()["verdict"].iloc[-1]
    'fine'
    """
    task = begin("learning_curve", model, X, y, metric, protocol, options)
    orders = [_nested(task.problem, s, task.how.seed) for s in task.splits]
    most = min(len(rows) for rows, _ in orders)
    wanted = _sizes(sizes, most, task.problem)
    points, counts = [], []
    for m in wanted:
        parts = tuple(
            Split(_first(rows, unit, m), s.test, s.repeat, s.fold)
            for (rows, unit), s in zip(orders, task.splits, strict=True)
        )
        counts.append(round(float(np.mean([len(p.train) for p in parts]))))
        points.append(
            (model, Splits(f"{task.splits.name}, {m} rows", "given", parts, task.problem.n_rows, task.how.seed))
        )
    beside, level_known = _references(reference, task)
    scored = score_points(
        task, points, beside={**task.baseline(), **beside}, beside_at=len(points) - 1,
        title=f"Learning curve of {task.name}",
    )  # fmt: skip
    name, scores = _best_reference(scored.beside, beside, task.metric)
    if level_known is not None:
        name, scores = "the reference", np.full(len(task.splits), level_known)
    notes = scored.notes + _missing_classes(task, points, counts)
    if task.problem.time is not None:
        notes.append("Tested on later rows: a gap may be drift as well as overfitting, and older rows may hurt.")
    return Curve(
        "rows", task.name, task.metric, np.array(counts), "training rows", scored.train, scored.validation, task.splits,
        "Nested training sets.", task.level, scored.beside.get("Zero-R"), scores, name, scored.seconds, notes,
        row_intervals=scored.rows,
    )  # fmt: skip


def _nested(problem: Problem, split: Split, seed: int) -> tuple[Ints, Ints]:
    """Training rows in the order in which they are taken, and the unit (row, group, moment) each belongs to."""
    rng = np.random.default_rng([seed, 7, split.repeat, split.fold])
    train = split.train
    if problem.time is not None:
        _, moment = np.unique(problem.time[train], return_inverse=True)
        order = np.argsort(-moment, kind="stable")  # the latest first
        return train[order], moment[order]
    if problem.groups is not None:
        _, group = np.unique(problem.groups[train], return_inverse=True)
        chance = rng.permutation(int(group.max()) + 1)
        order = np.argsort(chance[group], kind="stable")
        return train[order], group[order]
    order = rng.permutation(len(train))
    if problem.classes is not None:
        # The i-th of n rows of a class stands at (i + 1/2) / n of the whole: every beginning has about its share.
        codes = problem.target[train][order]
        by_class = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        starts = np.cumsum(counts) - counts
        sorted_codes = codes[by_class]
        stand = (np.arange(len(train)) - starts[sorted_codes] + 0.5) / counts[sorted_codes]
        order = order[by_class[np.argsort(stand, kind="stable")]]
    return train[order], np.arange(len(train))


def _first(rows: Ints, unit: Ints, m: int) -> Ints:
    """The first m rows and those that belong to the last of them, in the order of the table."""
    last = unit[m - 1]
    end = m
    while end < len(rows) and unit[end] == last:
        end += 1
    return np.sort(rows[:end])


def _sizes(sizes: Sequence[float] | None, most: int, problem: Problem) -> list[int]:
    if sizes is None:
        least = LEAST_ROWS
        if problem.classes is not None:
            rarest = np.bincount(problem.target).min() / problem.n_rows
            least = max(least, 2 * len(problem.classes), min(int(np.ceil(0.5 / rarest)) + 1, most // 8))
        least = min(least, max(2, most // 2))
        return sorted({int(m) for m in np.round(np.geomspace(least, most, POINTS))})
    array = np.atleast_1d(np.asarray(sizes))
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"learning_curve: sizes must be numbers of rows, or shares between 0 and 1; got {sizes!r}.")
    shares = array.dtype.kind == "f" and bool((array <= 1).all())
    wanted = np.round(array * most) if shares else array
    bad = array[(array <= 0) | (wanted > most)]
    if len(bad) or (not shares and (array != np.round(array)).any()):
        raise ValueError(
            f"learning_curve: sizes must lie between 1 and the {most} training rows of a split (whole numbers), or "
            f"between 0 and 1 as shares of them; got {bad[0] if len(bad) else array[array != np.round(array)][0]:g}."
        )
    return sorted({max(1, int(m)) for m in wanted})


def _missing_classes(task: Task, points: Sequence[tuple[Any, Splits]], counts: Sequence[int]) -> list[str]:
    """Tell of training sets too small to hold every class: what was not seen cannot be answered."""
    if task.problem.classes is None:
        return []
    k = len(task.problem.classes)
    short = [m for m, (_, s) in zip(counts, points, strict=True)
             if any(len(np.unique(task.problem.target[p.train])) < k for p in s)]  # fmt: skip
    if not short:
        return []
    return [
        f"Training sets of {', '.join(map(str, short))} rows lack a class in some split, so it cannot be predicted "
        "there."
    ]


def _references(reference: Any, task: Task) -> tuple[dict[str, Any], float | None]:
    """Models to compare with, or a level that is known."""
    if reference is None:
        return {}, None
    if isinstance(reference, (int, float, np.number)) and not isinstance(reference, bool):
        return {}, float(reference)
    if isinstance(reference, str):
        if reference != "auto":
            raise ValueError(f"reference must be a score, a model, 'auto' or None; got {reference!r}.")
        from tilth.models.ensembles.random_forest import RandomForestClassifier, RandomForestRegressor
        from tilth.models.linear.least_squares import Ridge
        from tilth.models.linear.logistic import LogisticRegression

        classify = task.problem.task == "classification"
        forest, line = (RandomForestClassifier, LogisticRegression) if classify else (RandomForestRegressor, Ridge)
        probes = {"a random forest": forest(n_estimators=REFERENCE_TREES), "a linear model": line()}
        return {n: m for n, m in probes.items() if type(m) is not type(task.model)}, None
    other = task_of_models({"reference": reference}, "reference")
    if other != task.problem.task:
        raise TypeError(f"reference is a model for {other}, the curve is for {task.problem.task}.")
    return {name_of(reference): reference}, None


def _best_reference(
    scores: Mapping[str, Floats], asked: Mapping[str, Any], metric: Metric
) -> tuple[str, Floats | None]:
    known = {n: error_of(metric, scores[n]).mean() for n in asked if n in scores and np.isfinite(scores[n]).all()}
    if not known:
        return "", None
    name = min(known, key=lambda n: known[n])
    return name, scores[name]


# ----------------------------------------------------------------------------------------------------- complexity curve


def complexity_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Sequence[Any] | None = None,
    metric: Any = None,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Curve:
    """Scores of seen and of other rows against a parameter: degree, depth, k of nearest neighbours, C, alpha.

    The best value has the best mean validation score; the one-standard-error rule takes the simplest value (the one
    with the largest training error) that is not worse by more than a standard error. Every value is judged against the
    best: too simple (underfit) or too rich (overfit). The best score itself is optimistic, having been chosen: score
    the chosen model on other rows.

    Parameters
    ----------
    parameter : a parameter of the model, also inside a pipeline ("ridge__alpha").
    values : the values to try; None takes the range that the parameter's declaration gives for tuning.

    >>> import numpy as np
    >>> from tilth import PolynomialRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(60, 1))
    >>> y = np.sin(2 * np.pi * x[:, 0]) + rng.normal(0, 0.2, 60)
    >>> curve = complexity_curve(PolynomialRegression(), x, y, parameter="degree", values=[1, 3, 5])
    >>> curve.verdicts
    ['underfit', 'fine', 'fine']
    """
    task = begin("complexity_curve", model, X, y, metric, protocol, options)
    current, declared = resolve(model, parameter, "complexity_curve")
    most = min(len(s.train) for s in task.splits)
    tried = usual_values(current, declared, parameter, most) if values is None else _given_values(values)
    from sklearn.base import clone

    points = [(clone(model).set_params(**{parameter: value}), task.splits) for value in tried]
    scored = score_points(
        task, points, beside=task.baseline(), beside_at=0, title=f"Complexity curve of {task.name}",
    )  # fmt: skip
    x = np.array(tried) if all(_is_number(v) for v in tried) else np.array([*tried, None], dtype=object)[:-1]
    return Curve(
        "parameter", task.name, task.metric, x, parameter, scored.train, scored.validation, task.splits,
        f"A fit for every value of {parameter}.", task.level, scored.beside.get("Zero-R"), seconds=scored.seconds,
        notes=scored.notes, given=current, row_intervals=scored.rows,
    )  # fmt: skip


def _given_values(values: Sequence[Any]) -> list[Any]:
    tried: list[Any] = []
    for value in values:
        if not any(value is v or (type(value) is type(v) and value == v) for v in tried):
            tried.append(value.item() if isinstance(value, np.generic) else value)
    if not tried:
        raise ValueError("complexity_curve: values must hold at least one value; got none.")
    return sorted(tried) if all(_is_number(v) for v in tried) else tried


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
