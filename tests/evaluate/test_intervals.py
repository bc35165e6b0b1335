import numpy as np
import pytest

from tilth.evaluate import intervals
from tilth.evaluate.intervals import Interval, corrected_t, exact, percentile, resampled_means, wald, wilson


@pytest.mark.covers("EV-02", "WN-35")
def test_wald_of_twelve_errors_in_forty():
    found = wald(12, 40)
    assert found.high - found.value == pytest.approx(0.1420, abs=5e-5)
    assert (found.low, found.high) == (pytest.approx(0.158, abs=5e-4), pytest.approx(0.442, abs=5e-4))


@pytest.mark.covers("EV-02", "WN-36", "FX-05")
def test_wilson_stays_above_zero_where_wald_does_not():
    assert wald(2, 20).low < 0
    assert wald(2, 20).high - 0.1 == pytest.approx(0.1315, abs=5e-5)
    found = wilson(2, 20)
    assert (found.low, found.high) == (pytest.approx(0.0279, abs=5e-5), pytest.approx(0.3010, abs=5e-5))
    assert found.method == "Wilson"
    assert found.n == 20


@pytest.mark.covers("WN-44")
def test_the_half_width_at_95_percent_is_1_96_standard_errors():
    found = wald(50, 100)
    assert (found.high - found.value) / np.sqrt(0.25 / 100) == pytest.approx(1.95996, abs=5e-6)
    assert wald(50, 100, level=0.99).high > found.high


@pytest.mark.parametrize("n", [1, 5, 40])
def test_exact_agrees_with_scipy_and_contains_wilsons_share(n):
    from scipy.stats import binomtest

    for correct in range(n + 1):
        found = exact(correct, n)
        peer = binomtest(correct, n).proportion_ci(0.95, method="exact")
        assert (found.low, found.high) == (pytest.approx(peer.low), pytest.approx(peer.high))
        peer = binomtest(correct, n).proportion_ci(0.95, method="wilson")
        ours = wilson(correct, n)
        assert (ours.low, ours.high) == (pytest.approx(peer.low, abs=1e-12), pytest.approx(peer.high, abs=1e-12))
        assert ours.low <= ours.value <= ours.high


def test_corrected_t_is_wider_than_the_plain_t_interval():
    scores = np.array([0.02, 0.04, 0.03, 0.05, 0.01])
    found = corrected_t(scores, n_train=80, n_test=20)
    # By hand: s^2 = 0.00025, (1/5 + 20/80) s^2 = 0.0001125, t(0.975, 4) = 2.77645.
    assert found.high - found.value == pytest.approx(2.77645 * np.sqrt(0.0001125), rel=1e-5)
    plain = 2.77645 * scores.std(ddof=1) / np.sqrt(5)
    assert found.high - found.value > plain


@pytest.mark.parametrize(("share", "n"), [(0.1, 30), (0.3, 40), (0.8, 100)])
def test_shares_are_covered_about_as_often_as_said(share, n):
    counts = np.random.default_rng(0).binomial(n, share, size=4000)
    hits = {c: (share in wilson(c, n), share in exact(c, n)) for c in np.unique(counts).tolist()}
    covered = np.array([hits[c] for c in counts.tolist()]).mean(axis=0)
    assert 0.92 <= covered[0] <= 0.985
    assert covered[1] >= 0.945


def test_bootstrap_means_are_covered():
    rng = np.random.default_rng(1)
    inside = [0.0 in percentile(rng.normal(size=80), repeats=400, seed=k) for k in range(300)]
    assert 0.90 <= np.mean(inside) <= 0.98


def test_the_normal_limit_gives_the_interval_of_the_resampled_rows(monkeypatch):
    rows = np.random.default_rng(2).exponential(size=(3000, 2))
    resampled = percentile(rows, lambda m: m[:, 0] / m[:, 1], repeats=4000)
    monkeypatch.setattr(intervals, "RESAMPLED_ROWS", 100)
    limit = percentile(rows, lambda m: m[:, 0] / m[:, 1], repeats=4000)
    assert limit.method == "normal limit of the bootstrap"
    assert limit.value == resampled.value
    assert limit.low == pytest.approx(resampled.low, abs=0.004)
    assert limit.high == pytest.approx(resampled.high, abs=0.004)


def test_columns_share_the_resamples_so_differences_are_paired():
    values = np.random.default_rng(3).normal(size=50)
    means = resampled_means(np.column_stack([values, values + 1]), repeats=50)
    assert np.allclose(means[:, 1] - means[:, 0], 1)


def test_the_block_size_does_not_change_the_answer(monkeypatch):
    rows = np.random.default_rng(4).normal(size=(40, 2))
    whole = resampled_means(rows, repeats=30)
    monkeypatch.setattr(intervals, "_BLOCK_CELLS", 200)
    assert np.allclose(resampled_means(rows, repeats=30), whole)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: wilson(3, 0),
        lambda: wilson(5, 4),
        lambda: wald(-1, 4),
        lambda: exact(1, 2, level=1.0),
        lambda: corrected_t(np.array([0.1]), 8, 2),
        lambda: corrected_t(np.array([0.1, 0.2]), 0, 2),
        lambda: percentile(np.array([])),
    ],
)
def test_wrong_calls_are_refused_in_a_sentence(wrong):
    with pytest.raises(ValueError, match=r"(needs|must).*\.$"):
        wrong()


def test_an_interval_tells_and_contains():
    interval = Interval(0.5, 0.4, 0.6, 0.95, "Wilson", 10)
    assert str(interval) == "0.500 [0.400, 0.600]"
    assert 0.6 in interval
    assert 0.61 not in interval
    assert interval.to_dict()["method"] == "Wilson"


@pytest.mark.parametrize("grouped", [False, True])
def test_resampled_means_are_weighted_means(grouped):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)) + np.arange(60)[:, None] / 10
    weight = np.where(np.arange(60) < 30, 5.0, 1.0)  # the low rows weigh five times as much
    group = np.arange(60) // 2 if grouped else None
    means = resampled_means(rows, weight, group, repeats=4000)
    expected = np.average(rows, axis=0, weights=weight)
    assert np.abs(means.mean(axis=0) - expected).max() < 0.08
    assert np.abs(rows.mean(axis=0) - expected).min() > 0.5
    plain = resampled_means(rows, None, group, repeats=50)
    np.testing.assert_allclose(resampled_means(rows, np.full(60, 3.0), group, repeats=50), plain)
    none = resampled_means(rows, (np.arange(60) < 30) * 1.0, group, repeats=50)
    assert none.max() < rows[:30].max()


def test_a_row_of_weight_zero_moves_no_resample():
    rows = np.array([[1.0], [2.0], [1e9]])
    assert np.nanmax(resampled_means(rows, np.array([1.0, 1.0, 0.0]), repeats=200)) <= 2.0
