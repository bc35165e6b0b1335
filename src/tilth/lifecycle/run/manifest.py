"""``run.json``: everything a run depended on and came to, so that it can be compared with others and made again."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilth.evaluate.search.trials import data_hash, splits_hash
from tilth.lifecycle.run.contest import Contest
from tilth.lifecycle.run.record import Run
from tilth.words import plain

SCHEMA = "tilth.manifest/1"


def manifest(run: Run, digest: str | None) -> dict[str, Any]:
    """The manifest; ``digest`` is the hash of the model's file without its card."""
    contest, division = run.contest, run.division
    chosen: dict[str, Any] | None = None
    if contest is not None and run.chosen is not None:
        entry = contest.entries[run.chosen]
        chosen = {
            **_described(contest, run.chosen), "fit_seconds": entry.fit_seconds,
            "members": [{**_described(contest, n), "weight": w} for n, w in entry.members.items()],
        }  # fmt: skip
    path = run.question.path
    return plain({
        "schema": SCHEMA,
        "source": run.name, "path": None if path is None else str(path.resolve()),
        "file_sha256": None if path is None else file_hash(path), "part": run.question.part,
        "data_hash": None if division is None else data_hash(division.whole),
        "rows": run.question.table.n_rows, "target": run.target, "task": run.task, "seed": run.options.seed,
        "metric": run.metrics()[0].name, "budget": run.options.budget, "seconds": run.clock.used,
        "stages": run.clock.stages, "options": run.options.to_dict(), "kinds": run.kinds, "positive": run.positive,
        "splits": None if division is None else {
            "outer": splits_hash(division.outer), "name": division.outer.name, "held_back": len(division.test)},
        "chosen": chosen, "model_sha256": digest,
        "score": None if run.score is None else run.score.to_dict(),
        "score_of": None if run.witness is None else run.witness.said,
        "baseline": None if run.baseline is None else run.baseline.to_dict(),
        "gain": None if run.gain is None else run.gain.to_dict(),
        "interrupted": run.interrupted, "skipped": run.skipped, "failures": run.failures,
        "trials": [] if contest is None else [row for name in contest.entries for row in _trials(run, name)],
        "versions": versions(), "started": datetime.fromtimestamp(_started(run), UTC).isoformat(timespec="seconds"),
    })  # fmt: skip


def _described(contest: Contest, name: str) -> dict[str, Any]:
    """What a model of the contest is made from."""
    entry, params = contest.entries[name], contest.params(name)
    space = entry.rung.space(entry.model)
    return {
        "name": name, "class": entry.rung.model, "tuned": contest.is_tuned(name),
        "params": space.encode(params) if params and space is not None else {},
    }  # fmt: skip


def _trials(run: Run, name: str) -> list[dict[str, Any]]:
    """Every fit that chose: the model as given, then the tries of its search; of a blend what it is made of."""
    assert run.contest is not None
    entry = run.contest.entries[name]
    scores = run.contest.mean_score(entry.trial) if entry.done else None
    what = {"members": entry.members} if entry.members else {"as_given": True}
    rows = [{"model": name, **what, "score": scores, "seconds": entry.fit_seconds, "failure": entry.failure}]
    if entry.search is not None:
        rows += [{"model": name, **t.to_json("all rows", entry.search.task.space)} for t in entry.search.tried]
    return rows


def _started(run: Run) -> float:
    import time

    return time.time() - run.clock.used


def versions() -> dict[str, str]:
    """The versions that decide what comes out."""
    import numpy
    import pandas
    import scipy
    import sklearn

    import tilth

    return {
        "tilth": tilth.__version__, "python": platform.python_version(), "numpy": numpy.__version__,
        "scipy": scipy.__version__, "scikit-learn": sklearn.__version__, "pandas": pandas.__version__,
        "machine": platform.machine(),
    }  # fmt: skip


def file_hash(path: Path) -> str:
    """The hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
