"""Convex quadratic programs: min 1/2 x'Qx + c'x under linear equations, linear inequalities and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.outcome import Outcome

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_OWNER = "quadratic_program"
#: Added to the diagonals of every linear system, and taken out again by refinement.
_NUDGE = 1e-13
#: Share of the way to the boundary that a step may go.
_SHORT_OF_BOUNDARY = 0.995


@dataclass(frozen=True)
class QuadraticOptimum:
    """The answer of a quadratic program.

    The multipliers are those of the Lagrangian

        1/2 x'Qx + c'x + equal'(A_eq x - b_eq) + at_most'(A_ub x - b_ub) + lower'(low - x) + upper'(x - high)

    whose gradient in x vanishes; all but ``equal`` are at least 0, and above 0 only where the constraint is tight.
    ``gap`` is the distance between ``value`` and the best bound that the multipliers prove.
    """

    x: Floats
    value: float
    equal: Floats
    at_most: Floats
    lower: Floats
    upper: Floats
    gap: float
    outcome: Outcome = field(repr=False)

    @property
    def multipliers(self) -> dict[str, Floats]:
        """All multipliers by kind of constraint."""
        return {"equal": self.equal, "at_most": self.at_most, "lower": self.lower, "upper": self.upper}


def quadratic_program(
    Q: Any,
    c: Any,
    *,
    A_eq: Any = None,
    b_eq: Any = None,
    A_ub: Any = None,
    b_ub: Any = None,
    lower: Any = None,
    upper: Any = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> QuadraticOptimum:
    """min 1/2 x'Qx + c'x subject to A_eq x = b_eq, A_ub x <= b_ub, lower <= x <= upper.

    Q must be symmetric without negative eigenvalues. Equations alone are solved in closed form; otherwise a primal-dual
    interior point method (Mehrotra's predictor and corrector, dense) is followed by one exact solve on the constraints
    found tight. Constraints that contradict each other, and costs that fall without bound, raise a ValueError.

    Parameters
    ----------
    Q, c : [n, n] and [n].
    A_eq, b_eq, A_ub, b_ub : [m, n] and [m] each, both or neither.
    lower, upper : one number, or one per variable; None (or infinite entries) for no bound.
    tol : largest relative violation of the conditions of an optimum.
    max_iter : interior point steps at most.

    Examples
    --------
    The dual of a support vector machine for the points (1, 0) of class +1 and (-1, 0) of class -1,
    min 1/2 a'Qa - a'1 with Q_ij = y_i y_j x_i'x_j, sum a_i y_i = 0, a >= 0:

    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    >>> found = quadratic_program((y[:, None] * X) @ (y[:, None] * X).T, -np.ones(2), A_eq=[y], b_eq=[0], lower=0)
    >>> found.x
    array([0.5, 0.5])
    >>> found.x * y @ X, abs(float(found.equal[0].round(9))), -found.value  # weights, intercept, dual value
    (array([1., 0.]), 0.0, 0.5)
    """
    whole = _read(Q, c, A_eq, b_eq, A_ub, b_ub, lower, upper)
    _check_settings(tol, max_iter)
    form, free = _without_fixed(whole)
    kept = _independent_equations(form)
    form = replace(form, A=form.A[kept], b=form.b[kept])
    inequalities = form.n > 0 and form.n_inequalities > 0
    solved = _interior(form, tol, max_iter) if inequalities else _closed_form(form)
    return _assemble(whole, free, kept, solved, tol)


@dataclass(frozen=True)
class _Form:
    """The problem; inequalities are G x <= h with G = [rows of A_ub; -1 for lower bounds; +1 for upper bounds]."""

    Q: Floats
    c: Floats
    A: Floats
    b: Floats
    R: Floats
    r: Floats
    low: Floats
    high: Floats

    @property
    def n(self) -> int:
        return self.c.size

    @property
    def has_low(self) -> Ints:
        return np.flatnonzero(np.isfinite(self.low))

    @property
    def has_high(self) -> Ints:
        return np.flatnonzero(np.isfinite(self.high))

    @property
    def h(self) -> Floats:
        return np.concatenate([self.r, -self.low[self.has_low], self.high[self.has_high]])

    @property
    def n_inequalities(self) -> int:
        return self.r.size + self.has_low.size + self.has_high.size

    def matvec(self, x: Floats) -> Floats:
        """G x."""
        return np.concatenate([self.R @ x, -x[self.has_low], x[self.has_high]])

    def parts(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The entries of z that belong to rows, lower bounds and upper bounds; [n] for bounds."""
        lower, upper = np.zeros(self.n), np.zeros(self.n)
        cut = self.r.size + self.has_low.size
        lower[self.has_low], upper[self.has_high] = z[self.r.size : cut], z[cut:]
        return z[: self.r.size], lower, upper

    def rmatvec(self, z: Floats) -> Floats:
        """G'z."""
        rows, lower, upper = self.parts(z)
        return self.R.T @ rows - lower + upper

    def value(self, x: Floats) -> float:
        return float(x @ self.Q @ x / 2 + self.c @ x)


@dataclass(frozen=True)
class _Point:
    """A primal-dual point: slacks s = h - G x, multipliers y of equations and z of inequalities."""

    x: Floats
    y: Floats
    z: Floats
    s: Floats
    n_iter: int = 0
    violation: float = float("inf")

    @property
    def gap(self) -> float:
        return float(self.s @ self.z)


def _interior(form: _Form, tol: float, max_iter: int) -> _Point:
    """Mehrotra's predictor-corrector on rows of length one and a cost of size one."""
    scaled, sizes = _scaled(form)
    with np.errstate(all="ignore"):
        best = _follow(scaled, _first_point(scaled), tol, max_iter)
        exact = _on_tight(scaled, best)
        best = exact if exact.violation <= max(best.violation, 1e-14) else best
    if best.violation > tol:
        _explain_failure(form)
    return replace(best, y=best.y * sizes[0], z=best.z * sizes[1], s=best.s * sizes[2])


def _follow(form: _Form, at: _Point, tol: float, max_iter: int) -> _Point:
    best, m, since = at, form.n_inequalities, 0
    for k in range(max_iter + 1):
        at = replace(at, n_iter=k, violation=_violation(form, at))
        best, since = (at, 0) if at.violation < best.violation else (best, since + 1)
        # Beyond tol the tight constraints stand out, so more is asked for than the caller needs, while it comes easily.
        patience = 3 if best.violation <= tol else 30
        if best.violation <= 1e-4 * tol or since >= patience or not np.isfinite(at.violation):
            break
        system = _System(form, at.z / at.s)
        mu = at.gap / m
        plain = system.step(at, -at.s * at.z)
        reach = _reach(at, plain, 1.0)
        centre = (float((at.s + reach * plain.s) @ (at.z + reach * plain.z)) / m / mu) ** 3
        step = system.step(at, -at.s * at.z - plain.s * plain.z + centre * mu)
        reach = _reach(at, step, _SHORT_OF_BOUNDARY)
        at = _Point(at.x + reach * step.x, at.y + reach * step.y, at.z + reach * step.z, at.s + reach * step.s)
    return replace(best, n_iter=max(k, 1))


def _violation(form: _Form, at: _Point) -> float:
    """Largest of: gradient of the Lagrangian, equations, inequalities, gap; each beside the size of its terms."""
    pull, forces = form.Q @ at.x, form.A.T @ at.y + form.rmatvec(at.z)
    gx, ax = form.matvec(at.x), form.A @ at.x
    value = form.value(at.x)
    stationary = np.abs(pull + form.c + forces).max() / (1.0 + np.abs(pull).max() + np.abs(form.c).max())
    equations = np.abs(ax - form.b).max(initial=0.0) / (1.0 + np.abs(form.b).max(initial=0.0))
    inside = np.abs(gx + at.s - form.h).max(initial=0.0) / (1.0 + np.abs(form.h).max(initial=0.0))
    violation = float(max(stationary, equations, inside, abs(at.gap) / (1.0 + abs(value))))
    return violation if np.isfinite(violation) else float("inf")


class _System:
    """[Q + G'WG, A'; A, 0] factored once for predictor and corrector."""

    def __init__(self, form: _Form, weight: Floats) -> None:
        rows, lower, upper = form.parts(weight)
        bent = form.Q + (form.R.T * rows) @ form.R
        bent[np.diag_indices(form.n)] += lower + upper
        self._form = form
        self._solve = _symmetric(bent, form.A)

    def step(self, at: _Point, products: Floats) -> _Point:
        """The Newton step that makes s z change by ``products`` and removes all residuals."""
        form = self._form
        unbalanced = form.Q @ at.x + form.c + form.A.T @ at.y + form.rmatvec(at.z)
        outside = form.matvec(at.x) + at.s - form.h
        x, y = self._solve(-unbalanced - form.rmatvec((products + at.z * outside) / at.s), form.b - form.A @ at.x)
        s = -outside - form.matvec(x)
        return _Point(x, y, (products - at.z * s) / at.s, s)


def _symmetric(H: Floats, A: Floats) -> Any:
    """A solver of [H, A'; A, 0] (x, y) = (f, g), by a nudged factor and refinement."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    n = H.shape[0]
    K = np.zeros((n + len(A), n + len(A)))
    K[:n, :n], K[:n, n:], K[n:, :n] = H, A.T, A
    nudge = _NUDGE * np.maximum(1.0, np.abs(K.diagonal()))
    nudge[n:] *= -1
    factor, pivots, _ = dgetrf(K + np.diag(nudge))

    def solve(f: Floats, g: Floats) -> tuple[Floats, Floats]:
        right = np.concatenate([f, g])
        solution, _ = dgetrs(factor, pivots, right)
        for _ in range(2):
            solution = solution + dgetrs(factor, pivots, right - K @ solution)[0]
        return solution[:n], solution[n:]

    return solve


def _reach(at: _Point, step: _Point, share: float) -> float:
    """The longest step, at most 1, that keeps slacks and multipliers positive."""
    ratios = np.concatenate([-step.s / at.s, -step.z / at.z])
    longest = ratios.max(initial=0.0)
    return float(min(1.0, share / longest)) if longest > 0 else 1.0


def _first_point(form: _Form) -> _Point:
    """The point of least slacks and multipliers, pushed inside."""
    system = _System(form, np.ones(form.n_inequalities))
    nowhere = _Point(
        np.zeros(form.n), np.zeros(len(form.b)), np.zeros(form.n_inequalities), np.ones(form.n_inequalities)
    )  # fmt: skip
    # With s = 1 and no multipliers, the step to s + z = 0 is the least-squares point.
    aim = system.step(replace(nowhere, z=np.ones_like(nowhere.z)), -2 * np.ones_like(nowhere.z))
    s, z = 1.0 + aim.s, 1.0 + aim.z

    def inside(v: Floats) -> Floats:
        short = -v.min()
        return v if short < -1e-8 * max(1.0, float(np.linalg.norm(v))) else v + 1.0 + short

    return _Point(aim.x, aim.y, inside(z), inside(s))


def _on_tight(form: _Form, at: _Point) -> _Point:
    """The optimum when exactly the constraints with a multiplier above their slack are tight."""
    tight = at.z > at.s
    rows, lower, upper = form.parts(tight.astype(np.float64))
    stuck = (lower + upper) > 0
    x = np.where(lower > 0, form.low, np.where(upper > 0, form.high, at.x))
    loose = ~stuck
    E = np.vstack([form.A, form.R[rows > 0]])
    e = np.concatenate([form.b, form.r[rows > 0]])
    y = np.concatenate([at.y, at.z[: form.r.size][rows > 0]])
    if loose.any():
        solve = _symmetric(form.Q[np.ix_(loose, loose)], E[:, loose])
        force = form.Q @ x + form.c + E.T @ y
        dx, dy = solve(-force[loose], e - E @ x)
        x[loose] += dx
        y = y + dy
    pull = form.Q @ x + form.c + E.T @ y
    of_rows = np.zeros(form.r.size)
    of_rows[rows > 0] = y[len(form.b) :]
    z = np.concatenate(
        [of_rows, np.where(lower > 0, pull, 0.0)[form.has_low], np.where(upper > 0, -pull, 0.0)[form.has_high]]
    )
    s = np.where(tight, 0.0, form.h - form.matvec(x))
    if min(z.min(initial=0.0), s.min(initial=0.0)) < -1e-12 * (1.0 + np.abs(form.h).max(initial=0.0)):
        return at
    point = replace(at, x=x, y=y[: len(form.b)], z=np.maximum(z, 0.0), s=np.maximum(s, 0.0))
    return replace(point, violation=_violation(form, point))


def _closed_form(form: _Form) -> _Point:
    """Equations only: the derivative of the Lagrangian is zero where [Q, A'; A, 0] (x, y) = (-c, b)."""
    n = form.n
    K = np.block([[form.Q, form.A.T], [form.A, np.zeros((len(form.b), len(form.b)))]])
    solution = np.linalg.lstsq(K, np.concatenate([-form.c, form.b]), rcond=None)[0] if n else np.zeros(0)
    none = np.zeros(form.n_inequalities)
    at = _Point(solution[:n], solution[n:], none, none)
    at = replace(at, violation=_violation(form, at) if n else 0.0)
    if at.violation > 1e-8:
        _explain_failure(form)
    return at


def _scaled(form: _Form) -> tuple[_Form, tuple[Floats, Floats, Floats]]:
    """Rows of length 1 and a cost of size 1, and the factors of y, z and s that undo it."""

    def lengths(rows: Floats) -> Floats:
        norms = np.linalg.norm(rows, axis=1)
        return np.where(norms > 0, norms, 1.0)

    size = float(np.abs(form.c).max(initial=0.0)) or float(np.abs(form.Q).max(initial=0.0)) or 1.0
    a, r = lengths(form.A), lengths(form.R)
    bounds = np.ones(form.has_low.size + form.has_high.size)
    scaled = replace(
        form, Q=form.Q / size, c=form.c / size, A=form.A / a[:, None], b=form.b / a, R=form.R / r[:, None], r=form.r / r
    )
    all_rows = np.concatenate([r, bounds])
    return scaled, (size / a, size / all_rows, all_rows)


def _explain_failure(form: _Form) -> None:
    """Raise when linear programs show why there is no optimum; otherwise the run has just not converged."""
    from scipy.optimize import linprog

    limits: dict[str, Any] = {"bounds": np.column_stack([form.low, form.high])}
    if form.b.size:
        limits |= {"A_eq": form.A, "b_eq": form.b}
    if form.r.size:
        limits |= {"A_ub": form.R, "b_ub": form.r}
    if linprog(np.zeros(form.n), **limits, method="highs").status == 2:
        _infeasible("no point satisfies all constraints")
    # The cost falls without bound along d when Qd = 0, c'd < 0 and no constraint ever stops the way.
    size = max(float(np.abs(form.Q).max(initial=0.0)), 1e-300)
    box = np.column_stack([np.where(np.isfinite(form.low), 0.0, -1.0), np.where(np.isfinite(form.high), 0.0, 1.0)])
    away: dict[str, Any] = {"A_eq": np.vstack([form.Q / size, form.A]), "b_eq": np.zeros(form.n + len(form.b))}
    if form.r.size:
        away |= {"A_ub": form.R, "b_ub": np.zeros(form.r.size)}
    slope = float(np.abs(form.c).max(initial=0.0))
    ray = linprog(form.c / (slope or 1.0), **away, bounds=box, method="highs")
    if ray.status == 0 and ray.fun < -1e-7:
        far = int(np.abs(ray.x).argmax())
        raise ValueError(
            f"{_OWNER}: the cost falls without bound, for instance along a direction in which x[{far}] "
            f"{'grows' if ray.x[far] > 0 else 'falls'}; add bounds or constraints, or check the sign of the cost."
        )


def _infeasible(what: str) -> NoReturn:
    raise ValueError(f"{_OWNER}: {what}; the problem has no solution. Loosen or remove a constraint.")


def _without_fixed(form: _Form) -> tuple[_Form, Ints]:
    """The problem in the variables whose bounds leave room, and which those are."""
    crossed = np.flatnonzero(form.low > form.high)
    if crossed.size:
        j = int(crossed[0])
        _infeasible(f"the lower bound {form.low[j]:g} of x[{j}] is above its upper bound {form.high[j]:g}")
    free, fixed = np.flatnonzero(form.low < form.high), np.flatnonzero(form.low == form.high)
    if not fixed.size:
        return form, free
    at = form.low[fixed]
    left = _Form(
        form.Q[np.ix_(free, free)], form.c[free] + form.Q[np.ix_(free, fixed)] @ at,
        form.A[:, free], form.b - form.A[:, fixed] @ at, form.R[:, free], form.r - form.R[:, fixed] @ at,
        form.low[free], form.high[free],
    )  # fmt: skip
    if not free.size:
        slack = 1e-9 * (1.0 + np.abs(form.h).max(initial=0.0))
        if np.abs(left.b).max(initial=0.0) > slack or left.r.min(initial=0.0) < -slack:
            _infeasible("the bounds fix every variable at a point that violates a constraint")
    return left, free


def _independent_equations(form: _Form) -> Ints:
    """Rows of A that do not follow from the others; raises when one contradicts them."""
    from scipy.linalg import qr

    lengths = np.linalg.norm(form.A, axis=1)
    if not lengths.any():
        if np.abs(form.b).max(initial=0.0) > 1e-9:
            _infeasible("an equation asks that 0 equals another number")
        return np.arange(0)
    scale = np.where(lengths > 0, lengths, 1.0)
    A, b = form.A / scale[:, None], form.b / scale
    R, order = qr(A.T, mode="r", pivoting=True)
    size = np.abs(np.diagonal(R))
    kept = np.sort(order[: int((size > 1e-11 * size[0]).sum())])
    met = np.linalg.lstsq(A[kept], b[kept], rcond=None)[0]
    if np.abs(A @ met - b).max() > 1e-8 * (1.0 + np.abs(b).max()):
        _infeasible("the equations contradict each other")
    return kept


def _assemble(whole: _Form, free: Ints, kept: Ints, at: _Point, tol: float) -> QuadraticOptimum:
    x = whole.low.copy()
    x[free] = np.clip(at.x, whole.low[free], whole.high[free])
    equal, lower, upper = np.zeros(len(whole.b)), np.zeros(whole.n), np.zeros(whole.n)
    equal[kept] = at.y
    inner = replace(
        whole, Q=np.zeros((free.size, free.size)), c=np.zeros(free.size), low=whole.low[free], high=whole.high[free]
    )
    at_most, lower[free], upper[free] = inner.parts(at.z)
    # A fixed variable is held by whichever bound its gradient presses against.
    fixed = np.setdiff1d(np.arange(whole.n), free)
    pull = (whole.Q @ x + whole.c + whole.A.T @ equal + whole.R.T @ at_most)[fixed]
    lower[fixed], upper[fixed] = np.maximum(pull, 0.0), np.maximum(-pull, 0.0)
    value, closed, converged = whole.value(x), not at.n_iter, at.violation <= tol
    if closed:
        solver, reason = "equations of the optimum", "a quadratic cost under equations has a closed form"
    else:
        solver, reason = "interior point", "there are inequalities"
    stopped = "all conditions of an optimum hold" if converged else "no further progress, or max_iter"
    outcome = Outcome(solver, converged, at.n_iter, at.violation, value, True, reason, stopped)
    outcome.warn(_OWNER, "raise max_iter, loosen tol, or bring the variables to similar scales")
    return QuadraticOptimum(x, value, equal, at_most, lower, upper, at.gap, outcome)


def _check_settings(tol: Any, max_iter: Any) -> None:
    if not isinstance(tol, int | float) or not 0 < tol < 1:
        raise ValueError(f"{_OWNER}: tol must be a number above 0 and below 1; got {tol!r}.")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ValueError(f"{_OWNER}: max_iter must be a whole number, at least 1; got {max_iter!r}.")


def _read(Q: Any, c: Any, A_eq: Any, b_eq: Any, A_ub: Any, b_ub: Any, lower: Any, upper: Any) -> _Form:
    """The problem as arrays; raises a sentence for the first part that does not fit."""
    c = _numbers("c", c, 1)
    n = c.size
    Q = _numbers("Q", Q, 2)
    if Q.shape != (n, n) or not n:
        raise ValueError(f"{_OWNER}: Q must be [n, n] for the n entries of c; got {Q.shape} and n = {n}.")
    size = np.abs(Q).max()
    if np.abs(Q - Q.T).max() > 1e-8 * size:
        raise ValueError(f"{_OWNER}: Q must be symmetric; give (Q + Q.T) / 2, which has the same cost.")
    Q = (Q + Q.T) / 2
    _check_convex(Q, float(size))
    A, b = _rows("A_eq", "b_eq", A_eq, b_eq, n)
    R, r = _rows("A_ub", "b_ub", A_ub, b_ub, n)
    return _Form(Q, c, A, b, R, r, _bound("lower", lower, -np.inf, n), _bound("upper", upper, np.inf, n))


def _check_convex(Q: Floats, size: float) -> None:
    try:
        np.linalg.cholesky(Q + 1e-9 * max(size, 1e-300) * np.eye(len(Q)))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(Q)[0])
        raise ValueError(
            f"{_OWNER}: the cost must be convex, but Q has the eigenvalue {least:.3g}: along that direction the cost "
            "falls without bound unless a constraint stops it. If the task is to maximise, give -Q and -c."
        ) from None


def _numbers(name: str, value: Any, n_dim: int) -> Floats:
    try:
        array = np.array(value, dtype=np.float64, ndmin=n_dim)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{_OWNER}: {name} must be numbers; got {type(value).__name__}.") from problem
    if array.ndim != n_dim or not np.isfinite(array).all():
        kind = "row" if n_dim == 1 else "table"
        raise ValueError(f"{_OWNER}: {name} must be a {kind} of finite numbers; got the shape {array.shape}.")
    return array


def _rows(rows_name: str, right_name: str, rows: Any, right: Any, n: int) -> tuple[Floats, Floats]:
    if (rows is None) != (right is None):
        raise ValueError(f"{_OWNER}: {rows_name} and {right_name} belong together; one of them is missing.")
    if rows is None:
        return np.zeros((0, n)), np.zeros(0)
    left, b = _numbers(rows_name, rows, 2), _numbers(right_name, right, 1)
    if left.shape != (b.size, n):
        raise ValueError(
            f"{_OWNER}: {rows_name} must be [{b.size}, {n}], a row per entry of {right_name}; got {left.shape}."
        )
    return left, b


def _bound(name: str, value: Any, none: float, n: int) -> Floats:
    try:
        cells = np.array(value, dtype=object)
        cells[np.array([one is None for one in cells.flat], dtype=bool).reshape(cells.shape)] = none
        bounds = np.broadcast_to(cells.astype(np.float64), (n,)).copy()
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{_OWNER}: {name} must be one number, or one per variable, {n}; got {value!r}.") from problem
    if np.isnan(bounds).any() or (bounds == -none).any():
        raise ValueError(f"{_OWNER}: {name} must be numbers or {none}; got {value!r}.")
    return bounds
