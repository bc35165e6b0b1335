"""Measures of groups that were found: beside known classes (``true`` and ``given`` are labels), or by distances alone.

All but the silhouette are functions of the table classes x clusters; for entropies H and joint information I:
homogeneity I / H(class), completeness I / H(cluster), NMI = V-measure = 2 I / (H(class) + H(cluster)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.tables import Table

Floats = NDArray[np.float64]


def _table(answers: Answers) -> Table:
    codes = [np.unique(labels, return_inverse=True) for labels in (answers.true, answers.given)]
    shape = len(codes[0][0]), len(codes[1][0])
    return Table.of(codes[0][1], codes[1][1], shape, answers.weight)


def _entropies(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """H(class), H(cluster) and the information between them, of tables b x r x c."""
    from scipy.special import xlogy

    share = cells / cells.sum(axis=(1, 2), keepdims=True)
    rows, columns = share.sum(axis=2), share.sum(axis=1)
    h_class, h_cluster = -xlogy(rows, rows).sum(axis=1), -xlogy(columns, columns).sum(axis=1)
    joint = -xlogy(share, share).sum(axis=(1, 2))
    return h_class, h_cluster, np.maximum(h_class + h_cluster - joint, 0.0)


def _part(information: Floats, entropy: Floats) -> Floats:
    """Share of an entropy; 1 where there is none to explain."""
    return np.clip(np.divide(information, entropy, out=np.ones_like(entropy), where=entropy > 1e-12), 0.0, 1.0)


def _homogeneity(cells: Floats) -> Floats:
    h_class, _, information = _entropies(cells)
    return _part(information, h_class)


def _completeness(cells: Floats) -> Floats:
    _, h_cluster, information = _entropies(cells)
    return _part(information, h_cluster)


def _v_measure(cells: Floats) -> Floats:
    h_class, h_cluster, information = _entropies(cells)
    return _part(2 * information, h_class + h_cluster)


def _purity(cells: Floats) -> Floats:
    return cells.max(axis=1).sum(axis=1) / cells.sum(axis=(1, 2))


def _adjusted_rand(cells: Floats) -> Floats:
    """(pairs together in both - expected) / (mean of pairs together in either - expected)."""
    n = cells.sum(axis=(1, 2))
    both, one, other = (
        (x * (x - 1) / 2).sum(axis=tuple(range(1, x.ndim))) for x in (cells, cells.sum(axis=2), cells.sum(axis=1))
    )
    pairs = n * (n - 1) / 2
    expected = np.divide(one * other, pairs, out=np.zeros_like(n), where=pairs > 0)
    room = (one + other) / 2 - expected
    return np.divide(both - expected, room, out=np.ones_like(n), where=np.abs(room) > 1e-12 * np.maximum(pairs, 1.0))


def _of_table(name: str, score: Callable[[Floats], Floats], meaning: str, low: float = 0.0) -> Metric:
    def resample(answers: Answers, repeats: int, seed: int) -> Floats:
        return score(_table(answers).resamples(repeats, seed))

    return Metric(
        name, "clustering", bounds=(low, 1.0), meaning=meaning, resample=resample,
        whole=lambda answers: float(score(_table(answers).cells[None])[0]),
    )  # fmt: skip


def silhouette(X: Any, metric: str = "euclidean") -> Metric:
    """Mean over rows of (b - a) / max(a, b): a mean distance to the own cluster, b to the nearest other one.

    The rows of ``X`` are those of the answers, in the same order.

    >>> import numpy as np
    >>> cluster = np.array([0, 0, 1, 1])
    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]]).score(Answers(cluster, cluster)), 3)
    0.9
    """

    def rows(answers: Answers) -> Floats:
        from sklearn.metrics import silhouette_samples

        table = np.asarray(X, dtype=np.float64)
        n_clusters = len(np.unique(answers.given))
        if len(table) != answers.n:
            raise ValueError(f"silhouette needs as many rows of X as answers ({answers.n}), found {len(table)}.")
        if not 1 < n_clusters < answers.n:
            return np.full((answers.n, 1), np.nan)
        return np.asarray(silhouette_samples(table, answers.given, metric=metric), dtype=np.float64)[:, None]

    return Metric(
        "silhouette", "clustering", rows, bounds=(-1, 1),
        meaning="how much nearer rows are to their own cluster than to the next; 0 is a border, below 0 is misplaced",
    )  # fmt: skip


def _silhouettes(answers: Answers) -> Floats:
    """The silhouette of each row and whether it has one, so that their ratio is the mean of those there are."""
    assert answers.score is not None
    there = ~np.isnan(answers.score)
    return np.column_stack([np.where(there, answers.score, 0.0), there])


def _mean_of_some(means: Floats) -> Floats:
    return np.divide(means[:, 0], means[:, 1], out=np.full(len(means), np.nan), where=means[:, 1] > 0)


#: Of rows whose silhouettes are the score of the answers, as an evaluation of clusters gives them.
SILHOUETTE = Metric(
    "silhouette", "clustering", _silhouettes, _mean_of_some, bounds=(-1, 1), needs="score",
    meaning="how much nearer rows are to their own cluster than to the next; 0 is a border, below 0 is misplaced",
)  # fmt: skip

METRICS = (
    _of_table("ARI", _adjusted_rand, "pairs of rows treated alike, beyond chance (adjusted Rand): 0 is chance", -1.0),
    _of_table("NMI", _v_measure, "information that clusters and classes share, over the mean of their entropies"),
    _of_table("V-measure", _v_measure, "harmonic mean of homogeneity and completeness"),
    _of_table("homogeneity", _homogeneity, "1 where every cluster holds one class only"),
    _of_table("completeness", _completeness, "1 where every class lies in one cluster"),
    SILHOUETTE,
    _of_table(
        "purity", _purity, "share of rows that are of their cluster's largest class; rises with the number of clusters"
    ),
)
