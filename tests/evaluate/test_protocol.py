import numpy as np
import pytest

from tilth import NaiveBayes, OneRClassifier, Protocol, audit, compare, evaluate, fairness, learning_curve, search
from tilth.data.datasets import load


@pytest.fixture(scope="module")
def iris():
    return load("iris").frame


def test_a_protocol_says_the_same_as_its_fields(iris):
    protocol = Protocol(folds=3, seed=5, level=0.8, metrics=["error"])
    one = evaluate(NaiveBayes(), iris, "species", protocol=protocol, audit=False)
    other = evaluate(NaiveBayes(), iris, "species", folds=3, seed=5, level=0.8, metrics=["error"], audit=False)
    assert one.to_dict() == other.to_dict()
    assert one.resampling.splits.name == "3-fold cross-validation, stratified, seed 5"
    assert one.level == 0.8


def test_a_keyword_overrules_the_protocol(iris):
    protocol = Protocol(folds=3, seed=5)
    board = compare([OneRClassifier()], iris, "species", protocol=protocol, folds=4, baselines=False)
    assert board.resampling.splits.name == "4-fold cross-validation, stratified, seed 5"


def test_one_protocol_serves_every_function(iris):
    protocol = Protocol(seed=3, level=0.9, metrics="balanced accuracy")
    rows = iris.iloc[::3].reset_index(drop=True)
    assert audit(NaiveBayes(), rows, "species", protocol=protocol, checks=["A121"]).metric == "balanced accuracy"
    curve = learning_curve(NaiveBayes(), rows, "species", sizes=[20, 40], reference=None, protocol=protocol)
    assert (curve.metric.name, curve.level) == ("balanced accuracy", 0.9)
    tried = search(NaiveBayes(), rows, "species", trials=2, inner=2, nested=False, protocol=protocol)
    assert (tried.metric.name, tried.task.seed, tried.level) == ("balanced accuracy", 3, 0.9)


def test_what_a_function_cannot_use_is_refused_not_ignored(iris):
    with pytest.raises(
        TypeError, match=r"evaluate\(\) got an unexpected keyword argument 'fold'; did you mean 'folds'\?"
    ):
        evaluate(NaiveBayes(), iris, "species", fold=3)
    with pytest.raises(TypeError, match=r"search\(\) got an unexpected keyword argument 'folds'"):
        search(NaiveBayes(), iris, "species", folds=3)
    with pytest.raises(ValueError, match="search does not use folds; the protocol has folds=3"):
        search(NaiveBayes(), iris, "species", protocol=Protocol(folds=3))
    with pytest.raises(ValueError, match="fairness does not use test_size"):
        fairness(NaiveBayes(), iris, "species", sensitive="species", protocol=Protocol(test_size=0.5))
    with pytest.raises(TypeError, match="protocol must be a Protocol"):
        evaluate(NaiveBayes(), iris, "species", protocol={"folds": 3})
    with pytest.raises(ValueError, match=r"evaluate: level must lie between 0 and 1, as in 0\.95; got 95"):
        evaluate(NaiveBayes(), iris, "species", level=95)


def test_weights_and_groups_of_a_protocol_are_used(iris):
    weight = np.where(iris["species"] == "setosa", 10.0, 1.0)
    groups = np.arange(len(iris)) // 5
    scored = evaluate(NaiveBayes(), iris, "species", protocol=Protocol(sample_weight=weight, groups=groups, folds=3))
    assert scored.resampling.problem.weight is not None
    for part in scored.resampling.splits:
        assert not set(groups[part.train]) & set(groups[part.test])
