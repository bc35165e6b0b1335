"""Time to start: fresh interpreters that import something, beside an interpreter that imports nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from benchmarks.harness import Contestant, Workload


@dataclass(frozen=True)
class Nothing:
    """No data is needed."""

    def __str__(self) -> str:
        return "a fresh interpreter each time"


def _nothing(quick: bool) -> Nothing:
    return Nothing()


def program(code: str) -> Contestant:
    """A contestant that runs a line of Python in an interpreter of its own, from start to end."""

    def make(data: Nothing) -> list[str]:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ImportError((done.stderr.strip().splitlines() or ["no message"])[-1])
        return command

    def step(command: list[str], data: Nothing) -> None:
        subprocess.run(command, check=True, capture_output=True)

    return Contestant(make, {"start": step})


_HELP = "import sys; sys.argv = ['tilth', '--help']; from tilth.cli.main import main; sys.exit(main())"

WORKLOADS = [
    Workload(
        "starting",
        "Time to start",
        _nothing,
        {
            "import tilth": program("import tilth"),
            "from tilth import NaiveBayes": program("from tilth import NaiveBayes"),
            "tilth --help": program(_HELP),
        },
        {
            "import sklearn": program("import sklearn"),
            "import GaussianNB of sklearn": program("from sklearn.naive_bayes import GaussianNB"),
            "import pandas": program("import pandas"),
            "import numpy": program("import numpy"),
            "nothing": program("pass"),
        },
        rounds=7,
        weigh=False,
    )
]
