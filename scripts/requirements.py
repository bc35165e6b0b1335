"""Print the requirements of one extra of pyproject.toml, one per line, so that pip can install them alone.

python scripts/requirements.py dev
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def requirements(extra: str) -> list[str]:
    """Requirements of an extra, with the extras of this project it names replaced by theirs."""
    path = Path(__file__).resolve().parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    if extra not in extras:
        raise SystemExit(f"pyproject.toml has no extra {extra!r}; it has {', '.join(sorted(extras))}.")
    found: list[str] = []
    for requirement in extras[extra]:
        own = re.fullmatch(rf"{project['name']}\[(\w+)\]", requirement)
        found += requirements(own[1]) if own else [requirement]
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("Name one extra, for example: python scripts/requirements.py dev")
    print("\n".join(requirements(sys.argv[1])))
