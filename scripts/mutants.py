"""Plant small faults in a copy of the sources, one at a time, and report those that no test notices.

Each fault changes one expression or statement: a comparison, an operator, a constant, a condition, a keyword argument
that is dropped, two arguments that are swapped, a statement that is removed. The tests that mirror or import the
changed module, or a module that imports it, run until one fails; the generated checks of its estimators follow.

    python scripts/mutants.py --sample 20 --seed 1 --package models
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "docs", "scripts", "spec", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
FLIPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
#: Parts of a program that say something instead of doing it: a fault there changes words only.
WORDS = (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)
SPEAKING = {"__repr__", "__str__", "plot", "sections", "summary", "verdict", "recipe"}
#: Functions whose arguments may stand in any order.
SYMMETRIC = {"min", "max", "minimum", "maximum", "hypot", "logaddexp", "array_equal", "allclose", "isclose"}
#: Packages that are left out unless they are asked for: most faults in a picture are a matter of looks.
LOOKS = {"plot"}
#: Test files that run for one fault at most, nearest first.
MOST_FILES = 10


@dataclass(frozen=True)
class Mutant:
    """One fault: the characters from ``start`` to ``end`` of a file are replaced."""

    path: Path
    kind: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        """The source with the fault in it."""
        return source[: self.start] + self.text + source[self.end :]

    def diff(self, source: str) -> str:
        """What the fault changes, as a unified diff without context."""
        lines = difflib.unified_diff(source.splitlines(), self.apply(source).splitlines(), lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@dataclass
class Verdicts:
    """What became of the mutants."""

    killed: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)
    unsure: list[Mutant] = field(default_factory=list)

    def __str__(self) -> str:
        judged = len(self.killed) + len(self.survived)
        share = f" ({100 * len(self.killed) / judged:.0f}%)" if judged else ""
        unsure = f"; {len(self.unsure)} not judged, because a test fails without the fault too" if self.unsure else ""
        return f"{len(self.killed)} of {judged} mutants killed{share}{unsure}."


def mutants_of(path: Path, source: str) -> list[Mutant]:
    """All faults that can be planted in a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()

    def place(line: int, column: int) -> int:
        return len(raw[: starts[line - 1] + column].decode())

    found = []
    for node, kind, new in _faults(ast.parse(source)):
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        if ast.dump(ast.parse(new)) != ast.dump(ast.parse(ast.unparse(node))):  # equal arguments can be swapped
            found.append(Mutant(path, kind, node.lineno, start, end, new))
    return found


def _faults(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """(node, kind of the fault, new text of the node) for every node that does something."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, WORDS) or (isinstance(node, ast.FunctionDef) and node.name in SPEAKING):
            continue
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.expr | ast.AugAssign | ast.If | ast.While):
            yield from _changes(node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "ctx", "type_params"):
                children = value if isinstance(value, list) else [value]
                waiting.extend(child for child in children if isinstance(child, ast.AST))


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in FLIPS:
            yield node, "comparison", ast.unparse(ast.Compare(left, [FLIPS[type(op)]()], comparators))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS and not _is_text(node):
            yield node, "operator", f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))})"
        case ast.Constant(value=bool(value)):
            yield node, "constant", str(not value)
        case ast.Constant(value=int(value)):
            yield node, "constant", str(value + 1)
        case ast.Constant(value=float(value)):
            yield node, "constant", repr(2 * value if value else 1.0)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if "TYPE_CHECKING" not in ast.unparse(test):
                yield test, "condition", f"(not ({ast.unparse(test)}))"
        case ast.Call(func=func, args=args, keywords=keywords) if not _is_warning(func):
            for i, keyword in enumerate(keywords):
                if keyword.arg not in (None, "doc", "stacklevel", "strict"):
                    rest = keywords[:i] + keywords[i + 1 :]
                    yield node, f"keyword {keyword.arg} dropped", ast.unparse(ast.Call(func, args, rest))
            starred = any(isinstance(a, ast.Starred) for a in args[:2])
            if len(args) > 1 and not starred and ast.unparse(func).split(".")[-1] not in SYMMETRIC:
                yield node, "arguments swapped", ast.unparse(ast.Call(func, [args[1], args[0], *args[2:]], keywords))
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            if not (isinstance(node, ast.Expr) and _is_warning(node.value.func)):  # type: ignore[attr-defined]
                yield node, "statement removed", "pass"


def _is_warning(func: ast.expr) -> bool:
    return "warn" in ast.unparse(func)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
               for n in ast.walk(node))  # fmt: skip


def draw(root: Path, package: str, sample: int, seed: int) -> list[Mutant]:
    """A seeded sample of faults, kinds taken in turn so that a rare kind is not drowned by constants."""
    folder = root / "src" / "tilth" / package
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    if not package:
        files = [path for path in files if path.relative_to(folder).parts[0] not in LOOKS]
    by_kind: dict[str, list[Mutant]] = {}
    for path in files:
        for mutant in mutants_of(path.relative_to(root), path.read_text(encoding="utf-8")):
            by_kind.setdefault(mutant.kind.split()[0], []).append(mutant)
    rng = random.Random(seed)
    for several in by_kind.values():
        rng.shuffle(several)
    turns = [kind for i in range(sample) for kind in sorted(by_kind) if i < len(by_kind[kind])]
    places = dict.fromkeys(by_kind, -1)
    chosen = []
    for kind in turns[:sample]:
        places[kind] += 1
        chosen.append(by_kind[kind][places[kind]])
    return chosen


class Suite:
    """Which test files have to do with a module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tests = {path: _imports(path) for path in sorted((root / "tests").rglob("test_*.py"))}
        self.sources = {_dotted(path.relative_to(root / "src")): _imports(path)
                        for path in sorted((root / "src" / "tilth").rglob("*.py"))}  # fmt: skip

    def of(self, module: Path) -> list[str]:
        """Test files for a source file, nearest first: its mirror, those that import it, those of its importers."""
        dotted = _dotted(module.relative_to("src"))
        importers = [name for name, imported in self.sources.items() if dotted in imported and name != dotted]
        near = {name: rank for rank, names in enumerate(([dotted], importers)) for name in names}
        public = self._classes(module)
        ranks: dict[Path, int] = {}
        for path, imported in self.tests.items():
            mirrored = self._mirrored(path)
            scores = [2 * rank for name, rank in near.items() if mirrored == name]
            scores += [2 * rank + 1 for name, rank in near.items() if name in imported]
            if any(f"tilth.{name}" in imported for name in public):
                scores.append(1)
            if scores:
                ranks[path] = min(scores)
        chosen = sorted(ranks, key=lambda path: (ranks[path], path.stat().st_size))[:MOST_FILES]
        if not chosen:
            folder = self.root / "tests" / Path(*module.parts[2:-1])
            chosen = sorted(folder.glob("test_*.py"))[:MOST_FILES] if folder.is_dir() else []
        return [path.relative_to(self.root).as_posix() for path in chosen]

    def checks(self, module: Path) -> str:
        """What selects the generated checks of the estimators of a module; empty where it has none."""
        return " or ".join(
            f"[{name}" for name in self._classes(module) if (self.root / "tests/golden" / f"{name}.json").is_file()
        )

    def _classes(self, module: Path) -> list[str]:
        tree = ast.parse((self.root / module).read_text(encoding="utf-8"))
        return [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]

    def _mirrored(self, test: Path) -> str:
        parts = test.relative_to(self.root / "tests").with_suffix("").parts
        return ".".join(("tilth", *parts[:-1], parts[-1].removeprefix("test_")))


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path) -> set[str]:
    """Modules and names of the library that a file imports, dotted."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tilth"):
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("tilth"))
    return names


#: An editable install finds the project's own sources before any path; in a copy this takes it away.
ALONE = """\"\"\"Imports come from this copy, not from an editable install.\"\"\"
import sys

sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
"""


class Bench:
    """A copy of the project in which faults are planted."""

    def __init__(self, root: Path, folder: Path, timeout: float) -> None:
        self.root, self.folder, self.timeout = root, folder, timeout
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / name).is_file():
                shutil.copy(root / name, folder / name)
        (folder / "src" / "sitecustomize.py").write_text(ALONE)
        self.suite = Suite(folder)

    def judge(self, mutant: Mutant) -> str:
        """ "killed", "survived" or "unsure"."""
        path = self.folder / mutant.path
        source = path.read_text(encoding="utf-8")
        runs = [self.suite.of(mutant.path)]
        if checks := self.suite.checks(mutant.path):
            runs.append(["tests/test_estimators.py", "-k", checks])
        failed = ""
        try:
            path.write_text(mutant.apply(source), encoding="utf-8")
            for arguments in runs:
                failed = self._run(arguments) if arguments else ""
                if failed:
                    break
        finally:
            path.write_text(source, encoding="utf-8")
        if not failed:
            return "survived"
        # A test that fails without the fault as well says nothing about it.
        if "::" in failed and self._run([failed]):
            print(f"fails without a fault too: {failed}", flush=True)
            return "unsure"
        return "killed"

    def _run(self, arguments: list[str]) -> str:
        """The first test that fails, other words where the run itself broke, "" where all pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *arguments]
        surroundings = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=self.folder, env=surroundings, capture_output=True, text=True,
                                  timeout=self.timeout, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return "no end"
        if done.returncode in (0, 5):  # passed, or nothing was selected
            return ""
        names = re.findall(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return names[0] if names else "broken"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Plant small faults and report those that no test notices.")
    parser.add_argument("--sample", type=int, default=100, help="how many faults (100)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (0)")
    parser.add_argument("--package", default="", help="only in this package or module, as models/trees")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for the tests of one fault (300)")
    parser.add_argument("--list", action="store_true", help="show the faults and their tests, run nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="project folder")
    options = parser.parse_args(arguments)
    chosen = draw(options.root, options.package, options.sample, options.seed)
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench(options.root, Path(folder), options.timeout)
        for i, mutant in enumerate(chosen, 1):
            what = "listed" if options.list else bench.judge(mutant)
            if what != "listed":
                getattr(verdicts, what).append(mutant)
            print(f"[{i}/{len(chosen)}] {what}: {mutant.path}:{mutant.line} {mutant.kind}", flush=True)
            if what != "killed":
                print(mutant.diff((options.root / mutant.path).read_text(encoding="utf-8")), flush=True)
                print("tests: " + (" ".join(bench.suite.of(mutant.path)) or "none"), flush=True)
    if not options.list:
        print(verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
