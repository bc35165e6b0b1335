"""Measures of an order: ``true`` is the relevance of a row, ``score`` its rank, ``group`` the query it belongs to.

Every measure is a mean over queries. Rows of equal score stand in any order: what is given is the mean over those
orders (for reciprocal rank that of the mean place): a constant score is never rewarded for the order of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics.metric import Metric
from tilth.evaluate.metrics.regression import ratio
from tilth.parts.losses import sum_by
from tilth.parts.ranking import Groups, gains

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows sorted by query and falling score.

    ``place`` counts from 0 within the query, ``tie`` numbers the runs of equal scores within a query, ``query`` the
    queries, and ``first`` is the row of the table that stands for each query.
    """

    relevance: Floats
    query: NDArray[np.int32]
    place: NDArray[np.int64]
    tie: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, answers: Answers) -> Queries:
        """Sort the rows of each query."""
        score = answers.ranking_score
        if score is None:
            raise ValueError("Measures of ranking need one score per row, found answers without scores.")
        groups = Groups.of_ids(np.zeros(answers.n, np.int8) if answers.group is None else answers.group)
        query = groups.codes()
        order = np.lexsort((-np.asarray(score, dtype=np.float64), query))
        query, score = query[order], score[order]
        place = np.arange(answers.n) - groups.start[query]
        new = np.append(True, (np.diff(query) != 0) | (score[1:] != score[:-1]))
        relevance = answers.true.astype(np.float64)[order]
        return cls(relevance, query, place, np.cumsum(new) - 1, groups.order[groups.start[:-1]].astype(np.int64))

    @property
    def size(self) -> NDArray[np.int64]:
        """Rows of each query."""
        return np.bincount(self.query)

    def sums(self, values: Floats) -> Floats:
        """Sum over the rows of each query."""
        return sum_by(self.query, values, len(self.first))

    def shared(self, values: Floats) -> Floats:
        """The mean over the rows of equal score, for each of them."""
        return (np.bincount(self.tie, weights=values) / np.bincount(self.tie))[self.tie]


def _ndcg(k: int, exponential: bool) -> Callable[[Queries], Floats]:
    def score(queries: Queries) -> Floats:
        gain = gains(queries.relevance, exponential)
        worth = np.where((queries.place < k) | (k == 0), 1.0 / np.log2(2.0 + queries.place), 0.0)
        best = gain[np.lexsort((-gain, queries.query))]
        gained, ideal = queries.sums(queries.shared(gain) * worth), queries.sums(best * worth)
        return np.divide(gained, ideal, out=np.full(len(gained), np.nan), where=ideal > 0)

    return score


def _precision_at(k: int) -> Callable[[Queries], Floats]:
    def score(queries: Queries) -> Floats:
        relevant = queries.shared((queries.relevance > 0).astype(np.float64))
        return queries.sums(relevant * (queries.place < k)) / np.minimum(k, queries.size)

    return score


def _recall_at(k: int) -> Callable[[Queries], Floats]:
    def score(queries: Queries) -> Floats:
        relevant = queries.shared((queries.relevance > 0).astype(np.float64))
        hits, total = queries.sums(relevant * (queries.place < k)), queries.sums(relevant)
        return np.divide(hits, total, out=np.full(len(hits), np.nan), where=total > 0)

    return score


def _average_precision(queries: Queries) -> Floats:
    """Mean over the relevant rows of the precision down to the end of their run of equal scores."""
    relevant = (queries.relevance > 0).astype(np.float64)
    before = np.cumsum(relevant)
    start = np.flatnonzero(queries.place == 0)
    before -= (before - relevant)[start][queries.query]
    ends = np.flatnonzero(np.append(np.diff(queries.tie) != 0, True))
    precision = (before[ends] / (queries.place[ends] + 1))[queries.tie]
    total = queries.sums(relevant)
    return np.divide(queries.sums(relevant * precision), total, out=np.full(len(total), np.nan), where=total > 0)


def _reciprocal_rank(queries: Queries) -> Floats:
    """1 / (place of the first relevant row); in a run of b rows, r of them relevant, that is (b + 1) / (r + 1) in."""
    relevant = queries.relevance > 0
    rows, hits = np.bincount(queries.tie), np.bincount(queries.tie, weights=relevant)
    starts = np.flatnonzero(np.append(True, np.diff(queries.tie) != 0))
    rank = np.where(hits > 0, queries.place[starts] + (rows + 1) / (hits + 1), np.inf)
    best = np.full(len(queries.first), np.inf)
    np.minimum.at(best, queries.query[starts], rank)
    return np.where(np.isfinite(best), 1 / best, np.nan)


def _by_query(name: str, score: Callable[[Queries], Floats], meaning: str) -> Metric:
    """A mean over queries: the value stands in one row of each query, so that drawing groups draws queries."""

    def rows(answers: Answers) -> Floats:
        queries = Queries.of(answers)
        scores = score(queries)
        out = np.zeros((answers.n, 2))
        out[queries.first] = np.column_stack([np.nan_to_num(scores), ~np.isnan(scores)])
        return out

    return Metric(name, "ranking", rows, ratio, bounds=(0, 1), needs="score", meaning=meaning)


_LEFT_OUT = "queries without a relevant row are left out"


def ndcg(k: int = 0, *, exponential: bool = True) -> Metric:
    """Discounted gain of the order over that of the best order, down to place k (0: all places).

    DCG = sum over places i of gain / log2(1 + i), gain = 2^relevance - 1 (or the relevance itself).

    >>> import numpy as np
    >>> answers = Answers(np.array([3, 2, 0]), np.array([0, 0, 0]), score=np.array([0.1, 0.9, 0.5]))
    >>> round(ndcg().score(answers), 4)
    0.7309
    """
    _check(k, "NDCG", 0)
    gain = "gain 2^relevance - 1" if exponential else "gain = relevance"
    title = ("NDCG" if exponential else "linear NDCG") + (f"@{k}" if k else "")
    return _by_query(title, _ndcg(k, exponential), f"discounted gain over that of the best order; {gain}; {_LEFT_OUT}")


def precision_at(k: int) -> Metric:
    """Share of relevant rows (relevance above 0) in the first k places of a query."""
    _check(k, "precision")
    return _by_query(f"precision@{k}", _precision_at(k), f"share of relevant rows in the first {k} places of a query")


def recall_at(k: int) -> Metric:
    """Share of the relevant rows of a query that stand in its first k places."""
    _check(k, "recall")
    return _by_query(f"recall@{k}", _recall_at(k), f"share of relevant rows found in the first {k} places; {_LEFT_OUT}")


def _check(k: int, name: str, least: int = 1) -> None:
    if k < least:
        raise ValueError(f"{name}@k needs k of at least {least}, found {k}.")


MAP = _by_query("MAP", _average_precision, f"mean over queries of average precision; {_LEFT_OUT}")
MRR = _by_query("MRR", _reciprocal_rank, f"mean over queries of 1 / place of the first relevant row; {_LEFT_OUT}")

METRICS = (ndcg(), ndcg(10), MAP, MRR, precision_at(10), recall_at(10))
