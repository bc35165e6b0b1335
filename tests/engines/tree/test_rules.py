import numpy as np
import pytest

from tests.engines.tree.hand_made import (
    KINDS,
    NAMES,
    WEATHER,
    WEATHER_KINDS,
    WEATHER_NAMES,
    random_table,
    random_trees,
)
from tilth.data.kinds import nominal, numeric, ordinal
from tilth.engines.tree.nested import from_nested
from tilth.engines.tree.rules import Condition, Voice, rule_set, word
from tilth.engines.tree.text import text_tree

YES_NO = ("No", "Yes")


def weather():
    return from_nested(WEATHER, WEATHER_NAMES, WEATHER_KINDS, YES_NO), Voice(WEATHER_NAMES, WEATHER_KINDS, YES_NO)


@pytest.mark.covers("T-18")
def test_the_weather_tree_is_an_or_of_ands():
    trees, voice = weather()
    assert str(rule_set(trees, voice)) == (
        "(Outlook = Rainy and Windy = True) or (Outlook = Sunny and Humidity = High) -> No (5 of 5)\n"
        "(Outlook = Overcast) or (Outlook = Rainy and Windy = False) or "
        "(Outlook = Sunny and Humidity = Normal) -> Yes (9 of 9)"
    )


@pytest.mark.covers("T-18")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shared", [False, True])
def test_rules_choose_the_class_that_the_tree_chooses(seed, shared):
    trees = random_trees(seed, n_classes=3, n_trees=1, n_leaves=12, shared=shared)
    table = random_table(80, seed)
    found = rule_set(trees, Voice(NAMES, KINDS, ("a", "b", "c")))
    np.testing.assert_array_equal(found.predict(table), trees.sum_values(table).argmax(axis=1))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("width", [1, 2])
def test_rules_predict_the_number_that_the_tree_predicts(seed, width):
    trees = random_trees(seed, n_trees=1, n_leaves=12, width=width)
    table = random_table(80, seed)
    found = rule_set(trees, Voice(NAMES, KINDS))
    wanted = trees.sum_values(table)
    np.testing.assert_allclose(found.predict(table), wanted[:, 0] if width == 1 else wanted, atol=1e-12)
    passed = sum(rule.passes(table, NAMES) for rule in found.rules)
    np.testing.assert_allclose(passed, 1.0, err_msg="every row meets one rule, or shares of several")


def test_thresholds_on_one_column_become_an_interval():
    tree = {
        "column": "x",
        "threshold": 10,
        "yes": {"column": "x", "threshold": 2.5, "yes": {"value": 1}, "no": {"value": 2, "weight": 5}},
        "no": {"value": 3},
    }
    found = rule_set(from_nested(tree, ["x"], [numeric]), Voice(["x"], [numeric]))
    assert str(found) == "x <= 2.5 -> 1 (1 row)\n2.5 < x <= 10 -> 2 (5 rows)\nx > 10 -> 3 (1 row)"
    assert list(found.frame()["tests"]) == [1, 1, 1]


def test_a_subtree_of_one_class_is_one_rule():
    tree = {
        "column": "x",
        "threshold": 0,
        "yes": {"column": "x", "threshold": -3, "yes": {"class": "b"}, "no": {"shares": {"a": 0.4, "b": 0.6}}},
        "no": {"class": "a", "weight": 2},
    }
    found = rule_set(from_nested(tree, ["x"], [numeric], ("a", "b")), Voice(["x"], [numeric], ("a", "b")))
    assert str(found) == "(x > 0) -> a (2 of 2)\n(x <= 0) -> b (1.6 of 2)"
    assert list(found.frame()["right"]) == [0.8, 1.0]


def test_impossible_ways_are_left_out():
    tree = {
        "column": "x",
        "threshold": 0,
        "yes": {"column": "x", "threshold": 5, "yes": {"value": 1}, "no": {"value": 99}, "missing": "yes"},
        "no": {"value": 2},
        "missing": "yes",
    }
    assert "99" not in str(rule_set(from_nested(tree, ["x"], [numeric]), Voice(["x"], [numeric])))


def test_ways_without_training_rows_are_counted_not_listed():
    tree = {"column": "c", "branches": {"a": {"class": "x", "weight": 0}, "b": {"class": "y", "weight": 3}}}
    kinds = [nominal("a", "b")]
    found = rule_set(from_nested(tree, ["c"], kinds, ("x", "y")), Voice(["c"], kinds, ("x", "y")))
    assert str(found) == "(c = b) -> y (3 of 3)\nand 1 way that no training row took"
    assert len(found) == 2


CITY = nominal(*"abcdefghij")
SIZE = ordinal("xs", "s", "m", "l", "xl")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Condition(0, low=1.0), "x > 1"),
        (Condition(0, high=1 / 3), "x <= 0.333333"),
        (Condition(0, np.inf, -np.inf), "x missing"),
        (Condition(1, codes=frozenset([2])), "city = c"),
        (Condition(1, codes=frozenset([2, 4])), "city in {c, e}"),
        (Condition(1, codes=frozenset(range(9))), "city is not j"),
        (Condition(1, codes=frozenset(range(8))), "city not in {i, j}"),
        (Condition(1, codes=frozenset()), "city missing"),
        (Condition(2, codes=frozenset([0, 1])), "size <= s"),
        (Condition(2, codes=frozenset([3, 4])), "size > m"),
        (Condition(2, codes=frozenset([1, 2, 3])), "xs < size <= l"),
        (Condition(2, codes=frozenset([4])), "size = xl"),
        (Condition(2, codes=frozenset([0, 4])), "size in {xs, xl}"),
    ],
)
def test_conditions_in_words(condition, said):
    assert Voice(["x", "city", "size"], [numeric, CITY, SIZE]).condition(condition) == said


def test_many_levels_are_shortened():
    kind = nominal(*(f"l{i}" for i in range(40)))
    said = Voice(["c"], [kind]).condition(Condition(0, codes=frozenset(range(15))))
    assert said == "c in {l0, l1, l2, l3, l4, l5 and 9 more}"


def test_missing_is_told_only_where_training_had_some():
    tree = {"column": "x", "threshold": 1, "yes": {"value": 1}, "no": {"value": 2}, "missing": "no"}
    trees = from_nested(tree, ["x"], [numeric])
    assert "missing" not in text_tree(trees, Voice(["x"], [numeric]))
    told = text_tree(trees, Voice(["x"], [numeric], gone=frozenset(["x"])))
    assert told == "x <= 1: 1 (1 row)\nx > 1 (or missing): 2 (1 row)"


def test_odd_names_stay_on_one_line():
    assert word("a\nb\tc\x1b[31m") == "a\\nb\\tc\\x1b[31m"
    assert word("") == "''"
    assert word("grün") == "grün"
