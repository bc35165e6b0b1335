"""Rows that occur twice, and rows that agree in everything but the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tilth.lifecycle.profile.finding import Finding, count, percent
from tilth.lifecycle.profile.view import ColumnView, View

Keys = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def row_keys(columns: Sequence[ColumnView]) -> Keys:
    """A 64-bit key per row; equal rows have equal keys."""
    keys = np.zeros(columns[0].n_rows if columns else 0, dtype=np.uint64)
    for column in columns:
        keys = _mixed(keys * _ODD + _mixed(_cells(column)))
    return keys


def _cells(column: ColumnView) -> Keys:
    """Cells as bits, all missing ones alike and -0.0 as 0.0."""
    if column.is_number or column.raw.form == "date":
        numbers = column.numbers + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    return column.raw.values.astype(np.int64).view(np.uint64)


def _mixed(bits: Keys) -> Keys:
    """Spread the bits (the finaliser of a multiplicative hash)."""
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits ^ (bits >> np.uint64(29)))


def first_of_equal(columns: Sequence[ColumnView]) -> NDArray[np.bool_]:
    """Which rows are the first of their kind. Keys propose equal rows; the cells themselves decide."""
    first = first_places(columns)
    return np.asarray(first == np.arange(len(first)))


def first_places(columns: Sequence[ColumnView]) -> NDArray[np.int64]:
    """For each row the number of the first row equal to it (itself, if it is the first)."""
    n = columns[0].n_rows if columns else 0
    places = np.arange(n)
    if n == 0:
        return places
    keys = row_keys(columns)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    head = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    follower = ~starts
    rows, leaders = order[follower], head[follower]
    same = np.ones(len(rows), dtype=bool)
    for column in columns:
        cells = _cells(column)
        same &= cells[rows] == cells[leaders]
    places[rows[same]] = leaders[same]
    return places


def chance_pairs(columns: Sequence[ColumnView]) -> float:
    """Pairs of equal rows to be expected if the columns were independent: ``n (n - 1) / 2 x prod_j sum_v p_jv^2``."""
    n = columns[0].n_rows if columns else 0
    log_pairs = float(np.log(max(n * (n - 1) / 2, 1e-300)))
    for column in columns:
        counts = np.append(column.distinct[1], column.n_missing) / max(1, n)
        log_pairs += float(np.log((counts**2).sum()))
    return float(np.exp(min(log_pairs, 700.0)))


def duplicate_rows(view: View) -> Iterator[Finding]:
    """Rows that repeat an earlier row in every column, and rows that differ in an identifier only."""
    columns = view.everything
    if view.n_rows < 2 or not columns:
        return
    first = first_places(columns)
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
            "If a row is a case, drop the repeats: the same row in training and test makes any score too good."
            if unlikely
            else "As many as chance would give in a table of few levels: probably different cases.",
        )  # fmt: skip


def repeated_keys(view: View) -> Iterator[Finding]:
    """An identifier that repeats although the rows differ: groups, or a row entered twice with a change."""
    if view.n_rows < 20 or not view.columns:
        return
    from tilth.lifecycle.profile.redundancy import identifiers

    ids = [f.columns[0] for f in identifiers(view) if f.severity == "warning"]
    different = first_of_equal(view.everything)
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
            f"{count(n_groups, 'group')} of equal rows with different targets: {count(lost, 'error')} no model can avoid",
            {
                "groups": n_groups, "rows_in_them": int(in_clash.sum()), "unavoidable_errors": lost,
                "best_accuracy": 1 - lost / view.n_rows, "expected_pairs_by_chance": expected,
                "rows": view.row_numbers(in_clash),
            },
            "Check these labels, or look for the column that would tell the cases apart.",
        )  # fmt: skip
