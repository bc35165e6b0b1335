import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.evaluate.metrics.ranking import METRICS, ndcg
from tilth.parts.ranking import Groups
from tilth.parts.ranking import ndcg as ndcg_of_groups


def answers(queries=40, size=12, ties=False, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    relevance = rng.integers(0, 4, queries * size)
    score = rng.normal(size=len(relevance)) + relevance
    score = np.round(score) if ties else score
    group = rng.permutation(np.repeat(np.arange(queries), size))
    return Answers(relevance, np.zeros(len(relevance)), score=score, group=group, weight=weight)


def by_query(given):
    return [given.rows(np.flatnonzero(given.group == g)) for g in np.unique(given.group)]


@pytest.mark.covers("EV-26", "EV-35")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [0, 5])
def test_ndcg_is_the_mean_over_queries_of_scikit_learns(k, ties):
    given = answers(ties=ties)
    wanted = np.mean([ndcg_score([q.true], [q.score], k=k or None) for q in by_query(given)])
    assert ndcg(k, exponential=False).score(given) == pytest.approx(wanted)


def test_ndcg_without_ties_is_that_of_the_loss():
    given = answers()
    wanted = ndcg_of_groups(given.true, given.score, Groups.of_ids(given.group), 10).mean()
    assert metric("NDCG@10").score(given) == pytest.approx(wanted)


@pytest.mark.covers("EV-26")
@pytest.mark.parametrize("ties", [False, True])
def test_map_is_the_mean_over_queries_of_scikit_learns(ties):
    given = answers(ties=ties)
    wanted = np.mean([average_precision_score(q.true > 0, q.score) for q in by_query(given)])
    assert metric("MAP").score(given) == pytest.approx(wanted)


@pytest.mark.covers("EV-26")
def test_by_hand():
    given = Answers(
        np.array([0, 1, 1, 0, 0, 1]),
        np.zeros(6),
        score=np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0]),
        group=np.array([0, 0, 0, 1, 1, 1]),
    )
    assert metric("MRR").score(given) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert metric("MAP").score(given) == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1 / 3) / 2)
    assert metric("precision@2", task="ranking").score(given) == pytest.approx((1 / 2 + 0) / 2)
    assert metric("recall@2", task="ranking").score(given) == pytest.approx((1 / 2 + 0) / 2)


@pytest.mark.parametrize("name", [m.name for m in METRICS])
def test_a_constant_score_does_not_profit_from_the_order_of_the_table(name):
    relevance = np.array([1] * 10 + [0] * 90)
    chosen = metric(name, task="ranking")
    best_first, best_last = (Answers(r, r * 0, score=np.zeros(100)) for r in (relevance, relevance[::-1]))
    assert chosen.score(best_first) == pytest.approx(chosen.score(best_last))
    assert chosen.score(best_first) < 0.5


@pytest.mark.parametrize("name", [m.name for m in METRICS])
def test_intervals_draw_queries(name):
    given, chosen = answers(), metric(name, task="ranking")
    found = chosen.interval(given, repeats=2000)
    assert found.method == "bootstrap of groups"
    values = np.array([chosen.score(q) for q in by_query(given)])
    assert found.value == pytest.approx(np.nanmean(values))
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert found.high - found.low == pytest.approx(2 * half, rel=0.15, abs=1e-9)


def test_queries_are_weighted():
    given = answers(2)
    heavy = Answers(
        given.true, given.given, score=given.score, group=given.group, weight=np.where(given.group == 1, 3.0, 1.0)
    )
    one, two = (metric("NDCG").score(q) for q in by_query(given))
    assert metric("NDCG").score(heavy) == pytest.approx((one + 3 * two) / 4)


def test_queries_without_a_relevant_row_are_left_out():
    given = Answers(np.array([0, 0, 1, 0]), np.zeros(4), score=np.arange(4.0), group=np.array([0, 0, 1, 1]))
    for name in ("NDCG", "MAP", "MRR", "recall@1"):
        chosen = metric(name, task="ranking")
        assert chosen.score(given) == pytest.approx(chosen.score(given.rows(np.array([2, 3])))), name
        assert np.isnan(chosen.score(given.rows(np.array([0, 1])))), name


def test_bad_requests_are_sentences():
    with pytest.raises(ValueError, match="one score per row"):
        metric("NDCG").score(Answers(np.ones(3), np.ones(3)))
    with pytest.raises(ValueError, match=r"precision@k needs k of at least 1"):
        metric("precision", k=0, task="ranking")
