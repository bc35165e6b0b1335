"""Models of ours and of other libraries are told apart, weighted and refused in one place."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.ensemble import IsolationForest as PeerForest
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import tilth
from tilth.base.foreign import first_step, is_ours, last_step, require_model, task_of_model, weights_for


@pytest.mark.parametrize(
    ("model", "task"),
    [
        (tilth.NaiveBayes(), "classification"),
        (make_pipeline(StandardScaler(), PeerLogistic()), "classification"),
        (tilth.Ridge(), "regression"),
        (KNeighborsRegressor(), "regression"),
        (tilth.IsolationForest(), "anomaly"),
        (PeerForest(), "anomaly"),
        (tilth.KMeans(), "clustering"),
        (PeerKMeans(), "clustering"),
        (StandardScaler(), None),
        ("tree", None),
    ],
)
def test_the_task_of_a_model(model, task):
    assert task_of_model(model) == task


def test_the_ends_of_a_pipeline():
    inside, peer = tilth.NaiveBayes(), PeerLogistic()
    pipe = make_pipeline(make_pipeline(StandardScaler(), MinMaxScaler()), make_pipeline(MinMaxScaler(), peer))
    assert last_step(pipe) is peer
    assert isinstance(first_step(pipe), StandardScaler)
    assert last_step(inside) is first_step(inside) is inside
    assert is_ours(inside)
    assert not is_ours(pipe)


def test_weights_go_to_every_step_that_takes_them():
    weight = np.array([1.0, 2.0])
    pipe = make_pipeline(make_pipeline(StandardScaler(), MinMaxScaler()), "passthrough", PeerLogistic())
    names = {"pipeline__standardscaler__sample_weight", "logisticregression__sample_weight"}
    assert set(weights_for(pipe, weight)) == names
    assert weights_for(pipe, None) == {}
    assert weights_for(KNeighborsRegressor(), None) == {}
    with pytest.raises(TypeError, match=r"Blend: KNeighborsRegressor\.fit takes no sample_weight; leave"):
        weights_for(make_pipeline(StandardScaler(), KNeighborsRegressor()), weight, "Blend")


@pytest.mark.parametrize(
    ("model", "task", "message"),
    [
        (PeerLogistic, None, r"Me: estimator must be a model, not a class: write LogisticRegression\(\)"),
        ("tree", None, "Me: estimator must be a model with fit and predict; got str. None takes a tree."),
        (tilth.Ridge(), "classification", "must be a classifier with fit and predict; got Ridge"),
        (PeerKMeans(), "regression", "must be a regressor with fit and predict; got KMeans"),
        (StandardScaler(), "classification", "got StandardScaler"),
    ],
)
def test_what_is_no_model_of_the_task_is_refused(model, task, message):
    with pytest.raises(TypeError, match=message):
        require_model(model, "Me", task, usual="a tree")


def test_a_model_that_does_not_say_its_task_is_believed():
    class Plain:
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X))

    require_model(Plain(), "Me", "regression")
    assert task_of_model(Plain()) is None
