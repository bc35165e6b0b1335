"""One call for all of it: what a model relies on, how its answer moves, the model as a small tree, single rows."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.evaluate.metrics import Metric
from tilth.explain.effects import Effects, Way, partial_dependence
from tilth.explain.importance import Importance, permutation_importance
from tilth.explain.rows import RowExplanation, explain_rows
from tilth.explain.subject import Subject, subject_of
from tilth.explain.surrogate import LEAST_ROWS, Surrogate, surrogate
from tilth.words import plain

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

#: Shares of the time: up to the end of the importance, and up to the end of the effects.
SHARES = (0.5, 0.8)
#: Rows explained of each sort: right, wrong, unsure.
EXAMPLES = 2


@dataclass(eq=False)
class Explained(Result):
    """All explanations of one model on one table; a part that could not be made is None, and ``notes`` say why."""

    model: str
    effects: Effects
    importance: Importance | None = None
    surrogate: Surrogate | None = None
    rows: RowExplanation | None = None
    row_numbers: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    row_titles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def verdict(self) -> str:
        """The main thing in words: what matters, and how the answer moves with it."""
        first = self.importance.verdict() if self.importance is not None else ""
        return " ".join([*([first] if first else []), self.effects.verdict()])

    def frame(self) -> pd.DataFrame:
        """The importance of the columns, or the effects where there is no importance."""
        return self.effects.frame() if self.importance is None else self.importance.frame()

    def plot(self) -> Any:
        """The importance of the columns, or the effects where there is no importance."""
        return self.effects.plot() if self.importance is None else self.importance.plot()

    def sections(self) -> list[Section]:
        """All of it as pages of a report."""
        pages = self.importance.sections() if self.importance is not None else []
        pages += self.effects.sections()
        pages += self.surrogate.sections() if self.surrogate is not None else []
        if self.rows is not None:
            explanation = self.rows
            parts = [
                Section(
                    f"Row {row}: {title}", "\n".join(explanation.words(i)), explanation.frame(i),
                    figure=lambda i=i: explanation.plot(i), folded=True,
                )
                for i, (row, title) in enumerate(zip(self.row_numbers, self.row_titles, strict=True))
            ]  # fmt: skip
            pages.append(Section("Single rows", f"{explanation.how()} Row numbers count from 0.", parts=parts))
        if self.notes:
            pages.append(Section("Not explained", "\n".join(self.notes)))
        return pages

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        parts = {"importance": self.importance, "effects": self.effects, "surrogate": self.surrogate, "rows": self.rows}
        contents = {name: None if part is None else part.to_dict() for name, part in parts.items()}
        numbers = {"row_numbers": self.row_numbers, "row_titles": self.row_titles, "notes": self.notes}
        return plain({"model": self.model, "verdict": self.verdict(), **contents, **numbers})

    def __str__(self) -> str:
        paragraphs = [self.verdict()]
        paragraphs += [str(self.surrogate)] if self.surrogate is not None else []
        if self.rows is not None:
            paragraphs += [
                f"Row {row}, {title}: {' '.join(self.rows.words(i))}"
                for i, (row, title) in enumerate(zip(self.row_numbers, self.row_titles, strict=True))
            ]
        return "\n\n".join([*paragraphs, *self.notes])


def explain(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    metric: str | Metric | None = None,
    kind: Way = "pdp",
    most: int = 6,
    repeats: int = 5,
    depth: int = 3,
    rows: int | None = 10_000,
    background: Any = None,
    seconds: float | None = None,
    seed: int = 0,
    sample_weight: Any = None,
    groups: Any = None,
) -> Explained:
    """Why a model answers as it does: columns that matter, effects, a small tree in its place, single rows.

    Parameters
    ----------
    model : any fitted classifier or regressor, ours or scikit-learn's, also a pipeline.
    X, y : rows, best ones it has not learned from, and their target (or its column); without it no importance.
    metric, repeats, sample_weight, groups : see :func:`permutation_importance`.
    kind, most : see :func:`partial_dependence`.
    depth : questions of the small tree.
    rows : most rows used, drawn at random; None: all.
    background : rows that single rows are compared with; None: those of X.
    seconds : time for all of it; parts that do not fit are left out, and said to be.

    >>> from tilth import NaiveBayes
    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris().frame
    >>> found = explain(NaiveBayes().fit(iris[::2], "species"), iris[1::2], "species")
    >>> found.importance.matter
    ['petal_length', 'petal_width']
    >>> [page.title for page in found.sections()]
    ['What the model relies on', 'How the answer changes', 'The model as a small tree', 'Single rows']
    """
    start = clock.monotonic()
    if seconds is not None and not seconds > 0:
        raise ValueError(f"explain: seconds must be above 0, or None for no limit; got {seconds}.")

    def left(share: float) -> float | None:
        return None if seconds is None else max(1e-9, start + share * seconds - clock.monotonic())

    subject = subject_of(model, X, y, owner="explain", groups=groups)
    notes: list[str] = []
    importance = None
    if y is None:
        notes.append("Without the true answers (y) no importance of the columns can be measured.")
    elif subject.n < 2:
        notes.append("Importance needs at least 2 rows.")
    else:
        importance = permutation_importance(
            model, X, y, metric=metric, repeats=repeats, seed=seed, rows=rows, seconds=left(SHARES[0]),
            sample_weight=sample_weight, groups=groups,
        )  # fmt: skip
    plain_rows = subject.mixed(np.arange(subject.n), {})
    effects = partial_dependence(
        model, plain_rows, kind=kind, importance=_if_any(importance), most=most, seed=seed, seconds=left(SHARES[1])
    )
    explained = Explained(subject.name, effects, importance, notes=notes)

    def is_late(what: str) -> bool:
        late = seconds is not None and clock.monotonic() >= start + seconds
        if late:
            notes.append(f"No time was left for {what}.")
        return late

    if not is_late("a small tree that imitates the model"):
        _add_surrogate(explained, subject, plain_rows, depth, rows, seed)
    if not is_late("single rows"):
        _add_examples(explained, subject, background, seed)
    return explained


def _if_any(importance: Importance | None) -> Importance | None:
    return importance if importance is not None and importance.top(1) else None


def _add_surrogate(explained: Explained, subject: Subject, table: Any, depth: int, rows: int | None, seed: int) -> None:
    """A small tree in the model's place."""
    if subject.n < LEAST_ROWS:
        explained.notes.append(f"A small tree that imitates the model needs at least {LEAST_ROWS} rows.")
        return
    enough = None if rows is None else max(rows, LEAST_ROWS)
    explained.surrogate = surrogate(subject.model, table, depth=depth, seed=seed, rows=enough)


def _add_examples(explained: Explained, subject: Subject, background: Any, seed: int) -> None:
    """Explain some rows that stand for others."""
    chosen = _examples(subject)
    rows = np.array(list(chosen), dtype=np.int64)
    needs_others = not callable(getattr(subject.model, "explain", None))
    if background is None and needs_others:
        if subject.n < 2:
            explained.notes.append("A single row cannot be explained without background rows to compare it with.")
            return
        background = subject.mixed(subject.sample(1000, seed), {})
    explained.rows = explain_rows(subject.model, subject.mixed(rows, {}), background=background, seed=seed)
    explained.row_numbers, explained.row_titles = rows, list(chosen.values())


def _examples(subject: Subject) -> dict[int, str]:
    """Rows to explain and why them: surely right, surely wrong and unsure; or best, worst and extreme answers."""
    every = np.arange(subject.n)
    outputs = subject.outputs(every)
    chosen: dict[int, str] = {}

    def add(order: Any, title: str) -> None:
        for row in [int(r) for r in order if int(r) not in chosen][:EXAMPLES]:
            chosen[row] = title

    if subject.task == "classification" and subject.classes is not None:
        top = np.sort(outputs, axis=1)
        lead = top[:, -1] - top[:, -2] if outputs.shape[1] > 1 else top[:, -1]
        sure = np.argsort(-lead, kind="stable")
        if subject.target is not None:
            labels = subject.answers(every, needs="answer").given  # a threshold may choose the less probable class
            right = labels == subject.target
            add(sure[right[sure]], "surely right")
            add(sure[~right[sure]], "surely wrong")
        else:
            add(sure, "surely answered")
        add(sure[::-1], "unsure")
        return chosen
    if subject.target is not None:
        off = np.abs(outputs[:, 0] - subject.target)
        add(np.argsort(-off, kind="stable"), "far off")
        add(np.argsort(off, kind="stable"), "right")
    order = np.argsort(outputs[:, 0], kind="stable")
    add([*order[::-1][:1], *order[:1]], "highest or lowest answer")
    return chosen
