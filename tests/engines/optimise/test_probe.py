"""Differences: slopes agree with derivatives, bounds are respected, curvature has the right sign."""

import numpy as np
import pytest

from tilth.engines.optimise.probe import bends_down, curvature_along, jacobian, least_curvature, point


def test_jacobian_is_the_derivative():
    x = np.array([0.3, -1.2])
    found = jacobian(lambda v: np.array([v[0] * v[1], np.exp(v[0]), v[1] ** 3]), x)
    np.testing.assert_allclose(found, [[-1.2, 0.3], [np.exp(0.3), 0], [0, 3 * 1.44]], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_jacobian_keeps_inside_bounds(at):
    def inside(v):
        assert 0 <= v[0] <= 1
        return np.exp(v)

    found = jacobian(inside, np.array([at]), np.zeros(1), np.ones(1))
    assert found[0, 0] == pytest.approx(np.exp(at), rel=1e-7)


def test_jacobian_looks_away_from_a_bound_that_all_but_touches():
    x = np.array([np.nextafter(1.5, 0.0)])
    np.testing.assert_allclose(jacobian(lambda v: v**2, x, np.array([-1.0]), np.array([1.5])), [[3.0]], rtol=1e-6)


def test_jacobian_turns_to_the_side_that_the_function_knows():
    with np.errstate(invalid="raise"):
        found = jacobian(lambda v: np.log(v), np.array([2e-6]))
    assert np.isfinite(found).all()


def test_curvature_of_a_quadratic():
    Q = np.array([[2.0, 0.5], [0.5, -1.0]])
    x = np.array([3.0, 4.0])
    values, vectors = np.linalg.eigh(Q)
    assert least_curvature(lambda v: Q @ v, x) == pytest.approx(values[0], rel=1e-6)
    assert curvature_along(lambda v: Q @ v, x, Q @ x, vectors[:, 1]) == pytest.approx(values[1], rel=1e-6)
    only = least_curvature(lambda v: Q @ v, x, np.array([[1.0], [0.0]]))
    assert only == pytest.approx(2, rel=1e-6)
    assert least_curvature(lambda v: np.array([2 * v[0], 0.0]), x) == 0.0
    assert np.isnan(least_curvature(lambda v: Q @ v, x, np.zeros((2, 0))))


def test_a_middle_above_its_ends_disproves_convexity():
    pair = [(np.array([-1.0]), np.array([1.0]))]
    assert bends_down(lambda v: -(v[0] ** 2), pair)
    assert not bends_down(lambda v: v[0] ** 2, pair)
    assert not bends_down(lambda v: 3 * v[0], pair)


def test_points_are_fresh_vectors():
    given = np.ones(2)
    assert point(given, "me") is not given
    assert point(3, "me").tolist() == [3.0]
    with pytest.raises(ValueError, match=r"me: start must be one row .* \(2, 2\)"):
        point(np.eye(2), "me")
