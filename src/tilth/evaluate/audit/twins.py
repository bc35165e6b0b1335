"""The same case in training and in test: copies, near copies, and rows that were multiplied before the split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilth.evaluate.audit.case import Case, Change, in_row_order
from tilth.evaluate.audit.finding import Doubt, Effect
from tilth.evaluate.problem import Problem
from tilth.evaluate.splits import Split
from tilth.quality.column import ColumnView
from tilth.quality.equal import chance_pairs, first_places, row_keys
from tilth.quality.finding import Severity
from tilth.words import count, percent, plain, shown

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Test rows with a twin in training, as a share, that deserve a warning: copies, and near ones (some are chance).
MUCH, NEAR_MUCH = 0.01, 0.05
#: So many that they deserve it even where this model gains nothing by them.
MOST = 0.2
#: Rows and left-out columns from which the natural number of equal rows is estimated.
NATURAL_ROWS, NATURAL_COLUMNS = 4_000, 12
#: Different rows that a table must allow, as a multiple of its rows; in a smaller grid every row has its equals.
DENSE = 10.0
#: Equal pairs that are too many, as a multiple of the natural number.
BEYOND = 2.5
#: A near copy is this many times nearer than the neighbour after next; rows compared with each other.
NEARNESS, NEIGHBOUR, NEAR_ROWS = 0.02, 6, 5_000
#: Share of repeated rows in one class, and how much less in every other, that speaks for oversampling.
MULTIPLIED, ELSEWHERE = 0.15, 0.2
#: Rows per class that are asked whether they lie between two of so many neighbours.
ASKED, AMONG = 150, 50


def copies_across(case: Case) -> Iterator[Doubt]:
    """Test rows that have an exact copy among the training rows, more of them than so few levels would give by chance.

    The natural number of equal pairs is estimated from pairs that differ in a single column.
    """
    copies = copies_of(case)
    if copies is None or multiplied_class(case) is not None:
        return
    numbers = {"equal_pairs": copies.pairs, "natural_pairs": copies.natural}
    yield from _told(case, copies.first[case.rows], "an exact copy", numbers, MUCH)


@dataclass(frozen=True, eq=False)
class Copies:
    """For each row the first row equal to it, the pairs of equal rows, and how many would come about by themselves."""

    first: Ints
    pairs: int
    natural: float


def copies_of(case: Case) -> Copies | None:
    """Rows equal in all columns, or in those learned from, more of them than so few levels would give by chance."""
    if "copies" not in case.memo:
        case.memo["copies"] = _copies_of(case)
    copies: Copies | None = case.memo["copies"]
    return copies


def _copies_of(case: Case) -> Copies | None:
    if case.view is None or not case.used:
        return None
    # A number given to each row would tell copies apart.
    names = {f.columns[0] for f in case.identifiers}
    learned = [c for c in case.used if c.name not in names]
    some = np.linspace(0, case.view.n_rows - 1, min(case.view.n_rows, NATURAL_ROWS)).astype(np.int64)
    for columns in (case.view.columns, learned) if len(learned) < len(case.view.columns) else (learned,):
        possible = np.prod([c.take(some).n_distinct + (c.n_missing > 0) for c in columns], dtype=np.float64)
        if not columns or possible <= DENSE * case.problem.n_rows:
            continue
        first = first_places(columns)
        pairs = _pairs(first)
        if pairs > 3:
            natural = natural_pairs(columns)
            if pairs > 3 + BEYOND * natural:
                return Copies(first, pairs, natural)
    return None


def near_copies_across(case: Case) -> Iterator[Doubt]:
    """Test rows that have a near copy among the training rows: the same case measured or entered twice."""
    chosen = [c for c in case.numbers if c.n_distinct > 20]
    if len(chosen) < 3 or not case.measure:
        return
    rng = np.random.default_rng(case.seed)
    rows = case.rows
    if len(rows) > NEAR_ROWS:
        rows = np.sort(rng.choice(rows, NEAR_ROWS, replace=False))
    nearest = _near_pairs(case, chosen, rows)
    if len(nearest) < max(5, MUCH * len(rows)):
        return
    code = _united(nearest, case.problem.n_rows)
    numbers = {"near_pairs": len(nearest), "rows_compared": len(rows)}
    yield from _told(case, code[case.rows], "a near copy", numbers, NEAR_MUCH)


def _told(case: Case, code: Ints, what: str, evidence: dict[str, Any], much: float) -> Iterator[Doubt]:
    """The finding for rows whose twins have the same code."""
    twin = np.zeros(len(code), dtype=bool)
    tested = np.zeros(len(code), dtype=bool)
    for part in case.plan:
        twin[part.test] |= np.isin(code[part.test], code[part.train])
        tested[part.test] = True
    n, share = int(twin.sum()), float(twin.sum() / max(1, tested.sum()))
    if n == 0:
        return
    effect = case.effect(_without_twins(code), "Scoring without twins in training") if share >= MUCH else None
    numbers = {**evidence, "test_rows": int(tested.sum()), "with_twin": n, "share": share, **_apart(case, twin)}
    yield Doubt(
        _severity(share, effect, much),
        (),
        f"{count(n, 'test row')} ({percent(share)}) {'has' if n == 1 else 'have'} {what} among the training rows",
        {**numbers, **(effect.evidence() if effect else {})},
        "Drop the copies before splitting, or keep them together: groups= with one number per case.",
        consequence=(
            effect.words("when twins of test rows are kept out of training") + "."
            if effect
            else "A model that memorises rows is right about these without having learned anything."
        ),
    )


def _severity(share: float, effect: Effect | None, much: float) -> Severity:
    if effect is not None and effect.sure:
        return "serious"
    if effect is not None and effect.harmless and share < MOST:
        return "info"
    return "warning" if share >= much else "info"


def _apart(case: Case, twin: NDArray[np.bool_]) -> dict[str, Any]:
    """Scores of the tested rows with and without a twin."""
    if case.base is None:
        return {}
    rows, answers = in_row_order(case.base, case.plan)
    intervals = {}
    for name, chosen in (("score_with_twin", twin[rows]), ("score_without_twin", ~twin[rows])):
        if answers is not None and chosen.sum() >= 5:
            intervals[name] = case.judge.interval(answers.rows(np.flatnonzero(chosen)), level=case.level).to_dict()
    return intervals


def _without_twins(code: Ints) -> Change:
    def change(problem: Problem, split: Split) -> tuple[Problem, Split]:
        kept = split.train[~np.isin(code[split.train], code[split.test])]
        # Where next to nothing is left (a table of few levels) the comparison would say nothing.
        enough = len(kept) >= 0.3 * len(split.train)
        return problem, Split(kept if enough else split.train, split.test, split.repeat, split.fold)

    return change


def _pairs(code: Ints) -> int:
    counts = np.unique(code, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def natural_pairs(columns: Sequence[ColumnView]) -> float:
    """Pairs of equal rows that come about without copying.

    Pairs that agree in all columns but one show how dense the table is: if a share s_j of cells agrees in column j by
    itself, then for every pair that differs there alone s_j / (1 - s_j) pairs agree in all. The largest estimate over
    columns, and that for independent columns, count.
    """
    n = columns[0].n_rows
    rng = np.random.default_rng(0)
    rows = np.arange(n) if n <= NATURAL_ROWS else np.sort(rng.choice(n, NATURAL_ROWS, replace=False))
    some = [c.take(rows) for c in columns]
    left_out = rng.choice(len(some), min(len(some), NATURAL_COLUMNS), replace=False)
    equal = _pairs(row_keys(some).view(np.int64))
    best = 0.0
    for j in left_out:
        rest = [c for i, c in enumerate(some) if i != j]
        if not rest:
            continue
        one_apart = _pairs(row_keys(rest).view(np.int64)) - equal
        shares = np.append(some[j].distinct[1], some[j].n_missing) / len(rows)
        agree = float((shares**2).sum())
        best = max(best, one_apart * agree / max(1 - agree, 1e-9))
    return max(best * (n / len(rows)) ** 2, chance_pairs(columns))


# ---------------------------------------------------------------------------------------------------------- near copies


def _scaled(chosen: Sequence[ColumnView], rows: Ints) -> Floats:
    """Numbers in units of their deviation, missing ones in the middle."""
    table = np.column_stack([c.numbers[rows] for c in chosen])
    spread = np.nanstd(table, axis=0)
    return np.nan_to_num((table - np.nanmean(table, axis=0)) / np.where(spread > 0, spread, 1.0))


def _near_pairs(case: Case, chosen: Sequence[ColumnView], rows: Ints) -> Ints:
    from sklearn.neighbors import NearestNeighbors

    points = _scaled(chosen, rows)
    if len(rows) <= NEIGHBOUR + 1:
        return np.empty((0, 2), dtype=np.int64)
    search = NearestNeighbors(n_neighbors=NEIGHBOUR + 1).fit(points)
    distance, place = search.kneighbors(points)
    near = (distance[:, 1] > 0) & (distance[:, 1] <= NEARNESS * distance[:, NEIGHBOUR])
    names = {c.name for c in chosen}
    for column in case.used:
        if column.name not in names and column.n_distinct <= 50:  # levels of near rows agree
            near &= column.codes[rows] == column.codes[rows[place[:, 1]]]
    return np.column_stack([rows[near], rows[place[near, 1]]])


def _united(pairs: Ints, n: int) -> Ints:
    """A number per row, equal for rows that pairs connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


# ---------------------------------------------------------------------------------------------------- multiplied before


def multiplied_class(case: Case) -> int | None:
    """The class whose rows, and only whose rows, repeat."""
    copies = copies_of(case) if case.problem.classes is not None and case.problem.n_rows >= 20 else None
    if copies is None or case.problem.classes is None:
        return None
    again = copies.first != np.arange(case.problem.n_rows)
    target, k = case.problem.target, len(case.problem.classes)
    size = np.bincount(target, minlength=k)
    share = np.bincount(target, weights=again, minlength=k) / np.maximum(size, 1)
    top = int(share.argmax())
    rest = np.delete(share, top)
    if share[top] < MULTIPLIED or again.sum() < 10 or rest.max(initial=0.0) > ELSEWHERE * share[top]:
        return None
    # Oversampling brings a rare class level with the others, not far above them.
    others = int(np.delete(size, top).max(initial=0))
    return top if 0.5 * others <= size[top] <= 1.5 * others else None


def multiplied_rows(case: Case) -> Iterator[Doubt]:
    """Rows of one class that were repeated, or made up between neighbours, before the split (oversampling, SMOTE)."""
    classes = case.problem.classes
    if classes is None or not case.used:
        return
    top = multiplied_class(case)
    advice = "Split first; then oversample in the training part only, or use class weights."
    copies = copies_of(case)
    if top is not None and copies is not None:
        code = copies.first
        again = (code != np.arange(len(code))) & (case.problem.target == top)
        effect = case.effect(_without_twins(code[case.rows]), "Scoring without copies in training")
        size = int((case.problem.target == top).sum())
        yield Doubt(
            "serious" if effect is None or effect.sure else "warning",
            (),
            f"{percent(again.sum() / size)} of the rows of class {shown(plain(classes[top]))} repeat another one, of "
            "the other classes hardly any: rows were oversampled before the split",
            {"class": classes[top], "repeats": int(again.sum()), "rows": size, **(effect.evidence() if effect else {})},
            advice,
            consequence=effect.words("without copies of test rows in training") + "."
            if effect
            else "Copies of one row are in training and in test; the score counts memorised rows.",
        )
        return
    between = _between_neighbours(case) if case.measure else None
    if between is not None:
        place, shares = between
        yield Doubt(
            "serious",
            (),
            f"{percent(shares[place])} of the rows of class {shown(plain(classes[place]))} lie exactly between two of "
            "their neighbours: they were synthesised before the split",
            {"class": classes[place], "share_between": shares[place], "other_classes": max(
                (s for c, s in shares.items() if c != place), default=0.0), "rows_asked": ASKED},
            advice,
            consequence="Rows synthesised from test rows are in training; the score only shows interpolation between "
            "them.",
        )  # fmt: skip


def _between_neighbours(case: Case) -> tuple[int, dict[int, float]] | None:
    """The class whose rows lie on lines between their neighbours, if there is one, and the share of every class."""
    from sklearn.neighbors import NearestNeighbors

    chosen = [c for c in case.numbers if c.n_distinct > 20 and c.n_missing == 0]
    if len(chosen) < 3:
        return None
    points = np.column_stack([c.numbers for c in chosen])
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-300)
    rng = np.random.default_rng(case.seed)
    shares: dict[int, float] = {}
    for c in range(int(case.problem.target.max()) + 1):
        rows = np.flatnonzero(case.problem.target == c)
        if len(rows) < 30:
            continue
        rows = rows if len(rows) <= 3000 else rng.choice(rows, 3000, replace=False)
        mine = points[rows]
        sample = mine if len(mine) <= ASKED else mine[rng.choice(len(mine), ASKED, replace=False)]
        _, near = NearestNeighbors(n_neighbors=min(AMONG, len(rows))).fit(mine).kneighbors(sample)
        away = mine[near] - sample[:, None, :]
        length = np.sqrt((away**2).sum(axis=2, keepdims=True))
        # Neighbours that differ in one or two columns lie on a line by themselves.
        real = (length > 1e-9) & ((np.abs(away) > 1e-9).sum(axis=2, keepdims=True) >= 3)
        unit = np.divide(away, length, out=np.zeros_like(away), where=real)
        cosine = np.einsum("ijk,ilk->ijl", unit, unit)
        ratio = length[:, :, 0][:, :, None] / np.where(length > 1e-9, length, 1.0)[:, :, 0][:, None, :]
        between = (cosine <= -1 + 1e-9) & ~_simple(ratio)
        row, one = np.nonzero(between.any(axis=2))
        hits = len(np.unique(row))
        ways = len(np.unique(np.round(np.abs(unit[row, one]), 5), axis=0))
        # Rows that differ in one column of a rotated table lie on few parallel lines; made-up rows on ever new ones.
        shares[c] = hits / len(sample) if ways >= 0.5 * hits else 0.0
    if len(shares) < 2:
        return None
    top = max(shares, key=lambda c: shares[c])
    rest = max(s for c, s in shares.items() if c != top)
    return (top, shares) if shares[top] >= MULTIPLIED and rest <= ELSEWHERE * shares[top] else None


def _simple(ratio: Floats) -> NDArray[np.bool_]:
    """Ratios of small whole numbers: rounded values lie at such places between each other by themselves."""
    simple = np.zeros(ratio.shape, dtype=bool)
    for part in range(1, 13):
        simple |= np.abs(ratio * part - np.round(ratio * part)) < 1e-6
        simple |= np.abs(part / np.maximum(ratio, 1e-12) - np.round(part / np.maximum(ratio, 1e-12))) < 1e-6
    return simple
