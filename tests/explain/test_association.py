"""How strongly columns of any kinds go together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from scipy.stats.contingency import association as peer_association

from tilth.data.kinds import Kind, nominal, ordinal
from tilth.data.table import Column
from tilth.explain.association import alike, associations, level_pairs


def number(name: str, values) -> Column:
    return Column(name, Kind("numeric"), np.asarray(values, dtype=float))


def levels(name: str, codes, kind=None) -> Column:
    codes = np.asarray(codes, dtype=np.int32)
    return Column(name, kind or nominal(*range(int(codes.max()) + 1)), codes)


def test_numbers_and_ranks_have_spearmans_r():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=100), rng.normal(size=100)
    y += x
    y[:10] = np.nan
    rank = ordinal("low", "mid", "high")
    codes = np.digitize(x, [-0.5, 0.5])
    found = associations([number("x", x), number("y", y), levels("r", codes, rank)])
    assert found[0, 1] == pytest.approx(abs(spearmanr(x[10:], y[10:]).statistic))
    assert found[0, 2] == pytest.approx(abs(spearmanr(x, codes).statistic))
    np.testing.assert_array_equal(found, found.T)


def test_levels_have_cramers_v_less_what_chance_gives():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 2000)
    b = np.where(rng.random(2000) < 0.7, a, rng.integers(0, 4, 2000))
    table = np.zeros((4, 4), dtype=int)
    np.add.at(table, (a, b), 1)
    assert associations([levels("a", a), levels("b", b)])[0, 1] == pytest.approx(
        peer_association(table, method="cramer"), abs=0.01
    )


def test_many_levels_are_not_taken_for_an_association():
    """900 levels of 1000 rows: eta and V without correction would be near 1."""
    rng = np.random.default_rng(2)
    many, other = rng.integers(0, 900, 1000), rng.integers(0, 30, 1000)
    found = associations([levels("many", many), number("x", rng.normal(size=1000)), levels("other", other)])
    assert found[0, 1] < 0.6
    assert found[0, 2] < 0.4
    assert found[1, 2] < 0.2


def test_a_number_that_levels_tell_is_one_of_theirs():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 5, 500)
    x = np.array([3.0, -1.0, 7.0, 0.0, 2.0])[codes] + 0.01 * rng.normal(size=500)
    noise = number("noise", rng.normal(size=500))
    assert alike([levels("k", codes), number("x", x), noise], 0.9) == [("k", "x")]


def test_constant_empty_and_single_columns_go_with_nothing():
    x = np.arange(50.0)
    columns = [number("x", x), number("same", np.ones(50)), number("gone", np.full(50, np.nan))]
    columns.append(levels("one", np.zeros(50)))
    assert alike(columns, 0.9) == []
    assert alike(columns[:1], 0.9) == []
    assert alike([number(str(j), x) for j in range(401)], 0.9) == []  # too many to look at


def test_too_many_pairs_with_levels_leave_the_numbers():
    codes = np.arange(60) % 3
    columns = [number("x", np.arange(60)), number("twice", 2 * np.arange(60)), levels("a", codes), levels("b", codes)]
    assert level_pairs(columns) == 5
    assert alike(columns, 0.9) == [("x", "twice"), ("a", "b")]
    assert alike(columns, 0.9, most_pairs=4) == [("x", "twice")]
