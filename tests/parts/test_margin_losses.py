"""Losses of margins: laws of value, gradient and pieces."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.parts.losses import Absolute, Huber, Quantile
from tilth.parts.margin_losses import (
    CrammerSinger,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    OptionHinge,
    PairHinge,
    PerceptronLoss,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    WestonWatkins,
    ordered_pairs,
)
from tilth.parts.ranking import Groups

RNG = np.random.default_rng(0)
CLASSES, NUMBERS = RNG.integers(0, 2, 40), RNG.normal(size=40)
MANY, GRADES = RNG.integers(0, 4, 40), RNG.integers(0, 3, 40).astype(float)
OPTIONS = RNG.integers(0, 3, (40, 4)).astype(float)
del RNG  # tests draw from generators of their own
GROUPS = Groups.of_sizes([10, 1, 20, 9])
ALL = [
    (Hinge(), CLASSES),
    (SquaredHinge(), CLASSES),
    (PerceptronLoss(), CLASSES),
    (EpsilonInsensitive(epsilon=0.3), NUMBERS),
    (SquaredEpsilonInsensitive(epsilon=0.3), NUMBERS),
    (Absolute(), NUMBERS),
    (Quantile(q=0.2), NUMBERS),
    (Huber(delta=0.7), NUMBERS),
    (WestonWatkins(k=4), MANY),
    (CrammerSinger(k=4), MANY),
    (CrammerSinger(k=4, margin=0.0), MANY),
    (PairHinge().grouped(GROUPS), GRADES),
    (OptionHinge(k=4), OPTIONS),
]
IDS = [f"{type(loss).__name__}{i}" for i, (loss, _) in enumerate(ALL)]


def scores(loss, seed=1):
    shape = (40,) if loss.n_scores == 1 else (40, loss.n_scores)
    return np.random.default_rng(seed).normal(size=shape) * 1.5


@pytest.mark.parametrize(("loss", "y"), ALL, ids=IDS)
def test_the_gradient_is_the_slope_of_the_sum(loss, y):
    eta, step = scores(loss), 1e-6
    gradient = loss.gradient(y, eta)
    for place in list(np.ndindex(eta.shape))[::7]:
        high, low = eta.copy(), eta.copy()
        high[place] += step
        low[place] -= step
        slope = (loss.value(y, high).sum() - loss.value(y, low).sum()) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(("loss", "y"), ALL, ids=IDS)
def test_the_pieces_are_the_loss(loss, y):
    eta = scores(loss)
    pieces = loss.pieces(y)
    assert pieces.value(pieces.residual(eta)).sum() == pytest.approx(loss.value(y, eta).sum(), rel=1e-12)
    rows = pieces.rows(loss.n_scores)
    by_row = np.bincount(rows, weights=pieces.value(pieces.residual(eta)), minlength=40)
    np.testing.assert_allclose(by_row, loss.value(y, eta), atol=1e-12)


@pytest.mark.parametrize(("loss", "y"), ALL, ids=IDS)
def test_slopes_of_pieces_give_the_gradient(loss, y):
    eta = scores(loss)
    pieces = loss.pieces(y)
    width = 1e-9 if pieces.together else 0.0
    made = -pieces.spread(pieces.subgradient(pieces.residual(eta), 0.0, width), eta.shape)
    np.testing.assert_allclose(made, loss.gradient(y, eta), atol=1e-9)


@pytest.mark.parametrize(("loss", "y"), ALL, ids=IDS)
def test_fenchel_young(loss, y):
    """phi(r) + phi*(u) >= u r for every u within its bounds, with equality at the slope of r."""
    pieces = loss.pieces(y)
    r = pieces.residual(scores(loss))
    rng = np.random.default_rng(3)
    u = rng.uniform(max(pieces.low, -3.0), min(pieces.high, 3.0), len(r))
    if pieces.together:
        u /= pieces.together
    assert (pieces.value(r) + pieces.conjugate(u) - u * r).reshape(-1, max(pieces.together, 1)).sum(
        axis=1
    ).min() > -1e-12
    best = pieces.subgradient(r, 0.0, 1e-9 if pieces.together else 0.0)
    lost = (pieces.value(r) + pieces.conjugate(best) - best * r).sum()
    assert lost == pytest.approx(0.0, abs=1e-7)


def test_slopes_near_a_centre_are_the_best():
    """The closed form of max u r - phi*(u) - width (u - c)^2 / 2 against a fine grid."""
    for loss, y in ALL[:8]:
        pieces = loss.pieces(y)
        r, centre, width = np.linspace(-2, 2, 40), np.full(40, 0.2), 0.7
        grid = np.linspace(max(pieces.low, -9), min(pieces.high, 9), 20001)[:, None]
        cost = grid * r - pieces.conjugate(grid) - 0.5 * width * (grid - centre) ** 2
        np.testing.assert_allclose(pieces.subgradient(r, centre, width), grid[cost.argmax(axis=0), 0], atol=2e-3)


def test_shares_of_a_block_are_the_nearest_within_the_simplex():
    pieces = CrammerSinger(k=4).pieces(MANY)
    r = np.random.default_rng(4).normal(size=len(pieces.offset))
    u = pieces.subgradient(r, 0.3, 0.5).reshape(-1, 3)
    wanted = (r + 0.5 * 0.3).reshape(-1, 3) / 0.5
    assert (u >= 0).all()
    assert (u.sum(axis=1) <= 1 + 1e-12).all()
    rng = np.random.default_rng(5)
    for _ in range(200):
        other = rng.dirichlet(np.ones(4), size=len(u))[:, :3]
        assert (((u - wanted) ** 2).sum(axis=1) <= ((other - wanted) ** 2).sum(axis=1) + 1e-9).all()


@pytest.mark.covers("S-06")
def test_slack_is_the_hinge():
    """min xi with xi >= 0 and z eta >= 1 - xi."""
    eta = scores(Hinge())
    z = 2 * CLASSES - 1
    xi = Hinge().value(CLASSES, eta)
    assert (xi >= 0).all()
    assert (z * eta >= 1 - xi - 1e-12).all()
    assert ((xi == 0) | np.isclose(z * eta, 1 - xi)).all()


@pytest.mark.covers("S-07")
def test_the_hard_margin_costs_nothing_or_everything():
    assert HardMargin().value(np.array([1, 0, 1]), np.array([1.0, -2.0, 0.9])).tolist() == [0.0, 0.0, np.inf]


def test_ordered_pairs_are_all_pairs():
    better, worse = ordered_pairs(GRADES, GROUPS)
    code = GROUPS.codes()
    wanted = {(i, j) for i in range(40) for j in range(40) if code[i] == code[j] and GRADES[i] > GRADES[j]}
    assert set(zip(better.tolist(), worse.tolist(), strict=True)) == wanted
    assert len(better) == len(wanted)
    assert len(ordered_pairs([1.0, 1.0], Groups.of_sizes([2]))[0]) == 0


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        (Hinge(), [0.0, 0.5], "coded 0 and 1"),
        (SquaredHinge(), [0, 2], "found 2"),
        (WestonWatkins(k=3), [0, 3], "from 0 to 2"),
        (CrammerSinger(k=3), [-1, 0], "found -1"),
    ],
)
def test_targets_that_mean_nothing_are_named(loss, y, words):
    assert words in loss.problem(np.array(y))
