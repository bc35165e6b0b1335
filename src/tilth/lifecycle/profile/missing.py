"""Missing cells: how many, by which rule, and what filling them with the mean does to the spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds
from tilth.lifecycle.profile.column import ColumnView
from tilth.lifecycle.profile.finding import Finding, count, listed, percent, shown
from tilth.lifecycle.profile.scan import BINS, Bins, binned, flag_area, folds_of, independence_p
from tilth.lifecycle.profile.view import View, view_of

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]

#: A column emptier than this is worth a warning.
MUCH_MISSING = 0.4
#: Missing (and present) cells needed before a rule is looked for.
RULE_CELLS = 10
#: A rule must rank a missing cell above a present one this often, and be this improbable by chance.
RULE_AREA = 0.65
RULE_LEVEL = 0.001
STRONG_AREA = 0.75
#: Columns for which a rule is looked for, those with most missing cells first.
RULE_COLUMNS = 40
TREE_DEPTH = 2
TREE_LEAF = 5


def missing_cells(view: View) -> Iterator[Finding]:
    """Cells without a value, counted per column."""
    gaps = {c.name: c.n_missing for c in view.columns if 0 < c.n_missing < view.n_rows}
    if not gaps:
        return
    worst = max(gaps.values()) / view.n_rows
    ranked = sorted(gaps, key=lambda name: -gaps[name])
    any_gap = np.zeros(view.n_rows, dtype=bool)
    for c in view.columns:
        if c.name in gaps:
            any_gap |= c.missing
    complete = view.n_rows - int(any_gap.sum())
    yield Finding(
        "warning" if worst >= MUCH_MISSING else "info",
        tuple(ranked),
        f"{count(sum(gaps.values()), 'missing cell')} in {count(len(gaps), 'column')}: "
        + listed([f"{n} {percent(gaps[n] / view.n_rows)}" for n in ranked], 4),
        {"cells": {n: gaps[n] for n in ranked}, "complete_rows": complete, "worst_share": worst},
        f"Keep the rows: dropping every incomplete one would leave {count(complete, 'row')}. Use a model that accepts "
        "missing values, or impute inside the folds with an indicator column."
        if complete < 0.95 * view.n_rows
        else "Use a model that accepts missing values, or impute inside the folds.",
    )


def empty_columns(view: View) -> Iterator[Finding]:
    """Columns without a value in any row."""
    empty = [c.name for c in view.columns if view.n_rows and c.n_missing == view.n_rows]
    if empty:
        yield Finding(
            "warning", tuple(empty), f"{listed(empty)}: no value in any row", {"rows": view.n_rows}, "Drop or refill."
        )


def missing_by_rule(view: View) -> Iterator[Finding]:
    """Missing cells that other columns or the target predict: not missing completely at random.

    For each column with enough missing cells every other column is scanned: a chi-square test of its bins against the
    missing flag, corrected for the number of tests (Bonferroni), and the cross-fitted area under the ROC curve. The
    best one is grown into a tree of at most two splits, which is the rule in words. That cells depend on their own
    unseen value cannot be tested from the table.
    """
    small = view.sample
    suspects = [c for c in small.columns if RULE_CELLS <= c.n_missing <= small.n_rows - RULE_CELLS]
    suspects = sorted(suspects, key=lambda c: -c.n_missing)[:RULE_COLUMNS]
    if not suspects:
        return
    usable = [c for c in small.everything if c.spec.role == "feature" or c is small.target]
    others = [c for c in usable if c.n_distinct > 0 and c.n_missing < small.n_rows]
    cache: dict[tuple[str, int], Bins] = {}
    fold = folds_of(small.n_rows)
    n_tests = len(suspects) * max(1, len(others) - 1)
    for column in suspects:
        flag = column.missing
        # Few missing cells, few bins: the chi-square test wants about five of them in each.
        limit = int(np.clip(min(flag.sum(), (~flag).sum()) // 5, 2, BINS))
        best_area, best_p, best = 0.5, 1.0, None
        for other in others:
            if other.name == column.name:
                continue
            key = (other.name, limit)
            bins = cache[key] = cache.get(key) or binned(other, limit)
            p = independence_p(bins, flag) * n_tests
            area = flag_area(bins, flag, fold) if p < RULE_LEVEL else 0.5
            if area > best_area:
                best_area, best_p, best = area, p, other
        if best is None or best_area < RULE_AREA:
            continue
        tree = grow(flag, [best, *(c for c in others if c.name not in (column.name, best.name))])
        holds = float((tree.predict(small) == flag).mean())
        base = max(flag.mean(), 1 - flag.mean())
        yield Finding(
            "warning" if best_area >= STRONG_AREA else "info",
            (column.name,),
            f"{column.name} is not missing at random: {tree.words()}",
            {
                "missing": view.column(column.name).n_missing,
                "auc": best_area,
                "p_value": min(1.0, best_p),
                "predicted_by": best.name,
                "rule_holds": holds,
                "rule_holds_by_guessing": float(base),
                "tree": tree.lines(),
                "mechanism": "depends on other columns (MAR-like)",
            },
            "Find out why. Keep the columns of the rule in the model and add an indicator of missingness; a plain mean "
            "or a dropped row would bias the results.",
        )


# ------------------------------------------------------------------------------------------------- the rule as a tree


@dataclass
class Rule:
    """A node of the tree: the share of missing cells, and a split ``(column, threshold or levels)`` or None."""

    n: int
    share: float
    column: ColumnView | None = None
    threshold: float = float("nan")
    levels: tuple[int, ...] = ()
    inside: Rule | None = None
    outside: Rule | None = None

    def test(self, column: ColumnView) -> Flags:
        """Rows that go inside."""
        if self.levels:
            return np.isin(column.codes, self.levels)
        if self.threshold == -np.inf:
            return column.missing
        return np.asarray(~column.missing & (column.numbers <= self.threshold))

    def condition(self) -> str:
        """The split in words."""
        assert self.column is not None
        if self.levels:
            names = ["missing" if v < 0 else shown(self.column.label(v)) for v in self.levels[:4]]
            more = f" and {len(self.levels) - 4} more" if len(self.levels) > 4 else ""
            return f"{self.column.name} is {' or '.join(names)}{more}"
        if self.threshold == -np.inf:
            return f"{self.column.name} is missing"
        return f"{self.column.name} <= {self.threshold:g}"

    def opposite(self) -> str:
        """The other side of the split in words."""
        assert self.column is not None
        if not self.levels and self.threshold != -np.inf:
            return f"{self.column.name} > {self.threshold:g}"
        return f"not {self.condition()}"

    def words(self) -> str:
        """The first split as a sentence about where cells are missing."""
        if self.inside is None or self.outside is None:
            return f"missing in {percent(self.share)} of rows"
        high, low = self.inside, self.outside
        where = self.condition()
        if high.share < low.share:
            high, low, where = low, high, self.opposite()
        return f"missing in {percent(high.share)} of rows where {where}, in {percent(low.share)} of the others"

    def lines(self, depth: int = 0) -> list[str]:
        """The tree as indented lines."""
        pad = "  " * depth
        if self.inside is None or self.outside is None:
            return [f"{pad}missing in {percent(self.share)} of {count(self.n, 'row')}"]
        return [
            f"{pad}{self.condition()}:", *self.inside.lines(depth + 1),
            f"{pad}{self.opposite()}:", *self.outside.lines(depth + 1),
        ]  # fmt: skip

    def predict(self, view: View) -> Flags:
        """Whether each row's cell should be missing, by the majority of its leaf."""
        if self.column is None or self.inside is None or self.outside is None:
            return np.full(view.n_rows, self.share > 0.5)
        inside = self.test(view.column(self.column.name))
        return np.where(inside, self.inside.predict(view), self.outside.predict(view))


def grow(flag: Flags, columns: Sequence[ColumnView], depth: int = TREE_DEPTH) -> Rule:
    """Tree of Gini splits for a flag; the first split uses ``columns[0]``, deeper ones any column."""
    return _grow(flag, list(columns), np.arange(flag.size), depth, first=True)


def _grow(flag: Flags, columns: list[ColumnView], rows: NDArray[np.int64], depth: int, first: bool) -> Rule:
    here = flag[rows]
    node = Rule(len(rows), float(here.mean()) if len(rows) else 0.0)
    impurity = 2 * node.share * (1 - node.share) * len(rows)
    if depth == 0 or impurity == 0:
        return node
    # A second split must explain a tenth of all the impurity there was: rules are for people.
    least = 0.0 if first else 0.1 * 2 * flag.mean() * (1 - flag.mean()) * flag.size
    best = least
    for column in columns[:1] if first else columns:
        gain, threshold, levels = _best_split(column, here, rows, impurity)
        if gain > best:
            best, node.column, node.threshold, node.levels = gain, column, threshold, levels
    if node.column is None:
        return node
    inside = node.test(node.column)[rows]
    node.inside = _grow(flag, columns, rows[inside], depth - 1, first=False)
    node.outside = _grow(flag, columns, rows[~inside], depth - 1, first=False)
    return node


def _best_split(
    column: ColumnView, flag: Flags, rows: NDArray[np.int64], impurity: float
) -> tuple[float, float, tuple[int, ...]]:
    """Largest fall of ``2 p (1 - p) n`` over all thresholds, or over the levels ordered by their share."""
    codes = column.codes[rows]
    low = int(codes.min()) if codes.size else 0
    size = int(codes.max()) + 1 - low if codes.size else 1
    n = np.bincount(codes - low, minlength=size).astype(float)
    yes = np.bincount(codes - low, weights=flag, minlength=size)
    seen = np.flatnonzero(n)
    by_level = not (column.is_number or column.raw.form == "date")
    if by_level:
        # A level of a row or two is a name, and a list of names is no rule.
        seen = seen[n[seen] >= TREE_LEAF]
    order = seen[np.argsort(-yes[seen] / n[seen], kind="stable")] if by_level else seen
    if not len(order):
        return 0.0, np.nan, ()
    n_in, yes_in = np.cumsum(n[order]), np.cumsum(yes[order])
    n_out, yes_out = n.sum() - n_in, yes.sum() - yes_in
    left = 2 * yes_in * (1 - yes_in / n_in) + 2 * yes_out * (1 - yes_out / np.maximum(n_out, 1))
    gain = np.where((n_in >= TREE_LEAF) & (n_out >= TREE_LEAF), impurity - left, 0.0)
    at = int(gain.argmax())
    if by_level:
        inside = order[: at + 1] + low
        return float(gain[at]), np.nan, tuple(int(v) for v in inside)
    edge = int(order[at]) + low
    if edge < 0:
        return float(gain[at]), -np.inf, ()
    return float(gain[at]), float(column.distinct[0][edge]), ()


# ------------------------------------------------------------------------------------------------ bias of imputation


def imputation_bias(table: Any, *, kinds: Kinds = None) -> pd.DataFrame:
    """What filling missing numbers with one value does to the spread of each column.

    With a share m of cells missing and the mean put in their place, the variance falls to
    ``s'^2 = s^2 (k - 1) / (n - 1)`` for k present cells of n, that is by about m; the median adds a shift of the mean.

    Returns one row per numeric column with missing cells: ``missing`` (share), ``variance``, ``variance_after``,
    ``sd``, ``sd_after``, ``shrink`` (share of the variance lost), ``mean_shift_median`` (in standard deviations, when
    the median is put in instead).

    >>> imputation_bias({"x": [1.0, 2.0, float("nan"), 3.0]})[["column", "variance", "variance_after"]]
      column  variance  variance_after
    0      x       1.0        0.666667
    """
    import pandas as pd

    return pd.DataFrame([_bias(c) for c in view_of(table, kinds=kinds).columns if _fillable(c)], columns=list(_BIAS))


_BIAS = ("column", "missing", "variance", "variance_after", "sd", "sd_after", "shrink", "mean_shift_median")


def _fillable(column: ColumnView) -> bool:
    return column.is_number and column.spec.role == "feature" and column.n_missing > 0 and column.present.size > 1


def _bias(column: ColumnView) -> dict[str, Any]:
    values, n = column.present, column.n_rows
    before = float(values.var(ddof=1))
    after = before * (values.size - 1) / (n - 1)
    sd = before**0.5
    shift = (float(np.median(values)) - float(values.mean())) * column.n_missing / n / sd if sd > 0 else 0.0
    shrink = 1 - after / before if before > 0 else 0.0
    figures = (column.name, column.n_missing / n, before, after, sd, after**0.5, shrink, shift)
    return dict(zip(_BIAS, figures, strict=True))


def imputation_shrinks(view: View) -> Iterator[Finding]:
    """Columns whose variance a mean imputation would shrink by a tenth or more, with the figures before and after."""
    rows = [r for r in map(_bias, filter(_fillable, view.columns)) if r["shrink"] >= 0.1]
    if rows:
        rows.sort(key=lambda r: -r["shrink"])
        yield Finding(
            "info",
            tuple(r["column"] for r in rows),
            "filling in the mean would shrink the variance: "
            + listed([f"{r['column']} by {percent(r['shrink'])}" for r in rows], 4),
            {r["column"]: {k: v for k, v in r.items() if k != "column"} for r in rows},
            "Standard errors and correlations would be wrong. Impute by a model or several times, or add an indicator.",
        )
