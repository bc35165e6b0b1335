"""Which rows are learned from and which are tested on: named ways to split, all giving the same value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.stats.folds import Pair, bootstrap, by_time, fold_of_rows, holdout, pairs_from, pairs_of, repeat_seed

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
        if split.n_rows != n:
            raise ValueError(f"The splits are of {split.n_rows} rows, but there are {n}.")
        pairs_from([(part.train, part.test) for part in split], n, needs="The splits do not fit the rows")
        return split
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
            fold = fold_of_rows(
                self.n, count, classes=self.codes if self.units is None else None, groups=self.units,
                seed=repeat_seed(self.seed, r),
            )  # fmt: skip
            parts += _parts(pairs_of(fold), r)
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

    def leave_one_out(self) -> Splits:
        name, units = "leave-one-out", np.arange(self.n)
        if self.units is not None:
            name, units = "leave-one-group-out", self.units
        if units.max() < 1:
            raise ValueError("Leaving one group out needs at least 2 groups; there is 1.")
        return Splits(name, "leave-one-out", tuple(_parts(pairs_of(units))), self.n, self.seed)

    def random(self, repeats: int, test_size: float) -> Splits:
        share = f"{round(100 * (1 - test_size))}-{round(100 * test_size)}"
        parts = tuple(
            Split(*holdout(self.n, test_size, classes=self.codes, groups=self.units, seed=self.rng), repeat=r)
            for r in range(repeats)
        )
        kept = "grouped, " if self.units is not None else "stratified, " if self.codes is not None else ""
        name = f"{share} holdout, {kept}seed {self.seed}"
        kind = "holdout" if repeats == 1 else "random"
        return Splits(name if repeats == 1 else f"{repeats} x {name}", kind, parts, self.n, self.seed)

    def bootstrap(self, repeats: int) -> Splits:
        parts = tuple(Split(*bootstrap(self.n, groups=self.units, seed=self.rng), repeat=r) for r in range(repeats))
        return Splits(f"{repeats} bootstrap samples, seed {self.seed}", "bootstrap", parts, self.n, self.seed)


def _parts(pairs: list[Pair], repeat: int = 0) -> list[Split]:
    return [Split(train, test, repeat, k) for k, (train, test) in enumerate(pairs)]


def _by_time(time: NDArray[Any], groups: NDArray[Any] | None, folds: int, test_size: float, seed: int) -> Splits:
    parts = _parts(by_time(time, folds, share=test_size, groups=groups))
    name = "the last rows held out by time" if folds == 1 else f"{folds} blocks in order of time"
    return Splits(name, "holdout" if folds == 1 else "time", tuple(parts), len(time), seed)


def _given(split: Any, y: NDArray[Any] | None, n: int, groups: NDArray[Any] | None, seed: int) -> Splits:
    """A splitter of scikit-learn, or pairs of row numbers."""
    name = type(split).__name__ if hasattr(split, "split") else "given splits"
    needs = "split must be a name, a number of folds, a splitter or pairs of (train, test) row numbers"
    return Splits(name, "given", tuple(_parts(pairs_from(split, n, y, groups, needs=needs))), n, seed)


def _check_numbers(folds: int | None, repeats: int | None, test_size: float) -> None:
    if folds is not None and folds < 2:
        raise ValueError(f"folds must be at least 2; got {folds}.")
    if repeats is not None and repeats < 1:
        raise ValueError(f"repeats must be at least 1; got {repeats}.")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size is the share of rows to test on, between 0 and 1; got {test_size}.")
