"""Small bundled tables and simulated ones, each with a card of origin, terms and cautions.

``load("weather")`` and ``load_weather()`` are the same call; there is one ``load_<name>`` per bundled table.
"""

from collections.abc import Callable
from functools import partial

from tilth.data.datasets._simulated import make_engines, make_mixed
from tilth.data.datasets._tables import Card, Dataset, cards, load, names

__all__ = ["Card", "Dataset", "cards", "load", "make_engines", "make_mixed", "names"]

_LOADER_PREFIX = "load_"


def __getattr__(name: str) -> Callable[[], Dataset]:
    table = name.removeprefix(_LOADER_PREFIX)
    if table != name and table in names():
        return partial(load, table)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(_LOADER_PREFIX + table for table in names())])
