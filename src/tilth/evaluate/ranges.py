"""Which values of a parameter are worth trying, from its declaration or from the value it has."""

from __future__ import annotations

import dataclasses
import difflib
import numbers
from typing import Any

import numpy as np

from tilth.params import Param, params_of

#: Values tried unless told.
VALUES = 10
#: A range with ends further apart than this ratio is walked in equal ratios.
WIDE = 20.0


def resolve(model: Any, parameter: str, owner: str) -> tuple[Any, Param | None]:
    """The value a parameter has and its declaration, if any; an unknown name is refused with the nearest ones."""
    known = model.get_params(deep=True)
    if parameter not in known:
        near = difflib.get_close_matches(str(parameter), known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(sorted(known))}."
        raise ValueError(f"{owner}: {type(model).__name__} has no parameter {parameter!r}; {hint}")
    *path, last = parameter.split("__")
    holder = known["__".join(path)] if path else model
    declared = params_of(holder).get(last) if dataclasses.is_dataclass(holder) else None
    return known[parameter], declared


def usual_values(value: Any, declared: Param | None, name: str, most: int) -> list[Any]:
    """Values from the declared range of tuning or of legal values, else around the value there is.

    ``most`` is the number of training rows, which a whole number without a declared limit does not pass.

    >>> usual_values(5, Param(low=1, tune=(1, 20)), "max_depth", 100)
    [1, 2, 3, 4, 5, 7, 10, 14, 20]
    >>> usual_values("gini", Param(options=("gini", "entropy")), "criterion", 100)
    ['gini', 'entropy']
    """
    if declared is not None and declared.options:
        return list(declared.options)
    if isinstance(value, bool):
        return [False, True]
    low, high, log = None, None, False
    if declared is not None:
        low, high = declared.tune if len(declared.tune) == 2 else (declared.low, declared.high)
        log = declared.scale == "log"
    ends = [end for end in (low, high) if end is not None]
    whole = (
        not log and all(map(_is_whole, ends or [value])) and (_is_whole(value) or not isinstance(value, numbers.Real))
    )
    if low is None or high is None:
        if not isinstance(value, numbers.Real):
            raise ValueError(f"No range is declared for {name} (now {value!r}); state the values to try: values=[...].")
        middle = float(value)
        if whole:
            low, high = (1 if low is None else low), min(most, max(10 * round(middle), 10)) if high is None else high
        else:
            middle = middle if middle > 0 else 1.0
            low, high = middle / 1000, middle * 1000
            log = True
    low, high = float(low), float(high)
    if low > 0 and (log or (whole and high / low >= WIDE)):
        grid = np.geomspace(low, high, VALUES)
    else:
        grid = np.linspace(low, high, VALUES)
    return sorted({round(v) for v in grid.tolist()}) if whole else [float(f"{v:.4g}") for v in grid.tolist()]


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
