"""Newton's method: the optimum in a few steps, whatever the scales; nothing runs off."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from tilth.engines.linear.closed import ClosedForm
from tilth.engines.linear.curves import curve_of, pairs_of, prepared
from tilth.engines.linear.design import DenseDesign, OneHotDesign, SparseDesign
from tilth.engines.linear.lbfgs import LBFGS
from tilth.engines.linear.newton import Newton
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.solver import choose
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.losses import Absolute, Gamma, Huber, Poisson, Squared
from tilth.parts.penalties import L1, L2, NoPenalty

RNG = np.random.default_rng(0)
N = 400
PLAIN = RNG.normal(size=(N, 4))
SKEWED = PLAIN * [1, 10, 0.1, 100] + [0, 50, 3, 1e5]
SLOPES = np.array([1.0, -0.5, 0.3, 0.8])
W = RNG.random(N) + 0.1
CODES = np.column_stack([RNG.integers(0, 3, N)]).astype(np.int32)
TARGETS = {
    "squared": (Squared(), PLAIN @ SLOPES + RNG.normal(size=N)),
    "logistic": (Logistic(), (RNG.random(N) < 1 / (1 + np.exp(-PLAIN @ SLOPES))).astype(int)),
    "poisson": (Poisson(), RNG.poisson(np.exp(PLAIN @ SLOPES))),
    "gamma": (Gamma(), np.exp(PLAIN @ SLOPES) * RNG.gamma(2.0, size=N)),
    "softmax": (Softmax(k=3), (PLAIN @ RNG.normal(size=(4, 3)) + RNG.gumbel(size=(N, 3))).argmax(axis=1)),
}
del RNG  # tests draw from generators of their own


@pytest.fixture(params=TARGETS)
def target(request):
    return TARGETS[request.param]


@pytest.mark.parametrize("penalty", [NoPenalty(), L2(0.02)], ids=["free", "l2"])
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_ends_where_the_gradient_is_zero(target, penalty, weight, intercept):
    loss, y = target
    problem = Problem(DenseDesign(PLAIN), y, loss, penalty, weight, intercept)
    found = Newton().solve(problem)
    assert found.outcome.converged
    assert found.outcome.n_iter <= 15
    at = found.weights
    assert problem.violation(at, problem.gradient(problem.scores(at))) <= 1e-6
    np.testing.assert_allclose(found.outcome.objective, problem.objective(at), rtol=1e-12)
    assert intercept or not np.any(at.intercept)


@pytest.mark.parametrize("penalty", [NoPenalty(), L2(0.02)], ids=["free", "l2"])
def test_newton_and_lbfgs_agree(target, penalty):
    loss, y = target
    problem = Problem(DenseDesign(PLAIN), y, loss, penalty, W)
    ours, other = Newton(tol=1e-9).solve(problem), LBFGS(tol=1e-9).solve(problem)
    np.testing.assert_allclose(ours.outcome.objective, other.outcome.objective, rtol=1e-12)
    np.testing.assert_allclose(problem.scores(ours.weights), problem.scores(other.weights), atol=1e-4)


def test_squared_loss_is_the_closed_form_in_one_step():
    problem = Problem(DenseDesign(SKEWED), TARGETS["squared"][1], Squared(), L2(0.1), W)
    ours, wanted = Newton().solve(problem), ClosedForm().solve(problem)
    assert ours.outcome.n_iter == 1
    np.testing.assert_allclose(ours.weights.coef, wanted.weights.coef, rtol=1e-8)
    np.testing.assert_allclose(ours.weights.intercept, wanted.weights.intercept, rtol=1e-8)


def test_scales_cost_no_steps():
    y = TARGETS["logistic"][1]
    plain = Newton().solve(Problem(DenseDesign(PLAIN), y, Logistic()))
    skewed = Newton().solve(Problem(DenseDesign(SKEWED), y, Logistic()))
    assert skewed.outcome.n_iter <= plain.outcome.n_iter + 1
    np.testing.assert_allclose(skewed.weights.coef * [1, 10, 0.1, 100], plain.weights.coef, rtol=1e-4)


@pytest.mark.parametrize("design", [
    SparseDesign(sp.csr_matrix(np.where(np.abs(PLAIN) > 1, PLAIN, 0.0))),
    OneHotDesign(PLAIN, CODES, [3], 1),
], ids=["sparse", "levels"])  # fmt: skip
@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_designs_agree_with_dense_ones(design, name):
    loss, y = TARGETS[name]
    ours = Newton().solve(Problem(design, y, loss, L2(0.01), W))
    wanted = Newton().solve(Problem(DenseDesign(design.dense()), y, loss, L2(0.01), W))
    np.testing.assert_allclose(ours.weights.coef, wanted.weights.coef, atol=1e-5)


def test_one_evaluation_has_the_derivatives_of_the_cost(target):
    rng = np.random.default_rng(101)
    loss, y = target
    problem = prepared(Problem(DenseDesign(PLAIN), y, loss, NoPenalty(), W))
    p, k = 4, loss.n_scores
    start = rng.normal(size=(p + 1) * k) * 0.1

    def at(theta):
        return Weights(theta[: p * k].reshape(problem.shape), theta[p * k :].reshape(problem.shape[1:]))

    def value(theta):
        return problem.risk(problem.scores(at(theta)))

    def gradient(theta):
        found = curve_of(problem, at(theta), middle, curved=False)
        return np.concatenate([found.slope.ravel(), found.bias]) / found.weight

    middle = PLAIN.mean(axis=0)
    curve = curve_of(problem, at(start), middle, curved=True)
    np.testing.assert_allclose(gradient(start), approx_fprime(start, value, 1e-7), atol=1e-5)
    np.testing.assert_allclose(curve.value / curve.weight, value(start), rtol=1e-12)
    bends = approx_fprime(start, gradient, 1e-7)
    for pair, (a, b) in enumerate(pairs_of(k)):
        sums, total = curve.sums[pair], curve.totals[pair]
        uncentred = (
            curve.cross[pair] + np.outer(middle, sums) + np.outer(sums, middle) + total * np.outer(middle, middle)
        )
        rows, columns = np.arange(p) * k + a, np.arange(p) * k + b
        np.testing.assert_allclose(uncentred / curve.weight, bends[np.ix_(rows, columns)], atol=1e-5)
        np.testing.assert_allclose(total / curve.weight, bends[p * k + a, p * k + b], atol=1e-5)


def test_rows_merge():
    rng = np.random.default_rng(102)
    loss, y = TARGETS["softmax"]
    problem = prepared(Problem(DenseDesign(PLAIN), y, loss, NoPenalty(), W))
    at, middle = Weights(rng.normal(size=(4, 3)), rng.normal(size=3)), PLAIN.mean(axis=0)
    whole = curve_of(problem, at, middle, curved=True)
    merged = None
    for rows in (slice(0, 150), slice(150, N)):
        part = curve_of(
            prepared(Problem(DenseDesign(PLAIN[rows]), y[rows], loss, NoPenalty(), W[rows])), at, middle, curved=True
        )
        merged = part if merged is None else merged + part
    for name in ("weight", "value", "slope", "bias", "cross", "sums", "totals"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-10, atol=1e-10)


def test_separable_classes_do_not_run_off():
    y = (PLAIN[:, 0] > 0.1).astype(int)
    found = Newton().solve(Problem(DenseDesign(PLAIN), y, Logistic()))
    assert found.weights.finite
    assert found.outcome.objective < 1e-3
    assert (np.diff(found.outcome.trace["objective"]) <= 1e-12).all()


def test_dependent_columns_are_named_and_answers_stay():
    y = TARGETS["logistic"][1]
    twice = np.column_stack([PLAIN, PLAIN[:, 1]])
    found = Newton().solve(Problem(DenseDesign(twice), y, Logistic()))
    single = Newton().solve(Problem(DenseDesign(PLAIN), y, Logistic()))
    assert found.dependent == (1, 4)
    assert found.outcome.converged
    np.testing.assert_allclose(twice @ found.weights.coef, PLAIN @ single.weights.coef, atol=1e-5)


def test_constant_columns_and_no_columns():
    y = TARGETS["logistic"][1]
    alone = Newton().solve(Problem(DenseDesign(np.empty((N, 0))), y, Logistic()))
    np.testing.assert_allclose(alone.weights.intercept, np.log(y.mean() / (1 - y.mean())), rtol=1e-9)
    constant = Newton().solve(Problem(DenseDesign(np.column_stack([PLAIN, np.ones(N)])), y, Logistic()))
    plain = Newton().solve(Problem(DenseDesign(PLAIN), y, Logistic()))
    np.testing.assert_allclose(constant.outcome.objective, plain.outcome.objective, rtol=1e-12)


def test_many_rows_start_from_some_of_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60_000, 3))
    y = (rng.random(60_000) < 1 / (1 + np.exp(-X @ [1.0, 2.0, -1.0]))).astype(int)
    problem = Problem(DenseDesign(X), y, Logistic(), L2(1e-4))
    found = Newton().solve(problem)
    cold = Newton().solve(problem, problem.start())
    assert found.outcome.n_iter < cold.outcome.n_iter
    np.testing.assert_allclose(found.weights.coef, cold.weights.coef, atol=1e-6)


def test_rows_that_mislead_are_left():
    """Every other row says the opposite: the best weights of evenly spaced rows are worse than none."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80_000, 3))
    y = (X[:, 0] > 0).astype(int)
    y[1::2] = 1 - y[1::2]
    problem = Problem(DenseDesign(X), y, Logistic(), L2(1e-4))
    found = Newton().solve(problem)
    assert found.outcome.converged
    assert found.outcome.trace["objective"][0] <= problem.objective(problem.start()) + 1e-12
    np.testing.assert_allclose(found.outcome.objective, LBFGS().solve(problem).outcome.objective, rtol=1e-9)


def test_a_run_that_is_cut_short_says_so():
    found = Newton(max_iter=1).solve(Problem(DenseDesign(PLAIN), TARGETS["poisson"][1], Poisson()))
    assert not found.outcome.converged
    assert found.outcome.stopped == "max_iter was reached"
    with pytest.warns(match="W207"):
        found.outcome.warn("Model")


def test_a_warm_start_is_kept():
    loss, y = TARGETS["softmax"]
    problem = Problem(DenseDesign(PLAIN), y, loss, L2(0.02))
    first = Newton().solve(problem)
    moved = Weights(first.weights.coef + 3.0, first.weights.intercept - 2.0)  # the same differences between scores
    again = Newton().solve(problem, moved)
    assert again.outcome.n_iter == 1
    np.testing.assert_allclose(again.weights.coef, first.weights.coef, atol=1e-5)


@pytest.mark.parametrize(("loss", "penalty", "why"), [
    (Absolute(), NoPenalty(), "two derivatives"),
    (Huber(delta=1.0), NoPenalty(), "two derivatives"),
    (Squared(), L1(0.1), "two derivatives"),
])  # fmt: skip
def test_what_it_cannot_do_is_told(loss, penalty, why):
    with pytest.raises(ValueError, match=why):
        choose(Problem(DenseDesign(PLAIN), TARGETS["squared"][1], loss, penalty), "newton")


def test_auto_takes_it_for_few_unknowns_and_leaves_many():
    y = TARGETS["logistic"][1]
    chosen, why = choose(Problem(DenseDesign(PLAIN), y, Logistic()))
    assert chosen.name == "newton"
    assert "few unknowns" in why
    many = SparseDesign(sp.csr_matrix((N, 5000)))
    assert choose(Problem(many, y, Logistic()))[0].name == "lbfgs"
