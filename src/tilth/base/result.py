"""What a question about a model or a table came to, spoken alike everywhere: words, numbers, pages, JSON, notebooks."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tilth.base.declare import Light, Section

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a table that a notebook shows.
MOST_ROWS = 30


class Result:
    """A verdict in words, the numbers behind it as a frame, and pages of a report.

    A subclass gives :meth:`verdict` and :meth:`frame`, and ``plot()`` where there is a picture; it overrides
    :meth:`remarks` to say how the numbers came about, ``advice`` and ``light``, :meth:`shown` to show fewer numbers,
    and :meth:`sections` where one page is not enough. Printing, notebooks and JSON follow.
    """

    heading: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign] # else a dataclass would write its fields

    def verdict(self) -> str:
        """The answer in words."""
        raise NotImplementedError

    def frame(self) -> pd.DataFrame:
        """The numbers."""
        raise NotImplementedError

    @property
    def advice(self) -> str:
        """What to do about it; empty when there is nothing to do."""
        return ""

    @property
    def light(self) -> Light:
        """The verdict as a traffic light."""
        return ""

    def remarks(self) -> list[str]:
        """What a reader should know besides: how the numbers came about, what is doubtful."""
        return []

    def shown(self) -> pd.DataFrame:
        """The numbers as people see them."""
        return self.frame().drop(columns="method", errors="ignore")

    def sections(self) -> list[Section]:
        """The result as pages of a report."""
        text = "\n\n".join(block for block in (self.verdict(), "\n".join(self.remarks())) if block)
        picture = getattr(self, "plot", None)
        return [Section(self.heading, text, self.frame(), picture, advice=self.advice, light=self.light)]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        return {"verdict": self.verdict(), "pages": [section.to_dict() for section in self.sections()]}

    def to_json(self, *, indent: int | None = 2) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, default=str)

    def __str__(self) -> str:
        head = "\n".join([self.verdict(), *self.remarks()])
        table = self.shown()
        return f"{head}\n\n{table_text(table)}" if len(table) else head

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The pages, without pictures, for notebooks."""
        return sections_html(self.sections())


def table_text(table: pd.DataFrame) -> str:
    """A table as aligned text, numbers to four digits."""
    return str(table.to_string(index=False, float_format=lambda v: f"{v:.4g}"))


def sections_html(sections: Sequence[Section], depth: int = 4) -> str:
    """Sections as a piece of html; all that comes from data is escaped."""
    parts = []
    for section in sections:
        parts.append(f"<h{depth}>{html.escape(section.title)}</h{depth}>")
        parts += [f"<p>{html.escape(block)}</p>".replace("\n", "<br>") for block in section.text.split("\n\n") if block]
        if section.frame is not None:
            parts.append(section.frame.to_html(index=False, border=0, max_rows=MOST_ROWS, float_format="{:.4g}".format))
        if section.code:
            parts.append(f"<pre>{html.escape(section.code)}</pre>")
        if section.advice:
            parts.append(f"<p><em>{html.escape(section.advice)}</em></p>")
        if section.parts:
            parts.append(sections_html(section.parts, min(depth + 1, 6)))
    return f"<div>{''.join(parts)}</div>"
