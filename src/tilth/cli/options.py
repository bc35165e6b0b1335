"""What the commands share: options of the same name and meaning, and how results and progress are said.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tilth.lifecycle.source import Source

Command = TypeVar("Command", bound=Callable[..., Any])

target_option = click.option("-t", "--target", help="Column to predict; bundled tables have a default.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of folds and resampling."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
#: The entry point looks for it among the arguments.
debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
kinds_option = click.option(
    "--kinds", multiple=True, metavar="COLUMN=KIND",
    help="Kind of a column, its levels ('size=small<mid<large'), or its role: group, weight, user, aside ...",
)  # fmt: skip


def examples(*lines: str) -> str:
    """The end of a help page: commands to copy."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def parse_kinds(pairs: Sequence[str]) -> dict[str, Any]:
    """Kinds as typed: ``column=nominal``, or the levels of an ordinal from low to high, ``size=small<mid<large``.

    >>> parse_kinds(["zip=nominal", "size=small<mid<large"])
    {'zip': 'nominal', 'size': ['small', 'mid', 'large']}
    """
    from tilth.data.schema import NOT_LEARNED

    words = ("numeric", "nominal", "ordinal", "date", *NOT_LEARNED)
    kinds: dict[str, Any] = {}
    for text in pairs:
        name, sign, word = text.rpartition("=")
        if sign and name and word in (*words, "ignore", "drop"):
            kinds[name] = word
            continue
        name, sign, word = text.partition("=")
        levels = [level.strip() for level in word.split("<")]
        if not (sign and name and len(levels) > 1 and all(levels)):
            raise click.BadParameter(
                f"{text!r} is neither column=kind (one of {', '.join(words)}) nor column=low<mid<high.",
                param_hint="--kinds",
            )
        kinds[name] = levels
    return kinds


def say(text: str, quiet: bool = False) -> None:
    """A line of progress on standard error, at once."""
    if not quiet:
        click.echo(text, err=True)
        sys.stderr.flush()


def print_json(document: dict[str, Any]) -> None:
    """One document on standard output."""
    import json

    click.echo(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))


@contextmanager
def shown_progress(quiet: bool) -> Iterator[None]:
    """Progress of the work inside on standard error, unless it should be quiet."""
    if quiet:
        yield
        return
    from tilth import progress

    with progress.show():
        yield


def read_table(source: str, quiet: bool = False, text: Collection[str] = ()) -> Source:
    """Read a table and say on standard error what had to be decided to read it."""
    from tilth.lifecycle.source import read_source

    table = read_source(source, text=text)
    say_notes(table.notes, quiet)
    return table


def say_notes(notes: Iterable[str], quiet: bool = False) -> None:
    """Notes of a reader, one line each; names in them come from strangers' files."""
    from tilth.report.render import printable

    for note in notes:
        say(f"tilth: {printable(note)}", quiet)


def known_target(table: Source, target: str | None) -> str:
    """The column to predict, as asked for or as the card of a bundled table says."""
    from tilth.lifecycle.source import require_column

    names = [str(c) for c in table.frame.columns]
    name = target or (table.card.target if table.card else None)
    if name is None:
        raise click.UsageError(f"--target is needed: the column to predict. The columns are {', '.join(names[:12])}.")
    require_column(names, name)
    return name


def model_file(model: str) -> Path:
    """The path of a model file that is there; else the nearest names."""
    path = Path(model)
    if path.is_dir() and (path / "model.tilth").is_file():
        return path / "model.tilth"
    if not path.is_file():
        from difflib import get_close_matches

        folder = path.parent
        beside = [p.name for p in folder.glob("*.tilth")] if folder.is_dir() else []
        near = get_close_matches(path.name, beside, 3, 0.4)
        hint = f" Did you mean {' or '.join(str(folder / n) for n in near)}?" if near else " `tilth run` writes one."
        raise FileNotFoundError(f"There is no model file {model}.{hint}")
    return path
