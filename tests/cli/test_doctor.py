import json
import re
import tomllib
from pathlib import Path

from tilth.cli import doctor
from tilth.cli.exits import Exit

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def names(requirements):
    return {re.match(r"[\w-]+", r)[0] for r in requirements}


def test_a_sound_installation(call):
    code, out, err = call("doctor")
    assert code == Exit.OK
    assert "Everything works." in out
    assert "0.7954" in out
    assert err == "tilth: checking the installation\n"
    told = json.loads(call("doctor", "--json", "-q")[1])
    assert told["sound"] is True
    assert {c["check"] for c in told["checks"]} == set(doctor.CHECKS)
    assert told["machine"]["threads"] >= 1
    assert told["machine"]["core"].endswith(".so")


def test_what_does_not_work_is_named_and_ends_with_1(call, monkeypatch):
    def broken():
        raise OSError("no such kernel")

    monkeypatch.setitem(doctor.CHECKS, "compiled core", broken)
    code, out, err = call("doctor")
    assert code == Exit.INTERNAL
    assert "Not sound: compiled core." in out
    assert "no such kernel" in out
    assert "pip install" in out
    assert "Traceback" not in err
    assert json.loads(call("doctor", "--json")[1])["sound"] is False


def test_the_lists_are_those_of_the_project():
    assert set(doctor.LIBRARIES) == names(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    for extra, packages in doctor.EXTRAS.items():
        assert set(packages) == names(extras[extra]), extra
    assert set(extras) - set(doctor.EXTRAS) == {"test", "dev", "bench"}
