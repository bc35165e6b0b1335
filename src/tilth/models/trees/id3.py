"""ID3 (Quinlan 1986): a branch per level, the column of highest information gain first, each column once on a path."""

from __future__ import annotations

from typing import ClassVar

from tilth.base import Accepts, Card, Complexity, Recipe, Traits
from tilth.data.steps import Bins
from tilth.data.table import Table
from tilth.engines.tree.grow import Growth
from tilth.models.trees.single import BIAS, TreeClassifier, above
from tilth.params import declared, param


@declared
class ID3(TreeClassifier):
    """Nominal columns, a branch per level, information gain; numbers are first cut into bins.

    A node is a leaf when it is pure, when no column is left, or when no column gains anything. Missing values have a
    branch of their own.

    >>> from tilth.data.datasets import load_weather
    >>> print(ID3().fit(load_weather().frame, "Play").to_text())
    Outlook = Overcast: Yes (4 of 4)
    Outlook = Rainy
    |   Windy = False: Yes (3 of 3)
    |   Windy = True: No (2 of 2)
    Outlook = Sunny
    |   Humidity = High: No (3 of 3)
    |   Humidity = Normal: Yes (2 of 2)
    """

    silent: ClassVar[dict[str, str]] = {"random_state": "nothing is drawn"}

    accepts: ClassVar[Accepts] = Accepts(numeric=False, ordinal=False, nominal=True, missing=True)
    missing_rule: ClassVar[str] = "own"
    card: ClassVar[Card] = Card(
        "A branch per level of the column with the highest information gain.",
        Traits("classification", parametric=False, probabilistic=True),
        BIAS,
        Complexity("O(n p depth)", "O(depth)", "O(n p) bytes + O(leaves)"),
        ("Quinlan 1986, Induction of decision trees",),
    )
    contest = "C4.5 is its successor"

    max_depth: int | None = param(None, low=1, doc="Questions on the longest way.", tune=(1, 20))
    min_gain: float = param(0.0, low=0, doc="theta: a split must gain more bits than this.")
    max_purity: float = param(
        1.0, low=0, low_open=True, high=1, doc="gamma: a node whose largest class has this share is a leaf."
    )
    bins: str = param(
        "frequency", options=("width", "frequency", "kmeans"), doc="How the bins of a numeric column are chosen."
    )
    n_bins: int = param(5, low=2, high=255, doc="Bins of a numeric column.", tune=(2, 20))

    def _bins(self) -> Bins:
        return Bins(method=self.bins, n_bins=self.n_bins)

    def _growth(self, table: Table, weight: float) -> Growth:
        return Growth(
            criterion="entropy", nominal="multiway", missing=self._missing_rule(), max_depth=self.max_depth,
            min_gain=above(self.min_gain), max_purity=self.max_purity, reuse=False,
        )  # fmt: skip

    def recipe(self) -> Recipe:
        """Greedy growth by information gain."""
        return Recipe(
            f"nominal columns and a class; numbers in {self.n_bins} bins of equal {self.bins} [n_bins, bins]",
            f"one tree, a branch per level; missing {self._missing_rule()} [missing]",
            "entropy in bits",
            f"greedy, each column once on a path; stops at a gain of {self.min_gain:g} [min_gain]",
        )
