"""The first stages: the question, what is wrong with the data, what the columns are, which rows do what."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tilth.base import Section
from tilth.base.declare import Light
from tilth.base.target import split_target
from tilth.data.convert import plan
from tilth.data.infer import infer
from tilth.data.schema import NOT_LEARNED
from tilth.errors import SchemaError
from tilth.lifecycle.run import remedies
from tilth.lifecycle.run.division import divide
from tilth.lifecycle.run.record import Run, same_label
from tilth.models.catalogue import estimator_class
from tilth.quality import profile
from tilth.words import count, listed, readable


def ask(run: Run) -> Iterable[Section]:
    """The question as task, performance and experience."""
    question = run.question
    table, target = question.table, question.target
    others = sum(n != target and question.kinds.get(n) not in NOT_LEARNED for n in table.names)
    metric = run.metrics()[0]
    values = np.asarray(split_target(table, target, "run")[1])
    if run.task == "classification":
        labels, counts = np.unique(values, return_counts=True)
        task = f"predict {target} ({listed(labels.tolist())}) from {count(others, 'column')}"
        measure = f"{metric.name} on new rows, compared with Zero-R, the most frequent class"
        common, share = labels.tolist()[counts.argmax()], counts.max() / len(values)
        first = f"always answering {common!r} is right {share:.1%} of the time"
    else:
        task = f"predict the number {target} ({values.min():g} to {values.max():g}) from {count(others, 'column')}"
        measure = f"{metric.name} on new rows, compared with Zero-R, the mean"
        first = f"always answering the mean ({readable(float(values.mean()))}): RMSE {readable(float(values.std()))}"
    rows = [
        f"  task         {task}",
        f"  performance  {measure}",
        f"  experience   {count(table.n_rows, 'row')} of {run.name}",
    ]
    run.say("question", f"{task}; {count(table.n_rows, 'row')}; {first}")
    text = "\n".join(rows) + f"\n\nThis is {run.task} ({question.reason}). Scored by {metric.name}: {metric.meaning}."
    yield Section("Question", "\n\n".join([text, *(["\n".join(run.notes)] if run.notes else [])]))
    if question.card is not None:
        card = question.card
        yield Section("About the table", f"{card.title}. Source: {card.source}.", advice=card.cautions)


def examine(run: Run) -> Iterable[Section]:
    """What is wrong with the data, and what was done about it."""
    question = run.question
    run.profile = profile(question.table, question.target, kinds=question.kinds or None)
    if not run.options.as_is:
        run.remedies = remedies.apply(question, run.profile.findings, run.options.trust)
    found = run.profile.frame()
    serious = run.unsettled()
    light: Light = "bad" if serious else "warn" if len(found) else "good"
    parts = []
    if run.remedies:
        done = "\n".join(f"  {r.code}  {r.done} ({r.undo})" for r in run.remedies)
        parts.append(Section("What was done about it", done))
    worst = "; ".join(f.title for f in run.profile.of("serious")[:2]) or f"{count(len(found), 'finding')}, none serious"
    run.say("data", worst + (f"; {len(run.remedies)} dealt with" if run.remedies else ""))
    first = next(iter(serious), None)
    yield Section(
        "Data quality", run.profile.verdict(), found if len(found) else None, advice=first.advice if first else "",
        light=light, parts=[*parts, *_overview(run)],
    )  # fmt: skip


def _overview(run: Run) -> list[Section]:
    from tilth.quality.overview import overview

    told = {**run.kinds, run.target: "nominal"} if run.task == "classification" else run.kinds
    return overview(run.question.table, run.target, kinds=told or None).sections()


def look(run: Run) -> Iterable[Section]:
    """What each column was taken for and why, and what will be done with it."""
    run.schema = infer(run.question.table.without(run.target), run.kinds or None)
    roles = [c.role for c in run.schema]
    kinds: dict[str, int] = {}
    for column in run.schema:
        word = "left out" if column.role != "feature" else column.kind.name
        kinds[word] = kinds.get(word, 0) + 1
    run.say("columns", ", ".join(f"{n} {k}" for k, n in kinds.items()))
    if all(r != "feature" for r in roles):
        from tilth.lifecycle.source import SourceError

        raise SourceError(
            f"No column of {run.name} is left to learn from: each is constant, an identifier or was set aside. "
            "Run with --as-is, or name kinds with --kinds."
        )
    hardest = "LogisticRegression" if run.task == "classification" else "Ridge"
    planned = plan(run.schema.with_text(), estimator_class(hardest).accepts, owner=hardest)
    steps = Section(
        "Preparation", "How columns are prepared for a linear model; models that take columns as they are skip it. It "
        f"is all learned inside each training part.\n\n{planned}",
        folded=True,
    )  # fmt: skip
    yield Section(
        "Columns",
        "How each column was read, and why.",
        run.schema.frame(),
        advice="Where this is wrong: --kinds column=nominal, --kinds 'size=small<mid<large', --kinds column=aside.",
        parts=[steps],
    )


def divide_rows(run: Run) -> Iterable[Section]:
    """Rows that are held back, and folds of the others."""
    run.division = found = divide(run.question, run.options)
    wishes = run.options
    labels = [] if found.whole.classes is None else found.whole.classes.tolist()
    if len(labels) != 2 and (wishes.costs or wishes.positive is not None):
        what = f"{len(labels)} classes" if labels else "numbers"
        raise SchemaError(f"Costs and a positive class are about two classes; {run.target!r} holds {what}.")
    if wishes.positive is not None and same_label(wishes.positive, labels) is None:
        raise SchemaError(f"There is no class {wishes.positive!r} in {run.target!r}; there are {listed(labels)}.")
    if len(found.test):
        held = (
            f"{count(len(found.test), 'row')} are held out for one test at the end ({found.held}); the other "
            f"{len(found.rows):,} select the model ({found.outer.name}), with a search inside every fold."
        )
    else:
        held = f"No rows are held out: {found.held}. The model is selected and scored by {found.outer.name}."
    kept = []
    if wishes.groups is not None:
        kept.append(f"Rows with the same {wishes.groups} stay together.")
    if wishes.time is not None:
        kept.append(f"Models are fitted on earlier rows and tested on later ones (by {wishes.time}).")
    run.say("split", f"{len(found.rows):,} rows select the model ({found.outer.name}); {len(found.test):,} held out")
    words = f"{held} {' '.join(kept)}".strip()
    yield Section(
        "Split", f"{words}\n\nAll learning, conversions included, uses training rows only.",
        light="" if len(found.test) else "warn",
    )  # fmt: skip
