from __future__ import annotations

import numpy as np
import pytest

from tilth.stats import Histogram


def test_bins_are_those_of_numpy_and_the_rest_is_counted_apart() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=1000), 1)  # rounded, so that values fall on edges
    x[:50] = np.nan
    edges = np.array([-1.0, -0.5, 0.0, 1.0])
    histogram = Histogram.empty(edges)
    histogram.update(x)
    np.testing.assert_array_equal(histogram.counts[0], np.histogram(x[50:], edges)[0])
    assert histogram.below[0] == (x < -1).sum()
    assert histogram.above[0] == (x > 1).sum()
    assert histogram.missing[0] == 50


def test_classes_and_weights() -> None:
    histogram = Histogram.empty([0.0, 1.0, 2.0], n_classes=2)
    histogram.update([0.5, 1.5, np.inf, -np.inf, 1.0], y=[0, 1, 1, 0, -1], weight=[2.0, 0.5, 1.0, 3.0, 9.0])
    np.testing.assert_array_equal(histogram.counts, [[2, 0], [0, 0.5]])
    np.testing.assert_array_equal(histogram.below, [3, 0])
    np.testing.assert_array_equal(histogram.above, [0, 1])


def test_quantile_interpolates() -> None:
    histogram = Histogram.empty([0.0, 1.0, 2.0, 3.0, 10.0])
    histogram.update([0.5, 0.5, 2.5, 2.5])  # an empty bin between and one at the end
    np.testing.assert_allclose(histogram.quantile([0.0, 0.25, 0.75, 1.0]), [0.0, 0.5, 2.5, 3.0])
    assert histogram.quantile(0.25).shape == ()


def test_quantile_outside_the_edges_and_by_class() -> None:
    histogram = Histogram.empty([0.0, 1.0], n_classes=2)
    histogram.update([-5.0, 0.5, 9.0, 0.5], y=[0, 0, 0, 1])
    np.testing.assert_allclose(histogram.quantile([0.1, 0.5, 0.9], group=0), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(histogram.quantile(0.5, group=1), 0.5)


def test_quantile_of_a_large_sample_is_near() -> None:
    x = np.random.default_rng(1).normal(size=100_000)
    histogram = Histogram.empty(np.linspace(-5, 5, 201))
    histogram.update(x)
    q = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(histogram.quantile(q), np.quantile(x, q), atol=0.01)


def test_quantile_of_nothing_is_nan() -> None:
    assert np.isnan(Histogram.empty([0.0, 1.0]).quantile([0.5])).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        Histogram.empty([0.0, 1.0]).quantile(1.5)


@pytest.mark.parametrize("edges", [[0.0], [1.0, 0.0], [0.0, 0.0], [0.0, np.nan], [0.0, np.inf], [[0.0, 1.0]]])
def test_bad_edges(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="rising edges"):
        Histogram.empty(edges)


def test_edges_are_its_own_and_must_agree() -> None:
    edges = np.array([0.0, 1.0])
    histogram = Histogram.empty(edges)
    edges[1] = 5.0
    assert histogram.edges[1] == 1.0
    with pytest.raises(ValueError, match="same edges"):
        histogram += Histogram.empty(edges)
