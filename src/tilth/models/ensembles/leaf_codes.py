"""Leaf codes: rows described by the leaves they fall into, a sparse binary code in which neighbours agree."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Card, Complexity, Recipe, Section, Traits, Transformer, whole_or_nothing
from tilth.base.seeds import seed_param
from tilth.data.table import Table
from tilth.engines.tree.isolate import copies_of, grow_isolation
from tilth.engines.tree.sizes import part_of, tree_seeds
from tilth.engines.tree.tree_model import TreeModel
from tilth.engines.tree.trees import LEAF
from tilth.params import check_params, declared, param


@declared
class LeafCodes(Transformer):
    """One 0/1 column per leaf of a forest: 1 where the row falls into the leaf, so that each tree gives exactly one 1.

    The trees are completely random (random columns, random cuts; no target), or those of a model of trees that learns
    ``y``. Rows that are alike share many leaves; a linear model on the codes can be anything but linear in the columns.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> codes = LeafCodes(n_estimators=10, max_depth=3).fit_transform(rows)
    >>> codes.shape[0], int(codes.sum(axis=1).max()), codes.shape[1] <= 10 * 2**3
    (200, 10, True)
    """

    silent: ClassVar[dict[str, str]] = {"sparse_output": "it changes the container, not the numbers"}

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    card: ClassVar[Card] = Card(
        "Rows as the leaves they fall into, one sparse 0/1 column per leaf.",
        Traits("transformation", supervision="none", parametric=False),
        (Assumption("Rows in one box of the table belong together.", "Far columns of pure noise cut at random too."),),
        Complexity("O(trees x n depth)", "O(trees x depth)", "O(trees x leaves)"),
        ("Moosmann, Triggs & Jurie 2006, Fast discriminative visual codebooks", "Geurts et al. 2006"),
    )
    learned: ClassVar[dict[str, str]] = {"trees_": "value"}
    check_with: ClassVar[tuple[dict[str, Any], ...]] = ({"n_estimators": 10}, {"n_estimators": 5, "max_depth": 2})

    forest: Any = param(
        None, doc="A model of trees that learns y, such as RandomForestClassifier(); None grows random trees."
    )
    n_estimators: int = param(100, low=1, doc="Number of random trees, when no forest is given.", tune=(10, 500))
    max_depth: int = param(5, low=1, high=1000, doc="Depth of the random trees: at most 2^depth leaves each.")
    max_samples: Any = param(1.0, doc="Rows that each random tree is grown on: a number (int) or a share (float).")
    sparse_output: bool = param(True, options=(True, False), doc="Whether to give a scipy sparse matrix.")
    random_state: Any = seed_param("Seed of the random trees; None takes a new one each time.")

    def recipe(self) -> Recipe:
        """Random cuts, or the trees of a model."""
        source = "random cuts" if self.forest is None else f"the trees of {type(self.forest).__name__}"
        return Recipe(
            "rows of columns of any kind",
            f"one 0/1 column per leaf of {source} [forest, n_estimators, max_depth]",
            "none" if self.forest is None else "that of the forest",
            "drawing [random_state]" if self.forest is None else "that of the forest",
        )

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : any table; ``y`` may name a column of it.
        y : the target of ``forest``; without a forest it is not used.
        sample_weight : weight of each row; a weight of 2 is the row given twice.
        """
        if self.forest is None:
            return self._fit(X, y, sample_weight)
        check_params(self)
        return self._fit_forest(X, y, sample_weight)

    def learn(self, table: Table, target: Any, weight: Any) -> None:
        """Grow random trees."""
        rows = copies_of(table.n_rows, weight)
        self.trees_ = grow_isolation(
            table,
            tree_seeds(self.random_state, self.n_estimators),
            part_of(self.max_samples, rows, f"{type(self).__name__}: max_samples", "rows"),
            weight=weight,
            max_depth=self.max_depth,
        )

    def _fit_forest(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if not isinstance(self.forest, TreeModel):
            raise TypeError(
                f"{type(self).__name__}: forest must be a model of trees of tilth, such as RandomForestClassifier(); "
                f"got {type(self.forest).__name__}."
            )
        forest: Any = clone(self.forest).fit(X, y, sample_weight=sample_weight)
        self._set_schema(forest.schema_, forest.target_)
        self.plan_ = forest.plan_
        self.trees_ = forest.trees_
        return self

    def transform(self, X: Any) -> Any:
        """The code of each row: n x (leaves of all trees)."""
        check_is_fitted(self)
        trees = self.trees_
        leaves = trees.leaves(self._table(X))
        place = np.cumsum(trees.test == LEAF) - 1
        n, t = leaves.shape
        ends = np.arange(0, n * t + 1, t)
        codes = csr_matrix((np.ones(n * t), place[leaves].ravel(), ends), shape=(n, int(place[-1]) + 1))
        return codes if self.sparse_output else codes.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``tree<i>_leaf<j>`` for every leaf."""
        check_is_fitted(self)
        names = [f"tree{i}_leaf{j}" for i, count in enumerate(self.trees_.n_leaves()) for j in range(count)]
        return np.array(names, dtype=object)

    def sections(self) -> list[Section]:
        """How wide the code is."""
        counts = self.trees_.n_leaves()
        text = f"{self.trees_.n_trees} trees with {counts.min()} to {counts.max()} leaves: {counts.sum()} columns."
        return [*super().sections(), Section("Leaves", text)]

    def validate_state(self) -> None:
        """Refuse arrays that do not make trees."""
        self.trees_.validate()
