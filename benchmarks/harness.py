"""The harness: contestants of a workload are timed side by side, and each is weighed alone.

How a number comes about
------------------------
*best*, *median*: all contestants share one process and one copy of the data. A round runs every
contestant once, step by step (fit, predict, ...), in the order A B C, then the next round begins: A B C A
B C ... So a noisy minute hits all of them. The first round is a warm-up and is not counted. Only the step
itself is inside the clock: building the data, importing libraries and making the object are not. Garbage
is collected between steps, not within them. A contestant that takes minutes may have a limit of rounds; it
sits out the others, and with a limit of one it has no warm-up, which the table says.

*first*, *extra MB*: every contestant also runs alone in a fresh process: the same data is built, the
object is made, and each step runs exactly once. *first* is the time of that first call (caches cold,
threads not yet started); *extra MB* is the peak of resident memory during the step above what the process
held before it, so the input does not count (see ``memory``).

*ratio*: best of the contestant over best of the yardstick, which is the first peer of the workload. Below
1 is faster. Where that peer did not take part the next one is the yardstick, and the targets, which were
set against the first, are left out. Targets also show the ratio to whichever peer was fastest at the step.

*quality*: computed from the answers of the last round, so a fast wrong answer shows.

*growth*: where the steps of a workload are one task at several sizes, the slope of log best over log size:
1 is cost in proportion.
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_of

Seconds = dict[str, dict[str, list[float]]]
Answers = dict[str, dict[str, Any]]
Quality = dict[str, dict[str, float | str]]
Step = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Contestant:
    """Something to time: ``make(data)`` gives a subject, off the clock; a step is ``step(subject, data)``.

    ``rounds`` limits its counted rounds where it is slow.
    """

    make: Callable[[Any], Any]
    steps: Mapping[str, Step]
    rounds: int | None = None


@dataclass(frozen=True)
class Workload:
    """A task and who does it: ours, and the peers it is compared with (the first peer is the yardstick).

    ``data(quick)`` builds the input, whose ``str`` is its description. ``targets`` are the ratios aimed
    at, by step. ``quality(data, answers)`` gives facts about the answers of each contestant. ``sizes`` are
    the sizes of the steps where these are one task that grows. ``weigh`` is off where memory says nothing, as
    when the work happens in processes of its own.
    """

    name: str
    title: str
    data: Callable[[bool], Any]
    ours: Mapping[str, Contestant]
    peers: Mapping[str, Contestant]
    quality: Callable[[Any, Answers], Quality] | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 5
    weigh: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict)

    def contestants(self) -> dict[str, Contestant]:
        """Ours first, then the peers."""
        return {**self.ours, **self.peers}


@dataclass
class Timing:
    """Seconds of one step of one contestant; ``first`` and ``extra_mb`` come from its own process."""

    best: float
    median: float
    rounds: int
    first: float | None = None
    extra_mb: float | None = None


@dataclass
class Result:
    """All that was measured on one workload.

    ``absent`` says why a contestant did not take part; those of ``once`` ran a single time, without a warm-up.
    """

    name: str
    title: str
    shape: str
    yardstick: str | None
    ours: list[str]
    targets: dict[str, float]
    timings: dict[str, dict[str, Timing]]
    quality: Quality
    absent: dict[str, str]
    quick: bool
    machine: dict[str, Any] = field(default_factory=dict)
    once: list[str] = field(default_factory=list)

    def ratio(self, contestant: str, step: str) -> float | None:
        """Best time over the best time of the yardstick at the same step."""
        if self.yardstick is None or step not in self.timings.get(self.yardstick, {}):
            return None
        return self.timings[contestant][step].best / self.timings[self.yardstick][step].best

    def fastest(self, step: str) -> str | None:
        """The peer with the best time at a step."""
        times = {who: t[step].best for who, t in self.timings.items() if who not in self.ours and step in t}
        return min(times, key=times.__getitem__, default=None)

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Result:
        """The result that :meth:`to_json` wrote."""
        content = json.loads(text)
        content["timings"] = {
            who: {step: Timing(**timing) for step, timing in steps.items()} for who, steps in content["timings"].items()
        }
        return cls(**content)


def run(workload: Workload, *, quick: bool = False, rounds: int | None = None, weigh: bool = True) -> Result:
    """Time the contestants of a workload side by side, then weigh each alone."""
    data = workload.data(quick)
    subjects, absent = _subjects(workload, data)
    count = rounds or (2 if quick else workload.rounds)
    seconds, answers = _interleaved(workload, subjects, data, count, absent)
    timings = {
        who: {step: Timing(min(s), statistics.median(s), len(s)) for step, s in steps.items()}
        for who, steps in seconds.items()
        if who not in absent
    }
    quality = workload.quality(data, answers) if workload.quality else {}
    if workload.sizes:
        quality = {who: {**quality.get(who, {}), "growth": _growth(t, workload.sizes)} for who, t in timings.items()}
    shape = str(data)
    del data, subjects, answers
    gc.collect()
    if weigh and workload.weigh:
        for who, steps in timings.items():
            problem = _add_alone(workload.name, who, steps, quick)
            if problem:
                absent[f"{who}, alone"] = problem
    yardstick = next((who for who in workload.peers if who in timings), None)
    # A target is set against the first peer; beside another one it would mean something else.
    targets = dict(workload.targets) if yardstick == next(iter(workload.peers), None) else {}
    return Result(
        workload.name, workload.title, shape, yardstick, list(workload.ours), targets,
        timings, quality, absent, quick, once=[who for who in timings if workload.contestants()[who].rounds == 1],
    )  # fmt: skip


def _subjects(workload: Workload, data: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Subjects by contestant; what is not built yet, or not installed, is absent with its reason."""
    subjects: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for who, contestant in workload.contestants().items():
        try:
            subjects[who] = contestant.make(data)
        except (ImportError, AttributeError) as problem:
            absent[who] = f"{type(problem).__name__}: {problem}"
    return subjects, absent


def _interleaved(
    workload: Workload, subjects: dict[str, Any], data: Any, rounds: int, absent: dict[str, str]
) -> tuple[Seconds, Answers]:
    """Seconds of every counted round, and the answers of the last. A contestant that fails becomes absent."""
    contestants = workload.contestants()
    seconds: Seconds = {who: {step: [] for step in contestants[who].steps} for who in subjects}
    answers: Answers = {who: {} for who in subjects}
    for turn in range(rounds + 1):
        for who, subject in list(subjects.items()):
            warm_up = contestants[who].rounds != 1
            if turn >= min(contestants[who].rounds or rounds, rounds) + warm_up:
                continue
            try:
                for name, step in contestants[who].steps.items():
                    answers[who].pop(name, None)
                    answers[who][name], spent = _timed(step, subject, data)
                    if turn or not warm_up:
                        seconds[who][name].append(spent)
            except Exception as problem:  # one contestant's failure must not cost the others their times
                absent[who] = f"{type(problem).__name__}: {problem}"
                del subjects[who], seconds[who], answers[who]
    return seconds, answers


def _growth(timings: Mapping[str, Timing], sizes: Mapping[str, int]) -> float:
    """The power of size that best times grow with: the least-squares slope of their logarithms."""
    best = [math.log(timings[step].best) for step in sizes]
    return statistics.linear_regression([math.log(size) for size in sizes.values()], best).slope


def _timed(step: Step, subject: Any, data: Any) -> tuple[Any, float]:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        answer = step(subject, data)
        return answer, time.perf_counter() - start
    finally:
        gc.enable()


def _add_alone(workload: str, who: str, timings: dict[str, Timing], quick: bool) -> str | None:
    """Run a contestant in a process of its own and add what it reports; gives the problem where it failed."""
    command = [sys.executable, "-m", "benchmarks.alone", workload, who, *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    for step, (first, extra) in json.loads(done.stdout.splitlines()[-1]).items():
        timings[step].first, timings[step].extra_mb = first, extra
    return None


def alone(workload: Workload, who: str, quick: bool) -> dict[str, tuple[float, float | None]]:
    """First-call seconds and extra memory of every step; to be called in a fresh process."""
    data = workload.data(quick)
    contestant = workload.contestants()[who]
    subject = contestant.make(data)
    found = {}
    for name, step in contestant.steps.items():
        gc.collect()

        def work(step: Step = step) -> float:
            return _timed(step, subject, data)[1]

        found[name] = peak_of(work)
    return found
