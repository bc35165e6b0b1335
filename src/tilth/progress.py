"""Progress of long work, for people and for programs.

Work says what it does with `task`; nobody hears it, at next to no cost, until a caller asks::

    with tilth.progress.show():          # a bar on a terminal or in a notebook, a few plain lines elsewhere
        model.fit(X, y)

    with tilth.progress.listen(print):   # every event as a dict
        model.fit(X, y)

Listeners belong to the context they were installed in (`contextvars`): two threads that each listen hear
their own work only. A task reports to the listeners of the place where it began, from whichever thread it is
advanced.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self, TextIO, TypedDict

from tilth.words import duration

if TYPE_CHECKING:
    from rich.progress import TaskID

State = Literal["start", "advance", "end", "failed"]


class Event(TypedDict):
    """What a listener receives; `total` is None when the amount of work is not known."""

    id: int
    title: str
    state: State
    done: float
    total: float | None
    seconds: float
    depth: int


Listener = Callable[[Event], object]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("tilth_progress_listeners", default=())
_depth: ContextVar[int] = ContextVar("tilth_progress_depth", default=0)
_ids = count(1)


class Task(Protocol):
    """Work under way."""

    def advance(self, n: float = 1) -> None:
        """Say that `n` more units are done; safe from any thread."""


@contextmanager
def task(title: str, total: float | None = None) -> Iterator[Task]:
    """Announce a piece of work of `total` units (None: not known) and give an object with ``advance(n=1)``.

    Examples
    --------
    >>> with listen(lambda event: print(event["title"], event["done"], "of", event["total"])):
    ...     with task("Growing trees", total=2) as work:
    ...         work.advance()
    ...         work.advance()
    Growing trees 0 of 2
    Growing trees 1 of 2
    Growing trees 2 of 2
    Growing trees 2 of 2
    """
    listeners = _listeners.get()
    if not listeners:
        yield _SILENT
        return
    running = _RunningTask(title, total, listeners, _depth.get())
    inner = _depth.set(_depth.get() + 1)
    try:
        running.report("start")
        yield running
    except BaseException:
        running.report("failed")
        raise
    else:
        running.report("end")
    finally:
        _depth.reset(inner)


@contextmanager
def listen(callback: Listener) -> Iterator[None]:
    """Call `callback` with an `Event` dict at the start, each advance and the end of every task inside.

    A callback that raises stops the work: the exception passes through the task to the caller.
    """
    installed = _listeners.set((*_listeners.get(), callback))
    try:
        yield
    finally:
        _listeners.reset(installed)


@contextmanager
def show(stream: TextIO | None = None, *, gap: float = 1.0) -> Iterator[None]:
    """Show the progress of every task inside, on `stream` (standard error by default).

    A terminal or a notebook gets a bar; anything else gets about ten plain lines per task at most, at least
    `gap` seconds apart. Inside another `show` of the same stream it changes nothing.
    """
    with ExitStack() as stack:
        target = sys.stderr if stream is None else stream
        shown = any(isinstance(known, _Display) and known.stream is target for known in _listeners.get())
        if not shown:
            notebook = stream is None and "ipykernel" in sys.modules
            display = _bar_display(target, notebook) or _LineDisplay(target, gap)
            stack.enter_context(display)
            stack.enter_context(listen(display))
        yield


class _SilentTask:
    """Stands in for a task that nobody listens to."""

    __slots__ = ()

    def advance(self, n: float = 1) -> None:
        pass


_SILENT = _SilentTask()


class _RunningTask:
    __slots__ = ("_depth", "_done", "_id", "_listeners", "_lock", "_started", "_title", "_total")

    def __init__(self, title: str, total: float | None, listeners: tuple[Listener, ...], depth: int) -> None:
        self._id = next(_ids)
        self._title = title
        self._total = total
        self._done: float = 0
        self._listeners = listeners
        self._depth = depth
        self._started = time.perf_counter()
        self._lock = threading.RLock()

    def advance(self, n: float = 1) -> None:
        # Under the lock a listener sees `done` only rise, even when threads advance the same task.
        with self._lock:
            self._done += n
            self.report("advance")

    def report(self, state: State) -> None:
        event = Event(
            id=self._id,
            title=self._title,
            state=state,
            done=self._done,
            total=self._total,
            seconds=time.perf_counter() - self._started,
            depth=self._depth,
        )
        for listener in self._listeners:
            listener(event)


class _Display:
    """A listener that draws on a stream while its context is open."""

    stream: TextIO

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        raise NotImplementedError


class _LineDisplay(_Display):
    """Plain lines: at each tenth of a known total, or at counts that grow threefold when it is not known."""

    def __init__(self, stream: TextIO, gap: float) -> None:
        self.stream = stream
        self._gap = gap
        self._last_line = -float("inf")
        self._next_done: dict[int, float] = {}
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        with self._lock:
            if self._is_due(event, time.perf_counter()):
                self.stream.write("  " * event["depth"] + _line(event) + "\n")
                self.stream.flush()

    def _is_due(self, event: Event, now: float) -> bool:
        state, done, total = event["state"], event["done"], event["total"]
        if state == "start":
            self._next_done[event["id"]] = 1 if total is None else total / 10
            return False
        if state != "advance":
            del self._next_done[event["id"]]
            # The outermost task always says how it ended; an inner one that was quick is not worth a line.
            due = event["depth"] == 0 or event["seconds"] >= self._gap
        elif done < self._next_done[event["id"]] or done == total:  # the last step is the closing line's
            return False
        else:
            due = now - self._last_line >= self._gap
            if due:
                self._next_done[event["id"]] = _milestone_after(done, total)
        if due:
            self._last_line = now
        return due


def _milestone_after(done: float, total: float | None) -> float:
    if total is None:
        return 3 * done
    return (done * 10 // total + 1) * total / 10 if total > 0 else float("inf")


def _bar_display(stream: TextIO, notebook: bool) -> _Display | None:
    """Return a display with bars, or None where bars cannot be drawn."""
    if not notebook and not stream.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError:
        return None

    class BarDisplay(_Display):
        def __init__(self) -> None:
            self.stream = stream
            self._bars: dict[int, TaskID] = {}
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console() if notebook else Console(file=stream),
            )

        def __enter__(self) -> Self:
            self._progress.start()
            return self

        def __exit__(self, *error: object) -> None:
            self._progress.stop()

        def __call__(self, event: Event) -> None:
            if event["state"] == "start":
                title = "  " * event["depth"] + event["title"]
                self._bars[event["id"]] = self._progress.add_task(title, total=event["total"])
                return
            bar = self._bars[event["id"]]
            self._progress.update(bar, completed=event["done"])
            if event["state"] == "advance":
                return
            self._progress.stop_task(bar)
            if event["depth"] > 0:  # a loop of inner tasks must not fill the screen with finished bars
                self._progress.remove_task(bar)
            elif event["state"] == "end":
                self._progress.update(bar, total=max(event["done"], 1), completed=max(event["done"], 1))
            del self._bars[event["id"]]

    return BarDisplay()


def _line(event: Event) -> str:
    done, total, seconds = event["done"], event["total"], event["seconds"]
    amount = f"{done:g} done" if total is None else f"{done:g} of {total:g}"
    text = f"{event['title']}: {amount}, {duration(seconds)}"
    if event["state"] == "failed":
        return f"{text}, failed"
    if event["state"] == "end":
        return f"{text}, finished"
    if total is not None and 0 < done < total:
        text += f", about {duration(seconds * (total - done) / done)} left"
    return text
