"""Gradient descent with nothing hidden: x <- x - rate * gradient, until all partial derivatives are near zero."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.outcome import Outcome
from tilth.engines.optimise.probe import STEP, curvature_along, least_curvature, point
from tilth.engines.optimise.rates import FromGradients, Given, LineSearch, Rule, Stage
from tilth.engines.optimise.trace import Descent, Trace
from tilth.progress import Task, task

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Rate = float | Literal["auto"] | Callable[[int], float]

_OWNER = "gradient_descent"
#: Second derivatives at the answer are measured up to this many parameters: two gradients each.
_CURVATURE_UP_TO = 50
_RAN_OUT = "max_iter was reached"


def gradient_descent(
    gradient: Callable[..., Any],
    start: Any,
    *,
    value: Callable[[Floats], Any] | None = None,
    rate: Rate = "auto",
    momentum: float = 0.0,
    nesterov: bool = False,
    batch: int | None = None,
    n_rows: int | None = None,
    noise: Literal["anchor", "average"] | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    monitor: Callable[[Floats], Any] | None = None,
    patience: int | None = None,
    convex: bool = False,
    names: Sequence[str] | None = None,
    random_state: int | np.random.Generator | None = 0,
    keep_trace: bool = True,
) -> Descent:
    """Minimise a function by steps against its gradient: v <- momentum v - rate gradient(x), x <- x + v.

    The run ends when the gradient norm - the largest partial derivative without its sign - is at most ``tol``. A run
    that ends for any other reason says so and warns (W207).

    Parameters
    ----------
    gradient : gradient(x), or gradient(x, rows) when ``n_rows`` is given: the mean of the partials over these rows.
    start : where to begin, one number per parameter.
    value : value(x), the cost. It may be missing: then gradients alone decide, and nothing else is watched.
    rate : a number, a schedule (number of the update, from 0) -> rate, or ``"auto"``: a line search where there is a
        value, changes of the gradient where there is none, and 1 / curvature of the rows for batches.
    momentum, nesterov : share of the last step that is kept; ``nesterov`` looks ahead along it.
    batch : rows per update: None for all, 1 for one at a time. An iteration is always one pass over all rows.
    noise : what is done about the chance of batches. ``"anchor"`` (the default for batches) corrects each batch by its
        gradient at the start of the pass, so that a fixed rate reaches the same optimum as all rows at once (SVRG);
        ``"average"`` takes a falling rate and answers with averaged iterates: for gradients that are noisy by nature.
    max_iter : passes at most.
    monitor, patience : a number to watch, such as an error on other rows; the run ends, with the best point seen, when
        it has not fallen for ``patience`` passes.
    convex : whether the cost is known to be convex, so that the answer is the global optimum.
    names : of the parameters, for the trace.
    random_state : seed of the order of rows.
    keep_trace : whether every iterate and its partials are kept.

    Examples
    --------
    The bottom of (a - 3)^2 + 10 (b + 1)^2:

    >>> import numpy as np
    >>> found = gradient_descent(
    ...     lambda x: np.array([2 * (x[0] - 3), 20 * (x[1] + 1)]), [0.0, 0.0],
    ...     value=lambda x: (x[0] - 3) ** 2 + 10 * (x[1] + 1) ** 2, convex=True, names=["a", "b"],
    ... )
    >>> found.x.round(6)
    array([ 3., -1.])
    >>> found.outcome.stopped
    'the gradient norm is at most tol'
    >>> found.guarantee
    'the global optimum: the cost is convex'
    >>> list(found.trace.frame())
    ['iteration', 'value', 'gradient_norm', 'rate', 'd/da', 'd/db', 'a', 'b']
    """
    x = point(start, _OWNER)
    _check(rate, momentum, nesterov, batch, n_rows, noise, max_iter, tol, monitor, patience)
    labels = tuple(names) if names is not None else tuple(f"x{j}" for j in range(x.size))
    if len(labels) != x.size:
        raise ValueError(f"{_OWNER}: names must have one entry per parameter, {x.size}; got {len(labels)}.")
    in_batches = batch is not None and n_rows is not None and batch < n_rows
    noise = noise or ("anchor" if in_batches else None)
    cost = _Cost(gradient, value, n_rows, x.size)
    with task("Gradient descent", total=max_iter) as work, np.errstate(over="ignore", invalid="ignore"):
        run = _Run(cost, labels, max_iter, tol, monitor, patience, keep_trace, rate == "auto", work)
        if noise is None:
            rule = _rule(rate, cost, momentum)
            _go_down(run, x, rule, momentum, nesterov)
            reason, solver = rule.reason, "gradient descent"
        else:
            size = batch if in_batches else None
            rng = np.random.default_rng(random_state)
            reason = _go_in_batches(run, x, rate, momentum, nesterov, size, noise, rng)
            what = "corrected at an anchor" if noise == "anchor" else "with averaging"
            solver = f"stochastic gradient descent ({f'batch {size}, ' if size else ''}{what})"
        return run.answer(solver, reason, convex, noisy=noise == "average")


def _rule(rate: Rate, cost: _Cost, momentum: float) -> Rule:
    if rate != "auto":
        return Given(rate, _OWNER)
    return FromGradients(cost, momentum) if cost.without_value else LineSearch(cost, momentum)


class _Cost:
    """The functions of the caller: shapes checked, last answers remembered, arrays never shared."""

    def __init__(
        self, gradient: Callable[..., Any], value: Callable[[Floats], Any] | None, n_rows: int | None, size: int
    ) -> None:
        self._gradient, self._value = gradient, value
        self._rows = None if n_rows is None else np.arange(n_rows)
        self._size = size
        self._seen: dict[str, tuple[Floats, Any]] = {}

    @property
    def without_value(self) -> bool:
        return self._value is None

    @property
    def n_rows(self) -> int:
        return 0 if self._rows is None else self._rows.size

    def gradient(self, x: Floats) -> Floats:
        """All partial derivatives over all rows."""
        gradient: Floats = self._remembered("gradient", x, lambda: self.of_rows(x, self._rows))
        return gradient

    def of_rows(self, x: Floats, rows: Rows | None) -> Floats:
        """Partial derivatives over some rows."""
        gradient = self._gradient(x.copy()) if rows is None else self._gradient(x.copy(), rows)
        g = np.array(gradient, dtype=np.float64, ndmin=1)
        if g.shape != (self._size,):
            raise ValueError(
                f"{_OWNER}: gradient must give one partial derivative per parameter, the shape ({self._size},); "
                f"it gave {g.shape}."
            )
        return g

    def value(self, x: Floats) -> float:
        """The cost; nan where there is no value function."""
        if self._value is None:
            return float("nan")
        of = self._value
        value: float = self._remembered("value", x, lambda: _number(of(x.copy()), "value"))
        return value

    def _remembered(self, what: str, x: Floats, compute: Callable[[], Any]) -> Any:
        last = self._seen.get(what)
        if last is None or not np.array_equal(last[0], x):
            last = self._seen[what] = (x, compute())
        return last[1]


def _number(value: Any, name: str) -> float:
    """What a function of the caller gave, as one number."""
    array = np.asarray(value, dtype=np.float64)
    if array.size != 1:
        raise ValueError(f"{_OWNER}: {name} must give one number; it gave the shape {array.shape}.")
    return float(array.reshape(()))


class _Run:
    """What is watched: every look records, and decides whether to go on."""

    def __init__(
        self,
        cost: _Cost,
        names: tuple[str, ...],
        max_iter: int,
        tol: float,
        monitor: Callable[[Floats], Any] | None,
        patience: int | None,
        keep_trace: bool,
        auto: bool,
        work: Task,
    ) -> None:
        self.cost, self.g, self.rate = cost, np.zeros(0), float("nan")
        self._names, self._max_iter, self._tol = names, max_iter, tol
        self._monitor, self._patience, self._keep, self._auto, self._work = monitor, patience, keep_trace, auto, work
        self._rows: list[tuple[Floats, Floats, float, float, float]] = []
        self._looks = 0
        self._rises = 0
        self._first_value = self._first_norm = self._last_norm = self._least_norm = float("nan")
        #: Lowest (norm or monitor), and the point where it was met.
        self._best: tuple[float, int, Floats, Floats, float] = (np.inf, 0, np.zeros(0), np.zeros(0), np.nan)
        self._last: tuple[Floats, Floats, float] = (np.zeros(0), np.zeros(0), np.nan)
        self._convex_so_far = True
        self.stopped, self.converged, self.by_monitor, self.cure = "", False, False, ""

    def look(self, x: Floats) -> bool:
        """Record the point; False when the run has ended."""
        g, value = self.cost.gradient(x), self.cost.value(x)
        norm = float(np.abs(g).max())
        watched = _number(self._monitor(x.copy()), "monitor") if self._monitor is not None else float("nan")
        if not self._looks:
            self._begin(g, norm, value, watched)
        if self._blown_up(x, norm, value):
            return False
        self._judge_convexity(x, g)
        self.g, self._last = g, (x, g, value)
        if self._keep:
            self._rows.append((x, g, self.rate, value, watched))
        self._looks += 1
        self._last_norm, self._least_norm = norm, min(norm, self._least_norm)
        if self._looks > 1:
            self._work.advance()
        score = norm if self._patience is None else watched
        if score < self._best[0]:
            self._best = (score, self._looks, x, g, value)
        return not self._ended(norm)

    def _begin(self, g: Floats, norm: float, value: float, watched: float) -> None:
        if not np.isfinite(norm) or (not self.cost.without_value and not np.isfinite(value)):
            raise ValueError(f"{_OWNER}: the cost and its gradient must be finite at the start; got {value}, {g}.")
        if self._monitor is not None and not np.isfinite(watched):
            raise ValueError(f"{_OWNER}: the monitor must be finite at the start; got {watched}.")
        self._first_value, self._first_norm, self._last_norm, self._least_norm = value, norm, norm, norm

    def _blown_up(self, x: Floats, norm: float, value: float) -> bool:
        known = not self.cost.without_value
        if known and value < -1e15 * (1.0 + abs(self._first_value)):
            return self.end("the cost falls without bound", "add a penalty, or bound the parameters")
        finite = np.isfinite(norm) and np.isfinite(x).all() and (not known or np.isfinite(value))
        self._rises = self._rises + 1 if norm > self._last_norm else 0
        # Leaving a plateau the gradient grows too; with a value that is told apart, without one only growth beyond
        # all measure is taken for a sign.
        growth = norm / max(self._least_norm, 1e-300)
        climbing = self._rises >= 8 and (growth > 1e4 and value > self._first_value if known else growth > 1e8)
        if finite and not climbing:
            return False
        if self._auto:
            return self.end("the gradient grows without bound", "check the signs of the gradient, or bound the cost")
        return self.end(self._too_long(x), "say rate='auto', or give a smaller rate")

    def _too_long(self, x: Floats) -> str:
        _, _, best, g, _ = self._best
        # Steps that are too long grow along the direction of greatest curvature, which the last step therefore shows.
        curvature = curvature_along(self.cost.gradient, best, g, x - best) if np.isfinite(x).all() else 0.0
        advice = f"; the curvature there asks for less than {2 / curvature:.2g}" if curvature > 0 else ""
        return f"the step is too long: at a rate of {self.rate:.3g} the gradient grows without bound{advice}"

    def _judge_convexity(self, x: Floats, g: Floats) -> None:
        # A convex cost has (change of gradient).(step) >= 0 between any two points.
        if self._looks:
            step, change = x - self._last[0], g - self._last[1]
            slack = 1e-8 * float(np.linalg.norm(change)) + 1e-12 * self._first_norm
            self._convex_so_far &= float(step @ change) >= -slack * float(np.linalg.norm(step))

    def _ended(self, norm: float) -> bool:
        if norm <= self._tol:
            self.converged = True
            return self.end("the gradient norm is at most tol")
        if self._patience is not None and self._looks - self._best[1] >= self._patience:
            self.converged = self.by_monitor = True
            return self.end(f"the monitor has not fallen for {self._patience} passes")
        if self._looks > self._max_iter:
            return self.end(_RAN_OUT)
        return False

    def end(self, why: str, cure: str = "raise max_iter, loosen tol, or scale the columns") -> bool:
        """Note the end; always True."""
        self.stopped, self.cure = why, cure
        return True

    def answer(self, solver: str, reason: str, convex: bool, noisy: bool) -> Descent:
        """The result, with a warning when it is not an optimum."""
        met = self.converged and not self.by_monitor
        # The answer is the last point of a run that met its goal or, unwatched, ran out of passes; else the best one.
        last = met or (self.stopped == _RAN_OUT and self._patience is None)
        x, g, value = self._last if last else self._best[2:]
        curvature = float("nan")
        if convex and not self._convex_so_far and not noisy:
            convex, reason = False, f"{reason}; gradients on the way contradict that the cost is convex"
        if met and not convex and not noisy and x.size <= _CURVATURE_UP_TO:
            curvature = least_curvature(self.cost.gradient, x)
            if curvature < 0:
                self.converged = False
                self.end(
                    f"the gradient vanishes where the cost has a curvature of {curvature:.3g}: at a saddle or a top, "
                    "not at a bottom",
                    "start elsewhere",
                )
        trace = self._trace()
        outcome = Outcome(
            solver, self.converged, max(self._looks - 1, 1), float(np.abs(g).max()), value,
            convex, reason, self.stopped, trace.columns() if trace else {},
        )  # fmt: skip
        outcome.warn(_OWNER, self.cure)
        return Descent(x, g, value, outcome, trace, curvature, self.by_monitor)

    def _trace(self) -> Trace | None:
        if not self._keep:
            return None
        x, g, rate, value, watched = zip(*self._rows, strict=True)
        return Trace(
            self._names, np.array(x), np.array(g), np.array(rate),
            None if self.cost.without_value else np.array(value), None if self._monitor is None else np.array(watched),
        )  # fmt: skip


def _moved(x: Floats, velocity: Floats, g: Floats, rate: float, momentum: float, nesterov: bool) -> Floats:
    """x after the step; Nesterov's form looks one step of the velocity ahead."""
    return x + momentum * velocity - rate * g if nesterov else x + velocity


def _go_down(run: _Run, x: Floats, rule: Rule, momentum: float, nesterov: bool) -> None:
    velocity, k = np.zeros(x.size), 0
    while run.look(x):
        rate = rule(k, x, run.g)
        if rate is None:
            run.end(
                "no step against the gradient lowers the value: rounding, a kink, or not the gradient of the value",
                "check the gradient against differences of the value, or loosen tol",
            )
            return
        velocity = momentum * velocity - rate * run.g
        x = _moved(x, velocity, run.g, rate, momentum, nesterov)
        run.rate, k = rate, k + 1


def _go_in_batches(
    run: _Run,
    x: Floats,
    rate: Rate,
    momentum: float,
    nesterov: bool,
    batch: int | None,
    noise: Literal["anchor", "average"],
    rng: np.random.Generator,
) -> str:
    """Passes over the rows in random order; returns how the rate was found."""
    schedule = None if rate == "auto" else Given(rate, _OWNER)
    own_rate, updates, velocity = 1.0, 0, np.zeros(x.size)
    averaging = noise == "average"
    stage = Stage(x)
    while run.look(stage.average if averaging else x):
        anchor, anchor_gradient = x, run.g
        parts = list(_batches(run.cost.n_rows, batch, rng))
        if schedule is None and not updates:
            own_rate = (1.0 - momentum) * _rate_of_batches(run.cost, x, parts)
        for rows in parts:
            g = run.cost.of_rows(x, rows)
            # The last batch may be smaller; a pass must count every row alike.
            share = 1.0 if rows is None or batch is None else rows.size / batch
            if averaging:
                g *= share
            else:
                g = share * (g - run.cost.of_rows(anchor, rows)) + anchor_gradient
            run.rate = own_rate if schedule is None else schedule(updates, x, g)
            velocity = momentum * velocity - run.rate * g
            x = _moved(x, velocity, g, run.rate, momentum, nesterov)
            updates += 1
            stage.update(x)
        if schedule is not None:
            continue
        if _worse(run.cost, anchor, x, averaging):
            # The rows bend more than was measured: take the pass back.
            own_rate, x, velocity, stage = own_rate / 2, anchor, np.zeros(x.size), Stage(anchor)
        elif averaging and stage.wanders(x):
            own_rate, stage = own_rate / 2, stage.next(x)
    return "1 / curvature of the rows, halved where it is too long" if schedule is None else Given.reason


def _batches(n_rows: int, batch: int | None, rng: np.random.Generator) -> Iterator[Rows | None]:
    if batch is None:
        yield None if n_rows == 0 else np.arange(n_rows)
        return
    order = rng.permutation(n_rows)
    for begin in range(0, n_rows, batch):
        yield np.sort(order[begin : begin + batch])


def _rate_of_batches(cost: _Cost, x: Floats, parts: list[Rows | None]) -> float:
    """1 / (3 times the greatest curvature of a batch along its own gradient)."""
    greatest = steepest = 0.0
    for rows in parts:
        g = cost.of_rows(x, rows)
        # A gradient that is noisy by nature is asked at some distance: nearby, chance would pass for curvature.
        apart = 1.0 if rows is None else STEP
        greatest = max(greatest, curvature_along(partial(cost.of_rows, rows=rows), x, g, g, apart))
        steepest = max(steepest, float(np.linalg.norm(g)))
    return 1.0 / (3.0 * greatest) if greatest > 0 else 1.0 / max(1.0, steepest)


def _worse(cost: _Cost, before: Floats, after: Floats, averaging: bool) -> bool:
    """Whether a pass made things worse than chance explains."""
    old, new = cost.gradient(before), cost.gradient(after)
    if not (np.isfinite(after).all() and np.isfinite(new).all()):
        return True
    if averaging:
        return bool(np.linalg.norm(new) > 1e3 * (1.0 + np.linalg.norm(old)))
    if cost.without_value:
        return bool(np.linalg.norm(new) > 2 * np.linalg.norm(old))
    was = cost.value(before)
    return not cost.value(after) <= was + 1e-12 * abs(was)


def _check(
    rate: Any,
    momentum: Any,
    nesterov: bool,
    batch: Any,
    n_rows: Any,
    noise: Any,
    max_iter: Any,
    tol: Any,
    monitor: Any,
    patience: Any,
) -> None:
    """Raise a sentence for the first setting that makes no sense."""

    def whole(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{_OWNER}: {name} must be a whole number, at least 1; got {value!r}.")

    def real(name: str, value: Any, low: float, high: float, words: str) -> None:
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) < high:
            raise ValueError(f"{_OWNER}: {name} must be {words}; got {value!r}.")

    if not callable(rate) and not (isinstance(rate, str) and rate == "auto"):
        real("rate", rate, 5e-324, np.inf, "'auto', a positive number, or a function of the number of the update")
    real("momentum", momentum, 0.0, 1.0, "at least 0 and below 1")
    real("tol", tol, 0.0, np.inf, "a number, at least 0")
    whole("max_iter", max_iter)
    for name, value in (("batch", batch), ("n_rows", n_rows), ("patience", patience)):
        if value is not None:
            whole(name, value)
    if nesterov and not momentum:
        raise ValueError(f"{_OWNER}: nesterov looks ahead along the momentum, which is 0; give one, such as 0.9.")
    if batch is not None and n_rows is None:
        raise ValueError(
            f"{_OWNER}: batch={batch} needs n_rows, the number of rows that gradient(x, rows) can be asked for."
        )
    if noise not in (None, "anchor", "average"):
        raise ValueError(f"{_OWNER}: noise must be 'anchor', 'average' or None; got {noise!r}.")
    if noise == "anchor" and (batch is None or batch >= n_rows):
        raise ValueError(f"{_OWNER}: noise='anchor' corrects batches; give a batch smaller than n_rows.")
    if patience is not None and monitor is None:
        raise ValueError(f"{_OWNER}: patience={patience} needs a monitor to watch.")
