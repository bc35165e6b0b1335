"""The command ``audit``: can the score of a model on a table be believed?"""

from __future__ import annotations

import sys
from typing import Any

import click

from tilth.cli.tables import debug_option, kinds_option, parse_kinds, print_json, say


@click.command()
@click.argument("source")
@click.option("-t", "--target", help="Column to predict; a bundled table knows its own.")
@click.option("--model", help="Name of a model (tilth models lists them) [default: a good one to begin with].")
@click.option("--groups", metavar="COLUMN", help="Rows of the same value belong together.")
@click.option("--time", metavar="COLUMN", help="Order of the rows in time.")
@click.option("--original", metavar="SOURCE", help="The table before preparation, to see what was dropped.")
@kinds_option
@click.option("--folds", type=click.IntRange(min=2), help="Number of folds [default: 5].")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of folds and resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print one json document instead of text.")
@click.option("--all", "show_all", is_flag=True, help="All findings instead of the three worst.")
@click.option("--fail-on", type=click.Choice(["leak", "protocol", "any"]), help="End with code 4 on such a finding.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@debug_option
def audit(
    source: str, target: str | None, model: str | None, groups: str | None, time: str | None, original: str | None,
    kinds: tuple[str, ...], folds: int | None, seed: int, as_json: bool, show_all: bool, fail_on: str | None,
    quiet: bool,
) -> int:  # fmt: skip
    """Reasons not to believe a score: copies, torn groups, columns that know the target, preparation that saw all rows.

    Each suspicion is measured by fitting without it. With --fail-on only warnings and worse count, not notes.
    """
    told: dict[str, Any] = parse_kinds(kinds)
    say(f"tilth: reading {source}", quiet)
    from contextlib import ExitStack

    from tilth import progress
    from tilth.evaluate.audit import audit as examine
    from tilth.lifecycle.source import read_source, require_column

    table = read_source(source)
    if table.card is not None:
        target = target or table.card.target
        told = {**table.card.kinds, **told}
    names = [str(c) for c in table.frame.columns]
    if target is None:
        raise click.UsageError(f"--target is needed: the column to predict. The columns are {', '.join(names[:12])}.")
    require_column(names, target)
    for name in [n for n in (groups, time) if n] + list(told):
        require_column(names, name, "one asked for")
    for note in table.notes:
        say(f"tilth: {note}", quiet)
    # What the card of a bundled table calls no feature stays out, unless it is asked for.
    aside = [n for n in (table.card.ignore if table.card else ()) if n not in (groups, time, target)]
    frame = table.frame.drop(columns=aside)
    told = {n: k for n, k in told.items() if n not in (*aside, groups, time)}
    with ExitStack() as stack:
        if not quiet:
            stack.enter_context(progress.show())
        found = examine(
            _model(model, frame[target]), frame, target, groups=groups, time=time, kinds=told or None, folds=folds,
            source=read_source(original).frame if original else None, seed=seed,
        )  # fmt: skip
    if as_json:
        print_json(found.to_dict())
    else:
        from tilth.report.render import show

        click.echo(found.text(all=show_all))
        show(found.sections()[1:], sys.stdout)
    return 4 if fail_on is not None and found.failed(fail_on) else 0  # type: ignore[arg-type]


def _model(name: str | None, target: Any) -> Any:
    """The model of this name, or a good one to begin with."""
    from tilth.models.catalogue import estimator_class, task_of

    if name is None:
        name = "NaiveBayes" if task_of(target.to_numpy())[0] == "classification" else "Ridge"
    try:
        return estimator_class(name)()
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
