"""The command ``show``: what a model file holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilth.cli.options import debug_option, examples, json_option, model_file, print_json
from tilth.words import count, cut, spanned

if TYPE_CHECKING:
    from tilth.base import Section

#: Longest text of a value in the list of differences.
_SHOWN = 60
#: The reference has a number for every slice of every column: it is summed up.
_LONG = "reference"
#: Facts of a file that differ without the model being another, or tell nothing to a reader.
_NOT_COMPARED = ("file", "bytes", "arrays", "fitted")


@click.command(
    epilog=examples("tilth show model.tilth", "tilth show new.tilth old.tilth", "tilth show model.tilth --json")
)
@click.argument("model")
@click.argument("other", required=False)
@json_option
@debug_option
def show(model: str, other: str | None, as_json: bool) -> None:
    """Show a model file, or compare two.

    Class, target, columns, parameters; where the file has them, the card of the model, its score and the rows it was
    trained on.
    """
    from tilth.lifecycle.save import load
    from tilth.report.render import show as render

    path = model_file(model)
    description = _told(path)
    changes = None if other is None else differences(description, _told(model_file(other)))
    if as_json:
        print_json({"schema": "tilth.show/1", **description, "differences": changes})
        return
    if changes is None:
        render([*_pages(path, description), *_model_pages(load(path))], sys.stdout)
    else:
        same = path.read_bytes() == model_file(str(other)).read_bytes()
        render([*_pages(path, description), _difference_page(changes, same, model, str(other))], sys.stdout)


def _told(path: Path) -> dict[str, Any]:
    from tilth.lifecycle.save import describe_file, read_about

    return {"file": str(path), **describe_file(path), "about": read_about(path)}


def _pages(path: Path, description: dict[str, Any]) -> list[Section]:
    from tilth.base.declare import Section

    facts = {
        "class": description["class"],
        "target": description["target"],
        "written with": ", ".join(f"{k} {v}" for k, v in description["written_with"].items()),
        "size": f"{description['bytes']:,} bytes",
    }
    pages = [Section(f"Model file {path.name}", _laid_out(facts))]
    about = description["about"]
    for key in [k for k in about if k != _LONG]:
        title = {"card": "Model card", "score": "Score"}.get(key, key)
        pages.append(Section(title, _laid_out(_flat(about[key]))))
    if _LONG in about:
        from tilth.lifecycle.monitor.watch import reference_of

        pages.append(Section("Rows it was trained on", str(reference_of(path))))
    return pages


def _model_pages(model: Any) -> list[Section]:
    from tilth.lifecycle.save import parts_of

    return [page for part in parts_of(model) for page in part.sections()]


def differences(one: Any, other: Any, place: str = "") -> list[dict[str, str]]:
    """Where two descriptions differ: the place, and what each says there.

    >>> differences({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3], "c": None})
    [{'place': 'b[1]', 'here': '2', 'there': '3'}, {'place': 'c', 'here': '(absent)', 'there': 'None'}]
    """
    if isinstance(one, dict) and isinstance(other, dict):
        changes = []
        for key in dict.fromkeys([*one, *other]):
            if place == "" and key in _NOT_COMPARED:
                continue
            inner = f"{place}.{key}" if place else str(key)
            changes += differences(one.get(key, _NOTHING), other.get(key, _NOTHING), inner)
        return changes
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [d for i, (a, b) in enumerate(zip(one, other, strict=True)) for d in differences(a, b, f"{place}[{i}]")]
    return [] if one == other else [{"place": place, "here": _short(one), "there": _short(other)}]


class _Nothing:
    def __repr__(self) -> str:
        return "(absent)"


_NOTHING = _Nothing()


def _short(value: Any) -> str:
    return cut(value if isinstance(value, str) else repr(value), _SHOWN)


def _difference_page(changes: list[dict[str, str]], same: bool, model: str, other: str) -> Section:
    import pandas as pd

    from tilth.base.declare import Section

    title = f"{model} and {other}"
    if not changes:
        text = (
            "The two files are the same, byte by byte."
            if same
            else "Same settings and columns, but different learned values."
        )
        return Section(title, text)
    frame = pd.DataFrame(changes).rename(columns={"here": model, "there": other})
    return Section(title, f"They differ in {count(len(changes), 'place')}.", frame)


def _flat(value: Any, place: str = "") -> dict[str, Any]:
    """Nested data as places and values; a number with its interval is one value."""
    if isinstance(value, dict) and all(isinstance(value.get(k), (int, float)) for k in ("value", "low", "high")):
        how = f", {value['method']}" if "method" in value else ""
        value = f"{spanned(value['value'], value['low'], value['high'])}{how}"
    if isinstance(value, dict):
        return {
            k: v for key, inner in value.items() for k, v in _flat(inner, f"{place}.{key}" if place else key).items()
        }
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return {place or "value": value}


def _laid_out(facts: dict[str, Any]) -> str:
    width = max((len(name) for name in facts), default=0)
    return "\n".join(f"  {name:<{width}}  {' '.join(str(value).split())}" for name, value in facts.items())
