"""Alternating minimisation: it falls at every step, and a step that rises is an error."""

import numpy as np
import pytest

from tilth.engines.optimise.alternate import alternate
from tilth.errors import ModelWarning

rng = np.random.default_rng(0)
POINTS = np.vstack([rng.normal(centre, 0.3, size=(20, 2)) for centre in ([0, 0], [4, 0], [0, 4])])
del rng  # tests draw from generators of their own


def assign(state):
    centres, _ = state
    return centres, ((POINTS[:, None] - centres[None]) ** 2).sum(-1).argmin(1)


def move(state):
    centres, labels = state
    return np.array([POINTS[labels == k].mean(0) if (labels == k).any() else centres[k] for k in range(3)]), labels


def spread(state):
    centres, labels = state
    return float(((POINTS - centres[labels]) ** 2).sum())


@pytest.mark.covers("R-13")
def test_k_means_falls_at_every_step():
    start = assign((POINTS[[0, 1, 25]], np.zeros(60, dtype=int)))
    found = alternate(start, {"assign": assign, "move": move}, spread)
    frame = found.outcome.frame()
    assert list(frame) == ["iteration", "after assign", "after move"]
    path = frame[["after assign", "after move"]].to_numpy().ravel()
    assert (np.diff(np.r_[spread(start), path]) <= 1e-9).all()
    assert found.objective == path[-1] == spread(found.state)
    assert found.outcome.converged
    assert found.outcome.guarantee.startswith("a local optimum")


@pytest.mark.covers("R-13")
def test_coordinate_descent_reaches_the_optimum_of_a_convex_cost():
    Q, c = np.array([[2.0, 0.9], [0.9, 1.0]]), np.array([1.0, -1.0])
    steps = {
        "x": lambda s: (-(c[0] + Q[0, 1] * s[1]) / Q[0, 0], s[1]),
        "y": lambda s: (s[0], -(c[1] + Q[1, 0] * s[0]) / Q[1, 1]),
    }
    found = alternate((0.0, 0.0), steps, lambda s: np.array(s) @ Q @ s / 2 + c @ s, tol=1e-14, convex=True)
    np.testing.assert_allclose(found.state, np.linalg.solve(Q, -c), atol=1e-6)
    assert found.outcome.guarantee == "the global optimum: the cost is convex"


@pytest.mark.covers("R-13")
def test_a_step_that_rises_is_named():
    with pytest.raises(ArithmeticError, match=r"the step 'away' of round 1 raised the objective from 0\.25 to 2\.25"):
        alternate(1.0, {"half": lambda x: x / 2, "away": lambda x: x + 1}, lambda x: x**2)


def test_rounding_is_no_rise():
    # An objective that is the rest of larger numbers goes up and down in its last digits.
    shake = iter(np.tile([0.0, 1e-14], 50))
    found = alternate(1.0, [lambda x: x / 10, lambda x: x], lambda x: x**2 + next(shake), max_iter=40)
    assert found.outcome.converged


@pytest.mark.covers("R-07", "R-13")
def test_too_few_rounds_warn():
    with pytest.warns(ModelWarning, match="W207.*max_iter was reached"):
        found = alternate(1.0, [lambda x: x * 0.9], lambda x: x**2, max_iter=3)
    assert (found.outcome.n_iter, found.outcome.converged) == (3, False)


def test_bad_input_is_refused():
    with pytest.raises(ArithmeticError, match="at the start it is nan"):
        alternate(1.0, [lambda x: x], lambda x: np.nan)
    with pytest.raises(ArithmeticError, match="after the step 'step 0' of round 1"):
        alternate(1.0, [lambda x: x * np.inf], lambda x: x)
    with pytest.raises(ValueError, match="at least one step"):
        alternate(1.0, [], lambda x: x)
    with pytest.raises(ValueError, match="max_iter at least 1"):
        alternate(1.0, [lambda x: x], lambda x: x, max_iter=0)
