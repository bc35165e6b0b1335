"""Losses of an order: the rows of a query are to be sorted by their relevance; only differences of scores count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tilth import _core
from tilth.params import declared, param, stored
from tilth.parts.losses import Loss, Serves, sum_by

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by query: those of group g are ``order[start[g] : start[g + 1]]``, in the order of the table."""

    order: Ints
    start: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Rows of all groups."""
        return len(self.order)

    def __len__(self) -> int:
        return len(self.start) - 1

    @classmethod
    def of_sizes(cls, sizes: Any) -> Groups:
        """Groups that stand one after the other."""
        start = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])
        return cls(np.arange(start[-1], dtype=np.int32), start)

    @classmethod
    def of_ids(cls, ids: Any) -> Groups:
        """Groups by the name of each row's query, in any order.

        >>> Groups.of_ids(["b", "a", "b"]).order
        array([1, 0, 2], dtype=int32)
        """
        _, code, size = np.unique(np.asarray(ids), return_inverse=True, return_counts=True)
        return cls(np.argsort(code, kind="stable").astype(np.int32), np.concatenate([[0], np.cumsum(size)]))

    def rows(self, keep: NDArray[Any]) -> Groups:
        """The groups of some rows, counted anew; a group that lost all of them is gone."""
        return Groups.of_ids(self.codes()[keep])

    def codes(self) -> Ints:
        """Number of the group of each row."""
        out = np.empty(self.n_rows, dtype=np.int32)
        out[self.order] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))
        return out


def groups_of(group: Any, n_rows: int, owner: str) -> Groups:
    """Groups from the name of each row's query, or from sizes; as many entries as rows are names.

    >>> groups_of([2, 1], 3, "Ranker").codes().tolist(), groups_of(["b", "a", "b"], 3, "Ranker").codes().tolist()
    ([0, 0, 1], [1, 0, 1])
    """
    sizes = np.array([n_rows]) if group is None else np.asarray(group)
    if sizes.ndim != 1:
        raise ValueError(f"{owner}: group must be one-dimensional; got shape {sizes.shape}.")
    if len(sizes) == n_rows and group is not None:
        return Groups.of_ids(sizes)
    if sizes.dtype.kind in "iu" and (sizes > 0).all() and sizes.sum() == n_rows:
        return Groups.of_sizes(sizes)
    raise ValueError(
        f"{owner}: group must give the name of the query of each of the {n_rows} rows, or sizes above 0 that sum to "
        f"them; got {len(sizes)} entries" + (f" that sum to {sizes.sum()}." if sizes.dtype.kind in "iu" else ".")
    )


def ndcg(relevance: Any, score: Any, groups: Groups, top: int = 0, *, exponential: bool = True) -> Floats:
    """Per group DCG / best DCG, DCG = sum over places i of gain / log2(1 + i); 1 where nothing is relevant.

    ``gain`` is 2^relevance - 1, or the relevance itself; ``top`` places count (0: all). Of equal scores the earlier row
    stands first.

    >>> ndcg([3, 2, 0], [0.1, 0.9, 0.5], Groups.of_sizes([3])).round(4)
    array([0.7309])
    """
    gain = gains(np.asarray(relevance, dtype=np.float64), exponential)
    score = np.asarray(score, dtype=np.float64)
    code = groups.codes()
    dcg = [_discounted(gain, np.lexsort((np.arange(len(key)), -key, code)), groups, top) for key in (score, gain)]
    return np.where(dcg[1] > 0, dcg[0] / np.where(dcg[1] > 0, dcg[1], 1.0), 1.0)


def gains(relevance: Floats, exponential: bool) -> Floats:
    """What a row is worth in first place."""
    return np.exp2(relevance) - 1.0 if exponential else relevance


def _discounted(gain: Floats, order: NDArray[np.int64], groups: Groups, top: int) -> Floats:
    size = np.diff(groups.start)
    place = np.arange(groups.n_rows) - np.repeat(groups.start[:-1], size)
    worth = np.where((place < top) | (top == 0), 1.0 / np.log2(2.0 + place), 0.0)
    group = np.repeat(np.arange(len(groups), dtype=np.int32), size)
    return sum_by(group, gain[order] * worth, len(groups))


@declared
class RankingLoss(Loss):
    """Base: sum over pairs of one group with y_i > y_j of weight_ij log(1 + e^-(eta_i - eta_j)).

    It must be told the groups first: ``loss.grouped(groups)``.
    """

    serves: ClassVar[Serves] = "order"
    by_ndcg: ClassVar[bool] = False

    top: int = param(0, low=0, doc="Pairs of which neither is among this many highest scores are left out; 0: none.")

    _groups: ClassVar[Groups | None] = None  # an instance that knows its groups hides it

    def grouped(self, groups: Groups) -> Self:
        """The same loss over these groups."""
        loss = type(self)(**self.get_params())
        loss.__dict__["_groups"] = groups
        return loss

    def groups(self) -> Groups:
        """The groups in force."""
        if self._groups is None:
            raise ValueError(f"{type(self).__name__}: the groups of rows are not known; use loss.grouped(groups).")
        return self._groups

    def gain(self, y: Any) -> Floats:
        """What each row is worth."""
        return np.ascontiguousarray(y, dtype=np.float64)

    def fill(self, y: Any, eta: Floats, weight: Floats | None, gradient: Floats, hessian: Floats | None) -> None:
        """Compiled sums over pairs."""
        groups = self.groups()
        spare = np.empty_like(gradient) if hessian is None else hessian
        _core.rank_gradient(
            self.gain(y), np.ascontiguousarray(eta), weight, groups.order, groups.start, self.top, self.by_ndcg,
            gradient, spare,
        )  # fmt: skip

    def gradient(self, y: Any, eta: Floats) -> Floats:
        """d / d eta of the sum over pairs."""
        out = np.empty(len(eta))
        self.fill(y, eta, None, out, None)
        return out

    def hessian(self, y: Any, eta: Floats) -> Floats:
        """Diagonal of the second derivative of the sum over pairs, the pairs' weights held fixed."""
        out = np.empty(len(eta))
        self.fill(y, eta, None, np.empty(len(eta)), out)
        return out

    def start(self, y: Any, weight: Floats | None = None) -> Floats:
        """Zero: a constant changes no order."""
        return np.zeros(1)

    def _group_mean(self, values: Floats, weight: Floats | None) -> float:
        """Average over groups, which are weighed by the weight of their first row."""
        first = self.groups().order[self.groups().start[:-1]]
        return float(np.average(values, weights=None if weight is None else weight[first]))


@stored
@declared
class PairwiseLogistic(RankingLoss):
    """Every pair counts the same: sum over y_i > y_j of log(1 + e^-(eta_i - eta_j)) (RankNet)."""

    def mean(self, y: Any, eta: Floats, weight: Floats | None = None) -> float:
        """Average over groups of the average over pairs."""
        groups, losses = self.groups(), []
        for a, b in zip(groups.start[:-1], groups.start[1:], strict=True):
            row = groups.order[a:b]
            better = np.asarray(y)[row][:, None] > np.asarray(y)[row][None, :]
            lead = (eta[row][:, None] - eta[row][None, :])[better]
            losses.append(float(np.logaddexp(0.0, -lead).mean()) if lead.size else 0.0)
        return self._group_mean(np.array(losses), weight)


@stored
@declared
class LambdaRank(RankingLoss):
    """A pair counts as much as NDCG changes when the two swap places (LambdaMART; Burges 2010).

    gradient_i = sum over j of -+ |delta NDCG_ij| / (1 + e^(eta_better - eta_worse)). The pairs' weights depend on the
    present order, so there is no loss of which this is the gradient; what is measured is 1 - NDCG.
    """

    by_ndcg: ClassVar[bool] = True
    top: int = param(30, low=0, doc="Places of the order that count; pairs of lower places are left out. 0: all.")
    exponential: bool = param(True, options=(True, False), doc="Gain 2^y - 1 instead of y.")

    def gain(self, y: Any) -> Floats:
        """2^y - 1, or y."""
        return np.ascontiguousarray(gains(np.asarray(y, dtype=np.float64), self.exponential))

    def problem(self, y: Any) -> str | None:
        """Grades of relevance are not negative, and 2^grade must be a number."""
        low, high = float(np.min(y)), float(np.max(y))
        if low < 0:
            return f"needs grades of relevance that are not negative, found {low:g}; 'pairwise' takes any numbers"
        if self.exponential and high > 60:
            return f"needs grades of at most 60, found {high:g} (a gain is 2^grade - 1); use exponential=False"
        return None

    def mean(self, y: Any, eta: Floats, weight: Floats | None = None) -> float:
        """1 - NDCG, averaged over groups."""
        return self._group_mean(1.0 - ndcg(y, eta, self.groups(), self.top, exponential=self.exponential), weight)
