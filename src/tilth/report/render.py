"""Sections to terminal text, markdown, json and html.

Column names and cells come from strangers' files: they are escaped in html and markdown, and control characters never
reach a terminal.
"""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from tilth.report.cells import LIGHT_WORDS, MOST_ROWS, Table, blocks_of, cell_text, printable, shortened
from tilth.report.controls import checked

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base.declare import Section

__all__ = ["MOST_ROWS", "cell_text", "printable", "show", "table_text", "to_html", "to_json", "to_markdown", "to_text"]

#: A table cell is never squeezed below this many characters.
_NARROWEST = 12
#: What titles are underlined with, by depth.
_UNDERLINES = "-~."


def _walked(sections: Sequence[Section], depth: int = 0) -> Iterator[tuple[int, Section]]:
    """Sections and their parts in reading order, each with its depth."""
    for section in sections:
        yield depth, section
        yield from _walked(section.parts, depth + 1)


def _titled(section: Section) -> str:
    title = shortened(printable(section.title))
    return f"{title} [{LIGHT_WORDS[section.light]}]" if section.light else title


def _tables(section: Section) -> list[Table]:
    """What a section shows as tables where nothing can move: its frame, then its control."""
    tables = [] if section.frame is None else [Table.of(section.frame)]
    return tables if section.control is None else [*tables, checked(section.control).table]


# ------------------------------------------------------------------------------------------------------------- terminal


def to_text(sections: Sequence[Section], *, width: int | None = None) -> str:
    """Plain text, tables aligned and wrapped to the width."""
    room = width or shutil.get_terminal_size((110, 24)).columns
    out = []
    for depth, section in _walked(sections):
        title = _titled(section)
        parts = [f"{title}\n{_UNDERLINES[min(depth, len(_UNDERLINES) - 1)] * len(title)}"]
        for laid_out, block in blocks_of(printable(section.text)):
            parts.append(block if laid_out else _wrapped(block, room))
        parts += [_aligned(table, room) for table in _tables(section)]
        if section.code:
            parts.append(textwrap.indent(printable(section.code), "    "))
        if section.advice:
            parts.append(_wrapped(printable(f"Advice: {section.advice}"), room))
        out.append("\n\n".join([f"{parts[0]}\n{parts[1]}", *parts[2:]] if len(parts) > 1 else parts))
    return "\n\n".join(out) + "\n"


def _wrapped(block: str, width: int) -> str:
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapper.fill(line) for line in block.split("\n"))


def table_text(frame: pd.DataFrame, width: int = 110) -> str:
    """A frame as aligned text: numbers to the right, wide columns wrapped so that lines stay within the width."""
    return _aligned(Table.of(frame), width)


def _aligned(table: Table, width: int) -> str:
    columns = [[h, *(row[j] for row in table.rows)] for j, h in enumerate(table.header)]
    words = [max((len(word) for cell in c for word in cell.split()), default=1) for c in columns]
    widths = _fitted([max(map(len, c)) for c in columns], words, width - 2 - 2 * len(columns))
    lines: list[str] = []
    for row in [table.header, ["-" * w for w in widths], *table.rows]:
        pieces = [textwrap.wrap(v, w, break_on_hyphens=False) or [""] for v, w in zip(row, widths, strict=True)]
        for i in range(max(map(len, pieces), default=0)):
            shown = [p[i] if i < len(p) else "" for p in pieces]
            aligned = [s.rjust(w) if n else s.ljust(w) for s, w, n in zip(shown, widths, table.is_number, strict=True)]
            lines.append(("  " + "  ".join(aligned)).rstrip())
    if table.more:
        lines.append(f"  ... and {table.more} more rows")
    return "\n".join(lines)


def _fitted(wanted: list[int], words: list[int], room: int) -> list[int]:
    """Widths that fit the room, taken from the widest columns first; only very long words are ever cut."""
    widths = [max(1, w) for w in wanted]
    roomy = [max(_NARROWEST, word) for word in words]
    for floors in (roomy, words, [min(word, 2 * _NARROWEST) for word in words]):
        while sum(widths) > room:
            wide = [j for j, floor in enumerate(floors) if widths[j] > floor]
            if not wide:
                break
            widths[max(wide, key=lambda j: widths[j])] -= 1
    return widths


def show(sections: Sequence[Section], stream: TextIO) -> None:
    """Print sections: with colours and drawn tables on a terminal, as plain text elsewhere."""
    if not stream.isatty():
        stream.write(to_text(sections))
        return
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(file=stream)
    for depth, section in _walked(sections):
        console.print(Text(_titled(section), style="bold" if depth else "bold underline"))
        if section.text:
            console.print(Text("\n\n".join(block for _, block in blocks_of(printable(section.text)))))
        for table in _tables(section):
            drawn = Drawn(header_style="bold")
            for name, right in zip(table.header, table.is_number, strict=True):
                drawn.add_column(Text(name), justify="right" if right else "left")
            for row in table.rows:
                drawn.add_row(*map(Text, row))
            console.print(drawn)
        if section.code:
            console.print(Text(textwrap.indent(printable(section.code), "    ")))
        if section.advice:
            console.print(Text(printable(f"Advice: {section.advice}"), style="yellow"))
        console.print()


# ---------------------------------------------------------------------------------------------------- markdown and json


def to_markdown(sections: Sequence[Section], *, title: str = "Report") -> str:
    """Markdown with pipe tables; markup in the data is inert."""
    out = [f"# {_inert(printable(title))}"]
    for depth, section in _walked(sections):
        out.append(f"{'#' * min(depth + 2, 6)} {_inert(_titled(section))}")
        for laid_out, block in blocks_of(printable(section.text)):
            out.append(_fenced(block) if laid_out else "  \n".join(map(_inert, block.split("\n"))))
        for table in _tables(section):
            rows = [table.header, *table.rows]
            lines = ["| " + " | ".join(_inert(v).replace("|", "\\|") for v in row) + " |" for row in rows]
            lines.insert(1, "|" + "|".join("--:" if n else "---" for n in table.is_number) + "|")
            out.append("\n".join(lines))
            if table.more:
                out.append(f"{table.more} more rows are not shown.")
        if section.code:
            out.append(_fenced(printable(section.code)))
        if section.advice:
            out.append("> " + _inert(printable(section.advice)).replace("\n", "\n> "))
    return "\n\n".join(out) + "\n"


def _fenced(block: str) -> str:
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{block}\n{fence}"


def _inert(text: str) -> str:
    """Text whose markdown and html marks are taken literally."""
    escaped = re.sub(r"([\\`*_\[\]])", r"\\\1", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\s*)([#+-])", r"\1\\\2", escaped)


def to_json(sections: Sequence[Section]) -> str:
    """The sections as one json document."""
    return json.dumps({"sections": [s.to_dict() for s in sections]}, indent=1, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


# ----------------------------------------------------------------------------------------------------------------- html


def to_html(sections: Sequence[Section], *, title: str = "Report", subtitle: str = "", data: str = "") -> str:
    """One html page that needs nothing else: no script, no style and no picture from outside.

    The first section is the verdict: its first sentence is set large, beside its picture.

    Parameters
    ----------
    data : a json document to embed, so that a program can read the page too.
    """
    # A command that only prints does not pay for what a page needs.
    from tilth.report.page import written

    return written(sections, title, subtitle, data)
