"""Preparation that saw all rows: scaling, filling, target encoding and selection done before the split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.audit.case import Case, Change, narrowed, replaced, standardised_inside
from tilth.evaluate.audit.finding import Doubt
from tilth.evaluate.problem import Problem, prepared
from tilth.evaluate.splits import Split
from tilth.quality.column import ColumnView
from tilth.stats.folds import fold_of_rows, pairs_of
from tilth.words import count, listed, percent

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: How exactly a mean of 0 and a deviation of 1 must be met, and rows below which they may be met by chance.
EXACT, LEAST_ROWS = 1e-5, 20
#: Values that a scaled column must have, so that it is no contrast code.
LEAST_VALUES = 6
#: Columns from 0 to 1 that are needed before they speak of scaling; shares do so by nature.
RANGED = 3
#: Equal cells that may be a filling; and how much commoner than its neighbours a filled middle value is.
FILLED, SPIKE = 4, 5.0
#: Rows of levels whose codes must equal the mean target of their level.
ENCODED = 0.98
#: Kept columns that must be among those most associated with the target.
CHOSEN = 0.7


def scaled_before(case: Case) -> Iterator[Doubt]:
    """Columns with exactly mean 0 and deviation 1, range 0 to 1, even ranks, or no correlation at all over all rows."""
    columns = [c for c in case.numbers if c.n_missing == 0]
    if not columns or case.problem.n_rows < LEAST_ROWS:
        return
    parts = [("all rows", np.arange(case.problem.n_rows))]
    if case.held is not None and len(case.held) >= LEAST_ROWS:
        # Both parts scaled by themselves look scaled together, so this comes first.
        parts.insert(0, ("the test rows by themselves", case.held))
    for where, rows in parts:
        scalings = _scalings([(c.name, c.numbers[rows]) for c in columns])
        if not scalings:
            continue
        names = tuple(n for group in scalings.values() for n in group)
        effect = case.effect(standardised_inside, "Scoring with scaling inside the folds")
        text = "; ".join(f"{listed(group, 4)} {how}" for how, group in scalings.items())
        yield Doubt(
            "serious" if effect is not None and effect.sure else "warning",
            names,
            f"preparation saw {where}: {text}",
            {"columns": dict(scalings), "rows": len(rows), **(effect.evidence() if effect else {})},
            "Put the step into a pipeline with the model (tilth models scale inside fit), and pass the original "
            "columns.",
            consequence=(effect.words("with scaling learned inside the training rows") + "." if effect else
                         "Test rows influenced training. For scaling the effect is small; for selected or rotated "
                         "columns it can be the whole score."),
        )  # fmt: skip
        return


def _scalings(columns: list[tuple[str, Floats]]) -> dict[str, list[str]]:
    """How columns were scaled over these rows, with their names."""
    scalings: dict[str, list[str]] = {}
    ranged, continuous = [], 0
    for name, values in columns:
        n = len(values)
        mean, spread = float(values.mean()), float(values.std())
        if not spread > 0 or not np.isfinite(spread):
            continue
        distinct = len(np.unique(values[:: max(1, n // 5000)]))
        if distinct < LEAST_VALUES:
            continue
        many = distinct > 20
        continuous += many
        unit = {spread, spread * np.sqrt(n / (n - 1)), spread * np.sqrt(n)}
        quarter = np.quantile(values, [0.25, 0.5, 0.75])
        if abs(mean) <= EXACT * spread and any(abs(u - 1) <= EXACT for u in unit):
            scalings.setdefault("have mean 0 and deviation (or length) 1", []).append(name)
        elif many and abs(quarter[1]) <= 1e-9 * spread and abs(quarter[2] - quarter[0] - 1) <= 1e-9:
            scalings.setdefault("have median 0 and quartiles 1 apart", []).append(name)
        elif many and _even_ranks(values):
            scalings.setdefault("are ranks", []).append(name)
        elif many and values.min() == 0 and values.max() == 1:
            ranged.append(name)
    if len(ranged) >= RANGED and len(ranged) >= 0.8 * continuous:
        scalings["run from exactly 0 to exactly 1"] = ranged
    rotated = _uncorrelated([(n, v) for n, v in columns if abs(v.mean()) <= 1e-8 * max(v.std(), 1e-300)])
    if rotated and "have mean 0 and deviation (or length) 1" not in scalings:
        scalings["have mean 0 and no correlation with each other, as rotated columns (PCA) do"] = rotated
    return scalings


def _even_ranks(values: Floats) -> bool:
    """Whether the sorted values are evenly spaced between 0 and 1: a quantile transform."""
    order = np.sort(values)
    steps = np.diff(order)
    inside = order[0] >= 0 and order[-1] <= 1 and order[-1] - order[0] > 0.9
    return bool(inside and np.ptp(steps) <= 1e-6 * max(steps.mean(), 1e-300) * len(values))


def _uncorrelated(columns: list[tuple[str, Floats]]) -> list[str]:
    if len(columns) < 3 or len(columns[0][1]) <= len(columns):
        return []
    table = np.asarray(np.corrcoef(np.column_stack([v for _, v in columns]), rowvar=False))
    np.fill_diagonal(table, 0.0)
    return [n for n, _ in columns] if float(np.abs(table).max()) < 1e-8 else []


# -------------------------------------------------------------------------------------------------------------- filling


@dataclass(frozen=True, eq=False)
class Filling:
    """Cells of a column that hold the mean or the median of the others; ``by_class`` when of their own class."""

    column: ColumnView
    cells: Flags
    how: str
    by_class: bool = False


def filled_before(case: Case) -> Iterator[Doubt]:
    """Cells filled with the mean or median of all rows; worse, of all rows of their own class."""
    fillings = [f for c in case.numbers if (f := filling_of(case, c)) is not None]
    if not fillings:
        return
    by_class = [f for f in fillings if f.by_class]
    chosen = by_class or fillings
    names = tuple(f.column.name for f in chosen)
    case.taken.update(names if by_class else ())
    effect = case.effect(_filled_inside(case, chosen), "Scoring with filling inside the folds")
    cells = sum(int(f.cells.sum()) for f in chosen)
    of = "their own class" if by_class else "all rows"
    yield Doubt(
        "serious" if by_class or (effect is not None and effect.sure) else "warning",
        names,
        f"{count(cells, 'cell')} of {listed(names)} equal the {chosen[0].how} of {of}",
        {"cells": {f.column.name: int(f.cells.sum()) for f in chosen}, "how": {f.column.name: f.how for f in chosen},
         "by_class": bool(by_class), **(effect.evidence() if effect else {})},
        "Pass missing cells as missing; tilth models fill them inside fit, others need an imputer in a pipeline.",
        consequence=(effect.words("with filling learned inside the training rows") + "." if effect else
                     "The filled cells reveal the class of their row." if by_class else
                     "Test rows influenced training; the effect is small unless much was missing."),
    )  # fmt: skip


def filling_of(case: Case, column: ColumnView) -> Filling | None:
    """The filling of a column, if its cells show one."""
    values = column.numbers
    if column.n_missing or len(values) < LEAST_ROWS:
        return None
    classes, target = case.problem.classes, case.problem.target
    if classes is not None and len(classes) <= 20:
        cells = np.zeros(len(values), dtype=bool)
        middles, how = set(), ""
        for c in range(len(classes)):
            rows = np.flatnonzero(target == c)
            filling = _filled(values[rows]) if len(rows) >= LEAST_ROWS else None
            if filling is not None:
                cells[rows[values[rows] == filling[0]]] = True
                middles.add(filling[0])
                how = filling[1]
        if len(middles) >= 2:
            return Filling(column, cells, how, by_class=True)
    filling = _filled(values)
    return None if filling is None else Filling(column, values == filling[0], filling[1])


def _filled(values: Floats) -> tuple[float, str] | None:
    """The value that fills gaps, and whether it is the mean or the median of the other cells."""
    mean, scale = float(values.mean()), float(values.std())
    close = 1e-9 * max(scale, abs(mean))
    middle = np.partition(values, len(values) // 2)[len(values) // 2]
    if (np.abs(values - mean) <= close).sum() < FILLED and (values == middle).sum() < 3 * FILLED:
        return None
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 3 or not np.isfinite(scale):
        return None
    at = int(np.abs(distinct - mean).argmin())
    exact = counts[at] >= FILLED and abs(distinct[at] - mean) <= close
    # A mean written with more digits than the other cells, or the one value that repeats, cannot have been measured.
    if exact and (_finer(distinct, at) or counts[at] >= 3 * np.delete(counts, at).max()):
        return float(distinct[at]), "mean"
    if len(distinct) < 10:
        return None
    at = int(counts.argmax())
    around = counts[max(0, at - 3) : at + 4]
    usual = float(np.sort(around)[:-1].max(initial=1))
    below, above = int(counts[:at].sum()), int(counts[at + 1 :].sum())
    central = abs(below - above) <= usual and 0 < at < len(distinct) - 1
    if central and counts[at] >= max(3 * FILLED, SPIKE * usual) and counts[at] < 0.6 * len(values):
        return float(distinct[at]), "median"
    return None


def _finer(distinct: Floats, at: int) -> bool:
    """Whether a value has more decimals than nearly all others."""
    for digits in range(13):
        rounded = np.isclose(distinct, np.round(distinct, digits), rtol=0, atol=1e-12 * np.abs(distinct).max())
        if not rounded[at] and np.delete(rounded, at).mean() > 0.99:
            return True
    return False


def _filled_inside(case: Case, found: list[Filling]) -> Change:
    def change(problem: Problem, split: Split) -> tuple[Problem, Split]:
        cells = {}
        for filling in found:
            values, gaps = filling.column.numbers[case.rows].copy(), filling.cells[case.rows]
            known = values[split.train][~gaps[split.train]]
            middle = np.mean(known) if filling.how == "mean" else np.median(known)
            values[gaps] = middle
            cells[filling.column.name] = values
        changed = replaced(problem, cells)
        return (problem if changed is None else changed), split

    return change


# ------------------------------------------------------------------------------------------------------ target encoding


@dataclass(frozen=True, eq=False)
class Encoding:
    """A column whose values are the mean targets of levels: ``level`` of each row, ``target`` and the ``smoothing``."""

    column: ColumnView
    level: NDArray[np.int64]
    target: Floats
    smoothing: float


def encoded_before(case: Case) -> Iterator[Doubt]:
    """Columns whose values are the mean target of a level, the row's own target among them (target encoding)."""
    encodings = [e for c in case.numbers if (e := encoding_of(case, c)) is not None]
    if not encodings:
        return
    names = tuple(e.column.name for e in encodings)
    case.taken.update(names)
    effect = case.effect(_encoded_inside(case, encodings), "Scoring with encoding inside the folds")
    levels = {e.column.name: int(e.level.max()) + 1 for e in encodings}
    rows_each = min(case.problem.n_rows / n for n in levels.values())
    few = rows_each < 10
    yield Doubt(
        "serious" if (effect.sure if effect else few) else "warning",
        names,
        f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} the mean target of "
        f"{max(levels.values())} levels, computed with each row's own target",
        {"levels": levels, "rows_per_level": rows_each, "smoothing": {e.column.name: e.smoothing for e in encodings},
         **(effect.evidence() if effect else {})},
        "Pass the levels themselves (kind nominal), or encode inside the training rows, out of fold.",
        consequence=effect.words("with means of the training rows only") + "." if effect else
        "Each row carries a part of its own answer; the fewer rows a level has, the more.",
    )  # fmt: skip


def encoding_of(case: Case, column: ColumnView) -> Encoding | None:
    """How a column encodes the target, if it does."""
    some = column.numbers[:2000]
    if case.in_haste and len(np.unique(some)) > 0.5 * len(some):
        return None
    distinct = column.distinct[0]
    if (
        column.n_missing
        or not 3 <= len(distinct) <= 0.7 * column.n_rows
        or bool((distinct == np.floor(distinct)).all())
    ):
        return None
    level = column.codes
    rows = np.bincount(level)
    classes = case.problem.classes
    if classes is None:
        targets = [case.problem.target.astype(np.float64)]
    else:
        targets = [(case.problem.target == c).astype(np.float64) for c in range(min(len(classes), 10))]
        if len(classes) <= 10:
            targets.append(case.problem.target.astype(np.float64))
    for target in targets:
        prior, spread = float(target.mean()), float(target.std())
        if not spread > 0:
            continue
        mean = np.bincount(level, weights=target) / rows
        for smoothing in (0.0, *_smoothings(distinct, mean, rows, prior)):
            right = np.zeros(len(distinct), dtype=bool)
            for together in range(1, 2 if smoothing == 0 else 7):  # levels of equal mean and size share a value
                n = rows / together
                right |= np.abs((n * mean + smoothing * prior) / (n + smoothing) - distinct) <= 1e-6 * spread
            # A column of two means beside rows of one value each would fit anything.
            if rows[right].sum() >= ENCODED * column.n_rows and (rows[right] > 1).sum() >= 3:
                return Encoding(column, level, target, smoothing)
    return None


def _smoothings(value: Floats, mean: Floats, rows: NDArray[np.int64], prior: float) -> list[float]:
    """Candidates for m of (n mean + m prior) / (n + m): what the middle level says, and the least that any says."""
    off = np.abs(value - prior) > 1e-6
    amounts = rows[off] * (mean[off] - value[off]) / (value[off] - prior)
    amounts = amounts[np.isfinite(amounts) & (amounts > 1e-6)]
    return [] if len(amounts) < 3 else [float(np.median(amounts)), float(amounts.min())]


def _encoded_inside(case: Case, found: list[Encoding]) -> Change:
    def change(problem: Problem, split: Split) -> tuple[Problem, Split]:
        cells = {}
        for e in found:
            level, target = e.level[case.rows], e.target[case.rows]
            size = int(e.level.max()) + 1
            n = np.bincount(level[split.train], minlength=size)
            total = np.bincount(level[split.train], weights=target[split.train], minlength=size)
            prior = float(target[split.train].mean())
            value = _ratio(total[level], n[level], e.smoothing, prior)
            # Training rows are encoded by the other fifths of the training rows: without their own target.
            for _, fifth in pairs_of(fold_of_rows(len(split.train), min(5, len(split.train)), seed=case.seed)):
                own = split.train[fifth]
                less = np.bincount(level[own], weights=target[own], minlength=size)
                fewer = np.bincount(level[own], minlength=size)
                value[own] = _ratio((total - less)[level[own]], (n - fewer)[level[own]], e.smoothing, prior)
            cells[e.column.name] = value
        changed = replaced(problem, cells)
        return (problem if changed is None else changed), split

    return change


def _ratio(total: NDArray[Any], n: NDArray[Any], smoothing: float, prior: float) -> Floats:
    m = max(smoothing, 1.0)
    return np.asarray((total + m * prior) / (n + m))


# ------------------------------------------------------------------------------------------------------------ selection


def chosen_before(case: Case) -> Iterator[Doubt]:
    """Columns chosen by their association with the target over all rows; seen beside the original table (source=)."""
    if case.source is None or case.view is None or case.source.is_sparse or case.source.n_rows != case.problem.n_rows:
        return
    kept = [n for n in case.problem.raw.names if n in case.source.names]
    if len(kept) < len(case.problem.raw.names) or len(case.source.names) < 1.5 * len(kept):
        return
    dropped_target = [n for n in case.source.names if n != case.problem.target_name]
    whole = case.source
    for name in set(whole.names) - set(dropped_target):
        whole = whole.without(name)
    problem = prepared(whole, case.problem.labels, task=case.task, kinds=case.problem.told, owner="audit: source")
    if hasattr(case.problem.given, "iloc"):
        import pandas as pd

        problem.given = pd.DataFrame({c.name: c.values for c in whole.columns if c.form in ("number", "integer")})
    elif isinstance(case.problem.given, np.ndarray):
        problem.given = np.column_stack([c.values for c in whole.columns])
    numeric = [c.name for c in whole.columns if c.form in ("number", "integer")]
    if not set(kept) <= set(numeric) or len(numeric) < len(whole.columns):
        return
    k = len(kept)
    strength = association(problem, numeric, np.arange(problem.n_rows))
    best = [numeric[j] for j in np.argsort(-strength, kind="stable")[:k]]
    agreed = len(set(best) & set(kept)) / k
    if agreed < CHOSEN:
        return
    small = problem if len(case.rows) == problem.n_rows else problem.subset(case.rows)

    def change(_: Problem, split: Split) -> tuple[Problem, Split]:
        order = np.argsort(-association(small, numeric, split.train), kind="stable")
        part = narrowed(small, [numeric[j] for j in order[:k]])
        return (small if part is None else part), split

    effect = case.effect(change, "Scoring with selection inside the folds")
    yield Doubt(
        "serious" if effect is not None and effect.sure else "warning",
        tuple(kept),
        f"{k} of {len(numeric)} columns are left, {percent(agreed)} of them those most associated with "
        f"{case.target_name} over all rows: they were selected with the test rows included",
        {"kept": k, "of": len(numeric), "among_the_best": agreed, **(effect.evidence() if effect else {})},
        "Choose columns inside the folds: a selector in a pipeline with the model.",
        consequence=effect.words("with as many columns chosen inside the training rows") + "." if effect else
        "Columns were kept because they fit the test rows by chance.",
    )  # fmt: skip


def association(problem: Problem, names: list[str], rows: NDArray[np.int64]) -> Floats:
    """F statistic of each number against the target on some rows, 0 where it is not defined."""
    from sklearn.feature_selection import f_classif, f_regression

    by_name = {c.name: c for c in problem.raw.columns}
    table = np.column_stack([np.asarray(by_name[n].values, dtype=np.float64)[rows] for n in names])
    table = np.where(np.isnan(table), np.nanmean(table, axis=0), table)
    with np.errstate(all="ignore"):
        score = (f_classif if problem.classes is not None else f_regression)(table, problem.target[rows])[0]
    return np.nan_to_num(score, nan=0.0, posinf=np.finfo(np.float64).max)
