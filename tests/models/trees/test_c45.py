"""C4.5: gain ratio, thresholds, fractions, pessimistic pruning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tilth.data.datasets import load, load_weather
from tilth.engines.tree.trees import LEAF, MULTIWAY, SHARED, THRESHOLD
from tilth.models.trees.c45 import C45


@pytest.mark.covers("T-02")
def test_the_numeric_weather_tree():
    """Quinlan's tree: Outlook; Humidity between 75 and 80 below Sunny, Windy below Rainy."""
    tree = C45().fit(load("weather_numeric").frame, "Play")
    trees = tree.trees_
    levels = trees.kinds[trees.column[0]].levels
    assert trees.names[trees.column[0]] == "Outlook"
    sunny, rainy = (trees.child[0] + levels.index(v) for v in ("Sunny", "Rainy"))
    assert trees.names[trees.column[sunny]] == "Humidity"
    assert trees.test[sunny] == THRESHOLD
    assert 70 < trees.threshold[sunny] < 85
    assert trees.names[trees.column[rainy]] == "Windy"
    assert tree.score(load("weather_numeric").frame.drop(columns="Play"), load("weather_numeric").frame["Play"]) == 1.0


@pytest.mark.covers("T-02", "WN-04")
def test_a_column_of_identities():
    """The ratio alone still prefers it; asking for two branches of two rows keeps it out."""
    frame = load_weather().frame.assign(identity=[f"no. {i}" for i in range(14)])
    kinds = {"identity": "nominal"}
    fooled = C45(min_samples_leaf=1, pruning=False, kinds=kinds).fit(frame, "Play").trees_
    assert fooled.names[fooled.column[0]] == "identity"
    guarded = C45(min_samples_leaf=2, pruning=False, kinds=kinds).fit(frame, "Play").trees_
    assert guarded.names[guarded.column[0]] == "Outlook"


@pytest.mark.covers("T-02", "T-15")
def test_a_row_with_a_missing_value_goes_down_all_branches():
    """Quinlan's example: the weather table with the Outlook of one row unknown."""
    frame = load("weather_numeric").frame.astype({"Outlook": object})
    frame.loc[11, "Outlook"] = None
    tree = C45(pruning=False).fit(frame, "Play")
    trees = tree.trees_
    assert trees.names[trees.column[0]] == "Outlook"
    assert trees.missing[0] == SHARED
    levels = trees.kinds[trees.column[0]].levels
    below = trees.weight[trees.child[0] : trees.child[0] + 3]
    known = {"Overcast": 3, "Rainy": 5, "Sunny": 5}
    assert below.tolist() == pytest.approx([known[v] + known[v] / 13 for v in levels])
    # gain = 13/14 (0.961 - 0.747), split information counts the missing row as a fourth group
    assert trees.gain[0] == pytest.approx(0.199, abs=5e-4)
    row = pd.DataFrame({"Outlook": [None], "Temp": [70], "Humidity": [90], "Windy": [False]})
    parts = [tree.predict_proba(row.assign(Outlook=level))[0] * w for level, w in zip(levels, below, strict=True)]
    assert tree.predict_proba(row)[0] == pytest.approx(np.sum(parts, axis=0) / 14)


@pytest.mark.covers("T-05", "T-13")
def test_the_gain_ratio_must_be_above_theta():
    frame = load_weather().frame
    assert C45(pruning=False, min_gain=0.15).fit(frame, "Play").get_n_leaves() > 1
    assert C45(pruning=False, min_gain=0.16).fit(frame, "Play").get_n_leaves() == 1  # Outlook has 0.1564


@pytest.mark.covers("T-14")
def test_pruning_and_raising_shrink_the_tree():
    data = load("breast_cancer_recurrence")
    free = C45(pruning=False).fit(data.frame, data.target)
    sizes = [free.get_n_leaves()]
    for params in ({"raising": False}, {}, {"confidence": 0.01}):
        sizes.append(C45(**params).fit(data.frame, data.target).get_n_leaves())
    assert sizes[1] < sizes[0]
    assert sizes[2] <= sizes[1]
    assert sizes[3] <= sizes[2]


def test_small_branches_are_not_made():
    data = load("german_credit")
    trees = C45(pruning=False, min_samples_leaf=10).fit(data.frame, data.target).trees_
    for node in np.flatnonzero(trees.test != LEAF):
        sizes = trees.weight[trees.child[node] : trees.child[node] + trees.branches[node]]
        assert (sizes >= 10 - 1e-9).sum() >= 2
        assert trees.test[node] == MULTIWAY or (sizes >= 10 - 1e-9).all()
