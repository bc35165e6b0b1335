"""A run and all it found: what stages read and write, and what becomes a report, a manifest and a model file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.data.kinds import level_key
from tilth.data.schema import NOT_LEARNED
from tilth.evaluate.answers import Answers
from tilth.evaluate.compare import Comparison
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.table import Scores
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.contest import Contest, Entry
from tilth.lifecycle.run.division import Division
from tilth.lifecycle.run.options import Options
from tilth.lifecycle.run.question import Question
from tilth.lifecycle.run.remedies import Remedy
from tilth.quality import Finding, Profile
from tilth.words import count, plain

if TYPE_CHECKING:
    import pandas as pd

    from tilth.data.schema import Schema

SCHEMA = "tilth.run/1"


def same_label(wanted: Any, labels: Sequence[Any]) -> Any:
    """The class that somebody means: 1 is 1.0, and "true" is True; None where there is none."""
    for same in (str, level_key, lambda label: level_key(label).lower()):
        matches = [label for label in labels if same(label) == same(wanted)]
        if len(matches) == 1:
            return matches[0]
    return None


@dataclass(eq=False)
class Witness:
    """A fitted model and rows that it did not learn from: who can be asked why."""

    model: Any
    rows: NDArray[np.int64]
    answers: Answers
    said: str


@dataclass(frozen=True, eq=False)
class Standing:
    """What every stage after the choice builds on."""

    contest: Contest
    division: Division
    scores: Comparison
    chosen: str

    @property
    def entry(self) -> Entry:
        """The chosen model."""
        return self.contest.entries[self.chosen]


@dataclass(eq=False)
class Run(Result):
    """A run and all it found; ``sections()`` is the report, ``model`` the chosen model fitted on all rows."""

    question: Question
    options: Options
    clock: Clock
    say: Callable[[str, str], None] = lambda stage, text: None
    folder: Path | None = None
    resume: bool = False

    profile: Profile | None = None
    remedies: list[Remedy] = field(default_factory=list)
    price: Comparison | None = None
    schema: Schema | None = None
    division: Division | None = None
    contest: Contest | None = None
    scores: Comparison | None = None
    chosen: str | None = None
    #: Why that one.
    why: str = ""
    test: Scores | None = None
    witness: Witness | None = None
    curve: Any = None
    importance: Any = None
    threshold: Any = None
    calibration: Any = None
    fairness: Any = None
    audit: Any = None
    model: Any = None

    pages: list[Section] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)
    interrupted: bool = False
    #: Stages that were left out, and stages that failed, each with the reason.
    skipped: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    # ---------------------------------------------------------------------------------------------- what was asked

    @property
    def name(self) -> str:
        """The table."""
        return self.question.name

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.question.target

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.question.task

    @property
    def kinds(self) -> dict[str, Any]:
        """Kinds as told, and columns left out."""
        return self.question.kinds

    @property
    def notes(self) -> list[str]:
        """What happened to the table on the way."""
        return self.question.notes

    @property
    def metric(self) -> Metric:
        """The measure that ranks the models."""
        assert self.contest is not None
        return self.contest.metric

    def metrics(self) -> tuple[Metric, ...]:
        """The measure that was asked for, then the usual ones."""
        from tilth.evaluate.metrics import metric
        from tilth.evaluate.table import chosen_metrics

        usual = chosen_metrics(None, self.task)
        if self.options.metric is None:
            return usual
        main = metric(self.options.metric, task=self.task)
        return (main, *(m for m in usual if m.name != main.name))

    @property
    def positive(self) -> Any:
        """The positive class of two: the stated one, else the rarer; None for more classes or numbers."""
        if self.task != "classification" or self.division is None:
            return None
        classes = self.division.whole.classes
        assert classes is not None
        if len(classes) != 2:
            return None
        labels = classes.tolist()
        if self.options.positive is not None:
            return same_label(self.options.positive, labels)
        counts = np.bincount(self.division.whole.target, minlength=2)
        return labels[0] if counts[0] < counts[1] else labels[1]

    # ---------------------------------------------------------------------------------------------- what was found

    @property
    def standing(self) -> Standing:
        """The contest and the choice; an error before they were reached."""
        if self.contest is None or self.division is None or self.scores is None or self.chosen is None:
            raise RuntimeError("The run has not chosen a model yet.")
        return Standing(self.contest, self.division, self.scores, self.chosen)

    @property
    def asked(self) -> Witness:
        """The model that can be asked about rows it has not seen; an error before there is one."""
        if self.witness is None:
            raise RuntimeError("The run has not tested its model yet.")
        return self.witness

    @property
    def model_name(self) -> str:
        """The chosen model in words."""
        if self.chosen is None or self.contest is None:
            return "no model"
        return self.contest.called(self.chosen)

    @property
    def score(self) -> Interval | None:
        """The headline: the score of the chosen model on rows held back, or over the folds where none were.

        The folds have chosen the model, so their interval is one that holds for all models at once (Bonferroni).
        """
        if self.chosen is None:
            return None
        if self.test is not None:
            return self.test.scores[self.chosen].get(self.metric.name)
        if self.scores is None or self.metric.name not in self.scores.scores[self.chosen]:
            return None
        return self._for_all(partial(self.scores.resampling.score, self.chosen, self.metric))

    @property
    def gain(self) -> Interval | None:
        """The headline less that of Zero-R on the same rows."""
        if self.chosen is None or self.chosen == "Zero-R":
            return None
        if self.test is not None:
            return self.test.differences[self.chosen].get(self.metric.name)
        if self.scores is None or self.metric.name not in self.scores.differences[self.chosen]:
            return None
        return self._for_all(partial(self.scores.resampling.difference, self.chosen, "Zero-R", self.metric))

    def _for_all(self, interval: Callable[[float], Interval]) -> Interval:
        """An interval at the level at which those of all models that could have been chosen hold together."""
        assert self.scores is not None
        level, n = self.scores.level, max(1, len(self.scores.scores) - 1)
        return replace(interval(1 - (1 - level) / n), level=level)

    @property
    def baseline(self) -> Interval | None:
        """Zero-R on the rows of the headline."""
        where = self.test or self.scores
        return None if where is None or "Zero-R" not in where.scores else where.scores["Zero-R"][self.metric.name]

    @property
    def is_better(self) -> bool:
        """Whether the gain over Zero-R is more than chance would give."""
        gain = self.gain
        if gain is None:
            return False
        return gain.low > 0 if self.metric.higher_is_better else gain.high < 0

    def unsettled(self) -> list[Finding]:
        """Serious findings that were not dealt with."""
        dealt = {r.code for r in self.remedies}
        aside = {n for n, k in self.kinds.items() if k in NOT_LEARNED}
        settled = {"Q504": aside | set(self.options.trust)}
        findings = self.profile.of("serious") if self.profile else []
        return [
            f for f in findings
            if f.code not in dealt and not (f.columns and settled.get(f.code, aside).issuperset(f.columns))
        ]  # fmt: skip

    # -------------------------------------------------------------------------------------------------- speaking

    def verdict(self) -> str:
        """Whether the model is worth using, and how good it is."""
        return self.sections()[0].text

    def frame(self) -> pd.DataFrame:
        """Every model that was tried, with its scores."""
        import pandas as pd

        return pd.DataFrame() if self.scores is None else self.scores.frame()

    def sections(self) -> list[Section]:
        """What a reader needs, verdict first."""
        from tilth.lifecycle.run.verdict import verdict

        return [verdict(self), *self.pages]

    def appendix(self) -> list[Section]:
        """The fitted model in full, and how the run went."""
        from tilth.lifecycle.run.verdict import model_pages, record_of_run

        return [*model_pages(self), record_of_run(self)]

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON-ready data."""
        import tilth

        contest = self.contest
        return plain({
            "schema": SCHEMA, "tilth": tilth.__version__, "source": self.name, "rows": self.question.table.n_rows,
            "target": self.target, "task": self.task, "task_reason": self.question.reason, "seed": self.options.seed,
            "notes": list(self.notes), "interrupted": self.interrupted, "skipped": self.skipped,
            "failures": self.failures,
            "columns": self.schema.frame().to_dict("records") if self.schema else [],
            "profile": self.profile.to_dict() if self.profile else None,
            "remedies": [{"code": r.code, "columns": list(r.columns), "done": r.done, "undo": r.undo}
                         for r in self.remedies],
            "price_of_suspects": self.price.to_dict() if self.price else None,
            "scores": self.scores.to_dict() if self.scores else None,
            "cost": {} if contest is None else {n: e.fit_seconds for n, e in contest.entries.items() if e.done},
            "chosen": self.chosen, "tuned": contest is not None and self.chosen is not None
            and contest.is_tuned(self.chosen),
            "test": self.test.to_dict() if self.test else None,
            "score": _interval(self.score), "baseline": _interval(self.baseline), "gain": _interval(self.gain),
            "learning_curve": self.curve.to_dict() if self.curve else None,
            "importance": self.importance.to_dict() if self.importance else None,
            "calibration": self.calibration.to_dict() if self.calibration else None,
            "threshold": self.threshold.to_dict() if self.threshold else None,
            "fairness": self.fairness.to_dict() if self.fairness else None,
            "audit": self.audit.to_dict() if self.audit else None,
            "model": None if self.model is None else type(self.model).__name__,
            "sections": [s.to_dict() for s in self.sections()],
        })  # fmt: skip

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write model, report, card, manifest and script to a folder; each file whole or not at all."""
        from tilth.lifecycle.run.outputs import write_outputs

        self.files.update(write_outputs(self, Path(folder)))
        return self.files

    def __str__(self) -> str:
        from tilth.report.render import to_text

        return to_text(self.sections())

    def facts(self) -> str:
        """The run in one line."""
        rows = count(self.question.table.n_rows, "row")
        return f"{rows}, target {self.target}, {self.task}, seed {self.options.seed}"


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None or math.isnan(interval.value) else interval.to_dict()
