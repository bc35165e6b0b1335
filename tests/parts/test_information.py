"""Laws of information: no surprise in certainty, chain rules, divergence is never negative; and covariance."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.metrics import log_loss, mutual_info_score

from tilth.parts.criteria import Entropy
from tilth.parts.distributions import NormalDistribution
from tilth.parts.distributions_vector import CategoricalDistribution
from tilth.parts.information import (
    conditional_entropy,
    correlation,
    covariance,
    cross_entropy,
    entropy,
    joint_entropy,
    kl_divergence,
    log_of_base,
    mutual_information,
    surprisal,
    surprises,
)

#: Exact zeros are wanted; counts so small that their squares underflow are not.
counts = hnp.arrays(np.float64, (3, 4), elements=st.one_of(st.just(0.0), st.floats(1e-3, 50)))
tables = counts.filter(lambda t: t.sum() > 0)
shares = hnp.arrays(np.float64, 5, elements=st.one_of(st.just(0.0), st.floats(1e-3, 9))).filter(lambda t: t.sum() > 0)


@pytest.mark.covers("P-20", "FX-95")
def test_entropies_worked_by_hand():
    assert float(entropy([9, 5])) == pytest.approx(0.9403, abs=5e-5)
    assert float(entropy([16, 0])) == 0.0
    assert math.copysign(1.0, float(entropy([16, 0]))) == 1.0, "no minus zero"
    assert float(entropy([1, 1, 1, 1])) == 2.0
    assert float(entropy([0.5, 0.5], base=math.e)) == pytest.approx(math.log(2))
    assert float(entropy([1, 1, 1], base=3)) == pytest.approx(1.0)
    assert entropy([[9, 5], [4, 4]]).shape == (2,)
    outlook = [[4, 0], [3, 2], [2, 3]]
    assert conditional_entropy(outlook) == pytest.approx(0.6935, abs=5e-5)
    assert mutual_information(outlook) == pytest.approx(0.2467, abs=5e-5)
    assert float(entropy([9, 5])) == float(Entropy().of([9, 5])), "one unit in the whole library"


@pytest.mark.covers("P-20")
@settings(deadline=None)
@given(table=tables, base=st.sampled_from([2, math.e, 10]))
def test_the_chain_rule_and_the_bounds_of_entropies(table, base):
    rows, columns = float(entropy(table.sum(axis=1), base)), float(entropy(table.sum(axis=0), base))
    joint, conditional, shared = (f(table, base) for f in (joint_entropy, conditional_entropy, mutual_information))
    assert joint == pytest.approx(rows + conditional, abs=1e-9)
    assert shared == pytest.approx(columns - conditional, abs=1e-9)
    assert shared == pytest.approx(rows + columns - joint, abs=1e-9)
    assert shared == pytest.approx(mutual_information(table.T, base), abs=1e-9)
    assert -1e-12 <= conditional <= columns + 1e-9
    assert 0 <= joint <= math.log(table.size, base) + 1e-9
    assert joint == pytest.approx(stats.entropy(table.ravel(), base=base), abs=1e-9)


def test_mutual_information_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    table = np.zeros((3, 4))
    np.add.at(table, (a, b), 1)
    assert mutual_information(table, math.e) == pytest.approx(mutual_info_score(a, b))
    assert mutual_information(np.outer([1, 2], [3, 4, 5])) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.covers("P-09", "P-10")
@settings(deadline=None)
@given(p=shares, q=shares)
def test_a_divergence_is_never_negative_and_is_cross_entropy_less_entropy(p, q):
    apart = float(kl_divergence(p, q))
    assert apart >= 0
    assert float(kl_divergence(p, p)) == 0
    assert (apart == np.inf) == bool(((p > 0) & (q == 0)).any())
    if apart < np.inf:
        assert apart == pytest.approx(float(cross_entropy(p, q) - entropy(p)), abs=1e-9)
        assert apart == pytest.approx(stats.entropy(p, q, base=2), abs=1e-9)
        # Zero only for equal shares (Pinsker's inequality).
        assert apart >= np.abs(p / p.sum() - q / q.sum()).sum() ** 2 / (2 * math.log(2)) - 1e-9
    else:
        assert cross_entropy(p, q) == np.inf


@pytest.mark.covers("P-09")
def test_a_divergence_is_not_symmetric():
    p, q = [0.5, 0.5], [0.9, 0.1]
    assert float(kl_divergence(p, q)) == pytest.approx(0.7370, abs=5e-5)
    assert float(kl_divergence(q, p)) == pytest.approx(0.5310, abs=5e-5)
    assert kl_divergence(NormalDistribution(0, 1), NormalDistribution(0, 2)) != kl_divergence(
        NormalDistribution(0, 2), NormalDistribution(0, 1)
    )


@pytest.mark.covers("P-10")
def test_the_mean_negative_log_likelihood_is_a_cross_entropy_of_the_data():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 400)
    model = np.array([0.2, 0.5, 0.3])
    nll = -CategoricalDistribution(model).log_likelihood(y) / len(y)
    assert float(cross_entropy(np.bincount(y), model, base=math.e)) == pytest.approx(nll)
    assert log_loss(y, np.tile(model, (len(y), 1))) == pytest.approx(nll)
    # Its smallest value is the entropy of the data, reached by their own shares.
    assert nll > float(entropy(np.bincount(y), base=math.e))


@pytest.mark.covers("P-10", "WN-56")
def test_squared_error_is_the_cross_entropy_of_unit_noise():
    rng = np.random.default_rng(2)
    y, predicted = rng.normal(size=500), rng.normal(scale=0.3, size=500)
    nll = -NormalDistribution(predicted, 1.0).logpdf(y).mean()
    mse = np.mean((y - predicted) ** 2)
    assert nll == pytest.approx(0.5 * math.log(2 * math.pi) + 0.5 * mse, rel=1e-13)
    # 1.02766 nats, the number of the notes, belong to a mean squared error of 0.217444, either way.
    assert 0.5 * math.log(2 * math.pi) + 0.5 * 0.217444 == pytest.approx(1.02766, abs=5e-6)
    assert -float(NormalDistribution(0.0, 1.0).logpdf(math.sqrt(0.217444))) == pytest.approx(1.02766, abs=5e-6)


@pytest.mark.covers("P-08", "FX-63")
def test_surprisals_add_and_the_most_surprising_rows_are_listed():
    assert surprisal([1.0, 0.5, 0.25, 0.0]).tolist() == [0.0, 1.0, 2.0, np.inf]
    assert float(surprisal(0.5 * 0.25)) == float(surprisal(0.5) + surprisal(0.25))
    rows = NormalDistribution(0, 1).sample(200, random_state=0)
    rows[[17, 90]] = 6.0, -9.0
    logs = NormalDistribution(0, 1).logpdf(rows)
    listed, amounts = surprises(logs, top=3)
    assert listed[:2].tolist() == [90, 17]
    assert (np.diff(amounts) <= 0).all()
    everyone, nats = surprises(logs, top=1000, base=math.e)
    assert sorted(everyone.tolist()) == list(range(200))
    assert nats.sum() == pytest.approx(-NormalDistribution(0, 1).log_likelihood(rows))
    assert surprises([-1.0, -2.0, -2.0], top=2)[0].tolist() == [1, 2]


# ---------------------------------------------------------------------------------------------------------- covariance


@pytest.mark.covers("FX-97")
def test_a_rare_event_is_surprising_and_its_entropy_is_low():
    assert float(surprisal(1 / 1024)) == 10.0
    assert float(entropy([1, 1023])) < 0.02


@pytest.mark.covers("P-21", "FX-73")
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_divisor_of_a_covariance_is_an_argument(ddof):
    X = np.random.default_rng(3).normal(size=(30, 4)) * [1, 10, 100, 0.1] + 5
    np.testing.assert_allclose(covariance(X, ddof=ddof), np.cov(X.T, ddof=ddof), rtol=1e-10)
    np.testing.assert_allclose(correlation(X), np.corrcoef(X.T), rtol=1e-10)
    weight = np.random.default_rng(4).integers(0, 3, 30)
    repeated = np.repeat(X, weight, axis=0)
    np.testing.assert_allclose(covariance(X, ddof, weight), covariance(repeated, ddof), rtol=1e-10)
    np.testing.assert_allclose(correlation(X, weight), correlation(repeated), rtol=1e-10)


@pytest.mark.covers("P-21")
def test_the_default_divisor_is_n():
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    np.testing.assert_array_equal(covariance(X), np.cov(X.T, ddof=0))
    assert "n - 1" in covariance.__doc__
    assert np.isnan(correlation([[1.0, 2.0], [1.0, 3.0]])[0, 1]), "a column without spread has no correlation"


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy([0, 0]), "not all zero"),
        (lambda: entropy([]), "list of probabilities"),
        (lambda: entropy(3), "list of probabilities"),
        (lambda: entropy([1, -1]), "not all zero|not negative"),
        (lambda: entropy([3, -1]), "not negative"),
        (lambda: entropy([1, np.nan]), "not all zero|finite"),
        (lambda: entropy([1, 2], base=1), "base of a logarithm"),
        (lambda: entropy([1, 2], base=-2), "base of a logarithm"),
        (lambda: log_of_base("e"), "base of a logarithm"),
        (lambda: conditional_entropy([1, 2]), "two variables"),
        (lambda: mutual_information([[0, 0], [0, 0]]), "not all zero"),
        (lambda: kl_divergence([0.5, 0.5], [0.2, 0.3, 0.5]), "same values"),
        (lambda: kl_divergence([0.5, 0.5], NormalDistribution()), "two distributions"),
        (lambda: cross_entropy([0.5, 0.5], [0, 0]), "not all zero"),
        (lambda: surprisal([0.5, -0.1]), "must not be negative; got -0.1"),
        (lambda: surprises([0.1, np.nan]), "missing numbers"),
        (lambda: surprises([[0.1]]), "2 dimensions"),
        (lambda: surprises([0.1], top=0), "at least 1"),
        (lambda: covariance([1.0, 2.0]), "2-d"),
        (lambda: covariance([[1.0, 2.0]], ddof=1), "more than 1 rows"),
        (lambda: covariance([[1.0, 2.0]], ddof=-1), "at least 0"),
        (lambda: covariance([[1.0], [np.nan]]), "finite numbers"),
        (lambda: correlation([[1.0], [2.0]], [1]), "one weight per row"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
