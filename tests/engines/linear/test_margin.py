"""Margin solvers: the exact optimum, proved by the gap, agreed upon by solvers that share nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tilth.engines.linear.design import DenseDesign, SparseDesign
from tilth.engines.linear.dual import DualCoordinate
from tilth.engines.linear.margin import MarginNewton, middle_intercept
from tilth.engines.linear.margin_subset import MarginSubsets
from tilth.engines.linear.problem import Problem, Weights
from tilth.engines.linear.program import LinearProgram, meeting_point
from tilth.engines.linear.solver import choose, solve
from tilth.parts.losses import Absolute, Huber, Quantile, Squared
from tilth.parts.margin_losses import (
    CrammerSinger,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    OptionHinge,
    PairHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    WestonWatkins,
)
from tilth.parts.penalties import L0, L1, L2, NoPenalty
from tilth.parts.ranking import Groups


def rows(n, p, seed=0, scales=(0.1, 1.0, 10.0)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.choice(scales, p)
    w = rng.normal(size=p) / np.sqrt(p)
    score = X @ w
    y = (score + 0.5 * rng.normal(size=n) > 0).astype(np.int32)
    numbers = score + rng.standard_t(2, size=n)
    classes = (X @ rng.normal(size=(p, 4)) / np.sqrt(p) + rng.gumbel(size=(n, 4))).argmax(axis=1)
    return DenseDesign(X), y, numbers, classes


TWO = [Hinge(), SquaredHinge()]
TUBES = [
    EpsilonInsensitive(epsilon=0.3),
    SquaredEpsilonInsensitive(epsilon=0.3),
    Absolute(),
    Quantile(q=0.2),
    Huber(delta=0.5),
]

STRAIGHT = [
    Hinge(), Absolute(), Quantile(q=0.2), EpsilonInsensitive(epsilon=0.3), WestonWatkins(k=4), CrammerSinger(k=4),
]  # fmt: skip


def target(loss, y, numbers, classes):
    if loss.serves == "numbers":
        return numbers
    return y if loss.serves == "two classes" else classes


@pytest.mark.parametrize("shape", [(80, 4), (40, 60), (2500, 6)])
@pytest.mark.parametrize(
    "loss", [*TWO, *TUBES, WestonWatkins(k=4), CrammerSinger(k=4)], ids=lambda loss: type(loss).__name__
)
def test_no_direction_leads_down(loss, shape):
    """The cost is convex: weights that no small step in any of many directions improves are the best."""
    design, *targets = rows(*shape)
    problem = Problem(design, target(loss, *targets), loss, L2(1.0 / shape[0]))
    found = MarginNewton().solve(problem)
    assert found.outcome.converged
    assert found.outcome.violation < 1e-8
    assert found.outcome.trace["gap"][-1] < 1e-9
    best, rng = problem.objective(found.weights), np.random.default_rng(1)
    assert best == pytest.approx(found.outcome.objective)
    for step in (1e-3, 1e-5):
        for _ in range(20):
            coef = rng.normal(size=problem.shape)
            bias = rng.normal(size=problem.shape[1:])
            moved = Weights(found.weights.coef + step * coef, found.weights.intercept + step * bias)
            assert problem.objective(moved) >= best - 1e-13


@pytest.mark.parametrize("loss", [*TWO, *TUBES], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("sparse", [False, True])
def test_dual_coordinates_find_the_same_plane(loss, sparse):
    design, *targets = rows(150, 5, seed=2, scales=(1.0,))
    weight = np.random.default_rng(3).integers(1, 4, 150).astype(float)
    used = SparseDesign(csr_matrix(design.matrix)) if sparse else design
    for intercept in (True, False):
        problem = Problem(used, target(loss, *targets), loss, L2(0.01), weight, intercept)
        exact, walked = MarginNewton().solve(problem), DualCoordinate(tol=1e-9, max_iter=50_000).solve(problem)
        assert walked.outcome.converged
        assert walked.outcome.objective == pytest.approx(exact.outcome.objective, rel=1e-7)
        np.testing.assert_allclose(walked.weights.coef, exact.weights.coef, atol=2e-4)


@pytest.mark.parametrize("penalty", [NoPenalty(), L1(0.01), L1(0.0005)], ids=["none", "l1", "weak l1"])
@pytest.mark.parametrize("loss", STRAIGHT, ids=lambda loss: type(loss).__name__)
def test_a_linear_program_finds_the_same_cost(loss, penalty):
    design, *targets = rows(120, 5, seed=4)
    problem = Problem(design, target(loss, *targets), loss, penalty)
    newton, program = MarginNewton().solve(problem), LinearProgram().solve(problem)
    assert newton.outcome.objective == pytest.approx(program.outcome.objective, rel=1e-9, abs=1e-12)
    assert program.outcome.violation < 1e-9


def test_pairs_of_rows_and_of_options():
    design, _, numbers, _ = rows(60, 4, seed=5, scales=(1.0,))
    grades = np.round(numbers)
    for problem in (
        Problem(design, grades, PairHinge().grouped(Groups.of_sizes([20, 20, 20])), L1(0.05), None, False),
        Problem(design, np.random.default_rng(0).integers(0, 3, (60, 3)).astype(float), OptionHinge(k=3), L1(0.01)),
    ):
        newton, program = MarginNewton().solve(problem), LinearProgram().solve(problem)
        assert newton.outcome.objective == pytest.approx(program.outcome.objective, rel=1e-9)
        exact = MarginNewton().solve(problem.with_penalty(L2(0.05)))
        assert exact.outcome.converged


def test_weights_are_repetition():
    design, y, *_ = rows(60, 3, seed=6)
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    again = np.repeat(np.arange(60), weight.astype(int))
    for loss in TWO:
        a = MarginNewton().solve(Problem(design, y, loss, L2(0.02), weight)).weights
        b = MarginNewton().solve(Problem(design.take(again), y[again], loss, L2(0.02))).weights
        np.testing.assert_allclose(a.coef, b.coef, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-9, atol=1e-11)


def test_an_intercept_that_is_free_is_the_middle():
    """Two rows of a class too far apart to matter: every intercept between two bounds costs the same."""
    X, y = np.array([[0.0], [0.0]]), np.array([0, 1])
    found = MarginNewton().solve(Problem(DenseDesign(X), y, Hinge(), L2(1.0)))
    assert found.weights.intercept == pytest.approx(0.0, abs=1e-9)  # all of [-1, 1] is best
    pieces = Hinge().pieces(y)
    assert middle_intercept(pieces, np.full(2, 0.5), np.zeros(2), 0.7) == pytest.approx(0.0)


def test_a_warm_start_ends_at_the_same_place_sooner():
    design, y, *_ = rows(3000, 8, seed=7)
    problem = Problem(design, y, Hinge(), L2(1e-3))
    cold = MarginNewton().solve(problem)
    warm = MarginNewton().solve(problem, cold.weights)
    assert warm.outcome.objective == pytest.approx(cold.outcome.objective, rel=1e-12)
    assert warm.outcome.n_iter < cold.outcome.n_iter


def test_many_columns_are_solved_without_writing_the_equations_out(monkeypatch):
    from tilth.engines.linear import margin_cost

    design, y, *_ = rows(300, 20, seed=8, scales=(1.0,))
    problem = Problem(design, y, SquaredHinge(), L2(0.01))
    written = MarginNewton().solve(problem)
    monkeypatch.setattr(margin_cost, "WRITTEN_OUT", 5)
    walked = MarginNewton().solve(problem)
    assert walked.outcome.objective == pytest.approx(written.outcome.objective, rel=1e-10)


def test_the_hard_margin_is_the_limit_of_soft_ones():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 2.0]])
    y = np.array([0, 0, 1, 1])
    hard = MarginNewton().solve(Problem(DenseDesign(X), y, HardMargin(), L2(0.25)))
    assert hard.outcome.converged
    soft = MarginNewton().solve(Problem(DenseDesign(X), y, Hinge(), L2(1e-7)))
    np.testing.assert_allclose(hard.weights.coef, soft.weights.coef, rtol=1e-6)
    margin = np.where(y == 1, 1, -1) * (X @ hard.weights.coef + hard.weights.intercept)
    assert margin.min() == pytest.approx(1.0, abs=1e-9)  # the canonical form


@pytest.mark.covers("S-14", "FS-14")
def test_the_best_columns_by_trying_all():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(np.int32)
    problem = Problem(DenseDesign(X), y, Hinge(), L0(0.1))
    found = MarginSubsets().solve(problem)
    costs = {}
    for bits in range(64):
        columns = np.array([j for j in range(6) if bits >> j & 1], dtype=np.intp)
        part = Problem(DenseDesign(X).pick(columns), y, Hinge(), NoPenalty())
        costs[bits] = LinearProgram().solve(part).outcome.objective + 0.1 * len(columns)
    assert found.outcome.objective == pytest.approx(min(costs.values()), abs=1e-9)
    assert found.outcome.n_iter <= 64
    assert problem.objective(found.weights) == pytest.approx(found.outcome.objective, abs=1e-9)
    surrogate = MarginNewton().solve(problem.with_penalty(L1(0.05)))
    assert problem.objective(surrogate.weights) >= found.outcome.objective - 1e-12
    assert np.flatnonzero(found.weights.coef).tolist() == [0, 1]


def test_a_search_that_is_cut_short_says_so():
    design, y, *_ = rows(40, 5)
    found = MarginSubsets(max_iter=2).solve(Problem(design, y, Hinge(), L0(0.01)))
    assert not found.outcome.converged


def test_auto_chooses_and_says_why():
    design, y, numbers, _ = rows(1200, 4)
    name = lambda problem: type(choose(problem)[0]).__name__  # noqa: E731
    assert name(Problem(design, y, Hinge(), L2(0.1))) == "MarginNewton"
    assert name(Problem(design, y, SquaredHinge(), L2(0.1))) == "MarginNewton"
    assert name(Problem(design.take(np.arange(100)), y[:100], Hinge(), L1(0.1))) == "LinearProgram"
    assert name(Problem(design, y, Hinge(), L1(0.1))) == "MarginNewton"
    assert name(Problem(design.take(np.arange(100)), numbers[:100], Absolute())) == "LinearProgram"
    assert name(Problem(design, y, Hinge(), L0(0.1))) == "MarginSubsets"
    wide = SparseDesign(csr_matrix((5000, 6000)))
    assert name(Problem(wide, np.zeros(5000), Hinge(), L2(0.1))) == "DualCoordinate"
    assert "corners" in solve(Problem(design, y, Hinge(), L2(0.1))).outcome.reason


@pytest.mark.parametrize(
    ("solver", "loss", "penalty", "words"),
    [
        ("margin newton", Squared(), L2(1.0), "straight and square pieces"),
        ("margin newton", Hinge(), L0(1.0), "no penalty but L2 and L1"),
        ("linear program", SquaredHinge(), NoPenalty(), "straight pieces"),
        ("linear program", Hinge(), L2(1.0), "no penalty but L1"),
        ("dual coordinate descent", Hinge(), L1(1.0), "needs an L2 penalty"),
        ("dual coordinate descent", WestonWatkins(k=3), L2(1.0), "one score"),
        ("subsets of margins", Squared(), L0(1.0), "L0 penalty only"),
    ],
)
def test_refusals_are_sentences(solver, loss, penalty, words):
    design, y, *_ = rows(20, 3)
    with pytest.raises(ValueError, match=words):
        solve(Problem(design, y, loss, penalty), solver)


def test_too_few_steps_are_reported():
    design, y, *_ = rows(200, 4)
    assert not MarginNewton(max_iter=2).solve(Problem(design, y, Hinge(), L2(1e-3))).outcome.converged
    assert not DualCoordinate(max_iter=1, tol=1e-9).solve(Problem(design, y, Hinge(), L2(1e-3))).outcome.converged


def test_columns_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="scale the columns"), np.errstate(over="ignore"):
        MarginNewton().solve(Problem(DenseDesign(np.array([[1e300], [1.0]])), np.array([0, 1]), Hinge(), L2(1.0)))


@pytest.mark.covers("Q-04")
def test_overlapping_classes_have_a_point_in_common():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    shares = meeting_point(DenseDesign(X), y)
    assert shares is not None
    assert (shares >= 0).all()
    np.testing.assert_allclose([shares[y == 0].sum(), shares[y == 1].sum()], 1.0)
    np.testing.assert_allclose(shares[y == 0] @ X[y == 0], shares[y == 1] @ X[y == 1], atol=1e-9)
    assert np.count_nonzero(shares) <= 5 + 1
    assert meeting_point(DenseDesign(np.array([[0.0], [1.0]])), np.array([0, 1])) is None


def test_a_program_without_a_solution_says_that_the_classes_overlap():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    with pytest.raises(ValueError, match="not linearly separable"):
        LinearProgram().solve(Problem(DenseDesign(X), y, HardMargin(), L1(0.1)))
