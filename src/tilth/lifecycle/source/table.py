"""A table that was read from somewhere, and the error of one that cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from tilth.data.datasets import Card


class SourceError(ValueError):
    """A file that cannot be read as a table; the message says where and what to do."""


@dataclass
class Source:
    """A table that was read; ``notes`` say what had to be decided to read it, ``card`` is that of a bundled table.

    ``total`` is about how many rows the file has, where only some of them were read; ``part`` is how much of it was
    (bytes of a text, rows of a parquet file): the same part is read again when it is asked for.
    """

    frame: pd.DataFrame
    name: str
    notes: list[str] = field(default_factory=list)
    card: Card | None = None
    total: int | None = None
    part: int | None = None
