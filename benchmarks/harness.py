"""The harness: contestants of a workload are timed side by side, and each is weighed alone.

How a number comes about
------------------------
*best*, *median*: all contestants share one process and one copy of the data. A round runs every
contestant once, step by step (fit, predict, ...), in the order A B C, then the next round begins: A B C A
B C ... So a noisy minute hits all of them. The first round is a warm-up and is not counted. Only the step
itself is inside the clock: building the data, importing libraries and making the object are not. Garbage
is collected between steps, not within them.

*first*, *extra MB*: every contestant also runs alone in a fresh process: the same data is built, the
object is made, and each step runs exactly once. *first* is the time of that first call (caches cold,
threads not yet started); *extra MB* is the peak of resident memory during the step above what the process
held before it, so the input does not count (see ``memory``).

*ratio*: best of the contestant over best of the yardstick, which is the first peer of the workload. Below
1 is faster.

*quality*: computed from the answers of the last round, so a fast wrong answer shows.
"""

from __future__ import annotations

import gc
import json
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
    """Something to time: ``make(data)`` gives a subject, off the clock; a step is ``step(subject, data)``."""

    make: Callable[[Any], Any]
    steps: Mapping[str, Step]


@dataclass(frozen=True)
class Workload:
    """A task and who does it: ours, and the peers it is compared with (the first peer is the yardstick).

    ``data(quick)`` builds the input, whose ``str`` is its description. ``targets`` are the ratios aimed
    at, by step. ``quality(data, answers)`` gives facts about the answers of each contestant. ``weigh`` is
    off where the work happens in processes of its own.
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
    """All that was measured on one workload. ``absent`` says why a contestant did not take part."""

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

    def ratio(self, contestant: str, step: str) -> float | None:
        """Best time over the best time of the yardstick at the same step."""
        if self.yardstick is None or step not in self.timings.get(self.yardstick, {}):
            return None
        return self.timings[contestant][step].best / self.timings[self.yardstick][step].best

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
    shape = str(data)
    del data, subjects, answers
    gc.collect()
    if weigh and workload.weigh:
        for who, steps in timings.items():
            problem = _add_alone(workload.name, who, steps, quick)
            if problem:
                absent[f"{who}, alone"] = problem
    yardstick = next((who for who in workload.peers if who in timings), None)
    return Result(
        workload.name, workload.title, shape, yardstick, list(workload.ours), dict(workload.targets),
        timings, quality, absent, quick,
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
            try:
                for name, step in contestants[who].steps.items():
                    answers[who].pop(name, None)
                    answers[who][name], spent = _timed(step, subject, data)
                    if turn:
                        seconds[who][name].append(spent)
            except Exception as problem:  # one contestant's failure must not cost the others their times
                absent[who] = f"{type(problem).__name__}: {problem}"
                del subjects[who], seconds[who], answers[who]
    return seconds, answers


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
