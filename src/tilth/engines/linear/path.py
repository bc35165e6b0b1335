"""Regularisation paths: the weights as a function of the strength of the penalty, strongest first."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.linear.problem import Problem, Solution, Weights
from tilth.engines.linear.prox_newton import ProxNewton, SparseFit
from tilth.engines.linear.solver import solve
from tilth.engines.optimise.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """One answer per strength: ``coef`` [s, p] (or [s, p, k]), ``intercept`` [s] (or [s, k]).

    ``risk`` is the mean loss on the rows that were fitted, ``complexity`` the penalty at strength 1: as the strength
    falls, the first falls and the second rises.
    """

    alphas: Floats
    coef: Floats
    intercept: Floats
    risk: Floats
    complexity: Floats
    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...] = ()

    @property
    def n_used(self) -> NDArray[np.int64]:
        """Columns with a weight, per strength."""
        used = self.coef != 0
        return (used if used.ndim == 2 else used.any(axis=2)).sum(axis=1)

    def weights(self, place: int) -> Weights:
        """The answer at one of the strengths."""
        return Weights(self.coef[place], np.asarray(self.intercept[place]))

    def frame(self) -> pd.DataFrame:
        """One row per strength."""
        import pandas as pd

        return pd.DataFrame(
            {"alpha": self.alphas, "columns": self.n_used, "risk": self.risk, "complexity": self.complexity}
        )

    def plot(self, chosen: float | None = None) -> Any:
        """Every weight over the strength; ``chosen`` marks one."""
        from tilth.plot.paths import weight_paths

        names = self.names or tuple(f"x{j}" for j in range(self.coef.shape[1]))
        if self.coef.ndim == 2:
            return weight_paths(self.alphas, self.coef, names, chosen=chosen)
        flat = self.coef.reshape(len(self.coef), -1)
        labels = [f"{name} [{c}]" for name in names for c in range(self.coef.shape[2])]
        return weight_paths(self.alphas, flat, labels, chosen=chosen)


def strongest(problem: Problem) -> float:
    """The least strength of the problem's penalty at which all weights are zero (alpha_max of the lasso)."""
    at = problem.start()
    return problem.penalty.strongest(problem.gradient(problem.scores(at)).coef)


def alphas_between(top: float, n: int, shortest: float) -> Floats:
    """n strengths from ``top`` down to ``shortest`` times it, evenly spaced on a log scale.

    >>> alphas_between(1.0, 3, 0.01)
    array([1.  , 0.1 , 0.01])
    """
    if not np.isfinite(top):
        raise ValueError("No strength of this penalty makes all weights zero; give the strengths of the path.")
    top = max(top, float(np.finfo(np.float64).tiny) / shortest)
    return np.geomspace(top, shortest * top, n)


def alphas_of(problem: Problem, wanted: Any, shortest: float = 1e-3) -> Floats:
    """Strengths, falling: the ones given, or as many as ``wanted`` from the strongest that matters."""
    many = isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool)
    if many and wanted >= 1:
        return alphas_between(strongest(problem), int(wanted), shortest)
    values = np.asarray(wanted) if isinstance(wanted, (list, tuple, np.ndarray)) else np.empty(0)
    listed = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iuf"
    if not listed or not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(
            f"Strengths must be a list of finite numbers of at least 0, or how many of them to try; got {wanted!r}."
        )
    return np.sort(values.astype(np.float64))[::-1]


def path(problem: Problem, alphas: Any = 50, *, shortest: float = 1e-3, **settings: Any) -> Path:
    """Solve for every strength, from strong to weak, each from the answer before it.

    ``alphas``: a list, or how many: from the strongest that matters down to ``shortest`` times it. ``settings`` are
    tol and max_iter.
    """
    falling = alphas_of(problem, alphas, shortest)
    solutions = _solutions(problem, falling, settings)
    coef = np.stack([s.weights.coef for s in solutions])
    plain = _with(problem, 1.0).penalty
    costs = np.array([s.outcome.objective for s in solutions])
    paid = np.array([_with(problem, f).penalty.value(c) for f, c in zip(falling, coef, strict=True)])
    return Path(
        falling,
        coef,
        np.stack([s.weights.intercept for s in solutions]),
        costs - paid,
        np.array([plain.value(c) for c in coef]),
        tuple(s.outcome for s in solutions),
    )


def _with(problem: Problem, alpha: float) -> Problem:
    return problem.with_penalty(dataclasses.replace(problem.penalty, alpha=float(alpha)))


def _solutions(problem: Problem, falling: Floats, settings: dict[str, Any]) -> list[Solution]:
    solver = ProxNewton(**{name: value for name, value in settings.items() if value is not None})
    solutions: list[Solution] = []
    if solver.refuses(problem) is not None:
        for alpha in falling:
            start = solutions[-1].weights if solutions else None
            solutions.append(solve(_with(problem, alpha), "auto", start, **settings))
        return solutions
    fit = SparseFit(problem)
    for i, alpha in enumerate(falling):
        penalty = _with(problem, alpha).penalty
        if i and alpha > 0:
            fit.expect(_with(problem, falling[i - 1]).penalty, penalty)
        solutions.append(fit.solve(penalty, solutions[-1].weights if solutions else None, solver.tol, solver.max_iter))
    return solutions
