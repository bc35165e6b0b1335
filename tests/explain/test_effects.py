"""Effects of columns: laws of partial dependence and accumulated local effects, parity, hand calculation, bad input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestRegressor as PeerForest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence as peer_dependence
from sklearn.linear_model import LogisticRegression as PeerLogistic

from tilth import LinearRegression, LinearSVC, NaiveBayes, RandomForestClassifier, RandomForestRegressor
from tilth.data.datasets import load_iris, load_titanic
from tilth.explain import partial_dependence, permutation_importance


class Given(RegressorMixin, BaseEstimator):
    """A regressor that is a function."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.function(np.asarray(X))


def pairs(n: int, seed: int, r: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal([0, 0], [[1, r], [r, 1]], n)


# ----------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("kind", ["pdp", "ale"])
def test_a_linear_model_has_its_weights_as_slopes(kind):
    X = pairs(300, 0, 0.8)
    model = LinearRegression().fit(X, 2 * X[:, 0] - 3 * X[:, 1] + 1)
    found = partial_dependence(model, X, kind=kind)
    for name, weight in (("x0", 2.0), ("x1", -3.0)):
        effect = found[name]
        np.testing.assert_allclose(np.diff(effect.mean[:, 0]), weight * np.diff(effect.at), rtol=1e-8)
    assert found["x0"].words().startswith("x0: the prediction")
    assert ("rises" in found["x0"].words(), "falls" in found["x1"].words()) == (True, True)


def test_accumulated_effects_recover_the_parts_of_a_sum_even_where_columns_go_together():
    X = pairs(3000, 1, 0.95)
    model = Given(lambda X: X[:, 0] ** 2 + np.sin(2 * X[:, 1])).fit(X)
    found = partial_dependence(model, X, kind="ale", rows=3000, points=40)
    for name, part in (("x0", np.square), ("x1", lambda v: np.sin(2 * v))):
        effect = found[name]
        truth = part(effect.at) - part(X[:, int(name[1])]).mean()
        off = effect.mean[:, 0] - truth
        assert np.ptp(off) < 1e-9  # the course is exact
        assert abs(off[0]) < 0.1  # the mean over the rows is that of straight lines between the points
        np.testing.assert_allclose(effect.high, effect.low, atol=1e-6)  # no row differs from another


def test_accumulated_effects_do_not_leave_the_data():
    """Beside each other the columns are nearly equal; the model goes wild where they are not. ALE does not see that."""
    X = pairs(2000, 2, 0.99)
    model = Given(lambda X: X[:, 0] + 100.0 * (np.abs(X[:, 0] - X[:, 1]) > 2.5)).fit(X)
    near = partial_dependence(model, X, "x0", kind="ale", points=40)["x0"]
    far = partial_dependence(model, X, "x0", kind="pdp")["x0"]
    assert np.ptp(near.mean) == pytest.approx(np.ptp(near.at), rel=0.02)
    assert np.ptp(far.mean) > 40
    assert "never occur together; use kind='ale'" in far.cautions[0]
    assert near.cautions == []


def test_independent_columns_raise_no_caution():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.exponential(size=600), "c": rng.choice(["p", "q", "r"], 600)})
    model = RandomForestRegressor(n_estimators=5).fit(X, X["a"] + X["b"])
    assert all(e.cautions == [] for e in partial_dependence(model, X))


def test_the_band_holds_the_single_rows():
    """f = x0 x1: at each point the rows lie at x0 times their own x1."""
    X = pairs(400, 3)
    effect = partial_dependence(Given(lambda X: X[:, 0] * X[:, 1]).fit(X), X, "x0", rows=400)["x0"]
    low, high = np.quantile(X[:, 1], [0.1, 0.9])
    ends = np.sort(np.stack([effect.at * low, effect.at * high]), axis=0)
    np.testing.assert_allclose(effect.band[0][:, 0], ends[0], rtol=1e-9)
    np.testing.assert_allclose(effect.band[1][:, 0], ends[1], rtol=1e-9)
    np.testing.assert_allclose(effect.mean[:, 0], effect.at * X[:, 1].mean(), rtol=1e-9, atol=1e-12)


def test_intervals_hold_the_mean_over_all_rows():
    model = Given(lambda X: X[:, 0] * X[:, 1] + X[:, 1] ** 2).fit(pairs(5, 0))
    held = [0, 0]
    for seed in range(100):
        X = pairs(150, seed)
        for k, kind in enumerate(("pdp", "ale")):
            effect = partial_dependence(model, X, "x0", kind=kind, points=5, rows=150)["x0"]
            truth = 1.0 if kind == "pdp" else 0.0  # the mean of x0 x1 + x1^2 over x1, and of its differences
            held[k] += bool(effect.low[-1, 0] <= truth <= effect.high[-1, 0])
    assert min(held) >= 88


# --------------------------------------------------------------------------------------------------------------- parity


def test_the_peer_has_the_same_partial_dependence():
    X = pairs(200, 4, 0.3)
    model = PeerForest(n_estimators=10, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    ours = partial_dependence(model, X, ["x0"], rows=200, points=12)["x0"]
    peer = peer_dependence(model, X, [0], kind="both", custom_values={0: ours.at}, method="brute")
    np.testing.assert_allclose(ours.mean[:, 0], peer["average"][0], rtol=1e-12)
    np.testing.assert_allclose(ours.band[0][:, 0], np.quantile(peer["individual"][0], 0.1, axis=0), rtol=1e-12)


def test_the_peer_has_the_same_for_every_class():
    iris = load_iris().frame
    X, y = iris.drop(columns="species"), iris["species"]
    model = PeerLogistic(max_iter=500).fit(X, y)
    ours = partial_dependence(model, X, "petal_length", rows=150)["petal_length"]
    peer = peer_dependence(
        model, X, ["petal_length"], kind="average", custom_values={"petal_length": ours.at}, method="brute",
        response_method="predict_proba",
    )  # fmt: skip
    np.testing.assert_allclose(ours.mean.T, peer["average"], rtol=1e-12)
    assert ours.outputs == ["setosa", "versicolor", "virginica"]


def test_accumulated_effects_by_hand():
    """f = x0 x1 at four rows; points 1, 2, 4 of x0, bins (1, 2] with rows a, b, c and (2, 4] with row d."""
    X = np.array([[1.0, 3.0], [2.0, 5.0], [2.0, 1.0], [4.0, 2.0]])
    effect = partial_dependence(Given(lambda X: X[:, 0] * X[:, 1]).fit(X), X, "x0", kind="ale")["x0"]
    assert effect.at.tolist() == [1, 2, 4]
    # Steps: (2 - 1) x mean(3, 5, 1) = 3 and (4 - 2) x 2 = 4; sums 0, 3, 7; mean over the rows (0 + 3 + 3 + 7) / 4.
    np.testing.assert_allclose(effect.mean[:, 0], [-3.25, -0.25, 3.75])


def test_accumulated_effects_of_levels_by_hand():
    """Levels in the order of the mean answers; a step takes the rows on either side of it."""
    X = pd.DataFrame({"k": ["a", "c", "c", "b"], "x": [1.0, 2.0, 4.0, 0.0]})
    size = {"c": 1.0, "a": 10.0, "b": 100.0}
    model = Given(lambda X: np.array([size[k] * (1 + 0.1 * x) for k, x in X])).fit(X)
    effect = partial_dependence(model, X, "k", kind="ale")["k"]
    assert effect.labels == ["c", "a", "b"]
    first = 9 * (1 + 0.1 * (2 + 4 + 1) / 3)
    second = 90 * (1 + 0.1 * (1 + 0) / 2)
    sums = np.array([0, first, first + second])
    np.testing.assert_allclose(effect.mean[:, 0], sums - (2 * sums[0] + sums[1] + sums[2]) / 4)
    assert effect.count.tolist() == [2, 1, 1]


# ------------------------------------------------------------------------------------------------------- kinds and gaps


def test_levels_dates_gaps_and_classes():
    titanic = load_titanic()
    model = RandomForestClassifier(kinds=titanic.kinds, n_estimators=20).fit(titanic.frame, "survived")
    found = partial_dependence(model, titanic.frame, ["sex", "age"])
    sex, age = found["sex"], found["age"]
    assert sex.labels == ["female", "male"]
    assert age.labels[-1] == "missing"
    assert age.count[-1] == titanic.frame["age"].isna().sum()
    everyone = titanic.frame.assign(sex="female")
    sample = partial_dependence(model, titanic.frame, ["sex"], rows=891)["sex"]
    assert sample.mean[0, 1] == pytest.approx(model.predict_proba(everyone)[:, 1].mean())
    without = titanic.frame.assign(age=np.nan)
    gone = partial_dependence(model, titanic.frame, ["age"], rows=891)["age"]
    assert gone.mean[-1, 1] == pytest.approx(model.predict_proba(without)[:, 1].mean())
    known = titanic.frame[titanic.frame["age"].notna()]
    change = model.predict_proba(known.assign(age=np.nan))[:, 1] - model.predict_proba(known)[:, 1]
    taken = partial_dependence(model, titanic.frame, ["age"], kind="ale", rows=891)["age"]
    assert taken.mean[-1, 1] == pytest.approx(change.mean())
    assert sex.what(1) == "probability of 1"


def test_dates_are_asked_about_as_dates():
    days = pd.date_range("2020-01-01", periods=200, freq="D")
    X = pd.DataFrame({"day": days, "x": np.arange(200.0) % 7})
    model = RandomForestRegressor(n_estimators=5, kinds={"day": "date"}).fit(X, days.month.to_numpy(dtype=float))
    effect = partial_dependence(model, X, "day", points=5)["day"]
    assert effect.labels[0] == "2020-01-01"
    assert effect.mean[0, 0] < effect.mean[-1, 0]


def test_ordinal_levels_stay_in_their_order():
    sizes = ["small", "mid", "large"]
    X = pd.DataFrame({"size": np.tile(sizes, 30), "x": np.arange(90.0)})
    y = X["size"].map({"small": 3.0, "mid": 1.0, "large": 2.0})
    model = RandomForestRegressor(n_estimators=20, kinds={"size": sizes}).fit(X, y)
    for kind in ("pdp", "ale"):
        assert partial_dependence(model, X, "size", kind=kind)["size"].labels == sizes


def test_constant_and_empty_columns_move_nothing():
    X = pd.DataFrame({"x": np.arange(40.0), "same": 1.0, "gone": np.full(40, np.nan)})
    model = Given(lambda X: X[:, 0]).fit(X)
    for kind in ("pdp", "ale"):
        found = partial_dependence(model, X, ["same", "gone"], kind=kind)
        assert found["same"].words() == "same has one value here: it cannot change the prediction" + (
            " (from its mean)." if kind == "ale" else "."
        )
        assert "gone has no value here" in found["gone"].words()
        assert np.ptp(found["same"].mean) == 0
        assert found.plot().axes
    with pytest.raises(ValueError, match="RandomForestRegressor uses no column 'gone'; it uses 'x', 'same'"):
        partial_dependence(RandomForestRegressor(n_estimators=5).fit(X, X["x"]), X, "gone")


def test_points_beyond_the_training_range_are_marked():
    X = pairs(100, 5)
    model = LinearRegression().fit(X, X[:, 0])
    effect = partial_dependence(model, np.vstack([X, [[4.5, 0.0]]]), "x0")["x0"]
    assert "1 point outside the training range" in effect.cautions[0]


def test_models_without_probabilities_show_scores_or_answers():
    X = pairs(100, 6)
    y = np.where(X[:, 0] > 0, "up", "down")
    scored = partial_dependence(LinearSVC().fit(X, y), X, "x0", rows=100)["x0"]
    assert scored.what(1) == "score of up"
    assert scored.mean[-1, 1] > 0 > scored.mean[0, 1]

    class Rule(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.where(X[:, 0] > 0, "up", "down")

    rule = partial_dependence(Rule().fit(X, y), X, "x0")["x0"]
    assert set(rule.mean[:, 1]) == {0.0, 1.0}
    assert rule.what(1) == "share answered up"


# ------------------------------------------------------------------------------------------------------------- choosing


def test_columns_are_chosen_by_importance_or_by_how_far_answers_move():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ [0, 5, 1, 0, 3]
    model = LinearRegression().fit(X, y)
    assert [e.column for e in partial_dependence(model, X, most=3)] == ["x1", "x4", "x2"]
    importance = permutation_importance(model, X, y)
    assert [e.column for e in partial_dependence(model, X, importance=importance, most=2)] == ["x1", "x4"]


def test_a_limit_of_time_keeps_what_is_done():
    X = pairs(100, 7)
    model = Given(lambda X: X[:, 0] + X[:, 1]).fit(X)
    found = partial_dependence(model, X, seconds=1e-9)
    assert found.skipped == ["x0", "x1"] or found.skipped == ["x1", "x0"]
    assert "Not reached in time" in found.verdict()


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"columns": "zzz"}, "LinearRegression uses no column 'zzz'; it uses 'x0', 'x1'"),
        ({"kind": "ice"}, "kind must be 'pdp' or 'ale'"),
        ({"points": 1}, "points must be at least 2"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"most": 0}, "most must be at least 1"),
        ({"level": 0.0}, "level must lie between"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    X = pairs(20, 0)
    with pytest.raises(ValueError, match=said):
        partial_dependence(LinearRegression().fit(X, X[:, 0]), X, **settings)


def test_one_row_and_models_that_have_not_learned():
    X = pairs(20, 0)
    with pytest.raises(NotFittedError):
        partial_dependence(LinearRegression(), X)
    effect = partial_dependence(LinearRegression().fit(X, X[:, 0]), X[:1], "x0")["x0"]
    assert len(effect.labels) == 1
    assert np.isnan(effect.low).all()  # one row has no spread
    with pytest.raises(KeyError, match="No effect of 'zzz'"):
        partial_dependence(LinearRegression().fit(X, X[:, 0]), X)["zzz"]


# ------------------------------------------------------------------------------------------------------------- speaking


@pytest.mark.parametrize("kind", ["pdp", "ale"])
def test_report_and_picture(kind):
    titanic = load_titanic()
    model = NaiveBayes(kinds=titanic.kinds).fit(titanic.frame, "survived")
    found = partial_dependence(model, titanic.frame, kind=kind)
    (page,) = found.sections()
    assert [part.title for part in page.parts] == [e.column for e in found]
    figure = found.plot()
    assert [a.get_title(loc="left") for a in figure.axes] == [e.column for e in found]
    frame = found.frame()
    assert len(frame) == sum(2 * len(e.labels) for e in found)
    json.dumps(found.to_dict(), allow_nan=False)
    assert len(str(found).splitlines()) >= len(found)


@pytest.mark.parametrize("gaps", [0.3, 0.6])
def test_levels_with_many_gaps_have_effects(gaps):
    rng = np.random.default_rng(0)
    words = np.where(rng.random(300) < gaps, None, rng.choice(list("abc"), 300).astype(object))
    X = pd.DataFrame({"k": words, "x": rng.normal(size=300)})
    model = NaiveBayes().fit(X, X["x"] > 0)
    assert set(partial_dependence(model, X, "k")["k"].labels) >= {"a", "b", "c"}
