"""Polynomials and basis functions: curves recovered, high degrees that stay accurate, weights outside of functions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Peer
from sklearn.preprocessing import PolynomialFeatures

from tilth import BasisRegression, LinearRegression, PolynomialRegression

rng = np.random.default_rng(8)
X = rng.uniform(-2, 3, size=(80, 2))
Y = rng.normal(size=80)
del rng  # tests draw from generators of their own


@pytest.mark.covers("L-09")
def test_a_quadratic_is_recovered():
    x = X[:, :1]
    model = PolynomialRegression(degree=2).fit(x, 4.0 - x[:, 0] + 0.5 * x[:, 0] ** 2)
    np.testing.assert_allclose(model.coef_, [-1.0, 0.5], atol=1e-10)
    assert model.intercept_ == pytest.approx(4.0)
    assert model.coefficients()["term"].tolist() == ["(intercept)", "x0", "x0^2"]


@pytest.mark.parametrize("basis", ["power", "orthogonal"])
@pytest.mark.parametrize("degree", [1, 3, 5])
def test_the_curve_is_the_peers_whatever_the_basis(degree, basis):
    rng = np.random.default_rng(101)
    mine = PolynomialRegression(degree=degree, basis=basis).fit(X, Y)
    powers = PolynomialFeatures(degree, include_bias=False)
    theirs = Peer().fit(powers.fit_transform(X), Y)
    new = rng.uniform(-2, 3, size=(20, 2))
    np.testing.assert_allclose(mine.predict(new), theirs.predict(powers.transform(new)), atol=1e-6)


@pytest.mark.covers("P-13", "L-09", "WN-57")
def test_degree_99_goes_through_100_points_and_learns_nothing():
    x = np.linspace(-1, 1, 100)[:, None]
    draw = np.random.default_rng(0)
    y, fresh = np.sin(3 * x[:, 0]) + draw.normal(0, 0.3, 100), np.sin(3 * x[:, 0]) + draw.normal(0, 0.3, 100)
    model = PolynomialRegression(degree=99).fit(x, y)
    assert np.abs(model.predict(x) - y).max() < 1e-10
    modest = PolynomialRegression(degree=5).fit(x, y)
    assert np.mean((model.predict(x) - fresh) ** 2) > 1.5 * np.mean((modest.predict(x) - fresh) ** 2)
    between = 0.5 * (x[1:] + x[:-1])
    assert np.abs(model.predict(between) - np.sin(3 * between[:, 0])).max() > 0.5


def test_weights_are_repetitions_in_the_orthogonal_basis_too():
    rng = np.random.default_rng(102)
    weight = rng.integers(1, 4, 80).astype(float)
    again = np.repeat(np.arange(80), weight.astype(int))
    a = PolynomialRegression(degree=6, interactions=False).fit(X, Y, sample_weight=weight)
    b = PolynomialRegression(degree=6, interactions=False).fit(X[again], Y[again])
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-9)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_levels_enter_as_they_are_and_explanations_name_the_columns():
    rng = np.random.default_rng(103)
    table = pd.DataFrame({"size": X[:, 0], "age": X[:, 1], "kind": rng.choice(["a", "b", "c"], 80)})
    y = X[:, 0] ** 2 + X[:, 0] * X[:, 1] + (table["kind"] == "b")
    model = PolynomialRegression(degree=2).fit(table, y)
    assert model.score(table, y) == pytest.approx(1.0)
    told = model.explain(table)
    assert told.columns == ["size", "age", "size x age", "kind"]
    np.testing.assert_allclose(told.scores[:, 0], model.predict(table), atol=1e-9)


def test_a_column_of_few_values_has_few_powers():
    x = np.repeat([0.0, 1.0, 2.0], 10)[:, None]
    model = PolynomialRegression(degree=8, basis="orthogonal").fit(x, x[:, 0] ** 2)
    assert len(model.coef_) == 2
    np.testing.assert_allclose(model.predict(x), x[:, 0] ** 2, atol=1e-10)


@pytest.mark.covers("L-09")
def test_functions_of_columns():
    table = pd.DataFrame({"x": X[:, 0] + 3.0, "z": X[:, 1]})
    y = 2.0 * np.log(table["x"]) - table["z"] * table["x"] + 1.0
    model = BasisRegression(basis=["log(x)", "z * x"]).fit(table, y)
    np.testing.assert_allclose(model.coef_, [2.0, -1.0], atol=1e-10)
    assert model.coefficients()["column"].tolist() == ["", "x", "z x x"]
    plain = BasisRegression().fit(table, y)
    np.testing.assert_allclose(plain.coef_, LinearRegression().fit(table, y).coef_)


@pytest.mark.covers("L-09")
@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (["exp(w * x)"], r"needs 'w', which is no numeric column.*linear in its weights"),
        (["x", "a * x ** b"], r"needs 'a', 'b', which are no numeric column"),
        ([], "basis must be formulas"),
        ([3], "basis must be formulas"),
        (["log(x"], "cannot be read"),
        (["log(z)"], "is not finite"),
    ],
)
def test_models_that_are_not_linear_in_their_weights_are_refused(basis, words):
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1]})
    with pytest.raises(ValueError, match=words):
        BasisRegression(basis=basis).fit(table, Y)


def test_a_penalty_shrinks_the_curve():
    sizes = [np.abs(PolynomialRegression(degree=5, alpha=a).fit(X, Y).coef_).sum() for a in (0.0, 1.0, 100.0)]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.covers("R-31")
def test_fewer_centres_have_less_capacity_and_err_less_on_noise():
    # Bumps at every training row (as many weights as rows) learn the noise; a few centres cannot.
    rng = np.random.default_rng(0)
    n = 40
    x, fresh = np.sort(rng.uniform(0, 1, n)), rng.uniform(0.02, 0.98, 2000)
    y, y_fresh = (np.sin(2 * np.pi * t) + 0.4 * rng.normal(size=len(t)) for t in (x, fresh))

    def errors(centres):
        bumps = [f"exp(-(x - {c:.6f}) ** 2 / {2 * 0.1**2})" for c in centres]
        model = BasisRegression(basis=bumps, alpha=1e-8).fit(pd.DataFrame({"x": x}), y)
        return [np.mean((model.predict(pd.DataFrame({"x": t})) - v) ** 2) for t, v in ((x, y), (fresh, y_fresh))]

    every, few = errors(x), errors(np.linspace(0, 1, 6))
    assert every[0] < few[0]  # more capacity: closer to the training rows
    assert few[1] < 0.8 * every[1]  # and further from new ones
    chapter = (Path(__file__).parents[3] / "docs" / "chapters" / "linear.md").read_text()
    assert "VC dimension" in chapter
