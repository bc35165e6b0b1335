"""Passes over the rows of a chunked source, for models that need more than one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tilth.stats.fold import fold
from tilth.stats.statistic import Statistic

if TYPE_CHECKING:
    from tilth.data.chunks import Chunks

StatisticT = TypeVar("StatisticT", bound=Statistic)


@dataclass(frozen=True)
class Passes:
    """A fold over all rows whenever it is called.

    ``read(chunk)`` gives the typed table, the target and the weights of a chunk as the model sees them.
    """

    chunks: Chunks | Sequence[Any]
    read: Callable[[Any], tuple[Any, ...]]
    backend: str = "serial"
    workers: int | None = None
    title: str = "Reading rows"

    def __call__(self, make: Callable[[], StatisticT], update: Callable[..., object]) -> StatisticT:
        """The statistic of all rows; ``update(statistic, table, target, weight)`` adds a chunk."""
        return fold(
            make, self.chunks, _Update(self.read, update), backend=self.backend, workers=self.workers, title=self.title
        )


@dataclass(frozen=True)
class _Update:
    """Reads a chunk and adds it; can be sent to another process."""

    read: Callable[[Any], tuple[Any, ...]]
    update: Callable[..., object]

    def __call__(self, statistic: Any, chunk: Any) -> None:
        self.update(statistic, *self.read(chunk))
