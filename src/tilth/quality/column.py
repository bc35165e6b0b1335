"""One column as the checks see it: sorted values, counts and codes, computed when first asked."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.data.schema import ColumnSpec
from tilth.data.table import RawColumn

#: Forms whose values are codes into a list of levels.
CODED = ("text", "level", "boolean")


class ColumnView:
    """One column: its numbers or its codes, their order and their counts."""

    def __init__(self, raw: RawColumn, spec: ColumnSpec, n_infinite: int = 0) -> None:
        self.raw = raw
        self.spec = spec
        self.name = spec.name
        self.n_infinite = n_infinite

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.raw.values)

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers (also numbers written as text)."""
        # A column set aside may be called numeric although nobody has read its text.
        unread = self.spec.role != "feature" and self.raw.form in CODED
        return self.spec.kind.name == "numeric" and self.raw.form != "date" and not unread

    @property
    def is_coded(self) -> bool:
        """Whether the cells are stored as codes into ``raw.levels``: text, categories, booleans."""
        return self.raw.form in CODED and not self.is_number

    @property
    def is_text(self) -> bool:
        """Whether the cells are words: text or categories that are not numbers."""
        return self.raw.form in ("text", "level") and not self.is_number

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Cells as float64, NaN where missing; also of whole numbers that the user calls levels."""
        if self.raw.form in ("number", "integer"):
            return np.asarray(self.raw.values, dtype=np.float64)
        if self.raw.form == "date":
            values = self.raw.values.astype("datetime64[s]")
            return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
        return np.asarray(self.raw.typed(self.spec), dtype=np.float64)

    @cached_property
    def present(self) -> NDArray[np.float64]:
        """The numbers that are there, sorted."""
        return np.sort(self.numbers[~self.missing])

    def quantiles(self, *shares: float) -> NDArray[np.float64]:
        """Quantiles of the present numbers, linearly interpolated; NaN when there are none."""
        values = self.present
        if not values.size:
            return np.full(len(shares), np.nan)
        at = np.asarray(shares) * (len(values) - 1)
        low = np.floor(at).astype(np.int64)
        high = np.minimum(low + 1, len(values) - 1)
        part = at - low
        return np.asarray((1 - part) * values[low] + part * values[high])  # this form cannot overflow

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        if self.is_coded:
            return np.asarray(self.raw.values < 0)
        return np.isnan(self.numbers)

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(self.missing.sum())

    @cached_property
    def distinct(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Distinct values (numbers sorted, or places among the levels) and how often each occurs."""
        if self.is_coded:
            counts = np.bincount(self.raw.values[self.raw.values >= 0], minlength=len(self.raw.levels))
            places = np.flatnonzero(counts)
            return places, counts[places]
        values = self.present
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        starts = np.concatenate([[0], changes]) if values.size else changes
        return values[starts], np.diff(np.append(starts, values.size))

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.distinct[0])

    @property
    def places(self) -> NDArray[np.int64]:
        """The codes of the distinct values, in the order of ``distinct``."""
        return np.asarray(self.distinct[0], dtype=np.int64) if self.is_coded else np.arange(self.n_distinct)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Place of each cell among the distinct values, -1 where missing."""
        if self.is_coded:
            return self.raw.values.astype(np.int64)
        codes = np.searchsorted(self.distinct[0], self.numbers)
        return np.where(self.missing, -1, codes)

    def label(self, place: int) -> Any:
        """The value that a code stands for."""
        if self.is_coded:
            return self.raw.levels[place]
        value = float(self.distinct[0][place])
        if self.raw.form == "date":
            return str(np.datetime64(int(value), "s")).replace("T00:00:00", "")
        return int(value) if value.is_integer() else value

    def level_counts(self) -> dict[Any, int]:
        """Distinct values and their counts, most frequent first."""
        counts = self.distinct[1]
        places = self.places
        return {self.label(int(places[i])): int(counts[i]) for i in np.argsort(-counts, kind="stable")}

    def text_counts(self) -> dict[Any, int]:
        """The cells of a text column as they are written, numbers too, with their counts; most frequent first."""
        counts = np.bincount(self.raw.values[self.raw.values >= 0], minlength=len(self.raw.levels))
        order = np.argsort(-counts, kind="stable")
        return {self.raw.levels[i]: int(counts[i]) for i in order if counts[i]}

    def take(self, rows: NDArray[np.int64]) -> ColumnView:
        """The column of these rows."""
        return ColumnView(replace(self.raw, values=self.raw.values[rows]), self.spec, self.n_infinite)
