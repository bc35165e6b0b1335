"""Rows that occur twice, and rows that agree in everything but the answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilth.quality.equal import chance_pairs, first_places
from tilth.quality.finding import Finding
from tilth.quality.redundancy import identifiers
from tilth.quality.view import View
from tilth.words import count, percent


def duplicate_rows(view: View) -> Iterator[Finding]:
    """Rows that repeat an earlier row in every column, beside the number that chance would give."""
    columns = view.everything
    if view.n_rows < 2 or not columns:
        return
    first = view.first_rows
    repeat = first != np.arange(view.n_rows)
    n = int(repeat.sum())
    if n:
        expected = chance_pairs(columns)
        share = n / view.n_rows
        unlikely = n > 3 + 5 * expected
        yield Finding(
            "serious" if unlikely and share >= 0.01 else "warning" if unlikely else "info",
            (),
            f"{count(n, 'row')} ({percent(share)}) repeat{'s' if n == 1 else ''} an earlier row exactly",
            {
                "repeats": n, "share": share, "expected_by_chance": expected, "different_rows": view.n_rows - n,
                "rows": view.row_numbers(repeat), "repeat_of": [int(i) for i in first[repeat][:10]],
            },
            "If a row is a case, drop the repeats: the same row in training and test makes any score optimistic."
            if unlikely
            else "As many as chance would give in a table of few levels: probably different cases.",
        )  # fmt: skip


def repeated_keys(view: View) -> Iterator[Finding]:
    """An identifier that repeats although the rows differ: groups, or a row entered twice with a change."""
    if view.n_rows < 20 or not view.columns:
        return
    ids = [f.columns[0] for f in identifiers(view) if f.severity == "warning"]
    different = view.is_first
    for name in ids:
        column = view.column(name)
        codes = column.codes[different & ~column.missing]
        again = int((np.bincount(codes) > 1).sum()) if codes.size else 0
        if again:
            twice = np.bincount(codes, minlength=column.n_distinct) > 1
            yield Finding(
                "warning",
                (name,),
                f"{name}: {count(again, 'value')} with rows that differ",
                {"values": again, "rows": view.row_numbers(different & ~column.missing & twice[column.codes])},
                "Two versions of one record, or one case measured twice: keep one, or split by groups.",
            )


def conflicting_labels(view: View) -> Iterator[Finding]:
    """Rows that agree in every column but have different targets: the best any model can do is guess."""
    y = view.classes
    if y is None or view.n_rows < 2 or not view.columns:
        return
    features = [c for c in view.columns if c.spec.role == "feature" and c.n_distinct > 0]
    # An identifier of numbers tells every row apart; without it, equal cases become visible.
    features = [c for c in features if c.n_distinct < view.n_rows or not c.is_number or c.raw.form != "integer"]
    if not features:
        return
    known = y >= 0
    first = first_places(features)
    leader_label = y[first]
    clash = known & (leader_label >= 0) & (y != leader_label)
    n_groups = len(np.unique(first[clash]))
    if n_groups:
        # Errors that cannot be avoided: per group, the rows outside its most frequent label.
        in_clash = np.isin(first, np.unique(first[clash])) & known
        group = np.unique(first[in_clash], return_inverse=True)[1]
        table = np.zeros((n_groups, int(y.max()) + 1), dtype=np.int64)
        np.add.at(table, (group, y[in_clash]), 1)
        lost = int(table.sum() - table.max(axis=1).sum())
        expected = chance_pairs(features)
        unlikely = n_groups > 3 + 5 * expected
        yield Finding(
            "warning" if unlikely and lost >= 0.01 * view.n_rows else "info",
            () if view.target is None else (view.target.name,),
            f"{count(n_groups, 'group')} of equal rows with different targets: "
            f"any model makes at least {count(lost, 'error')}",
            {
                "groups": n_groups, "rows_in_them": int(in_clash.sum()), "unavoidable_errors": lost,
                "best_accuracy": 1 - lost / view.n_rows, "expected_pairs_by_chance": expected,
                "rows": view.row_numbers(in_clash),
            },
            "Check these labels, or look for a column that would separate the cases.",
        )  # fmt: skip
