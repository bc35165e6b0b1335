"""What is asked of a run, checked at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tilth.data.infer import of_role
from tilth.data.kinds import Kind
from tilth.evaluate.search.budget import seconds_of

TASKS = ("classification", "regression")
#: Time for a whole run unless told otherwise.
BUDGET = "1m"
#: Parameter settings tried for each model, where the time allows it.
TRIALS = 20
#: Share of the rows that is tested on once, and the fewest rows for which that is worth it.
TEST_SIZE, LEAST_ROWS_FOR_TEST = 0.2, 300


@dataclass(frozen=True)
class Options:
    """The wishes of a caller; ``budget`` in seconds, None without a clock."""

    task: str | None = None
    metric: str | None = None
    positive: Any = None
    costs: Mapping[str, float] | None = None
    sensitive: tuple[str, ...] = ()
    keep_sensitive: bool = False
    groups: str | None = None
    time: str | None = None
    kinds: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    as_is: bool = False
    budget: float | None = None
    trials: int = TRIALS
    folds: int | None = None
    test_size: float = TEST_SIZE
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The wishes as JSON-ready data."""
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        content["kinds"] = {n: k.name if isinstance(k, Kind) else k for n, k in self.kinds.items()}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in content.items()}


def _kind_told(kind: Any) -> Any:
    """A kind as a caller would write it: a word, or the levels of an order; levels without order have no words."""
    if not isinstance(kind, Kind):
        return kind
    return list(kind.levels) if kind.name == "ordinal" else kind if kind.levels else kind.name


def options(
    *,
    budget: Any = BUDGET,
    task: str | None = None,
    metric: str | None = None,
    costs: Mapping[str, float] | None = None,
    sensitive: Any = (),
    models: Any = (),
    trust: Any = (),
    kinds: Mapping[str, Any] | None = None,
    trials: int = TRIALS,
    folds: int | None = None,
    test_size: float = TEST_SIZE,
    **others: Any,
) -> Options:
    """Options from what a caller gave; every mistake is a sentence."""
    if task is not None and task not in TASKS:
        raise ValueError(f"run: task must be one of {', '.join(map(repr, TASKS))} or None; got {task!r}.")
    if metric is not None:
        from tilth.evaluate.metrics import metric as known

        known(metric, task=task)  # an unknown name is told now
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise ValueError(f"run: trials must be a whole number of at least 1; got {trials!r}.")
    if folds is not None and (isinstance(folds, bool) or not isinstance(folds, int) or folds < 2):
        raise ValueError(f"run: folds must be a whole number of at least 2; got {folds!r}.")
    if not (isinstance(test_size, (int, float)) and 0 <= test_size < 1):
        raise ValueError(f"run: test_size is a share of the rows, from 0 (no test) to below 1; got {test_size!r}.")
    wishes = Options(
        task=task, metric=metric, costs=_costs(costs), sensitive=_names(sensitive), models=_models(_names(models)),
        trust=_names(trust), kinds={n: _kind_told(k) for n, k in (kinds or {}).items()},
        budget=None if budget is None else seconds_of(budget),
        trials=trials, folds=folds, test_size=float(test_size), **others,
    )  # fmt: skip
    sensitive_too = [n for n, word in wishes.kinds.items() if word == "sensitive" and n not in wishes.sensitive]
    return replace(
        wishes,
        groups=wishes.groups or of_role(wishes.kinds, "group", "run"),
        time=wishes.time or of_role(wishes.kinds, "time", "run"),
        sensitive=(*wishes.sensitive, *sensitive_too),
    )


def _names(names: Any) -> tuple[str, ...]:
    """Names of columns or models: several, or one as it is."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(_texts(names))


def _texts(names: Iterable[Any]) -> Iterable[str]:
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"run takes names as text; got {name!r}.")
        yield name


def _models(names: tuple[str, ...]) -> tuple[str, ...]:
    from difflib import get_close_matches

    from tilth._registry import ESTIMATORS

    for name in names:
        if name not in ESTIMATORS:
            near = get_close_matches(name, ESTIMATORS, 3, 0.4)
            hint = f" Did you mean {' or '.join(near)}?" if near else " `tilth models` lists them."
            raise ValueError(f"run: {name!r} is no model of tilth.{hint}")
    return names


def _costs(costs: Mapping[str, float] | None) -> dict[str, float] | None:
    """Costs of the two mistakes, and of right answers where told."""
    if costs is None:
        return None
    unknown = set(costs) - {"fp", "fn", "tp", "tn"}
    if unknown or not {"fp", "fn"} & set(costs):
        raise ValueError(f"run: costs are given as {{'fp': 1, 'fn': 5}} (also 'tp', 'tn'); got {dict(costs)!r}.")
    amounts = {}
    for name, value in costs.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"run: the cost of {name} must be a number; got {value!r}.")
        amounts[name] = float(value)
    return {"fp": 1.0, "fn": 1.0, **amounts}
