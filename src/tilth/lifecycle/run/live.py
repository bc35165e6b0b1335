"""What a run says while it works: a line per stage, and on a terminal a bar that counts seconds."""

from __future__ import annotations

import math
import shutil
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TextIO

from tilth.lifecycle.run.clock import Clock
from tilth.report.render import printable

#: A line of a stage is cut here when nobody can scroll sideways.
LONGEST = 200


class Live:
    """Tells the stages of a run on a stream, standard error by default."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self.clock = clock
        self.stream = sys.stderr if stream is None else stream
        self._stack = ExitStack()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self.stream.isatty():
            self._bar = _bar(self.stream, self.clock)
            if self._bar is not None:
                self._stack.enter_context(self._bar)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def begin(self, stage: str) -> None:
        """A stage begins: the bar says so."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=stage)

    def say(self, stage: str, text: str) -> None:
        """A stage has something to tell."""
        width = max(shutil.get_terminal_size((LONGEST, 24)).columns, 60) if self._bar is not None else LONGEST
        line = f"{self.clock.used:6.1f} s  {stage:<11}  {printable(' '.join(text.split()))}"
        line = line if len(line) <= width else line[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=self.stream, flush=True)


def _bar(stream: TextIO, clock: Clock) -> Any:
    """A bar whose length is the time used; None where it cannot be drawn."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
        from rich.text import Text
    except ImportError:
        return None

    class Seconds(ProgressColumn):
        """Seconds used and left; drawing it also moves the bar."""

        def render(self, task: Task) -> Text:
            if clock.budget is None or math.isinf(clock.budget):
                return Text(f"{clock.used:.0f} s")
            task.completed = min(clock.used, clock.budget)
            return Text(f"{clock.used:.0f} of {clock.budget:.0f} s")

    bar = Progress(
        TextColumn("{task.description:<12}", markup=False), BarColumn(), Seconds(), console=Console(file=stream),
        transient=True,
    )  # fmt: skip
    bar.add_task("reading", total=clock.budget)
    return bar
