import numpy as np
import pytest

from tilth.evaluate.gaps import Measure, difference, largest_difference, mean, share, smallest_ratio
from tilth.evaluate.intervals import wilson

YES = np.array([True, True])


def rates(hits, rows):
    return Measure("rate", np.array(hits) / np.array(rows), np.array(rows, dtype=float))


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [  # Newcombe 1998, table II, method 10
        ((56, 48), (70, 80), 0.0524, 0.3339),
        ((9, 3), (10, 10), 0.1705, 0.8090),
        ((6, 2), (7, 7), 0.0582, 0.8062),
        ((5, 0), (56, 29), -0.0381, 0.1926),
        ((0, 0), (10, 20), -0.1611, 0.2775),
    ],
)
def test_a_difference_of_shares_has_newcombes_published_interval(hits, rows, low, high):
    found = difference(rates(hits, rows), 0, 1, 0.95)
    assert (found.low, found.high) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))
    # The order of the two groups is a matter of sign.
    turned = difference(rates(hits, rows), 1, 0, 0.95)
    assert (-turned.high, -turned.low) == pytest.approx((found.low, found.high))
    largest = largest_difference(rates(hits, rows), YES, 0.95)
    assert largest.low == pytest.approx(max(0, found.low))
    assert largest.high == pytest.approx(max(found.high, -found.low))


def test_a_difference_is_that_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    found = difference(rates((33, 21), (90, 70)), 0, 1, 0.9)
    low, high = proportion.confint_proportions_2indep(33, 90, 21, 70, method="newcomb", compare="diff", alpha=0.1)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_bounds_of_a_ratio_solve_their_equation():
    two = rates((320, 500), (1000, 1000))
    found = smallest_ratio(two, YES, 0.95)
    low, high = two.bounds(0.95)
    e1, e2 = two.value
    for r, own, other in ((found.low, low[0], high[1]), (found.high, high[0], low[1])):
        assert (e1 - r * e2) ** 2 == pytest.approx((e1 - own) ** 2 + r**2 * (other - e2) ** 2)
    assert found.low < 0.64 < found.high


def test_a_ratio_without_a_rate_above_zero_is_not_defined():
    assert np.isnan(smallest_ratio(rates((0, 0), (50, 50)), YES, 0.95).value)
    some = smallest_ratio(rates((0, 20), (50, 50)), YES, 0.95)
    assert some.value == 0
    assert some.low == 0
    assert 0 < some.high < 0.3


@pytest.mark.parametrize(
    ("true", "rows"),
    [((0.3, 0.3), (60, 90)), ((0.3, 0.5), (80, 120)), ((0.3, 0.4, 0.55), (60, 80, 100)), ((0.2,) * 5, (70,) * 5)],
)
def test_the_largest_gap_and_the_smallest_ratio_are_covered_as_often_as_said(true, rows):
    rng = np.random.default_rng(5)
    n, usable = np.array(rows, dtype=float), np.ones(len(rows), dtype=bool)
    gap, ratio = max(true) - min(true), min(true) / max(true)
    inside = []
    for _ in range(600):
        found = Measure("rate", rng.binomial(rows, true) / n, n)
        inside.append((gap in largest_difference(found, usable, 0.95), ratio in smallest_ratio(found, usable, 0.95)))
    covered = np.mean(inside, axis=0)
    assert (covered >= 0.935).all(), covered
    if len(rows) == 2 and gap > 0:  # with more groups the bounds are for all pairs, and so for one pair too wide
        assert (covered <= 0.975).all(), covered


@pytest.mark.parametrize(("groups", "rows"), [(2, 120), (5, 120), (10, 60)])
def test_equal_groups_raise_as_few_alarms_as_said(groups, rows):
    rng = np.random.default_rng(11)
    n, usable = np.full(groups, float(rows)), np.ones(groups, dtype=bool)
    alarms = [
        largest_difference(Measure("rate", rng.binomial(rows, 0.4, groups) / n, n), usable, 0.95).low > 0
        for _ in range(1500)
    ]
    assert np.mean(alarms) <= 0.06, np.mean(alarms)


def test_a_share_of_rows_has_wilsons_bounds_and_0_of_0_has_none():
    code = np.array([0] * 20 + [1] * 10)
    hit = np.array([True] * 2 + [False] * 28)
    found = share("rate", hit, code == 0, code, 2, None, None)
    low, high = found.bounds(0.95)
    assert (low[0], high[0]) == pytest.approx((wilson(2, 20).low, wilson(2, 20).high))
    assert np.isnan([found.value[1], low[1], high[1]]).all()
    assert found.interval(0, 0.95).n == 20


def test_a_weight_of_two_is_two_rows_in_the_value_and_equal_weights_change_nothing():
    rng = np.random.default_rng(0)
    code, hit = rng.integers(0, 3, 200), rng.random(200) < 0.4
    every, twice = np.ones(200, dtype=bool), rng.integers(1, 3, 200)
    weighted = share("rate", hit, every, code, 3, twice.astype(float), None)
    again = np.repeat(np.arange(200), twice)
    repeated = share("rate", hit[again], every[again], code[again], 3, None, None)
    np.testing.assert_allclose(weighted.value, repeated.value)
    plain, even = (share("rate", hit, every, code, 3, w, None) for w in (None, np.full(200, 3.0)))
    np.testing.assert_allclose(plain.bounds(0.95), even.bounds(0.95))


def test_rows_that_are_copies_of_each_other_count_once():
    rng = np.random.default_rng(1)
    code, hit, x = rng.integers(0, 2, 120), rng.random(120) < 0.5, rng.normal(size=120)
    again = np.repeat(np.arange(120), 5)
    every = np.ones(120, dtype=bool)
    once = share("rate", hit, every, code, 2, None, None)
    copies = share("rate", hit[again], every[again], code[again], 2, None, again)
    np.testing.assert_allclose(copies.bounds(0.95), once.bounds(0.95))
    numbers = mean("x", x, code, 2, None, None), mean("x", x[again], code[again], 2, None, again)
    np.testing.assert_allclose(numbers[0].bounds(0.95), numbers[1].bounds(0.95))
    # Where every row agrees no spread tells: units are counted.
    certain = share("rate", every[again], every[again], code[again], 2, None, again)
    np.testing.assert_allclose(certain.rows, np.bincount(code))


def test_the_mean_of_a_group_has_students_interval():
    stats = pytest.importorskip("scipy.stats")
    x = np.random.default_rng(2).normal(3, 2, 40)
    found = mean("x", x, np.zeros(40, dtype=int), 1, None, None)
    low, high = stats.t.interval(0.95, 39, x.mean(), stats.sem(x))
    assert (found.bounds(0.95)[0][0], found.bounds(0.95)[1][0]) == pytest.approx((low, high))
    root = mean("RMSE", x**2, np.zeros(40, dtype=int), 1, None, None, is_root=True)
    assert root.value[0] == pytest.approx(np.sqrt((x**2).mean()))
    assert root.bounds(0.95)[0][0] < root.value[0] < root.bounds(0.95)[1][0]
    alone = mean("x", x[:1], np.zeros(1, dtype=int), 1, None, None)
    assert np.isnan(alone.bounds(0.95)).all()
