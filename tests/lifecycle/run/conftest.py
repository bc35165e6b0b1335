"""Two runs that many tests look at, made once."""

import pytest

from tilth.lifecycle.run import run

#: Quick models and no clock: everything is decided by the seed.
QUICK = {"budget": None, "trials": 2, "models": ["NaiveBayes", "C45"]}
NUMBERS = {"budget": None, "trials": 2, "models": ["Ridge", "CARTRegressor"]}


@pytest.fixture
def few_pictures(monkeypatch):
    """Pages without pictures, for tests that look at something else; fixtures of the whole session have theirs."""
    from tilth.report.pictures import Pictures

    monkeypatch.setattr(Pictures, "svg", lambda *_, **__: "<svg/>")


@pytest.fixture(scope="session")
def quick():
    return dict(QUICK)


@pytest.fixture(scope="session")
def numbers():
    return dict(NUMBERS)


@pytest.fixture(scope="session")
def titanic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("titanic")
    return run("titanic", out=folder, sensitive=["sex"], keep_sensitive=True, costs={"fp": 1, "fn": 3}, **QUICK)


@pytest.fixture(scope="session")
def cars(tmp_path_factory):
    return run("auto_mpg", out=tmp_path_factory.mktemp("cars"), **NUMBERS)
