"""The stages that look at the chosen model: learning, explanation, errors, decisions, fairness, doubts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tilth.base import Section
from tilth.base.columns import take_rows
from tilth.base.declare import Light
from tilth.data.schema import NOT_LEARNED
from tilth.evaluate.answers import Answers
from tilth.evaluate.calibration import calibration
from tilth.evaluate.curves import learning_curve
from tilth.evaluate.threshold import choose_threshold
from tilth.lifecycle.run.card import assumptions_of
from tilth.lifecycle.run.question import words_of
from tilth.lifecycle.run.record import Run
from tilth.words import plain

#: Shares of the budget until which curves are drawn, and the model explained.
LEARN_UNTIL, EXPLAIN_UNTIL = 0.8, 0.9
#: Rows that an explanation looks at.
EXPLAINED_ROWS = 2000
#: Sizes of a learning curve as shares of the training rows, and what they cost together in fits of all rows.
SIZES = (0.1, 0.18, 0.32, 0.56, 1.0)
FOLDS = 5
_LIGHT = {"fine": "good", "overfit": "warn", "underfit": "warn"}
#: Rows shown as cards, and the reasons and cells on one of them.
MOST_CARDS, MOST_REASONS, MOST_CELLS = 8, 8, 12
_STRANGE = {"confident": "surely wrong", "surprising": "surprising", "labels": "label in doubt"}
#: Seconds without which the checks that refit are not begun; on a thousand rows they take about half of one.
LEAST_FOR_CHECKS = 1.5
#: Thresholds that a reader can choose among in the report.
MOST_THRESHOLDS = 200


def learning(run: Run) -> Iterable[Section]:
    """Does the model learn too little or too much, and would more rows help?"""
    at = run.standing
    problem = at.division.develop
    left = run.clock.until(LEARN_UNTIL)
    asked = next((n for n in (at.chosen, *at.contest.like(at.chosen)) if _curve_seconds(run, n) <= left), None)
    if asked is None:
        run.skipped["learning"] = (
            f"a learning curve takes about {_curve_seconds(run, at.chosen):.0f} s, and {max(left, 0):.0f} s were left"
        )
        return
    many = FOLDS * _curve_seconds(run, asked) <= left and len(at.division.outer) > 1
    how: dict[str, Any] = {"folds": _folds(run)} if many else {"split": "holdout"}
    best = at.scores.scores[at.scores.best][run.metric.name].value
    run.curve = learning_curve(
        at.contest.made(asked), problem.given, problem.labels, sizes=list(SIZES), metric=run.metric, reference=best,
        groups=problem.groups, time=problem.time, kinds=run.kinds or None, seed=run.options.seed, workers=1, **how,
    )  # fmt: skip
    run.curve.model, run.curve.reference_name = at.contest.called(asked), "the best model"
    found = run.curve.diagnosis
    pages = run.curve.sections()
    parts = found.sections()
    if many:
        parts += run.curve.more_rows().sections()
    page = pages[0]
    if asked != at.chosen:
        page.text = (
            f"This is the curve of {run.curve.model}, which is nearly as good and quicker: no time was left for that "
            f"of {run.model_name}. {page.text}"
        )
    page.parts, page.light = parts, _LIGHT.get(found.state, "warn")
    run.say("learning", found.verdict())
    yield page


def _curve_seconds(run: Run, name: str) -> float:
    """What a curve of one split takes."""
    return 1.5 * sum(SIZES) * run.standing.contest.entries[name].fit_seconds


def _folds(run: Run) -> int | None:
    assert run.division is not None
    problem = run.division.develop
    return None if problem.groups is not None or problem.time is not None else min(FOLDS, len(run.division.outer))


def _sample(run: Run) -> tuple[Any, Any, Any]:
    """Rows that the witness did not learn from, as table, labels and row numbers of the whole."""
    division, witness = run.standing.division, run.asked
    problem = division.whole if len(division.test) else division.develop
    rows = witness.rows
    if len(rows) > EXPLAINED_ROWS:
        rows = np.sort(np.random.default_rng([run.options.seed, 7]).choice(rows, EXPLAINED_ROWS, replace=False))
    return take_rows(problem.raw, rows), problem.labels[rows], rows


def explanation(run: Run) -> Iterable[Section]:
    """Which columns matter, how they act, and the model in short."""
    from tilth.explain import partial_dependence, permutation_importance, surrogate

    if run.chosen == "Zero-R":
        run.skipped["explanation"] = "Zero-R looks at no column"
        return
    table, labels, _ = _sample(run)
    model = run.asked.model
    left = run.clock.until(EXPLAIN_UNTIL)
    run.importance = permutation_importance(
        model, table, labels, metric=run.metric, seed=run.options.seed, seconds=None if math.isinf(left) else left / 2
    )
    page, *parts = run.importance.sections()
    if run.clock.until(EXPLAIN_UNTIL) > 0:
        parts += partial_dependence(model, table, importance=run.importance, seed=run.options.seed).sections()
    if run.clock.until(EXPLAIN_UNTIL) > 0:
        parts += surrogate(model, table, seed=run.options.seed).sections()
    page.parts = parts
    page.title = "Explanation"
    run.say("explanation", run.importance.verdict())
    yield page


def errors(run: Run) -> Iterable[Section]:
    """The rows that are most wrong and most surprising, with reasons, and segments where the model is weak."""
    from tilth.evaluate.segments import segments
    from tilth.evaluate.wrong_rows import wrong_rows

    # Out-of-fold answers: more rows than the test has, and none of them learned from.
    answers, rows = out_of_fold(run)
    division = run.standing.division
    table, numbers = division.whole.raw, division.rows[rows]
    wrong = wrong_rows(answers, table, rows=numbers)
    weak = segments(answers, take_rows(table, numbers), kinds=run.kinds or None, seed=run.options.seed)
    page, *parts = wrong.sections()
    control = _cards(run, wrong)
    if control is not None:
        parts.insert(0, Section("Row by row", "The strangest rows, with the reasons for each answer.", control=control))
    page.parts = [*parts, *weak.sections()]
    page.title = "Errors"
    run.say("errors", f"{wrong.verdict()} {weak.verdict()}")
    yield page


def out_of_fold(run: Run) -> tuple[Answers, Any]:
    """Answers of the chosen model for rows of the contest it had not seen, and which rows these are."""
    at = run.standing
    trial = at.contest.best_trial(at.entry)
    both = [(a, s.test) for a, s in zip(trial.answers, at.division.outer, strict=True) if a is not None]
    return Answers.join([a for a, _ in both]), np.concatenate([rows for _, rows in both])


def decided(run: Run, answers: Answers) -> Answers:
    """The answers as the saved model gives them: where costs were told, yes begins at the threshold they ask for."""
    if not run.options.costs or run.threshold is None or answers.probability is None or answers.classes is None:
        return answers
    yes = answers.classes.tolist().index(run.positive)
    said = answers.probability[:, yes] >= run.threshold.threshold.value
    return replace(answers, given=np.where(said, yes, 1 - yes).astype(answers.given.dtype))


def _cards(run: Run, wrong: Any) -> dict[str, Any] | None:
    """The strangest rows as cards, each with the reasons for its answer."""
    from tilth.explain import explain_rows

    frame = wrong.frame().drop_duplicates("row").head(MOST_CARDS)
    if not len(frame):
        return None
    numbers = frame["row"].to_numpy()
    table = take_rows(run.standing.division.whole.raw, numbers)
    told = explain_rows(run.asked.model, table, background=_sample(run)[0], seed=run.options.seed)
    facts = [c for c in frame.columns if c not in (*table.names, "list", "row")]
    cards = []
    for i, number in enumerate(numbers):
        amounts, _, unit = told.reasons(i)
        cells = {n: plain(words_of(table.column(n))[i]) for n in told.columns}
        order = np.argsort(-np.abs(amounts), kind="stable")[:MOST_REASONS]
        cards.append({
            "title": f"Row {number}: {_STRANGE[frame['list'].iloc[i]]}",
            "text": f"What each column adds to the {unit}. The model shown was also trained on this row, so its answer "
            "may differ from the wrong one.",
            "light": "bad" if frame["list"].iloc[i] == "confident" else "warn",
            "facts": {c: _fact(frame[c].iloc[i]) for c in facts}, "cells": cells,
            "reasons": [{"column": told.columns[j], "value": cells[told.columns[j]], "amount": float(amounts[j])}
                        for j in order if amounts[j] != 0],
        })  # fmt: skip
    return {"kind": "rows", "rows": cards, "columns": list(told.columns)[:MOST_CELLS]}


def _fact(value: Any) -> str:
    found = plain(value)
    return f"{found:.4g}" if isinstance(found, float) else "" if found is None else str(found)


def decisions(run: Run) -> Iterable[Section]:
    """Can the probabilities be believed, and where should yes begin?"""
    if run.task != "classification" or run.chosen == "Zero-R":
        return
    develop = run.standing.division.develop
    answers, rows = out_of_fold(run)
    classes = answers.classes
    assert classes is not None
    if answers.probability is None:
        run.skipped["decisions"] = f"{run.chosen} gives no probabilities"
        return
    groups = None if develop.groups is None else develop.groups[rows]
    true = classes[answers.true]
    yes = run.positive
    two = len(classes) == 2
    run.calibration = calibration(
        true, answers.probability, of=yes if two else None, classes=classes.tolist(), groups=groups,
        seed=run.options.seed,
    )  # fmt: skip
    page, *parts = run.calibration.sections()
    page.light = "good" if run.calibration.kind == "calibrated" else "warn"
    said = run.calibration.verdict()
    if two:
        score = answers.probability[:, classes.tolist().index(yes)]
        costs = dict(run.options.costs) if run.options.costs else {"fp": 1.0, "fn": 1.0}
        run.threshold = choose_threshold(true, score, costs=costs, positive=yes, groups=groups, seed=run.options.seed)
        place = run.threshold.sections()
        place[0].control = _slider(true == yes, score, float(run.threshold.threshold.value), str(yes), costs)
        if not run.options.costs:
            place[
                0
            ].advice = "Both mistakes cost the same here. State other costs with --cost fp=1,fn=5, or try the slider."
        parts += place
        said += f" {run.threshold.verdict()}"
    page.title, page.parts = "Probabilities and decisions", parts
    run.say("decisions", said)
    yield page


def _slider(yes: Any, score: Any, chosen: float, name: str, costs: dict[str, float]) -> dict[str, Any]:
    """Counts of right and wrong answers at up to 200 thresholds."""
    # Always and never yes have no finite threshold: the lowest score, and one above the highest, say the same.
    chosen = float(np.clip(chosen, score.min(), score.max() + 1e-3))
    places = np.unique(np.quantile(score, np.linspace(0, 1, MOST_THRESHOLDS - 1)))
    at = np.unique(np.append(places, chosen))
    said = score[:, None] >= at[None, :]
    tp, fp = (said & yes[:, None]).sum(axis=0), (said & ~yes[:, None]).sum(axis=0)
    return {
        "kind": "threshold", "thresholds": np.round(at, 6).tolist(), "tp": tp.tolist(), "fp": fp.tolist(),
        "fn": (yes.sum() - tp).tolist(), "tn": ((~yes).sum() - fp).tolist(), "n": len(yes), "chosen": chosen,
        "positive": name, "cost": {  # what a right answer costs only moves the zero
            "fp": max(0.0, costs.get("fp", 1.0) - costs.get("tn", 0.0)),
            "fn": max(0.0, costs.get("fn", 1.0) - costs.get("tp", 0.0)),
        },
    }  # fmt: skip


def fairness(run: Run) -> Iterable[Section]:
    """Who bears the errors, where sensitive columns were named."""
    if not run.options.sensitive:
        return
    from tilth.evaluate.groups import by_group
    from tilth.evaluate.proxies import proxies

    answers, rows = out_of_fold(run)
    answers = decided(run, answers)
    numbers = run.standing.division.rows[rows]
    table = run.question.table
    sensitive = {n: words_of(table.column(n))[numbers] for n in run.options.sensitive}
    run.fairness = by_group(answers, sensitive, positive=run.positive)
    page, *parts = run.fairness.sections()
    others = take_rows(table.without(run.target), numbers)
    for found in proxies(others, list(run.options.sensitive), kinds=_learned_kinds(run), seed=run.options.seed):
        parts += found.sections()
    page.title, page.parts = "Fairness", parts
    run.say("fairness", run.fairness.verdict())
    yield page


def _learned_kinds(run: Run) -> dict[str, Any] | None:
    """Kinds as told; sensitive columns are looked at here, though not learned from."""
    return {n: k for n, k in run.kinds.items() if n not in run.options.sensitive} or None


def doubts(run: Run) -> Iterable[Section]:
    """Assumptions of the chosen model, what was warned of, and whether the score can be believed."""
    from tilth.evaluate.audit import audit

    at = run.standing
    contest, division, entry = at.contest, at.division, at.entry
    parts = []
    # The checks refit: with a model that is quick they say the same of the data.
    checked = at.chosen if run.clock.budget is None or entry.fit_seconds < 0.05 else next(
        (n for n in ("Naive Bayes", "Ridge regression") if n in contest.entries and contest.entries[n].done), "Zero-R"
    )  # fmt: skip
    if run.clock.left > max(LEAST_FOR_CHECKS, 60 * contest.entries[checked].fit_seconds):
        # Columns that are left out say nothing about what was learned.
        table = division.develop.raw
        for name in [n for n, k in run.kinds.items() if k in NOT_LEARNED and n in table.names]:
            table = table.without(name)
        told = {n: k for n, k in run.kinds.items() if k not in NOT_LEARNED}
        run.audit = audit(
            contest.made(checked), table, division.develop.labels, groups=division.develop.groups,
            time=division.develop.time, kinds=told or None, seed=run.options.seed,
        )  # fmt: skip
        parts += run.audit.sections(all=False)[:1]
    else:
        run.skipped["doubts"] = "no time was left for the checks that refit"
    taken = assumptions_of(entry.model)
    assumed = f"{at.chosen} makes no assumptions."
    if taken:
        assumed = f"{at.chosen} assumes:\n\n" + "\n".join(taken)
    heard = entry.trial.notes()
    warned = "\n\n".join(["Warnings while fitting it:", "\n".join(f"  {h}" for h in heard)]) if heard else ""
    worst = run.audit.worst if run.audit is not None else None
    light: Light = (
        "good" if worst is None or worst.severity == "info" else "bad" if worst.severity == "serious" else "warn"
    )
    run.say("doubts", run.audit.verdict() if run.audit is not None else f"{len(taken)} assumptions, not checked")
    yield Section("Assumptions and warnings", "\n\n".join(t for t in (assumed, warned) if t), parts=parts, light=light)
