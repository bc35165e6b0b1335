"""The way down, kept: one row per iteration with every partial derivative and every parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.engines.optimise.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Where a descent has been. Row k is what was seen before step k; ``rate`` is that of the step which led there.

    ``x`` and ``gradient`` are [k, d]; ``value`` and ``monitor`` are None where there was nothing to compute them with.
    """

    names: tuple[str, ...]
    x: Floats
    gradient: Floats
    rate: Floats
    value: Floats | None = None
    monitor: Floats | None = None

    def __len__(self) -> int:
        return len(self.rate)

    @property
    def gradient_norm(self) -> Floats:
        """The largest partial derivative, without its sign, of each iteration."""
        return np.abs(self.gradient).max(axis=1, initial=0.0)

    def columns(self) -> dict[str, Floats]:
        """What is one number per iteration."""
        seen = {"iteration": np.arange(len(self), dtype=np.float64), "value": self.value, "monitor": self.monitor}
        known = {name: column for name, column in seen.items() if column is not None}
        return known | {"gradient_norm": self.gradient_norm, "rate": self.rate}

    def frame(self) -> pd.DataFrame:
        """One row per iteration: value, gradient norm, rate, each partial (``d/dname``), each parameter."""
        import pandas as pd

        partials = {f"d/d{name}": self.gradient[:, j] for j, name in enumerate(self.names)}
        places = {name: self.x[:, j] for j, name in enumerate(self.names)}
        table = pd.DataFrame(self.columns() | partials | places)
        return table.astype({"iteration": int})

    def plot(self) -> Any:
        """A figure of the gradient norm, every partial (both without signs) and the value, over the iterations."""
        from tilth.plot.curves import curves

        lines = {"gradient norm": self.gradient_norm}
        if len(self.names) <= 8:
            lines |= {f"|d/d{name}|": np.abs(self.gradient[:, j]) for j, name in enumerate(self.names)}
        figure = curves(np.arange(len(self)), lines, "iteration", "size of the partial derivatives")
        # Partials fall over many powers of ten; where one is exactly zero the line is interrupted.
        figure.axes[0].set_yscale("log", nonpositive="mask")
        if self.value is not None:
            right = figure.axes[0].twinx()
            right.plot(np.arange(len(self)), self.value, color="0.5", linestyle="--", linewidth=1.2)
            right.set_ylabel("value (dashed)")
        return figure


@dataclass(frozen=True)
class Descent:
    """The answer of a descent.

    ``gradient`` holds the partial derivatives at ``x``; ``value`` is nan where no value function was given.
    ``least_curvature`` is the smallest second derivative over all directions there, nan where it was not measured.
    """

    x: Floats
    gradient: Floats
    value: float
    outcome: Outcome
    trace: Trace | None = field(default=None, repr=False)
    least_curvature: float = float("nan")
    #: Whether the run was ended by the monitor and not by the gradient.
    by_monitor: bool = False

    @property
    def gradient_norm(self) -> float:
        """The largest partial derivative at x, without its sign."""
        return float(np.abs(self.gradient).max())

    @property
    def guarantee(self) -> str:
        """What may be said of the answer, and why."""
        if self.by_monitor:
            return "the lowest monitored value that was seen; the gradient was not asked to vanish"
        if not self.outcome.converged or self.outcome.convex:
            return self.outcome.guarantee
        if self.least_curvature > 0:
            return f"a local optimum: the least curvature in any direction is {self.least_curvature:.3g}, above 0"
        return "a stationary point: whether the cost rises in every direction from there was not shown"
