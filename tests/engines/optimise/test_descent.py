"""Laws of gradient descent: the analytic optimum, every partial visible, no end without a word."""

import numpy as np
import pytest

from tilth.engines.optimise.descent import gradient_descent
from tilth.errors import ModelWarning

Q = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 10.0]])
C = np.array([1.0, -2.0, 0.5])
BOTTOM = np.linalg.solve(Q, -C)


def value(x):
    return x @ Q @ x / 2 + C @ x


def slope(x):
    return Q @ x + C


WAYS = [
    {"value": value},
    {},
    {"value": value, "momentum": 0.8},
    {"value": value, "momentum": 0.8, "nesterov": True},
    {"momentum": 0.8},
    {"rate": 0.1},
    {"rate": 0.05, "momentum": 0.9, "nesterov": True},
    {"rate": lambda k: 0.15 / (1 + k) ** 0.1},
]


@pytest.mark.covers("R-05", "R-09")
@pytest.mark.parametrize("settings", WAYS)
def test_convex_quadratic_reaches_the_analytic_optimum(settings):
    found = gradient_descent(slope, np.zeros(3), tol=1e-8, convex=True, **settings)
    np.testing.assert_allclose(found.x, BOTTOM, atol=1e-7)
    assert found.outcome.converged
    assert found.gradient_norm <= 1e-8
    assert found.outcome.violation == found.gradient_norm
    np.testing.assert_allclose(found.gradient, slope(found.x))
    assert found.guarantee == "the global optimum: the cost is convex"


@pytest.mark.covers("R-05")
def test_trace_shows_every_partial_and_every_parameter():
    found = gradient_descent(slope, [1, 1, 1], value=value, names=["a", "b", "c"])
    frame = found.trace.frame()
    assert list(frame) == [
        "iteration", "value", "gradient_norm", "rate", "d/da", "d/db", "d/dc", "a", "b", "c",
    ]  # fmt: skip
    assert len(frame) == found.outcome.n_iter + 1
    for _, row in frame.iterrows():
        x = row[["a", "b", "c"]].to_numpy()
        np.testing.assert_allclose(row[["d/da", "d/db", "d/dc"]], slope(x))
        assert row["value"] == pytest.approx(value(x))
        assert row["gradient_norm"] == np.abs(slope(x)).max()
    # Each step is x - rate * gradient.
    steps = np.diff(found.trace.x, axis=0)
    np.testing.assert_allclose(steps, -found.trace.rate[1:, None] * found.trace.gradient[:-1], atol=1e-12)
    assert list(found.outcome.frame()) == ["iteration", "value", "gradient_norm", "rate"]


@pytest.mark.covers("FX-64")
def test_momentum_follows_its_textbook_forms():
    rate, momentum = 0.05, 0.7
    x, v = np.ones(3), np.zeros(3)
    heavy, ahead = [x], [x]
    for _ in range(6):
        v = momentum * v - rate * slope(x)
        x = x + v
        heavy.append(x)
    x, v = np.ones(3), np.zeros(3)
    for _ in range(6):
        v = momentum * v - rate * slope(x + momentum * v)
        x = x + v
        ahead.append(x + momentum * v)  # the points at which the gradient is asked for
    for nesterov, path in ((False, heavy), (True, ahead)):
        found = gradient_descent(slope, np.ones(3), rate=rate, momentum=momentum, nesterov=nesterov)
        np.testing.assert_allclose(found.trace.x[:7], path, atol=1e-12)


def test_trace_plots_and_can_be_left_out():
    found = gradient_descent(slope, np.zeros(3), value=value)
    figure = found.trace.plot()
    assert figure.axes[0].get_yscale() == "log"
    assert len(figure.axes[0].lines) == 4
    assert gradient_descent(slope, np.zeros(3), keep_trace=False).trace is None


@pytest.mark.covers("R-05")
def test_line_search_never_raises_the_value():
    def valley(x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def partials(x):
        return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])

    found = gradient_descent(partials, [-1.2, 1.0], value=valley, tol=1e-7)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-5)
    falls = np.diff(found.trace.value)
    assert (falls <= 1e-12).all()


def test_a_large_constant_in_the_value_does_not_stop_the_search():
    # The values agree to all digits long before the gradient is zero.
    found = gradient_descent(slope, np.zeros(3), value=lambda x: 1e6 + value(x), tol=1e-9)
    np.testing.assert_allclose(found.x, BOTTOM, atol=1e-8)


@pytest.mark.covers("R-07")
@pytest.mark.parametrize("given", [{}, {"value": value}])
def test_too_long_a_step_is_told_with_the_rate_that_would_do(given):
    greatest = np.linalg.eigvalsh(Q)[-1]
    with pytest.warns(ModelWarning, match="W207.*the step is too long") as told:
        found = gradient_descent(slope, np.ones(3), rate=0.5, **given)
    assert not found.outcome.converged
    assert found.guarantee.startswith("none")
    assert f"less than {2 / greatest:.2g}" in str(told[0].message)
    # The best point seen is given back, not the blown-up one.
    assert found.gradient_norm <= np.abs(slope(np.ones(3))).max()


@pytest.mark.covers("R-07")
def test_too_few_iterations_warn():
    with pytest.warns(ModelWarning, match="W207.*max_iter was reached"):
        found = gradient_descent(slope, np.zeros(3), rate=1e-3, max_iter=5)
    assert (found.outcome.converged, found.outcome.n_iter) == (False, 5)
    assert found.outcome.violation == pytest.approx(found.trace.gradient_norm[-1])


@pytest.mark.covers("R-07")
def test_saddle_is_not_sold_as_an_optimum():
    with pytest.warns(ModelWarning, match="saddle"):
        found = gradient_descent(lambda x: np.array([2 * x[0], -2 * x[1]]), [1.0, 0.0])
    assert not found.outcome.converged
    assert found.least_curvature == pytest.approx(-2.0)


@pytest.mark.covers("R-07")
def test_guarantee_is_local_without_convexity_and_a_false_claim_is_seen():
    def wavy(x):
        return np.cos(x[0]) + x[0] ** 2 / 20

    def slope_of_wavy(x):
        return -np.sin(x) + x / 10

    for start in (2.0, 8.0):
        found = gradient_descent(slope_of_wavy, [start], value=wavy)
        assert found.guarantee.startswith("a local optimum: the least curvature")
        assert found.outcome.convex is False
    claimed = gradient_descent(slope_of_wavy, [0.5], value=wavy, convex=True)
    assert claimed.outcome.convex is False
    assert "contradict" in claimed.outcome.reason


def test_flat_bottom_is_only_called_stationary():
    found = gradient_descent(lambda x: np.array([2 * x[0], 0.0]), [1.0, 1.0])
    assert found.least_curvature == 0.0
    assert found.guarantee.startswith("a stationary point")


def test_cost_without_bottom_is_told():
    with pytest.warns(ModelWarning, match="falls without bound"):
        gradient_descent(lambda x: np.array([-1.0]), [0.0], value=lambda x: -x[0])
    with pytest.warns(ModelWarning, match="the gradient grows without bound"):
        gradient_descent(lambda x: -x, [1.0])


def test_gradient_of_another_function_is_told():
    with pytest.warns(ModelWarning, match="not the gradient of the value"):
        gradient_descent(lambda x: -2 * x, [1.3], value=lambda x: x[0] ** 2)


@pytest.mark.covers("R-09")
def test_gradient_that_is_only_known_with_noise():
    rng = np.random.default_rng(3)

    def noisy(x):
        return 2 * (x - 3) + rng.normal(size=1)

    with pytest.warns(ModelWarning, match="W207"):
        averaged = gradient_descent(noisy, [0.0], noise="average", max_iter=2000, tol=1e-9)
    assert averaged.x[0] == pytest.approx(3, abs=0.1)
    assert np.isnan(averaged.value)


@pytest.mark.covers("R-09")
def test_monitor_ends_the_run_and_keeps_the_best_point():
    rng = np.random.default_rng(4)
    found = gradient_descent(
        lambda x: 2 * (x - 3) + rng.normal(size=1), [0.0],
        rate=lambda k: 1 / (3 + k), monitor=lambda x: abs(x[0] - 3), patience=15,
    )  # fmt: skip
    assert found.by_monitor
    assert found.outcome.converged
    watched = found.trace.monitor
    assert abs(found.x[0] - 3) == watched.min()
    assert len(watched) - 1 - watched.argmin() == 15
    assert "monitored" in found.guarantee


def test_watched_run_that_is_cut_short_keeps_its_best_point_too():
    with pytest.warns(ModelWarning, match="max_iter was reached"):
        found = gradient_descent(
            lambda x: np.sign(x - 1), [0.0], rate=0.3, monitor=lambda x: abs(x[0] - 1), patience=50, max_iter=20
        )
    assert abs(found.x[0] - 1) == found.trace.monitor.min() < found.trace.monitor[-1] + 1e-12
    with pytest.raises(ValueError, match="the monitor must be finite at the start; got nan"):
        gradient_descent(slope, np.zeros(3), monitor=lambda x: np.nan, patience=3)


def test_caller_may_reuse_and_change_arrays():
    buffer = np.zeros(3)

    def reused(x):
        buffer[:] = Q @ x + C
        x[:] = np.nan
        return buffer

    start = np.ones(3)
    found = gradient_descent(reused, start, tol=1e-8)
    np.testing.assert_allclose(found.x, BOTTOM, atol=1e-7)
    np.testing.assert_array_equal(start, np.ones(3))


def test_start_at_the_optimum_takes_no_step_and_is_not_called_a_closed_form():
    found = gradient_descent(slope, BOTTOM, tol=1e-6)
    np.testing.assert_array_equal(found.x, BOTTOM)
    assert not found.outcome.closed_form


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rate": -1}, "rate must be 'auto', a positive number"),
        ({"rate": "fast"}, "got 'fast'"),
        ({"rate": lambda k: 0.0}, "for update 0 it is 0.0"),
        ({"momentum": 1.0}, "momentum must be at least 0 and below 1"),
        ({"nesterov": True}, "nesterov looks ahead"),
        ({"batch": 2}, "needs n_rows"),
        ({"batch": 0, "n_rows": 3}, "batch must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": -1.0}, "tol must be a number"),
        ({"noise": "anchor"}, "give a batch smaller than n_rows"),
        ({"noise": "hope"}, "noise must be"),
        ({"patience": 3}, "needs a monitor"),
        ({"names": ["a"]}, "one entry per parameter, 3; got 1"),
        ({"value": lambda x: x}, "value must give one number"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(settings, words):
    with pytest.raises(ValueError, match="gradient_descent: ") as refused:
        gradient_descent(slope, np.zeros(3), **settings)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("gradient", "start", "words"),
    [
        (slope, [], "at least one number"),
        (slope, [0.0, np.nan, 0.0], "entry 1 is nan"),
        (slope, "abc", "must be numbers"),
        (lambda x: x[:2], [1.0, 1.0, 1.0], "one partial derivative per parameter"),
        (lambda x: x * np.nan, [1.0], "finite at the start"),
    ],
)
def test_bad_start_or_gradient_is_refused_in_a_sentence(gradient, start, words):
    with pytest.raises(ValueError, match=words):
        gradient_descent(gradient, start)
