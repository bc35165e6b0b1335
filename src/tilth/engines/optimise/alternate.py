"""Alternating minimisation: improve one part of the state while the others rest, in turns, under a watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from tilth.engines.optimise.outcome import Outcome
from tilth.progress import task

State = TypeVar("State")

_OWNER = "alternate"
#: A rise this small beside the objective is rounding; so is one this small beside the objective at the start, for an
#: objective near zero is what is left of larger numbers.
_ROUNDING, _FLOOR = 1e-10, 1e-13


@dataclass(frozen=True)
class Alternation(Generic[State]):
    """The last state, its objective, and how the rounds went (``outcome.frame()``: one column per step)."""

    state: State
    objective: float
    outcome: Outcome = field(repr=False)


def alternate(
    state: State,
    steps: Mapping[str, Callable[[State], State]] | Sequence[Callable[[State], State]],
    objective: Callable[[State], float],
    *,
    tol: float = 1e-8,
    max_iter: int = 300,
    convex: bool = False,
) -> Alternation[State]:
    """Take the steps in turn until a round lowers the objective by no more than ``tol`` times its size.

    Each step must give a state of no higher objective: k-means assigns rows to centres, then moves the centres; EM
    fills in what is hidden, then fits. The objective is computed after every step, and a rise beyond rounding raises an
    ArithmeticError that names the step: the proof of convergence would not hold, so there is an error in the step or in
    the objective. A run that reaches ``max_iter`` rounds warns (W207).

    Parameters
    ----------
    state : where to begin; steps give new states.
    steps : functions state -> state, by name or in order.
    objective : state -> the number that falls.
    convex : whether the objective is known to be convex, so that the end is its global optimum.

    Examples
    --------
    >>> found = alternate(
    ...     (0.0, 0.0),
    ...     {"x": lambda s: ((1 + s[1]) / 2, s[1]), "y": lambda s: (s[0], s[0] / 2)},
    ...     lambda s: s[0] ** 2 - s[0] * s[1] + s[1] ** 2 - s[0], convex=True,
    ... )
    >>> [round(number, 4) for number in found.state], round(found.objective, 6)
    ([0.6667, 0.3333], -0.333333)
    """
    named = dict(steps) if isinstance(steps, Mapping) else {f"step {i}": step for i, step in enumerate(steps)}
    if not named:
        raise ValueError(f"{_OWNER}: at least one step is needed; got none.")
    if not tol >= 0 or max_iter < 1:
        raise ValueError(f"{_OWNER}: tol must be at least 0 and max_iter at least 1; got {tol!r} and {max_iter!r}.")
    first = now = _finite(objective(state), "at the start")
    seen: dict[str, list[float]] = {name: [] for name in named}
    converged, fall, rounds = False, float("inf"), 0
    with task("Alternating", total=max_iter) as work:
        while not converged and rounds < max_iter:
            before, rounds = now, rounds + 1
            for name, step in named.items():
                state = step(state)
                after = _finite(objective(state), f"after the step {name!r} of round {rounds}")
                if after - now > _ROUNDING * max(abs(now), abs(after)) + _FLOOR * abs(first):
                    raise ArithmeticError(
                        f"{_OWNER}: the step {name!r} of round {rounds} raised the objective from {now:.10g} to "
                        f"{after:.10g}; every step must lower it or leave it. Check that it minimises this objective."
                    )
                seen[name].append(after)
                now = after
            fall = max(before - now, 0.0)
            converged = fall <= tol * abs(now) + _FLOOR * abs(first)
            work.advance()
    trace = {"iteration": np.arange(1.0, rounds + 1)} | {f"after {name}": np.array(v) for name, v in seen.items()}
    outcome = Outcome(
        "alternating minimisation", converged, rounds, fall, now, convex, "each step lowers the objective in its part",
        "a round lowered the objective by no more than tol of its size" if converged else "max_iter was reached", trace,
    )  # fmt: skip
    outcome.warn(_OWNER, "raise max_iter or loosen tol")
    return Alternation(state, now, outcome)


def _finite(value: Any, when: str) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ArithmeticError(f"{_OWNER}: the objective must be a finite number; {when} it is {number}.")
    return number
