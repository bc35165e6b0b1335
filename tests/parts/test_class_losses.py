"""Losses of classes with other sigmoids, and of one class against all: derivatives, worked numbers, far scores."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tilth.parts.class_losses import Logistic, OneVersusAll, SigmoidLoss, Softmax
from tilth.parts.margin_losses import Hinge
from tilth.parts.sigmoids import NAMED, GeneralisedLogisticSigmoid, StudentTSigmoid

rng = np.random.default_rng(0)
N = 60
TWO = (rng.random(N) < 0.4).astype(float)
MANY = rng.integers(0, 4, N)
WEIGHT = rng.integers(1, 4, N).astype(float)
del rng  # tests draw from generators of their own
LINKS = [*NAMED, GeneralisedLogisticSigmoid(0.3), StudentTSigmoid(2.0)]
every_link = pytest.mark.parametrize("link", LINKS, ids=str)


def slope(function, eta, step=1e-6):
    return (function(eta + step) - function(eta - step)) / (2 * step)


@pytest.mark.covers("G-10")
@every_link
def test_derivatives_of_every_link_are_derivatives(link):
    rng = np.random.default_rng(101)
    loss = SigmoidLoss(sigmoid=link)
    eta = rng.normal(size=N) * 2
    np.testing.assert_allclose(loss.gradient(TWO, eta), slope(lambda e: loss.value(TWO, e), eta), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        loss.hessian(TWO, eta), slope(lambda e: loss.gradient(TWO, e), eta), rtol=1e-5, atol=1e-6
    )
    inner = np.clip(eta, -3, 2)
    np.testing.assert_allclose(loss.link(loss.inverse(inner)), inner, rtol=1e-9)


@every_link
def test_the_start_is_the_best_constant(link):
    loss = SigmoidLoss(sigmoid=link)
    c = loss.start(TWO, WEIGHT)
    assert abs(np.average(loss.gradient(TWO, np.full(N, c[0])), weights=WEIGHT)) < 1e-12


@pytest.mark.covers("FX-42")
@every_link
def test_a_loss_is_convex_where_it_says_so(link):
    loss = SigmoidLoss(sigmoid=link)
    eta = np.linspace(-12, 3.5, 400)
    curves = np.concatenate([loss.hessian(np.ones(400), eta), loss.hessian(np.zeros(400), eta)])
    assert loss.convex == bool((curves > -1e-7).all())


@pytest.mark.covers("G-05", "G-10")
@every_link
def test_far_scores_neither_overflow_nor_lose_their_slope(link):
    loss = SigmoidLoss(sigmoid=link)
    value, gradient = (
        loss.value(np.ones(2), np.array([-60.0, 60.0])),
        loss.gradient(np.ones(2), np.array([-60.0, 60.0])),
    )
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert value[0] > 3 > 1 > value[1] >= 0
    assert gradient[0] < 0, "a hopeless row still says which way to go"


def test_the_logistic_sigmoid_is_the_logistic_loss():
    rng = np.random.default_rng(102)
    eta = rng.normal(size=N) * 3
    for name in ("value", "gradient", "hessian"):
        mine, plain = (getattr(loss, name)(TWO, eta) for loss in (SigmoidLoss(sigmoid="logit"), Logistic()))
        np.testing.assert_allclose(mine, plain, rtol=1e-8, atol=1e-9)


@pytest.mark.covers("G-04", "FX-41")
def test_both_codings_have_the_same_loss():
    rng = np.random.default_rng(103)
    eta = rng.normal(size=N) * 5
    margin = (2 * TWO - 1) * eta
    np.testing.assert_allclose(Logistic().value(TWO, eta), np.log1p(np.exp(-margin)), rtol=1e-10)
    p = expit(eta)
    np.testing.assert_allclose(Logistic().value(TWO, eta), -(TWO * np.log(p) + (1 - TWO) * np.log(1 - p)), rtol=1e-10)


@pytest.mark.covers("G-05")
def test_a_margin_of_minus_1000_costs_1000():
    assert Logistic().value(np.array([1.0]), np.array([-1000.0]))[0] == 1000.0
    assert Softmax(k=2).value(np.array([0]), np.array([[0.0, 1000.0]]))[0] == 1000.0


@pytest.mark.covers("G-13", "WN-78", "FX-12")
def test_k_binary_cross_entropies_are_not_the_softmax_cross_entropy():
    p = np.array([[0.7, 0.1, 0.1, 0.1]])
    assert OneVersusAll(k=4).value(np.array([0]), logit(p))[0] == pytest.approx(0.67276, abs=5e-6)
    assert Softmax(k=4).value(np.array([0]), np.log(p))[0] == pytest.approx(0.35667, abs=5e-6)


@pytest.mark.covers("G-12", "WN-58", "FX-11")
def test_softmax_has_positive_exponents():
    np.testing.assert_allclose(Softmax(k=3).inverse([[2.0, 1.0, 0.0]]), [[0.6652, 0.2447, 0.0900]], atol=5e-5)


@pytest.mark.parametrize("one", [None, SigmoidLoss(sigmoid="probit")], ids=["logistic", "probit"])
def test_one_versus_all_is_the_sum_of_its_questions(one):
    rng = np.random.default_rng(104)
    loss = OneVersusAll(k=4, loss=one)
    eta = rng.normal(size=(N, 4))
    parts = [loss.one.value((c == MANY).astype(float), eta[:, c]) for c in range(4)]
    np.testing.assert_allclose(loss.value(MANY, eta), np.sum(parts, axis=0))
    for c in range(4):
        shifted = np.eye(4)[c] * 1e-6
        found = (loss.value(MANY, eta + shifted) - loss.value(MANY, eta - shifted)) / 2e-6
        np.testing.assert_allclose(loss.gradient(MANY, eta)[:, c], found, rtol=1e-5, atol=1e-7)
    start = np.tile(loss.start(MANY, WEIGHT), (N, 1))
    np.testing.assert_allclose(np.average(loss.gradient(MANY, start), axis=0, weights=WEIGHT), 0.0, atol=1e-12)


def test_probabilities_of_one_versus_all_sum_to_one_however_far_the_scores():
    p = OneVersusAll(k=3).inverse(np.array([[0.3, -1.0, 2.0], [-900.0, -800.0, -1000.0]]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[1].argmax() == 1


def test_one_versus_all_takes_after_its_question():
    assert OneVersusAll(k=3).smooth
    assert not OneVersusAll(k=3, loss=Hinge()).smooth
    assert not OneVersusAll(k=3, loss=SigmoidLoss(sigmoid="cauchit")).convex


def test_bad_targets_and_sigmoids_are_told():
    assert "coded 0 and 1" in SigmoidLoss().problem(np.array([0, 2]))
    assert "class codes from 0 to 2" in OneVersusAll(k=3).problem(np.array([3]))
    with pytest.raises(ValueError, match="sigmoid must be one of 'logit'"):
        SigmoidLoss(sigmoid="tanh")
