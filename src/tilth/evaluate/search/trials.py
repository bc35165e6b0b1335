"""What one try came to, and the log that a search can be taken up from and checked against."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.intervals import Interval, corrected_t
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem
from tilth.evaluate.search.space import Space
from tilth.evaluate.splits import Splits

Floats = NDArray[np.float64]

#: Name of the log inside the folder of a search.
LOG_NAME = "search.jsonl"
LOG_VERSION = 1


@dataclass(frozen=True, eq=False)
class Tried:
    """Parameters and their scores on the inner folds.

    ``share`` is the share of the training rows that was learned from; ``given`` says that these are the parameters the
    model came with. ``train`` are scores on rows that were learned from: optimistic.
    """

    index: int
    params: dict[str, Any]
    scores: Floats
    train: Floats
    seconds: Floats
    failures: dict[int, str] = field(default_factory=dict)
    share: float = 1.0
    given: bool = False

    @property
    def score(self) -> float:
        """Mean over the folds that have a score; NaN without any."""
        known = self.scores[np.isfinite(self.scores)]
        return float(known.mean()) if len(known) else math.nan

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over folds; NaN for a single fold."""
        known = self.scores[np.isfinite(self.scores)]
        return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan

    def interval(self, metric: Metric, ratio: float, level: float) -> Interval:
        """The score with its interval over the folds; ``ratio`` is test rows per training row."""
        known = self.scores[np.isfinite(self.scores)]
        if len(known) < 2:
            return Interval(self.score, math.nan, math.nan, level, "one split: no interval", len(known))
        interval = corrected_t(known, n_train=1_000_000, n_test=max(1, round(1_000_000 * ratio)), level=level)
        return metric.clipped(interval)

    def status(self) -> str:
        """Done, or why not."""
        if not self.failures:
            return "done" if np.isfinite(self.scores).any() else "no score: it is not defined"
        first = next(iter(self.failures))
        return f"failed in {len(self.failures)} of {len(self.scores)} folds, first: {self.failures[first]}"

    def to_json(self, place: str, space: Space) -> dict[str, Any]:
        """One line of the log."""
        return {
            "kind": "trial", "place": place, "index": self.index, "given": self.given, "share": self.share,
            "params": space.encode(self.params), "scores": _known(self.scores), "train": _known(self.train),
            "seconds": _known(self.seconds), "failures": {str(k): v for k, v in self.failures.items()},
        }  # fmt: skip

    @classmethod
    def from_json(cls, line: Mapping[str, Any], space: Space, given: Mapping[str, Any]) -> Tried:
        """A try from its line of the log; ``given`` are the parameters the model came with."""
        return cls(
            line["index"], dict(given) if line["given"] else space.decode(line["params"]), _floats(line["scores"]),
            _floats(line["train"]), _floats(line["seconds"]), {int(k): v for k, v in line["failures"].items()},
            line["share"], line["given"],
        )  # fmt: skip


def _known(values: Floats) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


def comparable(tried: Sequence[Tried]) -> list[Tried]:
    """The tries that can be ranked: those on the most rows, with a score on every fold on which any of them has one.

    A fold that fails, or has no score, whatever the parameters says nothing about them and does not count.
    """
    for share in sorted({t.share for t in tried}, reverse=True):
        level = [t for t in tried if t.share == share]
        defined = np.isfinite([t.scores for t in level]).any(axis=0)
        if defined.any():
            return [t for t in level if np.isfinite(t.scores[defined]).all()]
    return []


def ranked(tried: Sequence[Tried], metric: Metric) -> list[Tried]:
    """Best first, of equal ones the first tried; those that cannot be ranked come last."""
    sign = -1.0 if metric.higher_is_better else 1.0
    fit = {t.index for t in comparable(tried)}
    return sorted(tried, key=lambda t: (sign * t.score if t.index in fit else math.inf, t.index))


def best_of(tried: Sequence[Tried], metric: Metric) -> Tried | None:
    """The try with the best mean score; on a part of the rows only when none was made on all."""
    fit = comparable(tried)
    return ranked(fit, metric)[0] if fit else None


def ties_with(best: Tried, tried: Sequence[Tried], metric: Metric) -> list[Tried]:
    """Tries within one standard error of the best, itself among them."""
    reach = best.standard_error if math.isfinite(best.standard_error) else 0.0
    return [t for t in comparable(tried) if abs(t.score - best.score) <= reach or metric.better(t.score, best.score)]


# ------------------------------------------------------------------------------------------------------------------ log


@dataclass(eq=False)
class Log:
    """A file of one JSON object per line: first what is searched, then every try as soon as it is done."""

    path: Path | None = None
    done: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Any, header: dict[str, Any]) -> Log:
        """The log of a folder, begun or taken up; None keeps no log."""
        if folder is None:
            return cls(header=header)
        path = Path(folder) / LOG_NAME
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            log = cls(path, header=header)
            log._write(header)
            return log
        log = cls.read(folder)
        _require_same(log.header, header, path)
        return log

    @classmethod
    def read(cls, folder: Any) -> Log:
        """What a log holds. A last line that was cut off while it was written is taken away."""
        path = Path(folder)
        path = path / LOG_NAME if path.is_dir() else path
        if not path.exists():
            raise FileNotFoundError(
                f"There is no search log at {path}; search(..., resume={str(folder)!r}) writes one."
            )
        kept, lines = 0, []
        for raw in path.read_bytes().splitlines(keepends=True):
            try:
                if not raw.endswith(b"\n"):
                    break
                lines.append(json.loads(raw))
            except ValueError as error:
                raise ValueError(f"{path} is not a search log: line {len(lines) + 1} is no JSON ({error}).") from error
            kept += len(raw)
        if not lines or lines[0].get("kind") != "search":
            raise ValueError(f"{path} is not a search log: its first line does not say what is searched.")
        if lines[0].get("version") != LOG_VERSION:
            raise ValueError(f"{path} was written by another version of the log ({lines[0].get('version')}).")
        if kept < path.stat().st_size:
            with path.open("r+b") as file:
                file.truncate(kept)
        return cls(path, {(e["place"], e["index"]): e for e in lines[1:] if e["kind"] == "trial"}, lines[0])

    def add(self, entry: dict[str, Any]) -> None:
        """Note a try."""
        self.done[entry["place"], entry["index"]] = entry
        if self.path is not None:
            self._write(entry)

    def _write(self, entry: dict[str, Any]) -> None:
        assert self.path is not None
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, allow_nan=False) + "\n")


#: What must be the same for a log to be taken up, and how to say it.
_SAME = {
    "data": "other rows, target, weights, groups or time",
    "model": "another model, or other parameters that are not searched",
    "space": "other ranges",
    "metric": "another metric",
    "method": "another method",
    "seed": "another seed",
    "inner": "other inner splits",
    "outer": "other outer splits",
    "plan": "another number of trials, on which this method's plan depends",
}


def _require_same(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> None:
    for key, words in _SAME.items():
        if old.get(key) != json.loads(json.dumps(new.get(key))):
            raise ValueError(
                f"search cannot resume {path}: it was written with {words}. Give another folder as resume=."
            )


def header_of(
    problem: Problem, model: Any, space: Space, metric: Metric, inner: Splits, outer: Splits | None, method: str,
    seed: int, plan: int | None,
) -> dict[str, Any]:  # fmt: skip
    """The first line of a log: everything that a try depends on."""
    import platform

    import sklearn

    import tilth

    return {
        "kind": "search", "version": LOG_VERSION, "data": data_hash(problem), "model": _settings(model, space),
        "space": space_text(space), "metric": metric.name, "inner": splits_hash(inner),
        "outer": None if outer is None else splits_hash(outer), "inner_name": inner.name, "method": method,
        "seed": seed, "plan": plan, "rows": problem.n_rows, "task": problem.task,
        "versions": {
            "python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__,
            "tilth": getattr(tilth, "__version__", ""),
        },
    }  # fmt: skip


def space_text(space: Space) -> list[str]:
    """The ranges as text, to the last digit."""
    return [_without_addresses(repr(p)) for p in space]


def _without_addresses(text: str) -> str:
    """Addresses of objects change from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _settings(model: Any, space: Space) -> dict[str, str]:
    """Class and parameters of a model as text."""
    free = set(space.names)
    held = {k: _without_addresses(repr(v)) for k, v in model.get_params(deep=False).items() if k not in free}
    held |= {k: _without_addresses(repr(v)) for k, v in model.get_params().items() if k not in free and _is_plain(v)}
    return {"class": f"{type(model).__module__}.{type(model).__qualname__}", **dict(sorted(held.items()))}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


def data_hash(problem: Problem) -> str:
    """A fingerprint of all rows, the target, weights, groups and time."""
    digest = hashlib.sha256()
    if problem.raw.is_sparse:
        matrix = problem.raw.matrix
        for part in (matrix.data, matrix.indices, matrix.indptr):
            _feed(digest, part)
    for column in problem.raw.columns:
        digest.update(f"{column.name}|{column.form}|{column.levels!r}".encode())
        _feed(digest, column.values)
    for part in (problem.labels, problem.weight, problem.groups, problem.time):
        digest.update(b"|")
        if part is not None:
            _feed(digest, part)
    return digest.hexdigest()


def splits_hash(splits: Splits) -> str:
    """A fingerprint of which rows are learned from and tested on."""
    digest = hashlib.sha256()
    for split in splits:
        _feed(digest, split.train)
        _feed(digest, split.test)
    return digest.hexdigest()


def _feed(digest: Any, values: NDArray[Any]) -> None:
    digest.update(f"{values.dtype}{values.shape}".encode())
    plain = values.dtype.kind == "O"
    digest.update(repr(values.tolist()).encode() if plain else np.ascontiguousarray(values).tobytes())
