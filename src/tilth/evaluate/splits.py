"""Which rows are learned from and which are tested on: named ways to split, all giving the same value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Way = Literal["auto", "holdout", "k-fold", "leave-one-out", "random", "bootstrap", "time"]

#: Folds unless asked otherwise; with many rows the interval is narrow already and half the fits do.
FOLDS, FEW_FOLDS, MANY_ROWS = 10, 5, 20_000
#: Repeats unless asked otherwise.
REPEATS = {"random": 10, "bootstrap": 50}

ADVICE = (
    "10 folds are the usual choice; 5 where a fit takes long or rows are many; leave-one-out for a few dozen rows; "
    "several repeats to see how much the folds themselves matter; time= where rows have an order, groups= where some "
    "belong together."
)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to test on."""

    train: Ints
    test: Ints
    repeat: int = 0
    fold: int = 0


@dataclass(frozen=True, eq=False)
class Splits:
    """Several splits of the same rows, made in one way."""

    name: str
    kind: str
    parts: tuple[Split, ...]
    n_rows: int
    seed: int = 0

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Split]:
        return iter(self.parts)

    @property
    def tested_once(self) -> bool:
        """Whether no row is tested twice, so that all answers together are answers for different rows."""
        times = np.zeros(self.n_rows, dtype=np.int64)
        for part in self.parts:
            times[part.test] += 1
        return bool((times <= 1).all())

    @property
    def test_ratio(self) -> float:
        """Test rows per training row: how much the training sets of two splits overlap."""
        return float(np.mean([len(p.test) / max(len(p.train), 1) for p in self.parts]))

    def to_dict(self) -> dict[str, Any]:
        """How the rows were split, as JSON-ready data."""
        sizes = [(len(p.train), len(p.test)) for p in self.parts]
        return {"name": self.name, "kind": self.kind, "seed": self.seed, "splits": len(sizes), "sizes": sizes[:100]}


def stratified_folds(classes: NDArray[Any], folds: int, *, seed: int = 0) -> NDArray[np.int32]:
    """The fold of every row: sizes differ by at most one, and so do the rows of a class from fold to fold.

    Rows are shuffled within their class and dealt out in turn; a single class gives plain folds.

    >>> import numpy as np
    >>> fold = stratified_folds(np.array([0] * 6 + [1] * 3), 3)
    >>> [np.bincount(fold[:6]).tolist(), np.bincount(fold[6:]).tolist()]
    [[2, 2, 2], [1, 1, 1]]
    """
    n = len(classes)
    if not 2 <= folds <= n:
        raise ValueError(f"folds must be at least 2 and at most the number of rows, {n}; got {folds}.")
    order = np.lexsort((np.random.default_rng(seed).permutation(n), classes))
    fold = np.empty(n, dtype=np.int32)
    fold[order] = np.arange(n) % folds
    return fold


def make_splits(
    split: Any = "auto",
    y: NDArray[Any] | None = None,
    *,
    task: str = "classification",
    n_rows: int | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    test_size: float = 0.2,
    groups: NDArray[Any] | None = None,
    time: NDArray[Any] | None = None,
    seed: int = 0,
) -> Splits:
    """Split rows by name.

    Parameters
    ----------
    split : "auto" (folds; by time where ``time`` is given), "holdout", "k-fold", "leave-one-out", "random" (repeated
        holdout), "bootstrap" (learn from rows drawn with replacement, test on those left out), "time" (learn from the
        past, test on what comes next), a number of folds, a splitter of scikit-learn, or pairs of (train, test) rows.
    y : target; classes keep their shares in every part (not where groups or time decide).
    groups : rows of a group are never torn apart.
    time : rows are tested on later rows only; rows of the same time stay together.

    >>> import numpy as np
    >>> found = make_splits(5, np.array([0, 1] * 10))
    >>> found.name, len(found), found.tested_once
    ('5-fold cross-validation, stratified, seed 0', 5, True)
    """
    n = n_rows if y is None else len(y)
    if n is None:
        raise ValueError("make_splits needs y or n_rows.")
    if isinstance(split, Splits):
        return _fitting(split, n)
    if not isinstance(split, (str, int, np.integer)) or isinstance(split, bool):
        return _given(split, y, n, groups, seed)
    if n < 2:
        raise ValueError(f"Evaluation needs at least 2 rows, to learn from and to test on; got {n}.")
    if isinstance(split, (int, np.integer)):
        split, folds = "k-fold", int(split)
    if split not in get_args(Way):
        raise ValueError(f"split must be one of {', '.join(map(repr, get_args(Way)))}, or a number; got {split!r}.")
    if split == "auto":
        split = "time" if time is not None else "k-fold"
    _check_numbers(folds, repeats, test_size)
    codes = np.unique(y, return_inverse=True)[1] if task == "classification" and y is not None else None
    if split == "time" or (time is not None and split == "holdout"):
        if time is None:
            raise ValueError("split='time' needs time=: a column or an array that orders the rows.")
        return _by_time(np.asarray(time), groups, 1 if split == "holdout" else folds or FEW_FOLDS, test_size, seed)
    if time is not None:
        raise ValueError(f"time= goes with split='time' or 'holdout': {split!r} would test on the past.")
    units = None if groups is None else np.unique(groups, return_inverse=True)[1]
    maker = _Maker(n, codes, units, np.random.default_rng([seed, 11]), seed)
    if split == "k-fold":
        return maker.folds(folds, repeats or 1)
    if split == "leave-one-out":
        return maker.leave_one_out()
    if split == "bootstrap":
        return maker.bootstrap(repeats or REPEATS["bootstrap"])
    return maker.random(1 if split == "holdout" else repeats or REPEATS["random"], test_size)


@dataclass
class _Maker:
    """Splits of n rows by chance; ``codes`` are classes to keep in proportion, ``units`` rows that belong together."""

    n: int
    codes: NDArray[Any] | None
    units: NDArray[Any] | None
    rng: np.random.Generator
    seed: int

    def folds(self, folds: int | None, repeats: int) -> Splits:
        kept = "grouped" if self.units is not None else "stratified" if self.codes is not None else ""
        count = self._fold_count(folds)
        parts = []
        for r in range(repeats):
            seed = self.seed if r == 0 else int(np.random.SeedSequence([self.seed, r]).generate_state(1)[0])
            parts += _from_folds(self._fold_of_rows(count, seed), r)
        often = f"{repeats} x {count}-fold" if repeats > 1 else f"{count}-fold"
        name = f"{often} cross-validation{', ' + kept if kept else ''}, seed {self.seed}"
        return Splits(name, "k-fold" if repeats == 1 else "repeated k-fold", tuple(parts), self.n, self.seed)

    def _fold_count(self, folds: int | None) -> int:
        if self.units is not None:
            groups = int(self.units.max()) + 1
            if groups < 2 or (folds is not None and folds > groups):
                raise ValueError(
                    f"{folds or 2} folds need at least as many groups; there are {groups}. Ask for fewer folds, or "
                    "check that groups= names what belongs together."
                )
            return folds if folds is not None else min(groups, FOLDS if self.n <= MANY_ROWS else FEW_FOLDS)
        if folds is not None:
            return folds
        usual = FOLDS if self.n <= MANY_ROWS else FEW_FOLDS
        smallest = self.n if self.codes is None else int(np.bincount(self.codes).min())
        return max(2, min(usual, smallest, self.n))

    def _fold_of_rows(self, count: int, seed: int) -> NDArray[np.int32]:
        if self.units is None:
            return stratified_folds(np.zeros(self.n) if self.codes is None else self.codes, count, seed=seed)
        # Groups by falling size, shuffled among equals, each to the fold with the fewest rows so far.
        sizes = np.bincount(self.units)
        chance = np.random.default_rng(seed).permutation(len(sizes))
        load, fold_of = np.zeros(count), np.empty(len(sizes), dtype=np.int32)
        for unit in np.lexsort((chance, -sizes)):
            fold_of[unit] = int(load.argmin())
            load[fold_of[unit]] += sizes[unit]
        return fold_of[self.units]

    def leave_one_out(self) -> Splits:
        name, units = "leave-one-out", np.arange(self.n)
        if self.units is not None:
            name, units = "leave-one-group-out", self.units
        if units.max() < 1:
            raise ValueError("Leaving one group out needs at least 2 groups; there is 1.")
        return Splits(name, "leave-one-out", tuple(_from_folds(units, 0)), self.n, self.seed)

    def random(self, repeats: int, test_size: float) -> Splits:
        share = f"{round(100 * (1 - test_size))}-{round(100 * test_size)}"
        parts = tuple(self._one_holdout(test_size, r) for r in range(repeats))
        kept = "grouped, " if self.units is not None else "stratified, " if self.codes is not None else ""
        name = f"{share} holdout, {kept}seed {self.seed}"
        kind = "holdout" if repeats == 1 else "random"
        return Splits(name if repeats == 1 else f"{repeats} x {name}", kind, parts, self.n, self.seed)

    def _one_holdout(self, test_size: float, r: int) -> Split:
        wanted = min(max(1, round(test_size * self.n)), self.n - 1)
        if self.units is not None:
            return self._held_groups(wanted, r)
        order = self.rng.permutation(self.n)
        if self.codes is None:
            chosen = order[:wanted]
        else:  # equal classes side by side; every so many rows one is tested
            order = order[np.argsort(self.codes[order], kind="stable")]
            places = (np.arange(wanted) + self.rng.random()) * self.n / wanted
            chosen = order[places.astype(np.int64)]
        return _complement(chosen, self.n, r)

    def _held_groups(self, wanted: int, r: int) -> Split:
        assert self.units is not None
        sizes = np.bincount(self.units)
        if len(sizes) < 2:
            raise ValueError("A holdout of groups needs at least 2 groups; there is 1.")
        order = self.rng.permutation(len(sizes))
        held = np.cumsum(sizes[order])
        enough = min(int(np.searchsorted(held, wanted)) + 1, len(sizes) - 1)
        return _complement(np.flatnonzero(np.isin(self.units, order[:enough])), self.n, r)

    def bootstrap(self, repeats: int) -> Splits:
        parts = []
        for r in range(repeats):
            for _ in range(100):  # with a handful of rows a draw may take them all
                if self.units is None:
                    train = np.sort(self.rng.integers(0, self.n, self.n))
                else:
                    members = np.split(np.argsort(self.units, kind="stable"), np.cumsum(np.bincount(self.units))[:-1])
                    drawn = self.rng.integers(0, len(members), len(members))
                    train = np.sort(np.concatenate([members[g] for g in drawn]))
                test = np.setdiff1d(np.arange(self.n), train)
                if len(test):
                    break
            else:
                raise ValueError("The bootstrap left no row to test on; there are too few rows or groups.")
            parts.append(Split(train, test, r))
        return Splits(f"{repeats} bootstrap samples, seed {self.seed}", "bootstrap", tuple(parts), self.n, self.seed)


def _from_folds(fold: NDArray[Any], repeat: int) -> list[Split]:
    return [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k), repeat, k) for k in range(int(fold.max()) + 1)]


def _complement(chosen: NDArray[Any], n: int, repeat: int) -> Split:
    inside = np.zeros(n, dtype=bool)
    inside[chosen] = True
    return Split(np.flatnonzero(~inside), np.flatnonzero(inside), repeat)


def _by_time(time: NDArray[Any], groups: NDArray[Any] | None, folds: int, test_size: float, seed: int) -> Splits:
    """Blocks in the order of time; each is tested by models of all rows before it."""
    moments, code = np.unique(time, return_inverse=True)
    if len(moments) < folds + 1:
        raise ValueError(f"{folds} splits by time need at least {folds + 1} different times; there are {len(moments)}.")
    before = np.cumsum(np.bincount(code))
    n = len(time)
    if folds == 1:
        wanted = np.array([n * (1 - test_size), n])
    else:
        wanted = n * np.arange(1, folds + 2) / (folds + 1)
    # The last moment of each block; blocks must not be empty, and must leave a moment for each one after.
    last = np.minimum(np.searchsorted(before, wanted - 0.5), len(moments) - 1)
    for i in range(len(last) - 1):
        last[i] = min(max(last[i], last[i - 1] + 1 if i else 0), len(moments) - len(last) + i)
    parts = []
    for k in range(folds):
        train, test = np.flatnonzero(code <= last[k]), np.flatnonzero((code > last[k]) & (code <= last[k + 1]))
        if groups is not None:  # who is tested is not learned from
            train = train[~np.isin(groups[train], groups[test])]
            if not len(train):
                raise ValueError("No training row is left in a split by time: every group is also in the test rows.")
        parts.append(Split(train, test, 0, k))
    name = "the last rows held out by time" if folds == 1 else f"{folds} blocks in order of time"
    return Splits(name, "holdout" if folds == 1 else "time", tuple(parts), n, seed)


def _given(split: Any, y: NDArray[Any] | None, n: int, groups: NDArray[Any] | None, seed: int) -> Splits:
    """A splitter of scikit-learn, or pairs of row numbers."""
    name = type(split).__name__ if hasattr(split, "split") else "given splits"
    try:
        pairs = list(split.split(np.zeros((n, 1)), y, groups) if hasattr(split, "split") else split)
        parts = tuple(Split(np.asarray(a, np.int64), np.asarray(b, np.int64), 0, k) for k, (a, b) in enumerate(pairs))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"split must be a name, a number of folds, a splitter or pairs of (train, test) row numbers: {error}"
        ) from error
    return _fitting(Splits(name, "given", parts, n, seed), n)


def _fitting(splits: Splits, n: int) -> Splits:
    """The splits, if they fit the rows."""
    if splits.n_rows != n:
        raise ValueError(f"The splits are of {splits.n_rows} rows, but there are {n}.")
    if not splits.parts:
        raise ValueError("There is no split to evaluate on.")
    for k, part in enumerate(splits):
        if len(part.train) == 0 or len(part.test) == 0:
            raise ValueError(f"Split {k} has {len(part.train)} training and {len(part.test)} test rows; both need one.")
        low, high = min(part.train.min(), part.test.min()), max(part.train.max(), part.test.max())
        if low < 0 or high >= n:
            raise ValueError(f"Split {k} names row {low if low < 0 else high}; there are rows 0 to {n - 1}.")
    return splits


def _check_numbers(folds: int | None, repeats: int | None, test_size: float) -> None:
    if folds is not None and folds < 2:
        raise ValueError(f"folds must be at least 2; got {folds}.")
    if repeats is not None and repeats < 1:
        raise ValueError(f"repeats must be at least 1; got {repeats}.")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size is the share of rows to test on, between 0 and 1; got {test_size}.")
