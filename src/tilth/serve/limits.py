"""How much a server takes on: rows, bytes, requests at once, seconds; and the gate that keeps to it."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tilth.serve.refusal import Refusal

T = TypeVar("T")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
#: All bodies that are being read together may hold this many times what a single one may.
_BODIES = 8
#: How the names of the threads begin.
THREADS = "tilth-serve"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server refuses to go beyond.

    Parameters
    ----------
    max_rows : rows of one request.
    max_explained : rows of one request that are explained, which costs far more than predicting.
    max_bytes : size of a request's body.
    max_requests : predictions waiting or running at once; one more is told to come back.
    timeout : seconds to send a request, and seconds to answer it.
    """

    max_rows: int = 10_000
    max_explained: int = 100
    max_bytes: int = 10 * 2**20
    max_requests: int = 64
    timeout: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{field.name} must be a number above 0; got {value!r}.")


def parse_size(text: str) -> int:
    """A size as people type it, in bytes.

    >>> parse_size("512"), parse_size("10m"), parse_size("2 GB")
    (512, 10485760, 2147483648)
    """
    match = re.fullmatch(r"\s*(\d{1,15})\s*([kmg]?)i?b?\s*", text.lower())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r} is not a size; write bytes, or a number with k, m or g, such as 10m.")
    return int(match[1]) * _UNITS[match[2]]


class Gate:
    """Lets in as many requests as the limits say, and runs them on threads so that the server can go on listening.

    Used from one event loop. A request that takes too long or whose client has left is given up, but its thread counts
    until it is done.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.inside = 0
        self.held = 0
        self._lock = threading.Lock()
        # More threads than cores only wait for each other: kernels use the cores, and Python one of them.
        self._pool = ThreadPoolExecutor(min(limits.max_requests, os.cpu_count() or 1), THREADS)

    async def run(
        self, work: Callable[..., T], *arguments: Any, left: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> T:
        """The result of ``work``, done on a thread; ``left`` ends once nobody waits for it any more."""
        with self._lock:
            if self.inside >= self.limits.max_requests:
                raise overloaded(f"{self.limits.max_requests} requests are being answered already")
            self.inside += 1
        job = self._pool.submit(work, *arguments)
        job.add_done_callback(self._left)
        answer = asyncio.wrap_future(job)
        leaving = [] if left is None else [asyncio.create_task(left())]
        try:
            ends: list[asyncio.Future[Any]] = [answer, *leaving]
            done, _ = await asyncio.wait(ends, timeout=self.limits.timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in leaving:
                task.cancel()
        if answer in done:
            return answer.result()
        answer.cancel()  # a thread that has begun cannot be stopped; one that has not never will
        if done:
            raise Refusal(400, "disconnected", "The client left before it was answered.")
        raise Refusal(504, "timeout", f"The answer took more than {self.limits.timeout:g} seconds; send fewer rows.")

    def _left(self, job: Future[Any]) -> None:
        with self._lock:
            self.inside -= 1

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Count the bytes of a body while it is in memory; too many of them in all are refused."""
        mine = 0

        def more(size: int) -> None:
            nonlocal mine
            mine += size
            self.held += size
            if self.held > _BODIES * self.limits.max_bytes:
                raise overloaded("other requests are sending too much at once")

        try:
            yield more
        finally:
            self.held -= mine

    def close(self) -> None:
        """Take no more work; what has begun may end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def overloaded(why: str) -> Refusal:
    """The answer to one request too many."""
    return Refusal(503, "overloaded", f"The server is busy: {why}. Try again.", headers={"Retry-After": "1"})
