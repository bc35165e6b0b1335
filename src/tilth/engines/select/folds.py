"""Inner folds: the rows on which candidates are fitted, and those on which they are scored."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Folds = list[tuple[Ints, Ints]]


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
    if isinstance(cv, (int, float, np.number)) and not isinstance(cv, bool):
        cv = (
            _one_set(y, float(cv), classes, groups, seed)
            if 0 < cv < 1
            else _k_folds(cv, y, classes, groups, seed, owner)
        )
    if hasattr(cv, "split") and not isinstance(cv, str):
        with warnings.catch_warnings():
            # A class with fewer rows than folds is missing in some of them, which every scorer can live with.
            warnings.simplefilter("ignore", UserWarning)
            return [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros((n, 1)), y, groups)]
    try:
        found = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in cv]
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner}: cv must be a number of folds from 2, a share of the rows below 1, a splitter with split(), or "
            f"pairs of row numbers; got {cv!r:.60}."
        ) from None
    if places is not None:
        found = [(_among(train, places), _among(test, places)) for train, test in found]
    if not found or any(not len(a) or not len(b) or max(a.max(), b.max()) >= n for a, b in found):
        raise ValueError(f"{owner}: cv must give pairs of row numbers below {n}, none of them empty.")
    return found


def _among(rows: Ints, places: Ints) -> Ints:
    """Row numbers of the user's table as numbers among the rows that are left."""
    at = np.searchsorted(places, rows).clip(max=len(places) - 1)
    return at[places[at] == rows]


def _one_set(y: NDArray[Any], share: float, classes: bool, groups: Any, seed: Any) -> Any:
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    if classes:
        # Each class needs a row on either side.
        held = np.bincount(y)
        classes = held.min() >= 2 and len(held) <= min(share, 1 - share) * len(y) - 1
    kind = GroupShuffleSplit if groups is not None else StratifiedShuffleSplit if classes else ShuffleSplit
    return kind(n_splits=1, test_size=share, random_state=seed)


def _k_folds(cv: Any, y: NDArray[Any], classes: bool, groups: Any, seed: Any, owner: str) -> Any:
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    n = len(y)
    if cv != int(cv) or cv < 2:
        raise ValueError(f"{owner}: cv must be a whole number of folds from 2, or a share below 1; got {cv!r}.")
    if n < 2:
        raise ValueError(f"{owner}: n_samples={n} is too few: choosing columns needs rows to fit and rows to score.")
    folds = min(int(cv), n)
    if groups is not None:
        present = len(set(np.asarray(groups).tolist()))
        if present < folds:
            raise ValueError(f"{owner}: {folds} folds need as many groups; there are {present}. Lower cv.")
        if not classes:
            return GroupKFold(folds)
        return StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    if not classes:
        return KFold(folds, shuffle=True, random_state=seed)
    # Every fold should hold some row of the largest class at least.
    most = int(np.bincount(y).max())
    folds = max(2, min(folds, most))
    if most < folds:
        return KFold(folds, shuffle=True, random_state=seed)
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def chance_bound(tried: int, n_rows: int, risk: float = 0.05) -> float:
    """sqrt(C / n) with C = log(2 tried / risk) / 2: how far a share measured on ``n_rows`` rows may be from the truth.

    Hoeffding's inequality for all of the ``tried`` subsets together: with probability 1 - risk none of their errors on
    new rows differs from that on the validation rows by more. It holds for scores that are means of numbers from 0 to
    1 over one validation set; over folds it is a guide.

    >>> round(chance_bound(1, 200), 4), round(chance_bound(1000, 200), 4)
    (0.096, 0.1628)
    """
    return math.sqrt(math.log(2 * max(tried, 1) / risk) / (2 * max(n_rows, 1)))
