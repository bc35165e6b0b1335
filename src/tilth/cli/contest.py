"""Fitted models on the same labelled rows: scores, paired differences, ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from tilth.base import Section
from tilth.base.result import Result
from tilth.evaluate.compare import Comparison
from tilth.evaluate.problem import Problem, prepared, task_of_models
from tilth.evaluate.resample import Outcome, Resampling, Trial, ask
from tilth.evaluate.splits import Split, Splits
from tilth.evaluate.table import chosen_metrics, signed
from tilth.lifecycle.source import Source, SourceError
from tilth.words import count, listed, plain

if TYPE_CHECKING:
    import pandas as pd

_CAUTION = (
    "If a model has learned from any of these rows, its score here is too good and the comparison unfair; give rows "
    "that none of them has seen."
)


@dataclass(eq=False)
class Contest(Result):
    """Models that were fitted before, compared on one table."""

    scores: Comparison
    source: str
    target: str

    def verdict(self) -> str:
        """Which model is better on these rows, in words."""
        board, m = self.scores, self.scores.main
        best = board.best
        rows = count(board.resampling.problem.n_rows, "row")
        sentences = [f"{best} has the best {m.name} on {rows}: {board.scores[best][m.name]}."]
        for name in board.ranking[1:]:
            gain = board.resampling.difference(name, best, m, board.level)
            tie = gain.low <= 0 <= gain.high
            sentences.append(f"{name} minus {best}: {signed(gain)}, {'a tie' if tie else 'worse'}.")
        return " ".join(sentences)

    def frame(self) -> pd.DataFrame:
        """One row per model: score, interval, paired difference to the best, verdict."""
        wanted = ["place", "model", self.scores.main.name, "low", "high", "difference to best", "difference low",
                  "difference high", "verdict"]  # fmt: skip
        return self.scores.leaderboard()[wanted]

    def plot(self) -> Any:
        """Scores with intervals; gives a matplotlib Figure."""
        return self.scores.plot()

    def sections(self) -> list[Section]:
        """The verdict, and every score."""
        every = self.scores.frame()[["model", "score", "value", "low", "high", "method", "n"]]
        return [
            Section("Comparison", self.verdict(), self.frame(), figure=self.plot, advice=_CAUTION),
            Section("All scores", "\n".join(self.scores.notes), every),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        scores = self.scores.to_dict()
        return plain({
            "schema": "tilth.compare/1", "kind": "models", "source": self.source, "target": self.target,
            "rows": scores["n"], "metric": self.scores.main.name, "verdict": self.verdict(), "best": self.scores.best,
            "ties": self.scores.ties, "scores": scores["scores"], "models": self.frame().to_dict("records"),
            "notes": scores["notes"],
        })  # fmt: skip

    def __str__(self) -> str:
        return self.verdict()


def compare_fitted(
    models: Mapping[str, Any], table: Source, target: str, metrics: list[str] | None = None, seed: int = 0
) -> Contest:
    """Ask fitted models about the labelled rows of a table."""
    try:
        task = task_of_models(models, "compare")
        chosen = chosen_metrics(metrics, task)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    labelled = table.frame[table.frame[target].notna()].reset_index(drop=True)
    if labelled.empty:
        raise SourceError(f"{table.name} has no row with a value of {target!r}.")
    problem = prepared(labelled, target, task=task, owner="compare")
    if task == "classification":
        problem = _with_classes(problem, models, table.name, target)
    rows = np.arange(problem.n_rows)
    trials = {
        name: Trial(name, [Outcome(answers=ask(model, problem, rows), fit_seconds=0.0, predict_seconds=0.0)])
        for name, model in models.items()
    }
    once = Splits("models fitted before", "given", (Split(rows[:0], rows),), problem.n_rows, seed)
    comparison = Comparison(Resampling(problem, once, trials), chosen, next(iter(models)))
    gone = len(table.frame) - len(labelled)
    if gone:
        comparison.notes.append(f"{count(gone, 'row')} without a value of {target!r} left out.")
    return Contest(comparison, table.name, target)


def _with_classes(problem: Problem, models: Mapping[str, Any], source: str, target: str) -> Problem:
    """The problem with the classes of the table and of all models; a label that a model does not know it gets wrong."""
    own = np.asarray(problem.classes)
    for name, model in models.items():
        known = np.asarray(model.classes_)
        if not set(known.tolist()) & set(own.tolist()):
            raise SourceError(
                f"{name} predicts {listed(known.tolist(), 4, quoted=True)}, and {target!r} of {source} holds "
                f"{listed(own.tolist(), 4, quoted=True)}: no label in common."
            )
    both: NDArray[Any] = np.unique(np.concatenate([own, *(np.asarray(m.classes_) for m in models.values())]))
    return replace(problem, classes=both, target=np.searchsorted(both, own)[problem.target])
