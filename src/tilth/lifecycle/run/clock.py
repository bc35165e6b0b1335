"""The time of a run: a budget for everything, shared among stages, and what each stage took."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

#: Seconds kept for pictures and pages when the budget allows it, and the share of the budget they may take at most.
PAGES_SECONDS, PAGES_SHARE = 6.0, 0.25


@dataclass
class Clock:
    """Counts from the start of a run, or from ``began``; ``budget`` None never ends; tests replace ``now``."""

    budget: float | None = None
    now: Callable[[], float] = time.monotonic
    began: float | None = None
    stages: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = self.now() if self.began is None else self.began
        #: Seconds that the fits after the contest will take, as far as is known.
        self.owed = 0.0
        #: Whether somebody asked for the end: then no time is left.
        self.stopped = False

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return self.now() - self.start

    @property
    def left(self) -> float:
        """Seconds until the pages must be written, less the fits that must still be made."""
        if self.stopped:
            return 0.0
        if self.budget is None:
            return math.inf
        return self.budget - self.used - min(PAGES_SECONDS, PAGES_SHARE * self.budget) - self.owed

    def until(self, share: float) -> float:
        """Seconds until this share of the whole budget is used; never more than what is left."""
        if self.stopped or self.budget is None:
            return self.left
        return min(self.left, share * self.budget - self.used)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Ctrl-C stops the clock as well: work that keeps what it has done and goes on must hear of it too."""

        def stop(*_: Any) -> None:
            self.stopped = True
            raise KeyboardInterrupt

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note what a stage takes, however it ends."""
        begin = self.now()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + self.now() - begin
