"""Bayesian least squares: a Gaussian prior on the weights, Gaussian noise, a posterior that can be written down.

w ~ N(0, I / precision), y | x ~ N(w.x + b, noise), a flat prior on b. The posterior of w is Gaussian with covariance
S = (X'X / noise + precision I)^-1 and mean S X'y / noise, on centred columns: ridge regression with lambda = precision
x noise, and how sure it is. Rows weigh as if repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.problem import Problem, Weights

Floats = NDArray[np.float64]

#: Signal beside noise below which no column is taken to matter.
_NO_SIGNAL = 1e-12
#: Least variance of the noise beside that of y.
_LEAST_NOISE = 1e-10


@dataclass(frozen=True)
class Posterior:
    """What is believed of the weights after the rows were seen."""

    weights: Weights
    covariance: Floats  # [p, p]
    centre: Floats  # where the intercept's doubt is separate from that of the weights
    intercept_variance: float
    precision: float
    noise: float
    #: log p(y | X, precision, noise), weights and intercept integrated out.
    log_evidence: float
    #: Trace of the hat matrix: how many weights the rows determine, the intercept left out.
    effective: float
    n_iter: int
    converged: bool
    #: Largest relative change of precision and noise in the last round.
    change: float


class _Rotated:
    """Least squares in the eigenvectors of X'X, where all weights are independent."""

    def __init__(self, problem: Problem) -> None:
        y = np.asarray(problem.y, dtype=np.float64)
        w = np.ones(len(y)) if problem.weight is None else problem.weight
        self.total = problem.total
        self.rows = self.total - problem.intercept  # the intercept takes one
        design = problem.design
        p = design.n_cols
        self.centre = design.rmatvec(w) / self.total if problem.intercept else np.zeros(p)
        self.middle = float(w @ y) / self.total if problem.intercept else 0.0
        cross = design.gram(problem.weight) - self.total * np.outer(self.centre, self.centre)
        square, self.vectors = np.linalg.eigh(0.5 * (cross + cross.T))
        self.squares = np.where(square > square.max(initial=0.0) * p * np.finfo(float).eps, square, 0.0)
        away = y - self.middle
        # Centred y meets centred columns, so the means need not be taken from the columns again.
        along = self.vectors.T @ (design.rmatvec(w * away) - self.centre * float(w @ away))
        self.along = np.where(self.squares > 0, along, 0.0)  # where no column goes there is nothing but rounding
        self.of_y = float(w @ away**2)

    def mean(self, precision: float, noise: float) -> Floats:
        return self.along / (self.squares + precision * noise)

    def residual(self, mean: Floats) -> float:
        """Sum of squared residuals at these rotated weights."""
        return max(self.of_y - 2 * float(mean @ self.along) + float(mean**2 @ self.squares), 0.0)

    def effective(self, precision: float, noise: float) -> float:
        return float((self.squares / (self.squares + precision * noise)).sum())

    def log_evidence(self, precision: float, noise: float) -> float:
        mean = self.mean(precision, noise)
        spread = np.log1p(self.squares / (precision * noise)).sum()
        fit = self.residual(mean) / noise + precision * float(mean @ mean)
        of_intercept = np.log(self.total) if self.rows < self.total else 0.0
        return float(-0.5 * (self.rows * np.log(2 * np.pi * noise) + fit + spread + of_intercept))


def posterior(
    problem: Problem, precision: float | None, noise: float | None, tol: float = 1e-10, max_iter: int = 10_000
) -> Posterior:
    """The posterior for a precision of the prior and a variance of the noise; None: of highest evidence.

    MacKay's updates: with g = sum s / (s + precision noise) weights determined by the rows, precision = g / |mean|^2
    and noise = residual sum of squares / (n - g).
    """
    rotated = _Rotated(problem)
    # Rows that are fitted exactly would have no noise at all, and evidence without end.
    floor = max(rotated.of_y / rotated.total * _LEAST_NOISE, rotated.middle**2 * 1e-15, 1e-300)
    s2 = max(rotated.of_y / max(rotated.rows, 1.0), floor) if noise is None else noise
    a = 1.0 if precision is None else precision
    if precision is None:  # a prior under which the columns explain as much as there is to explain
        a = float(rotated.squares.sum()) / max(rotated.of_y, floor) or 1.0
    n_iter, change, converged = 0, 0.0, precision is not None and noise is not None
    while not converged and n_iter < max_iter:
        n_iter += 1
        mean = rotated.mean(a, s2)
        g = rotated.effective(a, s2)
        length = float(mean @ mean)
        no_signal = a * s2 * _NO_SIGNAL > rotated.squares.max(initial=0.0)
        next_a = a if precision is not None or length == 0 or no_signal else g / length
        next_s2 = s2 if noise is not None else max(rotated.residual(mean) / max(rotated.rows - g, 1e-12), floor)
        change = float(max(abs(np.log(next_a / a)), abs(np.log(next_s2 / s2))))
        a, s2, converged = next_a, next_s2, change <= tol
    mean = rotated.mean(a, s2)
    coef = rotated.vectors @ mean
    covariance = (rotated.vectors * (s2 / (rotated.squares + a * s2))) @ rotated.vectors.T
    weights = Weights(coef, np.asarray(rotated.middle - rotated.centre @ coef if problem.intercept else 0.0))
    return Posterior(
        weights,
        covariance,
        rotated.centre,
        s2 / rotated.total if problem.intercept else 0.0,
        a,
        s2,
        rotated.log_evidence(a, s2),
        rotated.effective(a, s2),
        n_iter,
        converged,
        change,
    )
