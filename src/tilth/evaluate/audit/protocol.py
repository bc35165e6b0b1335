"""How a reported score came about: on rows that were learned from, as the best of many, on rows that were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.audit.case import Case
from tilth.evaluate.audit.finding import Doubt, effect_of
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.metrics.regression import R2
from tilth.evaluate.resample import Resampling, answer_split, ask
from tilth.evaluate.splits import Split
from tilth.evaluate.table import chosen_metrics
from tilth.words import count, percent

#: Lost rows that deserve a warning, as a share, and gaps in the numbers of rows that deserve a note.
LOST, GAPS = 0.05, 0.05


def training_score(case: Case) -> Iterator[Doubt]:
    """A reported score that is the score on the rows the model was fitted on."""
    for metric, value in reported(case):
        train, honest = _on_training_rows(case, metric), honest_score(case, metric)
        if train is None or honest is None or not _same(value, train) or not _better(metric, value, honest):
            continue
        case.taken.add(f"score {metric.name}")
        yield Doubt(
            "serious",
            (),
            f"the reported {metric.name} {value:g} is the score on the training rows ({train:.4g})",
            {"metric": metric.name, "reported": value, "on_training_rows": train, "honest": honest.to_dict()},
            "Report the score on rows not used for training: tilth.evaluate.",
            consequence=f"On other rows it is {honest} ({honest.method}, {100 * honest.level:g}%).",
        )


def tuned_score(case: Case) -> Iterator[Doubt]:
    """The best score of a search reported as its result: the same folds chose the parameters and gave the score."""
    best = getattr(case.model, "best_score_", None)
    results = getattr(case.model, "cv_results_", None)
    if best is None or results is None:
        return
    tried = len(results["params"]) if "params" in results else 0
    for metric, value in reported(case) or [(_scored_by(case), abs(float(best)))]:
        honest = honest_score(case, metric)
        if honest is None or not _same(value, abs(float(best))):
            continue
        sure = _better(metric, value, honest)
        case.taken.add(f"score {metric.name}")
        told = bool(case.scores)
        yield Doubt(
            "serious" if sure else "warning" if told else "info",
            (),
            f"{'the reported' if told else 'best_score_, the'} {metric.name} {value:.4g} is the best of "
            f"{count(tried, 'candidate')} on the folds that chose it",
            {"metric": metric.name, "best_score": float(best), "candidates": tried, "honest": honest.to_dict()},
            "Report the score of the whole search on outer folds: tilth.evaluate(search, X, y).",
            consequence=f"The search as a whole, on rows it did not see, reaches {honest} "
            f"({honest.method}, {100 * honest.level:g}%).",
        )


def too_good(case: Case) -> Iterator[Doubt]:
    """A reported score better than an honest estimate allows, without a known reason."""
    for metric, value in reported(case):
        honest = honest_score(case, metric)
        if honest is None or f"score {metric.name}" in case.taken or not _better(metric, value, honest):
            continue
        yield Doubt(
            "warning",
            (),
            f"the reported {metric.name} {value:g} is not reached: {honest} on {case.plan.name}",
            {"metric": metric.name, "reported": value, "honest": honest.to_dict()},
            "Find the difference between the two protocols before reporting either.",
            consequence="It was probably measured on rows used to train or select the model.",
        )


def seen_test_rows(case: Case) -> Iterator[Doubt]:
    """A fitted model that is better on the test rows than a copy fitted on the training rows: it has seen them."""
    if case.held is None or not case.measure or not _is_fitted(case.model):
        return
    split = case.splits.parts[0]
    try:
        answers = ask(case.model, case.problem, split.test)
    except Exception as error:  # a model fitted on other columns cannot be asked
        case.notes.append(f"The fitted model could not predict the test rows: {type(error).__name__}: {error}")
        return
    fresh = answer_split(case.model, case.problem, split, False).answers
    if fresh is None:
        return
    effect = effect_of(answers, fresh, case.problem, case.judge, case.level, case.seed)
    if effect.sure:
        yield Doubt(
            "serious",
            (),
            f"the fitted model scores {effect.planned.value:.3f} on the test rows, a copy fitted on the training rows "
            f"{effect.honest.value:.3f}: it was trained on test rows",
            effect.evidence(),
            "Fit on the training rows only, and keep the test rows for the final score.",
            consequence=effect.words("when it is fitted on the training rows alone") + ".",
        )


def lost_rows(case: Case) -> Iterator[Doubt]:
    """Rows of the original table that are gone, and gaps in the numbers of the rows."""
    n = case.problem.n_rows
    if case.source is not None:
        before = case.source.n_rows
        if before <= n:
            return
        share = (before - n) / before
        gone = _gone(case, before)
        shift = _target_shift(case, gone)
        yield Doubt(
            "warning" if share >= LOST or (shift or {}).get("p_value", 1.0) < 0.001 else "info",
            (),
            f"{count(before - n, 'row')} of {before:,} ({percent(share)}) {'is' if before - n == 1 else 'are'} gone"
            + (f", with other targets than the rest (p = {shift['p_value']:.2g})" if shift and shift["p_value"] < 0.001
               else ""),
            {"rows_before": before, "rows": n, "share": share, **(shift or {}), **_gap_share(case, gone)},
            "Keep rows with missing cells and fill them inside the folds; report which rows were left out and why.",
            consequence="The score holds for rows like the remaining ones, not for all new rows.",
        )  # fmt: skip
        return
    index = case.index
    if index is None or index.dtype.kind not in "iu" or n < 20 or len(np.unique(index)) < n:
        return
    span = int(index.max()) - int(index.min()) + 1
    share = (span - n) / span
    # Row numbers in their order, most of them there: a table that lost rows. Keys and random parts look different.
    if GAPS <= share <= 0.5 and int(index.min()) <= span // 10 and bool((np.diff(index) > 0).all()):
        yield Doubt(
            "info",
            (),
            f"the row numbers skip {span - n:,} of {span:,}: rows were dropped, or set aside",
            {"missing_numbers": span - n, "share": share},
            "If rows with missing cells were dropped, keep them and fill inside the folds; pass source= to compare.",
            consequence="If they were dropped because of their values, the score does not hold for such rows.",
        )


# -------------------------------------------------------------------------------------------------------------- helpers


def reported(case: Case) -> list[tuple[Metric, float]]:
    """The scores that the caller reports, with their metrics."""
    return [(chosen_metrics(name, case.task)[0], float(value)) for name, value in case.scores.items()]


def honest_score(case: Case, metric: Metric) -> Interval | None:
    """The score of the plan, with its interval."""
    if case.base is None or case.answers is None or not metric.serves(case.answers):
        return None
    return Resampling(case.small, case.plan, {"model": case.base}).score("model", metric, case.level)


def _on_training_rows(case: Case, metric: Metric) -> float | None:
    """The score on the rows the model was fitted on: its own fit where there is one, else a fresh one."""
    rows = case.rows if case.held is None else np.setdiff1d(np.arange(case.problem.n_rows), case.held)
    answers: Answers | None = None
    if _is_fitted(case.model):
        try:
            answers = ask(case.model, case.problem, rows)
        except Exception:  # fitted on other columns: a fit of our own will do
            answers = None
    if answers is None:
        answers = answer_split(case.model, case.problem, Split(rows, rows), False).answers
    return None if answers is None or not metric.serves(answers) else metric.score(answers)


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _same(reported_value: float, found: float) -> bool:
    """Whether two scores are the same up to the digits that were reported."""
    digits = len(f"{reported_value:.10f}".rstrip("0").partition(".")[2])
    return abs(reported_value - found) <= 0.5000001 * 10.0 ** -max(2, digits)


def _better(metric: Metric, value: float, honest: Interval) -> bool:
    """Whether a score lies beyond the good end of an interval."""
    end = honest.high if metric.higher_is_better else honest.low
    return bool(np.isfinite(end)) and metric.better(value, end)


def _scored_by(case: Case) -> Metric:
    """The metric of a search: scikit-learn's default is accuracy, or R2 for numbers."""
    scoring = getattr(case.model, "scoring", None)
    if isinstance(scoring, str):
        try:
            return chosen_metrics(scoring.removeprefix("neg_").replace("root_mean_squared_error", "RMSE"), case.task)[0]
        except (KeyError, ValueError, ImportError):
            pass
    return case.metric if case.task == "classification" else R2


def _gone(case: Case, before: int) -> NDArray[np.int64] | None:
    """Places in the original table of the rows that are gone, where the index tells."""
    if case.index is None or case.index.dtype.kind not in "iu" or case.index.min() < 0 or case.index.max() >= before:
        return None
    return np.setdiff1d(np.arange(before), case.index)


def _gap_share(case: Case, gone: NDArray[np.int64] | None) -> dict[str, float]:
    """Share of the lost rows that have a missing cell in the original table."""
    if gone is None or case.source is None or not len(gone) or case.source.is_sparse:
        return {}
    missing = np.zeros(len(gone), dtype=bool)
    for column in case.source.columns:
        cells = column.values[gone]
        coded = bool(column.levels) or column.form in ("text", "level", "boolean")
        missing |= (cells < 0) if coded else np.isnan(cells) if cells.dtype.kind == "f" else False
    return {"lost_with_missing_cells": float(missing.mean())}


def _target_shift(case: Case, gone: NDArray[np.int64] | None) -> dict[str, float] | None:
    """Whether the lost rows have other targets than the rows that are left."""
    name = case.problem.target_name
    if gone is None or case.source is None or name is None or name not in case.source.names or len(gone) < 5:
        return None
    from scipy import stats

    column = case.source.column(name)
    kept = np.setdiff1d(np.arange(case.source.n_rows), gone)
    if case.problem.classes is None:
        a, b = (np.asarray(column.values, dtype=np.float64)[rows] for rows in (gone, kept))
        return {"p_value": float(stats.ks_2samp(a[~np.isnan(a)], b[~np.isnan(b)]).pvalue)}
    codes = np.unique(column.values, return_inverse=True)[1]
    table = np.stack([np.bincount(codes[rows], minlength=int(codes.max()) + 1) for rows in (gone, kept)])
    table = table[:, table.sum(axis=0) > 0]
    return None if table.shape[1] < 2 else {"p_value": float(stats.chi2_contingency(table).pvalue)}
