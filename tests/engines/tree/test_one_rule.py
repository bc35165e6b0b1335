"""One rule: Holte's buckets on worked examples, branches, merging."""

from __future__ import annotations

import numpy as np
import pytest

from tilth.data.kinds import Kind
from tilth.data.table import Column, Table
from tilth.engines.tree.one_rule import RuleStatistic, find_rules


def numeric(values):
    return Table([Column("x", Kind("numeric"), np.asarray(values, dtype=float))], len(values))


def rule_of(values, y, min_bucket):
    statistic = RuleStatistic.empty(max(y) + 1, [], 1)
    statistic.update(numeric(values), np.asarray(y, dtype=np.int32))
    return find_rules(statistic, [("x", Kind("numeric"))], min_bucket)[0]


def test_buckets_close_when_the_majority_is_large_enough_and_changes():
    rule = rule_of(range(12), [0] * 4 + [1] * 4 + [0] * 4, 3)
    assert rule.edges == pytest.approx([3.5, 7.5])
    assert rule.errors == 0


def test_neighbours_with_the_same_majority_merge():
    rule = rule_of(range(10), [0, 0, 1, 0, 0, 0, 1, 1, 1, 1], 3)
    assert rule.edges == pytest.approx([5.5])
    assert rule.errors == 1


def test_one_class_is_one_branch():
    rule = rule_of([1.0, 2.0, 3.0], [0, 0, 0], 1)
    assert rule.edges.size == 0
    assert rule.errors == 0


def test_equal_values_are_never_split():
    rule = rule_of([1.0, 1.0, 1.0, 2.0], [0, 1, 1, 0], 1)
    assert rule.edges == pytest.approx([1.5])
    assert rule.branch(Column("x", Kind("numeric"), np.array([1.0, 1.5, 1.6, np.nan]))).tolist() == [0, 0, 1, 2]


def test_growing_keeps_missing_last():
    kind = Kind("nominal", ("a", "b"))
    table = Table([Column("v", kind, np.array([0, 1, -1], dtype=np.int32))], 3)
    statistic = RuleStatistic.empty(1, [2], 0)
    statistic.update(table, np.zeros(3, dtype=np.int32))
    grown = statistic.grow([4])
    assert grown.levels.column(0).tolist() == [[1, 1, 0, 0, 1]]
