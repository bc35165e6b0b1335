"""What a contest has done so far, on disk, so that a run that was broken off goes on from there.

A folder holds ``journal.json``, which says what is being done, one ``.npz`` per model with the answers of its folds
(plain arrays, read without pickle), and the log of every search.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tilth.evaluate.answers import Answers
from tilth.evaluate.problem import Problem
from tilth.evaluate.resample import Outcome, Trial
from tilth.evaluate.search.trials import data_hash, splits_hash
from tilth.evaluate.splits import Splits
from tilth.lifecycle.files import write_whole

#: The folder inside the results that keeps the work.
WORK = "work"
_NAME = "journal.json"
_VERSION = 1
_META = "meta"
_PARTS = tuple(f.name for f in fields(Answers) if f.name != "classes")


@dataclass(eq=False)
class Journal:
    """Keeps trials by name; without a folder it remembers nothing."""

    folder: Path | None = None

    @classmethod
    def open(cls, folder: Path | None, problem: Problem, splits: Splits, seed: int, *, resume: bool) -> Journal:
        """Begin a journal, or take one up; one that was made of other rows or folds is refused."""
        if folder is None:
            return cls()
        now = {"version": _VERSION, "data": data_hash(problem), "splits": splits_hash(splits), "seed": seed}
        path = folder / _NAME
        if resume and path.exists():
            then = json.loads(path.read_text(encoding="utf-8"))
            if then != now:
                what = next((k for k in now if then.get(k) != now[k]), "data")
                word = {"data": "other rows, columns or kinds", "splits": "other folds", "seed": "another seed"}
                raise ValueError(
                    f"run cannot take up {folder.parent}: it was made with {word.get(what, 'another version')}. "
                    "Give the same table and options as before, or another folder."
                )
        else:
            clear(folder)
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(now, indent=1) + "\n")
        return cls(folder)

    def search_folder(self, name: str) -> Path | None:
        """Where the search of a model keeps its log."""
        return None if self.folder is None else self.folder / f"search-{_slug(name)}"

    def get(self, name: str, classes: Any) -> Trial | None:
        """The trial of a model, if it was done; a file that cannot be read counts as none."""
        path = self._path(name)
        if path is None or not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                meta = json.loads(bytes(arrays[_META]).decode("utf-8"))
                outcomes = [_outcome(arrays, k, content, classes) for k, content in enumerate(meta)]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None
        return Trial(name, outcomes)

    def put(self, trial: Trial) -> None:
        """Keep a trial."""
        path = self._path(trial.name)
        if path is None:
            return
        arrays: dict[str, Any] = {}
        meta = []
        for k, outcome in enumerate(trial.outcomes):
            content: dict[str, Any] = {
                "fit_seconds": outcome.fit_seconds, "predict_seconds": outcome.predict_seconds,
                "failure": outcome.failure, "codes": outcome.codes, "said": outcome.said,
            }  # fmt: skip
            for what in ("answers", "train"):
                answers = getattr(outcome, what)
                content[what] = [] if answers is None else [p for p in _PARTS if getattr(answers, p) is not None]
                arrays |= {f"{k}-{what}-{p}": getattr(answers, p) for p in content[what]}
            meta.append(content)
        arrays[_META] = np.frombuffer(json.dumps(meta).encode("utf-8"), dtype=np.uint8)
        part = path.with_name(f".{path.name}.part")
        with part.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(part, path)

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"trial-{_slug(name)}.npz"


def clear(folder: Path) -> None:
    """Remove the work of an earlier run; files that are not of a run stay."""
    for path in [*folder.glob("trial-*.npz"), *folder.glob("search-*/*.jsonl"), folder / _NAME]:
        path.unlink(missing_ok=True)


def _outcome(arrays: Any, k: int, content: dict[str, Any], classes: Any) -> Outcome:
    outcome = Outcome(
        fit_seconds=content["fit_seconds"], predict_seconds=content["predict_seconds"], failure=content["failure"],
        codes=tuple(content["codes"]), said=tuple(content["said"]),
    )  # fmt: skip
    for what in ("answers", "train"):
        if content[what]:
            setattr(outcome, what, Answers(classes=classes, **{p: arrays[f"{k}-{what}-{p}"] for p in content[what]}))
    return outcome


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
