"""Peak memory of a stretch of code, from the high-water mark the kernel keeps for each process."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def peak_of(work: Callable[[], Any]) -> tuple[Any, float | None]:
    """The answer of ``work`` and the MB by which it raised the process above what it held before.

    Linux lets a process set its mark back to what it holds now (``5`` written to ``clear_refs``). Where
    that is refused the mark includes all that went before, and the peak is only known (and given) when
    ``work`` passed it.
    """
    exact = _reset_mark()
    before = _field("VmRSS")
    mark = _mark()
    answer = work()
    after = _mark()
    if not exact and after <= mark:
        return answer, None
    return answer, round(max(0.0, after - before) / 1024, 1)


def _reset_mark() -> bool:
    try:
        _RESET.write_text("5")
    except OSError:
        return False
    return True


def _mark() -> float:
    return _field("VmHWM") if _STATUS.exists() else float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _field(name: str) -> float:
    """A field of the process status in kB."""
    if not _STATUS.exists():
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1])
    return 0.0
