"""Isolation forest (Liu, Ting & Zhou 2008): a row that random questions soon leave alone is unlike the others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.base import Accepts, Assumption, Card, Complexity, Detector, Explanation, Recipe, Section, Traits
from tilth.base.seeds import seed_param
from tilth.data.table import Table
from tilth.engines.tree.isolate import copies_of, grow_isolation
from tilth.engines.tree.sizes import part_of, tree_seeds
from tilth.engines.tree.tree_model import TreeModel
from tilth.params import declared, inert, param
from tilth.parts.cuts import Cut, Fixed

Floats = NDArray[np.float64]


@declared
class IsolationForest(TreeModel, Detector):
    """Rows that few random cuts separate from the rest are anomalies: score = 2^(-E(h) / c(n)).

    h is the depth at which a row stands alone in a tree of random cuts on n drawn rows, and
    c(n) = 2 (ln(n - 1) + 0.5772) - 2 (n - 1) / n its mean for ordinary rows: c(256) = 10.2448. Scores near 1 are
    anomalies, scores below 0.5 are ordinary rows. All kinds of columns are cut as they are; a missing value says
    nothing (its path length is the weighted mean over both ways).

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> rows[7] = 6, -6
    >>> model = IsolationForest().fit(rows)
    >>> int(model.score_samples(rows).argmin())
    7
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, ordinal=True, nominal=True, missing=True)
    card: ClassVar[Card] = Card(
        "Random cuts isolate a row that is unlike the others soon.",
        Traits("anomaly", supervision="unsupervised", parametric=False),
        (
            Assumption(
                "Anomalies are few, and far from the rest in some columns.",
                "A dense group of anomalies hides itself in a large sample; max_samples keeps samples small.",
            ),
            Assumption(
                "Cuts along single columns separate anomalies.",
                "A row that is odd only in combination is isolated late; give the combination as a column.",
            ),
        ),
        Complexity("O(trees x sample log sample)", "O(trees log sample)", "O(trees x sample)"),
        ("Liu, Ting & Zhou 2008, Isolation forest, ICDM",),
    )
    learned: ClassVar[dict[str, str]] = {**Detector.learned, "trees_": "value", "max_samples_": "int[]"}
    usual_cut: ClassVar[Cut] = Fixed(at=0.5)

    n_jobs: Any = inert(None, "tilth.set_threads limits the threads of all models")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    n_estimators: int = param(100, low=1, positional=True, doc="Number of trees.", tune=(50, 500))
    max_samples: Any = param(
        "auto", options=("auto",), also=(int, float), doc="Rows per tree: a number, a share, or auto for 256 at most."
    )
    max_features: Any = param(1.0, doc="Columns that one tree may use: a number (int) or a share (float).")
    max_depth: int | None = param(
        None, low=1, high=1000, doc="Depth at which growth ends; None is ceil(log2 of the rows per tree)."
    )
    random_state: Any = seed_param()

    def recipe(self) -> Recipe:
        """Random cuts; nothing is optimised."""
        return Recipe(
            f"rows of columns of any kind, {self.max_samples} per tree [max_samples]",
            f"{self.n_estimators} trees of random cuts [n_estimators]; score 2^(-mean path / c(n))",
            "none: short paths are anomalous",
            f"drawing, by seed {self.random_state} [random_state]; cut at contamination {self.contamination!r}",
        )

    def learn(self, table: Table, target: Any, weight: Floats | None) -> None:
        """Grow the trees."""
        owner = type(self).__name__
        rows = copies_of(table.n_rows, weight)
        wanted = 256 if self.max_samples == "auto" else part_of(self.max_samples, rows, f"{owner}: max_samples", "rows")
        self.max_samples_ = min(wanted, rows)
        self.trees_ = grow_isolation(
            table,
            tree_seeds(self.random_state, self.n_estimators),
            self.max_samples_,
            weight=weight,
            max_depth=self.max_depth,
            columns=part_of(self.max_features, len(table.columns), f"{owner}: max_features", "columns"),
        )

    def strangeness(self, table: Table) -> Floats:
        """2^(-E(h) / c(n)): near 1 for anomalies, below 0.5 for ordinary rows."""
        usual = _core.mean_path_length(self.max_samples_)
        length = self.trees_.sum_values(table)[:, 0] / self.trees_.n_trees
        # One drawn row is alone at once: nothing can be said about any other.
        return np.exp2(-length / usual) if usual > 0 else np.full(len(length), 0.5)

    def path_length(self, X: Any) -> Floats:
        """E(h): mean number of cuts until the row stands alone, which :meth:`explain` divides among the columns."""
        table = self._seen(X)
        return np.asarray(self.trees_.sum_values(table)[:, 0] / self.trees_.n_trees)

    def explain(self, X: Any) -> Explanation:
        """Path length of each row as a sum over the columns: what lowers it makes the row an anomaly (TreeSHAP)."""
        explanation = super().explain(X)
        explanation.classes = ["path length"]
        return explanation

    def sections(self) -> list[Section]:
        """The cut, besides what all tree models tell."""
        usual = _core.mean_path_length(self.max_samples_)
        text = (
            f"{self.trees_.n_trees} trees of {self.max_samples_} rows; a row is alone after c({self.max_samples_}) = "
            f"{usual:.4f} cuts on average. Rows with an anomaly score above {-self.offset_:.4f} are anomalies."
        )
        return [*super().sections(), Section("Isolation", text)]

    def validate_state(self) -> None:
        """Refuse a state whose parts do not fit together."""
        self.trees_.validate(1)
        if self.max_samples_ < 1 or not np.isfinite(self.offset_):
            raise ValueError("the forest has no rows per tree, or no cut")
