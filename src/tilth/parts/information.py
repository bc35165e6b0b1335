"""Amounts of information: entropy, surprisal, divergence; and how two columns vary together.

Amounts are in bits (base 2), as :class:`tilth.parts.criteria.Entropy` and the gains of trees are; ``base=math.e`` gives
nats, the unit of log-likelihoods, and ``base=10`` bans. Everywhere 0 log 0 = 0, its limit. What is counted may be
given as counts or as probabilities: both are divided by their sum.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, xlogy

from tilth.parts.criteria import Deviance, class_shares, impurity_decrease, weighted_impurity
from tilth.stats import Gram

Floats = NDArray[np.float64]

_NATS = Deviance()


def log_of_base(base: Any) -> float:
    """ln(base): amounts in nats divided by it are in units of the base.

    >>> log_of_base(math.e)
    1.0
    """
    if not _is_number(base) or not 0 < base < math.inf or base == 1:
        raise ValueError(f"The base of a logarithm must be a number above 0 other than 1, such as 2; got {base!r}.")
    return math.log(base)


@runtime_checkable
class _Divergent(Protocol):
    """What can tell its own divergence and cross-entropy: distributions."""

    def kl_divergence(self, other: Any, base: float = 2) -> Floats: ...

    def cross_entropy(self, other: Any, base: float = 2) -> Floats: ...


# ------------------------------------------------------------------------------------------------------------ entropy


def entropy(shares: Any, base: float = 2) -> Floats:
    """H = -sum p log p over the last axis, from probabilities or counts: the mean surprisal.

    >>> round(float(entropy([9, 5])), 4), float(entropy([16, 0]))
    (0.9403, 0.0)
    """
    return _NATS.of(_filled(shares, "entropy")) / log_of_base(base)


def joint_entropy(table: Any, base: float = 2) -> float:
    """H(X, Y) = -sum p(x, y) log p(x, y) of a table with one axis per variable.

    >>> joint_entropy([[1, 1], [1, 1]])
    2.0
    """
    return float(entropy(np.ravel(np.asarray(table)), base))


def conditional_entropy(table: Any, base: float = 2) -> float:
    """H(column | row) = sum over rows of p(row) H(column within the row) = H(row, column) - H(row).

    >>> outlook = [[4, 0], [3, 2], [2, 3]]  # overcast, rainy, sunny: play, not
    >>> round(conditional_entropy(outlook), 4)
    0.6935
    """
    return weighted_impurity(_two_way(table, "conditional_entropy"), _NATS) / log_of_base(base)


def mutual_information(table: Any, base: float = 2) -> float:
    """I = sum p(x, y) log [p(x, y) / p(x) p(y)] = H(column) - H(column | row); 0 when row and column are independent.

    >>> round(mutual_information([[4, 0], [3, 2], [2, 3]]), 4)
    0.2467
    """
    # Rounding may leave a number just below zero, which no information is.
    return max(impurity_decrease(_two_way(table, "mutual_information"), _NATS) / log_of_base(base), 0.0)


def surprisal(probability: Any, base: float = 2) -> Floats:
    """-log p = log(1 / p), the self-information of an event: surprisals of independent events add.

    A density may be given for a measured value; its surprisal can then be negative.

    >>> surprisal([0.5, 0.125]).tolist()
    [1.0, 3.0]
    """
    p = np.asarray(probability, dtype=np.float64)
    if (p < 0).any():
        raise ValueError(f"surprisal: probabilities must not be negative; got {p[p < 0].flat[0]:g}.")
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(p) / log_of_base(base)) + 0.0  # + 0.0: the surprisal of certainty is 0, not -0


def surprises(log_probability: Any, top: int = 10, base: float = 2) -> tuple[NDArray[np.int64], Floats]:
    """Rows that the model found most surprising, and their surprisals, largest first; equal ones in row order.

    ``log_probability`` are natural logarithms, as ``logpdf`` gives them; their negative sum is the NLL.

    >>> rows, amounts = surprises(np.log([0.5, 0.001, 0.25]), top=2)
    >>> rows.tolist(), amounts.round(2).tolist()
    ([1, 2], [9.97, 2.0])
    """
    logs = np.asarray(log_probability, dtype=np.float64)
    if logs.ndim != 1 or np.isnan(logs).any():
        problem = "missing numbers" if logs.ndim == 1 else f"{logs.ndim} dimensions"
        raise ValueError(f"surprises needs one log-probability per row; found {problem}.")
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise ValueError(f"surprises: top must be a whole number of at least 1; got {top!r}.")
    rows = np.argsort(logs, kind="stable")[:top]
    return rows.astype(np.int64), -logs[rows] / log_of_base(base)


# --------------------------------------------------------------------------------------------------------- divergence


def kl_divergence(p: Any, q: Any, base: float = 2) -> Floats:
    """D(p || q) = sum p log(p / q): what it costs to believe q where p holds. Never negative, 0 only when p = q.

    Not symmetric; infinite where q excludes what p allows. Takes two lists of shares, or two distributions.

    >>> float(kl_divergence([0.5, 0.5], [0.5, 0.5]))
    0.0
    >>> round(float(kl_divergence([0.5, 0.5], [0.9, 0.1])), 4), round(float(kl_divergence([0.9, 0.1], [0.5, 0.5])), 4)
    (0.737, 0.531)
    """
    if isinstance(p, _Divergent):
        return p.kl_divergence(q, base)
    p, q = _pair(p, q, "kl_divergence")
    return np.asarray(np.maximum(rel_entr(p, q).sum(axis=-1), 0.0)) / log_of_base(base)


def cross_entropy(p: Any, q: Any, base: float = 2) -> Floats:
    """H(p, q) = -sum p log q = H(p) + D(p || q): the mean surprisal of q's believer in p's world.

    With p the shares found in data, this is the mean negative log-likelihood of the model q (``base=math.e``).

    >>> float(cross_entropy([0.5, 0.5], [0.25, 0.75])) == float(
    ...     entropy([0.5, 0.5]) + kl_divergence([0.5, 0.5], [0.25, 0.75])
    ... )
    True
    """
    if isinstance(p, _Divergent):
        return p.cross_entropy(q, base)
    p, q = _pair(p, q, "cross_entropy")
    return np.asarray(-xlogy(p, q).sum(axis=-1)) / log_of_base(base) + 0.0


# -------------------------------------------------------------------------------------------------- varying together


def covariance(X: Any, ddof: Any = 0, weight: Any = None) -> Floats:
    """Covariance of the columns: sum w (x - mean)(x - mean)' / (sum w - ddof).

    ``ddof=0``, the default, divides by n: the covariance of these rows themselves, and the maximum likelihood estimate.
    ``ddof=1`` divides by n - 1: the unbiased estimate for the population the rows were drawn from.

    >>> covariance([[0.0, 1.0], [2.0, 5.0]]).tolist(), covariance([[0.0, 1.0], [2.0, 5.0]], ddof=1).tolist()
    ([[1.0, 2.0], [2.0, 4.0]], [[2.0, 4.0], [4.0, 8.0]])
    """
    gram = _gram(X, weight, "covariance")
    if not _is_number(ddof) or not ddof >= 0:
        raise ValueError(f"covariance: ddof must be a number of at least 0 (0 for 1/n, 1 for 1/(n-1)); got {ddof!r}.")
    if gram.weight <= ddof:
        raise ValueError(f"covariance with ddof={ddof:g} needs more than {ddof:g} rows; found {gram.weight:g}.")
    return gram.covariance(float(ddof))


def correlation(X: Any, weight: Any = None) -> Floats:
    """Pearson's r = cov(x, y) / (sd(x) sd(y)) of the columns; a ddof would cancel. NaN for a column without spread.

    >>> round(correlation([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]])[0, 1].item(), 6)
    0.5
    """
    return _gram(X, weight, "correlation").correlation()


# --------------------------------------------------------------------------------------------------------------- input


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _filled(shares: Any, who: str) -> Floats:
    """Counts or probabilities of something that happened: an entropy of nothing has no value."""
    array = np.asarray(shares, dtype=np.float64)
    if array.ndim == 0 or not array.shape[-1]:
        raise ValueError(f"{who} needs a list of probabilities or counts; got {shares!r:.60}.")
    if not (array.sum(axis=-1) > 0).all():
        raise ValueError(f"{who} needs probabilities or counts that are not all zero.")
    return array


def _two_way(table: Any, who: str) -> Floats:
    array = np.asarray(table, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{who} needs a table of two variables (rows and columns); got {array.ndim} dimensions.")
    _filled(array.ravel(), who)
    return array


def _pair(p: Any, q: Any, who: str) -> tuple[Floats, Floats]:
    if isinstance(q, _Divergent):
        raise TypeError(f"{who} compares two lists of shares, or two distributions; got a list and {q!r:.60}.")
    shares = [class_shares(_filled(side, who)) for side in (p, q)]
    if shares[0].shape[-1] != shares[1].shape[-1]:
        raise ValueError(
            f"{who} needs both distributions over the same values; got {shares[0].shape[-1]} and "
            f"{shares[1].shape[-1]} of them."
        )
    return shares[0], shares[1]


def _gram(X: Any, weight: Any, who: str) -> Gram:
    matrix = np.asarray(X, dtype=np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise ValueError(f"{who} needs a table of rows and columns (2-d, at least one row); got shape {matrix.shape}.")
    gram = Gram.empty(matrix.shape[1])
    gram.update(matrix, weight)
    return gram
