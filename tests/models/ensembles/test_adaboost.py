"""AdaBoost: worked numbers, the bound, weak learners of all sorts, endings, and what boosting does to bias."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostClassifier as PeerClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as PeerTree
from sklearn.tree import DecisionTreeRegressor as PeerTreeRegressor

from tilth import _core
from tilth.data.datasets import load_iris
from tilth.engines.tree.reweight import (
    EarlyStop,
    boost_classes,
    boost_numbers,
    drawn_rows,
    new_weights,
    vote_weight,
    weighted_median,
)
from tilth.evaluate.bias_variance import bias_variance
from tilth.models.bayes.naive_bayes import GaussianNB
from tilth.models.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
from tilth.models.ensembles.random_forest import RandomForestClassifier
from tilth.models.rules.one_r import OneRClassifier
from tilth.models.rules.zero_r import ZeroRClassifier, ZeroRRegressor
from tilth.testing.data import example


def slanted(n, seed, noise=0.0):
    """Two classes parted by a slanted line, which no stump can follow."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    return x, np.where(rng.random(n) < noise, 1 - y, y)


def three_classes(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + np.array([[0, 0, 0, 0], [2, 1, 0, 0], [0, 2, 2, 0]])[y], y


@pytest.mark.covers("Z-08", "Z-09", "WN-33")
def test_worked_round_of_ten_points_with_three_wrong():
    assert vote_weight(0.3) == pytest.approx(0.42365, abs=5e-6)
    assert vote_weight(0.1) == pytest.approx(1.0986, abs=5e-5)
    assert vote_weight(0.35) == pytest.approx(0.30952, abs=5e-6)
    assert vote_weight(0.5) == 0.0
    wrong = np.arange(10) < 3
    weight, z = new_weights(np.full(10, 0.1), wrong, vote_weight(0.3))
    assert z == pytest.approx(0.91652, abs=5e-6)
    assert weight[:3] == pytest.approx(0.16667, abs=5e-6)
    assert weight[3:] == pytest.approx(0.07143, abs=5e-6)
    assert weight[wrong].sum() == pytest.approx(0.5)
    assert weight.sum() == pytest.approx(1.0)


@pytest.mark.covers("Z-07", "Z-09")
def test_each_round_measures_its_error_with_the_weights_of_the_round():
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    answers = [np.where(np.arange(10) < 3, 1 - codes, codes), np.where(np.arange(10) > 7, 1 - codes, codes)]
    given = []

    def learn(i, weight):
        given.append(weight)
        return i

    learners, log = boost_classes(learn, lambda i: answers[i], codes, 2, None, 2)
    assert learners == [0, 1]
    assert (given[0] == 0.1).all()
    assert log.error == pytest.approx([0.3, 2 * 0.0714286])
    assert given[1][:3] == pytest.approx(1 / 6)
    assert log.alpha == pytest.approx([vote_weight(0.3), vote_weight(1 / 7)])
    assert log.z[0] == pytest.approx(2 * np.sqrt(0.3 * 0.7))
    assert log.bound[1] == pytest.approx(4 * np.sqrt(0.3 * 0.7 / 7 * 6 / 7))
    doubled, again = boost_classes(
        learn, lambda i: answers[i][1:], codes[1:], 2, np.r_[2.0, np.ones(8)], 2
    )  # a weight of two is a row given twice
    assert len(doubled) == 2
    assert again.error[0] == pytest.approx(3 / 10)


@pytest.mark.covers("Z-11")
def test_the_class_with_the_most_weighted_votes_wins():
    rows = np.array([[0.0], [1.0], [2.0]])
    model = AdaBoostClassifier(n_estimators=3, max_depth=1).fit(rows, ["a", "b", "a"])
    model.estimator_weights_ = np.array([0.3, 0.5, 0.6])[: len(model.estimator_weights_)]
    table = model._table(rows)
    votes = np.zeros((3, 2))
    for alpha, tree in zip(model.estimator_weights_, model.trees_, strict=True):
        votes += alpha * tree.value[tree.leaves(table)[:, 0]]
    assert set(np.unique(model.trees_.value)) <= {0.0, 1.0}
    assert model.predict(rows).tolist() == np.array(["a", "b"])[votes.argmax(axis=1)].tolist()
    shares = np.exp(2 * votes) / np.exp(2 * votes).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), shares)
    np.testing.assert_allclose(model.votes(rows).to_numpy(), votes / model.estimator_weights_.sum())
    np.testing.assert_allclose(model.decision_function(rows), (votes[:, 1] - votes[:, 0]) / votes.sum(axis=1))


@pytest.mark.covers("Z-10", "SP-52")
def test_the_loop_ends_with_a_reason():
    codes = np.array([0, 1, 0, 1])

    def run(*answers, k=2, n=10):
        return boost_classes(lambda i, w: i, lambda i: np.array(answers[i]), codes, k, None, n)

    learners, log = run([0, 1, 0, 1])
    assert learners == [0]
    assert log.alpha == [1.0]
    assert "round 1 made no error" in log.stopped
    learners, log = run([0, 1, 0, 0], [0, 1, 0, 1])
    assert learners == [0, 1]
    assert log.alpha[1] == log.alpha[0] + 1  # decides alone, and is finite
    assert log.training_error == [0.25, 0.0]
    assert log.bound[-1] == 0.0
    learners, log = run([0, 1, 0, 0], [1, 0, 1, 1])
    assert learners == [0]
    assert "no better than chance (0.5000); it was left out" in log.stopped
    learners, log = run([0, 0, 1, 1])
    assert learners == [0]
    assert log.alpha == [1.0]
    assert "being the first, it answers alone" in log.stopped
    assert np.isfinite([*log.alpha, *log.z, *log.bound]).all()
    _, log = run([0, 1, 0, 0], [0, 1, 1, 1], n=2)
    assert log.stopped == "all 2 rounds were run"


@pytest.mark.covers("Z-10")
def test_endings_of_fitted_models():
    x, _ = slanted(60, 0)
    flawless = AdaBoostClassifier().fit(x, (x[:, 0] > 0).astype(int))
    assert len(flawless.rounds_) == 1
    assert "made no error" in flawless.stopped_
    assert "made no error" in flawless.summary()
    chance = AdaBoostClassifier(estimator=ZeroRClassifier()).fit(x, np.arange(60) % 2)
    assert "no better than chance" in chance.stopped_
    assert len(chance.predict(x)) == 60
    assert AdaBoostClassifier().fit(x, np.ones(60, int)).predict(x).tolist() == [1] * 60
    assert np.isfinite(chance.predict_proba(x)).all()


@pytest.mark.covers("Z-14", "FX-88", "SP-40")
@pytest.mark.parametrize("data", [slanted(300, 0, noise=0.1), three_classes(300, 0)])
def test_the_training_error_stays_below_its_bound(data):
    model = AdaBoostClassifier(n_estimators=60).fit(*data)
    rounds = model.rounds_
    assert (rounds["training_error"] <= rounds["bound"] + 1e-12).all()
    np.testing.assert_allclose(rounds["bound"], np.cumprod(rounds["z"]))
    if len(model.classes_) == 2:
        e = rounds["error"]
        np.testing.assert_allclose(rounds["bound"], np.cumprod(2 * np.sqrt(e * (1 - e))))
    assert rounds["training_error"].iloc[-1] == pytest.approx(1 - model.score(*data))
    assert model.plot_rounds() is not None
    assert model.rounds().equals(rounds)


@pytest.mark.covers("Z-12")
def test_reweighting_and_resampling():
    x, y = slanted(400, 0, noise=0.05)
    new, answer = slanted(1000, 1)
    found = {}
    for weighting in ("reweight", "resample"):
        model = AdaBoostClassifier(weighting=weighting, n_estimators=40).fit(x, y)
        found[weighting] = model.predict_proba(new)
        assert model.score(new, answer) > 0.88
    assert not np.array_equal(found["reweight"], found["resample"])
    rows = drawn_rows(np.array([0.5, 0.0, 0.25, 0.25]), 0)
    assert len(rows) == 4
    assert 1 not in rows
    many = np.bincount(drawn_rows(np.r_[np.full(1000, 3.0), np.full(1000, 1.0)], 1), minlength=2000)
    assert many[:1000].sum() == pytest.approx(1500, abs=80)


@pytest.mark.covers("Z-13")
@pytest.mark.parametrize(
    "weak",
    [OneRClassifier(), GaussianNB(), PeerTree(max_depth=2), LogisticRegression(), KNeighborsClassifier(25)],
    ids=lambda e: type(e).__name__,
)
def test_any_weak_learner(weak):
    x, y = three_classes(300, 0)
    new, answer = three_classes(600, 1)
    model = AdaBoostClassifier(estimator=weak, n_estimators=10).fit(x, y)
    assert model.score(new, answer) > 0.7
    assert type(model.estimators_[0]) is type(weak)
    assert type(weak).__name__ in str(model.recipe())
    assert model.summary()
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    staged = list(model.staged_predict(new))
    assert np.array_equal(staged[-1], model.predict(new))
    with pytest.raises(AttributeError, match="look at estimators_"):
        model.explain(new)
    with pytest.raises(AttributeError, match="look at estimators_"):
        model.rules()


@pytest.mark.covers("Z-13")
def test_one_r_stumps_on_mixed_columns_with_missing_values():
    data = example(missing=True)
    model = AdaBoostClassifier(estimator=OneRClassifier(), n_estimators=15).fit(data.X, data.y)
    assert model.plan_.is_empty
    assert model.score(data.X, data.y) > OneRClassifier().fit(data.X, data.y).score(data.X, data.y)
    converted = AdaBoostClassifier(estimator=PeerTree(max_depth=1), n_estimators=15).fit(data.X, data.y)
    assert not converted.plan_.is_empty  # numbers without gaps for an estimator that knows nothing else
    assert converted.score(data.X, data.y) > 0.6


def test_what_is_no_weak_learner_is_refused():
    x, y = slanted(40, 0)
    for bad in (ZeroRRegressor(), LinearRegression(), "stump", object()):
        with pytest.raises(TypeError, match="estimator must be a classifier"):
            AdaBoostClassifier(estimator=bad).fit(x, y)
    with pytest.raises(TypeError, match="estimator must be a regressor"):
        AdaBoostRegressor(estimator=ZeroRClassifier()).fit(x, y)


@pytest.mark.covers("Z-15")
def test_staged_curves_and_the_best_round():
    x, y = slanted(150, 0, noise=0.25)
    new, answer = slanted(2000, 1, noise=0.25)
    model = AdaBoostClassifier(n_estimators=150, max_depth=2).fit(x, y)
    curve = model.staged_curve(new, answer)
    assert list(curve.columns) == ["round", "training_error", "error"]
    assert curve["training_error"].iloc[-1] < 0.1  # learned by heart
    assert curve["error"].min() < curve["error"].iloc[-1] - 0.02  # the monitor sees the overfitting
    assert curve["error"].iloc[curve.attrs["best"] - 1] == curve["error"].min()
    assert curve["error"].iloc[-1] == pytest.approx(1 - model.score(new, answer))
    *_, last = model.staged_predict_proba(new)
    np.testing.assert_allclose(last, model.predict_proba(new))


@pytest.mark.covers("Z-15")
def test_early_stopping_keeps_the_best_round():
    x, y = slanted(400, 0, noise=0.25)
    model = AdaBoostClassifier(n_estimators=300, max_depth=2, n_iter_no_change=10, validation_fraction=0.3).fit(x, y)
    rounds = model.rounds_
    assert len(rounds) < 100
    assert rounds["validation_error"].iloc[-1] == rounds["validation_error"].min()
    assert f"not fallen since round {len(rounds)}" in model.stopped_
    watch = EarlyStop(patience=2, tol=0.01)
    assert [watch.is_over(e, i) for i, e in enumerate([0.5, 0.3, 0.295, 0.1, 0.2, 0.2], 1)] == [False] * 5 + [True]
    assert watch.best_round == 4
    with pytest.raises(ValueError, match="cannot be parted"):
        AdaBoostClassifier(n_iter_no_change=3).fit(x[:4], y[:4])


@pytest.mark.covers("Z-16")
def test_three_classes():
    rng = np.random.default_rng(0)
    iris = load_iris().frame.iloc[rng.permutation(150)]
    target = iris.columns[-1]
    model = AdaBoostClassifier(n_estimators=60).fit(iris.iloc[:100], target)
    assert model.score(iris.iloc[100:], iris[target].iloc[100:]) > 0.9
    assert (model.rounds_["error"] < 2 / 3).all()
    x, y = three_classes(400, 0)
    made = AdaBoostClassifier(n_estimators=1).fit(x, y).rounds_
    e = made["error"][0]
    assert 2 * made["alpha"][0] == pytest.approx(np.log((1 - e) / e) + np.log(2))  # SAMME
    wrong = new_weights(np.full(4, 0.25), np.array([True, False, False, False]), vote_weight(0.25, 3))[0][0]
    assert wrong == pytest.approx(2 / 3)


@pytest.mark.parametrize("data", [slanted(200, 3, noise=0.1), three_classes(200, 3)])
def test_the_same_rounds_as_a_peer(data):
    x, y = np.round(data[0], 2), data[1]
    ours = AdaBoostClassifier(n_estimators=20).fit(x, y)
    peer = PeerClassifier(PeerTree(max_depth=1), n_estimators=20).fit(x, y)
    np.testing.assert_allclose(ours.estimator_errors_, peer.estimator_errors_, atol=1e-9)
    np.testing.assert_allclose(2 * ours.estimator_weights_, peer.estimator_weights_, atol=1e-9)
    assert np.array_equal(ours.predict(x), peer.predict(x))


def test_contributions_add_up_to_the_votes():
    data = example(missing=True)
    model = AdaBoostClassifier(n_estimators=12, max_depth=2).fit(data.X, data.y)
    told = model.explain(data.X)
    assert told.scale == "log"
    np.testing.assert_allclose(_core.row_softmax(told.scores)[0], model.predict_proba(data.X), atol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.covers("Z-17")
def test_boosting_lowers_bias_and_bagging_variance():
    models = {
        "stump": AdaBoostClassifier(n_estimators=1),
        "bagged stumps": RandomForestClassifier(n_estimators=40, max_depth=1, max_features=None),
        "boosted stumps": AdaBoostClassifier(n_estimators=40),
    }
    parts = {
        name: bias_variance(
            model, draw=lambda n, rng: slanted(n, int(rng.integers(1 << 30))), n=100, repeats=21, n_test=600
        )
        for name, model in models.items()
    }
    table = pd.DataFrame({name: {"bias": part.bias, "variance": part.variance} for name, part in parts.items()})
    assert table.loc["variance", "bagged stumps"] < table.loc["variance", "stump"]
    assert table.loc["bias", "bagged stumps"] > 0.6 * table.loc["bias", "stump"]
    assert table.loc["bias", "boosted stumps"] < 0.5 * table.loc["bias", "bagged stumps"]


# ---------------------------------------------------------------------------------------------------------- numbers


def curve(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, (n, 2))
    return x, np.sin(x[:, 0]) + 0.5 * np.sin(3 * x[:, 0]) + rng.normal(0, 0.1, n)


def test_regression_by_its_formulas():
    target = np.array([0.0, 1.0, 2.0, 3.0])
    answers = [np.array([0.0, 1.0, 2.0, 1.0]), np.array([1.0, 1.0, 2.0, 3.0])]
    given = []
    learners, log = boost_numbers(lambda i, w: given.append(w) or i, lambda i: answers[i], target, None, 2)
    assert learners == [0, 1]
    assert log.error[0] == 0.25  # one of four errs by the largest error
    b = 0.25 / 0.75
    weight = np.array([b, b, b, 1.0])
    np.testing.assert_allclose(given[1], weight / weight.sum())
    assert log.alpha[0] == pytest.approx(np.log(1 / b))
    assert log.error[1] == pytest.approx(b / weight.sum())
    for loss, wanted in (("square", 0.25), ("exponential", 0.25 * (1 - np.exp(-1)))):
        assert boost_numbers(lambda i, w: i, lambda i: answers[i], target, None, 1, loss=loss)[1].error == [wanted]
    assert "no error" in boost_numbers(lambda i, w: i, lambda i: target, target, None, 5)[1].stopped
    bad = boost_numbers(lambda i, w: i, lambda i: target + np.array([1, 1, 1, 0.5]), target, None, 5)
    assert bad[0] == [0]
    assert "not below 1/2; it answers alone" in bad[1].stopped
    np.testing.assert_array_equal(
        weighted_median(np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 9.0]]), np.array([1.0, 1.0, 2.0])), [2.0, 1.0]
    )


@pytest.mark.parametrize("weighting", ["reweight", "resample"])
@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_boosted_regression_trees_beat_one_tree(weighting, loss):
    x, y = curve(300, 0)
    new, answer = curve(500, 1)
    one = AdaBoostRegressor(n_estimators=1).fit(x, y).score(new, answer)
    model = AdaBoostRegressor(n_estimators=40, weighting=weighting, loss=loss).fit(x, y)
    assert model.score(new, answer) > one + 0.01
    *_, last = model.staged_predict(new)
    assert np.array_equal(last, model.predict(new))
    assert len(model.rounds_) == len(model.rounds()) <= 40


@pytest.mark.parametrize("weak", [PeerTreeRegressor(max_depth=3), LinearRegression(), ZeroRRegressor()])
def test_any_weak_regressor(weak):
    x, y = curve(120, 0)
    model = AdaBoostRegressor(estimator=weak, n_estimators=8).fit(x, y)
    assert model.predict(x).shape == (120,)
    assert "Rounds" in model.summary()
    assert AdaBoostRegressor().fit(x, np.full(120, 2.5)).predict(x).tolist() == [2.5] * 120


def test_errors_of_the_rounds_are_weighted_by_the_rows():
    x, y = slanted(120, 0)
    weight = np.where(x[:, 0] > 0, 6.0, 1.0)
    model = AdaBoostClassifier(n_estimators=5).fit(x, y, sample_weight=weight)
    first = AdaBoostClassifier(n_estimators=1).fit(x, y, sample_weight=weight)
    wrong = first.predict(x) != y
    assert model.rounds_["error"].iloc[0] == pytest.approx(np.average(wrong, weights=weight))
    assert np.average(wrong, weights=weight) != pytest.approx(wrong.mean(), rel=0.01)
    missed = model.predict(x) != y
    assert model.rounds_["training_error"].iloc[-1] == pytest.approx(np.average(missed, weights=weight))


def test_a_fall_smaller_than_tol_is_no_fall():
    errors = [0.5, 0.45, 0.41, 0.30, 0.29, 0.28]
    strict, loose = EarlyStop(patience=2, tol=0.1), EarlyStop(patience=2, tol=0.0)
    assert [strict.is_over(e, i + 1) for i, e in enumerate(errors)][:3] == [False, False, True]
    assert strict.best_round in (1, 4)
    assert not any(loose.is_over(e, i + 1) for i, e in enumerate(errors))
    x, y = slanted(300, 0, noise=0.2)
    settings = {"n_estimators": 60, "n_iter_no_change": 5, "random_state": 0}
    assert len(AdaBoostClassifier(tol=0.5, **settings).fit(x, y).rounds_) == 1
    assert len(AdaBoostClassifier(tol=0.0, **settings).fit(x, y).rounds_) > 1
