"""Commands called in this process or in one of their own, and files for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilth.cli.main import run_command
from tilth.data.datasets import load

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def environment():
    return {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUTF8": "1"}


@pytest.fixture
def tilth(environment):
    """Run a command in a process of its own."""

    def inner(*arguments, **options):
        command = [sys.executable, "-W", "ignore", "-m", "tilth.cli.main", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, **options)

    return inner


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in a folder of its own; gives code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def inner(*arguments):
        code = run_command([str(a) for a in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return inner


@pytest.fixture(scope="session")
def weather_model(tmp_path_factory):
    from tilth import NaiveBayes, save

    return save(NaiveBayes().fit(load("weather").frame, "Play"), tmp_path_factory.mktemp("m") / "weather.tilth")


@pytest.fixture(scope="session")
def weather_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("d") / "weather.csv"
    load("weather").frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def titanic(tmp_path_factory):
    """Two models of half of the titanic, and the other half as a file; one model file says what it was trained on."""
    from tilth import C45, NaiveBayes, save
    from tilth.lifecycle.monitor import Reference

    folder = tmp_path_factory.mktemp("titanic")
    frame = load("titanic").frame.drop(columns=["passenger_id", "ticket", "cabin"])
    seen, new = frame[::2].drop(columns="name"), frame[1::2]
    about = {
        "reference": Reference.of(seen, target="survived").to_dict(), "card": {"use": "teaching", "limits": ["a", "b"]},
        "score": {"value": 0.8, "low": 0.7, "high": 0.9, "method": "Wilson"},
    }  # fmt: skip
    save(NaiveBayes().fit(seen, "survived"), folder / "nb.tilth", about=about)
    save(C45().fit(seen, "survived"), folder / "tree.tilth")
    new.to_csv(folder / "new.csv", index=False)
    return folder
