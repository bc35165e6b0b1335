"""What a model learns from, read once: rows, target, weights and side inputs, without rows of weight zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.base.columns import require_rows, take_rows
from tilth.base.target import Target, TargetName, check_weight, one_dimensional, split_target
from tilth.data.infer import Kinds, of_role
from tilth.data.reading import read
from tilth.data.schema import Role
from tilth.data.table import RawTable
from tilth.errors import SchemaError

Array = NDArray[Any]
#: Whether a model needs a target, can use one, or leaves out the column that ``y`` names.
TargetNeed = Literal["needed", "optional", "none"]


@dataclass
class Training:
    """Rows to learn from. A row of weight zero is a row that is not there: its levels and ranges are not learned.

    ``labels`` is the target as the user gave it and ``target`` as the model takes it (codes or numbers); ``table`` the
    typed rows, or a sparse matrix. ``kept`` are the places of these rows among the ``n_given`` the user passed; None
    means all of them. ``side`` holds further inputs of ``fit`` by name.
    """

    raw: RawTable
    labels: Target | None
    weight: NDArray[np.float64] | None
    name: TargetName
    n_given: int
    kept: NDArray[np.intp] | None = None
    side: Mapping[str, Any] = field(default_factory=dict)
    kinds: Kinds = None
    table: Any = None
    target: Any = None

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: Any, owner: str, *, need: TargetNeed = "needed", or_matrix: bool = False,
        or_sets: bool = False, side: Mapping[str, Any] | None = None, kinds: Kinds = None,
    ) -> Training:  # fmt: skip
        """Check and align what was passed to ``fit``; ``y`` may name a column of ``X``, or be a list of such names.

        ``kinds`` may name the columns of target and weights, which serve where they are not given otherwise.
        """
        name: TargetName
        y = of_role(kinds, "target", owner) if y is None else y
        if need == "none" or (need == "optional" and y is None):
            raw, values, name = read(X), None, y if isinstance(y, str) else None
            raw = raw if name is None else raw.without(name)
        else:
            raw, values, name = split_target(X, y, owner)
        require_rows(raw, owner)
        labels = None if values is None else one_dimensional(
            values, raw.n_rows, owner, or_matrix=or_matrix, or_sets=or_sets
        )  # fmt: skip
        weight = check_weight(weight_of(raw, sample_weight, kinds, owner), raw.n_rows, owner)
        training = cls(raw, labels, weight, name, raw.n_rows, None, side or {}, kinds)
        if weight is not None and (weight == 0).any():
            kept = np.flatnonzero(weight)
            training.raw, training.weight, training.kept = take_rows(raw, kept), weight[kept], kept
            training.labels = None if labels is None else labels[kept]
        return training

    @property
    def n_rows(self) -> int:
        """Rows that have a weight."""
        return self.raw.n_rows

    def role(self, role: Role, owner: str) -> Array | None:
        """The cells of the column with this role, one for each row that is kept; None where no column has it."""
        name = of_role(self.kinds, role, owner)
        return None if name is None else self.raw.column(name).labels()

    def of_rows(self, name: str, owner: str) -> Array | None:
        """The side input of this name, one entry for each row that is kept; None where it was not given."""
        values = self.side.get(name)
        if values is None:
            return None
        entries = np.asarray(values)
        if entries.shape != (self.n_given,):
            raise ValueError(
                f"{owner}: {name} needs one entry for each of the {self.n_given} rows; got shape {entries.shape}."
            )
        return entries if self.kept is None else entries[self.kept]


def weight_of(raw: RawTable, sample_weight: Any, kinds: Kinds, owner: str) -> Any:
    """The weights that were given, or else those of the column with the role "weight"."""
    name = of_role(kinds, "weight", owner) if sample_weight is None else None
    if name is None:
        return sample_weight
    column = raw.column(name)
    if column.form not in ("number", "integer"):
        raise SchemaError(
            f"{owner}: the column {name!r} has the role 'weight', which needs numbers; it holds {column.form}."
        )
    return column.values
