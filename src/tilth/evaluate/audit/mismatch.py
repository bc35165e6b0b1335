"""Data in a form that the model misreads: columns of other scales, codes taken for quantities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Estimator
from tilth.data.table import RawColumn, RawTable
from tilth.evaluate.audit.case import Case, standardised_inside
from tilth.evaluate.audit.finding import Doubt
from tilth.evaluate.problem import Problem
from tilth.quality.column import ColumnView
from tilth.words import listed

Floats = NDArray[np.float64]

#: Models that measure distances over all columns, and steps that bring columns to one scale.
DISTANCE = re.compile(
    r"^(KNeighbors|RadiusNeighbors|NearestCentroid|SVC|NuSVC|SVR|NuSVR|OneClassSVM|KMeans|MiniBatchKMeans|PCA$|KernelPCA|"
    r"KernelRidge|GaussianProcess|MLP|LocalOutlierFactor|DBSCAN|LabelPropagation|LabelSpreading|RBFSampler|Nystroem)"
)
SCALER = re.compile(r"Scal|Standardi|MinMax|Normali[sz]|Quantile|PowerTransform|Whiten|SplineTransform|KBins")
#: How far apart the deviations of columns may be.
FACTOR = 100.0
#: Levels of a code, rows each of them needs, and the share of variance that its order must hide.
CODE_LEVELS, CODE_ROWS, HIDDEN = (3, 30), 10, 0.02
LEVEL = 0.001


def unscaled_distances(case: Case) -> Iterator[Doubt]:
    """A model of distances on columns whose scales are far apart: the widest column decides alone."""
    measuring = [type(p).__name__ for p in case.parts if DISTANCE.match(type(p).__name__) or _is_lazy(p)]
    if not measuring or any(SCALER.search(type(p).__name__) for p in case.parts):
        return
    spread = {c.name: float(np.nanstd(c.numbers)) for c in case.numbers if c.n_distinct > 2}
    spread = {n: s for n, s in spread.items() if s > 0 and np.isfinite(s)}
    if len(spread) < 2 or max(spread.values()) < FACTOR * min(spread.values()):
        return
    widest, narrowest = max(spread, key=lambda n: spread[n]), min(spread, key=lambda n: spread[n])
    ratio = spread[widest] / spread[narrowest]
    gain = case.effect(standardised_inside, "Scoring with equal scales")
    better = gain is not None and gain.optimism.high < 0
    yield Doubt(
        "warning" if gain is None or better else "info",
        (widest, narrowest),
        f"{measuring[0]} uses distances, and {widest} is {ratio:,.0f} times as wide as {narrowest}",
        {"deviations": {n: spread[n] for n in sorted(spread, key=lambda n: -spread[n])[:20]}, "ratio": ratio,
         **(gain.evidence() if gain else {})},
        "Standardise inside a pipeline with the model.",
        consequence=f"{gain.metric.name} is {gain.planned.value:.3f} as it is and {gain.honest.value:.3f} with equal "
        f"scales." if gain else f"Distances depend on {widest} alone; the other columns hardly count.",
    )  # fmt: skip


def _is_lazy(part: Any) -> bool:
    return isinstance(part, Estimator) and part.card.traits.lazy


def codes_as_quantities(case: Case) -> Iterator[Doubt]:
    """Whole-number codes of levels, learned from as quantities although the target does not follow their order."""
    if not case.takes_order_seriously:
        return
    hidden_shares: dict[str, float] = {}
    for column in case.numbers:
        hidden = _hidden_by_order(case, column)
        if hidden is not None:
            hidden_shares[column.name] = hidden
    if not hidden_shares:
        return
    names = tuple(sorted(hidden_shares, key=lambda n: -hidden_shares[n]))[:5]
    gain = case.effect(lambda p, s: (_as_levels(case, p, names), s), "Scoring with codes as levels")
    better = gain is not None and gain.optimism.high < 0
    if gain is not None and not better and gain.optimism.low > 0:
        return
    yield Doubt(
        "warning" if better else "info",
        names,
        f"{listed(names)} {'looks' if len(names) == 1 else 'look'} like codes of levels but "
        f"{'is' if len(names) == 1 else 'are'} used as quantities",
        {"variance_hidden_by_order": hidden_shares, **(gain.evidence() if gain else {})},
        f"Use kinds={{{names[0]!r}: 'nominal'}}, or one-hot encode inside a pipeline.",
        consequence=f"{gain.metric.name} is {gain.planned.value:.3f} as it is and {gain.honest.value:.3f} with levels."
        if gain
        else "The model sees an order that does not exist and misses the effect of each level.",
    )


def _hidden_by_order(case: Case, column: ColumnView) -> float | None:
    """Share of the target's variance that the levels explain and no monotone function of the code; None if none."""
    low, high = float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))
    if low not in (0.0, 1.0) or high - low >= CODE_LEVELS[1]:
        return None
    distinct, rows = column.distinct
    if not CODE_LEVELS[0] <= len(distinct) <= CODE_LEVELS[1] or column.n_missing:
        return None
    steps = np.diff(distinct)
    if not (steps == 1).all() or rows.min() < CODE_ROWS:
        return None
    from scipy import stats
    from scipy.optimize import isotonic_regression

    classes = case.problem.classes
    targets = (
        [case.problem.target.astype(np.float64)]
        if classes is None
        else [(case.problem.target == c).astype(np.float64) for c in range(min(len(classes), 10))]
    )
    most = 0.0
    tests = len(targets) * max(1, len(case.numbers))
    for target in targets:
        total = float(((target - target.mean()) ** 2).sum())
        if total == 0:
            continue
        mean = np.bincount(column.codes, weights=target) / rows
        within = total - float((rows * (mean - target.mean()) ** 2).sum())
        weight = rows.astype(np.float64)
        least = min(
            float((rows * (mean - isotonic_regression(mean, weights=weight, increasing=up).x) ** 2).sum())
            for up in (True, False)
        )
        left = max(len(target) - len(mean), 1)
        p = float(stats.f.sf(least / max(len(mean) - 2, 1) / max(within / left, 1e-300), max(len(mean) - 2, 1), left))
        if p * tests < LEVEL:
            most = max(most, least / total)
    return most if most >= HIDDEN else None


def _as_levels(case: Case, problem: Problem, names: tuple[str, ...]) -> Problem:
    """The problem with codes as levels: told so to ours, as columns of 0 and 1 to others."""
    if isinstance(case.model, Estimator):
        return replace(problem, told={**(problem.told or {}), **dict.fromkeys(names, "nominal")})
    flags: dict[str, Floats] = {}
    for column in problem.raw.columns:
        if column.name in names:
            values = np.asarray(column.values, dtype=np.float64)
            flags |= {f"{column.name}={v:g}": (values == v).astype(np.float64) for v in np.unique(values)[1:]}
    frame = problem.given
    if isinstance(frame, np.ndarray):
        kept = [j for j, n in enumerate(problem.raw.names) if n not in names]
        frame = np.column_stack([frame[:, kept], *flags.values()])
    elif hasattr(frame, "iloc"):
        import pandas as pd

        kept = [j for j, n in enumerate(problem.raw.names) if n not in names]
        frame = pd.concat([frame.iloc[:, kept], pd.DataFrame(flags, index=frame.index)], axis=1)
    columns = [c for c in problem.raw.columns if c.name not in names]
    columns += [RawColumn(n, "number", v) for n, v in flags.items()]
    return replace(
        problem, given=frame, raw=RawTable(columns, problem.n_rows, problem.raw.named, None, problem.raw.native)
    )
