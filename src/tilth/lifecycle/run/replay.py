"""``tilth replay run.json``: the winner of a run fitted again, and compared byte for byte."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tilth.evaluate.problem import prepared
from tilth.evaluate.search.trials import data_hash
from tilth.lifecycle.run import remedies
from tilth.lifecycle.run.blend import blend_of
from tilth.lifecycle.run.ladder import Rung, rungs
from tilth.lifecycle.run.manifest import SCHEMA, versions
from tilth.lifecycle.run.options import Options
from tilth.lifecycle.run.outputs import plain_digest
from tilth.lifecycle.run.question import prepare
from tilth.lifecycle.run.stages.finish import final_model
from tilth.lifecycle.source import SourceError
from tilth.quality import profile


@dataclass(frozen=True, eq=False)
class Replayed:
    """The model again, whether its file has the same bytes, and what differs otherwise."""

    model: Any
    same: bool
    expected: str
    found: str
    differences: tuple[str, ...]

    def verdict(self) -> str:
        """In words."""
        if self.same:
            return f"{type(self.model).__name__}: the same model as in the run, byte for byte."
        why = f" Differences: {'; '.join(self.differences)}." if self.differences else ""
        return f"{type(self.model).__name__}: not the same bytes as in the run.{why}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"schema": "tilth.replay/1", "same": self.same, "expected": self.expected, "found": self.found,
                "differences": list(self.differences), "verdict": self.verdict()}  # fmt: skip


def read_manifest(path: str | Path) -> dict[str, Any]:
    """A manifest, or a sentence that says why it is none."""
    where = Path(path)
    if where.is_dir():
        where = where / "run.json"
    try:
        told = json.loads(where.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(f"No file {where}; `tilth run` writes one into its folder.") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise SourceError(f"{where} is not the manifest of a run: {error}") from None
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        found = told.get("schema") if isinstance(told, dict) else type(told).__name__
        raise SourceError(f"{where} is not the manifest of a run: its schema is {found!r}, not {SCHEMA!r}.")
    return told


def replay_run(path: str | Path, data: Any = None) -> Replayed:
    """Fit the winner of a run again.

    Parameters
    ----------
    path : ``run.json``, or the folder that holds it.
    data : the table, where it is no longer at the place the manifest names.
    """
    told = read_manifest(path)
    chosen = told.get("chosen")
    if not chosen or not told.get("model_sha256"):
        raise SourceError(f"The run of {path} ended before it had a model: there is nothing to replay.")
    known = {f.name for f in fields(Options)}
    given: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in told["options"].items() if k in known
    }
    given["budget"] = None
    wishes = Options(**given)
    source = data if data is not None else told["path"] or told["source"]
    if data is None and told["path"] is None and told["source"] in ("the table", "standard input"):
        raise SourceError(f"The run of {path} read {told['source']}, which is gone; name the table with --data FILE.")
    question = prepare(source, told["target"], wishes, told.get("part"))
    if not wishes.as_is:
        found = profile(question.table, question.target, kinds=question.kinds or None)
        remedies.apply(question, found.findings, wishes.trust)
    problem = prepared(question.table, question.target, task=told["task"], kinds=question.kinds or None, owner="replay")
    known_rungs = {r.name: r for r in rungs(told["task"], wishes.models)}
    if chosen.get("members"):
        parts = [(m["name"], _made(m, known_rungs, wishes.seed, path)) for m in chosen["members"]]
        model = blend_of(parts, [m["weight"] for m in chosen["members"]], told["task"], wishes.seed)
    else:
        model = _made(chosen, known_rungs, wishes.seed, path)
    costs = None if chosen["name"] == "Zero-R" else wishes.costs
    fitted = final_model(model, question.kinds, costs, told["positive"], wishes.seed).fit(
        question.table, question.target
    )
    digest = plain_digest(fitted)
    return Replayed(
        fitted, digest == told["model_sha256"], told["model_sha256"], digest, tuple(_different(told, problem))
    )


def _made(told: dict[str, Any], known: dict[str, Rung], seed: int, path: Any) -> Any:
    """A model of the contest with the parameters that the manifest names."""
    rung = known.get(told["name"])
    if rung is None:
        raise SourceError(f"The run of {path} chose {told['name']!r}, which this version does not have.")
    model = rung.make(seed)
    space = rung.space(model)
    if told["params"] and space is not None:
        model.set_params(**space.decode(told["params"]))
    return model


def _different(told: dict[str, Any], problem: Any) -> list[str]:
    out = []
    if problem.n_rows != told["rows"]:
        out.append(f"{problem.n_rows} rows instead of {told['rows']}")
    elif (
        not told["options"].get("groups")
        and not told["options"].get("time")
        and data_hash(problem) != told["data_hash"]
    ):
        out.append("different rows")
    now = versions()
    out += [f"{k} {v} instead of {told['versions'][k]}" for k, v in now.items() if told["versions"].get(k) != v]
    return out
