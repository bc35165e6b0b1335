"""Curves of functions, the way down a cost, histograms of distributions."""

import numpy as np
import pytest
from scipy import stats

import tilth
from tilth.parts import class_losses, margin_losses, sigmoids
from tilth.plot import descent_path, function_curves, probability_histogram
from tilth.plot.marks import bar_heights

SIGMOIDS = [cls() for cls in (*sigmoids.NAMED.values(), sigmoids.TanhSigmoid, sigmoids.ArctanSigmoid)]


@pytest.mark.covers("PL-14")
def test_sigmoids_and_their_slopes(tmp_path):
    found = function_curves(SIGMOIDS, -4, 4, points=81)
    table = found.frame()
    for part in SIGMOIDS:
        name = type(part).__name__
        assert np.allclose(table[name], part.value(table["x"].to_numpy()))
        numeric = np.gradient(table[name], table["x"])
        assert np.allclose(table[f"{name}'"][1:-1], numeric[1:-1], atol=0.01)
    figure = found.figure
    figure.savefig(tmp_path / "sigmoids.svg")
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.allclose(drawn["LogisticSigmoid"], stats.logistic.cdf(table["x"]))
    assert np.allclose(drawn["NormalSigmoid"], stats.norm.cdf(table["x"]))


@pytest.mark.covers("PL-14")
def test_steps_softplus_and_losses_of_a_margin(tmp_path):
    positive = np.ones(41, dtype=int)
    functions = {
        "step": lambda x: np.heaviside(x, 1.0),
        "softplus": sigmoids.softplus,
        "hinge": lambda x: margin_losses.Hinge().value(positive, x),
        "logistic loss": lambda x: class_losses.Logistic().value(positive, x),
    }
    found = function_curves(functions, -2, 2, points=41)
    table = found.frame()
    assert np.allclose(table["hinge"], np.maximum(0, 1 - table["x"]))
    assert np.allclose(table["logistic loss"], np.log1p(np.exp(-table["x"])))
    assert np.allclose(table["softplus"], np.log1p(np.exp(table["x"])))
    assert set(table["step"]) == {0.0, 1.0}
    found.figure.savefig(tmp_path / "losses.png", dpi=30)
    assert len(found.figure.axes) == 1


def test_functions_that_cannot_be_drawn_are_said():
    with pytest.raises(ValueError, match="low must be below"):
        function_curves([np.sin], 1, 1)
    with pytest.raises(ValueError, match="at least one"):
        function_curves([])
    with pytest.raises(ValueError, match="gave shape"):
        function_curves({"sum": np.sum})
    with pytest.raises(ValueError, match="cannot be called"):
        function_curves({"three": 3})


# ----------------------------------------------------------------------------------------------------- the way down


@pytest.mark.covers("PL-19")
def test_the_path_of_a_linear_model_of_two_weights(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 3.0]
    y = X @ [1.0, -0.5] + rng.normal(size=60) * 0.1
    loss = tilth.Squared()

    def cost(w: np.ndarray) -> float:
        return float(loss.value(y, X @ w).mean())

    def slope(w: np.ndarray) -> np.ndarray:
        return X.T @ loss.gradient(y, X @ w) / len(y)

    way = tilth.gradient_descent(slope, [-2.0, 2.0], value=cost, rate=0.05, names=("slope a", "slope b"))
    found = descent_path(way.trace, cost)
    table = found.frame()
    assert np.allclose(table[["slope a", "slope b"]], way.trace.x)
    assert np.allclose(table["cost"], [cost(w) for w in way.trace.x])
    # Law: each step is that of plain descent, against the gradient.
    assert np.allclose(np.diff(found.path, axis=0), -0.05 * np.array([slope(w) for w in found.path[:-1]]))
    assert found.ends_lowest
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.allclose(found.path[-1], best, atol=1e-4)
    assert len(found.minima) == 1
    assert np.allclose(found.minima[0], best, atol=0.1)
    i, j = 10, 20
    assert found.surface[i, j] == pytest.approx(cost(np.array([found.grid[0][j], found.grid[1][i]])))
    figure = found.figure
    figure.savefig(tmp_path / "descent.svg")
    drawn = next(line for line in figure.axes[0].lines if line.get_marker() == "o")
    assert np.allclose(drawn.get_xydata(), found.path)


@pytest.mark.covers("PL-19")
def test_a_local_minimum_is_seen_as_such(tmp_path):
    def cost(w: np.ndarray) -> float:
        return float(w[0] ** 4 - 3 * w[0] ** 2 + w[0])

    def slope(w: np.ndarray) -> np.ndarray:
        return np.array([4 * w[0] ** 3 - 6 * w[0] + 1])

    ends = {}
    for start in (2.0, -2.0):
        way = tilth.gradient_descent(slope, [start], value=cost, rate=0.02)
        found = descent_path(way.trace, cost, low=-2.2, high=2.2)
        found.figure.savefig(tmp_path / "local.png", dpi=30)
        ends[start] = found
    assert not ends[2.0].ends_lowest
    assert ends[-2.0].ends_lowest
    roots = np.sort(np.roots([4, 0, -6, 1]).real)[[0, 2]]
    assert np.allclose(np.sort(ends[2.0].minima[:, 0]), roots, atol=0.02)
    assert "lower place" in ends[2.0].figure.axes[0].get_title(loc="left")


def test_paths_that_cannot_be_drawn_are_said():
    with pytest.raises(ValueError, match="one or two weights"):
        descent_path(np.zeros((3, 3)), lambda w: 0.0)
    with pytest.raises(ValueError, match="not finite"):
        descent_path(np.array([[np.inf], [1.0]]), lambda w: 0.0)
    with pytest.raises(ValueError, match="low must be below high"):
        descent_path(np.zeros((2, 1)), lambda w: 0.0, low=1, high=0)
    with pytest.raises(ValueError, match="name per weight"):
        descent_path(np.zeros((2, 1)), lambda w: 0.0, names=("a", "b"))
    flat = descent_path(np.zeros((2, 2)), lambda w: 0.0)
    assert flat.ends_lowest
    assert len(flat.minima) == 0
    assert flat.figure.axes


# ---------------------------------------------------------------------------------------------------- distributions

COUNTED = {
    "binomial": (tilth.BinomialDistribution(10, 0.3), stats.binom(10, 0.3)),
    "poisson": (tilth.PoissonDistribution(4.0), stats.poisson(4.0)),
    "bernoulli": (tilth.BernoulliDistribution(0.2), stats.bernoulli(0.2)),
}
SMOOTH = {
    "normal": (tilth.NormalDistribution(1.0, 2.0), stats.norm(1.0, 2.0)),
    "exponential": (tilth.ExponentialDistribution(0.5), stats.expon(scale=2.0)),
    "uniform": (tilth.UniformDistribution(-1.0, 3.0), stats.uniform(-1, 4)),
    "beta": (tilth.BetaDistribution(2.0, 3.0), stats.beta(2, 3)),
    "laplace": (tilth.LaplaceDistribution(0.0, 1.0), stats.laplace()),
}


@pytest.mark.covers("PL-20")
@pytest.mark.parametrize("name", COUNTED)
def test_bars_of_counted_values_are_their_probabilities(name, tmp_path):
    ours, peer = COUNTED[name]
    found = probability_histogram(ours)
    table = found.frame()
    assert np.allclose(table["probability"], peer.pmf(table["value"].astype(int)))
    assert table["probability"].sum() == pytest.approx(1, abs=2e-3)
    figure = found.figure
    figure.savefig(tmp_path / "bars.svg")
    assert np.allclose(bar_heights(figure.axes[0].patches[0]), table["probability"])


@pytest.mark.covers("PL-20")
@pytest.mark.parametrize("name", SMOOTH)
def test_areas_of_bars_are_probabilities(name, tmp_path):
    ours, peer = SMOOTH[name]
    found = probability_histogram(ours)
    table = found.frame()
    assert np.allclose(table["probability"], peer.cdf(table["to"]) - peer.cdf(table["from"]))
    assert table["probability"].sum() == pytest.approx(1, abs=2e-3)
    figure = found.figure
    figure.savefig(tmp_path / "bars.png", dpi=30)
    heights = bar_heights(figure.axes[0].patches[0])
    assert np.allclose(heights * (table["to"] - table["from"]), table["probability"])
    curve = figure.axes[0].lines[0].get_xydata()
    assert np.allclose(curve[:, 1], peer.pdf(curve[:, 0]))


@pytest.mark.covers("PL-20")
def test_levels_have_bars_by_name(tmp_path):
    table = probability_histogram(tilth.CategoricalDistribution([0.2, 0.5, 0.3], levels=["a", "b", "c"])).frame()
    assert dict(zip(table["value"], table["probability"], strict=True)) == {"a": 0.2, "b": 0.5, "c": 0.3}


def test_distributions_of_more_are_refused():
    with pytest.raises(ValueError, match="one distribution"):
        probability_histogram(tilth.NormalDistribution([0.0, 1.0], 1.0))
    with pytest.raises(ValueError, match="one distribution"):
        probability_histogram(tilth.MultivariateNormalDistribution([0.0, 0.0], np.eye(2)))
    with pytest.raises(ValueError, match="too many"):
        probability_histogram(tilth.PoissonDistribution(1e6))
    with pytest.raises(ValueError, match="bins"):
        probability_histogram(tilth.NormalDistribution(0.0, 1.0), bins=0)
