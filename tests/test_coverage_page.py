"""The coverage page: every mark is found, unknown rows and stale pages are refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def _load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_rows", PROJECT / "scripts" / "coverage_rows.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


coverage_rows = _load_script()

ROWS = "id,area,capability,note\nA-01,First,one thing,\nA-02,First,a | b,corrected\nB-01,Second,third,\n"
SUITE = """
import pytest
from tilth import Thing
from tilth.parts import losses

@pytest.mark.covers("A-01")
def test_one():
    pass

class TestGroup:
    @pytest.mark.covers("A-02")
    def test_inside(self):
        pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("spec", "docs", "tests/parts", "src/tilth/parts"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "spec/rows.csv").write_text(ROWS)
    (tmp_path / "src/tilth/parts/losses.py").write_text("")
    (tmp_path / "tests/test_things.py").write_text(SUITE)
    return tmp_path


def _run(project: Path, *arguments: str) -> int:
    return int(coverage_rows.main(["--root", str(project), *arguments]))


def _claims(project: Path, suite: str) -> set[tuple[str, str]]:
    (project / "tests/test_things.py").write_text("import pytest\n" + suite)
    return {(claim.row, claim.test) for claim in coverage_rows.find_claims(project)}


def test_page_lists_tests_and_open_rows(project: Path) -> None:
    assert _run(project) == 0
    page = (project / "docs/coverage.md").read_text()
    assert "**2 of 3 rows have a test, 1 are open.**" in page
    assert "| A-01 | one thing | `tilth.parts.losses` | `tests/test_things.py::test_one` |" in page
    assert "`tests/test_things.py::TestGroup::test_inside`" in page
    assert "| A-02 | a \\| b (corrected) |" in page
    assert "| B-01 | third | open | open |" in page


def test_page_is_deterministic_and_checked(project: Path) -> None:
    _run(project)
    first = (project / "docs/coverage.md").read_text()
    _run(project)
    assert (project / "docs/coverage.md").read_text() == first
    assert _run(project, "--check") == 0


def test_stale_page_is_detected_and_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(project, "--check") == 1
    _run(project)
    before = (project / "docs/coverage.md").read_text()
    (project / "tests/test_more.py").write_text('import pytest\n@pytest.mark.covers("B-01")\ndef test_b(): pass\n')
    assert _run(project, "--check") == 1
    assert "stale" in capsys.readouterr().err
    assert (project / "docs/coverage.md").read_text() == before


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_unknown_row_is_refused(project: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests/test_more.py").write_text('import pytest\n@pytest.mark.covers("Z-99")\ndef test_z(): pass\n')
    assert _run(project, *arguments) == 1
    message = capsys.readouterr().err
    assert "Z-99" in message
    assert "tests/test_more.py::test_z" in message
    assert not (project / "docs/coverage.md").exists()


def test_marks_are_found_on_modules_classes_and_parameters(project: Path) -> None:
    module = "tests/test_things.py"
    assert _claims(project, 'pytestmark = [pytest.mark.covers("A-01", "B-01")]\n') == {
        ("A-01", module),
        ("B-01", module),
    }
    assert _claims(project, '@pytest.mark.covers("A-01")\nclass TestC:\n    def test_x(self): pass\n') == {
        ("A-01", f"{module}::TestC")
    }
    parameters = 'pytest.param(1, marks=pytest.mark.covers("B-01"))'
    assert _claims(project, f'@pytest.mark.parametrize("x", [{parameters}])\ndef test_p(x): pass\n') == {
        ("B-01", f"{module}::test_p")
    }


@pytest.mark.parametrize("switch", ["skip", 'skip(reason="later")', "xfail", "xfail(strict=True)"])
def test_a_test_that_does_not_run_proves_nothing(project: Path, switch: str) -> None:
    suite = f'@pytest.mark.{switch}\n@pytest.mark.covers("A-01")\ndef test_x(): pass\n'
    assert _claims(project, suite) == set()


@pytest.mark.parametrize(
    "switch",
    [
        'pytestmark = pytest.mark.skipif(not Path("data").exists(), reason="no data")',
        'pytestmark = [pytest.mark.slow, pytest.mark.skip(reason="later")]',
        'pytest.skip("not here", allow_module_level=True)',
        'if sys.platform == "win32":\n    pytest.skip("not here", allow_module_level=True)',
        'rare = pytest.importorskip("rare.part")',
    ],
)
def test_a_module_that_may_skip_itself_proves_nothing(project: Path, switch: str) -> None:
    test = '\n@pytest.mark.covers("A-01")\ndef test_x(): pass\n'
    assert _claims(project, switch + test) == set()
    assert _claims(project, "SWITCH = 1" + test) == {("A-01", "tests/test_things.py::test_x")}


def test_packages_that_the_tests_require_are_always_there(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[project]\ndependencies = ["scikit-learn>=1.6"]\n'
        'optional-dependencies.test = ["pytest-xdist>=3", "rare[all]>=2"]\n'
    )
    assert coverage_rows.required_modules(project) == {"sklearn", "pytest_xdist", "rare"}
    suite = 'rare = pytest.importorskip("rare.part")\n@pytest.mark.covers("A-01")\ndef test_x(): pass\n'
    assert _claims(project, suite) == {("A-01", "tests/test_things.py::test_x")}


def test_a_skip_inside_a_function_is_that_function_s_business(project: Path) -> None:
    suite = 'def rows():\n    pytest.skip("none")\n@pytest.mark.covers("A-01")\ndef test_x(): pass\n'
    assert _claims(project, suite) == {("A-01", "tests/test_things.py::test_x")}


def test_marks_must_be_plain_strings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests/test_things.py").write_text(
        "import pytest\nROW = 'A-01'\n@pytest.mark.covers(ROW)\ndef test_x(): pass\n"
    )
    assert _run(project) == 1
    assert "plain strings" in capsys.readouterr().err


def test_repeated_row_ids_are_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "spec/rows.csv").write_text(ROWS + "A-01,First,again,\n")
    assert _run(project) == 1
    assert "A-01 twice" in capsys.readouterr().err


def test_a_test_file_is_placed_by_the_module_it_mirrors(project: Path) -> None:
    (project / "tests/parts/test_losses.py").write_text(
        'import pytest\nimport tilth.data\n@pytest.mark.covers("B-01")\ndef test_b(): pass\n'
    )
    claims = {claim.test: claim.where for claim in coverage_rows.find_claims(project)}
    assert claims["tests/parts/test_losses.py::test_b"] == ("tilth.parts.losses",)


def test_the_rows_of_this_project_are_well_formed() -> None:
    rows = coverage_rows.read_rows(PROJECT / "spec" / "rows.csv")
    assert len(rows) == 728 + 13 + 83 + 100 + 80
    assert all(row.area and row.capability and len(row.capability.split()) <= 12 for row in rows)


def test_the_marks_of_this_project_name_known_rows() -> None:
    rows = coverage_rows.read_rows(PROJECT / "spec" / "rows.csv")
    coverage_rows.check_known(rows, coverage_rows.find_claims(PROJECT))
