"""The words of the field that a report explains where they stand; the words are data, in ``glossary.json``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Term:
    """A term, the other ways it is written, and what it means in a sentence or two."""

    name: str
    also: tuple[str, ...]
    text: str

    @property
    def anchor(self) -> str:
        """Its name in a page.

        >>> Term("Zero-R", (), "").anchor
        'term-zero-r'
        """
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@cache
def terms() -> dict[str, Term]:
    """Terms by each way they are written, in lower case."""
    read = json.loads(files("tilth.report").joinpath("glossary.json").read_text(encoding="utf-8"))
    entries = [Term(one["term"], tuple(one.get("also", ())), one["text"]) for one in read]
    return {spelling.lower(): term for term in entries for spelling in (term.name, *term.also)}


@cache
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(terms(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)


def marked(text: str, seen: set[str]) -> list[tuple[str, Term | None]]:
    """The text in pieces, each with the term it is; a term in ``seen`` is not marked again, and new ones are added.

    >>> [(piece, term.name if term else None) for piece, term in marked("Better than Zero-R.", set())]
    [('Better than ', None), ('Zero-R', 'Zero-R'), ('.', None)]
    """
    pieces: list[tuple[str, Term | None]] = []
    done = 0
    for match in _pattern().finditer(text):
        term = terms()[match[0].lower()]
        if term.name in seen:
            continue
        seen.add(term.name)
        pieces += [(text[done : match.start()], None), (match[0], term)]
        done = match.end()
    return [(piece, term) for piece, term in [*pieces, (text[done:], None)] if piece]
