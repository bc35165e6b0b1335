"""Leave columns out, by name or by kind."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import declared
from tilth.data import steps
from tilth.data.schema import Schema
from tilth.models.prepare.base import StepTransformer


@declared
class DropColumns(StepTransformer, steps.Drop):
    """Leave out the columns named in ``columns`` (none by default).

    >>> DropColumns(columns="b").fit_transform({"a": [1.0], "b": [2.0]}).columns.tolist()
    ['a']
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}

    def _chosen(self, schema: Schema) -> list[str]:
        if self.columns is None:
            return []
        gone = set(self._named(schema))
        return [c.name for c in schema.features if c.name in gone]


@declared
class SelectKinds(StepTransformer, steps.SelectKinds):
    """Keep only the columns of some kinds.

    >>> SelectKinds(keep="numeric").fit_transform({"age": [31.0, 47.0], "job": ["cook", "nurse"]}).columns.tolist()
    ['age']
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "nothing is learned but the columns"}

    excused: ClassVar[dict[str, str]] = {"check_kinds": "a table without the kinds to keep has no column left"}
