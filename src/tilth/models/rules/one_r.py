"""One-R (Holte 1993): the best rule that looks at a single column.

For every column, each value predicts the class most frequent with it; the column with the fewest training errors is
kept. Numbers are first cut into buckets that hold at least ``min_bucket`` rows of their majority class.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import (
    Accepts,
    Assumption,
    Candidate,
    Card,
    Complexity,
    Explanation,
    Probabilistic,
    Recipe,
    Section,
    Traits,
)
from tilth.data.schema import DATE_PARTS, Schema
from tilth.data.table import Table
from tilth.engines.tree.one_rule import RuleStatistic, find_rules
from tilth.params import declared, param

Floats = NDArray[np.float64]


@declared
class OneRClassifier(Probabilistic):
    """The single-column rule with the fewest training errors; of equally good columns the first in the table wins.

    >>> from tilth.data.datasets import load_weather
    >>> print(OneRClassifier().fit(load_weather().frame, "Play").rules())
    Outlook = Overcast -> Yes (4 of 4)
    Outlook = Rainy -> Yes (3 of 5)
    Outlook = Sunny -> No (3 of 5)
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    fold: ClassVar[Any] = "once"
    card: ClassVar[Card] = Card(
        "One column, one table from value to class.",
        Traits("classification", parametric=False, probabilistic=True),
        (
            Assumption(
                "A single column carries most of what can be known.",
                "Columns that act together are missed (XOR).",
            ),
        ),
        Complexity("O(n p log n)", "O(log branches)", "O(distinct values x k)"),
        ("Holte 1993, Very simple classification rules perform well on most commonly used datasets",),
    )
    contest = Candidate("One-R", 10, baseline=True, turn=-1)
    learned: ClassVar[dict[str, str]] = {"rule_": "value", "feature_": "any", "errors_": "dict"}

    modest: ClassVar[str] = "it looks at one column only"
    not_in_files: ClassVar[tuple[str, ...]] = ("statistic_",)  # every distinct number of the training table

    feature: str | None = param(
        None, doc="The column to use, chosen by an expert; None takes the one with the fewest errors."
    )
    min_bucket: int = param(
        6, low=1, doc="Rows of the majority class that a bucket of numbers must hold.", tune=(1, 30)
    )

    def recipe(self) -> Recipe:
        """Exhaustive search over columns."""
        chosen = "the column with the fewest errors" if self.feature is None else f"column {self.feature!r}"
        return Recipe(
            "rows of columns of any kind with a class",
            "value of one column -> class",
            "training errors",
            f"{chosen} [feature]; buckets of at least {self.min_bucket} [min_bucket]",
        )

    def _columns(self, schema: Schema) -> list[tuple[str, Any]]:
        """Names and kinds of what the rule may look at; a date stands for its parts."""
        parts = [(c, [f"{c.name}.{p}" for p in DATE_PARTS] if c.expand_date else [c.name]) for c in schema.features]
        return [(name, c.kind) for c, names in parts for name in names]

    def statistic(self) -> RuleStatistic:
        """Empty class counts of every column."""
        kinds = [kind for _, kind in self._columns(self.schema_)]
        sizes = [len(k.levels) for k in kinds if k.name != "numeric"]
        return RuleStatistic.empty(len(self.classes_), sizes, len(kinds) - len(sizes))

    def absorb(self, statistic: RuleStatistic, table: Table, target: NDArray[Any], weight: Floats | None) -> None:
        """Count."""
        statistic.update(table, target, weight)

    def grow(self, statistic: RuleStatistic) -> RuleStatistic:
        """Room for levels that a later part brought."""
        return statistic.grow([len(k.levels) for _, k in self._columns(self.schema_) if k.name != "numeric"])

    def conclude(self, statistic: RuleStatistic) -> None:
        """Choose the rule."""
        rules = find_rules(statistic, self._columns(self.schema_), float(self.min_bucket))
        self.errors_ = {rule.column: rule.errors for rule in rules}
        if self.feature is None:
            self.rule_ = min(rules, key=lambda rule: rule.errors)
        elif self.feature in self.errors_:
            self.rule_ = next(rule for rule in rules if rule.column == self.feature)
        else:
            raise ValueError(
                f"OneRClassifier: there is no column {self.feature!r} to use; "
                f"the columns are {list(self.errors_)[:12]}."
            )
        self.feature_ = self.rule_.column

    def probabilities(self, table: Table) -> Floats:
        """Class shares of the branch each row takes."""
        return np.asarray(self.rule_.shares[self.rule_.branch(table[self.feature_])])

    def branches(self) -> list[tuple[str, int]]:
        """Each condition in words with its place in ``rule_.counts``; missing values only if there were any."""
        check_is_fitted(self)
        rule, name = self.rule_, self.rule_.column
        if rule.kind.name == "numeric":
            ends = [f"{e:g}" for e in rule.edges]
            words = [f"{a} < {name} <= {b}" for a, b in itertools.pairwise(ends)]
            words = [f"{name} <= {ends[0]}", *words, f"{name} > {ends[-1]}"] if ends else [f"any {name}"]
        else:
            words = [f"{name} = {level}" for level in rule.kind.levels]
        branches = [(w, i) for i, w in enumerate(words)]
        return branches + ([(f"{name} missing", len(words))] if rule.counts[-1].sum() > 0 else [])

    def rules(self) -> str:
        """The rule table as text: condition -> class (right of all)."""
        lines = []
        for words, i in self.branches():
            best = int(self.rule_.shares[i].argmax())
            counts = self.rule_.counts[i]
            lines.append(f"{words} -> {self.classes_[best]} ({counts[best]:g} of {counts.sum():g})")
        return "\n".join(lines)

    def explain(self, X: Any) -> Explanation:
        """The single column's log share of each class; all other columns contribute nothing."""
        typed = self._typed(X)
        values = np.log(np.maximum(self.probabilities(self._converted(typed)), 1e-300))[:, :, None]
        return self._explanation(typed, [self.feature_], values, np.zeros(len(self.classes_)))

    def sections(self) -> list[Section]:
        """The rule, and the errors of every column."""
        import pandas as pd

        errors = pd.DataFrame(sorted(self.errors_.items(), key=lambda e: e[1]), columns=["column", "training errors"])
        return [
            *super().sections(),
            Section("Rule", self.rules()),
            Section("Errors of each column", frame=errors),
        ]

    def plot(self) -> Any:
        """Class shares of every branch."""
        from tilth.plot.rules import branch_shares

        words = [w for w, _ in self.branches()]
        places = [i for _, i in self.branches()]
        return branch_shares(words, self.rule_.counts[places], [str(c) for c in self.classes_])

    def validate_state(self) -> None:
        """Refuse a state whose parts do not fit together."""
        self.rule_.validate(len(self.classes_))
        if self.rule_.column != self.feature_ or self.feature_ not in dict(self._columns(self.schema_)):
            raise ValueError("the rule of the model names another column")
