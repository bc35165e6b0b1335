"""Gradient descent as a solver: any loss, any penalty, every partial derivative in the trace."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.solver import Solver
from tilth.engines.optimise.descent import gradient_descent
from tilth.engines.optimise.trace import Descent as Found
from tilth.errors import ModelWarning
from tilth.params import declared, param, stored

Floats = NDArray[np.float64]

#: Passes without a lower cost after which descent along subgradients ends.
_PATIENCE = 200
#: With more unknowns than this, the trace leaves out the single partials.
_MOST_PARTIALS = 200


@stored
@declared
class Descent(Solver):
    """w <- w - rate dJ/dw, all partial derivatives at once, until they are near zero.

    Where the cost has kinks there is no gradient at some weights: then steps follow a subgradient with a falling rate,
    and the best weights seen are the answer. ``batch`` rows at a time: None for all of them, 1 for one at a time.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> from tilth.parts.losses import Squared
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> found = Descent(standardise=False).solve(Problem(DenseDesign(X), y, Squared()))
    >>> found.weights.coef.round(4), float(found.weights.intercept.round(4))
    (array([2.]), 1.0)
    >>> list(found.outcome.frame())
    ['iteration', 'value', 'gradient_norm', 'rate', 'd/dw0', 'd/db', 'w0', 'b']
    """

    name: ClassVar[str] = "gradient descent"

    rate: Any = param("auto", doc="Length of a step per unit of gradient: a number, a function of the step, or 'auto'.")
    batch: int | None = param(None, low=1, doc="Rows per step; None: all.")
    momentum: float = param(0.0, low=0, high=0.999, doc="Share of the last step that is kept.")
    standardise: bool = param(
        True, doc="Whether steps are taken on columns of mean 0 and deviation 1; the answer is for the columns given."
    )
    random_state: int | None = param(0, low=0, doc="Seed of the order of the rows.")

    def refuses(self, problem: Problem) -> str | None:
        """Nothing that has a value and a (sub)gradient."""
        return None

    def reason(self, problem: Problem) -> str:
        """The last resort."""
        return "no other solver takes this loss with this penalty"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """Descend."""
        way = _Way.of(problem, self.standardise)
        with warnings.catch_warnings():
            # The model that asked warns, in its own name.
            warnings.simplefilter("ignore", ModelWarning)
            descent = self._descend(problem, way, way.packed(start or problem.start()))
        at = way.weights(descent.x)
        outcome = replace(descent.outcome, objective=problem.objective(at), convex=problem.convex)
        if problem.smooth:
            outcome = replace(outcome, violation=problem.violation(at, problem.gradient(problem.scores(at))))
        else:
            # A subgradient need not vanish at the optimum, so nothing proves that this is one.
            outcome = replace(outcome, converged=False, stopped="a cost with kinks: these are the best weights seen")
        if descent.trace is not None and len(way.names) <= _MOST_PARTIALS:
            frame = descent.trace.frame()
            outcome = replace(outcome, trace={str(c): frame[c].to_numpy(dtype=np.float64) for c in frame})
        return Solution(at, outcome)

    def _descend(self, problem: Problem, way: _Way, first: Floats) -> Found:
        rows = {} if self.batch is None else {"batch": self.batch, "n_rows": problem.design.n_rows}
        settings: dict[str, Any] = {
            "value": way.cost,
            "momentum": self.momentum,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "convex": problem.convex,
            "names": way.names,
            "random_state": self.random_state,
            **rows,
        }
        if problem.smooth:
            return gradient_descent(way.gradient, first, rate=self.rate, **settings)
        rate = _falling(way, first) if self.rate == "auto" else self.rate
        # A batch corrected at an anchor assumes a gradient; a subgradient of all rows does without.
        settings |= {"batch": None, "monitor": way.cost, "patience": _PATIENCE}
        return gradient_descent(way.gradient, first, rate=rate, **settings)


def _falling(way: _Way, first: Floats) -> Callable[[int], float]:
    """r / sqrt(1 + k): long enough to get anywhere, short enough in the end to stay there.

    The first step would bring a cost that falls at its slope to zero; the best any rate could do.
    """
    g = way.gradient(first)
    length = way.cost(first) / max(float(g @ g), 1e-300)
    return lambda k: float(length) / float(np.sqrt(1.0 + k))


@dataclass(frozen=True)
class _Way:
    """The cost as a function of one vector: weights of the columns (x - centre) / spread, then the intercepts."""

    problem: Problem
    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, problem: Problem, standardise: bool) -> _Way:
        p = problem.design.n_cols
        if not standardise:
            return cls(problem, np.zeros(p), np.ones(p))
        weight = np.ones(problem.design.n_rows) if problem.weight is None else problem.weight
        mean = problem.design.rmatvec(weight) / problem.total
        variance = problem.design.squares(problem.weight) / problem.total - mean**2
        root = np.sqrt(np.maximum(variance, 0.0))
        spread = np.where(root > 1e-8 * np.abs(mean), root, 1.0)
        return cls(problem, mean if problem.intercept else np.zeros(p), np.where(spread > 0, spread, 1.0))

    @property
    def names(self) -> list[str]:
        """``w3`` for a column, ``w3_1`` for a column and a score, ``b`` for intercepts."""
        p, scores = self.problem.design.n_cols, self.problem.shape[1:]
        ends = [""] if not scores else [f"_{c}" for c in range(scores[0])]
        bias = [f"b{end}" for end in ends] if self.problem.intercept else []
        return [f"w{j}{end}" for j in range(p) for end in ends] + bias

    def packed(self, at: Weights) -> Floats:
        """Weights as the vector."""
        coef = (at.coef.T * self.spread).T
        bias = at.intercept + self.centre @ at.coef
        return np.concatenate([coef.ravel(), np.ravel(bias) if self.problem.intercept else []])

    def weights(self, theta: Floats) -> Weights:
        """The vector as weights of the columns given."""
        shape = self.problem.shape
        size = int(np.prod(shape))
        coef = (theta[:size].reshape(shape).T / self.spread).T
        bias = theta[size:].reshape(shape[1:]) - self.centre @ coef if self.problem.intercept else np.zeros(shape[1:])
        return Weights(coef, np.asarray(bias))

    def cost(self, theta: Floats) -> float:
        """Mean loss plus penalty."""
        return self.problem.objective(self.weights(theta))

    def gradient(self, theta: Floats, rows: NDArray[Any] | None = None) -> Floats:
        """All partial derivatives of the cost, or of its share on some rows, taken for the whole."""
        problem, at = self.problem, self.weights(theta)
        if rows is None or len(rows) == problem.design.n_rows:
            gradient = problem.gradient(problem.scores(at))
        else:
            gradient = self._gradient_of(rows, at)
        coef = gradient.coef - np.multiply.outer(self.centre, gradient.intercept) + _penalty_slope(problem, at.coef)
        coef = (coef.T / self.spread).T
        return np.concatenate([coef.ravel(), np.ravel(gradient.intercept) if problem.intercept else []])

    def _gradient_of(self, rows: NDArray[Any], at: Weights) -> Weights:
        problem = self.problem
        design = problem.design.take(rows)
        of_rows = problem.loss.gradient(problem.y[rows], design.matvec(at.coef) + at.intercept)
        if problem.weight is not None:
            of_rows = (of_rows.T * problem.weight[rows]).T
        # Divided by what so many rows weigh on average: then the mean over all batches is the slope of the whole.
        of_rows = of_rows * (problem.design.n_rows / (problem.total * len(rows)))
        return Weights(design.rmatvec(of_rows), np.asarray(of_rows.sum(axis=0)))


def _penalty_slope(problem: Problem, coef: Floats) -> Floats:
    """Gradient of the penalty, or one of its subgradients: (w - prox(w)) for a step of almost nothing."""
    if problem.penalty.smooth:
        return problem.penalty.gradient(coef)
    step = 1e-8 * max(1.0, float(np.abs(coef).max(initial=0.0)))
    return np.asarray((coef - problem.penalty.prox(coef, step)) / step)
