"""ARFF, the format of Weka: declared attributes, then dense or sparse rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tilth.lifecycle.source.delimited import Layout
from tilth.lifecycle.source.names import unique_names
from tilth.lifecycle.source.table import SourceError

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = ("numeric", "real", "integer")
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"
#: Letters of the date patterns of ARFF and what Python calls them, longest first.
_DATE_PARTS = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "EEE": "%a", "HH": "%H",
    "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "SSS": "%f", "a": "%p", "Z": "%z",
}  # fmt: skip
_VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?![\s'"])[^,\t]*?))\s*(?:[,\t]|$)""")
_WORD = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s'"{]\S*))""")
_PAIR = re.compile(r"""\s*(\d+)\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!['"])[^,]*?))\s*(?:,|$)""")
_WEIGHT = re.compile(r",\s*\{\s*[\d.eE+-]+\s*\}\s*$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class Attribute:
    """One declared attribute: its type, the levels of a nominal, the pattern of a date."""

    name: str
    form: str
    levels: tuple[str, ...] = ()
    pattern: str = ""

    def value(self, text: str | None, where: str) -> Any:
        """A cell as its type says; None is missing."""
        if text is None:
            return None
        if self.form == "nominal":
            if text not in self.levels:
                shown = ", ".join(self.levels[:6])
                raise SourceError(f"{where}: {text!r} is none of the declared values of {self.name!r} ({shown}).")
            return text
        try:
            if self.form == "numeric":
                return float(text)
            return datetime.strptime(text, self.pattern) if self.form == "date" else text
        except ValueError:
            needed = "a number" if self.form == "numeric" else f"a date as {self.pattern}"
            raise SourceError(f"{where}: {text!r} where {self.name!r} needs {needed}.") from None

    @property
    def default(self) -> Any:
        """What a sparse row means by leaving the attribute out: zero, which is the first level."""
        return {"numeric": 0.0, "nominal": self.levels[0] if self.levels else None, "string": ""}.get(self.form)


def is_arff(head: bytes) -> bool:
    """Whether the first line that is no comment declares a relation."""
    for line in head.lstrip(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"%"):
            return line.lstrip()[:9].lower() == b"@relation"
    return False


def arff_frame(text: bytes, name: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows as a table: numbers, dates, text, and nominals as categories with the declared levels.

    >>> text = b"@relation r\\n@attribute x numeric\\n@attribute c {no, 'it is'}\\n@data\\n1,'it is'\\n"
    >>> print(arff_frame(text, "r")[0])
         x      c
    0  1.0  it is
    """
    lines = text.split(b"\n")
    attributes, body = _declared(lines, name)
    notes: list[str] = []
    names = unique_names([a.name for a in attributes], notes)
    rest = b"\n".join(lines[body:])
    frame = None
    if not any(sign in rest for sign in (b"'", b'"', b"{", b"%", b"\\", b"\t")):
        frame = _plain_rows(rest, name, names, attributes, body)
    if frame is None:
        frame = _any_rows(lines, body, name, names, attributes)
    if frame.empty:
        raise SourceError(f"{name} declares its attributes but has no rows after @data.")
    return frame, notes


def _declared(lines: list[bytes], name: str) -> tuple[list[Attribute], int]:
    """The attributes, and the place of the first line after ``@data``."""
    attributes: list[Attribute] = []
    for place, raw in enumerate(lines):
        line = raw.decode("utf-8", "replace").strip()
        where = f"{name}, line {place + 1}"
        word = line.split(None, 1)[0].lower() if line else ""
        if word == "@attribute":
            attributes.append(_attribute(line[len(word) :], where))
        elif word == "@data":
            if not attributes:
                raise SourceError(f"{where}: @data comes before any @attribute.")
            return attributes, place + 1
        elif word and not word.startswith("%") and word != "@relation":
            raise SourceError(f"{where}: {line[:40]!r} is neither @attribute, @data nor a comment (%).")
    raise SourceError(f"{name} is an ARFF file without @data; it may be cut off.")


def _attribute(text: str, where: str) -> Attribute:
    match = _WORD.match(text)
    kind = text[match.end() :].strip() if match else ""
    if not match or not kind:
        raise SourceError(f"{where}: an @attribute needs a name and a type, such as @attribute age numeric.")
    name = _text(match.groups())
    word = kind.split(None, 1)[0].lower()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise SourceError(f"{where}: the values of {name!r} begin with {{ and do not end with }}.")
        levels = [v for v in _cells(kind[1:-1], where) if v is not None]
        return Attribute(name, "nominal", tuple(dict.fromkeys(levels)))
    if word in _NUMBERS:
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "string")
    if word == "date":
        pattern = _WORD.match(kind[4:])
        return Attribute(name, "date", pattern=_pattern(_text(pattern.groups()) if pattern else _DEFAULT_DATE, where))
    raise SourceError(f"{where}: {name!r} is of type {kind[:30]!r}; numeric, string, date and {{...}} can be read.")


def _plain_rows(
    rest: bytes, name: str, names: list[str], attributes: list[Attribute], body: int
) -> pd.DataFrame | None:
    """Rows without quotes, braces and comments, by the fast reader of delimited text; None where it cannot."""
    import pandas as pd

    layout = Layout(name, ",", names, names, body, body, 0)
    frame = layout.frame(rest, text=[n for n, a in zip(names, attributes, strict=True) if a.form != "numeric"])
    for column, attribute in zip(names, attributes, strict=True):
        cells = frame[column]
        if attribute.form == "nominal":
            cells = cells.str.strip()
            if (cells.notna() & ~cells.isin(attribute.levels)).any():
                return None  # the slow reader names the line
            frame[column] = cells.astype(pd.CategoricalDtype(list(attribute.levels)))
        elif attribute.form == "date" or not (attribute.form == "string" or pd.api.types.is_numeric_dtype(cells)):
            return None
        elif attribute.form == "numeric":
            frame[column] = cells.astype("float64")
    return frame


def _any_rows(lines: list[bytes], body: int, name: str, names: list[str], attributes: list[Attribute]) -> pd.DataFrame:
    import pandas as pd

    columns: list[list[Any]] = [[] for _ in names]
    for place in range(body, len(lines)):
        line = lines[place].decode("utf-8", "replace").strip()
        if not line or line.startswith("%"):
            continue
        where = f"{name}, line {place + 1}"
        row = _sparse(line, attributes, where) if line.startswith("{") else _dense(line, attributes, where)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    cells: dict[str, Any] = {}
    for column_name, attribute, column in zip(names, attributes, columns, strict=True):
        if attribute.form == "nominal":
            cells[column_name] = pd.Categorical(column, categories=list(attribute.levels))
        else:
            dtype = {"numeric": "float64", "date": "datetime64[us]", "string": "str"}[attribute.form]
            cells[column_name] = pd.Series(column, dtype=dtype)
    return pd.DataFrame(cells)


def _dense(line: str, attributes: list[Attribute], where: str) -> list[Any]:
    cells = _cells(_WEIGHT.sub("", line), where)
    if len(cells) != len(attributes):
        raise SourceError(
            f"{where}: {len(cells)} value{'s' * (len(cells) != 1)} where {len(attributes)} attributes are declared. "
            "Put values that hold a comma in quotes."
        )
    return [a.value(cell, where) for a, cell in zip(attributes, cells, strict=True)]


def _sparse(line: str, attributes: list[Attribute], where: str) -> list[Any]:
    """``{1 X, 3 'a b'}``: places counted from 0; what is not named is zero, or the first level."""
    row = [a.default for a in attributes]
    inside = _WEIGHT.sub("", line).strip()
    if not inside.endswith("}"):
        raise SourceError(f"{where}: a sparse row begins with {{ and does not end with }}.")
    inside, place = inside[1:-1].strip(), 0
    while place < len(inside):
        match = _PAIR.match(inside, place)
        if not match or match.end() == place:
            raise SourceError(f"{where}: {inside[place:][:30]!r} is no place and value such as '3 yes'.")
        index = int(match[1])
        if index >= len(attributes):
            raise SourceError(f"{where}: place {index} where the attributes go from 0 to {len(attributes) - 1}.")
        row[index] = attributes[index].value(_cell(match.groups()[1:]), where)
        place = match.end()
    return row


def _cells(text: str, where: str) -> list[str | None]:
    out: list[str | None] = []
    place, more = 0, True
    while more:
        match = _VALUE.match(text, place)
        if not match:
            raise SourceError(f"{where}: {text[place:][:30]!r} opens a quote that is not closed, or follows one.")
        out.append(_cell(match.groups()))
        more = match.end() > match.start() and text[match.end() - 1] in ",\t"
        place = match.end()
    return out


def _cell(groups: tuple[Any, ...]) -> str | None:
    """The text of a cell; a question mark that is not in quotes is missing."""
    return None if groups[2] in ("?", "") else _text(groups)


def _text(groups: tuple[Any, ...]) -> str:
    quoted = groups[0] if groups[0] is not None else groups[1]
    return str(groups[2]) if quoted is None else _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), quoted)


def _pattern(text: str, where: str) -> str:
    """A date pattern of ARFF in Python's letters."""
    out, place = "", 0
    while place < len(text):
        if text[place] == "'":
            end = text.find("'", place + 1)
            end = len(text) if end < 0 else end
            out += text[place + 1 : end].replace("%", "%%") or "'"
            place = end + 1
        elif text[place].isalpha():
            run = re.match(rf"{text[place]}+", text[place:])
            letters = run[0] if run else text[place]
            if letters not in _DATE_PARTS:
                raise SourceError(f"{where}: the date pattern {text!r} has {letters!r}, which is not known here.")
            out += _DATE_PARTS[letters]
            place += len(letters)
        else:
            out += text[place].replace("%", "%%")
            place += 1
    return out
