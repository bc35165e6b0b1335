"""Curves of functions of one number: sigmoids, activations, links, losses of a margin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.names import beside
from tilth.plot.marks import colour_of, plain_words

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass
class FunctionCurves:
    """Functions over the same x: ``values[name]``, and ``slopes[name]`` where they are known."""

    x: Floats
    values: dict[str, Floats]
    slopes: dict[str, Floats]

    def frame(self) -> pd.DataFrame:
        """One row per x: every function, and every known slope as ``name'``."""
        import pandas as pd

        slopes = {f"{n}'": v for n, v in self.slopes.items()}
        functions = beside(self.values, {"x", *slopes}, "function")
        return pd.DataFrame({"x": self.x} | dict(zip(functions, self.values.values(), strict=True)) | slopes)

    @property
    def figure(self) -> Any:
        """A line per function, its slope dashed below; a matplotlib Figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 5.2 if self.slopes else 3.6), layout="constrained")
        panels = figure.subplots(2 if self.slopes else 1, 1, sharex=True, squeeze=False)[:, 0]
        for axes, lines, label in zip(panels, (self.values, self.slopes), ("value", "slope"), strict=False):
            axes.axhline(0.0, color="0.85", linewidth=0.8)
            axes.axvline(0.0, color="0.85", linewidth=0.8)
            for name, values in lines.items():
                colour = colour_of(list(self.values).index(name))
                axes.plot(self.x, values, "-" if label == "value" else "--", color=colour, linewidth=1.6, label=name)
            axes.set_ylabel(label)
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].legend(frameon=False, fontsize=8)
        panels[-1].set_xlabel("x")
        return plain_words(figure)


def function_curves(
    functions: Mapping[str, Any] | Sequence[Any], low: float = -5.0, high: float = 5.0, *, points: int = 201
) -> FunctionCurves:
    """Values of functions between two ends, for a table and a picture.

    Parameters
    ----------
    functions : functions by name, or a list of them. Anything that maps an array to an array will do; of a part with
        ``value`` and ``derivative``, such as a sigmoid, both are taken.

    >>> from tilth.parts.sigmoids import LogisticSigmoid
    >>> function_curves({"logistic": LogisticSigmoid(), "step": lambda x: (x >= 0) * 1.0}, -1, 1, points=3).frame()
         x  logistic  step  logistic'
    0 -1.0  0.268941   0.0   0.196612
    1  0.0  0.500000   1.0   0.250000
    2  1.0  0.731059   1.0   0.196612
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"function_curves: low must be below high, both finite; got {low!r} and {high!r}.")
    if points < 2:
        raise ValueError(f"function_curves: points must be at least 2; got {points!r}.")
    named = dict(functions) if isinstance(functions, Mapping) else {_name(f): f for f in functions}
    if len(named) < len(functions):
        raise ValueError("function_curves: some functions have the same name; give them as {name: function}.")
    if not named:
        raise ValueError("function_curves needs at least one function; found none.")
    x = np.linspace(low, high, points)
    values = {name: _at(getattr(f, "value", f), x, name) for name, f in named.items()}
    slopes = {name: _at(f.derivative, x, name) for name, f in named.items() if hasattr(f, "derivative")}
    return FunctionCurves(x, values, slopes)


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _at(function: Callable[[Floats], Any], x: Floats, name: str) -> Floats:
    if not callable(function):
        raise ValueError(f"function_curves: {name!r} cannot be called; it is a {type(function).__name__}.")
    values = np.asarray(function(x), dtype=np.float64)
    if values.shape != x.shape:
        raise ValueError(f"function_curves: {name!r} gave shape {values.shape} for {x.shape} numbers.")
    return values
