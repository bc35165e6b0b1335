"""Targets and what a model said of them: what every measure of quality is a function of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """True targets and the answers of one model, one entry per row.

    ``true`` and ``given`` are places in ``classes``, or numbers (n x m for m outputs). ``probability`` is n x k in the
    order of ``classes``. ``score`` is one number per row: more of the last class, more anomalous, ranked further up.
    ``group`` says which rows belong together: the query of a ranking, or rows that are not independent of each other.
    """

    true: NDArray[Any]
    given: NDArray[Any]
    probability: Floats | None = None
    score: Floats | None = None
    weight: Floats | None = None
    classes: NDArray[Any] | None = None
    group: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        n = len(self.true)
        for name in ("given", "probability", "score", "weight", "group"):
            part = getattr(self, name)
            if part is not None and len(part) != n:
                raise ValueError(f"Answers needs as many entries in {name} as true targets ({n}), found {len(part)}.")

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def n_groups(self) -> int | None:
        """Number of groups, None where every row stands alone."""
        return None if self.group is None else len(np.unique(self.group))

    @property
    def ranking_score(self) -> Floats | None:
        """One number per row for measures of order: ``score``, or the probability of the last of two classes."""
        if self.score is not None or self.probability is None or self.probability.shape[1] != 2:
            return self.score
        return self.probability[:, 1]

    def output(self, place: int) -> Answers:
        """One of several outputs by itself."""
        return Answers(self.true[:, place], self.given[:, place], weight=self.weight, group=self.group)

    def rows(self, index: NDArray[Any]) -> Answers:
        """Some of the rows."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return Answers(**{k: v if v is None or k == "classes" else v[index] for k, v in parts.items()})

    @classmethod
    def join(cls, several: list[Answers]) -> Answers:
        """The rows of several sets of answers, one after the other; parts that not all of them have are dropped."""
        parts: dict[str, Any] = {"classes": several[0].classes}
        for field in fields(cls):
            if field.name == "classes":
                continue
            parts_of_field = [getattr(a, field.name) for a in several]
            parts[field.name] = None if any(v is None for v in parts_of_field) else np.concatenate(parts_of_field)
        return cls(**parts)
