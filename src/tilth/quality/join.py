"""Before two tables are joined: keys without a partner, keys that repeat, columns in other units, other periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base.result import Result
from tilth.data.kinds import level_key
from tilth.errors import SchemaError
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.spelling import spelling_key
from tilth.quality.view import View, view_of
from tilth.words import count, listed, percent, plain, shown

if TYPE_CHECKING:
    import pandas as pd

#: Ratios that are a change of unit rather than a change of fact.
UNITS: tuple[tuple[float, str], ...] = (
    (2.54, "centimetres and inches"),
    (0.3048, "metres and feet"),
    (30.48, "centimetres and feet"),
    (1.609344, "kilometres and miles"),
    (0.45359237, "kilograms and pounds"),
    (28.349523, "grams and ounces"),
    (3.785412, "litres and gallons"),
    (60.0, "minutes and hours, or seconds and minutes"),
    (3600.0, "seconds and hours"),
    (24.0, "hours and days"),
    (7.0, "days and weeks"),
    (12.0, "months and years"),
    (365.25, "days and years"),
    (4.184, "joules and calories"),
    (57.29578, "degrees and radians"),
    *((10.0**k, f"a factor of {10**k:,}") for k in range(1, 10)),
)
#: How near to a unit's factor the ratio must be, and how alike the ratios of single rows.
NEAR_UNIT = 0.02
ALIKE = 0.05


@dataclass(frozen=True)
class JoinReport(Result):
    """What a join of two tables would do: counts in ``numbers``, troubles in ``findings``."""

    heading: ClassVar[str] = "Join"

    numbers: dict[str, int]
    findings: list[Finding]

    def frame(self) -> pd.DataFrame:
        """The counts as a table of two columns."""
        import pandas as pd

        return pd.DataFrame({"what": list(self.numbers), "number": list(self.numbers.values())})

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        findings = [f.to_dict() for f in self.findings]
        return {"schema": "tilth.join/1", "numbers": plain(self.numbers), "findings": findings}

    def verdict(self) -> str:
        """The counts, then the troubles."""
        lines = [f"  {name.replace('_', ' '):<24} {n:>12,}" for name, n in self.numbers.items()]
        return "\n".join([*lines, *(f"  {f}" for f in self.findings)])

    def shown(self) -> pd.DataFrame:
        """No table: the verdict lists the counts."""
        return self.frame().head(0)


def join_report(left: Any, right: Any, on: str | Sequence[str] | Mapping[str, str]) -> JoinReport:
    """Say what joining two tables would lose, multiply or mix up, before it is done.

    ``on`` names the key columns; a mapping gives the name on the left and the name on the right.

    >>> report = join_report({"id": [1, 2, 3]}, {"id": [2, 3, 3, 4]}, "id")
    >>> report.numbers["left_unmatched"], report.numbers["right_duplicate_keys"], report.numbers["rows_inner"]
    (1, 1, 3)
    """
    pairs = {on: on} if isinstance(on, str) else dict(on) if isinstance(on, Mapping) else {k: k for k in on}
    if not pairs:
        raise ValueError("join_report needs at least one key column in on.")
    a, b = view_of(left), view_of(right)
    keys_a = _keys(a, list(pairs), "left")
    keys_b = _keys(b, list(pairs.values()), "right")
    codes_a, codes_b, texts = _common_codes(keys_a, keys_b)
    n_a = np.bincount(codes_a[codes_a >= 0], minlength=len(texts))
    n_b = np.bincount(codes_b[codes_b >= 0], minlength=len(texts))
    numbers = {
        "left_rows": a.n_rows,
        "right_rows": b.n_rows,
        "left_missing_keys": int((codes_a < 0).sum()),
        "right_missing_keys": int((codes_b < 0).sum()),
        "left_unmatched": int(n_a[n_b == 0].sum()),
        "right_unmatched": int(n_b[n_a == 0].sum()),
        "left_duplicate_keys": int((n_a > 1).sum()),
        "right_duplicate_keys": int((n_b > 1).sum()),
        "rows_inner": int((n_a * n_b).sum()),
        "rows_left": int((n_a * np.maximum(n_b, 1)).sum() + (codes_a < 0).sum()),
    }
    report = JoinReport(numbers, [])
    report.findings.extend(_key_findings(a, b, pairs, numbers, n_a, n_b, texts))
    single = (n_a == 1) & (n_b == 1)
    report.findings.extend(_column_findings(a, b, pairs, codes_a, codes_b, single))
    return report


def _keys(view: View, names: list[str], side: str) -> list[ColumnView]:
    known = [c.name for c in view.columns]
    for name in names:
        if name not in known:
            raise SchemaError(f"join_report: the {side} table has no column {name!r}; it has {listed(known, 12)}.")
    return [view.column(n) for n in names]


def _common_codes(
    left: list[ColumnView], right: list[ColumnView]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Keys of both sides as places in one list of texts, -1 where a part of the key is missing."""
    import pandas as pd

    sides = []
    for columns in (left, right):
        parts = [_texts(c) for c in columns]
        whole = np.array([" | ".join(row) for row in zip(*parts, strict=True)], dtype=object)
        whole[np.logical_or.reduce([c.missing for c in columns])] = None
        sides.append(whole)
    codes, texts = pd.factorize(np.concatenate(sides))
    codes = codes.astype(np.int64)
    return codes[: len(sides[0])], codes[len(sides[0]) :], [str(t) for t in texts]


def _texts(column: ColumnView) -> NDArray[Any]:
    labels = column.raw.levels if column.is_coded else [column.label(int(i)) for i in column.places]
    lookup = np.array([*(level_key(v) for v in labels), ""], dtype=object)
    return np.asarray(lookup[column.codes])


def _key_findings(
    a: View, b: View, pairs: dict[str, str], numbers: dict[str, int],
    n_a: NDArray[np.int64], n_b: NDArray[np.int64], texts: list[str],
) -> Iterator[Finding]:  # fmt: skip
    names = tuple(pairs)
    for side, rows, own, other in (("left", a.n_rows, n_a, n_b), ("right", b.n_rows, n_b, n_a)):
        lost = numbers[f"{side}_unmatched"]
        if lost:
            where = np.flatnonzero((own > 0) & (other == 0))
            keys = [texts[i] for i in where[:10]]
            near = _near_keys([texts[i] for i in where[:2000]], [texts[i] for i in np.flatnonzero(other > 0)])
            hint = f"; {listed([f'{shown(x)} may be {shown(y)}' for x, y in near.items()], 3)}" if near else ""
            yield Finding(
                "serious" if lost > 0.5 * rows else "warning",
                names,
                f"{count(lost, 'row')} ({percent(lost / rows)}) of the {side} table have a key that the other lacks: "
                f"{listed(map(shown, keys), 3)}{hint}",
                {"rows": lost, "keys": keys, "spelling": near},
                "Unify the spelling of the keys."
                if near
                else "Decide whether these rows may be lost; an inner join drops them.",
                "Q701",
            )
        gone = numbers[f"{side}_missing_keys"]
        if gone:
            yield Finding(
                "warning", names, f"{count(gone, 'row')} of the {side} table have no key", {"rows": gone},
                "They cannot be joined.", "Q701",
            )  # fmt: skip
    twice_a, twice_b = numbers["left_duplicate_keys"], numbers["right_duplicate_keys"]
    many = (n_a > 1) & (n_b > 1)
    if twice_a or twice_b:
        both = int(many.sum())
        keys = [texts[i] for i in np.flatnonzero(many if both else (n_a > 1) | (n_b > 1))[:10]]
        yield Finding(
            "serious" if both else "warning" if twice_b else "info",
            names,
            f"keys repeat: {twice_a:,} on the left, {twice_b:,} on the right, {both:,} on both sides; "
            f"a left join gives {numbers['rows_left']:,} rows for {a.n_rows:,}",
            {"left": twice_a, "right": twice_b, "both": both, "keys": keys},
            "Aggregate the table with several rows per key first, or choose the row that counts.",
            "Q702",
        )


def _near_keys(lost: list[str], known: list[str]) -> dict[str, str]:
    """Keys that would match but for capitals, spaces, accents, light punctuation or leading zeros."""

    def key(text: str) -> str:
        folded = spelling_key(text)
        return folded.lstrip("0") if folded.strip("0") and folded.isdigit() else folded

    right = {key(t): t for t in known}
    return {t: right[key(t)] for t in lost if key(t) in right}


def _column_findings(
    a: View, b: View, pairs: dict[str, str], codes_a: NDArray[np.int64], codes_b: NDArray[np.int64],
    single: NDArray[np.bool_],
) -> Iterator[Finding]:  # fmt: skip
    """Same-named columns that are no keys: other units, other periods, other facts."""
    row_a, row_b = (np.full(len(single) + 1, -1, dtype=np.int64) for _ in range(2))
    row_a[codes_a], row_b[codes_b] = np.arange(len(codes_a)), np.arange(len(codes_b))
    rows_a, rows_b = row_a[:-1][single], row_b[:-1][single]
    shared = {c.name for c in b.columns} - set(pairs.values())
    for x in a.columns:
        if x.name not in shared or x.name in pairs:
            continue
        y = b.column(x.name)
        if x.raw.form == y.raw.form == "date" and x.present.size and y.present.size:
            if x.present[-1] < y.present[0] or y.present[-1] < x.present[0]:
                spans = [f"{c.label(0)} to {c.label(c.n_distinct - 1)}" for c in (x, y)]
                yield Finding(
                    "warning", (x.name,), f"{x.name}: the periods do not overlap ({spans[0]} left, {spans[1]} right)",
                    {"left": spans[0], "right": spans[1]}, "Data from different periods: is that intended?", "Q704",
                )  # fmt: skip
        elif x.is_number and y.is_number and x.present.size and y.present.size:
            yield from _unit_findings(x, y, rows_a, rows_b)
        elif x.is_number != y.is_number:
            yield Finding(
                "warning", (x.name,), f"{x.name} is {x.spec.kind.name} on the left, {y.spec.kind.name} on the right",
                {"left": x.spec.reason, "right": y.spec.reason}, "Convert both to one kind first.", "Q704",
            )  # fmt: skip


def _unit_findings(
    x: ColumnView, y: ColumnView, rows_a: NDArray[np.int64], rows_b: NDArray[np.int64]
) -> Iterator[Finding]:
    u, v = x.numbers[rows_a], y.numbers[rows_b]
    both = ~(np.isnan(u) | np.isnan(v))
    u, v = u[both], v[both]
    matched = len(u) >= 5
    unit = _unit_of_rows(u, v) if matched else None
    if unit is None and (not matched or np.median(np.abs(u - v)) > 0):
        unit = _unit_of_medians(x, y)
    if unit:
        ratio, words = unit
        yield Finding(
            "serious" if matched else "warning",
            (x.name,),
            f"{x.name}: {words} - are the units different?",
            {
                "ratio": ratio,
                "matched_rows": len(u),
                "median_left": float(np.median(x.present)),
                "median_right": float(np.median(y.present)),
            },
            "Convert one of them before joining.",
            "Q703",
        )
    elif matched:
        differ = ~np.isclose(u, v, rtol=1e-6, atol=1e-12)
        if differ.any():
            yield Finding(
                "info", (x.name,), f"{x.name}: {int(differ.sum()):,} of {len(u):,} matched rows have different values",
                {"rows": int(differ.sum()), "matched_rows": len(u)}, "Decide which source is right.", "Q704",
            )  # fmt: skip


def _unit_of_rows(u: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[float, str] | None:
    """The unit change that matched rows agree on, temperature included."""
    for warm, cold, words in ((u, v, "Fahrenheit on the left"), (v, u, "Fahrenheit on the right")):
        if np.ptp(cold) > 0 and np.median(np.abs(warm - (1.8 * cold + 32))) < ALIKE * np.std(warm):
            return 1.8, f"the values fit {words}, Celsius on the other side"
    ok = (u > 0) & (v > 0)
    if ok.sum() < 0.5 * len(u) or ok.sum() < 5:
        return None
    ratios = u[ok] / v[ok]
    low, ratio, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return _named_ratio(float(ratio)) if high <= (1 + ALIKE) * low else None


def _unit_of_medians(x: ColumnView, y: ColumnView) -> tuple[float, str] | None:
    """The unit change that the two columns as wholes suggest: medians and spreads must agree on it."""
    mx, my = float(np.median(x.present)), float(np.median(y.present))
    sx, sy = float(np.std(x.present)), float(np.std(y.present))
    if mx <= 0 or my <= 0 or sx <= 0 or sy <= 0:
        return None
    ratio = mx / my
    # Without matched rows only a large factor is told from a true difference.
    if not max(ratio, 1 / ratio) > 5 or abs(np.log(sx / sy / ratio)) > 0.5:
        return None
    return _named_ratio(ratio, 5 * NEAR_UNIT)


def _named_ratio(ratio: float, near: float = NEAR_UNIT) -> tuple[float, str] | None:
    for value in (ratio, 1 / ratio):
        for factor, words in UNITS:
            if abs(value / factor - 1) < near:
                side = "left" if value == ratio else "right"
                return ratio, f"the {side} values are {factor:g} times the others ({words})"
    return None
