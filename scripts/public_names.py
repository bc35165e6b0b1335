"""Write src/tilth/_registry.py from the classes, and src/tilth/__init__.pyi from all public names.

The sources are read, not imported: an estimator is a ``@declared`` class among the models that has a card of its own
or that no other class builds on; ``@stored`` marks the classes that model files may hold.

``python scripts/public_names.py`` writes both files, ``--check`` exits 1 when one is stale.
"""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parents[1]
#: Chapters of models in the order of a course; a new one stands behind these until it is given its place.
ORDER = (
    "rules", "bayes", "linear", "trees", "ensembles", "anomaly", "clustering", "reduction", "decide", "select",
    "prepare",
)  # fmt: skip
#: Packages that hold estimators.
HOMES = ("models", "evaluate")
LATE = 1_000_000


@dataclass
class Found:
    """A class of the sources: where it stands and what its declaration shows."""

    name: str
    module: str
    line: int
    node: ast.ClassDef = field(repr=False)

    def is_decorated(self, mark: str) -> bool:
        """Whether the decorator of this name is on the class."""
        return any(isinstance(d, ast.Name) and d.id == mark for d in self.node.decorator_list)

    def declaration(self, name: str) -> ast.expr | None:
        """The value of a class attribute that is assigned in the class itself."""
        for line in self.node.body:
            targets = line.targets if isinstance(line, ast.Assign) else [line.target] if _annotated(line) else []
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return line.value
        return None

    @property
    def place(self) -> int:
        """Place of the simplest candidate in the contest; late for a class that is none."""
        contest = self.declaration("contest")
        if isinstance(contest, ast.Call) and len(contest.args) > 1 and isinstance(contest.args[1], ast.Constant):
            return int(contest.args[1].value)
        return LATE if contest is None or isinstance(contest, ast.Constant) else LATE - 1

    @property
    def chapter(self) -> str:
        """The chapter of a model, or its package."""
        parts = self.module.split(".")
        return parts[2] if parts[1] == "models" else parts[1]


def _annotated(line: ast.stmt) -> bool:
    return isinstance(line, ast.AnnAssign) and line.value is not None


def classes(package: Path) -> Iterator[Found]:
    """All classes at the top of the modules of a package."""
    for path in sorted(package.rglob("*.py")):
        module = ".".join([package.name, *path.relative_to(package).with_suffix("").parts]).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                yield Found(node.name, module, node.lineno, node)


def by_name(chosen: list[Found], what: str) -> dict[str, str]:
    """Name -> module; a name may be used once."""
    names: dict[str, str] = {}
    for cls in chosen:
        if cls.name in names:
            raise SystemExit(f"{what}: {cls.name} is defined in {names[cls.name]} and in {cls.module}; rename one.")
        names[cls.name] = cls.module
    return names


def estimators(every: list[Found]) -> list[Found]:
    """Estimators by chapter: the candidates of the contest first, simple ones before others, then by file."""
    bases = {b.id for cls in every for b in cls.node.bases if isinstance(b, ast.Name)}
    chosen = [
        cls for cls in every
        if cls.module.split(".")[1] in HOMES and cls.is_decorated("declared") and not cls.name.startswith("_")
        and (cls.declaration("card") is not None or cls.name not in bases)
    ]  # fmt: skip
    rank = {chapter: i for i, chapter in enumerate(ORDER)}
    return sorted(chosen, key=lambda c: (rank.get(c.chapter, len(rank)), c.chapter, c.place, c.module, c.line))


def chapters(package: Path) -> list[str]:
    """Chapters of models, those of the course first."""
    there = sorted(p.parent.name for p in (package / "models").glob("*/__init__.py"))
    return [c for c in ORDER if c in there] + [c for c in there if c not in ORDER]


def registry(package: Path) -> str:
    """The text of the registry."""
    every = list(classes(package))
    stored = by_name([cls for cls in every if cls.is_decorated("stored")], "stored values")
    lines = ['"""Written by scripts/public_names.py from the classes; do not edit by hand."""', ""]
    lines += ["from __future__ import annotations", ""]
    lines += ["#: Public name of every estimator -> its module, by chapter, simple models first."]
    lines += ["ESTIMATORS: dict[str, str] = {"]
    lines += [f'    "{name}": "{module}",' for name, module in by_name(estimators(every), "estimators").items()]
    lines += ["}", "", "#: Classes other than estimators that a model file may hold -> their modules."]
    lines += ["STORED: dict[str, str] = {"]
    lines += [f'    "{name}": "{stored[name]}",' for name in sorted(stored)]
    lines += ["}", "", "#: Chapters of models, reachable without the word models, as in ``tilth.bayes``."]
    lines += ["CHAPTERS = (", *[f'    "{c}",' for c in chapters(package)], ")", ""]
    return "\n".join(lines)


def stub(package: Path) -> str:
    """The text of the stub that editors and type checkers read."""
    names = runpy.run_path(str(package / "_names.py"))
    public = {**by_name(estimators(list(classes(package))), "estimators"), **names["OTHERS"]}
    lines = ['"""Written by scripts/public_names.py from the public names; do not edit by hand."""', ""]
    lines += ["from typing import Any", ""]
    public.pop("load_dataset")
    lines += [f"from {m} import {n} as {n}" for n, m in sorted(public.items(), key=lambda item: (item[1], item[0]))]
    functions = ("evaluate", "models")  # packages that are functions too, which a type checker cannot express
    lines += [f"from tilth import {name} as {name}" for name in sorted(names["PACKAGES"]) if name not in functions]
    lines += ["from tilth.evaluate.evaluation import evaluate as evaluate"]
    lines += [f"from tilth.models import {name} as {name}" for name in sorted(chapters(package))]
    lines += ["", "models: Any", "load_dataset = data.datasets.load", "__version__: str", ""]
    return "\n".join(lines)


def main(root: Path = ROOT) -> int:
    """Write or check both files."""
    package = root / "src" / "tilth"
    stale = write_or_check(package / "_registry.py", lambda: registry(package))
    return stale or write_or_check(package / "__init__.pyi", lambda: stub(package))


if __name__ == "__main__":
    sys.exit(main())
