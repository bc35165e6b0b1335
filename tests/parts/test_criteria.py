"""Impurities and gains: worked numbers and laws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tilth.data.datasets import load_weather
from tilth.parts.criteria import (
    NAMED,
    Deviance,
    Entropy,
    Gini,
    Misclassification,
    Variance,
    class_shares,
    gain_ratio,
    impurity_decrease,
    information_gain,
    split_information,
    weighted_impurity,
)

CLASS_IMPURITIES = [Gini(), Entropy(), Deviance(), Misclassification()]
TABLES = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 4)), elements=st.integers(0, 40).map(float))


def weather_tables():
    frame = load_weather().frame
    return {c: pd.crosstab(frame[c], frame["Play"]).to_numpy() for c in ("Outlook", "Temp", "Humidity", "Windy")}


@pytest.mark.covers("WN-01", "T-04")
def test_the_weather_table_before_any_split():
    counts = [9, 5]
    assert float(Entropy().of(counts)) == pytest.approx(0.94029, abs=5e-6)
    assert float(Gini().of(counts)) == pytest.approx(0.45918, abs=5e-6)
    assert 1 - float(Misclassification().of(counts)) == pytest.approx(9 / 14)


@pytest.mark.covers("WN-02", "T-04", "WN-03", "T-05", "T-06")
def test_gains_of_the_weather_columns():
    tables = weather_tables().values()
    assert [information_gain(t) for t in tables] == pytest.approx([0.2467, 0.0292, 0.1518, 0.0481], abs=6e-5)
    assert [split_information(t) for t in tables] == pytest.approx([1.5774, 1.5567, 1.0, 0.9852], abs=6e-5)
    assert [gain_ratio(t) for t in tables] == pytest.approx([0.1564, 0.0188, 0.1518, 0.0488], abs=6e-5)


@pytest.mark.covers("WN-04", "T-02")
def test_a_column_of_identities_still_ranks_first_by_gain_ratio():
    identities = np.eye(2)[(load_weather().frame["Play"] == "Yes").to_numpy().astype(int)]
    assert information_gain(identities) == pytest.approx(0.9403, abs=5e-5)
    assert split_information(identities) == pytest.approx(3.8074, abs=5e-5)
    assert gain_ratio(identities) == pytest.approx(0.2470, abs=5e-5)
    outlook = weather_tables()["Outlook"]
    assert gain_ratio(identities) / gain_ratio(outlook) == pytest.approx(1.58, abs=0.01)
    assert information_gain(identities) / information_gain(outlook) == pytest.approx(3.81, abs=0.01)


@pytest.mark.covers("WN-05", "T-07", "T-10", "FX-07")
def test_weighted_gini_of_the_weather_columns():
    tables = weather_tables().values()
    assert [weighted_impurity(t) for t in tables] == pytest.approx([0.3429, 0.4405, 0.3673, 0.4286], abs=6e-5)
    assert [impurity_decrease(t) for t in tables] == pytest.approx([0.1163, 0.0187, 0.0918, 0.0306], abs=6e-5)


@pytest.mark.covers("WN-14", "T-08")
def test_three_red_six_blue_one_green():
    counts = [3, 6, 1]
    assert class_shares(counts).tolist() == [0.3, 0.6, 0.1]
    assert float(Misclassification().of(counts)) == pytest.approx(0.4)
    assert float(Gini().of(counts)) == pytest.approx(0.54)
    assert float(Entropy().of(counts)) == pytest.approx(1.2955, abs=5e-5)


@pytest.mark.covers("WN-15", "WN-16", "WN-17", "WN-18", "WN-19", "T-07", "T-08", "FX-38")
@pytest.mark.parametrize(
    ("counts", "error", "gini", "bits"),
    [((16, 0), 0, 0, 0), ((15, 1), 1 / 16, 0.1171875, 0.33729), ((8, 8), 0.5, 0.5, 1.0)],
)
def test_sixteen_elements(counts, error, gini, bits):
    assert float(Misclassification().of(counts)) == error
    assert float(Gini().of(counts)) == pytest.approx(gini)
    assert float(Entropy().of(counts)) == pytest.approx(bits, abs=5e-6)


@pytest.mark.covers("WN-20", "WN-21", "FX-07", "FX-37")
@pytest.mark.parametrize("k", [2, 3, 7])
def test_bounds_are_reached_by_equal_shares_and_never_passed(k):
    assert Misclassification().bound(k) == pytest.approx(1 - 1 / k)
    assert Gini().bound(k) == pytest.approx(1 - 1 / k)
    assert Entropy().bound(k) == pytest.approx(np.log2(k))
    assert Deviance().bound(k) == pytest.approx(np.log(k))
    assert Variance().bound(k) == np.inf
    counts = np.random.default_rng(k).integers(0, 50, (200, k))
    for impurity in CLASS_IMPURITIES:
        assert (impurity.of(counts) <= impurity.bound(k) + 1e-12).all()


@pytest.mark.covers("T-09")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(TABLES)
def test_deviance_is_entropy_in_other_units(table):
    assert impurity_decrease(table, Deviance()) == pytest.approx(np.log(2) * information_gain(table), abs=1e-12)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(TABLES, st.sampled_from(CLASS_IMPURITIES))
def test_a_split_never_makes_the_groups_more_mixed(table, impurity):
    assert impurity_decrease(table, impurity) >= -1e-12
    assert (impurity.of(table) >= 0).all()
    assert impurity.of(table * 3.5) == pytest.approx(impurity.of(table))
    pure = np.diag(table.max(axis=0) + 1)
    assert impurity.of(pure) == pytest.approx(np.zeros(len(pure)))


@pytest.mark.covers("T-10")
def test_weighted_impurity_by_hand():
    table = np.array([[2.0, 0.0], [1.0, 3.0]])
    shares = [(1.0, 0.0), (0.25, 0.75)]
    by_hand = sum(w / 6 * (1 - a * a - b * b) for w, (a, b) in zip((2, 4), shares, strict=True))
    assert weighted_impurity(table) == pytest.approx(by_hand)
    assert weighted_impurity(table, Misclassification()) == pytest.approx(1 / 6)


@pytest.mark.covers("T-12")
def test_variance_adds_over_groups():
    y, w = np.array([1.0, 2.0, 4.0, 9.0]), np.array([1.0, 2.0, 1.0, 0.5])
    whole, left, right = (Variance.statistic(y[i], w[i]) for i in (slice(None), slice(0, 2), slice(2, 4)))
    assert whole == pytest.approx(left + right)
    assert float(Variance().of(whole)) == pytest.approx(np.cov(y, aweights=w, ddof=0))
    between = impurity_decrease(np.array([left, right]), Variance())
    means = np.array([left[1] / left[0], right[1] / right[0]])
    expected = np.cov(means, aweights=[left[0], right[0]], ddof=0)
    assert between == pytest.approx(expected)


def test_empty_groups_and_bad_counts():
    for impurity in CLASS_IMPURITIES:
        assert float(impurity.of([0, 0])) == 0
    assert gain_ratio([[3, 2], [0, 0]]) == 0
    assert weighted_impurity(np.zeros((2, 2))) == 0
    with pytest.raises(ValueError, match="not negative"):
        Gini().of([-1, 2])
    assert NAMED["gini"]() == Gini()
