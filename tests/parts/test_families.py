"""Laws of exponential families: statistics add, weights [n, k] are k components at once, priors are imagined rows."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.parts.distributions import (
    BetaDistribution,
    ExponentialDistribution,
    GammaDistribution,
    NormalDistribution,
)
from tilth.parts.distributions_discrete import BernoulliDistribution, BinomialDistribution, PoissonDistribution
from tilth.parts.distributions_vector import (
    CategoricalDistribution,
    DirichletDistribution,
    MultinomialDistribution,
    MultivariateNormalDistribution,
)
from tilth.stats import Grams, Moments

COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])
FAMILIES = [
    NormalDistribution(1.5, 2.0),
    ExponentialDistribution(0.7),
    GammaDistribution(2.5, 1.5),
    BetaDistribution(2.0, 3.5),
    BernoulliDistribution(0.3),
    BinomialDistribution(7, 0.4),
    PoissonDistribution(3.2),
    CategoricalDistribution([0.5, 0.2, 0.3]),
    CategoricalDistribution(levels=("a", "b", "c")),
    MultinomialDistribution(6, [0.5, 0.2, 0.3]),
    DirichletDistribution([2.0, 3.0, 1.5]),
    *(MultivariateNormalDistribution([1.0, -2.0], COVARIANCE, structure=s) for s in ("full", "diagonal", "spherical")),
]
family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__ + getattr(f, "structure", ""))


def same(ours, theirs):
    for name, value in theirs.get_params().items():
        if value is not None and name not in ("levels", "structure"):
            np.testing.assert_allclose(ours.get_params()[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


@family
def test_statistics_of_parts_add_up_to_the_whole(family):
    rows = family.sample(60, random_state=0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    parts = np.array_split(np.arange(60), 4)
    statistics = [family.statistic(rows[part], weight[part]) for part in parts]
    merged = statistics[0] + statistics[1] + statistics[2] + statistics[3]
    same(family.from_statistic(merged), family.fit(rows, weight))


@family
def test_shares_of_components_are_weights_of_each(family):
    rows = family.sample(80, random_state=2)
    shares = np.random.default_rng(3).dirichlet([1.0, 1.0, 1.0], 80)
    together = family.from_statistic(family.statistic(rows, shares))
    assert together.batch_shape == (3,)
    densities = together.log_density(rows)
    assert densities.shape == (80, 3)
    for c in range(3):
        alone = family.fit(rows, shares[:, c])
        np.testing.assert_allclose(densities[:, c], alone.logpdf(rows), rtol=1e-8, atol=1e-10)
    assert together.n_parameters == 3 * family.fit(rows).n_parameters
    assert len(together.sample(5, random_state=0)) == 5


@family
def test_a_component_without_rows_takes_the_distribution_of_all(family):
    rows = family.sample(50, random_state=4)
    shares = np.column_stack([np.ones(50), np.zeros(50)])
    densities = family.from_statistic(family.statistic(rows, shares)).log_density(rows)
    np.testing.assert_allclose(densities[:, 1], densities[:, 0], rtol=1e-9, atol=1e-10)


def test_labels_are_shares_of_zero_and_one():
    rng = np.random.default_rng(5)
    labels, rows = rng.integers(0, 3, 50), rng.normal(size=50)
    fitted = NormalDistribution().from_statistic(NormalDistribution().statistic(rows, np.eye(3)[labels]))
    np.testing.assert_allclose(fitted.location, [rows[labels == c].mean() for c in range(3)])
    np.testing.assert_allclose(fitted.scale, [rows[labels == c].std() for c in range(3)])


def test_a_conjugate_prior_is_a_statistic_of_imagined_rows():
    coin, rows = BernoulliDistribution(), [1, 0, 1, 1]
    by_prior = coin.fit(rows, prior=BetaDistribution(3.0, 2.0))
    imagined = coin.statistic([1, 1, 0])
    assert coin.from_statistic(coin.statistic(rows), imagined).probability == pytest.approx(by_prior.probability)
    words = MultinomialDistribution()
    shares = words.from_statistic(words.statistic([[2, 1, 0]]), words.statistic([[1, 1, 1]])).probabilities
    np.testing.assert_allclose(shares, np.array([3, 2, 1]) / 6)


@pytest.mark.parametrize("structure", ["full", "diagonal", "spherical", "tied"])
def test_structures_of_covariances(structure):
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))
    shares = rng.dirichlet([1.0, 1.0], 90)
    family = MultivariateNormalDistribution(structure=structure)
    fitted = family.from_statistic(family.statistic(rows, shares))
    scatter = [np.cov(rows.T, aweights=w, ddof=0) for w in shares.T]
    wanted = {
        "full": np.array(scatter),
        "diagonal": np.array([np.diag(np.diag(s)) for s in scatter]),
        "spherical": np.array([np.eye(3) * np.diag(s).mean() for s in scatter]),
        "tied": sum(s * w for s, w in zip(scatter, shares.mean(axis=0), strict=True)),
    }[structure]
    np.testing.assert_allclose(fitted.covariance, wanted, rtol=1e-9, atol=1e-12)
    assert fitted.n_parameters == {"full": 18, "diagonal": 12, "spherical": 8, "tied": 12}[structure]
    assert fitted.log_density(rows).shape == (90, 2)


def test_a_floor_keeps_a_component_from_shrinking_to_a_point():
    rows = np.array([0.0, 0.0, 0.0, 4.0, 6.0, 8.0])
    shares = np.repeat(np.eye(2), 3, axis=0)
    family = NormalDistribution()
    with pytest.raises(ValueError, match="values that differ"):
        family.from_statistic(family.statistic(rows, shares))
    fitted = family.from_statistic(family.statistic(rows, shares), floor=0.01)
    np.testing.assert_allclose(fitted.scale, [np.sqrt(0.01 * rows.var()), rows[3:].std()])
    waits = GammaDistribution().statistic(rows + 1.0, shares)
    assert GammaDistribution().from_statistic(waits, floor=0.01).variance()[0] == pytest.approx(0.01 * rows.var())


def test_a_raised_covariance_is_the_likeliest_above_the_floor():
    rng = np.random.default_rng(7)
    flat = rng.normal(size=(40, 1)) @ [[1.0, 2.0]] + 1e-9 * rng.normal(size=(40, 2))
    rows = np.vstack([flat, rng.normal(scale=3.0, size=(40, 2))])
    shares = np.repeat(np.eye(2), 40, axis=0)
    family = MultivariateNormalDistribution()
    fitted = family.from_statistic(family.statistic(rows, shares), floor=1e-3)
    least = np.diag(1e-3 * rows.var(axis=0))
    assert np.linalg.eigvalsh(fitted.covariance[0] - least).min() == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(fitted.covariance[1], np.cov(rows[40:].T, ddof=0), rtol=1e-9)
    best = fitted.log_density(flat)[:, 0].sum()
    for _ in range(50):
        root = rng.normal(size=(2, 2)) * 0.03
        other = MultivariateNormalDistribution(fitted.location[0], fitted.covariance[0] + root @ root.T)
        assert other.logpdf(flat).sum() <= best


def test_what_is_not_a_share_is_refused():
    with pytest.raises(ValueError, match="row 1 has -1"):
        NormalDistribution().statistic([1.0, 2.0], [[1.0, 0.0], [-1.0, 2.0]])
    with pytest.raises(ValueError, match="single numbers"):
        NormalDistribution().from_statistic(
            NormalDistribution().statistic([1.0, 2.0], np.eye(2)), NormalDistribution(0.0, 1.0)
        )


def test_cross_products_by_share_and_by_code():
    rng = np.random.default_rng(9)
    rows, codes, weight = rng.normal(size=(40, 2)), rng.integers(-1, 2, 40), rng.uniform(size=40)
    shares = (codes[:, None] == np.arange(2)).astype(float)
    by_code, by_share = Grams.empty(2, 2), Grams.empty(2, 2)
    by_code.update(rows, codes, weight)
    by_share.update(rows, shares, weight)
    for name in ("weight", "mean", "cross"):
        np.testing.assert_allclose(getattr(by_share, name), getattr(by_code, name), rtol=1e-12)
    inside = codes == 1
    np.testing.assert_allclose(by_share.mean[1], np.average(rows[inside], axis=0, weights=weight[inside]))


def test_moments_with_missing_cells_by_share():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(30, 2))
    rows[::4, 0] = np.nan
    shares, weight = rng.dirichlet([1.0, 2.0], 30), rng.uniform(size=30)
    moments = Moments.empty(2, 2)
    moments.update(rows, shares, weight)
    kept = ~np.isnan(rows[:, 0])
    for c in range(2):
        w = (shares[:, c] * weight)[kept]
        assert moments.weight[c, 0] == pytest.approx(w.sum())
        assert moments.mean[c, 0] == pytest.approx(np.average(rows[kept, 0], weights=w))
