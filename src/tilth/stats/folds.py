"""Cross-validation folds and held-out rows: pure functions of row numbers, classes, groups, times and a seed.

Every division of rows in the library comes from here. (The verb that runs a statistic over chunks is
:mod:`tilth.stats.fold`.) ``classes`` are codes whose shares every part keeps; rows of one of the ``groups`` are never
torn apart. A ``seed`` is whatever ``numpy.random.default_rng`` takes, a generator included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: Rows to learn from and rows to answer.
Pair = tuple[Ints, Ints]


def fold_of_rows(
    n: int, folds: int, *, classes: NDArray[Any] | None = None, groups: NDArray[Any] | None = None, seed: Any = 0
) -> Ints:
    """The fold of every row: sizes differ by at most one, and so do the rows of a class from fold to fold.

    Rows are shuffled within their class and dealt out in turn. Groups go whole, the largest first, each to the fold
    that has the fewest rows (of its classes, where ``classes`` are to be kept) so far.

    >>> fold = fold_of_rows(9, 3, classes=np.array([0] * 6 + [1] * 3))
    >>> [np.bincount(fold[:6]).tolist(), np.bincount(fold[6:]).tolist()]
    [[2, 2, 2], [1, 1, 1]]
    """
    if not 2 <= folds <= n:
        raise ValueError(f"folds must be at least 2 and at most the number of rows, {n}; got {folds}.")
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _grouped(np.unique(groups, return_inverse=True)[1], folds, classes, rng)
    chance = rng.permutation(n)
    if classes is None:
        return np.asarray(chance % folds, dtype=np.int64)
    fold = np.empty(n, dtype=np.int64)
    fold[np.lexsort((chance, classes))] = np.arange(n) % folds
    return fold


def _grouped(unit: Ints, folds: int, classes: NDArray[Any] | None, rng: np.random.Generator) -> Ints:
    codes = np.zeros(len(unit), dtype=np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    k = int(codes.max()) + 1
    rows = np.bincount(unit * k + codes, minlength=(int(unit.max()) + 1) * k).reshape(-1, k)
    sizes = rows.sum(axis=1)
    if len(sizes) < folds:
        raise ValueError(f"{folds} folds need as many groups; there are {len(sizes)}. Ask for fewer folds.")
    share = rows / rows.sum(axis=0)
    load, filled, fold_of = np.zeros((folds, k)), np.zeros(folds), np.empty(len(sizes), dtype=np.int64)
    for u in np.lexsort((rng.permutation(len(sizes)), -sizes)):
        # Of the folds where the group's classes are rarest, the one with the fewest rows: no fold stays empty.
        fold_of[u] = np.lexsort((filled, load @ share[u]))[0]
        load[fold_of[u]] += rows[u]
        filled[fold_of[u]] += sizes[u]
    return fold_of[unit]


def blocks_of_rows(n: int, folds: int) -> Ints:
    """The fold of every row where rows keep their order: blocks whose sizes differ by at most one, larger ones first.

    >>> blocks_of_rows(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    fold = np.arange(folds)
    return np.repeat(fold, n // folds + (fold < n % folds))


def pairs_of(fold: NDArray[Any]) -> list[Pair]:
    """Training and test rows of every fold, given the fold of every row."""
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(fold.max()) + 1)]


def repeat_seed(seed: int, repeat: int) -> int:
    """The seed of a repeat; the first one has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])


def draw(n: int, size: int, *, classes: NDArray[Any] | None = None, seed: Any = 0) -> Ints:
    """So many of n rows, rising: by chance, or of every class its share.

    >>> rows = draw(100, 10, classes=np.repeat([0, 1], [80, 20]))
    >>> int((rows < 80).sum()), len(rows)
    (8, 10)
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    if classes is None:
        return np.sort(order[:size])
    # Equal classes side by side; every so many rows one is taken.
    order = order[np.argsort(classes[order], kind="stable")]
    places = (np.arange(size) + rng.random()) * n / max(size, 1)
    return np.sort(order[places.astype(np.int64)])


def holdout(
    n: int,
    share: float,
    *,
    classes: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
    seed: Any = 0,
) -> Pair:
    """Rows to learn from and a share of the rows held out, each side with a row at least.

    Groups are taken whole, in an order by chance, until they hold enough rows.

    >>> [part.tolist() for part in holdout(5, 0.4)]
    [[0, 1, 3], [2, 4]]
    """
    if n < 2:
        raise ValueError(f"Holding rows out needs at least 2 rows; got {n}.")
    size = min(max(1, round(share * n)), n - 1)
    if groups is None:
        return without(draw(n, size, classes=classes, seed=seed), n)
    unit = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(unit)
    if len(sizes) < 2:
        raise ValueError("A holdout of groups needs at least 2 groups; there is 1.")
    order = np.random.default_rng(seed).permutation(len(sizes))
    enough = min(int(np.searchsorted(np.cumsum(sizes[order]), size)) + 1, len(sizes) - 1)
    return without(np.flatnonzero(np.isin(unit, order[:enough])), n)


def without(held: NDArray[Any], n: int) -> Pair:
    """The other rows, and those held out, both rising."""
    inside = np.zeros(n, dtype=bool)
    inside[held] = True
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def bootstrap(n: int, *, groups: NDArray[Any] | None = None, seed: Any = 0) -> Pair:
    """As many rows (or groups) as there are, drawn with replacement, and those that were not drawn."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    counts = np.bincount(unit)
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(counts)[:-1]) if groups is not None else None
    for _ in range(100):  # with a handful of rows a draw may take them all
        drawn = rng.integers(0, len(counts), len(counts))
        train = np.sort(drawn if members is None else np.concatenate([members[g] for g in drawn]))
        test = np.setdiff1d(np.arange(n), train)
        if len(test):
            return train, test
    raise ValueError("The bootstrap left no row to test on; there are too few rows or groups.")


def by_time(time: NDArray[Any], folds: int, *, share: float = 0.2, groups: NDArray[Any] | None = None) -> list[Pair]:
    """Blocks in the order of time, each tested by models of all rows before it; one fold is the last ``share`` of rows.

    Rows of the same time stay together; where there are groups, who is tested is not learned from.

    >>> [test.tolist() for _, test in by_time(np.array([3, 1, 2, 4]), 3)]
    [[2], [0], [3]]
    """
    moments, code = np.unique(time, return_inverse=True)
    if len(moments) < folds + 1:
        raise ValueError(f"{folds} splits by time need at least {folds + 1} different times; there are {len(moments)}.")
    before = np.cumsum(np.bincount(code))
    n = len(time)
    ends = np.array([n * (1 - share), n]) if folds == 1 else n * np.arange(1, folds + 2) / (folds + 1)
    # The last moment of each block; blocks must not be empty, and must leave a moment for each one after.
    last = np.minimum(np.searchsorted(before, ends - 0.5), len(moments) - 1)
    for i in range(len(last) - 1):
        last[i] = min(max(last[i], last[i - 1] + 1 if i else 0), len(moments) - len(last) + i)
    pairs = []
    for k in range(folds):
        train, test = np.flatnonzero(code <= last[k]), np.flatnonzero((code > last[k]) & (code <= last[k + 1]))
        if groups is not None:
            train = train[~np.isin(groups[train], groups[test])]
            if not len(train):
                raise ValueError("No training row is left in a split by time: every group is also in the test rows.")
        pairs.append((train, test))
    return pairs


def pairs_from(
    cv: Any,
    n: int,
    y: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
    *,
    needs: str = "A splitter with split() or pairs of (train, test) row numbers is needed",
    renumber: Callable[[Ints], Ints] | None = None,
) -> list[Pair]:
    """The pairs of a splitter with ``split`` (scikit-learn's), or of a list of (train, test) row numbers, checked.

    ``needs`` begins the message where they do not fit the rows.
    ``renumber`` turns the row numbers of a list into those of the rows that are left.
    """
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str)
    try:
        pairs = list(cv.split(np.zeros((n, 1)), y, groups) if is_splitter else cv)
        pairs = [(np.asarray(train, np.int64), np.asarray(test, np.int64)) for train, test in pairs]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{needs}: {error}") from error
    if renumber is not None and not is_splitter:
        pairs = [(renumber(train), renumber(test)) for train, test in pairs]
    if not pairs:
        raise ValueError(f"{needs}: there is no split.")
    for k, (train, test) in enumerate(pairs):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(f"{needs}: split {k} has {len(train)} training and {len(test)} test rows; both need one.")
        low, high = min(train.min(), test.min()), max(train.max(), test.max())
        if low < 0 or high >= n:
            raise ValueError(f"{needs}: split {k} names row {low if low < 0 else high}; there are rows 0 to {n - 1}.")
    return pairs
