"""Planted faults: every kind is found, words are left alone, a sample is repeatable, and verdicts are true."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def _load_script():
    spec = importlib.util.spec_from_file_location("mutants", PROJECT / "scripts" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


mutants = _load_script()

SOURCE = '''"""A module."""
from __future__ import annotations


def mean(rows: list[float], weight: int = 1, *, größe: bool = False) -> float:
    total = 0.0
    for row in rows:
        total += row
    if total > 10:
        raise ValueError(f"{total + 1} is too much")
    log(total, weight, places=2)
    return total / len(rows)
'''


def changed(source=SOURCE):
    return {(m.kind, m.diff(source)) for m in mutants.mutants_of(Path("x.py"), source)}


def test_every_kind_of_fault_is_planted():
    expected = {
        ("constant", "-    total = 0.0\n+    total = 1.0"),
        ("statement removed", "-        total += row\n+        pass"),
        ("comparison", "-    if total > 10:\n+    if total >= 10:"),
        ("condition", "-    if total > 10:\n+    if (not (total > 10)):"),
        ("constant", "-    if total > 10:\n+    if total > 11:"),
        ("keyword places dropped", "-    log(total, weight, places=2)\n+    log(total, weight)"),
        ("arguments swapped", "-    log(total, weight, places=2)\n+    log(weight, total, places=2)"),
        ("operator", "-    return total / len(rows)\n+    return (total * len(rows))"),
    }
    assert expected <= changed()


def test_a_swap_of_equal_arguments_is_no_fault():
    assert not any(kind == "arguments swapped" for kind, _ in changed("x = min(a, b)\n"))
    assert changed('field("text", "text")\n') == {("statement removed", '-field("text", "text")\n+pass')}


def test_words_and_annotations_are_left_alone():
    assert not any("raise" in diff or "import" in diff or '"""' in diff for _, diff in changed())
    assert not any("list[float" in diff.split("\n")[1].replace("rows: list[float]", "") for _, diff in changed())


def test_every_fault_in_a_real_module_still_parses():
    path = PROJECT / "src" / "tilth" / "stats" / "folds.py"
    source = path.read_text(encoding="utf-8")
    several = mutants.mutants_of(path, source)
    assert len(several) > 50
    for mutant in several:
        assert ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))


def test_the_seed_fixes_the_sample_and_kinds_take_turns():
    first, again, other = (mutants.draw(PROJECT, "stats", 14, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len({m.kind.split()[0] for m in first}) >= 6


def test_the_tests_of_a_module_are_its_mirror_and_its_importers():
    suite = mutants.Suite(PROJECT)
    assert suite.of(Path("src/tilth/stats/folds.py"))[0] == "tests/stats/test_folds.py"
    assert "tests/models/ensembles/test_forest.py" in suite.of(Path("src/tilth/engines/tree/forest.py"))


@pytest.mark.parametrize(
    ("test", "counts"),
    [
        ("assert twice(2) == 4", (1, 0, 0)),
        ("assert twice(2) > 0", (0, 1, 0)),
        ("assert twice(2) == 5", (0, 0, 1)),
    ],
    ids=["killed", "survived", "unsure"],
)
def test_verdicts_are_those_of_the_tests(tmp_path, test, counts, capsys):
    for folder in ("src/tilth", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/tilth/__init__.py").write_text("")
    (tmp_path / "src/tilth/twice.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "tests/test_twice.py").write_text(f"from tilth.twice import twice\n\ndef test_it():\n    {test}\n")
    chosen = [m for m in mutants.draw(tmp_path, "", 10, 0) if m.kind == "constant"]
    (tmp_path / "bench").mkdir()
    bench = mutants.Bench(tmp_path, tmp_path / "bench", 60)
    verdicts = mutants.Verdicts()
    for mutant in chosen:
        getattr(verdicts, bench.judge(mutant)).append(mutant)
    assert (len(verdicts.killed), len(verdicts.survived), len(verdicts.unsure)) == counts
    assert (tmp_path / "bench/src/tilth/twice.py").read_text() == "def twice(x):\n    return 2 * x\n"
    assert f"{counts[0]} of {counts[0] + counts[1]} mutants killed" in str(verdicts)
    assert mutants.main(["--root", str(tmp_path), "--list", "--sample", "2"]) == 0
    assert "src/tilth/twice.py:2" in capsys.readouterr().out
