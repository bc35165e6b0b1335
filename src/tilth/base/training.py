"""What a model learns from, read once: rows, target, weights and side inputs, without rows of weight zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilth.base.columns import require_rows, take_rows
from tilth.base.target import Target, TargetName, check_weight, one_dimensional, split_target
from tilth.data.reading import read
from tilth.data.table import RawTable

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
    table: Any = None
    target: Any = None

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: Any, owner: str, *, need: TargetNeed = "needed", or_matrix: bool = False,
        or_sets: bool = False, side: Mapping[str, Any] | None = None,
    ) -> Training:  # fmt: skip
        """Check and align what was passed to ``fit``; ``y`` may name a column of ``X``, or be a list of such names."""
        name: TargetName
        if need == "none" or (need == "optional" and y is None):
            raw, values, name = read(X), None, y if isinstance(y, str) else None
            raw = raw if name is None else raw.without(name)
        else:
            raw, values, name = split_target(X, y, owner)
        require_rows(raw, owner)
        labels = None if values is None else one_dimensional(
            values, raw.n_rows, owner, or_matrix=or_matrix, or_sets=or_sets
        )  # fmt: skip
        weight = check_weight(sample_weight, raw.n_rows, owner)
        training = cls(raw, labels, weight, name, raw.n_rows, None, side or {})
        if weight is not None and (weight == 0).any():
            kept = np.flatnonzero(weight)
            training.raw, training.weight, training.kept = take_rows(raw, kept), weight[kept], kept
            training.labels = None if labels is None else labels[kept]
        return training

    @property
    def n_rows(self) -> int:
        """Rows that have a weight."""
        return self.raw.n_rows

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
