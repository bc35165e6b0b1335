"""L-BFGS on preconditioned weights, and problems over chunks."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from tilth.engines.linear.chunked import Opening, solve_in_rounds
from tilth.engines.linear.closed import ClosedForm
from tilth.engines.linear.design import DenseDesign, SparseDesign
from tilth.engines.linear.lbfgs import LBFGS
from tilth.engines.linear.newton import Newton
from tilth.engines.linear.problem import Problem
from tilth.parts.class_losses import Logistic, Softmax
from tilth.parts.losses import Absolute, Huber, Poisson, Squared
from tilth.parts.penalties import L1, L2, NoPenalty
from tilth.stats.fold import fold

RNG = np.random.default_rng(0)
N = 400
PLAIN = RNG.normal(size=(N, 4))
SKEWED = PLAIN * [1, 10, 0.1, 100] + [0, 50, 3, 1e4]
SLOPES = np.array([1.0, -0.5, 0.3, 0.8])
W = RNG.random(N) + 0.1
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(-PLAIN @ SLOPES))).astype(int)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("design", [DenseDesign(PLAIN), SparseDesign(sp.csr_matrix(PLAIN))], ids=["dense", "sparse"])
def test_least_squares_are_the_closed_form(design, weight, intercept):
    rng = np.random.default_rng(101)
    y = PLAIN @ SLOPES + rng.normal(size=N)
    problem = Problem(design, y, Squared(), L2(0.1), weight, intercept)
    ours, wanted = LBFGS(tol=1e-9).solve(problem), ClosedForm().solve(problem)
    assert ours.outcome.converged
    np.testing.assert_allclose(ours.weights.coef, wanted.weights.coef, atol=1e-7)
    np.testing.assert_allclose(ours.weights.intercept, wanted.weights.intercept, atol=1e-7)


def test_scales_cost_few_iterations():
    found = LBFGS().solve(Problem(DenseDesign(SKEWED), CLASSES, Logistic()))
    wanted = Newton().solve(Problem(DenseDesign(SKEWED), CLASSES, Logistic()))
    assert found.outcome.converged
    assert found.outcome.n_iter < 30
    np.testing.assert_allclose(found.outcome.objective, wanted.outcome.objective, rtol=1e-9)


def test_a_loss_without_a_second_derivative():
    rng = np.random.default_rng(102)
    y = PLAIN @ SLOPES + rng.standard_t(2, size=N)
    problem = Problem(DenseDesign(PLAIN), y, Huber(delta=0.5), NoPenalty(), W)
    found = LBFGS().solve(problem)
    assert found.outcome.converged
    assert problem.violation(found.weights, problem.gradient(problem.scores(found.weights))) <= 1e-6


def test_more_sparse_columns_than_rows():
    rng = np.random.default_rng(103)
    X = sp.random(200, 400, 0.05, "csr", random_state=0)
    y = (X @ rng.normal(size=400) > 0).astype(int)
    found = LBFGS(tol=1e-9).solve(Problem(SparseDesign(X), y, Logistic(), L2(1e-3)))
    wanted = Newton(tol=1e-9).solve(Problem(DenseDesign(X.toarray()), y, Logistic(), L2(1e-3)))
    assert found.outcome.converged
    np.testing.assert_allclose(found.weights.coef, wanted.weights.coef, atol=1e-5)


def test_the_objective_never_rises_and_a_short_run_says_so():
    problem = Problem(DenseDesign(PLAIN), CLASSES, Logistic(), L2(1e-3))
    assert (np.diff(LBFGS().solve(problem).outcome.trace["objective"]) <= 1e-15).all()
    short = LBFGS(max_iter=1).solve(problem)
    assert not short.outcome.converged
    assert short.outcome.n_iter == 1


@pytest.mark.parametrize(("loss", "penalty"), [(Absolute(), NoPenalty()), (Squared(), L1(0.1))])
def test_what_has_no_gradient_is_refused(loss, penalty):
    assert "gradient everywhere" in LBFGS().refuses(Problem(DenseDesign(PLAIN), CLASSES, loss, penalty))


# ----------------------------------------------------------------------------------------------------- over chunks


class Plain:
    """Terms of rows that are numbers already."""

    def design(self, table):
        return DenseDesign(table)


def chunked(loss, y, penalty, rows, intercept=True, **settings):
    def passes(make, update):
        pieces = [slice(i, i + rows) for i in range(0, N, rows)]
        return fold(make, pieces, lambda statistic, c: update(statistic, SKEWED[c], y[c], W[c]))

    first = (SKEWED[:rows], y[:rows])
    return solve_in_rounds(passes, Plain(), loss, penalty, intercept, first=first, **settings)


@pytest.mark.parametrize("rows", [77, 1000])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "y"), [
    (Logistic(), CLASSES),
    (Softmax(k=3), RNG.integers(0, 3, N)),
    (Poisson(), RNG.poisson(2.0, N)),
    (Huber(delta=0.5), RNG.normal(size=N)),
], ids=lambda v: type(v).__name__ if not isinstance(v, np.ndarray) else "")  # fmt: skip
def test_chunks_give_the_weights_of_all_rows(loss, y, rows, intercept):
    found = chunked(loss, y, lambda total: L2(0.5 / total), rows, intercept)
    problem = Problem(DenseDesign(SKEWED), y, loss, L2(0.5 / W.sum()), W, intercept)
    wanted = LBFGS(tol=1e-9).solve(problem) if isinstance(loss, Huber) else Newton().solve(problem)
    assert found.solution.outcome.converged
    np.testing.assert_allclose(found.solution.outcome.objective, wanted.outcome.objective, rtol=1e-9)
    np.testing.assert_allclose(
        problem.scores(found.solution.weights), problem.scores(wanted.weights), rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(found.total, W.sum())
    np.testing.assert_allclose(found.centre, np.average(SKEWED, axis=0, weights=W))


del RNG  # tests draw from generators of their own


def test_rows_may_be_weighed_by_their_class():
    found = chunked(Logistic(), CLASSES, lambda total: L2(0.5 / total), 100, weigh=lambda y, w: w * (1.0 + y))
    weight = W * (1.0 + CLASSES)
    wanted = Newton().solve(Problem(DenseDesign(SKEWED), CLASSES, Logistic(), L2(0.5 / weight.sum()), weight))
    np.testing.assert_allclose(found.solution.weights.coef, wanted.weights.coef, rtol=1e-4)


def test_chunks_that_cannot_be_learned_are_told():
    rng = np.random.default_rng(104)
    with pytest.raises(TypeError, match="smooth cost only"):
        chunked(Logistic(), CLASSES, lambda total: L1(0.1), 100)
    with pytest.raises(ValueError, match="Poisson"):
        chunked(Poisson(), rng.normal(size=N), lambda total: L2(0.1), 100)


def test_openings_merge():
    rng = np.random.default_rng(105)
    whole, parts = Opening.empty(4, 3), Opening.empty(4, 3)
    y = rng.integers(0, 3, N)
    whole.update(Problem(DenseDesign(PLAIN), y, Softmax(k=3), NoPenalty(), W))
    for rows in (slice(0, 100), slice(100, N)):
        part = partial(Opening.empty, 4, 3)()
        part.update(Problem(DenseDesign(PLAIN[rows]), y[rows], Softmax(k=3), NoPenalty(), W[rows]))
        parts += part
    for name in ("weight", "target", "terms"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name))
