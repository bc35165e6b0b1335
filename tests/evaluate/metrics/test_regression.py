import numpy as np
import pytest
from sklearn import metrics as peer

from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric, metrics
from tilth.evaluate.metrics.regression import pinball


def answers(n=300, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.gamma(3.0, 2.0, n)
    given = true * rng.uniform(0.6, 1.5, n) + 0.1
    return Answers(true, given, weight=rng.random(n) + 0.2 if weighted else None)


PEERS = {
    "MSE": peer.mean_squared_error,
    "RMSE": peer.root_mean_squared_error,
    "MAE": peer.mean_absolute_error,
    "R2": peer.r2_score,
    "MAPE": peer.mean_absolute_percentage_error,
    "Poisson deviance": peer.mean_poisson_deviance,
    "gamma deviance": peer.mean_gamma_deviance,
    "pinball 0.5": lambda y, f, sample_weight: peer.mean_pinball_loss(y, f, sample_weight=sample_weight),
}


@pytest.mark.covers("EV-27")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PEERS)
def test_scores_are_scikit_learns(name, weighted):
    given = answers(weighted=weighted)
    wanted = PEERS[name](given.true, given.given, sample_weight=given.weight)
    assert metric(name).score(given) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.covers("EV-27", "EV-28")
def test_by_hand():
    given = Answers(np.array([3.0, 5.0, 2.0]), np.array([2.0, 7.0, 2.0]))
    wanted = {"SSE": 5, "MSE": 5 / 3, "RMSE": (5 / 3) ** 0.5, "MAE": 1, "median absolute error": 1, "bias": -1 / 3}
    for name, value in wanted.items():
        assert metric(name).score(given) == pytest.approx(value), name


@pytest.mark.covers("EV-27")
def test_one_outlier_moves_the_rmse_most_and_the_median_not_at_all():
    calm = Answers(np.zeros(11), np.full(11, 0.1))
    wild = Answers(np.zeros(11), np.append(np.full(10, 0.1), 10.0))
    grown = {
        name: metric(name).score(wild) / metric(name).score(calm) for name in ("RMSE", "MAE", "median absolute error")
    }
    assert grown["RMSE"] > 2.5 * grown["MAE"]
    assert grown["median absolute error"] == pytest.approx(1)
    assert "large errors weigh most" in metric("RMSE").meaning
    assert "units of the target" in metric("RMSE").meaning


@pytest.mark.covers("EV-28", "FX-67")
def test_bias_is_above_zero_where_answers_are_too_low():
    low = Answers(np.array([2.0, 3.0]), np.array([1.0, 1.0]), weight=np.array([3.0, 1.0]))
    assert metric("bias").score(low) == pytest.approx(1.25)
    assert "true minus predicted: above 0 the predictions are too low" in metric("bias").meaning
    found = metric("bias").interval(answers())
    assert found.low < found.value < found.high


def test_units():
    """RMSE, MAE and bias are in units of the target, MSE and SSE in their square, R2 and MAPE have none."""
    given = answers()
    scaled = Answers(given.true * 10, given.given * 10)
    power = {"RMSE": 1, "MAE": 1, "bias": 1, "median absolute error": 1, "MSE": 2, "SSE": 2, "R2": 0, "MAPE": 0}
    for name, p in power.items():
        assert metric(name).score(scaled) == pytest.approx(10**p * metric(name).score(given)), name


@pytest.mark.parametrize("name", [n for n in metrics("regression") if n not in ("coverage", "interval width")])
def test_a_weight_is_a_repetition(name):
    given = answers(50)
    times = np.random.default_rng(1).integers(0, 4, 50)
    weighted = Answers(given.true, given.given, weight=times.astype(float))
    repeated = given.rows(np.repeat(np.arange(50), times))
    assert metric(name).score(weighted) == pytest.approx(metric(name).score(repeated))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [n for n in metrics("regression") if n not in ("coverage", "interval width")])
def test_intervals_hold_the_score(name, weighted):
    found = metric(name).interval(answers(weighted=weighted), repeats=300)
    assert found.low < found.value < found.high
    assert found.method == "bootstrap"


@pytest.mark.parametrize("weighted", [False, True])
def test_the_median_of_a_resample_is_drawn_by_its_level(weighted):
    given = answers(151, weighted=weighted)
    chosen = metric("median absolute error")
    slow, fast = chosen._row_by_row(given, 3000, 0), chosen.resample(given, 3000, 1)
    assert fast.mean() == pytest.approx(slow.mean(), rel=0.03)
    assert fast.std() == pytest.approx(slow.std(), rel=0.1)


@pytest.mark.parametrize("name", ["RMSE", "MAE", "median absolute error", "bias"])
def test_intervals_cover_as_often_as_they_say(name):
    big = answers(100_000, seed=5)
    chosen, rng = metric(name), np.random.default_rng(6)
    truth = chosen.score(big)
    inside = [truth in chosen.interval(big.rows(rng.integers(0, big.n, 500)), repeats=400, seed=i) for i in range(600)]
    assert 0.93 <= np.mean(inside) <= 0.97, np.mean(inside)


def test_a_target_of_zero_has_no_relative_error():
    given = Answers(np.array([0.0, 2.0, 4.0]), np.array([1.0, 1.0, 5.0]))
    assert metric("MAPE").score(given) == pytest.approx((0.5 + 0.25) / 2)
    assert np.isnan(metric("MAPE").score(Answers(np.zeros(2), np.ones(2))))
    assert "0 are left out" in metric("MAPE").meaning


def test_a_constant_target_has_no_variance_to_explain():
    constant = np.full(4, 2.0)
    assert metric("R2").score(Answers(constant, constant)) == 1.0
    assert metric("R2").score(Answers(constant, constant + 1)) == 0.0


def test_deviances_outside_their_domain_are_not_defined():
    assert np.isnan(metric("Poisson deviance").score(Answers(np.array([1.0, 2.0]), np.array([-1.0, 2.0]))))
    assert np.isnan(metric("gamma deviance").score(Answers(np.array([0.0, 2.0]), np.array([1.0, 2.0]))))
    assert metric("Poisson deviance").score(Answers(np.array([0.0]), np.array([1.5]))) == pytest.approx(3.0)


def test_coverage_and_width_of_intervals():
    given = Answers(np.array([1.0, 5.0, 9.0, 2.0]), np.array([[0.0, 2.0], [0.0, 4.0], [8.0, 9.0], [2.0, 3.0]]))
    assert metric("coverage").score(given) == 0.75
    assert metric("coverage").interval(given).method == "Wilson"
    assert metric("interval width").score(given) == 2.0
    with pytest.raises(ValueError, match=r"intervals, n x 2 \(low, high\); found shape \(2,\)"):
        metric("coverage").score(Answers(np.zeros(2), np.zeros(2)))


@pytest.mark.parametrize("q", [0.1, 0.9])
def test_pinball_is_least_at_the_quantile(q):
    true = np.random.default_rng(0).normal(size=2001)
    costs = [pinball(q).score(Answers(true, np.full(2001, f))) for f in np.quantile(true, [q - 0.05, q, q + 0.05])]
    assert costs[1] == min(costs)
    with pytest.raises(ValueError, match="q"):
        metric("pinball", q=1.5)
