"""Tests as values, and the tests of a regression's residuals: arrays in, a :class:`Test` out.

``Z`` is a design with its column of ones where the model has an intercept, ``residual`` y less the fitted mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

#: A sum of squared residuals, beside that of the target, which is rounding.
EXACT = 1e-24
#: Shares of the largest eigenvalue above which columns are independent for sure, and below which one is not.
_CLEAR, _NOTHING = 1e-8, 1e-14
#: Cells of the products of columns that White's test may take.
_MOST_CELLS = 2e7


@dataclass(frozen=True)
class Test:
    """A test: its statistic, degrees of freedom, p-value, and how large the effect is (in the words of ``measure``)."""

    __test__ = False  # not a test of this project's own: pytest should not collect it

    name: str
    statistic: float
    dof: tuple[float, ...]
    p_value: float
    size: float = math.nan
    measure: str = ""

    def __str__(self) -> str:
        dof = ", ".join(f"{d:g}" for d in self.dof)
        return f"{self.name}({dof}) = {self.statistic:.4g}, p = {self.p_value:.3g}"


def holm(p_values: Any) -> Floats:
    """p-values adjusted so that the chance of any false alarm among all tests is at most the level (Holm 1979).

    NaN, a test that could not be made, stays so and does not count.

    >>> holm([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.08, 0.5]
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = p.copy()
    out[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return out


def f_test(name: str, statistic: float, extra: float, left: float, size: float = math.nan, measure: str = "") -> Test:
    """An F statistic with ``extra`` and ``left`` degrees of freedom."""
    if extra <= 0 or left <= 0 or statistic != statistic:
        return Test(name, math.nan, (extra, left), math.nan, size, measure)
    p = 0.0 if math.isinf(statistic) else float(special.fdtrc(extra, left, max(statistic, 0.0)))
    return Test(name, float(statistic), (extra, left), p, size, measure)


def chi2_test(name: str, statistic: float, dof: float, size: float = math.nan, measure: str = "") -> Test:
    """A statistic that is chi-squared with ``dof`` degrees of freedom."""
    p = float(special.chdtrc(dof, max(statistic, 0.0))) if dof > 0 and statistic == statistic else math.nan
    return Test(name, float(statistic), (dof,), p, size, measure)


def two_sided(statistic: Any, dof: float = math.inf) -> Floats:
    """P(|T| > |statistic|) of Student's t, or of a normal for infinite ``dof``."""
    far = -np.abs(np.asarray(statistic, dtype=np.float64))
    return np.asarray(2 * (special.ndtr(far) if math.isinf(dof) else special.stdtr(dof, far)))


def critical(level: float, dof: float = math.inf) -> float:
    """The half-width, in standard errors, of an interval of this level."""
    if not 0 < level < 1:
        raise ValueError(f"A level of confidence lies between 0 and 1, such as 0.95; got {level!r}.")
    share = (1 + level) / 2
    return float(special.ndtri(share) if math.isinf(dof) else special.stdtrit(dof, share))


def orthonormal(Z: Floats) -> Floats:
    """An orthonormal basis of the columns, as many as are independent.

    By the eigenvectors of the cross products where these tell clearly which columns are (twice, which restores the
    digits that the products lose), else by the SVD.
    """
    # Columns of one length: what is independent must not depend on units.
    length = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    Z = Z[:, length > 0] / length[length > 0]
    if not Z.shape[1]:
        return Z
    values, vectors = np.linalg.eigh(Z.T @ Z)
    known = values > _CLEAR * values[-1]
    if (values[~known] > _NOTHING * len(values) * values[-1]).any() or len(Z) < Z.shape[1]:
        basis, lengths, _ = np.linalg.svd(Z, full_matrices=False)
        return np.asarray(basis[:, lengths > 1e-11 * lengths[0]])
    first = Z @ (vectors[:, known] / np.sqrt(values[known]))
    again, turned = np.linalg.eigh(first.T @ first)
    return np.asarray(first @ (turned / np.sqrt(again)))


def without(Q: Floats, y: Floats) -> Floats:
    """What is left of y (or of columns) beside an orthonormal basis."""
    left = y - Q @ (Q.T @ y)
    return np.asarray(left - Q @ (Q.T @ left))


def least_squares(Z: Floats, y: Floats) -> tuple[float, int]:
    """Residual sum of squares of y on Z, and the rank of Z."""
    Q = orthonormal(Z)
    residual = without(Q, y)
    left = float(residual @ residual)
    return (left if left > EXACT * float(y @ y) else 0.0), Q.shape[1]


def added(name: str, Z: Floats, more: Floats, y: Floats) -> Test:
    """F test of further columns; the size is the share of the residual variance that they explain."""
    before, rank = least_squares(Z, y)
    after, whole = least_squares(np.column_stack([Z, more]), y)
    return _extra(name, before, after, whole - rank, len(y) - whole)


def _extra(name: str, before: float, after: float, extra: int, left: int) -> Test:
    if extra <= 0 or left <= 0 or after <= 0:
        return Test(name, math.nan, (extra, left), math.nan)
    share = max(0.0, 1.0 - after / before)
    value = (before - after) / extra / (after / left)
    return f_test(name, value, extra, left, share, "share of what was left unexplained")


def added_alone(name: str, Z: Floats, more: Floats, y: Floats) -> list[Test]:
    """The same for each further column alone."""
    Q = orthonormal(Z)
    residual = without(Q, y)
    before = float(residual @ residual)
    before = before if before > EXACT * float(y @ y) else 0.0
    out = []
    for column in more.T:
        own = without(Q, column)
        size = float(own @ own)
        new = size > 1e-20 * float(column @ column)
        gain = float(own @ residual) ** 2 / size if new else 0.0
        out.append(_extra(name, before, max(before - gain, 0.0), int(new), len(y) - Q.shape[1] - 1))
    return out


# --------------------------------------------------------------------------------------------------------- linearity


def reset(Z: Floats, y: Floats, fitted: Floats) -> Test:
    """Ramsey's RESET (1969): do squares and cubes of the fitted values explain more?"""
    scaled = fitted / max(float(np.abs(fitted).max(initial=0.0)), 1e-300)
    return added("RESET F", Z, np.column_stack([scaled**2, scaled**3]), y)


def rainbow(Z: Floats, y: Floats, share: float = 0.5) -> Test:
    """Utts' rainbow test (1982): is the fit to the central rows much better than the fit to all?

    F = ((RSS - RSS_mid) / (n - m)) / (RSS_mid / (m - p)); central rows are those of least Mahalanobis distance.
    """
    n = len(y)
    varying = Z[:, np.ptp(Z, axis=0) > 0]
    if not varying.shape[1]:
        return Test("rainbow F", math.nan, (0, 0), math.nan)
    centred = varying - varying.mean(axis=0)
    distance = np.square(orthonormal(centred)).sum(axis=1)
    middle = np.argsort(distance, kind="stable")[: math.ceil(share * n)]
    whole, _ = least_squares(Z, y)
    inner, rank = least_squares(Z[middle], y[middle])
    m = len(middle)
    if m <= rank or inner <= 0:
        return Test("rainbow F", math.nan, (n - m, m - rank), math.nan)
    value = (whole - inner) / (n - m) / (inner / (m - rank))
    return f_test("rainbow F", value, n - m, m - rank, value - 1.0, "growth of the squared error away from the centre")


# ------------------------------------------------------------------------------------------------------ independence


def durbin_watson(residual: Floats, Z: Floats) -> Test:
    """d = sum (e_i - e_{i-1})^2 / sum e_i^2, about 2 (1 - r) for correlation r of neighbours.

    The p-value is two-sided, from a normal with the exact mean and variance of d (Durbin and Watson 1950), given Z.
    """
    n = len(residual)
    total = float(residual @ residual)
    if total <= 0 or n < 3:
        return Test("Durbin-Watson d", math.nan, (), math.nan)
    d = float(np.square(np.diff(residual)).sum()) / total
    Q = orthonormal(Z)
    k = Q.shape[1]
    moved = _second_differences(Q)
    inner = Q.T @ moved
    first = 2 * (n - 1) - np.trace(inner)
    second = 2 * (3 * n - 4) - 2 * np.sum(moved * moved) + np.sum(inner * inner)
    mean = first / (n - k)
    variance = 2 / ((n - k) * (n - k + 2)) * (second - first * mean)
    p = float(two_sided((d - mean) / math.sqrt(variance))) if variance > 0 and n > k else math.nan
    correlation = float(residual[1:] @ residual[:-1]) / total
    return Test("Durbin-Watson d", d, (), p, abs(correlation), "correlation of neighbours")


def _second_differences(Q: Floats) -> Floats:
    """A Q with A the matrix of sum (e_i - e_{i-1})^2 = e' A e."""
    steps = np.diff(Q, axis=0)
    out = np.zeros_like(Q)
    out[:-1] -= steps
    out[1:] += steps
    return out


def ljung_box(residual: Floats, lags: int) -> Test:
    """n (n + 2) sum_k r_k^2 / (n - k) over the first lags (Ljung and Box 1978)."""
    n = len(residual)
    centred = residual - residual.mean()
    total = float(centred @ centred)
    if total <= 0 or lags < 1 or n <= lags + 1:
        return Test("Ljung-Box Q", math.nan, (lags,), math.nan)
    r = np.array([centred[k:] @ centred[:-k] / total for k in range(1, lags + 1)])
    value = n * (n + 2) * float(np.sum(r**2 / (n - np.arange(1, lags + 1))))
    return chi2_test("Ljung-Box Q", value, lags, float(np.abs(r).max()), "largest correlation at a lag")


def segments(Z: Floats, y: Floats, most: int = 4) -> Test:
    """Chow's test (1960) over consecutive segments: does each need weights of its own?

    With too few rows for that, only a level of each segment is allowed to differ.
    """
    n, q = Z.shape
    pooled, rank = least_squares(Z, y)
    count = min(most, n // (5 * q)) if q else 0
    if count < 2:
        count = min(most, n // 5)
        if count < 2:
            return Test("Chow F", math.nan, (), math.nan)
        place = np.arange(n) * count // n
        return added("segment means F", Z, (place[:, None] == np.arange(1, count)).astype(np.float64), y)
    parts = [least_squares(Z[rows], y[rows]) for rows in np.array_split(np.arange(n), count)]
    apart, used = sum(rss for rss, _ in parts), sum(r for _, r in parts)
    extra, left = used - rank, n - used
    if apart <= 0 or extra <= 0 or left <= 0:
        return Test("Chow F", math.nan, (extra, left), math.nan)
    value = (pooled - apart) / extra / (apart / left)
    # What weights of their own explain by chance alone is no effect.
    share = 1.0 - (apart / left) / (pooled / (n - rank))
    return f_test(
        "Chow F", value, extra, left, max(0.0, share), f"share of variance that {count} separate fits explain"
    )


# ------------------------------------------------------------------------------------------------- spread and shape


def breusch_pagan(residual: Floats, Z: Floats) -> Test:
    """n R^2 of the squared residuals on the terms (Breusch and Pagan 1979, in Koenker's form, for any errors)."""
    return _spread("Breusch-Pagan LM", residual, Z)


def white(residual: Floats, Z: Floats, most: int = 300) -> Test:
    """n R^2 of the squared residuals on the terms, their squares and products (White 1980).

    Where products are too many, the fitted direction of the spread and its square stand for them.
    """
    n, q = Z.shape
    first, second = np.triu_indices(q)
    if len(first) <= min(most, n // 4, _MOST_CELLS / n):
        return _spread("White LM", residual, np.column_stack([Z, Z[:, first] * Z[:, second]]))
    size = np.abs(residual)
    along = size - without(orthonormal(Z), size)
    return _spread("White LM (short)", residual, np.column_stack([np.ones(n), along, along**2]))


def _spread(name: str, residual: Floats, columns: Floats) -> Test:
    squared = residual**2
    centred = squared - squared.mean()
    total = float(centred @ centred)
    if total <= 0:
        return Test(name, math.nan, (), math.nan)
    with_ones = np.column_stack([np.ones(len(squared)), columns])
    rss, rank = least_squares(with_ones, centred)
    share = max(0.0, 1.0 - rss / total)
    return chi2_test(name, len(squared) * share, rank - 1, share, "share of the variance of squared residuals")


def jarque_bera(residual: Floats) -> Test:
    """n / 6 (skewness^2 + excess kurtosis^2 / 4), chi-squared with 2 degrees of freedom."""
    n = len(residual)
    centred = residual - residual.mean()
    m2 = float(np.mean(centred**2))
    if m2 <= 0 or n < 3:
        return Test("Jarque-Bera", math.nan, (2,), math.nan)
    skew, kurtosis = float(np.mean(centred**3)) / m2**1.5, float(np.mean(centred**4)) / m2**2 - 3
    value = n / 6 * (skew**2 + kurtosis**2 / 4)
    return chi2_test(
        "Jarque-Bera", value, 2, max(abs(skew), abs(kurtosis) / 2), "larger of |skew| and |excess kurtosis| / 2"
    )


def shapiro(residual: Floats) -> Test:
    """Shapiro and Wilk (1965): correlation of the ordered residuals with normal scores."""
    from scipy import stats

    if len(residual) < 3 or np.ptp(residual) == 0:
        return Test("Shapiro-Wilk W", math.nan, (), math.nan)
    value, p = stats.shapiro(residual)
    return Test("Shapiro-Wilk W", float(value), (), float(p), 1.0 - float(value), "1 - W")
