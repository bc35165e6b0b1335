"""Principal components (Pearson 1901; Hotelling 1933): the directions in which the rows vary most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tilth.base import Accepts, Assumption, Card, Complexity, Recipe, Section, Traits, Transformer
from tilth.base.transformer import like_input
from tilth.data.reading import read
from tilth.data.table import Table, matrix_of, numeric_table
from tilth.params import declared, inert, param
from tilth.stats.gram import Gram

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@declared
class PCA(Transformer):
    """Rows as coordinates along the orthogonal directions of largest variance, most important first.

    The components are the eigenvectors of the covariance (of the correlation with ``scaled=True``), the variances its
    eigenvalues over n - 1. The covariance is a sum over rows, so parts and files give the same components as all rows
    at once. ``n_components`` is a number, or the share of the variance to keep. Signs are fixed: the largest loading of
    each component is positive.

    >>> model = PCA(1).fit([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    >>> model.components_.round(4).tolist(), float(model.explained_variance_ratio_[0].round(6))
    ([[0.4472, 0.8944]], 1.0)
    """

    accepts: ClassVar[Accepts] = Accepts(numeric=True, sparse=True)
    fold: ClassVar[Any] = "once"
    card: ClassVar[Card] = Card(
        "Orthogonal directions in which the rows vary most.",
        Traits("transformation", supervision="unsupervised"),
        (
            Assumption("What varies most matters most.", "A small direction that separates classes is lost."),
            Assumption("Relations are linear.", "Curved shapes need more components than they have dimensions."),
            Assumption("Units are comparable.", "A column of large numbers is the first component; use scaled=True."),
        ),
        Complexity("O(n p^2 + p^3)", "O(p q)", "O(p^2)"),
        ("Pearson 1901, On lines and planes of closest fit", "Hotelling 1933"),
    )
    learned: ClassVar[dict[str, str]] = {
        **Transformer.learned, "components_": "float[q, seen]", "explained_variance_": "float[q]",
        "explained_variance_ratio_": "float[q]", "singular_values_": "float[q]", "mean_": "float[seen]",
        "scale_": "float[seen]", "noise_variance_": "float[]", "n_samples_": "float[]",
    }  # fmt: skip

    copy: bool = inert(True, "the rows that were passed are never changed")
    svd_solver: Any = inert("auto", "the eigenvalues of the covariance are exact")
    tol: Any = inert(0.0, "the eigenvalues of the covariance are exact")
    iterated_power: Any = inert("auto", "the eigenvalues of the covariance are exact")
    n_oversamples: Any = inert(10, "the eigenvalues of the covariance are exact")
    power_iteration_normalizer: Any = inert("auto", "the eigenvalues of the covariance are exact")
    random_state: Any = inert(None, "nothing is drawn")
    n_components: Any = param(
        None,
        positional=True,
        doc="Components to keep: a number, a share of the variance, None: all that vary.",
    )
    whiten: bool = param(False, options=(False, True), doc="Whether coordinates are divided by their deviation.")
    scaled: bool = param(False, options=(False, True), doc="Whether columns are divided by their deviation first.")

    def recipe(self) -> Recipe:
        """An eigenproblem."""
        kept = "all" if self.n_components is None else f"{self.n_components:g}"
        return Recipe(
            "rows of numbers; other kinds are converted",
            f"x = mean + components^T z, {kept} components [n_components]",
            "squared distance of the rows to the plane of the components",
            "eigenvectors of the covariance, one pass over the rows",
        )

    def statistic(self) -> Gram:
        """Cross products of no rows."""
        return Gram.empty(len(self.columns_seen_))

    def absorb(self, statistic: Gram, table: Any, target: Any, weight: Floats | None) -> None:
        """Add rows."""
        statistic.update(matrix_of(table), weight)

    def conclude(self, gram: Gram) -> None:
        """Eigenvectors of the covariance."""
        p, n = len(gram.mean), gram.weight
        spread = np.sqrt(np.diagonal(gram.cross) / max(n - 1, 1.0))
        self.scale_ = np.where(spread > 0, spread, 1.0) if self.scaled else np.ones(p)
        values, vectors = np.linalg.eigh(gram.cross / np.outer(self.scale_, self.scale_))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
        largest = np.abs(vectors).argmax(axis=1)
        vectors = vectors * np.where(vectors[np.arange(p), largest] < 0, -1.0, 1.0)[:, None]
        variance = values / max(n - 1, 1.0)
        total = variance.sum()
        share = variance / total if total > 0 else np.zeros(p)
        q = self._kept(share, n)
        self.n_samples_, self.mean_ = float(n), gram.mean.copy()
        self.components_, self.explained_variance_ = np.ascontiguousarray(vectors[:q]), variance[:q]
        self.explained_variance_ratio_, self.singular_values_ = share[:q], np.sqrt(values[:q])
        rest = min(p, max(int(n), 1)) - q
        self.noise_variance_ = float(variance[q : q + rest].mean()) if rest > 0 else 0.0
        self.names_out_ = [f"pca{i}" for i in range(q)]

    @property
    def n_components_(self) -> int:
        """Number of components that are kept."""
        return len(self.components_)

    def _kept(self, share: Floats, n: float) -> int:
        most = max(1, min(len(share), int(n)))
        wanted = self.n_components
        if wanted is None:  # directions in which nothing varies are arbitrary
            return int(np.clip((share > len(share) * np.finfo(float).eps).sum(), 1, most))
        if isinstance(wanted, (bool, np.bool_)) or not isinstance(wanted, (int, float, np.number)):
            raise ValueError(f"PCA: n_components must be a number, a share, or None; got {wanted!r}.")
        if isinstance(wanted, (float, np.floating)) and 0 < wanted < 1:
            return min(int(np.searchsorted(np.cumsum(share), wanted - 1e-12) + 1), most)
        if wanted != int(wanted) or not 1 <= wanted <= most:
            raise ValueError(
                f"PCA: n_components={wanted!r} must be between 1 and min(rows, columns) = {most} (n_samples = {n:g}), "
                "or a share of the variance between 0 and 1."
            )
        return int(wanted)

    def convert(self, rows: Any) -> Floats:
        """Coordinates along the components."""
        unit = self.components_ / self.scale_
        if isinstance(rows, Table):
            scores = (rows.numbers() - self.mean_) @ unit.T
        else:
            scores = rows @ unit.T - self.mean_ @ unit.T
        if self.whiten:
            scores = scores / np.sqrt(np.maximum(self.explained_variance_, np.finfo(float).tiny))
        return np.asarray(scores)

    def inverse_transform(self, X: Any) -> Any:
        """Rows whose coordinates these are; what the dropped components held is lost."""
        check_is_fitted(self)
        raw = read(X)
        scores = np.column_stack([np.asarray(c.values, dtype=np.float64) for c in raw.columns])
        if scores.shape[1] != self.n_components_:
            raise ValueError(f"PCA: X has {scores.shape[1]} columns, but there are {self.n_components_} components.")
        if self.whiten:
            scores = scores * np.sqrt(self.explained_variance_)
        rows = self.mean_ + (scores @ self.components_) * self.scale_
        return like_input(numeric_table(rows, [c.name for c in self.columns_seen_]), raw, X)

    def get_covariance(self) -> Floats:
        """The covariance that the model implies: components with their variances, and noise in all other directions."""
        check_is_fitted(self)
        extra = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        inner = (self.components_.T * extra) @ self.components_ + self.noise_variance_ * np.eye(len(self.mean_))
        return np.asarray(inner * np.outer(self.scale_, self.scale_))

    def loadings(self) -> pd.DataFrame:
        """Weight of every column in every component."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.components_.T, index=[c.name for c in self.columns_seen_], columns=self.names_out_)

    def sections(self) -> list[Section]:
        """Variance and loadings, besides what all models tell."""
        import pandas as pd

        upto = np.cumsum(self.explained_variance_ratio_)
        text = f"{self.n_components_} components hold {upto[-1]:.1%} of the variance."
        frame = pd.DataFrame(
            {"component": self.names_out_, "variance": self.explained_variance_,
             "share": self.explained_variance_ratio_, "together": upto}
        )  # fmt: skip
        loadings = self.loadings().reset_index(names="column")
        return [*super().sections(), Section("Components", text, frame), Section("Loadings", frame=loadings)]
