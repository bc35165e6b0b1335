"""Voting: worked answers, laws, parity with scikit-learn, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import VotingClassifier as PeerClassifier
from sklearn.ensemble import VotingRegressor as PeerRegressor

from tilth import (
    C45,
    CARTRegressor,
    DecisionTreeClassifier,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    Ridge,
    VotingClassifier,
    VotingRegressor,
    load,
    load_dataset,
    save,
)
from tilth.explain import explain_rows

GLAD, SAD = "☺", "☹"


def always(*answers):
    """Members that give these answers whatever the row is."""
    return [(f"m{i}", DummyClassifier(strategy="constant", constant=a)) for i, a in enumerate(answers)]


@pytest.fixture(scope="module")
def iris():
    data = load_dataset("iris")
    return data.frame.drop(columns=data.target), data.frame[data.target]


@pytest.mark.covers("Y-01", "WN-31")
def test_the_majority_and_the_mean_of_the_notes():
    X, y = [[0], [1]], [GLAD, SAD]
    model = VotingClassifier(estimators=always(GLAD, GLAD, SAD, GLAD)).fit(X, y)
    assert model.predict(X).tolist() == [GLAD, GLAD]
    assert model.predict_proba([[1]])[0].tolist() == pytest.approx([0.25, 0.75])  # shares of the votes
    numbers = [(f"m{i}", DummyRegressor(strategy="constant", constant=c)) for i, c in enumerate((0.8, 0.7, 0.2, 0.9))]
    assert VotingRegressor(estimators=numbers).fit(X, [0.0, 1.0]).predict(X) == pytest.approx([0.65, 0.65])


@pytest.mark.covers("Y-03", "SP-46")
def test_of_equally_many_votes_the_first_class_wins():
    model = VotingClassifier(estimators=always("b", "a")).fit([[0], [1]], ["a", "b"])
    assert model.predict([[0]]).tolist() == ["a"]


@pytest.mark.covers("Y-02")
def test_weights_by_validation_are_accuracies_and_beat_equal_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.45), "b", "a")  # 45 % are a
    members = [("tree", DecisionTreeClassifier()), *always("a", "a")]
    plain = VotingClassifier(estimators=members).fit(X, y)
    weighed = VotingClassifier(estimators=members, weights="validation", folds=4).fit(X, y)
    assert weighed.scores_[1:] == pytest.approx([0.45, 0.45])
    assert weighed.scores_[0] > 0.95
    assert weighed.weights_ == pytest.approx(weighed.scores_ / weighed.scores_.sum())
    assert (plain.predict(X) == y).mean() == pytest.approx(0.45)  # two of three say a
    assert (weighed.predict(X) == y).mean() > 0.95


def test_numbers_are_weighed_by_one_over_their_squared_error():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 1))
    y = 3 * X[:, 0] + rng.normal(size=120)
    members = [("line", Ridge()), ("mean", DummyRegressor())]
    model = VotingRegressor(estimators=members, weights="validation").fit(X, y)
    assert model.weights_ == pytest.approx((1 / model.scores_) / (1 / model.scores_).sum())
    assert model.weights_[0] > 0.8


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [3, 1, 1]])
def test_as_scikit_learn_votes(iris, voting, weights):
    X, y = iris[0].to_numpy(), iris[1].to_numpy()
    members = [("linear", LogisticRegression()), ("bayes", NaiveBayes()), ("tree", DecisionTreeClassifier(max_depth=2))]
    ours = VotingClassifier(estimators=members, voting=voting, weights=weights).fit(X, y)
    peer = PeerClassifier(estimators=members, voting=voting, weights=weights).fit(X, y)
    assert ours.predict(X).tolist() == peer.predict(X).tolist()
    if voting == "soft":
        assert ours.predict_proba(X) == pytest.approx(peer.predict_proba(X))


def test_as_scikit_learn_averages():
    data = load_dataset("auto_mpg")
    X = data.frame[["cylinders", "weight", "acceleration"]].to_numpy(dtype=float)
    y = data.frame["mpg"].to_numpy()
    members = [("line", Ridge()), ("tree", CARTRegressor())]
    ours = VotingRegressor(estimators=members, weights=[1, 3]).fit(X, y)
    assert ours.predict(X) == pytest.approx(PeerRegressor(estimators=members, weights=[1, 3]).fit(X, y).predict(X))


def test_laws_of_weights(iris):
    X, y = iris
    tree, bayes = ("tree", DecisionTreeClassifier()), ("bayes", NaiveBayes())

    def answers(members, weights):
        return VotingClassifier(estimators=members, voting="soft", weights=weights).fit(X, y).predict_proba(X)

    both = answers([tree, bayes], [1, 3])
    assert both == pytest.approx(answers([tree, bayes], [0.25, 0.75]))  # only their ratio counts
    assert both == pytest.approx(answers([bayes, tree], [3, 1]))  # and not the order
    assert answers([tree, bayes], [0, 1]) == pytest.approx(NaiveBayes().fit(X, y).predict_proba(X))
    assert answers([bayes], None) == pytest.approx(NaiveBayes().fit(X, y).predict_proba(X))


def test_a_member_without_a_say_does_not_learn(iris):
    broken = DummyClassifier(strategy="constant", constant="no such class")
    model = VotingClassifier(estimators=[("fine", NaiveBayes()), ("broken", broken)], weights=[1, 0]).fit(*iris)
    assert model.estimators_[1] is None
    assert len(model.predict(iris[0])) == len(iris[0])


def test_real_tables_go_into_every_member_and_come_back_from_a_file(tmp_path):
    data = load_dataset("titanic")
    model = VotingClassifier(estimators=[C45(), NaiveBayes(), LogisticRegression()], voting="soft", kinds=data.kinds)
    model.fit(data.frame, data.target)
    rows = data.frame.drop(columns=data.target).head(30)
    assert model.members()[0][0] == "c451"
    assert model.comparison()["model"].tolist() == ["C45", "NaiveBayes", "LogisticRegression"]
    again = load(save(model, tmp_path / "m.tilth"))
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert "Members" in [s.title for s in again.sections()]
    told = explain_rows(model, rows.head(2), background=rows)
    assert told.base + told.values.sum(axis=2) == pytest.approx(model.predict_proba(rows.head(2)))


def test_parameters_of_members_are_reached_by_their_names(iris):
    model = VotingClassifier(estimators=[("tree", DecisionTreeClassifier()), ("bayes", NaiveBayes())])
    assert model.get_params()["tree__max_depth"] is None
    model.set_params(tree__max_depth=1, voting="soft", bayes=C45())
    assert model.estimators[0][1].max_depth == 1
    assert isinstance(dict(model.estimators)["bayes"], C45)
    copy = clone(model)
    assert copy.get_params()["tree__max_depth"] == 1
    assert copy.estimators[0][1] is not model.estimators[0][1]
    with pytest.raises(ValueError, match="its members are"):
        model.set_params(forest__max_depth=1)


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"estimators": []}, ValueError, "at least one member"),
        ({"estimators": "C45"}, TypeError, "must be a list"),
        ({"estimators": [("a", NaiveBayes()), ("a", C45())]}, ValueError, "two members are called 'a'"),
        ({"estimators": [("a__b", NaiveBayes())]}, ValueError, "'__'"),
        ({"estimators": [NaiveBayes]}, TypeError, r"write NaiveBayes\(\)"),
        ({"estimators": [Ridge()]}, TypeError, "must be a classifier"),
        ({"weights": [1, 2]}, ValueError, "each of the 3 members"),
        ({"weights": [0, 0, 0]}, ValueError, "not all 0"),
        ({"weights": [1, -1, 1]}, ValueError, "at least 0"),
        ({"weights": "accuracy"}, ValueError, "'validation'"),
        ({"weights": 3}, ValueError, "one number"),
    ],
)
def test_what_is_refused_and_nothing_is_half_changed(iris, params, error, words):
    model = VotingClassifier(**params)
    before = dict(vars(model))
    with pytest.raises(error, match=words):
        model.fit(*iris)
    assert vars(model) == before


def test_soft_votes_need_probabilities(iris):
    with pytest.raises(TypeError, match="'linearsvc1' gives none; wrap it in a CalibratedClassifier"):
        VotingClassifier(estimators=[LinearSVC(), NaiveBayes()], voting="soft").fit(*iris)
    hard = VotingClassifier(estimators=[LinearSVC(), NaiveBayes()]).fit(*iris)
    assert (hard.predict(iris[0]) == iris[1]).mean() > 0.9


def test_a_class_that_no_fold_of_a_member_met_has_no_votes():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    model = VotingClassifier(estimators=[C45(), DecisionTreeClassifier()], weights="validation", folds=3)
    model.fit(X, ["a", "a", "a", "b", "b", "c"])
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(6))


def test_members_are_judged_by_weighted_rows():
    X = np.arange(60.0)[:, None]
    y = np.where(np.arange(60) % 3 == 0, "a", "b")
    weight = np.where(y == "a", 4.0, 1.0)  # a third of the rows, two thirds of the weight
    model = VotingClassifier(estimators=always("a", "b"), weights="validation", folds=3).fit(X, y, sample_weight=weight)
    assert model.scores_ == pytest.approx([2 / 3, 1 / 3])
    numbers = np.where(y == "a", 3.0, 0.0)
    members = [
        ("low", DummyRegressor(strategy="constant", constant=0.0)),
        ("high", DummyRegressor(strategy="constant", constant=3.0)),
    ]
    regressor = VotingRegressor(estimators=members, weights="validation", folds=3).fit(X, numbers, sample_weight=weight)
    assert regressor.scores_ == pytest.approx([9 * 2 / 3, 9 / 3])
