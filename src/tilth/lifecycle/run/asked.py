"""What was asked of a run, kept beside its work: ``--resume FOLDER`` alone then goes on with the same question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tilth.lifecycle.files import write_whole
from tilth.lifecycle.run.journal import WORK
from tilth.lifecycle.run.options import Options
from tilth.lifecycle.source import SourceError
from tilth.words import plain

_NAME, _SCHEMA = "asked.json", "tilth.asked/1"


def note_asked(folder: Path, source: Any, target: str | None, wishes: Options) -> None:
    """Keep the question; of a table that came from no file only its options can be kept."""
    named = isinstance(source, (str, Path)) and str(source) != "-"
    path = str(Path(source).resolve()) if named and Path(source).is_file() else str(source) if named else None
    told = {"schema": _SCHEMA, "source": path, "target": target, "options": wishes.to_dict()}
    (folder / WORK).mkdir(parents=True, exist_ok=True)
    write_whole(folder / WORK / _NAME, json.dumps(plain(told), indent=1) + "\n")


def require_run(folder: Path) -> None:
    """Refuse a folder in which no run was begun."""
    if not (folder / WORK / _NAME).is_file():
        raise SourceError(f"{folder} holds no run to resume; `tilth run --out {folder}` starts one.")


def asked_before(folder: str | Path) -> tuple[str, str | None, dict[str, Any]]:
    """Source, target and options of the run in a folder."""
    path = Path(folder) / WORK / _NAME
    require_run(Path(folder))
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        found = told["schema"], told["source"], told["target"], dict(told["options"])
    except (UnicodeDecodeError, ValueError, KeyError, TypeError):
        raise SourceError(f"{path} cannot be read: give the table and the options again.") from None
    if found[0] != _SCHEMA:
        raise SourceError(f"{path} has the schema {found[0]!r}, not {_SCHEMA!r}: give the table and the options again.")
    if found[1] is None:
        raise SourceError(f"The table of the run in {folder} is gone; name it again: tilth run FILE --resume ...")
    return found[1], found[2], found[3]
