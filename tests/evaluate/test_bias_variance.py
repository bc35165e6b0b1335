import json

import numpy as np
import pandas as pd
import pytest

from tilth import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    PolynomialRegression,
    RandomForestRegressor,
    ZeroRClassifier,
    ZeroRRegressor,
    load_dataset,
)
from tilth.evaluate.bias_variance import bias_variance, bias_variance_curve
from tilth.evaluate.metrics import USUAL
from tilth.evaluate.population import sampling_bias
from tilth.evaluate.reliability import evaluation_size_curve, evaluation_spread, holdout_trade_off

NOISE = 0.5


def truth(x):
    return np.sin(2 * np.pi * np.asarray(x)[:, 0])


def draw(n, rng):
    x = rng.uniform(size=(n, 1))
    return x, truth(x) + rng.normal(0, NOISE, n)


def chances(x):
    p = 1 / (1 + np.exp(-3 * np.asarray(x)[:, 0]))
    return np.column_stack([1 - p, p])


def draw_classes(n, rng):
    x = rng.normal(size=(n, 2))
    return x, np.where(rng.random(n) < chances(x)[:, 1], "yes", "no")


@pytest.fixture(scope="module")
def credit():
    return load_dataset("german_credit")


# ----------------------------------------------------------------------------------------------------------- regression


@pytest.mark.covers("BV-01")
@pytest.mark.parametrize("model", [ZeroRRegressor(), LinearRegression(), DecisionTreeRegressor(max_depth=3)])
def test_the_parts_of_the_squared_error_add_up(model):
    found = bias_variance(model, draw=draw, truth=truth, n=50, repeats=30, n_test=1000)
    assert found.total == pytest.approx(found.error.value, rel=1e-12)
    by_hand = ((found.true - found.answers) ** 2).mean()
    assert found.error.value == pytest.approx(by_hand, rel=1e-12)
    assert found.variance == pytest.approx(found.answers.var(axis=0, ddof=1).mean(), rel=1e-12)
    data = bias_variance(model, *draw(200, np.random.default_rng(0)), repeats=20)
    assert data.total == pytest.approx(data.error.value, rel=1e-12)
    assert set(data.parts) == {"bias^2 + noise", "variance"}
    assert np.isnan(data.noise)


@pytest.mark.covers("BV-01")
def test_parts_of_a_line_are_those_of_theory():
    """Least squares with known noise: bias 0, variance sigma^2 p / n at the rows it was fitted to."""
    w = np.array([1.0, -2.0, 0.5])

    def line(x):
        return np.asarray(x) @ w

    def draw_line(n, rng):
        x = rng.normal(size=(n, 3))
        return x, line(x) + rng.normal(0, 1.0, n)

    found = bias_variance(LinearRegression(), draw=draw_line, truth=line, n=100, repeats=150, n_test=2000)
    # E x'(X'X)^-1 x with an intercept and normal columns: (1 / n) (1 + p (n + 1) / (n - p - 2)), p = 3.
    expected = (1 + 3 * 101 / 95) / 100
    assert found.variance == pytest.approx(expected, rel=0.15)
    assert abs(found.bias) < 0.002
    assert found.noise == pytest.approx(1.0, abs=4 * np.sqrt(2 / 2000))


@pytest.mark.covers("BV-04")
def test_the_irreducible_error_is_the_noise():
    found = bias_variance(LinearRegression(), draw=draw, truth=truth, n=50, repeats=5, n_test=20_000)
    assert found.noise == pytest.approx(NOISE**2, rel=0.04)
    assert NOISE**2 in found.parts["noise"]
    assert abs(found.parts["cross term"].value) < 0.01


@pytest.mark.covers("BV-03")
def test_zero_r_has_no_variance_and_high_bias(credit):
    found = bias_variance(ZeroRRegressor(), draw=draw, truth=truth, n=500, repeats=30)
    assert found.bias == pytest.approx(0.5, abs=0.03)  # the variance of a sine
    assert found.variance == pytest.approx((0.5 + NOISE**2) / 500, rel=0.5)
    classes = bias_variance(ZeroRClassifier(), credit.frame, credit.target, repeats=20)
    assert classes.variance == 0.0
    assert classes.bias == pytest.approx(0.3)
    assert classes.error.value == pytest.approx(0.3)


@pytest.mark.covers("BV-01", "BV-09")
def test_bias_falls_and_variance_rises_with_the_degree():
    curve = bias_variance_curve(
        PolynomialRegression(), parameter="degree", values=[1, 3, 7], draw=draw, truth=truth, n=60, repeats=40
    )
    table = curve.frame()
    assert table["bias^2"].iloc[0] > 5 * abs(table["bias^2"].iloc[1])
    # Not from 1 to 3: where x is drawn anew, a line that is wrong also varies with where it was drawn.
    assert table["variance"].iloc[2] > 2 * table["variance"].iloc[:2].max()
    assert table["noise"].nunique() == 1  # the same test rows for all
    assert curve.values[curve.best] == 3
    assert "lowest" in curve.verdict()
    json.dumps(curve.to_dict())


@pytest.mark.covers("PL-17")
def test_pictures_show_the_table(tmp_path):
    curve = bias_variance_curve(
        PolynomialRegression(), parameter="degree", values=[1, 3, 5], draw=draw, truth=truth, n=60, repeats=10
    )
    figure = curve.plot()
    figure.savefig(tmp_path / "stack.png")
    line = next(one for one in figure.axes[0].lines if one.get_label() == "expected error")
    assert np.allclose(line.get_ydata(), curve.frame()["error"])
    point = curve.points[0]
    figure = point.plot()
    figure.savefig(tmp_path / "target.png")
    assert np.allclose(figure.axes[0].lines[0].get_xydata(), point.shots())
    assert point.shots().shape == (10, 2)


def test_averaging_many_trees_lowers_the_variance_not_the_bias():
    tree = bias_variance(DecisionTreeRegressor(), draw=draw, truth=truth, n=100, repeats=20)
    forest = bias_variance(RandomForestRegressor(n_estimators=50), draw=draw, truth=truth, n=100, repeats=20)
    assert forest.variance < 0.8 * tree.variance
    assert abs(forest.bias - tree.bias) < 0.05


@pytest.mark.covers("BV-05")
def test_model_bias_of_numbers_and_of_classes(credit):
    mpg = load_dataset("auto_mpg")

    class Low(LinearRegression):
        def predict(self, X):
            return super().predict(X) - 3.0

    fair = bias_variance(LinearRegression(kinds=mpg.kinds), mpg.frame, mpg.target, repeats=10)
    low = bias_variance(Low(kinds=mpg.kinds), mpg.frame, mpg.target, repeats=10)
    assert low.signed_error == pytest.approx(fair.signed_error + 3.0)
    assert "too low" in low.verdict()
    assert fair.signed_error == pytest.approx((fair.true - fair.answers).mean())
    shares = bias_variance(LogisticRegression(kinds=credit.kinds), credit.frame, credit.target, repeats=10).shares()
    assert shares.sum().round(9).tolist() == [1.0, 1.0, 0.0]
    assert shares.loc["good", "predicted - true"] > 0.02  # biased to the majority
    with pytest.raises(TypeError, match="needs numbers"):
        bias_variance(ZeroRClassifier(), credit.frame, credit.target, repeats=2).signed_error  # noqa: B018
    with pytest.raises(TypeError, match="Shares need classes"):
        fair.shares()


# -------------------------------------------------------------------------------------------------------------- classes


@pytest.mark.covers("BV-02")
def test_the_parts_of_the_zero_one_loss_add_up(credit):
    found = bias_variance(DecisionTreeClassifier(kinds=credit.kinds), credit.frame, credit.target, repeats=15)
    assert found.total == pytest.approx(found.error.value, rel=1e-12)
    answers, true = found.answers, found.true
    assert found.error.value == pytest.approx((answers != true).mean(), rel=1e-12)
    main = np.array([np.bincount(column, minlength=2).argmax() for column in answers.T])
    wrong = main != true
    assert found.bias == pytest.approx(wrong.mean())
    assert found.variance == pytest.approx((answers != main).mean())
    assert found.parts["unbiased variance"].value == pytest.approx((answers != main)[:, ~wrong].sum() / answers.size)
    assert -found.parts["- biased variance"].value == pytest.approx((answers == true)[:, wrong].sum() / answers.size)
    table = found.frame()
    assert table["part"].tolist()[-2:] == ["sum of the parts", "expected error"]
    json.dumps(found.to_dict())
    assert found.sections()[0].frame is not None


@pytest.mark.covers("BV-02", "BV-04")
def test_with_known_chances_noise_bias_and_variance_are_apart():
    found = bias_variance(DecisionTreeClassifier(), draw=draw_classes, truth=chances, n=80, repeats=30, n_test=3000)
    assert found.total == pytest.approx(found.error.value, rel=1e-12)
    x = np.random.default_rng(1).normal(size=(100_000, 2))
    assert found.noise == pytest.approx((1 - chances(x).max(axis=1)).mean(), abs=0.02)
    assert found.parts["variance effect"].value > found.parts["bias"].value  # deep trees vary more than they err
    line = bias_variance(LogisticRegression(), draw=draw_classes, truth=chances, n=400, repeats=15, n_test=3000)
    assert line.bias < 0.005
    assert line.error.value - line.noise < 0.02


def test_three_classes_are_taken_apart():
    iris = load_dataset("iris")
    found = bias_variance(DecisionTreeClassifier(), iris.frame, iris.target, repeats=10, way="halves")
    assert found.total == pytest.approx(found.error.value, rel=1e-12, abs=1e-15)
    assert "halves" in found.how


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({}, ValueError, "needs data"),
        ({"X": np.zeros((9, 1)), "y": np.arange(9.0), "draw": draw}, ValueError, "not both"),
        ({"X": np.zeros((9, 1)), "y": np.arange(9.0), "truth": truth}, ValueError, "goes with draw"),
        ({"X": np.zeros((9, 1)), "y": np.arange(9.0), "way": "thirds"}, ValueError, "'bootstrap' or 'halves'"),
        ({"X": np.zeros((9, 1)), "y": np.arange(9.0), "repeats": 1}, ValueError, "at least 2 training sets"),
        ({"X": np.zeros((1, 1)), "y": np.arange(1.0)}, ValueError, "at least 2 rows"),
        ({"draw": lambda n, rng: np.zeros(n)}, TypeError, "rows and targets"),
        ({"draw": lambda n, rng: (np.zeros((n, 1)), np.zeros(n - 1))}, ValueError, "rows and targets; got"),
        ({"draw": draw, "truth": lambda x: np.zeros(3), "n_test": 5}, ValueError, "one number per row"),
        ({"draw": draw, "n": 0}, ValueError, "at least 1"),
    ],
)
def test_bad_input(change, error, said):
    with pytest.raises(error, match=said):
        bias_variance(LinearRegression(), **change)


def test_trainings_that_fail_are_told():
    y = np.array([0] * 30 + [1] * 2)
    X = np.random.default_rng(0).normal(size=(32, 1))
    from sklearn.linear_model import LogisticRegression as Peer

    found = bias_variance(Peer(), X, y, repeats=20)
    assert any("trainings failed" in note for note in found.notes)
    assert len(found.answers) < 20
    with pytest.raises(RuntimeError, match="failed on"):
        bias_variance(Peer(C=-1.0), X, y, repeats=3)


# ----------------------------------------------------------------------------------------------------------- evaluation


@pytest.mark.covers("BV-06")
def test_evaluation_variance_is_apart_from_model_variance(credit):
    tree = evaluation_spread(DecisionTreeClassifier(kinds=credit.kinds), credit.frame, credit.target)
    table = tree.frame().set_index("part")["variance"]
    parts = table.drop("all scores").sum()
    assert parts == pytest.approx(table["all scores"], rel=1e-9)
    assert tree.evaluation_bias.low > 0.2  # its own rows are all right, others are not
    zero = evaluation_spread(ZeroRClassifier(), credit.frame, credit.target)
    assert zero.model_variance == pytest.approx(0, abs=1e-30)  # always the same model
    assert zero.evaluation_variance == pytest.approx(0.3 * 0.7 / 300, rel=0.4)  # a share of 300 rows
    more = evaluation_spread(ZeroRClassifier(), credit.frame, credit.target, test_size=0.9)
    assert more.evaluation_variance < 0.6 * zero.evaluation_variance
    json.dumps(tree.to_dict())
    assert "evaluation bias" in str(tree).lower()


@pytest.mark.covers("BV-14")
def test_holdout_size_trades_one_variance_for_the_other(tmp_path):
    mpg = load_dataset("auto_mpg")
    found = holdout_trade_off(LinearRegression(kinds=mpg.kinds), mpg.frame, mpg.target, shares=[0.1, 0.5, 0.9])
    # With 286, 159 and 32 training rows; the variance of least squares goes like 1 / n at least.
    assert found.model_variance[1] > 1.5 * found.model_variance[0]
    assert found.model_variance[2] > 5 * found.model_variance[0]
    assert found.model_variance[0] > 11 * 6 / 286  # sigma^2 p / n: overlapping training rows must not hide it
    assert (np.diff(found.evaluation_variance) < 0).all()
    table = found.frame()
    assert (table["training rows"] + table["test rows"]).nunique() == 1
    found.plot().savefig(tmp_path / "trade.png")
    json.dumps(found.to_dict())


@pytest.mark.covers("BV-14")
def test_holdout_size_of_a_classifier():
    iris = load_dataset("iris")
    found = holdout_trade_off(DecisionTreeClassifier(), iris.frame, iris.target, shares=[0.1, 0.8], repeats=15)
    assert found.model_variance[1] > found.model_variance[0]
    assert found.evaluation_variance[1] < found.evaluation_variance[0]


@pytest.mark.covers("BV-15")
def test_intervals_shrink_with_the_root_of_the_rows(credit, tmp_path):
    curve = evaluation_size_curve(NaiveBayes(kinds=credit.kinds), credit.frame, credit.target, sizes=[60, 250, 1000])
    assert curve.slope == pytest.approx(-0.5, abs=0.04)
    assert curve.rows_for(curve.width[-1] / 2) == pytest.approx(4000, abs=2)
    assert curve.frame()["method"].tolist() == ["Wilson"] * 3
    curve.plot().savefig(tmp_path / "width.png")
    mpg = load_dataset("auto_mpg")
    numbers = evaluation_size_curve(
        LinearRegression(kinds=mpg.kinds), mpg.frame, mpg.target, sizes=[50, 390], metric=USUAL["regression"][1]
    )
    assert numbers.slope == pytest.approx(-0.5, abs=0.08)
    json.dumps(numbers.to_dict())


@pytest.mark.parametrize(
    ("function", "change", "said"),
    [
        (evaluation_spread, {"tests": 1}, "tests must be at least 2"),
        (evaluation_spread, {"level": 0}, "level must lie"),
        (holdout_trade_off, {"shares": [0.0]}, "shares must lie between 0 and 1"),
        (holdout_trade_off, {"shares": []}, "shares must lie between 0 and 1"),
        (evaluation_size_curve, {"sizes": [1000]}, "between 2 and the 150 answered rows"),
        (evaluation_size_curve, {"repeats": 0}, "repeats must be at least 1"),
    ],
)
def test_bad_input_of_the_evaluation(function, change, said):
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match=said):
        function(NaiveBayes(), iris.frame, iris.target, **change)


@pytest.mark.covers("BV-07")
def test_shares_beside_the_population():
    rng = np.random.default_rng(0)
    fair = pd.DataFrame({"sex": rng.choice(["m", "f"], 500), "region": rng.choice(["n", "s"], 500, p=[0.2, 0.8])})
    skewed = fair[(fair["sex"] == "m") | (rng.random(500) < 0.3)]
    margins = {"sex": {"m": 50, "f": 50}, "region": {"n": 0.2, "s": 0.8}}
    found = sampling_bias({"train": fair, "test": skewed}, margins)
    assert found.biased == ["sex (test)"]
    table = found.frame().set_index(["sample", "column", "level"])
    row = table.loc["test", "sex", "m"]
    assert row["population"] == 0.5
    assert row["share"] == pytest.approx((skewed["sex"] == "m").mean())
    assert row["low"] < row["share"] < row["high"]
    assert "sex = " in found.verdict()
    assert not sampling_bias(fair, fair).biased
    json.dumps(found.to_dict())
    small = sampling_bias(pd.DataFrame({"sex": ["m"] * 5300 + ["f"] * 4700}), {"sex": {"m": 0.5, "f": 0.5}})
    assert small.tests["p-value"].iloc[0] < 1e-6  # not by chance,
    assert not small.biased  # and too small to matter
    strange = sampling_bias(pd.DataFrame({"sex": ["m", "f", "x", "x"]}), {"sex": {"m": 0.5, "f": 0.5}})
    assert "(other)" in strange.frame()["level"].tolist()
    assert strange.biased == ["sex (sample)"]


@pytest.mark.parametrize(
    ("population", "error", "said"),
    [
        ({"age": {"old": 1.0}}, ValueError, "no column 'age'; it has sex"),
        ({"sex": {"m": 0.0}}, ValueError, "not all 0"),
        ({"sex": {"m": -1.0, "f": 2.0}}, ValueError, "0 or more"),
        ({"sex": 0.5}, TypeError, "shares by level"),
        ({}, ValueError, "at least one column"),
    ],
)
def test_bad_margins(population, error, said):
    with pytest.raises(error, match=said):
        sampling_bias(pd.DataFrame({"sex": ["m", "f"]}), population)
