"""Decision trees with every choice open: criterion, tests, missing values, when to stop, how to prune.

The famous recipes are in files of their own: ID3, C4.5, CART.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tilth.base import Card, Classifier, Complexity, Recipe, Traits
from tilth.base.target import class_weights
from tilth.data.table import Table
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.level import TargetFacts, require_foldable
from tilth.engines.tree.prune import (
    cost_complexity_path,
    prune_cost_complexity,
    prune_pessimistic,
    prune_reduced_error,
)
from tilth.engines.tree.rounds import ByClass, class_totals, grow_over_chunks
from tilth.engines.tree.settings import growth_of, signs_of
from tilth.engines.tree.sizes import require_squares, tree_seeds
from tilth.engines.tree.tree_model import TREE_MISSING
from tilth.engines.tree.trees import Trees
from tilth.models.trees.single import BIAS, SingleTree, TreeClassifier, TreeRegressor, above
from tilth.params import declared, param
from tilth.stats.folds import holdout

Floats = NDArray[np.float64]

_COST = Complexity("O(n p log n)", "O(depth)", "O(n p) bytes for bins + O(leaves)")
_REFERENCES = (
    "Breiman, Friedman, Olshen, Stone 1984, Classification and Regression Trees",
    "Quinlan 1993, C4.5: Programs for Machine Learning",
)


@declared
class GeneralTree(SingleTree):
    """The parameters of a tree with every choice open."""

    fold: ClassVar[Any] = "rounds"

    splitter: str = param(
        "best",
        options=("best", "random"),
        doc="Try all thresholds and level sets of a column, or one drawn at random (which also gets past XOR).",
    )
    nominal: str = param(
        "subset",
        options=("subset", "multiway"),
        doc="Nominal columns: two branches by a set of levels, or a branch per level.",
    )
    thresholds: str = param(
        "auto",
        options=("auto", "exact", "binned"),
        doc="Numbers are cut at bin edges in large nodes and anywhere in small ones, anywhere, or at bin edges.",
    )
    max_bins: int = param(255, low=2, high=255, doc="Bins of a numeric column.")
    max_depth: int | None = param(
        None, low=1, doc="Questions on the longest way: 2^depth leaves at most.", tune=(1, 20)
    )
    min_samples_split: float = param(2, low=0, low_open=True, doc="Rows a node needs to be split; a float is a share.")
    min_samples_leaf: float = param(
        1, low=0, low_open=True, doc="Rows each branch must keep; a float is a share of all rows.", tune=(1, 50)
    )
    min_weight_fraction_leaf: float = param(
        0.0, low=0, high=0.5, doc="Share of the total weight that each branch must keep."
    )
    max_features: Any = param(
        None, doc="Columns tried at each node: None (all), a number, a share, 'sqrt', 'log2' or 'log2+1'."
    )
    max_leaf_nodes: int | None = param(
        None, low=2, doc="Most leaves; the split that takes most impurity away is made first."
    )
    min_impurity_decrease: float = param(
        0.0, low=0, doc="Impurity a split must take away, times the share of weight in the node."
    )
    min_gain: float | None = param(
        None,
        low=0,
        doc="theta: a split must gain more than this within its node; None splits impure nodes even without any gain, "
        "which gets past XOR.",
    )
    reuse_features: bool = param(True, doc="Whether a column may be used again further down a path.")
    monotonic_cst: Any = param(
        None, doc="Directions {column: 1 or -1} in which the answer may only rise or fall; or a list, one per column."
    )
    ccp_alpha: float = param(
        0.0, low=0, doc="Price of a leaf in cost-complexity pruning.", scale="log", tune=(1e-5, 0.1)
    )
    folds: int = param(10, low=2, doc="Folds of the cross-validation that chooses the price of a leaf.")
    standard_errors: float = param(
        1.0, low=0, doc="The smallest tree this many standard errors from the best one is taken."
    )
    validation_fraction: float = param(
        0.25, low=0, low_open=True, high=0.9, doc="Share of the rows kept for reduced-error pruning."
    )

    def _growth(self, table: Table, weight: float) -> Growth:
        return replace(
            growth_of(self, table, weight, self._directions(table)),
            nominal=cast(Any, self.nominal),
            min_gain=0.0 if self.min_gain is None else above(self.min_gain),
            max_purity=getattr(self, "max_purity", 1.0),
        )

    def _directions(self, table: Table) -> tuple[int, ...]:
        if self.monotonic_cst is None:
            return ()
        owner = type(self).__name__
        signs = signs_of(self.monotonic_cst, table, owner)
        if signs and isinstance(self, Classifier) and len(self.classes_) > 2:
            raise ValueError(
                f"{owner}: monotonic_cst needs two classes, one of which may rise; found {len(self.classes_)}."
            )
        return signs

    # --------------------------------------------------------------------------------------------------------- chunks

    def learn_in_rounds(self, passes: Any, table: Table, target: NDArray[Any]) -> None:
        """Grow a level in each pass over the rows; thresholds lie at bin edges."""
        pruning = cast(Any, self).pruning
        if pruning != "none":
            raise ValueError(
                f"{type(self).__name__}: pruning={pruning!r} needs all rows at hand, not chunks of them; use "
                "pruning='none', perhaps with a price of a leaf in ccp_alpha."
            )
        require_foldable(self._growth(table, 1.0), type(self).__name__)

        def growth_of(facts: TargetFacts) -> Growth:
            require_squares(np.array([*facts.low, *facts.high]), type(self).__name__)
            # The rules look at the columns and at the number of rows, not at the rows.
            return self._growth(replace(table, n_rows=facts.rows), facts.weight)

        n_classes = len(self.classes_) if isinstance(self, Classifier) else 0
        n_targets = 0 if n_classes else target.reshape(len(target), -1).shape[1]
        trees = grow_over_chunks(
            self._weighing(passes), table, growth_of, int(tree_seeds(self.random_state, 1)[0]), n_classes=n_classes,
            n_targets=n_targets, max_bins=self.max_bins,
        )  # fmt: skip
        self._set_trees(prune_cost_complexity(trees, self.ccp_alpha))

    def _weighing(self, passes: Any) -> Any:
        """Passes in which rows weigh what the tree counts them as."""
        return passes

    # -------------------------------------------------------------------------------------------------------- pruning

    def _pruned(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        pruning = cast(Any, self).pruning
        if pruning == "reduced_error":
            return self._reduced(table, target, weight)
        if pruning == "cost_complexity" and self.ccp_alpha == 0:
            path, choice = self._priced(table, target, weight, self.folds, self.standard_errors)
            return path.subtree(choice.chosen)
        trees = self._grown(table, target, weight)
        if pruning == "pessimistic":
            return prune_pessimistic(
                trees, cast(Any, self).confidence, table=table, codes=target, weight=weight,
                criterion=cast(Any, self).criterion,
            )  # fmt: skip
        return prune_cost_complexity(trees, self.ccp_alpha)

    def _reduced(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        """Grow on some of the rows, prune by the others."""
        is_class = isinstance(self, Classifier)
        n = len(target)
        if n < max(2, round(1 / self.validation_fraction)):
            return self._grown(table, target, weight)
        inside, outside = holdout(
            n, self.validation_fraction, classes=target if is_class else None, seed=self._fold_seed()
        )
        w_in, w_out = (None, None) if weight is None else (weight[inside], weight[outside])
        trees = self._grown(table.rows(inside), target[inside], w_in)
        return prune_reduced_error(trees, table.rows(outside), target[outside], w_out, is_class=is_class)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Prices of a leaf at which the unpruned tree loses a test, and the impurity of the subtrees that remain.

        Gives ``ccp_alphas``, ``impurities`` and ``n_leaves``.
        """
        grown = type(self)(**(self.get_params(deep=False) | {"ccp_alpha": 0.0, "pruning": "none"}))
        path = cost_complexity_path(grown.fit(X, y, sample_weight=sample_weight).trees_)
        return Bunch(ccp_alphas=path.alphas, impurities=path.impurities, n_leaves=path.leaves)

    def recipe(self) -> Recipe:
        """The choices in force."""
        model = cast(Any, self)
        pruning = model.pruning if model.pruning != "none" or not self.ccp_alpha else f"ccp_alpha {self.ccp_alpha:g}"
        target = "a class" if isinstance(self, Classifier) else "numbers"
        return Recipe(
            f"rows of columns of any kind, missing values too, with {target}",
            f"one tree; {self.nominal} tests of levels [nominal], missing {self._missing_rule()} [missing]",
            f"{model.criterion} [criterion]",
            f"greedy, {self.splitter} split [splitter]; pruning {pruning} [pruning]",
        )


@declared
class DecisionTreeClassifier(GeneralTree, TreeClassifier):
    """A tree of questions whose leaves hold class shares.

    Of equally good questions the first wins: columns in the order of the table with numeric ones before those with
    levels, the lowest threshold first; nothing is drawn unless ``splitter="random"`` or ``max_features`` asks for it.

    >>> from tilth.data.datasets import load_iris
    >>> iris = load_iris()
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(iris.frame, iris.target)
    >>> tree.get_n_leaves()
    3
    """

    card: ClassVar[Card] = Card(
        "Questions about one column at a time; the leaf gives the class shares.",
        Traits("classification", parametric=False, probabilistic=True),
        BIAS,
        _COST,
        _REFERENCES,
    )
    contest = "CART is this tree, pruned"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        {},
        {"max_depth": 4, "nominal": "multiway", "missing": "own", "criterion": "entropy"},
    )

    criterion: str = param(
        "gini",
        options=("gini", "entropy", "log_loss", "gain_ratio", "misclassification"),
        doc="Impurity whose decrease chooses the split.",
    )
    max_purity: float = param(
        1.0, low=0, low_open=True, high=1, doc="gamma: a node whose largest class has this share is a leaf."
    )
    class_weight: Any = param(None, doc="Weight of each class {label: weight}, or 'balanced': all weigh the same.")
    pruning: str = param(
        "none",
        options=("none", "cost_complexity", "pessimistic", "reduced_error"),
        doc="Afterwards: only what ccp_alpha says; the price of a leaf by cross-validation; C4.5's; by held-out rows.",
    )
    confidence: float = param(
        0.25, low=0, low_open=True, high=0.5, doc="Level of pessimistic pruning; the smaller, the more is pruned."
    )

    def _row_weights(self, target: NDArray[Any], weight: Floats | None) -> Floats | None:
        if self.class_weight is None:
            return weight
        by_class = class_weights(self.class_weight, self.classes_, target, weight, type(self).__name__)[target]
        return by_class if weight is None else by_class * weight

    def _weighing(self, passes: Any) -> Any:
        if self.class_weight is None:
            return passes
        every = np.arange(len(self.classes_))
        held = class_totals(passes, len(every)) if self.class_weight == "balanced" else None
        return ByClass(passes, class_weights(self.class_weight, self.classes_, every, held, type(self).__name__))


@declared
class DecisionTreeRegressor(GeneralTree, TreeRegressor):
    """A tree of questions whose leaves hold the mean (or median) of a number, or of several.

    >>> sizes = [[80.0], [90.0], [100.0], [101.0], [110.0]]
    >>> tree = DecisionTreeRegressor().fit(sizes, [200.0, 200.0, 200.0, 205.0, 205.0])
    >>> tree.predict([[99.0], [100.0], [101.0]])
    array([200., 200., 205.])
    """

    card: ClassVar[Card] = Card(
        "Questions about one column at a time; the leaf gives the mean.",
        Traits("regression", parametric=False),
        BIAS,
        _COST,
        _REFERENCES,
    )
    contest = "CART is this tree, pruned"
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"max_depth": 4, "missing": "frequent"})

    criterion: str = param(
        "squared_error",
        options=("squared_error", "absolute_error"),
        doc="Spread whose decrease chooses the split: variance around the mean, or absolute error around the median "
        "(one target, level sets in the order of their means, missing values in the most frequent branch).",
    )
    pruning: str = param(
        "none",
        options=("none", "cost_complexity", "reduced_error"),
        doc="Afterwards: no more than ccp_alpha says; the price of a leaf by cross-validation; by held-out rows.",
    )

    def _missing_rule(self) -> Any:
        by_median = self.criterion == "absolute_error" and self.missing not in TREE_MISSING
        return "frequent" if by_median else super()._missing_rule()

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Refuse what medians cannot do; then grow and prune."""
        several = self._several(target)
        if self.criterion == "absolute_error":
            lacking = {
                "a single target": several,
                "nominal='subset'": self.nominal != "subset",
                "missing='frequent' or values filled in": self._missing_rule() != "frequent",
            }
            for need, lacks in lacking.items():
                if lacks:
                    raise ValueError(f"DecisionTreeRegressor: criterion='absolute_error' needs {need}.")
        super().learn(table, target, weight)

    def learn_in_rounds(self, passes: Any, table: Table, target: NDArray[Any]) -> None:
        """Grow a level in each pass over the rows; thresholds lie at bin edges."""
        self._several(target)
        super().learn_in_rounds(passes, table, target)

    def _several(self, target: NDArray[Any]) -> bool:
        several = target.ndim == 2 and target.shape[1] > 1
        if several and self.monotonic_cst is not None:
            raise ValueError("DecisionTreeRegressor: monotonic_cst needs a single target; found several.")
        return several


@declared
class DecisionStump(TreeClassifier):
    """The best single question (a tree of depth one), for columns of every kind.

    >>> from tilth.data.datasets import load_weather
    >>> DecisionStump().fit(load_weather().frame, "Play").trees_.names[0]
    'Outlook'
    """

    silent: ClassVar[dict[str, str]] = {"random_state": "nothing is drawn"}

    card: ClassVar[Card] = Card(
        "One question, one answer per branch.",
        Traits("classification", parametric=False, probabilistic=True),
        BIAS,
        Complexity("O(n p)", "O(1)", "O(n p) bytes for bins"),
        ("Iba, Langley 1992, Induction of one-level decision trees",),
    )
    contest = "One-R does the same"
    modest: ClassVar[str] = "it makes a single split"

    criterion: str = param(
        "gini",
        options=("gini", "entropy", "log_loss", "gain_ratio", "misclassification"),
        doc="Impurity whose decrease chooses the split.",
    )
    nominal: str = param(
        "subset",
        options=("subset", "multiway"),
        doc="Nominal columns: two branches by a set of levels, or a branch per level.",
    )

    def _growth(self, table: Table, weight: float) -> Growth:
        return Growth(
            criterion=cast(Any, self.criterion), nominal=cast(Any, self.nominal), missing=self._missing_rule(),
            thresholds="auto", max_depth=1, min_gain=above(0.0),
        )  # fmt: skip

    def recipe(self) -> Recipe:
        """One exhaustive search."""
        return Recipe(
            "rows of columns of any kind, missing values too, with a class",
            "one question about one column",
            f"{self.criterion} [criterion]",
            "all columns, all thresholds, sets of levels",
        )
