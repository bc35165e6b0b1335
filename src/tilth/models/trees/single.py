"""What all models of one tree share: growing, pruning, and looking at the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Probabilistic, Regressor
from tilth.base.seeds import seed_param
from tilth.data.convert import Plan
from tilth.data.schema import Schema
from tilth.data.steps import Bins
from tilth.data.table import Table
from tilth.engines.tree.choose_alpha import AlphaChoice, choose_alpha
from tilth.engines.tree.grow import Goal, Grid, Growth, grow_trees
from tilth.engines.tree.prune import PruningPath, cost_complexity_path
from tilth.engines.tree.sizes import require_squares, tree_seeds
from tilth.engines.tree.stability import Stability, stability
from tilth.engines.tree.steps import steps
from tilth.engines.tree.tree_model import TREE_MISSING, TreeModel
from tilth.engines.tree.trees import Trees
from tilth.params import declared, param

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: A step of this share of all the answers a tree can give is called abrupt.
ABRUPT = 0.1

#: The inductive bias of every greedily grown tree.
BIAS = (
    Assumption(
        "Short trees are preferred, with the columns of highest gain near the root; growth is greedy and never takes a "
        "question back.",
        "The tree is a good one, not the best one: a question that is useless alone (XOR) is not asked, although it "
        "would make the next one useful.",
    ),
    Assumption(
        "The answer is constant in boxes parallel to the axes.",
        "Slopes and slanted borders become staircases; steps(column) shows the jumps.",
        "steps",
    ),
    Assumption(
        "The rows at hand decide every question.",
        "Other rows of the same kind may give another tree; stability(X, y) measures how often.",
        "stability",
    ),
)


@declared
class SingleTree(TreeModel):
    """A model of one tree. Subclasses give ``_growth(table, weight)`` and may prune in ``_pruned``."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, text=100)
    learned: ClassVar[dict[str, str]] = {"trees_": "value"}

    missing: str = param(
        "auto",
        options=("auto", *TREE_MISSING, "mean", "median", "mode", "error"),
        doc="Missing values: by the tree (the better branch is learned; an own branch; the most frequent branch; in "
        "fractions to all) or filled in beforehand; auto leaves them to the tree.",
    )
    random_state: Any = seed_param("Seed of everything drawn: columns, thresholds, folds, samples for bins.")

    def _plan(self, schema: Schema) -> Plan:
        return self._plan_for(schema, self.accepts, self._bins())

    def _bins(self) -> Bins | None:
        """The step that makes levels of numbers, for a tree that takes no numbers."""
        return None

    # ------------------------------------------------------------------------------------------------------- learning

    def _growth(self, table: Table, weight: float) -> Growth:
        """The rules of growth for a table of this total weight."""
        raise NotImplementedError

    def _goal(self, target: NDArray[Any], weight: Floats | None) -> Goal:
        if isinstance(self, Probabilistic):
            return Goal(codes=target, n_classes=len(self.classes_), weight=weight)
        require_squares(target, type(self).__name__)
        return Goal(numbers=np.ascontiguousarray(target.reshape(len(target), -1)), weight=weight)

    def _row_weights(self, target: NDArray[Any], weight: Floats | None) -> Floats | None:
        """Weights of rows as the tree counts them; classes may weigh more or less."""
        return weight

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Grow, then prune."""
        weight = self._row_weights(target, weight)
        self._set_trees(self._pruned(table, target, weight))

    def _grown(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        """The tree of these rows."""
        total = float(len(target) if weight is None else weight.sum())
        seeds = tree_seeds(self.random_state, 1)
        grid = Grid.of(table, self._most_bins(table), weight, int(seeds[0]))
        return grow_trees(grid, self._goal(target, weight), self._growth(table, total), seeds)

    def _most_bins(self, table: Table) -> int:
        """Most bins of a numeric column."""
        return int(getattr(self, "max_bins", 255))

    def _pruned(self, table: Table, target: NDArray[Any], weight: Floats | None) -> Trees:
        return self._grown(table, target, weight)

    def _priced(
        self, table: Table, target: NDArray[Any], weight: Floats | None, folds: int, standard_errors: float
    ) -> tuple[PruningPath, AlphaChoice]:
        """The pruning path of the tree of all rows, and the place in it that cross-validation prefers."""

        def grow(rows: NDArray[np.int64]) -> Trees:
            return self._grown(table.rows(rows), target[rows], None if weight is None else weight[rows])

        path = cost_complexity_path(self._grown(table, target, weight))
        choice = choose_alpha(
            path, grow, table, target, weight, is_class=isinstance(self, Probabilistic), folds=folds,
            standard_errors=standard_errors, seed=self._fold_seed(),
        )  # fmt: skip
        return path, choice

    def _fold_seed(self) -> int:
        return int(tree_seeds(self.random_state, 1)[0])

    def validate_state(self) -> None:
        """Refuse a state whose tree does not fit the columns and classes."""
        self.trees_.validate(len(self.classes_) if isinstance(self, Probabilistic) else None)
        if self.trees_.n_trees != 1:
            raise ValueError(f"the model needs one tree, it holds {self.trees_.n_trees}")
        if not set(self.trees_.names) <= set(self.plan_.outputs):
            raise ValueError("the tree asks columns that the plan does not make")

    # -------------------------------------------------------------------------------------------------------- looking

    def steps(self, column: str, label: Any = None) -> pd.DataFrame:
        """What the tree answers just left and just right of each threshold of a column.

        Other columns are averaged by the training rows of each branch. ``label`` chooses the class whose probability
        is shown, by default the last. A jump of a tenth or more of the range of answers is marked as abrupt: two rows
        that hardly differ get different answers there.
        """
        import pandas as pd

        check_is_fitted(self)
        names, kinds = self.trees_.names, self.trees_.kinds
        owner = type(self).__name__
        if column not in names:
            raise ValueError(f"{owner}: there is no column {column!r}; the tree knows {names[:12]}.")
        kind = kinds[names.index(column)]
        if kind.name == "nominal":
            raise ValueError(f"{owner}: {column!r} is nominal; its levels have no order, so there are no steps.")
        output = self._output_shown(label)
        cuts, left, right = steps(self.trees_, names.index(column))
        low, high = left[:, output], right[:, output]
        answers = self.trees_.value[self.trees_.child < 0, output]
        spread = float(answers.max() - answers.min())
        places: Any = cuts
        if kind.name == "ordinal":
            places = [f"{kind.levels[int(c)]} | {kind.levels[int(c) + 1]}" for c in cuts]
        return pd.DataFrame(
            {
                "threshold": places,
                "left": low,
                "right": high,
                "jump": high - low,
                "abrupt": np.abs(high - low) >= max(ABRUPT * spread, 1e-300),
            }
        )

    def _output_shown(self, label: Any) -> int:
        if not isinstance(self, Probabilistic):
            return 0
        classes = self.classes_.tolist()
        if label is not None and label not in classes:
            raise ValueError(f"{type(self).__name__}: there is no class {label!r}; the classes are {classes[:12]}.")
        return len(classes) - 1 if label is None else classes.index(label)

    def stability(
        self, X: Any, y: Any, *, sample_weight: Any = None, n_resamples: int = 20, seed: int = 0
    ) -> Stability:
        """Refit on resamples of the rows: how often do the first question, the structure, the predictions change?"""
        return stability(self, X, y, sample_weight=sample_weight, n_resamples=n_resamples, seed=seed)


@declared
class TreeClassifier(SingleTree, Probabilistic):
    """One tree whose leaves hold class shares."""

    def probabilities(self, table: Any) -> Floats:
        """Weighted class shares of the training rows in the leaf that each row reaches."""
        return self.trees_.sum_values(table)


@declared
class TreeRegressor(SingleTree, Regressor):
    """One tree whose leaves hold numbers; the target may be several numbers per row."""

    multi_output: ClassVar[bool] = True

    def values(self, table: Any) -> Floats:
        """Mean (or median) of the training rows in the leaf that each row reaches."""
        values = self.trees_.sum_values(table)
        return values[:, 0] if values.shape[1] == 1 else values


def above(gain: float) -> float:
    """The least gain that counts as more than ``gain``: rounding must not pass for information."""
    return gain + 1e-12
