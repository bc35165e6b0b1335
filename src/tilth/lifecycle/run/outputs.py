"""The files of a run: report, model, card, manifest and script, each whole or not at all."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from tilth.base import Section
from tilth.errors import TilthWarning
from tilth.lifecycle.files import write_whole
from tilth.lifecycle.run.card import card_facts, model_card
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.manifest import file_hash, manifest
from tilth.lifecycle.run.record import Run
from tilth.lifecycle.run.script import train_script
from tilth.lifecycle.save import save
from tilth.lifecycle.source import SourceError

#: Seconds before the end of the budget at which no picture is begun any more.
LAST_SECONDS = 0.5


def require_folder(folder: Path) -> None:
    """The folder, made and writable; told before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".tilth-"):
            pass
    except OSError as error:
        raise SourceError(
            f"Cannot write the results to {folder}: {error.strerror or error}. Name another folder with --out."
        ) from None


def plain_digest(model: Any) -> str:
    """The hash of a model's file without its card: that of any fit with the same rows and parameters."""
    with tempfile.TemporaryDirectory() as folder:
        return file_hash(save(model, Path(folder) / "model.tilth"))


def _in_time(page: Section, clock: Clock) -> Section:
    """The section with pictures that are drawn only while the budget lasts; the words and tables always are."""
    if clock.budget is None:
        return page
    draw = page.figure

    def drawn() -> Any:
        if clock.budget is not None and clock.used > clock.budget - LAST_SECONDS:
            raise TimeoutError("no time was left to draw it; give a larger budget")
        return draw()

    return replace(page, figure=None if draw is None else drawn, parts=[_in_time(part, clock) for part in page.parts])


def write_outputs(run: Run, folder: Path) -> dict[str, Path]:
    """Write everything; the report last, so that a folder with a report is complete."""
    from tilth.report.render import to_html, to_markdown

    require_folder(folder)
    files: dict[str, Path] = {}
    title = f"tilth run {run.name}"
    digest = None
    try:
        if run.model is not None:
            from tilth.lifecycle.monitor import Reference

            digest = plain_digest(run.model)
            seen = Reference.of(run.question.table.without(run.target), schema=run.model.schema_)
            about = {"reference": seen.to_dict(), **card_facts(run)}
            files["model.tilth"] = save(run.model, folder / "model.tilth", about=about)
            files["train.py"] = write_whole(folder / "train.py", train_script(run, clone(run.model), digest))
            files["model_card.md"] = write_whole(folder / "model_card.md", model_card(run))
        text = json.dumps(manifest(run, digest), indent=1, ensure_ascii=False, allow_nan=False)
        files["run.json"] = write_whole(folder / "run.json", text + "\n")
        document = json.dumps(run.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        files["report.json"] = write_whole(folder / "report.json", document + "\n")
        with warnings.catch_warnings():
            # That a tree is too large to be read is to be seen on its page; there is nothing else to do about it.
            warnings.simplefilter("ignore", TilthWarning)
            pages = [_in_time(p, run.clock) for p in (*run.sections(), *run.appendix())]
            files["report.md"] = write_whole(folder / "report.md", to_markdown(pages, title=title))
            page = to_html(pages, title=title, subtitle=run.facts())
        files["report.html"] = write_whole(folder / "report.html", page)
    except OSError as error:
        raise SourceError(f"Cannot write to {folder}: {error.strerror or error}. Free some space, or name another "
                          "folder with --out; what is there is whole.") from None  # fmt: skip
    return files
