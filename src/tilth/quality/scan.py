"""How well does one column, or all of them together, tell two or more groups of rows apart?

Columns are binned once; a cross-fitted naive Bayes over the bins then answers for a target (leaks) and for a
missing-value flag. Scores of a row come from the other folds only, so that a column of ten thousand levels gains
nothing by memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tilth.quality.column import ColumnView
from tilth.stats.folds import fold_of_rows

BINS = 32
FOLDS = 5
#: Added to each count, so that an empty bin is improbable, not impossible.
SMOOTHING = 0.5

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """A column as bins 0..n-1; bin 0 holds the missing cells."""

    column: ColumnView
    codes: Longs
    n_bins: int


def binned(column: ColumnView, limit: int = BINS) -> Bins:
    """Values one by one when they are few; otherwise quantile bins, or the most frequent levels and the rest."""
    values, counts = column.distinct
    if len(values) <= limit:
        if column.is_coded:
            place = np.zeros(len(column.raw.levels) + 1, dtype=np.int64)
            place[values] = np.arange(1, len(values) + 1)
            return Bins(column, place[column.codes], len(values) + 1)
        return Bins(column, column.codes + 1, len(values) + 1)
    if column.is_coded:
        place = np.full(len(column.raw.levels) + 1, limit, dtype=np.int64)
        place[values[np.argsort(-counts, kind="stable")[: limit - 1]]] = np.arange(1, limit)
        place[-1] = 0
        return Bins(column, place[column.codes], limit + 1)
    cuts = np.unique(column.present[np.linspace(0, len(column.present) - 1, limit + 1).astype(int)[1:-1]])
    codes = np.where(column.missing, 0, np.searchsorted(cuts, column.numbers, side="right") + 1)
    return Bins(column, codes, len(cuts) + 2)


def folds_of(n_rows: int) -> Longs:
    """A fold per row, equal sizes, fixed seed."""
    return fold_of_rows(n_rows, FOLDS) if n_rows >= FOLDS else np.arange(n_rows)


def log_prior(y: Longs, n_classes: int, fold: Longs) -> Floats:
    """Log share of each class in the other folds, one row per row."""
    per_fold = np.bincount(fold * n_classes + y, minlength=FOLDS * n_classes).reshape(FOLDS, n_classes)
    rest = per_fold.sum(axis=0) - per_fold + SMOOTHING
    return np.asarray(np.log(rest / rest.sum(axis=1, keepdims=True))[fold])


def log_likelihood(bins: Bins, y: Longs, n_classes: int, fold: Longs) -> Floats:
    """``log p(bin | class)`` of each row's bin, learned from the other folds: n x classes."""
    k = bins.n_bins
    flat = (fold * k + bins.codes) * n_classes + y
    per_fold = np.bincount(flat, minlength=FOLDS * k * n_classes).reshape(FOLDS, k, n_classes)
    rest = per_fold.sum(axis=0) - per_fold + SMOOTHING
    return np.asarray(np.log(rest / rest.sum(axis=1, keepdims=True))[fold, bins.codes])


def area(score: Floats, flag: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the chance that a flagged row scores higher than another, ties counting half."""
    n_yes = int(flag.sum())
    n_no = flag.size - n_yes
    if n_yes == 0 or n_no == 0:
        return 0.5
    ranks = stats.rankdata(score)
    return float((ranks[flag].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * n_no))


def flag_area(bins: Bins, flag: NDArray[np.bool_], fold: Longs) -> float:
    """Cross-fitted area of one column for a yes-or-no question."""
    parts = log_likelihood(bins, flag.astype(np.int64), 2, fold)
    return area(parts[:, 1] - parts[:, 0], flag)


def independence_p(bins: Bins, flag: NDArray[np.bool_]) -> float:
    """P-value of the chi-square test that the flag does not depend on the bin."""
    table = np.bincount(bins.codes * 2 + flag, minlength=2 * bins.n_bins).reshape(-1, 2)
    table = table[table.sum(axis=1) > 0]
    if len(table) < 2 or (table.sum(axis=0) == 0).any():
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(stats.chi2.sf(((table - expected) ** 2 / expected).sum(), len(table) - 1))


@dataclass(frozen=True)
class Skill:
    """Cross-fitted skill at naming the class: ``gain = (accuracy - base) / (1 - base)`` over the commonest class."""

    accuracy: float
    base: float
    auc: float

    @property
    def gain(self) -> float:
        """Share of the baseline's errors that disappear."""
        return (self.accuracy - self.base) / (1 - self.base) if self.base < 1 else 0.0


def skill(columns: Sequence[Bins], y: Longs, n_classes: int) -> Skill:
    """Skill of a naive Bayes over the bins of these columns."""
    fold = folds_of(len(y))
    score = log_prior(y, n_classes, fold)
    for bins in columns:
        score = score + log_likelihood(bins, y, n_classes, fold)
    base = float(np.bincount(y, minlength=n_classes).max() / len(y))
    auc = area(score[:, 1] - score[:, 0], y == 1) if n_classes == 2 else float("nan")
    return Skill(float((score.argmax(axis=1) == y).mean()), base, auc)


def explained(bins: Bins, y: Floats) -> float:
    """Cross-fitted R squared of a quantity by its mean in each bin."""
    fold = folds_of(len(y))
    at = fold * bins.n_bins + bins.codes
    size = FOLDS * bins.n_bins
    n = np.bincount(at, minlength=size).reshape(FOLDS, -1)
    s = np.bincount(at, weights=y, minlength=size).reshape(FOLDS, -1)
    mean = (s.sum(axis=0) - s + y.mean()) / (n.sum(axis=0) - n + 1)
    spread = ((y - y.mean()) ** 2).sum()
    return float(1 - ((y - mean[fold, bins.codes]) ** 2).sum() / spread) if spread > 0 else 0.0
