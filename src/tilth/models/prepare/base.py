"""Steps as estimators: the conversions that models make on their own, for use in pipelines and by hand."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tilth.base import (
    Accepts,
    Section,
    declared,
    param,
)
from tilth.base.columns import align
from tilth.base.preparation import Preparation
from tilth.base.transformer import like_input
from tilth.data.convert import Plan
from tilth.data.kinds import Kind
from tilth.data.reading import read
from tilth.data.schema import ColumnSpec, Schema
from tilth.data.steps import FittedStep, Step
from tilth.data.table import Table
from tilth.errors import SchemaError
from tilth.params import params_of


@declared
class StepTransformer(Preparation):
    """A step (:mod:`tilth.data.steps`) as a transformer: learned in ``fit``, applied in ``transform``.

    Columns the step does not touch stay where they are; columns that inference sets aside (identifiers, empty
    columns) are left out, as ``print(transformer.plan_)`` shows. An array gives an array when everything is numeric,
    any other table a pandas frame whose (ordered) categories the next model reads as the same kinds.
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    learned: ClassVar[dict[str, str]] = {"names_out_": "str[q]"}
    #: The step that does the work; found among the base classes.
    step: ClassVar[type[Step]]

    columns: Any = param(None, doc="Names or places of the columns; None takes all that the step takes.")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = [c for c in cls.__mro__ if issubclass(c, Step) and not issubclass(c, StepTransformer)]
        if own:
            cls.step = own[0]

    def learn(self, table: Table, target: Any, weight: Any) -> None:
        """The step is part of the plan, which is fitted already."""
        self.names_out_ = list(self.plan_.outputs)
        self.warn_on_fit()

    def warn_on_fit(self) -> None:
        """Say what deserves attention in what was learned; most steps have nothing to say."""

    def convert(self, rows: Table) -> Table:
        """Nothing is left to do after the plan."""
        return rows

    @property
    def fitted_step(self) -> FittedStep | None:
        """The step with what it learned of each column; None when there was no column for it."""
        check_is_fitted(self)
        done = [s for s in self.plan_.steps if type(s.step) is type(self).step]
        return done[-1] if done else None

    @property
    def explain_(self) -> str:
        """What was learned, one line per column."""
        done = self.fitted_step
        if done is None:
            return f"{type(self).__name__}: no column to convert"
        pairs = zip(done.inputs, done.states, strict=True)
        return "\n".join(f"{name}: {done.step.tell(state) or done.step.verb}" for name, state in pairs)

    def sections(self) -> list[Section]:
        """Report pages, with what was learned of each column."""
        return [*super().sections(), Section("Learned", self.explain_)]

    def _plan(self, schema: Schema) -> Plan:
        plan = super()._plan(schema)
        step = type(self).step(**{name: getattr(self, name) for name in params_of(type(self).step)})
        inputs = self._chosen(schema)
        if inputs:
            plan.steps.append(FittedStep(step, inputs))
        return plan

    def _chosen(self, schema: Schema) -> list[str]:
        """Names of the columns to convert, in the order of the table."""
        if self.columns is None:
            taken = [c for c in schema.features if c.kind.name in type(self).step.takes]
            return [name for spec in taken for name in spec.typed_names]
        wanted = set(self._named(schema))
        for spec in schema.columns:
            if spec.name in wanted and spec.role != "feature":
                raise SchemaError(
                    f"{type(self).__name__}: column {spec.name!r} was set aside ({spec.reason}); "
                    f"say kinds={{{spec.name!r}: ...}} to use it."
                )
        return [name for spec in schema.columns if spec.name in wanted for name in spec.typed_names]

    def _named(self, schema: Schema) -> list[str]:
        """The names behind ``columns``, which may hold names and places."""
        owner, known = type(self).__name__, list(schema.names)
        columns = [self.columns] if isinstance(self.columns, (str, int, np.integer)) else list(self.columns)
        out = []
        for one in columns:
            if isinstance(one, (int, np.integer)) and not isinstance(one, bool):
                if not -len(known) <= one < len(known):
                    raise SchemaError(f"{owner}: there is no column number {one}; the table has {len(known)} columns.")
                out.append(known[int(one)])
            elif one in known:
                out.append(one)
            else:
                near = get_close_matches(str(one), known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(map(repr, known[:12]))}."
                raise SchemaError(f"{owner}: columns names {one!r}, which is not in the table; {hint}")
        return out


@declared
class InvertibleTransformer(StepTransformer):
    """A step that can be undone."""

    def inverse_transform(self, X: Any) -> Any:
        """The rows that :meth:`transform` would turn into ``X``."""
        check_is_fitted(self)
        raw = read(X)
        done = self.fitted_step
        converted = {} if done is None else dict(zip(done.inputs, done.states, strict=True))
        specs = []
        for name in self.names_out_:
            kind = Kind("numeric") if name in converted or name not in self.schema_.names else self.schema_[name].kind
            specs.append(ColumnSpec(name, kind, ""))
        schema = Schema(tuple(specs), named=self.schema_.named)
        table = align(raw, schema, type(self).__name__).typed(schema)
        step: Any = None if done is None else done.step
        columns = [
            back
            for column in table.columns
            for back in (step.invert(column, converted[column.name]) if column.name in converted else [column])
        ]
        return like_input(Table(columns, table.n_rows), raw, X)
