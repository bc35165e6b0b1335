"""Columns that know too much: made from the target, written down after it, or naming the row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.audit.case import Case
from tilth.evaluate.audit.finding import Doubt, Effect
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding, Severity
from tilth.quality.redundancy import dependent_numbers
from tilth.quality.scan import Bins, Skill, binned, explained, flag_area, folds_of, skill
from tilth.quality.target import leaks
from tilth.quality.view import View
from tilth.words import listed

#: Share of the baseline's errors that missingness alone removes, and area, that are suspect or beyond doubt.
TELLING_GAIN, CERTAIN_GAIN = 0.5, 0.8
TELLING_AREA, CERTAIN_AREA = 0.85, 0.95
#: Missing (and present) cells a column needs for its gaps to be judged, and rows of a class.
GAP_CELLS, CLASS_ROWS = 10, 30
#: Share of the baseline's errors that an identifier removes when the file is sorted by the target.
SORTED_GAIN = 0.1
#: A column that removes this share of the baseline's errors is a copy, if the others together remove clearly less.
CERTAIN_COPY, CLEARLY = 0.98, 0.02
_TOLD_TARGET = "(target)"


def target_columns(case: Case) -> Iterator[Doubt]:
    """Columns that alone, or as a sum, product or ratio of two, give the target away; measured by shuffling them."""
    if case.view is None:
        return
    names = {c.name for c in case.used}
    suspects = [f for f in leaks(case.view) if names.issuperset(f.columns)]
    found = [f for f in _alone(case, suspects) if f.severity != "info"]
    found += [f for f in _formulas(case.view) if names.issuperset(f.columns)]
    if not found:
        return
    columns = tuple(dict.fromkeys(n for f in found for n in f.columns))
    case.taken.update(columns)
    effect = case.effect_without(columns, "Scoring without columns that leak the target")
    yield Doubt(
        "serious" if any(f.severity == "serious" for f in found) else "warning",
        columns,
        _title(found, columns).replace(_TOLD_TARGET, case.target_name),
        {"findings": [f.to_dict() for f in found[:5]], **(effect.evidence() if effect else {})},
        "Is it known before the target is? If it is recorded afterwards, or computed from the target, drop it.",
        consequence=_words(effect, columns) or "The score only shows that the answer was copied.",
    )


def _title(found: list[Finding], columns: tuple[str, ...]) -> str:
    return found[0].title if len(found) == 1 else f"{listed(columns)} give the target away; {found[0].title}"


def _alone(case: Case, suspects: list[Finding]) -> list[Finding]:
    """Suspects with the severity that remains when each is compared with all other columns but certain copies.

    In an easy problem several columns do well and none of them is a leak; a copy of the target is right where they are
    not.
    """
    if case.view is None or case.view.classes is None:
        return suspects
    view = case.view.sample
    target = view.target
    assert target is not None
    y = np.unique(target.codes, return_inverse=True)[1]
    certain = {f.columns[0] for f in suspects if _threshold_gain(view.column(f.columns[0]), y) >= CERTAIN_COPY}
    bins = {c.name: binned(c) for c in view.columns if c.spec.role == "feature" and c.n_distinct > 1}
    judged = []
    for f in suspects:
        name, gain, area = f.columns[0], float(f.evidence["gain"]), float(f.evidence["auc"])
        rest = skill([b for n, b in bins.items() if n != name and n not in certain], y, int(y.max()) + 1)
        by_area = gain < CERTAIN_GAIN
        ratio = (rest.auc - 0.5) / (area - 0.5) if by_area else rest.gain / gain
        severity: Severity = "serious" if ratio < 0.5 else "warning" if ratio < 0.6 else "info"
        if name in certain and severity == "info" and rest.gain <= CERTAIN_COPY - CLEARLY:
            severity = "warning"
        judged.append(replace(f, severity=severity))
    return judged


def _threshold_gain(column: ColumnView, y: NDArray[np.int64]) -> float:
    """Share of the baseline's errors that thresholds on one column remove, on held-out rows; bins blur a sharp edge."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    cells = column.codes.astype(np.float64)[:, None]
    tree = DecisionTreeClassifier(max_leaf_nodes=4 * (int(y.max()) + 1), min_samples_leaf=2, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    right = float((cross_val_predict(tree, cells[order], y[order], cv=5) == y[order]).mean())
    base = float(np.bincount(y).max() / len(y))
    return (right - base) / (1 - base) if base < 1 else 0.0


def _formulas(view: View) -> Iterator[Finding]:
    """The target as a copy, sum, difference, product or ratio of columns."""
    target = view.target
    if target is None or not target.is_number or view.classes is not None:
        return
    view = view.sample
    for finding in dependent_numbers(replace(view, columns=view.everything, target=None)):
        if target.name in finding.columns and "r_squared" in finding.evidence:
            rest = tuple(n for n in finding.columns if n != target.name)
            if len(rest) > 1:
                yield replace(finding, columns=rest, severity="serious")


def identifier_columns(case: Case) -> Iterator[Doubt]:
    """Columns that number the rows and are learned from; worse where the file is sorted by the target."""
    if case.view is None:
        return
    used = {c.name: c for c in case.used}
    found = [f for f in case.identifiers if f.columns[0] in used]
    for finding in found[:3]:
        name = finding.columns[0]
        if name in case.taken:
            continue
        case.taken.add(name)
        gain = _gain(case, binned(used[name]))
        telling = gain >= SORTED_GAIN
        effect = case.effect_without((name,), f"Scoring without {name}") if telling else None
        yield Doubt(
            "serious" if telling and (effect is None or effect.sure) else "warning",
            (name,),
            f"{name} identifies the row ({finding.evidence['distinct']:,} values in {finding.evidence['rows']:,} rows)"
            + (": the file is sorted by the target, so it leaks" if telling else " and is learned from"),
            {**finding.evidence, "gain": gain, **(effect.evidence() if effect else {})},
            f"Drop {name!r}, or set it aside: kinds={{{name!r}: 'aside'}}.",
            consequence=_words(effect, (name,)) or "It can only be memorised and is useless for new rows.",
        )


def telling_gaps(case: Case) -> Iterator[Doubt]:
    """Columns whose missing cells tell the target: filled in only after the outcome was known."""
    if case.view is None:
        return
    telling: dict[str, tuple[float, float]] = {}
    view = case.view.sample
    wanted = {c.name for c in case.used} - case.taken
    for column in view.columns:
        if column.name not in wanted or not GAP_CELLS <= column.n_missing <= view.n_rows - GAP_CELLS:
            continue
        bins = Bins(column, column.missing.astype(np.int64), 2)
        found = _skill(view, bins)
        gain = found.gain if isinstance(found, Skill) else found
        area = _best_area(view, bins)
        if gain >= TELLING_GAIN or area >= TELLING_AREA:
            telling[column.name] = (gain, area)
    if not telling:
        return
    names = tuple(sorted(telling, key=lambda n: -telling[n][0]))
    certain = any(g >= CERTAIN_GAIN or a >= CERTAIN_AREA for g, a in telling.values())
    effect = case.effect_without(names, "Scoring without columns whose gaps leak")
    case.taken.update(names)
    gain, area = telling[names[0]]
    strength = f"AUC {area:.3f}" if np.isfinite(area) else f"{100 * gain:.0f}% of the baseline's errors removed"
    yield Doubt(
        "serious" if certain else "warning",
        names,
        f"whether {listed(names)} is missing predicts {case.target_name}: {strength} on held-out rows from that alone",
        {"gain": {n: g for n, (g, _) in telling.items()}, "auc": {n: a for n, (_, a) in telling.items()},
         **(effect.evidence() if effect else {})},
        "Find out when the cells are filled in. If after the outcome, drop the column and its indicator.",
        consequence=_words(effect, names) or "New rows, where nothing is filled in yet, lack this information.",
    )  # fmt: skip


def _words(effect: Effect | None, names: tuple[str, ...]) -> str:
    return f"{effect.words('without ' + listed(names))}." if effect else ""


def _skill(view: View, bins: Bins) -> Skill | float:
    """What a binned column knows about the target, on held-out rows: skill at classes, or R squared of a quantity."""
    target = view.target
    assert target is not None
    if view.classes is None:
        return explained(bins, target.numbers)
    y = np.unique(target.codes, return_inverse=True)[1]
    return skill([bins], y, int(y.max()) + 1)


def _best_area(view: View, bins: Bins) -> float:
    """The largest area of a binned column for any class of enough rows against the rest; NaN for a quantity."""
    if view.classes is None or view.target is None:
        return float("nan")
    codes, fold = view.target.codes, folds_of(view.n_rows)
    return max(
        (flag_area(bins, codes == c, fold) for c in np.flatnonzero(np.bincount(codes) >= CLASS_ROWS)), default=0.5
    )


def _gain(case: Case, bins: Bins) -> float:
    assert case.view is not None
    found = _skill(case.view, bins)
    return found.gain if isinstance(found, Skill) else found
