"""Distributions refuse what has no meaning, in sentences."""

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormalDistribution(0.0, 0.0), "scale must be above 0"),
        (lambda: NormalDistribution(0.0, [1.0, -1.0]), "scale must be above 0 everywhere; found -1"),
        (lambda: NormalDistribution(np.nan, 1.0), "location must be finite"),
        (lambda: NormalDistribution("a", 1.0), "location must be a number"),
        (lambda: NormalDistribution([1.0, np.inf], 1.0), "location must hold finite numbers; found inf"),
        (lambda: NormalDistribution([1.0, 2.0], [1.0, 2.0, 3.0]), "must fit each other"),
        (lambda: UniformDistribution(1.0, 1.0), "high must be above low"),
        (lambda: BernoulliDistribution(1.5), "probability must be at least 0 and at most 1"),
        (lambda: BernoulliDistribution(True), "must be a number"),
        (lambda: BinomialDistribution(2.5, 0.5), "n must be a whole number"),
        (lambda: PoissonDistribution(-1), "rate must be at least 0"),
        (lambda: CategoricalDistribution([0.5, 0.6]), "sum to 1"),
        (lambda: CategoricalDistribution([0.5, 0.5], levels=("a",)), "one probability per level"),
        (lambda: CategoricalDistribution(levels=("a", "a")), "differ"),
        (lambda: CategoricalDistribution(levels="ab"), "must be a list"),
        (lambda: CategoricalDistribution().pdf(1), "not known"),
        (lambda: MultinomialDistribution(1.5, [0.5, 0.5]), "whole number"),
        (lambda: MultinomialDistribution(None, [0.5, 0.5]).sample(), "give n"),
        (lambda: DirichletDistribution([1.0, 0.0]), "concentration must be above 0"),
        (lambda: DirichletDistribution(1.0), "must be a list"),
        (lambda: MultivariateNormalDistribution([0.0, 0.0], np.eye(3)), "d x d"),
        (lambda: MultivariateNormalDistribution([0.0, 0.0], np.ones((2, 2))), "positive definite"),
        (lambda: MultivariateNormalDistribution([0, 0], np.eye(2)).logpdf([1, 2, 3]), "vectors of 2 numbers"),
        (lambda: NormalDistribution().logpdf("x"), "distribution of numbers"),
        (lambda: NormalDistribution().quantile(1.2), "between 0 and 1"),
        (lambda: NormalDistribution().sample(-1), "not be negative"),
        (lambda: NormalDistribution().fit([]), "at least one row"),
        (lambda: NormalDistribution().fit([[1.0]]), "one column"),
        (lambda: NormalDistribution().fit([1.0, np.nan]), "row 1 is nan"),
        (lambda: NormalDistribution().fit([2.0, 2.0]), "values that differ"),
        (lambda: NormalDistribution().fit([1.0, 2.0], [0, 0]), "positive weight"),
        (lambda: NormalDistribution().fit([1.0, 2.0], [1]), "one weight per row"),
        (lambda: LaplaceDistribution().fit([2.0, 2.0]), "values that differ"),
        (lambda: StudentTDistribution().fit([2.0, 2.0]), "values that differ"),
        (lambda: UniformDistribution().fit([2.0, 2.0]), "values that differ"),
        (lambda: GammaDistribution().fit([2.0, 2.0]), "values that differ"),
        (lambda: GammaDistribution().fit([0.0, 2.0]), "numbers above 0; row 0"),
        (lambda: BetaDistribution().fit([0.5, 1.0]), "between 0 and 1; row 1"),
        (lambda: BetaDistribution().fit([0.5, 0.5]), "values that differ"),
        (lambda: ExponentialDistribution().fit([-1.0]), "at least 0; row 0"),
        (lambda: BernoulliDistribution().fit([0, 2]), "zeros and ones; row 1"),
        (lambda: BinomialDistribution(2).fit([3]), "from 0 to n; row 0"),
        (lambda: PoissonDistribution().fit([1.5]), "whole numbers"),
        (lambda: CategoricalDistribution(levels=("a",)).fit(["b"]), "known levels"),
        (lambda: CategoricalDistribution().fit([None, None]), "not missing"),
        (lambda: MultinomialDistribution(2, [0.5, 0.5]).fit([[1, 2]]), "sum to n; row 0"),
        (lambda: MultinomialDistribution().fit([[0, 0]]), "above 0"),
        (lambda: DirichletDistribution().fit([[0.5, 0.5], [0.5, 0.5]]), "rows that differ"),
        (lambda: MultivariateNormalDistribution().fit([[1.0, 2.0], [2.0, 3.0]]), "positive definite"),
        (lambda: BetaDistribution(1, 1).mode(), "no single mode"),
        (lambda: DirichletDistribution([0.5, 2]).mode(), "no single mode"),
        (lambda: CategoricalDistribution([1.0]).fit([0], prior=DirichletDistribution([1, 2])), "2 concentrations"),
        (lambda: NormalDistribution([0.0, 1.0]).expectation(abs), "one distribution"),
    ],
)  # fmt: skip
def test_bad_input_is_a_sentence(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: NormalDistribution().fit([1.0, 2.0], prior=BetaDistribution()),
            "conjugate prior of location is a Normal",
        ),
        (lambda: LaplaceDistribution().fit([1.0, 2.0], prior=NormalDistribution()), "maximum_posterior"),
        (lambda: NormalDistribution(0, [1.0, 2.0]).fit([1.0], prior=NormalDistribution()), "single numbers"),
        (lambda: MultivariateNormalDistribution().cdf([[0.0]]), "no distribution function"),
        (lambda: CategoricalDistribution([0.5, 0.5]).quantile(0.5), "no quantiles"),
        (lambda: UniformDistribution().mode(), "no mode"),
        (lambda: NormalDistribution().kl_divergence([0.5]), "another distribution"),
    ],
)
def test_what_is_not_defined_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_likelihood_without_bound_is_refused():
    rows = np.array([0.0] * 8 + [1.0, -1.0])
    with pytest.raises(ValueError, match="without bound"):
        StudentTDistribution().fit(rows)
