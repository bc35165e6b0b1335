"""The perceptron's rounds: visits, updates, and the pocket that keeps the best weights seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.engines.linear.closed import ClosedForm
from tilth.engines.linear.design import Design
from tilth.engines.linear.dual import row_access
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.program import meeting_point
from tilth.engines.linear.separation import separated
from tilth.parts.losses import Squared

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PerceptronRun:
    """What a run found. ``history``: wrong rows after every update with a pocket, else mistakes in every epoch."""

    weights: Weights
    history: Floats
    updates: int
    epochs: int
    errors: float
    converged: bool


def run_perceptron(
    design: Design, codes: NDArray[np.int32], weight: Floats | None, start: Weights, *, eta: float = 1.0,
    intercept: bool = True, shuffle: bool = True, pocket: bool = False, epochs: int = 1000,
    updates: int = 1 << 60, seed: int = 0,
) -> PerceptronRun:  # fmt: skip
    """Visit the rows; a row with z (w.x + b) <= 0 moves the weights: w <- w + eta z x, b <- b + eta z.

    More than two classes have weights each: those of the true class move towards the row, those of its best rival away.
    The pocket looks at all rows after every update, and gives back the weights with the fewest wrong rows.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1], dtype=np.int32)
    >>> found = run_perceptron(DenseDesign(X), y, None, Weights(np.zeros(1), np.zeros(())), shuffle=False)
    >>> found.errors, found.converged
    (0.0, True)
    """
    many = start.coef.ndim > 1
    first = np.column_stack([start.coef.T, start.intercept]) if many else np.append(start.coef, start.intercept)[None]
    w, history, n_updates, n_epochs, errors, converged = _core.perceptron(
        row_access(design), np.ascontiguousarray(codes, dtype=np.int32), weight, np.ascontiguousarray(first), eta,
        intercept, shuffle, pocket, epochs, updates, seed,
    )  # fmt: skip
    weights = Weights(w[:, :-1].T.copy(), w[:, -1].copy()) if many else Weights(w[0, :-1].copy(), np.asarray(w[0, -1]))
    return PerceptronRun(weights, history, n_updates, n_epochs, errors, converged)


@dataclass(frozen=True)
class Separability:
    """Whether planes separate the classes, with the proof of either answer.

    ``coef`` and ``intercept`` are such planes, z (w.x + b) >= 1 on every row (the true class leads by 1, for more than
    two). ``shares`` of the rows, each class summing to 1, give the same mean row in both of two classes: then no plane
    can have one class on each side.
    """

    separable: bool
    coef: Floats | None = None
    intercept: Floats | None = None
    shares: Floats | None = None

    def __bool__(self) -> bool:
        return self.separable

    def __str__(self) -> str:
        if self.separable:
            return "linearly separable"
        used = (
            ""
            if self.shares is None
            else f": the hulls of the classes meet ({np.count_nonzero(self.shares)} rows prove it)"
        )
        return f"not linearly separable{used}"


def separability(design: Design, codes: NDArray[np.int32], n_classes: int, *, intercept: bool = True) -> Separability:
    """Ask linear programs.

    >>> from tilth.engines.linear.design import DenseDesign
    >>> xor = DenseDesign(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> print(separability(xor, np.array([0, 0, 1, 1], dtype=np.int32), 2))
    not linearly separable: the hulls of the classes meet (4 rows prove it)
    """
    separation = separated(design, codes, n_classes, intercept=intercept)
    if separation is None or not separation.complete:
        shares = meeting_point(design, codes, intercept=intercept) if n_classes == 2 else None
        return Separability(False, shares=shares)
    scores = design.matvec(separation.coef) + separation.intercept
    if scores.ndim == 1:
        least = float(np.where(codes == 1, scores, -scores).min())
    else:
        rows = np.arange(len(scores))
        own = scores[rows, codes].copy()
        scores[rows, codes] = -np.inf
        least = float((own - scores.max(axis=1)).min())
    return Separability(True, separation.coef / least, np.asarray(separation.intercept / least))


def first_weights(kind: str, design: Design, codes: NDArray[np.int32], weight: Floats | None, n_classes: int, *,
                  intercept: bool = True, seed: int = 0) -> Weights:  # fmt: skip
    """Zeros, small random numbers, or least squares on targets of +1 and -1."""
    k = () if n_classes <= 2 else (n_classes,)
    if kind == "linear":
        z = 2.0 * (codes == 1) - 1.0 if not k else 2.0 * (codes[:, None] == np.arange(n_classes)) - 1.0
        return ClosedForm().solve(Problem(design, z, Squared(), weight=weight, intercept=intercept)).weights
    shape = (design.n_cols, *k)
    if kind == "zeros":
        return Weights(np.zeros(shape), np.zeros(k))
    rng = np.random.default_rng(seed)
    return Weights(rng.normal(size=shape), np.asarray(rng.normal(size=k)) if intercept else np.zeros(k))
