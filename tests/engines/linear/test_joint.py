"""Log-linear models: the gradient is observed - expected - lambda w, class blocks are softmax regression."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tilth.engines.linear.design import DenseDesign
from tilth.engines.linear.joint import LogLinearProblem, class_blocks, fit_log_linear, joint_matrix
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.solver import solve
from tilth.parts.class_losses import Softmax
from tilth.parts.penalties import L2

rng = np.random.default_rng(2)
N, K = 80, 3
X = rng.normal(size=(N, 2))
Y = rng.integers(0, K, N).astype(np.int32)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own


def phi(x, label):
    return {f"x0 & {label}": x[0], "same sign": float((x[1] > 0) == (label == 1)), "sum": x.sum() * label}


def toy(weight=None, alpha=0.1):
    matrix, names = joint_matrix(phi, list(X), range(K), None, "test")
    return LogLinearProblem(matrix, Y, K, np.full(len(names), alpha), weight)


@pytest.mark.covers("G-15")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_gradient_is_observed_less_expected_less_lambda_w(weight):
    rng = np.random.default_rng(101)
    problem = toy(weight)
    w = rng.normal(size=problem.phi.shape[1])
    numeric = approx_fprime(w, problem.value, 1e-6)
    np.testing.assert_allclose(problem.gradient(w), numeric, atol=1e-6)
    np.testing.assert_allclose(-numeric, problem.observed() - problem.expected(w) - 0.1 * w, atol=1e-6)
    curves = np.array([approx_fprime(w, lambda v, j=j: problem.gradient(v)[j], 1e-6) for j in range(len(w))])
    np.testing.assert_allclose(problem.hessian(w), curves, atol=1e-5)


def test_without_a_prior_every_feature_is_expected_as_often_as_observed():
    problem = toy(alpha=0.0)
    w, outcome = fit_log_linear(problem, None, 1e-9, 200)
    assert outcome.converged
    np.testing.assert_allclose(problem.expected(w), problem.observed(), atol=1e-9)


@pytest.mark.covers("G-14")
def test_class_blocks_are_softmax_regression():
    blocks = class_blocks(X, K, intercept=False)
    w, outcome = fit_log_linear(LogLinearProblem(blocks, Y, K, np.full(2 * K, 0.05), WEIGHT), None, 1e-9, 200)
    assert outcome.converged
    plain = solve(Problem(DenseDesign(X), Y, Softmax(k=K), L2(0.05), WEIGHT, intercept=False), "lbfgs", tol=1e-10)
    np.testing.assert_allclose(w.reshape(K, 2), plain.weights.coef.T, atol=1e-6)


def test_many_weights_go_without_second_derivatives(monkeypatch):
    w, _ = fit_log_linear(toy(), None, 1e-8, 500)
    monkeypatch.setattr("tilth.engines.linear.joint.MOST_DENSE", 1)
    again, outcome = fit_log_linear(toy(), None, 1e-7, 500)
    assert outcome.solver == "lbfgs"
    np.testing.assert_allclose(again, w, atol=1e-5)


def test_features_by_dict_and_by_array_and_new_names():
    matrix, names = joint_matrix(lambda x, y: [x, x * y], [1.0, 2.0], [0, 1], None, "test")
    assert names == ["f0", "f1"]
    np.testing.assert_allclose(matrix.toarray(), [[1, 0], [1, 1], [2, 0], [2, 2]])
    later, _ = joint_matrix(lambda x, y: {"f1": x, "never seen": 1.0}, [3.0], [0, 1], names, "test")
    np.testing.assert_allclose(later.toarray(), [[0, 3], [0, 3]])


@pytest.mark.parametrize(
    ("made", "words"), [("text", "must give a dict"), ([[1.0]], "must give a dict"), ({"a": np.nan}, "finite")]
)
def test_features_that_are_no_numbers_are_refused(made, words):
    with pytest.raises(ValueError, match=words):
        joint_matrix(lambda x, y: made, [1.0], [0, 1], None, "LogLinear")
