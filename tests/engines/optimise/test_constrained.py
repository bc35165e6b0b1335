"""Constrained minima: worked examples, the conditions of an optimum, and what a multiplier means."""

import numpy as np
import pytest

from tilth.engines.optimise.constrained import minimise_constrained
from tilth.engines.optimise.quadratic import quadratic_program
from tilth.errors import ModelWarning


@pytest.mark.covers("R-11", "WN-46")
def test_square_above_three():
    found = minimise_constrained(lambda z: (z[0] - 1) ** 2, [0.0], at_least={"z >= 3": lambda z: z[0] - 3}, convex=True)
    assert found.x[0] == pytest.approx(3, abs=1e-8)
    assert found.value == pytest.approx(4, abs=1e-8)
    assert found.multipliers == {"z >= 3": pytest.approx(4, abs=1e-6)}
    assert found.active == ("z >= 3",)
    assert found.kkt.holds
    assert found.outcome.converged
    assert found.guarantee == "the global optimum: the cost is convex"


@pytest.mark.covers("R-11")
def test_loose_constraint_has_no_multiplier():
    found = minimise_constrained(lambda z: (z[0] - 1) ** 2, [7.0], at_least=lambda z: z[0] + 3)
    assert found.x[0] == pytest.approx(1, abs=1e-6)
    assert found.multipliers == {"g0": 0.0}
    assert found.active == ()
    assert found.least_curvature == pytest.approx(2, rel=1e-4)


@pytest.mark.covers("R-11")
def test_equation_on_a_circle():
    # min x + y on x^2 + y^2 = 2: (-1, -1), and 1 = lambda * 2x gives lambda = -1/2.
    found = minimise_constrained(lambda z: z.sum(), [3.0, 1.0], equal={"circle": lambda z: z @ z - 2})
    np.testing.assert_allclose(found.x, [-1, -1], atol=1e-6)
    assert found.multipliers["circle"] == pytest.approx(-0.5, abs=1e-6)
    assert found.convexity == "not convex: the equation 'circle' is not linear"
    assert found.guarantee.startswith("a local optimum; not convex")


@pytest.mark.covers("R-11")
def test_entropy_on_the_simplex():
    found = minimise_constrained(
        lambda p: np.sum(p * np.log(p)), [0.2, 0.3, 0.5], equal=lambda p: p.sum() - 1, bounds=[(1e-9, 1)] * 3
    )
    np.testing.assert_allclose(found.x, 1 / 3, atol=1e-6)
    assert found.multipliers["h0"] == pytest.approx(1 - np.log(3), abs=1e-6)
    assert found.least_curvature == pytest.approx(3, rel=1e-3)


@pytest.mark.covers("R-11")
def test_multiplier_is_the_price_of_the_constraint():
    def least(level):
        return minimise_constrained(
            lambda z: (z[0] - 2) ** 2 + 2 * (z[1] - 1) ** 2, [0.0, 0.0],
            at_least=[lambda z: 1 - z @ z - level, lambda z: z[0] - z[1]],
        )  # fmt: skip

    found, h = least(0.0), 1e-4
    price = (least(h).value - least(-h).value) / (2 * h)
    assert found.multipliers["g0"] == pytest.approx(price, rel=1e-4)


@pytest.mark.covers("R-11")
def test_conditions_hold_at_random_convex_problems_and_agree_with_the_quadratic_program():
    rng = np.random.default_rng(0)
    for _ in range(8):
        n = int(rng.integers(2, 5))
        L = rng.normal(size=(n, n))
        Q, c = L @ L.T + 0.1 * np.eye(n), 3 * rng.normal(size=n)
        A = rng.normal(size=(2, n))
        b = A @ rng.normal(size=n) - 0.1
        found = minimise_constrained(
            lambda x, Q=Q, c=c: x @ Q @ x / 2 + c @ x, np.zeros(n), gradient=lambda x, Q=Q, c=c: Q @ x + c,
            at_least={"rows": lambda x, A=A, b=b: A @ x - b}, bounds=[(-1, 1.5)] * n,
        )  # fmt: skip
        exact = quadratic_program(Q, c, A_ub=-A, b_ub=-b, lower=-1, upper=1.5)
        np.testing.assert_allclose(found.x, exact.x, atol=1e-5)
        assert found.kkt.holds
        rows = [found.multipliers["rows[0]"], found.multipliers["rows[1]"]]
        np.testing.assert_allclose(rows, exact.at_most, atol=1e-4)
        for j in range(n):
            assert found.multipliers.get(f"x[{j}] >= -1", 0.0) == pytest.approx(exact.lower[j], abs=1e-4)
            assert found.multipliers.get(f"x[{j}] <= 1.5", 0.0) == pytest.approx(exact.upper[j], abs=1e-4)
        assert found.convexity.startswith("nothing seen contradicts")


@pytest.mark.covers("R-11")
def test_frame_lists_every_constraint():
    frame = minimise_constrained(
        lambda z: (z[0] - 2) ** 2 + (z[1] - 1) ** 2, [0.0, 0.0],
        equal={"line": lambda z: z[0] - z[1]}, at_least={"small": lambda z: 1 - z[0]}, bounds=[(None, 5), (0, None)],
    ).frame()  # fmt: skip
    assert frame["constraint"].tolist() == ["small", "x[1] >= 0", "x[0] <= 5", "line"]
    assert frame["kind"].tolist() == ["at least", "bound", "bound", "equal"]
    assert frame["active"].tolist() == [True, False, False, True]
    np.testing.assert_allclose(frame["multiplier"], [2, 0, 0, 0], atol=1e-5)
    np.testing.assert_allclose(frame["value"], [0, 1, 4, 0], atol=1e-6)


def test_report_of_the_conditions_reads_well():
    text = str(
        minimise_constrained(lambda z: z[0] ** 2, [2.0], at_least=[lambda z: z[0] - 1, lambda z: 2 * z[0] - 2]).kkt
    )
    assert [line.split()[0] for line in text.splitlines()[:4]] == ["stationarity", "feasibility", "slackness", "sign"]
    assert "VIOLATED" not in text
    assert text.endswith("multipliers are not unique")


def test_cost_convex_on_the_line_of_an_equation_is_not_called_otherwise():
    # -xy is not convex, but on x + y = 2 it is.
    found = minimise_constrained(lambda z: -z[0] * z[1], [0.3, 1.0], equal=lambda z: z.sum() - 2, convex=True)
    np.testing.assert_allclose(found.x, 1, atol=1e-6)
    assert found.outcome.convex


def test_false_claim_of_convexity_is_not_believed():
    found = minimise_constrained(lambda z: np.cos(z[0]), [2.0], bounds=[(0, 6)], convex=True)
    assert not found.outcome.convex
    assert found.convexity.startswith("not convex: the cost in the middle")


@pytest.mark.covers("R-07")
def test_top_under_a_constraint_is_not_sold_as_an_optimum():
    with pytest.warns(ModelWarning, match=r"W207.*bends down along the constraints"):
        found = minimise_constrained(lambda z: z[0] * z[1], [1.0, 1.0], equal=lambda z: z.sum() - 2)
    assert found.least_curvature == pytest.approx(-1, rel=1e-3)


@pytest.mark.covers("R-07")
def test_constraints_that_cannot_all_hold_are_told_by_name():
    with pytest.warns(ModelWarning, match="no point was found that satisfies all constraints; '(above|below)'"):
        found = minimise_constrained(
            lambda z: z @ z, [0.3], at_least={"above": lambda z: z[0] - 1, "below": lambda z: -z[0]}
        )
    assert found.kkt.feasibility >= 0.4
    assert not found.outcome.converged


@pytest.mark.covers("R-07")
def test_cost_without_bottom_is_told():
    with pytest.warns(ModelWarning, match="falls without bound"):
        minimise_constrained(lambda z: -z[0], [1.0], at_least=lambda z: z[0])


def test_edge_of_the_domain_is_not_sold_as_an_optimum():
    with pytest.warns(ModelWarning, match=r"W207.*the conditions of an optimum do not hold"):
        found = minimise_constrained(
            lambda z: z[0], [1.0], gradient=lambda z: np.where(z > 0, 1.0, np.nan), bounds=[(0, 4)]
        )
    assert not found.outcome.converged
    assert found.kkt.stationarity > found.kkt.tol


def test_differences_stay_inside_bounds():
    def root(z):
        assert z[0] >= 0
        return -np.sqrt(z[0]) + z[0]

    found = minimise_constrained(root, [1.0], bounds=[(0, 4)])
    assert found.x[0] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"at_least": 3}, "constraints must be functions"),
        ({"equal": [3]}, "the constraint 'h0' must be a function"),
        ({"at_least": lambda z: np.log(-1 - z[0] ** 2)}, "finite numbers at the start"),
        ({"bounds": [(1, 0)]}, "must not be above its upper bound"),
        ({"bounds": [(0, 1), (0, 1)]}, "pair for each of the 1 variables"),
        ({"gradient": lambda z: np.ones(2)}, "must give 1 partial derivatives"),
        ({"tol": 0}, "tol must be above 0"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(settings, words):
    with pytest.raises(ValueError, match="minimise_constrained: ") as refused:
        minimise_constrained(lambda z: z[0] ** 2, [0.5], **settings)
    assert words in str(refused.value)


def test_bad_cost_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="must give one number"):
        minimise_constrained(lambda z: z, [0.5, 1.0])
    with pytest.raises(ValueError, match="finite at the start"):
        minimise_constrained(lambda z: np.log(z[0]), [-1.0])
