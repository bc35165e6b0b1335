"""The command ``explain``: why a model answers as it does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tilth.cli.explaining import explanation, reasons, text_columns
from tilth.cli.options import (
    debug_option,
    examples,
    json_option,
    model_file,
    print_json,
    quiet_option,
    read_table,
    say,
    seed_option,
    shown_progress,
    target_option,
)

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base import Section
    from tilth.lifecycle.source import Source

#: Rows explained when none is named.
_FIRST_ROWS = 3
#: Rows that a sampled explanation compares with.
_BACKGROUND = 200


@click.command(epilog=examples(
    "tilth explain model.tilth new.csv --row 1 --row 17", "tilth explain model.tilth labelled.csv --global",
))  # fmt: skip
@click.argument("model")
@click.argument("source")
@click.option("--row", "rows", type=click.IntRange(min=1), multiple=True, help="Row to explain, counted from 1.")
@click.option("--global", "overall", is_flag=True, help="Which columns matter over all rows; needs the target.")
@target_option
@seed_option
@json_option
@quiet_option
@debug_option
def explain(
    model: str, source: str, rows: tuple[int, ...], overall: bool, target: str | None, seed: int, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Explain a model's answers: row by row, or over all rows.

    Terms add up from a start to the score of the answer, over the columns as you gave them. Without --row the first
    three rows. Over all rows: what the score loses when a column is shuffled; give rows the model has not learned from.
    """
    path = model_file(model)
    say(f"tilth: explaining {model} on {source}", quiet)
    from tilth.lifecycle.save import load

    fitted = load(path)
    table = read_table(source, quiet, text_columns(fitted))
    own = getattr(fitted, "target_", None)
    known = target or (own if isinstance(own, str) else None) or (table.card.target if table.card else None)
    document: dict[str, Any] = {
        "schema": "tilth.explain/1", "model": str(path), "class": type(fitted).__name__, "source": source,
        "rows": None, "importance": None,
    }  # fmt: skip
    pages: list[Section] = []
    if rows or not overall:
        document["rows"], shown = _rows(fitted, table, rows, known)
        pages += shown
    if overall:
        with shown_progress(quiet):
            importance = _importance(fitted, table, known, seed)
        document["importance"] = importance.to_dict()
        pages += importance.sections()
    if as_json:
        print_json(document)
        return
    from tilth.report.render import show

    show(pages, sys.stdout)


def _rows(
    model: Any, table: Source, wanted: tuple[int, ...], target: str | None
) -> tuple[list[dict[str, Any]], list[Section]]:
    """Explanations as data and as pages."""
    from tilth.base.declare import Section
    from tilth.lifecycle.source import SourceError
    from tilth.words import plain

    n = len(table.frame)
    beyond = next((r for r in wanted if r > n), None)
    if beyond is not None:
        raise SourceError(f"There is no row {beyond}: {table.name} has {n}, counted from 1.")
    numbers = list(wanted) or list(range(1, min(_FIRST_ROWS, n) + 1))
    features = _features(table.frame, target)
    chosen = features.iloc[[r - 1 for r in numbers]].reset_index(drop=True)
    explained = explanation(model, chosen, features.head(_BACKGROUND))
    answers = model.predict(chosen).tolist() if hasattr(model, "predict") else [None] * len(chosen)
    documents, pages = [], []
    words = list(zip(*reasons(explained), strict=True))
    for i, (number, answer) in enumerate(zip(numbers, answers, strict=True)):
        terms = explained.frame(i)
        documents.append({
            "row": number, "prediction": plain(answer), "scale": explained.scale, "reasons": [w for w in words[i] if w],
            "terms": plain(terms.to_dict("records")),
        })  # fmt: skip
        text = "; ".join(w for w in words[i] if w) or "no column changes it"
        pages.append(Section(f"Row {number}: {answer}", f"{text}.", terms))
    if pages:
        pages[0].text += f"\n\n{_SCALES[explained.scale]}"
    return documents, pages


_SCALES = {
    "log": "Contributions are differences of log-odds between the answer and the next class; they add up to the total.",
    "answer": "Contributions are parts of the answer, or of its lead over the next class; they add up to the total.",
    "score": "Contributions are parts of the score, or of its lead over the next class; they add up to the total.",
}


def _importance(model: Any, table: Source, target: str | None, seed: int) -> Any:
    from tilth.explain.importance import permutation_importance
    from tilth.lifecycle.source import SourceError, require_column

    if target is None:
        raise SourceError("--global measures the loss of score, which needs the true answers: name --target.")
    require_column([str(c) for c in table.frame.columns], target)
    labelled = table.frame[table.frame[target].notna()].reset_index(drop=True)
    if len(labelled) < 2:
        raise SourceError(f"{table.name} has {len(labelled)} rows with a value of {target!r}; at least 2 are needed.")
    return permutation_importance(model, _features(labelled, target), labelled[target].to_numpy(), seed=seed)


def _features(frame: pd.DataFrame, target: str | None) -> pd.DataFrame:
    return frame.drop(columns=target) if target in frame.columns else frame
