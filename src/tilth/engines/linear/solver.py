"""What a solver is, and the choice among them: the first whose needs are met, with the reason in words."""

from __future__ import annotations

from typing import Any, ClassVar

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.params import declared, param
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
    from tilth.engines.linear.lbfgs import LBFGS

    return {s.name: s for s in (ClosedForm, LBFGS)}


def choose(problem: Problem, solver: Any = "auto", **settings: Any) -> tuple[Solver, str]:
    """The solver named, or the first that fits, and why; ``settings`` are tol and max_iter where not None."""
    settings = {name: value for name, value in settings.items() if value is not None}
    if isinstance(solver, Solver):
        chosen, why = solver, "asked for"
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
    chosen, why = choose(problem, solver, **settings)
    solution = chosen.solve(problem, start)
    return Solution(solution.weights, solution.outcome.chosen_for(why))
