"""Estimation for any density: maximum likelihood and maximum posterior, with what is known of their precision.

    likelihood   theta = argmax sum w_i log p(x_i; theta)
    posterior    theta = argmax sum w_i log p(x_i; theta) + log p(theta)

The estimate of a regular model is normal for many rows, with the inverse of the observed information
I = -d2 log-likelihood / d theta2 as its covariance: from it come standard errors, intervals and tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import chdtrc, chdtri, ndtr, ndtri

from tilth.errors import warn_model
from tilth.parts.climb import Climb, Floats, Function, Problem
from tilth.parts.distribution import Distribution
from tilth.stats.inputs import as_weight

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["wald", "profile"]
Bounds = Sequence[tuple[float | None, float | None]] | Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class ParameterTest:
    """A test of the hypothesis that a parameter has a value; a small ``p_value`` speaks against it."""

    name: str
    value: float
    statistic: float
    p_value: float
    method: Method


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters that were estimated, and how well.

    ``covariance`` is the inverse of the observed information; rows of a parameter at a bound, and all rows where the
    information is not positive definite, are NaN. ``shortfall`` is how far the parameters are from a maximum, in
    standard deviations of one row (0 at the maximum). ``kind`` is what was maximised.
    """

    names: tuple[str, ...]
    parameters: Floats
    covariance: Floats
    log_likelihood: float
    n: float
    kind: Literal["likelihood", "posterior"]
    converged: bool
    message: str
    n_iter: int
    n_evaluations: int
    shortfall: float
    at_bound: tuple[str, ...] = ()
    #: log p(theta) of a posterior estimate.
    log_prior: float = 0.0
    _climb: Climb | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> float:
        return float(self.parameters[self._place(name)])

    @property
    def standard_errors(self) -> Floats:
        """Square roots of the diagonal of the covariance."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 k - 2 log L: smaller is better."""
        return 2.0 * len(self._free("aic")) - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz' criterion, k log n - 2 log L: smaller is better."""
        return math.log(self.n) * len(self._free("bic")) - 2.0 * self.log_likelihood

    def interval(self, level: float = 0.95, method: Method = "wald", name: str | None = None) -> pd.DataFrame:
        """Bounds that hold each parameter (or the named one) at this level of confidence.

        ``"wald"`` is estimate +- z standard errors: quick, symmetric, right for many rows. ``"profile"`` holds all
        values that a likelihood ratio test does not reject, the other parameters at their best: it keeps to bounds,
        may be lopsided, and is right for fewer rows.
        """
        import pandas as pd

        if not 0 < level < 1:
            raise ValueError(f"Estimate.interval: level must be between 0 and 1; got {level!r}.")
        chosen = self.names if name is None else (self.names[self._place(name)],)
        if _method(method) == "wald":
            z = float(ndtri(0.5 + 0.5 * level))
            half = dict(zip(self.names, z * self.standard_errors, strict=True))
            ends = [(self[n] - half[n], self[n] + half[n]) for n in chosen]
        else:
            ends = [self._profile_interval(self._place(n), level) for n in chosen]
        return pd.DataFrame(ends, index=list(chosen), columns=["low", "high"])

    def test(self, name: str, value: float = 0.0, method: Method = "wald") -> ParameterTest:
        """Test that the parameter is ``value``: z = (estimate - value) / standard error, or the likelihood ratio.

        The ratio statistic 2 (log L - log L with the parameter held) is chi-squared with one degree of freedom.
        """
        j = self._place(name)
        if _method(method) == "wald":
            error = float(self.standard_errors[j])
            if not error > 0:
                raise ValueError(
                    f"Estimate.test: {name!r} has no standard error ({self.message}); use method='profile'."
                )
            z = (float(self.parameters[j]) - value) / error
            return ParameterTest(name, value, z, float(2.0 * ndtr(-abs(z))), method)
        climb = self._search()
        if not climb.problem.low[j] <= value <= climb.problem.high[j]:
            raise ValueError(f"Estimate.test: {value:g} is outside the bounds of {name!r}.")
        drop = max(2.0 * (climb.height(self.parameters) - self._held(j, value)), 0.0)
        return ParameterTest(name, value, drop, float(chdtrc(1.0, drop)), method)

    def summary(self, level: float = 0.95) -> pd.DataFrame:
        """Estimate, standard error, z and p of the test for 0, and Wald interval of each parameter."""
        import pandas as pd

        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.parameters / self.standard_errors
        table = {
            "estimate": self.parameters,
            "std_error": self.standard_errors,
            "z": z,
            "p_value": 2 * ndtr(-np.abs(z)),
        }
        return pd.DataFrame(table, index=list(self.names)).join(self.interval(level))

    def __str__(self) -> str:
        how = "converged" if self.converged else "NOT CONVERGED"
        lines = [
            f"maximum {self.kind} of {self.n:g} rows, log-likelihood {self.log_likelihood:.6g}, {how}: {self.message}"
        ]
        width = max(map(len, self.names))
        for name, value, error in zip(self.names, self.parameters, self.standard_errors, strict=True):
            lines.append(f"  {name:<{width}}  {value:.6g} +- {error:.3g}")
        return "\n".join(lines)

    # ---------------------------------------------------------------------------------------------- profiles

    def _held(self, j: int, value: float) -> float:
        """The best the other parameters can do while one is held."""
        start = self.parameters.copy()
        start[j] = value
        free = np.ones(len(start), dtype=bool)
        free[[j, *(self._place(name) for name in self.at_bound)]] = False
        return self._search().highest(start, free)

    def _profile_interval(self, j: int, level: float) -> tuple[float, float]:
        from scipy.optimize import brentq

        climb, best = self._search(), float(self.parameters[j])
        step = float(self.standard_errors[j])
        if not math.isfinite(step):
            raise ValueError(
                f"Estimate.interval: {self.names[j]!r} has no standard error to start from ({self.message}), so its "
                "profile cannot be followed."
            )
        top, allowed = climb.height(self.parameters), float(chdtri(1.0, 1.0 - level))

        def excess(value: float) -> float:
            drop = 2.0 * (top - self._held(j, value)) - allowed
            return drop if math.isfinite(drop) else 1e6  # impossible parameters are beyond the end

        def end(side: float, limit: float) -> float:
            inner = best
            for doubling in range(40):
                outer = best + side * step * 2.0**doubling
                if side * (outer - limit) >= 0:  # the bound comes first: is it still inside?
                    outer = limit - side * 1e-9 * abs(limit - best)
                    if excess(outer) <= 0:
                        return limit
                if excess(outer) > 0:
                    return float(brentq(excess, inner, outer, xtol=1e-8 * step, rtol=1e-10))
                inner = outer
            return side * math.inf

        return end(-1.0, float(climb.problem.low[j])), end(1.0, float(climb.problem.high[j]))

    def _search(self) -> Climb:
        if self._climb is None:
            raise ValueError("Estimate: without the density it was made from, no profile can be followed; use 'wald'.")
        return self._climb

    def _free(self, what: str) -> list[str]:
        if self.kind != "likelihood":
            raise ValueError(f"Estimate.{what} compares maximum likelihood estimates; this one maximises a posterior.")
        return [name for name in self.names if name not in self.at_bound]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"There is no parameter {name!r}; the parameters are {', '.join(self.names)}.")
        return self.names.index(name)


# --------------------------------------------------------------------------------------------------------- estimators


def maximum_likelihood(
    log_density: Function,
    data: Any,
    start: Any,
    bounds: Bounds | None = None,
    names: Sequence[str] | None = None,
    *,
    weight: Any = None,
    max_iter: int = 500,
) -> Estimate:
    """The parameters under which the rows are most likely, for any density, found numerically.

    Parameters
    ----------
    log_density : function of data and parameters that gives log p of each row; -inf where a row is impossible.
    data : whatever the function takes: an array, a pair (X, y), a frame.
    start : the first guess, one number per parameter, or ``{name: number}``. Every row must be possible there.
    bounds : (low, high) of each parameter, None for no bound, or ``{name: (low, high)}``.
    names : names of the parameters.
    weight : weight of each row; 3 is the same row three times.
    max_iter : steps of the search. One that stops early warns (W207) and says so in ``converged``.

    >>> from tilth.parts.distributions import NormalDistribution
    >>> found = maximum_likelihood(
    ...     lambda x, p: NormalDistribution(p[0], p[1]).logpdf(x),
    ...     [1.0, 2.0, 6.0],
    ...     start={"mean": 0.0, "sd": 1.0},
    ...     bounds={"sd": (0, None)},
    ... )
    >>> found.parameters.round(6).tolist(), found.converged
    ([3.0, 2.160247], True)
    """
    return _estimate(log_density, None, data, start, bounds, names, weight, max_iter, "maximum_likelihood")


def maximum_posterior(
    log_density: Function,
    log_prior: Any,
    data: Any,
    start: Any,
    bounds: Bounds | None = None,
    names: Sequence[str] | None = None,
    *,
    weight: Any = None,
    max_iter: int = 500,
) -> Estimate:
    """The most probable parameters given the rows: the mode of likelihood x prior (MAP).

    ``log_prior`` is a function of the parameters that gives log p(theta), up to a constant, or a distribution: of the
    whole vector, or of each parameter independently. The other arguments are those of :func:`maximum_likelihood`. A
    flat prior gives maximum likelihood; the covariance is that of the normal approximation at the mode.

    >>> from tilth.parts.distributions_discrete import BernoulliDistribution
    >>> from tilth.parts.distributions import BetaDistribution
    >>> found = maximum_posterior(
    ...     lambda x, p: BernoulliDistribution(p[0]).logpdf(x), BetaDistribution(2, 2), [1, 1, 1], 0.5, [(0, 1)]
    ... )
    >>> round(found.parameters[0], 6)
    np.float64(0.8)
    """
    return _estimate(log_density, _prior(log_prior), data, start, bounds, names, weight, max_iter, "maximum_posterior")


def absolute_subdifferential(x: Any) -> tuple[Floats, Floats]:
    """Smallest and largest subgradient of |x|: both sign(x), except at 0, where every number from -1 to 1 is one.

    |x| has no derivative at 0; sign(0) = 0 is the subgradient that optimisers take. 0 lies in the subdifferential only
    at the minimum, so the optimum of least absolute errors is where the summed intervals hold 0.

    >>> [side.tolist() for side in absolute_subdifferential([-2.0, 0.0, 3.0])]
    [[-1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    values = np.asarray(x, dtype=np.float64)
    sign = np.sign(values)
    return np.where(values == 0, -1.0, sign), np.where(values == 0, 1.0, sign)


# --------------------------------------------------------------------------------------------------------------- parts


def _prior(log_prior: Any) -> Any:
    if isinstance(log_prior, Distribution):
        return lambda theta: float(np.sum(log_prior.logpdf(theta)))
    if not callable(log_prior):
        raise TypeError(f"maximum_posterior: log_prior must be a function or a distribution; got {log_prior!r:.60}.")
    return log_prior


def _estimate(
    log_density: Function, log_prior: Any, data: Any, start: Any, bounds: Bounds | None,
    names: Sequence[str] | None, weight: Any, max_iter: int, who: str,
) -> Estimate:  # fmt: skip
    theta, known = _named(start, names, who)
    low, high = _limits(bounds, known, who)
    outside = (theta <= low) | (theta >= high)
    if outside.any():
        j = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{who}: the start of {known[j]!r} must lie between its bounds {low[j]:g} and {high[j]:g}; got "
            f"{theta[j]:g}."
        )
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"{who}: max_iter must be a whole number of at least 1; got {max_iter!r}.")
    rows = _first_rows(log_density, data, theta, who)
    weights = as_weight(weight, len(rows), who)
    if weights is not None and not weights.sum() > 0:
        raise ValueError(f"{who} needs a row of positive weight.")
    possible = np.isfinite(rows) if weights is None else np.isfinite(rows) | (weights == 0)
    if not possible.all():
        row = int(np.flatnonzero(~possible)[0])
        raise ValueError(
            f"{who}: at the start row {row} has log density {rows[row]:g}; every row must be possible there. Choose "
            "another start."
        )
    if log_prior is not None and not math.isfinite(float(log_prior(theta))):
        raise ValueError(f"{who}: at the start the log prior is {log_prior(theta)}; choose a start the prior allows.")
    climb = Climb(Problem(log_density, data, weights, log_prior, low, high), int(max_iter))
    peak = climb.run(theta, np.ones(len(theta), dtype=bool))
    names_at_bound = tuple(name for name, held in zip(known, peak.at_bound, strict=True) if held)
    prior = 0.0 if log_prior is None else float(log_prior(peak.theta))
    estimate = Estimate(
        known, peak.theta, peak.covariance, peak.height - prior, climb.problem.total_weight(len(rows)),
        "likelihood" if log_prior is None else "posterior", peak.converged, peak.message, peak.n_iter,
        climb.n_evaluations, peak.shortfall, names_at_bound, prior, climb,
    )  # fmt: skip
    if not estimate.converged:
        warn_model("W207", f"{who}: {peak.message}; do not trust the estimate or its standard errors.")
    return replace(estimate, parameters=_sealed(estimate.parameters), covariance=_sealed(estimate.covariance))


def _method(word: str) -> str:
    if word not in ("wald", "profile"):
        raise ValueError(f"Estimate: method must be 'wald' or 'profile'; got {word!r}.")
    return word


def _sealed(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


def _named(start: Any, names: Sequence[str] | None, who: str) -> tuple[Floats, tuple[str, ...]]:
    if isinstance(start, Mapping):
        names = list(start) if names is None else names
        start = list(start.values())
    try:
        theta = np.atleast_1d(np.array(start, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{who}: start must hold one number per parameter; got {start!r:.60}.") from None
    if theta.ndim != 1 or not theta.size or not np.isfinite(theta).all():
        raise ValueError(f"{who}: start must hold one finite number per parameter; got {start!r:.60}.")
    known = tuple(f"theta{j}" for j in range(theta.size)) if names is None else tuple(map(str, names))
    if len(known) != theta.size or len(set(known)) < len(known):
        raise ValueError(f"{who} needs {theta.size} different names of parameters; got {list(known)!r:.80}.")
    return theta, known


def _limits(bounds: Bounds | None, names: tuple[str, ...], who: str) -> tuple[Floats, Floats]:
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    if bounds is None:
        return low, high
    if isinstance(bounds, Mapping):
        strange = [name for name in bounds if name not in names]
        if strange:
            raise ValueError(f"{who}: there is no parameter {strange[0]!r} to bound; they are {', '.join(names)}.")
        pairs = [bounds.get(name, (None, None)) for name in names]
    else:
        pairs = list(bounds)
    if len(pairs) != len(names) or any(len(tuple(pair)) != 2 for pair in pairs):
        raise ValueError(f"{who} needs a pair (low, high) for each of {len(names)} parameters; got {bounds!r:.80}.")
    for j, (a, b) in enumerate(pairs):
        low[j], high[j] = -np.inf if a is None else a, np.inf if b is None else b
    if not (low < high).all():
        raise ValueError(f"{who}: each low bound must be below its high one; got {bounds!r:.80}.")
    return low, high


def _first_rows(log_density: Function, data: Any, theta: Floats, who: str) -> Floats:
    """The log density of each row at the start, checked for its shape."""
    with np.errstate(all="ignore"):
        rows = np.asarray(log_density(data, theta.copy()), dtype=np.float64)
    if rows.ndim != 1 or not rows.size:
        shape = "a single number" if rows.ndim == 0 else f"shape {rows.shape}"
        raise ValueError(
            f"{who}: log_density(data, parameters) must give one log density per row, a list of terms and not their "
            f"sum; it gave {shape}."
        )
    return rows
