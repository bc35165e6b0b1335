"""Commands on models: ``models``, ``datasets``, ``show`` and ``predict``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import click

from tilth.cli.tables import debug_option, say
from tilth.errors import TilthWarning


@click.command()
@click.option("--matching", metavar="SOURCE", help="Only models for this table, those that need no conversion first.")
@click.option("-t", "--target", help="Column to predict, with --matching.")
@debug_option
def models(matching: str | None, target: str | None) -> None:
    """Which models there are, and which of them fit a table."""
    if matching is None and target is not None:
        raise click.UsageError("--target names a column of the table given with --matching.")
    from tilth.base.declare import Section
    from tilth.models import catalogue
    from tilth.report.render import show as render

    if matching is None:
        render([Section("Models", frame=catalogue.models().drop(columns="traits"))], sys.stdout)
        return
    from tilth.lifecycle.source import read_source, require_column

    source = read_source(matching)
    target = target or (source.card.target if source.card else None)
    if target is not None:
        require_column([str(c) for c in source.frame.columns], target)
    kinds = dict(source.card.kinds) if source.card else None
    found = catalogue.matching(source.frame, target, kinds=kinds)
    render([Section(f"Models for {source.name}", frame=found)], sys.stdout)


@click.command()
@debug_option
def datasets() -> None:
    """The bundled tables."""
    import pandas as pd

    from tilth.base.declare import Section
    from tilth.data.datasets import cards
    from tilth.report.render import show as render

    rows = [(c.name, c.rows, c.columns, c.task, c.target or "", c.title) for c in cards().values()]
    table = pd.DataFrame(rows, columns=["name", "rows", "columns", "task", "target", "title"])
    render([Section("Bundled tables", frame=table)], sys.stdout)


@click.command()
@click.argument("model")
@debug_option
def show(model: str) -> None:
    """What a model file holds: class, target, columns, parameters."""
    from tilth.base.declare import Section
    from tilth.lifecycle.save import describe_file, load, parts_of
    from tilth.report.render import show as render

    path = _file(model)
    told = describe_file(path)
    facts = {
        "class": told["class"],
        "target": told["target"],
        "written with": ", ".join(f"{k} {v}" for k, v in told["written_with"].items()),
        "size": f"{told['bytes']:,} bytes",
    }
    head = Section(f"Model file {path.name}", "\n".join(f"  {name:<12}  {value}" for name, value in facts.items()))
    pages = [page for part in parts_of(load(path)) for page in part.sections()]
    render([head, *pages], sys.stdout)


@click.command()
@click.argument("model")
@click.argument("source")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="CSV file to write instead of standard output.")
@click.option("--proba", is_flag=True, help="Also the probability of every class.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@debug_option
def predict(model: str, source: str, out: Path | None, proba: bool, quiet: bool) -> None:
    """Predict the rows of a table, in their order, as CSV."""
    say(f"tilth: predicting {source} with {model}", quiet)
    import pandas as pd

    from tilth.lifecycle.files import write_whole
    from tilth.lifecycle.save import load
    from tilth.lifecycle.source import read_source

    fitted = load(_file(model))
    if not hasattr(fitted, "predict"):
        raise click.UsageError(f"{model} holds a {type(fitted).__name__}, which does not predict.")
    if proba and not hasattr(fitted, "predict_proba"):
        raise click.UsageError(f"{model} holds a {type(fitted).__name__}, which gives no probabilities: no --proba.")
    table = read_source(source)
    for note in table.notes:
        say(f"tilth: {note}", quiet)
    answers = pd.DataFrame({"prediction": fitted.predict(table.frame)})
    if proba:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TilthWarning)  # the same as for predict, which has said it
            shares = fitted.predict_proba(table.frame)
        for place, label in enumerate(fitted.classes_.tolist()):
            answers[f"p({label})"] = shares[:, place]
    text = answers.to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text)
        say(f"tilth: wrote {len(answers)} predictions to {out}", quiet)


def _file(model: str) -> Path:
    path = Path(model)
    if not path.is_file():
        from difflib import get_close_matches

        folder = path.parent
        beside = [p.name for p in folder.glob("*.tilth")] if folder.is_dir() else []
        near = get_close_matches(path.name, beside, 3, 0.4)
        hint = f" Did you mean {' or '.join(str(folder / n) for n in near)}?" if near else " `tilth run` writes one."
        raise FileNotFoundError(f"There is no model file {model}.{hint}")
    return path
