"""ID3 on the weather table and elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tilth.data.datasets import load, load_weather
from tilth.engines.tree.trees import LEAF, MULTIWAY
from tilth.models.trees.id3 import ID3


@pytest.mark.covers("T-01", "WN-06")
def test_the_weather_tree():
    tree = ID3().fit(load_weather().frame, "Play")
    trees = tree.trees_
    asked = trees.names[trees.column[0]]
    levels = trees.kinds[trees.column[0]].levels
    below = {level: trees.names[trees.column[trees.child[0] + i]] for i, level in enumerate(levels)
             if trees.test[trees.child[0] + i] != LEAF}  # fmt: skip
    assert asked == "Outlook"
    assert below == {"Rainy": "Windy", "Sunny": "Humidity"}
    overcast = trees.child[0] + levels.index("Overcast")
    assert tree.classes_[trees.value[overcast].argmax()] == "Yes"
    frame = load_weather().frame
    assert (tree.predict(frame) == frame["Play"]).all()
    said = "(Outlook = Overcast) or (Outlook = Rainy and Windy = False) or (Outlook = Sunny and Humidity = Normal)"
    assert said in str(tree.rules())


@pytest.mark.covers("T-01", "T-04", "WN-02")
def test_gains_of_the_nodes_are_information_gains_in_bits():
    trees = ID3().fit(load_weather().frame, "Play").trees_
    assert trees.gain[0] == pytest.approx(0.2467, abs=5e-5)
    assert trees.impurity[0] == pytest.approx(0.9403, abs=5e-5)


@pytest.mark.covers("T-01")
def test_a_column_is_asked_once_on_a_path():
    trees = ID3().fit(load("car_evaluation").frame, load("car_evaluation").target).trees_
    parent = trees.parent()
    for node in np.flatnonzero(trees.test != LEAF)[::7]:
        above, seen = node, []
        while above >= 0:
            seen.append(int(trees.column[above]))
            above = parent[above]
        assert len(seen) == len(set(seen))
    assert (trees.test[trees.test != LEAF] == MULTIWAY).all()


def test_numbers_become_levels_and_missing_values_a_branch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = pd.DataFrame({"x": np.where(rng.random(200) < 0.1, np.nan, x), "c": rng.choice(["p", "q"], 200)})
    y = np.where(np.isnan(X["x"]), "gone", np.where(x > 0, "up", "down"))
    tree = ID3(n_bins=4).fit(X, y)
    assert "bins" in str(tree.plan_)
    assert tree.trees_.kinds[0].name == "nominal"
    assert tree.predict(pd.DataFrame({"x": [np.nan], "c": ["p"]})).tolist() == ["gone"]
    assert tree.score(X, y) > 0.95


@pytest.mark.covers("T-13")
def test_growth_stops_without_gain():
    frame = pd.DataFrame({"a": ["p", "p", "q", "q"], "y": [0, 1, 0, 1]})
    assert ID3().fit(frame, "y").get_n_leaves() == 1
    weather = load_weather().frame
    assert ID3(min_gain=0.25).fit(weather, "Play").get_n_leaves() == 1
    assert ID3(max_depth=1).fit(weather, "Play").get_n_leaves() == 3
    assert ID3(max_purity=0.6).fit(weather, "Play").get_n_leaves() == 1


def test_a_level_that_a_node_never_saw_is_answered_as_the_node_would():
    frame = pd.DataFrame({"a": ["p", "p", "q", "q", "r"], "b": ["u", "v", "u", "u", "w"], "y": [0, 1, 1, 1, 0]})
    tree = ID3().fit(frame, "y")
    assert set(tree.predict(pd.DataFrame({"a": ["p", "q", "r"], "b": ["w", "w", "u"]}))) <= {0, 1}
