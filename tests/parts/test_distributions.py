"""Laws of distributions: densities sum to 1, fits are maxima, weights are repetitions, and scipy agrees."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone

from tilth.errors import KindError
from tilth.parts.distribution import Distribution
from tilth.parts.distributions import (
    BetaDistribution,
    ExponentialDistribution,
    GammaDistribution,
    LaplaceDistribution,
    NormalDistribution,
    StudentTDistribution,
    UniformDistribution,
)
from tilth.parts.distributions_discrete import BernoulliDistribution, BinomialDistribution, PoissonDistribution
from tilth.parts.distributions_vector import (
    CategoricalDistribution,
    DirichletDistribution,
    MultinomialDistribution,
    MultivariateNormalDistribution,
)

COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])
MEASURED = [
    (NormalDistribution(1.5, 2.0), stats.norm(1.5, 2.0)),
    (StudentTDistribution(4.0, -1.0, 0.5), stats.t(4.0, -1.0, 0.5)),
    (LaplaceDistribution(0.5, 1.5), stats.laplace(0.5, 1.5)),
    (UniformDistribution(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    (ExponentialDistribution(0.7), stats.expon(scale=1 / 0.7)),
    (GammaDistribution(2.5, 1.5), stats.gamma(2.5, scale=1 / 1.5)),
    (GammaDistribution(0.5, 3.0), stats.gamma(0.5, scale=1 / 3.0)),
    (BetaDistribution(2.0, 3.5), stats.beta(2.0, 3.5)),
]
COUNTED = [
    (BernoulliDistribution(0.3), stats.bernoulli(0.3)),
    (BinomialDistribution(7, 0.4), stats.binom(7, 0.4)),
    (PoissonDistribution(3.2), stats.poisson(3.2)),
]
VECTORS = [
    (MultivariateNormalDistribution([1.0, -2.0], COVARIANCE), stats.multivariate_normal([1.0, -2.0], COVARIANCE)),
    (DirichletDistribution([2.0, 3.0, 1.5]), stats.dirichlet([2.0, 3.0, 1.5])),
    (MultinomialDistribution(6, [0.5, 0.2, 0.3]), stats.multinomial(6, [0.5, 0.2, 0.3])),
]
SINGLE = MEASURED + COUNTED
EVERY = [*SINGLE, *VECTORS, (CategoricalDistribution([0.5, 0.2, 0.3]), None)]


def names(pairs):
    return [repr(d) if not d.vector else type(d).__name__ for d, _ in pairs]


single = pytest.mark.parametrize(("ours", "peer"), SINGLE, ids=names(SINGLE))
measured = pytest.mark.parametrize(("ours", "peer"), MEASURED, ids=names(MEASURED))
counted = pytest.mark.parametrize(("ours", "peer"), COUNTED, ids=names(COUNTED))
vectors = pytest.mark.parametrize(("ours", "peer"), VECTORS, ids=names(VECTORS))
every = pytest.mark.parametrize(("ours", "peer"), EVERY, ids=names(EVERY))


def values(peer):
    return np.concatenate([peer.rvs(50, random_state=3), [-0.5, 0.0, 0.5, 1.0, 2.0, 100.0]])


# ------------------------------------------------------------------------------------------------------------- density


@pytest.mark.covers("P-02")
@single
def test_densities_and_distribution_functions_are_those_of_scipy(ours, peer):
    x = values(peer)
    peers = peer.logpmf(x) if ours.discrete else peer.logpdf(x)
    np.testing.assert_allclose(ours.logpdf(x), peers, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.pdf(x), np.exp(peers), rtol=1e-12)
    np.testing.assert_allclose(ours.cdf(x), peer.cdf(x), rtol=1e-11, atol=1e-14)
    q = np.linspace(0.001, 0.999, 37)
    np.testing.assert_allclose(ours.quantile(q), peer.ppf(q), rtol=1e-8)


@pytest.mark.covers("P-02")
@vectors
def test_densities_of_vectors_are_those_of_scipy(ours, peer):
    x = ours.sample(40, random_state=1)
    if isinstance(ours, MultinomialDistribution):
        peers = peer.logpmf(x)
    else:
        peers = np.array([peer.logpdf(row) for row in x])
    np.testing.assert_allclose(ours.logpdf(x), peers, rtol=1e-12)
    assert ours.logpdf(x.reshape(4, 10, -1)).shape == (4, 10)
    np.testing.assert_allclose(ours.logpdf(x[0]), peers[0], rtol=1e-12)


@pytest.mark.covers("P-02", "P-03")
@single
def test_moments_and_entropy_are_those_of_scipy(ours, peer):
    np.testing.assert_allclose([ours.mean(), ours.variance()], peer.stats("mv"), rtol=1e-12)
    np.testing.assert_allclose(ours.entropy(base=math.e), peer.entropy(), rtol=1e-9)
    np.testing.assert_allclose(ours.entropy(), peer.entropy() / math.log(2), rtol=1e-9)


@vectors
def test_moments_and_entropy_of_vectors(ours, peer):
    mean = peer.mean if isinstance(ours, MultivariateNormalDistribution) else peer.mean()
    np.testing.assert_allclose(ours.mean(), np.ravel(mean), rtol=1e-12)
    np.testing.assert_allclose(ours.entropy(base=math.e), peer.entropy(), rtol=1e-9)
    drawn = ours.sample(60_000, random_state=2)
    np.testing.assert_allclose(drawn.var(axis=0), ours.variance(), rtol=0.05)


def test_the_covariance_of_counts_sums_to_zero():
    counts = MultinomialDistribution(6, [0.5, 0.2, 0.3])
    np.testing.assert_allclose(counts.covariance().sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(counts.covariance()), counts.variance())


@measured
def test_a_density_integrates_to_one(ours, peer):
    assert ours.expectation(lambda x: 1.0) == pytest.approx(1.0, abs=1e-8)


@counted
def test_probabilities_sum_to_one(ours, peer):
    assert ours.expectation(lambda x: 1.0) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.covers("P-03")
@single
def test_the_expectation_of_the_value_is_the_mean(ours, peer):
    assert ours.expectation(lambda x: x) == pytest.approx(float(ours.mean()), rel=1e-6)
    second = ours.expectation(lambda x: (x - float(ours.mean())) ** 2)
    assert second == pytest.approx(float(ours.variance()), rel=1e-5)


@pytest.mark.covers("P-03")
def test_the_running_mean_of_a_coin_settles_at_one_half():
    from tilth.plot.curves import curves

    tosses = BernoulliDistribution(0.5).sample(100_000, random_state=0)
    n = np.arange(1, len(tosses) + 1)
    running = np.cumsum(tosses) / n
    # By the law of the iterated logarithm and some room: four standard errors from every thousandth toss on.
    assert (np.abs(running - 0.5) < 4 * 0.5 / np.sqrt(n))[1000:].all()
    assert abs(running[-1] - 0.5) < 0.005
    figure = curves(n[::100], {"running mean": running[::100]}, "tosses", "mean")
    (line,) = figure.axes[0].lines
    assert abs(line.get_ydata()[-1] - 0.5) < 0.005


@pytest.mark.covers("P-02", "WN-79")
def test_probabilities_worked_by_hand():
    assert BinomialDistribution(5, 0.5).pdf(2) == pytest.approx(math.comb(5, 2) * 0.5**5, rel=1e-14) == 0.3125
    die = CategoricalDistribution(levels=(1, 2, 3, 4, 5, 6))
    assert die.pdf(5) == pytest.approx(1 / 6)
    assert BernoulliDistribution(0.5).pdf(1) == 0.5
    assert die.mean() == pytest.approx(3.5)
    assert die.variance() == pytest.approx(35 / 12)


@pytest.mark.covers("WN-43")
def test_three_standard_deviations_hold_997_in_1000():
    height = NormalDistribution(170.0, 8.0)
    assert float(height.cdf(194.0) - height.cdf(146.0)) == pytest.approx(0.9973, abs=5e-5)


@pytest.mark.covers("WN-52", "FX-43")
def test_the_constant_of_a_density_in_two_dimensions():
    """(2 pi)^(-n/2), not (2 pi)^(-n): 0.1592 for n = 2, where the printed form gives 0.0253."""
    plane = MultivariateNormalDistribution(np.zeros(2), np.eye(2))
    assert float(np.exp(plane.logpdf(np.zeros(2)))) == pytest.approx(0.1592, abs=5e-5)
    assert float(plane.logpdf(np.array([3.0, 4.0])) - plane.logpdf(np.zeros(2))) == pytest.approx(-0.5 * 25)


@pytest.mark.covers("P-11", "WN-55")
def test_a_negative_log_likelihood_may_be_below_zero_and_a_divergence_not():
    sharp = NormalDistribution(0.0, 0.01)
    assert -float(sharp.logpdf(0.0)) == pytest.approx(-3.686, abs=5e-4)
    assert float(sharp.surprisal(0.0, base=math.e)) == pytest.approx(-3.686, abs=5e-4)
    assert sharp.entropy() < 0
    # The known minimum: 0 for the truth, more for everything else.
    assert sharp.kl_divergence(sharp) == 0
    assert sharp.kl_divergence(NormalDistribution(0.0, 0.011)) > 0


@pytest.mark.covers("P-07", "P-08")
def test_a_product_of_ten_thousand_factors_stays_finite_as_a_sum_of_logs():
    rows = NormalDistribution(3.0, 1.0).sample(10_000, random_state=4)
    assert np.prod(NormalDistribution(3.0, 1.0).pdf(rows)) == 0.0, "the product itself underflows"
    places = np.linspace(0.0, 6.0, 61)
    logs = [NormalDistribution(m, 1.0).log_likelihood(rows) for m in places]
    assert np.isfinite(logs).all()
    assert places[int(np.argmax(logs))] == pytest.approx(rows.mean(), abs=0.05)
    model = NormalDistribution(3.0, 1.0)
    assert model.surprisal(rows, base=math.e).sum() == pytest.approx(-model.log_likelihood(rows))
    weight = np.arange(10_000) % 3
    repeated = np.repeat(rows, weight)
    assert model.log_likelihood(rows, weight) == pytest.approx(model.log_likelihood(repeated))


@single
def test_missing_values_stay_missing_and_excluded_ones_are_impossible(ours, peer):
    assert np.isnan(ours.logpdf([np.nan, 0.0])[0])
    assert np.isnan(ours.cdf([np.nan])[0])
    if ours.discrete:
        assert ours.logpdf(0.5) == ours.logpdf(-1) == -np.inf
    assert ours.cdf(-np.inf) == 0
    assert ours.cdf(np.inf) == 1


def test_vectors_outside_the_support_are_impossible():
    shares = DirichletDistribution([2.0, 3.0])
    assert np.isneginf(shares.logpdf([[0.5, 0.6], [-0.1, 1.1]])).all()
    assert np.isnan(shares.logpdf([np.nan, 0.5]))
    counts = MultinomialDistribution(3, [0.5, 0.5])
    assert np.isneginf(counts.logpdf([[1, 1], [1.5, 1.5], [-1, 4]])).all()
    assert np.isfinite(MultinomialDistribution(None, [0.5, 0.5]).logpdf([[1, 1], [2, 5]])).all()
    assert np.isnan(MultivariateNormalDistribution([0, 0], COVARIANCE).logpdf([np.nan, 0]))


@counted
def test_quantiles_of_counts_are_the_first_to_reach_their_share(ours, peer):
    q = np.concatenate([np.linspace(0, 0.9999, 501), ours.cdf(np.arange(6.0))])
    k = ours.quantile(q)
    assert (ours.cdf(k) >= q).all()
    assert ((ours.cdf(k - 1) < q) | (k == 0)).all()
    assert ours.quantile(1.0) == (np.inf if isinstance(ours, PoissonDistribution) else ours._support()[-1])


@measured
def test_quantiles_at_the_ends_are_the_ends(ours, peer):
    np.testing.assert_array_equal(ours.quantile([0.0, 1.0]), peer.ppf([0.0, 1.0]))


def test_arrays_of_parameters_are_as_many_distributions():
    x = np.linspace(-2, 4, 7)
    many = NormalDistribution([0.0, 1.0, 2.0], [1.0, 2.0, 0.5])
    assert many.batch_shape == (3,)
    assert many.logpdf(x[:, None]).shape == (7, 3)
    for j in range(3):
        one = NormalDistribution(many.location[j], many.scale[j])
        np.testing.assert_array_equal(many.logpdf(x[:, None])[:, j], one.logpdf(x))
        assert many.entropy()[j] == one.entropy()
    assert many.sample(5, random_state=0).shape == (5, 3)
    rates = PoissonDistribution([0.5, 4.0])
    np.testing.assert_allclose(
        rates.entropy(), [PoissonDistribution(0.5).entropy(), PoissonDistribution(4.0).entropy()]
    )
    means = np.array([0.5, 4.0, 2.0])
    np.testing.assert_allclose(PoissonDistribution(means).logpdf([0, 3, 2]), stats.poisson(means).logpmf([0, 3, 2]))


def test_the_ends_of_probabilities_are_legal():
    assert BernoulliDistribution(0).pdf([0, 1]).tolist() == [1.0, 0.0]
    assert BinomialDistribution(3, 1).pdf([2, 3]).tolist() == [0.0, 1.0]
    assert PoissonDistribution(0).pdf([0, 1]).tolist() == [1.0, 0.0]
    assert PoissonDistribution(0).quantile([0.0, 0.5]).tolist() == [0.0, 0.0]
    assert float(BernoulliDistribution(1).entropy()) == 0


# --------------------------------------------------------------------------------------------------------------- fit


@pytest.mark.covers("P-02")
@every
def test_fitting_a_sample_gives_the_parameters_back(ours, peer):
    again = ours.fit(ours.sample(40_000, random_state=5))
    assert type(again) is type(ours)
    for name, value in ours.get_params().items():
        if value is not None and name != "structure":
            # Four standard errors of a sample of this size are within these bounds for every family.
            np.testing.assert_allclose(again.get_params()[name], value, rtol=0.12, atol=0.05, err_msg=name)
    assert again is not ours


@every
def test_a_fit_is_a_maximum_of_the_likelihood(ours, peer):
    rows = ours.sample(60, random_state=6)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    fitted = ours.fit(rows, weight)
    best = fitted.log_likelihood(rows, weight)
    for name, step in itertools.product(fitted.get_params(), (-1e-3, 1e-3)):
        for moved in nudged(fitted, name, step):
            assert moved.log_likelihood(rows, weight) <= best + 1e-9 * abs(best), (name, step)


def nudged(fitted, name, step):
    """Distributions a little beside a fitted one in one parameter; none where it is not learned."""
    value = fitted.get_params()[name]
    if value is None or name in ("n", "levels", "fixed_df", "structure"):
        return
    if name == "probabilities":
        for j in range(len(value)):
            share = value + step * (np.eye(len(value))[j] - value)
            yield copy.deepcopy(fitted).set_params(probabilities=share / share.sum())
    elif name == "covariance":
        for j, k in itertools.combinations_with_replacement(range(len(value)), 2):
            bump = np.zeros_like(value)
            bump[j, k] = bump[k, j] = step
            yield copy.deepcopy(fitted).set_params(covariance=value + bump)
    elif np.ndim(value):
        for j in range(len(value)):
            yield copy.deepcopy(fitted).set_params(**{name: value + step * np.eye(len(value))[j]})
    elif name == "probability":
        yield copy.deepcopy(fitted).set_params(probability=min(max(value + step, 0.0), 1.0))
    else:
        yield copy.deepcopy(fitted).set_params(**{name: value + step})


@every
def test_weights_are_repetitions_and_zero_weights_are_absence(ours, peer):
    rows = ours.sample(50, random_state=7)
    weight = np.random.default_rng(1).integers(0, 4, 50)
    by_weight, by_rows = ours.fit(rows, weight), ours.fit(np.repeat(rows, weight, axis=0))
    for name, value in by_rows.get_params().items():
        if value is not None and name not in ("levels", "structure"):
            np.testing.assert_allclose(by_weight.get_params()[name], value, rtol=1e-5, atol=1e-7)


@pytest.mark.covers("FX-53")
def test_the_divisor_of_maximum_likelihood_is_n():
    rows = np.array([1.0, 2.0, 6.0])
    assert NormalDistribution().fit(rows).scale == pytest.approx(rows.std(ddof=0))
    table = np.random.default_rng(0).normal(size=(20, 3))
    fitted = MultivariateNormalDistribution().fit(table)
    np.testing.assert_allclose(fitted.covariance, np.cov(table.T, ddof=0), rtol=1e-12)


def _careful_t(x):
    """scipy's density and a search to the end; the search of its own fit stops early."""

    def cost(p):
        return -stats.t.logpdf(x, np.exp(p[0]), p[1], np.exp(p[2])).sum()

    found = minimize(
        cost, [1.0, 5.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 5000}
    )
    return np.exp(found.x[0]), found.x[1], np.exp(found.x[2])


@pytest.mark.parametrize(
    ("start", "peer_fit"),
    [
        (GammaDistribution(), lambda x: [stats.gamma.fit(x, floc=0)[0], 1 / stats.gamma.fit(x, floc=0)[2]]),
        (BetaDistribution(), lambda x: stats.beta.fit(x, floc=0, fscale=1)[:2]),
        (StudentTDistribution(), lambda x: _careful_t(x)),
    ],
    ids=["gamma", "beta", "t"],
)
def test_searched_fits_are_at_least_as_likely_as_those_of_scipy(start, peer_fit):
    truth = {"GammaDistribution": (2.0, 3.0), "BetaDistribution": (0.6, 1.7), "StudentTDistribution": (3.0, 5.0, 2.0)}
    rows = type(start)(*truth[type(start).__name__]).sample(300, random_state=8)
    ours, theirs = start.fit(rows), type(start)(*(float(v) for v in peer_fit(rows)))
    assert ours.log_likelihood(rows) >= theirs.log_likelihood(rows) - 1e-6
    for name in ("shape", "rate", "a", "b", "df", "location", "scale"):
        if hasattr(ours, name):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-5)


def test_degrees_of_freedom_may_be_held():
    rows = StudentTDistribution(3.0, 5.0, 2.0).sample(300, random_state=8)
    held = StudentTDistribution(3.0, fixed_df=True).fit(rows)
    assert held.df == 3.0
    _, location, scale = stats.t.fit(rows, f0=3.0)
    assert held.location == pytest.approx(location, rel=1e-3)
    assert held.scale == pytest.approx(scale, rel=1e-3)
    nearly_normal = StudentTDistribution().fit(stats.norm.ppf((np.arange(200) + 0.5) / 200))
    assert nearly_normal.df > 100


def test_a_categorical_distribution_learns_its_levels():
    seen = CategoricalDistribution().fit(["b", "a", "b", "b"])
    assert seen.levels == ("a", "b")
    assert seen.probabilities.tolist() == [0.25, 0.75]
    assert seen.mode() == "b"
    assert set(seen.sample(50, random_state=0)) == {"a", "b"}
    assert CategoricalDistribution().fit([3, 1, 3]).pdf([1, 2, 3.0, "3"]).tolist() == [1 / 3, 0.0, 2 / 3, 2 / 3]
    codes = CategoricalDistribution([0.2, 0.3, 0.5]).fit([0, 0, 1])
    assert codes.probabilities.tolist() == [2 / 3, 1 / 3, 0.0], "levels without rows stay levels"
    assert np.isnan(seen.logpdf(["a", None, "c"])).tolist() == [False, True, False], "missing is not impossible"
    assert np.isnan(codes.logpdf([0, np.nan, 7])).tolist() == [False, True, False]
    with pytest.raises(KindError, match="no mean"):
        seen.mean()


# -------------------------------------------------------------------------------------------------------------- priors


@pytest.mark.covers("P-14")
@pytest.mark.parametrize(
    ("start", "prior", "parameter"),
    [
        (BernoulliDistribution(), BetaDistribution(3.0, 2.0), "probability"),
        (BinomialDistribution(5), BetaDistribution(3.0, 2.0), "probability"),
        (PoissonDistribution(), GammaDistribution(3.0, 2.0), "rate"),
        (ExponentialDistribution(), GammaDistribution(3.0, 2.0), "rate"),
        (NormalDistribution(0.0, 2.0), NormalDistribution(-1.0, 0.5), "location"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Distribution) else v,
)
def test_a_fit_with_a_prior_is_the_mode_of_likelihood_times_prior(start, prior, parameter):
    rows = start.sample(9, random_state=9)
    weight = np.array([1, 2, 0, 1, 1, 3, 1, 1, 0.5])
    fitted = start.fit(rows, weight, prior=prior)

    def cost(theta):
        moved = copy.deepcopy(start).set_params(**{parameter: theta})
        return -moved.log_likelihood(rows, weight) - float(prior.logpdf(theta))

    bounds = (1e-6, 1 - 1e-6) if parameter == "probability" else (-5, 5) if parameter == "location" else (1e-6, 20)
    best = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    assert getattr(fitted, parameter) == pytest.approx(best.x, abs=1e-6)


@pytest.mark.covers("P-14")
def test_a_flat_prior_is_maximum_likelihood_and_a_strong_one_is_its_own_mode():
    rows = [1, 1, 0, 1]
    assert BernoulliDistribution().fit(rows, prior=BetaDistribution(1, 1)).probability == pytest.approx(0.75)
    strong = BernoulliDistribution().fit(rows, prior=BetaDistribution(2e6, 8e6)).probability
    assert strong == pytest.approx(0.2, abs=1e-5)


def test_the_posterior_is_bayes_rule():
    coin, prior, rows = BernoulliDistribution(), BetaDistribution(2.0, 3.0), [1, 0, 1, 1]
    posterior = coin.posterior(rows, prior)
    assert posterior == BetaDistribution(5.0, 4.0)

    def unscaled(p):
        return float(np.exp(BernoulliDistribution(p).log_likelihood(rows)) * prior.pdf(p))

    evidence = quad(unscaled, 0, 1)[0]
    for p in (0.2, 0.5, 0.8):
        assert float(posterior.pdf(p)) == pytest.approx(unscaled(p) / evidence, rel=1e-9)


def test_priors_of_shares_and_of_vectors():
    words = CategoricalDistribution(levels=("a", "b", "c"))
    fitted = words.fit(["a", "a", "b"], prior=DirichletDistribution([2.0, 2.0, 2.0]))
    np.testing.assert_allclose(fitted.probabilities, np.array([3, 2, 1]) / 6)
    counts = MultinomialDistribution().fit([[2, 1, 0]], prior=DirichletDistribution([2.0, 2.0, 2.0]))
    np.testing.assert_allclose(counts.probabilities, np.array([3, 2, 1]) / 6)
    model = MultivariateNormalDistribution([0.0, 0.0], COVARIANCE)
    rows = model.sample(5, random_state=0)
    tight = model.fit(rows, prior=MultivariateNormalDistribution([4.0, 4.0], 1e-8 * np.eye(2)))
    np.testing.assert_allclose(tight.location, 4.0, atol=1e-5)
    loose = model.fit(rows, prior=MultivariateNormalDistribution([4.0, 4.0], 1e8 * np.eye(2)))
    np.testing.assert_allclose(loose.location, rows.mean(axis=0), atol=1e-5)


# --------------------------------------------------------------------------------------------------------- divergence


OTHERS = [
    (NormalDistribution(1.5, 2.0), NormalDistribution(0.0, 1.0)),
    (LaplaceDistribution(0.5, 1.5), LaplaceDistribution(-1.0, 1.0)),
    (UniformDistribution(0.0, 1.0), UniformDistribution(-1.0, 3.0)),
    (ExponentialDistribution(0.7), ExponentialDistribution(2.0)),
    (GammaDistribution(2.5, 1.5), GammaDistribution(1.0, 0.5)),
    (BetaDistribution(2.0, 3.5), BetaDistribution(1.0, 1.5)),
    (StudentTDistribution(4.0), StudentTDistribution(8.0, 1.0, 2.0)),
    (BernoulliDistribution(0.3), BernoulliDistribution(0.6)),
    (BinomialDistribution(7, 0.4), BinomialDistribution(7, 0.5)),
    (PoissonDistribution(3.2), PoissonDistribution(1.0)),
    (CategoricalDistribution(levels=(0, 1)), CategoricalDistribution([0.9, 0.1], levels=(1, 0))),
]


@pytest.mark.covers("P-09")
@pytest.mark.parametrize(("p", "q"), OTHERS, ids=[type(p).__name__ for p, _ in OTHERS])
def test_the_divergence_is_the_expected_difference_of_logs(p, q):
    defined = p.expectation(lambda x: float(p.logpdf(x)) - float(q.logpdf(x)))
    assert float(p.kl_divergence(q, base=math.e)) == pytest.approx(defined, rel=1e-6)
    assert float(p.kl_divergence(p)) == pytest.approx(0.0, abs=1e-12)
    assert p.kl_divergence(q) > 0
    assert float(p.cross_entropy(q)) == pytest.approx(float(p.entropy() + p.kl_divergence(q)))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (MultivariateNormalDistribution([0, 1], COVARIANCE), MultivariateNormalDistribution([1, 0], np.eye(2))),
        (DirichletDistribution([2.0, 3.0, 1.5]), DirichletDistribution([1.0, 1.0, 2.0])),
        (MultinomialDistribution(6, [0.5, 0.2, 0.3]), MultinomialDistribution(6, [0.4, 0.4, 0.2])),
    ],
    ids=["normal", "dirichlet", "multinomial"],
)
def test_the_divergence_of_vectors_is_the_mean_difference_of_logs(p, q):
    rows = p.sample(200_000, random_state=0)
    simulated = float((p.logpdf(rows) - q.logpdf(rows)).mean())
    assert float(p.kl_divergence(q, base=math.e)) == pytest.approx(simulated, rel=0.02)
    assert float(p.kl_divergence(p)) == pytest.approx(0.0, abs=1e-12)


def test_a_divergence_is_infinite_where_the_other_excludes_and_crosses_families():
    assert UniformDistribution(-1, 3).kl_divergence(UniformDistribution(0, 1)) == np.inf
    assert NormalDistribution().kl_divergence(ExponentialDistribution()) == np.inf
    assert BernoulliDistribution(0.5).kl_divergence(BernoulliDistribution(1.0)) == np.inf
    wide = StudentTDistribution(30.0).kl_divergence(NormalDistribution())
    assert 0 < wide < StudentTDistribution(3.0).kl_divergence(NormalDistribution())
    with pytest.raises(TypeError, match="No divergence"):
        NormalDistribution().kl_divergence(PoissonDistribution())


# --------------------------------------------------------------------------------------------------------------- values


@every
def test_distributions_are_values(ours, peer):
    for twin in (clone(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), type(ours)(**ours.get_params())):
        assert twin == ours
        rows = ours.sample(4, random_state=0)
        np.testing.assert_array_equal(twin.logpdf(rows), ours.logpdf(rows))
    np.testing.assert_array_equal(ours.sample(9, random_state=1), ours.sample(9, random_state=1))
    assert ours.sample((2, 3), random_state=1).shape[:2] == (2, 3)
    before = copy.deepcopy(ours)
    ours.fit(ours.sample(20, random_state=2))
    assert ours == before, "fit makes a new distribution"


def test_what_is_given_is_copied():
    location = np.array([0.0, 1.0])
    mine = MultivariateNormalDistribution(location, np.eye(2))
    location[0] = 9.0
    assert mine.location.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        mine.location[0] = 1.0


def test_changing_parameters_keeps_the_factor_of_the_covariance_right():
    changed = MultivariateNormalDistribution([0.0, 0.0], np.eye(2)).set_params(covariance=COVARIANCE)
    assert changed.logpdf([1, 1]) == MultivariateNormalDistribution([0.0, 0.0], COVARIANCE).logpdf([1, 1])
    with pytest.raises(ValueError, match="symmetric"):
        changed.set_params(covariance=[[1.0, 0.5], [0.0, 1.0]])
    np.testing.assert_array_equal(changed.covariance, COVARIANCE)
