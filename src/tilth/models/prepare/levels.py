"""Between levels and numbers: one-hot columns, integer codes, rank scores, bins."""

from __future__ import annotations

from typing import Any, ClassVar

from tilth.base import declared, param
from tilth.data import steps
from tilth.data.convert import Plan
from tilth.data.schema import Schema
from tilth.errors import warn_model
from tilth.models.prepare.base import InvertibleTransformer, StepTransformer
from tilth.words import listed, verb


@declared
class OneHot(StepTransformer, steps.OneHot):
    """A 0/1 column per level: x -> [x = a], [x = b], ...; two levels give one column.

    A level that training did not have gives zeros in every column, or an error, as ``unseen`` says.

    >>> OneHot().fit_transform({"sky": ["sun", "rain", "fog"]})
       sky=fog  sky=rain  sky=sun
    0      0.0       0.0      1.0
    1      0.0       1.0      0.0
    2      1.0       0.0      0.0
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "levels are the same however often they occur"}


@declared
class IntegerCodes(InvertibleTransformer, steps.IntegerCodes):
    """Levels become 0, 1, 2, ...; for a nominal column the order is arbitrary, which is warned about.

    >>> IntegerCodes(kinds={"size": ["small", "large"]}).fit_transform({"size": ["large", "small"]})
       size
    0   1.0
    1   0.0
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "levels are the same however often they occur"}

    def warn_on_fit(self) -> None:
        """Integer codes of a nominal column pretend an order and distances."""
        done = self.fitted_step
        names = [] if done is None else [n for n, s in zip(done.inputs, done.states, strict=True) if not s["ordered"]]
        if names:
            warn_model(
                "W105",
                f"IntegerCodes: {listed(names, 5, quoted=True)} {verb(len(names), 'is')} nominal; the codes have an "
                "arbitrary order and meaningless distances, which mislead linear and distance models. Use OneHot.",
            )


@declared
class RankScores(InvertibleTransformer, steps.RankScores):
    """Ordinal levels become evenly spaced scores: the r-th of m levels (from 0) is r / (m - 1).

    >>> RankScores().fit_transform({"risk": ["low", "high", "medium"]})
       risk
    0   0.0
    1   1.0
    2   0.5
    """

    silent: ClassVar[dict[str, str]] = {"sample_weight": "levels are the same however often they occur"}


@declared
class Bins(StepTransformer, steps.Bins):
    """Numbers become an ordinal column of named bins; bin i holds edge[i-1] < x <= edge[i].

    ``width``: edges equally spaced. ``frequency``: equal counts; rows of equal value stay together, and a warning says
    so where that makes the counts unequal. ``kmeans``: edges halfway between one-dimensional k-means centres.

    >>> Bins(n_bins=3).fit_transform({"age": [18.0, 25.0, 31.0, 40.0, 66.0, 71.0]})["age"].tolist()
    ['low', 'low', 'medium', 'medium', 'high', 'high']
    """

    #: scikit-learn's own checks subtract outputs, which names of bins do not allow.
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"output": "codes"},)
    output: str = param("names", options=("names", "codes"), doc="Named bins, or their numbers 0, 1, 2, ...")

    def _plan(self, schema: Schema) -> Plan:
        plan = super()._plan(schema)
        if self.output == "codes" and plan.steps:
            plan.steps.append(steps.FittedStep(steps.IntegerCodes(), plan.steps[-1].inputs))
        return plan

    def warn_on_fit(self) -> None:
        """Equal values may keep the bins from holding equal counts."""
        done = self.fitted_step
        for name, state in zip(done.inputs, done.states, strict=True) if done else ():
            note = self.tie_note(state)
            if note:
                warn_model("W106", f"Bins: column {name!r}{note}.")
