"""Bootstrap of measures of order: counts drawn without sorting again, against pairs counted one by one."""

import math

import numpy as np
import pytest

from tilth import _core
from tilth.evaluate.metrics.order import Ordered

MASK = (1 << 64) - 1
STEPS = [round(65536 * sum(math.exp(-1) / math.factorial(i) for i in range(k + 1))) for k in range(8)]


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mix_two(seed, place):
    return mix(seed ^ mix(place))


def drawn_counts(units, repeats, seed):
    """How often each resample draws each unit: repeats x units."""
    counts = np.zeros((repeats, units), dtype=np.int64)
    for b in range(repeats):
        key = mix_two(seed, b // 4)
        if units <= 10_000:
            state = mix_two(key, b % 4)
            for i in range(units):
                counts[b, (mix((state + i) & MASK) * units) >> 64] += 1
        else:
            for u in range(units):
                bits = (mix((key + u) & MASK) >> (16 * (b % 4))) & 0xFFFF
                counts[b, u] = sum(bits >= step for step in STEPS)
    return counts


def auc_of_pairs(positive, score, weight):
    up, down = weight[positive], weight[~positive]
    lead = score[positive][:, None] - score[~positive][None, :]
    won = ((lead > 0) + 0.5 * (lead == 0)) * up[:, None] * down[None, :]
    return won.sum() / (up.sum() * down.sum()) if up.sum() * down.sum() > 0 else np.nan


def average_precision_of_thresholds(positive, score, weight):
    total, found, before = weight[positive].sum(), 0.0, 0.0
    for threshold in np.unique(score)[::-1]:
        taken = score >= threshold
        hits, all_taken = weight[taken & positive].sum(), weight[taken].sum()
        found += (hits - before) * (hits / all_taken if all_taken > 0 else 0.0)
        before = hits
    return found / total if total > 0 else np.nan


def average_precisions(ordered, repeats, seed, group=None):
    return _core.average_precision_resamples(*ordered.drawn(group), ordered.weight, repeats, seed)


def case(n, ties=True, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    score = rng.normal(size=n) + positive
    return positive, np.round(score, 1) if ties else score, rng.random(n) + 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("n", [2, 9, 60])
def test_resamples_are_the_scores_of_the_drawn_rows(n, weighted, grouped):
    positive, score, weight = case(n)
    w = weight if weighted else None
    group = np.arange(n) // 4 if grouped else None
    unit = np.arange(n) if group is None else group
    counts = drawn_counts(int(unit.max()) + 1, 11, 5)[:, unit]
    ordered = Ordered.of(positive, score, w)
    for found, wanted in (
        (ordered.auc_resamples(11, 5, group), auc_of_pairs),
        (average_precisions(ordered, 11, 5, group), average_precision_of_thresholds),
    ):
        expected = [wanted(positive, score, c * (weight if weighted else 1.0)) for c in counts]
        np.testing.assert_allclose(found, expected, rtol=1e-12, equal_nan=True)


def test_many_rows_draw_poisson_counts_of_the_row_itself():
    n = 10_500
    positive, score, _ = case(n)
    counts = drawn_counts(n, 2, 3)
    assert abs(counts.mean() - 1) < 0.03
    assert abs(counts.var() - 1) < 0.06
    ordered = Ordered.of(positive, score)
    expected = [Ordered.of(positive, score, c.astype(float)) for c in counts]
    np.testing.assert_allclose(ordered.auc_resamples(2, 3), [o.auc for o in expected], rtol=1e-10)
    np.testing.assert_allclose(average_precisions(ordered, 2, 3), [o.average_precision for o in expected], rtol=1e-10)


def test_the_order_of_the_table_changes_nothing_but_the_draws():
    positive, score, weight = case(12_000, ties=False)
    ordered = Ordered.of(positive, score, weight)
    spread = ordered.auc_resamples(400, 0).std()
    again = Ordered.of(positive[::-1], score[::-1], weight[::-1]).auc_resamples(400, 0).std()
    assert spread == pytest.approx(again, rel=0.15)


@pytest.fixture
def unlimited():
    yield
    _core.set_threads(0)


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("n", [900, 30_000])
def test_resamples_have_the_same_bits_on_any_number_of_threads(n):
    ordered = Ordered.of(*case(n))
    answers = []
    for threads in (1, 2, 0):
        _core.set_threads(threads)
        answers.append(ordered.auc_resamples(101, 7).tobytes() + average_precisions(ordered, 101, 7).tobytes())
    assert answers[0] == answers[1] == answers[2]


def test_fewer_resamples_are_the_first_of_more():
    ordered = Ordered.of(*case(200))
    np.testing.assert_array_equal(ordered.auc_resamples(3, 1), ordered.auc_resamples(50, 1)[:3])
    assert ordered.auc_resamples(0, 1).shape == (0,)


def test_bad_arrays_are_refused():
    flags, unit = np.zeros(3, np.uint8), np.arange(3, dtype=np.int32)
    with pytest.raises(ValueError, match=r"auc_resamples needs unit from 0 to 1, found 2 in row 2"):
        _core.auc_resamples(flags, flags, unit, 2, None, 5, 0)
    with pytest.raises(ValueError, match=r"last with one entry per row \(3\), found 2"):
        _core.auc_resamples(flags, flags[:2], unit, 3, None, 5, 0)
    with pytest.raises(ValueError, match="units of at least 1"):
        _core.average_precision_resamples(flags, flags, unit, 0, None, 5, 0)
    with pytest.raises(TypeError, match="positive as uint8"):
        _core.average_precision_resamples(flags.astype(float), flags, unit, 3, None, 5, 0)
    with pytest.raises(ValueError, match=r"weight with one entry per row \(3\), found 1"):
        _core.auc_resamples(flags, flags, unit, 3, np.ones(1), 5, 0)
