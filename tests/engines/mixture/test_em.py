"""EM: the bound never falls, the fit is scikit-learn's, and a mixture model on top of it is a few lines."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from tilth.base import Accepts, Card, Density, Traits
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.mixture.em import em
from tilth.engines.mixture.product import Columns
from tilth.errors import ModelWarning
from tilth.params import declared, param
from tilth.parts.distributions import ExponentialDistribution, GammaDistribution, NormalDistribution
from tilth.parts.distributions_discrete import BernoulliDistribution, PoissonDistribution
from tilth.parts.distributions_vector import (
    CategoricalDistribution,
    MultinomialDistribution,
    MultivariateNormalDistribution,
)
from tilth.parts.smoothing import Laplace

SKLEARN = {"full": "full", "diagonal": "diag", "spherical": "spherical", "tied": "tied"}


def clouds(seed=0, n=60):
    rng = np.random.default_rng(seed)
    roots = ([[1.0, 0.0], [0.6, 0.5]], [[0.7, 0.0], [-0.5, 1.0]], [[0.4, 0.0], [0.0, 0.4]])
    centres = ([0.0, 0.0], [5.0, 1.0], [0.0, 6.0])
    return np.vstack([rng.normal(size=(n, 2)) @ np.array(r).T + c for r, c in zip(roots, centres, strict=True)])


def mixed_table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    number = rng.normal(4.0 * group, 1.0)
    number[rng.random(n) < 0.2] = np.nan
    level = np.where(rng.random(n) < 0.85, group, 2).astype(np.int32)
    level[rng.random(n) < 0.1] = -1
    columns = [Column("v", Kind("nominal", ("a", "b", "c")), level), Column("x", Kind("numeric"), number)]
    return Table(columns, n), group


def two(family, other, n=60):
    return np.concatenate([family.sample(n, random_state=1), other.sample(n, random_state=2)])


CASES = {
    "normal": (NormalDistribution(), lambda: two(NormalDistribution(0, 1), NormalDistribution(4, 2))),
    "poisson": (PoissonDistribution(), lambda: two(PoissonDistribution(1), PoissonDistribution(9))),
    "exponential": (
        ExponentialDistribution(),
        lambda: two(ExponentialDistribution(0.1), ExponentialDistribution(5.0)),
    ),
    "gamma": (GammaDistribution(), lambda: two(GammaDistribution(2.0, 1.0), GammaDistribution(30.0, 2.0))),
    "bernoulli": (BernoulliDistribution(), lambda: two(BernoulliDistribution(0.1), BernoulliDistribution(0.8))),
    "categorical": (
        CategoricalDistribution(levels=("a", "b")),
        lambda: np.array(list("aabbbabababb")),
    ),
    "multinomial": (
        MultinomialDistribution(),
        lambda: two(MultinomialDistribution(9, [0.8, 0.1, 0.1]), MultinomialDistribution(9, [0.1, 0.3, 0.6])),
    ),
    **{s: (MultivariateNormalDistribution(structure=s), clouds) for s in SKLEARN},
}


@pytest.mark.parametrize("case", CASES)
def test_the_bound_never_falls_and_ends_at_the_likelihood(case):
    family, make = CASES[case]
    rows = make()
    weight = np.random.default_rng(5).uniform(0.5, 2.0, len(rows))
    mixture = em(family, rows, 2, weight=weight, seed=3)
    trace = mixture.outcome.trace
    path = np.column_stack([trace["after maximisation"], trace["after expectation"]]).ravel()
    assert mixture.outcome.converged
    assert (np.diff(path) <= 1e-9 * np.abs(path[1:])).all()
    assert mixture.bound == pytest.approx(-path[-1])
    joint = np.log(mixture.weights) + mixture.components.log_density(rows)
    assert mixture.bound == pytest.approx(np.average(logsumexp(joint, axis=1), weights=weight))
    assert mixture.responsibilities(rows).sum(axis=1) == pytest.approx(1.0)
    assert mixture.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("structure", SKLEARN)
def test_parity_with_scikit_learn(structure):
    rows = clouds()
    start = np.repeat(np.eye(3), 60, axis=0) * 0.7 + 0.1
    family = MultivariateNormalDistribution(structure=structure)
    ours = em(family, rows, 3, start=start, tol=1e-12, floor=1e-9)
    first = em(family, rows, 3, start=start, tol=1e9, max_iter=1)  # where scikit-learn's search begins
    cov = first.components.covariance
    precision = {
        "full": np.linalg.inv(cov),
        "tied": np.linalg.inv(cov),
        "diagonal": 1.0 / np.diagonal(cov, axis1=-2, axis2=-1),
        "spherical": 1.0 / cov[..., 0, 0],
    }[structure]
    peer = GaussianMixture(
        3, covariance_type=SKLEARN[structure], tol=1e-12, reg_covar=0.0, max_iter=1000,
        weights_init=first.weights, means_init=first.components.location, precisions_init=precision,
    ).fit(rows)  # fmt: skip
    assert ours.bound == pytest.approx(peer.score(rows), abs=1e-7)
    assert ours.weights == pytest.approx(peer.weights_, abs=1e-5)
    assert ours.components.location == pytest.approx(peer.means_, abs=1e-4)
    assert ours.responsibilities(rows) == pytest.approx(peer.predict_proba(rows), abs=1e-4)
    assert 2 * ours.n_parameters - 2 * len(rows) * ours.bound == pytest.approx(peer.aic(rows), abs=1e-4)


def test_starts_are_kept_apart_by_the_seed_and_the_best_wins():
    rows = clouds(1)
    family = MultivariateNormalDistribution()
    one, again, other = (em(family, rows, 4, seed=seed) for seed in (0, 0, 1))
    assert one.bound == again.bound
    assert one.bound != other.bound
    several = em(family, rows, 4, seed=0, n_init=4)
    assert len(several.starts) == 4
    assert len(set(several.starts)) > 1
    assert several.bound == max(several.starts)


def test_weights_are_repetitions():
    rows = np.concatenate([np.linspace(0, 1, 12), np.linspace(4, 7, 12)])
    weight = np.tile([1, 2, 0, 3], 6)
    start = np.column_stack([rows < 2, rows >= 2]) * 0.8 + 0.1
    by_weight = em(NormalDistribution(), rows, 2, weight=weight, start=start)
    by_rows = em(NormalDistribution(), np.repeat(rows, weight), 2, start=np.repeat(start, weight, axis=0))
    assert by_weight.bound == pytest.approx(by_rows.bound)
    assert by_weight.components.location == pytest.approx(by_rows.components.location)


def test_a_component_on_equal_rows_does_not_collapse():
    rows = np.concatenate([np.zeros(20), np.random.default_rng(0).normal(5.0, 1.0, 40)])
    mixture = em(NormalDistribution(), rows, 2, floor=1e-4)
    assert mixture.components.scale.min() == pytest.approx(np.sqrt(1e-4 * rows.var()))
    flat = np.column_stack([rows, 2.0 * rows, np.random.default_rng(1).normal(size=60)])
    narrow = em(MultivariateNormalDistribution(), flat, 2, floor=1e-4, seed=1)
    assert np.isfinite(narrow.bound)


def test_a_mixed_table_with_missing_cells_is_one_family():
    table, group = mixed_table()
    family = Columns([(c.name, c.kind) for c in table.columns], smoothing=Laplace(alpha=0.5))
    mixture = em(family, table, 2, seed=1)
    assert mixture.outcome.converged
    assigned = mixture.responsibilities(table).argmax(axis=1)
    informed = ~(np.isnan(table["x"].values) & ((table["v"].values == -1) | (table["v"].values == 2)))
    agreement = (assigned == group)[informed].mean()
    assert max(agreement, 1 - agreement) > 0.95
    assert mixture.n_parameters == 2 * (2 + 2) + 1
    prior = family.log_prior(mixture.components) / table.n_rows
    assert mixture.bound == pytest.approx(mixture.log_density(table).mean() + prior)
    # A row without any value says nothing: its responsibilities are the shares of the components.
    empty = Table([Column("v", table["v"].kind, np.array([-1], np.int32)), Column("x", Kind("numeric"), [np.nan])], 1)
    assert mixture.responsibilities(empty)[0] == pytest.approx(mixture.weights)


def test_numbers_of_a_table_may_follow_another_family():
    rng = np.random.default_rng(2)
    counts = np.concatenate([rng.poisson(1.0, 80), rng.poisson(12.0, 80)]).astype(float)
    counts[::9] = np.nan
    table = Table([Column("n", Kind("numeric"), counts)], 160)
    mixture = em(Columns([("n", Kind("numeric"))], numbers=PoissonDistribution()), table, 2)
    assert mixture.components.log_density(table)[0] == pytest.approx([0.0, 0.0]), "a missing cell drops its factor"
    alone = em(PoissonDistribution(), counts[~np.isnan(counts)], 2)
    assert np.sort(mixture.components.mean.ravel()) == pytest.approx(np.sort(alone.components.rate), rel=1e-3)


def test_one_round_with_labels_is_naive_bayes():
    table, group = mixed_table(3)
    family = Columns([(c.name, c.kind) for c in table.columns])
    soft = family.from_statistic(family.statistic(table, np.eye(2)[group]))
    hard = family.empty(2)
    hard.update(table, group.astype(np.int32))
    assert family.from_statistic(hard).log_density(table) == pytest.approx(soft.log_density(table))


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ValueError, match="3 components need as many rows"):
        em(NormalDistribution(), [1.0, 2.0, 3.0], 3, weight=[1, 1, 0])
    with pytest.raises(ValueError, match="em: start"):
        em(NormalDistribution(), [1.0, 2.0, 3.0], 2, start=np.ones((3, 3)))
    with pytest.warns(ModelWarning, match="max_iter"):
        em(NormalDistribution(), CASES["normal"][1](), 2, max_iter=1)


# A public mixture model is to be a sentence: this one is, with everything that Density brings.


@declared
class Clouds(Density):
    """A mixture of normal distributions."""

    accepts: ClassVar[Accepts] = Accepts(numeric=True)
    card: ClassVar[Card] = Card("Rows come from k clouds.", Traits("density", supervision="unsupervised"))
    learned: ClassVar[dict[str, str]] = {"weights_": "float[k]", "components_": "value"}

    n_components: int = param(2, low=1, doc="Number of clouds.")
    structure: str = param("full", options=("full", "diagonal", "spherical", "tied"), doc="Shape of a cloud.")
    n_init: int = param(1, low=1, doc="Starts.")
    random_state: int = param(0, doc="Seed of the starts.")

    def learn(self, table: Any, target: Any, weight: Any) -> None:
        """EM."""
        family = MultivariateNormalDistribution(structure=self.structure)
        self.mixture_ = em(
            family, table.numbers(), self.n_components, weight=weight, n_init=self.n_init, seed=self.random_state
        )
        self.n_parameters_ = self.mixture_.n_parameters

    def log_density(self, table: Any) -> Any:
        """log sum_c pi_c p(x | c)."""
        return self.mixture_.log_density(table.numbers())


def test_a_mixture_model_is_a_sentence():
    import pandas as pd

    rows = pd.DataFrame(clouds(), columns=["a", "b"])
    model = Clouds(n_components=3, n_init=3).fit(rows)
    peer = GaussianMixture(3, random_state=0, n_init=3, reg_covar=0.0, tol=1e-9, max_iter=500).fit(rows.to_numpy())
    assert model.score(rows) == pytest.approx(peer.score(rows.to_numpy()), abs=1e-5)
    assert model.bic(rows) == pytest.approx(peer.bic(rows.to_numpy()), abs=1e-2)
    assert Clouds(n_components=3).fit(rows).bic(rows) < Clouds(n_components=1).fit(rows).bic(rows)
    weight = np.tile([1, 2], 90)
    repeated = rows.loc[rows.index.repeat(weight)]
    by_weight = Clouds(n_components=1).fit(rows, sample_weight=weight)
    assert by_weight.score(rows) == pytest.approx(Clouds(n_components=1).fit(repeated).score(rows))
