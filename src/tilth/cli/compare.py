"""The command ``compare``: model files on one table, or runs beside each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tilth.cli.options import (
    debug_option,
    examples,
    json_option,
    known_target,
    model_file,
    print_json,
    quiet_option,
    read_table,
    say,
    seed_option,
    target_option,
)


@click.command(epilog=examples(
    "tilth compare old.tilth new.tilth --on labelled.csv --target churned", "tilth compare monday tuesday --json",
))  # fmt: skip
@click.argument("things", nargs=-1, required=True, metavar="A B ...")
@click.option("--on", "source", metavar="SOURCE", help="Table with known targets, for model files.")
@target_option
@click.option("--metric", "metrics", multiple=True, help="Score to compare by; the first one ranks the models.")
@seed_option
@json_option
@quiet_option
@debug_option
def compare(
    things: tuple[str, ...], source: str | None, target: str | None, metrics: tuple[str, ...], seed: int,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Compare model files on a labelled table, or the folders of runs.

    Model files answer the same rows: differences are paired, with intervals, and ties are called ties. The rows must be
    ones that none of the models has learned from. Runs are set side by side from their run.json.
    """
    if len(things) < 2:
        raise click.UsageError("compare needs at least two model files, or two folders of runs.")
    if len(set(things)) < len(things):
        raise click.UsageError("compare needs two different files or folders; got the same one twice.")
    if source is None and any(_is_run(thing) for thing in things):
        comparison = _runs(things)
    elif source is None:
        raise click.UsageError("To compare model files, name a table with known targets: --on SOURCE.")
    else:
        say(f"tilth: comparing {', '.join(things)} on {source}", quiet)
        comparison = _models(things, source, target, metrics, seed, quiet)
    if as_json:
        print_json(comparison.to_dict())
        return
    from tilth.report.render import show

    show(comparison.sections(), sys.stdout)


def _is_run(thing: str) -> bool:
    """Whether a name is meant as a run: whatever is no model file by its name."""
    return Path(thing).is_dir() or Path(thing).suffix != ".tilth"


def _runs(things: tuple[str, ...]) -> Any:
    from tilth.cli.experiments import read_experiments

    return read_experiments(things)


def _models(
    things: tuple[str, ...], source: str, target: str | None, metrics: tuple[str, ...], seed: int, quiet: bool
) -> Any:
    from tilth.cli.contest import compare_fitted
    from tilth.lifecycle.save import load

    fitted = {thing: load(model_file(thing)) for thing in things}
    table = read_table(source, quiet)
    known = [
        t
        for t in (getattr(m, "target_", None) for m in fitted.values())
        if isinstance(t, str) and t in table.frame.columns
    ]
    wanted = known_target(table, target or (known[0] if known else None))
    return compare_fitted(fitted, table, wanted, list(metrics) or None, seed)
