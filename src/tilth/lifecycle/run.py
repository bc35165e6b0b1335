"""A whole run: from a raw table to baselines with honest scores, a model file and a report.

A run is a list of stages over one :class:`Run`: each reads what earlier ones found, adds its own, and gives the
sections it has to say. A new stage is a function and a line in ``STAGES``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from tilth import progress as reporting
from tilth.base import Predictor, Section
from tilth.base.columns import take_rows
from tilth.base.target import split_target
from tilth.data.convert import plan
from tilth.data.infer import infer
from tilth.data.kinds import Kind
from tilth.data.reading import read
from tilth.data.schema import Schema
from tilth.data.table import RawColumn, RawTable
from tilth.errors import SchemaError
from tilth.evaluate.compare import Comparison
from tilth.evaluate.compare import compare as compare_models
from tilth.lifecycle.files import write_whole
from tilth.lifecycle.source import Source, SourceError, read_source, require_column
from tilth.models.bayes.naive_bayes import NaiveBayes
from tilth.models.catalogue import task_of
from tilth.models.rules.one_r import OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor
from tilth.quality import Finding, Profile, profile
from tilth.quality.finding import count, listed, plain

if TYPE_CHECKING:
    from tilth.data.datasets import Card

SCHEMA = "tilth.run/1"
#: Code of the finding that a column gives the target away.
LEAK = "Q504"
TASKS = ("classification", "regression")
#: A text target of at least this many rows whose values mostly differ is no set of classes.
_MANY_ROWS = 20
#: Lines of a rule shown in a section.
_RULE_LINES = 20


@dataclass
class Run:
    """A run and all it found; ``sections()`` is the report, ``model`` the chosen model fitted on all rows."""

    name: str
    table: RawTable
    target: str
    task: str
    task_reason: str
    kinds: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    folds: int | None = None
    notes: list[str] = field(default_factory=list)
    card: Card | None = None
    profile: Profile | None = None
    schema: Schema | None = None
    scores: Comparison | None = None
    without_suspects: Comparison | None = None
    model: Any = None
    pages: list[Section] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)

    def candidates(self) -> dict[str, Predictor]:
        """The models of the ladder, simplest first."""
        if self.task == "regression":
            return {"Zero-R": ZeroRRegressor()}
        return {"Zero-R": ZeroRClassifier(), "One-R": OneRClassifier(), "Naive Bayes": NaiveBayes()}

    def sections(self) -> list[Section]:
        """What a reader needs, verdict first."""
        return [self._verdict(), *self.pages]

    def appendix(self) -> list[Section]:
        """The fitted model in full: parameters, recipe, plan, tables."""
        if self.model is None:
            return []
        pages = list(self.model.sections())
        if hasattr(self.model, "plot"):
            pages.append(Section("Picture of the model", figure=self.model.plot))
        return pages

    def _verdict(self) -> Section:
        said = [self.scores.verdict() if self.scores else "The run did not reach its scores."]
        serious = self._unsettled()
        if serious:
            said.append(
                f"{count(len(serious), 'serious finding')} in the data: {'; '.join(f.title for f in serious[:3])}. "
                "Settle this before believing any score."
            )
        return Section("Verdict", "\n\n".join(said))

    def _unsettled(self) -> list[Finding]:
        """Serious findings, but for those about columns that are left out anyway."""
        aside = {c.name for c in self.schema or () if c.role == "aside"}
        found = self.profile.of("serious") if self.profile else []
        return [f for f in found if not f.columns or not aside.issuperset(f.columns)]

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON-ready data."""
        import tilth

        return {
            "schema": SCHEMA,
            "tilth": tilth.__version__,
            "source": self.name,
            "rows": self.table.n_rows,
            "target": self.target,
            "task": self.task,
            "task_reason": self.task_reason,
            "seed": self.seed,
            "notes": list(self.notes),
            "columns": plain(self.schema.frame().to_dict("records")) if self.schema else [],
            "profile": self.profile.to_dict() if self.profile else None,
            "scores": plain(self.scores.to_dict()) if self.scores else None,
            "without_suspects": plain(self.without_suspects.to_dict()) if self.without_suspects else None,
            "model": None if self.model is None else type(self.model).__name__,
            "sections": [plain(s.to_dict()) for s in self.sections()],
        }

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write ``model.tilth``, ``report.html``, ``report.md`` and ``report.json``; each file whole or not at all."""
        import json

        from tilth.lifecycle.save import save
        from tilth.report.render import to_html, to_markdown

        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"Cannot write the results to {place}: {error.strerror or error}.") from None
        document = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        title = f"tilth run {self.name}"
        facts = f"{count(self.table.n_rows, 'row')}, target {self.target}, {self.task}, seed {self.seed}"
        pages = [*self.sections(), *self.appendix()]
        if self.model is not None:
            self.files["model.tilth"] = save(self.model, place / "model.tilth")
        for name, text in {
            "report.html": to_html(pages, title=title, subtitle=facts, data=document),
            "report.md": to_markdown(pages, title=title),
            "report.json": document + "\n",
        }.items():
            self.files[name] = write_whole(place / name, text)
        return self.files

    def __str__(self) -> str:
        from tilth.report.render import to_text

        return to_text(self.sections())


# --------------------------------------------------------------------------------------------------------------- stages


def ask(run: Run) -> Iterable[Section]:
    """The question as task, performance and experience."""
    column = run.table.column(run.target)
    others = len(run.table.names) - 1
    if run.task == "classification":
        levels = listed(np.unique(split_target(run.table, run.target, "run")[1]).tolist())
        task = f"predict {run.target} ({levels}) from {count(others, 'column')}"
        measure = "accuracy on rows not learned from, beside Zero-R, the most frequent class"
    else:
        low, high = np.min(column.values), np.max(column.values)
        task = f"predict the number {run.target} ({low:g} to {high:g}) from {count(others, 'column')}"
        measure = "root mean squared error on rows not learned from, beside Zero-R, the mean"
    rows = [
        f"  task         {task}",
        f"  performance  {measure}",
        f"  experience   {count(run.table.n_rows, 'row')} of {run.name}",
    ]
    text = "\n".join(rows) + f"\n\nThis is {run.task}, {run.task_reason}."
    yield Section("Question", "\n\n".join([text, *(["\n".join(run.notes)] if run.notes else [])]))
    if run.card is not None:
        yield Section("About the table", f"{run.card.title}. Source: {run.card.source}.", advice=run.card.cautions)


def examine(run: Run) -> Iterable[Section]:
    """What is wrong with the data."""
    run.profile = profile(run.table, run.target, kinds=run.kinds or None)
    found = run.profile.frame()
    first = next(iter(run.profile.of("serious")), None)
    advice = first.advice if first else ""
    yield Section("Data quality", run.profile.verdict(), found if len(found) else None, advice=advice)


def look(run: Run) -> Iterable[Section]:
    """What each column was taken for and why, and what will be done with it."""
    run.schema = infer(run.table.without(run.target), run.kinds or None)
    yield Section(
        "Columns",
        "What each column was taken for, and why.",
        run.schema.frame(),
        advice="Where this is wrong: --kinds column=nominal, --kinds 'size=small<mid<large', --kinds column=aside.",
    )
    name, hardest = list(run.candidates().items())[-1]
    yield Section("Plan", str(plan(run.schema, type(hardest).accepts, owner=name)))


def compare(run: Run) -> Iterable[Section]:
    """The ladder of models under cross-validation."""
    run.scores = compare_models(
        run.candidates(), run.table, run.target, folds=run.folds, seed=run.seed, kinds=run.kinds or None, beside=False
    )
    yield from run.scores.sections()


def doubt(run: Run) -> Iterable[Section]:
    """The same scores without the columns that look like a leak, so that the price of the suspicion is known."""
    leaks = [n for f in run._unsettled() if f.code == LEAK for n in f.columns if n != run.target]
    if not leaks or len(leaks) == len(run.table.names) - 1:
        return
    run.without_suspects = compare_models(
        run.candidates(), run.table, run.target, folds=run.folds, seed=run.seed, beside=False,
        kinds={**run.kinds, **dict.fromkeys(leaks, "aside")},
    )  # fmt: skip
    page = run.without_suspects.sections()[0]
    option = " ".join(f"--kinds {shlex.quote(n + '=aside')}" for n in leaks)
    yield Section(
        "Scores without the suspects",
        f"Without {listed(leaks)}: {run.without_suspects.verdict()}",
        page.frame,
        advice=f"If {listed(leaks)} would not be known when predicting, the higher score is an illusion: "
        f"run again with {option}.",
    )


def finish(run: Run) -> Iterable[Section]:
    """The rule of One-R in words, and the best model fitted on all rows."""
    assert run.scores is not None
    candidates = run.candidates()

    def on_all_rows(name: str) -> Any:
        return clone(candidates[name]).set_params(kinds=run.kinds or None).fit(run.table, run.target)

    run.model = on_all_rows(run.scores.best)
    if "One-R" in candidates:
        rule = run.model if run.scores.best == "One-R" else on_all_rows("One-R")
        lines = [f"  {line}" for line in rule.rules().split("\n")]
        more = [f"  and {len(lines) - _RULE_LINES} more branches"] if len(lines) > _RULE_LINES else []
        yield Section("The rule of One-R", "\n".join(lines[:_RULE_LINES] + more))
    yield Section(
        "Model",
        f"{run.scores.best} ({type(run.model).__name__}), fitted on all {count(run.table.n_rows, 'row')}. Its score on "
        "new rows is estimated by the cross-validation above; its score on its own training rows would be optimistic.",
    )


Stage = Callable[[Run], Iterable[Section]]
STAGES: tuple[Stage, ...] = (ask, examine, look, compare, doubt, finish)


# ------------------------------------------------------------------------------------------------------------- the call


def run(
    source: Any,
    target: str | None = None,
    *,
    kinds: Mapping[str, Any] | None = None,
    task: str | None = None,
    seed: int = 0,
    folds: int | None = None,
    out: str | Path | None = None,
    progress: bool = False,
) -> Run:
    """Take a raw table to a defended baseline: question, data quality, kinds, plan, scores, model, report.

    Parameters
    ----------
    source : a table, the path of a file, the name of a bundled table, or ``"-"`` for standard input.
    target : the column to predict; a bundled table knows its own.
    kinds : kinds of columns, where inference should be overruled.
    task : ``"classification"`` or ``"regression"``; None decides from the target, with a reason.
    folds : folds of the cross-validation, None for 10 or the size of the smallest class.
    out : folder for model and report; None writes nothing.
    progress : show progress on standard error.

    >>> found = run("weather")
    >>> type(found.model).__name__, str(found.scores.scores["Zero-R"]["accuracy"])
    ('NaiveBayes', '0.643 [0.388, 0.837]')
    """
    if task is not None and task not in TASKS:
        raise ValueError(f"run: task must be one of {', '.join(map(repr, TASKS))} or None; got {task!r}.")
    with ExitStack() as stack:
        if progress:
            stack.enter_context(reporting.show())
        with reporting.task("tilth run", total=len(STAGES) + 1) as work:
            this = prepare(source, target, kinds, task, seed, folds)
            work.advance()
            for stage in STAGES:
                this.pages.extend(stage(this))
                work.advance()
        if out is not None:
            this.save(out)
    return this


def prepare(
    source: Any, target: str | None, kinds: Mapping[str, Any] | None, task: str | None, seed: int, folds: int | None
) -> Run:
    """The table with its target settled: which column, which task, rows without a label left out."""
    given = read_source(source) if isinstance(source, (str, Path)) else Source(source, "the table")
    table = read(given.frame)
    if table.is_sparse:
        raise SourceError("run needs a table with named columns; a sparse matrix has none.")
    target = target or (given.card.target if given.card else None)
    if target is None:
        raise SourceError(
            f"Which column of {given.name} should be predicted? Give its name as target; the columns are "
            f"{listed(map(repr, table.names), 12)}."
        )
    require_column(table.names, target)
    if len(table.names) < 2:
        raise SourceError(f"{given.name} has no column besides the target {target!r} to predict from.")
    told: dict[str, Any] = dict(kinds or {})
    if given.card is not None:
        told = {**given.card.kinds, **dict.fromkeys(given.card.ignore, "aside"), **told}
    said = told.pop(target, None)
    for name in told:
        require_column(table.names, name, "one whose kind is given")
    notes = list(given.notes)
    table = _labelled(table, target, notes)
    for column in table.columns:
        if column.form == "date" and column.name not in told and column.name != target:
            told[column.name] = "date"
            notes.append(f"{column.name!r} holds dates; they were expanded into year, month, day, weekday and days.")
    if task is None and said is not None:
        is_number = said == "numeric" or (isinstance(said, Kind) and said.name == "numeric")
        task, reason = ("regression" if is_number else "classification"), "since the kind of the target was given so"
    elif task is None:
        task, reason = task_of(_values(table, target))
        reason = f"judging by the target, {reason}"
    else:
        reason = "as told"
    _refuse_hopeless(table, target, task)
    return Run(given.name, table, target, task, reason, told, seed, folds, notes, given.card)


def _values(table: RawTable, target: str) -> Any:
    return np.asarray(split_target(table, target, "run")[1])


def _labelled(table: RawTable, target: str, notes: list[str]) -> RawTable:
    """The rows that have a label."""
    missing = _missing(table.column(target))
    gone = int(missing.sum())
    if gone == table.n_rows:
        raise SchemaError(f"The target {target!r} has no value in any of the {count(table.n_rows, 'row')}.")
    if gone:
        table = take_rows(table, np.flatnonzero(~missing))
        notes.append(f"{count(gone, 'row')} without a value of {target!r} left out.")
    return table


def _missing(column: RawColumn) -> Any:
    if column.form in ("text", "level", "boolean"):
        return column.values < 0
    return np.isnat(column.values) if column.form == "date" else np.isnan(column.values.astype(np.float64))


def _refuse_hopeless(table: RawTable, target: str, task: str) -> None:
    """Targets that no score could be computed for, each with its cure."""
    column = table.column(target)
    if column.form == "date":
        raise SchemaError(f"The target {target!r} holds dates; predict a number, such as days, or a class instead.")
    values = _values(table, target)
    distinct = len(set(values.tolist()))
    if task == "regression":
        if values.dtype.kind not in "iuf":
            raise SchemaError(f"Regression needs a target of numbers; {target!r} holds words such as {values[0]!r}.")
        if not np.isfinite(values.astype(np.float64)).all():
            raise SchemaError(f"The target {target!r} holds infinite values; remove those rows.")
    elif values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        raise SchemaError(f"Classification needs classes; {target!r} holds numbers with fractions. Use regression.")
    elif values.dtype.kind not in "iufb" and len(values) >= _MANY_ROWS and 2 * distinct > len(values):
        raise SchemaError(
            f"The target {target!r} has {distinct} different words in {count(len(values), 'row')}: an identifier or "
            "free text, not classes. If these are numbers written as text, clean them first."
        )
    if distinct < 2:
        raise SchemaError(f"The target {target!r} has a single value, {values[0]!r}: there is nothing to learn.")
