"""Sections to one html page: data and templates, nothing from outside.

The page works from a file without a network. Its policy allows no request at all and no script but the two of the
templates, by their hashes: markup in a column name is escaped, and would be refused if it were not.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilth.report.cells import LIGHT_WORDS, Table, blocks_of, printable, shortened
from tilth.report.controls import Control, checked
from tilth.report.glossary import Term, marked, terms
from tilth.report.pictures import Pictures

if TYPE_CHECKING:
    from tilth.base.declare import Section

#: Tables with more rows than this get a box to filter them.
FILTERED_ABOVE = 15
#: An end of a sentence: "The model is useful. It ...", but not "75.4" and not "e.g. this".
_SENTENCE_END = re.compile(r"(?<=[^.\s][a-z\d)%\]\"'][.!?])\s+(?=[^\sa-z])")

Marked = list[tuple[str, "Term | None"]]


@dataclass(frozen=True)
class _Block:
    """A paragraph: as it stands, or in pieces of which some are explained."""

    laid_out: bool
    pieces: Marked


@dataclass(frozen=True)
class _Page:
    """A section with everything as text, ready for the template."""

    anchor: str
    title: str
    light: str
    folded: bool
    lead: Marked
    blocks: list[_Block]
    table: Table | None
    figure: str
    broken: str
    control: Control | None
    code: str
    advice: list[Marked]
    parts: list[_Page]


@dataclass
class _Writer:
    """Turns sections into pages; keeps what the page as a whole needs: pictures' colours and the terms met."""

    pictures: Pictures = field(default_factory=Pictures)
    met: set[str] = field(default_factory=set)

    def page(self, section: Section, anchor: str, is_hero: bool = False) -> _Page:
        seen: set[str] = set()
        text = printable(section.text)
        lead = ""
        if is_hero and text and not blocks_of(text)[0][0]:
            # The first sentence is what the reader takes away; it is set large.
            first, *rest = _SENTENCE_END.split(blocks_of(text)[0][1], maxsplit=1)
            lead, text = first, "\n\n".join([*rest, *(block for _, block in blocks_of(text)[1:])])
        lead_pieces = marked(lead, seen)
        blocks = [
            _Block(laid_out, [(block, None)] if laid_out else marked(block, seen))
            for laid_out, block in blocks_of(text)
        ]
        advice = [marked(block, seen) for _, block in blocks_of(printable(section.advice))]
        table = None if section.frame is None else Table.of(section.frame)
        figure, broken = self._figure(section, f"{anchor}-table" if table else "")
        self.met |= seen
        return _Page(
            anchor=anchor,
            title=shortened(printable(section.title)),
            light=section.light,
            folded=section.folded,
            lead=lead_pieces,
            blocks=blocks,
            table=table,
            figure=figure,
            broken=broken,
            control=None if section.control is None else checked(section.control),
            code=printable(section.code),
            advice=advice,
            parts=[self.page(part, f"{anchor}-{place}") for place, part in enumerate(section.parts)],
        )

    def _figure(self, section: Section, described_by: str) -> tuple[str, str]:
        """The picture, or why there is none: one that fails must not cost the reader the rest of the report."""
        if not callable(section.figure):
            return "", ""
        try:
            return self.pictures.svg(section.figure, section.title, described_by), ""
        except Exception as error:
            return "", shortened(printable(f"{type(error).__name__}: {error}"))


def written(sections: Sequence[Section], title: str, subtitle: str, data: str) -> str:
    """The page as text; see :func:`tilth.report.to_html`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("tilth.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    writer = _Writer()
    pages = [writer.page(section, f"s{place}", is_hero=place == 0) for place, section in enumerate(sections)]
    glossary = sorted(
        {term.name: term for term in terms().values() if term.name in writer.met}.values(), key=lambda t: t.name.lower()
    )
    scripts = {name: environment.get_template(f"{name}.js").render() for name in ("theme", "report")}
    return environment.get_template("report.html.j2").render(
        title=shortened(printable(title)),
        subtitle=printable(subtitle),
        pages=pages,
        lights={light: [p for p in pages if p.light == light] for light in LIGHT_WORDS},
        light_words=LIGHT_WORDS,
        glossary=glossary,
        colours=sorted(writer.pictures.colours.items()),
        filtered_above=FILTERED_ABOVE,
        scripts={name: Markup(text) for name, text in scripts.items()},
        hashes=[_hash(text) for text in scripts.values()],
        # Inside a script element only "</" and "<!--" could end or change what follows.
        data=Markup(data.replace("<", "\\u003c")),
    )


def _hash(script: str) -> str:
    """A script's name in the policy of the page."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
