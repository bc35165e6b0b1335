"""Inner folds: the rows on which candidates are fitted, and those on which they are scored."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.stats.folds import Ints, Pair, fold_of_rows, holdout, pairs_from, pairs_of

Folds = list[Pair]


def inner_folds(
    y: NDArray[Any],
    cv: Any,
    *,
    classes: bool,
    owner: str,
    groups: Any = None,
    seed: Any = 0,
    places: Ints | None = None,
) -> Folds:
    """Pairs of training and validation rows.

    ``cv`` is a number of folds, a share of the rows as one validation set, a splitter of scikit-learn, or pairs of row
    numbers. Classes are spread evenly; rows of a group stay together. Where ``places`` says which rows of the user's
    table these are, given row numbers are those of that table.

    >>> [test.tolist() for _, test in inner_folds(np.array([0, 0, 1, 1]), 2, classes=True, owner="me")]
    [[1, 2], [0, 3]]
    """
    n = len(y)
    kept = {"classes": y if classes else None, "groups": groups, "seed": seed}
    if isinstance(cv, (int, float, np.number)) and not isinstance(cv, bool):
        if n < 2:
            raise ValueError(f"{owner}: n_samples={n} is too few: rows to fit and rows to score are needed.")
        if 0 < cv < 1:
            return [holdout(n, float(cv), **kept)]
        if cv != int(cv) or cv < 2:
            raise ValueError(f"{owner}: cv must be a whole number of folds from 2, or a share below 1; got {cv!r}.")
        count = min(int(cv), n)
        present = count if groups is None else len(np.unique(groups))
        if present < count:
            raise ValueError(f"{owner}: {count} folds need as many groups; there are {present}. Lower cv.")
        return pairs_of(fold_of_rows(n, count, **kept))
    needs = (
        f"{owner}: cv must be a number of folds from 2, a share of the rows below 1, a splitter with split(), or pairs "
        f"of row numbers; got {cv!r:.60}"
    )
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing in some of them, which every scorer can live with.
        warnings.simplefilter("ignore", UserWarning)
        return pairs_from(
            cv, n, y, groups, needs=needs, renumber=None if places is None else lambda rows: _among(rows, places)
        )


def _among(rows: Ints, places: Ints) -> Ints:
    """Row numbers of the user's table as numbers among the rows that are left."""
    at = np.searchsorted(places, rows).clip(max=len(places) - 1)
    return at[places[at] == rows]


def chance_bound(tried: int, n_rows: int, risk: float = 0.05) -> float:
    """sqrt(C / n) with C = log(2 tried / risk) / 2: how far a share measured on ``n_rows`` rows may be from the truth.

    Hoeffding's inequality for all of the ``tried`` subsets together: with probability 1 - risk none of their errors on
    new rows differs from that on the validation rows by more. It holds for scores that are means of numbers from 0 to
    1 over one validation set; over folds it is a guide.

    >>> round(chance_bound(1, 200), 4), round(chance_bound(1000, 200), 4)
    (0.096, 0.1628)
    """
    return math.sqrt(math.log(2 * max(tried, 1) / risk) / (2 * max(n_rows, 1)))
