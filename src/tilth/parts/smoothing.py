"""Smoothing: probabilities from counts, so that no event is impossible. Bias is added, variance taken away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.kinds import Level, level_key
from tilth.params import declared, param, stored
from tilth.parts.part import Part

Floats = NDArray[np.float64]


@declared
class Smoothing(Part):
    """Base: ``estimate(counts)`` turns class x level counts into probabilities of each level within a class."""

    def estimate(self, counts: Floats, n_rows: float, column: str, levels: tuple[Level, ...]) -> Floats:
        """P(level | class), shape of ``counts``; rows of ``counts`` are classes."""
        return _shares(counts + self.pseudo_counts(column, levels))

    def pseudo_counts(self, column: str, levels: tuple[Level, ...]) -> Floats:
        """Imagined rows of each level: a Dirichlet prior of these counts plus 1, whose mode the estimate is."""
        return np.zeros(len(levels))


def _shares(counts: Floats) -> Floats:
    """Relative frequencies within a class; a class with no rows knows nothing, so all levels are equally likely."""
    total = counts.sum(axis=1, keepdims=True)
    n_levels = max(counts.shape[1], 1)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / n_levels)


@stored
@declared
class Laplace(Smoothing):
    """Add-alpha: (count + alpha) / (class count + alpha V), V the number of levels; alpha = 0 is maximum likelihood.

    >>> Laplace(alpha=1.0).estimate(np.array([[0.0, 3.0, 2.0]]), 14, "Outlook", ("Overcast", "Sunny", "Rainy"))
    array([[0.125, 0.5  , 0.375]])
    """

    alpha: float = param(1.0, low=0, doc="Pseudo-count of each level.", scale="log", tune=(1e-3, 10))

    def pseudo_counts(self, column: str, levels: tuple[Level, ...]) -> Floats:
        """Alpha each."""
        return np.full(len(levels), float(self.alpha))


@stored
@declared
class Epsilon(Smoothing):
    """Only zeros are replaced, by epsilon < 1/N; every other estimate stays the relative frequency.

    The probabilities of a class with a zero then sum to slightly more than 1.
    """

    epsilon: float | None = param(None, low=0, low_open=True, doc="The replacement; None takes 1/(10 N).")

    def estimate(self, counts: Floats, n_rows: float, column: str, levels: tuple[Level, ...]) -> Floats:
        """Frequencies with zeros replaced."""
        small = 0.1 / n_rows if self.epsilon is None else self.epsilon
        if small >= 1.0 / n_rows:
            raise ValueError(
                f"Epsilon: epsilon must be below 1/N = {1.0 / n_rows:.3g} (N = {n_rows:g} rows), or an event that "
                f"never happened would outweigh one that did; got {small:g}."
            )
        shares = _shares(counts)
        return np.where(shares == 0, small, shares)


@stored
@declared
class MEstimate(Smoothing):
    """(count + m p) / (class count + m) with a prior p of each level, 1/V unless given; m = V, p = 1/V is Laplace."""

    m: float = param(1.0, low=0, doc="Weight of the prior, in rows.", scale="log", tune=(1e-2, 100))
    prior: Mapping[str, Mapping[Any, float]] | None = param(
        None, doc="Prior of levels: {column: {level: probability}}."
    )

    def pseudo_counts(self, column: str, levels: tuple[Level, ...]) -> Floats:
        """m p."""
        p = np.full(len(levels), 1.0 / max(len(levels), 1))
        if self.prior and column in self.prior:
            prior = {level_key(v): q for v, q in self.prior[column].items()}
            lost = [v for v in levels if level_key(v) not in prior]
            if lost or abs(sum(prior.values()) - 1) > 1e-6:
                raise ValueError(
                    f"MEstimate: the prior of {column!r} must give every level a probability and sum to 1; "
                    f"{'it lacks ' + repr(lost[0]) if lost else f'it sums to {sum(prior.values()):g}'}."
                )
            p = np.array([prior[level_key(v)] for v in levels])
        return self.m * p


NAMED: dict[str, type[Smoothing]] = {"laplace": Laplace, "epsilon": Epsilon, "m-estimate": MEstimate}
