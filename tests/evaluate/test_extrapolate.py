import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tilth import DecisionTreeClassifier, GaussianNB, LinearRegression, NaiveBayes, load_dataset
from tilth.evaluate.curve import Curve
from tilth.evaluate.curves import complexity_curve, learning_curve
from tilth.evaluate.extrapolate import extrapolate, fit_power_law
from tilth.evaluate.metrics import USUAL
from tilth.evaluate.splits import make_splits

ACCURACY = USUAL["classification"][0]
RMSE, _, R2 = USUAL["regression"]
SIZES = np.round(np.geomspace(20, 800, 8))


def simulated(law, rng, splits=5, level=0.02, spread=0.008, rho=0.4):
    """Errors of a curve, sizes x splits: a level per split, and noise that falls with n and is correlated along it."""
    j = len(SIZES)
    sd = spread * (SIZES / SIZES[-1]) ** -0.4
    covariance = rho ** np.abs(np.subtract.outer(np.arange(j), np.arange(j))) * np.outer(sd, sd)
    noise = np.linalg.cholesky(covariance) @ rng.normal(size=(j, splits))
    return law(SIZES)[:, None] + level * rng.normal(size=splits) + noise


def curve_of(errors, metric=ACCURACY, sizes=SIZES):
    scores = 1 - errors if metric.higher_is_better else errors
    splits = make_splits(errors.shape[1], np.arange(1000) % 2)
    return Curve("rows", "Model", metric, sizes.astype(int), "training rows", scores, scores, splits, "Simulated.")


@pytest.mark.covers("BV-16")
@pytest.mark.parametrize(("a", "b", "c"), [(0.1, 2.0, 0.5), (0.2, 3.0, 1.0), (0.0, 1.0, 0.3), (0.15, 0.5, 0.7)])
def test_intervals_cover_near_their_level(a, b, c):
    def law(n):
        return a + b * n**-c

    rng = np.random.default_rng(1)
    hits = {1: 0, 2: 0, 10: 0, "gain": 0}
    runs = 60
    for seed in range(runs):
        found = fit_power_law(SIZES, simulated(law, rng), least=0.0, seed=seed)
        assert not found.refusal
        for factor in (1, 2, 10):
            low, high = np.quantile(found.errors(factor * 800)[:, 0] + found.shift, [0.05, 0.95])
            hits[factor] += low <= law(factor * 800) <= high
        low, high = np.quantile(found.errors(800)[:, 0] - found.errors(1600)[:, 0], [0.05, 0.95])
        hits["gain"] += low <= law(800) - law(1600) <= high
    # 90% intervals: 60 runs have 54 hits, give or take 2.3.
    assert all(47 <= n <= 60 for n in hits.values()), hits


@pytest.mark.covers("BV-16")
def test_without_noise_the_law_is_found():
    errors = np.repeat((0.12 + 1.5 * SIZES**-0.8)[:, None], 5, axis=1)
    found = fit_power_law(SIZES, errors + np.random.default_rng(0).normal(0, 1e-6, errors.shape), least=0.0)
    ahead = np.array([1600.0, 8000.0])
    assert np.median(found.errors(ahead), axis=0) == pytest.approx(0.12 + 1.5 * ahead**-0.8, abs=2e-4)
    assert np.median(found.c) == pytest.approx(0.8, abs=0.03)


@pytest.mark.covers("BV-16")
def test_verdicts_in_words():
    rng = np.random.default_rng(0)
    steep = extrapolate(curve_of(simulated(lambda n: 0.05 + 3 * n**-0.5, rng, splits=10, spread=0.003)))
    assert steep.answer == "yes"
    assert steep.slope > 0
    assert steep.verdict().startswith("Will more rows help Model? Yes: with 2 times the 800 training rows")
    flat = extrapolate(curve_of(simulated(lambda n: 0.2 + 0 * n, rng, splits=10, level=0.0, spread=0.0005)))
    assert flat.answer == "hardly"
    assert "other columns or models" in flat.verdict()
    noisy = extrapolate(curve_of(simulated(lambda n: 0.2 + 0.3 * n**-0.5, rng, splits=3, spread=0.03)))
    assert noisy.answer == "cannot say"
    table = steep.frame()
    assert table["training rows"].tolist() == [1600, 4000, 8000]
    assert (np.diff(table["expected accuracy"]) > 0).all()
    assert (table["low"] <= table["expected accuracy"]).all()
    assert set(table["method"]) == {"posterior of power laws"}
    json.dumps(steep.to_dict())
    assert steep.sections()[0].frame is not None


@pytest.mark.covers("BV-16")
def test_errors_and_unbounded_scores_go_the_right_way():
    rng = np.random.default_rng(0)
    errors = simulated(lambda n: 0.3 + 5 * n**-0.6, rng, spread=0.003)
    falls = extrapolate(curve_of(errors, RMSE))
    assert (np.diff(falls.frame()["expected RMSE"]) < 0).all()
    rises = extrapolate(curve_of(errors, R2))
    assert rises.frame()["expected R2"].to_numpy() == pytest.approx(1 - falls.frame()["expected RMSE"], abs=0.02)
    assert (rises.frame()["high"] <= 1).all()


@pytest.mark.covers("BV-16")
@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=8), GaussianNB()])
def test_half_of_the_rows_foretell_the_whole(model, tmp_path):
    X, y = load_digits(return_X_y=True)
    sizes = [40, 80, 150, 300, 700, 1400]
    whole = learning_curve(model, X, y, sizes=sizes, reference=None)
    half = replace(whole, x=whole.x[:-1], train=whole.train[:-1], validation=whole.validation[:-1], seconds=None)
    found = extrapolate(half, [2])
    assert found.frame()["training rows"].tolist() == [1400]
    assert whole.validation_intervals[-1].value in found.scores[0]
    assert found.scores[0].high - found.scores[0].low < 0.15  # and it says something
    found.plot().savefig(tmp_path / "more.png")


@pytest.mark.covers("BV-16")
def test_it_refuses_to_promise_what_the_curve_does_not_show():
    rng = np.random.default_rng(0)
    errors = simulated(lambda n: 0.1 + 2 * n**-0.5, rng)
    few = extrapolate(curve_of(errors[:3], sizes=SIZES[:3]))
    assert "at least 4 sizes" in few.verdict()
    one = extrapolate(curve_of(errors[:, :2]))
    assert "3 splits" in one.verdict()
    close = extrapolate(curve_of(errors[:4], sizes=np.array([700.0, 730.0, 760.0, 800.0])))
    assert "over 1.14 times" in close.verdict()
    rising = extrapolate(curve_of(simulated(lambda n: 0.5 - 1.5 * n**-0.5, rng, spread=0.002)))
    assert "does not fall" in rising.verdict()
    jump = extrapolate(curve_of(simulated(lambda n: np.where(n > 300, 0.1, 0.5), rng, spread=0.002)))
    assert "shape" in jump.verdict()
    for found in (few, one, close, rising, jump):
        assert found.answer == "cannot say"
        assert found.frame()["low"].isna().all()
        assert np.isnan(found.slope)
        assert found.plot() is not None
        json.dumps(found.to_dict())


def test_sizes_that_failed_are_left_out():
    errors = simulated(lambda n: 0.1 + 2 * n**-0.5, np.random.default_rng(0))
    errors[0, :4] = np.nan
    found = extrapolate(curve_of(errors))
    assert not found.law.refusal
    assert found.law.used[0] == SIZES[1]


def test_small_sizes_that_do_not_follow_the_law_are_left_out():
    errors = simulated(lambda n: np.where(n < 50, 0.5, 0.1 + 2 * n**-0.5), np.random.default_rng(0), spread=0.003)
    found = extrapolate(curve_of(errors))
    assert found.law.used[0] > SIZES[0]
    assert found.law.fit > 0.01


def test_a_curve_asks_for_more_rows_itself():
    credit = load_dataset("german_credit")
    curve = learning_curve(NaiveBayes(kinds=credit.kinds), credit.frame, credit.target, reference=None)
    found = curve.more_rows([3], worth=0.02)
    assert found.factors.tolist() == [3.0]
    assert found.worth == 0.02
    assert str(found).startswith("Will more rows help NaiveBayes?")


@pytest.mark.parametrize(
    "change", [{"factors": [1]}, {"factors": []}, {"factors": [np.nan]}, {"level": 2}, {"worth": 0}]
)
def test_bad_input(change):
    curve = curve_of(simulated(lambda n: 0.1 + 2 * n**-0.5, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="extrapolate: "):
        extrapolate(curve, **change)


def test_other_curves_and_shapes_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    other = complexity_curve(LinearRegression(), X, X[:, 0], parameter="fit_intercept", folds=3)
    with pytest.raises(TypeError, match="against fit_intercept"):
        extrapolate(other)
    with pytest.raises(ValueError, match="sizes x splits"):
        fit_power_law([1, 2, 3], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="sizes that grow"):
        fit_power_law([2, 1], [[0.1], [0.2]])
