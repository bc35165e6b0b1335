"""Which parameters to try next: a grid, points spread evenly, points where good ones lie dense, halving on rows.

A way to propose is a function of the number of the try, the seed and what came before it. So a search that was broken
off goes on as if it had not been.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.metrics import Metric
from tilth.evaluate.search.space import Choice, Space
from tilth.evaluate.search.trials import Tried, comparable, ranked

Floats = NDArray[np.float64]
Method = Literal["auto", "grid", "random", "spread", "dense", "halving", "optuna"]

#: Tries when neither trials nor a budget is given; tries of the first rung of halving when only a budget is.
TRIALS, HALVING_TRIALS = 20, 27
#: Of the tries of a rung one in so many goes on, with so many times the rows.
FEWER = 3
#: Training rows that the first rung of halving learns from at least.
LEAST_ROWS = 50


@dataclass(frozen=True)
class Proposal:
    """Parameters to try, and the share of the training rows to learn from."""

    params: dict[str, Any]
    share: float = 1.0
    given: bool = False


class Proposer(Protocol):
    """A way to propose. Tries of one batch are proposed from the same history, so that they can run side by side."""

    def total(self) -> int | None:
        """How many tries there are; None: as many as wanted."""

    def batch_end(self, index: int) -> int:
        """One past the last try of the batch that begins with ``index``."""

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """Parameters of try ``index``; ``history`` are all tries before its batch."""


def proposer(
    method: str, space: Space, defaults: dict[str, Any], metric: Metric, *, trials: int | None, timed: bool,
    n_train: int, seed: int,
) -> Proposer:  # fmt: skip
    """The way to propose of this name; ``timed`` searches go on until their time is over."""
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(map(repr, get_args(Method)))}; got {method!r}.")
    if trials is not None and (isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < 1):
        raise ValueError(f"trials must be a whole number of at least 1; got {trials!r}.")
    if method == "auto":
        listed = all(isinstance(p, Choice) for p in space)
        small = listed and space.grid_size(1) <= (trials or TRIALS)
        method = "grid" if small else "dense"
    wanted = trials if trials is not None or timed else TRIALS
    if method == "grid":
        return Grid(space.grid_of(trials))
    if method == "halving":
        return Halving(space, defaults, metric, wanted or HALVING_TRIALS, n_train, seed)
    if method == "optuna":
        from tilth.evaluate.search.optuna_driver import OptunaProposer

        return OptunaProposer(space, defaults, metric, wanted, seed)
    if method == "dense":
        return Dense(space, defaults, metric, wanted, seed)
    return Spread(space, defaults, wanted, seed, by_chance=method == "random")


@dataclass
class Grid:
    """All combinations, one after the other."""

    combinations: list[dict[str, Any]]
    batch: int = 16

    def total(self) -> int | None:
        """All of them."""
        return len(self.combinations)

    def batch_end(self, index: int) -> int:
        """Any size will do."""
        return index + self.batch

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """The next combination."""
        return Proposal(self.combinations[index])


@dataclass
class Spread:
    """The parameters as given, then points of the space: by chance, or spread evenly (a scrambled Sobol sequence)."""

    space: Space
    given: dict[str, Any]
    wanted: int | None
    seed: int
    by_chance: bool = False
    batch: int = 16
    _points: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    def total(self) -> int | None:
        """As many as were asked for."""
        return self.wanted

    def batch_end(self, index: int) -> int:
        """Any size will do."""
        return index + self.batch

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """The point of this number."""
        if index == 0:
            return Proposal(self.given, given=True)
        return Proposal(self.space.at(self.point(index - 1)))

    def point(self, i: int) -> Floats:
        """Point i of the unit cube."""
        if self.by_chance:
            return np.random.default_rng([self.seed, 17, i]).random(len(self.space))
        if i >= len(self._points):
            from scipy.stats.qmc import Sobol

            power = max(5, math.ceil(math.log2(i + 1)))
            # Scrambled anew each time from the same seed: a longer sequence begins with the shorter one.
            self._points = Sobol(
                len(self.space), scramble=True, rng=np.random.default_rng([self.seed, 19])
            ).random_base2(power)
        return np.asarray(self._points[i])


@dataclass
class Dense:
    """Points where good tries lie dense and bad ones do not (tree of Parzen estimators, Bergstra et al. 2011).

    After some evenly spread points, tries are parted into the best quarter and the rest. With l and g the densities of
    the two (kernels around the tries, and one part of the whole range), of points drawn from l that with the largest
    l / g is tried. Every fourth try is a spread point again.
    """

    space: Space
    given: dict[str, Any]
    metric: Metric
    wanted: int | None
    seed: int
    batch: int = 4
    drawn: int = 32
    good: float = 0.25

    def __post_init__(self) -> None:
        self._start = Spread(self.space, self.given, None, self.seed)

    def total(self) -> int | None:
        """As many as were asked for."""
        return self.wanted

    def batch_end(self, index: int) -> int:
        """A few: those of a batch do not learn from each other."""
        return index + self.batch

    @property
    def begin(self) -> int:
        """Tries before the densities are trusted; a whole number of batches."""
        wanted = 4 + 2 * len(self.space)
        if self.wanted is not None:
            wanted = min(wanted, max(self.batch, self.wanted // 2))
        return self.batch * math.ceil(wanted / self.batch)

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """An evenly spread point at first, then a dense one."""
        # One try of a batch is spread: the first good place need not be the best.
        if index < self.begin or index % self.batch == self.batch - 1 or len(comparable(history)) < 4:
            return self._start.ask(index, history)
        order = ranked(history, self.metric)  # a try that failed is a bad place: it comes last
        cut = max(2, math.ceil(self.good * len(order)))
        places = np.array([self.space.places(t.params) for t in order])
        rng = np.random.default_rng([self.seed, 23, index])
        better, worse = places[:cut], places[cut:]
        points = self._draw(better, rng)
        gain = self._log_density(points, better) - self._log_density(points, worse)
        return Proposal(self.space.at(points[int(gain.argmax())]))

    def _width(self, n: int) -> float:
        return float(np.clip(0.5 * (n + 1) ** (-1 / (len(self.space) + 4)), 0.05, 0.3))

    def _draw(self, centres: Floats, rng: np.random.Generator) -> Floats:
        """Points near the good ones; some anywhere, so that no part of the space is given up."""
        d = len(self.space)
        points = rng.random((self.drawn, d))
        near = rng.random(self.drawn) < len(centres) / (len(centres) + 1)
        chosen = centres[rng.integers(0, len(centres), self.drawn)]
        moved = chosen + self._width(len(centres)) * rng.standard_normal((self.drawn, d))
        moved = np.where(moved < 0, -moved, moved)  # reflected at the ends
        moved = np.clip(np.where(moved > 1, 2 - moved, moved), 0.0, 1.0 - 1e-12)
        for j, parameter in enumerate(self.space):
            if isinstance(parameter, Choice):  # options have no neighbours: keep it, or take any
                keep = rng.random(self.drawn) < 0.7
                moved[:, j] = np.where(keep, chosen[:, j], points[:, j])
        return np.where(near[:, None] & np.isfinite(moved), moved, points)

    def _log_density(self, points: Floats, centres: Floats) -> Floats:
        """log of the mixture of kernels around the centres and the uniform density."""
        width = self._width(len(centres))
        total = np.zeros((len(points), len(centres)))
        for j, parameter in enumerate(self.space):
            at, near = points[:, j, None], centres[None, :, j]
            if isinstance(parameter, Choice):
                k = len(parameter.options)
                same = (at * k).astype(np.int64) == np.nan_to_num(near * k, nan=-1.0).astype(np.int64)
                density = np.where(same, 0.7 * k + 0.3, 0.3)
            else:
                density = np.exp(-0.5 * ((at - near) / width) ** 2) / (width * math.sqrt(2 * math.pi))
            # A value outside the range (None, a word) says nothing about where in the range it is good.
            total += np.log(np.where(np.isnan(near), 1.0, np.maximum(density, 1e-300)))
        kernels = np.exp(total).sum(axis=1)
        return np.asarray(np.log((kernels + 1.0) / (len(centres) + 1)))


@dataclass
class Halving:
    """Many tries on few rows, the best third of them on three times the rows, and so on up to all rows."""

    space: Space
    given: dict[str, Any]
    metric: Metric
    wanted: int
    n_train: int
    seed: int
    batch: int = 16

    def __post_init__(self) -> None:
        self._start = Spread(self.space, self.given, None, self.seed)
        most = max(0, math.floor(math.log(max(self.n_train / LEAST_ROWS, 1.0), FEWER) + 1e-9))
        rungs = min(most, math.floor(math.log(self.wanted, FEWER) + 1e-9))
        sizes = [max(1, round(self.wanted / FEWER**r)) for r in range(rungs + 1)]
        #: (tries, share of the training rows) of each rung.
        self.rungs = [(size, float(FEWER ** (r - rungs))) for r, size in enumerate(sizes)]

    def total(self) -> int | None:
        """The tries of all rungs."""
        return sum(size for size, _ in self.rungs)

    def _rung(self, index: int) -> tuple[int, int]:
        """Rung of a try, and the first try of that rung."""
        begin = 0
        for rung, (size, _) in enumerate(self.rungs[:-1]):
            if index < begin + size:
                return rung, begin
            begin += size
        return len(self.rungs) - 1, begin

    def batch_end(self, index: int) -> int:
        """The next rung needs all of this one."""
        rung, begin = self._rung(index)
        return min(index + self.batch, begin + self.rungs[rung][0])

    def ask(self, index: int, history: Sequence[Tried]) -> Proposal:
        """A new point in the first rung, one of the best of the rung before in the others."""
        rung, begin = self._rung(index)
        share = self.rungs[rung][1]
        if rung == 0:
            proposal = self._start.ask(index, history)
            return Proposal(proposal.params, share, proposal.given)
        before = [t for t in history if begin - self.rungs[rung - 1][0] <= t.index < begin]
        chosen = ranked(before, self.metric)[index - begin]
        return Proposal(chosen.params, share, chosen.given)
