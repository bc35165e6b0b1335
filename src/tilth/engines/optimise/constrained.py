"""Minimising under constraints, with the multipliers and the conditions of an optimum laid open."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.outcome import Outcome
from tilth.engines.optimise.probe import WIDE_STEP, bends_down, jacobian, least_curvature, point

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Functions = Callable[[Floats], Any] | Sequence[Callable[[Floats], Any]] | Mapping[str, Callable[[Floats], Any]]

_OWNER = "minimise_constrained"
#: Pairs of points whose middles are looked at for a contradiction of convexity.
_PAIRS = 40


@dataclass(frozen=True)
class KKT:
    """The conditions of Karush, Kuhn and Tucker at a point, each as its largest violation.

    stationarity  |grad f - sum mu_i grad g_i - sum lambda_j grad h_j|
    feasibility   how far a constraint is violated: -g_i or |h_j|
    slackness     |mu_i g_i|: a multiplier without a tight constraint
    sign          -mu_i: a multiplier that pulls the wrong way
    """

    stationarity: float
    feasibility: float
    slackness: float
    sign: float
    #: Allowed violation, in the units of the gradient and of the constraints.
    tol: float
    #: Whether the gradients of the tight constraints are independent; otherwise the multipliers are some of many.
    regular: bool

    @property
    def violation(self) -> float:
        """The largest of all."""
        return max(self.stationarity, self.feasibility, self.slackness, self.sign)

    @property
    def holds(self) -> bool:
        """Whether all conditions hold within ``tol``."""
        return self.violation <= self.tol

    def __str__(self) -> str:
        lines = (
            (name, getattr(self, name)) for name in ("stationarity", "feasibility", "slackness", "sign")
        )  # fmt: skip
        text = "\n".join(
            f"{name:<13}{size:>9.2g}  {'holds' if size <= self.tol else 'VIOLATED'}" for name, size in lines
        )
        return (
            text if self.regular else text + "\nthe tight constraints depend on each other: multipliers are not unique"
        )


@dataclass(frozen=True)
class Constrained:
    """The answer of a constrained problem.

    ``multipliers`` holds one number per constraint and per bound that is tight: how much the value would fall if the
    constraint g(x) >= 0 were loosened to g(x) >= -1, to first order. ``active`` names the tight inequalities, bounds
    among them.
    """

    x: Floats
    value: float
    multipliers: dict[str, float]
    active: tuple[str, ...]
    kkt: KKT
    #: What is known of the convexity of the problem, in words.
    convexity: str
    #: Smallest second derivative of the Lagrangian along the tight constraints; nan where they leave no direction.
    least_curvature: float
    outcome: Outcome = field(repr=False)
    _rows: tuple[tuple[str, str, float], ...] = field(repr=False, default=())

    def frame(self) -> pd.DataFrame:
        """One row per constraint: its kind, its value at x, whether it is tight, its multiplier."""
        import pandas as pd

        rows = [
            (name, kind, value, kind == "equal" or name in self.active, self.multipliers.get(name, 0.0))
            for name, kind, value in self._rows
        ]
        return pd.DataFrame(rows, columns=["constraint", "kind", "value", "active", "multiplier"])

    @property
    def guarantee(self) -> str:
        """What may be said of the answer, and why."""
        if not self.outcome.converged or self.outcome.convex:
            return self.outcome.guarantee
        if self.least_curvature > 0 or np.isnan(self.least_curvature):
            return f"a local optimum; {self.convexity}"
        return f"a point where the conditions of an optimum hold, some direction being flat; {self.convexity}"


def minimise_constrained(
    function: Callable[[Floats], Any],
    start: Any,
    *,
    equal: Functions = (),
    at_least: Functions = (),
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
    gradient: Callable[[Floats], Any] | None = None,
    convex: bool = False,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> Constrained:
    """min f(x) subject to g(x) >= 0 for all ``at_least``, h(x) = 0 for all ``equal``, and bounds.

    Sequential quadratic programming (SLSQP), and an interior method (trust-constr) where its answer does not satisfy
    the conditions of an optimum; both are scipy's. The multipliers are then found anew, as the non-negative combination
    of the gradients of the tight constraints that comes nearest to the gradient of f. An answer whose conditions do not
    hold warns (W207).

    Parameters
    ----------
    function : x -> the cost.
    start : where to begin; it need not satisfy the constraints.
    equal, at_least : a function, several, or several by name; each gives one number, or a vector of them.
    bounds : (low, high) per variable, None for no bound.
    gradient : of the cost; differences are taken where it is missing.
    convex : whether the problem is known to be convex, so that the answer is the global optimum.
    tol : allowed violation of the conditions, beside the size of the gradient.

    Examples
    --------
    The least of (z - 1)^2 where z must be at least 3:

    >>> found = minimise_constrained(
    ...     lambda z: (z[0] - 1) ** 2, [0.0], at_least={"z >= 3": lambda z: z[0] - 3}, convex=True
    ... )
    >>> found.x.round(6), round(found.value, 6), round(found.multipliers["z >= 3"], 6)
    (array([3.]), 4.0, 4.0)
    >>> found.active
    ('z >= 3',)
    >>> found.guarantee
    'the global optimum: the cost is convex'
    """
    x0 = point(start, _OWNER)
    if not 0 < tol < 1 or max_iter < 1:
        raise ValueError(
            f"{_OWNER}: tol must be above 0 and below 1, max_iter at least 1; got {tol!r} and {max_iter!r}."
        )
    low, high = _bounds(bounds, x0.size)
    problem = _Problem(function, gradient, equal, at_least, low, high, np.clip(x0, low, high))
    x = _solve(problem, tol, max_iter)
    return _report(problem, x, problem.conditions(x.point, tol), convex)


@dataclass(frozen=True)
class _End:
    point: Floats
    n_iter: int
    solver: str


@dataclass(frozen=True)
class _Conditions:
    multipliers: dict[str, float]
    active: tuple[str, ...]
    kkt: KKT


class _Problem:
    """The functions of the caller as vectors with Jacobians; bounds are inequalities like any other once x is found."""

    def __init__(
        self,
        function: Callable[[Floats], Any],
        gradient: Callable[[Floats], Any] | None,
        equal: Functions,
        at_least: Functions,
        low: Floats,
        high: Floats,
        start: Floats,
    ) -> None:
        self.low, self.high, self.start = low, high, start
        self._function, self._gradient = function, gradient
        self._equal, self._at_least = _named(equal, "h"), _named(at_least, "g")
        with np.errstate(all="ignore"):
            first = self.cost(start)
            self.equal_names = tuple(_labels(self._equal, start, "equal"))
            self.at_least_names = tuple(_labels(self._at_least, start, "at_least"))
            slopes = self.gradient(start)
        if not np.isfinite(first) or not np.isfinite(slopes).all():
            raise ValueError(
                f"{_OWNER}: the cost and its gradient must be finite at the start; got {first} and {slopes}."
            )
        self.first = first

    def cost(self, x: Floats) -> float:
        cost = np.asarray(self._function(x.copy()), dtype=np.float64)
        if cost.size != 1:
            raise ValueError(f"{_OWNER}: the function must give one number; it gave the shape {cost.shape}.")
        return float(cost.reshape(()))

    def gradient(self, x: Floats) -> Floats:
        if self._gradient is None:
            return jacobian(lambda at: np.array([self.cost(at)]), x, self.low, self.high)[0]
        gradient = np.array(self._gradient(x.copy()), dtype=np.float64, ndmin=1)
        if gradient.shape != x.shape:
            raise ValueError(f"{_OWNER}: gradient must give {x.size} partial derivatives; it gave {gradient.shape}.")
        return gradient

    def equalities(self, x: Floats) -> Floats:
        return _values(self._equal, x)

    def inequalities(self, x: Floats) -> Floats:
        return _values(self._at_least, x)

    def gradient_of(self, constraints: Callable[[Floats], Floats], x: Floats) -> Floats:
        return jacobian(constraints, x, self.low, self.high) if constraints(x).size else np.zeros((0, x.size))

    def limits(self, x: Floats) -> tuple[list[str], Floats, Floats]:
        """All inequalities, bounds among them: names, values (at least 0 where they hold), Jacobian."""
        names, values = list(self.at_least_names), [self.inequalities(x)]
        slopes = [self.gradient_of(self.inequalities, x)]
        for sign, word, edge in ((1.0, ">=", self.low), (-1.0, "<=", self.high)):
            there = np.flatnonzero(np.isfinite(edge))
            names += [f"x[{j}] {word} {edge[j]:g}" for j in there]
            values.append(sign * (x - edge)[there])
            slopes.append(sign * np.eye(x.size)[there])
        return names, np.concatenate(values), np.vstack(slopes)

    def conditions(self, x: Floats, tol: float) -> _Conditions:
        """Multipliers by non-negative least squares on the gradients of tight constraints, and what they leave over."""
        from scipy.optimize import nnls

        names, g, g_slopes = self.limits(x)
        h, h_slopes = self.equalities(x), self.gradient_of(self.equalities, x)
        f_slopes = self.gradient(x)
        known = all(np.isfinite(slopes).all() for slopes in (f_slopes, g_slopes, h_slopes))
        if not known:
            # At the edge of what the functions know there are no conditions to check: none is met.
            f_slopes, g_slopes, h_slopes = (np.nan_to_num(slopes) for slopes in (f_slopes, g_slopes, h_slopes))
        sizes = np.maximum(np.linalg.norm(g_slopes, axis=1), 1e-12)
        # Tight: a step of the size that tol allows reaches the boundary.
        tight = g <= np.sqrt(tol) * 1e-2 * np.maximum(1.0, float(np.abs(x).max())) * sizes
        columns = np.vstack([g_slopes[tight], h_slopes, -h_slopes])
        lengths = np.maximum(np.linalg.norm(columns, axis=1), 1e-300)
        weights = nnls((columns / lengths[:, None]).T, f_slopes)[0] / lengths if len(columns) else np.zeros(0)
        mu = np.zeros(g.size)
        mu[tight] = weights[: tight.sum()]
        lam = weights[tight.sum() : tight.sum() + h.size] - weights[tight.sum() + h.size :]
        left = f_slopes - g_slopes.T @ mu - h_slopes.T @ lam
        used = np.vstack([g_slopes[tight], h_slopes])
        kkt = KKT(
            stationarity=float(np.abs(left).max()) if known else float("inf"),
            feasibility=float(max(np.maximum(-g, 0.0).max(initial=0.0), np.abs(h).max(initial=0.0))),
            slackness=float(np.abs(mu * g).max(initial=0.0)),
            sign=float(np.maximum(-mu, 0.0).max(initial=0.0)),
            tol=tol * (1.0 + float(np.abs(f_slopes).max())),
            regular=not len(used) or int(np.linalg.matrix_rank(used, tol=1e-8 * np.abs(used).max())) == len(used),
        )
        pressed = dict(zip(names, mu.tolist(), strict=True))
        shown = {n: m for n, m in pressed.items() if n in self.at_least_names or m > 0}
        multipliers = shown | dict(zip(self.equal_names, lam.tolist(), strict=True))
        return _Conditions(multipliers, tuple(n for n, t in zip(names, tight, strict=True) if t), kkt)

    def least_curvature(self, x: Floats, at: _Conditions) -> float:
        """Of the Lagrangian, in directions that keep the constraints with a multiplier tight; 0 when undecided."""
        names, _, g_slopes = self.limits(x)
        mu = np.array([at.multipliers.get(n, 0.0) for n in names])
        lam = np.array([at.multipliers[n] for n in self.equal_names])
        h_slopes = self.gradient_of(self.equalities, x)

        def pull(where: Floats) -> Floats:
            of_g = self.limits(where)[2].T @ mu
            return self.gradient(where) - of_g - self.gradient_of(self.equalities, where).T @ lam

        def along(walls: Floats) -> float:
            return least_curvature(pull, x, _null(np.vstack([walls, h_slopes])), WIDE_STEP)

        curvature = along(g_slopes[mu > 0])
        tight = np.array([n in at.active for n in names], dtype=bool)
        # A tight constraint without a multiplier may yet block the way down: then curvature does not decide.
        return 0.0 if curvature < 0 and (tight & (mu == 0)).any() and not along(g_slopes[tight]) < 0 else curvature

    def contradiction(self, x: Floats) -> str:
        """Why the problem cannot be convex, or nothing; looked for between points around the start and the answer."""
        pairs = self._pairs(x)

        def off_line(j: int) -> Iterator[float]:
            for a, b in pairs:
                ends = self.equalities(a)[j], self.equalities(b)[j]
                yield abs(self.equalities((a + b) / 2)[j] - sum(ends) / 2) / (1.0 + abs(ends[0]) + abs(ends[1]))

        with np.errstate(all="ignore"):
            for j, name in enumerate(self.equal_names):
                if any(off > 1e-7 for off in off_line(j)):
                    return f"not convex: the equation {name!r} is not linear"
            # The equations are linear, so their solutions are those on the plane through x.
            free = _null(self.gradient_of(self.equalities, x))
            flat = [(x + free @ (free.T @ (a - x)), x + free @ (free.T @ (b - x))) for a, b in pairs]
            inside = [(a, b) for a, b in flat if min(self._least(a), self._least(b)) >= 0]
            if any(self._least((a + b) / 2) < -1e-9 for a, b in inside):
                return "not convex: the middle of two points that satisfy the constraints does not"
        if bends_down(self.cost, inside):
            return "not convex: the cost in the middle of two points lies above its mean at both"
        return ""

    def _pairs(self, x: Floats) -> list[tuple[Floats, Floats]]:
        rng = np.random.default_rng(0)
        spread = np.maximum(np.abs(x - self.start), 1.0)
        cloud = [np.clip(c + spread * rng.normal(size=x.size), self.low, self.high) for c in [x, self.start] * _PAIRS]
        return list(zip(cloud[::2], cloud[1::2], strict=True)) + [(x, other) for other in cloud[:_PAIRS]]

    def _least(self, x: Floats) -> float:
        """The most violated inequality or bound; 0 when none is."""
        return float(min(self.inequalities(x).min(initial=0.0), (x - self.low).min(), (self.high - x).min(), 0.0))


def _solve(problem: _Problem, tol: float, max_iter: int) -> _End:
    """SLSQP; trust-constr from the same start when the conditions do not hold; the better of the two."""
    first = _slsqp(problem, max_iter)
    kkt = problem.conditions(first.point, tol).kkt
    if kkt.holds or problem.cost(first.point) < -1e12 * (1.0 + abs(problem.first)):
        return first
    second = _trust(problem, max_iter)
    return second if problem.conditions(second.point, tol).kkt.violation < kkt.violation else first


def _slsqp(problem: _Problem, max_iter: int) -> _End:
    from scipy.optimize import Bounds, minimize

    constraints = [
        {"type": kind, "fun": values, "jac": lambda x, values=values: problem.gradient_of(values, x)}
        for kind, values in (("eq", problem.equalities), ("ineq", problem.inequalities))
        if values(problem.start).size
    ]
    with np.errstate(all="ignore"):
        # Its own status is not read: the conditions are checked on what it found.
        result = minimize(
            problem.cost, problem.start, jac=problem.gradient, method="SLSQP", bounds=Bounds(problem.low, problem.high),
            constraints=constraints, options={"maxiter": max_iter, "ftol": 1e-15},
        )  # fmt: skip
    return _End(_usable(result.x, problem), int(result.nit), "sequential quadratic programming")


def _trust(problem: _Problem, max_iter: int) -> _End:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    constraints = [
        NonlinearConstraint(values, 0.0, top, jac=lambda x, values=values: problem.gradient_of(values, x))
        for values, top in ((problem.equalities, 0.0), (problem.inequalities, np.inf))
        if values(problem.start).size
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # It tells of flat quasi-Newton updates, which linear costs cannot avoid.
        warnings.simplefilter("ignore")
        result = minimize(
            problem.cost, problem.start, jac=problem.gradient, method="trust-constr",
            bounds=Bounds(problem.low, problem.high), constraints=constraints,
            options={"maxiter": 4 * max_iter, "gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10},
        )  # fmt: skip
    return _End(_usable(result.x, problem), int(result.nit), "interior trust region")


def _usable(x: Any, problem: _Problem) -> Floats:
    """The point, inside its bounds; the start where the solver left the numbers."""
    clipped = np.clip(np.asarray(x, dtype=np.float64), problem.low, problem.high)
    return clipped if np.isfinite(clipped).all() and np.isfinite(problem.cost(clipped)) else problem.start


def _report(problem: _Problem, solution: _End, at: _Conditions, convex: bool) -> Constrained:
    x, kkt = solution.point, at.kkt
    value = problem.cost(x)
    against = problem.contradiction(x)
    curvature = problem.least_curvature(x, at) if kkt.holds else float("nan")
    if value < -1e12 * (1.0 + abs(problem.first)):
        stopped, cure = "the cost falls without bound", "add a constraint, or check the sign of the cost"
    elif kkt.feasibility > kkt.tol:
        stopped = f"no point was found that satisfies all constraints; {_worst(problem, x)}"
        cure = "start elsewhere, or loosen a constraint"
    elif not kkt.holds:
        stopped, cure = "the conditions of an optimum do not hold", "raise max_iter, loosen tol, or give the gradient"
    elif curvature < 0:
        stopped, cure = f"the cost bends down along the constraints ({curvature:.3g}): not a bottom", "start elsewhere"
    else:
        stopped, cure = "the conditions of an optimum hold", ""
    convexity = against or (
        "convex, as declared"
        if convex
        else "nothing seen contradicts convexity; if the problem is convex, the optimum is global"
    )
    outcome = Outcome(
        solution.solver, not cure, max(solution.n_iter, 1), kkt.violation, value, convex and not against,
        "general constraints", stopped,
    )  # fmt: skip
    outcome.warn(_OWNER, cure)
    names, g, _ = problem.limits(x)
    rows = [
        (n, "at least" if n in problem.at_least_names else "bound", float(v)) for n, v in zip(names, g, strict=True)
    ]
    rows += [(n, "equal", float(v)) for n, v in zip(problem.equal_names, problem.equalities(x), strict=True)]
    return Constrained(x, value, at.multipliers, at.active, kkt, convexity, curvature, outcome, tuple(rows))


def _worst(problem: _Problem, x: Floats) -> str:
    names, g, _ = problem.limits(x)
    off = dict(zip(names, (-g).tolist(), strict=True))
    off |= dict(zip(problem.equal_names, np.abs(problem.equalities(x)).tolist(), strict=True))
    name = max(off, key=lambda n: off[n])
    return f"{name!r} is violated by {off[name]:.3g}"


def _null(rows: Floats) -> Floats:
    """An orthonormal basis of the directions that all rows are blind to."""
    from scipy.linalg import null_space

    return np.asarray(null_space(rows)) if len(rows) else np.eye(rows.shape[1])


def _named(functions: Functions, letter: str) -> dict[str, Callable[[Floats], Any]]:
    if callable(functions):
        functions = (functions,)
    if not isinstance(functions, Mapping | Sequence):
        raise ValueError(f"{_OWNER}: constraints must be functions of x; got {functions!r}.")
    named = dict(functions) if isinstance(functions, Mapping) else {f"{letter}{i}": f for i, f in enumerate(functions)}
    for name, function in named.items():
        if not callable(function):
            raise ValueError(f"{_OWNER}: the constraint {name!r} must be a function of x; got {function!r}.")
    return named


def _labels(functions: dict[str, Callable[[Floats], Any]], x: Floats, where: str) -> Iterator[str]:
    """A name per number that the constraints give."""
    for name, function in functions.items():
        values = np.asarray(function(x.copy()), dtype=np.float64)
        if values.ndim > 1 or not np.isfinite(values).all():
            raise ValueError(
                f"{_OWNER}: the constraint {name!r} of {where} must give finite numbers at the start; got {values}."
            )
        yield from (name,) if values.ndim == 0 else (f"{name}[{i}]" for i in range(values.size))


def _values(functions: dict[str, Callable[[Floats], Any]], x: Floats) -> Floats:
    values = [np.array(function(x.copy()), dtype=np.float64, ndmin=1) for function in functions.values()]
    return np.concatenate(values) if values else np.zeros(0)


def _bounds(bounds: Sequence[tuple[float | None, float | None]] | None, n: int) -> tuple[Floats, Floats]:
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    pairs = list(bounds)
    if len(pairs) != n or any(not isinstance(pair, Sequence) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"{_OWNER}: bounds must be a (low, high) pair for each of the {n} variables; got {bounds!r}.")
    low = np.array([-np.inf if a is None else a for a, _ in pairs], dtype=np.float64)
    high = np.array([np.inf if b is None else b for _, b in pairs], dtype=np.float64)
    if not (low <= high).all():
        j = int(np.flatnonzero(~(low <= high))[0])
        raise ValueError(f"{_OWNER}: the lower bound {low[j]} of x[{j}] must not be above its upper bound {high[j]}.")
    return low, high
