"""C4.5 (Quinlan 1993): gain ratio, thresholds on numbers, missing values in fractions, pessimistic pruning."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Candidate, Card, Complexity, Recipe, Traits
from tilth.data.table import Table
from tilth.engines.tree.bins import MOST_BINS
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.prune import prune_pessimistic
from tilth.engines.tree.trees import Trees
from tilth.models.trees.single import BIAS, TreeClassifier, above
from tilth.params import declared, param

Floats = NDArray[np.float64]

#: Up to this many rows every value of a numeric column is a possible threshold.
EXACT_ROWS = 20_000


@declared
class C45(TreeClassifier):
    """A branch per level, two branches at a threshold, chosen by gain ratio; then pruned by its own errors.

    The ratio gain / split information is compared among the questions of at least average gain. It lowers the
    advantage of a column with many levels (an identity number) but does not remove it: ``min_samples_leaf`` asks for
    two branches of that many rows, which such a column cannot give. A row whose value is missing goes down all
    branches in proportion to their weight.

    >>> from tilth.data.datasets import load
    >>> print(C45().fit(load("weather_numeric").frame, "Play").to_text())
    Outlook = Overcast: Yes (4 of 4)
    Outlook = Rainy
    |   Windy = False: Yes (3 of 3)
    |   Windy = True: No (2 of 2)
    Outlook = Sunny
    |   Humidity <= 77.5: Yes (2 of 2)
    |   Humidity > 77.5: No (3 of 3)
    """

    silent: ClassVar[dict[str, str]] = {"random_state": "nothing is drawn"}

    missing_rule: ClassVar[str] = "fractional"
    card: ClassVar[Card] = Card(
        "Gain ratio, a branch per level, fractional missing values, pessimistic pruning.",
        Traits("classification", parametric=False, probabilistic=True),
        BIAS,
        Complexity("O(n p log n depth)", "O(depth); all branches of a missing value", "O(n p) bytes + O(leaves)"),
        ("Quinlan 1993, C4.5: Programs for Machine Learning", "Quinlan 1996, Improved use of continuous attributes"),
    )
    contest = Candidate("C4.5 tree", 60)

    confidence: float = param(
        0.25,
        low=0,
        low_open=True,
        high=0.5,
        doc="Level of the pruning; the smaller, the more is pruned.",
        tune=(0.01, 0.5),
    )
    min_samples_leaf: float = param(
        2, low=0, doc="Rows (by weight) that at least two branches of a split must hold.", tune=(1, 50)
    )
    pruning: bool = param(True, doc="Whether the grown tree is pruned.")
    raising: bool = param(True, doc="Whether pruning may put the heaviest branch in the place of its parent.")
    threshold_penalty: bool = param(
        True, doc="Whether log2(thresholds) / n is taken off the gain of a number (release 8)."
    )
    max_depth: int | None = param(None, low=1, doc="Questions on the longest way.", tune=(1, 20))
    min_gain: float = param(0.0, low=0, doc="theta: the gain ratio must be above this.")
    max_bins: int | None = param(
        None, low=2, high=MOST_BINS,
        doc=f"Bins of a numeric column; None: a bin for each value up to {EXACT_ROWS:,} rows, 255 beyond.",
    )  # fmt: skip

    def _most_bins(self, table: Table) -> int:
        if self.max_bins is not None:
            return self.max_bins
        return MOST_BINS if table.n_rows <= EXACT_ROWS else 255

    def _growth(self, table: Table, weight: float) -> Growth:
        return Growth(
            criterion="gain_ratio", nominal="multiway", missing=self._missing_rule(), thresholds="auto",
            max_depth=self.max_depth, min_rows_split=0, min_rows_leaf=0, min_weight_leaf=float(self.min_samples_leaf),
            min_gain=above(self.min_gain), threshold_penalty=self.threshold_penalty,
        )  # fmt: skip

    def _pruned(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        trees = self._grown(table, target, weight)
        if not self.pruning:
            return trees
        rows = {"table": table, "codes": target, "weight": weight} if self.raising else {}
        return prune_pessimistic(trees, self.confidence, **rows)  # type: ignore[arg-type]

    def recipe(self) -> Recipe:
        """Growth and pruning."""
        pruning = f"pessimistic pruning at {self.confidence:g} [confidence]" if self.pruning else "no pruning [pruning]"
        return Recipe(
            "rows of columns of any kind, missing values too, with a class",
            f"one tree; a branch per level, thresholds on numbers; missing {self._missing_rule()} [missing]",
            "information gain / split information",
            f"greedy; {pruning}",
        )
