"""Habits of the suite itself: no generator is shared by tests, and any order of them can be repeated."""

import ast
import itertools
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
GENERATORS = {"np.random.default_rng", "default_rng", "np.random.RandomState", "random.Random"}


def shared_generators(text: str) -> list[str]:
    """Names of generators that live as long as their module: what one test draws changes what the next one gets."""
    names = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if ast.unparse(node.value.func) in GENERATORS:
                names.update(dict.fromkeys(ast.unparse(target) for target in node.targets))
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                names.pop(ast.unparse(target), None)
    return list(names)


def test_a_generator_of_a_module_is_seen_and_a_deleted_one_is_not():
    assert shared_generators("rng = np.random.default_rng(0)\nX = rng.normal(size=3)\n") == ["rng"]
    assert shared_generators("rng = np.random.default_rng(0)\nX = rng.normal(size=3)\ndel rng\n") == []
    assert shared_generators("def test_x():\n    rng = np.random.default_rng(0)\n") == []


def test_no_generator_is_shared_by_tests():
    shared = {path.relative_to(TESTS).as_posix(): shared_generators(path.read_text(encoding="utf-8"))
              for path in sorted(TESTS.rglob("*.py"))}  # fmt: skip
    assert {path: names for path, names in shared.items() if names} == {}


def test_a_seed_fixes_the_order(order_of):
    assert order_of(5) == order_of(5)
    assert order_of(5) != order_of(6)
    assert sorted(order_of(5)) == sorted(order_of(None))
    files = [name.split("::")[0] for name in order_of(5)]
    assert sum(a != b for a, b in itertools.pairwise(files)) == 2, "the tests of a file stay together"


@pytest.fixture
def order_of():
    """Names of nine tests in three files, in the order of a seed."""
    import importlib.util
    from types import SimpleNamespace

    spec = importlib.util.spec_from_file_location("suite_conftest", TESTS / "conftest.py")
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)

    def order(seed):
        items = [SimpleNamespace(nodeid=f"tests/test_{file}.py::test_{i}") for file in "abc" for i in range(3)]
        conftest.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda name: seed), items)
        return [item.nodeid for item in items]

    return order
