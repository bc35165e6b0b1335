"""Estimators register themselves: what the scripts read off the sources is what Python sees; skeletons are found."""

from __future__ import annotations

import ast
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tilth._registry import CHAPTERS, ESTIMATORS, STORED
from tilth.base import Estimator
from tilth.models.catalogue import all_estimators

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(PROJECT / "scripts"))
    try:
        yield importlib.import_module("public_names"), importlib.import_module("new_estimator")
    finally:
        sys.path.remove(str(PROJECT / "scripts"))


def test_the_registry_is_what_the_sources_say(scripts):
    public_names, _ = scripts
    assert (PROJECT / "src/tilth/_registry.py").read_text() == public_names.registry(PROJECT / "src/tilth")


def test_every_concrete_estimator_of_the_library_is_registered():
    def below(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    classes = all_estimators()  # imports all of them
    homes = ("tilth.models.", "tilth.evaluate.")
    leaves = {c for c in below(Estimator) if c.__module__.startswith(homes) and not c.__subclasses__()}
    assert leaves <= set(classes.values())
    assert all(isinstance(c.card.summary, str) and issubclass(c, Estimator) for c in classes.values())
    assert {c.__module__.split(".")[2] for c in leaves if ".models." in c.__module__} <= set(CHAPTERS)


def test_marks_are_on_the_classes_that_the_registry_names():
    for name, module in STORED.items():
        assert "__stored__" in vars(getattr(importlib.import_module(module), name))


def copied(folder: Path) -> dict[str, str]:
    """A copy of the project without its tests, and the environment in which it is the one that is imported."""
    for part in ("src", "scripts", "spec"):
        shutil.copytree(PROJECT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "docs").mkdir()
    (folder / "tests").mkdir()
    (folder / "src" / "sitecustomize.py").write_text(importlib.import_module("mutants").ALONE)
    return {"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"}


def source(text: str, place: Path) -> Path:
    place.mkdir(parents=True)
    (place / "thing.py").write_text(text)
    return place


BASE = "@declared\nclass Base(Learner):\n    pass\n"
FIRST = "@declared\nclass First(Base):\n    card: ClassVar[Card] = Card('It is.', Traits('anomaly'))\n"
SECOND = "@declared\nclass Second(First):\n    pass\n"


def test_bases_without_a_card_are_no_estimators(scripts, tmp_path):
    public_names, _ = scripts
    package = tmp_path / "tilth"
    source(BASE + FIRST + SECOND + "class Plain:\n    pass\n", package / "models" / "anomaly")
    found = public_names.estimators(list(public_names.classes(package)))
    assert [c.name for c in found] == ["First", "Second"]
    assert found[0].module == "tilth.models.anomaly.thing"


def test_candidates_come_first_and_simple_ones_before_others(scripts, tmp_path):
    public_names, _ = scripts
    text = "".join(
        f"@declared\nclass {name}(Base):\n    card = Card()\n    contest = {contest}\n"
        for name, contest in (("A", "'no'"), ("B", "Candidate('b', 30)"), ("C", "Candidate('c', 20)"), ("D", "MANY"))
    )
    source(text, tmp_path / "tilth" / "models" / "linear")
    found = public_names.estimators(list(public_names.classes(tmp_path / "tilth")))
    assert [c.name for c in found] == ["C", "B", "D", "A"]


def test_one_name_for_two_classes_is_refused(scripts, tmp_path):
    public_names, _ = scripts
    package = tmp_path / "tilth"
    source("@stored\nclass Twin:\n    pass\n", package / "parts")
    source("@stored\nclass Twin:\n    pass\n", package / "stats")
    with pytest.raises(SystemExit, match=r"Twin is defined in tilth\.parts\.thing and in tilth\.stats\.thing"):
        public_names.registry(package)


# ---------------------------------------------------------------------------------------------------- skeletons

PROGRAM = """
import json, sys
import tilth, tilth.base
answers = {}
rows, numbers, words = [[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0], ["a", "a", "b"]
given = {"classifier": (rows, words), "sequence": ([["u"], ["v"], ["u"]], [["a"], ["a"], ["b"]]),
         "recommender": ({"user": words, "item": words},)}
for name, kind in json.loads(sys.argv[1]).items():
    cls = getattr(tilth, name)
    base = getattr(tilth.base, {"sequence": "SequenceModel"}.get(kind, kind.capitalize()))
    try:
        cls().fit(*given.get(kind, (rows, numbers)))
    except NotImplementedError:
        state = "to be written"
    answers[name] = [issubclass(cls, base), state, cls.__module__, str(cls().recipe()) != "", "alpha : " in cls.__doc__]
print(json.dumps(answers))
"""


def test_skeletons_of_every_kind_are_importable_and_found(scripts, tmp_path):
    _, new_estimator = scripts
    environment = copied(tmp_path)
    names = {f"New{kind.capitalize()}": kind for kind in new_estimator.KINDS}
    for name, kind in names.items():
        for path in new_estimator.write(tmp_path, name, kind, "novelties"):
            ast.parse(path.read_text())
            assert max(map(len, path.read_text().splitlines())) <= 120
    subprocess.run([sys.executable, str(tmp_path / "scripts" / "public_names.py")], check=True)
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = json.loads(out.stdout)
    for name in names:
        home = f"tilth.models.novelties.{new_estimator.file_name(name)}"
        assert answers[name] == [True, "to be written", home, True, True]
    stub = (tmp_path / "src" / "tilth" / "__init__.pyi").read_text()
    assert "from tilth.models.novelties.new_detector import NewDetector as NewDetector" in stub


@pytest.mark.usefixtures("scripts")
def test_the_command_writes_pages_too_and_keeps_what_is_there(tmp_path):
    environment = copied(tmp_path)
    command = [sys.executable, str(tmp_path / "scripts" / "new_estimator.py"), "Oddity", "--kind", "detector"]
    command += ["--chapter", "anomaly"]
    first = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "wrote src/tilth/models/anomaly/oddity.py" in first.stdout
    assert "wrote tests/models/anomaly/test_oddity.py" in first.stdout
    assert "| Oddity |" in (tmp_path / "docs" / "models.md").read_text()
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "oddity.py is there already" in second.stderr


@pytest.mark.parametrize(
    ("name", "chapter", "problem"),
    [("local_factor", "anomaly", "no class name"), ("Local", "../anomaly", "no chapter name")],
)
def test_odd_names_are_refused_before_anything_is_written(scripts, tmp_path, name, chapter, problem):
    _, new_estimator = scripts
    with pytest.raises(SystemExit, match=problem):
        new_estimator.write(tmp_path, name, "detector", chapter)
    assert list(tmp_path.iterdir()) == []


def test_names_of_files(scripts):
    _, new_estimator = scripts
    names = ("LocalOutlierFactor", "HBOS", "CARTRegressor", "C45")
    assert [new_estimator.file_name(n) for n in names] == ["local_outlier_factor", "hbos", "cart_regressor", "c45"]
    assert not set(ESTIMATORS) & {"NewDetector", "Oddity"}
