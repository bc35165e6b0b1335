"""Classifiers through the joint distribution of rows and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.base.classifier import Probabilistic
from tilth.errors import warn_data
from tilth.params import declared

Array = NDArray[Any]


@declared
class GenerativeClassifier(Probabilistic):
    """A classifier through p(x, y) = p(y) p(x | y). Subclasses give ``log_joint(table)``."""

    def log_joint(self, table: Any) -> NDArray[np.float64]:
        """log p(x, y) of typed rows for every class."""
        raise NotImplementedError

    def class_log_priors(self) -> NDArray[np.float64]:
        """log p(y) of every class."""
        raise NotImplementedError

    def may_exclude(self) -> bool:
        """Whether some value can rule a class out altogether (a probability of zero)."""
        return False

    def probabilities(self, table: Any) -> NDArray[np.float64]:
        """Bayes: p(y | x) = p(x, y) / sum over classes."""
        return _core.row_softmax(self._decidable(self.log_joint(table)))[0]

    def choice(self, table: Any) -> Array:
        """argmax p(x, y); the evidence p(x) is the same for every class and never computed."""
        return _core.row_argmax(self._decidable(self.log_joint(table)))

    def _decidable(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores in which a row that no class explains is decided by the prior, and told."""
        if self.may_exclude():
            lost = np.flatnonzero(np.isneginf(joint).all(axis=1))
            if lost.size:
                joint[lost] = self.class_log_priors()
                warn_data(
                    "W205",
                    f"{type(self).__name__}: no class explains {lost.size} of {len(joint)} rows (each is ruled out "
                    "by a probability of zero); the prior decided. Smoothing prevents this.",
                )
        return joint

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(y | x), without leaving log space."""
        joint = self.log_joint(self._rows(X))
        return joint - _core.row_softmax(joint)[1][:, None]

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, y): the score of every label."""
        return self.log_joint(self._rows(X))

    def log_evidence(self, X: Any) -> NDArray[np.float64]:
        """log p(x) = log sum over y of p(x, y): how usual a row is."""
        return _core.row_softmax(self.log_joint(self._rows(X)))[1]

    def sample(self, n: int = 1, *, seed: int = 0) -> tuple[Any, Array]:
        """Draw synthetic rows and labels from the joint distribution."""
        raise NotImplementedError
