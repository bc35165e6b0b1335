"""Expectation-maximisation for a mixture of any family: p(x) = sum_c pi_c p(x | c).

The bound F(r, theta) = sum_i w_i sum_c r_ic (log pi_c p(x_i | c) - log r_ic) lies below the log-likelihood for every
choice of responsibilities r. The E-step makes it touch (r_ic = p(c | x_i)), the M-step raises it (``statistic`` with
weights [n, k], then ``from_statistic``); neither can lower it, which :func:`alternate` watches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tilth import _core
from tilth.data.table import Table
from tilth.engines.optimise.alternate import alternate
from tilth.engines.optimise.outcome import Outcome
from tilth.stats.inputs import as_memberships, as_size, as_weight

Floats = NDArray[np.float64]

#: A start is one row and, so that no row is impossible, this share of all the others.
_OTHERS = 0.1


class Family(Protocol):
    """What a mixture is made of: an exponential family of :mod:`tilth.parts`, or columns of a table."""

    def statistic(self, x: Any, weights: Any, /) -> Any:
        """Sums of the rows for k components, weights [n, k]."""

    def from_statistic(self, statistic: Any, /, *, floor: float) -> Any:
        """The k components of greatest likelihood; variances of at least ``floor`` of that of all rows."""


class Penalised(Family, Protocol):
    """A family whose estimates are modes of a posterior, such as smoothed counts."""

    def log_prior(self, components: Any, /) -> float:
        """log p(theta), up to a constant."""


@dataclass(frozen=True)
class Mixture:
    """Shares ``weights`` [k] and the ``components``, k distributions in one value; how EM came to them."""

    weights: Floats
    components: Any
    #: Mean bound per row at the end: the mean log-likelihood, with the log prior where the family has one.
    bound: float = float("nan")
    #: Of the best start: converged, rounds, trace.
    outcome: Outcome | None = field(default=None, repr=False)
    #: The bound that each start reached.
    starts: tuple[float, ...] = ()

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, for AIC and BIC."""
        return int(self.components.n_parameters) + len(self.weights) - 1

    def log_joint(self, rows: Any) -> Floats:
        """log pi_c p(x_i | c) [n, k]."""
        density = np.asarray(self.components.log_density(rows)).reshape(-1, len(self.weights))
        with np.errstate(divide="ignore"):
            return density + np.log(self.weights)

    def log_density(self, rows: Any) -> Floats:
        """log p(x_i)."""
        return _core.row_softmax(self.log_joint(rows))[1]

    def responsibilities(self, rows: Any) -> Floats:
        """p(c | x_i) [n, k]."""
        return _core.row_softmax(self.log_joint(rows))[0]


@dataclass(frozen=True)
class _State:
    mixture: Mixture
    joint: Floats
    shares: Floats


def em(
    family: Family | Penalised,
    rows: Any,
    k: int,
    *,
    weight: Any = None,
    start: Any = None,
    n_init: int = 1,
    seed: int = 0,
    floor: float = 1e-6,
    tol: float = 1e-7,
    max_iter: int = 500,
) -> Mixture:
    """Fit a mixture of k components of a family.

    Parameters
    ----------
    family : an exponential family (its parameters do not matter), or :class:`~tilth.engines.mixture.product.Columns`.
    rows : what the family takes: numbers, a matrix, levels, a typed table.
    start : responsibilities [n, k] to begin with; by default ``n_init`` starts of distant rows, of which the best wins.
    floor : smallest variance of a component, as a share of that of all rows; it keeps components from shrinking to a
        point, where the likelihood has no bound.
    tol : a round that raises the bound by no more than this share of its size is the last.

    Examples
    --------
    >>> from tilth.parts.distributions_discrete import PoissonDistribution
    >>> mixture = em(PoissonDistribution(), [0, 1, 2, 1, 0, 1, 20, 24, 22], 2)
    >>> mixture.weights.round(2).tolist(), mixture.components.rate.round(2).tolist()
    ([0.33, 0.67], [22.0, 0.83])
    """
    n = rows.n_rows if isinstance(rows, Table) else len(rows)
    k, n_init = as_size(k, 1, "em: k"), as_size(n_init, 1, "em: n_init")
    row_weights = as_weight(weight, n, "em")
    weights = np.ones(n) if row_weights is None else row_weights
    if k > np.count_nonzero(weights):
        raise ValueError(f"em: {k} components need as many rows of positive weight; got {np.count_nonzero(weights)}.")
    share = weights / weights.sum()
    log_prior = getattr(family, "log_prior", None)

    def fitted(shares: Floats) -> _State:
        """The M-step."""
        weighted = shares * weights[:, None]
        components = family.from_statistic(family.statistic(rows, weighted), floor=floor)
        mixture = Mixture(weighted.sum(axis=0) / weights.sum(), components)
        return _State(mixture, mixture.log_joint(rows), shares)

    def expected(state: _State) -> _State:
        """The E-step."""
        return _State(state.mixture, state.joint, _core.row_softmax(state.joint)[0])

    def loss(state: _State) -> float:
        explained = np.where(state.shares > 0, state.shares * state.joint, 0.0) + entr(state.shares)
        prior = 0.0 if log_prior is None else log_prior(state.mixture.components) / weights.sum()
        return -float(share @ explained.sum(axis=1)) - prior

    runs = []
    for rng in np.random.default_rng(seed).spawn(n_init if start is None else 1):
        if start is None:
            shares = _distant(family, rows, share, k, floor, rng)
        else:
            shares = as_memberships(start, n, k, "em: start")
        steps = {"maximisation": lambda state: fitted(state.shares), "expectation": expected}
        runs.append(alternate(expected(fitted(shares)), steps, loss, tol=tol, max_iter=max_iter))
    best = min(runs, key=lambda run: run.objective)
    mixture = best.state.mixture
    starts = tuple(-run.objective for run in runs)
    return Mixture(mixture.weights, mixture.components, -best.objective, best.outcome, starts)


def _distant(family: Family, rows: Any, share: Floats, k: int, floor: float, rng: np.random.Generator) -> Floats:
    """Responsibilities of k components around rows that are drawn far from each other, as k-means++ draws them.

    How far a row is from another is said by the family: the log density that it loses against the densest row.
    """
    chance, near, densities = share, np.full(len(share), np.inf), []
    for _ in range(k):
        column = _OTHERS * share
        column[rng.choice(len(share), p=chance)] += 1.0
        component = family.from_statistic(family.statistic(rows, column[:, None]), floor=floor)
        density = np.asarray(component.log_density(rows)).reshape(-1)
        densities.append(density)
        near = np.minimum(near, density.max() - density)
        far = share * near
        chance = far / far.sum() if far.sum() > 0 else share
    return _core.row_softmax(np.column_stack(densities))[0]
