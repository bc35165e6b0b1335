"""How an optimisation ended, as one record: nothing stops unconverged in silence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.errors import warn_model
from tilth.params import stored

if TYPE_CHECKING:
    import pandas as pd


@stored
@dataclass(frozen=True)
class Outcome:
    """Facts of a finished optimisation.

    ``violation`` is how far the answer is from satisfying the conditions of an optimum: the largest partial derivative
    of a smooth cost, or the largest distance of the negative gradient from the subdifferential of its penalty.
    ``trace`` holds one entry per iteration of whatever the solver watched.
    """

    solver: str
    converged: bool
    n_iter: int
    violation: float
    objective: float
    convex: bool = True
    #: Why this solver: the choice of ``auto`` in words.
    reason: str = ""
    #: What ended the run, such as "the gradient is below tol".
    stopped: str = ""
    trace: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def closed_form(self) -> bool:
        """Whether the answer was solved for, without iterations."""
        return self.n_iter == 0

    @property
    def guarantee(self) -> str:
        """What may be said of the answer."""
        if not self.converged:
            return "none: the run stopped before it converged"
        if self.convex:
            return "the global optimum: the cost is convex"
        return "a local optimum: the cost is not known to be convex"

    def frame(self) -> pd.DataFrame:
        """The trace, one row per iteration."""
        import pandas as pd

        return pd.DataFrame(self.trace)

    def chosen_for(self, reason: str) -> Outcome:
        """The same record with the reason of the choice."""
        return replace(self, reason=reason)

    def warn(self, owner: str, cure: str = "raise max_iter, loosen tol, or scale the columns") -> None:
        """Warn (W207) when the run did not converge."""
        if not self.converged:
            warn_model(
                "W207",
                f"{owner}: {self.solver} stopped after {self.n_iter} iterations, {self.violation:.2g} away from the "
                f"conditions of an optimum{f' ({self.stopped})' if self.stopped else ''}; {cure}.",
            )

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain data, for model files and reports."""
        return {
            "solver": self.solver, "converged": self.converged, "n_iter": self.n_iter, "violation": self.violation,
            "objective": self.objective, "convex": self.convex, "reason": self.reason, "stopped": self.stopped,
        }  # fmt: skip

    def __str__(self) -> str:
        how = "closed form" if self.closed_form else f"{self.n_iter} iterations"
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.solver}{why}: {how}, objective {self.objective:.6g}; {self.guarantee}"
