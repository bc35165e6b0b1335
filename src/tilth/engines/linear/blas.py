"""Threads of the linear algebra library: many for a large product, one for many small ones.

Its threads wait for each other by spinning. For products of a millisecond that gains nothing, and when something else
runs on the same cores it costs a hundredfold.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

#: Multiplications from which a product is worth threads.
LARGE = 2e8


@functools.cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[int]:
    """Within it, one thread; gives how many there were."""
    libraries = _libraries()
    before = max((library["num_threads"] for library in libraries.info()), default=1)
    with libraries.limit(limits=1):
        yield before


def threads_for(multiplications: float, threads: int) -> AbstractContextManager[Any]:
    """Within it, so many threads if the work is large."""
    if threads <= 1 or multiplications < LARGE:
        return nullcontext()
    limited: AbstractContextManager[Any] = _libraries().limit(limits=threads)
    return limited
