"""Write docs/coverage.md: each row of spec/rows.csv, where it lives and which test proves it.

A test claims a row by ``@pytest.mark.covers("D-22")`` on a function or class, in a parameter's ``marks`` or
in a ``pytestmark``. The tests are read as syntax trees, nothing is imported. A test that is always
skipped or expected to fail claims nothing, nor does a module that may skip itself: one with ``skip`` or ``skipif``
in its ``pytestmark``, a ``pytest.skip`` outside functions, or an ``importorskip`` of a package that the tests do
not require.

    python scripts/coverage_rows.py            write the page
    python scripts/coverage_rows.py --check    exit 1 if the page is stale or a mark names an unknown row
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

MARK = "covers"
SWITCHED_OFF = {"skip", "xfail"}
#: Distributions whose modules have another name.
MODULES = {"scikit-learn": "sklearn"}
TESTS_SHOWN = 3


class CoverageError(Exception):
    """The rows or the marks contradict each other; the message says where and how to mend it."""


@dataclass(frozen=True)
class Row:
    """One capability of the curriculum."""

    id: str
    area: str
    capability: str
    note: str


@dataclass(frozen=True, order=True)
class Claim:
    """A test's statement that it proves a row."""

    row: str
    test: str
    where: tuple[str, ...]


def read_rows(path: Path) -> list[Row]:
    """Read the rows in their written order."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [Row(**record) for record in csv.DictReader(stream)]
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise CoverageError(f"{path.name} holds the row {row.id} twice; keep one of them.")
        seen.add(row.id)
    return rows


def _mark_calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and _name(child) == MARK:
            yield child


def _rows_of(nodes: Sequence[ast.AST], place: str) -> list[str]:
    """Row ids named by the marks inside decorators or a pytestmark."""
    ids = []
    for call in (call for node in nodes for call in _mark_calls(node)):
        for argument in call.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise CoverageError(f"{place}, line {call.lineno}: a {MARK} mark needs row ids as plain strings.")
            ids.append(argument.value)
    return ids


def _pytestmarks(body: Sequence[ast.stmt]) -> list[ast.expr]:
    return [
        statement.value
        for statement in body
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in statement.targets)
    ]


def _name(node: ast.expr) -> str:
    """Name the last part of what is called or read: ``skip`` of ``pytest.mark.skip(...)``."""
    target = node.func if isinstance(node, ast.Call) else node
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _outside_functions(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node that runs when the module is imported, apart from classes."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _may_skip_itself(body: Sequence[ast.stmt], required: Set[str]) -> bool:
    """Whether a module or class may be skipped as a whole where all packages in ``required`` are installed."""
    marks = [mark for value in _pytestmarks(body) for mark in getattr(value, "elts", [value])]
    if any(_name(mark) in SWITCHED_OFF | {"skipif"} for mark in marks):
        return True
    for call in (node for node in _outside_functions(body) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) == "pytest.skip":
            return True
        if _name(call) == "importorskip":
            module = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
            if str(module).split(".")[0] not in required:
                return True
    return False


def required_modules(root: Path) -> set[str]:
    """Name the top modules that are installed wherever the tests run, from pyproject.toml."""
    path = root / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"] if path.is_file() else {}
    wanted = [*project.get("dependencies", []), *project.get("optional-dependencies", {}).get("test", [])]
    names = [re.split(r"[\s<>=!~;\[]", requirement)[0].lower() for requirement in wanted]
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def _claims_in(body: Sequence[ast.stmt], prefix: str, required: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield (row, test) for every mark in a module or class body; ``prefix`` names that body."""
    if _may_skip_itself(body, required):
        return
    for row in _rows_of(_pytestmarks(body), prefix):
        yield row, prefix
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        is_class = isinstance(node, ast.ClassDef)
        if not node.name.startswith("Test" if is_class else "test"):
            continue
        if any(_name(decorator) in SWITCHED_OFF for decorator in node.decorator_list):
            continue
        place = f"{prefix}::{node.name}"
        for row in _rows_of(node.decorator_list, place):
            yield row, place
        if is_class:
            yield from _claims_in(node.body, place, required)


def _module_exists(source: Path, dotted: str) -> bool:
    path = source.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def _where(test_file: Path, tests: Path, source: Path, tree: ast.Module) -> tuple[str, ...]:
    """Name the module a test file mirrors, else the tilth modules it imports."""
    parts = test_file.relative_to(tests).with_suffix("").parts
    mirrored = ".".join(("tilth", *parts[:-1], parts[-1].removeprefix("test_")))
    if _module_exists(source, mirrored):
        return (mirrored,)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tilth":
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if _module_exists(source, inner) else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.split(".")[0] == "tilth")
    # The bare package says nothing when a module inside it is named too.
    return tuple(sorted(found - {"tilth"} or found))


def find_claims(root: Path) -> list[Claim]:
    """Find every mark of the test suite below ``root``."""
    tests, source = root / "tests", root / "src"
    claims, required = set(), required_modules(root)
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        where = _where(path, tests, source, tree)
        for row, test in _claims_in(tree.body, path.relative_to(root).as_posix(), required):
            claims.add(Claim(row, test, where))
    return sorted(claims)


def check_known(rows: Sequence[Row], claims: Sequence[Claim]) -> None:
    """Refuse marks that name no row."""
    known = {row.id for row in rows}
    unknown = [f"{claim.row} in {claim.test}" for claim in claims if claim.row not in known]
    if unknown:
        raise CoverageError(
            "These marks name rows that spec/rows.csv does not hold: "
            + ", ".join(unknown)
            + ". Correct the id or add the row."
        )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row_line(row: Row, claims: Sequence[Claim]) -> str:
    capability = row.capability + (f" ({row.note})" if row.note else "")
    if not claims:
        return f"| {row.id} | {_cell(capability)} | open | open |"
    modules = sorted({module for claim in claims for module in claim.where})
    where = ", ".join(f"`{module}`" for module in modules)
    tests = ", ".join(f"`{claim.test}`" for claim in claims[:TESTS_SHOWN])
    more = f" and {len(claims) - TESTS_SHOWN} more" if len(claims) > TESTS_SHOWN else ""
    return f"| {row.id} | {_cell(capability)} | {where or '-'} | {tests}{more} |"


def render(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """Render the page; the same rows and marks always give the same text."""
    by_row: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        by_row[claim.row].append(claim)
    by_area: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_area[row.area].append(row)
    proven = {area: sum(row.id in by_row for row in members) for area, members in by_area.items()}
    total = sum(proven.values())
    lines = [
        "# Coverage of the curriculum",
        "",
        "Written by `scripts/coverage_rows.py` from the `covers` marks of the tests; do not edit by hand.",
        "A row without a test is an open row, whatever the code may already do.",
        "",
        f"**{total} of {len(rows)} rows have a test, {len(rows) - total} are open.**",
        "",
        "| area | rows | with a test | open |",
        "|---|---|---|---|",
    ]
    for area, members in by_area.items():
        lines.append(f"| {area} | {len(members)} | {proven[area]} | {len(members) - proven[area]} |")
    for area, members in by_area.items():
        lines += ["", f"## {area}", "", "| row | capability | where | test |", "|---|---|---|---|"]
        lines += [_row_line(row, by_row[row.id]) for row in members]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write or check docs/coverage.md.")
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 if the page is stale")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="project folder")
    options = parser.parse_args(arguments)
    page = options.root / "docs" / "coverage.md"
    try:
        rows = read_rows(options.root / "spec" / "rows.csv")
        claims = find_claims(options.root)
        check_known(rows, claims)
    except (CoverageError, OSError, SyntaxError) as error:
        print(f"coverage_rows: {error}", file=sys.stderr)
        return 1
    text = render(rows, claims)
    if options.check:
        if page.is_file() and page.read_text(encoding="utf-8") == text:
            return 0
        print(
            "coverage_rows: docs/coverage.md is stale; write it anew with python scripts/coverage_rows.py.",
            file=sys.stderr,
        )
        return 1
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
