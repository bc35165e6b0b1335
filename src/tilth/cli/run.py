"""The commands ``run``, from a raw table to a defended model, and ``replay``, which makes that model again."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from tilth.cli.exits import Exit
from tilth.cli.options import (
    debug_option,
    examples,
    json_option,
    kinds_option,
    parse_kinds,
    print_json,
    quiet_option,
    say,
    seed_option,
    target_option,
)

#: The bundled table that is used when none is named.
EXAMPLE = "titanic"


def _list(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Names given several times, or several at once between commas."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _costs(_: click.Context, __: click.Parameter, text: str | None) -> dict[str, float] | None:
    """``fp=1,fn=5`` as a dict."""
    if text is None:
        return None
    costs = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        try:
            costs[name.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign or name.strip() not in ("fp", "fn", "tp", "tn"):
            raise click.BadParameter(f"{part!r} is not a cost; write fp=1,fn=5 (also tp, tn).")
    return costs


def _budget(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is None or text == "none":
        return None
    from tilth.evaluate.search.budget import seconds_of

    try:
        seconds_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


@click.command(epilog=examples(
    "tilth run customers.csv --target churned",
    "tilth run loans.parquet -t default --budget 5m --sensitive sex,age --cost fp=1,fn=5",
    "tilth run visits.csv -t returns --groups patient --time date",
    "zcat big.csv.gz | tilth run - -t y --json > run.json",
))  # fmt: skip
@click.argument("source", required=False)
@target_option
@click.option("--budget", default="1m", show_default=True, callback=_budget, metavar="TIME",
              help="Time for the whole run: 30s, 5m, 1h; none: no limit.")  # fmt: skip
@click.option("-o", "--out", default="tilth-run", show_default=True, help="Folder for the report and the model.")
@click.option("--resume", metavar="FOLDER", help="Resume an interrupted run with the same settings.")
@kinds_option
@click.option(
    "--task", type=click.Choice(["classification", "regression"]), help="Task [default: inferred from the target]."
)
@click.option("--metric", help="The measure that ranks the models [default: accuracy, RMSE].")
@click.option("--positive", metavar="CLASS", help="The positive class [default: the rarer of two].")
@click.option("--cost", "costs", callback=_costs, metavar="fp=1,fn=5", help="What a false alarm and a miss cost.")
@click.option("--sensitive", multiple=True, callback=_list, metavar="COLUMNS",
              help="Columns whose groups are compared; not used as features.")  # fmt: skip
@click.option("--keep-sensitive", is_flag=True, help="Use the sensitive columns as features too.")
@click.option("--groups", metavar="COLUMN", help="Rows with the same value stay together in a split.")
@click.option("--time", metavar="COLUMN", help="Train on earlier rows, test on later ones.")
@click.option("--models", multiple=True, callback=_list, metavar="NAMES", help="Try these models only (tilth models).")
@click.option("--trust", multiple=True, callback=_list, metavar="COLUMNS", help="Keep a column that looks like a leak.")
@click.option("--as-is", is_flag=True, help="Change nothing: leave no column out, drop no duplicates.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Parameter settings tried per model, at most.",
)
@click.option("--folds", type=click.IntRange(min=2), help="Outer folds [default: 5; 3 or one holdout of many rows].")
@click.option("--test-size", type=click.FloatRange(min=0, max=1, max_open=True), default=0.2, show_default=True,
              help="Share of rows held out for the final test; 0: none.")  # fmt: skip
@seed_option
@click.option(
    "--fail-on", type=click.Choice(["serious", "warning"]), help="Exit with code 4 on a finding this bad or worse."
)
@click.option("--require-gain", is_flag=True, help="Exit with code 5 unless the model is better than Zero-R.")
@json_option
@quiet_option
@debug_option
def run(
    source: str | None, target: str | None, out: str, resume: str | None, kinds: tuple[str, ...], as_json: bool,
    quiet: bool, fail_on: str | None, require_gain: bool, **wishes: Any,
) -> int:  # fmt: skip
    """From a raw table to a tested model: data checks, baselines, model selection, one test, report.

    Without SOURCE: the passengers of the Titanic. Ctrl-C keeps everything done so far and still writes the report.
    """
    begun = time.monotonic()
    stated = parse_kinds(kinds)
    if resume is not None and "out" in _typed():
        raise click.UsageError("--resume continues in its own folder; drop --out.")
    if resume is not None and source is None:
        source, target, stated, wishes = _as_before(resume, target, stated, wishes, _typed())
    source = EXAMPLE if source is None else source
    say(f"tilth: reading {source}{_first_look(source)}", quiet)
    from tilth.lifecycle.run import run as run_stages

    with _stoppable():
        result = run_stages(
            source, target, kinds=stated, out=out, resume=resume, progress=not quiet, started=begun, **wishes
        )
    if as_json:
        print_json(result.to_dict())
    else:
        _tell(result)
    if result.interrupted:
        return Exit.INTERRUPTED
    if fail_on is not None and result.profile is not None:
        severities = ("serious",) if fail_on == "serious" else ("serious", "warning")
        if any(result.profile.of(severity) for severity in severities):  # type: ignore[arg-type]
            return Exit.FINDINGS
    if require_gain and not result.is_better:
        say("tilth: the model is not shown to be better than Zero-R", quiet)
        return Exit.NO_GAIN
    return Exit.OK


def _typed() -> set[str]:
    """Options that were typed, not left at their defaults."""
    context = click.get_current_context()
    return {n for n in context.params if context.get_parameter_source(n) is ParameterSource.COMMANDLINE}


def _as_before(
    folder: str, target: str | None, kinds: dict[str, Any], wishes: dict[str, Any], typed: set[str]
) -> tuple[str, str | None, dict[str, Any], dict[str, Any]]:
    """The question of a run that was broken off; what was typed this time counts more."""
    from tilth.lifecycle.run.asked import asked_before

    source, before, options = asked_before(folder)
    kept = {name: value if name in typed else options.get(name, value) for name, value in wishes.items()}
    return source, target or before, kinds or options.get("kinds") or {}, kept


def _first_look(source: str) -> str:
    """What can be seen of a text file before any library is loaded: columns, about how many rows, size."""
    try:
        size = os.path.getsize(source)
        with open(source, "rb") as file:
            head = file.read(1 << 16)
    except (OSError, ValueError):
        return ""
    lines = head.split(b"\n")
    if b"\0" in head or len(lines) < 2 or not size:
        return f" ({size:,} bytes)" if size else ""
    fields = max(lines[0].count(mark) for mark in (b",", b";", b"\t", b"|")) + 1
    rows = len(lines) - 1 if size <= len(head) else round(size * (len(lines) - 1) / len(head))
    about = "" if size <= len(head) else "about "
    return f" ({fields} columns, {about}{rows:,} lines, {size / 1e6:,.1f} MB)"


@contextmanager
def _stoppable() -> Iterator[None]:
    """A polite request to end (SIGTERM) is taken as Ctrl-C: what was done is kept."""

    def stop(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(result: Any) -> None:
    """The verdict, the leaderboard and where the files are."""
    from tilth.report.render import show

    pages = result.sections()
    board = [p for p in pages if p.title == "Leaderboard"]
    for page in board:
        page.parts, page.text, page.control = (), "", None
    show([pages[0], *board], sys.stdout)
    click.echo("\nSaved:")
    for path in result.files.values():
        click.echo(f"  {path}")
    if "model.tilth" in result.files:
        click.echo(
            f"\nNext: open {result.files['report.html']}, or tilth predict {result.files['model.tilth']} NEW.csv"
        )


@click.command(epilog=examples("tilth replay tilth-run/run.json", "tilth replay tilth-run --data moved/customers.csv"))
@click.argument("manifest")
@click.option("--data", metavar="SOURCE", help="The table, if it has moved.")
@click.option("-o", "--out", metavar="FILE", help="Write the model to this file too.")
@json_option
@quiet_option
@debug_option
def replay(manifest: str, data: str | None, out: str | None, as_json: bool, quiet: bool) -> int:
    """Fit the model of an earlier run again and check that it is the same.

    MANIFEST is run.json, or the folder that holds it. Ends with code 4 when the model is not the same, byte for byte.
    """
    say(f"tilth: replaying {manifest}", quiet)
    from tilth.lifecycle.run.replay import replay_run
    from tilth.lifecycle.save import save

    result = replay_run(manifest, data)
    if out is not None:
        save(result.model, out)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(result.verdict())
    return Exit.OK if result.same else Exit.FINDINGS
