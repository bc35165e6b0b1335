"""A budget of time that holds: what a fit will take is foreseen, and what cannot be foreseen can be stopped."""

from __future__ import annotations

import math
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilth.evaluate.pool import Job, Pool

#: A fit may take this many times the longest seen: with the same parameters, with others, and with others when as many
#: fits as ENOUGH_FITS have been seen; and this many times what it took before with these very parameters.
SAME, UNKNOWN, KNOWN, ENOUGH_FITS = 4.0, 20.0, 8.0, 10
REPEATED = 2.0
#: No fit may take more than this share of the time left: one that hangs must not take it all.
LARGEST_SHARE = 0.25
#: Seconds that starting other processes may take; with less time left it is not begun. Longer than the second number
#: and something is wrong.
START_SECONDS, LONGEST_START = 4.0, 120.0
#: Parameters to which the time of a fit is proportional, or nearly so.
COSTS = ("n_estimators", "max_iter", "max_leaf_nodes", "degree")
#: Seconds that the end of the program waits for a fit that was left to itself.
PATIENCE_AT_EXIT = 10.0
#: Rows of the first look at how long a fit takes; every further look takes four times as many.
FIRST_LOOK = 50

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def seconds_of(budget: Any) -> float:
    """A budget as seconds: a number, or text such as "30s", "5m", "1h", "1h30m".

    >>> seconds_of("5m"), seconds_of("1h30m"), seconds_of(20)
    (300.0, 5400.0, 20.0)
    """
    seconds: float | None = None
    if isinstance(budget, str):
        text = budget.strip().lower().replace(" ", "")
        parts = re.findall(r"(\d+(?:\.\d+)?)(h|m|s|)(?:in|ins|rs?|ecs?)?", text)
        if parts and re.fullmatch(r"(?:\d+(?:\.\d+)?(?:hrs?|mins?|secs?|[hms])?)+", text):
            seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    elif isinstance(budget, (int, float)) and not isinstance(budget, bool):
        seconds = float(budget)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        raise ValueError(f'budget must be a time above 0: seconds, or "30s", "5m", "1h30m"; got {budget!r}.')
    return seconds


class OutOfTimeError(Exception):
    """The budget is used up; what was begun is dropped, what was done is kept."""


def cost_of(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> float:
    """How many times the work of the parameters as given others may be, by what they say of it; at least 1.

    >>> cost_of({"n_estimators": 500, "max_depth": 3}, {"n_estimators": 100, "max_depth": None})
    5.0
    """
    total = 1.0
    for name, value in params.items():
        usual = defaults.get(name)
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 for v in (value, usual))
        if name.rsplit("__", 1)[-1] in COSTS and numbers:
            total *= value / usual
    return max(1.0, total)


@dataclass
class Pace:
    """How long fits take, by the number of rows they learn from and the work their parameters ask for."""

    seen: list[tuple[int, float]] = field(default_factory=list)

    def note(self, rows: int, seconds: float, cost: float = 1.0) -> None:
        """A fit of so many rows took so long; kept per unit of cost."""
        if math.isfinite(seconds):
            self.seen.append((rows, seconds / cost))

    def growth(self) -> float:
        """The power of the rows that time grows with at most: 2, unless fits of two sizes show that it is less.

        Then it is half a power more than between the two largest sizes, at least 1: the constant part of a fit, which
        hides the rest on few rows, shrinks.
        """
        sizes = self._sizes()
        if len(sizes) < 2:
            return 2.0
        few, many = sorted(sizes)[-2:]
        short, long = sizes[few], sizes[many]
        if many < 2 * few or short <= 0 or long <= 0:
            return 2.0
        return min(max(math.log(long / short) / math.log(many / few) + 0.5, 1.0), 2.0)

    def _sizes(self) -> dict[int, float]:
        """Mean seconds by the number of rows."""
        seconds: dict[int, list[float]] = {}
        for rows, took in self.seen:
            seconds.setdefault(rows, []).append(took)
        return {rows: sum(times) / len(times) for rows, times in seconds.items()}

    def longest(self, rows: int) -> float:
        """What the longest fit seen would take with so many rows.

        Of many fits the few longest are left out: those had to share the machine.
        """
        if not self.seen:
            return math.inf
        most, growth = max(r for r, _ in self.seen), self.growth()
        near = sorted(s * max(1.0, rows / r) ** growth for r, s in self.seen if 2 * r >= min(most, rows))
        return near[-1 - len(near) // 8]

    def usual(self, rows: int) -> float:
        """What a fit takes as a rule."""
        near = [s * rows / r for r, s in self.seen if 2 * r >= rows] or [s * rows / r for r, s in self.seen]
        return sum(near) / len(near) if near else math.inf

    def foreseen(self, rows: int) -> float:
        """What a fit of so many rows should take, by the fits of the largest sizes seen.

        Two sizes show how much of the time is the same for any number of rows; one alone counts as all per row.
        """
        if not self.seen:
            return 0.0
        sizes = self._sizes()
        many = max(sizes)
        if rows <= many:
            return sizes[many]
        few = max((n for n in sizes if n < many), default=0)
        slope = (sizes[many] - sizes.get(few, 0.0)) / (many - few)
        return sizes[many] + max(slope, 0.0) * (rows - many)

    def surely(self, rows: int, cost: float = 1.0, *, same: bool = False) -> float:
        """What no fit will exceed; ``same``: with the parameters as given."""
        factor = SAME if same else KNOWN if len(self.seen) >= ENOUGH_FITS else UNKNOWN
        return factor * cost * self.longest(rows)


@dataclass
class Watch:
    """Runs fits within a budget (None: without one), here or in processes that can be stopped.

    With a budget a fit runs here only where the fits seen show that it surely ends in time; any other runs in another
    process, which is ended when its time is over. No fit is begun after the budget; ``slack`` are the seconds after it
    that one may still need, where the budget is a share of a larger one. ``clock`` and ``pool`` can be replaced, for
    tests.
    """

    budget: float | None = None
    timeout: float | None = None
    workers: int | None = None
    clock: Callable[[], float] = time.monotonic
    pool: Callable[[int | None, float | None], Any] = Pool
    pace: Pace = field(default_factory=Pace)
    slack: float = 0.0

    def __post_init__(self) -> None:
        self.start = self.clock()
        self._warm = 0  # processes that are up

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.start

    @property
    def left(self) -> float:
        """Seconds left of the budget."""
        return math.inf if self.budget is None else self.budget - self.used

    @property
    def end(self) -> float:
        """Seconds after which whatever runs must have ended."""
        return self.left + self.slack

    def run(
        self, jobs: list[Job], rows: int, *, cost: float = 1.0, same: bool = False, known: float | None = None,
        cap: bool = True,
    ) -> Iterator[tuple[Any, Any]]:  # fmt: skip
        """(key, result) of fits on so many rows; a result that is text says why there is none.

        Raises :class:`OutOfTimeError` when the budget ends. ``cost`` is the work their parameters ask for; ``same``:
        they are the ones the model came with; ``known``: seconds that a fit with these very parameters takes; ``cap``:
        no single fit may take more than a part of what is left.
        """
        if self.budget is None and self.timeout is None:
            yield from self.pool(self.workers, None).run(jobs)
            return
        waiting = list(jobs)
        while waiting:
            if self.left <= 0:
                raise OutOfTimeError
            most = self.pace.surely(rows, cost, same=same) if known is None else REPEATED * known
            if self.timeout is None and most <= self.end:
                job, begin = waiting.pop(0), self.clock()
                results = [(job.key, job())]
                self.pace.note(rows, self.clock() - begin, cost)
            else:
                results = self._elsewhere(waiting, rows, cost, cap)
            yield from results

    def _elsewhere(self, waiting: list[Job], rows: int, cost: float, cap: bool) -> list[tuple[Any, Any]]:
        """As many jobs as there are cores, all begun at once, so that one limit holds for all."""
        workers = min(self.workers or _cores(), len(waiting))
        self._warm_up(waiting[:workers])
        left = self.end
        usual = SAME * cost * self.pace.longest(rows) if self.pace.seen else 0.0
        limit = min(left, max(left * LARGEST_SHARE, usual) if cap else left, self.timeout or math.inf)
        now = waiting[:workers]
        del waiting[:workers]
        begin = self.clock()
        results = list(self.pool(workers, limit).run(now))
        if self.clock() - begin >= limit:
            self._warm = 0  # the pool has ended its processes
            self.pace.note(rows, limit, cost)
            if self.end <= 0:
                raise OutOfTimeError
        for _, result in results:
            self.pace.note(rows, getattr(result, "fit_seconds", math.nan), cost)
        return results

    def _warm_up(self, jobs: list[Job]) -> None:
        """Start the processes before any fit is timed in them: they read the same arguments, and so import the same."""
        workers = len(jobs)
        if self._warm >= workers:
            return
        if self.end < START_SECONDS:
            raise OutOfTimeError
        begin, patience = self.clock(), min(self.end, LONGEST_START)
        list(self.pool(workers, patience).run([Job(job.key, _ready, job.arguments) for job in jobs]))
        if self.clock() - begin >= patience:
            if self.end > 0:
                raise RuntimeError(
                    f"Other processes did not start within {patience:g} s; leave timeout and budget out."
                )
            raise OutOfTimeError
        self._warm = workers

    def look(self, fit: Callable[[int], None], rows: int, closer: float = 0.0) -> None:
        """Learn how long a fit takes from fits on few rows, then more, until those of ``rows`` are known to be short.

        With ``closer``, further looks are taken that cost at most this share of the time left: few rows alone say that
        a fit is short, not how short.
        Each runs in a thread that is waited for a part of the time only. A thread cannot be stopped: one that does not
        come back is left to itself, and all fits then run in other processes.
        """
        few, warm, took = min(FIRST_LOOK, rows), False, 0.0
        while self.budget is not None and self.timeout is None:
            if self.pace.surely(rows, same=True) <= self.end and (few == rows or 4 * took >= closer * self.left):
                return
            patience = LARGEST_SHARE * self.end
            if 4 * took > patience:
                return
            begin = self.clock()
            with warnings.catch_warnings():  # here, not in the thread: filters belong to all threads
                warnings.simplefilter("ignore")
                thread = threading.Thread(target=_quietly, args=(fit, few), daemon=True)
                thread.start()
                thread.join(max(patience, 0.0))
            if thread.is_alive():
                _leave(thread)
                self.pace.note(few, patience)
                return
            took = self.clock() - begin
            if not warm:
                warm, took = True, 0.0  # the first fit of all also imports and fills caches: it is no measure
                continue
            self.pace.note(few, took)
            if few == rows:
                return
            few = min(4 * few, rows)


def _leave(thread: threading.Thread) -> None:
    """Let a thread go on by itself; the end of the program waits for it, as compiled code must not be cut off."""
    import atexit

    atexit.register(thread.join, PATIENCE_AT_EXIT)


def _quietly(fit: Callable[[int], None], rows: int) -> None:
    try:
        fit(rows)
    except Exception:  # what is wrong with the model is told by the first real fit
        return


def _ready(*arguments: Any) -> None:
    """Import what a fit needs."""
    import tilth.evaluate.search.hunt  # noqa: F401


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
