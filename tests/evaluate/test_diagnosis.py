import json

import numpy as np
import pytest

from tilth import (
    DecisionTreeClassifier,
    LinearRegression,
    PolynomialRegression,
    ZeroRClassifier,
    load_dataset,
)
from tilth.evaluate.curves import complexity_curve, learning_curve
from tilth.evaluate.diagnosis import REMEDIES, diagnose
from tilth.evaluate.metrics import USUAL
from tilth.evaluate.polynomial_orders import polynomial_orders, wave

ACCURACY, _, LOG_LOSS = USUAL["classification"]
RMSE = USUAL["regression"][0]
FLAT = [0.5, 0.5, 0.5, 0.5, 0.5]


def near(value, spread=0.01):
    return value + spread * np.array([-1, -0.5, 0, 0.5, 1])


@pytest.mark.covers("BV-11")
@pytest.mark.parametrize(
    ("train", "validation", "reference", "verdict"),
    [
        (1.0, 0.55, 0.75, "overfit"),  # 90% of the gain is lost
        (0.62, 0.60, 0.90, "underfit"),  # far from what can be reached, on its own rows too
        (0.91, 0.89, 0.90, "fine"),
        (0.95, 0.90, 0.90, "fine"),  # a gap of a ninth of the gain
        (0.95, 0.93, None, "fine"),  # little error is left, and no gap
        (0.65, 0.64, None, "unclear"),  # bias or noise?
        (0.51, 0.50, None, "underfit"),  # no better than Zero-R on its own rows
        (0.51, 0.50, 0.50, "unclear"),  # but nothing else is better either
    ],
)
def test_rules_on_plain_numbers(train, validation, reference, verdict):
    known = None if reference is None else near(reference)
    found = diagnose(near(train, 0.0), near(validation), metric=ACCURACY, baseline=FLAT, reference=known)
    assert found.state == verdict
    assert found.gap.value == pytest.approx(train - validation)
    assert found.lost == pytest.approx((train - validation) / (train - 0.5))
    assert found.high_variance == (verdict == "overfit")
    json.dumps(found.to_dict())
    assert found.frame()["verdict"].iloc[0] == verdict
    assert found.sections()[0].advice


def test_a_gap_within_the_spread_of_the_splits_is_no_verdict():
    train, noisy = np.full(5, 0.8), np.array([0.95, 0.45, 0.9, 0.5, 0.7])
    assert diagnose(train, noisy, metric=ACCURACY, baseline=FLAT, reference=near(0.8)).state == "fine"
    assert diagnose(train, near(0.7), metric=ACCURACY, baseline=FLAT, reference=near(0.8)).state == "overfit"


def test_errors_and_scores_give_the_same_verdict():
    worse = diagnose(near(0.3), near(0.9), metric=LOG_LOSS, baseline=near(1.0))
    better = diagnose(near(0.7), near(0.1), metric=ACCURACY, baseline=near(0.0))
    assert worse.state == better.state == "overfit"
    assert worse.gap.value == pytest.approx(better.gap.value)


def test_one_wild_split_does_not_hide_that_all_are_worse():
    train, validation = near(0.2), np.array([0.5, 0.6, 0.55, 0.5, 40.0])
    found = diagnose(train, validation, metric=RMSE, baseline=near(0.8))
    assert found.gap.low < 0  # the mean difference proves nothing
    assert found.state == "overfit"


def test_both_at_once():
    found = diagnose(near(0.7), near(0.56), metric=ACCURACY, baseline=FLAT, reference=near(0.95))
    assert found.high_bias
    assert found.high_variance
    assert "too" in str(found)
    assert REMEDIES["overfit"][0] in found.advice
    assert REMEDIES["underfit"][0] in found.advice


@pytest.mark.covers("BV-12", "SP-67")
def test_advice_follows_the_diagnosis():
    low = diagnose(near(0.62), near(0.60), metric=ACCURACY, baseline=FLAT, reference=near(0.90))
    text = low.advice
    assert all(w in text for w in ("richer model", "Add features", "More rows of the same kind will not help"))
    assert low.more_rows_help is False
    high = diagnose(near(1.0, 0), near(0.55), metric=ACCURACY, baseline=FLAT)
    text = high.advice
    assert all(w in text for w in ("more rows", "fewer features", "simpler model", "bagging"))
    assert high.more_rows_help is True
    fine = diagnose(near(0.91), near(0.89), metric=ACCURACY, baseline=FLAT, reference=near(0.9))
    assert fine.advice.startswith("Fit looks right")


@pytest.mark.covers("BV-11", "BV-13", "PL-17")
def test_three_orders_of_a_polynomial(tmp_path):
    found = polynomial_orders((1, 3, 9), repeats=30)
    assert found.scores.verdicts == ["underfit", "fine", "overfit"]
    table = found.frame()
    assert table["degree"].tolist() == [1, 3, 9]
    assert table["bias^2"].iloc[0] > 10 * table["bias^2"].iloc[1]
    assert table["variance"].iloc[2] > 10 * table["variance"].iloc[1]
    figure = found.plot()
    figure.savefig(tmp_path / "orders.png")
    assert len(figure.axes) == 3
    assert [a.get_title().split("\n")[0] for a in figure.axes] == ["order 1", "order 3", "order 9"]
    bold = next(line for line in figure.axes[1].lines if line.get_label() == "this training set")
    inside = np.clip(found.grid, found.x.min(), found.x.max())
    by_hand = np.polyval(np.polyfit(found.x, found.y, 3), inside)
    assert np.allclose(bold.get_ydata(), by_hand)
    found.plot_targets().savefig(tmp_path / "targets.png")
    found.parts.plot().savefig(tmp_path / "stack.png")


@pytest.mark.covers("BV-11")
@pytest.mark.parametrize(("degree", "verdict"), [(1, "underfit"), (3, "fine"), (9, "overfit")])
def test_orders_by_a_learning_curve_with_a_known_level(degree, verdict):
    rng = np.random.default_rng(5)
    x = rng.uniform(size=(25, 1))
    y = wave(x[:, 0]) + rng.normal(0, 0.3, 25)
    curve = learning_curve(
        PolynomialRegression(degree=degree), x, y, sizes=[0.75, 1.0], repeats=5, reference=0.3
    )  # the noise is 0.3: nothing can be better
    assert curve.diagnosis.state == verdict
    assert curve.sections()[0].advice == " ".join(REMEDIES[verdict])


def test_a_reference_model_shows_what_is_missed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0) + rng.normal(0, 0.2, 400)
    curve = learning_curve(LinearRegression(), X, y, sizes=[100, 320])
    assert curve.reference_name == "a random forest"
    assert curve.diagnosis.state == "underfit"
    assert "a random forest" in str(curve.diagnosis)
    asked = learning_curve(LinearRegression(), X, y, sizes=[320], reference=PolynomialRegression(degree=2))
    assert asked.reference_name == "PolynomialRegression"
    assert asked.diagnosis.state == "underfit"


def test_depth_of_a_tree_goes_from_too_little_to_too_much():
    credit = load_dataset("german_credit")
    curve = complexity_curve(
        DecisionTreeClassifier(kinds=credit.kinds),
        credit.frame,
        credit.target,
        parameter="max_depth",
        values=[1, 3, 20],
    )
    assert curve.verdicts == ["underfit", "fine", "overfit"]
    assert curve.diagnosis.state == "fine"  # no value is given, so that of the best


def test_zero_r_cannot_be_compared_with_itself():
    iris = load_dataset("iris")
    curve = learning_curve(ZeroRClassifier(), iris.frame, iris.target, sizes=[40, 120])
    assert curve.baseline is None
    assert curve.diagnosis.state == "underfit"  # a forest does far better


@pytest.mark.parametrize(
    ("train", "validation", "more", "said"),
    [
        ([1.0, 1.0], [0.5], {}, "got 2 and 1"),
        ([np.nan], [0.5], {}, "all are missing"),
        ([[1.0]], [[0.5]], {}, "2 dimensions"),
        ([1.0] * 3, [0.5] * 3, {"baseline": [0.5, 0.5]}, "3 splits.*got 2"),
    ],
)
def test_bad_input(train, validation, more, said):
    with pytest.raises(ValueError, match=said):
        diagnose(train, validation, metric=ACCURACY, **more)


@pytest.mark.parametrize("change", [{"degrees": []}, {"degrees": [0]}, {"degrees": [2, 2]}, {"n": 5}, {"noise": 0.0}])
def test_bad_input_of_the_demonstration(change):
    with pytest.raises(ValueError, match="polynomial_orders"):
        polynomial_orders(**change)
