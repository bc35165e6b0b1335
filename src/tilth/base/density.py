"""Models of how probable a row is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin

from tilth.base.answers import Need
from tilth.base.learner import Learner
from tilth.params import declared

Floats = NDArray[np.float64]


@declared
class Density(DensityMixin, Learner):
    """A model of p(x). Subclasses give ``log_density(table)``, ``sample(n)`` and ``n_parameters_``."""

    hooks: ClassVar[dict[Need, str]] = {"scores": "log_density"}

    def log_density(self, table: Any) -> Floats:
        """log p(x) of typed rows."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Floats:
        """log p(x) of each row."""
        return self.log_density(self._rows(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log p(x) of the rows."""
        return float(self.score_samples(X).mean())

    def aic(self, X: Any) -> float:
        """Akaike's criterion on these rows, 2 k - 2 log L: the lower the better."""
        return 2.0 * self.n_parameters_ - 2.0 * float(self.score_samples(X).sum())

    def bic(self, X: Any) -> float:
        """Schwarz's criterion on these rows, k log n - 2 log L: the lower the better."""
        scores = self.score_samples(X)
        return float(np.log(len(scores)) * self.n_parameters_ - 2.0 * scores.sum())

    def sample(self, n: int = 1, *, seed: int = 0) -> Any:
        """Draw rows from the density."""
        raise NotImplementedError
