"""The product of densities against a numpy reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.mixture.product import Columns
from tilth.parts.distributions import NormalDistribution
from tilth.parts.distributions_vector import CategoricalDistribution
from tilth.parts.smoothing import Laplace


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 3, n).astype(np.int32)
    x = rng.normal(y, 1.0 + y)
    x[rng.random(n) < 0.1] = np.nan
    v = ((y + rng.integers(0, 3, n)) % 4).astype(np.int32)
    v[rng.random(n) < 0.1] = -1
    table = Table([Column("v", Kind("nominal", tuple("abcd")), v), Column("x", Kind("numeric"), x)], n)
    return table, y, rng.random(n)


def reference(table, y, w, alpha=1.0):
    """log p(x | c) term by term, with plain loops."""
    v, x = table["v"].values, table["x"].values
    out = np.zeros((len(y), 3))
    for c in range(3):
        inside = (y == c) & (v >= 0)
        total = w[inside].sum()
        probability = np.array([(w[inside & (v == a)].sum() + alpha) / (total + 4 * alpha) for a in range(4)])
        some = (y == c) & ~np.isnan(x)
        mean = np.average(x[some], weights=w[some])
        sd = np.sqrt(np.average((x[some] - mean) ** 2, weights=w[some]))
        for i in range(len(y)):
            if v[i] >= 0:
                out[i, c] += np.log(probability[v[i]])
            if x[i] == x[i]:
                out[i, c] += norm.logpdf(x[i], mean, sd)
    return out


def test_log_density_equals_the_reference(rows):
    table, y, w = rows
    family = Columns([(c.name, c.kind) for c in table.columns], smoothing=Laplace(alpha=1.0))
    statistic = family.empty(3)
    statistic.update(table, y, w)
    product, notes = family.describe(statistic, 1e-9)
    out = np.zeros((len(y), 3))
    product.add_log_density(table, out)
    assert out == pytest.approx(reference(table, y, w), rel=1e-9)
    names, terms = product.terms(table)
    assert names == ["v", "x"]
    assert terms.sum(axis=2) == pytest.approx(out)
    assert not notes.constant
    assert not notes.zeros


@pytest.mark.parametrize(
    "numbers",
    [
        None,
        NormalDistribution(np.zeros((3, 2)), np.ones((3, 2))),
        NormalDistribution(np.zeros((3, 1)), 1.0),
        CategoricalDistribution(levels=("a", "b")),
    ],
    ids=["none", "of two columns", "of one scale", "levels"],
)
def test_densities_that_do_not_fit_together_are_refused(rows, numbers):
    table, y, _ = rows
    family = Columns([(c.name, c.kind) for c in table.columns])
    product = family.from_statistic(family.statistic(table, np.eye(3)[y]))
    product.validate()
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(product, numbers=numbers).validate()
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(product, offsets=np.array([0, 3])).validate()


def test_merged_parts_give_the_whole(rows):
    table, y, w = rows
    family = Columns([(c.name, c.kind) for c in table.columns])
    whole = family.empty(3)
    whole.update(table, y, w)
    merged = family.empty(3)
    for part in np.array_split(np.random.default_rng(1).permutation(len(y)), 5):
        one = family.empty(3)
        one.update(table.rows(part), y[part], w[part])
        merged += one
    assert merged.weight == pytest.approx(whole.weight)
    assert merged.counts.table == pytest.approx(whole.counts.table)
    assert merged.moments.mean == pytest.approx(whole.moments.mean)
    assert merged.moments.m2 == pytest.approx(whole.moments.m2)
