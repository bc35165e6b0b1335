"""What all forests share: the ways to make trees differ, growing them, and what the rows out of bag say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Classifier, Complexity, Recipe, Section, WeightLaw
from tilth.base.seeds import seed_param
from tilth.base.target import one_dimensional, split_target
from tilth.data.convert import Plan
from tilth.data.schema import Schema
from tilth.data.table import Table
from tilth.engines.tree.forest import (
    BATCH,
    OutOfBag,
    StrengthCorrelation,
    grow_forest,
    is_flat,
    strength_and_correlation,
)
from tilth.engines.tree.grow import Bag, Goal, Grid, Growth
from tilth.engines.tree.prune import prune_cost_complexity
from tilth.engines.tree.settings import growth_of, signs_of
from tilth.engines.tree.sizes import part_of, tree_seeds
from tilth.engines.tree.tree_model import TREE_MISSING, TreeModel
from tilth.engines.tree.trees import Trees
from tilth.params import declared, inert, param
from tilth.progress import task

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Trees at most when their number is chosen by the out-of-bag error.
MOST_TREES = 1000

ASSUMPTIONS = (
    Assumption(
        "The trees err in different ways, so that errors cancel in the average.",
        "Similar trees average to one tree; strength_correlation() measures it.",
        "strength_correlation",
    ),
    Assumption(
        "The answer is constant in boxes, and new rows lie where the training rows lay.",
        "A forest never answers beyond the answers it saw: it does not extrapolate.",
    ),
)
COMPLEXITY = Complexity("O(trees x n log n x columns tried)", "O(trees x depth)", "O(trees x leaves)")


@declared
class ForestModel(TreeModel):
    """An average of trees that differ by chance. Every source of chance can be turned on or off by itself."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True, text=100)
    learned: ClassVar[dict[str, str]] = {
        "trees_": "value",
        "n_estimators_": "int[]",
        "oob_score_": "float[]?",
        "oob_curve_": "float[t]?",
        "strength_": "float[]?",
        "correlation_": "float[]?",
    }
    check_with: ClassVar[tuple[dict[str, Any], ...]] = (
        {"n_estimators": 10},
        {"n_estimators": 10, "bootstrap": True, "oob_score": True, "missing": "own", "max_leaf_nodes": 12},
    )
    weight_law: ClassVar[WeightLaw] = "drawn"

    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    missing: str = param(
        "auto",
        options=("auto", *TREE_MISSING, "mean", "median", "mode", "error"),
        doc="Missing values: by the trees (the better branch is learned; an own branch; the most frequent branch; "
        "shared out in fractions) or filled in beforehand; auto leaves them to the trees.",
    )
    n_estimators: Any = param(
        100,
        low=1,
        also=(str,),
        positional=True,
        doc='Number of trees, or "oob": as many as still lower the out-of-bag error.',
    )
    max_depth: int | None = param(None, low=1, doc="Longest way from root to leaf; None has no limit.", tune=(2, 30))
    min_samples_split: Any = param(2, doc="Rows (int) or share of rows (float) that a node must hold to be split.")
    min_samples_leaf: Any = param(1, doc="Rows (int) or share of rows (float) that a leaf must hold.")
    min_weight_fraction_leaf: float = param(0.0, low=0.0, high=0.5, doc="Share of all weight that a leaf must hold.")
    max_features: Any = param(
        "sqrt",
        doc='Columns tried at a node: "sqrt", "log2", "log2+1" = floor(log2 p + 1), a share (float), a number (int), '
        "or None for all.",
        tune=(0.1, 1.0),
    )
    max_features_per_tree: Any = param(
        None, doc="Columns that a whole tree may use: a share (float) or a number (int); None is all."
    )
    max_leaf_nodes: int | None = param(None, low=2, doc="Leaves at most, the best splits first; None has no limit.")
    min_impurity_decrease: float = param(
        0.0, low=0.0, doc="Decrease of impurity, weighted by the node's share of rows, that a split must bring."
    )
    splitter: str = param(
        "best", options=("best", "random"), doc="The best threshold of each tried column, or one random threshold each."
    )
    reuse_features: bool = param(True, options=(True, False), doc="Whether a column may be used twice on one path.")
    bootstrap: bool = param(
        True, options=(True, False), doc="Whether each tree sees a draw of the rows instead of all of them."
    )
    replace: bool = param(True, options=(True, False), doc="Whether rows are drawn with replacement.")
    max_samples: Any = param(
        None, doc="Rows drawn per tree: a number (int) or a share (float); None is n with replacement, 0.632 n without."
    )
    oob_score: bool = param(
        False, options=(True, False), doc="Whether to judge the forest by the rows that each tree did not see."
    )
    ccp_alpha: float = param(0.0, low=0.0, doc="Each tree is pruned by cost complexity at this price of a leaf.")
    monotonic_cst: Any = param(
        None, doc="Directions (-1, 0, 1) in which columns may move the answer: by name, or one per column."
    )
    thresholds: str = param(
        "binned",
        options=("binned", "auto", "exact"),
        doc="Cuts at the edges of bins, at every midpoint, or binned in large nodes and exact in small ones.",
    )
    max_bins: int = param(255, low=2, high=255, doc="Bins of a numeric column.")
    random_state: Any = seed_param()

    def recipe(self) -> Recipe:
        """Many greedy trees, each on its own draw of rows and columns."""
        drawn = f"each tree on drawn rows [bootstrap, replace={self.replace}]" if self.bootstrap else "all rows each"
        return Recipe(
            f"rows of columns of any kind with a target; {drawn}",
            f"the average of {self.n_estimators} trees [n_estimators]",
            f"{getattr(self, 'criterion', 'impurity')} in each node [criterion]",
            f"greedy, {self.splitter} thresholds [splitter] of {self.max_features} columns [max_features]",
        )

    def _plan(self, schema: Schema) -> Plan:
        return self._plan_for(schema, self.accepts)

    # ------------------------------------------------------------------------------------------------------- learning

    def _goal(self, target: NDArray[Any], weight: Floats | None) -> Goal:
        raise NotImplementedError

    def _growth(self, table: Table, weight: float) -> Growth:
        owner = type(self).__name__
        for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
            _require_count(getattr(self, name), least, f"{owner}: {name}")
        monotone = () if self.monotonic_cst is None else signs_of(self.monotonic_cst, table, owner)
        return growth_of(self, table, weight, monotone)

    def _bag(self, n_rows: int) -> Bag | None:
        if not self.bootstrap:
            return None
        size = self.max_samples if self.max_samples is not None else 1.0 if self.replace else 0.632
        return Bag(part_of(size, n_rows, f"{type(self).__name__}: max_samples", "rows"), self.replace)

    def _number_of_trees(self) -> int:
        """How many trees to grow at most."""
        if not isinstance(self.n_estimators, str):
            return int(self.n_estimators)
        owner = type(self).__name__
        if self.n_estimators != "oob":
            raise ValueError(f"{owner}: n_estimators must be a number or 'oob'; got {self.n_estimators!r}.")
        return MOST_TREES

    def learn(self, table: Any, target: NDArray[Any], weight: Floats | None) -> None:
        """Grow the trees, and ask them about the rows they did not see."""
        owner, most = type(self).__name__, self._number_of_trees()
        by_oob = self.n_estimators == "oob"
        judged = self.oob_score or by_oob
        bag = self._bag(table.n_rows)
        if judged and bag is None:
            raise ValueError(
                f"{owner}: without bootstrap every tree sees all rows, so nothing is out of bag; "
                "set bootstrap=True, or oob_score=False and a number of trees."
            )
        per_tree = self.max_features_per_tree
        goal = self._goal(target, weight)
        out = OutOfBag.of(table, goal, bag) if judged and bag is not None else None
        seeds = tree_seeds(self.random_state, most)
        total = float(table.n_rows if goal.weight is None else goal.weight.sum())
        batches = grow_forest(
            Grid.of(table, self.max_bins, weight, int(seeds[0])),
            goal,
            self._growth(table, total),
            seeds,
            bag,
            balance=getattr(self, "class_weight", None) == "balanced_subsample",
            columns_per_tree=None
            if per_tree is None
            else part_of(per_tree, len(table.columns), f"{owner}: max_features_per_tree", "columns"),
        )
        parts: list[Trees] = []
        with task("Growing trees", None if by_oob else most) as work:
            for i, batch in enumerate(batches):
                parts.append(prune_cost_complexity(batch, self.ccp_alpha) if self.ccp_alpha > 0 else batch)
                work.advance(batch.n_trees)
                if out is not None:
                    out.add(parts[-1], seeds[i * BATCH : i * BATCH + batch.n_trees])
                    if by_oob and is_flat(out.curve):
                        break
        del batches  # and the bins with it
        self._set_trees(Trees.join(parts, release=True))
        self.n_estimators_ = self.trees_.n_trees
        self._set_out_of_bag(out)

    def _set_out_of_bag(self, out: OutOfBag | None) -> None:
        self.oob_score_ = None if out is None else out.score()
        self.oob_curve_ = None if out is None else np.array(out.curve)
        measured = None if out is None or not (out.seen > 0).any() else out.strength()
        self.strength_ = None if measured is None else measured.strength
        self.correlation_ = None if measured is None else measured.correlation

    # -------------------------------------------------------------------------------------------------------- looking

    def oob_curve(self) -> pd.DataFrame:
        """Error on the rows out of bag after each tree: the share of wrong rows, or the mean squared error."""
        import pandas as pd

        check_is_fitted(self)
        if self.oob_curve_ is None:
            raise ValueError(f"{type(self).__name__}: fit with oob_score=True to have an out-of-bag curve.")
        return pd.DataFrame({"trees": np.arange(1, len(self.oob_curve_) + 1), "error": self.oob_curve_})

    def plot_oob_curve(self) -> Any:
        """Draw :meth:`oob_curve`; gives a matplotlib Figure."""
        from tilth.plot.curves import curves

        curve = self.oob_curve()
        return curves(curve["trees"].to_numpy(), {"out of bag": curve["error"].to_numpy()}, "trees", "error")

    def strength_correlation(self, X: Any = None, y: Any = None) -> StrengthCorrelation:
        """How good single trees are and how much alike (Breiman 2001), on given rows or on those out of bag.

        A forest gains when trees get better (strength) and when they differ (low correlation); fewer tried columns
        (max_features) lower both.
        """
        check_is_fitted(self)
        owner = type(self).__name__
        if X is None:
            if self.strength_ is None or self.correlation_ is None:
                raise ValueError(f"{owner}: fit with oob_score=True, or give rows X with their known answers y.")
            if isinstance(self, Classifier):
                return StrengthCorrelation.of_classes(self.strength_, self.correlation_)
            return StrengthCorrelation(self.strength_, self.correlation_, float(self.oob_curve()["error"].iloc[-1]))
        raw, labels, _ = split_target(X, y, owner)
        values = one_dimensional(labels, raw.n_rows, owner)
        target = cast(Any, self)._encode_target(values, getattr(self, "classes_", None))
        table = self._table(raw)
        answers = self.trees_.value[self.trees_.leaves(table)]
        single = answers.argmax(axis=2) if isinstance(self, Classifier) else answers[:, :, 0]
        return strength_and_correlation(single, target)

    def sections(self) -> list[Section]:
        """Out-of-bag error, strength and correlation, when they were asked for."""
        pages = super().sections()
        if self.oob_curve_ is not None:
            text = f"{self.n_estimators_} trees; out-of-bag score {self.oob_score_:.4f}."
            if self.strength_ is not None:
                text += f" {str(self.strength_correlation()).capitalize()}."
            pages.append(Section("Out of bag", text, figure=self.plot_oob_curve))
        return pages

    def validate_state(self) -> None:
        """Refuse a state whose trees do not fit the model."""
        self.trees_.validate(len(self.classes_) if isinstance(self, Classifier) else None)
        if self.n_estimators_ != self.trees_.n_trees:
            raise ValueError(f"the forest says {self.n_estimators_} trees and holds {self.trees_.n_trees}")


def _require_count(value: Any, least: int, name: str) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not (whole and value >= least) and not (isinstance(value, float) and 0.0 < value <= 1.0):
        raise ValueError(
            f"{name} must be a number of rows from {least} (int) or a share of them above 0 and at most 1 (float); "
            f"got {value!r}."
        )
