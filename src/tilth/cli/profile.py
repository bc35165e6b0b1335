"""The command ``profile``: what is wrong with a table?"""

from __future__ import annotations

import sys
from typing import Any

import click

from tilth.cli.exits import Exit
from tilth.cli.options import (
    debug_option,
    examples,
    json_option,
    kinds_option,
    parse_kinds,
    print_json,
    quiet_option,
    read_table,
    say,
    shown_progress,
)

FAIL_ON = {"serious": ("serious",), "warning": ("serious", "warning")}


@click.command(epilog=examples(
    "tilth profile customers.csv", "tilth profile customers.csv --target churned --fail-on serious",
    "tilth profile credit_dirty --json",
))  # fmt: skip
@click.argument("source")
@click.option("-t", "--target", help="Column to predict; enables the checks for leaks, balance and labels.")
@kinds_option
@json_option
@click.option("--fail-on", type=click.Choice(list(FAIL_ON)), help="Exit with code 4 on a finding this bad or worse.")
@quiet_option
@debug_option
def profile(
    source: str, target: str | None, kinds: tuple[str, ...], as_json: bool, fail_on: str | None, quiet: bool
) -> Exit:
    """Check a table: missing values, disguised missing values, outliers, duplicates, leaks."""
    stated: dict[str, Any] = parse_kinds(kinds)
    say(f"tilth: reading {source}", quiet)
    from tilth.lifecycle.source import require_column

    table = read_table(source, quiet)
    if table.card is not None:
        target = target or table.card.target
        stated = {**table.card.kinds, **stated}
    for name in [*([target] if target else []), *stated]:
        require_column([str(c) for c in table.frame.columns], name, "one asked for")
    from tilth.quality import profile as check  # after the table, so that a bad file is told at once

    with shown_progress(quiet):
        report = check(table.frame, target, kinds=stated or None)
    if as_json:
        print_json(report.to_dict())
    else:
        from tilth.report.render import show

        show(report.sections(), sys.stdout)
    failed = fail_on is not None and any(report.of(severity) for severity in FAIL_ON[fail_on])  # type: ignore[arg-type]
    return Exit.FINDINGS if failed else Exit.OK
