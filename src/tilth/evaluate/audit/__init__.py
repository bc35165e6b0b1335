"""The guard against leaks: ``tilth.audit`` looks for reasons not to believe a score, and measures each of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tilth import progress
from tilth.data.reading import read
from tilth.evaluate.audit.case import Case, case_of_resampling
from tilth.evaluate.audit.finding import AuditCheck, Doubt, Effect
from tilth.evaluate.audit.protocol import honest_score
from tilth.evaluate.audit.registry import AUDIT_CHECKS, audit_codes
from tilth.evaluate.audit.report import Audit, ranked
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem, task_of_models
from tilth.evaluate.protocol import Options, Protocol
from tilth.evaluate.resample import Resampling
from tilth.evaluate.splits import Split, Splits, make_splits
from tilth.evaluate.table import chosen_metrics
from tilth.words import listed

__all__ = ["AUDIT_CHECKS", "Audit", "AuditCheck", "Doubt", "Effect", "audit", "audit_codes", "light_checks"]

#: Folds of the plan unless asked otherwise: an audit is about tenths, not about the third decimal.
FOLDS = 5


def audit(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    source: Any = None,
    scores: Mapping[str, float] | float | None = None,
    checks: Sequence[str] | None = None,
    max_rows: int = 10_000,
    protocol: Protocol | None = None,
    **options: Unpack[Options],
) -> Audit:
    """Look for reasons not to believe the score of a model, and measure what each of them is worth.

    A suspicion is measured by taking it away: twins out of training, groups kept together, only earlier rows learned
    from, a column shuffled, a preparation repeated inside the folds. The paired difference to the score as planned,
    with its interval, is the evidence. Each suspicion costs one more round of fits.

    Parameters
    ----------
    model : any model that :func:`tilth.evaluate` takes. A fitted one, or a fitted search, is also asked how it was
        fitted. Checks that do not apply to its task are named in the notes.
    X, y : rows and target as prepared for ``fit``; ``y`` may name a column of X. Clusters need none.
    X_test, y_test : test rows kept apart, if that is the plan; ``y_test`` is not needed where ``y`` names a column.
    source : the table before preparation; shows which rows and columns were dropped.
    scores : what is to be reported, as ``{"accuracy": 0.97}``, or one number for the first metric.
    checks : codes of the checks to make; all unless given.
    max_rows : rows that fits are made on; exact traces are looked for in all.
    protocol, options : as for :func:`tilth.evaluate`; 5 folds unless named. ``groups`` and ``time`` decide the split,
        or an explicit ``split`` is judged by them.

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load
    >>> frame = load("iris").frame
    >>> found = audit(NaiveBayes(), frame.assign(copy=frame["species"]), "species")
    >>> found.worst.code, found.worst.columns, found.failed(on="leak")
    ('A121', ('copy',), True)
    """
    owner = "audit"
    task = task_of_models({"model": model}, owner)
    how = Protocol.of(protocol, options, owner, unused=("repeats", "test_size", "sample_weight", "timeout"))
    wanted = _wanted(checks)
    whole, target, held = _together(X, y, X_test, y_test)
    problem = how.problem(whole, target, task, owner)
    metric = chosen_metrics(how.metrics, task, problem.labelled, problem.outputs)[0]
    if problem.n_rows < 10:
        raise ValueError(f"audit needs at least 10 rows; got {problem.n_rows}.")
    if max_rows < 10:
        raise ValueError(f"audit: max_rows must be at least 10; got {max_rows}.")
    plan = _plan(problem, held, how.split, how.folds, how.seed)
    case = Case(
        model, problem, plan, metric, _some_rows(problem.n_rows, max_rows, how.seed),
        source=None if source is None else read(source), scores=_scores(scores, metric), held=held,
        index=_index(X, X_test), level=how.level, seed=how.seed, workers=how.workers,
    )  # fmt: skip
    without = [check for check in wanted if not check.applies(problem)]
    if without and (problem.outputs or task not in ("classification", "regression")):
        what = "several targets" if problem.outputs else task
        names = listed((f"{check.code} ({check.name})" for check in without), 20)
        case.notes.append(f"Not checked, because it does not apply to {what}: {names}.")
    wanted = [check for check in wanted if check not in without]
    doubts: list[Doubt] = []
    with progress.task("Auditing", total=len(wanted)) as work:
        for check in wanted:
            doubts += _made(check, case)
            work.advance()
    return Audit(
        ranked(doubts), _name(model), problem.n_rows, case.plan.name, metric.name, honest_score(case, metric),
        tuple(sorted(c.code for c in wanted)), case.notes, how.seed,
    )  # fmt: skip


def light_checks(
    model: Any,
    resampling: Resampling,
    *,
    name: str | None = None,
    metric: Metric | None = None,
    notes: list[str] | None = None,
) -> list[Doubt]:
    """What an evaluation that was made gives reason to doubt, without any further fit; worst first.

    ``name`` is the model's name in the resampling, the last one unless given; ``metric`` the one that is reported.
    Checks that could not be made are told in ``notes``.
    """
    case = case_of_resampling(model, name or list(resampling.trials)[-1], resampling, metric)
    doubts: list[Doubt] = []
    for check in AUDIT_CHECKS:
        if check.light:
            doubts += _made(check, case)
    if notes is not None:
        notes.extend(case.notes)
    return ranked(doubts)


def _made(check: AuditCheck, case: Case) -> list[Doubt]:
    """The findings of one check; one that cannot be made is noted and does not stop the others."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest there are
            return [replace(f, code=check.code, kind=check.kind) for f in check.run(case)]
    except Exception as error:  # whatever odd data do to one check, the others still speak
        case.notes.append(f"{check.code} ({check.name}) could not be run: {type(error).__name__}: {error}")
        return []


def _wanted(checks: Sequence[str] | None) -> list[AuditCheck]:
    if checks is None:
        return list(AUDIT_CHECKS)
    known = {c.code: c for c in AUDIT_CHECKS}
    unknown = [c for c in checks if c not in known]
    if unknown or isinstance(checks, str):
        raise ValueError(
            f"audit: checks are codes such as 'A101'; got {unknown or checks!r}, known {', '.join(known)}."
        )
    return [c for c in AUDIT_CHECKS if c.code in set(checks)]


def _plan(problem: Problem, held: NDArray[np.int64] | None, split: Any, folds: int | None, seed: int) -> Splits:
    """The splits under audit: the test rows given, what evaluate would do, or what the caller says."""
    n = problem.n_rows
    if held is not None:
        train = np.setdiff1d(np.arange(n), held)
        return Splits(f"{len(held)} test rows kept apart", "holdout", (Split(train, held),), n, seed)
    automatic = isinstance(split, str) and split == "auto"
    time = problem.time if automatic or split == "time" else None
    groups = problem.groups if automatic or not isinstance(split, (str, int)) else None
    if automatic and folds is None:
        groups_or_rows = n if groups is None else len(np.unique(groups))
        smallest = n if problem.classes is None or groups is not None else int(np.bincount(problem.target).min())
        folds = FOLDS if time is not None else max(2, min(FOLDS, groups_or_rows, smallest))
    with warnings.catch_warnings():
        # A splitter that ignores groups is what the audit is there to judge.
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        return make_splits(split, problem.target, task=problem.strata, folds=folds, groups=groups, time=time, seed=seed)


def _some_rows(n: int, most: int, seed: int) -> NDArray[np.int64]:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, 1]).choice(n, most, replace=False))


def _scores(scores: Mapping[str, float] | float | None, metric: Metric) -> dict[str, float]:
    if scores is None:
        return {}
    reported: dict[str, Any] = dict(scores) if isinstance(scores, Mapping) else {metric.name: scores}
    bad = {k: v for k, v in reported.items() if not isinstance(v, (int, float, np.number)) or not np.isfinite(v)}
    if bad:
        raise ValueError(f"audit: scores are numbers by the name of their metric; got {bad!r}.")
    return {str(k): float(v) for k, v in reported.items()}


def _together(X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[Any, Any, NDArray[np.int64] | None]:
    """Training and test rows as one table, its target, and the places of the test rows."""
    if X_test is None:
        if y_test is not None:
            raise ValueError("audit: y_test was given without X_test.")
        return X, y, None
    if type(X) is not type(X_test):
        raise TypeError(f"audit needs X and X_test of one type; got {type(X).__name__} and {type(X_test).__name__}.")
    if not isinstance(y, str) and y_test is None:
        raise ValueError("audit needs y_test as well as X_test, unless y names a column of both.")
    if hasattr(X, "iloc"):
        import pandas as pd

        missing = [c for c in X.columns if c not in X_test.columns]
        if missing:
            raise ValueError(f"audit: X_test lacks the column {missing[0]!r} of X.")
        whole: Any = pd.concat([X, X_test[X.columns]], ignore_index=True)
    else:
        first, second = np.asarray(X), np.asarray(X_test)
        if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
            raise ValueError(f"audit needs X and X_test with the same columns; got {first.shape} and {second.shape}.")
        whole = np.concatenate([first, second])
    target = y if isinstance(y, str) else np.concatenate([np.asarray(y), np.asarray(y_test)])
    return whole, target, np.arange(len(X), len(X) + len(X_test))


def _index(X: Any, X_test: Any) -> NDArray[Any] | None:
    """Numbers of the rows where the table has them."""
    parts = [np.asarray(t.index) for t in (X, X_test) if t is not None and hasattr(t, "iloc")]
    return np.sort(np.concatenate(parts)) if len(parts) == 2 else parts[0] if parts else None


def _name(model: Any) -> str:
    from tilth.evaluate.evaluation import name_of

    return name_of(model)
