"""Runs beside each other, from what each wrote about itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilth.base import Section
from tilth.base.result import Result
from tilth.lifecycle.source import SourceError
from tilth.words import spanned

if TYPE_CHECKING:
    import pandas as pd

MANIFEST, SCHEMA = "run.json", "tilth.manifest/1"
#: A manifest larger than this is not one.
_MOST_BYTES = 1 << 28
_FACTS = ("source", "target", "task", "rows", "metric", "seed", "budget", "seconds", "data_hash", "started")
#: What must be equal for two scores to be scores of the same thing.
_SAME = ("data_hash", "target", "task", "metric")


@dataclass
class Experiments(Result):
    """Several runs: what each was asked, what it chose, how good that is, and what it cost."""

    runs: dict[str, dict[str, Any]]

    @property
    def comparable(self) -> bool:
        """Whether all runs predict the same target of the same rows by the same measure."""
        return not self.unlike()

    def unlike(self) -> list[str]:
        """What makes scores incomparable."""
        return [fact for fact in _SAME if len({json.dumps(run.get(fact)) for run in self.runs.values()}) > 1]

    def verdict(self) -> str:
        """What can be said about which is better."""
        different = self.unlike()
        if different:
            words = {"data_hash": "rows", "metric": "measure"}
            return (
                f"The runs differ in their {' and '.join(words.get(d, d) for d in different)}: their scores are not "
                "comparable and are not ranked."
            )
        known = {n: r["score"] for n, r in self.runs.items() if isinstance(r.get("score"), dict)}
        if len(known) < 2:
            return "Fewer than two of the runs have a score."
        metric = next(iter(self.runs.values()))["metric"]
        order = sorted(known, key=lambda n: _number(known[n].get("value")), reverse=_higher_is_better(metric))
        best, rest = order[0], order[1:]
        apart = [n for n in rest if _apart(known[n], known[best])]
        text = f"{best} has the best {metric}: {_interval(known[best])}."
        if apart:
            text += f" The intervals of {', '.join(apart)} do not overlap with it."
        if len(apart) < len(rest):
            close = ", ".join(n for n in rest if n not in apart)
            text += (
                f" The interval of {close} overlaps with it, so neither is shown to be better; for a paired "
                "comparison: "
                "tilth compare A/model.tilth B/model.tilth --on NEW.csv."
            )
        return text

    def frame(self) -> pd.DataFrame:
        """One row per run."""
        import pandas as pd

        first = next(iter(self.runs.values()))
        rows = []
        for name, run in self.runs.items():
            chosen = run.get("chosen") if isinstance(run.get("chosen"), dict) else {}
            rows.append({
                "run": name, **{f: run.get(f) for f in _FACTS if f != "data_hash"},
                "same data": run.get("data_hash") == first.get("data_hash"),
                "chosen": (chosen or {}).get("name"), "score": _interval(run.get("score")),
                "baseline": _interval(run.get("baseline")), "gain": _interval(run.get("gain"), "+"),
            })  # fmt: skip
        return pd.DataFrame(rows)

    def sections(self) -> list[Section]:
        """The table of experiments, and where the runs differ besides."""
        import pandas as pd

        table = self.frame()
        same = [c for c in _FACTS if c in table and table[c].map(str).nunique() == 1]
        shared = "\n".join(f"  {c:<8}  {table[c].iloc[0]}" for c in same if table[c].iloc[0] is not None)
        short = table.drop(columns=[c for c in table if c in same])
        pages = [Section("Runs", self.verdict()), Section("Experiments", shared, short)]
        changes = [
            {
                "place": place,
                **{n: settings.get(place) for n, settings in zip(self.runs, self._settings(), strict=True)},
            }
            for place in dict.fromkeys(p for settings in self._settings() for p in settings)
        ]
        changes = [row for row in changes if len({str(row[n]) for n in self.runs}) > 1]
        if changes:
            pages.append(Section("Differences in settings and versions", frame=pd.DataFrame(changes)))
        return pages

    def _settings(self) -> list[dict[str, Any]]:
        """Parameters of the chosen model and versions of each run."""
        out = []
        for run in self.runs.values():
            chosen = run.get("chosen") if isinstance(run.get("chosen"), dict) else {}
            parts = {"chosen": (chosen or {}).get("params"), "version": run.get("versions")}
            out.append(
                {
                    f"{a} {k}": v
                    for a, settings in parts.items()
                    if isinstance(settings, dict)
                    for k, v in settings.items()
                }
            )
        return out

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        kept = [*_FACTS, "chosen", "score", "baseline", "gain", "versions"]
        return {
            "schema": "tilth.compare/1", "kind": "runs", "verdict": self.verdict(), "comparable": self.comparable,
            "unlike": self.unlike(), "runs": [{"run": n, **{k: r.get(k) for k in kept}} for n, r in self.runs.items()],
        }  # fmt: skip

    def __str__(self) -> str:
        return self.verdict()


def read_experiments(places: Iterable[str]) -> Experiments:
    """The manifests of runs: folders that hold a run.json, or such files themselves."""
    return Experiments({place: _manifest(Path(place)) for place in places})


def _manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST if path.is_dir() else path
    if not file.is_file():
        raise SourceError(
            f"{path} holds no {MANIFEST}: it is not the folder of a run. `tilth run --out {path}` writes one."
        )
    if file.stat().st_size > _MOST_BYTES:
        raise SourceError(f"{file} is too large to be the manifest of a run.")
    try:
        manifest = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file} is not valid JSON ({error!s:.100}); the run may have been interrupted.") from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        schema = manifest.get("schema") if isinstance(manifest, dict) else None
        raise SourceError(f"{file} is not the manifest of a run: its schema should be {SCHEMA}, found {schema!r}.")
    return manifest


def _higher_is_better(name: str) -> bool:
    from tilth.evaluate.metrics import metric

    try:
        return metric(name).higher_is_better
    except ValueError:
        return True


def _apart(a: dict[str, Any], b: dict[str, Any]) -> bool:
    ends = [_number(x.get(k)) for x in (a, b) for k in ("low", "high")]
    return ends[0] > ends[3] or ends[2] > ends[1]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _interval(interval: Any, sign: str = "") -> str:
    if not isinstance(interval, dict):
        return ""
    return spanned(*(_number(interval.get(k)) for k in ("value", "low", "high")), sign=sign)
