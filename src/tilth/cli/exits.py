"""How a command can end."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of each kind of end."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    DATA = 3
    FINDINGS = 4
    NO_GAIN = 5
    MODEL_FILE = 6
    INTERRUPTED = 130
