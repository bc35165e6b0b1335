"""The best few columns of a margin loss, exactly: mean loss + lambda (number of columns used), for few columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tilth.engines.linear.margin import MarginNewton
from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.program import LinearProgram, straight, suits_program
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.outcome import Outcome
from tilth.params import declared, param, stored
from tilth.parts.penalties import L0, NoPenalty

#: Columns that the search takes at most.
MOST_COLUMNS = 15


@stored
@declared
class MarginSubsets(Solver):
    """Every subset of the columns is fitted, or ruled out: the loss of a set is never above that of its parts.

    A count of non-zeros is not convex; L1 is its convex stand-in for more columns.
    """

    name: ClassVar[str] = "subsets of margins"

    max_iter: int = param(1 << MOST_COLUMNS, low=1, doc="Subsets that are fitted at most.")

    def refuses(self, problem: Problem) -> str | None:
        """A loss of pieces, a price per column, few columns."""
        if not isinstance(problem.penalty, L0) or MarginNewton().refuses(problem.with_penalty(NoPenalty())):
            return "takes a loss of straight and square pieces with an L0 penalty only"
        p = problem.design.n_cols
        return (
            f"fits up to 2^p subsets, so it takes at most {MOST_COLUMNS} columns, found {p}"
            if p > MOST_COLUMNS
            else None
        )

    def reason(self, problem: Problem) -> str:
        """Few enough to try all."""
        return f"2^{problem.design.n_cols} subsets of the columns can be tried or ruled out"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """The subset of least loss plus price, by branch and bound."""
        search = _Search(problem, self.max_iter)
        every = tuple(range(problem.design.n_cols))
        search.look((), every, search.fit(every))
        weights = search.spread()
        finished = search.fits < self.max_iter
        stopped = "every subset was tried or ruled out" if finished else "max_iter subsets were fitted"
        outcome = Outcome(
            self.name, finished, search.fits, 0.0 if finished else float("inf"), search.best, False, stopped=stopped
        )
        return Solution(weights, outcome)


@dataclass
class _Search:
    """Branch and bound over "column j is used, or not"."""

    problem: Problem
    limit: int
    best: float = np.inf
    columns: tuple[int, ...] = ()
    weights: Weights | None = None
    fits: int = 0
    known: dict[tuple[int, ...], tuple[float, Weights]] = field(default_factory=dict)

    def fit(self, columns: tuple[int, ...]) -> float:
        """Least mean loss on these columns; the cost of using them is noted."""
        if columns not in self.known:
            self.fits += 1
            design = self.problem.design.pick(np.array(columns, dtype=np.intp))
            part = replace(self.problem, design=design, penalty=NoPenalty())
            solver = LinearProgram() if straight(part) and suits_program(part) else MarginNewton()
            solution = solver.solve(part)
            self.known[columns] = solution.outcome.objective, solution.weights
        loss, weights = self.known[columns]
        cost = loss + self.problem.penalty.alpha * len(columns)
        if cost < self.best:
            self.best, self.columns, self.weights = cost, columns, weights
        return loss

    def look(self, used: tuple[int, ...], open_: tuple[int, ...], least: float) -> None:
        """All subsets between ``used`` and ``used`` with ``open_``, whose loss is at least ``least``."""
        if least + self.problem.penalty.alpha * len(used) >= self.best or self.fits >= self.limit:
            return
        self.fit(used)
        if not open_:
            return
        j, rest = open_[0], open_[1:]
        without = tuple(sorted((*used, *rest)))
        self.look(used, rest, self.fit(without))
        self.look(tuple(sorted((*used, j))), rest, least)

    def spread(self) -> Weights:
        """The best weights, zero for columns that are not used."""
        assert self.weights is not None
        coef = np.zeros(self.problem.shape)
        coef[list(self.columns)] = self.weights.coef
        return Weights(coef, self.weights.intercept)
