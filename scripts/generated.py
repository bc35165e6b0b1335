"""Files that are written from the sources: write one, or check that it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def write_or_check(path: Path, make: Callable[[], str]) -> int:
    """Write ``make()`` to the file; with ``--check`` on the command line exit code 1 tells that it is stale."""
    if "--check" not in sys.argv[1:]:
        path.write_text(make())
        return 0
    if path.exists() and path.read_text() == make():
        return 0
    print(f"{path.name} is stale: run python scripts/{Path(sys.argv[0]).name}")
    return 1
