"""Every parameter matters: some other value of it changes what is learned or answered, or the class says why not."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from tilth.base import Estimator
from tilth.params import Param, params_of
from tilth.testing.data import KINDS, Example
from tilth.testing.kinds import data_for
from tilth.testing.settings import shows
from tilth.testing.support import quiet, state_of

#: Methods whose answers count as what a model says.
ANSWERS = (
    "predict", "predict_proba", "decision_function", "anomaly_score", "predict_interval", "predict_set", "transform",
    "inverse_transform", "explain",
)  # fmt: skip


def declared_of(model: Estimator, name: str, table: Mapping[str, Mapping[str, Any]] = {}) -> dict[str, Any]:
    """A dictionary of the class and of its bases, as one, with what a table says of them; the class itself wins."""
    merged: dict[str, Any] = {}
    for base in reversed(type(model).__mro__):
        merged |= {**table.get(base.__name__, {}), **vars(base).get(name, {})}
    return merged


def other_values(declared: Param, value: Any) -> Iterator[Any]:
    """Legal values of a parameter besides this one, those that differ most first."""
    if isinstance(value, bool):
        if declared.problem(not value) is None:
            yield not value
        return
    if declared.inert and not declared.options:
        yield 1
        return
    whole = isinstance(value, int) or (value is None and float(declared.low or 0).is_integer() and not declared.tune)
    numbers: list[Any] = [declared.low, declared.high, *declared.tune]
    if declared.low is not None:
        numbers += [declared.low + 1, declared.low + 0.1]
    if isinstance(value, (int, float)):
        numbers += [value / 2, value * 2, value + 1]
    candidates = [*declared.options]
    for number in numbers:
        if isinstance(number, (int, float)) and np.isfinite(number):
            candidates.append(int(number) if whole else number)
    for candidate in dict.fromkeys(c for c in candidates if c is not None):
        if candidate != value and declared.problem(candidate) is None:
            yield candidate


def check_parameters_matter(model: Estimator) -> None:
    """Some other legal value of each parameter changes what is learned or what is answered.

    A parameter that acts only together with others, or whose values cannot be read from its declaration, has settings
    in :mod:`tilth.testing.settings` (or in ``shows`` of the class); one that must not change the model has a reason in
    ``silent``.
    """
    silent, settings = declared_of(model, "silent"), declared_of(model, "shows", shows())
    silent |= {name: declared.doc for name, declared in params_of(model).items() if declared.inert}
    data = data_for(model, missing=True)
    model = clone(model).set_params(**settings.get("", {}))
    base = outcome(model, data)
    assert not isinstance(base, Exception), f"the example is refused: {base}"
    assert base == outcome(model, data), "a second fit on the same rows gives another model"
    without_effect = [
        name
        for name, declared in params_of(model).items()
        if not isinstance(settings.get(name), str)
        and not (name == "mismatch" and all(model.accepts.kind(k) for k in KINDS))
        and _matters(model, name, declared, dict(settings.get(name, {})), data, base) == (name in silent)
    ]
    wrong = [f"{name} changes the model, and is declared silent" for name in without_effect if name in silent]
    wrong += [f"no other value of {name} changes the model" for name in without_effect if name not in silent]
    assert not wrong, "; ".join(wrong)


def _matters(
    model: Estimator, name: str, declared: Param, settings: dict[str, Any], data: Example, base: Any
) -> bool:  # fmt: skip
    options = settings.pop("data", None)
    others = [settings.pop(name)] if name in settings else other_values(declared, getattr(model, name))
    usual = clone(model).set_params(**settings)
    if options is not None:
        data = data_for(model, **{"missing": True, **options})
    if options is not None or settings:
        base = outcome(usual, data)
    return any(_differ(base, outcome(clone(usual).set_params(**{name: v}), data), v) for v in others)


def check_weight_matters(model: Estimator) -> None:
    """Weights change what is learned."""
    if "sample_weight" not in inspect.signature(type(model).fit).parameters or model.law_of_weights() == "none":
        return
    silent = "sample_weight" in declared_of(model, "silent")
    data = data_for(model, missing=True)
    weight = np.random.default_rng(3).choice([0.1, 1.0, 5.0], len(data.y))
    changed = outcome(model, data) != outcome(model, data, sample_weight=weight)
    assert changed != silent, f"weights of rows change {'the model, and are declared silent' if silent else 'nothing'}"


def outcome(model: Estimator, data: Example, **more: Any) -> Any:
    """What a copy of the model learns from the data and answers, to be compared; the error where it refuses."""
    try:
        with quiet():
            learner: Any = clone(model).fit(data.X, data.y, **more)
            if getattr(learner, "warm_start", False):
                learner.fit(data.X, data.y, **more)
    except (ValueError, TypeError) as error:
        return error
    learned = _learned(learner)
    rows = _probe(data)
    return learned, {name: _answer(learner, name, rows) for name in ANSWERS if hasattr(learner, name)}


def _differ(base: Any, other: Any, value: Any) -> bool:
    """Whether a value changed the outcome; a refusal is a change only where the value asks for one."""
    assert not isinstance(base, Exception), f"the settings in shows are refused: {base}"
    return value == "error" if isinstance(other, Exception) else bool(base != other)


def _probe(data: Example) -> Any:
    """Some rows as they were, and some with a level and a number that training did not have."""
    if not hasattr(data.X, "columns"):
        return data.X[:12]
    rows = data.X.head(24).copy()
    for name, value in (("colour", "mauve"), ("height", 900.0)):
        if name in rows:
            rows.loc[3, name] = value
    return rows


def _answer(model: Any, name: str, rows: Any) -> Any:
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            answer = getattr(model, name)(rows)
        except (ValueError, TypeError, AttributeError) as error:
            return type(error).__name__
    return _learned(answer), sorted({getattr(r.message, "code", r.category.__name__) for r in remarks})


def _learned(value: Any) -> Any:
    """What a value holds, without the parameters of models within: they are what is varied."""
    if isinstance(value, (list, tuple)):
        return [_learned(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _learned(v) for k, v in value.items() if k != "seconds"}
    if hasattr(value, "toarray"):
        return state_of(value.toarray())
    if hasattr(value, "get_params"):
        return {k: _learned(v) for k, v in vars(value).items() if k.endswith("_") and not k.startswith("_")}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.name != "seconds"]
        return {name: _learned(getattr(value, name)) for name in fields}
    return state_of(value)
