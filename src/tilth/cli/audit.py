"""The command ``audit``: can the score of a model on a table be believed?"""

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
    known_target,
    parse_kinds,
    print_json,
    quiet_option,
    read_table,
    say,
    seed_option,
    shown_progress,
    target_option,
)


@click.command(epilog=examples(
    "tilth audit customers.csv --target churned", "tilth audit visits.csv -t healed --groups patient --fail-on leak",
    "tilth audit iris --model RandomForestClassifier --json",
))  # fmt: skip
@click.argument("source")
@target_option
@click.option("--model", help="Name of a model (tilth models lists them) [default: a sensible first model].")
@click.option("--groups", metavar="COLUMN", help="Column whose equal values belong together.")
@click.option("--time", metavar="COLUMN", help="Column that orders the rows in time.")
@click.option("--original", metavar="SOURCE", help="The table before preparation, to see what was dropped.")
@kinds_option
@click.option("--folds", type=click.IntRange(min=2), help="Number of folds [default: 5].")
@seed_option
@json_option
@click.option("--all", "show_all", is_flag=True, help="All findings instead of the three worst.")
@click.option("--fail-on", type=click.Choice(["leak", "protocol", "any"]), help="Exit with code 4 on such a finding.")
@quiet_option
@debug_option
def audit(
    source: str, target: str | None, model: str | None, groups: str | None, time: str | None, original: str | None,
    kinds: tuple[str, ...], folds: int | None, seed: int, as_json: bool, show_all: bool, fail_on: str | None,
    quiet: bool,
) -> Exit:  # fmt: skip
    """Check whether a score can be trusted: duplicates, split groups, columns that leak the target.

    Also preparation that saw all rows. Each suspicion is measured by fitting without it. With --fail-on only warnings
    and worse count, not notes.
    """
    stated: dict[str, Any] = parse_kinds(kinds)
    say(f"tilth: reading {source}", quiet)
    from tilth.lifecycle.source import require_column

    table = read_table(source, quiet)
    target = known_target(table, target)
    if table.card is not None:
        stated = {**table.card.kinds, **stated}
    names = [str(c) for c in table.frame.columns]
    for name in [n for n in (groups, time) if n] + list(stated):
        require_column(names, name, "one asked for")
    # What the card of a bundled table calls no feature stays out, unless it is asked for.
    aside = [n for n in (table.card.ignore if table.card else ()) if n not in (groups, time, target)]
    frame = table.frame.drop(columns=aside)
    stated = {n: k for n, k in stated.items() if n not in (*aside, groups, time)}
    from tilth.evaluate.audit import audit as examine  # after the table, so that a bad file is told at once

    with shown_progress(quiet):
        report = examine(
            _model(model, frame[target]), frame, target, groups=groups, time=time, kinds=stated or None, folds=folds,
            source=read_table(original, quiet).frame if original else None, seed=seed,
        )  # fmt: skip
    if as_json:
        print_json(report.to_dict())
    else:
        from tilth.report.render import show

        click.echo(report.text(all=show_all))
        show(report.sections()[1:], sys.stdout)
    failed = fail_on is not None and report.failed(fail_on)  # type: ignore[arg-type]
    return Exit.FINDINGS if failed else Exit.OK


def _model(name: str | None, target: Any) -> Any:
    """The model of this name, or a good one to begin with."""
    from tilth.models.catalogue import estimator_class, task_of

    if name is None:
        name = "NaiveBayes" if task_of(target.to_numpy())[0] == "classification" else "Ridge"
    try:
        return estimator_class(name)()
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
