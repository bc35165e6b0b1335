import numpy as np
import pytest
from models_for_tests import OneColumn, SeesGroups
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tilth import GradientBoostingClassifier, LinearSVC, LogisticRegression, Ridge
from tilth.data.datasets import load
from tilth.evaluate.evaluation import evaluate
from tilth.evaluate.search.search import search
from tilth.evaluate.search.tuned import TunedClassifier, TunedRegressor


@pytest.fixture(scope="module")
def iris():
    return load("iris").frame


@pytest.mark.covers("EV-11")
def test_evaluating_it_is_nested_cross_validation(iris):
    """The same folds, searched inside: the very answers of search(), made in another way."""
    rows, labels = iris.drop(columns="species").to_numpy(), iris["species"].to_numpy()
    options = {"ranges": {"C": [0.001, 0.1, 10.0]}, "inner": StratifiedKFold(3)}
    nested = search(LogisticRegression(), rows, labels, outer=4, **options)
    tuned = TunedClassifier(estimator=LogisticRegression(), **options)
    found = evaluate(tuned, rows, labels, split=4, baselines=False, audit=False)
    inside = nested.outer.pooled(nested.name)
    outside = found.resampling.pooled("TunedClassifier")
    np.testing.assert_array_equal(inside.given, outside.given)
    np.testing.assert_allclose(inside.probability, outside.probability, atol=1e-9)
    assert found.score() == nested.score


@pytest.mark.covers("EV-11")
def test_noise_stays_noise():
    rng = np.random.default_rng(5)
    noise, coin = rng.normal(size=(120, 30)), rng.integers(0, 2, 120)
    model = TunedClassifier(estimator=OneColumn(), ranges={"column": list(range(30))}, trials=30)
    assert model.fit(noise, coin).best_score_ > 0.55
    assert 0.5 in evaluate(model, noise, coin, split=4, audit=False).score()


def test_groups_given_to_evaluate_reach_the_inner_folds():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(20), 6)
    label = rng.integers(0, 2, 20)[group]
    rows = np.column_stack([group, rng.normal(size=120)])
    model = TunedClassifier(estimator=SeesGroups(), ranges={"c": [1.0, 2.0]})
    assert model.fit(rows, label).best_score_ > 0.95
    assert model.fit(rows, label, groups=group).best_score_ < 0.9


def test_the_winner_learns_all_rows():
    cars = load("auto_mpg").frame
    model = TunedRegressor(estimator=Ridge(), trials=4, inner=3).fit(cars, "mpg")
    same = Ridge(**model.best_params_).fit(cars, "mpg")
    np.testing.assert_allclose(model.predict(cars), same.predict(cars), rtol=1e-12)
    assert model.metric_ == "RMSE"
    frame = model.tries()
    assert len(frame) == 4
    assert frame["RMSE"].min() == model.best_score_
    assert "optimistic" in model.sections()[-1].text


def test_models_of_other_libraries_and_pipelines(iris):
    for inside in (TheirLogistic(max_iter=500), make_pipeline(StandardScaler(), TheirLogistic())):
        rows = iris.drop(columns="species")
        model = TunedClassifier(estimator=inside, trials=3, inner=2).fit(rows, iris["species"])
        assert model.predict_proba(rows).shape == (150, 3)


def test_a_model_without_probabilities(iris):
    two = iris[iris["species"] != "setosa"]
    model = TunedClassifier(estimator=LinearSVC(), trials=2, inner=2)
    assert not hasattr(model, "predict_proba")
    model.fit(two, "species")
    assert model.decision_function(two).shape == (100,)
    assert ((model.decision_function(two) > 0) == (model.predict(two) == "virginica")).all()


def test_early_stopping_inside(iris):
    booster = GradientBoostingClassifier(early_stopping=True, n_estimators=60, n_iter_no_change=2)
    model = TunedClassifier(estimator=booster, ranges={"learning_rate": "auto"}, trials=2, inner=2).fit(iris, "species")
    assert model.estimator_.n_iter_ < 60


def test_bad_input(iris):
    with pytest.raises(ValueError, match="inner must be at least 2 folds"):
        TunedClassifier(inner=1).fit(iris, "species")
    with pytest.raises(ValueError, match="no parameter 'd'"):
        TunedClassifier(ranges={"d": (0, 1)}).fit(iris, "species")
    with pytest.raises(TypeError, match="estimator must be a regressor"):
        TunedRegressor(estimator=LogisticRegression()).fit(iris, "sepal_length")
    with pytest.raises(ValueError, match="no try of C has a score"):
        TunedClassifier(ranges={"C": [1.0]}, estimator=TheirLogistic(solver="unheard of")).fit(
            iris.drop(columns="species"), iris["species"]
        )
