"""Permutation importance: laws, intervals that hold, parity with scikit-learn, sets of columns, limits, bad input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance as peer_importance
from sklearn.linear_model import LinearRegression as PeerRegression
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import (
    IsolationForest,
    LinearRegression,
    LinearSVC,
    NaiveBayes,
    RandomForestClassifier,
    RandomForestRegressor,
    metric,
)
from tilth.data.datasets import load_iris, load_titanic
from tilth.explain import importance as module
from tilth.explain import permutation_importance
from tilth.explain.shuffling import Shuffling, Tally
from tilth.explain.subject import subject_of

WEIGHTS = np.array([1.0, 0.5, 0.0])


def numbers(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ WEIGHTS + rng.normal(size=n)


def exact(weights: np.ndarray) -> PeerRegression:
    """A linear model with weights that are known."""
    model = PeerRegression()
    model.coef_, model.intercept_, model.n_features_in_ = weights, 0.0, len(weights)
    return model


# ----------------------------------------------------------------------------------------------------------------- laws


def test_the_loss_of_a_linear_model_is_twice_the_variance_it_explains():
    """E (y - f)^2 grows by 2 w^2 var(x) when an independent column is shuffled; by nothing for an unused one."""
    X, y = numbers(20_000, 0)
    found = permutation_importance(exact(WEIGHTS), X, y, metric="MSE", repeats=3)
    for j, w in enumerate(WEIGHTS):
        assert found[f"x{j}"].interval.value == pytest.approx(2 * w**2, abs=0.06)
    assert found.matter == ["x0", "x1"]
    assert found.status("x2") == "no answer depends on it"
    assert found["x2"].interval.low == found["x2"].interval.high == 0


def test_intervals_hold_the_true_loss_and_noise_raises_no_alarm():
    """Bootstrap of rows: 95% intervals of skewed and normal columns hold 2 w^2, and a used noise column stays quiet."""
    weights = np.array([1.0, 0.5, 0.2])  # the third column is noise that the model uses all the same
    truth = 2 * weights**2 + 2 * weights * (WEIGHTS - weights)
    assert truth[2] == 0
    held, alarms, tables = np.zeros(3), 0, 150
    for seed in range(tables):
        found = permutation_importance(exact(weights), *numbers(120, seed), metric="MSE", groups_above=None, seed=seed)
        held += [truth[j] in found[f"x{j}"].interval for j in range(3)]
        alarms += found["x2"].matters
    assert (held >= 0.91 * tables).all()
    assert alarms <= 0.07 * tables
    assert found["x0"].interval.method == "bootstrap"


def test_many_columns_of_noise_raise_no_alarm_between_them():
    """20 columns of noise that the model uses: in 40 tables of 100 rows hardly any of them is said to matter."""
    model, alarms = exact(np.full(20, 0.2)), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = permutation_importance(model, rng.normal(size=(100, 20)), rng.normal(size=100), groups_above=None)
        alarms += any(loss.matters for loss in found.alone)
    assert alarms <= 4


def test_intervals_of_scores_that_are_no_means_hold_too():
    rng = np.random.default_rng(0)

    def table(n):
        X = rng.normal(size=(n, 2))
        return X, (X @ [1.5, 0.7] + rng.logistic(size=n) > 0).astype(int)

    model = PeerLogistic().fit(*table(100))
    truth = [
        loss.interval.value for loss in permutation_importance(model, *table(40_000), metric="AUC", repeats=1).alone
    ]
    held = np.zeros(2)
    for seed in range(30):
        found = permutation_importance(model, *table(100), metric="AUC", repeats=2, groups_above=None, seed=seed)
        held += [truth[j] in found[f"x{j}"].interval for j in range(2)]
    assert (held >= 0.88 * 30).all()
    assert found["x0"].interval.method == "jackknife of 20 blocks of rows"


def test_rows_that_give_their_cells_count_in_the_spread():
    """One giver with an extreme value hurts whoever gets its cells: the error must know it varies with that row."""
    X, y = numbers(200, 1)
    X[0, 0], y[0] = 30.0, 30.0
    found = permutation_importance(exact(WEIGHTS), X, y, metric="MSE")["x0"]
    # The row is hit as the one asked about (loss 900 / 200) and as the giver (the same): both vary together.
    assert found.error == pytest.approx(2 * 900 / 200, rel=0.15)


def test_answers_to_unchanged_cells_are_not_asked_for_again():
    """Few distinct cells: the loss equals that of asking about every row of every shuffle."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 3, 300), rng.integers(0, 2, 300)]).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=300) > 1.5).astype(int)
    model = PeerLogistic().fit(X, y)
    work = Shuffling(subject_of(model, X, y, owner="test"), metric("log loss"), 0, 0.95)
    tally = Tally(("x0",), 7)
    work.add(tally, 3)
    for k, score in enumerate(tally.scores):
        order = np.random.default_rng([0, 7, k]).permutation(300)
        Z = X.copy()
        Z[:, 0] = X[order, 0]
        p = model.predict_proba(Z)[np.arange(300), y]
        assert score == pytest.approx(-np.log(p).mean(), rel=1e-12)


def test_a_row_of_weight_two_is_the_row_given_twice():
    X, y = numbers(400, 3)
    weight = np.where(np.arange(400) % 2, 1.0, 3.0)
    once = permutation_importance(exact(WEIGHTS), X, y, metric="MSE", sample_weight=weight, repeats=20)
    some = np.repeat(np.arange(400), weight.astype(int))
    often = permutation_importance(exact(WEIGHTS), X[some], y[some], metric="MSE", repeats=20)
    assert once.score.value == pytest.approx(often.score.value, rel=1e-12)
    assert once["x0"].interval.value == pytest.approx(often["x0"].interval.value, rel=0.1)
    assert once["x0"].error > often["x0"].error  # copies are no new rows
    nothing = permutation_importance(exact(WEIGHTS), X, y, metric="MSE", sample_weight=(weight == 1).astype(float))
    assert nothing.n == 200  # a row of weight zero is a row that is not there


def test_groups_of_rows_widen_the_intervals():
    X, y = numbers(60, 4)
    some = np.repeat(np.arange(60), 5)
    alone = permutation_importance(exact(WEIGHTS), X[some], y[some], metric="MSE")
    tied = permutation_importance(exact(WEIGHTS), X[some], y[some], metric="MSE", groups=some)
    assert tied["x0"].error > 1.4 * alone["x0"].error
    assert tied["x0"].interval.method == "bootstrap of groups"
    area = permutation_importance(PeerLogistic().fit(X, y > 0), X[some], y[some] > 0, metric="AUC", groups=some)
    assert area["x0"].interval.method == "jackknife of 20 blocks of groups"
    loose = permutation_importance(PeerLogistic().fit(X, y > 0), X[some], y[some] > 0, metric="AUC")
    assert area["x0"].error > 1.4 * loose["x0"].error


def test_same_seed_same_numbers():
    X, y = numbers(200, 5)
    one, two = (permutation_importance(exact(WEIGHTS), X, y, seed=3).frame() for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


# --------------------------------------------------------------------------------------------------------------- parity


@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss"])
def test_the_peer_finds_the_same_within_its_spread(score):
    iris = load_iris().frame
    X, y = iris.drop(columns="species"), iris["species"]
    model = make_pipeline(StandardScaler(), PeerLogistic()).fit(X[::2], y[::2])
    peer = peer_importance(model, X[1::2], y[1::2], n_repeats=20, random_state=0, scoring=score)
    ours = permutation_importance(model, X[1::2], y[1::2], repeats=20, metric=score, groups_above=None)
    for j, name in enumerate(X.columns):
        spread = 4 * peer.importances_std[j] * np.sqrt(2 / 20) + 1e-12
        assert ours[name].interval.value == pytest.approx(peer.importances_mean[j], abs=spread)
        assert ours[name].noise == pytest.approx(peer.importances_std[j] * 1.7291 * np.sqrt(1.05), rel=0.6, abs=1e-12)


def test_every_kind_of_table_gives_the_same():
    import polars as pl

    X, y = numbers(300, 6)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    ours, peer = LinearRegression().fit(frame, y), PeerRegression().fit(frame, y)
    plain = permutation_importance(LinearRegression().fit(X, y), X, y, metric="MSE").frame()
    for model, table in ((ours, frame), (ours, pl.from_pandas(frame)), (peer, frame), (ours, frame.to_dict("list"))):
        pd.testing.assert_frame_equal(permutation_importance(model, table, y, metric="MSE").frame(), plain)
    polars = PeerRegression().fit(pl.from_pandas(frame), y)
    pd.testing.assert_frame_equal(permutation_importance(polars, pl.from_pandas(frame), y, metric="MSE").frame(), plain)
    with_target = frame.assign(y=y)
    for model in (ours, peer):  # the target among the columns is not one of them
        pd.testing.assert_frame_equal(permutation_importance(model, with_target, "y", metric="MSE").frame(), plain)


def test_the_users_own_columns_not_the_encoded_ones():
    titanic = load_titanic()
    model = RandomForestClassifier(kinds=titanic.kinds, n_estimators=20).fit(titanic.frame[::2], "survived")
    found = permutation_importance(model, titanic.frame[1::2], "survived")
    assert found.matter[0] == "sex"
    assert {loss.names[0] for loss in found.alone} == {c.name for c in model.schema_.features}
    assert "name" not in found.order()  # set aside as an identifier: the model does not use it
    assert found.score.value == pytest.approx(model.score(titanic.frame[1::2], titanic.frame["survived"][1::2]))


# ---------------------------------------------------------------------------------------------------- sets and the rest


def twins(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": a + 0.05 * rng.normal(size=n), "c": rng.normal(size=n)})
    return frame, a + 0.3 * rng.normal(size=n)


def test_columns_that_tell_the_same_are_shuffled_together():
    X, y = twins(400, 0)
    model = RandomForestRegressor(n_estimators=50, max_features=1).fit(*twins(400, 1))
    found = permutation_importance(model, X, y, metric="R2")
    (both,) = found.together
    assert both.names == ("a", "b")
    assert both.interval.value > found["a"].interval.value + found["b"].interval.value + 0.3
    assert found.order()[0] in ("a", "b")
    assert permutation_importance(model, X, y, groups_above=None).together == []


def test_shared_information_is_not_called_useless():
    """Three copies vote: any one of them can be shuffled and no answer changes, all three decide alone."""

    class Vote(PeerRegression):
        def predict(self, X):
            return np.median(X, axis=1)

    a = np.random.default_rng(0).integers(0, 2, 300).astype(float)
    X = np.column_stack([a, a, a])
    found = permutation_importance(Vote().fit(X, a), X, a, metric="MAE")
    assert [found[f"x{j}"].used for j in range(3)] == [False] * 3
    assert found.status("x0") == "matters with x1, x2"
    assert found.together[0].interval.value == pytest.approx(0.5, abs=0.05)
    assert found.top(2) == ["x0", "x1"]
    assert "3 of 3 columns are shown to matter" in found.verdict()


def test_a_copy_beside_a_column_that_matters_is_not_praised():
    X, y = twins(300, 2)
    model = LinearRegression().fit(X, y)
    model.coef_ = np.array([1.0, 1e-6, 0.0])
    found = permutation_importance(model, X, y)
    assert found.matter == ["a"]
    assert found.status("b") == "not shown to matter beside a"


def test_many_weak_columns_are_tried_together():
    """Ten columns, none shown by itself, all of it together: the advice to drop them would be wrong, so it is tried."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 10))
    y = X.sum(axis=1) * 0.25 + rng.normal(size=150)
    found = permutation_importance(exact(np.full(10, 0.1)), X, y, metric="MSE")
    assert len(found.matter) < 10
    assert found.rest is not None
    assert found.rest.matters
    assert "together they carry signal" in found.verdict()
    assert "fit again" in found.advice


# --------------------------------------------------------------------------------------------------------------- limits


def test_a_limit_of_time_keeps_what_is_done(monkeypatch):
    X, y = numbers(1000, 7)
    now = [0.0]

    def tick() -> float:
        now[0] += 0.01
        return now[0]

    monkeypatch.setattr(module.clock, "monotonic", tick)
    found = permutation_importance(exact(WEIGHTS), X, y, metric="MSE", seconds=0.08)
    assert found.skipped
    assert len(found.alone) + len(found.skipped) == 3
    assert found.n < 1000  # not even two shuffles of each column would have fitted
    assert "not reached in time" in found.verdict()
    assert any("limit of time" in note for note in found.notes)
    assert found.frame()["verdict"].tolist()[-1] == "not reached"
    json.dumps(found.to_dict(), allow_nan=False)


def test_no_time_at_all_is_no_verdict_on_columns():
    found = permutation_importance(exact(WEIGHTS), *numbers(300, 7), seconds=1e-9)
    assert found.verdict() == "No column was measured in time."
    assert found.top(3) == found.matter == []
    assert found.plot().axes
    json.dumps(found.to_dict(), allow_nan=False)


def test_enough_time_changes_nothing():
    X, y = numbers(300, 8)
    timed = permutation_importance(exact(WEIGHTS), X, y, seconds=600)
    pd.testing.assert_frame_equal(timed.frame(), permutation_importance(exact(WEIGHTS), X, y).frame())
    assert timed.notes == []


def test_an_interruption_keeps_what_is_done(monkeypatch):
    X, y = numbers(200, 9)
    add, calls = Shuffling.add, []

    def interrupted(self, tally, shuffles):
        calls.append(tally)
        if len(calls) == 3:
            raise KeyboardInterrupt
        add(self, tally, shuffles)

    monkeypatch.setattr(Shuffling, "add", interrupted)
    found = permutation_importance(exact(WEIGHTS), X, y)
    assert found.skipped == ["x2"]
    assert "Interrupted: results so far are kept." in found.notes


def test_too_many_columns_to_compare_are_said_to_be():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.choice(["a", "b", "c"], 60) for j in range(30)})
    y = X["c0"] == "a"
    model = NaiveBayes().fit(X, y)
    found = permutation_importance(model, X, y, repeats=1, seconds=2)  # 435 pairs, and time for 400
    assert found.notes[0].startswith("Columns with the same information were searched among numbers only")
    wide = rng.normal(size=(20, 401))
    many = permutation_importance(exact(np.ones(401)), wide, wide.sum(axis=1), repeats=1)
    assert many.notes == ["No search for columns with the same information: more than 400 columns."]


def test_fewer_rows_are_said_to_be_fewer():
    X, y = numbers(500, 10)
    found = permutation_importance(exact(WEIGHTS), X, y, rows=100)
    assert found.n == 100
    assert found.notes == ["100 rows of 500, drawn at random."]


# ------------------------------------------------------------------------------------------------------------ bad input


def test_constant_and_empty_columns_have_no_importance():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=80), "same": 1.0, "gone": np.nan})
    y = np.where(X["x"] > 0, "yes", "no")
    found = permutation_importance(RandomForestClassifier(n_estimators=10).fit(X, y), X, y)
    assert found.matter == ["x"]
    assert all(found.status(c) == "no answer depends on it" for c in found.order() if c != "x")


def test_a_model_without_probabilities_is_measured_by_its_answers():
    X, y = numbers(200, 11)
    model = LinearSVC().fit(X, y > 0)
    assert permutation_importance(model, X, y > 0).matter[0] == "x0"
    assert permutation_importance(model, X, y > 0, metric="AUC").matter[0] == "x0"  # its scores order the rows
    with pytest.raises(ValueError, match="log loss needs probability values, and LinearSVC gives none"):
        permutation_importance(model, X, y > 0, metric="log loss")


def test_classes_that_only_one_side_knows():
    iris = load_iris().frame
    model = NaiveBayes().fit(iris, "species")
    two = iris[iris["species"] != "setosa"]
    assert permutation_importance(model, two, "species", metric="log loss").score.value == pytest.approx(
        -np.log(np.take_along_axis(model.predict_proba(two), np.repeat([[1], [2]], 50, axis=0), axis=1)).mean()
    )
    small = NaiveBayes().fit(two, "species")
    assert permutation_importance(small, iris, "species").score.value < 0.7
    with pytest.raises(ValueError, match="y holds none of the classes that the model knows"):
        permutation_importance(model, two, np.repeat(["a", "b"], 50))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"groups_above": 0.0}, "groups_above must lie above 0"),
        ({"rows": 1}, "rows must be at least 2"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"metric": "nonsense"}, "no measure 'nonsense'"),
        ({"sample_weight": [1.0]}, "sample_weight.shape"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    X, y = numbers(20, 0)
    with pytest.raises(ValueError, match=said):
        permutation_importance(exact(WEIGHTS), X, y, **settings)


def test_rows_and_models_that_make_no_sense_are_refused():
    import scipy.sparse

    X, y = numbers(20, 0)
    with pytest.raises(NotFittedError):
        permutation_importance(LinearRegression(), X, y)
    with pytest.raises(TypeError, match="not a class: fit LinearRegression"):
        permutation_importance(LinearRegression, X, y)
    with pytest.raises(TypeError, match="needs a fitted model with predict; got a list"):
        permutation_importance([], X, y)
    with pytest.raises(ValueError, match="needs the true answers: give y"):
        permutation_importance(exact(WEIGHTS), X, None)
    with pytest.raises(ValueError, match="at least 2 rows; got 1"):
        permutation_importance(exact(WEIGHTS), X[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        permutation_importance(exact(WEIGHTS), X, y[:5])
    with pytest.raises(TypeError, match="a sparse matrix has too many"):
        permutation_importance(exact(WEIGHTS), scipy.sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        permutation_importance(IsolationForest().fit(X), X, y)
    named = PeerRegression().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="was trained on columns that X lacks: 'c'"):
        permutation_importance(named, pd.DataFrame(X, columns=["a", "b", "d"]), y)
    with pytest.raises(KeyError, match="No importance of 'zzz'"):
        permutation_importance(exact(WEIGHTS), X, y)["zzz"]
    with pytest.raises(ValueError, match="is not defined"):
        permutation_importance(PeerLogistic().fit(X, y > 0), X, np.ones(20, dtype=bool), metric="AUC")


# ------------------------------------------------------------------------------------------------------------- speaking


def test_report_and_picture():
    iris = load_iris().frame
    found = permutation_importance(NaiveBayes().fit(iris[::2], "species"), iris[1::2], "species")
    (page,) = found.sections()
    assert page.text.startswith(found.verdict())
    assert "was not trained on" in page.text
    assert page.frame.columns.tolist()[:2] == ["column", "importance"]
    figure = found.plot()
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels[: len(found.alone)] == found.order()
    assert str(found).startswith(found.verdict())
    json.dumps(found.to_dict(), allow_nan=False)
    assert json.dumps(page.to_dict(), default=str)
