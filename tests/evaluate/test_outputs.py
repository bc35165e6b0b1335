"""Models of several numbers per row, and rankings by query, under evaluate, compare and search."""

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.evaluate.answers import Answers
from tilth.evaluate.metrics import metric
from tilth.evaluate.metrics.outputs import averaged, of_output


def two_targets(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=n)
    return pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "near": X[:, 0] + 0.1 * noise, "far": X[:, 1] + 2.0 * noise})


@pytest.mark.parametrize("name", ["RMSE", "R2", "median absolute error"])
def test_a_score_of_several_outputs_is_the_mean_of_the_scores_of_each(name):
    rng = np.random.default_rng(0)
    true, given, weight = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), rng.uniform(size=20)
    both, one = Answers(true, given, weight=weight), metric(name)
    alone = [one.score(Answers(true[:, j], given[:, j], weight=weight)) for j in (0, 1)]
    assert averaged(one, 2).score(both) == pytest.approx(np.mean(alone))
    assert [of_output(one, j, "y").score(both) for j in (0, 1)] == pytest.approx(alone)


def test_evaluate_several_targets_by_name():
    data = two_targets()
    result = tilth.evaluate(tilth.LinearRegression(), data, ["near", "far"], folds=3)
    scores = result.scores["LinearRegression"]
    assert set(scores) >= {"RMSE", "RMSE of near", "RMSE of far", "R2 of far"}
    assert scores["RMSE of near"].value < 0.2 < 1.0 < scores["RMSE of far"].value
    mean = (scores["RMSE of near"].value + scores["RMSE of far"].value) / 2
    assert result.score().value == pytest.approx(mean)
    assert result.gain().high < 0
    assert list(result.shares().index) == ["near", "far"]
    assert "RMSE of far" in str(result)


def test_the_columns_of_the_targets_are_not_learned_from():
    data = two_targets()
    by_name = tilth.evaluate(tilth.Ridge(), data, ["near", "far"], folds=3)
    by_array = tilth.evaluate(tilth.Ridge(), data[["x", "z"]], data[["near", "far"]].to_numpy(), folds=3)
    assert by_name.score().value == pytest.approx(by_array.score().value)
    assert by_array.resampling.problem.outputs == ["output 0", "output 1"]


def test_compare_and_search_of_several_targets():
    data = two_targets()
    models = [tilth.LinearRegression(), tilth.DecisionTreeRegressor()]
    assert tilth.compare(models, data, ["near", "far"], folds=3).best in ("LinearRegression", "Ridge regression")
    found = tilth.search(tilth.Ridge(), data, ["near", "far"], trials=3, inner=2, outer=2)
    assert np.isfinite(found.score.value)


def test_a_model_of_one_target_says_that_several_are_too_many():
    with pytest.raises(RuntimeError, match="Fit a model for each column"):
        tilth.evaluate(tilth.Lasso(), two_targets(), ["near", "far"], folds=3)


def ranked(n_queries: int = 12, size: int = 5):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_queries * size, 2))
    grades = np.digitize(X[:, 0] + 0.1 * rng.normal(size=len(X)), [0.0, 1.0])
    return X, grades, np.repeat(np.arange(n_queries), size)


def test_rankings_are_judged_query_by_query():
    X, grades, queries = ranked()
    result = tilth.evaluate(tilth.RankingSVM(), X, grades, groups=queries, folds=3)
    assert list(result.scores["RankingSVM"]) == ["NDCG", "MAP", "MRR"]
    assert result.gain().low > 0
    for split in result.resampling.splits:
        assert not set(queries[split.train]) & set(queries[split.test])


def test_the_queries_reach_the_fit():
    """Grades have meaning within a query only: one query of all rows would learn the level of the query."""
    rng = np.random.default_rng(7)
    level = np.repeat(np.arange(10.0), 4)
    X = np.column_stack([level, rng.normal(size=40)])
    grades = np.round(3 * level + (X[:, 1] > 0))
    result = tilth.evaluate(tilth.RankingSVM(), X, grades - grades.min(), groups=level.astype(int), folds=2)
    kept = tilth.RankingSVM().fit(X, grades, group=level.astype(int)).coef_
    assert abs(kept[1]) > abs(kept[0])
    assert result.score("MRR").value > 0.9


def test_rankers_are_compared_and_need_queries():
    X, grades, queries = ranked()
    models = [tilth.RankingSVM(), tilth.GradientBoostingRanker(n_estimators=5, min_samples_leaf=2)]
    board = tilth.compare(models, X, grades, groups=queries, folds=3)
    assert board.ranking[-1] == "Zero-R"
    with pytest.raises(ValueError, match="scored query by query; state the query of each row with groups"):
        tilth.evaluate(tilth.RankingSVM(), X, grades)
    with pytest.raises(ValueError, match="one task"):
        tilth.compare([tilth.RankingSVM(), tilth.Ridge()], X, grades, groups=queries)
