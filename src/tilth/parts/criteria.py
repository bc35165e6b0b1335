"""Criteria of a split: how mixed a group is, and how much less mixed its branches are.

Every impurity is a function of a *statistic* that adds over groups: class counts (weighted or not), or weight, sum and
sum of squares of a number. The last axis of an array holds the statistic, so that many groups are measured at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.params import declared, stored
from tilth.parts.part import Part

Floats = NDArray[np.float64]


@declared
class Impurity(Part):
    """Base: ``of(statistic)`` is 0 for a group of one class (or one number) and grows the more mixed it is."""

    def weight(self, statistic: Any) -> Floats:
        """Weight of each group: the sum of its class counts."""
        return np.asarray(np.sum(np.asarray(statistic, dtype=np.float64), axis=-1))

    def of(self, statistic: Any) -> Floats:
        """Impurity of each group; an empty group has 0."""
        raise NotImplementedError

    def bound(self, n_classes: int) -> float:
        """Largest impurity of a group of ``n_classes`` classes, reached when all are equally frequent."""
        return float(self.of(np.ones(n_classes)))


def class_shares(counts: Any) -> Floats:
    """Counts divided by their sum; an empty group has shares of 0.

    >>> class_shares([3, 6, 1])
    array([0.3, 0.6, 0.1])
    """
    counts = np.asarray(counts, dtype=np.float64)
    if (counts < 0).any() or not np.isfinite(counts).all():
        raise ValueError(f"Counts of classes must be finite and not negative; got {counts.tolist()}.")
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(counts / np.where(total > 0, total, 1.0))


def _sum_p_log_p(shares: Floats) -> Floats:
    """sum p log p with 0 log 0 = 0, its limit."""
    return np.asarray((shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1))


@stored
@declared
class Gini(Impurity):
    """1 - sum p^2: the chance that two rows drawn from the group differ in class. At most 1 - 1/K for K classes.

    >>> float(Gini().of([15, 1]))
    0.1171875
    """

    def of(self, statistic: Any) -> Floats:
        """Gini impurity."""
        shares = class_shares(statistic)
        return np.where(shares.sum(axis=-1) > 0, 1.0 - (shares**2).sum(axis=-1), 0.0)


@stored
@declared
class Entropy(Impurity):
    """-sum p log2 p, in bits: the yes/no questions needed to tell the class. At most log2 K for K classes.

    >>> round(float(Entropy().of([9, 5])), 4)
    0.9403
    """

    def of(self, statistic: Any) -> Floats:
        """Entropy in bits."""
        return np.abs(_sum_p_log_p(class_shares(statistic))) / np.log(2.0)


@stored
@declared
class Deviance(Impurity):
    """-sum p ln p, in nats: the log-loss of answering with the shares of the group; entropy x ln 2. At most ln K."""

    def of(self, statistic: Any) -> Floats:
        """Entropy in nats."""
        return np.abs(_sum_p_log_p(class_shares(statistic)))


@stored
@declared
class Misclassification(Impurity):
    """1 - max p: the error of answering with the most frequent class. At most 1 - 1/K for K classes.

    >>> float(Misclassification().of([15, 1]))
    0.0625
    """

    def of(self, statistic: Any) -> Floats:
        """Share of rows outside the most frequent class."""
        shares = class_shares(statistic)
        return np.where(shares.sum(axis=-1) > 0, 1.0 - shares.max(axis=-1), 0.0)


@stored
@declared
class Variance(Impurity):
    """sum w (y - mean)^2 / sum w, from the statistic (sum w, sum w y, sum w y^2); times the weight it is the SSR.

    >>> float(Variance().of(Variance.statistic([1.0, 3.0])))
    1.0
    """

    @staticmethod
    def statistic(y: Any, weight: Any = None) -> Floats:
        """Weight, sum and sum of squares of numbers."""
        y = np.asarray(y, dtype=np.float64)
        w = np.ones_like(y) if weight is None else np.asarray(weight, dtype=np.float64)
        return np.array([w.sum(), (w * y).sum(), (w * y * y).sum()])

    def weight(self, statistic: Any) -> Floats:
        """The first number of the statistic."""
        return np.asarray(np.asarray(statistic, dtype=np.float64)[..., 0])

    def of(self, statistic: Any) -> Floats:
        """Mean square less squared mean."""
        w, s, q = np.moveaxis(np.asarray(statistic, dtype=np.float64), -1, 0)
        safe = np.where(w > 0, w, 1.0)
        return np.asarray(np.maximum(q / safe - (s / safe) ** 2, 0.0))

    def bound(self, n_classes: int) -> float:
        """Numbers can be spread without bound."""
        return float("inf")


#: Impurities by the names that tree models accept as ``criterion``.
NAMED: dict[str, type[Impurity]] = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Deviance,
    "misclassification": Misclassification,
    "squared_error": Variance,
}

_ENTROPY = Entropy()


def weighted_impurity(table: Any, impurity: Impurity | None = None) -> float:
    """sum over branches of (n_b / N) H(Q_b), for a table of branch x statistic (default impurity: Gini).

    >>> humidity = [[3, 4], [6, 1]]  # high: 3 of 7 play, normal: 6 of 7
    >>> round(weighted_impurity(humidity), 4)
    0.3673
    """
    impurity = Gini() if impurity is None else impurity
    branches = np.atleast_2d(np.asarray(table, dtype=np.float64))
    weight = impurity.weight(branches)
    total = weight.sum()
    return float((weight * impurity.of(branches)).sum() / total) if total > 0 else 0.0


def impurity_decrease(table: Any, impurity: Impurity | None = None) -> float:
    """H(Q) - sum over branches of (n_b / N) H(Q_b): how much less mixed the branches are than the whole.

    >>> round(impurity_decrease([[3, 4], [6, 1]]), 4)
    0.0918
    """
    impurity = Gini() if impurity is None else impurity
    branches = np.atleast_2d(np.asarray(table, dtype=np.float64))
    return float(impurity.of(branches.sum(axis=0))) - weighted_impurity(branches, impurity)


def information_gain(table: Any) -> float:
    """Decrease of the entropy in bits, for a table of branch x class counts.

    >>> outlook = [[4, 0], [3, 2], [2, 3]]  # overcast, rainy, sunny: play, not
    >>> round(information_gain(outlook), 4)
    0.2467
    """
    return impurity_decrease(table, _ENTROPY)


def split_information(table: Any) -> float:
    """Entropy in bits of the branch sizes: what the test itself costs to tell, whatever the class.

    >>> round(split_information([[4, 0], [3, 2], [2, 3]]), 4)
    1.5774
    """
    return float(_ENTROPY.of(np.atleast_2d(np.asarray(table, dtype=np.float64)).sum(axis=1)))


def gain_ratio(table: Any) -> float:
    """Information gain / split information (0 when all rows take one branch): many small branches are charged for.

    The charge lowers the advantage of a column with a value per row, it does not remove it.

    >>> round(gain_ratio([[4, 0], [3, 2], [2, 3]]), 4)
    0.1564
    """
    cost = split_information(table)
    return information_gain(table) / cost if cost > 0 else 0.0
