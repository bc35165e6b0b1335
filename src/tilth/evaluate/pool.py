"""Jobs one after the other, or in other processes where that pays or where they must be stoppable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from time import monotonic
from typing import Any

#: Work left that is worth starting processes for, in seconds: they take one or two to come up.
WORTH_SECONDS = 8.0
#: A fit that keeps more than this many cores busy has no need of others beside it.
BUSY_CORES = 1.3


@dataclass(frozen=True, eq=False)
class Job:
    """A call, with the key that tells its result from others."""

    key: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __call__(self) -> Any:
        """Make the call."""
        return self.function(*self.arguments)


@dataclass
class Pool:
    """How jobs are run.

    ``workers`` None: here, one after the other, unless the first jobs show that one core is idle and much is left to
    do. ``timeout``: seconds after which a job is given up; its result is then the text that says so.
    """

    workers: int | None = None
    timeout: float | None = None

    def run(self, jobs: list[Job]) -> Iterator[tuple[Any, Any]]:
        """(key, result) of every job, as they are done."""
        if self.timeout is not None:
            yield from self._elsewhere(jobs, self.workers or 1)
            return
        if self.workers is not None and self.workers > 1:
            yield from self._elsewhere(jobs, self.workers)
            return
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wall = cpu = 0.0
        for place, job in enumerate(jobs):
            left = len(jobs) - place
            worth = place > 0 and wall / place * left > WORTH_SECONDS and cpu < BUSY_CORES * wall
            if self.workers is None and cores > 1 and worth and _can_travel(job):
                yield from self._elsewhere(jobs[place:], min(cores, left))
                return
            start, used = time.perf_counter(), time.process_time()
            result = job()
            wall, cpu = wall + time.perf_counter() - start, cpu + time.process_time() - used
            yield job.key, result

    def _elsewhere(self, jobs: list[Job], workers: int) -> Iterator[tuple[Any, Any]]:
        """In processes of their own; those of a job that takes too long are ended and started anew."""
        from joblib.externals.loky import get_reusable_executor

        waiting = list(reversed(jobs))
        running: dict[Future[Any], tuple[Job, float]] = {}
        executor: Any = None
        warm: Any = None
        try:
            while waiting or running:
                executor = get_reusable_executor(max_workers=workers, timeout=60)
                if self.timeout is not None and executor is not warm:
                    # The clock of a job must not run while its process comes up.
                    wait([executor.submit(_nothing) for _ in range(workers)])
                    warm = executor
                while waiting and len(running) < workers:
                    job = waiting.pop()
                    running[executor.submit(job.function, *job.arguments)] = (job, monotonic())
                done, _ = wait(list(running), self._patience(running), FIRST_COMPLETED)
                for future in done:
                    job, _ = running.pop(future)
                    error = future.exception()
                    yield job.key, future.result() if error is None else f"{type(error).__name__}: {error}"
                late = [f for f, (_, since) in running.items() if self._late(since)]
                if late:
                    # Waited for: the next executor would take back the wish to kill, and the process would never end.
                    executor.shutdown(wait=True, kill_workers=True)
                    for future in late:
                        job, _ = running.pop(future)
                        yield job.key, f"no result within {self.timeout:g} s; it was stopped"
                    waiting.extend(job for job, _ in running.values())
                    running.clear()
        except BaseException:
            if executor is not None:
                executor.shutdown(wait=True, kill_workers=True)
            raise

    def _late(self, since: float) -> bool:
        return self.timeout is not None and monotonic() - since > self.timeout

    def _patience(self, running: dict[Future[Any], tuple[Job, float]]) -> float | None:
        if self.timeout is None:
            return None
        first = min(since for _, since in running.values())
        return max(0.01, self.timeout - (monotonic() - first) + 0.01)


def _nothing() -> None:
    """A call that shows that a process is there."""


def _can_travel(job: Job) -> bool:
    """Whether a job can be sent to another process."""
    import pickle

    try:
        pickle.dumps(job.arguments[0])
    except Exception:  # whatever refuses to be pickled stays here
        return False
    return True
