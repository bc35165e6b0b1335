"""A linear fit as a problem: find w, b of least J = sum_i w_i L(y_i, x_i w + b) / sum_i w_i + penalty(w)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.design import Design
from tilth.engines.optimise.outcome import Outcome
from tilth.parts.losses import Loss
from tilth.parts.penalties import NoPenalty, Penalty

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """An answer: ``coef`` [p], or [p, k] for k scores; ``intercept`` [] or [k] (zero without one)."""

    coef: Floats
    intercept: Floats

    @property
    def finite(self) -> bool:
        """Whether all numbers are."""
        return bool(np.isfinite(self.coef).all() and np.isfinite(self.intercept).all())


@dataclass(frozen=True)
class Solution:
    """Weights and how they were found."""

    weights: Weights
    outcome: Outcome
    #: Places of terms that depend on each other, so that other weights fit as well.
    dependent: tuple[int, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Data, loss and penalty. ``weight``: of each row, None for ones; ``y``: what the loss takes.

    Only the closed form takes a ``y`` of several columns [n, m] for a loss of one score: m problems with one design.
    """

    design: Design
    y: Any
    loss: Loss
    penalty: Penalty = field(default_factory=NoPenalty)
    weight: Floats | None = None
    intercept: bool = True

    @cached_property
    def total(self) -> float:
        """Sum of the weights of the rows."""
        return float(self.design.n_rows if self.weight is None else self.weight.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights: (p,) or (p, k)."""
        p, k = self.design.n_cols, self.loss.n_scores
        return (p,) if k == 1 else (p, k)

    @property
    def convex(self) -> bool:
        """Whether the cost has one valley."""
        return self.loss.convex and self.penalty.convex

    @property
    def smooth(self) -> bool:
        """Whether the cost has a gradient everywhere."""
        return self.loss.smooth and self.penalty.smooth

    def with_penalty(self, penalty: Penalty) -> Problem:
        """The same rows and loss under another penalty."""
        return replace(self, penalty=penalty)

    def start(self) -> Weights:
        """No weights, and the best constant score as the intercept."""
        bias = self.loss.start(self.y, self.weight) if self.intercept else np.zeros(self.loss.n_scores)
        return Weights(np.zeros(self.shape), np.asarray(bias, dtype=np.float64).reshape(self.shape[1:]))

    def scores(self, at: Weights) -> Floats:
        """x w + b of every row."""
        return self.design.matvec(at.coef) + at.intercept

    def risk(self, eta: Floats) -> float:
        """Mean loss of these scores: the empirical risk."""
        return self.loss.mean(self.y, eta, self.weight)

    def objective(self, at: Weights, eta: Floats | None = None) -> float:
        """Mean loss plus penalty."""
        return self.risk(self.scores(at) if eta is None else eta) + self.penalty.value(at.coef)

    def row_slopes(self, eta: Floats) -> Floats:
        """d(mean loss) / d(score of row i)."""
        return self._weighed(self.loss.gradient(self.y, eta))

    def row_curves(self, eta: Floats) -> Floats:
        """Second derivative of the mean loss in the score of row i (its diagonal for several scores)."""
        return self._weighed(self.loss.hessian(self.y, eta))

    def _weighed(self, of_rows: Floats) -> Floats:
        if self.weight is None:
            return of_rows / self.total
        weight = self.weight / self.total
        return of_rows * (weight if of_rows.ndim == 1 else weight[:, None])

    def gradient(self, eta: Floats) -> Weights:
        """Gradient of the mean loss (without the penalty) in weights and intercept."""
        rows = self.row_slopes(eta)
        bias = rows.sum(axis=0) if self.intercept else np.zeros(self.shape[1:])
        return Weights(self.design.rmatvec(rows), np.asarray(bias))

    def violation(self, at: Weights, gradient: Weights) -> float:
        """How far the weights are from satisfying the conditions of an optimum (a smooth loss is assumed)."""
        of_coef = self.penalty.violation(at.coef, gradient.coef).max(initial=0.0)
        return float(max(of_coef, np.abs(gradient.intercept).max(initial=0.0)))
