"""The space of a search: which parameters are tried, and between which values; read from their declarations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Estimator
from tilth.evaluate.search.hints import FOREIGN, RANGES, SIMPLER
from tilth.params import Param, params_of
from tilth.words import listed

Floats = NDArray[np.float64]

#: Whole numbers that span a larger factor than this are spread by ratio: 10 to 20 trees matter as 100 to 200 do.
WIDE = 10
#: Values of a number on a grid, unless the number of trials says otherwise.
POINTS, LONE_POINTS = 5, 15


@dataclass(frozen=True)
class Numbers:
    """A range of numbers; ``log`` spreads them by ratio, ``whole`` keeps to integers."""

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def at(self, u: float) -> Any:
        """The value at place u between 0 and 1."""
        # Whole numbers take the range half a step wider, so that both ends get their share.
        half = 0.5 if self.whole else 0.0
        low, high = self._scaled(self.low - half), self._scaled(self.high + half)
        value = low + u * (high - low)
        value = min(max(math.exp(value) if self.log else value, self.low), self.high)
        return round(value) if self.whole else float(value)

    def place(self, value: Any) -> float:
        """Where a value lies between 0 and 1; NaN for what is no number of the range, such as None."""
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            return math.nan
        if not self.low <= value <= self.high:
            return math.nan
        half = 0.5 if self.whole else 0.0
        low, high = self._scaled(self.low - half), self._scaled(self.high + half)
        return (self._scaled(float(value)) - low) / (high - low)

    def grid(self, points: int) -> list[Any]:
        """Evenly spread values, both ends among them."""
        if points == 1:
            return [self.at(0.5)]
        spread = np.geomspace if self.log else np.linspace
        values: list[float] = np.clip(spread(self.low, self.high, points), self.low, self.high).tolist()
        return list(dict.fromkeys(round(v) for v in values)) if self.whole else values

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value

    def encode(self, value: Any) -> Any:
        """The value as JSON holds it; the value that a model came with may be none of the range."""
        return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)

    def decode(self, value: Any) -> Any:
        """The value back from JSON."""
        return value

    def __str__(self) -> str:
        kind = "whole numbers" if self.whole else "numbers"
        return f"{self.name}: {kind} from {self.low:g} to {self.high:g}{', by ratio' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """A parameter that takes one of some values."""

    name: str
    options: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """The value at place u between 0 and 1."""
        return self.options[min(int(u * len(self.options)), len(self.options) - 1)]

    def place(self, value: Any) -> float:
        """Where a value lies between 0 and 1; NaN for what is none of the options."""
        index = self.index(value)
        return math.nan if index is None else (index + 0.5) / len(self.options)

    def index(self, value: Any) -> int | None:
        """Which option it is."""
        for i, option in enumerate(self.options):
            if option is value or (type(option) is type(value) and _same(option, value)):
                return i
        return None

    def grid(self, points: int) -> list[Any]:
        """All options."""
        return list(self.options)

    def encode(self, value: Any) -> Any:
        """Its place among the options: options may be anything, and a log holds plain data."""
        index = self.index(value)
        return {"value": repr(value)} if index is None else {"option": index, "value": repr(value)}

    def decode(self, value: Any) -> Any:
        """The option again."""
        return self.options[value["option"]]

    def __str__(self) -> str:
        return f"{self.name}: one of {', '.join(map(repr, self.options))}"


Parameter = Numbers | Choice


@dataclass(frozen=True)
class Space:
    """The parameters of a search, each with its range."""

    parameters: tuple[Parameter, ...]

    def __iter__(self) -> Any:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise ValueError(f"{name!r} is not searched; searched are {', '.join(p.name for p in self.parameters)}.")

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [p.name for p in self.parameters]

    def at(self, places: Floats) -> dict[str, Any]:
        """Parameters at a point of the unit cube."""
        return {p.name: p.at(float(u)) for p, u in zip(self.parameters, places, strict=True)}

    def places(self, values: Mapping[str, Any]) -> Floats:
        """The point of the unit cube of some parameters; NaN where a value lies outside the range."""
        return np.array([p.place(values.get(p.name)) for p in self.parameters])

    def grid(self, points: int) -> list[dict[str, Any]]:
        """All combinations of ``points`` values of each number and all options; the last parameter moves fastest."""
        from itertools import product

        values = [p.grid(points) for p in self.parameters]
        return [dict(zip(self.names, combination, strict=True)) for combination in product(*values)]

    def grid_size(self, points: int) -> int:
        """Number of combinations of :meth:`grid`."""
        return math.prod(len(p.grid(points)) for p in self.parameters)

    def grid_of(self, trials: int | None) -> list[dict[str, Any]]:
        """The finest grid of at most so many combinations."""
        if trials is None:
            return self.grid(LONE_POINTS if len(self) == 1 else POINTS)
        points = 1
        # A whole number has no more values than its range, so a finer grid may be the same one.
        while points < trials and self.grid_size(points + 1) <= trials:
            points += 1
        if self.grid_size(points) > trials or (points == 1 and any(isinstance(p, Numbers) for p in self.parameters)):
            raise ValueError(
                f"A grid over {', '.join(self.names)} needs at least {self.grid_size(2)} trials; got {trials}. Ask for "
                "more, name fewer parameters in ranges=, or take method='random'."
            )
        return self.grid(points)

    def encode(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters as JSON holds them."""
        return {p.name: p.encode(values[p.name]) for p in self.parameters if p.name in values}

    def decode(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters back from JSON."""
        return {p.name: p.decode(values[p.name]) for p in self.parameters if p.name in values}

    def complexity(self, values: Mapping[str, Any]) -> float:
        """How complex a model these parameters make, for comparing within this space; see ``hints.SIMPLER``."""
        total = 0.0
        for p in self.parameters:
            sign = SIMPLER.get(p.name.rsplit("__", 1)[-1], 0)
            place = p.place(values.get(p.name))
            # No limit (None) is the most complex end.
            total -= sign * ((1.0 if sign < 0 else 0.0) if math.isnan(place) else place)
        return total

    def __str__(self) -> str:
        return "\n".join(map(str, self.parameters))


def space_of(model: Any, ranges: Any = None) -> Space:
    """The parameters of a model worth trying, with their ranges.

    Parameters
    ----------
    model : an estimator or a pipeline; parameters of its parts are called ``step__parameter``.
    ranges : None takes what the declarations of the model call worth tuning. A list of names takes those. A dict says
        the range of each parameter that is to be searched: ``(low, high)``, ``(low, high, "log")``, a list of values,
        or ``"auto"`` for the declared range.

    >>> from tilth import Ridge
    >>> print(space_of(Ridge()))
    alpha: numbers from 0.001 to 1000, by ratio
    >>> print(space_of(Ridge(), {"alpha": (0.1, 10), "fit_intercept": [True, False]}))
    alpha: numbers from 0.1 to 10
    fit_intercept: one of True, False
    """
    if isinstance(model, type):
        raise TypeError(f"search needs a model, not a class: write {model.__name__}() instead of {model.__name__}.")
    if not hasattr(model, "get_params"):
        raise TypeError(f"search needs an estimator with get_params and set_params; got {type(model).__name__}.")
    if isinstance(ranges, str):
        ranges = [ranges]
    if ranges is not None and not isinstance(ranges, Mapping):
        ranges = dict.fromkeys(ranges, "auto")
    if ranges is None:
        parameters = tuple(_worth_tuning(model))
        if not parameters:
            raise ValueError(
                f"search has no ranges for {type(model).__name__}. State them: "
                f"ranges={{'parameter': (low, high)}}, (low, high, 'log') or a list of values. {_numbers_of(model)}"
            )
        return Space(parameters)
    if not ranges:
        raise ValueError("ranges must name at least one parameter; None takes those that are declared.")
    known = model.get_params()
    for name in ranges:
        if name not in known:
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}; it has {listed(known, 20)}.")
    return Space(tuple(_asked(model, name, range_) for name, range_ in ranges.items()))


def _numbers_of(model: Any) -> str:
    numeric = [k for k, v in model.get_params().items() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return f"Its numbers are {listed(numeric, 20)}." if numeric else "It has no parameter that is a number."


def _worth_tuning(model: Any, prefix: str = "") -> Iterable[Parameter]:
    """Parameters of a model and of the estimators inside it."""
    if isinstance(model, Estimator):
        for name, declared in params_of(model).items():
            if declared.tune:
                yield _declared_range(prefix + name, declared)
    else:
        own = model.get_params(deep=False)
        for name in FOREIGN.get(type(model).__name__, ()):
            if name in own:
                yield _numbers(prefix + name, *RANGES[name])
    for name, part in _parts_of(model):
        yield from _worth_tuning(part, f"{prefix}{name}__")


def _parts_of(model: Any) -> list[tuple[str, Any]]:
    """The estimators that a model holds, with the names that set_params gives them."""
    if isinstance(getattr(model, "steps", None), list):
        return [(name, step) for name, step in model.steps if hasattr(step, "get_params")]
    own = model.get_params(deep=False)
    return [
        (k, v) for k, v in own.items() if hasattr(v, "get_params") and hasattr(v, "fit") and not isinstance(v, type)
    ]


def _declared_range(name: str, declared: Param) -> Parameter:
    return _numbers(name, declared.tune[0], declared.tune[1], declared.scale)


def _numbers(name: str, low: Any, high: Any, scale: str = "auto") -> Numbers:
    whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in (low, high))
    log = scale == "log" or (whole and scale in ("auto", "linear") and low >= 1 and high > WIDE * low)
    return Numbers(name, float(low) if not whole else int(low), float(high) if not whole else int(high), log, whole)


def _asked(model: Any, name: str, said: Any) -> Parameter:
    """A range as the user said it, checked against the declaration."""
    owner, declared = _declaration(model, name)
    if isinstance(said, str) and said == "auto":
        return _automatic(owner, name, declared)
    if isinstance(said, tuple) and len(said) in (2, 3) and _are_numbers(said[:2]) and (
        len(said) == 2 or said[2] in ("log", "linear")
    ):  # fmt: skip
        low, high = said[:2]
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"The range of {name} must have low < high, both finite; got {said!r}.")
        if len(said) == 3 and said[2] == "log" and low <= 0:
            raise ValueError(f"The range of {name} is to be spread by ratio, so it must begin above 0; got {low!r}.")
        parameter: Parameter = _numbers(name, low, high, said[2] if len(said) == 3 else "auto")
        _legal(declared, name, (low, high))
        return parameter
    if isinstance(said, (list, tuple, np.ndarray)) and len(said):
        options = tuple(v.item() if isinstance(v, np.generic) else v for v in said)
        _legal(declared, name, options)
        return Choice(name, options)
    raise ValueError(
        f"The range of {name} must be (low, high), (low, high, 'log'), a list of values or 'auto'; got {said!r}."
    )


def _automatic(owner: Any, name: str, declared: Param | None) -> Parameter:
    short = name.rsplit("__", 1)[-1]
    if declared is not None:
        if declared.tune:
            return _declared_range(name, declared)
        if declared.options:
            return Choice(name, declared.options)
        if declared.low is not None and declared.high is not None:
            return _numbers(name, declared.low, declared.high, declared.scale)
    if isinstance(owner.get_params(deep=False).get(short), bool):
        return Choice(name, (False, True))
    if short in RANGES:
        return _numbers(name, *RANGES[short])
    raise ValueError(
        f"{name} declares no range to search; give one: ranges={{{name!r}: (low, high)}}, or a list of values."
    )


def _declaration(model: Any, name: str) -> tuple[Any, Param | None]:
    """The estimator that owns a parameter, and the declaration, where there is one."""
    *way, last = name.split("__")
    owner = model
    for part in way:
        owner = owner.get_params()[part]
    return owner, params_of(owner).get(last) if isinstance(owner, Estimator) else None


def _legal(declared: Param | None, name: str, values: Iterable[Any]) -> None:
    for value in values if declared is not None else ():
        problem = declared.problem(value) if declared is not None else None
        if problem:
            raise ValueError(f"The range of {name} has {value!r}, which is not legal: it {problem}.")


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # what cannot be compared is not the same
        return False
