"""CART (Breiman, Friedman, Olshen, Stone 1984): two branches, Gini or variance, pruned by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import Candidate, Card, Classifier, Complexity, Recipe, Section, Traits, WeightLaw
from tilth.data.table import Table
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.trees import Trees
from tilth.models.trees.single import BIAS, SingleTree, TreeClassifier, TreeRegressor
from tilth.params import declared, param

Floats = NDArray[np.float64]

_REFERENCES = ("Breiman, Friedman, Olshen, Stone 1984, Classification and Regression Trees",)
_COST = Complexity("O(folds n p log n)", "O(depth)", "O(n p) bytes + O(leaves)")


@declared
class PricedTree(SingleTree):
    """A binary tree whose size is chosen by cross-validation."""

    weight_law: ClassVar[WeightLaw] = "importance"

    learned: ClassVar[dict[str, str]] = {"trees_": "value", "alpha_": "float[]", "cv_": "float[e, 3]"}

    folds: int = param(10, low=2, doc="Folds of the cross-validation that chooses the price of a leaf.")
    standard_errors: float = param(
        1.0, low=0, doc="The smallest tree this many standard errors from the best one is taken; 0 takes the best."
    )
    max_depth: int | None = param(None, low=1, doc="Questions on the longest way.", tune=(1, 20))
    min_samples_leaf: int = param(5, low=1, doc="Rows each branch must keep.", tune=(1, 50))
    max_bins: int = param(255, low=2, high=255, doc="Bins of a numeric column in large nodes.")

    def _growth(self, table: Table, weight: float) -> Growth:
        return Growth(
            criterion="gini" if isinstance(self, Classifier) else "squared_error", missing=self._missing_rule(),
            thresholds="auto", max_depth=self.max_depth, min_rows_leaf=int(self.min_samples_leaf),
        )  # fmt: skip

    def _pruned(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        path, choice = self._priced(table, target, weight, self.folds, self.standard_errors)
        self.alpha_ = choice.alpha
        self.cv_ = np.column_stack([choice.alphas, choice.leaves, choice.error])
        return path.subtree(choice.chosen)

    def _by_hand(self) -> None:
        self.alpha_, self.cv_ = 0.0, np.zeros((0, 3))

    def recipe(self) -> Recipe:
        """Growth and pruning."""
        is_class = isinstance(self, Classifier)
        return Recipe(
            f"rows of columns of any kind, missing values too, with {'a class' if is_class else 'numbers'}",
            f"one tree of two branches a question; missing {self._missing_rule()} [missing]",
            f"{'Gini impurity' if is_class else 'squared error'} + alpha x leaves",
            f"greedy growth, weakest-link pruning; alpha by {self.folds}-fold cross-validation [folds], "
            f"{self.standard_errors:g} standard errors [standard_errors]",
        )

    def sections(self) -> list[Section]:
        """Adds the errors of the subtrees."""
        import pandas as pd

        frame = pd.DataFrame(self.cv_, columns=["alpha", "leaves", "cross-validated error"])
        chosen = f"The price of a leaf is {self.alpha_:.6g}."
        return [*super().sections(), Section("Size of the tree", chosen, frame.tail(30))]


@declared
class CART(PricedTree, TreeClassifier):
    """Gini impurity, two branches a question, and the subtree that cross-validation prefers.

    Of the nested subtrees of the weakest-link path the smallest is taken whose cross-validated error is within one
    standard error of the lowest.

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris()
    >>> print(CART(max_depth=2).fit(iris.frame, iris.target).to_text())
    petal_length <= 2.45: setosa (50 of 50)
    petal_length > 2.45
    |   petal_width <= 1.75: versicolor (49 of 54)
    |   petal_width > 1.75: virginica (45 of 46)
    """

    card: ClassVar[Card] = Card(
        "Two branches a question by Gini impurity; pruned by cross-validation.",
        Traits("classification", parametric=False, probabilistic=True),
        BIAS,
        _COST,
        _REFERENCES,
    )
    contest = Candidate("CART tree", 70)


@declared
class CARTRegressor(PricedTree, TreeRegressor):
    """Squared error, two branches a question, and the subtree that cross-validation prefers.

    >>> x = [[float(i)] for i in range(40)]
    >>> tree = CARTRegressor().fit(x, [0.0] * 20 + [10.0] * 20)
    >>> tree.get_n_leaves(), tree.predict([[3.0], [33.0]]).tolist()
    (2, [0.0, 10.0])
    """

    card: ClassVar[Card] = Card(
        "Two branches a question by squared error; pruned by cross-validation.",
        Traits("regression", parametric=False),
        BIAS,
        _COST,
        _REFERENCES,
    )
    contest = Candidate("CART tree", 70)
