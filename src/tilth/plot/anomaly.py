"""Pictures of strangeness: contours of an anomaly score, and the ellipses of equal Mahalanobis distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from tilth.data.names import beside
from tilth.data.reading import read
from tilth.plot.boundary import plane, plane_values
from tilth.plot.marks import plain_words, thinned
from tilth.stats import Gram

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Rows drawn at most.
_MOST = 2000


@dataclass
class ScoreMap:
    """An anomaly score on a grid, ``scores[i, j]`` at ``(across[j], up[i])``, and of the rows themselves.

    ``cut`` is the score below which a row is called an anomaly.
    """

    names: tuple[str, str]
    across: Floats
    up: Floats
    scores: Floats
    rows: Floats
    row_scores: Floats
    cut: float

    def frame(self) -> pd.DataFrame:
        """One row per point of the grid: both columns and the score."""
        import pandas as pd

        across, up = np.meshgrid(self.across, self.up)
        first, second = beside(self.names, ("score",))
        return pd.DataFrame({first: across.ravel(), second: up.ravel(), "score": self.scores.ravel()})

    def row_frame(self) -> pd.DataFrame:
        """One row per row of the table: both columns, the score, and whether it is an anomaly."""
        import pandas as pd

        facts = {"score": self.row_scores, "anomaly": self.row_scores < self.cut}
        return pd.DataFrame(dict(zip(beside(self.names, facts), self.rows.T, strict=True)) | facts)

    @property
    def figure(self) -> Any:
        """Contours of the score, the cut as a line, anomalies as crosses; a matplotlib Figure."""
        figure, axes = _plane_figure(self.names)
        shades = axes.contourf(self.across, self.up, self.scores, levels=12, cmap="Blues_r")
        if self.scores.min() < self.cut < self.scores.max():
            axes.contour(self.across, self.up, self.scores, levels=[self.cut], colors="#e45756", linewidths=1.6)
        figure.colorbar(shades, ax=axes, label="score: the lower, the stranger")
        strange = self.row_scores < self.cut
        _draw_rows(axes, self.rows, strange)
        return plain_words(figure)


def score_map(model: Any, X: Any, columns: Sequence[int | str] = (0, 1), *, points: int = 80) -> ScoreMap:
    """The score of an anomaly model over two numeric columns; other columns are held at their usual value.

    Parameters
    ----------
    model : anything with ``score_samples``, lower for stranger rows; its ``offset_`` is the cut.
    X : the rows, whose range is the range of the picture.

    >>> from tilth import IsolationForest
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = score_map(IsolationForest().fit(X), X, points=20)
    >>> found.frame().shape, bool(found.scores[0, 0] < found.scores[10, 10])
    ((400, 3), True)
    """
    grid = plane(X, columns, points=points, owner="score_map")
    raw = read(X)
    rows = np.column_stack([plane_values(raw, name, "score_map") for name in grid.names])
    scores = grid.answers(model.score_samples(grid.rows)).astype(np.float64)
    cut = float(getattr(model, "offset_", np.nan))
    return ScoreMap(grid.names, grid.across, grid.up, scores, rows, np.asarray(model.score_samples(X)), cut)


@dataclass
class Ellipses:
    """Points of equal distance d from the mean, d^2 = (x - mean)' S^-1 (x - mean), one ellipse per share of a normal.

    ``distance`` is that of every row.
    """

    names: tuple[str, str]
    mean: Floats
    covariance: Floats
    shares: tuple[float, ...]
    rows: Floats
    distance: Floats

    @property
    def radii(self) -> Floats:
        """The distance within which each share of a normal sample lies: the root of chi-square with 2 freedoms."""
        return np.sqrt(chdtri(2, 1 - np.asarray(self.shares)))

    def points(self, share: float, n: int = 120) -> Floats:
        """Points of one ellipse: mean + radius L u, with L L' = S and u on the unit circle."""
        angle = np.linspace(0, 2 * np.pi, n)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        radius = float(np.sqrt(chdtri(2, 1 - share)))
        return np.asarray(self.mean + radius * (np.linalg.cholesky(self.covariance) @ circle).T)

    def frame(self) -> pd.DataFrame:
        """One row per point of every ellipse: its share, its distance, both columns."""
        import pandas as pd

        first, second = beside(self.names, ("share", "distance"))
        parts = [
            pd.DataFrame({"share": s, "distance": r, first: at[:, 0], second: at[:, 1]})
            for s, r, at in ((s, r, self.points(s)) for s, r in zip(self.shares, self.radii, strict=True))
        ]
        return pd.concat(parts, ignore_index=True)

    def row_frame(self) -> pd.DataFrame:
        """One row per row of the table: both columns, its distance, and whether it is beyond the last ellipse."""
        import pandas as pd

        facts = {"distance": self.distance, "outside": self.distance > self.radii[-1]}
        return pd.DataFrame(dict(zip(beside(self.names, facts), self.rows.T, strict=True)) | facts)

    @property
    def figure(self) -> Any:
        """The rows, the mean and the ellipses; a matplotlib Figure."""
        figure, axes = _plane_figure(self.names)
        _draw_rows(axes, self.rows, self.distance > self.radii[-1])
        axes.plot(*self.mean, "+", color="black", markersize=10)
        for share in self.shares:
            at = self.points(share)
            axes.plot(at[:, 0], at[:, 1], color="#e45756", linewidth=1.4)
            axes.annotate(f"{share:g}", at[0], xytext=(3, 0), textcoords="offset points", size=8, color="#e45756")
        return plain_words(figure)


def mahalanobis_ellipses(
    X: Any, columns: Sequence[int | str] = (0, 1), *, shares: Sequence[float] = (0.5, 0.9, 0.99)
) -> Ellipses:
    """Ellipses of equal Mahalanobis distance around the mean of two numeric columns.

    Parameters
    ----------
    shares : parts of a normal sample that the ellipses hold, each between 0 and 1.

    Rows with a missing value in either column are left out.

    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    >>> found = mahalanobis_ellipses(X, shares=[0.9])
    >>> found.mean, found.radii.round(3), found.distance.round(3)
    (array([1., 1.]), array([2.146]), array([1.225, 1.225, 1.225, 1.225]))
    """
    levels = tuple(sorted(float(s) for s in shares))
    if not levels or not all(0 < s < 1 for s in levels):
        raise ValueError(f"mahalanobis_ellipses: shares must lie between 0 and 1; got {list(shares)}.")
    raw = read(X)
    names = plane(X, columns, points=2, owner="mahalanobis_ellipses").names
    rows = np.column_stack([plane_values(raw, name, "mahalanobis_ellipses") for name in names])
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < 3:
        raise ValueError(f"mahalanobis_ellipses needs at least 3 rows with both values; found {len(rows)}.")
    seen = Gram.empty(2)
    seen.update(rows)
    covariance = seen.covariance(ddof=1)
    if np.linalg.matrix_rank(covariance, hermitian=True) < 2:
        raise ValueError(
            f"mahalanobis_ellipses: {names[0]!r} and {names[1]!r} lie on one line, so there is no ellipse; drop one."
        )
    away = rows - seen.mean
    distance = np.sqrt(np.einsum("ij,ij->i", away @ np.linalg.inv(covariance), away))
    return Ellipses(names, np.asarray(seen.mean), covariance, levels, rows, distance)


def _plane_figure(names: tuple[str, str]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _draw_rows(axes: Any, rows: Floats, strange: NDArray[np.bool_]) -> None:
    usual = np.flatnonzero(~strange)
    usual = usual[thinned(len(usual), _MOST)]
    axes.plot(rows[usual, 0], rows[usual, 1], "o", color="0.35", markersize=3, alpha=0.6, markeredgewidth=0)
    axes.plot(rows[strange, 0], rows[strange, 1], "x", color="#b4232a", markersize=6)
