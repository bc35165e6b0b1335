"""A whole run: from a raw table to a defended model, its report and its files.

A run is a list of stages over one :class:`Run`: each reads what earlier ones found, adds its own, and gives the
sections it has to say. A new stage is a function and a line in ``all_stages``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tilth.base import Section
from tilth.errors import TilthWarning
from tilth.lifecycle.run.asked import note_asked, require_run
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.live import Live
from tilth.lifecycle.run.options import BUDGET, TEST_SIZE, TRIALS, options
from tilth.lifecycle.run.outputs import require_folder
from tilth.lifecycle.run.question import prepare
from tilth.lifecycle.run.record import SCHEMA, Run
from tilth.lifecycle.run.stages import Stage, all_stages

__all__ = ["SCHEMA", "Run", "run"]


def run(
    source: Any,
    target: str | None = None,
    *,
    budget: Any = BUDGET,
    metric: str | None = None,
    positive: Any = None,
    costs: Mapping[str, float] | None = None,
    sensitive: Any = (),
    keep_sensitive: bool = False,
    groups: str | None = None,
    time: str | None = None,
    kinds: Mapping[str, Any] | None = None,
    task: str | None = None,
    models: Any = (),
    trust: Any = (),
    as_is: bool = False,
    trials: int = TRIALS,
    folds: int | None = None,
    test_size: float = TEST_SIZE,
    seed: int = 0,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    progress: bool = False,
    started: float | None = None,
) -> Run:
    """Take a raw table to a defended model: question, data quality, kinds, baselines, contest, test, insight, model.

    Parameters
    ----------
    source : a table, the path of a file, the name of a bundled table, or ``"-"`` for standard input.
    target : the column to predict; a bundled table knows its own.
    budget : time for everything, the report too: seconds, "30s", "5m"; None has no clock, and the seed decides all.
    metric : the measure that ranks the models; by default accuracy or RMSE.
    positive : the positive class of two; by default the rarer one.
    costs : what mistakes cost, ``{"fp": 1, "fn": 5}``: the model then answers yes where that is cheapest.
    sensitive : columns whose groups are compared; they are not learned from, unless ``keep_sensitive``.
    groups, time : columns; rows of a group stay together, later rows are tested by earlier ones.
    kinds : kinds of columns, where inference should be overruled.
    task : ``"classification"`` or ``"regression"``; None decides from the target, with a reason.
    models : class names of the models to try; by default all that fit the data.
    trust : columns to keep although they seem to give the target away.
    as_is : change nothing about the table: no column left out, no copies dropped.
    trials : parameter settings to try for each model, where the time allows it.
    folds, test_size : outer folds, and the share of rows that is tested on once (0: none).
    out : folder for report, model, card, manifest and script; None writes nothing.
    resume : folder of a run that was broken off; it goes on with the same table and options.
    progress : tell the stages on standard error.
    started : ``time.monotonic()`` of when the time of the budget began to run, where that was before this call.

    Ctrl-C ends the run: what was done is kept, and the report is still written.

    >>> found = run("weather", budget=None, trials=1, models=["NaiveBayes"])
    >>> found.chosen, str(found.scores.scores["Zero-R"]["accuracy"])
    ('Naive Bayes', '0.643 [0.388, 0.837]')
    """
    wishes = options(
        budget=budget, task=task, metric=metric, positive=positive, costs=costs, sensitive=sensitive,
        keep_sensitive=keep_sensitive, groups=groups, time=time, kinds=kinds, models=models, trust=trust, as_is=as_is,
        trials=trials, folds=folds, test_size=test_size, seed=seed,
    )  # fmt: skip
    clock = Clock(wishes.budget, began=started)
    folder = None if out is None and resume is None else Path(str(resume if resume is not None else out))
    if folder is not None:
        if resume is not None:
            require_run(folder)
        require_folder(folder)
        if resume is None:
            note_asked(folder, source, target, wishes)
    with ExitStack() as stack:
        live = stack.enter_context(Live(clock)) if progress else None
        stack.enter_context(clock.stoppable())
        this = Run(prepare(source, target, wishes), wishes, clock, folder=folder, resume=resume is not None)
        if live is not None:
            this.say = live.say
        for stage in all_stages():
            if live is not None:
                live.begin(stage.name)
            _make(stage, this)
        if folder is not None:
            if live is not None:
                live.begin("report")
            this.save(folder)
    return this


def _interrupt(run: Run, stage: Stage) -> None:
    """Finish with what is done; before Zero-R has a score there is nothing."""
    if run.contest is None or "Zero-R" not in run.contest.entries or not run.contest.entries["Zero-R"].done:
        raise KeyboardInterrupt
    run.interrupted = True
    run.say(stage.name, "interrupted: finishing with what is done (Ctrl-C again to stop at once)")


def _make(stage: Stage, run: Run) -> None:
    """One stage: what it says is kept, what goes wrong in an optional one costs that one only."""
    if not stage.needed:
        if run.interrupted:
            run.skipped[stage.name] = "the run was interrupted"
            return
        if run.clock.left < stage.least:
            run.skipped[stage.name] = "no time was left"
            return
    try:
        with run.clock.stage(stage.name), warnings.catch_warnings():
            # What fits have to say is kept with their scores and told among the doubts, once.
            warnings.simplefilter("ignore", TilthWarning)
            run.pages.extend(list(stage.make(run)))
        if run.clock.stopped and not run.interrupted:  # the stage has kept what it had
            _interrupt(run, stage)
    except KeyboardInterrupt:
        if run.interrupted:
            raise
        _interrupt(run, stage)
        if stage.needed and stage.name != "baselines":
            run.pages.extend(list(stage.make(run)))
    except Exception as error:
        if stage.needed:
            raise
        run.failures[stage.name] = f"{type(error).__name__}: {error}"
        run.say(stage.name, f"failed and was left out: {run.failures[stage.name]}")
        run.pages.append(Section(stage.name.capitalize(), f"This part failed and was left out: {error}", light="warn"))
