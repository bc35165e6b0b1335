"""Least squares solved for: right weights, at any scale, with an honest answer where they are not unique."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, Ridge

from tilth.engines.linear.closed import ClosedForm
from tilth.engines.linear.design import DenseDesign, OneHotDesign, SparseDesign
from tilth.engines.linear.normal import NormalEquations
from tilth.engines.linear.problem import Problem
from tilth.engines.linear.solver import choose, solve
from tilth.parts.losses import Squared
from tilth.parts.penalties import L1, L2, NoPenalty

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=(N, 6)) * [1, 10, 0.1, 1, 1, 100] + [0, 50, 3, 0, 1000, 1e4]
Y = X @ RNG.normal(size=6) + RNG.normal(size=N) + 7
W = RNG.random(N)
del RNG  # tests draw from generators of their own


def problem(X=X, y=Y, alpha=0.0, weight=None, intercept=True):
    design = X if not isinstance(X, np.ndarray) else DenseDesign(X)
    return Problem(design, y, Squared(), L2(alpha) if alpha else NoPenalty(), weight, intercept)


def solved(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ClosedForm().solve(problem(*args, **kwargs))


def by_svd(X, y, alpha, weight, intercept):
    """The definition, from the rows themselves."""
    w = np.ones(len(X)) if weight is None else weight
    mean, middle = (np.average(X, axis=0, weights=w), np.average(y, weights=w)) if intercept else (0.0, 0.0)
    rows = np.vstack([(X - mean) * np.sqrt(w)[:, None], np.sqrt(alpha * w.sum()) * np.eye(X.shape[1])])
    coef = np.linalg.lstsq(rows, np.concatenate([(y - middle) * np.sqrt(w), np.zeros(X.shape[1])]), rcond=1e-16)[0]
    return coef, middle - mean @ coef if intercept else 0.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.covers("L-03", "L-07")
def test_weights_are_those_of_the_definition(intercept, weight, alpha):
    coef, bias = by_svd(X, Y, alpha, weight, intercept)
    found = solved(alpha=alpha, weight=weight, intercept=intercept)
    np.testing.assert_allclose(found.weights.coef, coef, rtol=1e-6)
    np.testing.assert_allclose(found.weights.intercept, bias, rtol=1e-6)
    residual = Y - X @ coef - bias
    wanted = 0.5 * np.average(residual**2, weights=weight) + 0.5 * alpha * coef @ coef
    np.testing.assert_allclose(found.outcome.objective, wanted, rtol=1e-9)
    assert found.outcome.converged
    assert found.outcome.closed_form


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.covers("L-02")
def test_several_targets_are_several_problems(alpha):
    both = np.column_stack([Y, np.cos(Y)])
    found = solved(y=both, alpha=alpha)
    for m in range(2):
        alone = solved(y=both[:, m], alpha=alpha)
        np.testing.assert_allclose(found.weights.coef[:, m], alone.weights.coef, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(found.weights.intercept[m], alone.weights.intercept, rtol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_sparse_and_level_designs_agree_with_dense_ones(alpha):
    rng = np.random.default_rng(101)
    codes = np.column_stack([rng.integers(0, 3, N), rng.integers(-1, 2, N)]).astype(np.int32)
    coded = OneHotDesign(X[:, :2], codes, [3, 2], 1)
    for design in (coded, SparseDesign(sp.csr_matrix(coded.dense()))):
        found = solved(design, alpha=alpha, weight=W)
        wanted = solved(coded.dense(), alpha=alpha, weight=W)
        np.testing.assert_allclose(found.weights.coef, wanted.weights.coef, rtol=1e-7, atol=1e-9)


@pytest.mark.covers("L-03")
def test_dependent_columns_have_the_shortest_weights_and_are_named():
    dependent = np.column_stack([X[:, :3], 2 * X[:, 0], X[:, 1] - X[:, 2], np.full(N, 4.0)])
    found = solved(dependent)
    assert found.dependent == (0, 1, 2, 3, 4)
    np.testing.assert_allclose(found.weights.coef, LinearRegression(tol=1e-14).fit(dependent, Y).coef_, atol=1e-7)
    assert found.weights.coef[5] == 0.0, "a constant beside an intercept has no weight"
    assert solved(X).dependent == ()


def test_only_the_columns_that_depend_are_named():
    found = solved(np.column_stack([X[:, :3], 2 * X[:, 0]]))
    assert found.dependent == (0, 3)
    assert solve(problem(np.column_stack([X[:, :3], 2 * X[:, 0]]))).dependent == (0, 3)


def test_ill_conditioned_columns_keep_their_digits():
    """Cross products would leave nothing of the ninth power; QR of the rows does."""
    x = np.linspace(0, 1, 100)
    powers = np.vander(x, 10)[:, :-1]
    truth = powers @ np.arange(1.0, 10.0) + 3.0
    found = solved(powers, truth)
    np.testing.assert_allclose(found.weights.coef, np.arange(1.0, 10.0), rtol=1e-6)
    assert "QR" in found.outcome.stopped
    assert found.dependent == ()


def test_columns_far_from_zero():
    rng = np.random.default_rng(102)
    far = rng.normal(size=(500, 3)) + 1e8
    y = (far - 1e8) @ [1.0, 2.0, 3.0]
    np.testing.assert_allclose(solved(far, y).weights.coef, [1.0, 2.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, W[:30]], ids=["plain", "weighted"])
@pytest.mark.covers("L-03", "L-07")
def test_more_columns_than_rows(alpha, intercept, weight):
    rng = np.random.default_rng(103)
    wide, y = rng.normal(size=(30, 90)) + 3, rng.normal(size=30)
    found = solved(wide, y, alpha=alpha, intercept=intercept, weight=weight)
    total = 30 if weight is None else weight.sum()
    peer = Ridge(alpha=alpha * total, fit_intercept=intercept, solver="svd") if alpha else LinearRegression(
        fit_intercept=intercept, tol=1e-14
    )  # fmt: skip
    peer.fit(wide, y, weight)
    np.testing.assert_allclose(found.weights.coef, peer.coef_, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(found.weights.intercept, peer.intercept_, atol=1e-9)
    assert bool(found.dependent) == (alpha == 0)


@pytest.mark.parametrize(
    "sizes", [(1e300, 1e-300, 1.0), (1e-300, 1e-300, 1e-300), (1e200, 1.0, 1e-160), (1e307, 1.0, 1.0)]
)
def test_huge_and_tiny_columns(sizes):
    rng = np.random.default_rng(104)
    base = rng.normal(size=(N, 3))
    y = base @ [1.0, 2.0, 3.0] + 5
    found = solved(base * np.array(sizes), y)
    answers = (base * np.array(sizes)) @ found.weights.coef + found.weights.intercept
    np.testing.assert_allclose(answers, y, rtol=1e-9)


def test_a_weight_that_no_float_can_hold_is_told():
    rng = np.random.default_rng(105)
    base = rng.normal(size=(N, 2))
    with pytest.raises(ValueError, match=r"term 1 and of the target differ so much in size"):
        solved(base * [1.0, 1e-300], (base @ [1.0, 2.0]) * 1e150)


def test_nothing_but_an_intercept():
    found = solved(np.empty((4, 0)), np.array([1.0, 2.0, 3.0, 6.0]))
    assert found.weights.coef.shape == (0,)
    assert found.weights.intercept == 3.0


@pytest.mark.covers("L-05")
def test_auto_weighs_the_work():
    """n p^2 multiplications: with a million rows and a thousand columns iterations are cheaper."""

    @dataclasses.dataclass(frozen=True)
    class Large(DenseDesign):
        rows: int = 0

        @property
        def n_rows(self):
            return self.rows

    small, large = Large(np.empty((0, 100)), 10_000), Large(np.empty((0, 1000)), 1_000_000)
    assert choose(Problem(small, np.empty(0), Squared()))[0].name == "closed form"
    chosen, _ = choose(Problem(large, np.empty(0), Squared()))
    assert chosen.name != "closed form"
    assert "n p^2 = 1e+12" in ClosedForm().leaves(Problem(large, np.empty(0), Squared()))
    with pytest.raises(ValueError, match="takes no penalty but L2"):
        choose(Problem(small, np.empty(0), Squared(), L1(0.1)), "closed form")


# ----------------------------------------------------------------------------------------------- the statistic


def parts_of(cuts):
    out = []
    for rows in np.split(np.arange(N), cuts):
        part = NormalEquations.empty(6)
        part.update(DenseDesign(X[rows]), Y[rows], W[rows])
        out.append(part)
    return out


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_merge_to_the_whole(order):
    parts = parts_of([10, 120])
    merged = NormalEquations.empty(6)
    for i in order:
        merged += parts[i]
    whole = NormalEquations.of(DenseDesign(X), Y, W)
    np.testing.assert_allclose(merged.gram.cross, whole.gram.cross, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(merged.solve(0.1).coef, whole.solve(0.1).coef, rtol=1e-8)
    np.testing.assert_allclose(merged.centre, np.average(X, axis=0, weights=W), rtol=1e-12)


def test_parts_of_different_scale_merge():
    rng = np.random.default_rng(106)
    base, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    base[30:, 0] *= 1e-250
    base[:, 0] *= 1e200
    merged = NormalEquations.of(DenseDesign(base[:30]), y[:30]) + NormalEquations.of(DenseDesign(base[30:]), y[30:])
    whole = NormalEquations.of(DenseDesign(base), y)
    np.testing.assert_allclose(merged.solve().coef, whole.solve().coef, rtol=1e-9)


def test_weights_are_repetitions():
    rng = np.random.default_rng(107)
    counts = rng.integers(1, 4, N)
    weighted = NormalEquations.of(DenseDesign(X), Y, counts.astype(float)).solve()
    repeated = NormalEquations.of(DenseDesign(np.repeat(X, counts, axis=0)), np.repeat(Y, counts)).solve()
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-8)


def test_new_terms_find_room_and_terms_can_be_left_out():
    small = NormalEquations.of(DenseDesign(X[:, [0, 2]]), Y)
    grown = small.spread(np.array([0, 2]), 4)
    np.testing.assert_allclose(grown.solve().coef[[0, 2]], small.solve().coef, rtol=1e-10)
    assert (grown.solve().coef[[1, 3]] == 0).all()
    whole = NormalEquations.of(DenseDesign(X), Y)
    np.testing.assert_allclose(whole.pick(np.array([0, 2])).solve().coef, small.solve().coef, rtol=1e-8)


def test_cross_products_alone_also_find_dependent_terms():
    dependent = np.column_stack([X[:, :3], 2 * X[:, 0]])
    found = NormalEquations.of(DenseDesign(dependent), Y).solve()
    assert found.dependent == (0, 3)
    np.testing.assert_allclose(found.coef[:, 0], solved(dependent).weights.coef, rtol=1e-6)


def test_what_does_not_fit_is_told():
    whole = NormalEquations.of(DenseDesign(X), Y)
    with pytest.raises(ValueError, match="6 terms were given rows of 2 columns"):
        whole.update(DenseDesign(X[:, :2]), Y)
    with pytest.raises(ValueError, match="same terms"):
        whole += NormalEquations.of(DenseDesign(X[:, :2]), Y)
    with pytest.raises(ValueError, match="1 targets were given rows of 2"):
        whole.update(DenseDesign(X), np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="finite numbers"):
        NormalEquations.of(DenseDesign(np.where(X > 1e9, X, np.nan)), Y)
