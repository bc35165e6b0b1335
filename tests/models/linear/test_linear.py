"""The generic estimators: any loss with any penalty, the same answers as the models that have names."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as PeerElasticNet
from sklearn.linear_model import PoissonRegressor as PeerPoisson

import tilth
from tilth import (
    L1,
    L2,
    Absolute,
    Descent,
    Exponential,
    Huber,
    Linear,
    LinearClassifier,
    LinearRegressor,
    Logistic,
    Softmax,
)
from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.solver import solvers
from tilth.errors import ModelWarning
from tilth.parts.margin_losses import Hinge, SquaredHinge
from tilth.parts.penalties import ElasticNet

rng = np.random.default_rng(1)
N = 150
X = rng.normal(size=(N, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 1.0 + rng.normal(0, 0.5, N)
TWO = np.where(rng.random(N) < 1 / (1 + np.exp(-X @ [2.0, -1.0, 0.0, 0.0])), "yes", "no")
MANY = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.gumbel(size=(N, 3)), axis=1)]
del rng  # tests draw from generators of their own


@pytest.mark.covers("R-01")
def test_the_loss_says_which_estimator_it_is():
    assert isinstance(Linear(loss=Huber(), penalty=L1(0.1)), LinearRegressor)
    assert isinstance(Linear(loss=Logistic()), LinearClassifier)
    assert isinstance(Linear(), LinearRegressor)
    assert isinstance(Linear(loss="log_loss"), LinearClassifier)
    with pytest.raises(ValueError, match=r"loss must be a loss or one of 'squared_error'.*got 'cubic'"):
        Linear(loss="cubic")


def test_named_models_are_special_cases():
    n = len(Y)
    pairs = [
        (Linear(), tilth.LinearRegression()),
        (Linear(penalty=L2(3.0 / n)), tilth.Ridge(alpha=3.0)),
        (Linear(penalty="l2", alpha=3.0 / n), tilth.Ridge(alpha=3.0)),
        (Linear(loss="poisson"), tilth.PoissonRegressor(alpha=0)),
    ]
    for generic, named in pairs:
        y = np.round(np.exp(Y / 3)) if "oisson" in repr(generic) else Y
        np.testing.assert_allclose(generic.fit(X, y).coef_, named.fit(X, y).coef_, atol=1e-6)
    generic = Linear(loss="log_loss", penalty=L2(1 / (2.0 * n))).fit(X, MANY)
    np.testing.assert_allclose(generic.coef_, tilth.LogisticRegression(C=2.0).fit(X, MANY).coef_, atol=1e-6)


def test_penalties_agree_with_the_peer():
    rng = np.random.default_rng(101)
    mine = Linear(penalty=ElasticNet(0.2, ratio=0.4), tol=1e-9).fit(X, Y)
    theirs = PeerElasticNet(alpha=0.2, l1_ratio=0.4, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    counts = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    mine = Linear(loss="poisson", penalty="l2", alpha=0.1, tol=1e-9).fit(X, counts)
    np.testing.assert_allclose(mine.coef_, PeerPoisson(alpha=0.1, tol=1e-10).fit(X, counts).coef_, atol=1e-6)
    np.testing.assert_allclose(mine.predict(X), np.exp(X @ mine.coef_ + mine.intercept_))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
@pytest.mark.parametrize("penalty", ["none", "l1"])
def test_every_pair_finds_a_solver_and_is_near_the_truth(loss, penalty):
    model = Linear(loss=loss, penalty=penalty, alpha=0.01).fit(X, Y)
    assert model.outcome_.converged
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.0, 0.5], atol=0.25)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "probit", Softmax(k=3), SquaredHinge(), Hinge()], ids=str)
def test_losses_of_classes(loss):
    model = Linear(loss=loss, penalty=L2(0.01)).fit(X, MANY)
    assert model.score(X, MANY) > 0.5
    assert model.coef_.shape == (3, 4)


def test_a_margin_is_no_probability():
    model = Linear(loss=SquaredHinge(), penalty=L2(0.01)).fit(X, TWO)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "surprises")
    assert (model.predict(X) == np.where(model.decision_function(X) > 0, "yes", "no")).all()
    assert hasattr(Linear(loss=Exponential()).fit(X, TWO), "predict_proba")
    assert hasattr(Linear(loss=Logistic()), "predict_proba"), "known before the fit"


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (LinearRegressor(loss=Logistic()), Y, "is a loss of two classes.*use LinearClassifier"),
        (LinearClassifier(loss=Absolute()), TWO, "is a loss of numbers.*use LinearRegressor"),
        (LinearClassifier(loss=Softmax(k=4)), MANY, "has 4 scores, and y has 3 classes"),
        (LinearRegressor(loss="cubic"), Y, "loss must be one of 'squared_error'"),
        (LinearRegressor(penalty="l3"), Y, "penalty must be one of 'l2'"),
        (LinearRegressor(solver="magic"), Y, "There is no solver 'magic'"),
        (LinearRegressor(loss="poisson"), Y, "not negative"),
        (LinearRegressor(loss=Absolute(), solver="closed form"), Y, "solves for squared loss only"),
    ],
)
def test_what_does_not_fit_is_told(model, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.covers("R-07")
def test_a_fit_that_does_not_converge_warns():
    with pytest.warns(ModelWarning, match=r"\[W207\] LinearRegressor: gradient descent stopped after 2 iterations"):
        model = LinearRegressor(solver=Descent(max_iter=2)).fit(X, Y)
    assert model.outcome_.guarantee.startswith("none")


@pytest.mark.parametrize("solver", ["auto", *solvers()])
def test_a_model_with_parts_is_stored(solver, tmp_path):
    from tilth.lifecycle.save import load, save

    part = solver if solver == "auto" else solvers()[solver]()
    problem = Problem(DenseDesign(X), Y, Huber(delta=1.0), L2(0.01))
    if part != "auto" and part.refuses(problem) is not None:
        part = "auto"
    model = Linear(loss=Huber(delta=1.0), penalty=L2(0.01), solver=part).fit(X, Y)
    save(model, tmp_path / "m.tilth")
    again = load(tmp_path / "m.tilth")
    assert again.loss == model.loss
    assert again.penalty == model.penalty
    assert again.solver == model.solver
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
