"""Wrappers: which columns are found, how many fits it takes, shared cross products, the bound on chance."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.metrics import check_scoring

from tilth import DecisionTreeClassifier, LinearRegression, NaiveBayes, Ridge
from tilth.data.datasets import load
from tilth.data.infer import infer
from tilth.data.reading import read
from tilth.engines.select.folds import chance_bound, inner_folds
from tilth.engines.select.refit import Refit, Rows
from tilth.engines.select.walk import Step, best_step, one_standard_error, within
from tilth.errors import ModelWarning, TilthWarning
from tilth.models.select import (
    BackwardElimination,
    EmbeddedForward,
    ExhaustiveSelection,
    ForwardSelection,
    SelectByRelevance,
)
from tilth.models.select.base import Sample
from tilth.models.select.squares import shared_squares
from tilth.stats.bounds import corrected_t_bounds


@pytest.fixture
def line():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    return X, 3 * X[:, 2] - X[:, 0] + 0.2 * rng.normal(size=200)


@pytest.fixture
def exclusive_or():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(300, 5)).astype(float)
    return X, np.where(X[:, 1] != X[:, 3], "odd", "even")


# ------------------------------------------------------------------------------------------------------------- searches


@pytest.mark.covers("FS-08")
def test_all_subsets_find_a_pair_that_means_something_only_together(exclusive_or):
    X, y = exclusive_or
    tree = DecisionTreeClassifier()
    found = ExhaustiveSelection(estimator=tree).fit(X, y)
    assert found.selected() == ["x1", "x3"]
    assert found.n_fits_ == 2**5 - 1
    assert found.path_.loc[found.path_["chosen"], "score"].item() == 1.0
    alone = SelectByRelevance(relevance="mutual information", k="all").fit(X, y).relevances()
    assert alone["value"].max() < 0.03  # each by itself tells nothing
    with pytest.warns(ModelWarning, match="no set of columns"):
        ForwardSelection(estimator=tree, max_columns=1, random_state=2).fit(X, y)


@pytest.mark.covers("FS-10")
def test_forward_fits_each_candidate_once(line):
    X, y = line
    for estimator in (LinearRegression(), NaiveBayes()):
        target = y if isinstance(estimator, LinearRegression) else (y > 0).astype(int)
        found = ForwardSelection(estimator=estimator).fit(X, target)
        assert found.n_fits_ == 10
        assert found.path_["fits"].tolist() == [0, 4, 3, 2, 1]
        assert found.path_["column"].tolist()[1] == "x2"
    assert ForwardSelection().fit(X, y).path_["column"].tolist()[1:3] == ["x2", "x0"]


@pytest.mark.covers("WN-62")
@pytest.mark.parametrize(("d", "steps", "subsets"), [(2, 3, 4), (4, 10, 16), (10, 55, 1024)])
def test_how_many_subsets_each_search_tries(d, steps, subsets):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d))
    y = X @ np.arange(1.0, d + 1) + rng.normal(size=60)
    assert ForwardSelection().fit(X, y).n_fits_ == steps
    assert BackwardElimination().fit(X, y).n_fits_ == steps
    assert ExhaustiveSelection().fit(X, y).n_fits_ == subsets - 1  # no column at all needs no fit


@pytest.mark.covers("FS-10")
def test_the_number_of_fits_is_the_number_of_models_fitted(line):
    X, y = line
    count = 0

    class Counted(PeerLogistic):
        def fit(self, *args, **kwargs):
            nonlocal count
            count += 1
            return super().fit(*args, **kwargs)

    found = ForwardSelection(estimator=Counted(), cv=3).fit(X, (y > 0).astype(int))
    assert count == 3 * found.n_fits_ == 30
    count = 0
    found = EmbeddedForward(estimator=Counted(), cv=3).fit(X, (y > 0).astype(int))
    assert count == 3 * found.n_fits_ == 12
    count = 0
    found = BackwardElimination(estimator=Counted(), cv=3).fit(X, (y > 0).astype(int))
    assert count == 3 * found.n_fits_ == 30


@pytest.mark.covers("FS-11")
def test_embedded_fits_once_per_column_and_takes_the_forward_path(line):
    X, y = line
    found = EmbeddedForward().fit(X, y)
    assert found.n_fits_ == 4
    assert found.path_["fits"].tolist() == [0, 1, 1, 1, 1]
    assert found.path_["column"].tolist()[1:3] == ForwardSelection().fit(X, y).path_["column"].tolist()[1:3]
    assert set(found.selected()) >= {"x0", "x2"}


@pytest.mark.covers("FS-11")
def test_embedded_uses_what_the_model_got_wrong():
    """A copy of the first column has the second highest relevance, but explains none of the errors that are left."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    X = pd.DataFrame({"a": a, "copy": a + 0.05 * rng.normal(size=300), "b": b})
    y = 3 * a + b
    assert SelectByRelevance(k=2).fit(X, y).selected() == ["a", "copy"]
    assert EmbeddedForward(max_columns=2).fit(X, y).path_["column"].tolist()[1:3] == ["a", "b"]


@pytest.mark.covers("FS-11")
def test_embedded_on_classes_levels_and_missing_values():
    found = load("penguins")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        chosen = EmbeddedForward(estimator=NaiveBayes(), rule="one_se").fit(found.frame, found.target)
    assert chosen.n_fits_ == len(chosen.columns_)
    assert len(chosen.selected()) < len(chosen.columns_)
    assert chosen.path_.loc[chosen.path_["chosen"], "score"].item() > 0.93


@pytest.mark.covers("FS-12")
def test_backward_drops_planted_noise_first():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=["a", "n1", "b", "n2", "c", "n3"])
    y = X["a"] - X["b"] + X["c"] + 0.5 * rng.normal(size=300)
    found = BackwardElimination().fit(X, y)
    assert set(found.path_["column"].tolist()[1:4]) == {"n1", "n2", "n3"}
    assert found.n_fits_ == 6 * 7 // 2
    assert BackwardElimination(rule="one_se").fit(X, y).selected() == ["a", "b", "c"]
    few = BackwardElimination(max_columns=2).fit(X, y)
    assert len(few.selected()) <= 2


def test_limits_hold(line):
    X, y = line
    assert len(ForwardSelection(max_columns=1).fit(X, y).selected()) == 1
    assert ForwardSelection(max_columns=1).fit(X, y).n_fits_ == 5  # four candidates, and all columns beside them
    assert len(BackwardElimination(min_columns=3).fit(X, y).path_) == 2
    assert ExhaustiveSelection(max_columns=2).fit(X, y).n_fits_ == 4 + 6 + 1


# --------------------------------------------------------------------------------------------- shared cross products


def tables():
    rng = np.random.default_rng(5)
    n = 150
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = X["a"] - 2 * X["c"] + rng.normal(size=n)
    yield "numbers", X, y
    yield "shifted", 1000 + 0.01 * X, y
    mixed = X.assign(colour=rng.choice(["red", "green", "blue"], n), copy=2 * X["a"])
    yield "levels and a copy", mixed, y + (mixed["colour"] == "red")
    yield "gaps", mixed.mask(rng.random(mixed.shape) < 0.1), y


@pytest.mark.covers("FS-08", "FS-10")
@pytest.mark.parametrize(
    ("estimator", "scoring", "weighted"),
    [
        (LinearRegression(), None, False),
        (LinearRegression(), "neg_mean_squared_error", True),
        (Ridge(alpha=3.0), "neg_root_mean_squared_error", False),
        (Ridge(alpha=3.0), None, True),
    ],
    ids=["ols", "ols weighted", "ridge", "ridge weighted"],
)
@pytest.mark.parametrize(("name", "X", "y"), list(tables()), ids=lambda v: v if isinstance(v, str) else "")
def test_shared_scores_are_those_of_refitting(name, X, y, estimator, scoring, weighted):
    weight = np.random.default_rng(0).random(len(y)) + 0.5 if weighted else None
    raw = read(X)
    table = raw.typed(infer(raw))
    rows = Rows(table.frame(), np.asarray(y), weight)
    given = Sample(table, rows, "regression", None)
    folds = inner_folds(rows.y, 3, classes=False, owner="test")
    shared = shared_squares(estimator, given, folds, scoring)
    assert shared is not None
    d = given.n_columns
    subsets = np.array([[bool(i >> j & 1) for j in range(d)] for i in range(1, 2**d)])[:: 1 if d < 5 else 4]
    peer = Refit(estimator, rows, folds, check_scoring(estimator, scoring))
    np.testing.assert_allclose(shared(subsets), peer(subsets), rtol=1e-6, atol=1e-7)
    assert not peer.failures


def test_shared_scores_are_for_least_squares_alone(line):
    X, y = line
    assert ForwardSelection(estimator=LinearRegression()).fit(X, y).shared_
    assert ForwardSelection(estimator=Ridge()).fit(X, y).shared_
    assert not ForwardSelection(estimator=LinearRegression(), scoring="neg_mean_absolute_error").fit(X, y).shared_
    assert not ForwardSelection(estimator=LinearRegression(fit_intercept=False)).fit(X, y).shared_
    assert not ForwardSelection(estimator=NaiveBayes()).fit(X, y > 0).shared_


def test_few_rows_fall_back_to_refitting():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 8)), rng.normal(size=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        assert not ForwardSelection(cv=2, max_columns=2).fit(X, y).shared_


# ---------------------------------------------------------------------------------------------------------- the bound


@pytest.mark.covers("FS-09", "FX-71")
def test_the_bound_is_hoeffdings_for_all_subsets():
    assert chance_bound(1, 200, 0.05) == pytest.approx(np.sqrt(np.log(2 / 0.05) / 400))
    assert chance_bound(100, 200) > chance_bound(10, 200) > chance_bound(10, 2000)


@pytest.mark.covers("FS-09")
def test_the_bound_holds_for_the_best_of_many_subsets():
    """Labels are coin flips, so that every error is 1/2: the best of m validation errors stays within the bound."""
    rng = np.random.default_rng(0)
    n_val, tried, broken = 100, 63, 0
    for _ in range(400):
        shares = rng.binomial(n_val, 0.5, size=tried) / n_val
        broken += shares.max() - 0.5 > chance_bound(tried, n_val, 0.05)
    assert broken / 400 <= 0.05
    looks_good = rng.binomial(n_val, 0.5, size=(400, tried)).max(axis=1) / n_val - 0.5
    assert looks_good.mean() > 0.1  # the optimism that the bound is about


@pytest.mark.covers("FS-09")
def test_train_validation_test_and_the_stop_rule():
    rng = np.random.default_rng(4)
    n = 3000
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    found = ForwardSelection(estimator=NaiveBayes(), cv=0.3, rule="bound", test_size=0.25).fit(X, y)
    assert found.selected() == ["a", "b"]
    # The walk ended with the first step that gained less than the bound; two columns of the six were never added.
    path = found.path_[found.path_["action"] != "all"]
    gains = np.diff(path["score"])
    assert len(path) == 4
    assert gains[-1] < path["bound"].iloc[-1]
    assert (gains[:-1] >= path["bound"].iloc[1:-1]).all()
    told = found.test_
    assert told["n"] == 750
    assert told["n_validation"] == round(0.3 * 2250)
    assert told["score"] == pytest.approx(told["validation"], abs=told["bound"])
    assert told["bound"] == pytest.approx(chance_bound(found.n_fits_, told["n_validation"]))
    assert "750 rows kept out" in found.verdict()


def test_backward_stops_when_the_loss_is_more_than_chance():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    found = BackwardElimination(estimator=NaiveBayes(), cv=0.3, rule="bound").fit(X, y)
    assert found.selected() == ["a", "b"]
    assert found.path_["columns"].tolist() == [4, 3, 2, 1]


def test_the_bound_is_refused_where_it_does_not_hold(line):
    X, y = line
    with pytest.raises(ValueError, match="share of rows"):
        ForwardSelection(rule="bound").fit(X, y)
    with pytest.raises(ValueError, match="share of rows"):
        ForwardSelection(rule="bound", scoring="roc_auc").fit(X, y > 0)


# ---------------------------------------------------------------------------------------------------------- the choice


def steps_of(*means):
    d = len(means)
    spread = np.array([-0.01, 0.0, 0.01])
    return [Step(np.arange(d) < i + 1, i, m + spread, 1, 0.0) for i, m in enumerate(means)]


def test_rules_of_choice():
    steps = steps_of(0.70, 0.80, 0.795, 0.803, 0.803)
    assert best_step(steps) == 3  # the smaller of equal ones
    assert one_standard_error(steps) == 1
    assert within(steps, 0.2) == 0
    # Scores 0.7 and 0.9: their standard error is 0.1, and 0.071 with the wrong divisor.
    pair = [Step(np.arange(3) < 1, 0, np.array([m, m]), 1, 0.0) for m in (0.71, 0.69)]
    best = Step(np.arange(3) < 2, 1, np.array([0.7, 0.9]), 1, 0.0)
    assert [one_standard_error([small, best]) for small in pair] == [0, 1]
    broken = [*steps, Step(np.ones(5, dtype=bool), 0, np.array([1.0, np.nan, 1.0]), 1, 0.0)]
    assert best_step(broken) == 3


def test_the_interval_is_the_corrected_t():
    from tilth.evaluate.intervals import corrected_t

    scores = np.array([0.8, 0.85, 0.9, 0.7, 0.75])
    peer = corrected_t(scores, n_train=80, n_test=20)
    assert corrected_t_bounds(scores, 20 / 80) == pytest.approx((peer.low, peer.high))
    assert np.isnan(corrected_t_bounds(scores[:1], 0.25)).all()


# --------------------------------------------------------------------------------------------------------- what it says


@pytest.mark.covers("FS-18", "SP-66")
@pytest.mark.parametrize(
    "selector",
    [ForwardSelection(), ForwardSelection(max_columns=2), BackwardElimination(), ExhaustiveSelection(),
     EmbeddedForward(), SelectByRelevance(), SelectByRelevance(k=2, estimator=LinearRegression())],
)  # fmt: skip
def test_all_columns_stand_beside_the_chosen_ones(line, selector):
    X, y = line
    found = selector.fit(X, y)
    path = found.path_
    assert (path["columns"] == 4).any()
    assert path["chosen"].sum() == 1
    assert path.loc[path["chosen"], "columns"].item() == len(found.selected())
    gap = found.versus_all()
    assert gap["low"] <= gap["difference"] <= gap["high"]
    if len(found.selected()) < 4:
        assert "all 4 columns" in found.verdict()
    assert (path["low"] <= path["score"]).all()
    assert (path["score"] <= path["high"]).all()


@pytest.mark.covers("FS-18")
def test_selection_is_not_always_needed():
    """Ten columns that all matter: leaving any out costs, and the verdict says so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=500)
    found = ForwardSelection(max_columns=3).fit(X, y)
    assert found.versus_all()["high"] < 0
    assert "leaving columns out costs" in found.verdict()
    assert ForwardSelection().fit(X, y).selected() == [f"x{j}" for j in range(6)]


@pytest.mark.covers("FS-19", "SP-66")
def test_the_path_is_drawn_with_its_cost(line):
    X, y = line
    for found in (ForwardSelection().fit(X, y), BackwardElimination().fit(X, y), SelectByRelevance().fit(X, y)):
        figure = found.plot()
        scores, cost = figure.axes
        drawn = np.sort(scores.lines[0].get_ydata())
        np.testing.assert_allclose(drawn, np.sort(found.path_["score"]))
        assert len(cost.patches) == len(found.path_)
        assert f"{found.n_fits_} fits" in cost.get_title(loc="right")
        assert found.path_["seconds"].sum() > 0
    with pytest.raises(ValueError, match="no subset was scored"):
        SelectByRelevance(k=1).fit(X, y).plot()


@pytest.mark.covers("FS-17")
def test_the_summary_tells_rows_per_column(line):
    from tilth.models.select.base import ratio_advice

    X, y = line
    text = ForwardSelection().fit(X, y).summary()
    assert "50 rows per column (200 rows, 4 columns): plenty" in text
    assert "Kept" in text.splitlines()[2]
    assert "fewer than 10" in ratio_advice(90, 10)
    assert "enough for simple models" in ratio_advice(200, 10)
    few = ForwardSelection(max_columns=1).fit(X[:24], y[:24]).summary()
    assert "6 rows per column" in few
    assert "learn the rows by heart" in few


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    y[:60] = 0
    with pytest.warns(ModelWarning, match=r"\[W220\]"):
        found = ForwardSelection(estimator=NaiveBayes()).fit(X, y)
    assert len(found.selected()) >= 1
