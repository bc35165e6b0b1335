"""Write src/tilth/__init__.pyi from the registry, so that editors and type checkers see the lazy public names.

``python scripts/public_names.py`` writes it, ``--check`` exits 1 when it is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "tilth" / "__init__.pyi"
sys.path.insert(0, str(ROOT / "src"))

from tilth._names import CHAPTERS, ESTIMATORS, OTHERS, PACKAGES  # noqa: E402 - after the path is set


def stub() -> str:
    """The text of the stub."""
    lines = ['"""Written by scripts/public_names.py from tilth/_names.py; do not edit by hand."""', ""]
    lines += ["from typing import Any", ""]
    names = {n: m for n, m in (ESTIMATORS | OTHERS).items() if n != "load_dataset"}
    lines += [f"from {m} import {n} as {n}" for n, m in sorted(names.items(), key=lambda item: (item[1], item[0]))]
    functions = (
        "evaluate",
        "models",
    )  # packages that are functions too, which a type checker cannot express of a module
    lines += [f"from tilth import {name} as {name}" for name in sorted(PACKAGES) if name not in functions]
    lines += ["from tilth.evaluate.evaluation import evaluate as evaluate"]
    lines += [f"from tilth.models import {name} as {name}" for name in sorted(CHAPTERS)]
    lines += ["", "models: Any", "load_dataset = data.datasets.load", "__version__: str", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(write_or_check(STUB, stub))
