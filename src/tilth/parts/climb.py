"""Climbing a log-likelihood of which only values are known: derivatives by differences, then Newton steps.

Parameters with bounds are searched on a scale without any (log or logit), and every parameter in units of its own
curvature, so neither bounds nor units of measurement matter to the search.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: log_density(data, parameters) -> one number per row.
Function: TypeAlias = Callable[[Any, Floats], Any]

#: Steps of differences, in units in which the curvature is 1: rounding and the cut-off series are then both tiny.
_GRADIENT_STEP = 1e-3
_HESSIAN_STEP = 1e-2
#: Steps after which the units of the parameters are measured anew.
_ROUND = 25
#: A point is a maximum when it is within this many standard deviations of a row from where Newton's step leads.
_NEAR = 1e-6
#: Smallest eigenvalue of the information, as a correlation matrix, that still tells parameters apart.
_DISTINCT = 1e-9


_FLAT = (
    "the likelihood is flat at the point found, or no maximum is there: the rows do not tell the parameters apart, or "
    "one of them has no finite optimum"
)
_ENDLESS = "the likelihood hardly falls when a parameter moves by its standard error: it may have no finite maximum"


# ------------------------------------------------------------------------------------------------------- derivatives


def numeric_gradient(function: Callable[[Floats], float], x: Floats, step: float = _GRADIENT_STEP) -> Floats:
    """Central differences at two steps, combined so that the error falls with step^4 (Richardson).

    >>> numeric_gradient(lambda x: float(np.sin(x[0])), np.array([0.0])).round(9).tolist()
    [1.0]
    """
    out = np.empty(len(x))
    for j in range(len(x)):
        e = np.zeros(len(x))
        e[j] = step
        near, far = function(x + e) - function(x - e), function(x + 2 * e) - function(x - 2 * e)
        out[j] = (8.0 * near - far) / (12.0 * step)
    return out


def numeric_hessian(function: Callable[[Floats], float], x: Floats, step: float = _HESSIAN_STEP) -> Floats:
    """Second differences at two steps, combined so that the error falls with step^4.

    >>> numeric_hessian(lambda x: float(x[0] ** 2 * x[1]), np.array([1.0, 3.0])).round(6).tolist()
    [[6.0, 2.0], [2.0, 0.0]]
    """
    return (4.0 * second_differences(function, x, step) - second_differences(function, x, 2.0 * step)) / 3.0


def second_differences(function: Callable[[Floats], float], x: Floats, step: float) -> Floats:
    """d2f with an error that falls with step^2, from two values per entry."""
    p, centre = len(x), function(x)
    unit = step * np.eye(p)
    ahead, behind = (np.array([function(x + side * e) for e in unit]) for side in (1.0, -1.0))
    out = np.diag((ahead - 2.0 * centre + behind) / step**2)
    for i in range(p):
        for j in range(i):
            both = function(x + unit[i] + unit[j]) + function(x - unit[i] - unit[j])
            apart = both - ahead[i] - behind[i] - ahead[j] - behind[j] + 2.0 * centre
            out[i, j] = out[j, i] = apart / (2.0 * step**2)
    return out


# ----------------------------------------------------------------------------------------------------------- problem


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be climbed: sum w log p(row; theta) + log prior(theta), within bounds."""

    log_density: Function
    data: Any
    weight: Floats | None
    log_prior: Callable[[Floats], float] | None
    low: Floats
    high: Floats

    def total_weight(self, n_rows: int) -> float:
        """Number of rows, counted by weight."""
        return float(n_rows) if self.weight is None else float(self.weight.sum())

    def rows(self, theta: Floats) -> Floats:
        """Log density of each row; parameters that the function refuses make every row impossible."""
        with np.errstate(all="ignore"):
            try:
                logs = np.asarray(self.log_density(self.data, theta.copy()), dtype=np.float64)
            except (ValueError, ArithmeticError):
                return np.full(1, -np.inf)
        return logs if self.weight is None else np.where(self.weight > 0, logs, 0.0)

    def prior(self, theta: Floats) -> float:
        """Log prior, 0 without one."""
        if self.log_prior is None:
            return 0.0
        with np.errstate(all="ignore"):
            return float(self.log_prior(theta.copy()))

    def summed(self, logs: Floats) -> float:
        """Weighted sum over rows."""
        return float(logs.sum() if self.weight is None or len(logs) != len(self.weight) else self.weight @ logs)

    # The free scale: u = theta without bounds, log(theta - low), -log(high - theta), or the logit of the place between.

    @functools.cached_property
    def _sides(self) -> tuple[Flags, Flags, Flags]:
        """Which parameters have a low bound only, a high one only, both."""
        low, high = np.isfinite(self.low), np.isfinite(self.high)
        return low & ~high, high & ~low, low & high

    def to_free(self, theta: Floats) -> Floats:
        """Parameters on a scale without bounds."""
        u = theta.copy()
        with np.errstate(all="ignore"):
            above, under = np.log(theta - self.low), np.log(self.high - theta)
            for which, values in zip(self._sides, (above, -under, above - under), strict=True):
                u[which] = values[which]
        return u

    def from_free(self, u: Floats) -> Floats:
        """The parameters a free scale stands for."""
        theta = u.copy()
        a, b, both = self._sides
        with np.errstate(over="ignore"):
            theta[a] = self.low[a] + np.exp(u[a])
            theta[b] = self.high[b] - np.exp(-u[b])
            theta[both] = self.low[both] + (self.high - self.low)[both] / (1.0 + np.exp(-u[both]))
        return theta

    def stretch(self, theta: Floats) -> Floats:
        """d theta / d u."""
        out = np.ones(len(theta))
        a, b, both = self._sides
        above, under = theta - self.low, self.high - theta
        out[a], out[b] = above[a], under[b]
        out[both] = (above * under)[both] / (self.high - self.low)[both]
        return out


@dataclass(frozen=True, eq=False)
class Peak:
    """Where the climb ended."""

    theta: Floats
    covariance: Floats
    height: float
    converged: bool
    message: str
    n_iter: int
    shortfall: float
    at_bound: Flags


# ------------------------------------------------------------------------------------------------------------- search


@dataclass
class Climb:
    """The search, which may be run again from other places and with parameters held."""

    problem: Problem
    max_iter: int
    n_evaluations: int = field(default=0, init=False)

    def height(self, theta: Floats) -> float:
        """Log-likelihood plus log prior; -inf where it is not a number."""
        self.n_evaluations += 1
        value = self.problem.summed(self.problem.rows(theta)) + self.problem.prior(theta)
        return value if value == value else -math.inf

    def run(self, start: Floats, free: Flags) -> Peak:
        """Climb from ``start`` in the parameters that are ``free``, and measure the place."""
        with np.errstate(all="ignore"):  # impossible parameters give numbers that are not finite, and are turned away
            return self._arrived(*self._ascend(start, free))

    def highest(self, start: Floats, free: Flags) -> float:
        """The height that the ``free`` parameters reach from ``start``."""
        with np.errstate(all="ignore"):
            return self.height(self._ascend(start, free)[0])

    def _ascend(self, start: Floats, free: Flags) -> tuple[Floats, Flags, Flags, int]:
        """Search until nothing is gained: parameters, those still free, those that met a bound, steps."""
        theta, held, n_iter, free = start.copy(), np.zeros(len(start), dtype=bool), 0, free.copy()
        while free.any() and n_iter < self.max_iter:
            before = self.height(theta)
            theta, used = self._search(theta, free, min(self.max_iter - n_iter, _ROUND))
            n_iter += max(used, 1)
            snapped = self._snap(theta, free)
            held |= snapped
            free &= ~snapped
            # A further search, in units measured at the new place, must find next to nothing.
            gain = self.height(theta) - before
            done = gain <= 0.0 or (used < _ROUND and gain <= 1e-9 * (1.0 + abs(before)))
            if done and not snapped.any():
                break
        return theta, free, held, n_iter

    def _search(self, theta: Floats, free: Flags, max_iter: int) -> tuple[Floats, int]:
        """Trust-region Newton steps by scipy."""
        from scipy.optimize import minimize

        local = _Local.around(self, theta, free)
        result = minimize(
            local.cost, np.zeros(int(free.sum())), method="trust-exact",
            jac=local.slope, hess=local.hessian,
            options={"gtol": 1e-9, "maxiter": max_iter, "initial_trust_radius": 1.0, "max_trust_radius": 1e4},
        )  # fmt: skip
        better = np.isfinite(result.fun) and result.fun <= 0.0
        return (local.theta(result.x) if better else theta), int(result.nit)

    def _snap(self, theta: Floats, free: Flags) -> Flags:
        """Put parameters that ran into a bound onto it, where that is possible and no worse; says which."""
        snapped = np.zeros(len(theta), dtype=bool)
        problem = self.problem
        for j in np.flatnonzero(free):
            whole = problem.high[j] - problem.low[j]
            for bound in (problem.low[j], problem.high[j]):
                width = whole if np.isfinite(whole) else max(1.0, abs(bound))
                if np.isfinite(bound) and abs(theta[j] - bound) < 1e-5 * width:
                    tried = theta.copy()
                    tried[j] = bound
                    if self.height(tried) >= self.height(theta):
                        theta[j], snapped[j] = bound, True
        return snapped

    def _arrived(self, theta: Floats, free: Flags, held: Flags, n_iter: int) -> Peak:
        """Polish by plain Newton steps, then judge and measure the place."""
        covariance, shortfall, problem = np.full((len(theta), len(theta)), np.nan), 0.0, ""
        for attempt in range(6 if free.any() else 0):
            local = _Local.around(self, theta, free)
            origin = np.zeros(len(local.scale))
            slope, hessian = numeric_gradient(local.cost, origin), numeric_hessian(local.cost, origin)
            inverse = _inverse(hessian)
            if inverse is None:
                shortfall, problem = math.inf, _FLAT
                break
            step = -inverse @ slope
            shortfall = math.sqrt(max(float(-slope @ step), 0.0))
            spread = local.stretch(theta)
            covariance[np.ix_(free, free)] = inverse * np.outer(spread, spread) / local.n
            problem = _ENDLESS if local.hardly_falls(inverse) else ""
            # Near the top a rise is smaller than its rounding, which must not turn a good step away.
            if shortfall < 1e-12 or attempt == 5 or not local.cost(step) <= local.rounding():
                break
            theta = local.theta(step)
        if shortfall > _NEAR and n_iter >= self.max_iter:
            problem = f"the search stopped before a maximum was reached: all {self.max_iter} steps were used"
        elif shortfall > _NEAR and not problem:
            problem = f"the search stopped {shortfall:.2g} standard deviations of a row away from a maximum"
        bound = f"; {int(held.sum())} at a bound, without standard errors" if held.any() else ""
        return Peak(
            theta, covariance, self.height(theta), not problem, problem or f"maximum found in {n_iter} steps{bound}",
            n_iter, shortfall, held,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Local:
    """The cost around a place: minus the mean rise of the log-likelihood, in units of each parameter's curvature."""

    climb: Climb
    centre: Floats
    free: Flags
    scale: Floats
    rows: Floats
    prior: float
    n: float

    @classmethod
    def around(cls, climb: Climb, theta: Floats, free: Flags) -> _Local:
        problem = climb.problem
        rows, u = problem.rows(theta), problem.to_free(theta)
        local = cls(climb, np.where(free, u, theta), free, np.ones(int(free.sum())), rows, problem.prior(theta),
                    problem.total_weight(len(rows)))  # fmt: skip
        return cls(climb, local.centre, free, local._units(), rows, local.prior, local.n)

    def theta(self, v: Floats) -> Floats:
        """Parameters at ``v`` units from the centre; those that are held stay."""
        moved = self.centre.copy()
        moved[self.free] += self.scale * v
        return np.where(self.free, self.climb.problem.from_free(moved), self.centre)

    def stretch(self, theta: Floats) -> Floats:
        """d theta / d v of the free parameters."""
        return self.climb.problem.stretch(theta)[self.free] * self.scale

    def cost(self, v: Floats) -> float:
        """Minus the mean rise above the centre; differences row by row keep the digits. inf where impossible."""
        problem, theta = self.climb.problem, self.theta(v)
        self.climb.n_evaluations += 1
        logs = problem.rows(theta)
        rise = (problem.summed(logs - self.rows) + problem.prior(theta) - self.prior) / self.n
        return -rise if math.isfinite(rise) and len(logs) == len(self.rows) else math.inf

    def rounding(self) -> float:
        """How far a cost may be off for no better reason than the digits of the rows."""
        size = self.climb.problem.summed(np.abs(self.rows)) / self.n
        return 4.0 * float(np.finfo(np.float64).eps) * max(1.0, size)

    def slope(self, v: Floats) -> Floats:
        """The gradient for the search; 0, which ends it, where neighbours at any step are impossible."""
        for step in (_GRADIENT_STEP, 1e-5):
            slope = numeric_gradient(self.cost, v, step)
            if np.isfinite(slope).all():
                return slope
        return np.zeros(len(v))

    def hessian(self, v: Floats) -> Floats:
        """The hessian for the search; where a neighbour is impossible, that of a bowl."""
        for step in (_GRADIENT_STEP, 1e-5):
            hessian = second_differences(self.cost, v, step)
            if np.isfinite(hessian).all():
                return hessian
        return np.eye(len(v))

    def hardly_falls(self, inverse: Floats) -> bool:
        """Whether some parameter can move a standard error, the others following, at nearly no cost.

        At a maximum the log-likelihood falls by about 1/2 there; where a parameter runs to infinity it does not.
        """
        for j in range(len(self.scale)):
            way = inverse[:, j] / math.sqrt(inverse[j, j] * self.n)
            if min(self.cost(way), self.cost(-way)) * self.n < 0.02:
                return True
        return False

    def _units(self) -> Floats:
        """1 / sqrt(curvature) of each free parameter, by differences whose own step is found by trying."""
        units = np.empty(len(self.scale))
        for j, here in enumerate(self.centre[self.free]):
            step = 1e-3 * max(1.0, abs(here))
            units[j] = max(1.0, abs(here))
            for _ in range(12):
                e = np.zeros(len(units))
                e[j] = step
                curve = (self.cost(e) + self.cost(-e)) / step**2
                if not math.isfinite(curve):
                    step *= 0.1
                    continue
                if curve <= 1e-12 / step**2:
                    break  # flat, or a ridge: no unit to be had
                units[j] = 1.0 / math.sqrt(curve)
                if 0.2 < step / (_HESSIAN_STEP * units[j]) < 5.0:
                    break
                step = _HESSIAN_STEP * units[j]
        return units


def _inverse(hessian: Floats) -> Floats | None:
    """Inverse of a positive definite matrix; None for one that is not, or not clearly so."""
    diagonal = np.diagonal(hessian)
    if not np.isfinite(hessian).all() or not (diagonal > 0).all():
        return None
    unit = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    if values[0] < _DISTINCT:
        return None
    return (vectors / values) @ vectors.T * np.outer(unit, unit)
