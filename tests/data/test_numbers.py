"""Numbers and missing values as people type them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilth.data.numbers import is_missing_token, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), (" 12 % ", 12.0), ("-3e2", -300.0), (".5", 0.5), ("+7.", 7.0), (True, 1.0), (4, 4.0)],
)
def test_numbers(text: object, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    "text", ["four", "1,23", "1.2.3", "12,34,567", "0x10", "1 2", "inf", "1_000", "5kg", None, [1]]
)
def test_what_could_mean_two_things_is_no_number(text: object) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["", "?", " N/A ", "nan", "NULL", "-", "unknown"])
def test_tokens_for_no_value(text: str) -> None:
    assert is_missing_token(text)
    value = parse_number(text)
    assert value is not None
    assert math.isnan(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_reads_back(number: float) -> None:
    assert parse_number(repr(number)) == number


def test_words_are_values() -> None:
    assert not is_missing_token("no")
    assert not is_missing_token(0)
