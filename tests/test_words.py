"""Numbers and lists as people write them."""

import json

import numpy as np
import pytest

from tilth import words


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 rows are"), (1, "1 row is"), (2, "2 rows are"), (26278, "26,278 rows are")]
)
def test_nouns_and_verbs_agree_with_their_number(n, text):
    assert f"{words.count(n, 'row')} {words.verb(n, 'is')}" == text


def test_a_long_list_says_how_many_are_not_named():
    assert words.listed(["a"]) == "a"
    assert words.listed([]) == ""
    assert words.listed(range(6)) == "0, 1, 2, 3, 4, 5"
    assert words.listed(range(2000), 3) == "0, 1, 2 and 1,997 more"
    assert words.listed(["a", "b"], last="and") == "a and b"
    assert words.listed(["a"], last="and") == "a"
    assert words.listed("abcd", 3, last="or") == "a, b, c and 1 more"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (99.94, "99.9 s"), (150, "2 min"), (7500, "2 h 05 min")]
)
def test_durations(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(999_999, "999,999"), (1_000_000, "1 million"), (1_250_000, "1.2 million"), (-3e9, "-3 billion"), (12, "12")],
)
def test_large_numbers_are_said_aloud(n, text):
    assert words.about(n) == text


def test_one_scale_for_a_number_and_its_interval():
    assert words.spanned(26278.4, 9.5, 30000.2) == "26,278 (10 to 30,000)"
    assert words.spanned(0.83, 0.8, float("nan"), sign="+") == "+0.830 (+0.800 to +nan)"


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (1.0, "100%"), (0.761, "76.1%"), (0.00001, "under 0.1%")])
def test_a_share_is_never_rounded_to_all_or_nothing(share, text):
    assert words.percent(share) == text


def test_plain_values_fit_into_json():
    value = {
        1: np.int64(3), "a": np.array([[1.0, np.nan]]), "b": (np.float32(0.5), np.bool_(True)), "c": {None},
        "d": float("inf"), "e": np.array("x"), "f": object,
    }  # fmt: skip
    assert json.loads(json.dumps(words.plain(value), allow_nan=False)) == {
        "1": 3, "a": [[1.0, None]], "b": [0.5, True], "c": [None], "d": None, "e": "x", "f": "<class 'object'>",
    }  # fmt: skip
