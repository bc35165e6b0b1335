"""The models of a contest, simplest first, and why others are left out: what the classes declare, collected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilth.base import Candidate, Estimator
from tilth.data.schema import Schema
from tilth.errors import SchemaError
from tilth.evaluate.search.space import Space, space_of
from tilth.models.catalogue import all_estimators, estimator_class

#: Parts of the rows from which the probabilities of a model without any are learned.
CALIBRATION_FOLDS = 3


@dataclass(frozen=True)
class Rung:
    """A model of the contest: what its class declares, the name of the class, and its place, 0 the simplest."""

    entry: Candidate
    model: str
    place: int

    @property
    def name(self) -> str:
        """The name for people."""
        return self.entry.name

    @property
    def baseline(self) -> bool:
        """Whether it is scored as it is and never tuned."""
        return self.entry.baseline

    def space(self, model: Any) -> Space | None:
        """What is worth trying of the model; None where nothing is."""
        ranges = self.entry.ranges
        if self.baseline or (ranges is not None and not ranges):
            return None
        try:
            return space_of(model, ranges)
        except ValueError:  # nothing is declared
            return None

    def make(self, seed: int) -> Any:
        """The model, unfitted: prepared for missing values in any column, numbers on one scale where that matters.

        A classifier that only says which class gets a map from its scores to probabilities around it: whoever decides
        by the answers wants to know how sure they are.
        """
        cls = estimator_class(self.model)
        params = self.entry.params
        made = cls(**params)
        known = made.get_params(deep=False)
        if "random_state" in known:
            made.set_params(random_state=seed)
        if "missing" in known and not cls.accepts.missing and "missing" not in params:
            made.set_params(missing="ready")
        if "scale" in known and "scale" not in params:
            made.set_params(scale="standard")
        if cls.card.traits.concept == "classification" and not hasattr(made, "predict_proba"):
            from tilth.models.decide.calibrated import CalibratedClassifier

            return CalibratedClassifier(estimator=made, folds=CALIBRATION_FOLDS, random_state=seed)
        return made


def rungs(task: str, wanted: tuple[str, ...] = ()) -> list[Rung]:
    """The models of a task, simplest first; ``wanted`` are class names: these only, beside the baselines."""
    classes = {name: cls for name, cls in all_estimators().items() if cls.card.traits.concept == task}
    entered = [(entry, name) for name, cls in classes.items() for entry in _entries(cls)]
    entered.sort(key=lambda pair: pair[0].place)
    known = [Rung(entry, name, place) for place, (entry, name) in enumerate(entered)]
    if not wanted:
        return known
    chosen = [r for r in known if r.baseline or r.model in wanted]
    for name in wanted:
        if name not in classes:
            raise ValueError(f"run: {name} is not a model for {task}; `tilth models` lists what each is for.")
        if not any(r.model == name for r in chosen):
            place = len(known) + len(chosen)
            chosen.append(Rung(Candidate(name, place), name, place))
    return chosen


def left_out(task: str) -> dict[str, str]:
    """Predictors of a task that are no candidates, and why; any of them can be asked for by name."""
    classes = {name: cls for name, cls in all_estimators().items() if cls.card.traits.concept == task}
    return {name: cls.contest for name, cls in classes.items() if isinstance(cls.contest, str)}


def _entries(cls: type[Estimator]) -> tuple[Candidate, ...]:
    entries = cls.contest
    return () if isinstance(entries, str) else (entries,) if isinstance(entries, Candidate) else entries


def fitting(ladder: list[Rung], schema: Schema, target: Any) -> Iterator[tuple[Rung, str]]:
    """Each rung with why it cannot be tried on these data; an empty reason means that it can."""
    for rung in ladder:
        yield rung, _refusal(rung, schema, target)


def _refusal(rung: Rung, schema: Schema, target: Any) -> str:
    cls, entry, n = estimator_class(rung.model), rung.entry, len(target)
    if n < entry.from_rows:
        return f"for {entry.from_rows:,} rows or more"
    if entry.below_rows is not None and n >= entry.below_rows:
        return f"for fewer than {entry.below_rows:,} rows"
    if entry.target == "counts" and (target.min() < 0 or not np.array_equal(target, np.floor(target))):
        return "for counts: whole numbers from 0"
    if entry.target == "positive" and target.min() <= 0:
        return "for amounts above 0"
    if cls.accepts.nonnegative and any(c.low < 0 for c in schema.features):
        return "a column has values below 0"
    try:
        cls()._plan(schema)
    except SchemaError as error:
        return str(error)
    return ""
