"""Kinds allow what their values mean, and refuse the rest with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.data import Column, Kind, nominal, numeric, ordinal
from tilth.data.kinds import level_key, plain_level, sort_levels
from tilth.errors import KindError

COLOUR = Column("colour", nominal("red", "blue"), np.array([0, 1, 1, -1], dtype=np.int32))
SIZE = Column("size", ordinal("low", "mid", "high"), np.array([0, 2, 2, 1, -1], dtype=np.int32))
AGE = Column("age", numeric, np.array([1.0, 3.0, np.nan, 8.0]))


@pytest.mark.covers("D-02", "SP-15")
def test_operations_that_have_no_meaning_are_refused() -> None:
    with pytest.raises(KindError, match=r"'colour' is nominal: .*equality, so a mean has no meaning"):
        COLOUR.mean()
    with pytest.raises(KindError, match=r"'colour' is nominal.*a median has no meaning"):
        COLOUR.median()
    with pytest.raises(KindError, match=r"'size' is ordinal: .*no distances, so a difference has no meaning"):
        SIZE.difference(0, 1)
    with pytest.raises(KindError, match="a mean has no meaning"):
        SIZE.mean()


@pytest.mark.covers("D-02")
def test_operations_that_have_a_meaning_work() -> None:
    assert COLOUR.mode() == "blue"
    assert SIZE.mode() == "high"
    assert SIZE.median() == "mid"
    assert AGE.mean() == 4.0
    assert AGE.median() == 3.0
    assert AGE.difference(3, 0) == 7.0
    assert AGE.mode() == 1.0
    assert [k.allows("order") for k in (COLOUR.kind, SIZE.kind, AGE.kind)] == [False, True, True]


def test_empty_columns_have_no_middle() -> None:
    empty = Column("x", numeric, np.array([np.nan]))
    assert np.isnan([empty.mean(), empty.median(), empty.mode()]).all()
    assert np.isnan(Column("s", SIZE.kind, np.array([-1], dtype=np.int32)).mode())


def test_labels_as_a_person_writes_them() -> None:
    assert COLOUR.labels().tolist() == ["red", "blue", "blue", None]


def test_one_level_has_many_spellings() -> None:
    assert {level_key(v) for v in (3, 3.0, "3", np.int64(3), np.float32(3))} == {"3"}
    assert level_key(True) != level_key(1)
    assert level_key(2.5) == "2.5"
    assert plain_level(np.int64(4)) == 4
    assert type(plain_level(np.str_("a"))) in (str, np.str_)


def test_natural_order_of_levels() -> None:
    assert sort_levels(["b10", "b9", "a"]) == ["a", "b9", "b10"]
    assert sort_levels([10, 9.5, 2]) == [2, 9.5, 10]
    assert sort_levels(["x", 3, "2"]) == ["2", 3, "x"]


def test_kinds_print_themselves() -> None:
    assert str(ordinal("low", "high")) == "ordinal(low < high)"
    assert str(nominal(*"abcdefgh")) == "nominal(a, b, c, d, e, f, ...)"
    assert str(numeric) == "numeric"
    assert Kind("numeric") == numeric
