"""What all models share: parameters, a card, declarations, and speaking of themselves. Nothing here knows a table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Literal, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tilth.base.answers import Need
from tilth.base.declare import Assumption, Candidate, Card, Complexity, Recipe, Section, Traits
from tilth.data.convert import Accepts
from tilth.params import declared, params_of

Fold = Literal["once", "rounds", "online", "query"] | None
#: What a weight of 2 means: the row given twice; a row that counts double; a row that counts double where it is drawn.
WeightLaw = Literal["repeat", "importance", "drawn", "none"]


@declared
class Estimator(BaseEstimator):
    """What all models share. ``accepts``, ``fold``, ``card`` and ``learned`` are declarations of the class."""

    accepts: ClassVar[Accepts] = Accepts()
    #: How fitting takes parts of the data: in one pass, in rounds of passes, online, at query time, or not at all.
    fold: ClassVar[Fold] = None
    card: ClassVar[Card]
    #: How a predictor takes part in the contest of ``tilth run``, or why it does not.
    contest: ClassVar[Candidate | tuple[Candidate, ...] | str] = ""
    #: Fitted attributes with type and shape, such as ``{"theta_": "float[k, p]"}``; checked when a file is loaded.
    learned: ClassVar[dict[str, str]] = {}
    #: What the model says of rows, and the method that says it of rows as the model sees them.
    hooks: ClassVar[dict[Need, str]] = {}
    #: What weights of rows mean to the model; "none" for a model whose ``fit`` has no use for them.
    weight_law: ClassVar[WeightLaw] = "repeat"
    #: Parameters under which the common checks run, and checks a class is excused from, each with its reason.
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    excused: ClassVar[dict[str, str]] = {}
    #: Parameters that must not change what is learned or answered, such as a number of threads, each with the reason.
    silent: ClassVar[dict[str, str]] = {}
    #: Why the model cannot be expected to reach a good score on any data, such as a baseline; "" when it can.
    modest: ClassVar[str] = ""
    #: Attributes that a model file leaves out, because they come too close to the training rows themselves.
    not_in_files: ClassVar[tuple[str, ...]] = ()
    #: False for a model whose answer never depends on the row, so that remarks about rows would be noise.
    looks_at_rows: ClassVar[bool] = True

    # ----------------------------------------------------------------------------------------------- what it is

    @property
    def traits(self) -> Traits:
        """Place in the taxonomy: parametric, linear, generative, lazy, probabilistic, supervised."""
        return type(self).card.traits

    def assumptions(self) -> tuple[Assumption, ...]:
        """What the model takes for granted; ``check`` names the method that tests it, where there is one."""
        return type(self).card.assumptions

    def complexity(self) -> Complexity:
        """Cost of fitting and predicting."""
        return type(self).card.complexity

    def law_of_weights(self) -> WeightLaw:
        """What weights of rows mean to the model with these parameters."""
        return type(self).weight_law

    def recipe(self) -> Recipe:
        """Data + model + cost + optimiser."""
        raise NotImplementedError(f"{type(self).__name__} does not say its recipe.")

    def hyperparameters(self) -> dict[str, Any]:
        """What is chosen before learning (searched, not optimised)."""
        return cast(dict[str, Any], self.get_params(deep=False))

    def parameters(self) -> dict[str, Any]:
        """What was learned from data."""
        check_is_fitted(self)
        return {name: getattr(self, name) for name in type(self).learned if hasattr(self, name)}

    # ------------------------------------------------------------------------------------------------- answering

    def says(self) -> tuple[Need, ...]:
        """What the model says of rows: prediction, probabilities, scores, intervals, sets, p_values, transformed."""
        return tuple(self.hooks)

    def outputs(self, X: Any, need: Collection[Need], level: float | None = None) -> dict[Need, Any]:
        """All that is needed of what the model says of rows, see :func:`tilth.base.answers.answers`."""
        if set(need) <= {"transformed"}:  # a conversion gives the container it got, so it takes the rows as they came
            return {n: cast(Any, self).transform(X) for n in need}
        raise NotImplementedError(f"{type(self).__name__} does not answer {', '.join(need)}.")

    # ------------------------------------------------------------------------------------------------- speaking

    def sections(self) -> list[Section]:
        """Report pages of the fitted model; models add their own."""
        import pandas as pd

        check_is_fitted(self)
        settings = pd.DataFrame(
            [(n, getattr(self, n), p.doc) for n, p in params_of(self).items()],
            columns=["parameter", "value", "meaning"],
        )
        settings["value"] = settings["value"].map(repr)
        return [
            Section(type(self).__name__, f"{type(self).card.summary}\n\n{self.traits}.", settings),
            Section("Recipe", str(self.recipe())),
            *([Section("Plan", str(self.plan_))] if hasattr(self, "plan_") else []),
            *self._assumption_pages(),
        ]

    def _assumption_pages(self) -> list[Section]:
        import pandas as pd

        rows = [(a.text, a.consequence, f"{a.check}()" if a.check else "") for a in self.assumptions()]
        if not rows:
            return []
        frame = pd.DataFrame(rows, columns=["assumption", "when it fails", "check"])
        return [Section("Assumptions", "; ".join(type(self).card.references), frame)]

    def summary(self) -> str:
        """The fitted model in words."""
        parts = []
        for section in self.sections():
            body = [section.text] if section.text else []
            if section.frame is not None:
                body.append(section.frame.to_string(index=False))
            parts.append(f"{section.title}\n{'-' * len(section.title)}\n" + "\n\n".join(body))
        return "\n\n".join(parts)
