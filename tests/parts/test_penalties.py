"""Penalties: the prox against brute force, violations against stationarity, strengths against fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from tilth.parts.penalties import L0, L1, L2, MCP, SCAD, ElasticNet, GroupLasso, NoPenalty

ALONE = [
    NoPenalty(), L2(0.7), L1(0.7), L1(0.0), ElasticNet(0.8, ratio=0.3), ElasticNet(0.8, ratio=1.0), MCP(0.6, gamma=2.5),
    MCP(0.6, gamma=1.1), SCAD(0.5, a=3.7), SCAD(0.5, a=2.1), L0(0.3),
]  # fmt: skip
GROUPED = GroupLasso(0.6, groups=("a", "a", "b", "c", "c", "c"))


def name(penalty):
    return f"{type(penalty).__name__}-{penalty.numbers()}"


@pytest.mark.parametrize("penalty", ALONE, ids=name)
@pytest.mark.parametrize("step", [0.2, 1.0, 1.7, 4.0])
def test_the_prox_is_the_least_of_a_fine_grid(penalty, step):
    """Also with steps so long that the problem of one weight is not convex."""
    grid = np.concatenate([np.linspace(-5, 5, 1001), [0.0]])
    heights = np.array([penalty.value(np.array([u])) for u in grid])
    for v in np.linspace(-4.0, 4.0, 33):
        cost = 0.5 * (grid - v) ** 2 + step * heights
        found = penalty.prox(np.array([v]), step)
        reached = 0.5 * float(found[0] - v) ** 2 + step * penalty.value(found)
        assert reached <= cost.min() + 1e-12, f"v = {v}: {found} is worse than {grid[cost.argmin()]}"


@pytest.mark.parametrize("penalty", ALONE, ids=name)
def test_the_prox_takes_a_step_per_weight(penalty):
    rng = np.random.default_rng(0)
    w, steps = rng.normal(size=20) * 2, rng.uniform(0.1, 3.0, 20)
    alone = [float(penalty.prox(w[[j]], float(steps[j]))[0]) for j in range(20)]
    assert penalty.prox(w, steps) == pytest.approx(np.array(alone))


def test_the_prox_of_groups_is_the_least_near_it():
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = rng.normal(size=6) * 1.5
        found = GROUPED.prox(v, 0.8)
        cost = lambda u, v=v: 0.5 * float(((u - v) ** 2).sum()) + 0.8 * GROUPED.value(u)  # noqa: E731
        other = minimize(
            cost, found + 0.1, method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-8, "fatol": 1e-12}
        )
        assert cost(found) <= other.fun + 1e-9
    assert not GROUPED.prox(np.full(6, 0.01), 1.0).any()


@pytest.mark.parametrize("penalty", [*ALONE, GROUPED], ids=name)
def test_the_violation_is_zero_exactly_where_the_cost_is_stationary(penalty):
    """The prox step of a stationary point is the point itself; one that a prox step moves is not stationary."""
    rng = np.random.default_rng(2)
    step = 0.5
    for _ in range(20):
        v = rng.normal(size=6) * 2
        w = penalty.prox(v, step)
        gradient = (w - v) / step  # stationary for the loss |u - v|^2 / (2 step)
        assert penalty.violation(w, gradient) == pytest.approx(np.zeros(6), abs=1e-12)
        elsewhere = rng.normal(size=6)
        if penalty.discontinuous or type(penalty).__name__ in ("MCP", "SCAD"):
            continue  # not convex: a global step may leave a stationary point
        moved = np.abs(penalty.prox(w - step * elsewhere, step) - w) > 1e-9
        violated = penalty.violation(w, elsewhere) > 1e-9
        if penalty.separable:
            assert (moved == violated).all()
        else:
            assert moved.any() == violated.any()


@pytest.mark.parametrize("penalty", [L1(1.0), ElasticNet(1.0, ratio=0.4), MCP(1.0), SCAD(1.0), GROUPED], ids=name)
def test_at_the_strongest_strength_zero_is_stationary_and_just_below_it_is_not(penalty):
    g = np.random.default_rng(3).normal(size=6)
    top = penalty.strongest(g)
    zero = np.zeros(6)
    assert penalty.times(1.000001 * top / penalty.alpha).violation(zero, g).max() == 0
    assert penalty.times(0.99 * top / penalty.alpha).violation(zero, g).max() > 0


def test_penalties_that_never_zero_all_weights_say_so():
    g = np.ones(3)
    assert [p.strongest(g) for p in (NoPenalty(), L2(1.0), L0(1.0), ElasticNet(1.0, ratio=0.0))] == [np.inf] * 4


@pytest.mark.parametrize("penalty", [MCP(0.6, gamma=2.5), SCAD(0.5, a=3.7)], ids=name)
def test_slopes_are_derivatives_and_vanish_for_large_weights(penalty):
    u = np.array([0.05, 0.3, 0.55, 0.9, 1.2, 1.45, 2.5, 10.0])
    rise = [(penalty.value(np.array([x + 1e-6])) - penalty.value(np.array([x - 1e-6]))) / 2e-6 for x in u]
    assert penalty._slope(u) == pytest.approx(np.array(rise), abs=1e-6)
    assert penalty.prox(np.array([10.0]), 0.5)[0] == 10.0


def test_elastic_net_is_the_sum_of_its_parts():
    w, g = np.array([1.5, -2.0, 0.0]), np.array([0.1, 0.2, 0.9])
    both = ElasticNet(2.0, ratio=0.25)
    assert both.value(w) == pytest.approx(L1(0.5).value(w) + L2(1.5).value(w))
    assert both.numbers() == (0.5, 1.5, 0.0)
    assert ElasticNet(2.0, ratio=1.0).violation(w, g) == pytest.approx(L1(2.0).violation(w, g))


def test_groups_of_one_are_the_lasso_and_scores_have_groups_of_their_own():
    w, g = np.array([1.0, -2.0, 0.0]), np.array([-0.7, 0.7, 0.9])
    alone = GroupLasso(0.7, groups=(0, 1, 2))
    assert alone.value(w) == pytest.approx(L1(0.7).value(w))
    assert alone.violation(w, g) == pytest.approx(L1(0.7).violation(w, g))
    two = np.column_stack([w, 2 * w])
    pair = GroupLasso(0.7, groups=(0, 0, 1))
    assert pair.value(two) == pytest.approx(pair.value(w) + pair.value(2 * w))
    assert pair.prox(two, 0.5)[:, 1] == pytest.approx(pair.prox(2 * w, 0.5))


def test_groups_come_from_columns_and_are_closed():
    penalty = GroupLasso(0.1).adapted(["age", "job", "job", "job", "town", "town"])
    assert penalty.groups == (0, 1, 1, 1, 2, 2)
    assert (
        penalty.whole(np.array([False, False, True, False, False, False])).tolist()
        == [False] + [True] * 3 + [False] * 2
    )
    assert penalty.pick(np.array([1, 2, 3]), 6).codes(3).tolist() == [0, 0, 0]
    given = GroupLasso(0.1, groups=(0, 1))
    assert given.adapted(["a", "a"]) is given


def test_wrong_parameters_are_sentences():
    for make, words in [
        (lambda: L1(-1.0), "alpha must be at least 0"),
        (lambda: ElasticNet(1.0, ratio=1.5), "ratio must be at least 0 and at most 1"),
        (lambda: MCP(1.0, gamma=1.0), "gamma must be above 1"),
        (lambda: SCAD(1.0, a=2.0), "a must be above 2"),
        (lambda: GroupLasso(1.0, groups=(0, 1)).value(np.zeros(3)), "2 entries for 3 weights"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
