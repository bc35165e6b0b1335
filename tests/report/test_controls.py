import json

import numpy as np
import pytest

from tilth.base import Section
from tilth.report import to_html, to_text
from tilth.report.controls import ControlError, checked

HOSTILE = "</script><script>window.hacked=1</script>"


def threshold(**changes):
    return {
        "kind": "threshold", "thresholds": [0.2, 0.5, 0.8], "tp": [9, 6, 2], "fp": [20, 4, 0], "fn": [1, 4, 8],
        "tn": [70, 86, 90], "n": 100, "chosen": 0.5, "positive": "yes", "cost": {"fp": 1, "fn": 3}, **changes,
    }  # fmt: skip


def test_a_threshold_says_its_counts_rates_and_costs_as_a_table():
    table = checked(threshold()).table
    assert table.header == ["", "threshold", "TP", "FP", "FN", "TN", "precision", "recall", "cost per 1,000"]
    # 4 false alarms at 1 and 4 misses at 3 among 100 rows: 1000 * 16 / 100.
    assert table.rows[0] == ["chosen", "0.5", "6", "4", "4", "86", "0.6", "0.6", "160"]
    assert table.rows[1][:2] == ["cheapest at these costs", "0.5"]
    assert checked(threshold(cost={"fp": 1, "fn": 20})).table.rows[1][1] == "0.2"
    assert checked(threshold(cost={"fp": 5, "fn": 1})).table.rows[1][1] == "0.8"


def test_a_rate_without_rows_is_left_open():
    row = checked(threshold(chosen=0.8, tp=[9, 6, 0], fp=[20, 4, 0])).table.rows[0]
    assert row[6] == ""


def test_the_nearest_threshold_is_the_chosen_one_and_counts_may_be_weights():
    found = checked(threshold(chosen=0.76, tp=np.array([9.5, 6.25, 2.0])))
    assert found.table.rows[0][1] == "0.8"
    assert json.loads(found.json())["tp"] == [9.5, 6.25, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tp": [1, 2]}, "one length"),
        ({"thresholds": [], "tp": [], "fp": [], "fn": [], "tn": []}, "from 1 to 200"),
        ({"thresholds": [0.5, 0.2, 0.8]}, "must rise"),
        ({"fp": [1, -1, 0]}, "fp .* at least 0; found -1"),
        ({"fp": [1, float("nan"), 0]}, "found nan"),
        ({"fn": "abc"}, "list 'fn'; found str"),
        ({"tn": None}, "list 'tn'; found NoneType"),
        ({"n": 0}, "needs rows"),
        ({"n": "many"}, "found 'many'"),
        ({"chosen": None}, "chosen .* found None"),
        ({"cost": {"fp": float("inf")}}, "cost of fp"),
        ({"kind": "../report"}, "kinds are threshold, rows, numbers"),
        ({"kind": None}, "kind None is unknown"),
    ],
)
def test_a_control_of_the_wrong_shape_is_refused_in_a_sentence(changes, words):
    with pytest.raises(ControlError, match=words):
        checked(threshold(**changes))


def cards(**changes):
    reasons = [{"column": "age", "value": "31", "amount": 0.5}, {"column": "job", "amount": -2.0}]
    row = {"title": "Row 17", "facts": {"said": "yes"}, "cells": {"job": "none", "age": 31}, "reasons": reasons}
    return {"kind": "rows", "columns": ["age", "job"], "rows": [{**row, **changes}]}


def test_rows_are_cards_with_the_largest_reason_first():
    found = checked(cards())
    card = found.shown["cards"][0]
    assert [(r["column"], r["side"], r["width"]) for r in card["reasons"]] == [
        ("job", "against", "100.0"),
        ("age", "for", "25.0"),
    ]
    assert list(card["cells"]) == ["age", "job"]
    assert found.table.header == ["example", "said", "age", "job", "reasons"]
    assert found.table.rows == [["Row 17", "yes", "31", "none", "job -2, age = 31 +0.5"]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reasons": [{"column": "a", "amount": float("nan")}]}, "finite number as its amount; found nan"),
        ({"reasons": [{"column": "a"}]}, "found None"),
        ({"reasons": ["age"]}, "list of mappings"),
        ({"light": "green"}, "found 'green'"),
    ],
)
def test_cards_of_the_wrong_shape_are_refused(changes, words):
    with pytest.raises(ControlError, match=words):
        checked(cards(**changes))


def test_a_card_needs_no_more_than_a_title_and_no_rows_are_fine():
    assert checked({"kind": "rows", "rows": [{"title": "Row 3"}]}).table.rows == [["Row 3", ""]]
    assert checked({"kind": "rows", "rows": []}).table.rows == []
    assert "Nothing" in to_html([Section("Nothing", control={"kind": "rows", "rows": []})])


def test_data_of_a_control_cannot_end_its_script():
    evil = Section("T", control=threshold(positive=HOSTILE))
    page = to_html([evil, Section("R", control=cards(title=HOSTILE, text=HOSTILE, facts={HOSTILE: HOSTILE}))])
    assert HOSTILE not in page
    assert page.count("</script>") == 3
    assert "\\u003c" in checked(threshold()).__class__("x", {}, checked(threshold()).table, {"a": HOSTILE}).json()


def test_a_control_is_its_table_where_nothing_moves():
    page = to_html([Section("T", control=threshold())])
    before, after = page.split('<div class="moving" hidden>')
    assert "cheapest at these costs" in before
    assert "cheapest at these costs" not in after
    assert "cheapest at these costs" in to_text([Section("T", control=threshold())])
