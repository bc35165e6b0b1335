"""Filters, columns by a model's own weights, collinear columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from tilth import CART, Lasso, LinearRegression, LogisticRegression, NaiveBayes, Standardise
from tilth.data.datasets import load
from tilth.errors import ModelWarning
from tilth.models.select import DropCollinear, SelectByModel, SelectByRelevance
from tilth.parts.relevance import AnovaF, CFSMerit, Correlation, MutualInformation


@pytest.fixture
def planted():
    """Eight columns of noise and two that matter, for two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    X = pd.DataFrame(rng.normal(size=(240, 10)), columns=[f"n{j}" for j in range(8)] + ["a", "b"])
    X["a"] += 1.2 * y
    X["b"] -= 1.0 * y
    return X, np.array(["no", "yes"])[y]


@pytest.mark.covers("FS-01", "FS-05", "FS-06")
@pytest.mark.parametrize(
    "relevance",
    ["signal to noise", "mutual information", "symmetric uncertainty", "chi-square", "anova", "correlation"],
)
def test_planted_columns_are_found_by_every_measure(planted, relevance):
    assert sorted(SelectByRelevance(relevance=relevance, k=2).fit(*planted).selected()) == ["a", "b"]


def test_the_number_may_be_a_share_or_all(planted):
    X, y = planted
    assert len(SelectByRelevance(k=0.3).fit(X, y).selected()) == 3
    assert len(SelectByRelevance(k="all").fit(X, y).selected()) == 10
    assert SelectByRelevance(k=1).fit(X, y).n_fits_ == 0


def test_the_p_value_counts_all_tests(planted):
    X, y = planted
    chosen = SelectByRelevance(relevance=AnovaF(), p_value=0.01).fit(X, y)
    assert chosen.selected() == ["a", "b"]
    table = chosen.relevances()
    assert (table["adjusted"] >= table["p_value"]).all()
    assert table.loc[table["kept"], "adjusted"].max() <= 0.01
    rng = np.random.default_rng(1)
    with pytest.warns(ModelWarning, match="W220"):
        nothing = SelectByRelevance(p_value=0.001).fit(rng.normal(size=(50, 3)), rng.normal(size=50))
    assert len(nothing.selected()) == 1


@pytest.mark.covers("FS-07")
def test_the_number_of_columns_by_cross_validation(planted):
    X, y = planted
    chosen = SelectByRelevance(estimator=NaiveBayes(), rule="one_se").fit(X, y)
    assert sorted(chosen.selected()) == ["a", "b"]
    assert chosen.path_["columns"].tolist() == list(range(11))
    assert chosen.n_fits_ == 10
    assert chosen.path_["score"].iloc[2] > chosen.path_["score"].iloc[1]


@pytest.mark.covers("FS-07")
def test_every_fold_ranks_on_its_own_training_rows(planted):
    """The measure never sees a validation row together with its label: each call has the rows of one training set."""
    X, y = planted
    seen = []

    class Watched(Correlation):
        def of(self, column, target, weight=None):
            seen.append(column.values[:5].tolist() if column.name == "a" else None)
            return super().of(column, target, weight)

    folds = [(np.arange(0, 160), np.arange(160, 240)), (np.arange(80, 240), np.arange(0, 80))]
    SelectByRelevance(relevance=Watched(), cv=folds).fit(X, y)
    starts = [s for s in seen if s is not None]
    a = X["a"].to_numpy()
    assert starts == [a[:5].tolist(), a[:5].tolist(), a[80:85].tolist()]
    assert len(seen) == 3 * 10


@pytest.mark.covers("FS-07")
def test_selection_inside_the_folds_is_honest_and_outside_is_not():
    """Labels are coin flips: any score above one half is optimism."""
    outside, inside, own = [], [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 300)), np.repeat([0, 1], 20)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        chosen = SelectByRelevance(relevance="anova", k=10)
        outside.append(cross_val_score(NaiveBayes(), chosen.fit_transform(X, y), y, cv=folds).mean())
        inside.append(cross_val_score(make_pipeline(chosen, NaiveBayes()), X, y, cv=folds).mean())
        # The selector's own score of its chosen columns is made inside its folds, too.
        scored = SelectByRelevance(relevance="anova", k=10, estimator=NaiveBayes()).fit(X, y).path_
        own.append(scored.loc[scored["chosen"], "score"].item())
    assert np.mean(outside) > 0.85
    assert abs(np.mean(inside) - 0.5) < 0.12
    assert abs(np.mean(own) - 0.5) < 0.12


@pytest.mark.parametrize("rule", [{"relevance": "anova", "p_value": 0.05}, {"relevance": "cfs"}])
def test_rules_are_scored_inside_the_folds_too(rule):
    """On coin flips the number of columns differs from fold to fold, and no score is better than chance."""
    scores = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 20)), np.repeat([0, 1], 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            path = SelectByRelevance(estimator=NaiveBayes(), **rule).fit(X, y).path_
        scores.append(path.loc[path["chosen"], "score"].item())
    assert abs(np.mean(scores) - 0.5) < 0.08


def test_scored_columns_without_a_choice(planted):
    X, y = planted
    chosen = SelectByRelevance(k=2, estimator=LogisticRegression()).fit(X, y)
    assert chosen.path_["columns"].tolist() == [0, 2, 10]
    assert chosen.n_fits_ == 2
    assert "all 10 columns" in chosen.verdict()


@pytest.mark.covers("FS-06")
@pytest.mark.parametrize("relation", [None, Correlation()])
def test_merit_leaves_the_copy_out(relation):
    rng = np.random.default_rng(2)
    y = rng.normal(size=600)
    X = pd.DataFrame(
        {"a": y + rng.normal(size=600), "b": y + 1.2 * rng.normal(size=600), "noise": rng.normal(size=600)}
    )
    X.insert(1, "copy of a", 3 * X["a"] - 1)
    ranked = SelectByRelevance(k=2).fit(X, y).selected()
    assert ranked == ["a", "copy of a"]
    assert SelectByRelevance(relevance=CFSMerit(relation=relation), k="merit").fit(X, y).selected() == ["a", "b"]
    assert SelectByRelevance(relevance=CFSMerit(relation=relation), k=2).fit(X, y).selected() == ["a", "b"]


def test_levels_and_numbers_are_ranked_together():
    credit = load("german_credit")
    chosen = SelectByRelevance(relevance="chi-square", k=5, kinds=credit.kinds).fit(credit.frame, credit.target)
    table = chosen.relevances()
    assert set(table["kind"]) >= {"numeric", "nominal"}
    assert table["column"][0] in chosen.selected()
    assert table["p_value"].is_monotonic_increasing
    assert table["how"].str.contains("cut into 5 bins").any()


def test_a_part_is_reached_as_a_parameter(planted):
    model = SelectByRelevance(relevance=MutualInformation(), k=1).set_params(relevance__n_neighbors=7)
    assert model.relevance.n_neighbors == 7
    assert model.fit(*planted).selected() == ["a"]


def test_many_columns_are_tried_in_growing_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 60))
    chosen = SelectByRelevance(cv=0.3, estimator=LinearRegression()).fit(X, 5 * X[:, 7] + rng.normal(size=60))
    assert chosen.path_["columns"].tolist() == [0, *range(1, 21), 26, 34, 45, 60]
    assert "x7" in chosen.selected()


# --------------------------------------------------------------------------------------------------------- by a model


@pytest.mark.covers("FS-13")
def test_zero_weights_are_dropped():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) * [1, 10, 100, 1, 10, 100]
    y = 3 * X[:, 0] + 0.03 * X[:, 2] + 0.1 * rng.normal(size=200)
    lasso = make_pipeline(Standardise(), Lasso(alpha=0.2))
    chosen = SelectByModel(estimator=lasso, cv=0.3).fit(X, y)
    assert chosen.selected() == ["x0", "x2"]
    weights = lasso.fit(X, y)[-1].coef_
    assert [f"x{j}" for j in np.flatnonzero(weights)] == chosen.selected()
    table = chosen.importances()
    assert table["importance"].tolist() == sorted(table["importance"], reverse=True)
    assert "x0" in SelectByModel(cv=0.3).fit(X, y).selected()


@pytest.mark.covers("FS-13")
def test_levels_of_a_column_stay_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.normal(size=300), "town": rng.choice(["a", "b", "c", "d"], 300)})
    y = (frame["town"].isin(["a", "d"])) ^ (rng.random(300) < 0.05)
    chosen = SelectByModel(estimator=LogisticRegression(penalty="l1", C=0.1), cv=0.3).fit(frame, y)
    assert chosen.selected() == ["town"]


@pytest.mark.covers("FS-15")
@pytest.mark.parametrize("estimator", [CART(max_depth=3), PeerForest(20, random_state=0)], ids=["tree", "peer"])
def test_importance_in_trees(planted, estimator):
    X, y = planted
    chosen = SelectByModel(estimator=estimator, max_columns=2, cv=0.3).fit(X, y)
    assert sorted(chosen.selected()) == ["a", "b"]
    np.testing.assert_allclose(chosen.importances_.sum(), 1.0)
    assert chosen.threshold_ == pytest.approx(0.1)


@pytest.mark.parametrize("threshold", ["median", "nonzero", 0.05, "mean"])
def test_thresholds(planted, threshold):
    X, y = planted
    chosen = SelectByModel(estimator=CART(max_depth=4), threshold=threshold, compare=False).fit(X, y)
    assert {"a", "b"} <= set(chosen.selected())
    assert chosen.n_fits_ == 1


def test_models_without_importance_are_refused(planted):
    X, y = planted
    with pytest.raises(TypeError, match="ForwardSelection, which takes any model"):
        SelectByModel(estimator=NaiveBayes(), compare=False).fit(X, y)
    with pytest.raises(ValueError, match="threshold must be"):
        SelectByModel(estimator=CART(), threshold="high").fit(X, y)
    with pytest.warns(ModelWarning, match="W220"):
        few = SelectByModel(estimator=CART(), threshold=2.0, cv=0.3).fit(X, y)
    assert len(few.selected()) == 1


# ---------------------------------------------------------------------------------------------------------- collinear


@pytest.mark.covers("FS-16", "SP-29")
def test_one_of_each_pair_goes():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200))
    X = pd.DataFrame({"a": a, "b": b, "a2": a + 0.1 * rng.normal(size=200), "c": c, "b2": 2 * b + 5})
    found = DropCollinear().fit(X)
    assert found.selected() == ["a", "b", "c"]
    assert sorted(found.dropped()["column"]) == ["a2", "b2"]
    assert dict(zip(found.dropped()["column"], found.dropped()["with"], strict=True)) == {"a2": "a", "b2": "b"}


@pytest.mark.covers("FS-16")
def test_the_inflation_is_that_of_statsmodels():
    outside = pytest.importorskip("statsmodels.stats.outliers_influence")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    X[:, 3] += X[:, 0] + X[:, 1]
    with_ones = np.column_stack([np.ones(100), X])
    peer = [outside.variance_inflation_factor(with_ones, j) for j in range(1, 5)]
    np.testing.assert_allclose(DropCollinear().fit(X).inflation_, peer, rtol=1e-8)
    assert DropCollinear(limit=max(peer) + 0.01).fit(X).selected() == ["x0", "x1", "x2", "x3"]
    assert len(DropCollinear(limit=max(peer) - 0.01).fit(X).selected()) == 3


@pytest.mark.covers("FS-16")
def test_no_inflation_above_the_limit_is_left():
    mpg = load("auto_mpg")
    X = mpg.frame.drop(columns=mpg.target)
    found = DropCollinear(kinds=mpg.kinds).fit(X)
    assert np.nanmax(found.inflation_) > 10
    again = DropCollinear(kinds=mpg.kinds).fit(found.transform(X))
    assert len(again.dropped()) == 0
    assert again.inflation_.max() <= 10


def test_with_a_target_the_less_related_column_goes():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    X = pd.DataFrame({"blurred": a + 0.2 * rng.normal(size=200), "a": a})
    assert DropCollinear().fit(X).selected() == ["blurred"]
    assert DropCollinear().fit(X, a).selected() == ["a"]
    assert DropCollinear().fit(X, np.where(a > 0, "up", "down")).selected() == ["a"]


def test_a_column_of_levels_that_repeats_another_goes():
    rng = np.random.default_rng(0)
    town = rng.choice(["rome", "oslo", "bonn"], 100)
    X = pd.DataFrame({"town": town, "code": np.char.upper(town), "x": rng.normal(size=100)})
    assert DropCollinear().fit(X).selected() == ["town", "x"]


def test_constants_and_single_columns_stay_harmless():
    X = pd.DataFrame({"flat": [1.0] * 9, "x": np.arange(9.0)})
    assert DropCollinear().fit(X).selected() == ["flat", "x"]
    assert DropCollinear().fit([[1.0], [2.0]]).selected() == ["x0"]
