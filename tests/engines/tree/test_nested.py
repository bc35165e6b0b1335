import json

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
from tilth.data.table import Column, Table
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.nested import from_nested, labels_in, to_nested
from tilth.engines.tree.rules import Voice
from tilth.engines.tree.text import dot_tree, json_trees, text_tree
from tilth.engines.tree.trees import ARRAYS, SHARED

COLUMNS = (["x", "colour", "size"], [numeric, nominal("red", "blue"), ordinal("s", "m", "l")])
LEAF = {"class": "a"}


@pytest.mark.parametrize("seed", range(8))
def test_dicts_and_back_give_the_same_answers(seed):
    trees = random_trees(seed, n_classes=3, n_trees=1, n_leaves=15, shared=False)
    table = random_table(100, seed)
    given = json.loads(json.dumps(to_nested(trees, "abc")))
    again = from_nested(given, NAMES, KINDS, "abc")
    np.testing.assert_array_equal(again.sum_values(table), trees.sum_values(table))
    assert to_nested(again, "abc") == given


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_tests_are_those_of_their_leaves_after_which_dicts_are_exact(seed):
    first = from_nested(to_nested(random_trees(seed, n_trees=1, n_leaves=15)), NAMES, KINDS)
    again = from_nested(to_nested(first), NAMES, KINDS)
    for name in ARRAYS:
        if name not in ("test", "threshold", "subset", "bits"):  # a set of levels may be written as a threshold
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name), err_msg=name)
    table = random_table(100, seed)
    np.testing.assert_array_equal(again.sum_values(table), first.sum_values(table))


def test_weights_shares_and_gains_of_tests():
    trees = from_nested(WEATHER, WEATHER_NAMES, WEATHER_KINDS, ("No", "Yes"))
    np.testing.assert_allclose(trees.value[0], [5 / 14, 9 / 14])
    assert trees.weight[0] == 14
    gini = 1 - (5 / 14) ** 2 - (9 / 14) ** 2
    np.testing.assert_allclose(trees.gain[0], gini - 10 / 14 * 0.48)
    numbers = from_nested(
        {"column": "x", "threshold": 0, "yes": {"value": 1, "weight": 3}, "no": {"value": 5}}, ["x"], [numeric]
    )
    np.testing.assert_allclose([numbers.value[0, 0], numbers.impurity[0], numbers.gain[0]], [2.0, 3.0, 3.0])


def test_where_missing_values_go():
    def at(missing):
        tree = {"column": "x", "threshold": 0, "yes": {"value": 1, "weight": 3}, "no": {"value": 5}, **missing}
        return from_nested(tree, ["x"], [numeric])

    gone = Table([Column("x", numeric, np.array([np.nan]))], 1)
    assert [at(m).sum_values(gone)[0, 0] for m in ({}, {"missing": "no"}, {"missing": {"value": 9}})] == [1, 5, 9]
    shared = at({"missing": None})
    assert shared.missing[0] == SHARED
    assert shared.sum_values(gone)[0, 0] == 2.0


def test_levels_are_recognised_in_any_spelling():
    kinds = [nominal(1, 2), nominal(True, False)]
    tree = {
        "column": "a",
        "branches": {
            "1": {"value": 1},
            2.0: {"column": "b", "levels": ["True"], "yes": {"value": 2}, "no": {"value": 3}},
        },
    }
    made = from_nested(tree, ["a", "b"], kinds)
    table = Table([Column("a", kinds[0], np.array([0, 1, 1], dtype=np.int32)),
                   Column("b", kinds[1], np.array([0, 0, 1], dtype=np.int32))], 3)  # fmt: skip
    assert made.sum_values(table)[:, 0].tolist() == [1, 2, 3]


def cyclic():
    tree = {"column": "x", "threshold": 0, "yes": LEAF}
    tree["no"] = {"column": "x", "threshold": 1, "yes": LEAF, "no": tree}
    return tree


def deep(n):
    tree = dict(LEAF)
    for i in range(n):
        tree = {"column": "x", "threshold": i, "yes": LEAF, "no": tree}
    return tree


def wide(n):
    tree = dict(LEAF)
    for _ in range(n):
        tree = {"column": "x", "threshold": 0, "yes": tree, "no": tree}
    return tree


def test_of(**entries):
    return {"column": "x", "threshold": 0, "yes": LEAF, "no": LEAF} | entries


@pytest.mark.covers("T-20")
@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (cyclic(), "at x > 0 > x > 1: the tree leads back to a node above"),
        (deep(1001), "deeper than 1000"),
        (wide(40), "more than 200,000 nodes"),
        ("class", "at the root: a node is a dict; got str"),
        ({}, "needs 'column' and a test, or an answer"),
        ({"class": "z"}, "'z' is not one of the classes 'a', 'b'"),
        ({"class": ["a"]}, "shares is a dict"),
        ({"shares": {"a": 0.5}}, "sum to 0.5"),
        ({"shares": {"a": 1.5, "b": -0.5}}, "not negative"),
        ({"shares": {"a": float("nan"), "b": 1.0}}, "a share is a finite number; got nan"),
        ({"value": 1.0}, "a classifier answers with 'class' or 'shares'"),
        ({"class": "a", "column": "x"}, "both 'column' and 'class'"),
        ({"class": "a", "value": 2}, "answers once"),
        ({"class": "a", "weight": -1}, "a weight is not negative"),
        ({"class": "a", "weight": "heavy"}, "a weight is a finite number; got 'heavy'"),
        ({"column": "x"}, "one of 'threshold', 'levels' and 'branches'; this one has none"),
        ({"column": "x", "threshold": 1, "levels": []}, "'threshold' and 'levels'"),
        ({"column": "x", "threshold": 1, "yes": LEAF}, "at the root: the branch 'no' is missing"),
        (test_of(threshold=float("nan")), "a threshold is a finite number; got nan"),
        (test_of(threshold="3"), "a threshold is a finite number; got '3'"),
        (test_of(column="y"), "there is no column 'y'; the columns are 'x', 'colour', 'size'"),
        (test_of(column=["x"]), "there is no column ['x']"),
        (test_of(column="colour"), "'colour' is nominal and has no order"),
        (test_of(column="size", threshold="xl"), "'xl' is no level of 'size'; its levels are 's', 'm', 'l'"),
        (test_of(levels=["red"], threshold=1), "one of"),
        ({"column": "x", "levels": ["red"], "yes": LEAF, "no": LEAF}, "'x' is numeric"),
        ({"column": "colour", "levels": "red", "yes": LEAF, "no": LEAF}, "levels is a list"),
        ({"column": "colour", "levels": ["green"], "yes": LEAF, "no": LEAF}, "'green' is no level of 'colour'"),
        ({"column": "x", "branches": {"1": LEAF}}, "'x' is numeric"),
        ({"column": "colour", "branches": [LEAF]}, "branches is a dict"),
        ({"column": "colour", "branches": {"red": LEAF}}, "no branch for its level 'blue'"),
        ({"column": "colour", "branches": {"red": LEAF, "blue": LEAF, "pink": LEAF}}, "'pink' is no level"),
        ({"column": "colour", "branches": {"red": LEAF, "blue": {}}}, "at colour = blue: "),
        (test_of(missing="maybe"), "missing is one of 'yes', 'no', a node, or None; got 'maybe'"),
        (test_of(missing={"value": 1}), "at x missing: "),
        (test_of(colour="red"), "there is no entry 'colour' in a node"),
        (test_of(yes=None), "at x <= 0: a node is a dict; got NoneType"),
        ([], "at least one"),
        ([LEAF, {"class": "z"}], "at tree 1: 'z'"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_the_way_to_it(tree, words):
    with pytest.raises(ValueError, match="tree by hand") as caught:
        from_nested(tree, *COLUMNS, ("a", "b"))
    assert words in str(caught.value)


test_of.__test__ = False


def test_a_thousand_tests_are_deep_enough():
    trees = from_nested(deep(1000), *COLUMNS, ("a", "b"))
    assert trees.n_nodes == 2001
    assert text_tree(trees, Voice(*COLUMNS, ("a", "b"))).count("\n") == 1999


def test_a_regressor_has_no_classes_and_answers_alike_everywhere():
    with pytest.raises(ValueError, match="a regressor answers with 'value'"):
        from_nested(LEAF, *COLUMNS)
    with pytest.raises(ValueError, match="answers with 2 numbers, others with 1"):
        from_nested(test_of(yes={"value": 1}, no={"value": [1, 2]}), *COLUMNS)
    with pytest.raises(ValueError, match="different numbers of values"):
        from_nested([{"value": 1}, {"value": [1, 2]}], *COLUMNS)


def test_labels_are_found_in_the_leaves():
    assert labels_in(WEATHER) == ["No", "Yes"]
    assert labels_in([{"shares": {"b": 0.5, "a": 0.5}}, cyclic()]) == ["a", "b"]
    with pytest.raises(ValueError, match="name the classes in order"):
        labels_in([{"class": "x"}, {"class": 3}])


# -------------------------------------------------------------------------------------------- text, graph and JSON


def test_text_of_the_weather_tree():
    trees = from_nested(WEATHER, WEATHER_NAMES, WEATHER_KINDS, ("No", "Yes"))
    voice = Voice(WEATHER_NAMES, WEATHER_KINDS, ("No", "Yes"))
    assert text_tree(trees, voice).splitlines() == [
        "Outlook = Overcast: Yes (4 of 4)",
        "Outlook = Rainy",
        "|   Windy = False: Yes (3 of 3)",
        "|   Windy = True: No (2 of 2)",
        "Outlook = Sunny",
        "|   Humidity = High: No (3 of 3)",
        "|   Humidity = Normal: Yes (2 of 2)",
    ]
    assert text_tree(trees, voice, 1).splitlines()[1] == "Outlook = Rainy: ... 2 leaves, mostly Yes (3 of 5)"
    assert text_tree(from_nested(LEAF, *COLUMNS, "ab"), Voice(*COLUMNS, tuple("ab"))) == "always: a (1 of 1)"


def test_graph_labels_cannot_break_out():
    names, kinds = ['x"]; evil [label="'], [nominal("\\", '"\n')]
    tree = {"column": names[0], "branches": {"\\": {"class": '"]'}, '"\n': {"class": "b"}}}
    dot = dot_tree(from_nested(tree, names, kinds, ('"]', "b")), Voice(names, kinds, ('"]', "b")))
    assert 'label="x\\"]; evil [label=\\"?\\n2 rows' in dot
    assert '[label="\\\\"]' in dot
    assert len(dot.splitlines()) == 9


def test_json_holds_all_that_is_needed_to_walk():
    trees = random_trees(3, n_classes=2, n_trees=3)
    made = json.loads(json.dumps(json_trees(Additive.mean(trees, ("no", "yes")), "Forest"), allow_nan=False))
    assert made["form"] == "tilth.trees/1"
    assert made["classes"] == ["no", "yes"]
    table = random_table(30, missing=0.0)
    numbers, codes = table.numbers(), table.codes()
    total = np.zeros((30, 2))
    for nodes in made["trees"]:
        for i in range(30):
            node = nodes[0]
            while "branches" in node:
                j = NAMES.index(node["column"])
                if "threshold" in node:
                    branch = int(numbers[i, j] > node["threshold"])
                else:
                    branch = next(b for b, of in enumerate(node["codes"]) if codes[i, j - 2] in of)
                node = nodes[node["branches"][branch]]
            total[i] += node["value"]
    np.testing.assert_allclose(total, trees.sum_values(table))
