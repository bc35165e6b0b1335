"""The target: missing labels, class balance, and columns that give the answer away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base.target import check_weight, encode_labels
from tilth.quality.finding import Finding, Severity
from tilth.quality.scan import binned, explained, skill
from tilth.quality.view import View
from tilth.words import count, listed, percent, shown

if TYPE_CHECKING:
    import pandas as pd

#: A column that alone removes this share of the baseline's errors is suspect, as is this area or R squared.
LEAK_GAIN = 0.8
LEAK_AREA = 0.98
LEAK_R2 = 0.95
FEW_PER_CLASS = 10
#: Rows are enough for the leak scan above this; fewer make any column look perfect.
LEAK_ROWS = 30
#: Classes told apart by the leak scan; the rarest beyond them count as one.
MOST_CLASSES = 50


def balanced_weights(y: Any, sample_weight: Any = None) -> NDArray[np.float64]:
    """Weights under which each class weighs the same: ``w_i' = w_i W / (k W_c)`` for a row of class c.

    ``W`` is the sum of all weights (one each unless given), ``W_c`` that of the class, ``k`` the number of classes, so
    the total stays ``W``.

    >>> balanced_weights(["a", "a", "a", "b"]).tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"balanced_weights needs one label per row; got shape {values.shape}.")
    classes, codes = encode_labels(values)
    weight = check_weight(sample_weight, len(values), "balanced_weights")
    weight = np.ones(len(values)) if weight is None else weight
    per_class = np.bincount(codes, weights=weight, minlength=len(classes))
    if (per_class == 0).any():
        empty = [str(c) for c, w in zip(classes, per_class, strict=True) if w == 0]
        raise ValueError(f"balanced_weights: the weights of class {listed(empty)} are all zero: they cannot be raised.")
    return np.asarray(weight * (weight.sum() / len(classes) / per_class)[codes])


def class_balance(view: View) -> pd.DataFrame | None:
    """Rows, share and balancing weight of each class, or None when there are no classes."""
    import pandas as pd

    y, target = view.classes, view.target
    if y is None or target is None or target.n_distinct == 0:
        return None
    rows = target.distinct[1]
    return pd.DataFrame(
        {
            "class": [target.label(int(i)) for i in target.places],
            "rows": rows,
            "share": rows / rows.sum(),
            "weight": rows.sum() / (len(rows) * rows),
        }
    )


def target_missing(view: View) -> Iterator[Finding]:
    """Rows without a target, and a target with one value only."""
    target = view.target
    if target is None or view.n_rows == 0:
        return
    if target.n_missing:
        gone = target.n_missing == view.n_rows
        yield Finding(
            "serious" if gone else "warning",
            (target.name,),
            f"the target {target.name} is missing in {'every row' if gone else count(target.n_missing, 'row')}"
            + ("" if gone else f" ({percent(target.n_missing / view.n_rows)})"),
            {"missing": target.n_missing, "rows": view.row_numbers(target.missing)},
            "Nothing can be learned." if gone else "Drop these rows for supervised learning; do not impute a target.",
        )
    words = [v for v in target.raw.levels if isinstance(v, str) and v.strip() in ("?", "-", "N/A", "NA", "")]
    if words:
        yield Finding(
            "warning", (target.name,), f"the target {target.name} has the class {listed(map(shown, words))}: no label?",
            {"labels": words}, "Replace it by missing, and drop these rows.",
        )  # fmt: skip
    if target.n_distinct == 1:
        yield Finding(
            "serious", (target.name,), f"the target {target.name} has one value only: there is nothing to predict",
            {"distinct": 1}, "Check how the rows were chosen.",
        )  # fmt: skip


def imbalance(view: View) -> Iterator[Finding]:
    """Classes of very different sizes."""
    balance = class_balance(view)
    if balance is None or len(balance) < 2 or view.target is None:
        return
    top, low = float(balance["share"].max()), float(balance["share"].min())
    if top < 0.8 and low * len(balance) > 0.2:
        return
    rarest = balance.loc[balance["share"].idxmin()]
    strong = top >= 0.95 or low * len(balance) < 0.02
    yield Finding(
        "warning" if strong else "info",
        (view.target.name,),
        f"classes are uneven: always answering the most frequent one is right {percent(top)} of the time; "
        f"{shown(rarest['class'])} has {count(int(rarest['rows']), 'row')} ({percent(low)})",
        {"rows": dict(zip(map(str, balance["class"]), balance["rows"], strict=True)), "commonest_share": top},
        "Judge by balanced accuracy, recall or cost, not by accuracy; balanced_weights(y) makes the classes equal.",
    )


def few_per_class(view: View) -> Iterator[Finding]:
    """Classes with too few rows to be learned and tested."""
    balance = class_balance(view)
    if balance is None or view.target is None or len(balance) < 2 or view.n_rows < 4 * FEW_PER_CLASS:
        return
    few = balance[balance["rows"] < FEW_PER_CLASS]
    if len(few):
        yield Finding(
            "warning",
            (view.target.name,),
            f"{count(len(few), 'class', 'classes')} with fewer than {FEW_PER_CLASS} rows: "
            + listed(map(shown, few["class"])),
            {"classes": len(few), "rows": dict(zip(map(str, few["class"][:50]), few["rows"][:50], strict=True))},
            "Merge rare classes, collect more rows, or leave them out and report it.",
        )


def leaks(view: View) -> Iterator[Finding]:
    """Columns that alone give the target away, with the skill of all other columns for comparison.

    Each column is binned and predicts held-out rows by the class shares of its bins (a finer One-R). The gain is the
    share of the baseline's errors that disappear. A leak stands alone: it is serious when a naive Bayes over all
    columns that are not suspect reaches less than half of its gain; easy problems, where many columns do well, are
    not reported as leaks.
    """
    if view.target is None or view.n_rows < LEAK_ROWS:
        return
    small = view.sample
    keep = small.is_first
    target = small.target
    assert target is not None
    small = small.take(np.flatnonzero(keep & ~target.missing))
    if small.n_rows < LEAK_ROWS:
        return
    yield from _class_leaks(small) if view.classes is not None else _quantity_leaks(small)


def _class_leaks(view: View) -> Iterator[Finding]:
    target = view.target
    assert target is not None
    y = np.unique(target.codes, return_inverse=True)[1]
    by_size = np.argsort(np.argsort(-np.bincount(y), kind="stable"), kind="stable")
    y = np.minimum(by_size[y], MOST_CLASSES - 1) if len(by_size) > MOST_CLASSES else y
    k = int(y.max()) + 1
    if k < 2 or (np.bincount(y).min() < 2 and k == 2):
        return
    bins = [binned(c) for c in view.columns if c.n_distinct >= 1 and c.n_distinct + (c.n_missing > 0) >= 2]
    skills = [skill([b], y, k) for b in bins]
    suspect = [s.gain >= LEAK_GAIN or s.auc >= LEAK_AREA for s in skills]
    if not any(suspect):
        return
    rest = [b for b, bad in zip(bins, suspect, strict=True) if not bad and b.column.spec.role == "feature"]
    without = skill(rest, y, k)
    for b, s, bad in zip(bins, skills, suspect, strict=True):
        if not bad:
            continue
        by_area = s.gain < LEAK_GAIN
        ratio = (without.auc - 0.5) / (s.auc - 0.5) if by_area else without.gain / s.gain
        severity: Severity = "serious" if ratio < 0.5 else "warning" if ratio < 0.6 else "info"
        if not rest or sum(suspect) > 2 * len(rest):
            severity = "warning" if len(bins) == 1 else "info"  # most columns do well: an easy problem
        name = b.column.name
        words = "predicts the target well" if severity == "info" else "gives the target away"
        area = f", AUC {s.auc:.3f}" if k == 2 else ""
        yield Finding(
            severity,
            (name,),
            f"{name} alone {words}: accuracy {s.accuracy:.3f}{area} on held-out rows "
            f"(most frequent class {s.base:.3f}, all other columns {without.accuracy:.3f})",
            {
                "accuracy": s.accuracy, "baseline": s.base, "gain": s.gain, "auc": s.auc, "rows": view.n_rows,
                "accuracy_of_the_others": without.accuracy, "gain_of_the_others": without.gain,
                "auc_of_the_others": without.auc,
            },
            "Is it known before the target is? If it is recorded afterwards, or computed from the target, drop it."
            if severity != "info"
            else "An easy problem, or a column computed from the target: make sure that it is known before the "
            "target is.",
        )  # fmt: skip


def _quantity_leaks(view: View) -> Iterator[Finding]:
    from scipy import stats

    target = view.target
    assert target is not None
    if target.raw.form == "date" or not target.is_number:
        return
    y = target.numbers
    scores: list[tuple[str, float]] = []
    others = [0.0]
    for column in view.columns:
        if column.n_distinct < 2:
            continue
        r2 = explained(binned(column, 64), y)
        there = ~column.missing
        if column.is_number and there.mean() > 0.9 and view.n_rows >= LEAK_ROWS:
            r2 = max(r2, float(stats.spearmanr(column.numbers[there], y[there]).statistic) ** 2)
        if r2 >= LEAK_R2:
            scores.append((column.name, r2))
        else:
            others.append(r2)
    for name, r2 in scores:
        yield Finding(
            "serious" if max(others) < 0.8 else "warning",
            (name,),
            f"{name} alone gives the target away: R squared {r2:.3f} (best of the other columns {max(others):.3f})",
            {"r_squared": r2, "best_of_the_others": max(others), "rows": view.n_rows},
            "Is it known before the target is? If it is recorded afterwards, or computed from the target, drop it.",
        )
