"""Quadratic programs: the conditions of an optimum on random problems, dual machines by hand, honest refusals."""

import numpy as np
import pytest

from tilth.engines.optimise.quadratic import quadratic_program
from tilth.errors import ModelWarning


def conditions(found, Q, c, A=None, b=None, R=None, r=None, low=None, high=None):
    """Largest violation of the conditions of an optimum, computed from scratch."""
    x = found.x
    force = Q @ x + c - found.lower + found.upper
    bad = [0.0]
    if A is not None:
        force = force + A.T @ found.equal
        bad.append(np.abs(A @ x - b).max())
    if R is not None:
        force = force + R.T @ found.at_most
        slack = r - R @ x
        bad += [(-slack).max(), np.abs(slack * found.at_most).max(), (-found.at_most).max()]
    for room, multiplier in ((x - low, found.lower), (high - x, found.upper)):
        finite = np.isfinite(room)
        bad += [(-room).max(), (-multiplier).max(), np.abs(room[finite] * multiplier[finite]).max(initial=0.0)]
        assert (multiplier[~finite] == 0).all()
    return max(*bad, np.abs(force).max())


@pytest.mark.covers("R-12", "WN-80", "FX-46")
def test_machine_of_two_points():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    Q = (X @ X.T) * np.outer(y, y)
    found = quadratic_program(Q, -np.ones(2), A_eq=[y], b_eq=[0], lower=0)
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose((found.x * y) @ X, [1, 0], atol=1e-12)
    assert found.equal[0] == pytest.approx(0, abs=1e-12)  # the multiplier of sum a y = 0 is b
    assert -found.value == pytest.approx(0.5, abs=1e-12)
    # As printed, with the sign of a maximum, the task has no bottom.
    with pytest.raises(ValueError, match="the cost must be convex"):
        quadratic_program(-Q, np.ones(2), A_eq=[y], b_eq=[0], lower=0)


@pytest.mark.covers("R-12")
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_soft_margin_machine_agrees_with_libsvm(C):
    svm = pytest.importorskip("sklearn.svm")
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = rng.normal(size=(60, 2)) + 0.8 * y[:, None]
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    found = quadratic_program(K * np.outer(y, y), -np.ones(60), A_eq=[y], b_eq=[0], lower=0, upper=C)
    peer = svm.SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    alpha = np.zeros(60)
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    np.testing.assert_allclose(found.x, alpha, atol=1e-4 * C)
    assert found.equal[0] == pytest.approx(peer.intercept_[0], abs=1e-4)
    assert found.value <= (alpha * y) @ K @ (alpha * y) / 2 - alpha.sum() + 1e-12
    # Rows that do not support the machine have a weight of exactly zero.
    assert set(np.flatnonzero(found.x)) == set(peer.support_)
    assert found.gap == pytest.approx(0, abs=1e-8)


@pytest.mark.covers("R-12")
@pytest.mark.parametrize("seed", range(25))
def test_conditions_hold_on_random_problems(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    flat = seed % 2 == 0
    L = rng.normal(size=(n, int(rng.integers(1, n)) if flat else 2 * n))
    Q, c, inside = L @ L.T * 10.0 ** rng.integers(-2, 3), rng.normal(size=n), rng.normal(size=n)
    A = rng.normal(size=(int(rng.integers(1, max(2, n // 2))), n))
    R = rng.normal(size=(n + 2, n)) * 10.0 ** rng.integers(-2, 3, size=(n + 2, 1))
    r = R @ inside + np.abs(R).sum(axis=1) * rng.exponential(size=n + 2) * (rng.random(n + 2) < 0.7)
    low = inside - rng.exponential(size=n)
    # Where the cost has flat directions, open bounds would let it fall for ever.
    high = np.where((rng.random(n) < 0.5) | flat, inside + rng.exponential(size=n), np.inf)
    low[0] = high[0] = inside[0]  # a fixed variable
    problem = (Q, c, np.vstack([A, A[0] * 2]), np.append(A @ inside, 2 * A[0] @ inside), R, r, low, high)
    found = quadratic_program(Q, c, A_eq=problem[2], b_eq=problem[3], A_ub=R, b_ub=r, lower=low, upper=high)
    scale = 1 + np.abs(Q @ found.x).max() + np.abs(c).max() + np.abs(r).max()
    assert conditions(found, *problem) <= 1e-6 * scale
    assert 0.0 in found.equal[[0, -1]]  # of an equation given twice, one is left out
    assert found.outcome.converged


@pytest.mark.covers("R-08", "R-12")
def test_equations_alone_are_solved_in_closed_form():
    Q, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, 1.0])
    free = quadratic_program(Q, c)
    np.testing.assert_allclose(free.x, np.linalg.solve(Q, -c))
    assert free.outcome.closed_form
    assert "closed form" in str(free.outcome)
    tied = quadratic_program(Q, c, A_eq=[[1, 1]], b_eq=[1])
    np.testing.assert_allclose(Q @ tied.x + c + tied.equal[0], 0, atol=1e-12)
    assert tied.x.sum() == pytest.approx(1)
    bounded = quadratic_program(Q, c, lower=0)
    assert not bounded.outcome.closed_form
    assert bounded.outcome.n_iter > 0


def test_multiplier_is_the_price_of_the_constraint():
    Q, c, R = np.diag([1.0, 4.0]), np.array([-3.0, -4.0]), np.array([[1.0, 1.0]])
    at = [quadratic_program(Q, c, A_ub=R, b_ub=[1 + h]).value for h in (-1e-4, 1e-4)]
    found = quadratic_program(Q, c, A_ub=R, b_ub=[1])
    assert found.at_most[0] == pytest.approx(-(at[1] - at[0]) / 2e-4, rel=1e-5)


def test_linear_program_is_a_quadratic_one_without_curvature():
    scipy = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(5)
    R, c = rng.random(size=(6, 4)), -rng.random(4)
    found = quadratic_program(np.zeros((4, 4)), c, A_ub=R, b_ub=np.ones(6), lower=0)
    peer = scipy.linprog(c, A_ub=R, b_ub=np.ones(6))
    assert found.value == pytest.approx(peer.fun, abs=1e-9)
    np.testing.assert_allclose(found.at_most, -peer.ineqlin.marginals, atol=1e-7)


def test_bounds_may_be_left_open_with_none():
    found = quadratic_program(np.eye(3), np.ones(3), lower=[2, None, 0], upper=[2, 5, None])
    np.testing.assert_allclose(found.x, [2, -1, 0], atol=1e-9)
    np.testing.assert_allclose(found.lower, [3, 0, 1], atol=1e-9)
    given = np.array([2, None, 0], dtype=object)
    quadratic_program(np.eye(3), np.ones(3), lower=given)
    assert given[1] is None


@pytest.mark.covers("R-12")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"A_ub": [[1, 0], [-1, 0]], "b_ub": [-1, -1]}, "no point satisfies all constraints"),
        ({"A_eq": [[1, 1], [2, 2]], "b_eq": [1, 3]}, "the equations contradict each other"),
        ({"A_eq": [[0, 0]], "b_eq": [1]}, "0 equals another number"),
        ({"A_ub": [[0, 0]], "b_ub": [-1]}, "no point satisfies"),
        ({"A_eq": [[1, 1]], "b_eq": [5], "lower": 0, "upper": 1}, "no point satisfies"),
        ({"lower": 3, "upper": 2}, "the lower bound 3 of x[0] is above its upper bound 2"),
        ({"lower": 2, "upper": 2, "A_eq": [[1, 1]], "b_eq": [1]}, "the bounds fix every variable"),
    ],
)
def test_contradictions_are_told(settings, words):
    with pytest.raises(ValueError, match="quadratic_program: ") as refused:
        quadratic_program(np.eye(2), np.zeros(2), **settings)
    assert words in str(refused.value)


@pytest.mark.covers("R-12")
@pytest.mark.parametrize("settings", [{}, {"lower": [0, -np.inf]}, {"A_ub": [[1, 1]], "b_ub": [3]}])
def test_costs_without_a_bottom_are_told(settings):
    with pytest.raises(ValueError, match=r"falls without bound, for instance .* x\[1\] falls"):
        quadratic_program([[1, 0], [0, 0]], [1, 1], **settings)


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        ((np.eye(2), [1, np.nan]), {}, "c must be a row of finite numbers"),
        ((np.eye(2), [1, 1, 1]), {}, "Q must be [n, n]"),
        (([[1, 2], [0, 1]], [1, 1]), {}, "give (Q + Q.T) / 2"),
        ((np.diag([1, -1]), [1, 1]), {}, "Q has the eigenvalue -1"),
        (("q", [1, 1]), {}, "Q must be numbers"),
        ((np.eye(2), [1, 1]), {"A_eq": [[1, 1]]}, "belong together"),
        ((np.eye(2), [1, 1]), {"A_ub": [[1, 1, 1]], "b_ub": [1]}, "A_ub must be [1, 2]"),
        ((np.eye(2), [1, 1]), {"lower": [1, 2, 3]}, "one per variable, 2"),
        ((np.eye(2), [1, 1]), {"upper": np.nan}, "upper must be numbers or inf"),
        ((np.eye(2), [1, 1]), {"lower": np.inf}, "lower must be numbers or -inf"),
        ((np.eye(2), [1, 1]), {"tol": 0}, "tol must be"),
        ((np.eye(2), [1, 1]), {"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments, settings, words):
    with pytest.raises(ValueError, match="quadratic_program: ") as refused:
        quadratic_program(*arguments, **settings)
    assert words in str(refused.value)


@pytest.mark.covers("R-07")
def test_too_few_steps_warn():
    rng = np.random.default_rng(0)
    L = rng.normal(size=(20, 20))
    with pytest.warns(ModelWarning, match="W207"):
        found = quadratic_program(L @ L.T, rng.normal(size=20), lower=-0.1, upper=0.1, max_iter=1)
    assert not found.outcome.converged
