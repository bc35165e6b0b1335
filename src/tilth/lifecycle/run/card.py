"""The model card: what a model is for, what it was made of, how good it is, and what it must not be used for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilth.base import Assumption, Section
from tilth.data.schema import NOT_LEARNED
from tilth.evaluate.table import signed
from tilth.lifecycle.run.record import Run
from tilth.models.ensembles.voting import Voting
from tilth.words import count, listed, plain


def card_facts(run: Run) -> dict[str, Any]:
    """What a model file says about itself: nothing that a second run on the same rows would not say too."""
    return plain({
        "card": {
            "model": run.model_name, "source": run.name, "target": run.target, "task": run.task,
            "rows": run.question.table.n_rows, "seed": run.options.seed, "positive": run.positive,
            "left_out": sorted(n for n, k in run.kinds.items() if k in NOT_LEARNED),
            "assumptions": list(dict.fromkeys(a.text for a in _assumptions(run.model))),
        },
        "score": {
            "metric": run.metric.name, "of": "" if run.witness is None else run.witness.said,
            "value": None if run.score is None else run.score.to_dict(),
            "baseline": None if run.baseline is None else run.baseline.to_dict(),
            "gain": None if run.gain is None else run.gain.to_dict(),
        },
    })  # fmt: skip


def model_card(run: Run) -> str:
    """The card as markdown."""
    from tilth.report.render import to_markdown

    return to_markdown(_pages(run), title=f"Model card: {run.target} of {run.name}")


def _pages(run: Run) -> list[Section]:
    n = run.question.table.n_rows
    features = [c.name for c in run.schema or () if c.role == "feature"]
    aside = sorted(c.name for c in run.schema or () if c.role != "feature")
    gain = f" Gain over the baseline: {signed(run.gain)}." if run.gain is not None else ""
    said = run.witness.said if run.witness is not None else "in cross-validation"
    pages = [
        Section("Model", f"{run.model_name} ({type(run.model).__name__}), predicting {run.target} ({run.task}) from "
                f"{count(len(features), 'column')}. Written by tilth run; details are in the manifest run.json."),
        Section("Intended use", f"Rows like those of {run.name}: the same columns, from the same source and period. "
                "The people who deploy it should write here what its answers decide, for whom, and who checks them."),
        Section("Training data", f"{count(n, 'row')} of {run.name}. Learned from: {listed(features, 30)}."
                + (f" Not learned from: {listed(aside, 30)}." if aside else "") + _done(run)),
        Section("How good it is", f"{run.metric.name} {run.score} {said}; Zero-R {run.baseline}.{gain}"
                + ("" if run.is_better or run.chosen == "Zero-R" else " It is not shown to be better than Zero-R.")),
    ]  # fmt: skip
    if run.fairness is not None:
        pages.append(Section("By group", run.fairness.verdict()))
    elif not run.options.sensitive:
        pages.append(Section("By group", "No sensitive column was named, so nothing is known about groups of people. "
                             "Run again with --sensitive COLUMN."))  # fmt: skip
    limits = assumptions_of(run.model)
    open_ = [f"  {f.code}  {f.title}" for f in run.unsettled()]
    pages.append(Section("Limits", "\n".join([
        *limits, *open_, "  Rows outside the ranges and levels of the training data are predicted with a warning.",
    ])))  # fmt: skip
    pages.append(Section("Monitoring", "tilth predict and tilth serve compare new rows with the training rows and warn "
                         "of drift, values out of range and new levels."))  # fmt: skip
    return pages


def assumptions_of(model: Any) -> list[str]:
    """What a model and those inside it take for granted, a line each, and what follows where it does not hold."""
    lines = [f"  {a.text}" + (f" If not: {a.consequence}" if a.consequence else "") for a in _assumptions(model)]
    return list(dict.fromkeys(lines))


def _assumptions(model: Any) -> Iterator[Assumption]:
    yield from model.card.assumptions
    known = model.get_params(deep=False)
    if known.get("estimator") is not None:
        yield from _assumptions(known["estimator"])
    for _, member in model.members() if isinstance(model, Voting) else ():
        yield from _assumptions(member)


def _done(run: Run) -> str:
    return "".join(f" {r.done[0].upper()}{r.done[1:]}." for r in run.remedies)
