"""What a solver is, and the choice among them: the first whose needs are met, with the reason in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.params import declared, param
from tilth.parts.class_losses import OneVersusAll
from tilth.parts.part import Part


@declared
class Solver(Part):
    """Base of all solvers. A solver says what it cannot do; nothing keeps a table of what fits with what."""

    name: ClassVar[str] = "solver"

    tol: float = param(
        1e-6, low=0, low_open=True, scale="log", doc="Largest violation of the conditions of an optimum."
    )
    max_iter: int = param(1000, low=1, doc="Iterations at most.")

    def refuses(self, problem: Problem) -> str | None:
        """Why this solver cannot solve the problem, as the end of a sentence, or None."""
        raise NotImplementedError

    def leaves(self, problem: Problem) -> str | None:
        """Why ``auto`` should not take it although it could (too large, say), or None."""
        return None

    def reason(self, problem: Problem) -> str:
        """Why ``auto`` takes it."""
        return "the first solver whose needs are met"

    def solve(self, problem: Problem, start: Weights | None = None) -> Solution:
        """The weights of least cost."""
        raise NotImplementedError


def solvers() -> dict[str, type[Solver]]:
    """All solvers by name, in the order in which ``auto`` tries them."""
    from tilth.engines.linear.closed import ClosedForm
    from tilth.engines.linear.descent import Descent
    from tilth.engines.linear.dual import DualCoordinate
    from tilth.engines.linear.lbfgs import LBFGS
    from tilth.engines.linear.margin import MarginNewton
    from tilth.engines.linear.margin_subset import MarginSubsets
    from tilth.engines.linear.newton import Newton
    from tilth.engines.linear.program import LinearProgram
    from tilth.engines.linear.prox_newton import ProxNewton
    from tilth.engines.linear.subset import AllSubsets

    return {
        s.name: s
        for s in (
            ClosedForm,
            MarginNewton,
            DualCoordinate,
            Newton,
            LBFGS,
            AllSubsets,
            MarginSubsets,
            ProxNewton,
            LinearProgram,
            Descent,
        )
    }


def choose(problem: Problem, solver: Any = "auto", **settings: Any) -> tuple[Solver, str]:
    """The solver named, or the first that fits, and why; ``settings`` are tol and max_iter where not None."""
    settings = {name: value for name, value in settings.items() if value is not None}
    if isinstance(solver, Solver):
        chosen, why = replace(solver, **settings), "asked for"
    elif solver != "auto":
        known = solvers()
        if solver not in known:
            raise ValueError(f"There is no solver {solver!r}; choose 'auto', {', '.join(map(repr, known))}.")
        chosen, why = known[solver](**settings), "asked for"
    else:
        declined = []
        for kind in solvers().values():
            candidate = kind(**settings)
            problem_with = candidate.refuses(problem) or candidate.leaves(problem)
            if problem_with is None:
                return candidate, candidate.reason(problem)
            declined.append(f"{kind.name} {problem_with}")
        raise ValueError(
            f"No solver takes the loss {type(problem.loss).__name__} with the penalty "
            f"{type(problem.penalty).__name__}: {'; '.join(declined)}."
        )
    refused = chosen.refuses(problem)
    if refused is not None:
        raise ValueError(
            f"{chosen.name} {refused} (loss {type(problem.loss).__name__}, penalty {type(problem.penalty).__name__}); "
            "say solver='auto'."
        )
    return chosen, why


def solve(problem: Problem, solver: Any = "auto", start: Weights | None = None, **settings: Any) -> Solution:
    """Solve the problem with the solver named, or the first that fits."""
    if isinstance(problem.loss, OneVersusAll) and problem.penalty.separable:
        return _one_by_one(problem, problem.loss, solver, start, settings)
    chosen, why = choose(problem, solver, **settings)
    solution = chosen.solve(problem, start)
    return replace(solution, outcome=solution.outcome.chosen_for(why))


def _one_by_one(
    problem: Problem, loss: OneVersusAll, solver: Any, start: Weights | None, settings: dict[str, Any]
) -> Solution:
    """The k questions "this class or another" share no weight, so each is a problem of its own."""
    solutions = []
    for c, answer in enumerate(loss.answers(problem.y).T):
        question = replace(problem, y=np.ascontiguousarray(answer), loss=loss.one)
        first = None if start is None else Weights(start.coef[:, c], start.intercept[c])
        solutions.append(solve(question, solver, first, **settings))
    weights = Weights(
        np.stack([s.weights.coef for s in solutions], axis=1), np.array([float(s.weights.intercept) for s in solutions])
    )
    ends = [s.outcome for s in solutions]
    worst = next((e for e in ends if not e.converged), ends[0])
    outcome = replace(
        worst,
        n_iter=max(e.n_iter for e in ends),
        violation=max(e.violation for e in ends),
        objective=sum(e.objective for e in ends),
        trace={},
    )
    return Solution(weights, outcome)
