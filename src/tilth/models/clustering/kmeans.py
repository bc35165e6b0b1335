"""k-means (Lloyd 1957; MacQueen 1967): k centres, every row to the nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Card, Clusterer, Complexity, Recipe, Section, Traits, Transformer
from tilth.base.answers import Need
from tilth.base.passes import Passes
from tilth.base.seeds import seed_of, seed_param
from tilth.data.names import beside
from tilth.data.table import Table, matrix_of
from tilth.engines.cluster.lloyd import ClusterSums, RowPool, Walk, nearest, spread_out, walk
from tilth.errors import warn_model
from tilth.params import declared, inert, param
from tilth.stats.moments import Moments

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class KMeans(Transformer, Clusterer):
    """k centres such that the squared distances of the rows to their nearest centre sum to little (inertia).

    Rows go to their nearest centre and centres to the mean of their rows, in turn, until no centre moves; neither step
    can raise the inertia. First centres are spread out by k-means++, ``n_init`` times by other draws; the walk that
    ends lowest is kept. A cluster that loses all rows starts anew at the row furthest from its centre. Columns count
    in their own units; ``scale="standard"`` weighs them alike where the units differ.

    >>> model = KMeans(2).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist()), model.inertia_
    ([0.5, 9.5], 1.0)
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, sparse=True)
    fold: ClassVar[Any] = "rounds"
    card: ClassVar[Card] = Card(
        "Every row belongs to the nearest of k centres, each the mean of its rows.",
        Traits("clustering", supervision="unsupervised"),
        (
            Assumption("Clusters are round and of like size.", "Long or nested shapes are cut into pieces."),
            Assumption("The number of clusters is known.", "Compare inertia or silhouettes for several k."),
            Assumption("Units are comparable.", "A column of large numbers decides alone; use scale='standard'."),
        ),
        Complexity("O(n p k) per pass", "O(p k)", "O(n + p k)"),
        ("Lloyd 1957, Least squares quantization in PCM", "Arthur & Vassilvitskii 2007, k-means++"),
    )
    hooks: ClassVar[dict[Need, str]] = {**Clusterer.hooks, **Transformer.hooks}
    learned: ClassVar[dict[str, str]] = {
        **Clusterer.learned, "cluster_centers_": "float[k, seen]", "names_out_": "str[k]", "sizes_": "float[k]",
        "inertia_": "float[]", "n_iter_": "int[]", "trace_": "float[i]",
    }  # fmt: skip

    algorithm: str = inert("lloyd", "every pass is the same")
    copy_x: bool = inert(True, "the rows that were passed are never changed")
    verbose: Any = inert(0, "tilth.progress shows how far a long fit is")
    n_clusters: int = param(8, low=1, positional=True, doc="Number of clusters k.", tune=(2, 20))
    init: Any = param(
        "k-means++", options=("k-means++", "random"), also=(np.ndarray, list),
        doc="First centres: spread out, rows drawn at random, or the centres themselves.",
    )  # fmt: skip
    n_init: Any = param("auto", options=("auto",), also=(int,), doc="Walks from other first centres; auto: 3.")
    max_iter: int = param(300, low=1, doc="Passes over the rows at most.")
    tol: float = param(
        1e-4, low=0, doc="Squared movement of the centres, beside the mean variance, that counts as rest."
    )
    random_state: Any = seed_param("Seed of the first centres; None takes a new one each time.")
    scale: str = param(
        "none", options=("none", "standard"),
        doc="Numbers as they are, or standardised first, so that distances weigh all of them alike.",
    )  # fmt: skip

    def recipe(self) -> Recipe:
        """Alternating minimisation."""
        return Recipe(
            "rows of numbers; other kinds are converted",
            f"{self.n_clusters} centres [n_clusters]",
            "sum of squared distances to the nearest centre",
            f"assign and move in turn, from {self.init!r:.20} [init], best of {self._walks()} walks [n_init]",
        )

    def _walks(self) -> int:
        return 1 if not isinstance(self.init, str) else 3 if self.n_init == "auto" else int(self.n_init)

    def learn_in_rounds(self, passes: Passes, table: Any, target: Any) -> None:
        """One pass over the rows for the first centres, then one for each step of a walk."""
        width, seed = len(self.columns_seen_), seed_of(self.random_state)

        def gather(empty: Callable[[], Any]) -> Any:
            return passes(empty, lambda statistic, rows, y, weight: statistic.update(matrix_of(rows), weight))

        spread = None
        if isinstance(table, Table):
            spread = passes(lambda: Moments.empty(1, width), lambda s, rows, y, w: s.update(rows.numbers(), None, w))
        pool = gather(lambda: RowPool.empty(width, seed))
        self._choose(lambda centres: gather(lambda: ClusterSums.empty(centres)), pool, spread)

    def _choose(self, measure: Callable[[Floats], ClusterSums], pool: RowPool, spread: Moments | None) -> None:
        k, rows = self.n_clusters, len(pool.rows)
        if rows < k:
            distinct = "distinct rows" if rows < measure(pool.rows[:1]).weight.sum() else "rows"
            if distinct == "rows":
                raise ValueError(
                    f"KMeans: n_samples={rows} should be >= n_clusters={k}; give more rows, or fewer clusters."
                )
            warn_model("W213", f"KMeans: there are {rows} distinct rows for {k} clusters, so some stay empty.")
        tol = self.tol * (float(spread.variance()[0].mean()) if spread is not None else 1.0)
        walks: list[Walk] = []
        for i in range(self._walks()):
            rng = np.random.default_rng([pool.seed, i])
            walks.append(walk(measure, self._first(pool, rng), self.max_iter, tol))
        best = min(walks, key=lambda w: w.inertia[-1])
        self.cluster_centers_ = best.centres
        self.inertia_, self.n_iter_ = best.inertia[-1], len(best.inertia) - 1
        self.trace_ = np.array(best.inertia)
        self.sizes_ = measure(best.centres).weight
        self.names_out_ = [f"kmeans{i}" for i in range(k)]
        if not best.converged:
            warn_model("W207", f"KMeans: centres still moved after {self.max_iter} passes; raise max_iter.")

    def _first(self, pool: RowPool, rng: np.random.Generator) -> Floats:
        k, width = self.n_clusters, pool.rows.shape[1]
        if not isinstance(self.init, str):
            centres = np.array(self.init, dtype=np.float64)
            if centres.shape != (k, width) or not np.isfinite(centres).all():
                raise ValueError(
                    f"KMeans: init must hold {k} finite centres of {width} columns each; got shape {centres.shape}."
                )
            return centres
        if self.init == "random":
            share = pool.weight / pool.weight.sum()
            few = len(pool.rows) < k
            return np.array(pool.rows[rng.choice(len(pool.rows), k, replace=few, p=share)])
        return spread_out(pool, k, rng)

    def assign(self, table: Any) -> NDArray[np.int32]:
        """The nearest centre."""
        return nearest(matrix_of(table), self.cluster_centers_)[0]

    def convert(self, rows: Any) -> Floats:
        """Distance of each row to every centre."""
        X = matrix_of(rows)
        X = X.toarray() if hasattr(X, "toarray") else X
        return np.column_stack([np.sqrt(nearest(X, c[None])[1]) for c in self.cluster_centers_])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Less the inertia of these rows: higher is better."""
        distance = nearest(matrix_of(self._rows(X)), self.cluster_centers_)[1]
        return -float(distance.sum() if sample_weight is None else distance @ np.asarray(sample_weight, dtype=float))

    def clusters(self) -> pd.DataFrame:
        """Share of the rows and centre of every cluster, in the units of the table; largest first."""
        import pandas as pd

        check_is_fitted(self)
        names = [c.name for c in self.columns_seen_]
        centres = self.plan_.in_user_units(names, self.cluster_centers_)
        frame = pd.DataFrame(centres, columns=beside(names, ["cluster", "share"]))
        frame.insert(0, "cluster", [self.cluster_names_.get(str(c), c) for c in range(len(frame))])
        frame.insert(1, "share", self.sizes_ / self.sizes_.sum())
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def sections(self) -> list[Section]:
        """The clusters, besides what all models tell."""
        text = f"Inertia {self.inertia_:.6g} after {self.n_iter_} passes."
        return [*super().sections(), Section("Clusters", text, self.clusters())]
