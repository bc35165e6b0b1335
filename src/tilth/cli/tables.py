"""Commands on tables: ``run`` and ``profile``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
_KIND_WORDS = ("numeric", "nominal", "ordinal", "date", "aside", "ignore", "drop")
FAIL_ON = {"serious": ("serious",), "warning": ("serious", "warning")}


def debug_option(command: Command) -> Command:
    """The option that every command takes; the entry point looks for it among the arguments."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)


def kinds_option(command: Command) -> Command:
    """The option that overrules what a column was taken for."""
    hint = "Kind of a column, or its levels: 'size=small<mid<large'."
    return click.option("--kinds", multiple=True, metavar="COLUMN=KIND", help=hint)(command)


def parse_kinds(given: Sequence[str]) -> dict[str, Any]:
    """Kinds as typed: ``column=nominal``, or the levels of an ordinal from low to high, ``size=small<mid<large``.

    >>> parse_kinds(["zip=nominal", "size=small<mid<large"])
    {'zip': 'nominal', 'size': ['small', 'mid', 'large']}
    """
    kinds: dict[str, Any] = {}
    for text in given:
        name, sign, word = text.rpartition("=")
        if sign and name and word in _KIND_WORDS:
            kinds[name] = word
            continue
        name, sign, word = text.partition("=")
        levels = [level.strip() for level in word.split("<")]
        if not (sign and name and len(levels) > 1 and all(levels)):
            raise click.BadParameter(
                f"{text!r} is neither column=kind (one of {', '.join(_KIND_WORDS[:5])}) nor column=low<mid<high.",
                param_hint="--kinds",
            )
        kinds[name] = levels
    return kinds


def say(text: str, quiet: bool = False) -> None:
    """A line of progress on standard error, at once."""
    if not quiet:
        click.echo(text, err=True)
        sys.stderr.flush()


@click.command()
@click.argument("source", default="weather")
@click.option("-t", "--target", help="Column to predict; a bundled table knows its own.")
@click.option("-o", "--out", default="tilth-run", show_default=True, help="Folder for the model and the report.")
@kinds_option
@click.option("--task", type=click.Choice(["classification", "regression"]), help="Instead of deciding by the target.")
@click.option("--folds", type=click.IntRange(min=2), help="Number of folds [default: 10, or the smallest class].")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of folds and resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one json document instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@debug_option
def run(
    source: str, target: str | None, out: str, kinds: tuple[str, ...], task: str | None, folds: int | None, seed: int,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """From a raw table to baselines with intervals, a model file and a report.

    Without SOURCE: the weather data. Writes model.tilth, report.html, report.md and report.json.
    """
    told = parse_kinds(kinds)
    say(f"tilth: reading {source}", quiet)
    from tilth.lifecycle.run import run as run_stages

    found = run_stages(source, target, kinds=told, task=task, folds=folds, seed=seed, out=out, progress=not quiet)
    if as_json:
        print_json(found.to_dict())
        return
    from tilth.report.render import show

    show(found.sections(), sys.stdout)
    click.echo("\nSaved:")
    for path in found.files.values():
        click.echo(f"  {path}")
    click.echo(f"\nNext: tilth predict {found.files['model.tilth']} NEW.csv")


@click.command()
@click.argument("source")
@click.option("-t", "--target", help="Column that is to be predicted; wakes the checks for leaks, balance and labels.")
@kinds_option
@click.option("--json", "as_json", is_flag=True, help="Print one json document instead of text.")
@click.option("--fail-on", type=click.Choice(list(FAIL_ON)), help="End with code 4 on a finding this bad or worse.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@debug_option
def profile(
    source: str, target: str | None, kinds: tuple[str, ...], as_json: bool, fail_on: str | None, quiet: bool
) -> int:
    """What is wrong with a table: missing values, disguises, outliers, copies, leaks."""
    told: dict[str, Any] = parse_kinds(kinds)
    say(f"tilth: reading {source}", quiet)
    from contextlib import ExitStack

    from tilth import progress
    from tilth.lifecycle.source import read_source, require_column
    from tilth.quality import profile as check

    table = read_source(source)
    if table.card is not None:
        target = target or table.card.target
        told = {**table.card.kinds, **told}
    for name in [*([target] if target else []), *told]:
        require_column([str(c) for c in table.frame.columns], name, "one asked for")
    for note in table.notes:
        say(f"tilth: {note}", quiet)
    with ExitStack() as stack:
        if not quiet:
            stack.enter_context(progress.show())
        found = check(table.frame, target, kinds=told or None)
    if as_json:
        print_json(found.to_dict())
    else:
        from tilth.report.render import show

        show(found.sections(), sys.stdout)
    failed = fail_on is not None and any(found.of(severity) for severity in FAIL_ON[fail_on])  # type: ignore[arg-type]
    return 4 if failed else 0


def print_json(document: dict[str, Any]) -> None:
    """One document on standard output."""
    import json

    click.echo(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
