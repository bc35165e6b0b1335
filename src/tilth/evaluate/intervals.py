"""Intervals for scores: pure functions from counts or numbers to an :class:`Interval`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.words import digits

Floats = NDArray[np.float64]

#: With more rows than this the bootstrap means are drawn from their normal limit instead of row by row.
RESAMPLED_ROWS = 10_000
#: Cells of resampled rows held at a time.
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A score from ``n`` rows (or folds) with the bounds that hold it at the given level of confidence."""

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int

    def to_dict(self) -> dict[str, Any]:
        """The interval as JSON-ready data."""
        return asdict(self)

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def __str__(self) -> str:
        value, low, high = digits(self.value, self.low, self.high)
        return f"{value} [{low}, {high}]"


def wald(correct: float, n: int, level: float = 0.95) -> Interval:
    """Normal interval of a share, e +- z sqrt(e (1 - e) / n); wrong for small n and for shares near 0 or 1.

    >>> print(wald(12, 40))
    0.300 [0.158, 0.442]
    """
    share = _share(correct, n, level, "wald")
    half = _z(level) * math.sqrt(share * (1 - share) / n)
    return Interval(share, share - half, share + half, level, "Wald", n)


def wilson(correct: float, n: int, level: float = 0.95) -> Interval:
    """Score interval of a share e (Wilson 1927); stays within 0 and 1 and holds for small n.

    (e + z^2 / 2n +- z sqrt(e (1 - e) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    >>> print(wilson(2, 20))
    0.100 [0.028, 0.301]
    """
    from tilth.stats.bounds import wilson_bounds

    share = _share(correct, n, level, "wilson")
    low, high = wilson_bounds(correct, n, level)
    return Interval(share, float(low), float(high), level, "Wilson", n)


def exact(correct: int, n: int, level: float = 0.95) -> Interval:
    """Clopper-Pearson interval of a share: all p that a binomial test at 1 - level does not reject.

    It never covers less than it says, at the price of being wide.

    >>> print(exact(0, 10))
    0.000 [0.000, 0.308]
    """
    from scipy.stats import beta

    share = _share(correct, n, level, "exact")
    tail = (1 - level) / 2
    low = 0.0 if correct == 0 else float(beta.ppf(tail, correct, n - correct + 1))
    high = 1.0 if correct == n else float(beta.ppf(1 - tail, correct + 1, n - correct))
    return Interval(share, low, high, level, "Clopper-Pearson", n)


def corrected_t(scores: Floats, n_train: int, n_test: int, level: float = 0.95) -> Interval:
    """Interval for the mean of scores over J resamplings whose training rows overlap (Nadeau and Bengio 2003).

    mean +- t_{J-1} sqrt((1 / J + n_test / n_train) s^2)

    Give differences of two models over the same folds to compare them.

    >>> import numpy as np
    >>> print(corrected_t(np.array([0.02, 0.04, 0.03, 0.05, 0.01]), n_train=80, n_test=20))
    0.030 [0.001, 0.059]
    """
    from tilth.stats.bounds import corrected_t_bounds

    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"corrected_t needs the scores of at least 2 resamplings; got shape {values.shape}.")
    if n_train < 1 or n_test < 1:
        raise ValueError(f"corrected_t needs training and test rows; got n_train={n_train}, n_test={n_test}.")
    _check_level(level, "corrected_t")
    low, high = corrected_t_bounds(values, n_test / n_train, level)
    return Interval(float(values.mean()), low, high, level, "corrected resampled t", len(values))


def over_splits(scores: Floats, overlap: float, level: float = 0.95) -> Interval:
    """Mean over splits with the same interval; ``overlap`` is test rows per training row, splits without a score (NaN)
    are left out, and one split alone has no interval.
    """
    known = np.asarray(scores, dtype=np.float64)
    known = known[np.isfinite(known)]
    value = float(known.mean()) if len(known) else math.nan
    if len(known) < 2:
        return Interval(value, math.nan, math.nan, level, "one split: no interval", len(known))
    from tilth.stats.bounds import corrected_t_bounds

    _check_level(level, "over_splits")
    return Interval(value, *corrected_t_bounds(known, overlap, level), level, "corrected resampled t", len(known))


def resampled_means(
    rows: Floats,
    weight: Floats | None = None,
    group: NDArray[Any] | None = None,
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> Floats:
    """Column means of bootstrap samples of ``rows`` (n x m): an array of repeats x m.

    All columns share each sample, so that differences between them are paired. With ``group`` whole groups are drawn:
    rows of a group are not independent of each other. Beyond ``RESAMPLED_ROWS`` rows (or groups) the means come from
    the normal distribution that the bootstrap then follows, N(mean, covariance / n).
    """
    rows = np.asarray(rows, dtype=np.float64)
    if weight is None and group is None:
        return _drawn_means(rows, repeats, seed)
    # A weighted mean is a ratio of sums: the sums of each unit (a row, or a group), and their weight beside them.
    w = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
    sums = np.column_stack([rows * w[:, None], w])
    if group is not None:
        _, code = np.unique(group, return_inverse=True)
        sums = np.column_stack([np.bincount(code, weights=sums[:, j]) for j in range(sums.shape[1])])
    drawn = _drawn_means(sums, repeats, seed)
    total = drawn[:, -1:]
    return np.asarray(drawn[:, :-1] / np.where(total > 0, total, np.nan))


def _drawn_means(rows: Floats, repeats: int, seed: int) -> Floats:
    n, width = rows.shape
    rng = np.random.default_rng(seed)
    if n > RESAMPLED_ROWS:
        covariance = np.atleast_2d(np.cov(rows, rowvar=False)) / n
        # Rounding may leave an eigenvalue a little below 0, which eigh takes for what it is.
        return rng.multivariate_normal(rows.mean(axis=0), covariance, size=repeats, method="eigh", check_valid="ignore")
    out = np.empty((repeats, width))
    block = max(1, _BLOCK_CELLS // (n * width))
    for start in range(0, repeats, block):
        size = min(block, repeats - start)
        drawn = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        out[start : start + block] = counts.astype(np.float64) @ rows / n
    return out


def percentile(
    rows: Floats,
    finish: Callable[[Floats], Floats] | None = None,
    *,
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> Interval:
    """Bootstrap percentile interval of a score that is ``finish(mean of rows)``; without ``finish`` the mean itself.

    Parameters
    ----------
    rows : one number, or a row of m numbers, per example.
    finish : from means (any number of them x m) to scores, as ``lambda m: np.sqrt(m[:, 0])`` for RMSE.

    >>> import numpy as np
    >>> print(percentile(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), seed=1))
    3.000 [1.800, 4.200]
    """
    _check_level(level, "percentile")
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if len(rows) == 0:
        raise ValueError("percentile needs at least one row to resample; got none.")
    return from_means(rows.mean(axis=0), resampled_means(rows, repeats=repeats, seed=seed), len(rows), finish, level)


def from_means(
    means: Floats,
    resampled: Floats,
    n: int,
    finish: Callable[[Floats], Floats] | None = None,
    level: float = 0.95,
    groups: int | None = None,
) -> Interval:
    """Percentile interval from means and their resamples (:func:`resampled_means`) of n rows, or of whole groups."""
    scores = resampled[:, 0] if finish is None else finish(resampled)
    value = means[0] if finish is None else finish(means[None, :])[0]
    interval = from_resamples(float(value), scores, n, level, groups is not None)
    return (
        interval
        if (groups or n) <= RESAMPLED_ROWS
        else replace(interval, method=f"normal limit of the {interval.method}")
    )


def from_resamples(value: float, scores: Floats, n: int, level: float = 0.95, grouped: bool = False) -> Interval:
    """Percentile interval from the scores of bootstrap samples; those that are not defined (NaN) are left out."""
    _check_level(level, "from_resamples")
    known = scores[~np.isnan(scores)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
    return Interval(value, float(low), float(high), level, "bootstrap of groups" if grouped else "bootstrap", n)


def _z(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _share(correct: float, n: int, level: float, owner: str) -> float:
    _check_level(level, owner)
    if n < 1 or not 0 <= correct <= n:
        raise ValueError(f"{owner} needs n of at least 1 and 0 <= correct <= n; got correct={correct}, n={n}.")
    return correct / n


def _check_level(level: float, owner: str) -> None:
    if not 0 < level < 1:
        raise ValueError(f"{owner}: level must lie between 0 and 1, as in 0.95; got {level}.")
