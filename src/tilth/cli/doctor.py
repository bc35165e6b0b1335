"""The command ``doctor``: is the installation sound?"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tilth.cli.exits import Exit
from tilth.cli.options import debug_option, examples, json_option, print_json, quiet_option, say
from tilth.errors import TilthWarning

if TYPE_CHECKING:
    from tilth.base import Section

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "narwhals", "matplotlib", "jinja2", "rich", "click")
#: What each extra brings, as in the project's metadata.
EXTRAS = {
    "frames": ("polars", "pyarrow"),
    "excel": ("openpyxl",),
    "serve": ("starlette", "uvicorn"),
    "neural": ("torch",),
    "search": ("optuna",),
}


@click.command(epilog=examples("tilth doctor", "tilth doctor --json"))
@json_option
@quiet_option
@debug_option
def doctor(as_json: bool, quiet: bool) -> Exit:
    """Check the installation: versions, compiled core, extras, and a test on bundled data.

    Ends with code 1 if anything that should work does not. Takes a few seconds and needs no network.
    """
    say("tilth: checking the installation", quiet)
    results = examine()
    if as_json:
        print_json(results)
    else:
        from tilth.report.render import show

        show(_pages(results), sys.stdout)
    return Exit.OK if results["sound"] else Exit.INTERNAL


def examine() -> dict[str, Any]:
    """What is installed, and whether it works."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import tilth

    def known(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    checks = [_tried(name, check) for name, check in CHECKS.items()]
    return {
        "schema": "tilth.doctor/1",
        "sound": all(c["works"] for c in checks),
        "versions": {
            "tilth": tilth.__version__, "python": platform.python_version(), **{n: known(n) for n in LIBRARIES},
        },
        "machine": {"system": platform.platform(), "processor": platform.machine(), **_core_facts()},
        "extras": {extra: {n: known(n) for n in names} for extra, names in EXTRAS.items()},
        "checks": checks,
    }  # fmt: skip


def _core_facts() -> dict[str, Any]:
    """The compiled core: where it is, how many threads it takes, and which of its versions this processor runs."""
    try:
        import numpy as np

        from tilth import _core

        extensions = np.show_config(mode="dicts")["SIMD Extensions"]
        able = {*extensions.get("baseline", ()), *extensions.get("found", ())} & {"X86_V3", "AVX2"}
        return {"core": _core.__file__, "threads": _core.max_threads(), "core_path": "x86-64-v3" if able else "default"}
    except Exception as error:  # whatever is wrong is what this command is for
        return {"core": f"cannot be used: {error}", "threads": None, "core_path": None}


def _tried(name: str, check: Callable[[], str]) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TilthWarning)
            return {"check": name, "works": True, "found": check()}
    except Exception as error:  # whatever is wrong is what this command is for
        return {"check": name, "works": False, "found": f"{type(error).__name__}: {error}"}


def _core_works() -> str:
    import numpy as np

    from tilth import _core

    low, high, gone, _ = _core.column_facts(np.array([[1.0, 5.0], [np.nan, 3.0]]))
    _require(low.tolist() == [1.0, 3.0] and high.tolist() == [1.0, 5.0] and gone.tolist() == [1, 0], "wrong bounds")
    return "bounds and missing cells of a small table are right"


def _model_works() -> str:
    """The posterior of the weather data that textbooks work out by hand: 0.0206 / (0.0206 + 0.0053)."""
    from tilth import NaiveBayes
    from tilth.data.datasets import load

    model = NaiveBayes(alpha=0).fit(load("weather").frame, "Play")
    day = {"Outlook": ["Sunny"], "Temp": ["Cold"], "Humidity": ["High"], "Windy": [True]}
    share = float(model.predict_proba(day)[0, 0])
    _require(abs(share - 0.7954) < 0.0001, f"P(No) = {share}; expected 0.7954")
    return f"naive Bayes on the weather data: P(No) = {share:.4f}, as by hand"


def _trees_work() -> str:
    from tilth import RandomForestClassifier
    from tilth.data.datasets import load

    iris = load("iris").frame
    model = RandomForestClassifier(n_estimators=25, random_state=0).fit(iris[::2], "species")
    right = float((model.predict(iris[1::2]) == iris["species"][1::2].to_numpy()).mean())
    _require(right > 0.85, f"accuracy {right:.2f}")
    return f"a forest on half of iris predicts the other half: {right:.3f}"


def _saving_works() -> str:
    import tempfile
    from pathlib import Path

    import numpy as np

    from tilth import LogisticRegression, load, save
    from tilth.data.datasets import load as load_table

    iris = load_table("iris").frame
    model = LogisticRegression().fit(iris, "species")
    with tempfile.TemporaryDirectory() as folder:
        again = load(save(model, Path(folder) / "model.tilth"))
    _require(np.array_equal(model.predict_proba(iris), again.predict_proba(iris)), "other answers after loading")
    return "a model saved and loaded gives the same answers to the last bit"


def _report_works() -> str:
    from tilth.lifecycle.source import read_source
    from tilth.quality import profile
    from tilth.report.render import to_html

    page = to_html(profile(read_source("weather").frame).sections(), title="proof")
    _require("<html" in page, "no page")
    return f"a page of {len(page):,} characters"


CHECKS: dict[str, Callable[[], str]] = {
    "compiled core": _core_works,
    "a model": _model_works,
    "trees": _trees_work,
    "saving and loading": _saving_works,
    "a report": _report_works,
}


def _require(fine: bool, what: str) -> None:
    if not fine:
        raise ArithmeticError(what)


def _pages(results: dict[str, Any]) -> list[Section]:
    import pandas as pd

    from tilth.base.declare import Section

    broken = [c["check"] for c in results["checks"] if not c["works"]]
    verdict = f"Not sound: {', '.join(broken)}." if broken else "Everything works."
    cure = "Install again: pip install --force-reinstall tilth" if broken else ""
    checks = pd.DataFrame(results["checks"])
    versions = pd.DataFrame(
        [(k, v or "not found") for k, v in results["versions"].items()], columns=["package", "version"]
    )
    extras = pd.DataFrame([
        (extra, ", ".join(f"{n} {v}" for n, v in names.items() if v) or "",
         "" if all(names.values()) else f"pip install 'tilth[{extra}]'")
        for extra, names in results["extras"].items()
    ], columns=["extra", "installed", "to have it"])  # fmt: skip
    machine = "\n".join(f"  {name:<10}  {value}" for name, value in results["machine"].items())
    return [
        Section("Doctor", verdict, checks, advice=cure), Section("Machine", machine),
        Section("Versions", frame=versions), Section("Extras", frame=extras),
    ]  # fmt: skip
