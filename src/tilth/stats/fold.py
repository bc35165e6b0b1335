"""Fold: one statistic over many chunks, the only place that knows how the work is spread.

Each chunk gets its own empty statistic, and the results merge in the order of the chunks. So the answer has
the same bits for every backend and every number of workers; only the way the rows are cut into chunks can
change it, and then by rounding alone.

Chunks may come from a lazy iterator, such as the pieces of a file larger than memory: it is read in one
thread, and never more than ``2 * workers`` chunks ahead of what has been merged.

A backend is a function ``runner(task, chunks, workers)`` that yields ``task(chunk)`` for every chunk, in
order. `task` can be pickled when `make` and `update` can, and a chunk is passed on without being looked at,
so a runner for a cluster is a few lines; with Dask::

    def dask_runner(task, chunks, workers):
        client = distributed.get_client()
        for chunk in chunks:
            yield client.submit(task, chunk, pure=False).result()   # or keep several in flight

    register_backend("dask", dask_runner)
    fold(partial(Moments.empty, 2, 10), parts, backend="dask")
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tilth import progress
from tilth.stats.inputs import as_size
from tilth.stats.statistic import Statistic

StatisticT = TypeVar("StatisticT", bound=Statistic)
ChunkT = TypeVar("ChunkT")
Runner = Callable[[Callable[[Any], Any], Iterable[Any], int], Iterable[Any]]


def fold(
    make: Callable[[], StatisticT],
    chunks: Iterable[ChunkT],
    update: Callable[[StatisticT, ChunkT], object] | None = None,
    *,
    backend: str = "serial",
    workers: int | None = None,
    title: str = "Reading rows",
) -> StatisticT:
    """Return the statistic of all chunks.

    Parameters
    ----------
    make
        Gives a new, empty statistic.
    chunks
        The pieces of the data; a lazy iterator is read as needed.
    update
        Adds a chunk to a statistic. Without it a chunk that is a tuple becomes the arguments of the
        statistic's own ``update`` and any other chunk its single argument.
    backend
        "serial", "threads", or a name given to `register_backend`.
    workers
        How many chunks are worked on at the same time; by default one for each processor.
    title
        Name of the work in progress reports.

    Examples
    --------
    >>> from functools import partial
    >>> from tilth.stats import Moments
    >>> chunks = [([[1.0], [2.0]],), ([[3.0]],)]
    >>> fold(partial(Moments.empty, 1, 1), chunks, backend="threads", workers=2).mean
    array([[2.]])
    """
    runner = _backends.get(backend)
    if runner is None:
        raise ValueError(
            f"fold knows the backends {', '.join(sorted(_backends))}, but was asked for {backend!r}. "
            "Add one with tilth.stats.register_backend."
        )
    n_workers = _processors() if workers is None else as_size(workers, 1, "workers")
    source = _Numbered(chunks)
    merged: StatisticT | None = None
    n_merged = 0
    with progress.task(title, total=len(chunks) if isinstance(chunks, Sized) else None) as report:
        results = runner(_ChunkTask(make, update), source, n_workers)
        try:
            for part in results:
                if merged is None:
                    merged = part
                else:
                    merged += part
                n_merged += 1
                report.advance()
        finally:
            # Left by an error or an interrupt, a generator must stop its workers now, not when collected.
            if isinstance(results, Generator):
                results.close()
    if n_merged != source.n_read:
        raise RuntimeError(
            f"The fold backend {backend!r} read {source.n_read} chunks but gave back {n_merged} results. "
            "A runner must yield one result for every chunk, in order."
        )
    return make() if merged is None else merged


def register_backend(name: str, runner: Runner) -> None:
    """Make `runner` available as ``fold(..., backend=name)``.

    ``runner(task, chunks, workers)`` yields ``task(chunk)`` for each chunk in order, as the module says.
    """
    if name in ("serial", "threads"):
        raise ValueError(f"The fold backend {name!r} is built in; choose another name.")
    if not callable(runner):
        raise TypeError(f"A fold backend must be a function of (task, chunks, workers), but is {runner!r}.")
    _backends[name] = runner


@dataclass(frozen=True, slots=True)
class _ChunkTask(Generic[StatisticT, ChunkT]):
    """Makes the statistic of one numbered chunk; can be sent to another process."""

    make: Callable[[], StatisticT]
    update: Callable[[StatisticT, ChunkT], object] | None

    def __call__(self, numbered: tuple[int, ChunkT]) -> StatisticT:
        number, chunk = numbered
        try:
            statistic = self.make()
            if self.update is not None:
                self.update(statistic, chunk)
            elif isinstance(chunk, tuple):
                statistic.update(*chunk)
            else:
                statistic.update(chunk)
        except Exception as error:
            error.add_note(f"This happened in chunk {number} of the fold (the first is chunk 0).")
            raise
        return statistic


class _Numbered(Generic[ChunkT]):
    """The chunks with their numbers, counting how many were read."""

    def __init__(self, chunks: Iterable[ChunkT]) -> None:
        self.n_read = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[tuple[int, ChunkT]]:
        chunks = iter(self._chunks)
        while True:
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"This happened while chunk {self.n_read} was read (the first is chunk 0).")
                raise
            self.n_read += 1
            yield self.n_read - 1, chunk
            del chunk  # or this chunk would stay in memory while the next one is read


def _run_serial(task: Callable[[Any], Any], chunks: Iterable[Any], workers: int) -> Iterator[Any]:
    return map(task, chunks)


def _run_threads(task: Callable[[Any], Any], chunks: Iterable[Any], workers: int) -> Iterator[Any]:
    ahead = 2 * workers
    pending: deque[Future[Any]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tilth-fold")
    try:
        for chunk in chunks:
            # A copy of the caller's context lets progress reports from the thread find their listeners.
            pending.append(pool.submit(copy_context().run, task, chunk))
            del chunk
            if len(pending) == ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_backends: dict[str, Runner] = {"serial": _run_serial, "threads": _run_threads}
