"""Stability of a selection over resamples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest

from tilth.data.datasets import load
from tilth.models.select import ForwardSelection, SelectByRelevance, Stability, stability
from tilth.models.select.stability import stability_index


@pytest.mark.covers("FS-20")
def test_the_index_is_one_for_agreement_and_zero_for_chance():
    rng = np.random.default_rng(0)
    same = np.tile([True, False, True, False, False], (20, 1))
    assert stability_index(same) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12)
    random = np.array([rng.permutation(20) < 5 for _ in range(2000)])
    value, low, high = stability_index(random)
    assert value == pytest.approx(0.0, abs=0.01)
    assert low < 0 < high
    assert np.isnan(stability_index(np.ones((5, 3)))[0])


@pytest.mark.covers("FS-20")
def test_equal_sizes_give_kunchevas_index():
    """With k columns each, the index is the mean over pairs of (overlap d - k^2) / (k (d - k))."""
    rng = np.random.default_rng(1)
    d, k, m = 12, 4, 15
    chosen = np.array([np.argsort(rng.random(d) + np.arange(d) / d) < k for _ in range(m)])
    pairs = [((a & b).sum() * d - k**2) / (k * (d - k)) for i, a in enumerate(chosen) for b in chosen[:i]]
    assert stability_index(chosen)[0] == pytest.approx(np.mean(pairs), rel=1e-12)


@pytest.mark.covers("FS-20")
def test_the_interval_covers_the_true_stability():
    """Columns chosen independently with known chances: the interval holds the limit in about 95% of the cases."""
    rng = np.random.default_rng(2)
    chance = np.linspace(0.05, 0.95, 20)
    share = chance.mean()
    truth = 1 - (chance * (1 - chance)).mean() / (share * (1 - share))
    held = 0
    for _ in range(400):
        _, low, high = stability_index(rng.random((60, 20)) < chance)
        held += low <= truth <= high
    assert 0.91 <= held / 400 <= 0.99


@pytest.mark.covers("FS-20")
def test_the_frequency_table_names_the_columns_that_come_back():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    y = 2 * X["c"] + X["e"] + rng.normal(size=200)
    found = stability(SelectByRelevance(k=2), X, y, resamples=30)
    table = found.frame()
    assert table["column"].tolist()[:2] == ["c", "e"]
    assert table["chosen"].sum() == 60
    assert table["share"].iloc[0] == 1.0
    assert found.index[0] > 0.8
    noise = stability(SelectByRelevance(k=2), X, rng.normal(size=200), resamples=30)
    assert noise.index[0] < found.index[0] - 0.3
    assert "Stability" in str(found)
    assert "c, e" in found.verdict()
    assert found.plot().axes[0].patches
    assert found.sections()[0].frame.equals(table)
    assert json.loads(json.dumps(found.to_dict()))["columns"]["c"] == 1.0


def test_the_same_seed_the_same_answer():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    a, b = (stability(SelectByRelevance(k=2), X, y, resamples=6, seed=3) for _ in range(2))
    np.testing.assert_array_equal(a.chosen, b.chosen)
    c = stability(SelectByRelevance(k=2), X, y, resamples=6, seed=4)
    assert (a.chosen != c.chosen).any()


def test_real_tables_by_name_with_groups_and_weights():
    penguins = load("penguins")
    n = len(penguins.frame)
    found = stability(
        SelectByRelevance(relevance="mutual information", k=3), penguins.frame, penguins.target, resamples=6,
        groups=np.arange(n) // 4,
    )  # fmt: skip
    assert penguins.target not in found.columns
    assert "groups" in found.sampling
    weighted = stability(SelectByRelevance(k=3), penguins.frame, penguins.target, resamples=4, sample_weight=np.ones(n))
    assert isinstance(weighted, Stability)


def test_a_wrapper_and_a_selector_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 1] + 0.1 * rng.normal(size=120)
    assert stability(ForwardSelection(max_columns=1), X, y, resamples=4).frame()["column"][0] == "x1"
    assert stability(SelectKBest(k=1), X, y > 0, resamples=4).frame()["column"][0] == "x1"


def test_bad_input_is_told():
    X, y = np.ones((10, 2)), np.arange(10.0)
    with pytest.raises(TypeError, match="get_support"):
        stability("best", X, y)
    with pytest.raises(ValueError, match="resamples"):
        stability(SelectByRelevance(k=1), X, y, resamples=1)
    with pytest.raises(ValueError, match="share"):
        stability(SelectByRelevance(k=1), X, y, share=1.0)
    with pytest.raises(ValueError, match="a group per row"):
        stability(SelectByRelevance(k=1), X, y, groups=[1, 2])
    with pytest.raises(ValueError, match=r"failed on 3 resamples: .*at most the number of columns"):
        stability(SelectByRelevance(k=9), X, y, resamples=3)
    with pytest.raises(ValueError, match="at least 2 selections"):
        stability_index([[True, False]])
