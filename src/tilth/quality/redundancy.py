"""Columns that add nothing: constants, identifiers, copies, relabellings, sums, products and ratios of others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tilth.data.infer import ID_NAME
from tilth.quality.column import ColumnView
from tilth.quality.finding import Finding
from tilth.quality.view import View
from tilth.words import count, listed, percent, shown

Floats = NDArray[np.float64]

NEARLY_CONSTANT = 0.99
#: Squared correlation of a copy up to scale and shift, and of a near copy.
EXACT = 1 - 1e-9
NEAR = 0.98
#: Pairs are first screened on this many rows.
SCREEN_ROWS = 2000
SCREEN = 0.9
#: Share of the (log) variance that a sum, product or ratio of two others must explain.
TRIPLE = 0.98
#: Chance, over all candidates tried, that such a fit is a coincidence.
COINCIDENCE = 1e-3
#: Columns compared three by three.
MAX_TRIPLE_COLUMNS = 60
#: Columns of levels compared two by two.
MAX_PAIR_COLUMNS = 120


def constant_columns(view: View) -> Iterator[Finding]:
    """Columns with one value only, or nearly."""
    if view.n_rows < 2:
        return
    nearly: dict[str, float] = {}
    for column in view.columns:
        if column.n_distinct == 1:
            value = column.label(int(column.places[0]))
            where = " wherever it is present" if column.n_missing else ""
            yield Finding(
                "warning",
                (column.name,),
                f"{column.name}: always {shown(value)}{where}",
                {"value": value, "missing": column.n_missing},
                "Only whether it is missing can matter."
                if column.n_missing
                else "Nothing can be learned from it: drop it.",
            )
        elif column.n_distinct > 1 and view.n_rows >= 100:
            share = float(column.distinct[1].max() / column.distinct[1].sum())
            if share >= NEARLY_CONSTANT:
                nearly[column.name] = share
    if nearly:
        yield Finding(
            "info",
            tuple(nearly),
            "nearly constant: " + listed([f"{n} ({percent(s)} one value)" for n, s in nearly.items()]),
            {"share": nearly},
            "Rarely of use; make sure that the few other values are not errors.",
        )


def identifiers(view: View) -> Iterator[Finding]:
    """Columns that name the row: a different value in (almost) every row, under the name or in the pattern of an id."""
    if view.n_rows < 20:
        return
    for column in view.columns:
        if column.n_distinct < 0.5 * view.n_rows or column.raw.form == "date":
            continue
        text_id = column.is_text and column.spec.role == "aside" and not column.spec.text
        whole = column.is_number and _is_whole(column)
        named = bool(ID_NAME.search(column.name))
        if not (text_id or (whole and (named or _is_counter(column)))):
            continue
        different = view.n_rows if text_id else int(view.is_first.sum())
        if whole and column.n_distinct < 0.98 * different:
            continue
        repeats = view.n_rows - column.n_missing - column.n_distinct
        kind = "an identifier or free text" if text_id else "an identifier"
        yield Finding(
            "warning" if whole else "info",
            (column.name,),
            f"{column.name}: {column.n_distinct:,} different values in {count(view.n_rows, 'row')}: {kind}",
            {"distinct": column.n_distinct, "rows": view.n_rows, "different_rows": different, "repeats": repeats},
            "Keep it out of the model: it can only be memorised."
            + (" If one id has several rows, keep them together when splitting." if repeats else ""),
        )


def _is_whole(column: ColumnView) -> bool:
    values = column.distinct[0]
    return bool((values == np.floor(values)).all())


def _is_counter(column: ColumnView) -> bool:
    """Whether the numbers simply count the rows: each next one higher by one."""
    return column.n_missing == 0 and bool((np.diff(column.numbers) == 1).all())


def relabelled_columns(view: View) -> Iterator[Finding]:
    """Columns of levels that say the same in other words, or that follow from another column."""
    small = view.sample
    coded = [
        c
        for c in small.columns
        if c.spec.role == "feature" and (c.is_coded or c.n_distinct <= 20)
        and 2 <= c.n_distinct <= small.n_rows / 5
    ][:MAX_PAIR_COLUMNS]  # fmt: skip
    follows: list[tuple[str, str]] = []
    copies: set[str] = set()
    for a, b in combinations(coded, 2):
        if a.name in copies or b.name in copies:
            continue
        both = a.codes >= 0
        both &= b.codes >= 0
        if both.sum() < 20:
            continue
        ca, cb = a.codes[both], b.codes[both]
        table = np.zeros((int(ca.max()) + 1, int(cb.max()) + 1), dtype=bool)
        if table.size > 1_000_000:
            continue
        table[ca, cb] = True
        per_a, per_b = table.sum(axis=1), table.sum(axis=0)
        levels_a, levels_b = int((per_a > 0).sum()), int((per_b > 0).sum())
        if levels_a < 2 or levels_b < 2:
            continue
        if per_a.max() == 1 and per_b.max() == 1:
            if a.is_number and b.is_number and levels_a > 2:
                continue  # the affine check says it better
            copies.add(b.name)
            yield Finding(
                "warning",
                (a.name, b.name),
                f"{a.name} and {b.name} carry the same information: {count(levels_a, 'level')}, one to one",
                {"levels": levels_a, "rows": int(both.sum())},
                f"Keep one of them; otherwise the evidence of {a.name} counts twice.",
            )
        elif per_a.max() == 1 and levels_a <= both.sum() / 20:
            follows.append((a.name, b.name))
        elif per_b.max() == 1 and levels_b <= both.sum() / 20:
            follows.append((b.name, a.name))
    if follows:
        yield Finding(
            "info",
            tuple(dict.fromkeys(n for pair in follows for n in pair)),
            "follows from another column: " + listed([f"{b} from {a}" for a, b in follows]),
            {"pairs": [list(p) for p in follows]},
            "The coarser column adds nothing to a model that uses the finer one.",
        )


def dependent_numbers(view: View) -> Iterator[Finding]:
    """Numeric columns that are copies, sums, differences, products or ratios of others.

    Copies: squared correlation. Sums: ``var(c - a -/+ b) / var(c)``, products and ratios the same with logarithms;
    all from one covariance matrix. A coincidence is ruled out by ``(1 - R^2)^((n - 1) / 2)`` times the number of
    candidates.
    """
    small = view.sample
    chosen = [
        c
        for c in small.columns
        if c.is_number and c.spec.role == "feature" and c.n_distinct > 2 and c.n_missing < 0.5 * small.n_rows
    ]
    if len(chosen) < 2 or small.n_rows < 5:
        return
    matrix = np.column_stack([c.numbers for c in chosen])
    names = [c.name for c in chosen]
    dropped: set[int] = set()
    yield from _copies(matrix, names, dropped)
    left = [j for j in range(len(names)) if j not in dropped][:MAX_TRIPLE_COLUMNS]
    kept, kept_names = matrix[:, left], [names[j] for j in left]
    findings = list(_triples(kept, kept_names, logs=False)) + list(_triples(kept, kept_names, logs=True))
    seen: set[frozenset[str]] = set()
    # One relation can be solved for each of its columns; derived columns usually stand last, so the last is reported.
    for finding in sorted(findings, key=lambda f: -kept_names.index(f.columns[0])):
        if frozenset(finding.columns) not in seen:
            seen.add(frozenset(finding.columns))
            yield finding
    taken = {finding.columns[0] for finding in findings}
    rest = [j for j, n in enumerate(kept_names) if n not in taken]
    yield from _linear(kept[:, rest], [kept_names[j] for j in rest])


def _alike(matrix: Floats) -> list[tuple[int, int]]:
    """Pairs of columns whose correlation on some rows, where both are present, deserves a look at all of them."""
    part = matrix[:: max(1, len(matrix) // SCREEN_ROWS)]
    there = ~np.isnan(part)
    mean = np.nansum(part, axis=0) / np.maximum(1, there.sum(axis=0))
    x, m = np.where(there, part - mean, 0.0), there.astype(float)
    n = np.maximum(1.0, m.T @ m)
    sums = x.T @ m
    variance = np.maximum((x**2).T @ m - sums**2 / n, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = (x.T @ x - sums * sums.T / n) ** 2 / (variance * variance.T)
    # Too few common rows, or no spread on these, decide nothing: such pairs are looked at.
    r2[(n < 3) | ~np.isfinite(r2)] = 1.0
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(r2 >= SCREEN, 1))]


def _copies(matrix: Floats, names: list[str], dropped: set[int]) -> Iterator[Finding]:
    near: list[str] = []
    near_columns: list[str] = []
    for i, j in _alike(matrix):
        if i in dropped or j in dropped:
            continue
        x, y = matrix[:, i], matrix[:, j]
        both = ~(np.isnan(x) | np.isnan(y))
        n = int(both.sum())
        if n < 5:
            continue
        x, y = x[both] - x[both].mean(), y[both] - y[both].mean()
        sxx, syy, sxy = float(x @ x), float(y @ y), float(x @ y)
        if sxx == 0 or syy == 0:
            continue
        r2 = sxy**2 / (sxx * syy)
        if r2 >= EXACT:
            dropped.add(j)
            slope = sxy / sxx
            shift = float(matrix[both, j].mean() - slope * matrix[both, i].mean())
            if abs(shift) < 1e-6 * (abs(slope) * (sxx / n) ** 0.5 + abs(float(matrix[both, j].mean()))):
                shift = 0.0
            formula = f"{names[j]} = {_times(slope)}{names[i]}{_plus(shift)}"
            yield Finding(
                "warning",
                (names[j], names[i]),
                f"{formula}: the same column twice",
                {"r_squared": r2, "slope": slope, "shift": shift, "rows": n},
                f"Keep one of them; coefficients of both together have no meaning. Drop {names[j]!r}.",
            )
        elif r2 >= NEAR and n >= 20:
            near.append(f"{names[i]} and {names[j]} (r = {np.sign(sxy) * r2**0.5:.3f})")
            near_columns += [names[i], names[j]]
    if near:
        yield Finding(
            "info",
            tuple(dict.fromkeys(near_columns)),
            f"nearly the same column twice: {listed(near, 4)}",
            {"pairs": near},
            "A linear model cannot tell them apart; keep one, or use a penalty.",
        )


def _times(factor: float) -> str:
    return "" if factor == 1 else f"{factor:.6g} x "


def _plus(shift: float) -> str:
    return f" {'+' if shift > 0 else '-'} {abs(shift):.6g}" if shift else ""


def _triples(matrix: Floats, names: list[str], logs: bool) -> Iterator[Finding]:
    """Columns c that equal a + b or a - b, or (with logarithms, up to a factor) a x b or a / b."""
    if logs:
        with np.errstate(invalid="ignore"):
            usable = [j for j in range(len(names)) if np.nanmin(matrix[:, j]) > 0]
        matrix, names = np.log(matrix[:, usable]), [names[j] for j in usable]
    p = len(names)
    if p < 3:
        return
    complete = matrix[~np.isnan(matrix).any(axis=1)]
    n = len(complete)
    if n < 8:
        return
    cov = np.cov(complete, rowvar=False)
    var = np.diag(cov)
    candidates = p * (p - 1) * (p - 2) // 2 * 4
    with np.errstate(divide="ignore", invalid="ignore"):
        r2_pairs = cov**2 / np.outer(var, var)
    for c in range(p):
        best: tuple[float, int, int, int, int] | None = None
        others = [j for j in range(p) if j != c and var[j] > 0]
        if var[c] == 0 or not others:
            continue
        single = max(float(r2_pairs[c, j]) for j in others)
        if single >= TRIPLE:
            continue
        for sa, sb in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            # var(c - sa a - sb b) for all pairs (a, b) at once
            left = (
                var[c] + var[:, None] + var[None, :]
                - 2 * sa * cov[c][:, None] - 2 * sb * cov[c][None, :] + 2 * sa * sb * cov
            )  # fmt: skip
            left[c, :] = left[:, c] = np.inf
            left[np.tril_indices(p)] = np.inf
            left[var == 0, :] = np.inf
            left[:, var == 0] = np.inf
            at = int(left.argmin())
            r2 = 1 - max(0.0, float(left.flat[at])) / float(var[c])
            if best is None or r2 > best[0]:
                best = (r2, *divmod(at, p), sa, sb)
        if best is None or best[0] < TRIPLE or (best[3] == best[4] == -1 and not logs):
            continue
        r2, a, b, sa, sb = best
        if (1 - r2) > (1 - single) / 3 or max(1e-300, 1 - r2) ** ((n - 1) / 2) * candidates > COINCIDENCE:
            continue
        shift = float((complete[:, c] - sa * complete[:, a] - sb * complete[:, b]).mean())
        formula = _formula(names[c], names[a], names[b], sa, sb, shift, logs)
        yield Finding(
            "info" if r2 < EXACT else "warning",
            (names[c], names[a], names[b]),
            f"{formula}: redundant",
            {
                "r_squared": r2,
                "rows": n,
                "formula": formula,
                **({"factor": np.exp(shift)} if logs else {"shift": shift}),
            },
            f"{names[c]} follows from the other two: drop one of the three for models that assume independent columns.",
        )


def _formula(c: str, a: str, b: str, sa: int, sb: int, shift: float, logs: bool) -> str:
    if logs:
        factor = float(np.exp(shift))
        nearest = 10.0 ** round(np.log10(factor))
        factor = nearest if abs(factor / nearest - 1) < 0.03 else factor
        head = "" if factor == 1 else f"{factor:.4g} x "
        if sa == sb == -1:
            return f"{c} ~ {factor:.4g} / ({a} x {b})"
        top, low = (a, b) if sa == 1 else (b, a)
        return f"{c} ~ {head}{top} {'x' if sa == sb else '/'} {low}"
    first, second = (a, b) if sa == 1 else (b, a)
    return f"{c} ~ {first} {'+' if sa == sb else '-'} {second}{_plus(0.0 if abs(shift) < 1e-9 else shift)}"


def _linear(matrix: Floats, names: list[str]) -> Iterator[Finding]:
    """Columns that are an exact linear combination of three or more columns before them."""
    complete = matrix[~np.isnan(matrix).any(axis=1)]
    n, p = complete.shape
    if p < 4 or n < 5 * p:
        return
    scaled = complete - complete.mean(axis=0)
    sd = scaled.std(axis=0)
    scaled = scaled[:, sd > 0] / sd[sd > 0]
    names = [name for name, s in zip(names, sd, strict=True) if s > 0]
    base: list[int] = []
    for j in range(len(names)):
        if base:
            coef, *_ = np.linalg.lstsq(scaled[:, base], scaled[:, j], rcond=None)
            rest = scaled[:, j] - scaled[:, base] @ coef
            if (rest**2).mean() < 1e-8:
                used = [names[base[i]] for i in np.flatnonzero(np.abs(coef) > 1e-4)]
                yield Finding(
                    "warning",
                    (names[j], *used),
                    f"{names[j]} is a linear combination of {listed(used)}",
                    {"r_squared": 1 - float((rest**2).mean()), "rows": n},
                    f"Drop {names[j]!r} or one of the others; coefficients of all together have no meaning.",
                )
                continue
        base.append(j)
