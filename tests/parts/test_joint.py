"""Probability calculus: every rule holds on every table, to the last digits."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tilth.data.datasets import load_weather
from tilth.errors import KindError, SchemaError
from tilth.models.bayes.naive_bayes import NaiveBayes
from tilth.parts.information import mutual_information
from tilth.parts.joint import JointTable

LEVELS = {"a": ["x", "y"], "b": [0, 1, 2], "c": ["no", "yes"]}
CLOSE = {"rtol": 0.0, "atol": 1e-12}

cells = hnp.arrays(np.float64, (2, 3, 2), elements=st.one_of(st.just(0.0), st.floats(1e-3, 10)))
tables = cells.filter(lambda t: t.sum() > 0).map(lambda t: JointTable(t, LEVELS))


def rain_table():
    """The sky is grey or not, it rains or not, the grass is wet or not: wet depends on the sky through rain only."""
    sky, rain = np.array([0.4, 0.6]), np.array([[0.7, 0.3], [0.1, 0.9]])
    wet = np.array([[0.9, 0.1], [0.2, 0.8]])
    joint = sky[:, None, None] * rain[:, :, None] * wet[None]
    return JointTable(joint, {"sky": ["grey", "clear"], "rain": ["yes", "no"], "wet": ["yes", "no"]})


@pytest.mark.covers("P-01")
@settings(deadline=None)
@given(table=tables)
def test_product_rule_and_chain_rule_give_the_joint_back(table):
    product = table.conditional("a", ["b", "c"]).times(table.marginal("b", "c"))
    np.testing.assert_allclose(product.probabilities, table.probabilities, **CLOSE)
    first, second, third = table.chain("c", "a", "b")
    assert [str(f) for f in (first, second, third)] == ["P(c)", "P(a | c)", "P(b | c, a)"]
    chained = third.times(second.times(first))
    assert chained.names == ("b", "a", "c")
    np.testing.assert_allclose(chained.marginal("a", "b", "c").probabilities, table.probabilities, **CLOSE)


@pytest.mark.covers("P-01")
@settings(deadline=None)
@given(table=tables)
def test_marginalisation_in_its_three_forms(table):
    summed = table.probabilities.sum(axis=(1, 2))
    # P(a) = sum P(a, b, c)
    np.testing.assert_allclose(table.marginal("a").probabilities, summed, **CLOSE)
    # P(a) = sum over b of P(a | b) P(b)
    total = table.conditional("a", "b").times(table.marginal("b")).marginal("a")
    np.testing.assert_allclose(total.probabilities, summed, **CLOSE)
    # P(a | c) = sum over b of P(a | b, c) P(b | c)
    given_c = table.conditional("a", ["b", "c"]).times(table.conditional("b", "c")).marginal("a")
    direct = table.conditional("a", "c")
    assert given_c.given_names == ("c",)
    np.testing.assert_allclose(given_c.probabilities, direct.probabilities, **CLOSE)


@pytest.mark.covers("P-01", "FX-01")
@settings(deadline=None)
@given(table=tables)
def test_bayes_rule_is_the_conditional_the_other_way(table):
    direct, turned = table.conditional("a", "b"), table.bayes("a", "b")
    assert (turned.names, turned.given_names) == (("a",), ("b",))
    np.testing.assert_allclose(turned.probabilities, direct.probabilities, **CLOSE)
    sums = turned.probabilities.sum(axis=0)
    happens = table.marginal("b").probabilities > 0
    np.testing.assert_allclose(sums[happens], 1.0, **CLOSE)
    assert np.isnan(sums[~happens]).all(), "nothing is known given what never happens"


@pytest.mark.covers("P-01", "FX-59")
@settings(deadline=None)
@given(table=tables)
def test_events_that_exclude_each_other_add(table):
    a, b = {"b": 0}, {"b": [1, 2]}
    assert table.are_disjoint(a, b)
    assert table.probability_of_any(a, b) == pytest.approx(table.probability(a) + table.probability(b), abs=1e-12)
    assert table.probability_of_all(a, b) == 0
    one, two = {"a": "x"}, {"c": "yes"}
    either = table.probability(one) + table.probability(two) - table.probability_of_all(one, two)
    assert table.probability_of_any(one, two) == pytest.approx(either, abs=1e-12)
    assert table.probability_of_all(one, two) == table.probability(a="x", c="yes")
    assert table.probability() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.covers("P-01")
@settings(deadline=None)
@given(table=tables)
def test_conditioning_on_an_event_is_the_conditional_table(table):
    assume(table.probability(b=1) > 0)
    left = table.given(b=1)
    assert left.names == ("a", "c")
    direct = table.conditional(["a", "c"], "b")
    for a, c in (("x", "no"), ("y", "yes")):
        assert left.probability(a=a, c=c) == pytest.approx(direct[{"a": a, "c": c, "b": 1}], abs=1e-12)
    some = table.given(b=[0, 1])
    assert some.names == ("a", "b", "c")
    assert some.probability(b=2) == 0


@pytest.mark.covers("P-01")
def test_independence_and_conditional_independence():
    coins = JointTable(np.outer([0.3, 0.7], [0.6, 0.4]), {"one": ["h", "t"], "two": ["h", "t"]})
    assert coins.is_independent("one", "two")
    rain = rain_table()
    assert not rain.is_independent("sky", "wet")
    assert rain.is_independent("sky", "wet", given="rain")
    assert not rain.is_independent("sky", "rain", given="wet")
    # Independent in pairs, not all together: the parity of two coins.
    parity = np.zeros((2, 2, 2))
    for i in range(2):
        for j in range(2):
            parity[i, j, i ^ j] = 0.25
    coins3 = JointTable(parity, {"u": [0, 1], "v": [0, 1], "w": [0, 1]})
    assert coins3.is_independent("u", "w")
    assert coins3.is_independent("v", "w")
    assert not coins3.is_independent(["u", "v"], "w")
    assert not coins3.is_independent("u", "v", given="w")
    assert coins3.mutual_information(["u", "v"], "w") == pytest.approx(1.0)


@settings(deadline=None)
@given(table=tables)
def test_entropies_obey_the_chain_rule(table):
    whole = table.entropy("a") + table.entropy("b", given="a") + table.entropy("c", given=["a", "b"])
    assert table.entropy() == pytest.approx(whole, abs=1e-9)
    shared = table.mutual_information("a", "b")
    assert shared == pytest.approx(mutual_information(table.marginal("a", "b").probabilities), abs=1e-9)
    given_c = table.mutual_information("a", "b", given="c", base=math.e)
    other = table.entropy("a", given="c", base=math.e) - table.entropy("a", given=["b", "c"], base=math.e)
    assert given_c == pytest.approx(other, abs=1e-9)
    assert table.is_independent("a", "b", tolerance=1e-6) or shared > 0


@pytest.mark.covers("P-03", "FX-60")
def test_expectations_of_discrete_variables():
    die = JointTable(np.full(6, 1 / 6), {"die": range(1, 7)})
    assert die.expectation("die") == pytest.approx(3.5)
    assert die.expectation(lambda cell: (cell["die"] - 3.5) ** 2) == pytest.approx(35 / 12)
    assert die.given(die=[5, 6]).expectation("die") == pytest.approx(5.5)
    two = JointTable(np.full((6, 6), 1 / 36), {"one": range(1, 7), "two": range(1, 7)})
    assert two.expectation(lambda cell: cell["one"] + cell["two"]) == pytest.approx(7.0)
    assert two.expectation(lambda cell: float(cell["one"] + cell["two"] == 7)) == pytest.approx(1 / 6)
    coin = JointTable([1, 1], {"coin": [0, 1]})
    drawn = coin.sample(40_000, random_state=0)["coin"]
    assert drawn.mean() == pytest.approx(coin.expectation("coin"), abs=0.01)
    with pytest.raises(KindError, match="no mean"):
        rain_table().expectation("sky")


def test_a_sample_gives_the_table_back():
    table = rain_table()
    rows = table.sample(60_000, random_state=1)
    assert list(rows.columns) == ["sky", "rain", "wet"]
    again = JointTable.from_columns(rows)
    for sky in ("grey", "clear"):
        for wet in ("yes", "no"):
            assert again.probability(sky=sky, wet=wet) == pytest.approx(table.probability(sky=sky, wet=wet), abs=0.01)
    pd.testing.assert_frame_equal(rows, table.sample(60_000, random_state=1))


def test_a_table_of_columns_counts_rows_by_weight():
    weather = load_weather().frame
    table = JointTable.from_columns(weather, ["Outlook", "Play"])
    assert table.probability(Play="Yes") == pytest.approx(9 / 14)
    assert table.conditional("Outlook", "Play")[{"Outlook": "Overcast", "Play": "No"}] == 0
    assert table.entropy("Play") == pytest.approx(0.9403, abs=5e-5)
    assert table.entropy("Play", given="Outlook") == pytest.approx(0.6935, abs=5e-5)
    assert table.mutual_information("Play", "Outlook") == pytest.approx(0.2467, abs=5e-5)
    repeated = JointTable.from_columns(weather.iloc[np.repeat(np.arange(14), 3)], ["Outlook", "Play"])
    weighted = JointTable.from_columns(weather, ["Outlook", "Play"], weight=np.full(14, 3.0))
    np.testing.assert_allclose(weighted.probabilities, repeated.probabilities, **CLOSE)
    counts = table.frame()
    assert counts["probability"].sum() == pytest.approx(1.0)
    assert list(counts.columns) == ["Outlook", "Play", "probability"]


def test_bayes_rule_is_what_naive_bayes_does_with_one_column():
    weather = load_weather().frame[["Windy", "Play"]]
    posterior = JointTable.from_columns(weather).bayes("Play", "Windy")
    model = NaiveBayes(alpha=0).fit(weather, "Play")
    for windy in (True, False):
        row = model.predict_proba(pd.DataFrame({"Windy": [windy]}))[0]
        for name, p in zip(model.classes_, row, strict=True):
            assert posterior[{"Play": name, "Windy": windy}] == pytest.approx(p)


def test_tables_do_not_change():
    counts = np.array([1.0, 3.0])
    table = JointTable(counts, {"a": ["x", "y"]})
    counts[0] = 99
    assert table.probability(a="x") == 0.25
    with pytest.raises(ValueError, match="read-only"):
        table.probabilities[0] = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: JointTable([1, 2], {"a": ["x"]}), "one entry per level"),
        (lambda: JointTable([[1, 2]], {"a": ["x", "y"]}), "one axis per variable"),
        (lambda: JointTable([1, -1], {"a": ["x", "y"]}), "at least 0"),
        (lambda: JointTable([0, 0], {"a": ["x", "y"]}), "not all of them 0"),
        (lambda: JointTable([1, np.nan], {"a": ["x", "y"]}), "finite"),
        (lambda: JointTable([1, 1], {"a": ["x", "x"]}), "differ"),
        (lambda: rain_table().probability(sun="yes"), "'sun' is not one of them"),
        (lambda: rain_table().probability(rain="perhaps"), "no level 'perhaps'; its levels are 'yes', 'no'"),
        (lambda: rain_table().marginal("rain", "rain"), "got"),
        (lambda: rain_table().conditional("rain", "rain"), "both sides"),
        (lambda: rain_table().is_independent("rain", "rain"), "got"),
        (lambda: JointTable([1, 0], {"a": [0, 1]}).given(a=1), "probability 0"),
        (lambda: JointTable([1, 1], {"a": [0, 1]}).given(a=1), "none is left"),
        (lambda: rain_table().chain("rain")[0].times(rain_table().marginal("sky")), "product rule cannot"),
        (lambda: rain_table().conditional("sky", "rain")[{"sky": "grey"}], "needs a level of each"),
        (lambda: JointTable.from_columns({"a": ["x", None]}), "missing in row 1"),
        (lambda: JointTable.from_columns({"a": ["x"]}, ["b"]), "no column 'b'"),
        (lambda: JointTable.from_columns({"a": []}), "at least one row"),
        (lambda: JointTable.from_columns({"a": ["x"]}, weight=[-1.0]), "weights of 0 or more"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises((ValueError, SchemaError, KeyError), match=message):
        call()
