"""Sections to html, markdown, json and terminal text.

Column names and cells come from strangers' files: they are escaped in html and markdown, and control characters never
reach a terminal.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import pandas as pd

    from tilth.base.declare import Section

#: A table cell is never squeezed below this many characters.
_NARROWEST = 12
_NOTHING = ("NAType", "NaTType")
_STAND_INS = {"\t": " ", "\N{NO-BREAK SPACE}": " "}
#: A report shows this many rows of a table; the json has them all.
MOST_ROWS = 200


def cell_text(value: Any) -> str:
    """A cell as a person reads it: four significant digits, nothing for a missing value, one line.

    >>> cell_text(0.123456), cell_text(3.0), cell_text(float("nan")), cell_text(True)
    ('0.1235', '3', '', 'yes')
    """
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if value is None or type(value).__name__ in _NOTHING:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return " ".join(printable(str(value)).split())


def printable(text: str) -> str:
    """Text without control characters, which could steer a terminal; line ends stay."""
    return "".join(c if c.isprintable() or c == "\n" else _STAND_INS.get(c, "\N{REPLACEMENT CHARACTER}") for c in text)


def blocks_of(text: str) -> list[tuple[bool, str]]:
    """Paragraphs of a text, each with whether it is laid out by spaces (and must keep them).

    >>> blocks_of("Words.\\n\\n  a   1\\n  bb  2")
    [(False, 'Words.'), (True, '  a   1\\n  bb  2')]
    """
    parts = [p.strip("\n") for p in re.split(r"\n\s*\n", text) if p.strip()]
    return [(any(line.startswith("  ") for line in p.split("\n")), p) for p in parts]


# ------------------------------------------------------------------------------------------------------------- terminal


def to_text(sections: Sequence[Section], *, width: int | None = None) -> str:
    """Plain text, tables aligned and wrapped to the width."""
    room = width or shutil.get_terminal_size((110, 24)).columns
    out = []
    for section in sections:
        title = printable(section.title)
        parts = [f"{title}\n{'-' * len(title)}"]
        for laid_out, block in blocks_of(printable(section.text)):
            parts.append(block if laid_out else _wrapped(block, room))
        if section.frame is not None:
            parts.append(table_text(section.frame, room))
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
    cells, is_number = _cells(frame)
    header = [cell_text(c) for c in frame.columns]
    columns = [[h, *(row[j] for row in cells)] for j, h in enumerate(header)]
    widths = _fitted([max(map(len, c)) for c in columns], width - 2 - 2 * len(columns))
    lines: list[str] = []
    for row in [header, ["-" * w for w in widths], *cells]:
        pieces = [textwrap.wrap(v, w, break_on_hyphens=False) or [""] for v, w in zip(row, widths, strict=True)]
        for i in range(max(map(len, pieces))):
            shown = [p[i] if i < len(p) else "" for p in pieces]
            aligned = [s.rjust(w) if n else s.ljust(w) for s, w, n in zip(shown, widths, is_number, strict=True)]
            lines.append(("  " + "  ".join(aligned)).rstrip())
    if len(frame) > MOST_ROWS:
        lines.append(f"  ... and {len(frame) - MOST_ROWS} more rows")
    return "\n".join(lines)


def _cells(frame: pd.DataFrame) -> tuple[list[list[str]], list[bool]]:
    """The cells of the first rows as text, and which columns hold numbers."""
    shown = frame.head(MOST_ROWS)
    columns = [[cell_text(v) for v in shown.iloc[:, j].tolist()] for j in range(frame.shape[1])]
    number = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?|inf|-inf|")
    is_number = [any(c) and all(number.fullmatch(v) for v in c) for c in columns]
    return [list(row) for row in zip(*columns, strict=True)], is_number


def _fitted(wanted: list[int], room: int) -> list[int]:
    """Widths that fit the room, taken from the widest columns first."""
    widths = list(wanted)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widest = widths.index(max(widths))
        second = max([w for i, w in enumerate(widths) if i != widest], default=0)
        widths[widest] -= max(1, min(sum(widths) - room, widths[widest] - max(second, _NARROWEST)))
    return widths


def show(sections: Sequence[Section], stream: TextIO) -> None:
    """Print sections: with colours and drawn tables on a terminal, as plain text elsewhere."""
    if not stream.isatty():
        stream.write(to_text(sections))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    for section in sections:
        console.print(Text(printable(section.title), style="bold underline"))
        if section.text:
            console.print(Text("\n\n".join(block for _, block in blocks_of(printable(section.text)))))
        if section.frame is not None:
            cells, is_number = _cells(section.frame)
            table = Table(header_style="bold")
            for name, right in zip(section.frame.columns, is_number, strict=True):
                table.add_column(Text(cell_text(name)), justify="right" if right else "left")
            for row in cells:
                table.add_row(*map(Text, row))
            console.print(table)
        if section.code:
            console.print(Text(textwrap.indent(printable(section.code), "    ")))
        if section.advice:
            console.print(Text(printable(f"Advice: {section.advice}"), style="yellow"))
        console.print()


# ---------------------------------------------------------------------------------------------------- markdown and json


def to_markdown(sections: Sequence[Section], *, title: str = "Report") -> str:
    """Markdown with pipe tables; markup in the data is inert."""
    out = [f"# {_inert(title)}"]
    for section in sections:
        out.append(f"## {_inert(printable(section.title))}")
        for laid_out, block in blocks_of(printable(section.text)):
            out.append(_fenced(block) if laid_out else "  \n".join(map(_inert, block.split("\n"))))
        if section.frame is not None:
            cells, is_number = _cells(section.frame)
            rows = [[cell_text(c) for c in section.frame.columns], *cells]
            lines = ["| " + " | ".join(_inert(v).replace("|", "\\|") for v in row) + " |" for row in rows]
            lines.insert(1, "|" + "|".join("--:" if n else "---" for n in is_number) + "|")
            out.append("\n".join(lines))
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

    Parameters
    ----------
    data : a json document to embed, so that a program can read the page too.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tilth.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages = [_page(section, f"s{place}") for place, section in enumerate(sections)]
    # Inside a script element only "</" and "<!--" could end or change what follows.
    embedded = data.replace("<", "\\u003c")
    return environment.get_template("report.html.j2").render(title=title, subtitle=subtitle, pages=pages, data=embedded)


def _page(section: Section, anchor: str) -> dict[str, Any]:
    table = None
    if section.frame is not None:
        cells, is_number = _cells(section.frame)
        header = [cell_text(c) for c in section.frame.columns]
        more = max(0, len(section.frame) - MOST_ROWS)
        table = {"header": header, "rows": cells, "is_number": is_number, "more": more}
    return {
        "anchor": anchor,
        "title": printable(section.title),
        "blocks": blocks_of(printable(section.text)),
        "table": table,
        "figure": _svg(section.figure) if callable(section.figure) else "",
        "code": printable(section.code),
        "advice": printable(section.advice),
    }


def _svg(draw: Callable[[], Any]) -> str:
    """The drawn figure as an svg element; its random identifiers numbered, so that equal figures give equal text."""
    buffer = io.StringIO()
    draw().savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    found = list(dict.fromkeys(re.findall(r'id="([a-z][0-9a-f]{10})"', text)))
    for number, name in enumerate(found):
        text = text.replace(name, f"{name[0]}{number}-{len(text)}")
    return text
