"""k-means (Lloyd 1957; MacQueen 1967): k centres, every row to the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Card, Clusterer, Complexity, Recipe, Section, Traits
from tilth.base.answers import Need
from tilth.base.transformer import like_input
from tilth.data.names import beside
from tilth.data.reading import read
from tilth.data.table import Table, numeric_table
from tilth.engines.cluster.lloyd import ClusterSums, RowPool, Walk, nearest, spread_out, walk
from tilth.errors import warn_model
from tilth.params import declared, inert, param
from tilth.stats.moments import Moments

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def _matrix(rows: Any) -> Any:
    return rows.numbers() if isinstance(rows, Table) else rows


@declared
class KMeans(TransformerMixin, Clusterer):
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
    hooks: ClassVar[dict[Need, str]] = {**Clusterer.hooks, "transformed": "transform"}
    learned: ClassVar[dict[str, str]] = {
        **Clusterer.learned, "cluster_centers_": "float[k, p]", "inertia_": "float[]", "n_iter_": "int[]",
        "names_seen_": "str[p]", "sizes_": "float[k]", "trace_": "float[i]",
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
    random_state: Any = param(0, doc="Seed of the first centres; None takes a new one each time.")
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

    def learn(self, table: Any, target: Any, weight: Floats | None) -> None:
        """Walk over all rows at once."""
        X = _matrix(table)
        pool = RowPool.empty(X.shape[1], self._seed())
        pool.update(X, weight)
        spread = Moments.empty(1, X.shape[1]) if isinstance(table, Table) else None
        if spread is not None:
            spread.update(X, None, weight)

        def measure(centres: Floats) -> ClusterSums:
            sums = ClusterSums.empty(centres)
            sums.update(X, weight)
            return sums

        self._choose(measure, pool, spread, table)

    def learn_in_rounds(self, passes: Any, table: Any, target: Any) -> None:
        """One pass over the chunks for the first centres, then one for each step of a walk."""
        width, seed = _matrix(table).shape[1], self._seed()
        pool = passes(lambda: RowPool.empty(width, seed), lambda s, t, y, w: s.update(_matrix(t), w))
        spread = passes(lambda: Moments.empty(1, width), lambda s, t, y, w: s.update(_matrix(t), None, w))

        def measure(centres: Floats) -> ClusterSums:
            return cast(
                ClusterSums, passes(lambda: ClusterSums.empty(centres), lambda s, t, y, w: s.update(_matrix(t), w))
            )

        self._choose(measure, pool, spread, table)

    def _seed(self) -> int:
        return int(np.random.default_rng().integers(2**31)) if self.random_state is None else int(self.random_state)

    def _choose(self, measure: Any, pool: RowPool, spread: Moments | None, table: Any) -> None:
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
        self.names_seen_ = (
            list(table.names) if isinstance(table, Table) else [f"x{j}" for j in range(pool.rows.shape[1])]
        )
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
        return nearest(_matrix(table), self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
        """Distance of each row to every centre, in the container of the rows."""
        rows = _matrix(self._rows(X))
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        distances = np.column_stack([np.sqrt(nearest(rows, c[None])[1]) for c in self.cluster_centers_])
        raw = read(X)
        return distances if raw.is_sparse else like_input(numeric_table(distances, self._columns_out()), raw, X)

    def _columns_out(self) -> list[str]:
        return [f"kmeans{i}" for i in range(self.n_clusters)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``kmeans0`` and so on, a column per cluster."""
        check_is_fitted(self)
        return np.array(self._columns_out(), dtype=object)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Less the inertia of these rows: higher is better."""
        distance = nearest(_matrix(self._rows(X)), self.cluster_centers_)[1]
        return -float(distance.sum() if sample_weight is None else distance @ np.asarray(sample_weight, dtype=float))

    def clusters(self) -> pd.DataFrame:
        """Share of the rows and centre of every cluster, in the units of the table; largest first."""
        import pandas as pd

        check_is_fitted(self)
        centres = self.plan_.in_user_units(self.names_seen_, self.cluster_centers_)
        frame = pd.DataFrame(centres, columns=beside(self.names_seen_, ["cluster", "share"]))
        frame.insert(0, "cluster", [self.cluster_names_.get(str(c), c) for c in range(len(frame))])
        frame.insert(1, "share", self.sizes_ / self.sizes_.sum())
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def sections(self) -> list[Section]:
        """The clusters, besides what all models tell."""
        text = f"Inertia {self.inertia_:.6g} after {self.n_iter_} passes."
        return [*super().sections(), Section("Clusters", text, self.clusters())]

    def validate_state(self) -> None:
        """Refuse centres that do not fit together."""
        if self.cluster_centers_.shape != (len(self.sizes_), len(self.names_seen_)):
            raise ValueError("KMeans: centres, sizes and names do not fit together.")
