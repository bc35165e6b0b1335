"""Tables of two labellings (actual x predicted, class x cluster): their cells, and bootstrap samples of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Weight of the rows of each pair of labels, and the sum of their squared weights."""

    cells: Floats
    squares: Floats

    @classmethod
    def of(cls, first: Any, second: Any, shape: tuple[int, int], weight: Floats | None = None) -> Table:
        """Count pairs of places."""
        place = np.ravel_multi_index((np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)), shape)
        size = shape[0] * shape[1]
        cells = np.bincount(place, weights=weight, minlength=size).astype(np.float64)
        squares = cells if weight is None else np.bincount(place, weights=weight**2, minlength=size).astype(np.float64)
        return cls(cells.reshape(shape), squares.reshape(shape))

    @property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not np.array_equal(self.cells, self.squares)

    def resamples(self, repeats: int, seed: int) -> Floats:
        """Cells of bootstrap samples of the rows, repeats x the shape of the table.

        The counts of a bootstrap sample are multinomial, whatever the number of rows. A weighted cell is drawn from the
        gamma distribution that has the mean (sum w) and the variance (sum w^2) which the bootstrap gives it.
        """
        rng = np.random.default_rng(seed)
        if not self.is_weighted:
            n = self.cells.sum()
            drawn = rng.multinomial(int(n), self.cells.ravel() / max(n, 1.0), size=repeats).astype(np.float64)
            return drawn.reshape(repeats, *self.cells.shape)
        known = self.squares > 0
        scale = np.divide(self.squares, self.cells, out=np.zeros_like(self.cells), where=known)
        shape = np.divide(self.cells, scale, out=np.zeros_like(self.cells), where=known)
        return rng.gamma(shape, scale, size=(repeats, *self.cells.shape))
