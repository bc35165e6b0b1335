"""The stages that try models: baselines, candidates, tuning, the choice, the one test."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tilth.base import Section
from tilth.base.target import split_target
from tilth.evaluate.compare import Comparison, compare
from tilth.evaluate.confusion import confusion
from tilth.evaluate.metrics import Metric
from tilth.evaluate.resample import resample
from tilth.evaluate.roc import PrecisionRecallCurve, RocCurve, precision_recall, roc
from tilth.evaluate.splits import Splits
from tilth.evaluate.table import Scores, signed, zero_r
from tilth.lifecycle.run.blend import enter_blend
from tilth.lifecycle.run.contest import (
    LAST_FIT,
    Contest,
    enter_all,
    leaderboard_section,
    tune_all,
    unfinished,
)
from tilth.lifecycle.run.journal import WORK, Journal
from tilth.lifecycle.run.ladder import fitting, left_out, rungs
from tilth.lifecycle.run.record import Run, Witness
from tilth.lifecycle.source import SourceError
from tilth.models.rules.one_r import OneRClassifier
from tilth.words import count, listed, readable

#: Shares of the budget until which models are tried as they are, those that were not reached again, and tuned.
ENTER_UNTIL, AGAIN_UNTIL, TUNE_UNTIL = 0.4, 0.5, 0.65
_RULE_LINES = 20


def baselines(run: Run) -> Iterable[Section]:
    """Zero-R, One-R, and a model of each simple kind."""
    division, wishes = run.division, run.options
    assert division is not None
    assert run.schema is not None
    folder = None if run.folder is None else Path(run.folder) / WORK
    journal = Journal.open(folder, division.develop, division.outer, wishes.seed, resume=run.resume)
    run.contest = contest = Contest(division, run.metrics(), wishes.seed, journal, second=_second(run))
    target = np.asarray(split_target(run.question.table, run.target, "run")[1])
    ladder = []
    for rung, refusal in fitting(rungs(run.task, wishes.models), run.schema, target):
        if refusal:
            contest.refused[rung.name] = refusal
        else:
            ladder.append(rung)
    asked = [r for r in rungs(run.task, wishes.models) if r.model in wishes.models]
    if asked and all(r.name in contest.refused for r in asked):
        told = "; ".join(f"{r.model}: {contest.refused[r.name]}" for r in asked)
        raise SourceError(f"None of the requested models can be tried. {told}.")
    first = [r for r in ladder if r.entry.turn < 0 and (r.baseline or not wishes.models or r.model in wishes.models)]
    heard: list[str] = []
    rules = [r for r in first if r.baseline]
    enter_all(contest, rules, run.clock, ENTER_UNTIL, heard.append)
    run.say("baselines", f"{contest.metric.name}: {', '.join(heard)}")  # the first honest numbers, at once
    heard.clear()
    enter_all(contest, [r for r in first if not r.baseline], run.clock, ENTER_UNTIL, heard.append)
    if heard:
        run.say("baselines", f"then {', '.join(heard)}")
    if not contest.entries["Zero-R"].done:
        raise RuntimeError(f"Zero-R could not be scored: {contest.entries['Zero-R'].failure}")
    contest.waiting = [r for r in ladder if r not in first]
    board = contest.board()
    parts = _rule(run)
    yield Section(
        "Baselines", "What any model must beat: Zero-R looks at no column, One-R at one. Two simple models follow.",
        board.short_frame(), parts=parts,
    )  # fmt: skip


def _why(run: Run, contest: Contest, board: Comparison, best: str) -> str:
    """Why the chosen model was chosen, where ``best`` has the best score of those that time allows."""
    chosen, second = run.model_name, contest.second
    out = "" if best == board.best else (
        f" {board.best} scored better, but its last fits would not have ended within the budget."
    )  # fmt: skip
    if len(board.scores) == 1:
        return f"Time ran out before any model was tried ({listed(contest.refused, 3)}); allow more, as in --budget 2m."
    if run.chosen == board.baseline:
        if out:
            return f"Zero-R is kept:{out}"
        return "No model has a better score than Zero-R, so Zero-R is kept: collect other columns or more rows."
    also = "" if second is None else f"; the same holds for the {second.name} of its probabilities"
    if run.chosen == best:
        return (
            f"{chosen} is chosen: it has the best score, and no simpler model is within one standard error{also}.{out}"
        )
    assert run.chosen is not None
    gap = signed(board.resampling.difference(run.chosen, best, contest.metric))
    if second is not None and contest.entries[run.chosen].rung.place > contest.entries[best].rung.place:
        return (
            f"{chosen} is chosen: of the models within one standard error of {best} ({gap}) its probabilities are the "
            f"best (by {second.name}).{out}"
        )
    return f"{chosen} is chosen: the simplest within one standard error of {best} ({gap}){also}.{out}"


def _second(run: Run) -> Metric | None:
    """Accuracy does not see how good probabilities are, and those decide wherever mistakes differ: log loss does."""
    if run.task != "classification" or run.options.metric is not None:
        return None
    return next((m for m in run.metrics() if m.name == "log loss"), None)


def _rule(run: Run) -> list[Section]:
    """The rule of One-R in words."""
    division = run.division
    if run.task != "classification" or division is None:
        return []
    rule = OneRClassifier(kinds=run.kinds or None).fit(division.develop.given, division.develop.labels)
    lines = [f"  {line}" for line in rule.rules().split("\n")]
    more = [f"  and {len(lines) - _RULE_LINES} more branches"] if len(lines) > _RULE_LINES else []
    return [Section("The rule of One-R", "\n".join(lines[:_RULE_LINES] + more))]


def candidates(run: Run) -> Iterable[Section]:
    """All other models that fit the data, as they come, simple ones first."""
    assert run.contest is not None
    heard: list[str] = []
    waiting = sorted(run.contest.waiting, key=lambda rung: rung.entry.turn)
    enter_all(run.contest, waiting, run.clock, ENTER_UNTIL, heard.append)
    # A model that was not reached is worth more than a better setting of one that was.
    enter_all(run.contest, unfinished(run.contest), run.clock, AGAIN_UNTIL, heard.append, most=1.0)
    if heard:
        run.say("candidates", ", ".join(heard))
    return []


def tuning(run: Run) -> Iterable[Section]:
    """Searches inside every fold, the most promising model first."""
    assert run.contest is not None
    heard: list[str] = []
    tune_all(run.contest, run.options.trials, run.clock, TUNE_UNTIL, heard.append)
    tries = sum(len(e.search.tried) for e in run.contest.entries.values() if e.search is not None)
    run.say("tuning", f"{count(tries, 'try', 'tries')}: {', '.join(heard) or 'no time for a search'}")
    return []


def choose(run: Run) -> Iterable[Section]:
    """The leaderboard, and the simplest model within one standard error of the best."""
    import pandas as pd

    contest = run.contest
    assert contest is not None
    run.clock.owed = 0.0  # what the chosen model will take is looked at now
    left = math.inf if run.interrupted else run.clock.left
    if not run.options.models:  # those that were asked for stand alone
        enter_blend(contest, left)
    run.scores = board = contest.board()
    run.chosen = chosen = contest.choice(board, left)
    run.clock.owed = contest.entries[chosen].last_seconds
    run.why = why = _why(run, contest, board, contest.affordable(board, left)[0])
    best = board.best
    ties = [n for n in board.ties if n != best]
    tied = f" Ties with {best}: {listed(ties)}." if ties else ""
    run.say("choice", f"{why} {board.main.name} {board.scores[chosen][board.main.name]}")
    page = leaderboard_section(contest, board)
    page.text = f"{why}{tied}\n\n{page.text}"
    parts = list(board.sections()[1:])
    for part in parts:
        part.folded = True
    searched = pd.DataFrame(list(contest.search_rows()))
    if len(searched):
        parts.insert(0, Section(
            "Tuning", "The inner score chose the parameters and is optimistic; the outer one comes from rows that "
            "no search used. Models are tuned on their inner folds only.\n\n" + "\n".join(contest.notes), searched,
        ))  # fmt: skip
    out = pd.DataFrame(
        [(n, why) for n, why in contest.refused.items()]
        + ([] if run.options.models else list(left_out(run.task).items())),
        columns=["model", "why it was not tried"],
    )
    parts.append(Section("Not tried", frame=out, advice="Any of them by name: --models NAME.", folded=True))
    page.parts = parts
    yield page


def price_of_suspects(run: Run) -> Iterable[Section]:
    """What simple models would have scored with the columns that look like a leak, beside the same without them."""
    suspects = [n for r in run.remedies if r.code == "Q504" for n in r.columns]
    if not suspects:
        return
    contest, division = run.contest, run.division
    assert contest is not None
    assert division is not None
    told = {n: k for n, k in run.kinds.items() if n not in suspects}
    simple = {n: e.model for n, e in contest.entries.items() if e.done and n != "Zero-R"}
    if not simple:
        return
    run.price = compare(
        simple, division.develop.given, division.develop.labels, split=division.outer, kinds=told or None,
        metrics=run.metrics(), baselines=False, seed=run.options.seed,
    )  # fmt: skip
    name, best = run.metric.name, run.price.best
    without = contest.board().scores[best][name]
    run.say("suspects", f"with {listed(suspects)} {best} has {name} {run.price.scores[best][name]}, without {without}")
    yield Section(
        "The price of the suspects",
        f"With {listed(suspects)}: {best} has {name} {run.price.scores[best][name]}. Without: {without}. If "
        f"{listed(suspects)} would not be known when predicting, the difference is an illusion, and it was left out.",
        run.price.short_frame(),
        advice=f"If it is known in time: {' '.join(f'--trust {n}' for n in suspects)}.",
        light="bad",
    )


def test_once(run: Run) -> Iterable[Section]:
    """The chosen model learns from all rows that chose it and answers for the rows held back: once."""
    at = run.standing
    contest, division, chosen = at.contest, at.division, at.chosen
    run.clock.owed = LAST_FIT * at.entry.fit_seconds
    once = division.test_once
    models = {"Zero-R": zero_r(run.task)}
    if "One-R" in contest.entries:
        models["One-R"] = contest.entries["One-R"].model
    models[chosen] = contest.made(chosen)
    if once is None:  # the folds have the scores; one of them gives a model to ask
        splits = division.outer
        first = Splits(splits.name, "holdout", splits.parts[:1], splits.n_rows, splits.seed)
        asked = resample({chosen: models[chosen]}, division.develop, first, keep_models=True, workers=1)
        outcome = asked.trials[chosen].outcomes[0]
        run.witness = Witness(outcome.model, splits.parts[0].test, at.scores.resampling.pooled(chosen),
                              "in cross-validation")  # fmt: skip
        run.say("test", "no rows were held out; cross-validation gives the score")
        yield Section("Performance", f"In cross-validation: {at.scores.verdict()}", parts=_performance(run))
        return
    found = resample(models, division.whole, once, keep_models=True, workers=1, may_fail={"One-R"}, title="Testing")
    if found.interrupted:
        raise KeyboardInterrupt
    run.test = Scores(found, contest.metrics, "Zero-R")
    outcome = found.trials[chosen].outcomes[0]
    assert outcome.answers is not None
    run.witness = Witness(outcome.model, division.test, outcome.answers, f"on {len(division.test):,} held-out rows")
    score, gain = run.score, run.gain
    held = count(len(division.test), "held-out row")
    text = f"{run.model_name}: {run.metric.name} {score} on {held} not used for any choice."
    if gain is not None:
        text += f" Gain over the baseline: {signed(gain)}."
    fold = at.scores.scores[chosen][run.metric.name]
    agrees = score is not None and score.low <= fold.value <= score.high
    verdict = "consistent" if agrees else "not consistent: check the split"
    text += f" Cross-validation estimated {readable(fold.value)}; {verdict}."
    run.say("test", text)
    yield Section("Test, once", text, run.test.short_frame(), parts=_performance(run),
                  light="good" if run.is_better else "bad")  # fmt: skip


def _performance(run: Run) -> list[Section]:
    """Confusion, ROC and precision-recall, or residuals."""
    answers = run.asked.answers
    if answers.classes is None:
        from tilth.evaluate.residuals import residuals

        return residuals(answers).sections()
    labels = answers.classes
    pages = confusion(labels[answers.true], labels[answers.given], labels=labels.tolist()).sections()
    if len(labels) == 2 and answers.ranking_score is not None and len(np.unique(answers.true)) == 2:
        score = answers.ranking_score
        yes = run.positive
        score = score if yes == labels[1] else -score if answers.score is not None else 1 - score
        true = labels[answers.true]
        for curve in (roc(true, score, positive=yes), precision_recall(true, score, positive=yes)):
            page, *others = curve.sections()
            if answers.probability is not None:
                page.figure = partial(_marked, run, curve)
            pages += [page, *others]
    return pages


def _marked(run: Run, curve: RocCurve | PrecisionRecallCurve) -> Any:
    """The curve with the place where the model says yes, which later stages may have moved."""
    at = 0.5 if run.threshold is None or not run.options.costs else float(run.threshold.threshold.value)
    return curve.plot(at if at <= curve.threshold[np.isfinite(curve.threshold)].max() else None)
