"""Levels that are one thing spelt in several ways: capitals, spaces, accents, typing errors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from tilth.quality.column import ColumnView
from tilth.quality.disguised import is_word_for_missing
from tilth.quality.finding import Finding
from tilth.quality.view import View
from tilth.words import count, listed, shown

#: A typing error is rare against the right spelling.
RARE = 0.1
#: Columns with more levels are compared on the most frequent of them.
MAX_LEVELS = 2000
_SOFT = re.compile(r"[\s._,'\-]+")


def variant_spellings(view: View) -> Iterator[Finding]:
    """Levels that differ by capitals, spaces, accents or punctuation only, or one is rare and a letter or two away."""
    for column in view.columns:
        if not column.is_text or column.spec.role != "feature" or not column.n_distinct >= 2:
            continue
        counts = {
            v: n
            for v, n in list(column.level_counts().items())[:MAX_LEVELS]
            if isinstance(v, str) and len(v) <= 200 and not is_word_for_missing(v)
        }
        same = _variants(counts)
        typos = _typos({v: n for v, n in counts.items() if v not in same})
        pairs = {**same, **typos}
        if pairs:
            cells = sum(counts[v] for v in pairs)
            examples = [f"{shown(v)} ({counts[v]}) for {shown(right)} ({counts[right]})" for v, right in pairs.items()]
            yield Finding(
                "warning",
                (column.name,),
                f"{column.name}: {listed(examples, 3)}: one level in two spellings?",
                {
                    "pairs": dict(list(pairs.items())[:50]),
                    "cells": cells,
                    "rows": view.row_numbers(_rows(column, pairs)),
                },
                f"Merge them if they mean the same: df[{column.name!r}].replace(pairs) would change "
                f"{count(cells, 'cell')}.",
            )


def _rows(column: ColumnView, wrong: dict[str, str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(column.raw.values, [i for i, v in enumerate(column.raw.levels) if v in wrong])


def spelling_key(text: str) -> str:
    """What is left of a text without capitals, accents, spaces and light punctuation (kept beside digits).

    >>> spelling_key("New  York"), spelling_key("new-york"), spelling_key("1-4 Years")
    ('newyork', 'newyork', '1-4 years')
    """
    folded = unicodedata.normalize("NFKD", text.casefold())
    folded = "".join(ch for ch in folded if not unicodedata.combining(ch))
    return " ".join(folded.split()) if any(ch.isdigit() for ch in folded) else _SOFT.sub("", folded)


def _variants(counts: dict[str, int]) -> dict[str, str]:
    """Rarer spelling -> most frequent spelling with the same key."""
    first: dict[str, str] = {}
    out = {}
    for level in counts:
        key = spelling_key(level)
        if not any(ch.isalpha() for ch in key):
            continue
        right = first.setdefault(key, level)
        if right != level:
            out[level] = right
    return out


def _typos(counts: dict[str, int]) -> dict[str, str]:
    """Rare level -> frequent level that is one edit away (two for long words)."""
    levels = list(counts)
    letters = sorted({ch for v in levels for ch in v.lower()})
    place = {ch: i for i, ch in enumerate(letters)}
    bags = np.zeros((len(levels), len(letters)), dtype=np.int16)
    for i, v in enumerate(levels):
        for ch in v.lower():
            bags[i, place[ch]] += 1
    out = {}
    for i, v in enumerate(levels):
        frequent = [j for j in range(len(levels)) if counts[v] <= RARE * counts[levels[j]]]
        if not frequent or len(v) < 4:
            continue
        # The letters alone bound the edit distance from below, which spares nearly all exact comparisons.
        near = np.abs(bags[frequent] - bags[i]).sum(axis=1) <= 4
        for j in np.array(frequent)[near]:
            if _is_typo(v.lower(), levels[j].lower()):
                out[v] = levels[j]
                break
    return out


def _is_typo(a: str, b: str) -> bool:
    """Whether one word in ``a`` is a likely misspelling of its counterpart in ``b``; digits must agree."""
    if re.sub(r"\D", "", a) != re.sub(r"\D", "", b):
        return False
    words_a, words_b = a.split(), b.split()
    if len(words_a) == len(words_b):
        differing = [(x, y) for x, y in zip(words_a, words_b, strict=True) if x != y]
        if len(differing) != 1:
            return False
        a, b = differing[0]
    shorter = min(len(a), len(b))
    allowed = 0 if shorter < 5 else 1 if shorter < 8 else 2
    if allowed == 2 and a[0] != b[0]:
        allowed = 1
    return 0 < edit_distance(a, b, allowed) <= allowed


def edit_distance(a: str, b: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn ``a`` into ``b``; ``most + 1`` when more.

    >>> edit_distance("melborne", "melbourne", 2), edit_distance("teh", "the", 2), edit_distance("cat", "dogs", 2)
    (1, 1, 3)
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
