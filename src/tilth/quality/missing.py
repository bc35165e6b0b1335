"""Missing cells: how many, by which rule, and what filling them with the mean does to the spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import Kinds
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.tree.grow import Goal, Grid, Growth, grow_trees
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.scan import BINS, Bins, binned, flag_area, folds_of, independence_p
from tilth.quality.view import View, view_of
from tilth.words import count, listed, percent, shown

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
#: Rows that each side of a split must hold, and a level to be named.
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
    grower: RuleGrower | None = None
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
        grower = grower or RuleGrower(others, small.n_rows)
        tree = grower.grow(flag, best.name, without=column.name)
        holds = tree.right() / small.n_rows
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
    """A node of the tree in words: the share of missing cells among its rows, and a condition with two sides."""

    n: int
    share: float
    condition: str = ""
    opposite: str = ""
    inside: Rule | None = None
    outside: Rule | None = None

    def words(self) -> str:
        """The first split as a sentence about where cells are missing."""
        if self.inside is None or self.outside is None:
            return f"missing in {percent(self.share)} of rows"
        high, low, where = self.inside, self.outside, self.condition
        if high.share < low.share:
            high, low, where = low, high, self.opposite
        return f"missing in {percent(high.share)} of rows where {where}, in {percent(low.share)} of the others"

    def lines(self, depth: int = 0) -> list[str]:
        """The tree as indented lines."""
        pad = "  " * depth
        if self.inside is None or self.outside is None:
            return [f"{pad}missing in {percent(self.share)} of {count(self.n, 'row')}"]
        return [
            f"{pad}{self.condition}:", *self.inside.lines(depth + 1),
            f"{pad}{self.opposite}:", *self.outside.lines(depth + 1),
        ]  # fmt: skip

    def right(self) -> float:
        """Rows for which the majority of their leaf says truly whether the cell is missing."""
        if self.inside is None or self.outside is None:
            return self.n * max(self.share, 1 - self.share)
        return self.inside.right() + self.outside.right()


class RuleGrower:
    """Grows rules with the tree engine; the columns are binned once for all of them."""

    def __init__(self, columns: Sequence[ColumnView], n_rows: int) -> None:
        self.columns = sorted(columns, key=_has_levels)  # the engine counts numbers first
        self.places = {c.name: j for j, c in enumerate(self.columns)}
        self.grid = Grid.of(Table([_typed(c) for c in self.columns], n_rows))

    def grow(self, flag: Flags, first: str, without: str) -> Rule:
        """Tree of Gini splits for a flag; the first split asks ``first``, the second any column but ``without``."""
        others = tuple(j for name, j in self.places.items() if name != without)
        # A second split must explain a tenth of all the impurity there was: rules are for people.
        least = 0.1 * 2 * float(flag.mean()) * (1 - float(flag.mean())) * flag.size
        return self._grow(flag, np.arange(flag.size), [((self.places[first],), 0.0), (others, least)])

    def _grow(self, flag: Flags, rows: NDArray[np.int64], levels: list[tuple[tuple[int, ...], float]]) -> Rule:
        """The tree of these rows; ``levels`` says which columns each level of it may ask and how much it must gain."""
        here = flag[rows]
        node = Rule(len(rows), float(here.mean()))
        if not levels or here.all() or not here.any():
            return node
        (tested, least), *below = levels
        grid = Grid(self.grid.table.rows(rows), self.grid.bins, self.grid.cells[rows])
        growth = Growth(
            thresholds="auto", max_depth=1, min_rows_leaf=TREE_LEAF, min_level_rows=TREE_LEAF,
            min_gain=max(least / len(rows), 1e-12), interactions=(tested,),
        )  # fmt: skip
        tree = grow_trees(grid, Goal(codes=here.astype(np.int32), n_classes=2), growth, np.zeros(1, dtype=np.int64))
        if tree.n_nodes == 1:
            return node
        inside = tree.leaves(grid.table)[:, 0] == tree.child[0]
        place = int(tree.column[0])
        column, values = self.columns[place], grid.table[self.columns[place].name].values
        if _has_levels(column):
            held = tree.levels_of(0)
            if not _named_first(held, values, here[inside].mean() > node.share):
                held, inside = ~held, ~inside
            node.condition, node.opposite = _said_levels(column, tree.kinds[place].levels, held, values)
        else:
            node.condition, node.opposite = _said_numbers(column, values, float(tree.threshold[0]), tree.missing[0])
        node.inside = self._grow(flag, rows[inside], below)
        node.outside = self._grow(flag, rows[~inside], below)
        return node


def _has_levels(column: ColumnView) -> bool:
    return not (column.is_number or column.raw.form == "date")


#: A level whose cells are too few to be named; -1 stands for a missing cell, as in :attr:`ColumnView.codes`.
RARE, GONE = -2, -1


def _typed(column: ColumnView) -> Column:
    """The column as the engine takes it; a level is the code that ``column.label`` knows."""
    if not _has_levels(column):
        return Column(column.name, Kind("numeric"), column.numbers)
    values, counts = np.unique(column.codes, return_counts=True)
    # A level of a row or two is a name, and a list of names is no rule.
    kept = values[counts >= TREE_LEAF]
    place = np.searchsorted(kept, column.codes)
    known = np.append(kept, RARE - 1)[place] == column.codes
    return Column(column.name, Kind("nominal", (RARE, *kept.tolist())), np.where(known, place + 1, 0).astype(np.int32))


def _named_first(held: Flags, values: NDArray[Any], misses_more: bool) -> bool:
    """Whether the levels held by the first branch are to be named: no rare ones, the fewer, those that miss more."""
    seen = np.bincount(values, minlength=len(held)) > 0
    if seen[0]:
        return not held[0]
    first, second = int((held & seen).sum()), int((~held & seen).sum())
    return misses_more if first == second else first < second


def _said_levels(column: ColumnView, levels: Sequence[Any], held: Flags, values: NDArray[Any]) -> tuple[str, str]:
    """Both sides of a split by levels in words, by those of the first that these rows have."""
    seen = np.bincount(values, minlength=len(held)) > 0
    chosen = [levels[i] for i in np.flatnonzero(held & seen).tolist()]
    words = listed(("missing" if v == GONE else shown(column.label(v)) for v in chosen), 4, last="or")
    return f"{column.name} is {words}", f"{column.name} is not {words}"


def _said_numbers(column: ColumnView, values: NDArray[Any], threshold: float, missing: int) -> tuple[str, str]:
    """Both sides of a split at a threshold in words, by the largest number that these rows have below it."""
    gone = np.isnan(values)
    known = values[~gone]
    if threshold >= known.max():
        return f"{column.name} is not missing", f"{column.name} is missing"
    edge = known[known <= threshold].max()
    at = str(column.label(int(np.searchsorted(column.distinct[0], edge)))) if column.raw.form == "date" else f"{edge:g}"
    sides = [f"{column.name} <= {at}", f"{column.name} > {at}"]
    if gone.any():
        sides[missing] += " or is missing"
    return sides[0], sides[1]


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
