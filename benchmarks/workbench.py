"""``python -m benchmarks.workbench --data DIR [--rival mljar=PYTHON ...]``: ``tilth run`` beside other tools.

Every tool gets the same training rows as a file, the same budget and an environment of its own (``PYTHON`` is the
interpreter in it); the answers on rows that none of them saw are scored here, with the same code. Then the command is
held to what it promises: when it speaks, how long it takes, what it writes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.machine import describe, facts

RESULTS = Path(__file__).parent / "results"
RIVALS = Path(__file__).parent / "rivals.py"
TILTH = [sys.executable, "-m", "tilth.cli.main"]
#: File, target, task.
SETS = (
    ("titanic", "survived", "classification"),
    ("german_credit", "credit_risk", "classification"),
    ("credit_card_default", "default_payment", "classification"),
    ("electricity_nsw", "price_up", "classification"),
    ("wine_quality", "quality", "regression"),
    ("california_housing", "median_house_value", "regression"),
)
#: A line that tells a score.
_SCORE = re.compile(r"(?<![\d.])[01]\.\d{2,}")
_RESAMPLES = 2000


@dataclass
class Told:
    """What a process said and when."""

    code: int
    seconds: float
    lines: list[tuple[float, str]] = field(default_factory=list)

    def first(self, pattern: re.Pattern[str]) -> float:
        """When a line first matched."""
        return next((at for at, line in self.lines if pattern.search(line)), float("nan"))


def watched(command: Sequence[str], limit: float, *, results: bool = False) -> Told:
    """Run a command and note when each line of its standard error came, of its ``results`` too where asked."""
    begun = time.monotonic()
    where = subprocess.PIPE if results else subprocess.DEVNULL
    said = subprocess.STDOUT if results else subprocess.PIPE
    pipe = subprocess.Popen(command, stdout=where, stderr=said, text=True, errors="replace")
    told = Told(-1, 0.0)
    stream = pipe.stdout if results else pipe.stderr
    assert stream is not None
    try:
        for line in stream:
            told.lines.append((time.monotonic() - begun, line.rstrip()))
        told.code = pipe.wait(timeout=limit)
    finally:
        pipe.kill()
    told.seconds = time.monotonic() - begun
    return told


# ---------------------------------------------------------------------------------------------------------- comparison


def halves(frame: pd.DataFrame, target: str, task: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three quarters to learn from, a quarter to be asked about."""
    from sklearn.model_selection import train_test_split

    strata = frame[target] if task == "classification" else None
    return train_test_split(frame, test_size=0.25, random_state=0, stratify=strata)


def tilth_answers(folder: Path, target: str, task: str, seconds: float) -> tuple[Told, dict[str, Any]]:
    """``tilth run`` and ``tilth predict``."""
    told = watched(
        [*TILTH, "run", f"{folder}/train.csv", "-t", target, "--task", task, "--budget", f"{seconds}s",
         "-o", f"{folder}/run"],
        10 * seconds,
    )  # fmt: skip
    proba = ["--proba"] if task == "classification" else []
    command = [*TILTH, "predict", f"{folder}/run/model.tilth", f"{folder}/test.csv", "-q", *proba]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (folder / "answers.csv").write_text(done.stdout)
    found = pd.read_csv(folder / "answers.csv")
    table = found.filter(regex=r"^p\(")
    return told, {
        "answers": found["prediction"].astype(str if task == "classification" else float).tolist(),
        "probability": table.to_numpy().tolist() if proba else None,
        "classes": [c[2:-1] for c in table.columns] if proba else None,
    }


def rival_answers(name: str, python: str, folder: Path, target: str, task: str, seconds: float) -> tuple[Told, Any]:
    """Another tool, in its own environment."""
    out = folder / f"{name}.json"
    told = watched(
        [python, str(RIVALS), name, f"{folder}/train.csv", f"{folder}/test.csv", target, task, str(seconds), str(out)],
        20 * seconds, results=True,
    )  # fmt: skip
    return told, json.loads(out.read_text()) if out.exists() else None


def losses(answers: dict[str, Any], true: Any, task: str) -> dict[str, Any]:
    """What each test row costs: 0 or 1 and minus log p for classes, squared error for numbers."""
    if task == "regression":
        return {"squared error": (np.asarray(answers["answers"], dtype=float) - true) ** 2}
    words = np.asarray([_word(v) for v in true])
    found = {"error": (np.asarray([_word(v) for v in answers["answers"]]) != words).astype(float)}
    if answers["probability"] is not None:
        classes = [_word(c) for c in answers["classes"]]
        place = np.array([classes.index(w) for w in words])
        table = np.asarray(answers["probability"])
        found["log loss"] = -np.log(np.clip(table[np.arange(len(place)), place], 1e-15, 1))
    return found


def _word(value: Any) -> str:
    """A class as text, the same for 1, 1.0 and "1"."""
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return str(value)


def difference(ours: Any, theirs: Any, task: str) -> list[float]:
    """Ours less theirs with the ends of a 95 % interval, rows resampled in pairs; roots of means for numbers."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(ours), (_RESAMPLES, len(ours)))
    root = np.sqrt if task == "regression" else np.asarray

    def gap(a: Any, b: Any) -> Any:
        return root(a.mean(axis=-1)) - root(b.mean(axis=-1))

    low, high = np.quantile(gap(ours[rows], theirs[rows]), [0.025, 0.975])
    return [float(gap(ours, theirs)), float(low), float(high)]


def compare_tools(data: Path, rivals: dict[str, str], seconds: float) -> list[dict[str, Any]]:
    """Every tool on every set."""
    rows = []
    for name, target, task in SETS:
        frame = pd.read_csv(data / "tabular" / f"{name}.csv.gz")
        train, test = halves(frame, target, task)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            train.to_csv(folder / "train.csv", index=False)
            test.drop(columns=target).to_csv(folder / "test.csv", index=False)
            true = test[target].to_numpy()
            told, answers = tilth_answers(folder, target, task, seconds)
            ours = losses(answers, true, task)
            rows.append(_row("tilth", name, told, ours, None, task))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            for rival, python in rivals.items():
                told, answers = rival_answers(rival, python, folder, target, task, seconds)
                theirs = None if answers is None else losses(answers, true, task)
                rows.append(_row(rival, name, told, theirs, ours, task))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _row(tool: str, name: str, told: Told, own: Any, ours: Any, task: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "tool": tool, "set": name, "task": task, "code": told.code, "seconds": told.seconds,
        "first_score": told.first(_SCORE), "lines": len(told.lines), "scores": {}, "differences": {},
    }  # fmt: skip
    if own is None:
        made["failure"] = told.lines[-1][1][:200] if told.lines else ""
        return made
    root = np.sqrt if task == "regression" else float
    made["scores"] = {k: float(root(v.mean())) for k, v in own.items()}
    if ours is not None:
        made["differences"] = {k: difference(ours[k], own[k], task) for k in own if k in ours}
    return made


def installed(python: str) -> dict[str, float]:
    """Size and number of what is installed beside an interpreter."""
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    place = Path(subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
    size = sum(p.stat().st_size for p in place.rglob("*") if p.is_file() and not p.is_symlink())
    return {"mb": size / 1e6, "packages": len(list(place.glob("*.dist-info")))}


# ------------------------------------------------------------------------------------------------------------- promises


def cpu_of(command: Sequence[str]) -> float:
    """Seconds of CPU that a command takes, best of five."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def promises(data: Path) -> list[tuple[str, str, str]]:
    """(measure, limit, found) of what the command is held to."""
    import tilth

    told = [("CPU of `tilth --help`", "0.15 s", f"{cpu_of([*TILTH, '--help']):.2f} s")]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table = _table(10_000)
        table.to_csv(folder / "ten.csv", index=False)
        _table(1000).to_csv(folder / "one.csv", index=False)
        _table(1_000_000).to_csv(folder / "million.csv", index=False)

        def run(source: str, target: str, budget: str) -> Told:
            return watched([*TILTH, "run", source, "-t", target, "--budget", budget, "-o", f"{folder}/out"], 600)

        found = run(f"{folder}/ten.csv", "y", "20s")
        told.append(("first line, 10,000 rows: columns, rows, size", "1 s", f"{found.lines[0][0]:.2f} s"))
        begun = re.compile("baselines")
        told.append(("lines of a 20 s run on no terminal", "20", str(len(found.lines))))
        for budget in (5, 10, 20, 30, 60):
            found = run("titanic", "survived", f"{budget}s")
            told.append((f"titanic, budget {budget} s", f"{1.02 * budget + 1:.1f} s", f"{found.seconds:.1f} s"))
        found = run(f"{folder}/one.csv", "y", "60s")
        asked = found.first(re.compile("question"))
        told.append(
            ("1,000 rows: from the question to Zero-R and One-R", "0.5 s", f"{found.first(begun) - asked:.2f} s")
        )
        told.append(("full nested run with report, 1,000 x 20", "60 s", f"{found.seconds:.1f} s"))
        size = os.path.getsize(folder / "out" / "report.html")
        told.append(("its report", "1 MB", f"{size / 1e6:.2f} MB"))
        found = run(f"{folder}/million.csv", "y", "2m")
        told.append(("1,000,000 x 20: profile and baselines", "60 s", f"{found.first(begun):.1f} s"))
        told.append(("1,000,000 x 20: all, budget 120 s", "123.4 s", f"{found.seconds:.1f} s"))
    dirty = data / "dirty" / "credit_dirty.csv"
    frame = pd.read_csv(dirty)
    tilth.profile(frame, "default")
    begun_at = time.perf_counter()
    findings = tilth.profile(frame, "default").findings
    told.append(("all checks, 1,100 x 24", "2 s", f"{time.perf_counter() - begun_at:.2f} s"))
    codes = {f.code for f in findings}
    hit = len(codes & {"Q504", "Q302", "Q301", "Q401", "Q111"})
    told.append(("planted faults found before training", "5 of 5", f"{hit} of 5"))
    alarms = [n for n in ("credit", "iris", "titanic", "penguins", "auto_mpg", "mushrooms", "car_evaluation")
              if any(f.code == "Q504" and f.severity == "serious" for f in _findings(n))]  # fmt: skip
    told.append(("clean bundled sets accused of a leak", "0 of 7", f"{len(alarms)} of 7 {' '.join(alarms)}".strip()))
    for rows in (200, 500):
        what = "over the folds" if rows < 300 else "on rows held back"
        told.append((f"the headline's interval holds the truth, {rows} rows ({what})", "93 to 97 %", coverage(rows)))
    return told


#: Simulated runs per size, and fresh rows that tell how good a model really is.
_RUNS, _FRESH = 300, 20_000
_UNTIL_TEST = ("question", "data", "columns", "split", "baselines", "candidates", "choice", "test")


def coverage(rows: int) -> str:
    """How often the interval of the headline holds the true accuracy of the model it speaks of."""
    from tilth.lifecycle.run.clock import Clock
    from tilth.lifecycle.run.options import options
    from tilth.lifecycle.run.question import prepare
    from tilth.lifecycle.run.record import Run
    from tilth.lifecycle.run.stages import all_stages

    hit = 0
    for seed in range(_RUNS):
        wishes = options(budget=None, trials=1, models=["NaiveBayes", "LogisticRegression"], seed=seed)
        run = Run(prepare(_table(rows, seed), "y", wishes), wishes, Clock(None))
        for stage in all_stages():
            if stage.name in _UNTIL_TEST:
                list(stage.make(run))
        model = run.asked.model
        if run.test is None:  # the folds speak of the model that all rows will make
            made = run.standing.contest.made(run.standing.chosen)
            model = made.fit(run.standing.division.develop.given, run.standing.division.develop.labels)
        fresh = _table(_FRESH, 10_000 + seed)
        true = float((model.predict(fresh.drop(columns="y")) == fresh["y"]).mean())
        assert run.score is not None
        hit += run.score.low <= true <= run.score.high
    return f"{100 * hit / _RUNS:.1f} % of {_RUNS} runs"


def _findings(name: str) -> Any:
    import tilth

    data = tilth.load_dataset(name)
    return tilth.profile(data.frame, data.target).findings


def _table(n: int, seed: int = 0) -> pd.DataFrame:
    """A mixed table with a target of two classes: 13 numbers, one of them with gaps, 6 words, a count."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=n).round(4) for i in range(12)}
    columns |= {f"c{i}": np.array(list("abcdefgh"))[rng.integers(0, 3 + i, n)] for i in range(6)}
    columns["gaps"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(3))
    columns["count"] = rng.integers(0, 100, n)
    score = columns["x0"] + 0.5 * columns["x1"] ** 2 - (columns["c0"] == "a") + rng.normal(size=n)
    return pd.DataFrame(columns | {"y": np.where(score > 0.3, "yes", "no")})


# --------------------------------------------------------------------------------------------------------------- tables


def page(told: dict[str, Any]) -> str:
    lines = [
        "# The workbench",
        "",
        "Written by `python -m benchmarks.workbench`. Machine: " + describe(told["machine"]) + ".",
        "",
    ]
    if told.get("promises"):
        lines += ["| what | limit | found |", "|---|---|---|"]
        lines += [f"| {a} | {b} | {c} |" for a, b, c in told["promises"]]
    if told.get("tools"):
        lines += [
            "",
            f"## Beside other tools, {told['budget']:g} s each",
            "",
            "Three quarters of the rows to learn from, a quarter to be scored on. *less tilth's*: the tool's loss less",
            "ours on the same rows, with a 95 % interval (paired bootstrap); above 0 the tool is worse. *first score*:",
            "when the first line with a score was printed. All with two cores and the tools' own defaults.",
            "",
            "| set | tool | wall s | first score s | error or RMSE | less tilth's | log loss | less tilth's |",
            "|---|---|---:|---:|---:|---|---:|---|",
            *map(_line, told["tools"]),
            "",
            "| environment | installed MB | packages |",
            "|---|---:|---:|",
            *(f"| {n} | {v['mb']:,.0f} | {v['packages']} |" for n, v in told["installed"].items()),
        ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    cells = []
    for names in (("error", "squared error"), ("log loss",)):
        name = next((n for n in names if n in row["scores"]), None)
        cells.append("" if name is None else f"{row['scores'][name]:.4g}")
        gap = row["differences"].get(name)
        cells.append("" if gap is None else f"{-gap[0]:+.3g} ({-gap[2]:+.3g} to {-gap[1]:+.3g})")
    if "failure" in row:
        cells[0] = f"failed: {row['failure'][:60]}"
    return f"| {row['set']} | {row['tool']} | {row['seconds']:.1f} | {row['first_score']:.1f} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workbench", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with tabular/*.csv.gz and dirty/")
    parser.add_argument("--rival", action="append", default=[], metavar="NAME=PYTHON", help="mljar, autogluon, flaml")
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument(
        "--own", default=sys.executable, metavar="PYTHON", help="environment with tilth alone, to weigh"
    )
    parser.add_argument("--only", choices=["promises", "tools"])
    options = parser.parse_args(arguments)
    kept = RESULTS / "workbench.json"
    told: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    told["machine"] = facts()
    if options.only != "tools":
        told["promises"] = promises(options.data)
    if options.only != "promises":
        rivals = dict(r.split("=", 1) for r in options.rival)
        told["budget"] = options.budget
        told["tools"] = compare_tools(options.data, rivals, options.budget)
        told["installed"] = {n: installed(p) for n, p in {"tilth": options.own, **rivals}.items()}
    kept.write_text(json.dumps(told, indent=1) + "\n")
    (RESULTS / "workbench.md").write_text(page(told))
    print(page(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
