"""A finding of the audit: the suspicion, what was measured about it, what follows and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tilth.evaluate.answers import Answers
from tilth.evaluate.intervals import Interval
from tilth.evaluate.metrics import Metric
from tilth.evaluate.problem import Problem
from tilth.evaluate.resample import Outcome, Resampling, Trial
from tilth.evaluate.splits import Split, Splits
from tilth.quality import Finding

if TYPE_CHECKING:
    from tilth.evaluate.audit.case import Case

AuditKind = Literal["leak", "protocol", "measure", "mismatch"]
#: Most harmful first: a leak makes the score itself wrong.
AUDIT_KINDS: tuple[AuditKind, ...] = ("leak", "protocol", "measure", "mismatch")

#: An optimism below this does not matter: in points of a score between 0 and 1, or as a share of any other score.
LEAST_POINTS, LEAST_SHARE = 0.005, 0.01


@dataclass(frozen=True)
class Doubt(Finding):
    """A reason to doubt a score: a finding with its ``kind`` and the ``consequence``; ``advice`` is the cure."""

    consequence: str = ""
    kind: AuditKind = "leak"

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-ready data."""
        return {**super().to_dict(), "kind": self.kind, "consequence": self.consequence}

    def __str__(self) -> str:
        lines = [f"{self.severity:<7}  {self.code}  {self.title}"]
        if self.consequence:
            lines.append(f"so: {self.consequence}")
        if self.advice:
            lines.append(f"do: {self.advice}")
        return ("\n" + " " * 15).join(lines)


@dataclass(frozen=True)
class AuditCheck:
    """A check as a row of the table of checks; ``light`` ones need no fit and run in every evaluation."""

    code: str
    name: str
    kind: AuditKind
    light: bool
    run: Callable[[Case], Iterable[Doubt]]
    cure: str = ""
    #: Tasks, of one target, that it has something to say about; none named: all of them.
    tasks: tuple[str, ...] = ()

    def applies(self, problem: Problem) -> bool:
        """Whether it has something to say about this problem."""
        return not self.tasks or (problem.task in self.tasks and not problem.outputs)

    @property
    def about(self) -> str:
        """What the check looks for: the first sentence of its function's docstring."""
        return (self.run.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")


@dataclass(frozen=True)
class Effect:
    """A score as planned, the score when the suspicion is taken away, and their paired difference.

    ``optimism`` is positive where the plan looks better than it is, whichever way the metric runs.
    """

    metric: Metric
    planned: Interval
    honest: Interval
    optimism: Interval

    @property
    def sure(self) -> bool:
        """Whether the plan is too optimistic beyond doubt, and by an amount that matters."""
        return self.optimism.low > 0 and self.optimism.value >= self._least

    @property
    def harmless(self) -> bool:
        """Whether the plan is too optimistic by next to nothing, beyond doubt."""
        return self.optimism.high < 2 * self._least

    @property
    def _least(self) -> float:
        low, high = self.metric.bounds
        return LEAST_POINTS if high - low < float("inf") else LEAST_SHARE * abs(self.planned.value)

    def evidence(self) -> dict[str, Any]:
        """The numbers, with intervals."""
        return {
            "metric": self.metric.name,
            "as_planned": self.planned.to_dict(),
            "honest": self.honest.to_dict(),
            "optimism": self.optimism.to_dict(),
        }

    def words(self, honest: str) -> str:
        """The numbers as a sentence; ``honest`` says what was changed."""
        name = self.metric.name
        return (
            f"{name} is {self.planned.value:.3f} as planned and {self.honest.value:.3f} {honest}: "
            f"{self.optimism} of it is an artefact"
            if self.sure
            else f"{name} is {self.planned.value:.3f} as planned and {self.honest.value:.3f} {honest}: "
            f"the difference, {self.optimism}, may be chance"
        )


def effect_of(
    planned: Answers, honest: Answers, problem: Problem, metric: Metric, level: float = 0.95, seed: int = 0
) -> Effect:
    """Compare answers for the same rows."""
    import numpy as np

    rows = np.arange(planned.n)
    whole = Splits("all rows", "given", (Split(rows, rows),), planned.n, seed)
    trials = {n: Trial(n, [Outcome(answers=a)]) for n, a in (("planned", planned), ("honest", honest))}
    both = Resampling(problem, whole, trials)
    gap = both.difference("planned", "honest", metric, level)
    if not metric.higher_is_better:
        gap = Interval(-gap.value, -gap.high, -gap.low, gap.level, gap.method, gap.n)
    return Effect(metric, both.score("planned", metric, level), both.score("honest", metric, level), gap)
