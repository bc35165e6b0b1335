"""Do probabilities come true? The display of calibration."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.metrics import brier_score_loss

from tilth.evaluate.calibration import calibration


def promises(n: int, seed: int, slope: float = 1.0, shift: float = 0.0):
    """What happens has log-odds z; what is promised slope z + shift."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 1.5
    return rng.random(n) < expit(z), expit(slope * z + shift)


@pytest.mark.parametrize("shape", [(1.0, 3.0), (3.0, 3.0), (0.3, 0.3)])
def test_a_perfect_model_is_not_accused(shape):
    """At most 7% of perfect tables are accused at a level of 5%."""
    rng = np.random.default_rng(0)
    accused = 0
    for _ in range(300):
        p = rng.beta(*shape, 250)
        accused += calibration(rng.random(250) < p, p, repeats=2).kind != "calibrated"
    assert accused <= 0.07 * 300


@pytest.mark.parametrize(
    ("slope", "shift", "kind"),
    [(2.0, 0.0, "overconfident"), (0.5, 0.0, "underconfident"), (1.0, 0.7, "too high"), (1.0, -0.7, "too low")],
)
def test_what_is_wrong_is_named(slope, shift, kind):
    found = calibration(*promises(1500, 1, slope, shift))
    assert found.kind == kind
    assert found.slope == pytest.approx(1 / slope, rel=0.25)
    assert "CalibratedClassifier" in found.advice
    assert found.p_value < 0.001
    assert found.verdict() in str(found)


def test_a_bend_that_no_slope_sees_is_found():
    """Promises of 1/2 for rows of shares 0.2 and 0.8, told apart by two values that say the wrong thing."""
    rng = np.random.default_rng(2)
    p = np.repeat([0.1, 0.4, 0.6, 0.9], 300)
    happened = rng.random(1200) < np.repeat([0.25, 0.25, 0.75, 0.75], 300)
    assert calibration(happened, p).kind != "calibrated"


def test_intervals_of_the_error_hold_the_true_error():
    for slope in (1.0, 1.6):
        held = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            z = rng.normal(size=500) * 1.5
            q, p = expit(z), expit(slope * z)
            found = calibration(rng.random(500) < q, p, repeats=150, seed=seed)
            true = sum(
                s * abs((p - q)[found.bins.place == j].mean()) for j, s in enumerate(found.bins.share)
            )  # fmt: skip
            held += true in found.ece_debiased
        assert held >= binom.ppf(0.001, 60, 0.93)


def test_an_interval_lies_round_its_value():
    """Draws scatter round the observed error; what chance added to it is taken off them too."""
    middles = []
    for seed in range(30):
        found = calibration(*promises(120, seed, 1.6), repeats=200).ece_debiased
        assert found.low <= found.value <= found.high
        middles.append((found.low + found.high) / 2 - found.value)
    assert abs(np.mean(middles)) < 0.01


def test_many_rows_take_the_normal_limit_and_agree():
    happened, p = promises(12_000, 10, 1.6)
    limit, drawn = calibration(happened, p), calibration(happened[:10_000], p[:10_000])
    assert limit.ece.method == "normal limit of the bootstrap"
    assert drawn.ece.method == "bootstrap"
    for name in ("ece", "ece_debiased", "mce", "brier"):
        a, b = getattr(limit, name), getattr(drawn, name)
        assert a.high - a.low == pytest.approx((b.high - b.low) * np.sqrt(10 / 12), rel=0.2), name
        assert a.low < a.value < a.high


def test_chance_is_told_and_taken_off():
    rng = np.random.default_rng(3)
    plain, debiased, told = [], [], []
    for _ in range(60):
        p = rng.random(300)
        found = calibration(rng.random(300) < p, p, repeats=2)
        plain.append(found.ece.value)
        debiased.append(found.ece_debiased.value)
        told.append(found.ece_by_chance)
    assert np.mean(told) == pytest.approx(np.mean(plain), rel=0.1)
    assert np.mean(debiased) < 0.65 * np.mean(plain)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_the_brier_score_is_the_sum_of_its_parts(strategy):
    happened, p = promises(700, 4, 1.5)
    weight = np.random.default_rng(0).random(700)
    for w in (None, weight):
        found = calibration(happened, p, strategy=strategy, sample_weight=w)
        assert found.brier.value == pytest.approx(brier_score_loss(happened, p, sample_weight=w))
        total = found.reliability - found.resolution + found.uncertainty + found.within
        assert total == pytest.approx(found.brier.value)
        assert found.brier.low < found.brier.value < found.brier.high
    few = np.round(p * 4) / 4  # bins that hold one value each hide nothing
    exact = calibration(happened, few, strategy="uniform", bins=20)
    assert exact.within == pytest.approx(0, abs=1e-12)


def test_tests_by_hand():
    happened, p = promises(400, 5)
    y = happened.astype(float)
    tests = {t.name: t for t in calibration(happened, p).tests}
    z = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert tests["Spiegelhalter z"].statistic == pytest.approx(z)
    place = calibration(happened, p).bins.place
    groups = [place == j for j in range(10)]
    assert all(min(p[g].sum(), (1 - p)[g].sum()) < 5 for g in (groups[0], groups[-1]))
    assert tests["Hosmer-Lemeshow chi2"].dof[0] < 10
    statsmodels = pytest.importorskip("statsmodels.api")
    design = statsmodels.add_constant(np.log(p / (1 - p)))
    fit = statsmodels.GLM(y, design, family=statsmodels.families.Binomial()).fit()
    null = (y * np.log(p) + (1 - y) * np.log(1 - p)).sum()
    assert tests["Cox chi2"].statistic == pytest.approx(2 * (fit.llf - null), rel=1e-6)


def test_many_classes_are_judged_by_their_answers_or_one_by_one():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(3), 1500)
    labels = np.array(["a", "b", "c"])[(rng.random(1500)[:, None] > p.cumsum(axis=1)).sum(axis=1)]
    found = calibration(labels, p)
    assert found.event == "the answer is right"
    assert found.kind == "calibrated"
    assert calibration(labels, p, of="b").event == "P(b)"
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert calibration(labels, sharp).kind in ("overconfident", "too high")
    two = calibration(labels == "a", np.column_stack([1 - p[:, 0], p[:, 0]]))
    one = calibration(labels == "a", p[:, 0])
    assert two.ece == one.ece
    assert calibration(labels == "a", p[:, 0], of=False).ece.value == pytest.approx(one.ece.value)


def test_weights_and_groups_are_not_tested():
    happened, p = promises(300, 7, 2.0)
    for extra in ({"sample_weight": np.ones(300)}, {"groups": np.repeat(np.arange(30), 10)}):
        found = calibration(happened, p, **extra)
        assert found.tests == ()
        assert found.kind == "not tested"
        assert "No test" in found.verdict()
    plain, grouped = calibration(happened, p), calibration(happened, p, groups=np.repeat(np.arange(30), 10))
    assert grouped.ece.value == plain.ece.value
    assert grouped.ece.method == "bootstrap of groups"


def test_a_weight_is_a_repeated_row():
    happened, p = promises(80, 8)
    times = np.random.default_rng(0).integers(1, 4, 80)
    weighted = calibration(happened, p, sample_weight=times.astype(float), strategy="uniform")
    repeated = calibration(np.repeat(happened, times), np.repeat(p, times), strategy="uniform")
    assert weighted.ece.value == pytest.approx(repeated.ece.value)
    assert weighted.slope == pytest.approx(repeated.slope)


def test_the_display_is_complete():
    found = calibration(*promises(300, 9, 2.0))
    frame = found.frame()
    assert frame["rows"].sum() == 300
    assert ((frame["low"] <= frame["happened"]) & (frame["happened"] <= frame["high"])).all()
    assert found.plot() is not None
    assert next(s.title for s in found.sections()) == "Calibration"
    json.dumps(found.to_dict())
    assert len(found.tests_frame()) == 3


def test_edges_do_not_break():
    assert calibration([True], [0.9]).n == 1
    assert calibration([False, False], [0.1, 0.2]).kind in ("calibrated", "not tested")
    assert calibration([1, 1, 1], [1.0, 1.0, 1.0]).ece.value == 0.0
    assert calibration([0, 1, 0], [0.5, 0.5, 0.5]).ece.value == pytest.approx(1 / 6)
    sure = calibration([0, 1, 1, 0] * 50, [0.0, 1.0, 1.0, 0.0] * 50)
    assert sure.ece.value == 0.0


@pytest.mark.parametrize(
    ("true", "p", "settings", "words"),
    [
        ([0, 1], [0.5, 1.5], {}, "between 0 and 1"),
        ([0, 1], [0.5, np.nan], {}, "between 0 and 1"),
        ([0, 1, 1], [0.5, 0.2], {}, "inconsistent"),
        ([], [], {}, "at least 1"),
        ([0, 1], ["a", "b"], {}, "as numbers"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "2 classes have probabilities and 3 occur"),
        (["a", "a"], [0.1, 0.2], {}, "pass classes="),
        ([0, 1], [0.1, 0.2], {"of": 7}, "of=7"),
        ([0, 1], [0.1, 0.2], {"strategy": "magic"}, "strategy"),
        ([0, 1], [0.1, 0.2], {"bins": 0}, "bins"),
        ([0, 1], [0.1, 0.2], {"level": 2}, "level"),
    ],
)
def test_bad_input_is_refused_in_words(true, p, settings, words):
    with pytest.raises(ValueError, match=words):
        calibration(true, p, **settings)
