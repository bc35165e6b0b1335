"""Change the attributes to match the model: ``plan(schema, accepts)`` is one pure function over a small table of steps.

The plan is fitted inside ``fit``, kept as ``model.plan_``, replayed in ``predict``, printed by ``print(model.plan_)``.
An all-numeric table with nothing missing has an empty plan for every model that takes numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilth.data.number_steps import Standardise
from tilth.data.schema import ColumnSpec, Schema, table_text
from tilth.data.steps import (
    NUMERIC,
    Bins,
    Drop,
    FittedStep,
    ForgetOrder,
    Impute,
    IntegerCodes,
    OneHot,
    OwnCategory,
    RankScores,
    Step,
)
from tilth.data.table import Column, Table
from tilth.data.weighted import Weight
from tilth.data.words import Words
from tilth.errors import SchemaError
from tilth.params import stored

Mismatch = Literal["convert", "drop", "error"]
MissingPolicy = Literal["auto", "ready", "mean", "median", "mode", "own", "error"]


@stored
@dataclass(frozen=True)
class Accepts:
    """What a model can take as it stands; everything else is converted, dropped or refused, as the user says.

    ``nonnegative`` asks for numbers >= 0 (counts), ``sparse`` for scipy sparse matrices besides tables, ``scaled`` for
    numbers of mean 0 and deviation 1, so that distances and penalties weigh all of them alike. ``text`` is how many
    words of a column of free text the model can use; with 0 such a column is set aside.
    """

    numeric: bool = True
    ordinal: bool = False
    nominal: bool = False
    missing: bool = False
    sparse: bool = False
    nonnegative: bool = False
    scaled: bool = False
    text: int = 0

    def kind(self, name: str) -> bool:
        """Whether a kind is taken as it stands."""
        return bool(getattr(self, name))

    def __str__(self) -> str:
        words = [k for k in ("numeric", "ordinal", "nominal", "missing", "sparse") if getattr(self, k)]
        words += ["text"] if self.text else []
        return " ".join(words) + " (not negative)" * self.nonnegative + " (scaled)" * self.scaled


@stored
@dataclass
class Plan:
    """The steps between a table and a model, with the reason of each."""

    schema: Schema
    steps: list[FittedStep] = field(default_factory=list)
    owner: str = ""
    outputs: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether the model sees the table as it is."""
        return not self.steps

    def fit(self, table: Table, weight: Weight = None) -> tuple[Plan, Table]:
        """Learn every step in turn, each on the output of the one before."""
        fitted: list[FittedStep] = []
        for step in self.steps:
            done, table = step.fit(table, weight)
            fitted.append(done)
        return replace(self, steps=fitted, outputs=table.names), table

    def apply(self, table: Table) -> Table:
        """Convert new rows with what was learned."""
        for step in self.steps:
            table = step.apply(table)
        return table

    def origin(self) -> dict[str, str]:
        """Original column of every column the model sees, so that explanations speak of the user's columns."""
        source = {name: name for name in self.schema.names}
        for spec in self.schema.features:
            if spec.expand_date:
                source |= dict.fromkeys(spec.typed_names, spec.name)
        for step in self.steps:
            for name, outputs in zip(step.inputs, step.outputs, strict=False):
                source |= {new: source.get(name, name) for new in outputs}
        return source

    def in_user_units(self, names: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers as the model sees them, a column per name, in the units of the table: scaling is undone."""
        back = np.array(values, dtype=np.float64)
        places = {name: j for j, name in enumerate(names)}
        for done in reversed(self.steps):
            step = done.step
            for name, state in zip(done.inputs, done.states, strict=True):
                if isinstance(step, Standardise) and name in places:
                    column = Column(name, NUMERIC, back[:, places[name]])
                    back[:, places[name]] = step.invert(column, state)[0].values
        return back

    def __str__(self) -> str:
        if not self.schema.columns:
            owner = self.owner or "the model"
            return f"Plan for {owner}: {self.schema.width} columns of a sparse matrix, used as they are"
        rows: list[tuple[str, ...]] = []
        steps: dict[str, list[tuple[FittedStep, int]]] = {}
        for step in self.steps:
            for place, name in enumerate(step.inputs):
                steps.setdefault(name, []).append((step, place))
        for spec in self.schema.columns:
            done = steps.get(spec.typed_names[0], [])
            if spec.role != "feature":
                use = "set aside" if spec.role == "aside" else spec.role
                rows.append((spec.name, spec.kind.name, use, spec.reason))
                continue
            verbs = ", then ".join(s.step.verb for s, _ in done) or "as it is"
            rows.append((spec.name, spec.kind.name, verbs, _details(spec, done)))
        origin = self.origin()
        used = len({origin[n] for n in self.outputs if n in origin} if self.outputs else self.schema.features)
        head = f"Plan for {self.owner or 'the model'}: {used} of {len(self.schema)} columns used"
        if self.outputs and len(self.outputs) != used:
            head += f", {len(self.outputs)} after conversion"
        return head + "\n" + table_text(rows)


def _details(spec: ColumnSpec, done: list[tuple[FittedStep, int]]) -> str:
    parts = [spec.reason]
    if spec.has_missing:
        share = spec.n_missing / max(spec.n_rows, 1)
        parts.append(f"{spec.n_missing} missing ({share:.1%}){'' if done else ', left to the model'}")
    for step, place in done:
        detail = step.step.tell(step.states[place]) if step.states else ""
        parts.append("; ".join(t for t in (step.reason, detail) if t))
    return "; ".join(p for p in parts if p)


#: Words of a column of free text for a model that does not say how many it can use.
DEFAULT_WORDS = 100
#: (from kind, to kind) -> the step that makes one of the other, in the order of preference.
CONVERSIONS: dict[tuple[str, str], Callable[[], Step]] = {
    ("ordinal", "numeric"): RankScores,
    ("ordinal", "nominal"): ForgetOrder,
    ("nominal", "numeric"): OneHot,
    ("numeric", "ordinal"): Bins,
    ("numeric", "nominal"): Bins,
}


def plan(
    schema: Schema,
    accepts: Accepts,
    *,
    mismatch: Mismatch = "convert",
    missing: MissingPolicy = "auto",
    codes: bool = False,
    owner: str = "",
    bins: Step | None = None,
) -> Plan:
    """The steps that change the attributes of ``schema`` to match a model that ``accepts`` some kinds.

    Parameters
    ----------
    mismatch : ``"convert"`` a wrong-typed attribute, ``"drop"`` it, or give an ``"error"``.
    missing : ``"auto"`` leaves missing values to a model that takes them and else imputes (median with an indicator
        for numbers, a category of its own for levels); ``"ready"`` does the same and is prepared for missing values
        in columns that have none yet; a named method is used for all; ``"error"`` refuses.
    codes : integer codes instead of one-hot columns for nominal attributes.
    bins : the step that turns numbers into levels where a model takes no numbers.

    >>> from tilth.data.infer import infer
    >>> print(plan(infer({"age": [31.5, 47.0], "job": ["cook", "nurse"]}), Accepts()))
    Plan for the model: 2 of 2 columns used
      age  numeric  as it is  numbers
      job  nominal  one-hot   text with 2 levels; nominal is not taken by the model
    """
    steps: list[FittedStep] = []
    features = schema.features
    for spec in features:
        if spec.form == "date" and not spec.expand_date:
            raise SchemaError(
                f"Column {spec.name!r} holds dates, which no model takes as they are; say "
                f"kinds={{{spec.name!r}: 'date'}} to expand it into year, month, day, weekday and days, "
                f"or kinds={{{spec.name!r}: 'aside'}} to leave it out."
            )
        steps.extend(_steps_for(spec, accepts, mismatch, missing, codes, owner or "the model", bins))
    return Plan(schema, _united(steps), owner)


def _steps_for(
    spec: ColumnSpec,
    accepts: Accepts,
    mismatch: Mismatch,
    missing: MissingPolicy,
    codes: bool,
    owner: str,
    bins: Step | None,
) -> list[FittedStep]:
    """Steps of one column; its kind is followed through each step, so that later steps see what earlier ones made."""
    out: list[FittedStep] = []
    kind = spec.kind.name
    names = spec.typed_names

    if spec.text:
        # Models that split columns (they take orders) want counts; those that add them up want rows of one length.
        words = Words(max_words=accepts.text or DEFAULT_WORDS, tfidf=not (accepts.ordinal or accepts.nonnegative))
        return [FittedStep(words, names)]
    target = _target_kind(kind, accepts)
    if target != kind:
        why = f"{kind} is not taken by {owner}"
        if mismatch == "error":
            raise SchemaError(
                f"{owner} takes {accepts} columns; {spec.name!r} is {kind}. Say mismatch='convert' or 'drop', "
                f"change its kind, or choose a model from tilth.matching(X, y)."
            )
        if mismatch == "drop":
            return [FittedStep(Drop(), names, reason=why)]
    if spec.has_missing or missing not in ("auto", "error"):
        handled = _missing_step(spec, kind, target, accepts, missing, owner)
        if handled is not None:
            out.append(
                FittedStep(handled, names, reason="" if spec.has_missing else "in case a value is missing later")
            )
            if isinstance(handled, OwnCategory):
                kind = "nominal"
                target = _target_kind(kind, accepts)
    if target != kind:
        maker = CONVERSIONS[(kind, target)]
        step = IntegerCodes() if codes and (kind, target) == ("nominal", "numeric") else maker()
        if isinstance(step, Bins) and bins is not None:
            step = bins
        out.append(FittedStep(step, names, reason=f"{kind} is not taken by {owner}"))
        if isinstance(step, Bins) and target == "nominal":
            out.append(FittedStep(ForgetOrder(), names))
    if accepts.scaled and target == "numeric" and spec.kind.name != "nominal":  # 0 and 1 of a level are a scale
        out.append(FittedStep(Standardise(), names, reason=f"{owner} weighs all numbers alike"))
    return out


def _target_kind(kind: str, accepts: Accepts) -> str:
    """The kind to turn a column into: itself if taken, else the nearest kind that is."""
    if accepts.kind(kind):
        return kind
    for target in {
        "ordinal": ("numeric", "nominal"),
        "nominal": ("numeric",),
        "numeric": ("ordinal", "nominal"),
    }[kind]:
        if accepts.kind(target):
            return target
    raise SchemaError(f"No conversion leads from {kind} to what the model takes ({accepts}).")


def _missing_step(
    spec: ColumnSpec, kind: str, target: str, accepts: Accepts, missing: MissingPolicy, owner: str
) -> Step | None:
    if missing == "error":
        raise SchemaError(f"Column {spec.name!r} has {spec.n_missing} missing values, and {owner} has missing='error'.")
    if missing in ("auto", "ready"):
        if accepts.missing:
            return None
        if kind == "nominal":
            return OwnCategory() if spec.has_missing else Impute(method="mode")
        return Impute(method="median", indicator=spec.has_missing and kind == "numeric" and target == "numeric")
    if missing == "own":
        if kind == "numeric":
            return Impute(method="median", indicator=True) if target == "numeric" else None
        return OwnCategory()
    return Impute(method=missing)


def _united(steps: list[FittedStep]) -> list[FittedStep]:
    """Neighbouring steps that are equal in all but their columns, as one step over all the columns.

    Steps of different columns never interact, so they may be grouped as long as each column keeps its own order.
    """
    groups: dict[tuple[int, str, str, str], FittedStep] = {}
    depth: dict[str, int] = {}
    for step in steps:
        level = depth.get(step.inputs[0], 0)
        for name in step.inputs:
            depth[name] = level + 1
        key = (level, type(step.step).__name__, repr(step.step.settings()), step.reason)
        if key in groups:
            groups[key].inputs.extend(step.inputs)
        else:
            groups[key] = replace(step, inputs=list(step.inputs))
    return [groups[key] for key in sorted(groups, key=lambda k: k[0])]
