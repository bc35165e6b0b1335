"""The stages of a run, in order: each reads what earlier ones found, adds its own and says it in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilth.base import Section
from tilth.lifecycle.run.record import Run


@dataclass(frozen=True)
class Stage:
    """A stage: its name on the terminal, what it does, and whether it is made even when time or patience is over.

    ``least`` is the time below which an optional stage is not begun.
    """

    name: str
    make: Callable[[Run], Iterable[Section]]
    needed: bool = False
    least: float = 0.2


def all_stages() -> tuple[Stage, ...]:
    """All stages in order."""
    from tilth.lifecycle.run.stages import data, finish, insight, models

    return (
        Stage("question", data.ask, needed=True),
        Stage("data", data.examine, needed=True),
        Stage("columns", data.look, needed=True),
        Stage("split", data.divide_rows, needed=True),
        Stage("baselines", models.baselines, needed=True),
        Stage("suspects", models.price_of_suspects),
        Stage("candidates", models.candidates),
        Stage("tuning", models.tuning),
        Stage("choice", models.choose, needed=True),
        Stage("test", models.test_once, needed=True),
        Stage("learning", insight.learning, least=1.0),
        Stage("explanation", insight.explanation),
        Stage("errors", insight.errors),
        Stage("decisions", insight.decisions),
        Stage("fairness", insight.fairness),
        Stage("doubts", insight.doubts),
        Stage("model", finish.model, needed=True),
        Stage("use", finish.use, needed=True),
    )
