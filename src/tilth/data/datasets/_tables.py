"""Bundled tables: their cards, and the reader that turns a name into a `Dataset`."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Kinds = dict[str, str | list[Any]]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a user must know about a table before using it: origin, terms, task, use and cautions."""

    name: str
    title: str
    source: str
    terms: str
    task: str
    rows: int
    columns: int
    good_for: str
    cautions: str
    target: str | None = None
    target_levels: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    index: str | None = None
    kinds: Mapping[str, str | tuple[Any, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.title} ({self.rows} rows x {self.columns} columns)",
            f"  task       {self.task}" + (f", target {self.target}" if self.target else ""),
            f"  source     {self.source}",
            f"  terms      {self.terms}",
            f"  good for   {self.good_for}",
            f"  cautions   {self.cautions}",
        ]
        if self.sensitive:
            lines.append(f"  sensitive  {', '.join(self.sensitive)}")
        if self.ignore:
            lines.append(f"  not features  {', '.join(self.ignore)}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its card.

    ``frame`` holds features and target. ``kinds`` names only the feature columns whose kind cannot
    be read off their values: ``"nominal"``, or the levels of an ordinal from low to high.
    """

    card: Card
    frame: pd.DataFrame

    @property
    def name(self) -> str:
        """Name the table is loaded by."""
        return self.card.name

    @property
    def task(self) -> str:
        """Task of the card, for example ``"classification"``."""
        return self.card.task

    @property
    def target(self) -> str | None:
        """Name of the target column, None for a table without one."""
        return self.card.target

    @property
    def kinds(self) -> Kinds:
        """Overrides for kind inference, a fresh dict that may be passed on and changed."""
        return {name: kind if isinstance(kind, str) else list(kind) for name, kind in self.card.kinds.items()}

    @property
    def X(self) -> pd.DataFrame:
        """The frame without the target."""
        return self.frame if self.target is None else self.frame.drop(columns=self.target)

    @property
    def y(self) -> pd.Series[Any]:
        """The target column."""
        if self.target is None:
            raise ValueError(f"The table {self.name!r} has no target column; use its frame alone.")
        return self.frame[self.target]

    def Xy(self) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """Return features and target, ready to unpack.

        Examples
        --------
        >>> from tilth.data import datasets
        >>> X, y = datasets.load("weather").Xy()
        >>> X.shape, y.value_counts().to_dict()
        ((14, 4), {'Yes': 9, 'No': 5})
        """
        return self.X, self.y

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"Dataset({self.name!r}, {rows} rows x {columns} columns, target={self.target!r})"


def _frozen(value: Any) -> Any:
    """Turn the lists of a parsed card into tuples, so that a card cannot be changed by a caller."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


@cache
def _all_cards() -> dict[str, Card]:
    text = files(__package__).joinpath("cards.toml").read_text(encoding="utf-8")
    return {
        name: Card(name=name, **{key: _frozen(value) for key, value in entry.items()})
        for name, entry in tomllib.loads(text).items()
    }


def cards() -> dict[str, Card]:
    """Return the cards of all bundled tables by name.

    Examples
    --------
    >>> from tilth.data import datasets
    >>> datasets.cards()["penguins"].terms
    'CC0'
    """
    return dict(_all_cards())


def names() -> list[str]:
    """Return the names of all bundled tables in alphabetical order."""
    return sorted(_all_cards())


def load(name: str) -> Dataset:
    """Load a bundled table by name; a new frame at each call.

    An empty cell is missing. Strings such as ``N/A`` stay as they are: to find disguised missing values
    is a later step's work.

    Examples
    --------
    >>> from tilth.data import datasets
    >>> datasets.load("penguins")
    Dataset('penguins', 344 rows x 8 columns, target='species')
    """
    import pandas as pd

    if name not in _all_cards():
        close = difflib.get_close_matches(str(name).lower(), names(), n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Known: {', '.join(names())}."
        raise ValueError(f"load needs the name of a bundled table, found {name!r}. {hint}")
    card = _all_cards()[name]
    folder = files(__package__)
    packed = folder.joinpath(f"{name}.csv.gz")
    is_packed = packed.is_file()
    source = packed if is_packed else folder.joinpath(f"{name}.csv")
    with source.open("rb") as stream:
        frame = pd.read_csv(
            stream,
            compression="gzip" if is_packed else None,
            index_col=card.index,
            keep_default_na=False,
            na_values=[""],
        )
    return Dataset(card, frame)
