"""New features from numbers: laws and worked examples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from tilth import HBOS
from tilth.models.prepare import (
    Denoise,
    Features,
    Indicator,
    Polynomial,
    RandomProjection,
    SignParts,
    Standardise,
    Waterfall,
)
from tilth.plot import boundary, regions

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@pytest.mark.covers("X-14")
@given(NUMBERS)
@settings(max_examples=30, deadline=None)
def test_sign_parts_recover_the_number(values: list[float]) -> None:
    x = np.array(values)
    plus, minus = SignParts().fit_transform(x[:, None]).T
    np.testing.assert_array_equal(plus - minus, x)
    np.testing.assert_array_equal(plus + minus, np.abs(x))
    assert (plus >= 0).all()
    assert (minus >= 0).all()


@pytest.mark.covers("X-15")
@given(NUMBERS, st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5, unique=True))
@settings(max_examples=30, deadline=None)
def test_waterfall_columns_sum_to_the_number(values: list[float], knots: list[float]) -> None:
    x = np.array(values)[:, None]
    parts = Waterfall(knots=tuple(sorted(knots))).fit_transform(x)
    assert parts.shape[1] == len(knots) + 1
    np.testing.assert_allclose(parts.sum(axis=1), x.ravel(), rtol=1e-9, atol=1e-6)


@pytest.mark.covers("X-15")
def test_piecewise_linear_data_is_fitted_exactly() -> None:
    x = np.linspace(-3, 6, 50)[:, None]
    y = np.interp(x.ravel(), [-3, 0, 2, 6], [1, 4, -2, 0])
    model = make_pipeline(Waterfall(knots=(0.0, 2.0)), LinearRegression()).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-10)
    with pytest.raises(ValueError, match="knots must be"):
        Waterfall(knots=(2.0, 1.0)).fit(x)


@pytest.mark.covers("X-17")
def test_indicator_above_a_threshold() -> None:
    x = np.array([[-1.0], [0.0], [2.0], [np.nan]])
    np.testing.assert_array_equal(Indicator().fit_transform(x).ravel(), [0, 0, 1, np.nan])
    assert Indicator(threshold=1.5).fit(x).names_out_ == ["x0>1.5"]


@pytest.mark.covers("X-19")
def test_degree_two_of_two_columns_has_six_products() -> None:
    frame = pd.DataFrame({"x1": [2.0, 3.0], "x2": [5.0, 7.0]})
    model = Polynomial(degree=2).fit(frame)
    assert model.names_out_ == ["1", "x1", "x2", "x1^2", "x1 x2", "x2^2"]
    np.testing.assert_array_equal(model.transform(frame).iloc[0], [1, 2, 5, 4, 10, 25])
    powers = Polynomial(degree=3, interactions=False, bias=False).fit(frame)
    assert powers.names_out_ == ["x1", "x2", "x1^2", "x2^2", "x1^3", "x2^3"]


@pytest.mark.covers("X-22")
def test_the_bias_component_may_be_added_or_left_to_the_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, -2.0] + 3 + rng.normal(size=40)
    inside = make_pipeline(Polynomial(degree=1, bias=True), LinearRegression(fit_intercept=False)).fit(X, y)
    outside = make_pipeline(Polynomial(degree=1, bias=False), LinearRegression(fit_intercept=True)).fit(X, y)
    np.testing.assert_allclose(inside.predict(X), outside.predict(X))
    assert inside[-1].coef_[0] == pytest.approx(outside[-1].intercept_)


def circle(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = np.where(np.arange(n) % 2, rng.uniform(0, 0.9, n), rng.uniform(1.1, 2, n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.arange(n) % 2


@pytest.mark.covers("X-21")
def test_circle_data_is_solved_in_z_and_drawn_in_x() -> None:
    X, y = circle()
    phi = Features(formulas={"z1": "x0 ** 2", "z2": "x1 ** 2"}, keep=False)
    model = make_pipeline(phi, LogisticRegression(C=1e3)).fit(X, y)
    assert model.score(X, y) == 1.0
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    found = regions(model, X, points=120)
    across, up = np.meshgrid(found.across, found.up)
    radius = np.hypot(across, up)
    assert (found.labels[radius < 0.88] == 1).all()
    assert (found.labels[radius > 1.12] == 0).all()
    figure = boundary(model, X, y, points=60)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "x0"
    line = next(c for c in axes.collections if type(c).__name__ == "QuadContourSet").get_paths()[0].vertices
    assert np.hypot(*line.T).min() > 0.85
    assert np.hypot(*line.T).max() < 1.15


def test_regions_hold_other_columns_at_their_usual_value() -> None:
    frame = pd.DataFrame(
        {
            "a": [0.0, 1.0, 2.0, 3.0],
            "b": [0.0, 1.0, 0.0, 1.0],
            "sky": ["sun", "sun", "fog", "sun"],
            "c": [1.0, 9.0, 5.0, 5.0],
        }
    )

    class Asked:
        def predict(self, rows: pd.DataFrame) -> np.ndarray:
            assert set(rows["sky"]) == {"sun"}
            assert set(rows["c"]) == {5.0}
            return np.where(rows["a"] > 1.5, "far", "near")

    found = regions(Asked(), frame, ("a", "b"), points=20)
    assert found.names == ("a", "b")
    assert (found.labels[:, found.across > 1.5] == "far").all()
    assert boundary(Asked(), frame, ["near", "near", "far", "far"], ("a", "b"), points=10).axes
    with pytest.raises(TypeError, match="'sky' is nominal"):
        regions(Asked(), frame, ("a", "sky"))
    with pytest.raises(ValueError, match="two different columns"):
        regions(Asked(), frame, ("a", "a"))


@pytest.mark.covers("X-24", "SP-54")
def test_anomalies_survive_denoising_and_noise_does_not() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(0, 0.2, 300)
    spikes = [20, 90, 200]
    x[spikes] += 8
    x[140:160] += 5
    z = np.abs(make_pipeline(Denoise(window=7), Standardise()).fit_transform(x[:, None]).ravel())
    assert z[spikes].max() < 1
    assert z[143:157].min() > 3
    strange = HBOS().fit(x[:, None]).anomaly_score(x[:, None])
    usual = np.setdiff1d(np.arange(300), [*spikes, *range(137, 163)])
    assert strange[spikes].min() > strange[usual].max()  # noise passes for anomalies until it is taken out
    strange = make_pipeline(Denoise(window=7), HBOS()).fit(x[:, None])
    strange = strange[-1].anomaly_score(strange[:-1].transform(x[:, None]))
    common = np.quantile(strange[usual], 0.95)
    assert strange[143:157].min() > common
    assert strange[spikes].max() <= common
    smooth = Denoise(window=7).fit_transform(x[:, None]).ravel()
    assert smooth[:15].std() < x[:15].std()


def test_denoise_leaves_missing_cells_missing() -> None:
    x = np.array([[1.0], [np.nan], [1.0], [5.0], [1.0]])
    np.testing.assert_array_equal(Denoise(window=3).fit_transform(x).ravel(), [1, np.nan, 3, 1, 1])
    np.testing.assert_array_equal(
        Denoise(window=3, method="mean").fit_transform(x).ravel(), [1, np.nan, 3, 7 / 3, 7 / 3]
    )


@pytest.mark.covers("X-25")
def test_random_projection_keeps_distances_within_eps() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3000))
    model = RandomProjection(eps=0.3, random_state=1).fit(X)
    assert len(model.names_out_) == johnson_lindenstrauss_min_dim(40, eps=0.3) + 1
    Z = model.transform(X)
    pairs = np.triu_indices(40, 1)
    ratio = (euclidean_distances(Z) ** 2)[pairs] / (euclidean_distances(X) ** 2)[pairs]
    assert ratio.min() > 0.7
    assert ratio.max() < 1.3
    few = X[:, :50]
    np.testing.assert_allclose(RandomProjection().fit_transform(few), few)
    np.testing.assert_array_equal(
        RandomProjection(n_components=3).fit_transform(few), RandomProjection(n_components=3).fit_transform(few)
    )
