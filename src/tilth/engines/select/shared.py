"""Scores of subsets for least squares, from cross products: no subset needs a pass over the rows.

Per fold, one pass gives the cross products of all terms with each other and with the target, on the training rows and
on the validation rows. The weights of any subset solve the equations of its terms, and its squared error on the
validation rows is a quadratic form of those weights, so that a subset costs O(p^3) whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilth.stats.gram import Gram

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: A hair of ridge on terms of length 1 keeps the equations of equal columns solvable.
_HAIR = 1e-11
#: Cells of stacked equations held at once.
_CELLS = 1 << 21


@dataclass(frozen=True)
class FoldSums:
    """Cross products of (terms, target) of the training and of the validation rows of one fold.

    ``owner`` [p] is the place of the column that each term belongs to, ``ridge`` the price of |w|^2 beside the sum of
    squares.
    """

    train: Gram
    test: Gram
    owner: NDArray[np.intp]
    ridge: float = 0.0

    def errors(self, subsets: Bools) -> Floats:
        """Sum of squared errors on the validation rows of the least squares fit of each subset [m, d]."""
        p = len(self.owner)
        out = np.empty(len(subsets))
        step = max(1, _CELLS // max(p * p, 1))
        for start in range(0, len(subsets), step):
            out[start : start + step] = self._errors(subsets[start : start + step])
        return out

    def _errors(self, subsets: Bools) -> Floats:
        p = len(self.owner)
        used = subsets[:, self.owner].astype(np.float64)
        cross, mean = self.train.cross, self.train.mean
        # What is left of a constant term without its mean is rounding.
        size = np.sqrt(np.maximum(np.diagonal(cross)[:p], 0.0))
        varies = size > 1e-13 * np.sqrt(self.train.weight) * np.abs(mean[:p])
        unit = np.divide(1.0, size, out=np.zeros(p), where=varies)
        scaled = cross[:p, :p] * unit[:, None] * unit
        np.fill_diagonal(scaled, 1.0)
        right = cross[:p, p] * unit
        # Terms outside the subset get the equation 1 w = 0.
        equations = scaled * used[:, :, None] * used[:, None, :]
        diagonal = np.arange(p)
        equations[:, diagonal, diagonal] = 1.0 + used * (self.ridge * unit**2 + _HAIR)
        weights = np.linalg.solve(equations, (right * used)[:, :, None])[:, :, 0] * unit * used
        test = self.test
        shift = (test.mean[p] - mean[p]) - weights @ (test.mean[:p] - mean[:p])
        squares = np.einsum("mi,ij,mj->m", weights, test.cross[:p, :p], weights, optimize=True)
        about = test.cross[p, p] - 2 * weights @ test.cross[:p, p] + squares
        return np.asarray(np.maximum(about, 0.0) + test.weight * shift**2)


@dataclass
class SharedSquares:
    """Scores of subsets on all folds from their cross products; ``score`` is ``"r2"`` or a negative squared error."""

    folds: list[FoldSums]
    score: str = "r2"
    fits: int = 0

    def __call__(self, subsets: Bools) -> Floats:
        """Scores [m, folds]."""
        self.fits += len(subsets)
        return np.stack([self._scores(fold, subsets) for fold in self.folds], axis=1)

    def _scores(self, fold: FoldSums, subsets: Bools) -> Floats:
        errors = fold.errors(subsets)
        if self.score == "r2":
            whole = fold.test.cross[-1, -1]
            return 1 - errors / whole if whole > 0 else np.where(errors > 0, 0.0, 1.0)
        mean = errors / fold.test.weight
        return -np.sqrt(mean) if self.score == "neg_root_mean_squared_error" else -mean
