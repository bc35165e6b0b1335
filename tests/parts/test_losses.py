"""Laws of losses: derivatives are derivatives, the start is the best constant, link and inverse undo each other."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from tilth.parts.class_losses import Exponential, Logistic, Softmax
from tilth.parts.losses import (
    NAMED,
    Absolute,
    CustomLoss,
    Gamma,
    Huber,
    Poisson,
    Quantile,
    Squared,
    Tweedie,
    quantile,
)
from tilth.parts.ranking import Groups, LambdaRank, PairwiseLogistic, ndcg

rng = np.random.default_rng(0)
N = 40
REAL = rng.normal(size=N)
COUNTS = rng.poisson(2.0, N).astype(float)
AMOUNTS = rng.gamma(2.0, 1.5, N)
TWO = (rng.random(N) < 0.4).astype(float)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own
LOSSES = [
    (Squared(), REAL),
    (Absolute(), REAL),
    (Huber(delta=0.7), REAL),
    (Quantile(q=0.3), REAL),
    (Poisson(), COUNTS),
    (Gamma(), AMOUNTS),
    (Tweedie(power=1.4), COUNTS),
    (Logistic(), TWO),
    (Exponential(), TWO),
]
NAMES = [repr(loss) for loss, _ in LOSSES]
every_loss = pytest.mark.parametrize(("loss", "y"), LOSSES, ids=NAMES)


def slope(function, eta, step=1e-6):
    return (function(eta + step) - function(eta - step)) / (2 * step)


@pytest.mark.covers("Z-02")
@every_loss
def test_the_gradient_is_the_derivative_of_the_value(loss, y):
    rng = np.random.default_rng(101)
    eta = rng.normal(size=N)
    np.testing.assert_allclose(loss.gradient(y, eta), slope(lambda e: loss.value(y, e), eta), rtol=1e-5, atol=1e-7)


@every_loss
def test_the_hessian_is_the_derivative_of_the_gradient(loss, y):
    rng = np.random.default_rng(102)
    eta = rng.normal(size=N)
    np.testing.assert_allclose(loss.hessian(y, eta), slope(lambda e: loss.gradient(y, e), eta), rtol=1e-5, atol=1e-6)
    assert loss.curved == bool((loss.hessian(y, eta) > 0).all())


@every_loss
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_start_is_the_best_constant(loss, y, weight):
    start = loss.start(y, weight)
    assert start.shape == (1,)

    def total(c):
        return np.average(loss.value(y, np.full(N, c)), weights=weight)

    best = minimize_scalar(total, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    assert total(start[0]) <= best.fun + 1e-9


@every_loss
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_shift_is_the_best_step_of_each_group(loss, y, weight):
    rng = np.random.default_rng(103)
    eta = rng.normal(size=N)
    group = rng.integers(-1, 4, N).astype(np.int32)
    found = loss.shift(y, eta, weight, group, 5)
    assert found[4] == 0, "a group without rows does not move"
    for g in range(4):
        rows = group == g

        def total(c, rows=rows):
            return np.average(loss.value(y[rows], eta[rows] + c), weights=None if weight is None else weight[rows])

        best = minimize_scalar(total, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10})
        assert total(found[g]) <= best.fun + 1e-7 * (1 + abs(best.fun))


@every_loss
def test_a_shift_by_weights_is_a_shift_by_repeated_rows(loss, y):
    rng = np.random.default_rng(104)
    eta = rng.normal(size=N)
    group = rng.integers(0, 3, N).astype(np.int32)
    repeated = np.repeat(np.arange(N), WEIGHT.astype(int))
    np.testing.assert_allclose(
        loss.shift(y, eta, WEIGHT, group, 3),
        loss.shift(y[repeated], eta[repeated], None, group[repeated], 3),
        rtol=1e-8,
        atol=1e-9,
    )


@every_loss
def test_link_and_inverse_undo_each_other(loss, y):
    eta = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(loss.link(loss.inverse(eta)), eta, rtol=1e-9, atol=1e-12)


@every_loss
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_filling_arrays_gives_the_weighted_derivatives(loss, y, weight):
    rng = np.random.default_rng(105)
    eta = rng.normal(size=N)
    g, h = np.empty(N), np.empty(N)
    loss.fill(y, eta, weight, g, h)
    w = 1.0 if weight is None else weight
    np.testing.assert_allclose(g, w * loss.gradient(y, eta), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(h, w * loss.hessian(y, eta), rtol=1e-12, atol=1e-14)
    again = np.empty(N)
    loss.fill(y, eta, weight, again, None)
    np.testing.assert_array_equal(again, g)


@pytest.mark.covers("WN-59", "FX-25")
def test_the_residual_is_the_negative_gradient_of_squared_error():
    residual = np.array([0.5, -1.0])
    F = np.array([2.0, 3.0])
    y = F + residual
    numeric = [
        slope(lambda f, i=i: float(np.mean((y - np.where(np.arange(2) == i, f, F)) ** 2)), F[i]) for i in range(2)
    ]
    np.testing.assert_allclose(numeric, [-0.5, 1.0], atol=1e-8)  # -(2/n) (y - F), not +
    np.testing.assert_allclose(Squared().gradient(y, F), -residual)


@pytest.mark.covers("FX-04", "FX-65")
def test_logistic_loss_is_the_cross_entropy_of_the_logistic_function():
    eta = np.array([-3.0, -0.2, 0.0, 1.5])
    for y in (np.zeros(4), np.ones(4), np.full(4, 0.3)):
        f = 1 / (1 + np.exp(-eta))
        np.testing.assert_allclose(Logistic().value(y, eta), -(y * np.log(f) + (1 - y) * np.log(1 - f)))
    np.testing.assert_allclose(Logistic().link(0.8), np.log(4.0))
    assert Logistic().value(np.array([1.0]), np.array([-800.0])) == 800.0


def test_softmax_has_the_laws_too():
    rng = np.random.default_rng(106)
    k = 4
    loss, y, eta = Softmax(k=k), rng.integers(0, k, N), rng.normal(size=(N, k))
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(loss.value(y, eta), -np.log(p[np.arange(N), y]))
    for c in range(k):
        step = np.zeros(k)
        step[c] = 1e-6
        first = (loss.value(y, eta + step) - loss.value(y, eta - step)) / 2e-6
        second = (loss.gradient(y, eta + step) - loss.gradient(y, eta - step))[:, c] / 2e-6
        np.testing.assert_allclose(loss.gradient(y, eta)[:, c], first, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(loss.hessian(y, eta)[:, c], second, rtol=1e-5, atol=1e-8)
    start = loss.start(y, WEIGHT)
    np.testing.assert_allclose(loss.inverse(start), np.bincount(y, WEIGHT, k) / WEIGHT.sum())
    np.testing.assert_allclose(loss.inverse(loss.link(loss.inverse(eta))), loss.inverse(eta))
    g, h = np.empty((N, k), order="F"), np.empty((N, k), order="F")
    loss.fill(y.astype(np.int32), eta, WEIGHT, g, h)
    np.testing.assert_allclose(g, WEIGHT[:, None] * loss.gradient(y, eta), atol=1e-12)
    np.testing.assert_allclose(h, WEIGHT[:, None] * loss.hessian(y, eta), atol=1e-12)
    with pytest.raises(TypeError, match="single number"):
        loss.shift(y, eta, None, np.zeros(N, np.int32), 1)


def test_two_classes_of_softmax_are_logistic():
    rng = np.random.default_rng(107)
    y, eta = TWO.astype(int), rng.normal(size=N)
    both = np.column_stack([np.zeros(N), eta])
    np.testing.assert_allclose(Softmax(k=2).value(y, both), Logistic().value(TWO, eta))
    np.testing.assert_allclose(Softmax(k=2).gradient(y, both)[:, 1], Logistic().gradient(TWO, eta))


def test_pure_groups_move_far_but_not_for_ever():
    y, group = np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1], dtype=np.int32)
    for loss in (Logistic(), Exponential()):
        found = loss.shift(y, np.zeros(3), None, group, 2)
        assert 5 < found[0] < 60
        assert -60 < found[1] < -5
    assert Poisson().shift(np.zeros(2), np.zeros(2), None, np.zeros(2, np.int32), 1)[0] == -20


def test_huber_takes_its_width_from_the_target():
    loss = Huber()
    with pytest.raises(ValueError, match="delta is not known"):
        loss.value(REAL, REAL)
    known = loss.adapted(REAL)
    assert known.delta == pytest.approx(quantile(np.abs(REAL - np.median(REAL)), 0.9))
    assert known.adapted(REAL) is known
    assert loss.adapted(np.ones(5)).delta == 1.0
    # Wide, it is squared error; narrow, it is a multiple of the absolute error.
    assert Huber(delta=1e6).start(REAL)[0] == pytest.approx(REAL.mean())
    assert Huber(delta=1e-9).start(REAL)[0] == pytest.approx(np.median(REAL), abs=0.2)


def test_a_quantile_is_the_middle_of_all_minimisers():
    assert quantile([1.0, 2.0, 3.0, 10.0], 0.5) == 2.5
    assert quantile([1.0, 2.0, 3.0, 10.0, 11.0], 0.5) == 3.0
    assert quantile([5.0], 0.99) == 5.0
    assert quantile([1.0, 2.0], 0.5, np.array([3.0, 1.0])) == 1.0
    assert quantile(np.arange(100.0), 0.9) == 89.5


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        (Poisson(), [-1.0, 2.0], "not negative, found -1"),
        (Poisson(), [0.0, 0.0], "not zero everywhere"),
        (Gamma(), [0.0, 1.0], "above zero"),
        (Logistic(), [0.0, 2.0], "coded 0 and 1"),
        (Softmax(k=2), [0, 2], "from 0 to 1"),
        (LambdaRank(), [-1, 2], "not negative"),
        (LambdaRank(), [99, 2], "at most 60"),
    ],
)
def test_targets_outside_the_domain_are_told(loss, y, words):
    assert words in loss.problem(np.array(y))


def test_the_domain_is_not_refused():
    for loss, y in LOSSES:
        assert loss.problem(y) is None
    assert set(NAMED) == {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"}


@pytest.mark.covers("Z-06")
def test_a_custom_loss_is_two_functions():
    rng = np.random.default_rng(108)
    loss = CustomLoss(function=lambda y, s: (expit(s) - y, expit(s) * expit(-s)), measure=Logistic().value)
    eta = rng.normal(size=N)
    np.testing.assert_allclose(loss.gradient(TWO, eta), Logistic().gradient(TWO, eta))
    assert loss.start(TWO)[0] == pytest.approx(Logistic().start(TWO)[0])
    assert loss.mean(TWO, eta) == pytest.approx(Logistic().mean(TWO, eta))
    with pytest.raises(ValueError, match="gradients only"):
        CustomLoss(function=loss.function).value(TWO, eta)
    with pytest.raises(ValueError, match=r"finite gradient of shape \(40,\)"):
        CustomLoss(function=lambda y, s: (y[:3], s)).gradient(TWO, eta)
    with pytest.raises(ValueError, match="not finite"):
        CustomLoss(function=lambda y, s: (s, np.full_like(s, np.nan))).gradient(TWO, eta)


# ------------------------------------------------------------------------------------------------------------- ranking


def pairs_loss(y, eta, groups):
    total = 0.0
    for a, b in zip(groups.start[:-1], groups.start[1:], strict=True):
        for i in groups.order[a:b]:
            for j in groups.order[a:b]:
                if y[i] > y[j]:
                    total += np.logaddexp(0.0, -(eta[i] - eta[j]))
    return total


@pytest.mark.covers("Z-02")
def test_the_pairwise_gradient_is_the_derivative_of_the_sum_over_pairs():
    rng = np.random.default_rng(109)
    groups = Groups.of_ids(rng.integers(0, 4, N))
    y, eta = rng.integers(0, 3, N).astype(float), rng.normal(size=N)
    loss = PairwiseLogistic().grouped(groups)
    numeric, second = np.empty(N), np.empty(N)
    for i in range(N):
        step = np.zeros(N)
        step[i] = 1e-5
        numeric[i] = (pairs_loss(y, eta + step, groups) - pairs_loss(y, eta - step, groups)) / 2e-5
        second[i] = (loss.gradient(y, eta + step)[i] - loss.gradient(y, eta - step)[i]) / 2e-5
    np.testing.assert_allclose(loss.gradient(y, eta), numeric, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(loss.hessian(y, eta), second, rtol=1e-5, atol=1e-7)
    assert loss.mean(y, eta) > loss.mean(y, 5 * y)
    with pytest.raises(ValueError, match="groups of rows are not known"):
        PairwiseLogistic().gradient(y, eta)


def test_a_lambda_is_the_pair_weighed_by_the_change_of_ndcg():
    y, eta = np.array([0.0, 2.0, 1.0]), np.array([0.3, 0.2, 0.1])
    loss = LambdaRank().grouped(Groups.of_sizes([3]))
    gain, worth = 2.0**y - 1, 1 / np.log2([2.0, 3.0, 4.0])
    best = np.sort(gain)[::-1] @ worth
    wanted = np.zeros(3)
    for i in range(3):
        for j in range(3):
            if y[i] > y[j]:
                delta = abs((gain[i] - gain[j]) * (worth[i] - worth[j])) / best
                wanted[i] -= delta * expit(-(eta[i] - eta[j]))
                wanted[j] += delta * expit(-(eta[i] - eta[j]))
    np.testing.assert_allclose(loss.gradient(y, eta), wanted)
    assert loss.gradient(y, eta).sum() == pytest.approx(0.0)
    assert loss.mean(y, y) == 0.0
    np.testing.assert_array_equal(loss.gradient(np.zeros(3), eta), 0.0)


def test_ndcg_by_hand():
    groups = Groups.of_sizes([3, 1, 2])
    relevance, score = [3, 2, 0, 0, 1, 0], [0.1, 0.9, 0.5, 1.0, 0.0, 1.0]
    dcg = 3 / np.log2(2) + 0 / np.log2(3) + 7 / np.log2(4)
    best = 7 / np.log2(2) + 3 / np.log2(3)
    np.testing.assert_allclose(ndcg(relevance, score, groups), [dcg / best, 1.0, 1 / np.log2(3)])
    np.testing.assert_allclose(ndcg(relevance, score, groups, top=1), [3 / 7, 1.0, 0.0])


def test_groups_of_names_and_of_sizes_are_the_same_rows():
    by_name = Groups.of_ids(["b", "a", "b", "c"])
    np.testing.assert_array_equal(by_name.codes(), [1, 0, 1, 2])
    np.testing.assert_array_equal(by_name.rows(np.array([0, 2, 3])).codes(), [0, 0, 1])
    np.testing.assert_array_equal(Groups.of_sizes([2, 1]).codes(), [0, 0, 1])
