"""The commands ``models`` and ``datasets``: what there is to choose from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tilth.cli.options import debug_option, examples, json_option, print_json, quiet_option, read_table, say

if TYPE_CHECKING:
    import pandas as pd


@click.command(epilog=examples("tilth models", "tilth models --matching customers.csv --target churned"))
@click.option("--matching", metavar="SOURCE", help="Only models for this table, those that need no conversion first.")
@click.option("-t", "--target", help="Column to predict, with --matching.")
@json_option
@quiet_option
@debug_option
def models(matching: str | None, target: str | None, as_json: bool, quiet: bool) -> None:
    """List the models, or those that suit a table."""
    if matching is None and target is not None:
        raise click.UsageError("--target names a column of the table given with --matching.")
    if matching is not None:
        say(f"tilth: reading {matching}", quiet)
    from tilth.models import catalogue

    if matching is None:
        table = catalogue.models()
        _print("Models", table if as_json else table.drop(columns="traits"), "models", as_json)
        return
    from tilth.lifecycle.source import require_column

    source = read_table(matching, quiet)
    target = target or (source.card.target if source.card else None)
    if target is not None:
        require_column([str(c) for c in source.frame.columns], target)
    kinds = dict(source.card.kinds) if source.card else None
    table = catalogue.matching(source.frame, target, kinds=kinds)
    _print(f"Models for {source.name}", table, "models", as_json, source=source.name, target=target)


@click.command(epilog=examples("tilth datasets", "tilth profile titanic", "tilth run titanic"))
@json_option
@debug_option
def datasets(as_json: bool) -> None:
    """List the bundled tables."""
    import pandas as pd

    from tilth.data.datasets import cards

    rows = [(c.name, c.rows, c.columns, c.task, c.target or "", c.title) for c in cards().values()]
    table = pd.DataFrame(rows, columns=["name", "rows", "columns", "task", "target", "title"])
    _print("Bundled tables", table, "datasets", as_json)


def _print(title: str, table: pd.DataFrame, what: str, as_json: bool, **facts: Any) -> None:
    if as_json:
        from tilth.words import plain

        print_json({"schema": f"tilth.{what}/1", **facts, what: plain(table.to_dict("records"))})
        return
    from tilth.base.declare import Section
    from tilth.report.render import show

    show([Section(title, frame=table)], sys.stdout)
